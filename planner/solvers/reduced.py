"""Pair rules that can be reduced: at most two variables, however many levels there are.

Rule min, opt0. At the optimum ``s_i = min(S, eps_i - W)`` and ``w_i = min(W, eps_i - S)``.
With ``T = S + W`` (the saturation point) and ``delta = (S - W) / 2`` this reads

    s_i = c_i + delta,   w_i = c_i - delta,   c_i = min(eps_i, T) - T / 2

opt1 is the same with ``delta = 0``, and the rule avg the same with ``c_i = eps_i / 2``.
opt2 has ``b_i = max(beta, 1 - e^eps_i beta)`` for min and
``b_i = max(z e^(-eps_i / 2), 1 - z e^(eps_i / 2))`` for avg. The rule itself says so: see
:class:`~planner.policy.rules.Reduction`.

Each is convex with slopes known exactly and kinks where a level saturates or where the
worst case passes from one level to another. A tangent plane in the reduced variables
proves the optimum.

Without the pairs ``(i, i)`` of one-item levels (:class:`~planner.policy.rules.ApartReduction`)
the optimum is the same, unless its proof leans on such a pair. The multipliers of the levels that
give ``S`` its value flow to those that ``S`` limits; as long as no level must send to itself, the
plane proves the optimum without these pairs as well. At most two levels (each with half of
the flow) can have to, and each such level's tables are searched and bounded apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.errors import InputError
from planner.policy.rules import SHORT_OF_POLE, ApartReduction, HalfLines, Reduction
from planner.solvers.certificate import Proof
from planner.solvers.program import Program
from planner.solvers.search import Face, Minimum, minimise_convex

Array = NDArray[np.float64]

_FLAT = 1e-6  # largest relative slope that still counts as 0
_LEANS = 1e-9  # of the flow: a level this close to having to send to itself is looked at apart


def solve_reduced(program: Program) -> tuple[Array, Proof]:
    """Minimise the program's objective and prove it, in O(t) time and memory per step.

    Returns the coordinates, shape ``(c, t)``, and the proof.

    Raises
    ------
    InputError
        The policy's rule is a matrix: there is no reduction.
    ConvergenceError
        The search did not end (no input is known that causes it).
    """
    policy = program.policy
    reduction = policy.reduction
    if reduction is None:
        allowed = f'"slsqp" or "conic" for a policy with {policy.rule.words}'
        raise InputError("method", "reduced", allowed, 'Use method="auto", which picks one.')
    family = _Half if program.model.name == "opt2" else _LogOdds
    best = family(program, reduction).solve()
    bound = best.bound
    for level in np.flatnonzero(best.leans & ~policy.needed):
        apart = ApartReduction(policy.rule, policy.epsilons, int(level))
        low, high = apart.totals()
        if low < high:
            other = family(program, apart).solve()
            bound = min(bound, other.bound)
            best = other if other.value < best.value else best
    return best.v, Proof(bound, best.prices, best.weights, best.stationary)


@dataclass(frozen=True, slots=True)
class _Best:
    """A solution: coordinates, value, proven bound, and its multipliers.

    Not ``stationary``: several branches meet at an end of the search, and the bound holds
    although no mix of the two branches at hand has slope 0. ``leans``: levels whose own pair
    the proof may need.
    """

    v: Array
    value: float
    bound: float
    prices: Array
    weights: Array
    stationary: bool
    leans: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _LogOdds:
    """opt0 and opt1: variables ``T`` (rule min only) and ``delta`` (opt0 only)."""

    program: Program
    reduction: Reduction

    def solve(self) -> _Best:
        reduction = self.reduction
        low, high = reduction.totals()
        start, delta = min(1.5 * low, (low + high) / 2), 0.0

        def faces(total: float) -> tuple[Face, Face]:
            nonlocal delta
            centre = reduction.centre(total)
            balance = self._balance(centre, delta)
            delta = balance.x
            below, above = reduction.saturated(total)
            left = self._along_total(centre, balance, below)
            if below is above or np.array_equal(below, above):
                return left, left
            return left, self._along_total(centre, balance, above)

        if reduction.kinks().size == 0 and low == high:  # T plays no role
            found = Minimum(low, *faces(low))
        else:
            found = minimise_convex(faces, low, high, start, reduction.kinks())
        centre = reduction.centre(found.x)
        delta = self._balance(centre, delta).x
        return self._finish(found.x, delta, centre, found.weights, found.unsaturated)

    def _point(self, centre: Array, delta: float) -> Array:
        if self.program.model.coordinates == 1:
            return centre[None]
        return np.array([centre + delta, centre - delta])

    def _balance(self, centre: Array, guess: float) -> Minimum:
        """The best ``delta`` for these centres; 0 for opt1."""
        step = np.array([[1.0], [-1.0]]) if self.program.model.coordinates == 2 else np.zeros(1)

        def faces(delta: float) -> tuple[Face, Face]:
            v = self._point(centre, delta)
            total, branches, slope, own = self.program.pieces(v)
            common, extra = float(np.sum(slope * step)), np.sum(own * step, axis=0)
            top = float(branches.max())
            ties = np.flatnonzero(branches >= top - 1e-14 * (abs(total) + abs(top)))
            first, last = ties[np.argmin(extra[ties])], ties[np.argmax(extra[ties])]
            left = self._across(v, common + float(extra[first]), total + top, first)
            if first == last:
                return left, left
            return left, self._across(v, common + float(extra[last]), total + top, last)

        reach = float(centre.min()) * SHORT_OF_POLE
        if self.program.model.coordinates == 1:
            return Minimum(0.0, *faces(0.0))
        at = guess if abs(guess) < reach else 0.0
        # All branches of the plain worst case meet at delta = 0.
        return minimise_convex(faces, -reach, reach, at, np.zeros(1 if guess == 0 else 0))

    def _across(self, v: Array, slope: float, value: float, branch: int) -> Face:
        weights = np.zeros(v.shape[1])
        weights[branch] = 1.0
        bend = 1.0
        if len(v) == 2:
            curvature = self.program.curvature(v, weights)
            bend = float(np.sum(curvature[0, 0] - 2 * curvature[0, 1] + curvature[1, 1]))
        return Face(slope, bend, value, weights, np.zeros(0))

    def _along_total(self, centre: Array, balance: Minimum, saturated: Array) -> Face:
        """The face in direction ``T`` of the minimum over ``delta``."""
        v, weights = self._point(centre, balance.x), balance.weights
        total, branches, slope, own = self.program.pieces(v)
        sign = saturated - 0.5
        rise = float(np.sum((slope + weights * own) * sign))
        curvature = self.program.curvature(v, weights)
        bend = float(np.sum(curvature)) / 4
        if len(v) == 2 and balance.left is balance.right:  # delta follows T where smooth
            twist = float(np.sum((curvature[0, 0] - curvature[1, 1]) * sign))
            bend -= twist**2 / balance.left.curvature
        return Face(rise, bend, total + float(branches.max()), weights, saturated)

    def _finish(
        self, total: float, delta: float, centre: Array, weights: Array, unsaturated: Array
    ) -> _Best:
        v = self._point(centre, delta)
        value, branches, slope, own = self.program.pieces(v)
        plane = slope + weights * own
        both = plane.sum(axis=0)
        along_total = float(np.sum(both * (0.5 - unsaturated)))
        across = float(np.sum(plane[0] - plane[-1]))
        corners = [
            along_total * (end - total)
            + across * (side * (self.reduction.lowest - end / 2) - delta)
            for end in set(self.reduction.totals())
            for side in (-1, 1)
        ]
        proven = value + float(weights @ branches)
        stationary = (abs(along_total) + abs(across)) * total <= _FLAT * abs(proven)
        sent = -(1 - unsaturated) * plane, -unsaturated * plane[::-1]
        return _Best(
            v,
            value + float(branches.max()),
            proven + min(corners),
            self.reduction.prices(-both * unsaturated),
            weights,
            stationary,
            np.any([_leans(*flow) for flow in zip(*sent, strict=True)], axis=0),
        )


@dataclass(frozen=True, slots=True)
class _Half:
    """opt2: one variable, ``beta`` (rule min) or ``z`` (rule avg)."""

    program: Program
    reduction: Reduction

    def solve(self) -> _Best:
        low, high = self.reduction.half_ends()
        base, down, top, up = lines = self.reduction.half_lines()
        kinks = np.unique((top - base) / (down + up))

        def faces(at: float) -> tuple[Face, Face]:
            return (
                self._face(at, lines, at * (down + up) > top - base),
                self._face(at, lines, at * (down + up) >= top - base),
            )

        at = float(np.sqrt(low * high))
        return self._finish(minimise_convex(faces, low, high, at, kinks), lines, (low, high))

    def _face(self, at: float, lines: HalfLines, lower: NDArray[np.bool_]) -> Face:
        v = self._point(at, lines)
        total, branches, slope, own = self.program.pieces(v)
        k = int(np.argmax(branches))
        weights = np.zeros(branches.size)
        weights[k] = 1.0
        move = np.where(lower, -lines.down, lines.up)  # of x = 1/2 - b
        rise = float(np.sum((slope + weights * own)[0] * move))
        bend = float(np.sum(self.program.curvature(v, weights)[0, 0] * move**2))
        return Face(rise, bend, total + float(branches[k]), weights, lower.astype(np.float64))

    def _point(self, at: float, lines: HalfLines) -> Array:
        return (0.5 - np.maximum(lines.base + at * lines.down, lines.top - at * lines.up))[None]

    def _finish(self, found: Minimum, lines: HalfLines, ends: tuple[float, float]) -> _Best:
        v = self._point(found.x, lines)
        value, branches, slope, own = self.program.pieces(v)
        plane, upper = (slope + found.weights * own)[0], found.unsaturated
        rise = float(np.sum(plane * (upper * (lines.up + lines.down) - lines.down)))
        proven = value + float(found.weights @ branches)
        return _Best(
            v,
            value + float(branches.max()),
            proven + min(rise * (end - found.x) for end in ends),
            self.reduction.prices(-plane * self.reduction.half_gain(found.x, upper)),
            found.weights,
            abs(rise) * found.x <= _FLAT * abs(proven),
            _leans(-(1 - upper) * plane * lines.down, -upper * plane * lines.up),
        )


def _leans(sent: Array, taken: Array) -> NDArray[np.bool_]:
    """Levels that may have to send to themselves: all others together take or send too little."""
    most = (1 - _LEANS) * max(float(sent.sum()), float(taken.sum()))
    return (sent > 0) & (taken > 0) & (sent + taken >= most)
