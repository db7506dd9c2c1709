"""Column generation: the dual over few types, pricing of all others, and the bound that holds."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.errors import ConvergenceError
from planner.solvers.design.cone import solve_restricted
from planner.solvers.design.pricing import Pricer
from planner.solvers.design.problem import Columns, DesignProblem, Multipliers

__all__ = ["Generated", "generate"]

Array = NDArray[np.float64]

_ROUNDS = 200
_MOST_NEW = 10  # types a round: more slow the cone solver more than they help
_ALL_CORNERS = 5  # levels up to which all combinations are tried first
_CLIMBERS = 4
_NODES = 200_000
_LIFTS = (0.0, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2, 1.0, 100.0)  # shares of all lam
_PATIENCE = 15  # rounds without a better bound: the cone solver's digits are used up


class Generated(NamedTuple):
    """Types and weights of a nearly best design, its prior, and the bound on all mechanisms."""

    columns: Columns
    weights: Array
    prior: Array
    lower_bound: float  # of the objective per user


def generate(
    problem: DesignProblem, tolerance: float, near: NDArray[np.int64] | None = None
) -> Generated:
    """Solve one component until no type's ratio exceeds 1 by more than about ``tolerance``.

    ``near`` are high counts, shape ``(n, t)``, of a design for a similar policy: tried first.

    If the rounds or the work run out first, or the cone solver's digits, the best design so
    far is returned, with a bound that is proven all the same.

    Raises
    ------
    ConvergenceError
        The cone solver failed at once.
    """
    rng = np.random.default_rng(0)  # starts of a search; what it finds is proven apart
    columns = _first_columns(problem, rng, near)
    fine = max(tolerance / 4, 1e-12)
    best: Generated | None = None
    centre: _Point | None = None
    apart, stuck, work = np.inf, 0, 0.0
    for last in reversed(range(_ROUNDS)):
        answer = _solved(problem, columns, first=last == _ROUNDS - 1)
        if answer is None:
            break
        solved, multipliers, weights = columns, *answer
        active = columns.chosen(weights > 1e-9 * weights.max())
        climbers = Pricer(problem, multipliers).starts(rng, _CLIMBERS).joined(active)
        points = _prices(problem, multipliers, centre, columns, climbers, fine)
        new = columns.chosen(np.zeros(columns.window.size, dtype=bool))
        for point in points:
            new = new.joined(point.new)
        excess = points[0].excess
        centre = max(points, key=lambda point: point.likely)
        if not np.isfinite(centre.likely):  # some type has no ratio yet
            columns, centre = columns.joined(new), None
            if columns.window.size == solved.window.size:  # the types are known: digits run out
                break
            continue
        reached = _bound(problem, multipliers, 1.0)  # by these types, were there no others
        closer = reached - centre.likely < 0.9 * apart
        stuck = 0 if closer else stuck + 1
        apart = reached - centre.likely if closer else apart
        if min(excess, centre.excess) <= fine or stuck >= _PATIENCE or last == 0:
            proof = Pricer(problem, centre.multipliers).largest_ratio(1.0, fine / 100, _NODES)
            work += proof.work
            bound = _bound(problem, centre.multipliers, proof.ratio)
            if best is None or bound > best.lower_bound:
                best = Generated(columns, weights, multipliers.prior, bound)
            near_enough = reached - bound <= tolerance * abs(bound) / 2
            if stuck >= _PATIENCE or work > _NODES or near_enough:
                break
            apart = np.inf
            new = new.joined(proof.types)
            centre = None if proof.seen > 1 + fine else centre
        kept = Pricer(problem, multipliers).ratios(columns) > 1 - max(excess, fine)
        columns = columns.chosen(kept | (weights > 1e-8 * weights.max())).joined(new)
    if best is not None:
        return best._replace(columns=solved, weights=weights, prior=multipliers.prior)
    last_point = multipliers if centre is None else centre.multipliers
    return Generated(solved, weights, multipliers.prior, _lifted_bound(problem, last_point))


def _solved(
    problem: DesignProblem, columns: Columns, first: bool
) -> tuple[Multipliers, Array] | None:
    """None if the cone solver fails after a round that worked: what is known must do."""
    try:
        return solve_restricted(problem, columns)
    except ConvergenceError:
        if first:
            raise
        return None


class _Point(NamedTuple):
    """Multipliers, the types they leave uncovered, and the bound if there are no others."""

    multipliers: Multipliers
    new: Columns
    excess: float
    likely: float


def _prices(
    problem: DesignProblem,
    multipliers: Multipliers,
    centre: _Point | None,
    columns: Columns,
    climbers: Columns,
    fine: float,
) -> list[_Point]:
    """The newest point, the best one known, and one between the two: fewer rounds."""
    points = [_price(problem, multipliers, climbers, fine)]
    if centre is not None:
        middle = _between(centre.multipliers, multipliers)
        points.append(_price(problem, middle, climbers, fine))
        # The best point may owe its place to types that had not been found then.
        again = _price(problem, centre.multipliers, columns, fine)
        points.append(again._replace(excess=np.inf))
    return points


def _price(
    problem: DesignProblem,
    multipliers: Multipliers,
    climbers: Columns,
    fine: float,
) -> _Point:
    pricer = Pricer(problem, multipliers)
    found = pricer.improve(climbers, 1.0).joined(pricer.least_slack())
    new, excess = _worst(pricer, found, fine)
    if not np.isfinite(excess):
        return _Point(multipliers, new, excess, -np.inf)
    likely = _bound(problem, multipliers, 1.0 + max(excess, 0.0))
    return _Point(_scaled(problem, multipliers, 1.0 + max(excess, 0.0)), new, excess, likely)


def _scaled(problem: DesignProblem, multipliers: Multipliers, ratio: float) -> Multipliers:
    """The same bound with no ratio above 1, if ``ratio`` is the largest now."""
    c, S, lam, prior = multipliers
    size = _trace(problem, multipliers) / (ratio * lam.sum())
    return Multipliers(c * size, S * size, lam * size**2 * ratio, prior)


def _lifted_bound(problem: DesignProblem, multipliers: Multipliers) -> float:
    """A bound from any multipliers: ``lam`` is raised until every type has a ratio.

    Where ``lam.mean`` of some type is not above 0, adding a share of ``sum lam`` to the mean
    over all items makes it so, at a small price.
    """
    total, bounds = np.abs(multipliers.slack).sum(), []
    for share in _LIFTS:
        slack = multipliers.slack + share * total * problem.shares
        lifted = multipliers._replace(slack=slack)
        ratio = Pricer(problem, lifted).largest_ratio(1.0, 1e-9, _NODES // 20).ratio
        bounds.append(_bound(problem, lifted, ratio))
    return max(bounds)


def _between(first: Multipliers, second: Multipliers) -> Multipliers:
    return Multipliers(*((one + two) / 2 for one, two in zip(first, second, strict=True)))


def _trace(problem: DesignProblem, multipliers: Multipliers) -> float:
    M, omega = problem.items, problem.weights
    within = (problem.shares - 1 / M) * multipliers.contrasts
    return float(omega @ (within + np.diag(multipliers.means) / M))


def _bound(problem: DesignProblem, multipliers: Multipliers, ratio: float) -> float:
    """What the multipliers prove if no type's ratio exceeds ``ratio``: least objective per user.

    ``(tr Omega^(1/2) A)^2 / (ratio sum lam) - pi . omega``, rounded down.
    """
    square = np.square(_trace(problem, multipliers)) * (1 - 2.0**-44)
    least = float(multipliers.prior @ problem.weights)
    return max(0.0, float(problem.items * square / (ratio * multipliers.slack.sum()) - least))


def _first_columns(
    problem: DesignProblem, rng: np.random.Generator, near: NDArray[np.int64] | None
) -> Columns:
    """Every window with no or some items of a level high, "some" as with that level alone.

    And the corners, no or all items: at them every likelihood's sum must not be negative.
    """
    low, high = problem.windows
    some = np.rint(problem.item_counts / (1 + np.exp(high - low))).astype(np.int64)
    if near is not None:
        near = np.vstack([near, 0 * near[:1], np.diag(problem.item_counts)])
        tables = [np.column_stack([np.full(len(near), w), near]) for w in range(len(low))]
        table = np.unique(np.vstack(tables), axis=0)
        return Columns(table[:, 0], table[:, 1:])
    if problem.size <= _ALL_CORNERS:
        picks = np.array(list(product((0, 1), repeat=problem.size)))
    else:
        picks = rng.integers(2, size=(4 * problem.size, problem.size))
    tables = [
        np.column_stack([np.full(len(picks), window), picks * counts])
        for window, middle in enumerate(some)
        for counts in (np.maximum(1, middle), problem.item_counts)
    ]
    table = np.unique(np.vstack(tables), axis=0)
    return Columns(table[:, 0], table[:, 1:])


def _worst(pricer: Pricer, found: Columns, fine: float) -> tuple[Columns, float]:
    """The types whose ratio exceeds 1 most, and by how much."""
    if found.window.size == 0:
        return found, 0.0
    found = found.joined(found)
    excess = pricer.ratios(found) - 1
    order = np.argsort(-excess)[:_MOST_NEW]
    worst = float(excess[order[0]])
    least = max(fine / 10, 0.02 * worst if np.isfinite(worst) else 1.0)
    return found.chosen(order[excess[order] > least]), worst
