"""Loading ahead: nobody should wait for what the server could have loaded before."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from threading import Thread

__all__ = ["PAGES", "start"]

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


@cache
def start() -> Thread:
    """Load all pages beside whatever else is going on, once."""
    thread = Thread(target=_load, name="loading pages", daemon=True)
    thread.start()
    return thread


def _load() -> None:
    for module, _ in PAGES:
        import_module(f"planner.ui.pages.{module}")
    state = import_module("planner.ui.state")
    first = state.example_survey(state.FIRST_EXAMPLE)
    results = import_module("planner.ui.parts.results")
    results.survey_plan(first)
