"""The app: a router over the pages. ``app.py`` and ``ldp-planner app`` both run this."""

from __future__ import annotations

import streamlit as st

from planner.ui import budgets

__all__ = ["main"]


def main() -> None:
    """Show the page that the address asks for."""
    st.set_page_config(page_title="LDP budget planner", layout="wide", initial_sidebar_state=220)
    st.navigation([st.Page(budgets.page, title="Budgets", url_path="budgets", default=True)]).run()


if __name__ == "__main__":
    main()
