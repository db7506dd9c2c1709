"""The shares of several questions as one convex program in cvxpy.

Variables are the shares ``g_j`` and every question's own coordinates; the privacy rows
``s_i + w_l <= g_j r_il`` are linear in both together.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from planner.errors import ConvergenceError
from planner.planning.allocation.blocks import Block, ChoiceBlock, MeanBlock
from planner.planning.allocation.goal import Goal
from planner.solvers.models import model_named

Array = NDArray[np.float64]
_TIGHT = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
_REMEDY = "Bring the weights, targets and budgets of the questions closer together."


def solve_shares(blocks: Sequence[Block], goal: Goal) -> Array:
    """Shares that minimise the weighted sum of errors, or the largest error over target.

    Returns
    -------
    numpy.ndarray
        Above 0, sum 1, shape ``(len(blocks),)``; not proven, see
        :func:`planner.planning.allocation.plan.allocate`.

    Raises
    ------
    ConvergenceError
        The solver did not find an optimum.
    """
    import cvxpy as cp

    share = cp.Variable(len(blocks))
    choices = {j: block for j, block in enumerate(blocks) if isinstance(block, ChoiceBlock)}
    means = {j: block for j, block in enumerate(blocks) if isinstance(block, MeanBlock)}
    parts: list[tuple[Any, list[Any]]] = []
    if choices:
        parts.append(_choices(list(choices.values()), share[list(choices)], len(blocks)))
    if means:
        parts.append(_means(list(means.values()), share[list(means)], len(blocks)))
    errors = cp.hstack([error for error, _ in parts])[np.argsort([*choices, *means])]
    constraints = [row for _, rows in parts for row in rows]
    constraints += [share >= 0, cp.sum(share) <= 1]
    if goal.targets is None:
        value = cp.sum(cp.multiply(goal.weights, errors))
    else:
        value = cp.max(cp.multiply(1 / goal.targets, errors))
    unit = goal.value(np.array([block.rough(1 / len(blocks)) for block in blocks]))
    problem = cp.Problem(cp.Minimize(value / unit), constraints)
    if not problem.is_dcp():  # guards the definitions above; no input can cause it
        raise AssertionError("the joint program is not a disciplined convex program")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an inaccurate answer is judged by its proof
        try:
            problem.solve(solver=cp.CLARABEL, **_TIGHT)
        except cp.SolverError as error:
            raise ConvergenceError(f"Clarabel failed on the shares: {error}", _REMEDY) from error
    if problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
        raise ConvergenceError(f"Clarabel stopped early on the shares: {problem.status}", _REMEDY)
    found = np.maximum(share.value, 1e-9)
    return found / found.sum()


def _choices(blocks: list[ChoiceBlock], share: Any, questions: int) -> tuple[Any, list[Any]]:
    """Errors of all choice questions at their shares, ``(len(blocks),)``, and their constraints.

    Coordinates and errors are scaled to be near 1 if all ``questions`` get the same share.
    """
    import cvxpy as cp

    model = model_named("opt0")
    starts = [model.start(block.policy) / questions for block in blocks]
    rows = [model.rows(b.policy, v) for b, v in zip(blocks, starts, strict=True)]
    start = np.hstack(starts)
    sizes = [v.shape[1] for v in starts]
    aux = [row.matrix.shape[1] - 2 * t for row, t in zip(rows, sizes, strict=True)]
    pieces = [
        [row.matrix[:, :t], row.matrix[:, t : 2 * t], row.matrix[:, 2 * t :]]
        for row, t in zip(rows, sizes, strict=True)
    ]
    matrix = sp.hstack([sp.block_diag([piece[c] for piece in pieces]) for c in range(3)])
    limit = sp.block_diag([row.limit[:, None] for row in rows])

    u, extra = cp.Variable(start.shape), cp.Variable(max(1, sum(aux)))
    noise, signal, constraints = model.expressions(u, start)
    point = [cp.vec(cp.multiply(start, u), order="C")] + ([extra] if sum(aux) else [])
    constraints = [*constraints, sp.csr_array(matrix) @ cp.hstack(point) <= limit @ share]

    noise_sum, signal_sum, noise_max, signal_max = (
        np.concatenate(column)
        for column in zip(*(b.objective.coefficients(b.policy) for b in blocks), strict=True)
    )
    home = sp.block_diag([np.ones((1, t)) for t in sizes], format="csr")
    worst = cp.Variable(len(blocks))
    units = np.array([b.rough(1 / questions) for b in blocks])  # worst is near 1
    branch = cp.multiply(noise_max, noise) + cp.multiply(signal_max, signal)
    constraints.append(cp.multiply(1 / (home.T @ units), branch) <= home.T @ worst)
    total = home @ (cp.multiply(noise_sum, noise) + cp.multiply(signal_sum, signal))
    scale = np.array([b.law.scale for b in blocks])
    errors = cp.multiply(scale, total + cp.multiply(units, worst))
    return errors + np.array([b.law.offset + b.law.bias for b in blocks]), constraints


def _means(blocks: list[MeanBlock], share: Any, questions: int) -> tuple[Any, list[Any]]:
    """The same for all means."""
    import cvxpy as cp

    epsilons = np.array([block.epsilon for block in blocks])
    start = epsilons[None, :] / questions
    u = cp.Variable(start.shape)
    noise, _, constraints = model_named("opt1").expressions(u, start)  # p (1 + p)
    constraints = [*constraints, u[0] == share * questions]
    scale = np.array([b.law.scale for b in blocks])
    errors = cp.multiply(scale, 1 + 4 * noise) + np.array(
        [b.law.offset + b.law.bias for b in blocks]
    )
    return errors, constraints
