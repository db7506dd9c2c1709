"""Padding and sampling with a subset design: item sets through the best of all mechanisms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.designs.set_design import SetDesign
from planner.errors import InputError
from planner.estimates.truncation import LongerSets, TruncatedEstimates
from planner.mechanisms import inputs
from planner.mechanisms.aggregate import Aggregate
from planner.mechanisms.itemsets import ItemSets, as_sets
from planner.mechanisms.padding import PaddedMechanism, Sets, checked_padding, sample_items
from planner.mechanisms.subset_design import SubsetDesignMechanism
from planner.mechanisms.unary import levels_of_items
from planner.policy.policy import require_set_budgets


@dataclass(frozen=True, slots=True, eq=False)
class PaddedDesignMechanism(PaddedMechanism):
    """A subset design for item sets: pad or truncate to ``l`` items, sample one, report it.

    Output law: with ``P_u(k) = 1 / max(|x_u|, l)`` if item ``k`` is in the set ``x_u`` and 0 if
    not, the sampled item is ``k`` with probability ``P_u(k)``, and else the one dummy. It is
    reported by the design, whose last item is the dummy.

    The estimate is ``l`` times the design's: its mean is ``l sum_u P_u(k)``, unbiased if no set
    has more than ``l`` items. With the design's variances ``other_ji`` and ``own_i``, ``i`` the
    level of ``k``, and ``Q_j`` the expected number of people whose sampled item is of level ``j``,
    its variance is, exactly,

        l^2 [sum_j Q_j other_ji + sum_u P_u(k) (own_i - other_ii + 1) - sum_u P_u(k)^2]

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
        :class:`~planner.mechanisms.padding.PaddedUnaryMechanism`.
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

    def perturb(self, sets: Sets, rng: np.random.Generator) -> NDArray[np.uint64]:
        """Reports of the design, uint64, shape ``(n, 1 + words)``.

        Parameters
        ----------
        sets:
            One list of distinct item numbers per user, or :class:`ItemSets`.
        rng:
            Seeds the draws.
        """
        checked = as_sets(sets, self.items)
        return self.single.perturb(self._sample(checked, inputs.generator(rng)), rng)

    def aggregate(self, reports: NDArray[Any]) -> Aggregate:
        """As :meth:`SubsetDesignMechanism.aggregate`, the dummy's bits with the others."""
        return self.single.aggregate(reports)

    def estimate(self, aggregate: Aggregate) -> TruncatedEstimates:
        """Counts with standard errors, shape ``(items,)``, in users; none of the dummy.

        Unbiased unless sets were truncated; intervals allow for that by :attr:`longer`. The
        standard errors put estimates in place of the expected numbers in the variance, and
        ``(sum_u P_u(k))^2 / n`` in place of ``sum_u P_u(k)^2``, which is never less.

        Raises
        ------
        InputError
            No users, or counts of the wrong shape.
        """
        once, users, length = self.single.estimate(aggregate), aggregate.users, self.padding_length
        sampled = np.clip(once.values, 0, users)
        errors = np.sqrt(np.square(once.standard_errors) + sampled * (1 - sampled / users))
        columns = (once.values, errors, once.null_standard_errors)
        values, spread, null = (length * column[: self.items] for column in columns)
        return TruncatedEstimates(values, spread, null, users, self.longer)

    def variance(self, sets: Sets) -> NDArray[np.float64]:
        """Exact variance of the estimates for these sets, shape ``(items,)``, in users squared."""
        checked = as_sets(sets, self.items)
        once, twice = checked.sampling_sums(self.padding_length)
        sampled = np.append(once, checked.users - once.sum())
        noise = self.single.expected_variance(sampled)[: self.items]
        return self.padding_length**2 * (noise + once - twice)

    def draw_aggregate(self, sets: Sets, rng: np.random.Generator) -> Aggregate:
        """An aggregate as :meth:`SubsetDesignMechanism.draw_aggregate` draws it, of samples."""
        checked = as_sets(sets, self.items)
        sampled = self._sample(checked, inputs.generator(rng))
        return self.single.draw_aggregate(np.bincount(sampled, minlength=self.items + 1), rng)

    def privacy_loss(self) -> float:
        """Largest log-ratio between any two sets, in nats: at most that of the design.

        It is attained when enough items of the levels that attain it stand on both sides of a
        type to fill two sets, and is an upper bound otherwise.
        """
        return self.single.privacy_loss()

    def output_law(self) -> NDArray[np.float64]:
        """``Pr[report | set]``, shape ``(2^m, reports)``, sets read as numbers."""
        member = (np.arange(2**self.items)[:, None] >> np.arange(self.items)) & 1
        chance = member / np.maximum(member.sum(axis=1), self.padding_length)[:, None]
        dummy = 1 - chance.sum(axis=1, keepdims=True)
        return np.asarray(np.hstack([chance, dummy]) @ self.single.output_law())

    def report_index(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """The column of :meth:`output_law` that each report belongs to, shape ``(n,)``."""
        return self.single.report_index(reports)

    def _sample(self, sets: ItemSets, rng: np.random.Generator) -> NDArray[np.int64]:
        """One item per user; all dummies are one."""
        return np.minimum(sample_items(sets, self.padding_length, rng), self.items)
