"""Privacy of probabilities that are whole numbers over 2^32, decided in exact arithmetic.

Every bound errs to the private side: ``e^r`` is a rational number from below, realised budgets
are rounded up. So no rounding error can hide a violation, here or in a client.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from heapq import nlargest
from itertools import product
from operator import index, truediv

from planner.errors import InputError, VerificationError
from planner.laws.levels import Levels
from planner.limits import DENOMINATOR

_UP = Context(prec=60, rounding=ROUND_CEILING)
# Enough for a double, and five times as fast.
_SHORT = Context(prec=40, rounding=ROUND_CEILING)
# Below it a double, right to 2^-50, is surely the smaller one.
_NEARLY_LARGEST = 1 - 2**-40


@lru_cache(maxsize=4096)
def exp_lower_bound(exponent: float) -> Fraction:
    """A rational number not above ``e^exponent``, within a factor of ``1 - 10^-58``.

    The standard library's decimal ``exp`` is correctly rounded, so the next smaller
    decimal is below the true value.

    Examples
    --------
    >>> float(exp_lower_bound(1.0))
    2.718281828459045
    """
    return Fraction(_UP.next_minus(_UP.exp(Decimal(exponent))))


def log_upper_bound(ratio: Fraction) -> float:
    """A float not below ``ln(ratio)``, for a rational of at least 1; 0 for 1.

    Examples
    --------
    >>> math.log(2) < log_upper_bound(Fraction(2)) < 0.6931472
    True
    """
    if ratio == 1:
        return 0.0
    # Quotient and logarithm are rounded up, and the double is moved up by one step.
    numerator = Decimal(ratio.numerator)
    denominator = Decimal(ratio.denominator)
    quotient = _SHORT.divide(numerator, denominator)
    logarithm = _SHORT.next_plus(_SHORT.ln(quotient))
    return math.nextafter(float(logarithm), math.inf)


def check_ratio(ratio: Fraction | None, budget: float, name: str = "A report") -> None:
    """Prove that a ratio of two probabilities, ``None`` if infinite, is at most ``e^budget``.

    Examples
    --------
    >>> check_ratio(Fraction(3), 1.0986)
    Traceback (most recent call last):
    ...
    planner.errors.VerificationError: A report realises 1.098612289 nats but 1.098600000 are ...
    """
    if budget == math.inf:
        return
    realised = "more"
    if ratio is not None:
        if ratio <= exp_lower_bound(budget):
            return
        realised = f"{log_upper_bound(ratio):.9f} nats"
    raise VerificationError(f"{name} realises {realised} but {budget:.9f} are promised")


class Likelihoods:
    """Smallest and largest likelihood of the elements of a level in every report, up to a scale.

    Rational numbers; both are 0 in a report that the level never sends.
    """

    def __init__(
        self, least: Sequence[int | Fraction], most: Sequence[int | Fraction]
    ) -> None:
        self.least = least
        self.most = most

    @cached_property
    def zeros(self) -> list[int]:
        """Reports that some element of the level never sends."""
        return [o for o, value in enumerate(self.least) if not value]

    @cached_property
    def floats(self) -> tuple[list[float], list[float]]:
        """The least and the most as doubles; a zero below the line stands for infinity."""
        least = [float(value) or math.inf for value in self.least]
        return least, list(map(float, self.most))

    @cached_property
    def parts(self) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """Numerators and denominators of both."""
        least = [value.as_integer_ratio() for value in self.least]
        most = [value.as_integer_ratio() for value in self.most]
        return least, most

    def ratio(self, other: Likelihoods) -> Fraction | None:
        """Largest ratio of an element to one of the other in one report; ``None``: no end.

        Doubles find the few reports that may have it, exact numbers decide.
        """
        for report in other.zeros:
            if self.most[report]:
                return None
        _, mine = self.floats
        others, _ = other.floats
        doubles = list(map(truediv, mine, others))
        # A double errs by 2^-50 at most: only those this near the largest can be the largest.
        nearly = max(doubles) * _NEARLY_LARGEST
        _, mine_exact = self.parts
        others_exact, _ = other.parts
        # Fractions are compared by cross multiplication, without dividing by common factors:
        # hundreds of thousands of reports may nearly have the largest ratio.
        above = 0
        below = 1
        for ratio, (a, b), (c, d) in zip(
            doubles, mine_exact, others_exact, strict=True
        ):
            if ratio >= nearly and a * d * below > b * c * above:
                above = a * d
                below = b * c
        return Fraction(above, below)


class PairViolation(VerificationError):
    """A pair of levels exceeds its budget; ``first`` and ``second`` are their positions."""

    def __init__(self, first: int, second: int, reason: str) -> None:
        self.first = first
        self.second = second
        super().__init__(reason)

    @classmethod
    def of(
        cls, levels: Levels, i: int, j: int, ratio: Fraction, demanded: float
    ) -> PairViolation:
        """The error about levels ``i`` and ``j``, which names them."""
        names = [*levels.names, "dummies"]
        realised = log_upper_bound(ratio)
        pair = f"Levels {names[i]!r} and {names[j]!r}"
        reason = f"{pair} realise {realised!r} nats but are promised {demanded!r}"
        return cls(i, j, reason)


def check_unary(a: Sequence[int], b: Sequence[int], levels: Levels) -> None:
    """Prove that bits with these probabilities over 2^32 keep every pair's budget.

    ``a_i (D - b_j) <= e^r b_i (D - a_j)`` for all pairs of different elements. Rules with a name
    take O(t log t), a matrix O(t^2). Dummies have the probabilities of the first level of the least
    budget.

    Examples
    --------
    >>> level = Levels(("all",), (1.0986,), (5,), ((),))
    >>> check_unary([2**31], [2**30 + 2**16], level)
    >>> check_unary([2**31], [2**30], level)
    Traceback (most recent call last):
    ...
    planner...PairViolation: Levels 'all' and 'all' realise 1.0986... nats but are ...1.0986. ...
    """
    size = len(levels.epsilons)
    lengths = (len(a), len(b))
    if lengths != (size, size):
        allowed = f"{size}, as many as levels"
        remedy = "Give a and b for every level."
        raise InputError("lengths of a and b", lengths, allowed, remedy)
    ones, zeros = unary_ratios(a, b, levels)
    if levels.matrix is not None:
        for i, j in product(range(size), repeat=2):
            _check_pair(levels, ones, zeros, i, j, levels.demanded(i, j))
    elif levels.rule == "avg":
        _check_avg(levels, ones, zeros)
    else:
        _check_min(levels, ones, zeros)


def unary_ratios(
    a: Sequence[int], b: Sequence[int], levels: Levels
) -> tuple[list[Fraction], list[Fraction]]:
    """How much more often an own bit is 1, and how much more often another's is 0.

    One of each level, then of the dummies; VerificationError if an integer is impossible.
    """
    ones = []
    zeros = []
    for i, numbers in enumerate(zip(a, b, strict=True)):
        # As integers of Python: products of NumPy's would overflow.
        top, bottom = map(index, numbers)
        if not 0 < bottom < top < DENOMINATOR:
            reason = (
                f"Level {i} has a = {top}, b = {bottom}; 0 < b < a < 2^32 is required"
            )
            raise VerificationError(reason)
        ones.append(Fraction(top, bottom))
        zeros.append(Fraction(DENOMINATOR - bottom, DENOMINATOR - top))
    if levels.dummies:
        ones.append(ones[levels.dummy_level])
        zeros.append(zeros[levels.dummy_level])
    return ones, zeros


def _check_min(levels: Levels, ones: list[Fraction], zeros: list[Fraction]) -> None:
    """``r = min(eps_i, against_j)``: each level beside the largest ratios of the others.

    Only the two largest each way can be the worst beside a level: O(t) pairs.
    """
    levels_and_dummies = range(len(ones))
    best_ones = nlargest(2, levels_and_dummies, key=ones.__getitem__)
    best_zeros = nlargest(2, levels_and_dummies, key=zeros.__getitem__)
    for i, (count, epsilon, against) in enumerate(levels.members):
        for j in best_zeros:
            if j != i or count > 1:
                _check_pair(levels, ones, zeros, i, j, epsilon)
        for j in best_ones:
            if j != i or count > 1:
                _check_pair(levels, ones, zeros, j, i, against)


def _check_avg(levels: Levels, ones: list[Fraction], zeros: list[Fraction]) -> None:
    """``e^((x + y) / 2) >= lower(x / 2) lower(y / 2)``: the two largest factors each way decide."""
    members = levels.members
    halves = [exp_lower_bound(member.epsilon / 2) for member in members]
    shares_of_ones = list(map(truediv, ones, halves))
    shares_of_zeros = list(map(truediv, zeros, halves))
    positions = range(len(ones))
    best_ones = nlargest(2, positions, key=shares_of_ones.__getitem__)
    best_zeros = nlargest(2, positions, key=shares_of_zeros.__getitem__)
    pairs = list(zip(positions, positions, strict=True))
    pairs += product(best_ones, best_zeros)
    for i, j in pairs:
        if i == j and members[i].elements == 1:
            continue  # it is told from no other of its level
        ratio = ones[i] * zeros[j]
        if ratio > halves[i] * halves[j]:
            both = members[i].epsilon + members[j].epsilon
            raise PairViolation.of(levels, i, j, ratio, demanded=both / 2)


def _check_pair(
    levels: Levels,
    ones: list[Fraction],
    zeros: list[Fraction],
    i: int,
    j: int,
    budget: float,
) -> None:
    """The pair at its budget, or VerificationError."""
    if budget == math.inf:
        return
    # Doubles settle most pairs; exact numbers those where they are near each other.
    double = float(ones[i]) * float(zeros[j])
    if double < math.exp(budget) * _NEARLY_LARGEST:
        return
    # Exact: the bound is a rational number just below e^budget.
    ratio = ones[i] * zeros[j]
    if ratio > exp_lower_bound(budget):
        raise PairViolation.of(levels, i, j, ratio, budget)
