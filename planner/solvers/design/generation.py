"""Column generation: the dual over few types, pricing of all others, and the bound that holds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.errors import ConvergenceError
from planner.patience import still_wanted
from planner.solvers.design.bound import between, lifted_bound, proven_bound, scaled
from planner.solvers.design.filling import completed, varied
from planner.solvers.design.groups import grouped
from planner.solvers.design.interior import Restricted, solve_restricted
from planner.solvers.design.pricing import Pricer
from planner.solvers.design.problem import Columns, DesignProblem, Multipliers
from planner.solvers.design.starts import first_columns, random_columns

Array = NDArray[np.float64]

_ROUNDS = 150
_NODES = 200_000
MOST_APART = 8
"""Levels that the multipliers tell apart."""

_FIRST_GROUPS = 4
_MOST_GROUPS = 8  # of levels that the multipliers tell apart, where not all are
_COARSE = 0.02  # relative gap at which groups are split further
_GROUPED = 0.006  # and at which the groups, not the digits, are the loss
_DIGITS = 1e-12  # of the design's weights, where all levels are apart
_PATIENCE = 15  # rounds without a better bound: digits are used up
_WAYS = (0.8, 0.0)  # from the newest multipliers to the best ones
_MOST_NEW = 4  # types a round and group of levels
_DROPPED = 1e-3  # of the largest weight: types without use, unless nearly tight


class Generated(NamedTuple):
    """Types and weights of a nearly best design, its prior, and the bound on all mechanisms."""

    columns: Columns
    weights: Array
    prior: Array
    lower_bound: float  # of the objective per user
    guess_price: float  # what it falls by if guesses may be right as often again


def generate(problem: DesignProblem, tolerance: float, near: Array | None = None) -> Generated:
    """Solve one component until its gap is below ``tolerance``.

    ``near`` are the leanings of a design for a similar policy: its types are tried first.

    If the rounds or the work run out first, or the solver's digits, the best design so
    far is returned, with a bound that is proven all the same.

    Raises
    ------
    ConvergenceError
        The first types' program has no answer.
    """
    search = _Search(problem, tolerance, near)
    search.run()
    columns, answer = search.design()
    prior, price = answer.multipliers.prior, problem.items * answer.multipliers.guess
    return Generated(columns, answer.weights, prior, search.proven(), price)


class _Search:
    """One search: the types so far, the best multipliers, and what they prove."""

    def __init__(self, problem: DesignProblem, tolerance: float, near: Array | None) -> None:
        self.problem, self.tolerance = problem, tolerance
        self.rng = np.random.default_rng(0)  # starts of climbs; what is found is proven apart
        self.levels = grouped(problem, MOST_APART if problem.size <= MOST_APART else _FIRST_GROUPS)
        self.finer = not self.levels.all_apart
        self.columns = first_columns(problem, near)
        self.solved: tuple[Columns, Restricted] | None = None
        self.multipliers: Multipliers | None = None  # the best, scaled to no known ratio above 1
        self.most_nodes = int(_NODES * min(1.0, (6 / problem.size) ** 3))
        self.likely = -np.inf  # their bound, were no other types left
        self.bound, self.work, self.stuck, self.apart = 0.0, 0.0, 0, np.inf

    def run(self) -> None:
        """Rounds until the gap is small enough, or nothing gets better."""
        for left in reversed(range(_ROUNDS)):
            still_wanted()
            try:
                answer = solve_restricted(self.levels, self.columns, self._precision())
            except ConvergenceError:
                if self.solved is None:
                    raise
                return
            self.solved = self.columns, answer
            new = self._priced(self.levels.expanded(answer.multipliers))
            gap = 1 - self.likely / answer.error if answer.error > 0 else 0.0
            self.stuck = 0 if gap < 0.9 * self.apart else self.stuck + 1
            self.apart = min(gap, self.apart)
            over = self.stuck >= _PATIENCE or left == 0
            if over or gap <= self._enough():
                if self.finer and left:
                    self.levels = grouped(self.problem, _MOST_GROUPS, self.multipliers)
                    new = new.joined(varied(self.levels, self.levels, self.columns, answer.weights))
                    new = new.joined(first_columns(self.problem, None))
                    self.finer, self.apart, self.stuck = False, np.inf, 0
                else:
                    seen = self._prove()
                    if over or seen is None:
                        return
                    new = new.joined(seen)
            self._keep(new)

    def design(self) -> tuple[Columns, Restricted]:
        """The types and weights found, with all levels apart."""
        columns, answer = self._known()
        if not self.levels.all_apart:
            return completed(self.levels, columns, answer, self._best())
        try:
            return columns, solve_restricted(self.levels, columns, _DIGITS)
        except ConvergenceError:
            return columns, answer

    def proven(self) -> float:
        """The bound; from the best multipliers, lifted, if none was proven on the way."""
        if self.bound > 0:
            return self.bound
        return max(0.0, lifted_bound(self.problem, self._best(), self.most_nodes // 20))

    def _best(self) -> Multipliers:
        return self.multipliers or self.levels.expanded(self._known()[1].multipliers)

    def _known(self) -> tuple[Columns, Restricted]:
        if self.solved is None:
            raise ConvergenceError("Nothing was solved", "Round the budgets.")
        return self.solved

    def _precision(self) -> float:
        """Of the program over few types: inside of what is allowed prices lead further."""
        return max(min(0.1 * self.apart, 0.01) * 0.1**self.stuck, 0.05 * self.tolerance)

    def _enough(self) -> float:
        if self.finer:
            return _COARSE
        return self.tolerance / 2 if self.levels.all_apart else max(_GROUPED, self.tolerance / 2)

    def _priced(self, newest: Multipliers) -> Columns:
        """Types with a ratio above 1 at the newest multipliers, or between them and the best."""
        columns, answer = self._known()
        active = np.argsort(-answer.weights)[: 2 * self.levels.size + 20]
        climbers = columns.chosen(active).joined(random_columns(self.problem, self.rng))
        new = columns.chosen(np.zeros(0, dtype=np.int64))
        for way in _WAYS if self.multipliers is not None else (0.0,):
            here = newest
            if way and self.multipliers is not None:
                here = between(newest, self.multipliers, way)
            pricer = Pricer(self.problem, here)
            types = pricer.improve(climbers, 1.0).joined(pricer.least_slack())
            uncovered, ratio = self._uncovered(pricer, types)
            new, climbers = new.joined(uncovered), climbers.joined(uncovered)
            if np.isfinite(ratio):
                likely = proven_bound(self.problem, here, ratio)
                if likely > self.likely:
                    self.likely, self.multipliers = likely, scaled(self.problem, here, ratio)
        if self.multipliers is not None and new.window.size:
            self._charge(float(Pricer(self.problem, self.multipliers).ratios(new).max()))
        return new

    def _uncovered(self, pricer: Pricer, types: Columns) -> tuple[Columns, float]:
        """The types that exceed most, and the largest ratio, at least 1."""
        num, den = pricer.parts(types)
        with np.errstate(divide="ignore"):
            ratio = np.where(den > 0, num / den, np.inf)
        worst = max(1.0, float(ratio.max()))
        order = np.argsort(den - num if np.isinf(worst) else -ratio)
        order = order[: max(10, _MOST_NEW * self.levels.size)]
        least = 1 + (max(self._fine() / 10, 0.05 * (worst - 1)) if np.isfinite(worst) else 0.0)
        return types.chosen(order[ratio[order] > least]), worst

    def _charge(self, ratio: float) -> None:
        """A ratio above 1 at the best multipliers after all: they prove less than it seemed."""
        if ratio > 1 and self.multipliers is not None:
            self.multipliers = scaled(self.problem, self.multipliers, ratio)
            self.likely = proven_bound(self.problem, self.multipliers, 1.0)

    def _fine(self) -> float:
        """How far above 1 a ratio may be for the gap that is wanted."""
        error = self.solved[1].error if self.solved else 1.0
        people = float(self.problem.weights.max())
        wanted = self.tolerance if self.levels.all_apart else max(self.tolerance, _GROUPED)
        return max(wanted / 4 * error / (error + people), 1e-13)

    def _prove(self) -> Columns | None:
        """Settle the best multipliers' bound; types that were missed, or ``None``: enough."""
        if self.multipliers is None or self.solved is None:
            return None
        fine = self._fine()
        pricer = Pricer(self.problem, self.multipliers)
        proof = pricer.largest_ratio(1.0, fine / 100, self.most_nodes)
        self.work += proof.work
        self.bound = max(self.bound, proven_bound(self.problem, self.multipliers, proof.ratio))
        small = self.solved[1].error - self.bound <= self.tolerance * self.bound
        if small or self.work > self.most_nodes or proof.seen <= 1 + fine:
            return None
        self._charge(proof.seen)
        self.apart = np.inf
        return proof.types

    def _keep(self, new: Columns) -> None:
        """Add the new types, and drop those of no use: all apart, only after a round of use."""
        columns, answer = self._known()
        if self.stuck and self.levels.all_apart:
            self.columns = columns.joined(new)
            return
        share = answer.spans / answer.spans.max()
        omega = self.problem.weights_above_zero  # types for what hardly counts are hardly sent
        useless = _DROPPED * np.sqrt(omega.min() / omega.max())
        kept = share > useless * answer.error / (answer.error + omega.max())
        if self.multipliers is not None:
            nearly = 1 - min(max(self.apart, self._fine()), 0.1)
            kept |= Pricer(self.problem, self.multipliers).ratios(columns) > nearly
        most = 6 * self.levels.size + 100
        if np.count_nonzero(kept) > most:
            kept &= share >= np.sort(share)[-most]
        self.columns = columns.chosen(kept).joined(new)
