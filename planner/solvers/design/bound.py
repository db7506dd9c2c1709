"""What multipliers prove about all mechanisms, once no type's ratio is known to be larger."""

from __future__ import annotations

import numpy as np

from planner.solvers.design.pricing import Pricer
from planner.solvers.design.problem import GUESS_ROOM, DesignProblem, Multipliers

_LIFTS = (0.0, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2, 1.0, 100.0)  # shares of all lam


def proven_bound(problem: DesignProblem, multipliers: Multipliers, ratio: float) -> float:
    """What the multipliers prove if no type's ratio exceeds ``ratio``: least objective per user.

    ``(tr Omega^(1/2) A)^2 / (ratio (sum lam + mu)) - pi . omega``, rounded down, for all mechanisms
    whose best guess is right as often as allowed, without room. Below 0 it says nothing.
    """
    total = float(multipliers.slack.sum()) + multipliers.guess / (1 - 2 * GUESS_ROOM)
    if not (np.isfinite(ratio) and total > 0):
        return -np.inf
    square = np.square(_trace(problem, multipliers)) * (1 - 2.0**-44)
    least = float(multipliers.prior @ problem.weights)
    return float(problem.items * square / (ratio * total) - least)


def lifted_bound(problem: DesignProblem, multipliers: Multipliers, most_nodes: int) -> float:
    """A bound from any multipliers: ``lam`` is raised until every type has a ratio.

    Where ``lam.mean`` of some type is not above 0, adding a share of ``sum lam`` to the mean
    over all items makes it so, at a small price.
    """
    total, bounds = np.abs(multipliers.slack).sum(), []
    for share in _LIFTS:
        slack = multipliers.slack + share * total * problem.shares
        lifted = multipliers._replace(slack=slack)
        ratio = Pricer(problem, lifted).largest_ratio(1.0, 1e-9, most_nodes).ratio
        bounds.append(proven_bound(problem, lifted, ratio))
    return max(bounds)


def scaled(problem: DesignProblem, multipliers: Multipliers, ratio: float) -> Multipliers:
    """The same bound with no ratio above 1, if ``ratio`` is the largest now."""
    c, S, lam, prior, guess = multipliers
    size = _trace(problem, multipliers) / (ratio * (lam.sum() + guess))
    return Multipliers(c * size, S * size, lam * size**2 * ratio, prior, guess * size**2 * ratio)


def between(first: Multipliers, second: Multipliers, way: float) -> Multipliers:
    """A point on the way from the first to the second; it covers every type that both cover."""
    return Multipliers(
        (1 - way) * first.contrasts + way * second.contrasts,
        (1 - way) * first.means + way * second.means,
        (1 - way) * first.slack + way * second.slack,
        (1 - way) * first.prior + way * second.prior,
        (1 - way) * first.guess + way * second.guess,
    )


def _trace(problem: DesignProblem, multipliers: Multipliers) -> float:
    M, omega = problem.items, problem.weights
    within = (problem.shares - 1 / M) * multipliers.contrasts
    return float(omega @ (within + np.diag(multipliers.means) / M))
