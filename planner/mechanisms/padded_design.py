"""Padding and sampling with a subset design: item sets through the best of all mechanisms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.designs.set_design import SetDesign
from planner.errors import InputError
from planner.estimates.truncation import LongerSets
from planner.mechanisms import inputs
from planner.mechanisms.aggregate import Aggregate
from planner.mechanisms.itemsets import PaddedMechanism, checked_padding
from planner.mechanisms.subset_design import SubsetDesignMechanism
from planner.mechanisms.unary import levels_of_items
from planner.policy.policy import require_set_budgets


@dataclass(frozen=True, slots=True, eq=False)
class PaddedDesignMechanism(PaddedMechanism):
    """A subset design for item sets: pad or truncate to ``l`` items, sample one, report it.

    What is drawn is reported by the design, whose last item is the one dummy that it needs.

    Privacy (docs/theory/designs.md, proposition 5): under the rule min the log-ratio between two
    sets is at most the smaller of their budgets by eq. 16 of the IDUE paper, with one dummy, of
    the smallest budget.

    Parameters
    ----------
    single:
        The design of the items and, as its last item, the dummy.
    padding_length:
        ``l``, a whole number of at least 1.
    longer:
        What is known of sets that are longer; see
        :class:`~planner.mechanisms.itemsets.PaddedUnaryMechanism`.
    solved:
        What ``single`` was rounded from, with its groups of levels and its proof.

    Raises
    ------
    InputError
        The padding length is out of range, ``longer`` is of another one, the rule has no budgets
        of sets, or the dummy is not of the smallest budget.

    Examples
    --------
    >>> from planner import PrivacyPolicy, best_design
    >>> from planner.designs.set_design import dummy_objective, with_dummy
    >>> from planner.policy.objective import Objective
    >>> policy = PrivacyPolicy([1.0, 2.0], [2, 2])
    >>> design = best_design(with_dummy(policy), dummy_objective(Objective(), policy))
    >>> sets = SetDesign(policy, design)
    >>> mechanism = PaddedDesignMechanism.of(sets, padding_length=2)
    >>> mechanism.items, mechanism.bias([[0, 1], [0], [0, 2, 3], []]).round(4).tolist()
    (4, [-0.3333, 0.0, -0.3333, -0.3333])
    """

    single: SubsetDesignMechanism
    padding_length: int
    longer: LongerSets | None = None
    solved: SetDesign | None = None

    def __post_init__(self) -> None:
        inputs.item_count(self.items, least=1)
        policy = self.single.policy
        require_set_budgets(policy)
        epsilon, least = policy.epsilons[self.single.level_of[-1]], policy.epsilons.min()
        if epsilon > least:
            remedy = "Put the dummy, the last item, in the level with the smallest budget."
            raise InputError("budget of the dummy", float(epsilon), f"{least:g}", remedy)
        longer = checked_padding(self.padding_length, self.longer, self.items)
        object.__setattr__(self, "longer", longer)

    @classmethod
    def of(
        cls,
        sets: SetDesign,
        padding_length: int,
        longer: LongerSets | None = None,
        level_of: NDArray[np.int64] | None = None,
    ) -> PaddedDesignMechanism:
        """A solved design with its probabilities rounded to the private side.

        Parameters
        ----------
        sets:
            The design.
        padding_length, longer:
            As of the class.
        level_of:
            Level number of each item in ``sets.policy``, shape ``(m,)``; when omitted, the first
            ``m_1`` items are in level 0, and so on.

        Raises
        ------
        VerificationError, InputError
            As :func:`planner.mechanisms.design_grid.round_types`.
        """
        levels = np.append(levels_of_items(level_of, sets.policy), sets.policy.size)
        single = SubsetDesignMechanism.of(sets.design, levels)
        return cls(single, padding_length, longer, sets)

    @property
    def items(self) -> int:
        """Number of items without the dummy, ``m``."""
        return self.single.items - 1

    @property
    def item_budgets(self) -> NDArray[np.float64]:
        """The budget of each item and, last, of the dummy, in nats, shape ``(m + 1,)``."""
        return self.single.policy.epsilons[self.single.level_of]

    @property
    def group_names(self) -> tuple[str, ...]:
        """What the levels of :attr:`single` are called."""
        return self.single.policy.names if self.solved is None else self.solved.design.group_names

    def privacy_loss(self) -> float:
        """Largest log-ratio between any two sets, in nats: at most that of the design.

        It is attained when enough items of the levels that attain it stand on both sides of a
        type to fill two sets, and is an upper bound otherwise.
        """
        return self.single.privacy_loss()

    def _once(self, aggregate: Aggregate) -> Any:
        return self.single.estimate(aggregate)

    def _noise(self, drawn: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.single.expected_variance(drawn)[: self.items]

    def _reports(self, drawn: NDArray[np.int64], rng: np.random.Generator) -> Aggregate:
        return self.single.draw_aggregate(drawn, rng)
