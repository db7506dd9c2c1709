"""Realised and demanded budgets of pairs of levels, realised ones rounded up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from planner.deployment.client.laws.bounds import add_up, float_above

Rule = str | Sequence[Sequence[float]]
MAX_LISTED_LEVELS = 200
"""With more levels, only the tightest pair of each level is listed."""


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


def listed_pairs(
    ones: Sequence[Decimal], zeros: Sequence[Decimal], epsilons: Sequence[float], rule: Rule
) -> list[PairBudget]:
    """All unordered pairs, ``(i, i)`` included; of over 200 levels, the tightest of each.

    The loss of the pair ``(i, j)`` is the larger of ``ones[i] + zeros[j]`` and
    ``ones[j] + zeros[i]``, in nats; the tightest pair has the least room below its budget.
    """
    size = range(len(ones))
    if len(size) <= MAX_LISTED_LEVELS:
        pairs = {(i, j) for i in size for j in size[i:]}
    else:
        pairs = {(min(i, j), max(i, j)) for i, j in _tightest(ones, zeros, epsilons, rule)}
    return [_pair(i, j, ones, zeros, epsilons, rule) for i, j in sorted(pairs)]


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
    >>> least_budget([2.0, 1.0], "avg"), least_budget([2.0, 1.0], [[9, 3], [3, 4]])
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
    loss = max(add_up(ones[i], zeros[j]), add_up(ones[j], zeros[i]))
    return PairBudget(i, j, float_above(loss), demanded_budget(epsilons, rule, i, j))


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
