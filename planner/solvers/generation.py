"""Column generation: the game over few columns, the price of all others, the bound that holds."""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from planner.arrays import Array
from planner.errors import ConvergenceError
from planner.solvers.game import Game, GameColumns, Multipliers, lower_bound, ratios
from planner.solvers.saddle import SaddlePoint, continued, rank_of, saddle

_GENERATION_ROUNDS = 60
_PATIENCE = 12  # rounds without a better bound after which digits are used up
_MANY_COLUMNS = 1000  # columns: so many are kept, needed or not
_TIGHT = 0.05  # below 1: of more, those go whose charge is less
_SENT = 1e-3  # of the largest weight: those stay that are sent more often
_MOST_MULTIPLICATIONS = (
    8e9  # multiplications in all steps of programs, after which it is enough
)
_ALWAYS = 3e3  # multiplications for each column, whatever the levels
_KEPT = 0.7  # of columns, when a few are left out that weigh little
_PROVEN_DIGITS = 1e-12
_LASTING_SHARE = (
    0.1  # of the gap: what more columns may still give where the bound does not move
)
_DOUBT = 1 / 4  # of the tolerance: by how much a proof may overstate the largest ratio
_FALLEN = 0.01  # of the gap: a value that falls by so much is no standstill
_LIGHT = (
    1e-7  # of the largest weight: what a program leaves to columns that are not needed
)
_PRESENT = 1e-10  # of the largest weight: less is noise
_LOST = 1e-3  # of a direction's largest entry: a smaller one is none to divide by
_RANK = 1e-8  # relative, of singular values: weights have about that many digits
_MOVED = 1e-7  # of the sums: what dropping columns may cost

PROVEN = ""
"""Why a search ended: it reached its tolerance."""
NO_DIGITS = "digits"
"""The numbers' digits are used up: multipliers no longer get better."""
WORK_DONE = "rounds"
"""It did all the work that it may."""
NO_COLUMN = "columns"
"""No report is known that would lower the error by more than a share of the gap."""
TOO_MANY_LEVELS = "levels"
"""There are too many levels for a search."""


class Oracle(Protocol):
    """Finds the columns that refute multipliers, or shows that there are none."""

    @property
    def searched(self) -> bool:
        """Whether :meth:`prove` is worth its work: not once it was cut short."""

    @property
    def staged(self) -> bool:
        """Whether rough proofs cost less than fine ones, and so are worth one each."""

    def start(self) -> GameColumns:
        """The columns to begin with: some hundred that tell all symbols apart."""

    def price(
        self, multipliers: Multipliers, columns: GameColumns, /
    ) -> tuple[GameColumns, float]:
        """The columns that exceed most, and the largest ratio seen; ``columns`` are at hand."""

    def prove(
        self, multipliers: Multipliers, doubt: float, /
    ) -> tuple[GameColumns, float]:
        """What was missed, and a ratio that none exceeds, whatever was rounded or not searched.

        ``doubt``: by how much it may be above the largest ratio there is, relatively.
        """


class Generated(NamedTuple):
    """Columns with their weights, and bounds on all mechanisms; ``-inf`` if none is proven.

    ``solved`` is that of the game that was solved, where it is not the one asked for. ``stopped``
    says why the search ended: :data:`PROVEN`, :data:`NO_DIGITS`, :data:`WORK_DONE` or
    :data:`NO_COLUMN`.
    """

    columns: GameColumns
    answer: SaddlePoint
    bound: float
    solved: float
    stopped: str = PROVEN


def generate(
    game: Game,
    oracle: Oracle,
    tolerance: float,
    asked: Game | None = None,
    proven: Array | tuple[float, float] = (-np.inf, -np.inf),
) -> Generated:
    """Add columns until the bound on all of them is within ``tolerance`` of the value.

    The value is never above that of the program over the columns of ``oracle.start()``, which is
    solved first. If rounds or digits run out, the gap that is left is proven all the same.
    ``asked`` is the game without the least weights of what nobody minds; ``proven`` are bounds for
    both.
    """
    growth = _Growth(game, oracle, tolerance, asked or game, proven)
    growth.solve(None)
    for left in reversed(range(_GENERATION_ROUNDS)):
        if growth.enough or growth.price(last=left == 0):
            break
        try:
            growth.extend()
        except ConvergenceError:  # the programs solved before stand
            growth.stopped = NO_DIGITS
            break
    stopped = PROVEN if growth.enough else growth.stopped
    columns, answer = growth.best
    gap = answer.value - growth.bounds[0]
    if oracle.staged or not oracle.searched:
        most = answer.most + max(0.0, gap) / 10
        if growth.enough:  # and stays so
            promised = (1 + tolerance) * float(growth.bounds[0])
            most = min(most, max(answer.most, promised))
        columns, answer = _heaviest(game, columns, answer, most, growth.close)
    else:
        if len(columns.sums) > 2 * rank_of(game):
            columns, answer = _needed(game, columns, answer, gap)
        answer = continued(game, columns, answer, _PROVEN_DIGITS)
    order, _ = columns.order()  # whatever order they were found in
    columns = columns.take(order)
    answer = answer._replace(weights=answer.weights[order])
    bound, solved = growth.bounds[::-1].tolist()
    return Generated(columns, answer, bound, solved, stopped)


class _Growth:
    """The columns at hand, and the best multipliers so far: ``centre``.

    These prove ``likely`` if no column exceeds them by more than those seen. ``bounds`` of the
    game, and of the one asked for, are what the oracle proved.
    """

    answer: SaddlePoint
    best: tuple[GameColumns, SaddlePoint]
    centre: Multipliers

    def __init__(
        self,
        game: Game,
        oracle: Oracle,
        tolerance: float,
        asked: Game,
        proven: Array | tuple[float, float],
    ) -> None:
        self.game = game
        self.oracle = oracle
        self.tolerance = tolerance
        self.asked = asked
        self.columns = oracle.start()
        self.news = list[GameColumns]()
        self.bounds = np.array(proven)
        self.likely = -np.inf
        self.gap = np.inf
        self.closest = np.inf
        self.lowest = np.inf
        self.highest = np.inf
        self.stuck = 0
        self.work = 0.0
        self.close = 0.0
        self.stopped = WORK_DONE

    def solve(self, near: SaddlePoint | None) -> None:
        """The best weights of all columns found, from those of the first of them."""
        self.columns = self.columns.joined(*self.news)
        # Where the bound does not move, multipliers that are hardly charged need more digits.
        asked = max(self.tolerance, self._reached) / 100 / 10**self.stuck
        if near is not None:
            asked *= near.value / near.gross  # a distance is relative to the larger
        self.close = max(_PROVEN_DIGITS, asked)
        self.answer = saddle(self.game, self.columns, self.close, near)
        # A program that is solved roughly may end above one with fewer columns. Where caps cannot
        # be kept values grow without end, and only the newest says so.
        capped = not self.game.free.all()
        rough = self.oracle.staged or self.answer.distance > self.close
        first = near is None
        if (
            first
            or capped
            or not rough
            or self._most(self.answer) < self._most(self.best[1])
        ):
            self.best = (self.columns, self.answer)
        size = len(self.columns.sums)
        step_cost = size * (_ALWAYS + float(min(size, rank_of(self.game))) ** 2)
        self.work += self.answer.tried * step_cost

    @property
    def _reached(self) -> float:
        """The gap to the bound, where it is not left to one proof: programs need not be closer."""
        proofs = self.oracle.searched and not self.oracle.staged
        if proofs or self.bounds[0] <= 0 or self.work == 0:
            return 0.0
        return float(self.answer.value / self.bounds[0] - 1)

    @property
    def enough(self) -> bool:
        """Whether the bound is near enough."""
        bound = float(self.bounds[0])
        return self._most(self.answer) - bound <= self.tolerance * bound

    def _most(self, answer: SaddlePoint) -> float:
        """The answer's upper end; where its value is below what is proven it is off by as much."""
        return answer.most + 2 * max(0.0, float(self.bounds[0]) - answer.value)

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
            return last or self.work > 4 * _MOST_MULTIPLICATIONS
        # A new column may exceed the best multipliers after all.
        self._charge(self.news)
        self._count_standstill()
        near = self.tolerance / 2 * self.likely
        over = last or self.stuck >= _PATIENCE
        if self.stuck >= _PATIENCE:
            self.stopped = NO_DIGITS
        if self.oracle.staged or not self.oracle.searched:
            # A tenth of a gap that stays is not worth more columns.
            near = max(near, _LASTING_SHARE * self._open)
            over |= self.work > self._most_work
        if self.oracle.searched:
            return (over or self.gap <= near) and self._prove(over=over)
        if self.gap <= near:
            self.stopped = NO_COLUMN
        return over or self.gap <= near

    def _count_standstill(self) -> None:
        """How many rounds neither the gap nor the value has moved by more than its noise."""
        self.gap = self.answer.value - self.likely
        if self.gap < 0.9 * self.closest or self.answer.value < self.highest:
            self.stuck = 0
            self.closest = min(self.gap, self.closest)
            noise = 10 * self.answer.distance * self.answer.value
            self.highest = self.answer.value - max(_FALLEN * abs(self.gap), noise)
        else:
            self.stuck += 1

    @property
    def _most_work(self) -> float:
        """Multiplications after which it is enough: three times as many where a gap is wide."""
        width = self._reached / 1e-3
        return _MOST_MULTIPLICATIONS * min(max(1.0, width), 3.0)

    @property
    def _open(self) -> float:
        """What is between the value and what is proven: no error is below 0."""
        return float(self.answer.value - max(self.bounds[0], 0.0))

    def _prove(self, *, over: bool) -> bool:
        """What the centre proves; whether the search is over.

        A rough proof goes by what is open. Once nothing is added any more what these multipliers
        may prove is worth a finer one, as long as each halves what is open of it.
        """
        if self.likely <= self.bounds[0]:
            return over
        while True:
            before = self.likely - max(float(self.bounds[0]), 0.0)
            self._prove_once()
            after = self.likely - max(float(self.bounds[0]), 0.0)
            finer = over and self.oracle.staged and not self.enough
            if not (finer and 0 < after < before / 2):
                return over or self.enough

    def _prove_once(self) -> None:
        """Prove the centre to a share of what is open, or of the tolerance."""
        # Ratios are of the value and what is taken off it: small errors need more digits.
        doubt = _DOUBT * self.tolerance * self.answer.value
        if self.oracle.staged:
            doubt = max(doubt, _LASTING_SHARE * self._open)
        missed, largest = self.oracle.prove(self.centre, doubt / self.answer.gross)
        games = self.game, self.asked
        proven = [lower_bound(game, self.centre, max(1.0, largest)) for game in games]
        self.bounds = np.maximum(self.bounds, proven)
        self._charge([missed])
        self.news.append(missed)

    def _charge(self, news: list[GameColumns]) -> None:
        largest = max(
            float(ratios(self.game, self.centre, new).max(initial=1.0)) for new in news
        )
        self.likely = min(self.likely, lower_bound(self.game, self.centre, largest))

    def extend(self) -> None:
        """Solve with the new columns, and without old ones that seem of no use."""
        columns = self.columns
        answer = self.answer
        self.drop()
        try:
            self.solve(self.answer)
        except ConvergenceError:  # some were needed to tell apart what is wanted
            self.columns = columns
            self.lowest = -np.inf
            self.solve(answer)

    def drop(self) -> None:
        """Let columns go that are not charged in full and hardly sent.

        Where only digits are missing, or the value stands still, they would come back.
        """
        answer = self.answer
        settled = self.gap <= self.tolerance / 2 * self.likely
        if settled or self.likely == -np.inf or answer.value >= self.lowest:
            return
        if len(self.columns.sums) <= _MANY_COLUMNS:
            return
        share = answer.weights * self.columns.sums.max(axis=1)
        tight = 1 - min(_TIGHT, self.gap / abs(self.likely))
        charged = ratios(self.game, answer.multipliers, self.columns)
        kept = (charged > tight) | (share > _SENT * share.max())
        self.columns = self.columns.take(kept)
        self.lowest = answer.value
        self.answer = answer._replace(weights=answer.weights[kept])


def _needed(
    game: Game, columns: GameColumns, answer: SaddlePoint, gap: float
) -> tuple[GameColumns, SaddlePoint]:
    """The columns that a program of many leaves more than noise, as long as they are as good."""
    share = answer.weights * columns.sums.max(axis=1)
    kept = share > _LIGHT * share.max()
    with suppress(ConvergenceError):
        fewer = columns.take(kept)
        near = answer._replace(weights=answer.weights[kept])
        solved = saddle(game, fewer, answer.distance, near)
        if solved.most <= answer.most + gap / 100:
            return fewer, solved
    return columns, answer


def _heaviest(
    game: Game, columns: GameColumns, answer: SaddlePoint, most: float, close: float
) -> tuple[GameColumns, SaddlePoint]:
    """The heaviest columns: light ones go while the rest are good for a value of ``most``."""
    with suppress(ConvergenceError):  # fewer do not tell apart what is wanted
        while True:
            share = answer.weights * columns.sums.max(axis=1)
            kept = np.argsort(-share)[: round(_KEPT * share.size)]
            fewer = columns.take(kept)
            near = answer._replace(weights=answer.weights[kept])
            solved = saddle(game, fewer, close, near)
            if not solved.most <= most:
                break
            columns = fewer
            answer = solved
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
