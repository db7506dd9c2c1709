"""The words of this planner, each with one meaning: the same as in the documentation."""

from __future__ import annotations

from importlib import resources

import streamlit as st

from planner.ui import render


def page() -> None:
    """Show the glossary."""
    render.header("Words", "One meaning each, on all pages, in files and in messages.")
    text = resources.files("planner.ui") / "glossary.md"
    st.markdown(text.read_text(encoding="utf-8"))
