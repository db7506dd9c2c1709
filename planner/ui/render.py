"""What a page shows: blocks of a plan, tables, sentences, and what was typed, as it was typed.

Sentences that come and go have a place of their own, empty or not: a browser would draw all
that moves down anew, and close what was open.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any

import plotly.io
import streamlit as st

from planner.errors import PlannerError
from planner.show.blocks import Block, Column, Facts, Figure, Heading, Sentence, Table
from planner.show.figures import Chart, plotly_of
from planner.show.html import table_html
from planner.ui.document import label_of
from planner.ui.state import session

STYLE, SCRIPT = (
    (resources.files("planner.ui") / f"page.{kind}").read_text("utf-8")
    for kind in ("css", "js")
)
# Takes a browser half a second: better ahead.
_DRAWINGS = Path(st.__file__).parent.glob("static/static/js/PlotlyChart.*.js")
CHARTS = next((path.name for path in _DRAWINGS), None)
# Streamlit's Markdown also takes $ for a formula, and a colon for the beginning of an
# icon or a colour.
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~$:@])")
# Bare addresses become links by no mark that could be escaped: an invisible joiner
# breaks them.
_LINK = re.compile(r"(?i)(\b(?:www|https?|ftp|mailto|xmpp)(?=\W)|@)")
_CHART = {"displayModeBar": False, "displaylogo": False, "scrollZoom": False}
_TONES: dict[str, Callable[..., Any]] = {
    "missed": st.warning,
    "met": st.success,
    "proof": st.success,
    "note": st.caption,
}
_MOST_PROBLEMS = 12
_MOST_PLAIN = 40


def plain(text: object) -> str:
    r"""Text that Markdown shows as it is, whatever was typed; addresses in it are no links.

    Examples
    --------
    >>> print(plain("a*b $1"))
    a\*b \$1
    >>> plain("www.x") == "www\u2060\\.x"
    True
    """
    unlinked = _LINK.sub("\\1\N{WORD JOINER}", str(text))
    return _MARKDOWN.sub(r"\\\1", unlinked)


def header(title: str, purpose: str) -> None:
    """The page's title, what it is for, and what is to be said once."""
    st.title(title, anchor=False)
    if purpose:
        st.caption(purpose)
    here = session()
    for sentence, wrong in here.notices:
        # A toast moves nothing; of what went wrong it stays until it is closed.
        if wrong:
            st.toast(plain(sentence), duration="infinite")
        else:
            st.toast(plain(sentence), duration="long")
    # Every change runs the page again, which must not say them again.
    here.notices = []


def problems(sentences: Sequence[str], rest: str, *, asks: bool = False) -> None:
    """Say what is wrong, or ``asks`` for what is empty; ``rest`` says what that means."""
    slot = st.container()
    if not sentences:
        return
    shown = [f"- {plain(sentence)}" for sentence in sentences[:_MOST_PROBLEMS]]
    if len(sentences) > _MOST_PROBLEMS:
        shown.append(f"- and {len(sentences) - _MOST_PROBLEMS} more")
    text = "\n".join([*shown, "", rest])
    if asks:
        slot.info(text)
    else:
        slot.warning(text)


@contextmanager
def complaint() -> Iterator[None]:
    """Show an error of the planner as its sentence; what follows in the block is left out."""
    slot = st.container()
    try:
        yield
    except PlannerError as error:
        slot.warning(plain(error.worded(label_of)))


# Charts follow the app's theme; none is copied into each.
plotly.io.templates.default = None


def chart(drawn: Chart, key: str, alt: str) -> None:
    """A chart that follows the theme; ``alt`` says in words what it shows."""
    st.plotly_chart(plotly_of(drawn), key=key, config=_CHART, alt=alt)


def drawer(label: str, name: str, fill: Callable[[], None]) -> None:
    """A part that is filled while it is open; it stays so on the next visit of its page."""
    # Streamlit forgets a widget when its page is left; the session's own copy opens it
    # again.
    if name not in st.session_state:
        st.session_state[name] = session().typed.get(name, False)
    box = st.expander(label, key=name, on_change="rerun")
    session().typed[name] = box.open
    if box.open:
        with box:
            fill()


def render(blocks: Iterable[Block]) -> None:
    """Blocks in their order; neighbouring items are one list.

    The highest of their headings is the page's second level, so that none is left out.
    """
    shown = [*blocks]
    # Blocks of a report begin below its title, those of a page below the page's.
    headings = [block.level for block in shown if isinstance(block, Heading)]
    highest = min(headings, default=2)
    items: list[str] = []
    for block in [*shown, None]:  # the last one ends a list of items
        if isinstance(block, Sentence) and block.tone == "item":
            items.append(block.text)
            continue
        if items:
            bullets(items)
            items = []
        match block:
            case Heading():
                section(block.text, 2 + block.level - highest)
            case Sentence():
                _TONES.get(block.tone, st.markdown)(plain(block.text))
            case Facts():
                facts(block)
            case Table():
                if block.title:
                    st.caption(plain(block.title))
                table(block.columns, block.accent)
            case Figure():
                draw(block)


def bullets(sentences: Iterable[str]) -> None:
    """Sentences as a list."""
    st.markdown("\n".join(f"- {plain(sentence)}" for sentence in sentences))


def section(title: str, level: int = 2) -> None:
    """A heading below the page's title."""
    st.markdown(f"{'#' * level} {plain(title)}")


def draw(figure: Figure) -> None:
    """A figure, if it is of a page or asked for; solving what it shows may be refused."""
    if figure.rank == "page":
        section(figure.title)
    # Behind a switch: solving what it shows may take seconds, for something that few
    # look at.
    elif not st.toggle(plain(figure.title), key=f"draw-{figure.key}"):
        return
    with complaint():
        chart(figure.draw(), figure.key, figure.alt)


def facts(block: Facts) -> None:
    """The figures that decide, side by side, with what each means."""
    columns = st.columns(len(block.facts))
    for column, fact in zip(columns, block.facts, strict=True):
        why = plain(fact.why) or None
        column.metric(plain(fact.name), plain(fact.value), help=why)
        if fact.meaning:
            column.caption(plain(fact.meaning))


def dots(share: float) -> None:
    """A hundred people, of whom this share stands out."""
    shown = round(100 * share)
    standing_out = "<i class=on></i>" * shown
    others = "<i></i>" * (100 - shown)
    st.html(f"<div class=dots>{standing_out}{others}</div>")


def people_beside(shown: int | None, text: str) -> None:
    """A hundred people in five rows beside a field, of whom so many stand out, and what it says.

    They fill column by column: whole columns, and part of the next one. The first fifty, who are
    guessed right without any report, are paler. With None there is nobody, in a place for them.
    """
    if shown is None:
        st.html('<div class="meaning"></div>')
        return
    beyond_chance = max(shown - 50, 0)
    whole = beyond_chance // 5  # columns of five people
    rest = beyond_chance % 5
    parts = ["<i></i>", f'<b style="width:{whole}em"></b>']
    if rest:
        parts.append(f'<b style="width:1em;height:{rest}em"></b>')
    people = f'<span class="people" aria-hidden="true">{"".join(parts)}</span>'
    st.html(f'<div class="meaning">{people}<span>{html.escape(text)}</span></div>')


def table(columns: Sequence[Column], accent: int | None = None) -> None:
    """A table: plain HTML while it is short, a scrolling grid when it is long.

    A plain table is drawn with the page, can be selected, copied and read aloud, and has bars.
    """
    rows = len(columns[0].cells)
    if rows > _MOST_PLAIN:
        cells = {column.heading: list(column.cells) for column in columns}
        st.dataframe(cells, hide_index=True)
    elif rows:
        st.html(table_html(columns, accent))
