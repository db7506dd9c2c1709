"""Estimated counts: how sure they are, and post-processing that says what it did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.errors import InputError
from planner.frames import Framed


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Estimates(Framed):
    """Unbiased estimates with standard errors.

    Attributes
    ----------
    values:
        Estimated quantities, shape ``(k,)``; for frequencies the number of users
        per item. Unbiased, hence possibly negative.
    standard_errors:
        Estimated standard deviation of each, same shape and unit.
    null_standard_errors:
        The standard deviation each would have if the truth were zero.
    users:
        Number of reports behind them, at least 1.

    Raises
    ------
    InputError
        No users, columns of different lengths, or numbers that are not finite.

    Examples
    --------
    >>> counts = Estimates([90.0, -8.0], [10.0, 9.0], [9.0, 9.0], users=200)
    >>> lower, upper = counts.intervals(level=0.95)
    >>> lower.round(1).tolist(), upper.round(1).tolist()
    ([70.4, -25.6], [109.6, 9.6])
    >>> counts.significant(level=0.99).tolist()
    [True, False]
    >>> counts.clipped().values.tolist()
    [90.0, 0.0]
    """

    values: NDArray[np.float64]
    standard_errors: NDArray[np.float64]
    null_standard_errors: NDArray[np.float64]
    users: int

    def __post_init__(self) -> None:
        if self.users < 1:
            raise InputError("users", self.users, "at least 1", "Collect reports first.")
        for name in ("values", "standard_errors", "null_standard_errors"):
            column = np.array(getattr(self, name), dtype=np.float64)
            if column.ndim != 1 or column.shape != np.shape(self.values) or column.size == 0:
                remedy = "Give as many values as standard errors, one or more."
                raise InputError(name, column.shape, "a column, one number per estimate", remedy)
            if not np.isfinite(column).all() or (name != "values" and column.min() < 0):
                allowed = "finite; and, for standard errors, not negative"
                remedy = "A value that is not known has no estimate: leave it out everywhere."
                raise InputError(name, column, allowed, remedy)
            column.setflags(write=False)
            object.__setattr__(self, name, column)

    # -- how sure ------------------------------------------------------------

    def intervals(
        self, level: float = 0.95, simultaneous: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lower and upper ends of confidence intervals for the true quantities.

        They cover the randomness of the reports, not of who was asked. Estimates are sums
        over many users, taken as normal.

        Parameters
        ----------
        level:
            Probability of covering, above 0, below 1.
        simultaneous:
            False: each interval covers with probability ``level``. True: all
            of them together do (Bonferroni).
        """
        share = tail_share(level, self.values.size if simultaneous else 1)
        reach = normal_quantile(1 - share / 2) * self.standard_errors
        return self.values - reach, self.values + reach

    def smallest_significant(
        self, level: float = 0.95, simultaneous: bool = True
    ) -> NDArray[np.float64]:
        """The smallest estimate that is distinguishable from zero, shape ``(k,)``.

        One-sided: an item that nobody has exceeds it with probability ``1 - level``;
        with ``simultaneous``, any such item of all does (Bonferroni).
        """
        share = tail_share(level, self.values.size if simultaneous else 1)
        return normal_quantile(1 - share) * self.null_standard_errors

    def significant(self, level: float = 0.95, simultaneous: bool = True) -> NDArray[np.bool_]:
        """Which estimates are distinguishable from zero; see :meth:`smallest_significant`."""
        return self.values > self.smallest_significant(level, simultaneous)

    # -- post-processing: costs no privacy, and unbiasedness is lost ----------

    def clipped(self) -> ProcessedCounts:
        """Every count moved into ``[0, users]``. Small counts become too large on average."""
        values = np.clip(self.values, 0, self.users)
        return ProcessedCounts(values, "clipped to [0, users]; no longer unbiased")

    def on_simplex(self) -> ProcessedCounts:
        """The nearest counts that are not negative and sum to ``users``, for single items.

        Nearest by least squares weighted by one over the variance ``s_k^2`` that the count of
        an absent item would have: minimise ``sum (x_k - v_k)^2 / s_k^2``. The solution is
        ``max(0, v_k - lambda s_k^2)``: an item of a noisier level gives way more than one of
        another, where subtracting the same number from all ("norm-sub", Wang et al., NDSS 2020)
        is right only for equal variances. Weights that grow with the count itself would let
        one large count pay for the noise of all others, and can be far worse than doing
        nothing (docs/how-to/collect.md has the comparison).

        Examples
        --------
        >>> Estimates([60, 50, -2], [5, 10, 5], [5, 10, 5], users=100).on_simplex().values.tolist()
        [58.0, 42.0, 0.0]
        """
        v, weight = self.values, np.square(np.maximum(self.null_standard_errors, 1e-300))
        order = np.argsort(-v / weight, kind="stable")
        shift = (np.cumsum(v[order]) - self.users) / np.cumsum(weight[order])
        active = np.flatnonzero(v[order] / weight[order] > shift)  # a prefix, never empty
        multiplier = shift[active[-1]]
        values = np.maximum(0.0, v - multiplier * weight)
        return ProcessedCounts(values, "weighted projection onto the simplex; no longer unbiased")

    @property
    def summary(self) -> str:
        """How many reports are behind them."""
        return f"Estimates from {self.users:,} reports, with 95 % intervals."

    def columns(self) -> dict[str, Any]:
        """One row an estimate, in their order, with its 95 % interval."""
        lower, upper = self.intervals()
        return {
            "estimate": self.values,
            "standard_error": self.standard_errors,
            "lower": lower,
            "upper": upper,
            "significant": self.significant(),
        }


@dataclass(frozen=True, slots=True, eq=False)
class ProcessedCounts:
    """Post-processed counts. They look better and are biased; standard errors do not apply.

    Attributes
    ----------
    values:
        Counts in users, shape ``(k,)``.
    method:
        What was done, in words; show it with the numbers.
    """

    values: NDArray[np.float64]
    method: str


def normal_quantile(probability: float) -> float:
    """Quantile of the standard normal distribution."""
    from scipy.special import ndtri

    return float(ndtri(probability))


def tail_share(level: float, together: int = 1) -> float:
    """Chance that each of so many limits may miss, if all hold with probability ``level``.

    Raises
    ------
    InputError
        ``level`` is not above 0 and below 1.
    """
    if not 0 < level < 1:
        remedy = "Use 0.95 for limits that miss one time in twenty."
        raise InputError("level", level, "a probability above 0 and below 1", remedy)
    return (1 - level) / together
