"""Subset designs: the best of all mechanisms, as passed from a solver to a mechanism."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from planner.designs.level_groups import group_items, group_name, merges_budgets
from planner.designs.output_types import NO_SPLIT, OutputTypes, Variances
from planner.designs.table import Certificate
from planner.errors import InputError
from planner.frames import Framed
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
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
    certificate: Certificate | None = None

    def __post_init__(self) -> None:
        groups = np.array(self.groups, dtype=np.int64)
        prior = np.array(self.prior, dtype=np.float64)
        size = self.types.item_counts.size
        if prior.shape not in ((size,), (size, size)):
            allowed = f"one share per group, shape ({size},), or for the items of each group"
            raise InputError("prior", prior.shape, allowed, "Give every group its share.")
        pooled = groups.shape == (self.policy.size,) and groups.min() >= 0 and groups.max() < size
        if not pooled or (group_items(self.policy, groups, size) != self.types.item_counts).any():
            allowed = "the groups of the types, with the items of all their levels"
            raise InputError("groups", groups.tolist(), allowed, "Group the levels again.")
        for name, value in (("groups", groups), ("prior", prior)):
            value.setflags(write=False)
            object.__setattr__(self, name, value)

    @property
    def design(self) -> SubsetDesign:
        """What answers are drawn from, as of a design of sets: itself."""
        return self

    @property
    def group_names(self) -> tuple[str, ...]:
        """What each group of levels is called: by its levels, the first of them if many."""
        names = np.array(self.policy.names, dtype=object)
        return tuple(
            group_name(names[self.groups == g]) for g in range(self.types.item_counts.size)
        )

    @property
    def merges_budgets(self) -> bool:
        """Whether some levels give up budget to others of their group."""
        return merges_budgets(self.policy, self.groups)

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
        return self.errors(np.ones(self.policy.size))

    def errors(self, weights: Array) -> Array:
        """Squared error that a person of each level adds, all items, shape ``(t,)``.

        Parameters
        ----------
        weights:
            Importance of one item's error, by level, shape ``(t,)``.
        """
        other, own = self.variances
        total = np.bincount(self.groups, weights * self.policy.item_counts)
        return (other @ total)[self.groups] + weights * (own - np.diag(other))[self.groups]

    @property
    def worst_case_mse(self) -> float:
        """Total mean squared error per user for the least favourable counts."""
        return float(self.level_errors.max())

    @property
    def objective_value(self) -> float:
        """The minimised objective, per user; the worst-case error unless chosen otherwise."""
        return self.value(self.objective)

    def value(self, objective: Objective) -> float:
        """The error per user in the sense of another objective, with the same estimator."""
        weights = objective.item_weights(self.policy)
        if objective.kind == "minimax":
            return float((weights * self.noise).max())
        errors = self.errors(weights)
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

    @property
    def summary(self) -> str:
        """The design, its error per user, and what is proven about it."""
        error = f"worst-case error {self.worst_case_mse:.6g}"
        words = f"subset design, {self.types.size} types of reports: {error} per user"
        if self.certificate is not None:
            gap = self.certificate.relative_gap
            words += f"; proven within {gap:.1g} of the best of all mechanisms"
        if self.merges_budgets:
            words += (
                f". Its {self.policy.size} levels are merged into {self.types.item_counts.size}, "
                "each with the smallest budget of its levels: the best table may be better"
            )
        return f"{words}."

    def columns(self) -> dict[str, Any]:
        """One row a type and group of levels.

        Columns: ``type`` (from 1), ``level`` (names of the group's levels), ``items``, ``weight``
        (of the type), ``low`` and ``high`` (likelihoods), ``high_items`` (on the high side),
        ``probability`` (of the type for a person of the group), ``high_share`` (probability that
        their own item is then on the high side; ``nan`` where the type is never sent).
        """
        n, t = self.types.size, self.types.item_counts.size
        chance = self.types.probabilities.transpose(1, 0, 2)
        total = chance.sum(axis=2)
        share = np.divide(chance[:, :, 1], total, out=np.full((n, t), np.nan), where=total > 0)
        return {
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
