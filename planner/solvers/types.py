"""The types of reports of a subset design, and the formulas that follow from them.

A report of a subset design has a *type* and splits the items in two: those on the high side
and those on the low side. In a report of type ``o`` exactly ``k_i`` of the ``m_i`` items of
level ``i`` are on the high side, and every such split is equally likely, whatever the answer,
but for the answer's own side. With ``v(x)`` the likelihood ``high`` or ``low`` of the side on
which item ``x`` stands,

    Pr[type o, split y | answer x] = theta_o v_y(x) / (number of splits of type o)

This module is the one home of the formulas that follow from it: probabilities, the unbiased
linear estimator, and the variances. Nothing in them grows with the number of items.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.arrays import Array
from planner.errors import InputError
from planner.policy.policy import PrivacyPolicy

N = TypeVar("N", bound=np.generic)

NO_SPLIT = 1e-6
"""Sides whose likelihoods differ by less, relatively, tell nothing apart."""


class Variances(NamedTuple):
    """What one person adds to the variance of one item's estimated count.

    ``other``, ``(t, t)``: a person of level ``k`` (row) to an item of level ``i`` (column) that is
    not their answer; 0 on the diagonal of a one-item level. ``own``, ``(t,)``: to the one that is.
    """

    other: Array
    own: Array


@dataclass(frozen=True, slots=True, eq=False)
class OutputTypes:
    """The types of a subset design, ``n`` of them, over ``t`` levels.

    Parameters
    ----------
    item_counts:
        Number of items in each level, ``m_i``, shape ``(t,)``.
    weights:
        ``theta_o``, above 0, shape ``(n,)``.
    low, high:
        Likelihoods of the two sides, ``0 <= low <= high``, shape ``(n, t)``. Only their
        products with the weight matter; the solver scales the smallest of a type to 1.
        Both are 0 for a level that never sends the type.
    high_counts:
        ``k_i``: how many of the level's items stand on the high side, ``0 <= k_i <= m_i``,
        shape ``(n, t)``.

    Examples
    --------
    Generalised randomised response on three items, ``e^eps = 4``: one type, one item high.

    >>> types = OutputTypes([3], [0.5], [[1.0]], [[4.0]], [[1]])
    >>> types.means.tolist()  # times the weight: probability 1
    [[2.0]]
    >>> types.probabilities.round(4).tolist()
    [[[0.3333, 0.6667]]]
    """

    item_counts: NDArray[np.int64]
    weights: Array
    low: Array
    high: Array
    high_counts: NDArray[np.int64]

    def __post_init__(self) -> None:
        for name in ("item_counts", "weights", "low", "high", "high_counts"):
            dtype = np.int64 if name.endswith("counts") else np.float64
            value = np.array(getattr(self, name), dtype=dtype)
            # The first two say how many levels and types there are.
            if name in ("item_counts", "weights"):
                shape: tuple[int, ...] = (value.size,)
            else:
                shape = (self.size, self.item_counts.size)
            if value.shape != shape:
                allowed = f"of shape {shape}"
                raise InputError(name, value.shape, allowed, "Check the types.")
            value.setflags(write=False)
            object.__setattr__(self, name, value)
        self._check("weights", self.weights > 0, "above 0")
        ordered = (self.low >= 0) & (self.low <= self.high)
        good_sides = ordered & np.isfinite(self.high)
        self._check("low", good_sides, "at least 0 and at most the type's high")
        good_counts = (self.high_counts >= 0) & (self.high_counts <= self.item_counts)
        self._check("high_counts", good_counts, "from 0 to the level's items")

    def _check(self, name: str, good: NDArray[np.bool_], allowed: str) -> None:
        """Refuse the first entry of the array called ``name`` that is not good."""
        if good.all():
            return
        entry = np.argwhere(~good)[0]
        subscript = "".join(f"[{index}]" for index in entry)
        value = getattr(self, name)[tuple(entry)].item()
        raise InputError(f"{name}{subscript}", value, allowed, "Correct it.")

    @property
    def size(self) -> int:
        """Number of types, ``n``."""
        return self.weights.size

    @property
    def low_counts(self) -> NDArray[np.int64]:
        """Items on the low side, ``m_i - k_i``, shape ``(n, t)``."""
        return self.item_counts - self.high_counts

    @property
    def means(self) -> Array:
        """Mean likelihood of a level's items, shape ``(n, t)``; ``weights @ means`` is 1."""
        return self.low + self._gap * self._high_shares

    @property
    def probabilities(self) -> Array:
        """``Pr[type, own side | level]``, shape ``(t, n, 2)``; side 0 is low, 1 is high."""
        by_type = self._values * self._counts / self.item_counts[:, None]
        return by_type.transpose(1, 0, 2)

    @property
    def _gap(self) -> Array:
        """How much the likelihoods of the two sides differ, shape ``(n, t)``."""
        return self.high - self.low

    @property
    def _high_shares(self) -> Array:
        """Share of a level's items on the high side, ``k_i / m_i``, shape ``(n, t)``."""
        return self.high_counts / self.item_counts

    @property
    def _counts(self) -> NDArray[np.int64]:
        """Items of either side, shape ``(n, t, 2)``."""
        return np.stack([self.low_counts, self.high_counts], axis=2)

    @property
    def _values(self) -> Array:
        """Likelihoods of either side times the type's weight, shape ``(n, t, 2)``."""
        sides = np.stack([self.low, self.high], axis=2)
        return sides * self.weights[:, None, None]

    def estimator(self, prior: ArrayLike) -> Array:
        """The unbiased linear estimator with the smallest total error if answers follow ``prior``.

        The estimated count of item ``x`` of level ``i`` is the sum over all reports of
        ``g[o, i, side]``, with ``o`` the report's type and ``side`` that of ``x`` in it
        (0 low, 1 high). It is unbiased for **all** populations, exactly, whatever ``prior``.

        With ``w_o = sum_i prior_i mean_oi``, ``ev_i`` the information on differences within
        level ``i`` and ``B`` that on the levels' totals (docs/theory/designs.md, block form),

            g[o, i, side] = [(v_side - mean_oi) / ev_i + (B^-1 mean_o)_i / m_i] / w_o

        ``prior``: share of people in each level, shape ``(t,)``, not negative. The result has
        shape ``(n, t, 2)``; it is 0 for a side without items.

        Raises
        ------
        InputError
            Some item cannot be estimated from these types, or no one may be where a type is sent.

        Examples
        --------
        >>> types = OutputTypes([3], [0.5], [[1.0]], [[4.0]], [[1]])
        >>> types.estimator([1.0]).round(4).tolist()  # the counts sum to the people
        [[[-0.3333, 1.6667]]]
        """
        m = self.item_counts
        expected = self.means @ np.asarray(prior, dtype=np.float64)
        if not (expected > 0).all():
            allowed = "above 0 in a level of every type"
            raise InputError("prior", prior, allowed, "Spread it.")
        if not self.tells_apart(prior):
            allowed = "enough to tell all items apart"
            raise InputError("types", self.size, allowed, "Add types.")
        within, weighted_means = self._information(expected)
        alike, scale = self._scaled_information(weighted_means)
        solved = np.linalg.lstsq(alike, (self.means * scale).T)[0]
        totals = solved.T * scale
        # Small budgets lose digits above; what is left of the bias is seen, and taken out.
        answered = weighted_means @ totals
        totals = np.linalg.solve(answered.T, totals.T).T / m
        # (v_side - mean) / ev: below the mean by gap x on the low side, above it by gap (1 - x).
        # A level of one item has no differences within.
        inverse = np.divide(1.0, within, out=np.zeros_like(within), where=m > 1)
        slope = self._gap * inverse
        x = self._high_shares
        differences = slope[..., None] * np.stack([-x, 1 - x], axis=2)
        g = (totals[..., None] + differences) / expected[:, None, None]
        return np.where(self._counts > 0, g, 0.0)

    def tells_apart(self, prior: ArrayLike) -> bool:
        """Whether every item can be estimated, if answers follow ``prior``, above 0."""
        expected = self.means @ np.asarray(prior, dtype=np.float64)
        within, weighted_means = self._information(expected)
        alike, _ = self._scaled_information(weighted_means)
        full_rank = np.linalg.matrix_rank(alike) == self.item_counts.size
        return bool(full_rank and (within[self.item_counts > 1] > 0).all())

    def _scaled_information(self, weighted_means: Array) -> tuple[Array, Array]:
        """``B`` with a diagonal of ones, ``(t, t)``, and the scale of each level, ``(t,)``.

        Levels whose budgets differ by powers of ten are scaled alike.
        """
        information = weighted_means @ self.means
        scale = 1 / np.sqrt(np.diagonal(information))
        return information * np.outer(scale, scale), scale

    def _information(self, expected: Array) -> tuple[Array, Array]:
        """Information on differences within levels, ``(t,)``, and weighted means, ``(t, n)``."""
        m = self.item_counts
        share = self.weights / expected
        # In each type the sum over a level's items of (v - mean)^2 / (m - 1).
        squares = np.square(self._gap) * self._high_shares * self.low_counts
        within = share @ (squares / np.maximum(m - 1, 1))
        return within, (self.means * share[:, None]).T

    @property
    def pair_losses(self) -> Array:
        """Largest log-ratio of a report, in nats, ``(t, t)``: of the row's level over another.

        Of an item of the row's level over one of the column's. It is infinite where that level
        alone never sends some type, and NaN on the diagonal of a level with a single item, which
        has no pair.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            low = np.log(self.low)
            high = np.log(self.high)
            # A side on which no item stands is in no report.
            most = np.where(self.high_counts > 0, high, low)
            least = np.where(self.low_counts > 0, low, high)
            # NaN where neither level ever sends the type.
            losses = np.nanmax(most[:, :, None] - least[:, None, :], axis=0)
        alone = np.flatnonzero(self.item_counts == 1)
        losses[alone, alone] = np.nan
        return np.asarray(losses)

    def variances(self, estimator: Array) -> Variances:
        """What one person adds to the variance of one item's estimated count, exactly.

        Sums of terms that are never negative: no digits cancel, for any number of items.

        Examples
        --------
        >>> types = OutputTypes([3], [0.5], [[1.0]], [[4.0]], [[1]])
        >>> other, own = types.variances(types.estimator([1.0]))
        >>> other.round(4).tolist(), own.round(4).tolist()
        ([[0.5556]], [0.8889])
        """
        other, same = self.expectations(np.square(estimator))
        return Variances(other, np.maximum(same - 1, 0.0))

    def expectations(self, numbers: Array) -> tuple[Array, Array]:
        """Mean of ``numbers[o, i, side]`` over one person's reports, by their and the item's level.

        For an unbiased estimator 0 for every item that is not the person's answer, and 1 for
        the one that is.

        ``numbers`` have the shape ``(n, t, 2)``, the result those of :class:`Variances`.

        Examples
        --------
        >>> types = OutputTypes([3], [0.5], [[1.0]], [[4.0]], [[1]])
        >>> other, own = types.expectations(types.estimator([1.0]))
        >>> abs(other).round(12).tolist(), own.round(12).tolist()
        ([[0.0]], [1.0])
        """
        m = self.item_counts
        counts = self._counts
        values = self._values
        shares = counts / m[:, None]
        probabilities = values * shares
        mean_numbers = (numbers * shares).sum(axis=2)
        other = probabilities.sum(axis=2).T @ mean_numbers
        # Two different items of one level: the second side has one item less to offer.
        left_over = counts[:, :, None, :] - np.eye(2)
        other_items = np.maximum(m - 1, 1)[:, None, None]
        chances = np.maximum(left_over / other_items, 0)
        within = np.einsum("ois,oisr,oir->i", probabilities, chances, numbers)
        np.fill_diagonal(other, np.where(m > 1, within, 0.0))
        same = np.einsum("ois,ois->i", probabilities, numbers)
        return other, same

    def second_moments(
        self, estimator: Array, level_of: NDArray[np.int64], shares: Array, sums: Array
    ) -> Array:
        """``E[S_j S_k]`` of what one report adds to ``sums`` of items' counts, ``(k, d)``.

        Of a person drawn from ``shares`` of the items, ``(d,)``, whose levels are ``level_of``.
        Given type and own side, each other item of a level is on the high side with the chance
        that the own side leaves it, two of a level without replacement, levels independently.

        Examples
        --------
        >>> types = OutputTypes([3], [0.5], [[1.0]], [[4.0]], [[1]])
        >>> level_of = np.zeros(3, dtype=int)
        >>> shares = np.array([1.0, 0.0, 0.0])
        >>> estimator = types.estimator([1.0])
        >>> types.second_moments(estimator, level_of, shares, np.eye(3)).round(4).tolist()
        [[1.8889, -0.4444, -0.4444], [-0.4444, 0.5556, -0.1111], [-0.4444, -0.1111, 0.5556]]
        """
        size = self.item_counts.size
        people = np.asarray(np.bincount(level_of, shares, size), dtype=np.float64)
        between_others, own_excess = self._products(estimator, people)
        # Every pair of items by their levels alone, the person's own among them or not.
        levels = np.eye(size)[level_of]
        level_sums = sums @ levels
        answers = (sums * shares) @ levels
        crossed = answers @ own_excess @ level_sums.T
        pairs = level_sums @ between_others @ level_sums.T + crossed + crossed.T
        # An item with itself is no pair of items: its square stands in the products' place.
        other, same = self.expectations(np.square(estimator))
        squares = (people @ other)[level_of]
        squares -= shares * (np.diag(other) - same)[level_of]
        squares -= (
            np.diag(between_others)[level_of]
            + 2 * shares * np.diag(own_excess)[level_of]
        )
        return np.asarray(pairs + (sums * squares) @ sums.T)

    def _products(self, estimator: Array, people: Array) -> tuple[Array, Array]:
        """Means of the product of two items' numbers in one report, by their levels, ``(t, t)``.

        The first where neither is the person's answer; ``people`` are the shares of their levels.
        The second is by how much the mean is larger where the row's item is the person's answer.
        """
        size = self.item_counts.size
        low = estimator[..., 0]
        slope = estimator[..., 1] - low
        diagonal = np.diag_indices(size)
        chances = self.probabilities
        between_others = np.zeros((size, size))
        own_excess = np.zeros((size, size))
        for g in range(size):  # the level of the person's own item
            unit = np.eye(size)[g]
            others = np.maximum(self.item_counts - unit, 1.0)
            for side in (0, 1):
                high = self.high_counts - side * unit
                weight = chances[g, :, side]
                first = np.maximum(high, 0) / others
                mean = low + slope * first
                product = np.einsum("o,oi,ok->ik", weight, mean, mean)
                # Two items of one level: the first leaves its side with one place less.
                second = np.maximum(high - 1, 0)
                pair = first * second / np.maximum(others - 1, 1.0)
                covariance = slope**2 * (pair - first**2)
                product[diagonal] += weight @ covariance
                between_others += people[g] * product
                answer_product = (weight * estimator[:, g, side]) @ mean
                own_excess[g] += answer_product - product[g]
        return between_others, own_excess


def pooled(
    policy: PrivacyPolicy, groups: NDArray[np.int64], least: np.ufunc = np.minimum
) -> PrivacyPolicy:
    """The policy over groups of levels, a pair's budget being the least of all that it stands for.

    ``np.minimum``: whoever keeps the result keeps the policy. ``np.maximum``: the reverse.

    Examples
    --------
    >>> policy = PrivacyPolicy([1.0, 2.0, 3.0, 1.0], [5, 1, 1, 5])
    >>> groups = pooled(policy, np.array([0, 1, 1, 0]))
    >>> groups.epsilons.tolist(), groups.item_counts.tolist()
    ([1.0, 2.0], [10, 2])
    """
    items = grouped(policy.item_counts, groups, np.add)
    epsilons = grouped(policy.epsilons, groups, least)
    if policy.rule.by_level:
        by_group = policy.rule.mapped(lambda budgets: grouped(budgets, groups, least))
        return PrivacyPolicy(epsilons, items, by_group)
    bounds = policy.bounds().copy()
    # A level's only item has no other to be told from.
    shared_group = np.bincount(groups)[groups] > 1
    alone = (policy.item_counts == 1) & shared_group
    bounds[alone, alone] = np.inf if least is np.minimum else 0.0
    by_row = grouped(bounds, groups, least)
    rule = grouped(by_row.T, groups, least).T
    return PrivacyPolicy(epsilons, items, rule)


def grouped(
    values: NDArray[N], groups: NDArray[np.int64], reduction: np.ufunc
) -> NDArray[N]:
    """Sums, or smallest values, of the levels of each group, of which none is empty."""
    order = np.argsort(groups, kind="stable")
    numbers = np.arange(int(groups.max()) + 1)
    starts = np.searchsorted(groups[order], numbers)
    return np.asarray(reduction.reduceat(values[order], starts, axis=0))
