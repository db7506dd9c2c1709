"""Loading ahead: nobody should wait for what the server could have loaded before."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from threading import Event, Thread

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


_FIRST = Event()


@cache
def start() -> Thread:
    """Load all pages beside whatever else is going on, once; the first, and its plan, first."""
    thread = Thread(target=_load, name="loading pages", daemon=True)
    thread.start()
    return thread


def wait() -> None:
    """Wait until the first page is loaded, which every early visitor would load and plan again."""
    start()
    _FIRST.wait()


def _load() -> None:
    try:
        _load_first()
    finally:
        _FIRST.set()
    for module, _ in PAGES:
        import_module(f"planner.ui.pages.{module}")


def _load_first() -> None:
    import_module(f"planner.ui.pages.{PAGES[0][0]}")
    state = import_module("planner.ui.state")
    results = import_module("planner.ui.parts.results")
    results.survey_plan(state.example_survey(state.FIRST_EXAMPLE))
