"""Preferences assumed to follow a smooth distribution, and what all models have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner import arguments

Array = NDArray[np.float64]


class Preferences(Protocol):
    """What planning needs to know about people's preferences."""

    def answer_rate(self, epsilon: ArrayLike) -> Array:
        """``R(eps)``: share of people who answer at each budget, in the budgets' shape."""

    def quantile(self, share: ArrayLike) -> Array:
        """The preference that a share of the people stays at or below; ``0 < share < 1``."""

    @property
    def kinks(self) -> Array:
        """Budgets at which ``R`` jumps or bends, sorted; empty if it is smooth."""


class _Smooth:
    """A distribution whose answer rate neither jumps nor bends."""

    __slots__ = ()

    @property
    def kinks(self) -> Array:
        """None."""
        return np.empty(0)


@dataclass(frozen=True, slots=True)
class NormalPreferences(_Smooth):
    """Normally distributed preferences; those below zero never answer.

    Parameters
    ----------
    mean, sd:
        In nats; ``sd > 0``. The BiSample paper assumes 5 and 1.5.

    Examples
    --------
    >>> NormalPreferences(5, 1.5).answer_rate([5.0, 6.5]).round(4).tolist()
    [0.5, 0.1587]
    """

    mean: float
    sd: float

    def __post_init__(self) -> None:
        arguments.finite("mean", self.mean)
        arguments.positive("sd", self.sd)

    def answer_rate(self, epsilon: ArrayLike) -> Array:
        """``Phi((mean - eps) / sd)``."""
        from scipy.special import ndtr

        return ndtr((self.mean - np.asarray(epsilon)) / self.sd)

    def quantile(self, share: ArrayLike) -> Array:
        """``mean + sd * Phi^-1(share)``."""
        from scipy.special import ndtri

        return self.mean + self.sd * ndtri(share)


@dataclass(frozen=True, slots=True)
class LognormalPreferences(_Smooth):
    """Preferences whose logarithm is normal.

    Parameters
    ----------
    median:
        In nats, above 0.
    sigma:
        Standard deviation of the logarithm, above 0.

    Examples
    --------
    >>> LognormalPreferences(2.0, 0.5).answer_rate(2.0).item()
    0.5
    """

    median: float
    sigma: float

    def __post_init__(self) -> None:
        arguments.positive("median", self.median)
        arguments.positive("sigma", self.sigma)

    def answer_rate(self, epsilon: ArrayLike) -> Array:
        """``Phi(ln(median / eps) / sigma)``."""
        from scipy.special import ndtr

        with np.errstate(divide="ignore"):
            return ndtr((np.log(self.median) - np.log(np.asarray(epsilon))) / self.sigma)

    def quantile(self, share: ArrayLike) -> Array:
        """``median * exp(sigma * Phi^-1(share))``."""
        from scipy.special import ndtri

        return self.median * np.exp(self.sigma * ndtri(share))


@dataclass(frozen=True, slots=True)
class GammaPreferences(_Smooth):
    """Gamma distributed preferences, with mean ``shape * scale``.

    Parameters
    ----------
    shape:
        Above 0.
    scale:
        In nats, above 0.

    Examples
    --------
    >>> GammaPreferences(1.0, 2.0).answer_rate(2.0).round(4).item()
    0.3679
    """

    shape: float
    scale: float

    def __post_init__(self) -> None:
        arguments.positive("shape", self.shape)
        arguments.positive("scale", self.scale)

    def answer_rate(self, epsilon: ArrayLike) -> Array:
        """The regularised upper incomplete gamma function ``Q(shape, eps / scale)``."""
        from scipy.special import gammaincc

        return gammaincc(self.shape, np.asarray(epsilon) / self.scale)

    def quantile(self, share: ArrayLike) -> Array:
        """Inverse of ``1 - R``."""
        from scipy.special import gammaincinv

        return self.scale * gammaincinv(self.shape, share)
