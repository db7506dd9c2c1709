"""Pair rules under which opt0 can be reduced: two variables, however many levels there are.

Rule min: at the optimum ``s_i = min(S, eps_i - W)`` and ``w_i = min(W, eps_i - S)``.
With ``T = S + W`` (the saturation point) and ``delta = (S - W) / 2`` this reads

    s_i = c_i + delta,   w_i = c_i - delta,   c_i = min(eps_i, T) - T / 2

and the rule avg is the same with ``c_i = eps_i / 2``. The rule itself says so: see
:class:`~planner.policy.rules.Reduction`. The error is convex with slopes known exactly and kinks
where a level saturates or where the worst case passes from one level to another. A tangent plane
in the reduced variables proves the optimum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.errors import ConvergenceError, InputError
from planner.policy.rules import SHORT_OF_POLE, Reduction
from planner.solvers.certificate import Proof
from planner.solvers.models import Program

Array = NDArray[np.float64]

_FLAT = 1e-6  # largest relative slope that still counts as 0
_SUMS = 2.0**-47  # charged for rounding, of all terms' sizes: NumPy adds them up in pairs
_STEP = np.array([[1.0], [-1.0]])  # of s and w along delta


def solve_reduced(program: Program) -> tuple[Array, Proof]:
    """Minimise the program's objective and prove it, in O(t) time and memory per step.

    Returns the coordinates, shape ``(2, t)``, and the proof. Only opt0 has this reduction, and only
    under rules that have one.
    """
    policy, model = program.policy, program.model.name
    reduction = policy.rule.reduction(policy.epsilons)
    if reduction is None or model != "opt0":
        allowed = f'"slsqp" or "conic" for {model} and a policy with {policy.rule.words}'
        raise InputError("method", "reduced", allowed, 'Use method="auto", which picks one.')
    return _Search(program, reduction).solve()


@dataclass(frozen=True, slots=True)
class Face:
    """One side of a convex function at a point: its derivatives and its scale there.

    ``weights`` are those of the maximum's branches on this side, ``saturated`` the share of each
    level that is saturated.
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

    def mixed(self, left: Array, right: Array) -> Array:
        """Numbers of the two faces, mixed."""
        return self.share * left + (1 - self.share) * right


def minimise_convex(
    faces: Callable[[float], tuple[Face, Face]],
    low: float,
    high: float,
    guess: float,
    kinks: Array,
) -> Minimum:
    """Bracketing Newton search for the point where the slope changes sign.

    ``faces(x)`` are the left and the right one, the same twice where smooth. The function may be
    infinite at ``low`` and ``high``. At ``kinks``, sorted, slopes may jump: they are visited
    exactly, so that a minimum there is found in a few steps and not by halving to the last digit.

    Raises
    ------
    ConvergenceError
        200 steps were not enough.
    """
    kinks = kinks[(kinks >= low) & (kinks <= high)]
    below: tuple[float, Face] | None = None
    above: tuple[float, Face] | None = None
    x, width = guess, high - low
    for step in range(200):
        halved = step % 3 == 0 and step and high - low > width / 2
        width = width if step % 3 else high - low
        if halved or not low < x < high:
            x = (low + high) / 2
        if kinks.size:
            x = float(kinks[np.argmin(np.abs(kinks - x))])
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
        x = x - face.slope / face.curvature if face.curvature > 0 else np.inf
    raise ConvergenceError("The search for the optimum did not end", 'Use method="conic".')


@dataclass(frozen=True, slots=True)
class _Search:
    """Variables ``T`` (rule min only) and ``delta``."""

    program: Program
    reduction: Reduction

    def solve(self) -> tuple[Array, Proof]:
        reduction = self.reduction
        low, high = reduction.totals
        start, delta = min(1.5 * low, (low + high) / 2), 0.0

        def faces(total: float) -> tuple[Face, Face]:
            nonlocal delta
            centre = reduction.centre(total)
            balance = self._balance(centre, delta)
            delta = balance.x
            below, above = reduction.saturated(total)
            left = self._along_total(centre, balance, below)
            if np.array_equal(below, above):
                return left, left
            return left, self._along_total(centre, balance, above)

        if reduction.kinks.size == 0:  # T plays no role
            found = Minimum(low, *faces(low))
        else:
            found = minimise_convex(faces, low, high, start, reduction.kinks)
        return self._proven(found, self._balance(reduction.centre(found.x), delta).x)

    def _balance(self, centre: Array, guess: float) -> Minimum:
        """The best ``delta`` for these centres."""

        def faces(delta: float) -> tuple[Face, Face]:
            v = centre + delta * _STEP
            total, branches, slope, own = self.program.pieces(v)
            common, extra = float(np.sum(slope * _STEP)), np.sum(own * _STEP, axis=0)
            top = float(branches.max())
            ties = np.flatnonzero(branches >= top - 1e-14 * (abs(total) + abs(top)))
            first, last = ties[np.argmin(extra[ties])], ties[np.argmax(extra[ties])]
            left = self._across(v, common + float(extra[first]), total + top, first)
            if first == last:
                return left, left
            return left, self._across(v, common + float(extra[last]), total + top, last)

        reach = float(centre.min()) * SHORT_OF_POLE
        at = guess if abs(guess) < reach else 0.0
        # All branches of the plain worst case meet at delta = 0.
        return minimise_convex(faces, -reach, reach, at, np.zeros(1 if guess == 0 else 0))

    def _across(self, v: Array, slope: float, value: float, branch: int) -> Face:
        weights = np.zeros(v.shape[1])
        weights[branch] = 1.0
        curvature = self.program.curvature(v, weights)
        bend = float(np.sum(curvature[0, 0] - 2 * curvature[0, 1] + curvature[1, 1]))
        return Face(slope, bend, value, weights, np.zeros(0))

    def _along_total(self, centre: Array, balance: Minimum, saturated: Array) -> Face:
        """The face in direction ``T`` of the minimum over ``delta``."""
        v = centre + balance.x * _STEP
        weights = balance.mixed(balance.left.weights, balance.right.weights)
        total, branches, slope, own = self.program.pieces(v)
        sign = saturated - 0.5
        rise = float(np.sum((slope + weights * own) * sign))
        curvature = self.program.curvature(v, weights)
        bend = float(np.sum(curvature)) / 4
        if balance.left is balance.right:  # delta follows T where smooth
            twist = float(np.sum((curvature[0, 0] - curvature[1, 1]) * sign))
            bend -= twist**2 / balance.left.curvature
        return Face(rise, bend, total + float(branches.max()), weights, saturated)

    def _proven(self, found: Minimum, delta: float) -> tuple[Array, Proof]:
        # Where several branches meet at an end of the search, the plane is not stationary: the
        # bound holds although no mix of the two branches at hand has slope 0.
        reduction, (left, right) = self.reduction, (found.left, found.right)
        weights = found.mixed(left.weights, right.weights)
        unsaturated = 1 - found.mixed(left.saturated, right.saturated)
        v = reduction.centre(found.x) + delta * _STEP
        value, branches, slope, own = self.program.pieces(v)
        plane = slope + weights * own
        both = plane.sum(axis=0)
        along_total = float(np.sum(both * (0.5 - unsaturated)))
        across = float(np.sum(plane[0] - plane[1]))
        corners = [
            along_total * (end - found.x) + across * (side * (reduction.lowest - end / 2) - delta)
            for end in reduction.totals
            for side in (-1, 1)
        ]
        proven = value + float(weights @ branches)
        stationary = (abs(along_total) + abs(across)) * found.x <= _FLAT * abs(proven)
        size = abs(value) + weights @ np.abs(branches) + np.sum(np.abs(plane * v))
        bound = proven + min(corners) - _SUMS * float(size)
        return v, Proof(bound, -both * unsaturated, weights, stationary)
