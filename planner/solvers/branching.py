"""A proof that no type's ratio is larger: branch and bound over boxes of whole counts."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from planner.patience import still_wanted

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

_POINTS_OF_A_BOX = 50  # splits that take as long to try as a box to divide


class Boxes(NamedTuple):
    """Counts of high items from ``low`` to ``high``, shape ``(n, t)``, in a window, ``(n,)``."""

    window: Whole
    low: Whole
    high: Whole

    def chosen(self, which: NDArray[np.bool_] | Whole) -> Boxes:
        """Some of them."""
        return Boxes(self.window[which], self.low[which], self.high[which])

    @property
    def points(self) -> Array:
        """How many splits each holds."""
        return np.prod((self.high - self.low + 1).astype(np.float64), axis=1)


class Bounded(NamedTuple):
    """What boxes may hold, each of shape ``(n,)`` but for the points.

    Whether some ratio may be above the one asked for, ``above``; a ``ceiling`` for all their
    ratios; a point ``y`` with a large one, in shares of the box's sides, ``(n, t)``; and the
    ``side`` to divide.
    """

    above: NDArray[np.bool_]
    ceiling: Array
    y: Array
    side: Whole


class Priced(Protocol):
    """Multipliers whose ratios can be computed, and bounded over boxes.

    Types are rows of a window and the counts. ``most_boxes`` are bounded at once; a box of at most
    ``few`` splits has them tried one by one.
    """

    most_boxes: int
    few: int

    def ratios(self, types: Whole) -> Array:
        """The ratio of each type, rounded up; infinite where the multipliers do not cover it."""

    def bounded(self, boxes: Boxes, rho: float) -> Bounded:
        """What boxes may hold beside the ratio ``rho``."""


class RatioBound(NamedTuple):
    """``ratio``: no type's ratio is larger. ``types``: where the largest were seen.

    ``work``: what it took, in boxes divided.
    """

    ratio: float
    types: Whole
    work: float


def largest_ratio(
    priced: Priced, boxes: Boxes, seen: float, slack: float, most_work: float
) -> RatioBound:
    """Bound the ratio over all types in boxes by branch and bound.

    Boxes of counts are divided until each is known to hold no ratio above ``(1 + slack)``
    times the largest seen, or the work exceeds that of ``most_work`` boxes; the open boxes
    are then charged to the bound, which is true in any case.
    """
    work, ceiling = 0.0, 0.0
    none = np.zeros(0, dtype=np.int64)
    best = np.zeros((0, boxes.low.shape[1] + 1), dtype=np.int64)
    while boxes.window.size and np.isfinite(seen):
        still_wanted()
        few = boxes.points <= priced.few
        work += boxes.window[~few].size + boxes.points[few].sum() / _POINTS_OF_A_BOX
        done = work > most_work
        if not done:
            seen, best = _try_few(priced, boxes.chosen(few), seen, best)
            boxes = boxes.chosen(~few)
        rho, rest = seen * (1 + slack), [boxes.chosen(none)]
        parts = -(-boxes.window.size // priced.most_boxes)
        for part in np.array_split(np.arange(boxes.window.size), max(1, parts)):
            if not part.size:
                continue
            here = boxes.chosen(part)
            above, top, y, side = priced.bounded(here, rho)
            if done:
                ceiling = max(ceiling, float(top[above].max(initial=0.0)))
            counts = here.low + np.rint(y * (here.high - here.low)).astype(np.int64)
            seen, best = _best(priced, np.column_stack([here.window, counts])[above], seen, best)
            rest.append(_split(here.chosen(above), y[above], side[above]))
        if done:
            break
        boxes = Boxes(*(np.concatenate(column) for column in zip(*rest, strict=True)))
    return RatioBound(max(ceiling, seen * (1 + slack)), best, work)


def _best(priced: Priced, types: Whole, seen: float, best: Whole) -> tuple[float, Whole]:
    """The largest ratio so far, and the types that were it once."""
    if not len(types):
        return seen, best
    ratios = priced.ratios(types)
    if ratios.max() <= seen:
        return seen, best
    return float(ratios.max()), np.vstack([best, types[[int(ratios.argmax())]]])


def _try_few(priced: Priced, boxes: Boxes, seen: float, best: Whole) -> tuple[float, Whole]:
    """Every split of boxes that hold few."""
    sizes = boxes.points.astype(np.int64)
    for part in np.array_split(np.arange(sizes.size), max(1, sizes.size * priced.few // 200_000)):
        count = sizes[part]
        owner = np.repeat(part, count)
        rest = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        types = np.empty((owner.size, boxes.low.shape[1] + 1), dtype=np.int64)
        types[:, 0] = boxes.window[owner]
        for i in range(boxes.low.shape[1]):
            rest, digit = np.divmod(rest, (boxes.high - boxes.low)[owner, i] + 1)
            types[:, 1 + i] = boxes.low[owner, i] + digit
        seen, best = _best(priced, types, seen, best)
    return seen, best


def _split(boxes: Boxes, y: Array, side: Whole) -> Boxes:
    """Every box in two, divided at the point on the given side."""
    rows = np.arange(boxes.window.size)
    left, right = boxes.low[rows, side], boxes.high[rows, side]
    share = y[rows, side]
    share = np.where((share < 0.1) | (share > 0.9), 0.5, share)
    cut = np.clip(np.floor(left + share * (right - left)).astype(np.int64), left, right - 1)
    first_high, second_low = boxes.high.copy(), boxes.low.copy()
    first_high[rows, side] = cut
    second_low[rows, side] = cut + 1
    return Boxes(
        np.concatenate([boxes.window, boxes.window]),
        np.vstack([boxes.low, second_low]),
        np.vstack([first_high, boxes.high]),
    )
