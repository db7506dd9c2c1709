"""Pair rules under which a model can be reduced: a variable or two, however many levels there are.

Rule min: at opt0's optimum ``s_i = min(S, eps_i - W)`` and ``w_i = min(W, eps_i - S)``.
With ``T = S + W`` (the saturation point) and ``delta = (S - W) / 2`` this reads

    s_i = c_i + delta,   w_i = c_i - delta,   c_i = min(eps_i, T) - T / 2

and the rule avg is the same with ``c_i = eps_i / 2``. opt1 is the case ``delta = 0``, and opt2 has
coordinates that follow ``T`` in the same manner:
see :class:`~planner.policy.privacy_rows.Reduction`. The error is convex with slopes known exactly
and kinks where a level saturates or where the worst case passes from one level to another. A
tangent plane in the reduced variables proves the optimum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from planner.arrays import Array
from planner.errors import ConvergenceError, InputError
from planner.policy.privacy_rows import SHORT_OF_POLE, Reduction
from planner.solvers.certificate import Proof
from planner.solvers.models import Program

# The largest relative slope that still counts as 0.
_FLAT = 1e-6
# Charged for rounding, of the sum of all terms' sizes: NumPy adds them up in pairs.
_SUMS = 2.0**-47


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
        remedy = 'Use method="auto", which picks one.'
        raise InputError("method", "reduced", allowed, remedy)
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
        """Weight ``c`` of the left face, 0 to 1: ``c left.slope + (1 - c) right.slope = 0``."""
        rise = self.right.slope - self.left.slope
        if rise <= 0:
            return 1.0
        return min(1.0, max(0.0, self.right.slope / rise))

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
        # Every third step is a bisection if the last three did not halve the bracket.
        bisect = False
        if step % 3 == 0:
            bisect = step > 0 and high - low > width / 2
            width = high - low
        if bisect or not low < x < high:
            x = (low + high) / 2
        if kinks.size:
            nearest = np.argmin(np.abs(kinks - x))
            x = float(kinks[nearest])
        left, right = faces(x)
        if left.slope <= 0 <= right.slope:
            return Minimum(x, left, right)
        if right.slope < 0:
            face = right
            low = x
            below = right
            kinks = kinks[kinks > x]
        else:
            face = left
            high = x
            above = left
            kinks = kinks[kinks < x]
        # Convexity: nothing between the ends is better by more than this.
        if abs(face.slope) * (high - low) <= 1e-15 * abs(face.value):
            return Minimum(x, face, face)
        last_digits = 4 * np.spacing(max(abs(low), abs(high)))
        if below and above and high - low <= last_digits:
            return Minimum(low, below, above)
        if face.curvature > 0:
            x = x - face.slope / face.curvature
        else:
            x = np.inf  # no Newton step: the next is a bisection
    reason = "The search for the optimum did not end"
    raise ConvergenceError(reason, 'Use method="conic".')


@dataclass(frozen=True, slots=True)
class KinkSearch:
    """Variables ``T``, and of opt0 ``delta``."""

    program: Program
    reduction: Reduction
    asked: Program

    def solve(self) -> tuple[Array, Proof]:
        """The best log-odds, ``(t,)``, and the proof that no others are better."""
        balanced = self.program.model.balance.any()
        low, high = self.reduction.ends
        start = min(1.5 * low, (low + high) / 2)
        # Each search for delta begins from the last one's answer.
        delta = 0.0

        def faces(total: float) -> tuple[Face, Face]:
            nonlocal delta
            if not balanced:
                return self._unbalanced(total)
            balance = self._balance(total, delta)
            delta = balance.x
            before, after = self.reduction.saturated(total)
            left = self._along_total(total, balance, before)
            if np.array_equal(before, after):
                return left, left
            return left, self._along_total(total, balance, after)

        if low == high:  # T plays no role
            left, right = faces(low)
            minimum = Minimum(low, left, right)
        else:
            kinks = np.unique(self.reduction.kinks)
            minimum = minimise_convex(faces, low, high, start, kinks)
        best_delta = 0.0
        if balanced:
            best_delta = self._balance(minimum.x, delta).x
        return self.proven(minimum, best_delta)

    def _unbalanced(self, total: float) -> tuple[Face, Face]:
        """The faces at ``T`` of a model without ``delta``."""
        before, after = self.reduction.saturated(total)
        slopes = self.reduction.slopes
        left_direction = _mixed(slopes, before)[None]
        right_direction = _mixed(slopes, after)[None]
        v = self.reduction.at(total)[None]
        return self._faces(v, (left_direction, right_direction), (before, after))

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
        self,
        v: Array,
        directions: tuple[Array, Array],
        saturated: tuple[Array, Array],
    ) -> tuple[Face, Face]:
        """The left face and the right one at ``v``, which moves along the first way and goes on."""
        total, branches, slope, own_slope = self.program.pieces(v)
        top = float(branches.max())
        # Branches that rounding cannot tell from the largest.
        doubt = 1e-14 * (abs(total) + abs(top))
        ties = np.flatnonzero(branches >= top - doubt)
        into, onward = directions
        # Of branches that tie, the steepest leads to the right and the least steep to the left.
        rises_before = np.sum(own_slope * into, axis=0)
        rises_after = np.sum(own_slope * onward, axis=0)
        first = ties[rises_before[ties].argmin()]
        last = ties[rises_after[ties].argmax()]

        def face(branch: int, rises: Array, direction: Array, levels: Array) -> Face:
            weights = np.zeros(v.shape[1])
            weights[branch] = 1.0
            curvature = self.program.curvature(v, weights)
            bend = float(np.einsum("cdt,ct,dt", curvature, direction, direction))
            rise = float(np.sum(slope * direction) + rises[branch])
            return Face(rise, bend, total + top, weights, levels)

        before, after = saturated
        left = face(first, rises_before, into, before)
        if first == last and np.array_equal(before, after):
            return left, left
        return left, face(last, rises_after, onward, after)

    def _along_total(self, total: float, balance: Minimum, saturated: Array) -> Face:
        """The face in direction ``T`` of ``phi(T) = min over delta of F(T, delta)``.

        Its slope is ``F_T``, as ``F_delta`` is 0 there by the mixture of branches; its curvature is
        ``F_TT - F_Tdelta^2 / F_deltadelta``, without the last term where ``F`` has a kink.
        """
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
            # s and w move alike with T and oppositely with delta.
            twist = curvature[0, 0] - curvature[1, 1]
            mixed_derivative = float(np.sum(twist * direction))
            bend -= mixed_derivative**2 / balance.left.curvature
        return Face(rise, bend, value + largest, weights, saturated)

    def proven(self, minimum: Minimum, delta: float) -> tuple[Array, Proof]:
        """The log-odds at a place of the search, ``(t,)``, and what its tangent plane proves.

        The mixed faces' tangent plane is below the error: its value, and what it loses towards the
        worst corner of ``(T, delta)``, bound the optimum. Where more than two branches meet no mix
        of the two at hand need have slope 0; the bound holds all the same.
        """
        reduction = self.reduction
        step = self.program.model.balance
        weights = minimum.mixed(minimum.left.weights, minimum.right.weights)
        v = reduction.at(minimum.x) + delta * step
        value, branches, slope, own_slope = self.asked.pieces(v)
        along_total = 0.0
        across = 0.0
        prices = np.zeros(branches.size)
        # The sizes of all terms, of which rounding may take a share.
        size = abs(value) + float(weights @ np.abs(branches))
        terms = np.abs(reduction.offsets) + np.abs(reduction.slopes * minimum.x)
        line_prices = reduction.prices(minimum.x)
        mixture = (
            (minimum.share, minimum.left),
            (1 - minimum.share, minimum.right),
        )
        for share, face in mixture:
            plane = share * (slope + face.weights * own_slope)
            by_level = plane.sum(axis=0)
            direction = _mixed(reduction.slopes, face.saturated)
            along_total += float(np.sum(by_level * direction))
            across += float(np.sum(plane * step))
            prices -= by_level * _mixed(line_prices, face.saturated)
            term_sizes = np.abs(plane) * _mixed(terms, face.saturated)
            size += float(np.sum(term_sizes))

        error = value + float(weights @ branches)
        gain = self._least_gain(minimum.x, delta, along_total, across)
        lower_bound = error + gain - _SUMS * size
        steepness = (abs(along_total) + abs(across)) * v.max()
        stationary = steepness <= _FLAT * abs(error)
        return v, Proof(lower_bound, prices, weights, stationary)

    def _least_gain(
        self, total: float, delta: float, along_total: float, across: float
    ) -> float:
        """What a plane with these slopes at ``(total, delta)`` gains at its lowest corner."""
        gains = []
        for end in self.reduction.ends:
            most_delta = self.reduction.at(end).min()
            for corner in (-most_delta, most_delta):
                gain = along_total * (end - total) + across * (corner - delta)
                gains.append(gain)
        return min(gains)


def _mixed(lines: Array, saturated: Array) -> Array:
    """What belongs to both lines, ``(2, t)``, by the share of each level that is saturated."""
    return np.asarray(saturated * lines[0] + (1 - saturated) * lines[1])
