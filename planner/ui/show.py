"""Pieces that all pages share: charts with their numbers, sentences, problems."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import plotly.io
import streamlit as st

from planner.ui.state import session

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["chart", "ends", "figures", "header", "plain", "problems", "rounded_up", "table"]

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
    """The page's title, what it is for, and notices that are due."""
    st.title(title)
    st.markdown(purpose)
    here = session()
    for notice in here.notices:
        st.info(plain(notice))
    here.notices = []


def problems(sentences: Sequence[str], rest: str) -> None:
    """Say what is wrong, one sentence each; ``rest`` says what that means for the rest."""
    if not sentences:
        return
    shown = [f"- {plain(sentence)}" for sentence in sentences[:_MOST_PROBLEMS]]
    if len(sentences) > _MOST_PROBLEMS:
        shown.append(f"- ... and {len(sentences) - _MOST_PROBLEMS} more.")
    st.warning("\n".join([*shown, "", rest]))


plotly.io.templates.default = None  # charts follow the app's theme; none is copied into each


def chart(figure: Figure, key: str, alt: str) -> None:
    """A chart that follows the theme; ``alt`` says in words what it shows."""
    st.plotly_chart(figure, key=key, config=_CHART, alt=alt)


def table(columns: Mapping[str, Iterable[Any]], height: int | None = None) -> None:
    """Numbers as a table, without an index."""
    settings: dict[str, Any] = {} if height is None else {"height": height}
    st.dataframe(dict(columns), hide_index=True, **settings)


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


def rounded_up(epsilon: float, digits: int = 3) -> str:
    """A privacy loss as text, never shown smaller than it is.

    Examples
    --------
    >>> rounded_up(1.00001), rounded_up(math.inf)
    ('1.001', 'unlimited')
    """
    if math.isinf(epsilon):
        return "unlimited"
    return f"{math.ceil(epsilon * 10**digits - 1e-9) / 10**digits:.{digits}f}"
