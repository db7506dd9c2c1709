"""The rules min and avg by reduction: at most two variables, however many levels there are.

Rule min, opt0. At the optimum ``s_i = min(S, eps_i - W)`` and ``w_i = min(W, eps_i - S)``.
With ``T = S + W`` (the saturation point) and ``delta = (S - W) / 2`` this reads

    s_i = c_i + delta,   w_i = c_i - delta,   c_i = min(eps_i, T) - T / 2

opt1 is the same with ``delta = 0``, and the rule avg the same with ``c_i = eps_i / 2``.
opt2 has ``b_i = max(beta, 1 - e^eps_i beta)`` for min and
``b_i = max(z e^(-eps_i / 2), 1 - z e^(eps_i / 2))`` for avg.

Each is convex with slopes known exactly and kinks where a level saturates or where the
worst case passes from one level to another. A tangent plane in the reduced variables
proves the optimum.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from planner.errors import InputError
from planner.policy.objective import Coefficients
from planner.policy.policy import PrivacyPolicy
from planner.solvers.certificate import Proof
from planner.solvers.program import Program
from planner.solvers.search import Face, Minimum, minimise_convex

__all__ = ["solve_reduced"]

Array = NDArray[np.float64]

_COARSE = 1_000  # levels of the rough copy that gives a large problem its starting point
_SHORT_OF_POLE = 1 - 1e-12
_FLAT = 1e-6  # largest relative slope that still counts as 0


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
    if program.policy.rule_name == "matrix":
        allowed = '"slsqp" or "conic" for a policy with a matrix of pair budgets'
        raise InputError("method", "reduced", allowed)
    family = _Half if program.model.name == "opt2" else _LogOdds
    guess = None
    if program.policy.size > 4 * _COARSE:
        guess = family(_coarse(program)).solve(None)
    best = family(program).solve(guess)
    return best.v, Proof(best.bound, best.prices, best.weights, best.stationary)


@dataclass(frozen=True, slots=True)
class _Best:
    """A solution: reduced position, coordinates, proven bound, and its multipliers.

    Not ``stationary``: several branches meet at an end of the search, and the bound holds
    although no mix of the two branches at hand has slope 0.
    """

    position: tuple[float, float]
    v: Array
    bound: float
    prices: Array
    weights: Array
    stationary: bool


@dataclass(frozen=True, slots=True)
class _LogOdds:
    """opt0 and opt1: variables ``T`` (rule min only) and ``delta`` (opt0 only)."""

    program: Program

    def solve(self, guess: _Best | None) -> _Best:
        epsilons = self.program.policy.epsilons
        lowest = float(epsilons.min())
        start, delta = guess.position if guess else (1.5 * lowest, 0.0)
        if self.program.policy.rule_name == "avg":
            found = self._balance(epsilons / 2, delta)
            half = np.full(epsilons.size, 0.5)
            return self._finish(lowest, found.x, epsilons / 2, found.weights, half, (lowest,))

        def faces(total: float) -> tuple[Face, Face]:
            nonlocal delta
            centre = np.minimum(epsilons, total) - total / 2
            balance = self._balance(centre, delta)
            delta = balance.x
            left = self._along_total(centre, balance, epsilons >= total)
            strictly = epsilons > total
            if np.array_equal(left.saturated, strictly):
                return left, left
            return left, self._along_total(centre, balance, strictly)

        highest = min(2 * lowest * _SHORT_OF_POLE, float(epsilons.max()))
        found = minimise_convex(faces, lowest, highest, start, np.unique(epsilons))
        centre = np.minimum(epsilons, found.x) - found.x / 2
        ends = (lowest, highest)
        delta = self._balance(centre, delta).x
        return self._finish(found.x, delta, centre, found.weights, found.unsaturated, ends)

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

        reach = float(centre.min()) * _SHORT_OF_POLE
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
        return Face(slope, bend, value, weights, np.zeros(0, dtype=bool))

    def _along_total(self, centre: Array, balance: Minimum, saturated: NDArray[np.bool_]) -> Face:
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
        self,
        total: float,
        delta: float,
        centre: Array,
        weights: Array,
        unsaturated: Array,
        ends: tuple[float, ...],
    ) -> _Best:
        v = self._point(centre, delta)
        value, branches, slope, own = self.program.pieces(v)
        plane = slope + weights * own
        both = plane.sum(axis=0)
        along_total = float(np.sum(both * (0.5 - unsaturated)))
        across = float(np.sum(plane[0] - plane[-1]))
        lowest = float(self.program.policy.epsilons.min())
        corners = [
            along_total * (end - total) + across * (side * (lowest - end / 2) - delta)
            for end in ends
            for side in (-1, 1)
        ]
        value += float(weights @ branches)
        stationary = (abs(along_total) + abs(across)) * total <= _FLAT * abs(value)
        prices = -both * unsaturated
        return _Best((total, delta), v, value + min(corners), prices, weights, stationary)


@dataclass(frozen=True, slots=True)
class _Half:
    """opt2: one variable, ``beta`` (rule min) or ``z`` (rule avg)."""

    program: Program

    def solve(self, guess: _Best | None) -> _Best:
        epsilons = self.program.policy.epsilons
        lowest, highest = float(epsilons.min()), float(epsilons.max())
        if self.program.policy.rule_name == "min":
            down, up = np.ones_like(epsilons), np.exp(epsilons)
            low = max(np.exp(-lowest) / 2 / _SHORT_OF_POLE, 1 / (1 + np.exp(highest)))
            high = 1 / (1 + np.exp(lowest))
        else:
            down, up = np.exp(-epsilons / 2), np.exp(epsilons / 2)
            low, high = np.exp(-lowest / 2) / 2 / _SHORT_OF_POLE, np.exp(lowest / 2) / 2
        kinks = np.unique(1 / (down + up))

        def faces(at: float) -> tuple[Face, Face]:
            left = self._face(at, down, up, at * (down + up) > 1)
            right = self._face(at, down, up, at * (down + up) >= 1)
            return left, right

        middle = float(np.sqrt(low * high))
        at = guess.position[0] if guess else middle
        found = minimise_convex(faces, low, high, at, kinks)
        return self._finish(found, down, up, (low, high))

    def _face(self, at: float, down: Array, up: Array, lower: NDArray[np.bool_]) -> Face:
        v = self._point(at, down, up)
        total, branches, slope, own = self.program.pieces(v)
        k = int(np.argmax(branches))
        weights = np.zeros(branches.size)
        weights[k] = 1.0
        move = np.where(lower, -down, up)  # of x = 1/2 - b
        rise = float(np.sum((slope + weights * own)[0] * move))
        bend = float(np.sum(self.program.curvature(v, weights)[0, 0] * move**2))
        return Face(rise, bend, total + float(branches[k]), weights, lower)

    def _point(self, at: float, down: Array, up: Array) -> Array:
        return (0.5 - np.maximum(at * down, 1 - at * up))[None]

    def _finish(self, found: Minimum, down: Array, up: Array, ends: tuple[float, float]) -> _Best:
        v = self._point(found.x, down, up)
        value, branches, slope, own = self.program.pieces(v)
        plane = (slope + found.weights * own)[0]
        rise = float(np.sum(plane * (found.unsaturated * (up + down) - down)))
        value += float(found.weights @ branches)
        bound = value + min(rise * (end - found.x) for end in ends)
        stationary = abs(rise) * found.x <= _FLAT * abs(value)
        if self.program.policy.rule_name == "min":
            gain = found.unsaturated * up * found.x
        else:
            gain = (found.unsaturated * (up - down) + down) * found.x / 2
        return _Best((found.x, 0.0), v, bound, -plane * gain, found.weights, stationary)


def _coarse(program: Program) -> Program:
    """The program with neighbouring levels merged; the lowest budget is kept exactly."""
    order = np.argsort(program.policy.epsilons)
    starts = np.unique(np.linspace(0, order.size - 1, _COARSE).astype(int))
    sizes = np.diff(np.append(starts, order.size))
    epsilons = program.policy.epsilons[order]
    means = np.add.reduceat(epsilons, starts) / sizes
    means[0] = epsilons[0]
    counts = np.add.reduceat(program.policy.item_counts[order], starts)
    noise_sum, signal_sum, noise_max, signal_max = (c[order] for c in program.coefficients)
    merged = Coefficients(
        np.add.reduceat(noise_sum, starts),
        np.add.reduceat(signal_sum, starts),
        np.maximum.reduceat(noise_max, starts),
        np.maximum.reduceat(signal_max, starts),
    )
    policy = PrivacyPolicy(means, np.minimum(counts, 10**12), program.policy.rule_name)
    return replace(program, policy=policy, coefficients=merged)
