"""Minimise a convex function of one variable from its one-sided slopes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.errors import ConvergenceError

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Face:
    """One side of a convex function at a point.

    ``slope`` and ``curvature`` are its derivatives there, ``value`` its scale,
    ``weights`` those of the maximum's branches on this side, and ``saturated``
    the share of each level that is saturated on this side.
    """

    slope: float
    curvature: float
    value: float
    weights: Array
    saturated: Array


@dataclass(frozen=True, slots=True)
class Minimum:
    """The minimiser ``x`` and two faces whose slopes, mixed by ``share``, cancel."""

    x: float
    left: Face
    right: Face

    @property
    def share(self) -> float:
        """Weight of the left face, 0 to 1."""
        rise = self.right.slope - self.left.slope
        return 1.0 if rise <= 0 else min(1.0, max(0.0, self.right.slope / rise))

    @property
    def weights(self) -> Array:
        """Weights of the maximum's branches at the minimum, shape ``(t,)``, sum 1."""
        return self.share * self.left.weights + (1 - self.share) * self.right.weights

    @property
    def unsaturated(self) -> Array:
        """Share of each level that is below saturation, 0 to 1, shape ``(t,)``."""
        return self.share * (1 - self.left.saturated) + (1 - self.share) * (
            1 - self.right.saturated
        )


def minimise_convex(
    faces: Callable[[float], tuple[Face, Face]],
    low: float,
    high: float,
    guess: float,
    kinks: Array,
) -> Minimum:
    """Bracketing Newton search for the point where the slope changes sign.

    Parameters
    ----------
    faces:
        The left and the right face at a point; the same one twice where smooth.
    low, high:
        The minimum lies between them; the function may be infinite at either.
    guess:
        Where to look first.
    kinks:
        Points where the slope may jump, sorted. The search visits them exactly, so a
        minimum at a kink is found in a few steps and not by halving to the last digit.

    Raises
    ------
    ConvergenceError
        200 steps were not enough.
    """
    kinks = kinks[(kinks >= low) & (kinks <= high)]
    below: tuple[float, Face] | None = None
    above: tuple[float, Face] | None = None
    x = _snap(guess, low, high, kinks)
    width = high - low
    for step in range(200):
        left, right = faces(x)
        if left.slope <= 0 <= right.slope:
            return Minimum(x, left, right)
        face = right if right.slope < 0 else left
        if right.slope < 0:
            low, below, kinks = x, (x, right), kinks[kinks > x]
        else:
            high, above, kinks = x, (x, left), kinks[kinks < x]
        # Convexity: nothing between the ends is better by more than this.
        if abs(face.slope) * (high - low) <= 1e-15 * abs(face.value):
            return Minimum(x, face, face)
        if below and above and high - low <= 4 * np.spacing(max(abs(low), abs(high))):
            return Minimum(low, below[1], above[1])
        newton = x - face.slope / face.curvature if face.curvature > 0 else np.inf
        halved = step % 3 == 2 and high - low > width / 2
        if step % 3 == 2:
            width = high - low
        x = newton if low < newton < high and not halved else (low + high) / 2
        x = _snap(x, low, high, kinks)
    raise ConvergenceError("The search for the optimum did not end", 'Use method="conic".')


def _snap(x: float, low: float, high: float, kinks: Array) -> float:
    """The kink nearest to ``x``; ``x`` itself, inside the bracket, when none is left."""
    if kinks.size:
        place = int(np.searchsorted(kinks, x))
        near = kinks[max(place - 1, 0) : place + 1]
        return float(near[np.argmin(np.abs(near - x))])
    return x if low < x < high else (low + high) / 2
