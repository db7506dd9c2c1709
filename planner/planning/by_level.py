"""What a mechanism does and how exact it is, level by level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from planner.arrays import Array, Whole
from planner.mechanisms.asking import CollectedLaw
from planner.planning.solve import Certified
from planner.policy.policy import PrivacyPolicy
from planner.solvers.answers import LevelProbabilities


@dataclass(frozen=True, slots=True, eq=False)
class SupportProbabilities(LevelProbabilities):
    """The two probabilities of a mechanism that treats the items of a level alike.

    The ``mechanism`` is None where it is not deployed here.
    """

    policy: PrivacyPolicy
    a: Array
    b: Array
    mechanism: CollectedLaw | None = None

    @classmethod
    def alike(cls, policy: PrivacyPolicy, mechanism: CollectedLaw) -> Self:
        """The probabilities by level of a mechanism that treats all items alike."""
        # Rows are levels: these mechanisms know one alone.
        chances, *_ = mechanism.shape.support() or []
        every_level = np.ones(policy.size)
        a = float(chances[0]) * every_level
        b = float(chances[1]) * every_level
        return cls(policy, a, b, mechanism)


PureProtocol = Certified | SupportProbabilities
"""A mechanism whose reports support an item with one probability if it is the person's, and with
another if not (Wang et al., USENIX Security 2017): a table, a design or a plain mechanism."""


@dataclass(frozen=True, slots=True, eq=False)
class ByLevel:
    """What a report does and how exact it is, one entry per level, shape ``(t,)``.

    ``a`` and ``b`` are the probabilities that a report supports an item that was drawn (the
    person's answer, or one of their set), and one that was not; ``if_had`` that it supports an item
    that the person has, drawn or not. ``odds`` says these in words, of the first forty levels.
    ``standard_errors`` are those of a rare item's estimated count in people, of one round if it is
    asked again, ``percent`` of those who answer, padding included; ``detectable`` the smallest
    share of them at which an item is told apart from one that nobody has (95 %, power 80 %; None
    for sets).

    Examples
    --------
    >>> from planner import plan_survey
    >>> (question,) = plan_survey("examples/clinic.toml").questions
    >>> question.fact(ByLevel).names, question.fact(ByLevel).a.round(3).tolist()
    (('stigmatised', 'private', 'harmless'), [0.307, 0.601, 0.676])
    """

    names: tuple[str, ...]
    items: Whole
    epsilons: Array
    a: Array
    b: Array
    if_had: Array
    least_b: Array
    standard_errors: Array
    percent: Array
    detectable: Array | None
