"""What a mechanism does to an answer of each level, however it reports it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from planner.mechanisms.frequency import FrequencyMechanism
from planner.policy import logodds
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy

Array = NDArray[np.float64]


class Terms(Protocol):
    """What errors and explanations need to know of a mechanism, level by level.

    Tables and subset designs have it all themselves; :class:`LevelTerms` for the others.
    """

    @property
    def policy(self) -> PrivacyPolicy:
        """The levels."""

    @property
    def a(self) -> Array:
        """Probability that a report supports an item, if it is the person's answer, ``(t,)``."""

    @property
    def b(self) -> Array:
        """The same if another item is the person's answer, at most, shape ``(t,)``."""

    @property
    def least_b(self) -> Array:
        """The smallest such probability, where it depends on the answer; shape ``(t,)``."""

    @property
    def noise(self) -> Array:
        """Variance of one item's count per user, at most, shape ``(t,)``."""

    @property
    def signal(self) -> Array:
        """Extra variance per user who has the item, at most, shape ``(t,)``."""

    @property
    def worst_case_mse(self) -> float:
        """Total mean squared error per user for the least favourable answers."""

    def value(self, objective: Objective) -> float:
        """The error per user in the sense of an objective."""


@dataclass(frozen=True, slots=True, eq=False)
class LevelTerms:
    """:class:`Terms` of a mechanism that treats the items of a level alike."""

    policy: PrivacyPolicy
    a: Array
    b: Array
    noise: Array
    signal: Array

    @classmethod
    def of(cls, mechanism: FrequencyMechanism, policy: PrivacyPolicy) -> Self:
        """The terms of a mechanism for one answer, for the levels of ``policy``.

        Items are numbered through the levels, one level after the other.

        Examples
        --------
        >>> from planner import GeneralizedRandomizedResponse
        >>> policy = PrivacyPolicy([1.0, 2.0], [1, 4])
        >>> terms = LevelTerms.of(GeneralizedRandomizedResponse(1.0, items=5), policy)
        >>> terms.a.round(3).tolist(), terms.b.round(3).tolist()
        ([0.405, 0.405], [0.149, 0.149])
        """
        first = np.cumsum(policy.item_counts) - policy.item_counts
        noise, signal = mechanism.variance_terms()
        return cls(policy, mechanism.a[first], mechanism.b[first], noise[first], signal[first])

    @classmethod
    def with_probabilities(cls, policy: PrivacyPolicy, a: Array, b: Array) -> Self:
        """The terms of support probabilities by level, shape ``(t,)`` each."""
        noise = logodds.noise_from_probabilities(a, b)
        return cls(policy, a, b, noise, logodds.signal_from_probabilities(a, b))

    @property
    def least_b(self) -> Array:
        """As ``b``, which is the same whatever the other answer is."""
        return self.b

    @property
    def worst_case_mse(self) -> float:
        """Total mean squared error per user for the least favourable answers."""
        return self.value(Objective())

    def value(self, objective: Objective) -> float:
        """The error per user in the sense of an objective."""
        return objective.coefficients(self.policy).evaluate(self.noise, self.signal)
