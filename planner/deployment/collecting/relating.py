"""What the reports of a joint question tell of its parts, as rows beside those of its cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from planner.arrays import Array
from planner.deployment.parameters import Parameters
from planner.estimates.channel import Estimate
from planner.estimates.cross_table import CrossTable, pair_tables
from planner.estimates.rows import NUMBERS, AnswerRows, item_rows
from planner.limits import JOINED
from planner.mechanisms.asking import CollectedLaw
from planner.mechanisms.counting import Aggregate

# Of what rows are, the rows, and a chance each where they are no counts.
RelatedRows = tuple[str, AnswerRows, Array | None]
INDEPENDENCE, CRAMERS_V = "independence", "Cramér's V"
ODDS_RATIO = "odds ratio of "


def cross_tables(
    parameters: Parameters, law: CollectedLaw, counted: Aggregate, confidence: float
) -> list[CrossTable]:
    """The table of every two parts of a joint question."""
    counts, items = law.shape.estimate(counted).values, law.levels.item_names()
    about = counts, counted.users, law.shape.second_moments, confidence
    return pair_tables(parameters.joint[law.name], items, *about)


def margin_rows(tables: Sequence[CrossTable]) -> dict[str, AnswerRows]:
    """People of each answer of each part, by the part's name."""
    found = {}
    for table in tables:
        for axis, name in enumerate(table.names):
            if name not in found:
                masks = [_line(table, axis, k) for k in range(table.counts.shape[axis])]
                found[name] = _counts(table, list(table.answers[axis]), masks)
    return found


def related_rows(table: CrossTable, *, cells: bool) -> Iterator[RelatedRows]:
    """Rows of the association, of shares, and of the ``cells`` where there are three parts."""
    (first, second), places = table.names, [*np.ndindex(table.counts.shape)]
    names = [JOINED.join(cell) for cell in product(*table.answers)]
    none = np.full(len(places), np.nan)
    if cells:
        masks = [*np.eye(len(places)).reshape(-1, *table.counts.shape)]
        yield f"{first} and {second}", _counts(table, names, masks), None
    test = table.independence
    note = f"{test.degrees} degrees of freedom, the noise of the reports in it"
    note = "; ".join(filter(None, (note, test.note)))
    statistic = Estimate(test.statistic, None, np.nan, np.nan, note)
    odds = places[:1] if table.counts.shape == (2, 2) else places if len(places) > 3 else []
    found = {INDEPENDENCE: statistic, CRAMERS_V: table.association} | {
        f"{ODDS_RATIO}{names[k]}": table.odds_ratio([i], [j]) for k, (i, j) in enumerate(odds)
    }
    p = np.full(len(found), np.nan)
    p[0] = test.p_value
    yield f"{first} with {second}", _rows(table, list(found), list(found.values())), p
    for axis, of, among in ((1, first, second), (0, second, first)):
        shares = [table.share(i, j, of=axis) for i, j in places]
        yield f"{of} among {among}", _rows(table, names, shares, whole=1.0), none


def _line(table: CrossTable, axis: int, place: int) -> Array:
    inside = np.zeros(table.counts.shape)
    inside[(slice(None),) * axis + (place,)] = 1
    return inside


def _counts(table: CrossTable, names: Sequence[str], masks: Sequence[Array]) -> AnswerRows:
    """Rows of the people in some cells each, of whom everybody is in one."""
    found = table.people_in(np.array(masks))
    return item_rows([""] * len(masks), names, found, found.on_simplex(), table.confidence)


def _rows(
    table: CrossTable, names: Sequence[str], found: Sequence[Estimate], whole: float = np.nan
) -> AnswerRows:
    numbers = np.full((len(NUMBERS), len(found)), np.nan)
    own = [(one.value, one.standard_error, one.lower, one.upper) for one in found]
    numbers[:4] = np.array(own, dtype=np.float64).T
    numbers[~np.isfinite(numbers)] = np.nan  # an infinite limit claims nothing
    nothing, notes = [""] * len(found), [one.note for one in found]
    of = np.full((2, len(found)), [[whole], [0.0]])  # limits are of people drawn at random
    return AnswerRows(table.users, nothing, names, numbers, nothing, notes, *of)
