"""What the types of reports say of one item: by its level, and the side on which it stands."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.errors import InputError

Array = NDArray[np.float64]

_MOST_BIAS = 1e-9


class ItemSides(NamedTuple):
    """Likelihoods of types as one item sees them.

    Attributes
    ----------
    mean:
        Of the items of each level, shape ``(n, t)``.
    share:
        Of the level's items that stand on the side (0 low, 1 high), shape ``(n, t, 2)``.
    above:
        How far the item's likelihood is above its level's mean, shape ``(n, t, 2)``.
    other:
        Mean of the other items of its level, shape ``(n, t, 2)``; 0 where there are none.
    """

    mean: Array
    share: Array
    above: Array
    other: Array

    @classmethod
    def of(cls, item_counts: NDArray[np.int64], low: Array, high: Array, x: Array) -> ItemSides:
        """From the likelihoods of both sides and the share ``x`` of items on the high one.

        Each of shape ``(n, t)``; sums of terms that are never negative.

        Examples
        --------
        >>> one = np.ones((1, 1))
        >>> sides = ItemSides.of(np.array([3]), one, 4 * one, one / 3)
        >>> sides.mean.tolist(), sides.other.tolist()
        ([[2.0]], [[[2.5, 1.0]]])
        """
        gap = high - low
        share = np.stack([1 - x, x], axis=2)
        above = np.stack([-gap * x, gap * (1 - x)], axis=2)
        at_low, at_high = item_counts * (1 - x), item_counts * x
        without_low = low * np.maximum(at_low - 1, 0) + high * at_high
        without_high = low * at_low + high * np.maximum(at_high - 1, 0)
        rest = np.maximum(item_counts - 1, 1)[:, None]
        other = np.stack([without_low, without_high], axis=2) / rest
        return cls(low + gap * x, share, above, other)


def item_estimator(
    item_counts: NDArray[np.int64], weights: Array, sides: ItemSides, others: Array
) -> Array:
    """The unbiased linear estimator of each item with least variance where nobody has the item.

    Of all ``g[o, k, side]`` that are unbiased whatever the answers, the least mean square if the
    answers of a report's sender, who has another item than one of level ``k``, follow row ``k`` of
    ``others`` (docs/theory/designs.md, the worst single item).

    Parameters
    ----------
    item_counts:
        ``m_i``, shape ``(t,)``.
    weights:
        Of the types, shape ``(n,)``.
    sides:
        The types, as one item sees them.
    others:
        Shares of people in each level (column), shape ``(t, t)``, not negative; of a row only
        the proportions matter.

    Returns
    -------
    g:
        Shape ``(n, t, 2)``; 0 for a side without items and a level without the type.

    Raises
    ------
    InputError
        Some item cannot be estimated from these types.
    """
    mean, share, above, other = sides
    m, t = item_counts, item_counts.size
    numbers = np.zeros_like(share)
    for k in range(t):
        apart = np.where(np.arange(t) == k, 0.0, others[k])
        people = (mean @ apart)[:, None] + others[k, k] * other[:, k]
        people[people <= 0] = 1.0  # nobody else sends it: any number will do
        amount = np.where(mean[:, [k]] > 0, weights[:, None] * share[:, k], 0.0)
        seen = np.concatenate([above[:, k, :, None], np.repeat(mean[:, None], 2, axis=1)], axis=2)
        rows = (seen * np.sqrt(amount / people)[:, :, None]).reshape(-1, t + 1)
        target = np.zeros(t + 1)
        target[0], target[1 + k] = 1 - 1 / m[k], 1 / m[k]
        root = np.linalg.lstsq(rows.T, target, rcond=1e-15)[0]  # the shortest
        if np.abs(rows.T @ root - target).max() > _MOST_BIAS:
            raise InputError("types", len(weights), "enough to tell all items apart", "Add types.")
        scale = np.sqrt(amount * people)
        np.divide(root.reshape(-1, 2), scale, out=numbers[:, k], where=scale > 0)
    return numbers
