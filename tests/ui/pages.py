"""Running the app's pages without a browser."""

from __future__ import annotations

import re
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from planner.planning.ledger import Ledger, LedgerEntry
from planner.ui.state import Session

APP = Path(__file__).resolve().parents[2] / "app.py"
TOTAL = "total error"
SPRING = LedgerEntry(
    survey="spring", day="2026-03-01", rule="min", spent={"severe": 0.4}
)
LEDGER = Ledger().after(SPRING)
TIMEOUT = 120  # generous: the machine may be busy

# Before its first run every tested app looks for components in each installed package, which takes
# four times as long as the page: once is enough.
manifest_scanner.scan_component_manifests = cache(
    manifest_scanner.scan_component_manifests
)


def open_page(
    name: str = "questions",
    earlier: Any = None,
    example: str = "health",
    survey: str = "",
    **state: Any,
) -> AppTest:
    """A page and the bar above it; with ``earlier``, in the same session as that page.

    ``example`` or the word ``survey`` is what a visit begins with, ``state`` what else the session
    remembers.
    """
    app = AppTest.from_string(_SCRIPT.format(name=name), default_timeout=TIMEOUT)
    if earlier is not None:
        app.session_state["session"] = session(earlier)
    app.query_params["example"] = example
    app.query_params["survey"] = survey
    for key, value in state.items():
        app.session_state[key] = value
    app.run()
    assert not app.exception, app.exception
    return app


_SCRIPT = """
from planner.ui.entry import bar, show_page
from planner.planning.ledger import Ledger, LedgerEntry
from planner.ui.state import session
bar()
show_page("{name}")
session().note()
"""


def session(app: AppTest) -> Session:
    found: Session = app.session_state["session"]
    return found


def type_levels(
    app: AppTest, rows: dict[int, dict[str, str]], question: int = 0
) -> None:
    """Type into cells of the table of levels, and run; the row after the last adds a level."""
    revision = session(app).revision
    for row, cells in rows.items():
        for key, text in cells.items():
            name = f"level-{question}-{row}-{key}-{revision}"
            app.text_input(key=name).set_value(text)
    app.run()
    assert not app.exception, app.exception


def remove_level(app: AppTest, row: int) -> None:
    """Click on the cross of a level of the first question."""
    app.button(key=f"remove-0-{row}-{session(app).revision}").click().run()
    assert not app.exception, app.exception


def metric(app: AppTest, label: str) -> str:
    shown = next(
        metric for metric in app.metric if metric.label.replace("\\", "") == label
    )
    return str(shown.value).replace("\\", "")


def words(app: AppTest, *, escaped: bool = False) -> str:
    """Everything a page says; unless ``escaped``, without Markdown's backslashes."""
    kinds = (
        "markdown",
        "caption",
        "warning",
        "info",
        "error",
        "success",
        "title",
        "subheader",
    )
    kinds += ("toast",)
    text = " ".join(
        str(element.value) for kind in kinds for element in getattr(app, kind)
    )
    if escaped:
        return text
    return text.replace("\\", "")


def tables(app: AppTest) -> list[dict[str, list[str]]]:
    """The page's plain tables, as the texts of their columns."""
    pages = [element.proto.body for element in app.get("html")]
    tables = []
    for body in pages:
        heads = re.findall("<th(?: [^>]*)?>(.*?)</th>", body)
        cells = [unescape(cell) for cell in re.findall("<td[^>]*>(.*?)</td>", body)]
        if heads:
            columns = enumerate(map(unescape, heads))
            tables.append(
                {head: cells[column :: len(heads)] for column, head in columns}
            )
    return tables


def by_label(elements: Any, label: str) -> Any:
    """The element with this label, as the page shows it: names are escaped in Markdown."""
    return next(
        element for element in elements if element.label.replace("\\", "") == label
    )
