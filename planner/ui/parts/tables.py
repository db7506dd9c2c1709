"""Tables of numbers: plain HTML while they are short, a scrolling grid when they are long.

A plain table is drawn with the page, can be selected, copied and read aloud, and may hold bars.
A grid has to load its component first, but shows ten thousand rows.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from numbers import Real
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import ArrayLike

from planner.show.charts.style import BLUE, RED

_MOST_PLAIN = 40
STYLE = """
.numbers { overflow-x: auto; }
.numbers table { width: 100%; border-collapse: collapse; font-size: 0.875rem; }
.numbers th, .numbers td { padding: 0.4rem 0.75rem; text-align: left; vertical-align: middle;
  border: 0; border-bottom: 1px solid color-mix(in srgb, currentColor 14%, transparent); }
.numbers th { font-weight: 400; color: color-mix(in srgb, currentColor 65%, transparent); }
.numbers .number { text-align: right; font-variant-numeric: tabular-nums; }
.numbers td.number { white-space: nowrap; }
.numbers .accent td { font-weight: 600; }
.numbers .bars { width: 34%; min-width: 7rem; position: relative; }
.numbers .bars b { display: block; height: 1.1rem; min-width: 1px; }
.numbers .bars i { position: absolute; top: 0; bottom: 0; border-left: 2px dashed; }
"""


@dataclass(frozen=True, slots=True)
class Bars:
    """A column of bars from zero.

    Attributes
    ----------
    lengths:
        One per row, at least 0.
    colours:
        One per row, or one for all.
    mark:
        A length that is marked across all rows.
    """

    lengths: ArrayLike
    colours: str | Sequence[str] = BLUE
    mark: float | None = None

    def cells(self) -> list[str]:
        """The bar of every row as HTML."""
        lengths = np.asarray(self.lengths, dtype=np.float64).tolist()
        full = max(*lengths, self.mark or 0.0, sys.float_info.min)
        line = ""
        if self.mark is not None:
            # Along the bar, which leaves the cell's padding free on both sides.
            place = f"calc(0.75rem + (100% - 1.5rem) * {self.mark / full:.4f})"
            line = f'<i style="left:{place};border-color:{RED}"></i>'
        colours = self.colours
        if isinstance(colours, str):
            colours = [colours] * len(lengths)
        return [
            f'<td class="bars"><b style="width:{100 * length / full:.2f}%;background:{colour}"></b>'
            f"{line}</td>"
            for length, colour in zip(lengths, colours, strict=True)
        ]


def show_table(columns: Mapping[str, Iterable[Any] | Bars], accent: int | None = None) -> None:
    """Numbers as a table, column by column; bars are left out of a long one.

    ``accent`` is the place of a row that stands out.
    """
    texts = {name: list(c) for name, c in columns.items() if not isinstance(c, Bars)}
    if max(map(len, texts.values())) > _MOST_PLAIN:
        st.dataframe(texts, hide_index=True)
        return
    st.html(_html(columns, accent))


def _html(columns: Mapping[str, Iterable[Any] | Bars], accent: int | None) -> str:
    heads, bodies = [], []
    for name, column in columns.items():
        if isinstance(column, Bars):
            mark, cells = "", column.cells()
        else:
            texts = list(map(_text, column))
            mark = " class=number" if all(map(_NUMBER.fullmatch, texts)) else ""
            cells = [f"<td{mark}>{escape(text)}</td>" for text in texts]
        heads.append(f"<th{mark}>{escape(name)}</th>")
        bodies.append(cells)
    rows = [
        f"<tr{' class=accent' if place == accent else ''}>{''.join(cells)}</tr>"
        for place, cells in enumerate(zip(*bodies, strict=True))
    ]
    return (
        f"<div class=numbers><table><thead><tr>{''.join(heads)}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


_NUMBER = re.compile(r"([+-]?\d[\d,]*(\.\d+)?(e[+-]?\d+)?( ?%)?)?")


def _text(value: Any) -> str:
    return f"{float(value):,.12g}" if isinstance(value, Real) else str(value)
