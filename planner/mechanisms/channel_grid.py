"""A channel's probabilities as integers over 2^32 that keep every pair's budget.

Symbols are levels of one item and reports are types with that item on the high side, so the
rounding of subset designs (:mod:`.design_grid`) and its proof hold as they are: a little of a law
that says nothing is mixed in, all is rounded down, and what is left goes to one more report, the
*blank*.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from planner.limits import DENOMINATOR
from planner.mechanisms.design_grid import round_types
from planner.solvers.answers import Certificate, Channel
from planner.solvers.types import OutputTypes

Array = NDArray[np.float64]
_TOLD = 1e-7  # relative singular value below which rounding alone tells answers apart


def as_drawn(channel: Channel) -> Channel:
    """The channel with its probabilities rounded, the blank report last: what is really drawn.

    The estimator is the nearest one that is unbiased for the rounded probabilities. One that is
    on the grid already is returned as it is.

    Raises
    ------
    VerificationError
        The channel breaks its policy, or a row does not sum to 1.
    InputError
        A grid of 2^-32 is too coarse for so small budgets.

    Examples
    --------
    >>> from planner import best_channel
    >>> channel = best_channel(2.0)
    >>> drawn = as_drawn(channel)
    >>> drawn.outputs - channel.outputs, drawn.max_violation <= 0
    (1, True)
    >>> round(drawn.worst_error / channel.worst_error - 1, 6)
    0.0
    """
    if _on_grid(channel.matrix):
        return channel
    symbols, outputs = channel.matrix.shape
    one, likelihoods = np.ones(symbols, dtype=np.int64), channel.matrix.T
    high = np.ones((outputs, symbols), dtype=np.int64)
    types = OutputTypes(one, np.ones(outputs), likelihoods, likelihoods, high)
    matrix = round_types(channel.policy, types).integers.sum(axis=2) / DENOMINATOR
    estimator = np.column_stack([channel.estimator, np.zeros(len(channel.wanted))])
    inverse = np.linalg.pinv(matrix, rcond=_TOLD)
    for _ in range(2):
        estimator = estimator + (channel.wanted - estimator @ matrix.T) @ inverse.T
    drawn = replace(channel, matrix=matrix, estimator=estimator, certificate=None)
    proof = channel.certificate
    if proof is None:
        return drawn
    gap = max(0.0, drawn.worst_error / proof.lower_bound - 1)
    return replace(drawn, certificate=Certificate(proof.lower_bound, gap, proof.over))


def integers_of(channel: Channel) -> NDArray[np.int64]:
    """``2^32 Pr[report | symbol]`` of a channel as drawn, shape ``(symbols, outputs)``."""
    return np.rint(as_drawn(channel).matrix * DENOMINATOR).astype(np.int64)


def _on_grid(matrix: Array) -> bool:
    scaled = matrix * DENOMINATOR
    whole = np.array_equal(scaled, np.rint(scaled)) and scaled.min() >= 1
    return bool(whole and (scaled.sum(axis=1) == DENOMINATOR).all())
