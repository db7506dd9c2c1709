"""From columns and weights to a channel that keeps its budgets and sums to 1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from planner.designs.channel import Scenario
from planner.errors import ConvergenceError
from planner.solvers.channel.cone import ConeAnswer
from planner.solvers.channel.program import Program

Array = NDArray[np.float64]
_NEGLIGIBLE = 1e-9  # share of all reports below which an output is left out
_FEW_A_SYMBOL = 3  # outputs: a linear program to save some would cost more than it is worth
_MOST_MOMENTS = 600  # rows of that program, which takes longer than all else from there on
_MOST_MISSING = 1e-3
_SECONDARY = 1e-8  # weight of directions that no scenario looks at


def whole_columns(
    columns: Array, weights: Array, smallest_budget: float
) -> tuple[Array, NDArray[np.bool_]]:
    """``Pr[report | symbol]``, shape ``(m, outputs)``, rows summing to 1; which columns it has.

    The weighted columns sum to nearly 1. They are scaled down until what is missing is
    itself an allowed column; that is added to the most frequent output, and a sum
    of allowed columns is allowed.

    Raises
    ------
    ConvergenceError
        The weighted columns are too far from 1.
    """
    share = weights * columns.max(axis=1)
    kept = share > _NEGLIGIBLE * share.max()
    joint = (columns[kept] * weights[kept, None]).T
    sums = joint.sum(axis=1)
    if not np.abs(sums - 1).max() < _MOST_MISSING:
        raise ConvergenceError("The outputs' probabilities do not sum to 1", "Use fewer symbols.")
    joint /= sums.max()
    missing = 1 - joint.sum(axis=1)
    # After the factor 1 - delta, delta + (1 - delta) missing must keep the smallest budget.
    spread = float(np.ptp(missing)) + 1e-15
    delta = min(1.0, 2 * spread / np.expm1(smallest_budget))
    joint *= 1 - delta
    most = int(np.argmax(joint.sum(axis=0)))
    joint[:, most] += 1 - joint.sum(axis=1)
    return joint, kept


def few_outputs(program: Program, answer: ConeAnswer, columns: Array) -> Array:
    """Weights with the same errors on as few of the columns as a vertex has, shape ``(N,)``.

    What each column means stays. Row sums, unbiasedness and every scenario's error are
    linear in the weights then: a basic solution of these rows has no more columns than
    rows. The weights given are returned if there is none, if they are few already, or if the rows
    are very many.
    """
    from scipy.optimize import linprog

    weights, multipliers = answer.weights, answer.multipliers
    kept = weights * columns.max(axis=1) > _NEGLIGIBLE
    few_rows = program.wanted.size <= _MOST_MOMENTS
    if not few_rows or kept.sum() <= _FEW_A_SYMBOL * columns.shape[1]:
        return weights
    chosen, share = columns[kept], weights[kept]
    if answer.meanings is not None:
        meanings = answer.meanings[kept]
    else:
        forms = program.weights(multipliers, chosen)
        meanings = np.linalg.solve(forms, (chosen @ multipliers.alpha)[..., None])[..., 0]
    shares = chosen @ program.populations.T
    squares = np.einsum("op,kpq,oq,ok->ko", meanings, program.squares, meanings, shares)
    moments = np.einsum("op,om->pmo", meanings, chosen).reshape(-1, len(chosen))
    rows = np.vstack([chosen.T, moments, squares])
    rows /= np.abs(rows).max(axis=1, keepdims=True) + 1e-300
    vertex = linprog(-share, A_eq=rows, b_eq=rows @ share, method="highs-ds")
    if vertex.status != 0:
        return weights
    few = np.zeros_like(weights)
    few[kept] = vertex.x
    return few


def best_estimator(
    wanted: Array, scenarios: Sequence[Scenario], weights: Array, matrix: Array
) -> Array:
    """The unbiased estimator of least weighted error for a channel, shape ``(p, outputs)``.

    Parameters
    ----------
    wanted:
        The numbers wanted, shape ``(p, m)``; directions that no scenario looks at get the
        estimator of least variance.
    scenarios, weights:
        The scenarios, and the weight of each one's error.
    matrix:
        ``Pr[report | symbol]``, shape ``(m, outputs)``.

    Raises
    ------
    ConvergenceError
        These reports cannot tell what is wanted.
    """
    populations = np.array([scenario.population for scenario in scenarios])
    expected = populations @ matrix * weights[:, None]  # (k, outputs)
    squares = np.array([one.directions.T @ one.directions for one in scenarios])
    total = expected.sum(axis=0)
    p = len(wanted)
    if np.abs(squares - squares[0]).max() == 0 and np.linalg.matrix_rank(squares[0]) == p:
        inner = (matrix / total) @ matrix.T
        inverse = np.linalg.pinv(inner, rcond=1e-13, hermitian=True)
        return unbiased(wanted @ inverse @ matrix / total, wanted, matrix)
    forms = np.einsum("ko,kpq->opq", expected, squares)
    floor = _SECONDARY * np.trace(forms.sum(axis=0)) / p * total / total.sum()
    inverses = np.linalg.inv(forms + floor[:, None, None] * np.eye(p))
    m = len(matrix)
    system = np.einsum("xo,zo,opq->xpzq", matrix, matrix, inverses).reshape(m * p, m * p)
    alpha = np.linalg.lstsq(system, wanted.T.ravel(), rcond=1e-14)[0].reshape(m, p)
    estimator = np.einsum("opq,xq,xo->po", inverses, alpha, matrix)
    return unbiased(estimator, wanted, matrix)


def unbiased(estimator: Array, wanted: Array, matrix: Array) -> Array:
    """The nearest estimator whose expectations are right, to the last digits.

    Raises
    ------
    ConvergenceError
        These reports cannot tell what is wanted.
    """
    inverse = np.linalg.pinv(matrix, rcond=1e-12)
    for _ in range(2):
        estimator = estimator + (wanted - estimator @ matrix.T) @ inverse.T
    if np.abs(estimator @ matrix.T - wanted).max() > 1e-10 * max(1.0, np.abs(wanted).max()):
        remedy = "Add a scenario that needs them, or give it a cap."
        raise ConvergenceError("The best reports do not tell all the wanted numbers", remedy)
    return estimator
