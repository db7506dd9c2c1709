"""What the reports of a joint question tell of its parts, beside its cells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from planner.arrays import Array
from planner.deployment.parameters import Parameters
from planner.estimates.channel import Estimate
from planner.estimates.cross_table import CrossTable, pair_tables
from planner.estimates.ordered_table import ordered_association
from planner.estimates.rows import (
    AnswerRow,
    AnswerRows,
    answer_rows,
    item_rows,
    joined,
)
from planner.limits import JOINED
from planner.mechanisms.asking import CollectedLaw
from planner.mechanisms.counting import Aggregate

# Of what rows are, the rows, and a p each where they are no counts.
RelatedRows = tuple[str, AnswerRows, Array | None]
INDEPENDENCE = "independence"
CRAMERS_V = "Cramér's V"
GAMMA = "gamma"
UP_TO = " up to"
ODDS_RATIO = "odds ratio of "


def cross_tables(
    parameters: Parameters, law: CollectedLaw, counted: Aggregate, confidence: float
) -> list[CrossTable]:
    """The table of every two parts of a joint question."""
    return pair_tables(
        questions=parameters.joint[law.name],
        items=law.levels.item_names(),
        counts=law.shape.estimate(counted).values,
        users=counted.users,
        moments=law.shape.second_moments,
        confidence=confidence,
    )


def margin_rows(tables: Sequence[CrossTable]) -> dict[str, AnswerRows]:
    """People of each answer of each part, by its name; of those in order also up to each."""
    margins: dict[str, AnswerRows] = {}
    for table in tables:
        for axis, name in enumerate(table.names):
            if name in margins:  # as a part of another pair
                continue
            answers = list(table.answers[axis])
            margins[name] = _counts(table, answers, table.lines[axis])
            if table.in_order[axis]:
                margins[f"{name}{UP_TO}"] = _up_to(table, axis)
    return margins


def _up_to(table: CrossTable, axis: int) -> AnswerRows:
    """People up to each answer in order of one of both questions, but the highest."""
    lines = table.lines[axis]
    ends = table.in_order[axis] - 1
    cells_up_to = np.cumsum(lines, axis=0)
    people = table.people_in(cells_up_to[:ends])
    # Sums of processed counts, so that they rise.
    whole = table.people_in(lines).on_simplex()
    processed_up_to = np.cumsum(whole.values)
    processed = whole._replace(values=processed_up_to[:ends])
    names = table.answers[axis][:ends]
    labels = ([""] * ends, list(names))  # of no level
    return item_rows(labels, people, processed, table.confidence)


def pair_rows(table: CrossTable) -> tuple[str, AnswerRows]:
    """People of each pair of answers, of whom the question also asked something else."""
    names = _pair_names(table)
    each = np.eye(len(names))
    return " and ".join(table.names), _counts(table, names, each)


def related_rows(table: CrossTable) -> Iterator[RelatedRows]:
    """How two questions go together, and shares of each one's answers among the other's.

    Three sets of rows, each with its name and p, NaN where nothing is tested; all limits are of
    people drawn at random.
    """
    first, second = table.names
    estimates, p_of = _strengths(table)
    p = np.array([p_of.get(name, np.nan) for name in estimates])
    rows = _rows(table, estimates.items())
    yield f"{first} with {second}", rows, p
    names = _pair_names(table)
    cells = list(np.ndindex(table.counts.shape))
    nothing = np.full(len(cells), np.nan)
    for axis, question, among in ((1, first, second), (0, second, first)):
        shares = []
        for i, j in cells:
            shares.append(table.share(i, j, margin=axis))
        shares_by_name = zip(names, shares, strict=True)
        rows = _rows(table, shares_by_name, whole=1.0)
        yield f"{question} among {among}", rows, nothing


def _strengths(table: CrossTable) -> tuple[dict[str, Estimate], dict[str, float]]:
    """Whether and how strongly two questions are associated, by name, and p of what is tested."""
    test = table.independence
    degrees = f"{test.degrees} degrees of freedom, the noise of the reports in it"
    note = joined(degrees, test.note)
    estimates = {
        INDEPENDENCE: Estimate(test.statistic, None, np.nan, np.nan, note),
        CRAMERS_V: table.association,
    }
    p_of = {INDEPENDENCE: test.p_value}
    direction = ordered_association(table)
    if direction is not None:
        estimates[GAMMA] = direction.gamma
        p_of[GAMMA] = direction.p_value
    with_odds = _pair_names(table)[: _odds_told(table)]
    cells = np.ndindex(table.counts.shape)
    for name, (i, j) in zip(with_odds, cells, strict=False):
        estimates[f"{ODDS_RATIO}{name}"] = table.odds_ratio([i], [j])
    return estimates, p_of


def _odds_told(table: CrossTable) -> int:
    """The number of cells with an odds ratio: none where a part has a single answer.

    Of two by two cells one: those of the others are the same, or its inverse.
    """
    if table.counts.shape == (2, 2):
        return 1
    if table.counts.size <= 3:
        return 0
    return table.counts.size


def _pair_names(table: CrossTable) -> list[str]:
    """The names of the cells, row by row."""
    rows, columns = table.answers
    return [JOINED.join(pair) for pair in product(rows, columns)]


def _counts(table: CrossTable, names: Sequence[str], cells: Array) -> AnswerRows:
    """Rows of the people in some cells each, of whom everybody is in one."""
    people = table.people_in(cells)
    labels = ([""] * len(names), names)  # of no level
    return item_rows(labels, people, people.on_simplex(), table.confidence)


def _rows(
    table: CrossTable,
    estimates: Iterable[tuple[str, Estimate]],
    whole: float = np.nan,
) -> AnswerRows:
    """Rows of named quantities that are no counts; ``whole`` is 1 of shares."""
    quantities = []
    for name, estimate in estimates:
        quantities.append(AnswerRow(name, estimate, whole=whole))
    rows = answer_rows(table.users, quantities)
    # Who was asked adds nothing: limits are of people drawn at random already.
    return replace(rows, drawn=np.zeros(len(quantities)))
