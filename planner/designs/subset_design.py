"""Subset designs: the best of all mechanisms, as passed from a solver to a mechanism.

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

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.errors import InputError
from planner.frames import Framed
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["NO_SPLIT", "DesignCertificate", "OutputTypes", "SubsetDesign", "Variances", "pooled"]

Array = NDArray[np.float64]
NO_SPLIT = 1e-6
"""Sides whose likelihoods differ by less, relatively, tell nothing apart."""


class Variances(NamedTuple):
    """What one person adds to the variance of one item's estimated count.

    Attributes
    ----------
    other:
        Shape ``(t, t)``: a person of level ``k`` (row) to an item of level ``i`` (column)
        that is not their answer. 0 on the diagonal of a one-item level: there is no such item.
    own:
        Shape ``(t,)``: a person of level ``k`` to the item that is their answer.
    """

    other: Array
    own: Array


@dataclass(frozen=True, slots=True, eq=False, init=False)
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

    Raises
    ------
    InputError
        The shapes do not fit, or a number is outside its range.

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

    def __init__(
        self,
        item_counts: ArrayLike,
        weights: ArrayLike,
        low: ArrayLike,
        high: ArrayLike,
        high_counts: ArrayLike,
    ) -> None:
        fields = {"item_counts": item_counts, "weights": weights}
        fields |= {"low": low, "high": high, "high_counts": high_counts}
        for name, given in fields.items():
            kind = np.int64 if name.endswith("counts") else np.float64
            value = np.array(given, dtype=kind)
            free = name in ("item_counts", "weights")
            expected = (value.size,) if free else (self.size, self.item_counts.size)
            if value.shape != expected:
                raise InputError(name, value.shape, f"of shape {expected}", "Check the types.")
            value.setflags(write=False)
            object.__setattr__(self, name, value)
        self._check("weights", self.weights, self.weights > 0, "above 0")
        sides = (self.low >= 0) & (self.low <= self.high) & np.isfinite(self.high)
        self._check("low", self.low, sides, "at least 0 and at most the type's high")
        counts = (self.high_counts >= 0) & (self.high_counts <= self.item_counts)
        self._check("high_counts", self.high_counts, counts, "from 0 to the level's items")

    @staticmethod
    def _check(name: str, value: NDArray[np.generic], good: NDArray[np.bool_], range_: str) -> None:
        for place in np.argwhere(~good)[:1]:
            where = "".join(f"[{index}]" for index in place)
            raise InputError(f"{name}{where}", value[tuple(place)].item(), range_, "Correct it.")

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
        """Mean likelihood of a level's items, shape ``(n, t)``.

        ``weights @ means`` is 1 for every level: it is the total probability.
        """
        return self.low + (self.high - self.low) * (self.high_counts / self.item_counts)

    @property
    def probabilities(self) -> Array:
        """``Pr[type, own side | level]``, shape ``(t, n, 2)``; side 0 is low, 1 is high."""
        high = self.weights[:, None] * self.high * (self.high_counts / self.item_counts)
        low = self.weights[:, None] * self.low * (self.low_counts / self.item_counts)
        return np.stack([low.T, high.T], axis=2)

    def estimator(self, prior: ArrayLike) -> Array:
        """The unbiased linear estimator with the smallest total error if answers follow ``prior``.

        The estimated count of item ``x`` of level ``i`` is the sum over all reports of
        ``g[o, i, side]``, with ``o`` the report's type and ``side`` that of ``x`` in it
        (0 low, 1 high). It is unbiased for **all** populations, exactly, whatever ``prior``.

        With ``w_o = sum_i prior_i mean_oi``, ``ev_i`` the information on differences within
        level ``i`` and ``B`` that on the levels' totals (docs/theory/designs.md, block form),

            g[o, i, side] = [(v_side - mean_oi) / ev_i + (B^-1 mean_o)_i / m_i] / w_o

        Parameters
        ----------
        prior:
            Share of people in each level, shape ``(t,)``, not negative. Between levels without
            a common type (components of the policy) only the shares within one matter.

        Returns
        -------
        g:
            Shape ``(n, t, 2)``; 0 for a side without items and a level without the type.

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
        m = self.item_counts.astype(np.float64)
        means = self.means
        expected = means @ np.asarray(prior, dtype=np.float64)
        if not (expected > 0).all():
            raise InputError("prior", prior, "above 0 in a level of every type", "Spread it.")
        share = self.weights / expected
        within = share @ self._spread()
        between = (means * share[:, None]).T @ means
        totals = np.linalg.lstsq(between, means.T, rcond=1e-15)[0].T / m
        several = self.item_counts > 1
        if not (within[several] > 0).all() or np.linalg.matrix_rank(between) < m.size:
            raise InputError("types", self.size, "enough to tell all items apart", "Add types.")
        slope = np.divide(1.0, within, out=np.zeros_like(within), where=several)
        x = self.high_counts / self.item_counts
        gap = self.high - self.low
        low = (totals - gap * x * slope) / expected[:, None]
        high = (totals + gap * (1 - x) * slope) / expected[:, None]
        present = self.high > 0
        low = np.where((self.low_counts > 0) & present, low, 0.0)
        high = np.where((self.high_counts > 0) & present, high, 0.0)
        return np.stack([low, high], axis=2)

    @property
    def pair_losses(self) -> Array:
        """Log-ratio of a report between two items of a pair of levels, at most, ``(t, t)``, nats.

        NaN on the diagonal of a level with a single item, which has no pair.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            low, high = np.log(self.low), np.log(self.high)
            # A side on which nobody stands is in no report.
            most = np.where(self.high_counts > 0, high, low)
            least = np.where(self.low_counts > 0, low, high)
            # NaN where neither level ever sends the type.
            losses = np.nanmax(most[:, :, None] - least[:, None, :], axis=0)
        losses = np.maximum(losses, losses.T)
        alone = self.item_counts == 1
        losses[np.diag_indices(losses.shape[0])] = np.where(alone, np.nan, np.diag(losses))
        return np.asarray(losses)

    def _spread(self) -> Array:
        """``sum over a level's items of (v - mean)^2 / (m - 1)``, shape ``(n, t)``."""
        m = self.item_counts
        x = self.high_counts / m
        others = np.maximum(m - 1, 1)
        return np.square(self.high - self.low) * x * self.low_counts / others

    def variances(self, estimator: Array) -> Variances:
        """What one person adds to the variance of one item's estimated count, exactly.

        Sums of terms that are never negative: no digits cancel, for any number of items.

        Parameters
        ----------
        estimator:
            From :meth:`estimator`, shape ``(n, t, 2)``.

        Examples
        --------
        >>> types = OutputTypes([3], [0.5], [[1.0]], [[4.0]], [[1]])
        >>> other, own = types.variances(types.estimator([1.0]))
        >>> other.round(4).tolist(), own.round(4).tolist()
        ([[0.5556]], [0.8889])
        """
        other, own = self.expectations(np.square(estimator))
        return Variances(other, np.maximum(own - 1, 0.0))

    def expectations(self, numbers: Array) -> tuple[Array, Array]:
        """Mean of ``numbers[o, i, side]`` over one person's reports, by their and the item's level.

        For an unbiased estimator 0 for every item that is not the person's answer, and 1 for
        the one that is.

        Parameters
        ----------
        numbers:
            One by type, level and side, shape ``(n, t, 2)``.

        Returns
        -------
        other, own:
            Of the shapes of :class:`Variances`.

        Examples
        --------
        >>> types = OutputTypes([3], [0.5], [[1.0]], [[4.0]], [[1]])
        >>> other, own = types.expectations(types.estimator([1.0]))
        >>> abs(other).round(12).tolist(), own.round(12).tolist()
        ([[0.0]], [1.0])
        """
        m = self.item_counts.astype(np.float64)
        counts = np.stack([self.low_counts, self.high_counts], axis=2).astype(np.float64)
        values = np.stack([self.low, self.high], axis=2) * self.weights[:, None, None]
        shares = counts / m[:, None]
        other = (values * shares).sum(axis=2).T @ (numbers * shares).sum(axis=2)
        # Two different items of one level: the second side has one item less to offer.
        rest = (counts[:, :, None, :] - np.eye(2)) / np.maximum(m - 1, 1)[:, None, None]
        within = np.einsum("ois,oisr,oir->i", values * shares, np.maximum(rest, 0), numbers)
        np.fill_diagonal(other, np.where(m > 1, within, 0.0))
        return other, np.einsum("ois,ois->i", values * shares, numbers)

    def level_errors(self, prior: ArrayLike, weights: ArrayLike = 1.0) -> Array:
        """Squared error that a person of each level adds, summed over all items, shape ``(t,)``.

        Parameters
        ----------
        prior:
            The estimator's, see :meth:`estimator`.
        weights:
            Importance of an item's error, by level; 1 when omitted.

        Examples
        --------
        >>> types = OutputTypes([3], [0.5], [[1.0]], [[4.0]], [[1]])
        >>> types.level_errors([1.0]).round(4).tolist()
        [2.0]
        """
        other, own = self.variances(self.estimator(prior))
        weight = np.broadcast_to(np.asarray(weights, dtype=np.float64), own.shape)
        return (other * (self.item_counts - np.eye(own.size))) @ weight + own * weight


@dataclass(frozen=True, slots=True)
class DesignCertificate:
    """A proof of how good a design is among **all** mechanisms, whatever solver found it.

    Attributes
    ----------
    lower_bound:
        No non-interactive mechanism that keeps the pair budgets, with any unbiased estimator
        of the counts, linear or not, has a smaller objective per user.
    relative_gap:
        ``(objective - lower_bound) / lower_bound``, not negative: the proven distance. Infinite
        where the bound is 0, that is for errors of a millionth and less, lost in rounding.
    """

    lower_bound: float
    relative_gap: float


@dataclass(frozen=True, slots=True, eq=False)
class SubsetDesign(Framed):
    """The best of all mechanisms for a policy: types of reports, their error, and the proof.

    Attributes
    ----------
    policy:
        The levels, their budgets and the pair rule that the design keeps.
    types:
        The types of reports (:class:`OutputTypes`), over groups of levels.
    groups:
        The group of each level, shape ``(t,)``: levels with the same budgets, or too many to
        tell apart, share one. Their items stand together in one pool of the types, whose
        ``item_counts`` and columns are by group. ``[0, 1, 2, ...]`` if each level is alone.
    prior:
        Shares of people in the groups for which the estimator is best, shape ``(groups,)``: the
        least favourable ones, unless the objective assumes others.
    objective:
        What was minimised.
    certificate:
        Proof of how far from the best of all mechanisms the design is at most.

    Examples
    --------
    >>> from planner import best_design
    >>> design = best_design(PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90]))
    >>> round(design.worst_case_mse, 4), design.certificate.relative_gap < 1e-6
    (175.8053, True)
    """

    model: ClassVar[str] = "subset-design"
    method: ClassVar[str] = "columns"
    shadow_prices: ClassVar[None] = None

    policy: PrivacyPolicy
    types: OutputTypes
    groups: NDArray[np.int64]
    prior: Array
    objective: Objective = field(default_factory=Objective)
    certificate: DesignCertificate | None = None

    def __post_init__(self) -> None:
        groups = np.array(self.groups, dtype=np.int64)
        prior = np.array(self.prior, dtype=np.float64)
        size = self.types.item_counts.size
        if prior.shape != (size,):
            allowed = f"one share per group, shape ({size},)"
            raise InputError("prior", prior.shape, allowed, "Give every group its share.")
        pooled = groups.shape == (self.policy.size,) and groups.min() >= 0 and groups.max() < size
        if not pooled or (_pools(self.policy, groups, size) != self.types.item_counts).any():
            allowed = "the groups of the types, with the items of all their levels"
            raise InputError("groups", groups.tolist(), allowed, "Group the levels again.")
        for name, value in (("groups", groups), ("prior", prior)):
            value.setflags(write=False)
            object.__setattr__(self, name, value)

    @property
    def group_names(self) -> tuple[str, ...]:
        """What each group of levels is called: by its levels, the first of them if many."""
        names = np.array(self.policy.names, dtype=object)
        return tuple(_listed(names[self.groups == g]) for g in range(self.types.item_counts.size))

    @property
    def estimator(self) -> Array:
        """What a report adds to an item's estimated count, by type, group and side of the item.

        Shape ``(n, groups, 2)``; see :meth:`OutputTypes.estimator`.
        """
        return self.types.estimator(self.prior)

    @property
    def variances(self) -> Variances:
        """What one person adds to the variance of one item's estimated count, by group."""
        return self.types.variances(self.estimator)

    @property
    def level_errors(self) -> Array:
        """Total squared error that a person of each level adds, all items, shape ``(t,)``."""
        return self._level_errors(np.ones(self.policy.size))

    @property
    def worst_case_mse(self) -> float:
        """Total mean squared error per user for the least favourable counts."""
        return float(self.level_errors.max())

    @property
    def objective_value(self) -> float:
        """The minimised objective, per user; the worst-case error unless chosen otherwise."""
        return self.value(self.objective)

    def value(self, objective: Objective) -> float:
        """The error per user in the sense of another objective, with the same estimator.

        Raises
        ------
        InputError
            It is the error of the worst single item, which designs are not made for.
        """
        if objective.kind == "minimax":
            allowed = '"worst-case" or "expected" for a design'
            raise InputError("objective", objective.kind, allowed, "Use solve() for a table.")
        weights = objective.coefficients(self.policy).noise_sum / self.policy.item_counts
        errors = self._level_errors(weights)
        if objective.prior is not None:
            return float(np.asarray(objective.prior) @ errors)
        return float(errors.max())

    @property
    def a(self) -> Array:
        """Probability that a person's own item is on the high side, by level, shape ``(t,)``."""
        return self._high_side[1][self.groups]

    @property
    def b(self) -> Array:
        """The largest probability, whatever the answer, that another item is, shape ``(t,)``."""
        return self._high_side[0].max(axis=0)[self.groups]

    @property
    def least_b(self) -> Array:
        """The smallest such probability, shape ``(t,)``."""
        other = np.where(self._present, self._high_side[0], np.inf)
        return other.min(axis=0)[self.groups]

    @property
    def noise(self) -> Array:
        """Variance of a rare item's count per user, at most, whatever the answers, ``(t,)``."""
        return self.variances.other.max(axis=0)[self.groups]

    @property
    def signal(self) -> Array:
        """Extra variance per user who has the item, at most and at least 0, shape ``(t,)``."""
        return np.maximum(self.variances.own[self.groups] - self.noise, 0.0)

    @property
    def saturation_epsilon(self) -> float | None:
        """Budget beyond which a level gains nothing (rule ``"min"``): twice the smallest, nats.

        No mechanism can use more. ``None`` for other rules.
        """
        return 2 * float(self.policy.epsilons.min()) if self.policy.rule.saturates else None

    @property
    def pair_losses(self) -> Array:
        """Log-ratio of a report between two items of a pair of levels, at most, ``(t, t)``.

        0 for a level with a single item, which has no pair.
        """
        losses = self.types.pair_losses
        return np.where(np.isnan(losses), 0.0, losses)[np.ix_(self.groups, self.groups)]

    @property
    def _high_side(self) -> tuple[Array, Array]:
        """Probabilities of the high side: another item's, by the answer's group, and one's own."""
        types = self.types
        side = np.zeros((*types.high_counts.shape, 2))
        # Sides that tell nothing apart are deployed as one, the low one.
        alike = types.low >= types.high * (1 - NO_SPLIT)
        side[:, :, 1] = ~alike | (types.low_counts == 0)
        return self.types.expectations(side)

    @property
    def _present(self) -> NDArray[np.bool_]:
        """Where there is an item of a group (column) beside an answer of a group (row)."""
        return (self.types.item_counts > 1) | ~np.eye(self.types.item_counts.size, dtype=np.bool_)

    def _level_errors(self, weights: Array) -> Array:
        other, own = self.variances
        total = np.bincount(self.groups, weights * self.policy.item_counts)
        return (other @ total)[self.groups] + weights * (own - np.diag(other))[self.groups]

    @property
    def summary(self) -> str:
        """The design, its error per user, and what is proven about it."""
        words = (
            f"subset design, {self.types.size} types of reports: "
            f"worst-case error {self.worst_case_mse:.6g} per user"
        )
        if self.certificate is None:
            return f"{words}."
        gap = self.certificate.relative_gap
        return f"{words}; proven within {gap:.1g} of the best of all mechanisms."

    def to_frame(self) -> DataFrame:
        """One row a type and group of levels.

        Columns: ``type`` (from 1), ``level`` (names of the group's levels), ``items``, ``weight``
        (of the type), ``low`` and ``high`` (likelihoods), ``high_items`` (on the high side),
        ``probability`` (of the type for a person of the group), ``high_share`` (probability that
        their own item is then on the high side; ``nan`` where the type is never sent).
        """
        from pandas import DataFrame

        n, t = self.types.size, self.types.item_counts.size
        chance = self.types.probabilities.transpose(1, 0, 2)
        total = chance.sum(axis=2)
        share = np.divide(chance[:, :, 1], total, out=np.full((n, t), np.nan), where=total > 0)
        return DataFrame(
            {
                "type": np.repeat(np.arange(1, n + 1), t),
                "level": self.group_names * n,
                "items": np.tile(self.types.item_counts, n),
                "weight": np.repeat(self.types.weights, t),
                "low": self.types.low.ravel(),
                "high": self.types.high.ravel(),
                "high_items": self.types.high_counts.ravel(),
                "probability": total.ravel(),
                "high_share": share.ravel(),
            }
        )


def pooled(
    policy: PrivacyPolicy, groups: NDArray[np.int64], least: np.ufunc = np.minimum
) -> PrivacyPolicy:
    """The policy over groups of levels, a pair's budget being the least of all that it stands for.

    Parameters
    ----------
    policy:
        The levels.
    groups:
        The group of each level, from 0, shape ``(t,)``.
    least:
        ``np.minimum``: whoever keeps the result keeps the policy. ``np.maximum``: the reverse.

    Examples
    --------
    >>> policy = PrivacyPolicy([1.0, 2.0, 3.0, 1.0], [5, 1, 1, 5])
    >>> groups = pooled(policy, np.array([0, 1, 1, 0]))
    >>> groups.epsilons.tolist(), groups.item_counts.tolist()
    ([1.0, 2.0], [10, 2])
    """
    size = np.arange(int(groups.max()) + 1)
    items = np.bincount(groups, policy.item_counts).astype(np.int64)
    epsilons = np.array([least.reduce(policy.epsilons[groups == g]) for g in size])
    if policy.rule.by_level:
        return PrivacyPolicy(epsilons, items, policy.rule)
    bounds, rule = policy.bounds(), np.empty((size.size, size.size))
    # A level's only item has no other to be told from.
    alone = (policy.item_counts == 1) & (np.bincount(groups)[groups] > 1)
    for g in size:
        for h in size:
            block = bounds[np.ix_(groups == g, groups == h)]
            if g == h and alone.any():
                block = block[~np.diag(alone[groups == g])]
            rule[g, h] = least.reduce(block, axis=None)
    return PrivacyPolicy(epsilons, items, rule)


def _listed(names: NDArray[np.object_]) -> str:
    return ", ".join(names) if names.size <= 3 else f"{names[0]} and {names.size - 1} more"


def _pools(policy: PrivacyPolicy, groups: NDArray[np.int64], size: int) -> Array:
    """Items of every group, shape ``(groups,)``."""
    return np.bincount(groups, policy.item_counts, minlength=size).astype(np.float64)
