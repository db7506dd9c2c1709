"""A proof of optimality by one linear program, whatever solver found the point.

At the point ``v0`` every branch of the objective is replaced by its tangent plane.
The branches are convex, so the largest plane lies below the objective, and its
minimum over the privacy rows is a lower bound of the optimum. The bound is then
computed again from the linear program's multipliers alone, with every rounding error
of the linear solver charged against it, so it does not rest on a tolerance.

A proof needs the point's position, which interior-point answers have only to the square root of
their value's precision: near the optimum each Newton step squares the error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner.arrays import Array
from planner.errors import ConvergenceError
from planner.solvers.models import Program

if TYPE_CHECKING:
    import scipy.sparse as sp

# The largest relative step of Newton's method: Clarabel stalls at one or the other.
_RADII = (0.5, 0.01)
# Curvature added for levels that do not matter, which must not wander off.
_STAY = 1e-9
ROUNDING = 2.0**-52
"""Of a term's size, for each term of a sum: more than any sum is off by."""
# Share of a count's signal variance: its two terms cancel to about 1e-16.
_RESOLVED = 1e-9


class Proof(NamedTuple):
    """Lower bound of the optimum, and the multipliers that prove it."""

    lower_bound: float
    shadow_prices: Array
    weights: Array  # of the maximum's branches, shape (t,), sum 1
    stationary: bool = True  # False: the bound holds, but the prices are no slopes


class _Tangent:
    """``min cost @ x`` over ``matrix @ x <= limit``: every branch replaced by its plane.

    ``x = (v / v0, auxiliaries, z)``; the planes' rows come first, then privacy. All numbers are
    divided by the ``unit`` of the objective, and so near 1.

    With ``S`` the sum and ``S_k`` the branches of :meth:`Program.pieces`, the cost is
    ``S'(v0) v + z`` and the plane of branch ``k`` reads ``S_k(v0) + S_k'(v0) (v - v0) <= z``.
    """

    def __init__(self, program: Program, v0: Array) -> None:
        self.rows = program.model.rows(program.policy, v0)
        self.pieces = program.pieces(v0)
        total, branches, slope, own_slope = self.pieces
        self.unit = abs(total + branches.max())
        _check_resolved(program, self.unit)

        auxiliaries = self.rows.matrix.shape[1] - v0.size
        relative_slope = (slope * v0).ravel() / self.unit
        self.cost = np.concatenate([relative_slope, np.zeros(auxiliaries), [1.0]])
        self.matrix = self._matrix(own_slope * v0 / self.unit, v0)
        plane_limit = (np.sum(own_slope * v0, axis=0) - branches) / self.unit
        self.limit = np.append(plane_limit, self.rows.limit)

    def _matrix(self, relative_slopes: Array, v0: Array) -> sp.csr_array:
        """The planes' rows above those of privacy, both in the relative variables."""
        import scipy.sparse as sp

        (c, t) = v0.shape
        epigraph = self.cost.size - 1
        # Row k of the planes has the c coordinates of level k, and -1 at the epigraph z.
        plane_entries = np.vstack([relative_slopes, np.full(t, -1.0)])
        coordinates = np.arange(v0.size).reshape(c, t)
        plane_columns = np.vstack([coordinates, np.full(t, epigraph)])
        # The rows of privacy are on v and auxiliaries, which are scaled by v0 and its largest.
        privacy = self.rows.matrix
        auxiliaries = epigraph - v0.size
        scale = np.append(v0.ravel(), np.full(auxiliaries, v0.max()))
        privacy_entries = privacy.data * scale[privacy.indices]
        # The compressed rows are written down: entries, their columns, where each row begins.
        entries = np.append(plane_entries.T, privacy_entries)
        columns = np.append(plane_columns.T, privacy.indices)
        plane_begins = np.arange(t) * (c + 1)
        begins = np.append(plane_begins, t * (c + 1) + privacy.indptr)
        shape = (begins.size - 1, self.cost.size)
        return sp.csr_array((entries, columns, begins), shape=shape)


def _check_resolved(program: Program, error: float) -> None:
    """Refuse an objective so small that rounding hides it."""
    _, signal_sum, _, signal_max = program.coefficients
    signal_variance = max(np.max(signal_sum), np.max(signal_max))
    if error <= _RESOLVED * signal_variance:
        raise ConvergenceError(
            f"The error at these budgets, {error:.0e}, "
            "is too small to be told from rounding",
            "Lower the largest budgets; the error stays negligible.",
        )


def prove(program: Program, v0: Array) -> Proof:
    """Bound the optimum of ``program`` from below by its tangent planes at ``v0``.

    Raises
    ------
    ConvergenceError
        The linear program could not be solved, or the error is too small to be proven.
    """
    from scipy.optimize import linprog

    tangent = _Tangent(program, v0)
    auxiliaries = tangent.cost.size - 1 - v0.size
    low, high = _box(program, v0, auxiliaries)
    # The epigraph, the last variable, is free.
    lowest = np.append(low, -np.inf)
    highest = np.append(high, np.inf)
    answer = linprog(
        tangent.cost,
        A_ub=tangent.matrix,
        b_ub=tangent.limit,
        bounds=np.column_stack([lowest, highest]),
        method="highs",
    )
    if answer.status != 0:
        remedy = "Try another method, or budgets that differ less."
        raise ConvergenceError(
            f"The certificate's linear program failed: {answer.message}", remedy
        )

    # Linprog's marginals are the negative multipliers; the planes' must sum to 1.
    t = v0.shape[1]
    multipliers = np.maximum(-answer.ineqlin.marginals, 0.0)
    weights = multipliers[:t] / multipliers[:t].sum()
    prices = multipliers[t:]
    bound = _proven_bound(tangent, v0, np.append(weights, prices), low, high)
    shadow_prices = (tangent.rows.price @ prices) * tangent.unit
    return Proof(float(bound * tangent.unit), shadow_prices, weights)


def _box(program: Program, v0: Array, auxiliaries: int) -> tuple[Array, Array]:
    """Least and largest relative coordinates ``v / v0``, then those of the auxiliaries."""
    ceiling = program.model.ceiling(program.policy) / v0
    # No auxiliary exceeds the largest budget.
    largest_budget = float(np.max(program.policy.epsilons))
    far = np.full(auxiliaries, 10 * largest_budget / v0.max())
    low = np.append(np.zeros(v0.size), -far)
    high = np.append(ceiling.ravel(), far)
    return low, high


def _proven_bound(
    tangent: _Tangent, v0: Array, multipliers: Array, low: Array, high: Array
) -> float:
    """Lower bound, in units of the objective, by weak duality.

    For any multipliers ``y >= 0``, those of the planes summing to 1, no ``x`` in the box
    ``[low, high]`` has a cost below

        constant - limit y + sum_j min(r_j low_j, r_j high_j),   r = cost + matrix' y

    Each variable is at the end where its reduced cost ``r_j`` makes least. Sums are off by at
    most their number of terms times their sizes, which is taken off as well.
    """
    total, branches, slope, _ = tangent.pieces
    unit = tangent.unit
    cost = tangent.cost
    reduced_cost = (cost + tangent.matrix.T @ multipliers)[:-1]
    least = np.minimum(reduced_cost * low, reduced_cost * high)
    constant = (total - np.sum(slope * v0)) / unit

    # Rounding of the reduced costs, at the far end of the box.
    terms = np.bincount(tangent.matrix.indices, minlength=cost.size) + 3
    cost_size = abs(cost) + abs(tangent.matrix).T @ multipliers
    cost_doubt = (terms * cost_size)[:-1]
    farthest = np.maximum(abs(low), abs(high))
    # Rounding of the sums in the bound itself.
    limit_size = abs(tangent.limit) @ multipliers
    branch_size = np.abs(branches / unit).max()
    sizes = limit_size + abs(least).sum() + branch_size
    slope_size = np.sum(np.abs(slope * v0))
    sizes += (abs(total) + slope_size) / unit
    charged = cost_doubt @ farthest + multipliers.size * sizes
    dual_value = constant - tangent.limit @ multipliers + least.sum()
    return float(dual_value - ROUNDING * charged)


def newton_step(program: Program, v: Array, weights: Array) -> Array:
    """Minimise the quadratic model of the program at ``v``; ``weights`` of the branches, sum 1.

    The unknowns are relative steps ``d`` with ``v -> v (1 + d)``, auxiliaries and the maximum's
    epigraph. The model is the tangent program plus ``d' H d / 2``, within ``|d| <= radius``.

    Raises
    ------
    ConvergenceError
        The quadratic program could not be solved within either radius.
    """
    import clarabel
    import scipy.sparse as sp

    tangent = _Tangent(program, v)
    size = v.size
    box = sp.eye_array(size, tangent.cost.size)
    matrix = sp.csc_matrix(sp.vstack([tangent.matrix, box, -box]))
    # The planes and rows are on v (1 + d): what the point itself takes of them is moved over.
    limit = tangent.limit - tangent.matrix[:, :size].sum(axis=1)
    quadratic = _quadratic(program, v, weights, tangent)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = 1e-12
    settings.tol_gap_rel = 1e-12
    settings.tol_feas = 1e-12
    for radius in _RADII:
        answer = clarabel.DefaultSolver(
            sp.csc_matrix(sp.triu(quadratic)),
            tangent.cost,
            matrix,
            np.concatenate([limit, np.full(2 * size, radius)]),
            [clarabel.NonnegativeConeT(matrix.shape[0])],
            settings,
        ).solve()
        step = np.asarray(answer.x)[:size].reshape(v.shape)
        solved = str(answer.status) in ("Solved", "AlmostSolved")
        if solved and np.isfinite(step).all():
            return v * (1 + step)
    raise ConvergenceError(
        f"The Newton step failed: {answer.status}", "Try another method."
    )


def _quadratic(
    program: Program, v: Array, weights: Array, tangent: _Tangent
) -> sp.coo_array:
    """``H``, second derivatives by the relative steps; 0 for auxiliaries and the epigraph."""
    import scipy.sparse as sp

    (c, _) = v.shape
    by_coordinates = program.curvature(v, weights)
    # By the chain rule, as a coordinate's step is v d.
    curvature = by_coordinates * v[:, None] * v[None, :] / tangent.unit
    curvature[np.diag_indices(c)] += _STAY
    # Entry (c, d, i) of the curvature stands in the row of (c, i) and the column of (d, i).
    unknowns = np.arange(v.size).reshape(v.shape)
    columns = np.broadcast_to(unknowns, curvature.shape)
    rows = columns.swapaxes(0, 1)
    entries = (curvature.ravel(), (rows.ravel(), columns.ravel()))
    size = tangent.cost.size
    return sp.coo_array(entries, shape=(size, size))
