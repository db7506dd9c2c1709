"""Mechanisms of the papers that are compared with and not deployed, simulated as published.

Numbers are on ``[-1, 1]``, NaN for no answer. Where a mechanism forces an answer, whoever has none
sends a fake one: a uniform number (RND) or the upper end (TOP). Their errors on paper are in
:mod:`planner.mechanisms.rivals`, and the tests hold one against the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner import bisample_md
from planner.mechanisms.counting import Aggregate
from planner.mechanisms.rivals import HYBRID_THRESHOLD

__all__ = [
    "COLLECTIONS",
    "Collection",
    "TwoCoins",
    "harmony",
    "hybrid",
    "piecewise",
    "privkvm",
]

Array = NDArray[np.float64]
Estimates = tuple[float | None, float | None]
Collection = Callable[[Array, float, np.random.Generator], Estimates]
"""From answers, a budget and a generator to the estimated mean and missing rate; None for none."""


def _bisample(values: Array, epsilon: float, rng: np.random.Generator) -> Estimates:
    mechanism = bisample_md(epsilon)
    cells = mechanism.asked.output_law(mechanism.shape, values).cumsum(axis=1)[:, :-1]
    reports = (rng.random((values.size, 1)) > cells).sum(axis=1)
    counts = np.bincount(reports, minlength=mechanism.shape.cells)
    estimates = mechanism.estimate(Aggregate(values.size, counts))
    missing = estimates.missing_rate
    return estimates.mean.value, None if missing is None else missing.value


def _privkvm(values: Array, epsilon: float, rng: np.random.Generator) -> Estimates:
    """One real and five virtual iterations; the counts are not clipped."""
    theta = np.tanh(epsilon / 4)
    missing = np.isnan(values)
    p = (1 + theta) / 2
    key = rng.random(values.size) < np.where(missing, 1 - p, p)
    sign = rng.random(values.size) < (1 + theta * np.where(missing, 0.0, values)) / 2
    keys = key.mean()
    signed = (key & sign).mean() - (key & ~sign).mean()
    rate = (keys - 1 + p) / theta
    if not keys:
        return None, float(1 - rate)
    carry = (1 - rate) * (1 - p) / keys
    return float(signed / (theta * keys) * sum(carry**j for j in range(6))), float(
        1 - rate
    )


class PrivKVM(NamedTuple):
    """First-order errors of PrivKVM's estimates, of people drawn at random."""

    mean_variance: float
    mean_bias: float
    missing_variance: float


def privkvm(epsilon: float, rate: float, mean: float, iterations: int = 5) -> PrivKVM:
    """Errors of PrivKVM with one key, one real iteration and some virtual ones.

    Half the budget says whether there is an answer, half what it is. With
    ``p = e^(eps/2) / (e^(eps/2) + 1)`` and ``theta = 2p - 1``, ``F`` the share of reports with a
    key and ``S`` that of +1 less that of -1, the answer rate is ``f = (F - 1 + p) / theta``, the
    first mean ``S / (theta F)``, and an iteration moves it by ``k = (1 - f)(1 - p) / F`` times its
    last move. After ``c`` of them the bias is ``-mean k^(c+1)`` (Ye and others, 2019).

    Examples
    --------
    >>> one = privkvm(2.0, rate=0.5, mean=0.5)
    >>> round(one.mean_variance, 4), round(one.mean_bias, 5), round(one.missing_variance, 4)
    (17.3449, -0.00019, 1.1707)
    """
    theta = float(np.tanh(epsilon / 4))
    p = (1 + theta) / 2
    key = rate * p + (1 - rate) * (1 - p)
    signed = rate * p * theta * mean
    first = signed / (theta * key)
    carry = (1 - rate) * (1 - p) / key
    terms = range(iterations + 1)
    grown = sum(carry**j for j in terms)
    growth = sum(j * carry ** (j - 1) for j in terms if j)
    carry_slope = ((1 - p) / theta + carry) / key
    spread = key * (1 - key)
    # Of reports with a key the mean sign; it does not vary with how many there are.
    by_sign = grown**2 * (1 - (signed / key) ** 2) / (theta**2 * key)
    variance = by_sign + (first * growth * carry_slope) ** 2 * spread
    return PrivKVM(variance, first * grown - mean, spread / theta**2)


def harmony(values: Array, epsilon: float, rng: np.random.Generator) -> Array:
    """One bit a person, as the number it means."""
    theta = np.tanh(epsilon / 2)
    return np.where(rng.random(values.size) < (1 + theta * values) / 2, 1, -1) / theta


def piecewise(values: Array, epsilon: float, rng: np.random.Generator) -> Array:
    """A number near the answer with high probability, else one from elsewhere."""
    root = np.exp(epsilon / 2)
    edge = (root + 1) / (root - 1)
    lower = (edge + 1) / 2 * values - (edge - 1) / 2
    near = rng.random(values.size) < root / (root + 1)
    inside = lower + (edge - 1) * rng.random(values.size)
    outside = -edge + (edge + 1) * rng.random(values.size)
    return np.where(
        near, inside, np.where(outside < lower, outside, outside + edge - 1)
    )


def hybrid(values: Array, epsilon: float, rng: np.random.Generator) -> Array:
    """Piecewise with probability ``1 - e^(-eps/2)``, else Harmony; that alone up to 0.61."""
    signs = harmony(values, epsilon, rng)
    if epsilon <= HYBRID_THRESHOLD:
        return signs
    chosen = rng.random(values.size) < -np.expm1(-epsilon / 2)
    return np.where(chosen, piecewise(values, epsilon, rng), signs)


def _forced(
    report: Callable[[Array, float, np.random.Generator], Array],
    fake: str,
    values: Array,
    epsilon: float,
    rng: np.random.Generator,
) -> Estimates:
    fakes = np.ones(values.size) if fake == "top" else rng.uniform(-1, 1, values.size)
    return float(
        report(np.where(np.isnan(values), fakes, values), epsilon, rng).mean()
    ), None


COLLECTIONS: dict[str, Collection] = {
    "BiSample": _bisample,
    "PrivKVM": _privkvm,
    "Harmony TOP": partial(_forced, harmony, "top"),
    "PM TOP": partial(_forced, piecewise, "top"),
    "Harmony RND": partial(_forced, harmony, "random"),
    "PM RND": partial(_forced, piecewise, "random"),
}


@dataclass(frozen=True, slots=True)
class TwoCoins:
    """Randomised response: the truth if the first coin says so, else what the second says.

    Source: Joy and Gerla, section 3. Its eq. 30 gives the loss of the answer Yes alone; here it is
    the larger of both answers'.
    """

    first: float
    second: float

    @property
    def chances(self) -> tuple[Array, Array]:
        """``(a, b)``: of an own and of another's report, for the answers No and Yes."""
        lie = (1 - self.first) * np.array([1 - self.second, self.second])
        return self.first + lie, lie

    def privacy_loss(self) -> float:
        """In nats."""
        a, b = self.chances
        return float(np.log(a / b).max())

    def variance(self, no: int, yes: int) -> float:
        """Of the estimated number of people who say Yes."""
        (_, a), (_, b) = self.chances
        return float(
            (no + yes) * b * (1 - b) / (a - b) ** 2 + yes * (1 - a - b) / (a - b)
        )
