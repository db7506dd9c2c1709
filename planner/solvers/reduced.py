"""Pair rules under which a model can be reduced: a variable or two, however many levels there are.

Rule min: at opt0's optimum ``s_i = min(S, eps_i - W)`` and ``w_i = min(W, eps_i - S)``.
With ``T = S + W`` (the saturation point) and ``delta = (S - W) / 2`` this reads

    s_i = c_i + delta,   w_i = c_i - delta,   c_i = min(eps_i, T) - T / 2

and the rule avg is the same with ``c_i = eps_i / 2``. opt1 is the case ``delta = 0``, and opt2 has
coordinates that follow ``T`` in the same manner: see :class:`~planner.policy.rules.Reduction`. The
error is convex with slopes known exactly and kinks where a level saturates or where the worst case
passes from one level to another. A tangent plane in the reduced variables proves the optimum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from planner.arrays import Array
from planner.errors import ConvergenceError, InputError
from planner.policy.rules import SHORT_OF_POLE, Reduction
from planner.solvers.certificate import Proof
from planner.solvers.models import Program

_FLAT = 1e-6  # largest relative slope that still counts as 0
_SUMS = (
    2.0**-47
)  # charged for rounding, of all terms' sizes: NumPy adds them up in pairs


def solve_reduced(
    program: Program, asked: Program | None = None
) -> tuple[Array, Proof]:
    """Minimise the program's objective and prove it, in O(t) time and memory per step.

    Returns the coordinates, shape ``(c, t)``, and the proof: of ``asked``, if given, which differs
    in its coefficients alone. Not all rules have a reduction.
    """
    reduction = program.model.reduction(program.policy)
    if reduction is None:
        allowed = f'"slsqp" or "conic" for the rule {program.policy.rule_name!r}'
        raise InputError(
            "method", "reduced", allowed, 'Use method="auto", which picks one.'
        )
    return KinkSearch(program, reduction, asked or program).solve()


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
    below: Face | None = None
    above: Face | None = None
    x = guess
    width = high - low
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
            low = x
            below = right
            kinks = kinks[kinks > x]
        else:
            high = x
            above = left
            kinks = kinks[kinks < x]
        # Convexity: nothing between the ends is better by more than this.
        if abs(face.slope) * (high - low) <= 1e-15 * abs(face.value):
            return Minimum(x, face, face)
        if below and above and high - low <= 4 * np.spacing(max(abs(low), abs(high))):
            return Minimum(low, below, above)
        x = x - face.slope / face.curvature if face.curvature > 0 else np.inf
    raise ConvergenceError(
        "The search for the optimum did not end", 'Use method="conic".'
    )


@dataclass(frozen=True, slots=True)
class KinkSearch:
    """Variables ``T``, and of opt0 ``delta``."""

    program: Program
    reduction: Reduction
    asked: Program

    def solve(self) -> tuple[Array, Proof]:
        """The best log-odds, ``(t,)``, and the proof that no others are better."""
        reduction = self.reduction
        balanced = self.program.model.balance.any()
        low, high = reduction.ends
        start = min(1.5 * low, (low + high) / 2)
        delta = 0.0

        def faces(total: float) -> tuple[Face, Face]:
            nonlocal delta
            sides = reduction.saturated(total)
            if not balanced:
                directions = tuple(
                    _mixed(reduction.slopes, side)[None] for side in sides
                )
                return self._faces(reduction.at(total)[None], directions, sides)
            balance = self._balance(total, delta)
            delta = balance.x
            left = self._along_total(total, balance, sides[0])
            if np.array_equal(*sides):
                return left, left
            return left, self._along_total(total, balance, sides[1])

        if low == high:  # T plays no role
            minimum = Minimum(low, *faces(low))
        else:
            minimum = minimise_convex(
                faces, low, high, start, np.unique(reduction.kinks)
            )
        return self.proven(
            minimum, self._balance(minimum.x, delta).x if balanced else 0.0
        )

    def _balance(self, total: float, guess: float) -> Minimum:
        """The best ``delta`` at ``T``."""
        centre = self.reduction.at(total)
        step = self.program.model.balance
        none = np.zeros(0)

        def faces(delta: float) -> tuple[Face, Face]:
            return self._faces(centre + delta * step, (step, step), (none, none))

        reach = float(centre.min()) * SHORT_OF_POLE
        return minimise_convex(faces, -reach, reach, guess, np.zeros(0))

    def _faces(
        self, v: Array, directions: tuple[Array, ...], saturated: tuple[Array, Array]
    ) -> tuple[Face, Face]:
        """The left face and the right one at ``v``, which moves along the first way and goes on."""
        total, branches, slope, own_slope = self.program.pieces(v)
        top = float(branches.max())
        ties = np.flatnonzero(branches >= top - 1e-14 * (abs(total) + abs(top)))
        rises = [np.sum(own_slope * direction, axis=0) for direction in directions]
        first = ties[rises[0][ties].argmin()]
        last = ties[rises[1][ties].argmax()]

        def face(side: int, branch: int) -> Face:
            direction = directions[side]
            weights = np.zeros(v.shape[1])
            weights[branch] = 1.0
            bend = np.einsum(
                "cdt,ct,dt", self.program.curvature(v, weights), direction, direction
            )
            rise = float(np.sum(slope * direction) + rises[side][branch])
            return Face(rise, float(bend), total + top, weights, saturated[side])

        left = face(0, first)
        (below, above) = saturated
        if first == last and np.array_equal(below, above):
            return left, left
        return left, face(1, last)

    def _along_total(self, total: float, balance: Minimum, saturated: Array) -> Face:
        """The face in direction ``T`` of the minimum over ``delta``."""
        program = self.program
        v = self.reduction.at(total) + balance.x * program.model.balance
        weights = balance.mixed(balance.left.weights, balance.right.weights)
        value, branches, slope, own_slope = program.pieces(v)
        largest = float(branches.max())

        # How the coordinates move with T, and the error with them.
        direction = _mixed(self.reduction.slopes, saturated)
        whole_slope = slope + weights * own_slope
        rise = float(np.sum(whole_slope * direction))
        curvature = program.curvature(v, weights)
        bend = float(np.sum(curvature * direction**2))
        if balance.left is balance.right:
            # Where the error is smooth delta follows T, which takes off the Schur complement.
            difference = curvature[0, 0] - curvature[1, 1]
            twist = float(np.sum(difference * direction))
            bend -= twist**2 / balance.left.curvature
        return Face(rise, bend, value + largest, weights, saturated)

    def proven(self, minimum: Minimum, delta: float) -> tuple[Array, Proof]:
        """The log-odds at a place of the search, ``(t,)``, and what its tangent plane proves."""
        # The mixed faces' tangent plane is below the error: its value, and what it loses on the way
        # to the worst corner of (T, delta), bound the optimum. Where more than two branches meet no
        # mix of the two at hand need have slope 0; the bound holds all the same.
        reduction = self.reduction
        step = self.program.model.balance
        weights = minimum.mixed(minimum.left.weights, minimum.right.weights)
        v = reduction.at(minimum.x) + delta * step
        value, branches, slope, own_slope = self.asked.pieces(v)
        size = abs(value) + float(weights @ np.abs(branches))
        along_total = 0.0
        across = 0.0
        prices = np.zeros(branches.size)
        terms = (reduction.offsets, reduction.slopes * minimum.x)
        for share, face in (
            (minimum.share, minimum.left),
            (1 - minimum.share, minimum.right),
        ):
            plane = share * (slope + face.weights * own_slope)
            both = plane.sum(axis=0)
            along_total += float(
                np.sum(both * _mixed(reduction.slopes, face.saturated))
            )
            across += float(np.sum(plane * step))
            prices -= both * _mixed(reduction.prices(minimum.x), face.saturated)
            size += float(
                np.sum(
                    np.abs(plane) * _mixed(np.abs(terms).sum(axis=0), face.saturated)
                )
            )
        corners = []
        for end in reduction.ends:
            most_delta = reduction.at(end).min()
            for corner in (-most_delta, most_delta):
                gain = along_total * (end - minimum.x) + across * (corner - delta)
                corners.append(gain)
        proven = value + float(weights @ branches)
        stationary = (abs(along_total) + abs(across)) * v.max() <= _FLAT * abs(proven)
        return v, Proof(
            proven + min(corners) - _SUMS * size, prices, weights, stationary
        )


def _mixed(lines: Array, saturated: Array) -> Array:
    """What belongs to both lines, ``(2, t)``, by the share of each level that is saturated."""
    return np.asarray(saturated * lines[0] + (1 - saturated) * lines[1])
