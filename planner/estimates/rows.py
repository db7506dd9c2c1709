"""Estimates of one question as rows: an answer or a quantity each; of known groups, compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from planner.arrays import Array
from planner.estimates.channel import Estimate, OrderedEstimates, QuantileEstimate
from planner.estimates.counts import (
    CountLimits,
    Estimates,
    ProcessedCounts,
    reach,
)
from planner.laws.levels import Levels

NUMBERS = (
    "estimate", "standard_error", "lower", "upper", "joint_lower", "joint_upper", "processed",
)  # fmt: skip
RowNames = tuple[Sequence[str], Sequence[str]]  # of levels, and of answers
_UNKNOWN = Estimate(None, None, np.nan, np.nan)
_NO_LIMITS = "smoothed by EMS: no limits are known"
_QUARTILES_ON = "quartiles on the consistent curve, their limits ends of cells"
_NEVER_FALL = "processed: the nearest shares up to an answer that never fall"
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
    of_population: Callable[[float, bool], CountLimits] | None = None

    @property
    def remarks(self) -> list[str]:
        """How each answer was processed, and what is noted of it, in one text."""
        return list(map(joined, self.processing, self.notes))

    def __getitem__(self, name: str) -> Array:
        """The column of one of the :data:`NUMBERS`."""
        column: Array = self.numbers[NUMBERS.index(name)]
        return column

    def stating(
        self,
        users: int,
        columns: Sequence[Array],
        notes: Sequence[str],
        whole: Array,
    ) -> AnswerRows:
        """Rows about the same, with the first of the :data:`NUMBERS` alone."""
        size = len(notes)
        numbers = np.full((len(NUMBERS), size), np.nan)
        numbers[: len(columns)] = columns
        return AnswerRows(
            users=users,
            levels=self.levels,
            answers=self.answers,
            numbers=numbers,
            processing=[""] * size,
            notes=notes,
            whole=whole,
            drawn=self.drawn,
        )


def joined(*notes: str) -> str:
    """One text with all notes that say something, none of them twice."""
    return "; ".join(filter(None, dict.fromkeys(notes)))


def item_rows(
    names: RowNames,
    estimates: Estimates,
    processed: ProcessedCounts,
    confidence: float,
    note: str = "",
) -> AnswerRows:
    """A row per item, with the name of its level and the estimates' own intervals."""
    lower, upper = estimates.intervals(confidence)
    joint_lower, joint_upper = estimates.intervals(confidence, simultaneous=True)
    columns = (
        estimates.values,
        estimates.standard_errors,
        lower,
        upper,
        joint_lower,
        joint_upper,
        processed.values,
    )
    numbers = np.stack(columns)
    size = estimates.values.size
    numbers[~np.isfinite(numbers)] = np.nan  # an infinite limit claims nothing
    processing = [f"processed: {processed.method}"] * size
    notes = [note] * size
    whole = np.full(size, float(estimates.users))
    population = estimates.for_population()
    # Who was asked adds the variance by which the population's exceeds that of the reports.
    of_both = np.square(population.standard_errors)
    of_reports = np.square(estimates.standard_errors)
    levels, answers = names
    return AnswerRows(
        users=estimates.users,
        levels=levels,
        answers=answers,
        numbers=numbers,
        processing=processing,
        notes=notes,
        whole=whole,
        drawn=np.maximum(of_both - of_reports, 0.0),
        of_population=population.intervals,
    )


def _drawn(counts: Array, whole: Array) -> Array:
    """The variance that who was asked adds to a count, ``n p (1 - p)``; 0 of others."""
    share = np.clip(counts / whole, 0, 1)
    variance = whole * share * (1 - share)
    return np.nan_to_num(variance)


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
    """Columns of these rows; NaN stands for what is not known."""
    of_rows = []
    for row in rows:
        estimate = row.estimate
        joint_lower, joint_upper = row.joint
        numbers_of_row = (
            estimate.value,
            estimate.standard_error,
            estimate.lower,
            estimate.upper,
            joint_lower,
            joint_upper,
            row.processed,
        )
        of_rows.append(numbers_of_row)
    numbers = np.array(of_rows, dtype=np.float64).T  # None becomes NaN
    numbers[~np.isfinite(numbers)] = np.nan  # an infinite limit claims nothing
    whole = np.array([row.whole for row in rows])
    return AnswerRows(
        users=users,
        levels=[row.level for row in rows],
        answers=[row.answer for row in rows],
        numbers=numbers,
        processing=[row.processing for row in rows],
        notes=[row.estimate.note for row in rows],
        whole=whole,
        drawn=_drawn(numbers[0], whole),
    )


def quantity_rows(
    users: int, quantities: Sequence[tuple[str, Estimate, tuple[float, float] | None]]
) -> AnswerRows:
    """A row per quantity: its name, its estimate, and its possible range; a sum has none."""
    rows = []
    is_sum = []
    for name, estimate, possible in quantities:
        is_sum.append(possible is None)
        processed = None
        processing = ""
        if possible is not None and estimate.value is not None:
            least, most = possible
            processed = min(max(estimate.value, least), most)
            processing = (
                "processed: what is impossible is moved to the nearest possible value"
            )
        rows.append(AnswerRow(name, estimate, processed, processing))
    answers = answer_rows(users, rows)
    # A sum grows with the people: who was asked has no variance that could be compared.
    drawn = np.where(is_sum, np.nan, answers.drawn)
    return replace(answers, drawn=drawn)


def ordered_rows(
    levels: Levels,
    order: Sequence[int],
    estimates: OrderedEstimates,
    scores: Sequence[float],
    outside: int = 0,
    none: OrderedEstimates | None = None,
    edges: Array | None = None,
) -> AnswerRows:
    """People up to each answer but the last, people with each, quartiles, and the mean score.

    The joint limits are the band of all shares up to an answer; what is processed follows from
    shares that rise. ``order`` has the items' numbers, the lowest answer first. ``none`` estimates
    the shares of all answers where the last, ``outside``, is not of the order: all else is of the
    people with another answer. With ``edges`` the answers are cells of a number with these ends,
    shape ``(d + 1,)``, and quartiles are in its unit.
    """
    size = len(order)
    level_names = levels.level_names()
    no_answer = None
    users = float(estimates.users)
    note = ""
    if none is not None:
        no_answer = _last_share(none)
        answered = 1 - (no_answer.value or 0.0)
        users = max(1.0, users * answered)
        note = f"limits are of the share of the {users:,.0f} with such an answer"
    below = np.tri(size, dtype=np.bool_)[:-1]
    each = np.eye(size, dtype=np.bool_)
    chosen = np.vstack([below, each])
    shares = []
    for value, error, lower, upper in zip(*estimates.among(chosen), strict=True):
        share = Estimate(value, error, lower, upper, note)
        shares.append(share.scaled(0.0, users))
    rows = _rows_up_to(estimates, shares[: size - 1], users, edges)
    people_with = users * estimates.shares
    for position, answer in enumerate(estimates.answers):
        row = AnswerRow(
            answer=answer,
            estimate=shares[size - 1 + position],
            processed=people_with[position],
            processing=_NEVER_FALL,
            level=level_names[order[position]],
            whole=users,
        )
        rows.append(row)
    if no_answer is not None:
        rows.append(_row_outside(levels, outside, no_answer, estimates.users))
    if scores:
        mean = estimates.mean(scores)
        processed = float(estimates.shares @ np.array(scores))
        rows.append(AnswerRow("mean score", mean, processed, _NEVER_FALL))
    rows += _quantile_rows(estimates, edges)
    answers = answer_rows(estimates.users, rows)

    def of_population(confidence: float, together: bool) -> CountLimits:
        """Limits by the law of people drawn of shares and quartiles; NaN of a mean score."""
        lower = np.full(len(rows), np.nan)
        upper = np.full(len(rows), np.nan)
        at_confidence = replace(estimates, confidence=confidence)
        sets = chosen
        if together:  # the band is of the shares up to an answer alone
            sets = below
        *_, low, high = at_confidence.among(sets, together, population=True)
        lower[: len(sets)] = users * low
        upper[: len(sets)] = users * high
        if none is not None and not together:
            none_at_confidence = replace(none, confidence=confidence)
            share = _last_share(none_at_confidence, population=True)
            position = len(chosen)
            lower[position] = estimates.users * share.lower
            upper[position] = estimates.users * share.upper
        if edges is not None and not together:
            least, most = _population_quartiles(at_confidence, edges)
            lower[-len(_QUANTILES) :] = least
            upper[-len(_QUANTILES) :] = most
        return lower, upper

    return replace(answers, of_population=of_population)


def _population_quartiles(estimates: OrderedEstimates, edges: Array) -> CountLimits:
    """Limits of a number's quartiles in the population, shape ``(3,)`` each."""
    limits = []
    for _, share in _QUANTILES:
        _, *ends = number_at(estimates, edges, share, population=True)
        limits.append(ends)
    lower, upper = np.array(limits).T
    return lower, upper


SMOOTHED = "smoothed curve"
"""What rows of :func:`smoothed_rows` are of."""


def smoothed_rows(rows: AnswerRows, edges: Array, smoothed: Array) -> AnswerRows:
    """People up to each end of the smoothed curve's finer cells, without limits.

    ``rows`` are those of the question, the first one up to the end of a cell; ``smoothed`` are
    shares of the people who answered, in cells of equal width between the first and the last of
    the ``edges`` (:func:`planner.estimates.distribution.smoothed_shares`).

    Examples
    --------
    >>> row = AnswerRow("up to 10", Estimate(300.0, 9.0, 280.0, 320.0), whole=1000.0)
    >>> curve = smoothed_rows(
    ...     answer_rows(1000, [row]), np.array([0.0, 10.0, 20.0]), np.array([0.1, 0.2, 0.3, 0.4])
    ... )
    >>> curve.answers, curve["estimate"].round(6).tolist()
    (['up to 5', 'up to 10', 'up to 15', 'up to 20'], [100.0, 300.0, 600.0, 1000.0])
    """
    lowest = edges[0]
    highest = edges[-1]
    _, *ends = end_names(np.linspace(lowest, highest, smoothed.size + 1))
    up_to = np.cumsum(smoothed).tolist()
    whole = float(rows.whole[0])
    curve = []
    for end, share in zip(ends, up_to, strict=True):
        people = Estimate(whole * share, None, np.nan, np.nan, _NO_LIMITS)
        row = AnswerRow(f"up to {end}", people, whole=whole)
        curve.append(row)
    return answer_rows(rows.users, curve)


def _rows_up_to(
    estimates: OrderedEstimates,
    people: Sequence[Estimate],
    users: float,
    edges: Array | None,
) -> list[AnswerRow]:
    """The people up to each answer, or each end of a cell, but the last."""
    ends: Sequence[str] = estimates.answers
    if edges is not None:
        ends = end_names(edges)[1:]
    lower, upper = estimates.band
    processed = users * estimates.consistent
    rows = []
    for position, estimate in enumerate(people):
        row = AnswerRow(
            answer=f"up to {ends[position]}",
            estimate=estimate,
            processed=processed[position],
            processing=_NEVER_FALL,
            joint=(users * lower[position], users * upper[position]),
            whole=users,
        )
        rows.append(row)
    return rows


def _row_outside(
    levels: Levels, outside: int, share: Estimate, users: int
) -> AnswerRow:
    """The people with the answer that is not of the order."""
    people = share.scaled(0.0, users)
    value = people.value or 0.0
    return AnswerRow(
        answer=levels.item_name(outside),
        estimate=people,
        processed=min(max(value, 0.0), float(users)),
        processing=_NEVER_FALL,
        level=levels.level_names()[outside],
        whole=float(users),
    )


def _said_of_quantile(name: str, quantile: QuantileEstimate, confidence: float) -> str:
    """Which answer it is, and between which it lies, where limits do not name the same one."""
    limits = ""
    if quantile.lower != quantile.upper:
        limits = f", between {quantile.lower} and {quantile.upper}"
    return f"{name}: {quantile.answer}{limits} with {100 * confidence:g} % confidence"


def _quantile_rows(estimates: OrderedEstimates, edges: Array | None) -> list[AnswerRow]:
    """A row for each quartile: an answer in words, or a number where cells have these ends."""
    rows = []
    for name, share in _QUANTILES:
        if edges is None:
            quantile = estimates.quantile(share)
            text = _said_of_quantile(name, quantile, estimates.confidence)
            rows.append(AnswerRow(name, processing=text))
        else:
            value, least, most = number_at(estimates, edges, share)
            # No standard error: by that a quantile is known from numbers that add up.
            number = Estimate(value, None, least, most, _QUARTILES_ON)
            rows.append(AnswerRow(name, number))
    return rows


def end_names(edges: Array) -> list[str]:
    """The ends of a number's cells in as few digits as tell them apart, six or more.

    Examples
    --------
    >>> end_names(np.linspace(0, 1, 4)), end_names(np.array([1e6, 1e6 + 1]))
    (['0', '0.333333', '0.666667', '1'], ['1000000', '1000001'])
    """
    numbers = edges.tolist()
    for digits in range(6, 17):
        names = [f"{number:.{digits}g}" for number in numbers]
        if len(set(names)) == len(names):
            return names
    return list(map(repr, numbers))


def number_at(
    estimates: OrderedEstimates,
    edges: Array,
    share: float,
    *,
    population: bool = False,
) -> tuple[float, float, float]:
    """The number up to which this share of people are, and its limits, from shares of its cells.

    On the consistent curve, which is straight within a cell. The limits are those of the cell it
    is in, from its lower end to its upper one: wherever within their cells people are. Of the
    ``population`` that the people were drawn from, or of the people asked.

    Examples
    --------
    >>> shares = np.array([0.2, 0.6])
    >>> estimates = OrderedEstimates(tuple("abc"), shares, np.eye(2) * 1e-6, users=1000)
    >>> number_at(estimates, np.array([0.0, 10.0, 20.0, 30.0]), 0.5)
    (17.5, 10.0, 20.0)
    """
    up_to = np.append(0.0, estimates.consistent)
    # The first cell up to which there are so many: above its lower end there are some.
    reached = up_to[1:] >= share
    cell = int(np.argmax(reached))
    before, after = up_to[cell : cell + 2]
    part = (share - before) / (after - before)
    start, end = edges[cell : cell + 2]
    value = start + part * (end - start)
    quantile = estimates.quantile(share, population=population)
    first = estimates.answers.index(quantile.lower)
    last = estimates.answers.index(quantile.upper)
    least = edges[first]
    most = edges[last + 1]
    return float(value), float(least), float(most)


def _last_share(estimates: OrderedEstimates, population: bool = False) -> Estimate:
    """The share of the last answer."""
    last = np.zeros((1, len(estimates.answers)), dtype=np.bool_)
    last[0, -1] = True
    value, error, lower, upper = estimates.among(last, population=population)
    return Estimate(
        value=float(value[0]),
        standard_error=float(error[0]),
        lower=float(lower[0]),
        upper=float(upper[0]),
    )


# -- whose variance is counted ---------------------------------------------------------------
#
# The limits of one question are of the people asked: the randomness of their reports alone. All
# else is of people drawn at random from a population: a population's limits, differences of groups
# or collections, and estimates weighted by group. Of a count ``c`` of ``n`` people who was asked
# adds ``c (1 - c/n)`` to the variance; of few reports the law of people drawn is inverted.


def population_limits(
    rows: AnswerRows, confidence: float, together: bool = False
) -> CountLimits:
    """Limits for the population of which the people were drawn at random, ``(rows,)`` each.

    By the law where the rows have one (:attr:`AnswerRows.of_population`). Else the distances from
    the estimate to both limits and ``z`` standard deviations of who was asked are combined by
    squares.
    """
    lower, upper = _combined_limits(rows, confidence, together)
    if rows.of_population is None:
        return lower, upper
    least, most = rows.of_population(confidence, together)
    lower = np.where(np.isnan(least), lower, least)
    upper = np.where(np.isnan(most), upper, most)
    return lower, upper


def _combined_limits(
    rows: AnswerRows, confidence: float, together: bool
) -> CountLimits:
    """Limits whose distances are those of the people asked and of who was asked, by squares."""
    value = rows["estimate"]
    lower = rows["lower"]
    upper = rows["upper"]
    at_once = 1  # how many limits are to hold
    if together:
        lower = rows["joint_lower"]
        upper = rows["joint_upper"]
        stated = np.isfinite(value)
        at_once = max(int(stated.sum()), 1)
    drawn = reach(confidence, at_once) * np.sqrt(rows.drawn)
    to_lower = np.maximum(value - lower, 0)
    to_upper = np.maximum(upper - value, 0)
    below = np.hypot(to_lower, drawn)
    above = np.hypot(to_upper, drawn)
    return value - below, value + above


def _population_variance(rows: AnswerRows) -> Array:
    """The variance for people drawn at random: their reports', and what who was asked adds."""
    return np.square(rows["standard_error"]) + rows.drawn


def population_rows(rows: AnswerRows, confidence: float) -> AnswerRows:
    """The rows with errors and limits for the population the people were drawn from.

    Of a total, which grows with the people, the limits stay those of the people asked.

    Examples
    --------
    >>> from planner.mechanisms.making import subset_selection
    >>> law = subset_selection(1.0, 4)
    >>> people = law.draw_aggregate([400, 300, 200, 100], np.random.default_rng(1))
    >>> asked = law.rows([people], 0.95)
    >>> drawn = population_rows(asked, 0.95)
    >>> bool((drawn["standard_error"] > asked["standard_error"]).all())
    True
    """
    lower, upper = population_limits(rows, confidence)
    joint_lower, joint_upper = population_limits(rows, confidence, together=True)
    columns = {
        "standard_error": np.sqrt(_population_variance(rows)),
        "lower": lower,
        "upper": upper,
        "joint_lower": joint_lower,
        "joint_upper": joint_upper,
    }
    numbers = rows.numbers.copy()
    # Totals, which grow with the people, have no variance of who was asked.
    grows = np.isnan(rows.drawn)
    for name, column in columns.items():
        row = NUMBERS.index(name)
        numbers[row] = np.where(grows, numbers[row], column)
    numbers[~np.isfinite(numbers)] = np.nan  # an infinite limit claims nothing
    notes = list(rows.notes)
    totals = grows & np.isfinite(rows["estimate"])
    for position in np.flatnonzero(totals):
        notes[position] = joined(notes[position], "limits of the people asked alone")
    return replace(rows, numbers=numbers, notes=notes)


def differences(
    first: AnswerRows, second: AnswerRows, confidence: float
) -> tuple[AnswerRows, Array]:
    """First less second, row by row, and the chance of a larger gap if there is none.

    Of counts the difference of their shares, ``whole`` being 1. Limits combine those of both
    populations by squares (Zou and Donner, Statistics in Medicine 2008), so that rare answers keep
    their skewed limits:

        lower = p1 - p2 - sqrt((p1 - l1)^2 + (u2 - p2)^2)

    and the chance is the one at which, scaled like normal limits, they touch 0. Of a total, which
    grows with the people, nothing is said, nor of quartiles.

    Examples
    --------
    >>> from planner.estimates.counts import Estimates
    >>> from planner.estimates.rows import item_rows
    >>> many, few = Estimates([300.0], [20.0], [18.0], 1000), Estimates([90.0], [9.0], [9.0], 600)
    >>> rows = [item_rows((["l"], ["a"]), one, one.clipped(), 0.95) for one in (many, few)]
    >>> gap, p = differences(*rows, 0.95)
    >>> gap["estimate"].round(3).tolist(), p.round(6).tolist()
    ([0.15], [5e-06])
    """
    from scipy.special import ndtr

    p1 = shares_with_limits(first, confidence)
    p2 = shares_with_limits(second, confidence)
    gap = p1.value - p2.value
    # Limits of quartiles are ends of cells: they have no size that a chance could be read off.
    no_size = np.isnan(first["standard_error"])
    gap[no_size] = np.nan
    error = np.hypot(p1.error, p2.error)
    # The difference is least where the first is at its lower limit, the second at its upper.
    below = np.hypot(p1.below, p2.above)
    above = np.hypot(p1.above, p2.below)
    columns = (gap, error, gap - below, gap + above)
    towards_0 = np.where(gap > 0, below, above)
    towards_0 = np.maximum(towards_0, 1e-300)
    standard_errors = reach(confidence) * np.abs(gap) / towards_0
    chance = 2 * ndtr(-standard_errors)
    notes = list(map(joined, first.notes, second.notes))
    no_count = np.isnan(first.whole)
    whole = np.where(no_count, np.nan, 1.0)
    users = first.users + second.users
    return first.stating(users, columns, notes, whole), np.asarray(chance)


def _distances(rows: AnswerRows, confidence: float) -> tuple[Array, Array]:
    """How far limits for the population are below and above the estimates, before they are cut.

    A limit is cut at 0 and at everybody, but an unbiased estimate is not: of two groups in which
    nobody has an answer, one in four pairs is above 0 in both, and cut limits would combine to one
    above 0. Where a limit is cut its distance is at least ``z`` standard errors.
    """
    value = rows["estimate"]
    lower, upper = population_limits(rows, confidence)
    normal = reach(confidence) * np.sqrt(_population_variance(rows))
    below = np.maximum(value - lower, 0)
    above = np.maximum(upper - value, 0)
    # Of totals and means the whole is NaN, and no limit is cut.
    is_count = ~np.isnan(rows.whole)
    cut_below = is_count & (lower <= 0)
    cut_above = is_count & (upper >= rows.whole)
    below[cut_below] = np.maximum(below, normal)[cut_below]
    above[cut_above] = np.maximum(above, normal)[cut_above]
    return below, above


class ShareWithLimits(NamedTuple):
    """An estimate, its error, and how far its population's limits are below and above it."""

    value: Array
    error: Array
    below: Array
    above: Array


def shares_with_limits(rows: AnswerRows, confidence: float) -> ShareWithLimits:
    """Counts as shares of the people they are of, all else as it is, with a population's limits."""
    is_count = ~np.isnan(rows.whole)
    whole = np.where(is_count, rows.whole, 1.0)
    below, above = _distances(rows, confidence)
    return ShareWithLimits(
        value=rows["estimate"] / whole,
        error=np.sqrt(_population_variance(rows)) / whole,
        below=below / whole,
        above=above / whole,
    )


def weighted(
    groups: Sequence[AnswerRows], weights: Sequence[float], confidence: float
) -> tuple[AnswerRows, float]:
    """Counts of all groups, a person of each for its weight, and the effective number of people.

    Scaled to as many people as reported. Errors and limits are of people drawn at random from each
    group: with ``w`` the weights, the limits of all groups combine by squares,
    ``sqrt(sum w^2 (c - l)^2)`` (Zou and Donner, 2008), so that rare answers keep their skewed
    limits. As exact as that many people of one weight would be: ``(sum w n)^2 / sum w^2 n``.

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
    first = groups[0]
    none = np.zeros(first.whole.shape)
    weighted_people = none
    all_people = none
    total = none
    # Sums over the groups of the squares of w times an error, or a limit's distance.
    variance = none
    below = none
    above = none
    for rows, weight in zip(groups, weights, strict=True):
        count = rows["estimate"]
        to_lower, to_upper = _distances(rows, confidence)
        all_people = all_people + rows.whole
        weighted_people = weighted_people + weight * rows.whole
        total = total + weight * count
        variance = variance + weight**2 * _population_variance(rows)
        below = below + np.square(weight * to_lower)
        above = above + np.square(weight * to_upper)
    # As many people as reported, whatever the weights add up to.
    scale = all_people / weighted_people
    value = scale * total
    columns = (
        value,
        scale * np.sqrt(variance),
        value - scale * np.sqrt(below),
        value + scale * np.sqrt(above),
    )
    n = np.array([rows.users for rows in groups], dtype=np.float64)
    w = np.array(weights, dtype=np.float64)
    mass = w * n
    # Kish's effective sample size (1965): people of one weight whose mean varies as much.
    effective = mass.sum() ** 2 / (mass @ w)
    note = f"weighted by group: as exact as {effective:,.0f} people"
    notes = [note] * len(first.answers)
    reported = int(n.sum())
    return first.stating(reported, columns, notes, all_people), float(effective)
