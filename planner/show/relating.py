"""Two answers together: what a joint question costs and gains, and its tables as grids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from planner.arrays import Array
from planner.deployment.collecting.estimating import CRAMERS_V, INDEPENDENCE, ODDS_RATIO
from planner.estimates.cross_table import CrossTable
from planner.limits import JOINED
from planner.planning.joint import POWER, STRENGTH, Related
from planner.planning.plan import SurveyPlan
from planner.planning.question import QuestionPlan
from planner.show.blocks import (
    Block,
    Heading,
    Rank,
    Sentence,
    Table,
    bars,
    numbers,
    percent,
    rows_table,
    said,
    texts,
)

if TYPE_CHECKING:
    from pandas import DataFrame

COST = "About one of them alone a report may say as much as about all together."
_APART = "Answers to different questions cannot be related: their reports are not linked."
_MOST_ODDS, _MOST_COLUMNS = 3, 12
_COUNTED, _LIMITS = ["estimate", "standard_error"], ["estimate", "lower", "upper"]
_SHARES = ["share", "share_lower", "share_upper"]


def related_blocks(question: QuestionPlan) -> list[Block]:
    """Of a joint question: the errors of table and margins, also asked apart; an association."""
    found = question.fact(Related)
    if found is None:
        return []
    people_asked, alone = question.part.people, found.margins_apart
    each = alone.some_each.errors
    rows = [(" x ".join(found.names), found.table, found.apart, np.inf)]
    rows += zip(found.names, found.margins, alone.errors.tolist(), each.tolist(), strict=True)
    names, *errors = zip(*rows, strict=True)
    together, split, one_each = ([sqrt(one / people_asked) for one in column] for column in errors)
    columns = (
        texts("table", names),
        bars("asked together", together, percent),
        numbers("apart, budgets split", split, percent),
        numbers(
            "one question each", (percent(x) if np.isfinite(x) else "none" for x in one_each), str
        ),
    )
    told = [
        f"To see with {100 * POWER:.0f} % chance that {first} and {second} go together (Cramér's V "
        f"{STRENGTH:g}, tested at 5 %) takes {needed:,} people."
        for (first, second), needed in found.people.items()
    ]
    title = "Total error, a share of the people asked"
    return [Table(title, columns, "everybody"), *said([_gains(found), *told, COST])]


def apart_sentences(plan: SurveyPlan) -> list[str]:
    """That questions asked apart cannot be related, and what asking two together would have."""
    if sum(one.question.draws_one for one in plan.questions) < 2:
        return []
    found = plan.together
    if found is None or found.gains[0] <= 1:
        return [_APART]
    offer = (
        f'Asked together, by a question of kind "joint", {" and ".join(found.names)} have a table.'
    )
    return [f"{_APART} {offer} {_gains(found)} {COST}"]


def _gains(found: Related) -> str:
    table, margins = found.gains
    text = (
        f"The table's squared error is {table:.3g} times smaller than asked apart, budgets split "
        "(one question each gives no table)"
    )
    if table <= 1:
        return "Asked apart with the budgets split the table would be as exact."
    if margins > 1:
        return f"{text}, and those of the questions alone are {margins:.3g} times smaller, too."
    return f"{text}; those of the questions alone are {1 / margins:.3g} times larger."


def relations(parts: Sequence[str]) -> list[tuple[str, str, list[str]]]:
    """Every two parts of a joint question, and what the rows that relate them are ``of``."""
    return [
        (one, other, [f"{one} with {other}", f"{one} among {other}", f"{other} among {one}"])
        for one, other in combinations(parts, 2)
    ]


def grid_blocks(own: DataFrame, parts: Sequence[str], confidence: float) -> Iterator[Block]:
    """The tables of a joint question's result, with what they tell."""
    for first, second, (association, *_) in relations(parts):
        told = own[own["of"] == association]
        if len(told):
            yield Heading(f"{first} and {second}", level=3)
            yield from _grid(own, first, second, confidence)
            yield from said(_association(told.set_index("answer"), first, second))


def _grid(own: DataFrame, first: str, second: str, confidence: float) -> Iterator[Block]:
    """People of each pair of answers, and shares with limits within rows and within columns."""
    rows, columns = (own["answer"][own["of"] == name].tolist() for name in (first, second))
    if len(columns) > _MOST_COLUMNS:
        yield Sentence(f"{len(columns)} columns are too many here: see --json or --out.")
        return

    def grid(title: str, told: dict[str, str], margins: list[list[str]], rank: Rank) -> Table:
        table = [texts(first, [*rows, *["all"] * bool(margins)])]
        for k, column in enumerate(columns):
            cells = [told[f"{row}{JOINED}{column}"] for row in rows]
            below = [margins[1][k]] if margins else []
            table.append(numbers(f"{second} = {column}", [*cells, *below], str))
        if margins:
            table.append(numbers("all", [*margins[0], f"{own['users'].iloc[0]:,}"], str))
        return Table(title, tuple(table), rank)

    parts = dict(iter(own.groupby("of")))
    cells = parts.get(f"{first} and {second}", parts[""])
    counted = {
        of: [f"{x:,.0f} ± {error:,.0f}" for x, error in part[_COUNTED].itertuples(index=False)]
        for of, part in (("", cells), (first, parts[first]), (second, parts[second]))
    }
    told = dict(zip(cells["answer"], counted[""], strict=True))
    yield grid("People ± standard error", told, [counted[first], counted[second]], "everybody")
    for of, among in ((second, first), (first, second)):
        part = parts[f"{of} among {among}"]
        shares = [
            "not told" if np.isnan(x) else f"{100 * x:.0f} % ({100 * low:.0f} to {100 * high:.0f})"
            for x, low, high in part[_SHARES].itertuples(index=False)
        ]
        told = dict(zip(part["answer"], shares, strict=True))
        yield grid(f"{of} among {among}, {confidence:.0%} interval", told, [], "details")


def beside_truth(table: CrossTable, truth: Array) -> list[Block]:
    """An estimated table with the true one, and how the two answers go together in both."""
    first, second = table.names
    cells = np.eye(truth.size).reshape(-1, *truth.shape)
    errors = table.people_in(cells).standard_errors.reshape(truth.shape)
    rows = [
        [answer, *(f"{x:,.0f} ± {e:,.0f} ({true:,.0f})" for x, e, true in zip(*own, strict=True))]
        for answer, *own in zip(table.answers[0], table.counts, errors, truth, strict=True)
    ]
    even = np.outer(truth.sum(axis=1), truth.sum(axis=0)) / truth.sum()
    phi2 = np.divide((truth - even) ** 2, even, where=even > 0, out=np.zeros(truth.shape)).sum()
    true = sqrt(phi2 / truth.sum() / max(min(truth.shape) - 1, 1))
    title = f"{first} and {second}: people ± standard error (and truly)"
    headings = (first, *(f"{second} = {one}" for one in table.answers[1]))
    return [
        rows_table(title, headings, rows, 1),
        *said([f"{table.summary} Truly V is {true:.2f}."]),
    ]


def _association(rows: DataFrame, first: str, second: str) -> list[str]:
    test, strength = rows.loc[INDEPENDENCE], rows.loc[CRAMERS_V]
    value, low, high = strength[_LIMITS]
    found = [
        f"Independence of {first} and {second}: Q = {test['estimate']:.4g}, p = {test['p']:.2g}; "
        f"{test['remark']}.",
        f"Cramér's V {value:.2f} ({low:.2f} to {high:.2f}), the noise taken off.",
    ]
    odds = rows[rows.index.str.startswith(ODDS_RATIO)]
    with np.errstate(divide="ignore"):  # nearer to 1 than any other value that fits
        far = np.fmax(np.log(odds["lower"]), -np.log(odds["upper"].fillna(np.inf)))
    for name in far.sort_values(ascending=False, kind="stable").index[:_MOST_ODDS]:
        value, low, high = odds.loc[name, _LIMITS]
        limits = f"{low:.3g} or more" if np.isnan(high) else f"{low:.3g} to {high:.3g}"
        told = "not told" if np.isnan(value) else f"{value:.3g}"
        found.append(f"{name[0].upper()}{name[1:]} against all others: {told} ({limits}).")
    return found
