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

from typing import NamedTuple

import numpy as np

from planner.arrays import Array
from planner.errors import ConvergenceError
from planner.solvers.models import Program

_RADII = (0.5, 0.01)  # largest relative step; Clarabel stalls at one or the other
_STAY = 1e-9
ROUNDING = 2.0**-52
"""Of a term's size, for each term of a sum: more than any sum is off by."""
_RESOLVED = 1e-9  # of a count's signal variance: its two terms cancel to about 1e-16


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
    """

    def __init__(self, program: Program, v0: Array) -> None:
        import scipy.sparse as sp

        self.rows = rows = program.model.rows(program.policy, v0)
        self.pieces = total, branches, slope, own_slope = program.pieces(v0)
        extra = rows.matrix.shape[1] - v0.size
        (c, t) = v0.shape
        self.unit = unit = abs(total + branches.max())
        if unit <= _RESOLVED * max(
            np.max(coefficient) for coefficient in program.coefficients[1::2]
        ):
            reason = (
                f"The error at these budgets, {unit:.0e}, "
                "is too small to be told from rounding"
            )
            raise ConvergenceError(
                reason, "Lower the largest budgets; the error stays negligible."
            )
        self.cost = np.concatenate(
            [(slope * v0).ravel() / unit, np.zeros(extra), [1.0]]
        )
        planes = np.vstack([own_slope * v0 / unit, np.full(t, -1.0)])
        where = np.vstack(
            [np.arange(v0.size).reshape(c, t), np.full(t, self.cost.size - 1)]
        )
        step = np.append(v0.ravel(), np.full(extra, v0.max()))
        privacy = rows.matrix.data * step[rows.matrix.indices]
        entries = np.append(planes.T, privacy), np.append(where.T, rows.matrix.indices)
        begins = np.append(np.arange(t) * (c + 1), t * (c + 1) + rows.matrix.indptr)
        self.matrix = sp.csr_array(
            (*entries, begins), shape=(begins.size - 1, self.cost.size)
        )
        self.limit = np.append(
            (np.sum(own_slope * v0, axis=0) - branches) / unit, rows.limit
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
    (total, branches, slope, _) = tangent.pieces
    cost = tangent.cost
    unit = tangent.unit
    t = v0.shape[1]
    extra = cost.size - 1 - v0.size
    ceiling = program.model.ceiling(program.policy) / v0
    # No auxiliary exceeds the largest budget.
    far = np.full(extra, 10 * float(np.max(program.policy.epsilons)) / v0.max())
    low = np.append(np.zeros(v0.size), -far)
    high = np.append(ceiling.ravel(), far)
    ends = np.column_stack([np.append(low, -np.inf), np.append(high, np.inf)])
    answer = linprog(
        cost, A_ub=tangent.matrix, b_ub=tangent.limit, bounds=ends, method="highs"
    )
    if answer.status != 0:
        remedy = "Try another method, or budgets that differ less."
        raise ConvergenceError(
            f"The certificate's linear program failed: {answer.message}", remedy
        )

    # Any multipliers that are not negative, those of the planes summing to 1, prove the constant,
    # less limit @ multipliers, and with each variable at the end where its reduced cost is least.
    multipliers = np.maximum(-answer.ineqlin.marginals, 0.0)
    weights = multipliers[:t] / multipliers[:t].sum()
    prices = multipliers[t:]
    multipliers = np.append(weights, prices)
    reduced = (cost + tangent.matrix.T @ multipliers)[:-1]
    rest = np.minimum(reduced * low, reduced * high)
    constant = (total - np.sum(slope * v0)) / unit
    # Sums are off by at most their terms' number and sizes: this is charged, too.
    entries = np.bincount(tangent.matrix.indices, minlength=cost.size) + 3
    doubt = (entries * (abs(cost) + abs(tangent.matrix).T @ multipliers))[:-1]
    sizes = (
        abs(tangent.limit) @ multipliers
        + abs(rest).sum()
        + np.abs(branches / unit).max()
    )
    sizes += (abs(total) + np.sum(np.abs(slope * v0))) / unit
    charged = doubt @ np.maximum(abs(low), abs(high)) + multipliers.size * sizes
    bound = constant - tangent.limit @ multipliers + rest.sum() - ROUNDING * charged
    return Proof(float(bound * unit), (tangent.rows.price @ prices) * unit, weights)


def newton_step(program: Program, v: Array, weights: Array) -> Array:
    """Minimise the quadratic model of the program at ``v``; ``weights`` of the branches, sum 1."""
    import clarabel
    import scipy.sparse as sp

    tangent = _Tangent(program, v)
    c = v.shape[0]
    size = v.size
    # Unknowns: relative steps d with v -> v (1 + d), auxiliaries, and the maximum's epigraph.
    curvature = program.curvature(v, weights) * v[:, None] * v[None, :] / tangent.unit
    curvature[np.diag_indices(c)] += (
        _STAY  # levels that do not matter must not wander off
    )
    unknowns = np.broadcast_to(np.arange(size).reshape(v.shape), curvature.shape)
    where = unknowns.swapaxes(0, 1).ravel(), unknowns.ravel()
    quadratic = sp.coo_array((curvature.ravel(), where), shape=(tangent.cost.size,) * 2)
    box = sp.eye_array(size, tangent.cost.size)
    matrix = sp.vstack([tangent.matrix, box, -box])
    limit = tangent.limit - tangent.matrix[:, :size].sum(axis=1)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    for radius in _RADII:
        answer = clarabel.DefaultSolver(
            sp.csc_matrix(sp.triu(quadratic)),
            tangent.cost,
            sp.csc_matrix(matrix),
            np.concatenate([limit, np.full(2 * size, radius)]),
            [clarabel.NonnegativeConeT(matrix.shape[0])],
            settings,
        ).solve()
        step = np.asarray(answer.x)[:size].reshape(v.shape)
        if str(answer.status) in ("Solved", "AlmostSolved") and np.isfinite(step).all():
            return v * (1 + step)
    raise ConvergenceError(
        f"The Newton step failed: {answer.status}", "Try another method."
    )
