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

from planner.designs.table import UnaryTable
from planner.errors import InputError
from planner.limits import MAX_EPSILON
from planner.planning.budgets import largest_budgets, relaxed
from planner.solvers import Solver, solve

__all__ = ["Relaxation", "most_binding", "relaxations"]

_MOST = 10


@dataclass(frozen=True, slots=True)
class Relaxation:
    """What it buys to raise one level's budget by ``amount`` nats.

    ``saving`` is the share of the objective that goes away, 0 to 1, from solving the
    relaxed problem. ``price`` is the slope: by how much the objective falls per nat.
    """

    level: str
    amount: float
    saving: float
    price: float


def relaxations(
    table: UnaryTable, amount: float = 0.1, solver: Solver = solve
) -> tuple[Relaxation, ...]:
    """What ``amount`` nats more would buy for each of the ten levels with the highest prices.

    Parameters
    ----------
    table:
        A solved table, with shadow prices.
    amount:
        Extra budget in nats, above 0.
    solver:
        Finds the tables: :func:`~planner.solvers.solving.solve`, or one that remembers them.

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
    >>> table = solve(PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90], names=["A", "B", "C"]))
    >>> best = relaxations(table)[0]
    >>> best.level, round(best.saving, 3)
    ('A', 0.146)
    """
    if not 0 < amount < MAX_EPSILON:
        remedy = "Relax by a smaller amount, such as 0.1."
        raise InputError("relax_by", amount, f"above 0 and below {MAX_EPSILON:g}", remedy)
    policy, prices = table.policy, table.shadow_prices
    if prices is None:
        return ()
    largest, found = largest_budgets(policy), []
    for i in np.argsort(-prices)[:_MOST]:
        if prices[i] <= 0 or largest[i] + amount > MAX_EPSILON:
            continue
        after = solver(relaxed(policy, int(i), amount), table.model, objective=table.objective)
        saving = max(0.0, 1 - after.objective_value / table.objective_value)
        found.append(Relaxation(policy.names[i], amount, saving, float(prices[i])))
    return tuple(sorted(found, key=lambda relaxation: -relaxation.saving))


def most_binding(table: UnaryTable, among: NDArray[np.bool_] | None = None) -> str:
    """Name of the level whose budget holds the error up most; ``among`` limits the choice.

    Examples
    --------
    >>> from planner import PrivacyPolicy
    >>> most_binding(solve(PrivacyPolicy([1.0, 2.0], [1, 4], names=["severe", "common"])))
    'severe'
    """
    policy = table.policy
    prices = -policy.epsilons if table.shadow_prices is None else table.shadow_prices
    if among is not None:
        prices = np.where(among, prices, -np.inf)
    return policy.names[int(np.argmax(prices))]
