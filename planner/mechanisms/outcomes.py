"""What a model of a private answer is about: its reports' weights, summed, and their variance.

An outcome is an answer that people have or not, or a number that they have. The sums of a pattern
of covariates follow from the counts that a collector keeps, whatever the mechanism, so that
collecting stays additive: see :mod:`planner.estimates.regression`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from planner.arrays import Array
from planner.errors import InputError
from planner.estimates.regression import PatternSums
from planner.laws.answers import MEAN_OF_SCORES, Code
from planner.limits import DENOMINATOR
from planner.mechanisms.asking import (
    AskedCollected,
    CollectedLaw,
    ItemCollected,
    NumberCollected,
    OrderedCollected,
)
from planner.mechanisms.collected import Collected, RowsCollected
from planner.mechanisms.counting import Aggregate

# Of one pattern: sum T, sum S, sum T^2, sum T S and sum S^2.
_FiveSums = tuple[float, float, float, float, float]
_MEAN = "mean"
_MEAN_SCORE = "mean score"


@dataclass(frozen=True, slots=True)
class Outcome:
    """An answer, or a number, as a model takes it.

    Attributes
    ----------
    name:
        The answer; ``"mean"``, ``"mean score"`` or ``"up to ..."``.
    is_share:
        Whether people have it or not, so that a share of them is modelled.
    sums_of:
        From the counts of one pattern to its sums.
    variance:
        ``v``: the variance of a report's weight, at shares or numbers of shape ``(k,)``.
    truth_of:
        Of a true answer what ``T`` and ``S`` are on average: those of somebody asked directly.
    """

    name: str
    is_share: bool
    sums_of: Callable[[Aggregate], _FiveSums]
    variance: Callable[[Array], Array]
    truth_of: Callable[[Code], tuple[float, float]]

    def pattern_sums(self, aggregates: Sequence[Aggregate]) -> PatternSums:
        """The sums of several patterns, in their order."""
        people = []
        sums = []
        for counted in aggregates:
            people.append(float(counted.users))
            sums.append(self.sums_of(counted))
        table = np.array(sums, dtype=np.float64).reshape(-1, 5)
        weight, base, weight_square, product, base_square = table.T
        return PatternSums(
            np.array(people, dtype=np.float64),
            weight,
            base,
            weight_square,
            product,
            base_square,
        )


def outcome_names(law: CollectedLaw) -> list[str]:
    """What can be modelled of a question: its answers, or its numbers.

    Raises
    ------
    InputError
        The question is asked in rounds, or by two reports a person.
    """
    asked: AskedCollected = law.asked
    if law.again is not None or len(law.rounds) > 1:
        reason = f"question {law.name!r} is asked in rounds"
        remedy = "Model a question that is asked once."
        raise InputError.because("model", reason, remedy)
    match asked:
        case OrderedCollected():
            return list(_of_ordered(asked, cast("RowsCollected", law.shape)))
        case NumberCollected():
            return [_MEAN]
    return list(asked.levels.item_names())


def outcome_of(law: CollectedLaw, name: str, shares: Array | None = None) -> Outcome:
    """The outcome of this name, one of :func:`outcome_names`.

    ``shares`` are rough shares of the answers among all people, by which the variance is computed;
    all alike when omitted. They change how exact a model is and not what it estimates.

    Examples
    --------
    >>> from planner import randomized_response
    >>> law = randomized_response(np.log(4), items=3)
    >>> counted = Aggregate(100, np.array([100, 60, 20, 20]))  # reports, and those for each item
    >>> law.estimate(counted).values.round(1).tolist()
    [86.7, 6.7, 6.7]
    >>> outcome = outcome_of(law, outcome_names(law)[0])
    >>> [round(value, 1) for value in outcome.sums_of(counted)]  # T is 5/3 or -1/3
    [86.7, 100.0, 171.1, 86.7, 100.0]
    """
    asked: AskedCollected = law.asked
    match asked:
        case OrderedCollected():
            return _of_ordered(asked, cast("RowsCollected", law.shape))[name]
        case NumberCollected():
            return _of_number(asked, cast("RowsCollected", law.shape))
    k = outcome_names(law).index(name)
    items = cast("ItemCollected", asked)

    def truth_of(code: Code) -> tuple[float, float]:
        has_item = code == k
        if items.several:  # the code of a set lists its items
            has_item = k in code
        return float(has_item), 1.0

    return Outcome(
        name=name,
        is_share=True,
        sums_of=_item_sums(items, law.shape, k),
        variance=_item_variance(items, law.shape, k, shares),
        truth_of=truth_of,
    )


def _item_sums(
    asked: ItemCollected, shape: Collected, k: int
) -> Callable[[Aggregate], _FiveSums]:
    """The sums of item ``k``; a set of which one item is drawn counts ``l`` times."""

    def sums(counted: Aggregate) -> _FiveSums:
        estimates = shape.estimate(counted)
        squares = shape.weight_squares(counted)
        weight = asked.scale * float(estimates.values[k])
        weight_square = asked.scale**2 * float(squares[k])
        people = float(counted.users)
        # S is 1 for everybody: sum T S is sum T, and sum S^2 the people.
        return weight, people, weight_square, weight, people

    return sums


def _item_variance(
    asked: ItemCollected, shape: Collected, k: int, shares: Array | None
) -> Callable[[Array], Array]:
    """``v(p) = p H + (1 - p) O - p^2``, with the means of ``T^2`` of holders, ``H``, and others."""
    size = shape.levels.elements
    # Shares of the elements among those who have another one.
    other_shares = np.ones(size)
    if shares is not None:
        other_shares[: shares.size] = np.maximum(shares, 1e-9)
    other_shares[k] = 0.0
    other_shares /= max(other_shares.sum(), 1e-300)
    item_alone = np.eye(1, size, k)
    everybody_has_it = item_alone[0]
    of_holder = shape.second_moments(everybody_has_it, item_alone)
    of_others = shape.second_moments(other_shares, item_alone)
    square = asked.scale**2
    return _mixed_variance(
        of_holder=square * float(of_holder[0, 0]),
        of_others=square * float(of_others[0, 0]),
    )


def _mixed_variance(of_holder: float, of_others: float) -> Callable[[Array], Array]:
    """The variance of ``T`` at a share, from its mean square of holders and of others.

    ``p H + (1 - p) O - p^2``, above 0, for ``T`` has the mean ``p``.
    """

    def variance(share: Array) -> Array:
        inside = np.clip(share, 0.0, 1.0)
        mean_square = inside * of_holder + (1 - inside) * of_others
        return np.maximum(mean_square - np.square(inside), 1e-12)

    return variance


def _of_ordered(asked: OrderedCollected, shape: RowsCollected) -> dict[str, Outcome]:
    """Shares up to each answer but the last, and the mean score where there are scores.

    Of answers beside one that is outside the order, shares are of those with another one.
    """
    values = np.array(shape.values)  # what a report adds to each share, or to the score
    chances = np.array(shape.rows) / DENOMINATOR
    names = asked.levels.item_names()
    size = len(asked.order) - asked.no_answer
    rank_of = {item: rank for rank, item in enumerate(asked.order)}
    everybody = np.ones(values.shape[1])

    def score_of(code: Code) -> tuple[float, float]:
        rank = rank_of[code]
        if rank >= size:  # no answer in the order
            return 0.0, 0.0
        return asked.scores[rank], 1.0

    if asked.wanted == MEAN_OF_SCORES:
        return {_MEAN_SCORE: _of_rows(_MEAN_SCORE, values[0], everybody, score_of)}
    base = everybody
    if asked.no_answer:
        base = values[size - 1]
    outcomes = {}
    for i, item in enumerate(asked.order[: size - 1]):
        holders = list(asked.order[: i + 1])
        others = list(asked.order[i + 1 :])
        # E[T^2] by the person's answer.
        squares = chances @ np.square(values[i])
        name = f"up to {names[item]}"

        # The default binds this turn's answer; a plain i would be the last one of all.
        def is_up_to(code: Code, last: int = i) -> tuple[float, float]:
            rank = rank_of[code]
            return float(rank <= last), float(rank < size)

        outcomes[name] = Outcome(
            name=name,
            is_share=True,
            sums_of=_row_sums(values[i], base),
            variance=_mixed_variance(
                of_holder=squares[holders].mean(), of_others=squares[others].mean()
            ),
            truth_of=is_up_to,
        )
    if asked.scores:
        # The last answer's score, less each step of the scores for people below it.
        steps = np.diff(asked.scores[:size])
        last_score = asked.scores[size - 1]
        score = last_score * base - steps @ values[: size - 1]
        outcomes[_MEAN_SCORE] = _of_rows(_MEAN_SCORE, score, base, score_of)
    return outcomes


def _of_number(asked: NumberCollected, shape: RowsCollected) -> Outcome:
    """The mean of those who answer, in the question's unit."""
    domain = asked.domain
    on_unit, answered = np.array(shape.values)
    # A number is center + radius v, of v on [-1, 1]: so is what a report adds to their sum.
    number = domain.center * answered + domain.radius * on_unit

    def number_of(code: Code) -> tuple[float, float]:
        if code is None:
            return 0.0, 0.0
        return float(code), 1.0

    return _of_rows(_MEAN, number, answered, number_of)


def _of_rows(
    name: str,
    weights: Array,
    base: Array,
    truth_of: Callable[[Code], tuple[float, float]],
) -> Outcome:
    """A number of a channel's question; people's weights are taken for equally exact."""
    return Outcome(name, False, _row_sums(weights, base), np.ones_like, truth_of)


def _row_sums(weights: Array, base: Array) -> Callable[[Aggregate], _FiveSums]:
    """The sums from counts of a channel's reports, which add ``T`` and ``S``: ``(outputs,)``."""

    def sums(counted: Aggregate) -> _FiveSums:
        counts = counted.counts.astype(np.float64)
        return (
            float(counts @ weights),
            float(counts @ base),
            float(counts @ np.square(weights)),
            float(counts @ (weights * base)),
            float(counts @ np.square(base)),
        )

    return sums
