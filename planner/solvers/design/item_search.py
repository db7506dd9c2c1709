"""Column generation for the worst single item: types, weights, and the bound on all mechanisms."""

from __future__ import annotations

from contextlib import suppress
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.errors import ConvergenceError
from planner.solvers.design.item_pricing import ItemPricer
from planner.solvers.design.item_program import ItemAnswer, bound_of_items, solve_items
from planner.solvers.design.problem import Columns, DesignProblem
from planner.solvers.design.starts import first_columns, random_columns

Array = NDArray[np.float64]

_ROUNDS = 80
_NODES = 100_000
_SCALES = (1.0, 10.0, 0.1, 100.0)  # of the objective, if all goes well 1
_PATIENCE = 12  # rounds without a better bound: digits are used up
_WAYS = (0.0, 0.7)  # from the newest multipliers to the best ones
_MOST_NEW = 6  # types a round, way and level
_DROPPED = 0.1  # ratios so far below 1 are dropped, and others far below the present gap
_LIFTS = (0.0, 1e-8, 1e-6, 1e-4, 1e-2, 1.0, 100.0)


class GeneratedForItems(NamedTuple):
    """Types and weights, who counts for each level's items, and the bound on all mechanisms."""

    columns: Columns
    weights: Array
    others: Array
    lower_bound: float


def generate_for_items(
    problem: DesignProblem, tolerance: float, near: Array | None = None
) -> GeneratedForItems:
    """Solve one component for the worst single item until its gap is below ``tolerance``.

    If the rounds, the work or the solver's digits run out first, the best design so far is
    returned, with a bound that is proven all the same.

    Raises
    ------
    ConvergenceError
        The first types' program has no answer.
    """
    search = _Search(problem, tolerance, _first(problem, near))
    search.run()
    columns, answer = search.solved
    return GeneratedForItems(columns, answer.weights, answer.multipliers.others, search.proven())


def _first(problem: DesignProblem, near: Array | None) -> Columns:
    """Also all items of some levels high: without these the multipliers begin far apart."""
    some = np.array(list(product((0, 1), repeat=problem.size))) * problem.item_counts
    windows = np.arange(len(problem.windows.low))
    corners = Columns(np.repeat(windows, len(some)), np.tile(some, (windows.size, 1)))
    return first_columns(problem, near).joined(corners)


class _Search:
    """One search: the types so far, the best multipliers, and what they prove."""

    def __init__(self, problem: DesignProblem, tolerance: float, columns: Columns) -> None:
        self.problem, self.tolerance, self.columns = problem, tolerance, columns
        self.rng = np.random.default_rng(0)  # starts of climbs; what is found is proven apart
        width = np.maximum((problem.windows.high - problem.windows.low).max(axis=0), 1e-6)
        size = problem.weights / (4 * np.sinh(width / 2) ** 2)
        self.solved = columns, self._solve(float(size.max()))
        self.multipliers = self.solved[1].multipliers  # the best, of no known ratio above 1
        self.likely = self.bound = -np.inf
        self.work, self.stuck = 0.0, 0

    def run(self) -> None:
        """Rounds until the gap is small enough, or nothing gets better."""
        for _ in range(_ROUNDS):
            try:
                answer = self._solve(self.solved[1].value)
            except ConvergenceError:
                break
            if answer.value < (1 + self.tolerance / 10) * self.solved[1].value:
                self.solved = self.columns, answer
            before = self.likely
            new = self._priced(answer)
            self.stuck += 1 if new.window.size else 4  # the program over the same types again
            self.stuck *= self.likely <= before
            over = self.stuck >= _PATIENCE
            value = self.solved[1].value
            if over or value - self.likely <= self.tolerance / 2 * value:
                seen = self._prove(value)
                if over or seen is None:
                    return
                new = new.joined(seen)
            self._keep(answer, new)

    def proven(self) -> float:
        """The bound; from the best multipliers, lifted, if none was proven on the way."""
        if self.bound > 0:
            return self.bound
        total, bounds = float(np.abs(self.multipliers.slack).sum()), [0.0]
        for lift in _LIFTS:
            slack = self.multipliers.slack + lift * total * self.problem.shares
            lifted = self.multipliers._replace(slack=slack)
            proof = ItemPricer(self.problem, lifted).largest_ratio(1.0, 1e-9, _NODES // 20)
            bounds.append(bound_of_items(self.problem, lifted, proof.ratio)[0])
        return max(bounds)

    def _solve(self, size: float) -> ItemAnswer:
        """The program over the types so far; at another scale where the solver gives up."""
        for scale in _SCALES:
            with suppress(ConvergenceError):
                return solve_items(self.problem, self.columns, scale * size)
        return solve_items(self.problem, self.columns, size)

    def _priced(self, answer: ItemAnswer) -> Columns:
        """Types with a ratio above 1 at the newest multipliers, or between them and the best."""
        used = np.argsort(-answer.weights)[: 4 * self.problem.size + 10]
        climbers = self.columns.chosen(used).joined(random_columns(self.problem, self.rng))
        new, best = self.columns.chosen(np.zeros(0, dtype=np.int64)), self.multipliers
        for way in _WAYS:
            here = answer.multipliers.towards(best, way)
            pricer = ItemPricer(self.problem, here)
            types = pricer.improve(climbers).joined(pricer.least_slack())
            ratio = pricer.ratios(types)
            order = np.argsort(-ratio)[: max(10, _MOST_NEW * self.problem.size)]
            uncovered = types.chosen(order[ratio[order] > 1 + self.tolerance / 10])
            new, climbers = new.joined(uncovered), climbers.joined(uncovered)
            likely, scaled = bound_of_items(self.problem, here, max(1.0, float(ratio.max())))
            if likely > self.likely:
                self.likely, self.multipliers = likely, scaled
        self._charge(new)
        return new

    def _charge(self, types: Columns) -> None:
        """A ratio above 1 at the best multipliers after all: they prove less than it seemed."""
        if types.window.size and np.isfinite(self.likely):
            ratio = float(ItemPricer(self.problem, self.multipliers).ratios(types).max())
            if ratio > 1:
                self.likely, self.multipliers = bound_of_items(
                    self.problem, self.multipliers, ratio
                )

    def _prove(self, value: float) -> Columns | None:
        """Settle the best multipliers' bound; types that were missed, or ``None``: enough."""
        if not np.isfinite(self.likely):
            return None
        pricer = ItemPricer(self.problem, self.multipliers)
        fine = self.tolerance / 4
        proof = pricer.largest_ratio(1.0, fine, _NODES)
        self.work += proof.work
        self.bound = max(self.bound, bound_of_items(self.problem, self.multipliers, proof.ratio)[0])
        small = value - self.bound <= self.tolerance * self.bound
        if small or self.work > _NODES or proof.seen <= 1 + fine:
            return None
        self._charge(proof.types)
        return proof.types

    def _keep(self, answer: ItemAnswer, new: Columns) -> None:
        """Add the new types, and drop those far from use."""
        kept = answer.weights > 1e-6 * answer.weights.max()
        if np.isfinite(self.likely):
            gap = (answer.value - self.likely) / answer.value
            nearly = 1 - min(_DROPPED, 10 * max(gap, self.tolerance))
            kept |= ItemPricer(self.problem, self.multipliers).ratios(self.columns) > nearly
        self.columns = self.columns.chosen(kept).joined(new)
