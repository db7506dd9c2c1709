"""Probabilities as integers over 2^32, and their privacy in exact integer arithmetic.

A pair of levels keeps its budget ``r`` if

    a_i (D - b_j) <= e^r b_i (D - a_j),    D = 2^32

which is decided here in integers against a rational lower bound of ``e^r``, so no
rounding error can hide a violation. Only the standard library is used: a client can
run the same check.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from operator import index

from planner.deployment.client.laws.bounds import exp_lower_bound, log_above, log_upper_bound
from planner.deployment.client.laws.pairs import Rule
from planner.errors import InputError, VerificationError
from planner.limits import BUDGET_RANGE, BUDGET_REMEDY, DENOMINATOR, MAX_EPSILON

__all__ = [
    "DENOMINATOR",
    "PairViolation",
    "check_budgets",
    "check_ratio",
    "log_ratios",
    "round_inward",
]

_MAX_STEPS = 8  # times that a pair may give up one more unit; once is the rule


class PairViolation(VerificationError):
    """A pair of levels exceeds its budget; ``first`` and ``second`` are their positions."""

    def __init__(self, first: int, second: int, realised: float, demanded: float) -> None:
        self.first, self.second = first, second
        self.realised, self.demanded = realised, demanded
        super().__init__(
            f"Levels {first} and {second} realise {realised!r} nats but are promised {demanded!r}"
        )


def round_inward(
    a: Sequence[float], b: Sequence[float], epsilons: Sequence[float], rule: Rule
) -> tuple[list[int], list[int]]:
    """Integers over 2^32, ``a`` rounded down and ``b`` up, that keep every pair's budget.

    Raises
    ------
    InputError
        A level's probabilities are so close that no two integers fit between them.
    VerificationError
        The probabilities break the policy by more than rounding.
    """
    low = [min(math.floor(value * DENOMINATOR), DENOMINATOR - 1) for value in a]
    high = [max(math.ceil(value * DENOMINATOR), 1) for value in b]
    for _ in range(1 + _MAX_STEPS):
        for i, (top, bottom) in enumerate(zip(low, high, strict=True)):
            if bottom >= top:
                raise InputError(
                    f"epsilons[{i}]",
                    epsilons[i],
                    "large enough for probabilities that differ by more than 2^-32",
                    "Raise the smallest budgets, or leave out the levels that force them.",
                )
        try:
            check_budgets(low, high, epsilons, rule)
        except PairViolation as broken:
            for i in {broken.first, broken.second}:
                low[i] -= 1
                high[i] += 1
            continue
        return low, high
    raise VerificationError("The probabilities break the policy by more than rounding")


def check_budgets(
    a: Sequence[int], b: Sequence[int], epsilons: Sequence[float], rule: Rule
) -> None:
    """Prove in exact arithmetic that integer probabilities over 2^32 keep every pair's budget.

    Rules ``"min"`` and ``"avg"`` take O(t log t), a matrix O(t^2).

    Parameters
    ----------
    a, b:
        One integer per level, ``0 < b < a < 2^32``.
    epsilons:
        Budget of each level in nats.
    rule:
        ``"min"``, ``"avg"``, or a matrix of pair budgets with ``inf`` where none is demanded.

    Raises
    ------
    VerificationError
        Names the first pair that exceeds its budget, or the first impossible integer.
    InputError
        Unequal lengths, no level, an unknown rule, or a budget that is none.

    Examples
    --------
    >>> check_budgets([2**31], [2**30], [math.log(3.0001)], "min")
    >>> check_budgets([2**31], [2**30], [math.log(2.9999)], "min")
    Traceback (most recent call last):
    ...
    planner...PairViolation: Levels 0 and 0 realise 1.0986... nats but ...
    """
    _require_shapes(a, b, epsilons, rule)
    a, b = [index(top) for top in a], [index(bottom) for bottom in b]  # NumPy's would overflow
    for i, (top, bottom) in enumerate(zip(a, b, strict=True)):
        if not 0 < bottom < top < DENOMINATOR:
            reason = f"Level {i} has a = {top}, b = {bottom}; 0 < b < a < 2^32 is required"
            raise VerificationError(reason)
    ones, zeros = _ratios(a, b)
    if isinstance(rule, str):
        (_check_min if rule == "min" else _check_avg)(ones, zeros, epsilons)
    else:
        for i, row in enumerate(rule):
            for j, budget in enumerate(row):
                if budget != math.inf:
                    _check_pair(ones, zeros, i, j, budget)


def log_ratios(a: Sequence[int], b: Sequence[int]) -> tuple[list[Decimal], list[Decimal]]:
    """``ln(a/b)`` and ``ln((D-b)/(D-a))`` of each level, rounded up."""
    ones, zeros = _ratios(a, b)
    return list(map(log_above, ones)), list(map(log_above, zeros))


def check_ratio(ratio: Fraction, budget: float, name: str = "A report") -> None:
    """Prove that a ratio of two probabilities is at most ``e^budget``.

    Raises
    ------
    VerificationError
        It is larger.

    Examples
    --------
    >>> check_ratio(Fraction(3), 1.0986)
    Traceback (most recent call last):
    ...
    planner.errors.VerificationError: A report realises 1.098612289 nats but 1.098600000 are ...
    """
    if ratio > exp_lower_bound(budget):
        realised = log_upper_bound(ratio)
        raise VerificationError(
            f"{name} realises {realised:.9f} nats but {budget:.9f} are promised"
        )


def _require_shapes(
    a: Sequence[int], b: Sequence[int], epsilons: Sequence[float], rule: Rule
) -> None:
    """A pair that nobody looks at would pass; so nothing may be missing."""
    size = len(a)
    if size == 0 or len(b) != size or len(epsilons) != size:
        lengths = (size, len(b), len(epsilons))
        remedy = "Give a, b and epsilon for every level."
        raise InputError("lengths of a, b and epsilons", lengths, "equal and at least 1", remedy)
    for i, epsilon in enumerate(epsilons):
        if not 0 < epsilon <= MAX_EPSILON:
            raise InputError(f"epsilons[{i}]", epsilon, BUDGET_RANGE, BUDGET_REMEDY)
    if isinstance(rule, str):
        if rule not in ("min", "avg"):
            remedy = "Choose one of them."
            raise InputError("rule", rule, '"min", "avg" or a matrix of pair budgets', remedy)
        return
    if len(rule) != size or any(len(row) != size for row in rule):
        remedy = "Give a row and a column for every level."
        raise InputError("rule", [len(row) for row in rule], f"a {size} x {size} matrix", remedy)
    for i, row in enumerate(rule):
        for j, budget in enumerate(row):
            if not (0 < budget <= MAX_EPSILON or budget == math.inf):
                allowed = f"{BUDGET_RANGE}, or inf for no demand"
                raise InputError(f"rule[{i}][{j}]", budget, allowed, BUDGET_REMEDY)


def _ratios(a: Sequence[int], b: Sequence[int]) -> tuple[list[Fraction], list[Fraction]]:
    """How much more often an item's own bit is 1, and how much more often another's is 0."""
    both = list(zip(a, b, strict=True))
    ones = [Fraction(top, bottom) for top, bottom in both]
    return ones, [Fraction(DENOMINATOR - bottom, DENOMINATOR - top) for top, bottom in both]


def _check_min(ones: list[Fraction], zeros: list[Fraction], epsilons: Sequence[float]) -> None:
    # Going down from the largest budget, every pair is met at its smaller budget.
    order = sorted(range(len(ones)), key=lambda i: -epsilons[i])
    best_one = best_zero = order[0]
    for i in order:
        best_one = i if ones[i] > ones[best_one] else best_one
        best_zero = i if zeros[i] > zeros[best_zero] else best_zero
        _check_pair(ones, zeros, i, best_zero, epsilons[i])
        _check_pair(ones, zeros, best_one, i, epsilons[i])


def _check_avg(ones: list[Fraction], zeros: list[Fraction], epsilons: Sequence[float]) -> None:
    # e^((x + y) / 2) >= lower(x / 2) lower(y / 2): one product decides all pairs.
    halves = [exp_lower_bound(epsilon / 2) for epsilon in epsilons]
    levels = range(len(ones))
    i = max(levels, key=lambda k: ones[k] / halves[k])
    j = max(levels, key=lambda k: zeros[k] / halves[k])
    if ones[i] * zeros[j] > halves[i] * halves[j]:
        demanded = (epsilons[i] + epsilons[j]) / 2
        raise PairViolation(i, j, log_upper_bound(ones[i] * zeros[j]), demanded)


def _check_pair(ones: list[Fraction], zeros: list[Fraction], i: int, j: int, budget: float) -> None:
    if ones[i] * zeros[j] > exp_lower_bound(budget):
        raise PairViolation(i, j, log_upper_bound(ones[i] * zeros[j]), budget)
