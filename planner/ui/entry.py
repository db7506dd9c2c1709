"""The app: a router over the pages. ``app.py`` and ``ldp-planner app`` both run this."""

from __future__ import annotations

from importlib import import_module

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from planner.ui import warming
from planner.ui.parts.keeping import keep_work
from planner.ui.parts.tables import STYLE
from planner.ui.state import enter
from planner.ui.warming import PAGES

__all__ = ["main"]

# In a narrow window columns wrap instead of squeezing figures and charts.
_NARROW = """
@media (max-width: 1100px) {
  [data-testid="stMainBlockContainer"] { padding-left: 2rem; padding-right: 2rem; }
  [data-testid="stHorizontalBlock"] { flex-wrap: wrap; }
  [data-testid="stColumn"] { min-width: min(100%, 14rem); }
  [data-testid="stColumn"]:has(.stPlotlyChart), [data-testid="stColumn"]:has(.stDataFrame),
  [data-testid="stColumn"]:has(.numbers)
    { min-width: 100%; }
  .st-key-questions [data-testid="stHorizontalBlock"] { flex-wrap: nowrap; }
  .st-key-questions [data-testid="stColumn"] { min-width: 0; }
}
"""


def main() -> None:
    """Show the page that the address asks for."""
    st.set_page_config(page_title="LDP budget planner", layout="wide", initial_sidebar_state=220)
    st.html(f"<style>{STYLE}{_NARROW}</style>")
    page = st.navigation([_page(*entry) for entry in PAGES])
    enter(page.title)
    slot = st.container()
    page.run()
    keep_work(slot, page.title)
    warming.start()


def _page(module: str, title: str) -> StreamlitPage:
    """A page whose module is loaded when it is first opened, so that the first comes fast."""

    def show() -> None:
        import_module(f"planner.ui.pages.{module}").page()

    first = module == PAGES[0][0]
    return st.Page(show, title=title, url_path=module.replace("_", "-"), default=first)


if __name__ == "__main__":
    main()
