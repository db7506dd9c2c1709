"""Independent answers: the exponential by its series, pairs one by one, budgets by bisection."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

from planner.deployment.client.laws.levels import Levels
from planner.deployment.client.laws.pairs import demanded_budget

D = 2**32


@lru_cache(maxsize=10_000)
def true_exp(x):
    """``e^x`` to more than 80 digits: independent of decimal's own ``exp``."""
    with localcontext(prec=100):
        part, halved = Decimal(x), 0
        while part > Decimal("0.1"):  # e^x = (e^(x/2))^2
            part, halved = part / 2, halved + 1
        term = total = Decimal(1)
        for k in range(1, 80):
            term *= part / k
            total += term
        return Fraction(total ** (2**halved))


def integer_ratio(a, b, i, j):
    """How much the report "bit i, not bit j" is likelier under an answer of level i than of j."""
    return Fraction(a[i] * (D - b[j]), b[i] * (D - a[j]))


def kept(a, b, epsilons, rule):
    """Every ordered pair on its own, against ``e^r`` from the series."""
    budgets = {
        (i, j): demanded_budget(epsilons, rule, i, j) for i in range(len(a)) for j in range(len(a))
    }
    return all(
        math.isinf(budget) or integer_ratio(a, b, i, j) <= true_exp(budget)
        for (i, j), budget in budgets.items()
    )


def levels(epsilons, item_counts, rule="min"):
    """Levels without item names."""
    names = tuple(f"level {i}" for i in range(len(epsilons)))
    return Levels(names, tuple(epsilons), tuple(item_counts), ((),) * len(epsilons), rule)


def largest(holds, low, high):
    """The largest integer between of which ``holds``; it does for ``low``, not for ``high``."""
    assert holds(low)
    assert not holds(high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
