"""Subset designs for item sets: one item of a set, or a dummy, is drawn and reported."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.designs.subset_design import SubsetDesign
from planner.errors import InputError
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy, require_set_budgets

__all__ = ["SetDesign", "dummy_level", "dummy_objective", "with_dummy"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class SetDesign:
    """A subset design of the items and one dummy, and what it does to the items.

    Padding and sampling draw one item of a set or, in its stead, a dummy. One dummy is enough,
    as one more item of the least budget: docs/theory/designs.md, proposition 5. Its count is not
    estimated, and errors are of the items alone.

    Attributes
    ----------
    policy:
        The levels and budgets of the items, under a rule that covers sets.
    design:
        For the policy :func:`with_dummy`.

    Raises
    ------
    InputError
        The design is for another policy.

    Examples
    --------
    >>> from planner import best_design
    >>> policy = PrivacyPolicy([1.0, 2.0], [2, 8])
    >>> sets = SetDesign(policy, best_design(with_dummy(policy)))
    >>> items, dummy = sets.draw_errors
    >>> bool(dummy < items.max() < sets.design.worst_case_mse)
    True
    """

    policy: PrivacyPolicy
    design: SubsetDesign

    def __post_init__(self) -> None:
        if self.design.policy != with_dummy(self.policy):
            reason = "the design is not for these levels and a dummy"
            remedy = "Solve a design for with_dummy(policy)."
            raise InputError.because("design", reason, remedy)

    @property
    def a(self) -> Array:
        """As of the design: of the item that was drawn, shape ``(t,)``."""
        return self.design.a

    @property
    def b(self) -> Array:
        """As of the design, at most, shape ``(t,)``."""
        return self.design.b

    @property
    def least_b(self) -> Array:
        """As of the design, at least, shape ``(t,)``."""
        return self.design.least_b

    @property
    def noise(self) -> Array:
        """Variance of a rare item's count per user, at most, before it is scaled, ``(t,)``."""
        return self.design.noise

    @property
    def signal(self) -> Array:
        """Extra variance per user of whom the item is drawn, at most, shape ``(t,)``."""
        return self.design.signal

    @property
    def worst_case_mse(self) -> float:
        """Total squared error of the items per user for the least favourable draws."""
        return self.value(Objective())

    @property
    def draw_errors(self) -> tuple[Array, float]:
        """Total squared error of the items, if one of each level is drawn, and if the dummy is."""
        return self._draw_errors(np.ones(self.policy.size))

    def value(self, objective: Objective) -> float:
        """The error of the items per user, in the sense of an objective for what is drawn.

        Raises
        ------
        InputError
            It is the error of the worst single item, which designs are not made for.
        """
        items, dummy = self._draw_errors(objective.item_weights(self.policy))
        if objective.prior is None:
            return max(float(items.max()), dummy)
        shares = np.array(objective.prior)
        shares /= max(1.0, shares.sum())
        return float(shares @ items + (1 - shares.sum()) * dummy)

    def _draw_errors(self, weights: Array) -> tuple[Array, float]:
        groups, (other, own) = self.design.groups, self.design.variances
        total = np.bincount(groups, weights * self.policy.item_counts, other.shape[0])
        by_group = other @ total
        extra = weights * (own - np.diag(other))[groups]
        return by_group[groups] + extra, float(by_group[groups[dummy_level(self.policy)]])


def dummy_level(policy: PrivacyPolicy) -> int:
    """The level that a dummy is one more item of: the first one of the smallest budget.

    Examples
    --------
    >>> dummy_level(PrivacyPolicy([2.0, 1.0], [3, 4]))
    1
    """
    return int(np.argmin(policy.epsilons))


def with_dummy(policy: PrivacyPolicy) -> PrivacyPolicy:
    """The policy of the items and one dummy.

    Raises
    ------
    InputError
        The rule is one under which sets have no budgets.

    Examples
    --------
    >>> with_dummy(PrivacyPolicy([2.0, 1.0], [3, 4])).item_counts.tolist()
    [3, 5]
    """
    require_set_budgets(policy)
    counts = policy.item_counts.copy()
    counts[dummy_level(policy)] += 1
    # No two sets are told apart by one item that both have: only different items count.
    return policy.with_changes(item_counts=counts, self_pairs=False)


def dummy_objective(objective: Objective, policy: PrivacyPolicy) -> Objective:
    """The objective for what is drawn of sets, with the dummy in the rest of the people.

    Examples
    --------
    >>> policy = PrivacyPolicy([1.0, 2.0], [2, 8])
    >>> dummy_objective(Objective("expected", prior=[0.25, 0.25]), policy).prior
    (0.75, 0.25)
    """
    if objective.prior is None:
        return objective
    shares = np.array(objective.prior)
    shares /= max(1.0, shares.sum())
    shares[dummy_level(policy)] += 1 - shares.sum()
    return Objective(objective.kind, objective.weights, shares.tolist())
