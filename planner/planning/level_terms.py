"""What a mechanism does to an answer of each level, however it reports it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from planner.designs.table import UnaryTable
from planner.policy import logodds
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy

__all__ = ["LevelTerms", "Terms", "terms_of"]

Array = NDArray[np.float64]


class Terms(Protocol):
    """What errors and explanations need to know of a mechanism, level by level."""

    @property
    def policy(self) -> PrivacyPolicy:
        """The levels."""

    @property
    def a(self) -> Array:
        """Probability that a report supports an item, if it is the person's answer, ``(t,)``."""

    @property
    def b(self) -> Array:
        """The same if another item is the person's answer, shape ``(t,)``."""

    @property
    def noise(self) -> Array:
        """Variance of one item's count per user, shape ``(t,)``."""

    @property
    def signal(self) -> Array:
        """Extra variance per user who has the item, shape ``(t,)``."""

    @property
    def worst_case_mse(self) -> float:
        """Total mean squared error per user for the least favourable answers."""


@dataclass(frozen=True, slots=True, eq=False)
class LevelTerms:
    """:class:`Terms` of a mechanism that treats the items of a level alike."""

    policy: PrivacyPolicy
    a: Array
    b: Array
    noise: Array
    signal: Array

    @property
    def worst_case_mse(self) -> float:
        """Total mean squared error per user for the least favourable answers."""
        return Objective().coefficients(self.policy).evaluate(self.noise, self.signal)


def terms_of(mechanism: Any, policy: PrivacyPolicy) -> LevelTerms:
    """The terms of a table, or of a mechanism for one answer, for the levels of ``policy``.

    Items are numbered through the levels, one level after the other.

    Examples
    --------
    >>> from planner import GeneralizedRandomizedResponse
    >>> policy = PrivacyPolicy([1.0, 2.0], [1, 4])
    >>> terms = terms_of(GeneralizedRandomizedResponse(1.0, items=5), policy)
    >>> terms.a.round(3).tolist(), terms.b.round(3).tolist()
    ([0.405, 0.405], [0.149, 0.149])
    """
    if isinstance(mechanism, UnaryTable):
        a, b = mechanism.a, mechanism.b
        noise = logodds.noise_from_probabilities(a, b)
        return LevelTerms(policy, a, b, noise, logodds.signal_from_probabilities(a, b))
    first = np.cumsum(policy.item_counts) - policy.item_counts
    noise, signal = mechanism.variance_terms()
    return LevelTerms(policy, mechanism.a[first], mechanism.b[first], noise[first], signal[first])
