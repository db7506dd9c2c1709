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
from planner.solvers.models import model_named

__all__ = ["solve_shares"]

Array = NDArray[np.float64]


def solve_shares(blocks: Sequence[Block], targets: Array | None) -> Array:
    """Shares that minimise the weighted sum of errors, or the largest error over target.

    Parameters
    ----------
    blocks:
        The questions.
    targets:
        Target error per user of each question for the minimax; None for the weighted sum.

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

    k = len(blocks)
    share = cp.Variable(k)
    parts: list[tuple[list[int], Any, list[Any]]] = []
    choices = {j: block for j, block in enumerate(blocks) if isinstance(block, ChoiceBlock)}
    means = {j: block for j, block in enumerate(blocks) if isinstance(block, MeanBlock)}
    if choices:
        parts.append((list(choices), *_choices(list(choices.values()), share, list(choices))))
    if means:
        parts.append((list(means), *_means(list(means.values()), share, list(means))))
    order = np.argsort(np.concatenate([chosen for chosen, _, _ in parts]))
    errors = cp.hstack([error for _, error, _ in parts])[order]
    constraints = [row for _, _, rows in parts for row in rows]
    constraints += [share >= 0, cp.sum(share) <= 1]
    if targets is None:
        weights = np.array([block.weight for block in blocks])
        goal = cp.sum(cp.multiply(weights, errors))
        unit = float(sum(b.weight * _rough(b, 1 / k) for b in blocks))
    else:
        goal = cp.max(cp.multiply(1 / targets, errors))
        unit = float(max(_rough(b, 1 / k) / t for b, t in zip(blocks, targets, strict=True)))
    problem = cp.Problem(cp.Minimize(goal / unit), constraints)
    if not problem.is_dcp():  # guards the definitions above; no input can cause it
        raise AssertionError("the joint program is not a disciplined convex program")
    tight = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an inaccurate answer is judged by its proof
        try:
            problem.solve(solver=cp.CLARABEL, **tight)
        except cp.SolverError as error:
            raise ConvergenceError(f"Clarabel failed on the joint program: {error}") from error
    if problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
        raise ConvergenceError(f"Clarabel stopped early on the joint program: {problem.status}")
    found = np.maximum(share.value, 1e-9)
    return found / found.sum()


def _choices(blocks: list[ChoiceBlock], share: Any, chosen: list[int]) -> tuple[Any, list[Any]]:
    """Errors of all choice questions, shape ``(len(blocks),)``, and their constraints."""
    import cvxpy as cp

    model = model_named("opt0")
    starts = [model.start(block.policy) / share.size for block in blocks]
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
    constraints = [*constraints, sp.csr_array(matrix) @ cp.hstack(point) <= limit @ share[chosen]]

    noise_sum, signal_sum, noise_max, signal_max = (
        np.concatenate(column)
        for column in zip(*(b.objective.coefficients(b.policy) for b in blocks), strict=True)
    )
    home = sp.block_diag([np.ones((1, t)) for t in sizes], format="csr")
    worst = cp.Variable(len(blocks))
    units = np.array([_rough(b, 1 / share.size) for b in blocks])  # worst is near 1
    branch = cp.multiply(noise_max, noise) + cp.multiply(signal_max, signal)
    constraints.append(cp.multiply(1 / (home.T @ units), branch) <= home.T @ worst)
    total = home @ (cp.multiply(noise_sum, noise) + cp.multiply(signal_sum, signal))
    scale = np.array([b.scale for b in blocks])
    errors = cp.multiply(scale, total + cp.multiply(units, worst))
    return errors + np.array([b.offset for b in blocks]), constraints


def _means(blocks: list[MeanBlock], share: Any, chosen: list[int]) -> tuple[Any, list[Any]]:
    """Errors of all means, shape ``(len(blocks),)``, and their constraints."""
    import cvxpy as cp

    epsilons = np.array([block.epsilon for block in blocks])
    start = epsilons[None, :] / share.size
    u = cp.Variable(start.shape)
    noise, _, constraints = model_named("opt1").expressions(u, start)  # p (1 + p)
    constraints = [*constraints, u[0] == share[chosen] * share.size]
    scale = np.array([b.scale for b in blocks])
    errors = cp.multiply(scale, 1 + 4 * noise) + np.array([b.offset for b in blocks])
    return errors, constraints


def _rough(block: Block, share: float) -> float:
    """The size of the block's error at ``share``, to scale the program by; nothing is solved."""
    if isinstance(block, MeanBlock):
        return block.at(share).error
    model = model_named("opt0")
    atoms = model.atoms(model.start(block.policy) * share)
    value = block.objective.coefficients(block.policy).evaluate(atoms.noise, atoms.signal)
    return block.scale * value + block.offset
