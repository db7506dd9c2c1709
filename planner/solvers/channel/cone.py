"""The dual over a list of columns, as one program of small cones in Clarabel.

With ``u`` a column, ``alpha`` (m x p), ``rows`` (m) and ``scenarios`` (k) the multipliers:

    maximise    2 tr(W alpha) - sum rows - offsets . scenarios
    such that   [[ rows.u,      (alpha' u)'                     ],
                 [ alpha' u,    sum_s scenarios_s (pi_s.u) G_s  ]]  is positive semidefinite,
                the scenarios without a cap have weights that sum to 1

one small cone per column. The multipliers of the cones are the columns' weights.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from planner.errors import ConvergenceError
from planner.solvers.channel.program import Multipliers, Program

__all__ = ["ConeAnswer", "solve_cones"]

Array = NDArray[np.float64]
_TOLERANCE = 1e-10
_MIXED = 1e-8
_STEEPEST = 1e4  # price of a cap, in units of the error: enough unless it cannot be kept
_GOOD_ENOUGH = ("Solved", "AlmostSolved", "InsufficientProgress", "MaxIterations")


class ConeAnswer(NamedTuple):
    """The dual's multipliers and the columns' weights; nothing here is trusted unchecked."""

    multipliers: Multipliers
    weights: Array


def solve_cones(program: Program, columns: Array) -> ConeAnswer:
    """Solve the dual over these columns, shape ``(N, m)``; any positive scale.

    Raises
    ------
    ConvergenceError
        Clarabel failed, or gave no finite numbers.
    """
    import clarabel

    scale = 1 / np.sqrt(columns.max(axis=1) * columns.min(axis=1))
    unit_columns = columns * scale[:, None]
    build = _second_order if program.common else _semidefinite
    matrix, cones = build(program, unit_columns)
    wanted = program.wanted @ program.basis
    p, m = wanted.shape
    k = program.offsets.size
    cost = np.concatenate([-2 * wanted.ravel(), program.basis.sum(axis=0), program.offsets])
    free = p * m + m
    weights = sp.hstack([sp.csr_matrix((k, free)), sp.eye_array(k)], format="csr")
    total = sp.csr_matrix(weights[~program.capped].sum(axis=0).reshape(1, -1))
    rows = sp.vstack([total, -weights, weights[program.capped], matrix], format="csc")
    heads = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(k + program.capped.sum())]
    limit = np.zeros(rows.shape[0])
    limit[0] = 1.0
    first = 1 + k + int(program.capped.sum())
    limit[1 + k : first] = _STEEPEST
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = _TOLERANCE
    settings.max_threads = 1
    nothing = sp.csc_matrix((cost.size, cost.size))
    answer = clarabel.DefaultSolver(nothing, cost, rows, limit, heads + cones, settings).solve()
    point, prices = np.array(answer.x), np.array(answer.z)
    if str(answer.status) not in _GOOD_ENOUGH or not np.isfinite([*point, *prices]).all():
        remedy = "Use fewer symbols or scenarios, or budgets that are less extreme."
        raise ConvergenceError(f"Clarabel stopped early: {answer.status}", remedy)
    blocks = prices[first:].reshape(len(columns), -1)
    shares = blocks[:, 0] + blocks[:, -1] if program.common else blocks[:, 0]
    alpha = program.basis @ point[: p * m].reshape(p, m).T
    multipliers = Multipliers(alpha, program.basis @ point[p * m : free], point[free:])
    return ConeAnswer(_inside(program, multipliers), np.maximum(shares, 0.0) * scale)


def _inside(program: Program, multipliers: Multipliers) -> Multipliers:
    """The same a little off the boundary, where a ratio would be 0 / 0 or divide by 0.

    A scenario without weight may leave small matrices singular; an output that says
    nothing has ``rows.u = 0``.
    """
    scenarios = np.maximum(multipliers.scenarios, 0.0)
    scenarios[~program.capped] += _MIXED / (~program.capped).sum()
    rows = multipliers.rows
    lift = _MIXED * abs(float(rows.sum())) * program.populations.mean(axis=0)
    return Multipliers(multipliers.alpha, rows + lift, scenarios)


def _second_order(program: Program, columns: Array) -> tuple[sp.csr_matrix, list[Any]]:
    """One form for all: ``|(2 alpha' u, rows.u - pi.u)| <= rows.u + pi.u``."""
    import clarabel

    p, m = len(program.wanted), program.basis.shape[1]
    n, k = len(columns), program.offsets.size
    shares = columns @ program.populations.T
    block = sp.csr_matrix(columns @ program.basis)
    nothing = sp.csr_matrix((n, p * m))
    top = sp.hstack([nothing, block, sp.csr_matrix(shares)])
    last = sp.hstack([nothing, block, sp.csr_matrix(-shares)])
    middle = sp.hstack([sp.kron(sp.eye_array(p), 2 * block), sp.csr_matrix((p * n, m + k))])
    stacked = sp.vstack([top, middle, last], format="csr")
    order = np.arange((p + 2) * n).reshape(p + 2, n).T.ravel()  # one column's rows together
    cones = [clarabel.SecondOrderConeT(p + 2)] * n
    return -stacked[order], cones


def _semidefinite(program: Program, columns: Array) -> tuple[sp.csr_matrix, list[Any]]:
    """The upper triangles, column by column, entries off the diagonal times ``sqrt(2)``."""
    import clarabel

    p, m = len(program.wanted), program.basis.shape[1]
    n, k = len(columns), program.offsets.size
    shares = columns @ program.populations.T
    block, root = sp.csr_matrix(columns @ program.basis), np.sqrt(2)
    parts = []
    for j in range(p + 1):
        for i in range(j + 1):
            if j == 0:
                parts.append(sp.hstack([sp.csr_matrix((n, p * m)), block, sp.csr_matrix((n, k))]))
            elif i == 0:
                before = sp.csr_matrix((n, (j - 1) * m))
                after = sp.csr_matrix((n, (p - j + 1) * m + k))
                parts.append(sp.hstack([before, root * block, after]))
            else:
                entries = shares * program.squares[:, i - 1, j - 1] * (1.0 if i == j else root)
                parts.append(sp.hstack([sp.csr_matrix((n, p * m + m)), sp.csr_matrix(entries)]))
    size = len(parts)
    order = np.arange(size * n).reshape(size, n).T.ravel()
    cones = [clarabel.PSDTriangleConeT(p + 1)] * n
    return -sp.vstack(parts, format="csr")[order], cones
