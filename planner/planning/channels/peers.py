"""What known mechanisms make of the same assumed answers, on one scale."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from planner.mechanisms.piecewise import hybrid_variance, piecewise_variance
from planner.mechanisms.privkvm import PrivKVM
from planner.planning.channels.means import bisample_error
from planner.planning.channels.populations import AssumedAnswers

__all__ = ["PeerError", "mechanism_errors", "peer_errors"]

_PEOPLE = 20_000


class PeerError(NamedTuple):
    """First-order error of an estimated mean of those who answer.

    Attributes
    ----------
    mechanism:
        Its name.
    variance:
        Per person, people drawn at random, in squared units of the question.
    bias:
        What more people do not take away, in the question's unit.
    """

    mechanism: str
    variance: float
    bias: float

    def rmse(self, users: int) -> float:
        """Root mean squared error with this many people."""
        return float(np.sqrt(self.variance / users + self.bias**2))


def mechanism_errors(epsilon: float, assumed: AssumedAnswers) -> tuple[PeerError, ...]:
    """BiSample-MD, and the mechanisms that force an answer: Harmony, Piecewise, Hybrid.

    Whoever has no answer gives these three a uniformly random one; their mean is that of
    true and random answers together.

    Parameters
    ----------
    epsilon:
        Budget in nats, 0.0001 to 50.
    assumed:
        The population.

    Examples
    --------
    >>> for one in mechanism_errors(1.0, AssumedAnswers(0.5, 0.3, 0.1)):
    ...     print(one.mechanism, round(one.variance, 2), round(one.bias, 3))
    BiSample-MD 6.76 0.0
    Harmony 4.48 -0.049
    Piecewise 4.32 -0.049
    Hybrid 4.42 -0.049
    """
    place, rate = assumed.domain, 1 - assumed.missing
    mean = (assumed.mean - place.center) / place.radius
    fine = np.linspace(place.lower, place.upper, 2001)
    unit = (fine - place.center) / place.radius
    square = rate * float(assumed.shares(fine) @ unit**2) + (1 - rate) / 3
    mixed = rate * mean
    noises = {
        "Harmony": 1 / np.tanh(epsilon / 2) ** 2 - square,
        "Piecewise": float(piecewise_variance(epsilon, square)),
        "Hybrid": hybrid_variance(epsilon, square),
    }
    size = place.radius
    forced = (
        PeerError(name, size**2 * float(noise + square - mixed**2), size * (mixed - mean))
        for name, noise in noises.items()
    )
    return PeerError("BiSample-MD", bisample_error(epsilon, assumed), 0.0), *forced


def peer_errors(epsilon: float, assumed: AssumedAnswers) -> tuple[PeerError, ...]:
    """The same with PrivKVM, whose error is that of 20,000 people with such answers.

    Parameters as in :func:`mechanism_errors`.
    """
    bisample, *forced = mechanism_errors(epsilon, assumed)
    people, private = _people(assumed), PrivKVM(epsilon, assumed.domain)
    variance = private.variance(people).mean * people.size
    return bisample, PeerError("PrivKVM", variance, private.bias(people)), *forced


def _people(assumed: AssumedAnswers) -> np.ndarray:
    """People with evenly spread quantiles of the assumed answers; NaN for no answer."""
    from scipy.special import ndtri

    place = assumed.domain
    answering = round(_PEOPLE * (1 - assumed.missing))
    quantiles = ndtri((np.arange(answering) + 0.5) / answering)
    values = np.clip(assumed.center + assumed.spread * quantiles, place.lower, place.upper)
    return np.append(values, np.full(_PEOPLE - answering, np.nan))
