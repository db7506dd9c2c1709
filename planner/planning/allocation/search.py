"""The shares of questions whose errors are not convex in them: a search with a proven gap.

The error of a subset design is not convex in the budgets. With equal budgets it is that of the
best subset size, the smallest of smooth curves, and where the size changes, the slope jumps
down. (So it is of sets at a given padding length.) All that is sure is that it falls: whatever
keeps smaller budgets keeps larger ones. So every question is solved at a few shares; between two
of them its error is at least that at the larger one. No shares have a smaller objective than the
best for these stairs, bounded by Lagrange's relaxation for a sum. The steps that hold the bound
down are divided next.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.patience import still_wanted
from planner.planning.allocation.blocks import Block
from planner.planning.allocation.goal import Goal
from planner.planning.solve import ROUGH, TIGHT

Array = NDArray[np.float64]

_ENOUGH = 0.03  # the gap at which the search ends
_MOST_POINTS, _MOST_DESIGNS = 60, 12  # shares at which a question is solved
_FINE = 400  # shares between the smallest and the largest, to choose the next ones
_PRICES, _HALVINGS = (1e-30, 1e30), 64  # to the last digit


class _Curve:
    """A question's error and its proven lower bound at the shares tried so far, rising."""

    def __init__(self, block: Block, shares: Sequence[float]) -> None:
        self._block = block
        self.shares: list[float] = []
        self.errors: list[float] = []
        self.bounds: list[float] = []
        for share in shares:
            self.try_share(share)

    @property
    def full(self) -> bool:
        """Whether it was tried often enough."""
        return len(self.shares) >= (_MOST_DESIGNS if self._block.slow else _MOST_POINTS)

    def try_share(self, share: float, tolerance: float = ROUGH) -> None:
        """Solve the question at ``share``, unless it was."""
        place = bisect_left(self.shares, share)
        if share not in self.shares[place : place + 1]:
            error, bound = self._block.bounds_at(share, tolerance)
            self.shares.insert(place, share)
            self.errors.insert(place, error)
            self.bounds.insert(place, bound)

    def stairs(self) -> tuple[Array, Array]:
        """More than so much of the budget is needed, for an error that is at least so much."""
        return np.array([0.0, *self.shares[:-1]]), np.array(self.bounds)

    def between(self) -> tuple[Array, Array]:
        """Shares, close together, and what the errors there may be: straight in logarithms."""
        fine = np.geomspace(self.shares[0], self.shares[-1], _FINE)
        errors = np.log(np.maximum(self.errors, np.finfo(float).tiny))
        return fine, np.exp(np.interp(np.log(fine), np.log(self.shares), errors))

    def height(self, step: int) -> float:
        """How far a step falls below the one before it; the first one has none before it."""
        return self.bounds[step - 1] - self.bounds[step] if step else np.inf

    def divide(self, step: int) -> None:
        """Try the middle of a step of the stairs."""
        top = self.shares[step]
        self.try_share((top * self.shares[step - 1]) ** 0.5 if step else top / 2)


class _Bound(NamedTuple):
    """What no shares can beat, and the step of each question's stairs that it rests on."""

    value: float
    steps: list[int]


def search_shares(blocks: Sequence[Block], goal: Goal) -> tuple[Array, float]:
    """Shares with a small objective, and a lower bound for all; errors must fall in them.

    Returns
    -------
    shares:
        Above 0, sum at most 1, shape ``(len(blocks),)``.
    lower_bound:
        Proven. The search ends within 3 % of it, or after a dozen designs a question.

    Examples
    --------
    >>> from planner.planning.allocation.blocks import MeanBlock
    >>> blocks = [MeanBlock("income", 1.0), MeanBlock("rent", 1.0)]
    >>> shares, lower_bound = search_shares(blocks, Goal.of(blocks))
    >>> shares.round(2).tolist(), sum(block.at(0.5).error for block in blocks) >= lower_bound
    ([0.5, 0.5], True)
    """
    few = 1 / len(blocks)
    curves = [_Curve(block, (few / 4, few, 1.0)) for block in blocks]
    while True:
        still_wanted()
        shares, value = _guess(curves, goal)
        bound = _bound(curves, goal)
        room = [j for j, curve in enumerate(curves) if not curve.full]
        if value - bound.value <= _ENOUGH * abs(bound.value) or not room:
            break
        scale = goal.weights if goal.targets is None else 1 / goal.targets
        worst = max(room, key=lambda j: scale[j] * curves[j].height(bound.steps[j]))
        curves[worst].divide(bound.steps[worst])
    for curve, share in zip(curves, shares.tolist(), strict=True):
        curve.try_share(share, TIGHT)  # a little more is known then
    return shares, _bound(curves, goal).value


def _guess(curves: Sequence[_Curve], goal: Goal) -> tuple[Array, float]:
    """The best shares, and their objective, if the errors were straight between those tried."""
    lines = [curve.between() for curve in curves]
    choose = (
        _cheapest(goal.weights, lines) if goal.targets is None else _enough(goal.targets, lines)
    )
    shares = choose(_price_of_all(choose))
    shares = shares / shares.sum()
    errors = [np.interp(share, *line) for share, line in zip(shares, lines, strict=True)]
    return shares, goal.value(np.array(errors))


def _cheapest(weights: Array, lines: Sequence[tuple[Array, Array]]) -> Callable[[float], Array]:
    """The shares at which the questions' parts of the sum are least, if budget costs a price."""
    most = max(len(shares) for shares, _ in lines)
    shares, errors = np.ones((len(lines), most)), np.full((len(lines), most), np.inf)
    for j, line in enumerate(lines):
        shares[j, : len(line[0])], errors[j, : len(line[0])] = line
    errors *= weights[:, None]
    rows = np.arange(len(lines))
    return lambda price: shares[rows, (errors + price * shares).argmin(axis=1)]


def _enough(targets: Array, lines: Sequence[tuple[Array, Array]]) -> Callable[[float], Array]:
    """The shares at which the errors are so many times their targets."""
    falling = [
        (target, -errors, shares) for target, (shares, errors) in zip(targets, lines, strict=True)
    ]
    return lambda ratio: np.array([np.interp(-t * ratio, errors, x) for t, errors, x in falling])


def _bound(curves: Sequence[_Curve], goal: Goal) -> _Bound:
    """The stairs' least objective, or for a sum what Lagrange's relaxation proves of it."""
    stairs = [curve.stairs() for curve in curves]
    if goal.targets is not None:
        ratios = [bounds / t for (_, bounds), t in zip(stairs, goal.targets, strict=True)]
        for ratio in np.unique(np.concatenate(ratios)):
            # The first step of each that is low enough; none may be.
            steps = [int(np.argmax(r <= ratio)) if r[-1] <= ratio else -1 for r in ratios]
            if min(steps) >= 0:
                needed = sum(float(x[i]) for (x, _), i in zip(stairs, steps, strict=True))
                if needed < 1:
                    return _Bound(float(ratio), steps)
        raise AssertionError("the largest ratio needs nothing")

    price = _price_of_all(_cheapest(goal.weights, stairs))
    costs = [w * bounds + price * x for w, (x, bounds) in zip(goal.weights, stairs, strict=True)]
    return _Bound(
        sum(float(one.min()) for one in costs) - price, [int(one.argmin()) for one in costs]
    )


def _price_of_all(shares: Callable[[float], Array]) -> float:
    """The price above which ``shares``, falling in it, sum to 1 at most."""
    low, high = _PRICES
    for _ in range(_HALVINGS):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if shares(middle).sum() > 1 else (low, middle)
    return high
