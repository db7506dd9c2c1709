"""From the solver's weights to a design: few types, exact totals, the best estimator."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from planner.designs.output_types import OutputTypes
from planner.errors import InputError
from planner.solvers.design.problem import Columns, DesignProblem

Array = NDArray[np.float64]

_PRESENT = 1e-10  # of the largest weight: less is noise
_RANK = 1e-8  # relative, of singular values: weights have about that many digits
_USED = 1e-6  # of the largest weight, where types are many
_MOST_NUMBERS = 100  # that the error depends on
_SHARES = (1.0, 0.3, 0.1, 0.03)  # of a step
_ROUNDS = 30
_LEVEL = 1e-12  # relative: errors that agree this well are level


def purified(
    problem: DesignProblem, columns: Columns, weights: Array, prior: Array
) -> tuple[Columns, Array]:
    """Fewer types with the same error: at most ``t (t + 1) / 2 + t_2 - 1`` if weights are exact.

    The error depends on the weights through ``B`` and the ``ev_i`` alone, which are linear in
    them. While more types are left than
    these numbers can tell apart, the weights move along a direction that changes none of them,
    until one weight is 0.
    """
    scale = problem.columns(columns)[2]
    amounts = weights * scale
    rows = _information(problem, columns, amounts, prior)
    live = np.flatnonzero(amounts > _PRESENT * amounts.max())
    if len(rows) > _MOST_NUMBERS:  # a decomposition for every type less takes too long
        live = np.flatnonzero(amounts > _USED * amounts.max())
        return columns.chosen(live), weights[live]
    while True:
        kept = rows[:, live] * amounts[live]
        kept /= np.maximum(np.linalg.norm(kept, axis=1, keepdims=True), np.finfo(float).tiny)
        sizes, axes = np.linalg.svd(kept)[1:]
        if live.size <= np.count_nonzero(sizes > _RANK * sizes[0]):
            return columns.chosen(live), weights[live] * amounts[live] / (weights * scale)[live]
        direction = axes[-1] if axes[-1].max() > -axes[-1].min() else -axes[-1]
        last = int(direction.argmax())
        amounts[live] *= 1 - direction / direction[last]
        live = np.delete(live, last)


def _information(problem: DesignProblem, columns: Columns, amounts: Array, prior: Array) -> Array:
    """What a unit of every type adds to ``B``, the ``ev_i`` and guesses, a row each."""
    del amounts
    mean, spread, _ = problem.columns(columns)
    share = 1 / (mean @ prior)
    first, second = np.triu_indices(problem.size)
    return np.vstack(
        [
            (mean[:, first] * mean[:, second] * share[:, None]).T,
            (spread * share[:, None]).T[problem.item_counts > 1],
            problem.guesses(columns).T,
        ]
    )


def types_of(problem: DesignProblem, columns: Columns, weights: Array) -> OutputTypes:
    """The types, with weights corrected until every level's probabilities sum to 1."""
    for _ in range(3):
        columns, weights = columns.chosen(weights > 0), weights[weights > 0]
        mean, _, scale = problem.columns(columns)
        total = mean * scale[:, None]
        missing = 1 - weights @ total
        sway = total * weights[:, None]
        weights = weights + weights * (total @ np.linalg.lstsq(total.T @ sway, missing)[0])
    order = np.lexsort(columns.high_counts.T[::-1])  # whatever windows they were found in
    columns, weights = columns.chosen(order), weights[order]
    low, high = problem.sides(columns)
    return OutputTypes(problem.item_counts, weights, low, high, columns.high_counts)


def balanced_prior(errors_at: Callable[[Array], Array], prior: Array) -> Array:
    """The least favourable prior for given types: at it the levels' errors are level.

    The error of the best estimator is concave in the prior, and the levels' errors are its
    slopes (plus constants): Newton's method on their differences. The best prior seen is kept.

    Parameters
    ----------
    errors_at:
        The levels' errors with the estimator for a prior.
    prior:
        Where to begin.
    """
    best, least = prior, float(errors_at(prior).max())
    for _ in range(_ROUNDS):
        errors = errors_at(prior)
        active = np.flatnonzero((prior > 1e-9) | (errors > errors.max() * (1 - 1e-9)))
        if active.size < 2 or np.ptp(errors[active]) <= _LEVEL * errors.max():
            break
        step = _newton_step(errors_at, prior, active, errors)
        room = np.where(step < 0, -0.5 * prior[active] / np.minimum(step, -1e-300), 1.0)
        for share in _SHARES:
            moved = prior.copy()
            moved[active] += share * min(1.0, float(room.min())) * step
            moved /= moved.sum()
            worst = _worst(errors_at, moved)
            if worst < least:
                break
        else:
            break
        best, least, prior = moved, worst, moved
    return best


def _worst(errors_at: Callable[[Array], Array], prior: Array) -> float:
    try:
        return float(errors_at(prior).max())
    except InputError:
        return float(np.inf)


def _newton_step(
    errors_at: Callable[[Array], Array],
    prior: Array,
    active: NDArray[np.int64],
    errors: Array,
) -> Array:
    """A change of the active levels' shares, of sum 0, after which their errors agree."""
    size = active.size
    matrix, target = np.zeros((size + 1, size + 1)), np.zeros(size + 1)
    matrix[:size, size] = -1.0
    matrix[size, :size] = 1.0
    target[:size] = -errors[active]
    for column, level in enumerate(active):
        width = 1e-4 * max(float(prior[level]), 1e-6)
        nudged = [prior.copy(), prior.copy()]
        nudged[0][level] += width
        nudged[1][level] -= min(width, float(prior[level]))
        above, below = (errors_at(p)[active] for p in nudged)
        matrix[:size, column] = (above - below) / (nudged[0][level] - nudged[1][level])
    return np.asarray(np.linalg.lstsq(matrix, target)[0][:size])
