"""Signs of poisoned reports: counts that honest reports would not show, whatever the answers.

Every test bounds the chance of an alarm for a file of honest reports by :data:`ALPHA`, whatever
people answered. Given the answers, reports are independent, each cell of the counts has a
probability between two known ones, and Bernstein's inequality bounds how far a sum of ``n``
independent draws with variance ``V`` in all strays from its mean:

    Pr[S - E S >= t] <= exp(-t^2 / (2 V + 2 t / 3))

No sign is no proof of honesty: reports that imitate the law pass.
"""

from __future__ import annotations

from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from planner.deployment.client.laws.exact import DENOMINATOR
from planner.deployment.client.laws.output import (
    HashingLaw,
    Law,
    OneRatioLaw,
    SamplingLaw,
    SignLaw,
    UnaryLaw,
)
from planner.deployment.collecting.counting.tallies import Tally
from planner.mechanisms.aggregate import Aggregate

__all__ = ["ALPHA", "bernstein_reach", "poisoning_signs"]

ALPHA = 1e-6
"""Largest chance that a file of honest reports of one question and round raises a sign."""
_MOST_CELLS = 5 * 10**7  # of levels times weights, beyond which weights are not predicted
_SHOWN = 3
Array = NDArray[np.float64]
_LevelLaw = UnaryLaw | OneRatioLaw | SamplingLaw


def poisoning_signs(law: Law, tally: Tally, round_number: int | None = None) -> list[str]:
    """Sentences on what is not as honest reports would be; none if nothing is.

    Parameters
    ----------
    law:
        The question's law.
    tally:
        The file's counts.
    round_number:
        For Sampling Privacy.
    """
    if isinstance(law, SignLaw):
        return _direction_signs(law, tally)
    alpha = ALPHA / 3 if isinstance(law, UnaryLaw) else ALPHA
    signs = _cell_signs(tally, *_cell_bounds(law, round_number), _cell_names(law), alpha)
    if isinstance(law, UnaryLaw):
        signs += _total_weight_signs(law, tally, alpha)
        signs += _weight_signs(law, tally, alpha)
    return signs


def bernstein_reach(variance: Array | float, alpha: float) -> Array:
    """How far a sum strays from its mean to one side with probability ``alpha`` at most.

    Examples
    --------
    >>> round(float(bernstein_reach(250_000.0, 1e-6)), 1)  # normal: 2376.7
    2632.9
    """
    size = log(1 / alpha)
    return np.asarray(size / 3 + np.sqrt(size * size / 9 + 2 * size * np.asarray(variance)))


def _cell_bounds(law: _LevelLaw, round_number: int | None) -> tuple[Array, Array]:
    """Smallest and largest probability that a report counts for a cell, over all answers."""
    if isinstance(law, UnaryLaw):
        return _per_bit(law, law.b) / DENOMINATOR, _per_bit(law, law.a) / DENOMINATOR
    if isinstance(law, SamplingLaw):
        stay = np.array([law.zero, *law.decoys]) / DENOMINATOR
        move = np.full(stay.size, law.sampling / DENOMINATOR)
        if round_number == 1:  # the sampled ones are at 0, whatever their answer
            move[1:] = 0
            return stay + move, stay + move
        return stay, stay + move
    own, other = (np.full(law.levels.total, float(chance)) for chance in law.support)
    slack = law.values / DENOMINATOR if isinstance(law, HashingLaw) else 0.0
    return other - slack, own + slack


def _cell_names(law: _LevelLaw) -> list[str]:
    names = law.levels.item_names()
    if isinstance(law, SamplingLaw):
        return ["none of the values", *names]
    if isinstance(law, UnaryLaw):
        return [*names, *(f"dummy {k + 1}" for k in range(law.padding_length))]
    return names


def _cell_signs(tally: Tally, low: Array, high: Array, names: list[str], alpha: float) -> list[str]:
    n, counts = tally.aggregate.users, tally.aggregate.counts
    half = (low < 0.5) & (high > 0.5)
    each = np.where(half, 0.25, np.maximum(low * (1 - low), high * (1 - high)))
    reach = bernstein_reach(n * each, alpha / (2 * counts.size))
    least, most = n * low - reach, n * high + reach
    strange = np.flatnonzero((counts < least) | (counts > most))
    signs = [
        f"{names[k]!r} has {counts[k]:,} of {n:,} reports; honest ones have "
        f"{max(0, least[k]):,.0f} to {min(n, most[k]):,.0f}"
        for k in strange[:_SHOWN]
    ]
    if strange.size > _SHOWN:
        signs.append(f"{strange.size - _SHOWN:,} more counts are out of range")
    return signs


def _total_weight_signs(law: UnaryLaw, tally: Tally, alpha: float) -> list[str]:
    """All ones of the file: the sampled items' bits apart, everybody's have the same law."""
    n, total = tally.aggregate.users, int(tally.aggregate.counts.sum())
    a, b = (np.array(column) / DENOMINATOR for column in (law.a, law.b))
    counts = _bits_per_level(law)
    mean, variance = float(counts @ b), float(counts @ (b * (1 - b)))
    own_variance = max(0.0, float((a * (1 - a) - b * (1 - b)).max()))
    reach = float(bernstein_reach(n * (variance + own_variance), alpha / 2))
    least = n * (mean + float((a - b).min())) - reach
    most = n * (mean + float((a - b).max())) + reach
    if least <= total <= most:
        return []
    return [
        f"{total / n:,.3f} ones per report on average; honest reports have "
        f"{least / n:,.3f} to {most / n:,.3f}"
    ]


def _weight_signs(law: UnaryLaw, tally: Tally, alpha: float) -> list[str]:
    """The weights' distribution function, at every weight (Hoeffding, union over weights).

    With ``B`` the weight of a report that has ``b`` in every bit, an honest report's weight
    lies between ``B`` and ``B + 1`` in distribution, as its own item's bit does.
    """
    n, bits = int(tally.weights.sum()), law.bits
    if n == 0 or len(law.b) * bits > _MOST_CELLS:
        return []
    below = np.cumsum(_weight_law(law))
    least, most = np.concatenate([[0.0], below[:-1]]), below
    seen = np.cumsum(tally.weights) / n
    reach = sqrt(log(2 * bits / alpha) / (2 * n)) + 1e-9  # and the rounding of the transform
    worst = np.maximum(seen - most, least - seen)
    k = int(np.argmax(worst))
    if worst[k] <= reach:
        return []
    return [
        f"{seen[k]:.1%} of {n:,} reports looked at have at most {k:,} ones; honest reports have "
        f"{max(0.0, least[k] - reach):.1%} to {min(1.0, most[k] + reach):.1%}"
    ]


def _weight_law(law: UnaryLaw) -> Array:
    """Law of a sum of independent bits with the levels' ``b``, from its transform."""
    size = law.bits + 1
    root = np.exp(-2j * np.pi * np.arange(size) / size)
    transform = np.ones(size, dtype=np.complex128)
    for b, count in zip(law.b, _bits_per_level(law), strict=True):
        transform *= (1 - b / DENOMINATOR + b / DENOMINATOR * root) ** int(count)
    return np.maximum(np.fft.ifft(transform).real, 0.0)


def _direction_signs(law: SignLaw, tally: Tally) -> list[str]:
    n, counts = tally.aggregate.users, tally.aggregate.counts
    noise = law.low / DENOMINATOR
    low, high = np.array([0.5, noise]), np.array([0.5, 1 - noise])
    pair = np.array([counts[2] + counts[3], counts[1] + counts[3]])
    named = ["positive sampling", "bit 1"]
    return _cell_signs(Tally(Aggregate(n, pair), tally.weights), low, high, named, ALPHA)


def _bits_per_level(law: UnaryLaw) -> NDArray[np.int64]:
    counts = np.array(law.levels.item_counts)
    counts[law.dummy_level] += law.padding_length
    return counts


def _per_bit(law: UnaryLaw, column: tuple[int, ...]) -> Array:
    values = np.repeat(np.array(column, dtype=np.float64), law.levels.item_counts)
    return np.concatenate([values, np.full(law.padding_length, float(column[law.dummy_level]))])
