"""What an outsider reckons with, for whatever mechanism a plan deploys: one entry a mechanism."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.designs.channel import Channel
from planner.designs.subset_design import SubsetDesign
from planner.designs.table import UnaryTable
from planner.mechanisms.bisample import BiSampleMD
from planner.mechanisms.direct import GeneralizedRandomizedResponse
from planner.mechanisms.hashing import OptimizedLocalHashing
from planner.mechanisms.padded_design import PaddedDesignMechanism
from planner.mechanisms.padding import PaddedUnaryMechanism
from planner.mechanisms.subset import SubsetSelection
from planner.mechanisms.unary import levels_of_items
from planner.outsiders.guessing.designs import DesignGuessing
from planner.outsiders.guessing.laws import (
    Guess,
    GuessingLaw,
    HashGuessing,
    MatrixGuessing,
    SubsetGuessing,
    UnaryGuessing,
    best_guess,
    guess_of_set,
)
from planner.outsiders.guessing.reidentification import Likelihoods
from planner.outsiders.poisoning import design_reach, estimator_reach, reach
from planner.outsiders.shuffling.designs import DesignReports
from planner.outsiders.shuffling.mechanisms import (
    AnyMechanism,
    HashedReports,
    MatrixReports,
    SetReports,
    ShuffledReports,
    UnaryReports,
)
from planner.policy.policy import PrivacyPolicy

Array = NDArray[np.float64]
_MOST_ITEMS = 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Exposure:
    """A mechanism as outsiders see it.

    Attributes
    ----------
    reports:
        What hides each pair of answers if reports are shuffled.
    totals:
        The same if totals alone are released; None where it is not proven to be more.
    law:
        For guesses of the answer; None where it is not known, or of more than a million answers.
    set_size:
        Of item sets: how many answers a person has of whom one is guessed.
    wider:
        A law of which that of every answer is a mixture: of item sets, of items and dummies; of
        hashing, of the hash values. None where it is ``law``, or not known.
    reach:
        By how many people one false report moves the estimated count of an item of each level, at
        most; shape ``(t,)``; None where no counts are estimated, or it is not known.
    """

    reports: ShuffledReports
    law: GuessingLaw | None = None
    set_size: int | None = None
    reach: Array | None = None
    totals: ShuffledReports | None = None
    wider: GuessingLaw | None = None

    def guess(self, prior: Array | None = None) -> Guess | None:
        """Success of the best guess from one report; all answers alike without a prior.

        Of item sets only that for a person with ``set_size`` answers, all such sets alike.
        """
        law, size = self.law, self.set_size
        if law is None:
            return None
        if size is None:
            return best_guess(law, prior)
        if prior is None and size <= law.items:
            return guess_of_set(law, size)
        return None

    def lift(self, policy: PrivacyPolicy) -> float:
        """By what factor one report makes a right guess likelier, whatever was believed, at most.

        ``sum over y of max_x Pr[y | x]``, which the laws of mixtures do not raise; where no law is
        known, that of anything that keeps the policy.
        """
        law = self.law if self.wider is None else self.wider
        if law is None or (self.wider is None and self.set_size is not None):
            return float(np.exp(policy.bounds()).max(axis=0).min())
        return best_guess(law).lift

    def likelihoods(self) -> Likelihoods | None:
        """Of answers that were alike before, for one answer a person; None where not known."""
        return None if self.law is None or self.set_size is not None else self.law.likelihoods()


def exposure_of(mechanism: Any, policy: PrivacyPolicy) -> Exposure:
    """What outsiders reckon with, as the mechanism is really drawn.

    Parameters
    ----------
    mechanism:
        A table, a design, a channel or a mechanism, as a plan has it. Of any other kind only what
        holds for every mechanism that keeps the policy.
    policy:
        The levels with the budgets that are spent; items are numbered through the levels.

    Examples
    --------
    >>> policy = PrivacyPolicy([1.0, 2.0], [1, 9])
    >>> exposed = exposure_of(GeneralizedRandomizedResponse(1.0, items=10), policy)
    >>> round(exposed.guess().success, 4), exposed.reach.round(2).tolist()
    (0.232, [6.24, 6.24])
    """
    for kind in type(mechanism).__mro__:
        if kind in _KINDS:
            return _KINDS[kind](mechanism, policy)
    return Exposure(AnyMechanism(policy))


def _table(table: UnaryTable, policy: PrivacyPolicy) -> Exposure:
    reports = UnaryReports.of(table)
    law, each = _law_of_bits(reports, policy), reach(reports.a, reports.b)
    return Exposure(reports, law, reach=each, totals=replace(reports, totals_only=True))


def _sets(mechanism: PaddedUnaryMechanism, policy: PrivacyPolicy) -> Exposure:
    reports, totals = (SetReports.of(mechanism, only) for only in (False, True))
    drawn, length = UnaryReports.of(mechanism.unary.table), mechanism.padding_length
    law, wider = _law_of_bits(drawn, policy), None
    if law is not None:
        a, b = (np.repeat(one[mechanism.dummy_level], length) for one in (drawn.a, drawn.b))
        wider = UnaryGuessing(np.append(law.a, a), np.append(law.b, b))
    return Exposure(reports, law, length, reach(drawn.a, drawn.b, length), totals, wider)


def _law_of_bits(reports: UnaryReports, policy: PrivacyPolicy) -> UnaryGuessing | None:
    if policy.item_counts.sum() > _MOST_ITEMS:
        return None
    level_of = levels_of_items(None, policy)
    return UnaryGuessing(reports.a[level_of], reports.b[level_of])


def _design_of_sets(mechanism: PaddedDesignMechanism, policy: PrivacyPolicy) -> Exposure:
    types, level_of = mechanism.single.types, mechanism.single.level_of
    reports = SetReports(DesignReports(types, mechanism.group_names))
    length = mechanism.padding_length
    first = np.cumsum(policy.item_counts) - policy.item_counts  # items of the levels, in order
    one = estimator_reach(types, mechanism.single.estimator, length)
    wider = DesignGuessing(types, level_of) if level_of.size <= _MOST_ITEMS else None
    return Exposure(reports, set_size=length, reach=one[level_of[first]], wider=wider)


def _design(design: SubsetDesign, policy: PrivacyPolicy) -> Exposure:
    reports = DesignReports.of(design)
    law = DesignGuessing.of(design) if policy.item_counts.sum() <= _MOST_ITEMS else None
    return Exposure(reports, law, reach=design_reach(reports.types, design.prior)[design.groups])


def _subset(
    mechanism: SubsetSelection | GeneralizedRandomizedResponse, policy: PrivacyPolicy
) -> Exposure:
    law = SubsetGuessing.of(mechanism)
    return Exposure(DesignReports.of_selection(mechanism), law, reach=_alike(mechanism, policy))


def _hashed(mechanism: OptimizedLocalHashing, policy: PrivacyPolicy) -> Exposure:
    law = HashGuessing.of(mechanism)
    response = GeneralizedRandomizedResponse(mechanism.epsilon, mechanism.values)
    each, wider = _alike(mechanism, policy), SubsetGuessing.of(response)
    return Exposure(HashedReports(mechanism), law, reach=each, wider=wider)


def _alike(mechanism: Any, policy: PrivacyPolicy) -> Array:
    one = reach(mechanism.a[:1], mechanism.b[:1])
    return np.full(policy.size, one[0])


def _mean(mechanism: BiSampleMD, policy: PrivacyPolicy) -> Exposure:  # noqa: ARG001
    """Two ends and no answer; the law of a number between is a mixture of those of the ends."""
    ends = [mechanism.domain.lower, mechanism.domain.upper, np.nan]
    law = mechanism.output_law(ends)
    reports = MatrixReports(law, ("the lowest number", "the highest number", "no answer"))
    return Exposure(reports, MatrixGuessing(law))


def _channel(channel: Channel, policy: PrivacyPolicy) -> Exposure:  # noqa: ARG001
    return Exposure(MatrixReports(channel.matrix, channel.symbols), MatrixGuessing(channel.matrix))


_KINDS: dict[type, Callable[[Any, PrivacyPolicy], Exposure]] = {
    UnaryTable: _table,
    PaddedUnaryMechanism: _sets,
    PaddedDesignMechanism: _design_of_sets,
    SubsetDesign: _design,
    SubsetSelection: _subset,
    GeneralizedRandomizedResponse: _subset,
    OptimizedLocalHashing: _hashed,
    BiSampleMD: _mean,
    Channel: _channel,
}
