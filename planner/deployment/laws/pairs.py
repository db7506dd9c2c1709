"""Realised and demanded budgets of pairs of levels, realised ones rounded up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

__all__ = [
    "MAX_LISTED_LEVELS",
    "PairBudget",
    "Rule",
    "all_pairs",
    "demanded_budget",
    "least_budget",
    "listed_pairs",
    "log_above",
]

Rule = str | Sequence[Sequence[float]]
MAX_LISTED_LEVELS = 200
"""With more levels, only the tightest pair of each level is listed."""
_UP = Context(prec=60, rounding=ROUND_CEILING)


@dataclass(frozen=True, slots=True)
class PairBudget:
    """Realised and demanded budget of telling an item of ``first`` from one of ``second``.

    ``realised`` is an upper bound, rounded up, in nats; ``demanded`` is ``inf`` for a
    pair that the policy does not protect.
    """

    first: int
    second: int
    realised: float
    demanded: float


def log_above(ratio: Fraction) -> Decimal:
    """A decimal of 60 digits not below ``ln(ratio)``, for a positive rational."""
    quotient = _UP.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    return _UP.next_plus(_UP.ln(quotient))  # ln is rounded to nearest, whatever the context


def listed_pairs(
    ones: Sequence[Decimal], zeros: Sequence[Decimal], epsilons: Sequence[float], rule: Rule
) -> list[PairBudget]:
    """All pairs of up to 200 levels; of more levels, the tightest pair of each.

    The loss of the pair ``(i, j)`` is the larger of ``ones[i] + zeros[j]`` and
    ``ones[j] + zeros[i]``, in nats; the tightest pair has the least room below its budget.
    """
    if len(ones) <= MAX_LISTED_LEVELS:
        return all_pairs(ones, zeros, epsilons, rule)
    found = {}
    for i, j in _tightest(ones, zeros, epsilons, rule):
        first, second = min(i, j), max(i, j)
        found[first, second] = _pair(first, second, ones, zeros, epsilons, rule)
    return [found[key] for key in sorted(found)]


def all_pairs(
    ones: Sequence[Decimal], zeros: Sequence[Decimal], epsilons: Sequence[float], rule: Rule
) -> list[PairBudget]:
    """Every unordered pair of levels, ``(i, i)`` included; see :func:`listed_pairs`."""
    size = range(len(ones))
    return [_pair(i, j, ones, zeros, epsilons, rule) for i in size for j in size[i:]]


def demanded_budget(epsilons: Sequence[float], rule: Rule, i: int, j: int) -> float:
    """The pair's budget under the rule, ``inf`` if none is demanded."""
    if isinstance(rule, str):
        both = epsilons[i], epsilons[j]
        return min(both) if rule == "min" else sum(both) / 2
    return float(rule[i][j])


def least_budget(epsilons: Sequence[float], rule: Rule) -> float:
    """The smallest budget of any pair, ``(i, i)`` included.

    Examples
    --------
    >>> least_budget([2.0, 1.0], "avg"), least_budget([2.0, 1.0], [[9, 3], [3, math.inf]])
    (1.0, 3)
    """
    if isinstance(rule, str):
        return min(epsilons)
    return min(min(row) for row in rule)


def _pair(
    i: int,
    j: int,
    ones: Sequence[Decimal],
    zeros: Sequence[Decimal],
    epsilons: Sequence[float],
    rule: Rule,
) -> PairBudget:
    loss = max(_UP.add(ones[i], zeros[j]), _UP.add(ones[j], zeros[i]))
    realised = math.nextafter(float(loss), math.inf)
    return PairBudget(i, j, realised, demanded_budget(epsilons, rule, i, j))


def _tightest(
    ones: Sequence[Decimal], zeros: Sequence[Decimal], epsilons: Sequence[float], rule: Rule
) -> list[tuple[int, int]]:
    """For each level and direction the partner with the least room, as floats see it."""
    s, w = [float(x) for x in ones], [float(x) for x in zeros]
    levels = range(len(s))
    found = []
    for own, partner in ((s, w), (w, s)):
        if not isinstance(rule, str):
            rooms = [[rule[i][j] - partner[j] for j in levels] for i in levels]
            found += [(i, room.index(min(room))) for i, room in enumerate(rooms)]
            continue
        if rule == "avg":
            best = min(levels, key=lambda j: epsilons[j] / 2 - partner[j])
            found += [(i, best) for i in levels]
            continue
        # min(eps_i, eps_j) - partner_j is the smaller of two terms, each with its best j.
        loudest = max(levels, key=partner.__getitem__)
        poorest = min(levels, key=lambda j: epsilons[j] - partner[j])
        for i in levels:
            first = epsilons[i] - own[i] - partner[loudest]
            second = epsilons[poorest] - own[i] - partner[poorest]
            found.append((i, loudest if first <= second else poorest))
    return found
