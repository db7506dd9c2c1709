"""Subset designs for item sets: one item of a set, or a dummy, is drawn and reported."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from planner.designs.subset_design import SubsetDesign
from planner.designs.table import Certificate
from planner.errors import InputError
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy, require_set_budgets

Array = NDArray[np.float64]
_LEAST_DUMMIES = 1e-6  # of what is drawn; a design that expects none need not tell them from items


@dataclass(frozen=True, slots=True, eq=False)
class SetDesign:
    """A subset design of the items and one dummy, and what it does to the items.

    Padding and sampling draw one item of a set or, in its stead, a dummy. One dummy is enough,
    in a level of its own of the least budget: docs/theory/designs.md, proposition 5. Its count is
    not wanted, and errors are of the items alone: the design is the best of all mechanisms for
    what is drawn, and its certificate is about them.

    Attributes
    ----------
    policy:
        The levels and budgets of the items, under a rule that covers sets.
    design:
        For the policy :func:`with_dummy` and the objective :func:`dummy_objective`.
    objective:
        What was minimised, of the items that are drawn; shares of people may sum to less than 1,
        and the dummy is drawn of the others.

    Raises
    ------
    InputError
        The design is for another policy or objective.

    Examples
    --------
    >>> from planner import best_design, solve
    >>> policy = PrivacyPolicy([1.0, 2.0], [2, 8])
    >>> design = best_design(with_dummy(policy), dummy_objective(Objective(), policy))
    >>> sets = SetDesign(policy, design)
    >>> items, dummy = sets.draw_errors
    >>> bool(max(*items, dummy) < solve(policy).worst_case_mse)
    True
    """

    model: ClassVar[str] = SubsetDesign.model
    method: ClassVar[str] = SubsetDesign.method
    shadow_prices: ClassVar[None] = None

    policy: PrivacyPolicy
    design: SubsetDesign
    objective: Objective = field(default_factory=Objective)

    def __post_init__(self) -> None:
        wanted = with_dummy(self.policy), dummy_objective(self.objective, self.policy)
        if (self.design.policy, self.design.objective) != wanted:
            reason = "the design is not for these levels and a dummy"
            remedy = "Solve one for with_dummy(policy) and dummy_objective(objective, policy)."
            raise InputError.because("design", reason, remedy)

    @property
    def a(self) -> Array:
        """As of the design: of the item that was drawn, shape ``(t,)``."""
        return self.design.a[:-1]

    @property
    def b(self) -> Array:
        """As of the design, at most, shape ``(t,)``."""
        return self.design.b[:-1]

    @property
    def least_b(self) -> Array:
        """As of the design, at least, shape ``(t,)``."""
        return self.design.least_b[:-1]

    @property
    def noise(self) -> Array:
        """Variance of a rare item's count per user, at most, before it is scaled, ``(t,)``."""
        return self.design.noise[:-1]

    @property
    def signal(self) -> Array:
        """Extra variance per user of whom the item is drawn, at most, shape ``(t,)``."""
        return self.design.signal[:-1]

    @property
    def pair_losses(self) -> Array:
        """As of the design, between items, shape ``(t, t)``."""
        return self.design.pair_losses[:-1, :-1]

    @property
    def saturation_epsilon(self) -> float | None:
        """As of the design."""
        return self.design.saturation_epsilon

    @property
    def certificate(self) -> Certificate | None:
        """What no mechanism that reports one drawn item has less than: the objective's bound."""
        return self.design.certificate

    @property
    def worst_case_mse(self) -> float:
        """Total squared error of the items per user for the least favourable draws."""
        return self.value(Objective())

    @property
    def objective_value(self) -> float:
        """The minimised objective, per user."""
        return self.design.objective_value

    @property
    def draw_errors(self) -> tuple[Array, float]:
        """Total squared error of the items, if one of each level is drawn, and if the dummy is."""
        errors = self.design.errors(np.append(np.ones(self.policy.size), 0.0))
        return errors[:-1], float(errors[-1])

    def value(self, objective: Objective) -> float:
        """The error of the items per user, in the sense of an objective for what is drawn.

        Raises
        ------
        InputError
            It is the error of the worst single item, which designs of sets are not made for.
        """
        return self.design.value(dummy_objective(objective, self.policy))


def dummy_level(policy: PrivacyPolicy) -> int:
    """The level that dummies of tables are of: the first one of the smallest budget.

    Examples
    --------
    >>> dummy_level(PrivacyPolicy([2.0, 1.0], [3, 4]))
    1
    """
    return int(np.argmin(policy.epsilons))


def with_dummy(policy: PrivacyPolicy) -> PrivacyPolicy:
    """The policy of the items and, as its last level, one dummy of the smallest budget.

    Raises
    ------
    InputError
        The rule is one under which sets have no budgets.

    Examples
    --------
    >>> both = with_dummy(PrivacyPolicy([2.0, 1.0], [3, 4]))
    >>> both.epsilons.tolist(), both.item_counts.tolist()
    ([2.0, 1.0, 1.0], [3, 4, 1])
    """
    require_set_budgets(policy)
    name = "dummy"
    while name in policy.names:
        name += "\u2032"
    return PrivacyPolicy(
        np.append(policy.epsilons, policy.epsilons.min()),
        np.append(policy.item_counts, 1),
        policy.rule,
        names=[*policy.names, name],
        # No two sets are told apart by one item that both have: only different items count.
        self_pairs=False,
    )


def dummy_objective(objective: Objective, policy: PrivacyPolicy) -> Objective:
    """The objective for what is drawn of sets: the dummy, in the rest of the people, is not wanted.

    It is drawn of at least one person in a million, whatever is assumed.

    Raises
    ------
    InputError
        It is the error of the worst single item, which designs of sets are not made for.

    Examples
    --------
    >>> policy = PrivacyPolicy([1.0, 2.0], [2, 8])
    >>> drawn = dummy_objective(Objective("expected", prior=[0.25, 0.25]), policy)
    >>> drawn.prior, drawn.weights
    ((0.25, 0.25, 0.5), (1.0, 1.0, 0.0))
    """
    if objective.kind == "minimax":
        allowed = '"worst-case" or "expected" for a design of sets'
        raise InputError("objective", objective.kind, allowed, "Use solve() for the best table.")
    weights = [*objective.item_weights(policy).tolist(), 0.0]
    if objective.prior is None:
        return Objective(objective.kind, weights)
    shares = np.array(objective.prior)
    shares *= min(1.0, (1 - _LEAST_DUMMIES) / max(shares.sum(), _LEAST_DUMMIES))
    every = [*shares.tolist(), 1 - float(shares.sum())]
    return Objective(objective.kind, weights, every)
