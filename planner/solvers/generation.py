"""Column generation: the game over few columns, the price of all others, the bound that holds."""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from planner.arrays import Array
from planner.errors import ConvergenceError
from planner.solvers.game import Game, GameColumns, Multipliers, lower_bound, ratios
from planner.solvers.saddle import SaddlePoint, continued, saddle

_GENERATION_ROUNDS = 60
_PATIENCE = 12  # rounds without a better bound after which digits are used up
# below 1, and of the largest weight: other columns go
_TIGHT = 0.05
_SENT = 1e-3
_CUBES = 6e8  # cubes of columns at hand, after which what was found is enough
_KEPT = 0.7  # of columns, when a few are left out that weigh little
_PROVEN_DIGITS = 1e-12
_PRESENT = 1e-10  # of the largest weight: less is noise
_LOST = 1e-3  # of a direction's largest entry: a smaller one is none to divide by
_RANK = 1e-8  # relative, of singular values: weights have about that many digits
_MOVED = 1e-7  # of the sums: what dropping columns may cost


class Oracle(Protocol):
    """Finds the columns that refute multipliers, or shows that there are none."""

    @property
    def searched(self) -> bool:
        """Whether :meth:`prove` can prove anything."""

    def start(self) -> GameColumns:
        """Some hundred that tell all symbols apart."""

    def price(
        self, multipliers: Multipliers, columns: GameColumns, /
    ) -> tuple[GameColumns, float]:
        """Those that exceed most, and the largest ratio seen; ``columns`` are those at hand."""

    def prove(self, multipliers: Multipliers) -> tuple[GameColumns, float]:
        """What was missed, and a ratio that none exceeds, whatever was rounded or not searched."""


class Generated(NamedTuple):
    """Columns with their weights, and bounds on all mechanisms; ``-inf`` if none is proven.

    ``solved`` is that of the game that was solved, where it is not the one asked for.
    """

    columns: GameColumns
    answer: SaddlePoint
    bound: float
    solved: float


def generate(
    game: Game,
    oracle: Oracle,
    tolerance: float,
    asked: Game | None = None,
    known: Array | tuple[float, float] = (-np.inf, -np.inf),
) -> Generated:
    """Add columns until the bound on all of them is within ``tolerance`` of the value.

    If rounds or digits run out first, the gap that is left is proven all the same. ``asked`` is the
    game without the least weights of what nobody minds; ``known`` are bounds for both.
    """
    growth = _Growth(game, oracle, tolerance, asked or game, known)
    growth.solve(None)
    for left in reversed(range(_GENERATION_ROUNDS)):
        if growth.enough or growth.price(last=left == 0):
            break
        growth.drop()
        growth.solve(growth.answer)
    columns = growth.columns
    answer = growth.answer
    if oracle.searched:
        answer = continued(game, columns, answer, _PROVEN_DIGITS)
    else:
        most = answer.value + (answer.value - growth.bounds[0]) / 10
        columns, answer = _heaviest(game, columns, answer, most, growth.close)
    order, _ = columns.order()  # whatever order they were found in
    columns = columns.take(order)
    answer = answer._replace(weights=answer.weights[order])
    return Generated(columns, answer, *growth.bounds[::-1].tolist())


class _Growth:
    """The columns at hand, and the best multipliers so far: ``centre``.

    These prove ``likely`` if no column exceeds them by more than those seen. ``bounds`` of the
    game, and of the one asked for, are what the oracle proved.
    """

    answer: SaddlePoint
    centre: Multipliers

    def __init__(
        self,
        game: Game,
        oracle: Oracle,
        tolerance: float,
        asked: Game,
        known: Array | tuple[float, float],
    ) -> None:
        self.game = game
        self.oracle = oracle
        self.tolerance = tolerance
        self.asked = asked
        self.columns, self.news = oracle.start(), list[GameColumns]()
        self.bounds = np.array(known)
        self.likely = -np.inf
        self.gap = np.inf
        self.closest = np.inf
        self.lowest = np.inf
        self.stuck = 0
        self.work = 0
        self.reached = 0.0
        self.close = 0.0

    def solve(self, near: SaddlePoint | None) -> None:
        """The best weights of all columns found, from those of the first of them."""
        self.columns = self.columns.joined(*self.news)
        # Where the bound does not move, multipliers that are hardly charged need more digits.
        self.close = max(
            _PROVEN_DIGITS, max(self.tolerance, self.reached) / 100 / 10**self.stuck
        )
        self.answer = saddle(self.game, self.columns, self.close, near)
        self.work += len(self.columns.sums) ** 3
        if not self.oracle.searched:
            self.reached = self.answer.value / self.bounds[0] - 1

    @property
    def enough(self) -> bool:
        """Whether the bound is near enough."""
        bound = float(self.bounds[0])
        value = self.answer.value * (
            1 + self.answer.distance
        )  # far from its conditions, nothing
        return value - bound <= self.tolerance * bound

    def price(self, *, last: bool) -> bool:
        """Look for columns that exceed the newest multipliers; whether the search is over."""
        newest = self.answer.multipliers
        new, largest = self.oracle.price(newest, self.columns)
        self.news = [new]
        value = lower_bound(self.game, newest, max(1.0, largest))
        if value > self.likely:
            self.likely = value
            self.centre = newest
        if self.likely == -np.inf:  # nothing will be proven by any so far
            return last or self.work > 4 * _CUBES
        self._charge(
            self.news
        )  # a new column may exceed the best multipliers after all
        self.gap = self.answer.value - self.likely
        fallen = self.gap < 0.9 * self.closest
        self.stuck, self.closest = (
            (0, self.gap) if fallen else (self.stuck + 1, self.closest)
        )
        over = last or self.stuck >= _PATIENCE
        near = self.tolerance / 2 * self.likely
        if (
            not self.oracle.searched
        ):  # a tenth of a gap that stays is not worth more columns
            over |= self.work > _CUBES * min(max(1.0, self.reached / 1e-3), 4.0)
            near = max(near, (self.answer.value - self.bounds[0]) / 10)
        return (over or self.gap <= near) and self._prove(over=over)

    def _prove(self, *, over: bool) -> bool:
        """What the centre proves; whether the search is over."""
        missed, largest = self.oracle.prove(self.centre)
        games = self.game, self.asked
        proven = [lower_bound(game, self.centre, max(1.0, largest)) for game in games]
        self.bounds = np.maximum(self.bounds, proven)
        self._charge([missed])
        self.news.append(missed)
        return over or self.enough or not len(missed.sums)

    def _charge(self, news: list[GameColumns]) -> None:
        largest = max(
            float(ratios(self.game, self.centre, new).max(initial=1.0)) for new in news
        )
        self.likely = min(self.likely, lower_bound(self.game, self.centre, largest))

    def drop(self) -> None:
        """Let columns go that are not charged in full and hardly sent.

        Where only digits are missing, or the value stands still, they would come back.
        """
        answer = self.answer
        settled = self.gap <= self.tolerance / 2 * self.likely
        if settled or self.likely == -np.inf or answer.value >= self.lowest:
            return
        share = answer.weights * self.columns.sums.max(axis=1)
        tight = 1 - min(_TIGHT, self.gap / abs(self.likely))
        charged = ratios(self.game, answer.multipliers, self.columns)
        kept = (charged > tight) | (share > _SENT * share.max())
        self.columns = self.columns.take(kept)
        self.lowest = answer.value
        self.answer = answer._replace(weights=answer.weights[kept])


def _heaviest(
    game: Game, columns: GameColumns, answer: SaddlePoint, most: float, close: float
) -> tuple[GameColumns, SaddlePoint]:
    """Without the lightest columns, as long as the rest are good for a value of ``most``."""
    with suppress(ConvergenceError):  # fewer do not tell apart what is wanted
        while True:
            share = answer.weights * columns.sums.max(axis=1)
            kept = np.argsort(-share)[: round(_KEPT * share.size)]
            fewer = columns.take(kept)
            near = answer._replace(weights=answer.weights[kept])
            found = saddle(game, fewer, close, near)
            if not found.value <= most:
                break
            columns = fewer
            answer = found
    return columns, answer


def fewest(rows: Array, weights: Array) -> tuple[NDArray[np.int64], Array]:
    """Few columns, and weights of them with the same ``rows @ weights``.

    While more columns are left than these numbers can tell apart, weights move along a direction
    that changes none of them, until one is 0. Where digits are used up, columns stay.
    """
    live = np.flatnonzero(weights > _PRESENT * weights.max())
    weights = weights[live]
    while True:
        sums = rows[:, live] * weights
        sums /= np.maximum(
            np.linalg.norm(sums, axis=1, keepdims=True), np.finfo(float).tiny
        )
        sizes, axes = np.linalg.svd(sums)[1:]
        share = _spared(sums, axes[np.count_nonzero(sizes > _RANK * sizes[0]) :])
        if share.all():
            return live, weights
        live = live[share > 0]
        weights = (weights * share)[share > 0]


def _spared(sums: Array, directions: Array) -> Array:
    """Shares of the columns, some of them 0, with the same sums: moved along these directions."""
    share = np.ones(sums.shape[1])
    while len(directions):
        direction = directions[-1]
        directions = directions[:-1]
        reach = np.divide(direction, share, out=np.zeros(share.size), where=share > 0)
        first = int(np.abs(reach).argmax())  # to become 0
        if np.abs(direction[first]) < _LOST * np.abs(direction).max():
            break
        moved = np.where(
            share > 0, np.maximum(share - direction / reach[first], 0.0), 0.0
        )
        moved[first] = 0.0
        if np.abs(sums @ (moved - 1)).max() > _MOVED:
            break  # of columns alike, a difference of directions is noise
        share = moved
        directions = directions - np.outer(
            directions[:, first] / direction[first], direction
        )
    return share
