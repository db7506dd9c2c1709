"""The distribution of a number from reports about its cell: shares, quantiles, histogram, curves.

A number is put into one of ``d`` cells of equal width on the device, and the cells are ordered
answers. Unbiased are the shares of people up to the end of each cell. Two curves are made of them:

- the **consistent** one: the nearest shares that rise (least squares), with straight lines between
  the ends of cells. It has limits, and bends only where reports say so;
- the **smoothed** one: maximum likelihood by EM over finer cells, smoothed after every step with
  the weights 1/4, 1/2, 1/4 (EMS: Silverman, Jones, Wilson and Nychka 1990; for private reports Li
  et al., SIGMOD 2020). It is the better one where the true curve is smooth and reports are few,
  and has no limits: it is pulled towards an even distribution, and flattens spikes.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp

import numpy as np
from numpy.typing import ArrayLike

from planner.arguments import finite
from planner.arrays import Array
from planner.errors import InputError
from planner.estimates.channel import OrderedEstimates, estimate_ordered
from planner.limits import CONFIDENCE
from planner.solvers.answers import Channel

FINE_CELLS = 256
"""Cells of the smoothed curve, at least."""

_MOST_EM_STEPS = 10_000
_LIKELIHOOD_RISE = 1e-4  # times e^epsilon: a step that gains less is the last one
_KERNEL = (0.25, 0.5, 0.25)


@dataclass(frozen=True, slots=True)
class BetweenLimits:
    """An estimate with the ends of its interval, in the number's unit or as a share."""

    value: float
    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class DistributionEstimates:
    """What reports say of the distribution of a number.

    Attributes
    ----------
    edges:
        Ends of the cells, rising, shape ``(d + 1,)``, in the number's unit.
    shares_up_to:
        The estimated shares up to the end of each cell, of those who answered.
    smoothed:
        Shares of people in finer cells of equal width by EMS, shape ``(fine,)``, sum 1.

    Examples
    --------
    >>> from planner.planning.distribution import plan_distribution
    >>> plan = plan_distribution(0, 100, epsilon=3.0, people=2_000)
    >>> answers = np.random.default_rng(1).normal(50, 10, 2_000)
    >>> counts = plan.drawn_counts(answers, np.random.default_rng(2))
    >>> estimates = plan.estimate(counts)
    >>> middle = estimates.quantile(0.5)
    >>> middle.lower < 50 < middle.upper, abs(middle.value - 50) < 3
    (True, True)
    """

    edges: Array
    shares_up_to: OrderedEstimates
    smoothed: Array

    def share_up_to(self, value: float) -> BetweenLimits:
        """Share of those who answered with at most this value, and limits for all values at once.

        Within a cell the consistent share is taken on a straight line; its limits are the lower one
        at the end before and the upper one at the end after, which hold whatever lies between, as
        shares up to rise. They are simultaneous: all hold together at the stated confidence.
        InputError for a value outside the range.
        """
        finite("value", value)
        least = self.edges[0]
        most = self.edges[-1]
        if not least <= value <= most:
            allowed = f"from {least:g} to {most:g}"
            raise InputError("value", value, allowed, "Give a value within the range.")
        lower, upper = self._band
        # The ends of the cell that holds the value; of an end itself both are this end.
        not_above = int(np.searchsorted(self.edges, value, side="right"))
        not_below = int(np.searchsorted(self.edges, value, side="left"))
        share = np.interp(value, self.edges, self.consistent)
        return BetweenLimits(
            value=float(share),
            lower=float(lower[not_above - 1]),
            upper=float(upper[not_below]),
        )

    def quantile(self, share: float = 0.5) -> BetweenLimits:
        """The value up to which this share of those who answered lie, with limits.

        The limits are the ends of cells at which the share up to them is surely not above, and
        surely not below: together for all quantiles. InputError unless 0 < ``share`` < 1.
        """
        if not 0 < share < 1:
            remedy = "Use 0.5 for the median."
            raise InputError("share", share, "strictly between 0 and 1", remedy)
        # The first end up to which there are so many: the value is in the cell before it.
        end = int(np.searchsorted(self.consistent, share, side="left"))
        share_before = float(self.consistent[end - 1])
        share_of_cell = float(self.consistent[end]) - share_before
        part = (share - share_before) / max(share_of_cell, 1e-300)
        cell_start = self.edges[end - 1]
        width = self.edges[end] - cell_start
        value = float(cell_start + part * width)
        lower, upper = self._band
        # Below the last end that surely has less, and above the first that surely has more.
        first_possible = int(np.argmax(upper >= share))
        surely_less = max(first_possible - 1, 0)
        surely_more = int(np.argmax(lower >= share))
        least = float(self.edges[surely_less])
        most = float(self.edges[surely_more])
        return BetweenLimits(
            value=value,
            lower=min(least, value),
            upper=max(most, value),
        )

    def histogram(self) -> tuple[Array, Array, Array]:
        """Consistent share of each cell, and its limits, each on its own, shape ``(d,)``."""
        cells = self.edges.size - 1
        each_cell = np.eye(cells, dtype=np.bool_)
        *_, lower, upper = self.shares_up_to.among(each_cell)
        lower = np.clip(lower, 0, 1)
        upper = np.clip(upper, 0, 1)
        return self.shares_up_to.shares, lower, upper

    @property
    def consistent(self) -> Array:
        """The consistent share up to each of the edges, from 0 to 1, shape ``(d + 1,)``."""
        return np.append(0.0, self.shares_up_to.consistent)

    @property
    def smoothed_edges(self) -> Array:
        """Ends of the smoothed curve's cells."""
        ends = self.smoothed.size + 1
        return np.linspace(self.edges[0], self.edges[-1], ends)

    def smoothed_share_up_to(self, values: ArrayLike) -> Array:
        """The smoothed curve: share up to each value, rising from 0 to 1; no limits are known."""
        up_to = np.append(0.0, np.cumsum(self.smoothed))
        numbers = np.asarray(values, dtype=np.float64)
        shares = np.interp(numbers, self.smoothed_edges, up_to)
        return np.asarray(shares)

    @property
    def _band(self) -> tuple[Array, Array]:
        """Limits of the shares up to each edge together; at the lower end nobody is below."""
        lower, upper = self.shares_up_to.band
        lower = np.append(0.0, lower)
        upper = np.append(0.0, upper)
        return lower, upper


def estimate_distribution(
    channel: Channel,
    edges: ArrayLike,
    counts: ArrayLike,
    confidence: float = CONFIDENCE,
    *,
    no_answer: bool = False,
) -> DistributionEstimates:
    """Shares, quantiles and curves from how many people sent each report of a channel of cells.

    Parameters
    ----------
    channel:
        One for the shares up to each cell, as of :func:`planner.best_ordered_channel`.
    edges:
        Ends of its cells, of equal width, rising.
    counts:
        Number of people who sent each report, shape ``(outputs,)``.
    confidence:
        Of the limits.
    no_answer:
        Whether the channel's last answer is that of people without a number.

    Raises
    ------
    InputError
        Edges that do not fit the channel, or bad counts or confidence.
    """
    ends = np.asarray(edges, dtype=np.float64)
    cells = channel.policy.size - no_answer
    if ends.shape != (cells + 1,) or not (np.diff(ends) > 0).all():
        allowed = f"{cells + 1} rising numbers, the ends of {cells} cells"
        raise InputError("edges", edges, allowed, "Give the edges of the plan.")
    ordered = estimate_ordered(channel, counts, confidence, no_answer=no_answer)
    smoothed = smoothed_shares(channel.matrix, counts, cells)
    return DistributionEstimates(ends, ordered, smoothed)


def smoothed_shares(matrix: Array, counts: ArrayLike, cells: int) -> Array:
    """Shares of people in finer cells by EMS, of those who answered.

    ``matrix`` has a row for each of the ``cells``, and one more if there is an answer outside the
    order, whose share is not smoothed. A person in a finer cell reports as its cell does.

    Examples
    --------
    >>> response = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> shares = smoothed_shares(response, [750, 250], 2)
    >>> shares.size, bool(shares[0] > 5 * shares[-1]), round(float(shares.sum()), 9)
    (256, True, 1.0)
    """
    # Every cell is cut into as many parts, so that there are FINE_CELLS at least.
    parts = -(-FINE_CELLS // cells)
    finer = cells * parts
    of_finer = np.repeat(matrix[:cells], parts, axis=0)
    laws = np.vstack([of_finer, matrix[cells:]])
    # Reports that nobody sent say nothing.
    counts = np.asarray(counts, dtype=np.float64)
    was_sent = counts > 0
    laws = laws[:, was_sent]
    counts = counts[was_sent]
    largest_ratio = matrix / matrix.min(axis=0)
    epsilon = float(np.log(largest_ratio).max())
    least_rise = _LIKELIHOOD_RISE * exp(epsilon)
    shares = np.full(len(laws), 1 / len(laws))
    last_likelihood = -np.inf
    for _ in range(_MOST_EM_STEPS):
        expected = shares @ laws
        # The EM step for a mixture of known laws; the kernel smooths it (EMS).
        shares = shares * (laws @ (counts / expected))
        shares /= shares.sum()
        shares[:finer] = _smoothed(shares[:finer])
        likelihood = float(counts @ np.log(shares @ laws))
        if abs(likelihood - last_likelihood) < least_rise:
            break
        last_likelihood = likelihood
    of_curve = shares[:finer]
    return of_curve / of_curve.sum()


def _smoothed(shares: Array) -> Array:
    """Each share mixed with its neighbours'; what would leave at an end stays there."""
    padded = np.concatenate([shares[:1], shares, shares[-1:]])
    return np.convolve(padded, _KERNEL, mode="valid")
