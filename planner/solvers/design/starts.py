"""Types to begin with, before multipliers say which are wanted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from planner.designs.output_types import OutputTypes
from planner.solvers.design.problem import Columns, DesignProblem

_FIRST = 400  # types, over all windows
_RANDOM = 20
_BESIDE = (0.0, -0.1, 0.1)  # in log-odds: a similar policy's types are seldom exactly these


def leanings(types: OutputTypes) -> NDArray[np.float64]:
    """What a design's types say to one for similar budgets, shape ``(n, t)``.

    The log-odds of a level's share of high items, and the log-ratio of its two sides added:
    0 for subset selection, whatever its budget, and nearly alike for similar budgets.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = np.log(types.high_counts) - np.log(types.item_counts - types.high_counts)
        return odds + np.where(types.low > 0, np.log(types.high) - np.log(types.low), 0.0)


def first_columns(problem: DesignProblem, near: NDArray[np.float64] | None) -> Columns:
    """Items of no level high, of all, of one, and of all but one, in every window or in some.

    "Some" are as many as with that level alone. ``near`` are the :func:`leanings` of a design,
    whose counts, and some beside them, are tried in every window in their place.
    """
    low, high = problem.windows
    some = np.rint(problem.item_counts / (1 + np.exp(high - low))).astype(np.int64)
    tables = []
    windows = np.unique(
        np.linspace(0, len(low) - 1, max(2, _FIRST // (2 * problem.size + 2))).astype(np.int64)
    )
    for window in windows:
        middle = np.maximum(1, some[window])
        alone = np.diag(middle)
        rows = np.vstack([0 * middle, middle, alone, middle - alone])
        if near is not None:
            likely = np.vstack([near + change for change in _BESIDE])
            with np.errstate(over="ignore"):
                share = 1 / (1 + np.exp(high[window] - low[window] - likely))
            counts = np.rint(share * problem.item_counts).astype(np.int64)
            inside = np.clip(counts, 1, np.maximum(problem.item_counts - 1, 1))
            rows = np.vstack([np.where(np.isfinite(likely), inside, counts), 0 * middle, alone])
        tables.append(np.column_stack([np.full(len(rows), window), rows]))
    table = np.unique(np.vstack(tables), axis=0)
    return Columns(table[:, 0], table[:, 1:])


def random_columns(problem: DesignProblem, rng: np.random.Generator) -> Columns:
    """Random splits of every window, half of them with all or none of a level's items high."""
    windows, t = problem.windows.low.shape
    size = windows * max(2, _RANDOM // windows)
    x = np.square(rng.random((size, t)))
    x[::2] = np.rint(x[::2])
    window = np.arange(size) % windows
    return Columns(window, np.rint(x * problem.item_counts).astype(np.int64))
