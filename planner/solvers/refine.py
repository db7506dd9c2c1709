"""One Newton step: the program's quadratic model over its rows, solved as a quadratic program.

Interior-point answers are good in value but only to the square root of that in position;
a proof by tangent planes needs the position. Near the optimum each step squares the error.
"""

from __future__ import annotations

import clarabel
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from planner.errors import ConvergenceError
from planner.solvers.program import Program

Array = NDArray[np.float64]

_RADII = (0.5, 0.01)  # largest relative step; Clarabel stalls at one or the other
_STAY = 1e-9


def newton_step(program: Program, v: Array, weights: Array) -> Array:
    """Minimise the quadratic model of the program at ``v``; ``weights`` of the branches, sum 1.

    Raises
    ------
    ConvergenceError
        The quadratic program could not be solved.
    """
    rows = program.model.rows(program.policy, v)
    total, branches, slope, own = program.pieces(v)
    c, t = v.shape
    extra = rows.matrix.shape[1] - v.size
    unit = abs(total + branches.max())
    # Unknowns: relative steps d with v -> v (1 + d), auxiliaries, and the maximum's epigraph.
    curvature = program.curvature(v, weights) * v[:, None] * v[None, :] / unit
    hessian = sp.block_array(
        [[sp.diags_array(curvature[i, j]) for j in range(c)] for i in range(c)]
    )
    stay = _STAY * sp.eye_array(v.size)  # levels that do not matter must not wander off
    quadratic = sp.block_diag([hessian + stay, sp.csr_array((extra + 1, extra + 1))])
    linear = np.concatenate([(slope * v).ravel() / unit, np.zeros(extra), [1.0]])
    planes = [sp.diags_array(own[i] * v[i] / unit) for i in range(c)]
    privacy, one = rows.matrix[:, : v.size], sp.eye_array(v.size)
    matrix = sp.block_array(
        [
            [sp.hstack(planes), sp.csr_array((t, extra)), sp.csr_array(-np.ones((t, 1)))],
            [privacy @ sp.diags_array(v.ravel()), rows.matrix[:, v.size :], None],
            [one, None, None],
            [-one, None, None],
        ]
    )
    limit = np.concatenate([-branches / unit, rows.limit - privacy @ v.ravel()])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    for radius in _RADII:
        answer = clarabel.DefaultSolver(
            sp.csc_matrix(sp.triu(quadratic)),
            linear,
            sp.csc_matrix(matrix),
            np.concatenate([limit, np.full(2 * v.size, radius)]),
            [clarabel.NonnegativeConeT(matrix.shape[0])],
            settings,
        ).solve()
        step = np.asarray(answer.x)[: v.size].reshape(v.shape)
        if str(answer.status) in ("Solved", "AlmostSolved") and np.isfinite(step).all():
            return v * (1 + step)
    raise ConvergenceError(f"The Newton step failed: {answer.status}", "Try another method.")
