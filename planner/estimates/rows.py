"""Estimates of one question as rows: an answer or a quantity each; of known groups, compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from planner.arrays import Array
from planner.estimates.channel import Estimate, OrderedEstimates
from planner.estimates.counts import Estimates, ProcessedCounts, reach
from planner.laws.levels import Levels

NUMBERS = (
    "estimate", "standard_error", "lower", "upper", "joint_lower", "joint_upper", "processed",
)  # fmt: skip
RowNames = tuple[Sequence[str], Sequence[str]]  # of levels, and of answers
_UNKNOWN = Estimate(None, None, np.nan, np.nan)
_QUANTILES = (("lower quartile", 0.25), ("median", 0.5), ("upper quartile", 0.75))


@dataclass(frozen=True, slots=True, eq=False)
class AnswerRows:
    """Columns of one length; ``numbers`` are those of :data:`NUMBERS`, NaN where one says nothing.

    ``lower`` to ``upper`` covers the answer's true number with the stated confidence; the
    ``joint`` limits cover all answers of the question together; ``processed`` is biased, and how
    it was made is ``processing``; ``notes`` are about the rest. ``whole`` is how many people counts
    are of, by row; NaN where a row is no count. ``drawn`` is the variance that who was asked adds,
    where limits leave it out; NaN of what grows with the people, and is not compared.
    """

    users: int
    levels: Sequence[str]
    answers: Sequence[str]
    numbers: Array
    processing: Sequence[str]
    notes: Sequence[str]
    whole: Array
    drawn: Array

    @property
    def remarks(self) -> list[str]:
        """All that is said of each."""
        return [joined(*pair) for pair in zip(self.processing, self.notes, strict=True)]

    def __getitem__(self, name: str) -> Array:
        """One of the :data:`NUMBERS`."""
        column: Array = self.numbers[NUMBERS.index(name)]
        return column

    def stating(
        self, users: int, four: Sequence[Array], notes: Sequence[str], whole: Array
    ) -> AnswerRows:
        """Rows about the same, with an estimate, its error and its limits alone."""
        size = len(notes)
        numbers = np.vstack([*four, np.full((len(NUMBERS) - len(four), size), np.nan)])
        about = (
            users,
            self.levels,
            self.answers,
            numbers,
            [""] * size,
            notes,
            whole,
            self.drawn,
        )
        return AnswerRows(*about)


def joined(*notes: str) -> str:
    """What is said, each once."""
    return "; ".join(filter(None, dict.fromkeys(notes)))


def item_rows(
    names: RowNames,
    found: Estimates,
    processed: ProcessedCounts,
    confidence: float,
    note: str = "",
) -> AnswerRows:
    """A row per item, with the name of its level and the estimates' own intervals."""
    own, joint = (found.intervals(confidence, together) for together in (False, True))
    columns = found.values, found.standard_errors, *own, *joint, processed.values
    numbers = np.stack(columns)
    size = found.values.size
    numbers[~np.isfinite(numbers)] = np.nan  # an infinite limit claims nothing
    processing, notes = (
        [text] * size for text in (f"processed: {processed.method}", note)
    )
    whole = np.full(size, float(found.users))
    drawn = _drawn(found.values, whole)
    return AnswerRows(found.users, *names, numbers, processing, notes, whole, drawn)


def _drawn(counts: Array, whole: Array) -> Array:
    """Of counts of people who have something or not; of others 0."""
    share = np.clip(counts / whole, 0, 1)
    return np.nan_to_num(whole * share * (1 - share))


class AnswerRow(NamedTuple):
    """What is known of one answer or quantity."""

    answer: str
    estimate: Estimate = _UNKNOWN
    processed: float | None = None
    processing: str = ""
    level: str = ""
    joint: tuple[float | None, float | None] = (None, None)
    whole: float = np.nan


def answer_rows(users: int, rows: Sequence[AnswerRow]) -> AnswerRows:
    """The same as columns."""
    found = [one.estimate for one in rows]
    own = [(one.value, one.standard_error, one.lower, one.upper) for one in found]
    beside = [(*one.joint, one.processed) for one in rows]
    numbers = np.hstack(
        [np.array(own, np.float64), np.array(beside, np.float64)]
    ).T  # None is NaN
    numbers[~np.isfinite(numbers)] = np.nan  # an infinite limit claims nothing
    names = "level", "answer", "processing"
    levels, answers, processing = (
        [getattr(one, name) for one in rows] for name in names
    )
    whole = np.array([one.whole for one in rows])
    notes = [one.note for one in found]
    drawn = _drawn(numbers[0], whole)
    return AnswerRows(users, levels, answers, numbers, processing, notes, whole, drawn)


def quantity_rows(
    users: int, quantities: Sequence[tuple[str, Estimate, tuple[float, float] | None]]
) -> AnswerRows:
    """A row per quantity: its name, its estimate, and its possible range; a sum has none."""
    rows = []
    for name, one, possible in quantities:
        processed = None
        processing = ""
        if possible is not None and one.value is not None:
            processed = min(max(one.value, possible[0]), possible[1])
            processing = "processed: moved into its possible range; no longer unbiased"
        rows.append(AnswerRow(name, one, processed, processing))
    sums = np.array(
        [np.nan if possible is None else 0.0 for *_, possible in quantities]
    )
    made = answer_rows(users, rows)
    return replace(made, drawn=made.drawn + sums)


def ordered_rows(
    levels: Levels,
    order: Sequence[int],
    estimates: OrderedEstimates,
    scores: Sequence[float],
    outside: int = 0,
    none: Estimate | None = None,
) -> AnswerRows:
    """People up to each answer but the last, people with each, quartiles, and the mean score.

    The joint limits are the band of all shares up to an answer; what is processed follows from
    shares that rise. ``order`` has the items' numbers, the lowest answer first. ``none`` is the
    share of people with the answer ``outside`` the order, if there is one: all else is of others.
    """
    size = len(order)
    level = levels.level_names()
    users = max(
        1.0, estimates.users * (1.0 if none is None else 1 - (none.value or 0.0))
    )
    remark = "processed: shares up to an answer made to rise"
    note = (
        f"limits are of the share of the {users:,.0f} with such an answer"
        if none
        else ""
    )
    band = users * np.array(estimates.band).T
    below = np.tri(size, dtype=np.bool_)[:-1]
    chosen = np.vstack([below, np.eye(size, dtype=np.bool_)])
    found = zip(*estimates.among(chosen), strict=True)
    each = [Estimate(*one, note).scaled(0.0, users) for one in found]
    up_to = users * estimates.consistent
    own = users * estimates.shares
    rows = []
    for i, answer in enumerate(estimates.answers[:-1]):
        about = f"up to {answer}", each[i], up_to[i], remark
        rows.append(AnswerRow(*about, joint=(band[i, 0], band[i, 1]), whole=users))
    for i, answer in enumerate(estimates.answers):
        about = answer, each[size - 1 + i], own[i], remark
        rows.append(AnswerRow(*about, level[order[i]], whole=users))
    if none is not None:
        people = none.scaled(0.0, estimates.users)
        whole = float(estimates.users)
        name = levels.item_name(outside)
        kept = min(max(people.value or 0.0, 0.0), whole)
        rows.append(
            AnswerRow(name, people, kept, remark, level=level[outside], whole=whole)
        )
    if scores:
        processed = float(estimates.shares @ np.array(scores))
        rows.append(AnswerRow("mean score", estimates.mean(scores), processed, remark))
    for name, share in _QUANTILES:
        middle = estimates.quantile(share)
        between = f"between {middle.lower} and {middle.upper}"
        said = f"{name}: {middle.answer}, {between} with {estimates.confidence:.0%} confidence"
        rows.append(AnswerRow(name, processing=said))
    return answer_rows(estimates.users, rows)


# -- known groups beside each other: differences, and estimates weighted by group ---------
#
# Groups are independent people. What is compared or weighted stands for more people than those who
# were asked, so that, unlike in its own limits, who was asked is in the variance: of a count ``c``
# of ``n`` people ``c (1 - c/n)`` more. Of what grows with the people, a total, differences say
# nothing.


def differences(
    one: AnswerRows, other: AnswerRows, confidence: float
) -> tuple[AnswerRows, Array]:
    """First less second, row by row, and the chance of a larger gap if there is none.

    Of counts the difference of their shares, ``whole`` being 1. Limits combine both groups' own
    ones by squares (Zou and Donner, 2008), so that rare answers keep their skewed limits.

    Examples
    --------
    >>> from planner.estimates.counts import Estimates
    >>> from planner.estimates.rows import item_rows
    >>> many, few = Estimates([300.0], [20.0], [18.0], 1000), Estimates([90.0], [9.0], [9.0], 600)
    >>> rows = [item_rows((["l"], ["a"]), one, one.clipped(), 0.95) for one in (many, few)]
    >>> gap, p = differences(*rows, 0.95)
    >>> gap["estimate"].round(3).tolist(), p.round(6).tolist()
    ([0.15], [4e-06])
    """
    from scipy.special import ndtr

    z = reach(confidence)
    parts = []
    for rows in (one, other):
        unit = np.where(np.isnan(rows.whole), 1.0, rows.whole)
        value, error, lower, upper = rows.numbers[:4] / unit
        drawn = rows.drawn / unit**2
        sides = np.maximum([value - lower, upper - value], 0)
        parts.append(
            (value, np.square(error) + drawn, *np.sqrt(np.square(sides) + z**2 * drawn))
        )
    (first, spread, below, above), (second, more, under, over) = parts
    gap = first - second
    error = np.sqrt(spread + more)
    four = gap, error, gap - np.hypot(below, over), gap + np.hypot(above, under)
    chance = 2 * ndtr(-np.abs(gap) / np.maximum(error, 1e-300))
    notes = [joined(*pair) for pair in zip(one.notes, other.notes, strict=True)]
    whole = np.where(np.isnan(one.whole), np.nan, 1.0)
    return one.stating(one.users + other.users, four, notes, whole), np.asarray(chance)


def weighted(
    groups: Sequence[AnswerRows], weights: Sequence[float], confidence: float
) -> tuple[AnswerRows, float]:
    """Counts of all groups, a person of each for its weight, and the effective number of people.

    Scaled to as many people as reported. The variance is that of the reports and of who was asked.
    As exact as that many people of one weight would be: ``(sum w n)^2 / sum w^2 n``.

    Examples
    --------
    >>> from planner.estimates.counts import Estimates
    >>> from planner.estimates.rows import item_rows
    >>> found = Estimates([300.0], [20.0], [18.0], 1000)
    >>> rows = item_rows((["l"], ["a"]), found, found.clipped(), 0.95)
    >>> both, people = weighted([rows, rows], [3.0, 1.0], 0.95)
    >>> float(both["estimate"][0]), people
    (600.0, 1600.0)
    """
    sizes = np.array([rows.whole for rows in groups])
    per_person = np.array(weights, dtype=np.float64)[:, None]
    scale = sizes.sum(axis=0) / (per_person * sizes).sum(axis=0)
    counts = np.array([rows["estimate"] for rows in groups])
    errors = np.array([rows["standard_error"] for rows in groups])
    variance = np.square(errors) + np.array([rows.drawn for rows in groups])
    value = scale * (per_person * counts).sum(axis=0)
    error = scale * np.sqrt((np.square(per_person) * variance).sum(axis=0))
    half = reach(confidence) * error
    first = groups[0]
    four = value, error, value - half, value + half
    reported = np.array([rows.users for rows in groups], dtype=np.float64)
    mass = per_person.ravel() * reported
    effective = float(mass.sum() ** 2 / (mass @ per_person.ravel()))
    notes = [f"weighted by group: as exact as {effective:,.0f} people"] * len(
        first.answers
    )
    return first.stating(int(reported.sum()), four, notes, sizes.sum(axis=0)), effective
