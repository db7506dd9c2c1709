"""Column generation: the game over few columns, the price of all others, the bound that holds."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from planner.arrays import Array
from planner.patience import still_wanted
from planner.solvers.game import Game, GameColumns, Multipliers, lower_bound, ratios
from planner.solvers.saddle import SaddlePoint, continued, saddle

_GENERATION_ROUNDS, _PATIENCE = (
    60,
    12,
)  # and those without a better bound after which digits are used up
_WAY = 0.5  # from the newest multipliers to the best ones: between them prices lead further
_TIGHT, _SENT = 0.05, 1e-3  # below 1, and of the largest weight: other columns go
_PROVEN_DIGITS = 1e-12
_PRESENT = 1e-10  # of the largest weight: less is noise
_LOST = 1e-3  # of a direction's largest entry: a smaller one is none to divide by
_RANK = 1e-8  # relative, of singular values: weights have about that many digits
_MOVED = 1e-7  # of the sums: what dropping columns may cost


class Oracle(Protocol):
    """Finds the columns that refute multipliers, or shows that there are none."""

    def start(self) -> GameColumns:
        """Some hundred that tell all symbols apart."""

    def price(self, multipliers: Multipliers, columns: GameColumns, /) -> tuple[GameColumns, float]:
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


def generate(game: Game, oracle: Oracle, tolerance: float, asked: Game | None = None) -> Generated:
    """Add columns until the bound on all of them is within ``tolerance`` of the value.

    If rounds or digits run out first, the gap that is left is proven all the same. ``asked`` is the
    game without the least weights of what nobody minds.
    """
    columns, centre, near, news = oracle.start(), None, None, list[GameColumns]()
    likely, bound, best, lowest, stuck = -np.inf, -np.inf, np.inf, np.inf, 0
    charged = -np.inf
    for left in reversed(range(_GENERATION_ROUNDS)):
        still_wanted()
        columns = columns.joined(*news)
        # Where the bound does not move, multipliers that are hardly charged need more digits.
        close = max(_PROVEN_DIGITS, tolerance / 100 / 10**stuck)
        answer = saddle(game, columns, close, near)
        near, newest, news = answer, answer.multipliers, []
        for way in (_WAY, 0.0) if centre is not None else (0.0,):
            here = newest.between(centre, way) if centre is not None else newest
            new, largest = oracle.price(here, columns)
            news.append(new)
            value = lower_bound(game, here, max(1.0, largest))
            if value > likely:
                likely, centre = value, here
        if centre is not None:  # a new column may exceed the best multipliers after all
            likely = _charged(game, centre, news, likely)
            gap = answer.value - likely
            stuck, best = (0, gap) if gap < 0.9 * best else (stuck + 1, best)
            over = left == 0 or stuck >= _PATIENCE
            if over or gap <= tolerance / 2 * likely:
                missed, largest = oracle.prove(centre)
                bound = max(bound, lower_bound(game, centre, max(1.0, largest)))
                charged = max(charged, lower_bound(asked or game, centre, max(1.0, largest)))
                likely = _charged(game, centre, [missed], likely)
                if over or answer.value - bound <= tolerance * bound or not len(missed.sums):
                    break
                news.append(missed)
            if gap <= tolerance / 2 * likely:
                continue  # only digits are missing
        if likely > -np.inf and answer.value < lowest:
            # Where the value stands still, what is dropped would come back round after round.
            share = answer.weights * columns.sums.max(axis=1)
            tight = 1 - min(_TIGHT, gap / abs(likely))
            kept = (ratios(game, newest, columns) > tight) | (share > _SENT * share.max())
            columns, lowest = columns.take(kept), answer.value
            near = near._replace(weights=answer.weights[kept])
    answer = continued(game, columns, answer, _PROVEN_DIGITS)
    order, _ = columns.order()  # whatever order they were found in
    columns, answer = columns.take(order), answer._replace(weights=answer.weights[order])
    return Generated(columns, answer, charged, bound)


def _charged(game: Game, at: Multipliers, news: list[GameColumns], likely: float) -> float:
    largest = max(float(ratios(game, at, new).max(initial=1.0)) for new in news)
    return min(likely, lower_bound(game, at, largest))


def fewest(rows: Array, weights: Array) -> tuple[NDArray[np.int64], Array]:
    """Few columns, and weights of them with the same ``rows @ weights``.

    While more columns are left than these numbers can tell apart, weights move along a direction
    that changes none of them, until one is 0. Where digits are used up, columns stay.
    """
    live = np.flatnonzero(weights > _PRESENT * weights.max())
    weights = weights[live]
    while True:
        sums = rows[:, live] * weights
        sums /= np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), np.finfo(float).tiny)
        sizes, axes = np.linalg.svd(sums)[1:]
        share = _spared(sums, axes[np.count_nonzero(sizes > _RANK * sizes[0]) :])
        if share.all():
            return live, weights
        live, weights = live[share > 0], (weights * share)[share > 0]


def _spared(sums: Array, directions: Array) -> Array:
    """Shares of the columns, some of them 0, with the same sums: moved along these directions."""
    share = np.ones(sums.shape[1])
    while len(directions):
        direction, directions = directions[-1], directions[:-1]
        reach = np.divide(direction, share, out=np.zeros(share.size), where=share > 0)
        first = int(np.abs(reach).argmax())  # to become 0
        if np.abs(direction[first]) < _LOST * np.abs(direction).max():
            break
        moved = np.where(share > 0, np.maximum(share - direction / reach[first], 0.0), 0.0)
        moved[first] = 0.0
        if np.abs(sums @ (moved - 1)).max() > _MOVED:
            break  # of columns alike, a difference of directions is noise
        share = moved
        directions = directions - np.outer(directions[:, first] / direction[first], direction)
    return share
