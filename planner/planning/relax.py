"""What to relax: what a budget costs, and what a little more of one level's would buy.

The multipliers of the privacy rows are the slopes of the smallest error by the budgets
(shadow prices). They rank the levels; what a step of, say, 0.1 really buys is then
found by solving the relaxed problem, since the slope alone overstates it (the error is
convex in the budgets).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.designs.set_design import SetDesign
from planner.errors import InputError
from planner.limits import MAX_EPSILON
from planner.planning.budgets import largest_budgets, relaxed
from planner.planning.solve import Certified, solve_for

_MOST = 10
_MOST_WITHOUT_PRICES = 5  # then each level is tried, and designs take longer
_NOTHING = 1e-5  # of the error: what designs leave unproven, with room to spare


@dataclass(frozen=True, slots=True)
class Relaxation:
    """What it buys to raise one level's budget by ``amount`` nats.

    ``saving`` is the share of the objective that goes away, 0 to 1, from solving the
    relaxed problem; levels that are merged may be merged otherwise then. ``price`` is the slope:
    by how much the objective falls per nat; None for a subset design, which has none.
    """

    level: str
    amount: float
    saving: float
    price: float | None


def relaxations(certified: Certified, amount: float = 0.1) -> tuple[Relaxation, ...]:
    """What ``amount`` nats more would buy for each of the ten levels with the highest prices.

    Of a subset design, which has no prices: for the five levels with the smallest budgets.

    Parameters
    ----------
    certified:
        A solved table or design.
    amount:
        Extra budget in nats, above 0.

    Returns
    -------
    tuple of Relaxation
        Best first; empty for a baseline, which has no prices. Levels whose budget buys
        nothing, or would pass the largest allowed, are left out.

    Raises
    ------
    InputError
        ``amount`` is not above 0.

    Examples
    --------
    >>> from planner import PrivacyPolicy
    >>> policy = PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90], names=["A", "B", "C"])
    >>> for name in ("opt0", "subset-design"):
    ...     best = relaxations(solve_for(policy, name))[0]
    ...     print(best.level, round(best.saving, 3))
    A 0.146
    A 0.125
    """
    if not 0 < amount < MAX_EPSILON:
        remedy = "Relax by a smaller amount, such as 0.1."
        raise InputError("relax_by", amount, f"above 0 and below {MAX_EPSILON:g}", remedy)
    policy, prices = certified.policy, certified.shadow_prices
    if certified.certificate is None:
        return ()
    largest, found = largest_budgets(policy), []
    for i in _worth_trying(certified).tolist():
        if largest[i] + amount > MAX_EPSILON:
            continue
        about = relaxed(policy, i, amount), certified.model, certified.objective
        after = solve_for(*about, sets=isinstance(certified, SetDesign))
        # What is planned now keeps the relaxed budgets, too.
        saving = max(0.0, 1 - after.objective_value / certified.objective_value)
        if prices is not None or saving > _NOTHING:
            price = None if prices is None else float(prices[i])
            found.append(Relaxation(policy.names[i], amount, saving, price))
    return tuple(sorted(found, key=lambda relaxation: -relaxation.saving))


def _worth_trying(certified: Certified) -> NDArray[np.intp]:
    """Levels whose budgets limit the error most, or may do so."""
    prices = certified.shadow_prices
    if prices is not None:
        first = np.argsort(-prices)[:_MOST]
        return first[prices[first] > 0]
    epsilons, limit = certified.policy.epsilons, certified.saturation_epsilon
    first = np.argsort(epsilons, kind="stable")[:_MOST_WITHOUT_PRICES]
    return first if limit is None else first[epsilons[first] < limit]


def most_binding(table: Certified, among: NDArray[np.bool_] | None = None) -> str:
    """Name of the level whose budget holds the error up most; ``among`` limits the choice.

    Examples
    --------
    >>> from planner import PrivacyPolicy, solve
    >>> most_binding(solve(PrivacyPolicy([1.0, 2.0], [1, 4], names=["severe", "common"])))
    'severe'
    """
    policy = table.policy
    prices = -policy.epsilons if table.shadow_prices is None else table.shadow_prices
    if among is not None:
        prices = np.where(among, prices, -np.inf)
    return policy.names[int(np.argmax(prices))]
