"""What an outsider learns from a planned question: beside the local guarantee, never instead.

Computed when somebody asks for it, from the mechanism that is deployed. Whoever sees reports with
their senders has the local guarantee and nothing else; the second view needs a shuffler or a
secure sum, and every sentence about it says so.

People understand odds better than an epsilon (Nanayakkara, Smart, Cummings, Kaptchuk and Redmiles,
"What Are the Chances? Explaining the Epsilon Parameter in Differential Privacy", USENIX Security
2023, with 963 people): sentences are about guesses that are right for so many of 100 people.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp, floor, isnan, log10, prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from planner.frames import Framed
from planner.outsiders.exposure import Exposure, exposure_of
from planner.outsiders.guessing.laws import Guess
from planner.outsiders.shuffling.central import MOST_PEOPLE
from planner.outsiders.shuffling.guarantee import (
    CONDITION,
    ShuffledGuarantee,
    local_budget,
    shuffled,
)
from planner.outsiders.shuffling.mechanisms import AnyMechanism, ShuffledReports
from planner.planning.whole_survey.left_open import budget_of
from planner.policy.budget_text import rounded_up
from planner.policy.policy import PrivacyPolicy
from planner.survey import Question

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["NOTHING_TO_SAY", "OutsiderView", "SurveyOutsiderView", "negligible", "outsider_view"]

NOTHING_TO_SAY = (
    "A question asked in two rounds, or with a pair of answers that no budget protects, is not "
    "hidden by shuffling: what outsiders learn is what it promises."
)
_MOST_LEVELS = 5  # beyond it all levels together: fifteen pairs take most of a second
Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class OutsiderView(Framed):
    """What an outsider learns of one question, beside the local guarantee.

    Attributes
    ----------
    question:
        Its name.
    shuffled:
        If reports are shuffled or only summed: central epsilon for every pair of levels, or for
        all levels as one where there are more than five.
    guess:
        Success of the best guess from one report, all answers alike before; of item sets for
        people with as many answers as the padding length. None where it is not known.
    assumed:
        The same if answers are as the question's objective expects; None where it does not.
    guessed:
        What is guessed, in words.
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
    guess: Guess | None
    assumed: Guess | None
    guessed: str
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
        said = (self._local(), self._central(), self._guess(), self._false_reports())
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
        nats = floor(self.local_budget(epsilon) * 1e4) / 1e4
        return (
            f"Whatever mechanism keeps a plain budget of {nats:.4f} nats (here it is "
            f"{rounded_up(self.shuffled.local_epsilon, 4)}) has epsilon {epsilon:g} at delta "
            f"{self.shuffled.delta:.0e} among {self.shuffled.people:,} people. "
            f"This second view {CONDITION}."
        )

    @property
    def summary(self) -> str:
        """All sentences."""
        return " ".join(self.sentences)

    def to_frame(self) -> DataFrame:
        """One row a pair of levels, as that of :attr:`shuffled`."""
        return self.shuffled.to_frame()

    def _local(self) -> str:
        local = self.shuffled.local_epsilon
        return (
            "Of 100 people whose answer is known to be one of two, both as likely, a guess is "
            f"right for 50. After one report, seen with its sender, it is right for at most "
            f"{_of_hundred(local)} (epsilon {rounded_up(local, 4)})."
        )

    def _central(self) -> str:
        found = self.shuffled
        lost = "" if isnan(found.lost) else f"; epsilon {_down(found.lost)} is lost in some case"
        return (
            f"After all reports without their senders it is right for at most "
            f"{_of_hundred(found.epsilon, found.delta)}, hidden among {found.people:,} people "
            f"(epsilon {rounded_up(found.epsilon, 5)} at delta {found.delta:.0e}{lost}). "
            f"This second view {CONDITION}."
        )

    def _guess(self) -> str:
        if self.guess is None:
            return ""
        success, blind = _up(self.guess.success), _up(self.guess.blind)
        text = (
            f"Guessing {self.guessed} is right for {success} of 100 people after one report, and "
            f"for {blind} without any."
        )
        if self.assumed is not None:
            success, blind = _up(self.assumed.success), _up(self.assumed.blind)
            text += f" With the expected answers: for {success}, and for {blind}."
        return text

    def _false_reports(self) -> str:
        swaying = self.swaying
        if swaying is None or self.reach is None:
            return ""
        weakest = int(np.argmin(swaying))
        return (
            f"A false report moves an estimated count of {self.levels[weakest]!r} by at most "
            f"{ceil(float(self.reach[weakest]) * 100) / 100:,.2f} people: {swaying[weakest]:,} of "
            "them may move it by as much as its standard error."
        )


@dataclass(frozen=True, slots=True, eq=False)
class SurveyOutsiderView(Framed):
    """What an outsider learns from all questions of a survey that share its budgets.

    Attributes
    ----------
    questions:
        Question by question; those of the kind ``"sampled-choice"`` are left out, whose guarantee
        is of another nature.
    asked_all:
        Whether everybody answers all of them, or one each.
    """

    questions: tuple[OutsiderView, ...]
    asked_all: bool

    @property
    def epsilon(self) -> float:
        """Central epsilon of all reports of a person, each question shuffled separately; nats.

        They add up where everybody answers everything.
        """
        each = [one.shuffled.epsilon for one in self.questions]
        return sum(each) if self.asked_all else max(each)

    @property
    def delta(self) -> float:
        """Delta that belongs to :attr:`epsilon`."""
        each = [one.shuffled.delta for one in self.questions]
        return sum(each) if self.asked_all else max(each)

    @property
    def guess(self) -> Guess | None:
        """Success of guessing every answer of a person right, if the answers are independent.

        None for one question each, or where a question's is not known.
        """
        known = [one.guess for one in self.questions if one.guess is not None]
        if not self.asked_all or len(known) < len(self.questions):
            return None
        return Guess(prod(one.success for one in known), prod(one.blind for one in known))

    @property
    def sentences(self) -> tuple[str, ...]:
        """What holds for all questions together; nothing where there is only one."""
        if len(self.questions) < 2:
            return ()
        each = "all their reports" if self.asked_all else "the report of the question they get"
        text = (
            f"All questions together, each shuffled separately: {each} hide a person with epsilon "
            f"{rounded_up(self.epsilon, 5)} at delta {self.delta:.0e}. "
            f"This second view {CONDITION}."
        )
        if self.guess is None:
            return (text,)
        every = (
            "Guessing every answer of a person, if they do not depend on each other, is right for "
            f"{_up(self.guess.success)} of 100 people after all reports, seen with their sender, "
            f"and for {_up(self.guess.blind)} without any."
        )
        return text, every

    @property
    def summary(self) -> str:
        """All sentences, question by question."""
        each = [f"{one.question}: {one.summary}" for one in self.questions]
        return " ".join([*each, *self.sentences])

    def to_frame(self) -> DataFrame:
        """One row a question: budgets seen alone and shuffled, and guesses."""
        from pandas import DataFrame

        return DataFrame(
            {
                "question": [one.question for one in self.questions],
                "people": [one.shuffled.people for one in self.questions],
                "local": [one.shuffled.local_epsilon for one in self.questions],
                "epsilon": [one.shuffled.epsilon for one in self.questions],
                "delta": [one.shuffled.delta for one in self.questions],
                "guess": [one.guess and one.guess.success for one in self.questions],
                "blind": [one.guess and one.guess.blind for one in self.questions],
            }
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
    guarantee = shuffled(
        _few_levels(exposed, policy),
        among,
        negligible(among) if delta is None else delta,
        every_example=False,
    )
    shares = _expected(question, policy)
    return OutsiderView(
        question=question.name,
        shuffled=guarantee,
        guess=exposed.guess(),
        assumed=None if shares is None else exposed.guess(shares),
        guessed=_guessed(question, exposed),
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


def _expected(question: Question, policy: PrivacyPolicy) -> Array | None:
    """Expected share of each answer, if the question's objective has them."""
    if question.kind != "categorical" or (prior := question.objective.prior) is None:
        return None
    shares = np.repeat(np.array(prior) / policy.item_counts, policy.item_counts)
    return np.asarray(shares / shares.sum())


def _of_hundred(epsilon: float, delta: float = 0.0) -> str:
    """How many of 100 guesses between two answers are right, at most.

    Whatever is seen, one answer is at most e^epsilon times as likely as the other, but for delta:
    as many as ``(e^epsilon + delta) / (1 + e^epsilon)`` are right.
    """
    return _up(min(1.0, (1 + delta * exp(-epsilon)) / (1 + exp(-epsilon))))


def _up(share: float) -> str:
    """A share as so many of 100, never shown smaller than it is."""
    digits = 2 if share >= 0.01 else 1 - floor(log10(share)) - 2
    scale = 10**digits
    return f"{ceil(100 * share * scale - 1e-9) / scale:.{digits}f}".rstrip("0").rstrip(".")


def _down(epsilon: float) -> str:
    return f"{floor(epsilon * 1e5) / 1e5:.5f}"
