"""Central privacy of one pair of answers among shuffled reports: (epsilon, delta)."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, expm1, isfinite, log

import numpy as np
from numpy.typing import NDArray

from planner.arguments import finite, whole_number
from planner.errors import InputError
from planner.outsiders.shuffling.blanket import Blanket
from planner.outsiders.shuffling.positive_part import Bracket, log_positive_part, positive_part

MOST_PEOPLE = 10**9
_PLAINLY = 0.5  # more than the approximation of ln(delta) errs
_COARSE = 0.01  # of delta; a tenth of it of epsilon
_STEP = 5e-4  # of epsilon, from a guess to both ends
_SLIP = 4e-15  # of differences of ratios, as shares of what was subtracted
_ROUNDING = 1e-14  # of masses and ratios, relative, as computed from a mechanism's probabilities


def central_delta(
    blanket: Blanket, epsilon: float, people: int, accuracy: float = 0.002
) -> Bracket:
    """Bracket the bound on delta for a pair of answers, the larger of both orders.

    Only the upper end is a guarantee. The lower end says how far the numbers, not the theorem,
    may be off; for a blanket that is the law of one answer of all others, the theorem is an
    equality and the lower end is proven to be lost.

    Parameters
    ----------
    blanket:
        What hides the pair.
    epsilon:
        Central epsilon in nats, not negative.
    people:
        Honest people whose reports are shuffled, the one who hides among them, 1 to 10^9.
    accuracy:
        Relative width to aim at.

    Examples
    --------
    Two people answer by randomised response with budget 1.

    >>> from math import e
    >>> answers = Blanket([1 / (1 + e)] * 2, [e, 1.0], [1.0, e])
    >>> bracket = central_delta(answers, epsilon=0.1, people=2)
    >>> bracket.lower <= 0.317157 <= bracket.upper
    True
    """
    finite("epsilon", epsilon)
    if epsilon < 0:
        raise InputError("epsilon", epsilon, "not negative", "Give 0 for the strictest guarantee.")
    whole_number("people", people, most=MOST_PEOPLE)
    both = [_one_way(side, epsilon, people, accuracy) for side in _sides(blanket)]
    return Bracket(max(one.lower for one in both), max(one.upper for one in both))


def central_epsilon(blanket: Blanket, delta: float, people: int) -> Bracket:
    """Bracket the smallest central epsilon with a bound on delta of at most ``delta``, in nats.

    Parameters
    ----------
    blanket, people:
        As in :func:`central_delta`.
    delta:
        Above 0, below 1; far below ``1 / people`` in any use.

    Returns
    -------
    Bracket
        At the upper end delta is proven to be kept; below the lower end this bound exceeds it.

    Examples
    --------
    Any mechanism with budget 1, a hundred thousand people.

    >>> from math import e
    >>> blanket = Blanket.from_numbers(ratio=e, variation=(e - 1) / (e + 1), others_ratio=e)
    >>> round(central_epsilon(blanket, delta=1e-6, people=100_000).upper, 4)
    0.0124
    """
    local = _checked(blanket, delta, people)
    sides = _sides(blanket)
    guess = _about(sides, log(delta) + log(people), people, local)
    if guess < 1e-9 * local and central_delta(blanket, 0.0, people).upper <= delta:
        return Bracket(0.0, 0.0)
    there = central_delta(blanket, guess, people, _COARSE).upper
    if there > 0:  # the approximation errs by nearly the same factor nearby
        guess = _about(sides, 2 * log(delta) - log(there) + log(people), people, local)
    kept, step = local, _STEP
    while kept == local and guess * (1 + step) < local:
        if central_delta(blanket, guess * (1 + step), people, _COARSE).upper <= delta:
            kept = guess * (1 + step)
        step *= 2
    return Bracket(_lost(blanket, delta, people, guess), kept)


def is_kept(blanket: Blanket, epsilon: float, delta: float, people: int) -> bool:
    """Whether (epsilon, delta) is proven to hold for a pair; the plainly lost cost little.

    Arguments as in :func:`central_delta`.
    """
    if epsilon >= _checked(blanket, delta, people):
        return True
    target = log(delta) + log(people) + _PLAINLY
    for side in _sides(blanket):
        if log_positive_part(side.masses, _values(side, epsilon), people) > target:
            return False
    return central_delta(blanket, epsilon, people, _COARSE).upper <= delta


def lost_epsilon(examples: Sequence[Blanket], delta: float, people: int) -> float:
    """The largest central epsilon that is lost, proven, on one of these data sets, in nats.

    Parameters
    ----------
    examples:
        Blankets that are the law of one answer of all others, so that the bound is an equality.
    delta, people:
        As in :func:`central_epsilon`.

    Returns
    -------
    float
        No smaller epsilon holds with this delta; NaN if there are no examples.
    """
    best, guess = None, 0.0
    for blanket in examples:
        local = _checked(blanket, delta, people)
        for side in _sides(blanket):
            about = _about([side], log(delta) + log(people), people, local)
            if best is None or about > guess:
                best, guess = side, about
    return float("nan") if best is None else _lost(best, delta, people, guess)


def _checked(blanket: Blanket, delta: float, people: int) -> float:
    """The pair's local budget, raised by what its logarithm may err."""
    whole_number("people", people, most=MOST_PEOPLE)
    if not 0 < finite("delta", delta) < 1:
        remedy = "Take less than 1 over the number of people, such as 1e-8."
        raise InputError("delta", delta, "above 0 and below 1", remedy)
    local = blanket.local_epsilon * (1 + 1e-12)
    if not isfinite(local):
        reason = "a report that only one answer can make gives it away, however well it is shuffled"
        remedy = "Take a mechanism with a finite budget for this pair of answers."
        raise InputError.because("blanket", reason, remedy)
    return local


def _lost(blanket: Blanket, delta: float, people: int, guess: float) -> float:
    """An epsilon just below ``guess`` at which the lower end still exceeds delta."""
    step = _STEP
    while step < 1:
        if central_delta(blanket, guess * (1 - step), people, _COARSE).lower > delta:
            return guess * (1 - step)
        step *= 2
    return 0.0


def _sides(blanket: Blanket) -> list[Blanket]:
    """Both orders, or one if they are alike."""
    other = blanket.reversed()
    one, two = (np.lexsort((law.masses, law.second, law.first)) for law in (blanket, other))
    alike = all(
        np.allclose(getattr(blanket, name)[one], getattr(other, name)[two], rtol=1e-15, atol=0)
        for name in ("masses", "first", "second")
    )
    return [blanket] if alike else [blanket, other]


def _about(sides: Sequence[Blanket], target: float, people: int, local: float) -> float:
    """Where an approximation of ``ln(n delta)`` falls to ``target``, by halving."""
    low, high = 0.0, local
    for _ in range(60):
        middle = (low + high) / 2
        size = max(log_positive_part(side.masses, _values(side, middle), people) for side in sides)
        low, high = (middle, high) if size > target else (low, middle)
        if high - low <= 1e-5 * high:
            break
    return high


def _values(blanket: Blanket, epsilon: float) -> NDArray[np.float64]:
    return blanket.first - blanket.second - expm1(epsilon) * blanket.second


def _one_way(blanket: Blanket, epsilon: float, people: int, accuracy: float) -> Bracket:
    """Bracket for one order; masses are lowered, so that they stay below the laws of others."""
    shrink = max(1.0, blanket.mass) * (1 + _ROUNDING)
    values = _values(blanket, epsilon)
    values += _SLIP * (np.abs(values) + blanket.first)  # not below the exact ones
    sums = positive_part(blanket.masses / shrink, values * shrink, people, accuracy)
    raised = 2 * _SLIP * (2 + exp(epsilon))
    lower = sums.lower / people * (1 - 4 * _ROUNDING * people) - raised
    return Bracket(max(0.0, lower), min(1.0, sums.upper / people))
