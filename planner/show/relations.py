"""Two answers of a joint question together: their table, and what it tells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import isnan
from typing import TYPE_CHECKING

import numpy as np

from planner.deployment.collecting.relations import (
    CRAMERS_V,
    GAMMA,
    INDEPENDENCE,
    ODDS_RATIO,
)
from planner.limits import JOINED
from planner.show.blocks import (
    Block,
    Column,
    Heading,
    Sentence,
    Table,
    column,
    percent,
    said,
)

if TYPE_CHECKING:
    from pandas import DataFrame


_MOST_ODDS = 3  # sentences; the table of all estimates has the odds of every answer


_MOST_COLUMNS = 12  # more do not fit on a page


_LIMITS = ["estimate", "lower", "upper"]


_SHARES = ["share", "share_lower", "share_upper"]


def relations(parts: Sequence[str]) -> list[tuple[str, str, list[str]]]:
    """Every two parts of a joint question, and what the rows that relate them are ``of``."""
    every_two = []
    for first, second in combinations(parts, 2):
        association = f"{first} with {second}"
        within_columns = f"{first} among {second}"
        within_rows = f"{second} among {first}"
        names = [association, within_columns, within_rows]
        every_two.append((first, second, names))
    return every_two


def relation_blocks(
    rows: DataFrame, parts: Sequence[str], confidence: float
) -> Iterator[Block]:
    """The tables of a joint question's result, with what they tell."""
    for first, second, (association, *_) in relations(parts):
        stated = rows[rows["of"] == association]
        if len(stated):
            yield Heading(f"{first} and {second}", level=3)
            yield from _grid(rows, first, second, confidence)
            yield from said(_association(stated.set_index("answer"), first, second))


def _grid(
    of_relation: DataFrame, first: str, second: str, confidence: float
) -> Iterator[Block]:
    """People of each pair of answers, and shares with limits within rows and within columns."""
    parts = dict(iter(of_relation.groupby("of")))
    rows = parts[first]["answer"].tolist()
    columns = parts[second]["answer"].tolist()
    if len(columns) > _MOST_COLUMNS:
        yield Sentence(
            f"{len(columns)} columns are too many here: see the table of all estimates."
        )
        return

    def counted(part: DataFrame) -> list[str]:
        texts = []
        for row in part.itertuples():
            texts.append(f"{row.estimate:,.0f} ± {row.standard_error:,.0f}")
        return texts

    def grid(
        part: DataFrame, cells: list[str], below: Sequence[str] = ()
    ) -> list[Column]:
        texts = dict(zip(part["answer"], cells, strict=True))
        headings = list(rows)
        if (
            below
        ):  # counts have a row of sums; shares within a column sum to 100 % anyway
            headings.append("all")
        columns_shown = [column(first, headings)]
        for i, name in enumerate(columns):
            inside = [texts[f"{row}{JOINED}{name}"] for row in rows]
            shown = [*inside, *below[i : i + 1]]
            columns_shown.append(column(f"{second} = {name}", shown, str))
        return columns_shown

    cells = parts.get(f"{first} and {second}", parts[""])
    beside = [*counted(parts[first]), f"{of_relation['users'].iloc[0]:,}"]
    table = [
        *grid(cells, counted(cells), counted(parts[second])),
        column("all", beside, str),
    ]
    yield Table("People ± standard error", tuple(table), "everybody")
    for conditional, among in ((second, first), (first, second)):
        part = parts[f"{conditional} among {among}"]
        shares = []
        for share, low, high in part[_SHARES].itertuples(index=False):
            if np.isnan(share):
                shares.append("not told")
            else:
                text = f"{100 * share:.0f} % ({100 * low:.0f} to {100 * high:.0f})"
                shares.append(text)
        title = f"{conditional} among {among}, {percent(confidence)} interval"
        yield Table(title, tuple(grid(part, shares)), "details")


def _direction(rows: DataFrame, first: str, second: str) -> str:
    """Whether the higher of one ordered answer goes with the higher of the other."""
    row = rows.loc[GAMMA]
    value, low, high = map(float, row[_LIMITS])
    shown = f"{value:.2f}"
    if isnan(value):
        shown = "not told"
    return (
        f"Goodman and Kruskal's gamma {shown} ({low:.2f} to {high:.2f}), p = {row['p']:.2g}: 1 if "
        f"a higher answer to {first} always goes with a higher one to {second}, -1 if with a lower "
        "one, 0 if neither."
    )


def _association(rows: DataFrame, first: str, second: str) -> list[str]:
    """Whether two answers go together, how strongly, in which direction, and which of them."""
    test = rows.loc[INDEPENDENCE]
    strength = rows.loc[CRAMERS_V]
    value, low, high = strength[_LIMITS]
    # The remark may have whole sentences in it.
    remark = str(test["remark"]).replace("; ", ". ").rstrip(".")
    fields = [
        f"Independence of {first} and {second}: Q = {test['estimate']:.4g}, p = {test['p']:.2g}; "
        f"{remark}.",
        f"Cramér's V {value:.2f} ({low:.2f} to {high:.2f}), the noise taken off.",
    ]
    if GAMMA in rows.index:
        fields.append(_direction(rows, first, second))
    odds = rows[rows.index.str.startswith(ODDS_RATIO)]
    # How far the limit that is nearer to odds of 1 is from them: what differs surely comes first.
    with np.errstate(divide="ignore"):  # a limit of 0 is as far as can be
        far = np.fmax(np.log(odds["lower"]), -np.log(odds["upper"].fillna(np.inf)))
    for name in far.sort_values(ascending=False, kind="stable").index[:_MOST_ODDS]:
        value, low, high = odds.loc[name, _LIMITS]
        limits = f"{low:.3g} to {high:.3g}"
        if np.isnan(high):  # the reports set no upper end
            limits = f"{low:.3g} or more"
        text = f"{value:.3g}"
        if np.isnan(value):
            text = "not told"
        fields.append(
            f"{name[0].upper()}{name[1:]} against all others: {text} ({limits})."
        )
    return fields
