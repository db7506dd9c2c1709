"""The app: a router over the pages. ``app.py`` and ``ldp-planner app`` both run this."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from planner.ui.parts.keeping import keep_work
from planner.ui.parts.tables import STYLE
from planner.ui.state import enter

PAGES = (
    ("budgets", "Budgets"),
    ("meaning", "What a report says"),
    ("answer_rates", "Answer rates"),
    ("sampling", "Sampling Privacy"),
    ("trial", "Try it on data"),
    ("whole_survey", "Survey"),
    ("export", "Export"),
    ("glossary", "Words"),
)

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
/* On a phone a question is a block of its own, and its fields say what they are. */
@media (max-width: 640px) {
  .st-key-questions [data-testid="stHorizontalBlock"] { flex-wrap: wrap; }
  .st-key-questions [data-testid="stColumn"] { min-width: calc(50% - 1rem); }
  .st-key-question-heads { display: none; }
  .st-key-questions [data-testid="stWidgetLabel"] { display: flex !important; height: auto; }
}
"""


def main() -> None:
    """Show the page that the address asks for."""
    st.set_page_config(page_title="LDP budget planner", layout="wide", initial_sidebar_state=220)
    st.html(f"<style>{STYLE}{_NARROW}</style>")
    pages = {entry[0]: _page(*entry) for entry in PAGES}
    page = st.navigation(list(pages.values()))
    st.session_state["pages"] = pages
    enter(page.title)
    slot = st.container()
    page.run()
    _neighbours(list(pages.values()), page)
    keep_work(slot, page.title)


def _neighbours(pages: Sequence[StreamlitPage], shown: StreamlitPage) -> None:
    """A way through the pages in the order in which a survey is made."""
    place = next(k for k, page in enumerate(pages) if page.title == shown.title)
    st.divider()
    back, forward = st.columns(2)
    if place > 0:
        back.page_link(pages[place - 1], label=f"Back: {pages[place - 1].title}")
    if place + 1 < len(pages):
        forward.page_link(pages[place + 1], label=f"Next: {pages[place + 1].title}")


def _page(module: str, title: str) -> StreamlitPage:
    """A page whose module is loaded when it is first opened, so that the first comes fast."""

    def show() -> None:
        import_module(f"planner.ui.pages.{module}").page()

    first = module == PAGES[0][0]
    return st.Page(show, title=title, url_path=module.replace("_", "-"), default=first)


if __name__ == "__main__":
    main()
