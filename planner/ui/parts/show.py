"""Pieces that all pages share: headings, headline figures, charts, sentences, problems.

Sentences that come and go have a place of their own, empty or not: a browser would draw all
that moves down anew, and close what was open.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import plotly.io
import streamlit as st

from planner.errors import PlannerError
from planner.ui.state import session

if TYPE_CHECKING:
    from plotly.graph_objects import Figure
    from streamlit.elements.lib.mutable_expander_container import ExpanderContainer


_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~$:])")
_CHART = {"displayModeBar": False, "displaylogo": False, "scrollZoom": False}
_MOST_PROBLEMS = 12


def plain(text: object) -> str:
    r"""Text that Markdown shows as it is, whatever was typed.

    Examples
    --------
    >>> print(plain("a*b $1"))
    a\*b \$1
    """
    return _MARKDOWN.sub(r"\\\1", str(text))


def header(title: str, purpose: str) -> None:
    """The page's title, what it is for, and what is to be said once."""
    st.title(title)
    st.markdown(purpose)
    here, slot = session(), st.container()
    for notice in here.notices:
        slot.info(plain(notice))
    for sentence in here.complaints:
        slot.error(plain(sentence))
    here.notices, here.complaints = [], []


def problems(sentences: Sequence[str], rest: str) -> None:
    """Say what is wrong, one sentence each; ``rest`` says what that means for the rest."""
    slot = st.container()
    if not sentences:
        return
    shown = [f"- {plain(sentence)}" for sentence in sentences[:_MOST_PROBLEMS]]
    if len(sentences) > _MOST_PROBLEMS:
        shown.append(f"- ... and {len(sentences) - _MOST_PROBLEMS} more.")
    slot.warning("\n".join([*shown, "", rest]))


def warnings(sentences: Sequence[str]) -> None:
    """What to know before the figures are believed."""
    if sentences:
        st.warning("\n".join(f"- {plain(sentence)}" for sentence in sentences))


@contextmanager
def complaint() -> Iterator[None]:
    """Show an error of the planner as its sentence; what follows in the block is left out."""
    slot = st.container()
    try:
        yield
    except PlannerError as error:
        slot.warning(plain(error))


plotly.io.templates.default = None  # charts follow the app's theme; none is copied into each


def chart(figure: Figure, key: str, alt: str) -> None:
    """A chart that follows the theme; ``alt`` says in words what it shows."""
    st.plotly_chart(figure, key=key, config=_CHART, alt=alt)


def drawer(label: str, name: str) -> ExpanderContainer:
    """A part to be filled only while it is ``open``; it stays so on the next visit of its page.

    Charts take a browser longer to load and to draw than all else on a page.
    """
    drawers = session().drawers
    if name not in st.session_state:
        st.session_state[name] = name in drawers
    box = st.expander(label, key=name, on_change="rerun")
    (drawers.add if box.open else drawers.discard)(name)
    return box


def figures(values: Mapping[str, tuple[str, str]]) -> None:
    """A row of headline figures: label, value and its explanation."""
    for column, (label, (value, meaning)) in zip(
        st.columns(len(values)), values.items(), strict=True
    ):
        column.metric(label, value, help=meaning)


def ends(left: str, right: str) -> None:
    """Captions under a slider: what its two ends mean."""
    first, second = st.columns(2)
    first.caption(left)
    second.caption(right, text_alignment="right")


def allowed(epsilon: float | None) -> str:
    """The budget of a pair as text; a pair that is not protected has ``None`` or infinity.

    Examples
    --------
    >>> allowed(1.5), allowed(None)
    ('1.500000000000', 'none')
    """
    return "none" if epsilon is None or math.isinf(epsilon) else f"{epsilon:.12f}"
