"""What an outsider learns from a planned question: beside the local guarantee, never instead.

Computed when somebody asks for it, from the mechanism that is deployed. Whoever sees reports with
their senders has the local guarantee and nothing else; the second view needs a shuffler or a
secure sum, and every sentence about it says so.

People understand odds better than an epsilon (Nanayakkara, Smart, Cummings, Kaptchuk and Redmiles,
"What Are the Chances? Explaining the Epsilon Parameter in Differential Privacy", USENIX Security
2023, with 963 people): sentences are about guesses that are right for so many of 100 people.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, floor, isnan, log10
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.frames import Framed
from planner.outsiders.auditing.views import VIEWS
from planner.outsiders.exposure import Exposure, exposure_of
from planner.outsiders.guessing.laws import Guess
from planner.outsiders.guessing.reidentification import Likelihoods
from planner.outsiders.shown import (
    delta_text,
    kept_at_most,
    lost_at_least,
    of_hundred,
    of_hundred_before,
    reach_up,
)
from planner.outsiders.shuffling.central import MOST_PEOPLE
from planner.outsiders.shuffling.guarantee import (
    CONDITION,
    ShuffledGuarantee,
    local_budget,
    shuffled,
)
from planner.outsiders.shuffling.mechanisms import AnyMechanism, ShuffledReports
from planner.outsiders.statistics import caught_from
from planner.planning.whole_survey.left_open import budget_of
from planner.policy.budget_text import rounded_up
from planner.policy.policy import PrivacyPolicy
from planner.survey import Question

UNHIDDEN = (
    "a question asked in two rounds, or with a pair of answers that no budget protects, is not "
    "hidden by shuffling"
)
NOTHING_TO_SAY = f"{UNHIDDEN.capitalize()}: what outsiders learn is what it promises."
AUDITED = 100_000  # reports of each answer that an audit asks for if nobody says how many
_GAIN = 0.01  # what totals alone hide better than this; epsilons are known to a quarter of it
_MOST_LEVELS = 5  # beyond it all levels together: fifteen pairs take most of a second
Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OutsiderView(Framed):
    """What an outsider learns of one question, beside the local guarantee.

    Attributes
    ----------
    question:
        Its name.
    shuffled:
        If reports are shuffled or only summed: central epsilon for every pair of levels, or for
        all levels as one where there are more than five.
    totals:
        The same if totals alone are released; None where that is not proven to tell less of any
        level by a hundredth at least. They follow from shuffled reports, so no epsilon is larger
        than that of :attr:`shuffled`.
    guess:
        Success of the best guess from one report, all answers alike before; of item sets for
        people with as many answers as the padding length. None where it is not known.
    assumed:
        The same if answers are as the question's objective expects; None where it does not.
    guessed:
        What is guessed, in words.
    lift:
        By what factor one report makes a right guess of the whole answer (of sets, of the set)
        likelier at most, whatever was believed before; at least 1.
    likelihoods:
        Of answers after a report, all alike before; None of item sets or where not known.
    caught:
        An audit by so many reports as usual catches about 90 of 100 clients that lose this much, in
        nats, on the pair that loses most; None of item sets, or where the law is not known.
    levels:
        Names of the levels that ``reach`` and ``standard_errors`` are of.
    reach:
        By how many people one false report moves the estimated count of an item of each level, at
        most; shape ``(t,)``; None where no counts are estimated.
    standard_errors:
        Of such a count, in people, shape ``(t,)``; None without ``reach``.
    """

    question: str
    shuffled: ShuffledGuarantee
    totals: ShuffledGuarantee | None
    guess: Guess | None
    assumed: Guess | None
    guessed: str
    lift: float
    likelihoods: Likelihoods | None
    caught: float | None
    levels: tuple[str, ...]
    reach: Array | None
    standard_errors: Array | None

    @property
    def swaying(self) -> NDArray[np.int64] | None:
        """False reports that may move a count by its standard error, by level, shape ``(t,)``."""
        if self.reach is None or self.standard_errors is None:
            return None
        return np.ceil(self.standard_errors / self.reach).astype(np.int64)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Everything it says, the local guarantee first."""
        said = (
            self._local(),
            self._central(),
            self._totals(),
            self._guess(),
            self._false_reports(),
            self._audit(),
        )
        return tuple(sentence for sentence in said if sentence)

    def local_budget(self, epsilon: float) -> float:
        """The largest plain local budget that keeps a wanted central epsilon, in nats.

        For the people and the delta of :attr:`shuffled`, whatever the mechanism; see
        :func:`planner.outsiders.shuffling.guarantee.local_budget`.

        Raises
        ------
        InputError, InfeasibleError
            ``epsilon`` is not above 0, or no budget reaches it.
        """
        return local_budget(epsilon, self.shuffled.people, self.shuffled.delta)

    def wanted_sentence(self, epsilon: float) -> str:
        """What :meth:`local_budget` says, and its condition."""
        nats = kept_at_most(self.local_budget(epsilon))
        return (
            f"Whatever mechanism keeps a plain budget of {nats} nats (here it is "
            f"{rounded_up(self.shuffled.local_epsilon, 4)}) has epsilon {float(epsilon)!r} at "
            f"delta {delta_text(self.shuffled.delta)} among {self.shuffled.people:,} people. "
            f"This second view {CONDITION}."
        )

    @property
    def totals_epsilons(self) -> tuple[float, ...] | None:
        """Epsilons of :attr:`totals`, pair by pair as in ``shuffled.pairs``; else None."""
        return None if self.totals is None else tuple(row[3] for row in self.totals.pairs)

    @property
    def summary(self) -> str:
        """All sentences."""
        return " ".join(self.sentences)

    def columns(self) -> dict[str, Any]:
        """One row a pair of levels, as that of :attr:`shuffled`."""
        return self.shuffled.columns()

    def _local(self) -> str:
        local = self.shuffled.local_epsilon
        return (
            "Of 100 people whose answer is known to be one of two, both as likely, a guess is "
            f"right for 50. After one report, seen with its sender, it is right for at most "
            f"{_right_at_most(local)} (epsilon {rounded_up(local, 4)})."
        )

    def _central(self) -> str:
        found = self.shuffled
        lost = (
            ""
            if isnan(found.lost)
            else f"; epsilon {lost_at_least(found.lost)} is lost in some case"
        )
        return (
            f"After all reports without their senders it is right for at most "
            f"{_right_at_most(found.epsilon, found.delta)}, hidden among {found.people:,} people "
            f"(epsilon {rounded_up(found.epsilon, 5)} at delta {delta_text(found.delta)}{lost}). "
            f"This second view {CONDITION}."
        )

    def _totals(self) -> str:
        if self.totals is None:
            return "Released totals alone are not proven to tell less than that."
        less, more = self.totals.level_epsilons, self.shuffled.level_epsilons
        most = int(np.argmin(less / more))
        return (
            "If nothing but totals is released, it is right for at most "
            f"{_right_at_most(float(less[most]), self.totals.delta)} where one of the two answers "
            f"is of {self.totals.names[most]!r} (epsilon {rounded_up(float(less[most]), 5)}, in "
            f"place of {rounded_up(float(more[most]), 5)})."
        )

    def _guess(self) -> str:
        if self.guess is None:
            return ""
        success, blind = of_hundred(self.guess.success), of_hundred_before(self.guess.blind)
        text = (
            f"Guessing {self.guessed} is right for {success} of 100 people after one report, and "
            f"for {blind} without any."
        )
        if self.assumed is not None:
            success = of_hundred(self.assumed.success)
            blind = of_hundred_before(self.assumed.blind)
            text += f" With the expected answers: for {success}, and for {blind}."
        return text

    def _false_reports(self) -> str:
        swaying = self.swaying
        if swaying is None or self.reach is None:
            return ""
        weakest = int(np.argmin(swaying))
        return (
            f"A false report moves an estimated count of {self.levels[weakest]!r} by at most "
            f"{reach_up(float(self.reach[weakest]))} people: {swaying[weakest]:,} of "
            "them may move it by as much as its standard error."
        )

    def _audit(self) -> str:
        if self.caught is None:
            return ""
        return (
            "Whether a client keeps to its budget, its reports can show. An audit of "
            f"{AUDITED:,} reports of each of two answers catches about 90 of 100 clients after "
            "whose report a guess between the two is right for "
            f"{_right_at_most(self.caught)} or more of 100 people (epsilon "
            f"{rounded_up(self.caught, 4)}), and accuses one of a million honest ones at most."
        )


def negligible(people: int) -> float:
    """A delta far below one over the people: a power of ten, at most a hundredth of that.

    Examples
    --------
    >>> negligible(40_000)
    1e-07
    """
    return float(10.0 ** floor(log10(1 / (100 * people)) + 1e-12))


def outsider_view(
    question: Question,
    mechanism: Any,
    people: int,
    standard_errors: Array | None,
    delta: float | None = None,
) -> OutsiderView | None:
    """The view of a question's mechanism; None where its budgets leave some pair unprotected.

    Parameters
    ----------
    question:
        As deployed, with the budgets that are spent.
    mechanism:
        What is deployed.
    people:
        Honest people who answer.
    standard_errors:
        Of an item's count by level, in people, shape ``(t,)``.
    delta:
        See :func:`negligible` when omitted.
    """
    policy = _policy_of(question)
    if not np.isfinite(policy.ldp_epsilon):
        return None
    exposed = exposure_of(mechanism, policy)
    among = min(people, MOST_PEOPLE)
    reports = _few_levels(exposed, policy)
    stated = negligible(among) if delta is None else delta
    guarantee = shuffled(reports, among, stated, every_example=False)
    totals = exposed.totals if reports is exposed.reports else None
    shares = _expected(question, policy)
    return OutsiderView(
        question=question.name,
        shuffled=guarantee,
        totals=None if totals is None else _of_totals(totals, guarantee),
        guess=exposed.guess(),
        assumed=None if shares is None else exposed.guess(shares),
        guessed=_guessed(question, exposed),
        lift=exposed.lift(policy),
        likelihoods=exposed.likelihoods(),
        caught=_caught(exposed, guarantee) if reports is exposed.reports else None,
        levels=policy.names,
        reach=None if standard_errors is None else exposed.reach,
        standard_errors=standard_errors,
    )


def _policy_of(question: Question) -> PrivacyPolicy:
    """The levels; of a mean one level for all numbers, and no answer."""
    if question.numeric is None:
        return question.policy
    return PrivacyPolicy([budget_of(question)], [2], names=["any answer"])


def _guessed(question: Question, exposed: Exposure) -> str:
    if question.numeric is not None:
        if exposed.law is not None and exposed.law.items > 3:
            points = exposed.law.items - 1
            return f"which it is of {points} numbers and no answer, all as likely before,"
        return "which it is of the lowest number, the highest and no answer, all as likely before,"
    items = int(question.policy.item_counts.sum())
    if exposed.set_size is not None:
        return f"one answer of a person who has any {exposed.set_size:,} of {items:,} answers"
    return f"the likeliest of {items:,} answers, all as likely before,"


def _few_levels(exposed: Exposure, policy: PrivacyPolicy) -> ShuffledReports:
    """The reports by level; where there are many levels, as whatever keeps the plain budget."""
    if len(exposed.reports.names) <= _MOST_LEVELS:
        return exposed.reports
    items = int(policy.item_counts.sum())
    return AnyMechanism(PrivacyPolicy([policy.ldp_epsilon], [items], names=["any answer"]))


def _of_totals(totals: ShuffledReports, whole: ShuffledGuarantee) -> ShuffledGuarantee | None:
    """What totals alone tell, no more than ``whole``; None if that is less of no level."""
    one = shuffled(totals, whole.people, whole.delta, every_example=False)
    one = replace(one, epsilons=np.minimum(one.epsilons, whole.epsilons))
    less = np.any(one.level_epsilons < (1 - _GAIN) * whole.level_epsilons)
    return one if less else None


def _caught(exposed: Exposure, guarantee: ShuffledGuarantee) -> float | None:
    """By the pair that loses most, tried alone by all views, in both orders."""
    if exposed.law is None or exposed.set_size is not None:
        return None
    i, j = np.unravel_index(int(np.nanargmax(guarantee.local)), guarantee.local.shape)
    hidden = exposed.reports.blanket(int(i), int(j))
    pair = next(iter(exposed.reports.examples(int(i), int(j))), hidden)  # hashes may collide
    laws = pair.masses * pair.first, pair.masses * pair.second
    error = 1e-6 / (2 * (len(VIEWS) + 1) + 1)  # one view more, as hashing has
    one, other = (caught_from(*both, AUDITED // 2, error) for both in (laws, laws[::-1]))
    least = min(one, other)
    return least if np.isfinite(least) else None


def _expected(question: Question, policy: PrivacyPolicy) -> Array | None:
    """Expected share of each answer, if the question's objective has them."""
    if question.kind != "categorical" or (prior := question.objective.prior) is None:
        return None
    shares = np.repeat(np.array(prior) / policy.item_counts, policy.item_counts)
    return np.asarray(shares / shares.sum())


def _right_at_most(epsilon: float, delta: float = 0.0) -> str:
    """How many of 100 guesses between two answers are right, at most.

    Whatever is seen, one answer is at most e^epsilon times as likely as the other, but for delta:
    as many as ``(e^epsilon + delta) / (1 + e^epsilon)`` are right.
    """
    return of_hundred(min(1.0, (1 + delta * exp(-epsilon)) / (1 + exp(-epsilon))))
