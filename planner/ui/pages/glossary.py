"""Page 8: the words of this planner, each with one meaning."""

from __future__ import annotations

from importlib import resources

import streamlit as st

from planner.ui.parts import show


def page() -> None:
    """Show the glossary, the same as in the documentation."""
    show.header("Words", "Every word has one meaning, on all pages, in files and in messages.")
    text = resources.files("planner.ui") / "glossary.md"
    st.markdown(text.read_text(encoding="utf-8"))
