"""The dual over a list of columns, as one program of small cones in Clarabel.

With ``u`` a column, ``alpha`` (m x p), ``rows`` (m) and ``scenarios`` (k) the multipliers:

    maximise    2 tr(W alpha) - sum rows - offsets . scenarios
    such that   [[ rows.u,      (alpha' u)'                     ],
                 [ alpha' u,    sum_s scenarios_s (pi_s.u) G_s  ]]  is positive semidefinite,
                the scenarios without a cap have weights that sum to 1

one small cone per column. The multipliers of the cones are the columns' weights.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from planner.errors import ConvergenceError
from planner.solvers.channel.program import Multipliers, Program

Array = NDArray[np.float64]
_TOLERANCE = 1e-10
_MIXED = 1e-8
_STEEPEST = 1e4  # price of a cap, in units of the error: enough unless it cannot be kept
_GOOD_ENOUGH = ("Solved", "AlmostSolved", "InsufficientProgress", "MaxIterations")


class ConeAnswer(NamedTuple):
    """The dual's multipliers, the columns' weights, and what each column means.

    Meanings have shape ``(N, p)``; ``None`` where they follow from the multipliers.
    Nothing here is trusted unchecked.
    """

    multipliers: Multipliers
    weights: Array
    meanings: Array | None


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
    wanted = program.wanted @ program.basis
    p, m = wanted.shape
    k = program.offsets.size
    cost = np.concatenate([-2 * wanted.ravel(), program.basis.sum(axis=0), program.offsets])
    free = p * m + m
    blocks, cone = _second_order, clarabel.SecondOrderConeT(p + 2)
    if not program.common:
        blocks, cone = _semidefinite, clarabel.PSDTriangleConeT(p + 1)
    small = blocks(program, unit_columns)
    heads = np.zeros((1 + k + program.capped.sum(), free + k))
    heads[0, free:] = ~program.capped
    heads[1 : 1 + k, free:] = -np.eye(k)
    heads[1 + k :, free:] = np.eye(k)[program.capped]
    first = len(heads)
    rows = sp.csc_matrix(np.vstack([heads, -small.reshape(-1, free + k)]))
    limit = np.zeros(rows.shape[0])
    limit[0], limit[1 + k : first] = 1.0, _STEEPEST
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(first - 1), *[cone] * len(columns)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = _TOLERANCE
    settings.max_threads = 1
    nothing = sp.csc_matrix((cost.size, cost.size))
    answer = clarabel.DefaultSolver(nothing, cost, rows, limit, cones, settings).solve()
    point, prices = np.array(answer.x), np.array(answer.z)
    if str(answer.status) not in _GOOD_ENOUGH or not np.isfinite([*point, *prices]).all():
        remedy = "Use fewer symbols or scenarios, or budgets that are less extreme."
        raise ConvergenceError(f"Clarabel stopped early: {answer.status}", remedy)
    dual = prices[first:].reshape(len(columns), -1)
    shares = dual[:, 0] + dual[:, -1] if program.common else dual[:, 0]
    alpha = program.basis @ point[: p * m].reshape(p, m).T
    multipliers = Multipliers(alpha, program.basis @ point[p * m : free], point[free:])
    weights = np.maximum(shares, 0.0) * scale
    if program.common:
        return ConeAnswer(_inside(program, multipliers), weights, None)
    # A block is [[theta, -theta T'], [-theta T, ...]], off the diagonal times sqrt(2).
    firsts = np.cumsum(np.arange(1, p + 1))
    meanings = -dual[:, firsts] / (np.sqrt(2) * np.maximum(shares, 1e-300))[:, None]
    return ConeAnswer(_inside(program, multipliers), weights, meanings)


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


def _second_order(program: Program, columns: Array) -> Array:
    """One form for all: ``|(2 alpha' u, rows.u - pi.u)| <= rows.u + pi.u``; ``(N, p + 2, n)``."""
    p, m = len(program.wanted), program.basis.shape[1]
    seen, shares = columns @ program.basis, columns @ program.populations.T
    small = np.zeros((len(columns), p + 2, p * m + m + program.offsets.size))
    small[:, 0, p * m : p * m + m] = small[:, -1, p * m : p * m + m] = seen
    small[:, 0, p * m + m :], small[:, -1, p * m + m :] = shares, -shares
    for j in range(p):
        small[:, 1 + j, j * m : (j + 1) * m] = 2 * seen
    return small


def _semidefinite(program: Program, columns: Array) -> Array:
    """Upper triangles, column by column, entries off the diagonal times ``sqrt(2)``."""
    p, m = len(program.wanted), program.basis.shape[1]
    seen, shares = columns @ program.basis, columns @ program.populations.T
    small = np.zeros((len(columns), (p + 1) * (p + 2) // 2, p * m + m + program.offsets.size))
    small[:, 0, p * m : p * m + m] = seen
    row = 1
    for j in range(p):
        small[:, row, j * m : (j + 1) * m] = np.sqrt(2) * seen
        for i in range(j + 1):
            size = 1.0 if i == j else np.sqrt(2)
            small[:, row + 1 + i, p * m + m :] = size * shares * program.squares[:, i, j]
        row += j + 2
    return small
