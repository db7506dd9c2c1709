"""A proof of optimality by one linear program, whatever solver found the point.

At the point ``v0`` every branch ``f + g_k`` of the objective is replaced by its tangent plane.
The branches are convex, so the largest plane lies below the objective, and its
minimum over the privacy rows is a lower bound of the optimum. The bound is then
computed again from the linear program's multipliers alone, with every rounding error
of the linear solver charged against it, so it does not rest on a tolerance
(docs/theory/certificate.md, whose symbols are used).

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

    ``x = (v / v0, auxiliaries, z)``; the planes' rows come first, then privacy. All numbers of
    the objective are divided by its ``unit``, and so near 1.

    The cost is ``f'(v0) v + z``, and the plane of branch ``k`` reads
    ``g_k(v0) + g_k'(v0) (v - v0) <= z``, that is ``g_k'(v0) v - z <= g_k'(v0) v0 - g_k(v0)``.
    """

    def __init__(self, program: Program, v0: Array) -> None:
        self.v0 = v0
        self.privacy = program.model.rows(program.policy, v0)
        self.pieces = program.pieces(v0)
        branches = self.pieces.branches
        self.unit = abs(self.pieces.total + branches.max())
        _check_resolved(program, self.unit)

        # By the chain rule v0 times a slope is the slope by v / v0.
        relative_slope = self.pieces.slope * v0
        relative_branch_slopes = self.pieces.branch_slopes * v0
        self.auxiliaries = self.privacy.matrix.shape[1] - v0.size
        cost_of_v = relative_slope.ravel() / self.unit
        cost_of_auxiliaries = np.zeros(self.auxiliaries)
        cost_of_z = [1.0]
        self.cost = np.concatenate([cost_of_v, cost_of_auxiliaries, cost_of_z])
        planes = self._plane_rows(relative_branch_slopes / self.unit)
        self.matrix = self._above_privacy(planes)
        plane_limit = (relative_branch_slopes.sum(axis=0) - branches) / self.unit
        self.limit = np.append(plane_limit, self.privacy.limit)

    def _plane_rows(self, relative_branch_slopes: Array) -> sp.csr_array:
        """Row ``k``, the plane of branch ``k``: its slopes by level ``k``, and -1 at ``z``."""
        import scipy.sparse as sp

        (c, t) = self.v0.shape
        size = self.cost.size
        minus_z = np.full(t, -1.0)
        entries = np.vstack([relative_branch_slopes, minus_z])
        coordinates = np.arange(self.v0.size).reshape(c, t)
        z = np.full(t, size - 1)
        columns = np.vstack([coordinates, z])
        row_begins = np.arange(t + 1) * (c + 1)
        compressed = (entries.T.ravel(), columns.T.ravel(), row_begins)
        return sp.csr_array(compressed, shape=(t, size))

    def _above_privacy(self, planes: sp.csr_array) -> sp.csr_array:
        """The planes' rows, and below them those of privacy in the relative variables.

        Privacy is stated on ``v`` and auxiliaries. So its columns are multiplied by ``v0``, those
        of auxiliaries by the largest of ``v0``.
        """
        import scipy.sparse as sp

        privacy = self.privacy.matrix
        scale_of_auxiliaries = np.full(self.auxiliaries, self.v0.max())
        scale = np.append(self.v0, scale_of_auxiliaries)
        scaled = privacy.data * scale[privacy.indices]
        # The compressed rows are written down, which spares sparse products:
        # entries, their columns, and where each row begins.
        entries = np.append(planes.data, scaled)
        columns = np.append(planes.indices, privacy.indices)
        privacy_begins = planes.nnz + privacy.indptr
        row_begins = np.append(planes.indptr[:-1], privacy_begins)
        shape = (row_begins.size - 1, self.cost.size)
        return sp.csr_array((entries, columns, row_begins), shape=shape)


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
    box = _box(program, tangent)
    free = [-np.inf, np.inf]  # of z, the last variable
    answer = linprog(
        tangent.cost,
        A_ub=tangent.matrix,
        b_ub=tangent.limit,
        bounds=np.vstack([box, free]),
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
    bound = _proven_bound(tangent, np.append(weights, prices), box)
    shadow_prices = (tangent.privacy.price @ prices) * tangent.unit
    return Proof(float(bound * tangent.unit), shadow_prices, weights)


def _box(program: Program, tangent: _Tangent) -> Array:
    """The page's ``l`` and ``u``, ``(variables, 2)``: between them lies every admissible point.

    First of the relative coordinates ``v / v0``, then of the auxiliaries, in units of ``max v0``.
    """
    v0 = tangent.v0
    ceiling = program.model.ceiling(program.policy) / v0
    # No auxiliary exceeds the largest budget; ten times that costs the bound nothing.
    largest_budget = float(program.policy.epsilons.max())
    far_away = 10 * largest_budget / v0.max()
    far = np.full(tangent.auxiliaries, far_away)
    low = np.append(np.zeros(v0.size), -far)
    high = np.append(ceiling, far)
    return np.column_stack([low, high])


def _proven_bound(tangent: _Tangent, multipliers: Array, box: Array) -> float:
    """Lower bound, in units of the objective, by weak duality.

    For any multipliers ``y >= 0``, those of the planes summing to 1, no ``x`` in the ``box``
    ``[l, u]`` has a cost below the page's safe dual bound

        d - limit y + sum_j min(rho_j l_j, rho_j u_j),   rho = cost + matrix' y

    with ``d = f(v0) - f'(v0) v0``. Each variable is at the end where its reduced cost ``rho_j``
    makes least. Sums are off by at most their number of terms times their sizes, which is taken
    off as well.
    """
    unit = tangent.unit
    low, high = box.T
    # The last variable is z, whose reduced cost is 0 as the planes' multipliers sum to 1.
    reduced_costs = tangent.cost + tangent.matrix.T @ multipliers
    rho = reduced_costs[:-1]
    least = np.minimum(rho * low, rho * high)
    total = tangent.pieces.total
    slope_terms = tangent.pieces.slope * tangent.v0
    d = (total - slope_terms.sum()) / unit
    dual_value = d - tangent.limit @ multipliers + least.sum()

    # What the sums in the bound itself add up.
    limit_size = abs(tangent.limit) @ multipliers
    branch_size = np.abs(tangent.pieces.branches / unit).max()
    slope_size = np.abs(slope_terms).sum()
    d_size = (abs(total) + slope_size) / unit
    sizes = limit_size + abs(least).sum() + branch_size
    sizes += d_size
    farthest = np.maximum(abs(low), abs(high))
    charged = _reduced_cost_size(tangent, multipliers) @ farthest
    charged += multipliers.size * sizes
    return float(dual_value - ROUNDING * charged)


def _reduced_cost_size(tangent: _Tangent, multipliers: Array) -> Array:
    """The size of each reduced cost's terms, times their number: what rounding scales with."""
    variables = tangent.cost.size
    entries = np.bincount(tangent.matrix.indices, minlength=variables)
    size = abs(tangent.cost) + abs(tangent.matrix).T @ multipliers
    doubt = (entries + 3) * size
    return np.asarray(doubt[:-1])


def newton_step(program: Program, v: Array, weights: Array) -> Array:
    """Minimise the quadratic model of the program at ``v``; ``weights`` of the branches, sum 1.

    The unknowns are relative steps ``d`` with ``v -> v (1 + d)``, auxiliaries and the maximum's
    epigraph. The model is the tangent program plus ``d' H d / 2``, within ``|d| <= radius``
    (docs/theory/certificate.md, "Newton refinement").

    Raises
    ------
    ConvergenceError
        The quadratic program could not be solved within either radius.
    """
    import clarabel
    import scipy.sparse as sp

    tangent = _Tangent(program, v)
    size = v.size
    steps = sp.eye_array(size, tangent.cost.size)
    rows = sp.vstack([tangent.matrix, steps, -steps])
    matrix = sp.csc_matrix(rows)
    # The planes and rows are on v (1 + d): what the point itself takes of them is moved over.
    of_point = tangent.matrix[:, :size].sum(axis=1)
    limit = tangent.limit - of_point
    H = _quadratic(program, weights, tangent)
    upper_half = sp.csc_matrix(sp.triu(H))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = 1e-12
    settings.tol_gap_rel = 1e-12
    settings.tol_feas = 1e-12
    for radius in _RADII:
        solver = clarabel.DefaultSolver(
            upper_half,
            tangent.cost,
            matrix,
            np.append(limit, np.full(2 * size, radius)),
            [clarabel.NonnegativeConeT(matrix.shape[0])],
            settings,
        )
        answer = solver.solve()
        d = np.asarray(answer.x)[:size].reshape(v.shape)
        solved = str(answer.status) in ("Solved", "AlmostSolved")
        if solved and np.isfinite(d).all():
            return v * (1 + d)
    raise ConvergenceError(
        f"The Newton step failed: {answer.status}", "Try another method."
    )


def _quadratic(program: Program, weights: Array, tangent: _Tangent) -> sp.coo_array:
    """``H``, second derivatives by the relative steps; 0 for auxiliaries and the epigraph."""
    import scipy.sparse as sp

    v = tangent.v0
    by_coordinates = program.curvature(v, weights)
    # By the chain rule, as a coordinate's step is v d.
    curvature = by_coordinates * v[:, None] * v[None, :] / tangent.unit
    diagonal = np.diag_indices(len(v))
    curvature[diagonal] += _STAY
    # Entry (j, k, i) of the curvature stands in the row of (j, i) and the column of (k, i).
    unknowns = np.arange(v.size).reshape(v.shape)
    columns = np.broadcast_to(unknowns, curvature.shape)
    rows = columns.swapaxes(0, 1)
    positions = (rows.ravel(), columns.ravel())
    entries = (curvature.ravel(), positions)
    size = tangent.cost.size
    return sp.coo_array(entries, shape=(size, size))
