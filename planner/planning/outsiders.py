"""What an outsider learns from planned questions: beside the local guarantee, never instead.

Computed when somebody asks for it, from the mechanism that is deployed. Whoever sees reports with
their senders has the local guarantee and nothing else; the second view needs a shuffler or a
secure sum, and every sentence about it says so.

People understand odds better than an epsilon (Nanayakkara, Smart, Cummings, Kaptchuk and Redmiles,
"What Are the Chances? Explaining the Epsilon Parameter in Differential Privacy", USENIX Security
2023, with 963 people): sentences are about guesses that are right for so many of 100 people.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from heapq import nlargest
from math import exp, floor, log10
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.arguments import finite
from planner.laws.rounds import Rounds
from planner.mechanisms.making import law_of
from planner.outsiders.guarantee import (
    CONDITION,
    MOST_PEOPLE,
    ShuffledGuarantee,
    shuffled,
)
from planner.outsiders.shapes import Guess, Seen, of_policy, seen_of
from planner.outsiders.shown import (
    delta_text,
    of_hundred,
    of_hundred_before,
    reach_up,
)
from planner.policy.budget_text import rounded_up
from planner.policy.policy import PrivacyPolicy
from planner.survey.questions import Numeric, Question

UNHIDDEN = (
    "a question asked in two rounds, or with a pair of answers that no budget protects, is not "
    "hidden by shuffling"
)
NOTHING_TO_SAY = f"{UNHIDDEN.capitalize()}: what outsiders learn is what it promises."
_MOST_LEVELS = 5  # beyond it all levels together: fifteen pairs take most of a second
Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class OutsiderView:
    """What an outsider learns of one question, beside the local guarantee.

    A false report moves a level's count, of one round where there are ``rounds``, by ``reach``
    people at most; ``swaying`` of them may move it by its standard error. Of those who ``drawn``
    by lot report, the ``shuffled`` guarantee counts as many as there are but for a part of delta.
    """

    question: str
    shuffled: ShuffledGuarantee
    guess: Guess | None
    guessed: str
    levels: tuple[str, ...]
    reach: Array | None
    swaying: NDArray[np.int64] | None
    drawn: bool
    rounds: Rounds | None

    @property
    def sentences(self) -> tuple[str, ...]:
        """Everything it says, the local guarantee first."""
        said = (self._local(), self._central(), self._guess(), self._false_reports())
        return tuple(sentence for sentence in said if sentence)

    def _local(self) -> str:
        local = self.shuffled.local_epsilon
        return (
            "After one report, seen with its sender, a guess between two answers, both as likely "
            f"before, is right for at most {_right_at_most(local)} of 100 people (epsilon "
            f"{rounded_up(local, 4)})."
        )

    def _central(self) -> str:
        found, among = self.shuffled, f"{self.shuffled.people:,} people"
        if self.drawn:
            among = f"at least {among} who report" + " in the same round" * bool(self.rounds)
        text = (
            f"After all reports without their senders it is right for at most "
            f"{_right_at_most(found.epsilon, found.delta)}, hidden among {among} "
            f"(epsilon {rounded_up(found.epsilon, 5)} at delta {delta_text(found.delta)}): this "
            f"second view {CONDITION}."
        )
        if self.rounds is None or self.rounds.changes is None:
            return text
        hidden = "Who changes hides only among those who change in the same rounds."
        return f"{text[:-1]}, and while answers stay. {hidden}"

    def _guess(self) -> str:
        if self.guess is None:
            return ""
        success, blind = of_hundred(self.guess.success), of_hundred_before(self.guess.blind)
        return (
            f"Guessing {self.guessed} is right for {success} of 100 people after one report, and "
            f"for {blind} without any."
        )

    def _false_reports(self) -> str:
        if self.swaying is None or self.reach is None:
            return ""
        weakest = int(np.argmin(self.swaying))
        count = "estimated count" if self.rounds is None else "estimated count of a round"
        return (
            f"A false report moves an {count} of {self.levels[weakest]!r} by at most "
            f"{reach_up(float(self.reach[weakest]))} people: {self.swaying[weakest]:,} of "
            "them may move it by as much as its standard error."
        )


@dataclass(frozen=True, slots=True, eq=False)
class SurveyOutsiderView:
    """What an outsider learns from all questions of a survey that share its budgets."""

    questions: tuple[OutsiderView, ...]
    asked: int | None
    left_out: tuple[str, ...] = ()

    @property
    def epsilon(self) -> float | None:
        """Central epsilon of all reports of a person, each question shuffled separately; nats.

        They add up over the questions that a person answers. None where a question is left out: no
        epsilon holds for all of them.
        """
        return self._together([one.shuffled.epsilon for one in self.questions])

    @property
    def delta(self) -> float | None:
        """Delta that belongs to :attr:`epsilon`."""
        return self._together([one.shuffled.delta for one in self.questions])

    @property
    def sentences(self) -> tuple[str, ...]:
        """What holds for all questions together; nothing where there is only one in all."""
        if len(self.questions) + len(self.left_out) < 2:
            return ()
        if self.epsilon is None or self.delta is None:
            names = ", ".join(map(repr, self.left_out))
            nothing = f"Nothing is said here of {names}: {UNHIDDEN}."
            return (f"{nothing} So no epsilon is claimed for all questions together.",)
        whole = self.asked is None
        each = "all their reports" if whole else "the reports of the questions they get"
        together = (
            f"All questions together, each shuffled separately: {each} hide a person with epsilon "
            f"{rounded_up(self.epsilon, 5)} at delta {delta_text(self.delta)}. "
        )
        return (f"{together}This second view {CONDITION}.",)

    def _together(self, each: list[float]) -> float | None:
        if self.left_out:
            return None
        return sum(each if self.asked is None else nlargest(self.asked, each))


def negligible(people: int) -> float:
    """A delta far below one over the people: a power of ten, at most a hundredth of that."""
    return float(10.0 ** floor(log10(1 / (100 * people)) + 1e-12))


def outsider_view(
    question: Question,
    mechanism: Any,
    people: int,
    standard_errors: Array | None,
    delta: float | None = None,
    fraction: float = 1.0,
) -> OutsiderView | None:
    """The view of a question's mechanism; None where its budgets leave some pair unprotected.

    A ``fraction`` of the people, drawn by lot, are asked it. Where it is asked again a report tells
    its round, or that it is of a later value, and a report that is repeated hides nobody else: it
    hides among one of ``parts`` parts of those people, by lot.
    """
    policy = question.policy
    if isinstance(question, Numeric):  # one level for all numbers, and no answer
        policy = PrivacyPolicy(policy.epsilons, [2], names=["any answer"])
    if not np.isfinite(policy.ldp_epsilon):
        return None
    seen = seen_of(law_of(question, mechanism).shape)
    rounds = None if question.rounds is None else question.rounds.deployed
    parts, among = 1 if rounds is None else rounds.parts, min(people, MOST_PEOPLE)
    stated = negligible(max(1, round(fraction * among))) if delta is None else delta
    drawn, kept = fraction < parts, stated
    if drawn and 0 < finite("delta", stated) < 1:
        among, kept = _fewest(among, fraction / parts, stated / 100), 0.99 * stated
    hidden = seen if len(seen.names) <= _MOST_LEVELS else _of_one_level(policy)
    reach = swaying = None
    if standard_errors is not None and seen.reach is not None:  # a round's, scaled to all people
        reach = parts * seen.reach
        swaying = np.ceil(standard_errors / reach).astype(np.int64)
    central = replace(shuffled(hidden, among, kept), delta=stated)
    about = question.name, central, seen.guess(), _guessed(question, seen), policy.names
    return OutsiderView(*about, reach, swaying, drawn, rounds)


def _fewest(people: int, chance: float, miss: float) -> int:
    """Fewer than so many report with a chance of at most ``miss``, the one who hides among them."""
    from scipy.stats import binom

    return 1 + max(0, int(binom.ppf(miss, people - 1, chance)))


def _guessed(question: Question, seen: Seen) -> str:
    if isinstance(question, Numeric):
        points = len(seen.names) - 1
        if points > 2:
            return f"which it is of {points} numbers and no answer, all as likely before,"
        return "which it is of the lowest number, the highest and no answer, all as likely before,"
    items = int(question.policy.item_counts.sum())
    if seen.set_size:
        return f"one answer of a person who has any {seen.set_size:,} of {items:,} answers"
    return f"the likeliest of {items:,} answers, all as likely before,"


def _of_one_level(policy: PrivacyPolicy) -> Seen:
    items = int(policy.item_counts.sum())
    return of_policy(PrivacyPolicy([policy.ldp_epsilon], [items], names=["any answer"]))


def _right_at_most(epsilon: float, delta: float = 0.0) -> str:
    """How many of 100 guesses between two answers are right, at most.

    Whatever is seen, one answer is at most e^epsilon times as likely as the other, but for delta:
    as many as ``(e^epsilon + delta) / (1 + e^epsilon)`` are right.
    """
    return of_hundred(min(1.0, (1 + delta * exp(-epsilon)) / (1 + exp(-epsilon))))
