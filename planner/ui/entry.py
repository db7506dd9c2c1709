"""The app: a router over the pages. ``app.py`` and ``ldp-planner app`` both run this."""

from __future__ import annotations

import streamlit as st

from planner.ui import answer_rates, budgets, export, meaning, sampling, survey_page, trial

__all__ = ["main"]


# In a narrow window columns wrap instead of squeezing figures and charts.
_NARROW = """
@media (max-width: 1100px) {
  [data-testid="stMainBlockContainer"] { padding-left: 2rem; padding-right: 2rem; }
  [data-testid="stHorizontalBlock"] { flex-wrap: wrap; }
  [data-testid="stColumn"] { min-width: min(100%, 14rem); }
  [data-testid="stColumn"]:has(.stPlotlyChart), [data-testid="stColumn"]:has(.stDataFrame)
    { min-width: 100%; }
  .st-key-questions [data-testid="stHorizontalBlock"] { flex-wrap: nowrap; }
  .st-key-questions [data-testid="stColumn"] { min-width: 0; }
}
"""


def main() -> None:
    """Show the page that the address asks for."""
    st.set_page_config(page_title="LDP budget planner", layout="wide", initial_sidebar_state=220)
    st.html(f"<style>{_NARROW}</style>")
    pages = [
        st.Page(budgets.page, title="Budgets", url_path="budgets", default=True),
        st.Page(meaning.page, title="What a report says", url_path="meaning"),
        st.Page(answer_rates.page, title="Answer rates", url_path="answer-rates"),
        st.Page(sampling.page, title="Sampling Privacy", url_path="sampling"),
        st.Page(trial.page, title="Try it on data", url_path="try"),
        st.Page(survey_page.page, title="Survey", url_path="survey"),
        st.Page(export.page, title="Export", url_path="export"),
    ]
    st.navigation(pages).run()


if __name__ == "__main__":
    main()
