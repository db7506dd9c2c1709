"""What an outsider learns from all questions of a survey together."""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import nlargest
from math import nan, prod
from typing import Any

import numpy as np

from planner.frames import Framed
from planner.outsiders.guessing.laws import Guess
from planner.outsiders.guessing.reidentification import Reidentification, reidentification
from planner.outsiders.shown import delta_text, of_hundred, of_hundred_before
from planner.outsiders.shuffling.guarantee import CONDITION
from planner.planning.whole_survey.outsider_view import UNHIDDEN, OutsiderView
from planner.policy.budget_text import rounded_up

_SEED = 1  # of simulated reports: every face shows the same figures


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SurveyOutsiderView(Framed):
    """What an outsider learns from all questions of a survey that share its budgets.

    Attributes
    ----------
    questions:
        Question by question, as far as something can be said.
    asked:
        How many of the questions each person answers; None for all of them.
    left_out:
        Names of the questions of which nothing can be said: of the kind ``"sampled-choice"``,
        whose guarantee is of another nature, or with a pair of answers that no budget protects.
    reidentification:
        Success of finding, among all people, the one whom a person's reports came from. None
        where a person answers some of them, or a question is left out: nothing bounds what it
        tells.
    """

    questions: tuple[OutsiderView, ...]
    asked: int | None
    left_out: tuple[str, ...] = ()
    reidentification: Reidentification | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        if not self.asked_all or self.left_out:
            return
        known = [one.likelihoods for one in self.questions if one.likelihoods is not None]
        found = reidentification(
            [one.lift for one in self.questions],
            known if len(known) == len(self.questions) else None,
            max(one.shuffled.people for one in self.questions),
            np.random.default_rng(_SEED),
        )
        object.__setattr__(self, "reidentification", found)

    @property
    def epsilon(self) -> float | None:
        """Central epsilon of all reports of a person, each question shuffled separately; nats.

        They add up where everybody answers everything. None where a question is left out: no
        epsilon holds for all of them.
        """
        return self._together([one.shuffled.epsilon for one in self.questions])

    @property
    def delta(self) -> float | None:
        """Delta that belongs to :attr:`epsilon`."""
        return self._together([one.shuffled.delta for one in self.questions])

    @property
    def asked_all(self) -> bool:
        """Whether everybody answers all questions."""
        return self.asked is None

    @property
    def guess(self) -> Guess | None:
        """Success of guessing every answer of a person right, if the answers are independent.

        Those to questions that are left out are not guessed. None where a person answers some
        of the questions, or where a question's is not known.
        """
        known = [one.guess for one in self.questions if one.guess is not None]
        if not self.asked_all or len(known) < len(self.questions):
            return None
        return Guess(prod(one.success for one in known), prod(one.blind for one in known))

    @property
    def sentences(self) -> tuple[str, ...]:
        """What holds for all questions together; nothing where there is only one in all."""
        if len(self.questions) + len(self.left_out) < 2:
            return ()
        said = (self._nothing(), self._central(), self._guess(), self._finding())
        return tuple(sentence for sentence in said if sentence)

    @property
    def summary(self) -> str:
        """All sentences, question by question."""
        each = [f"{one.question}: {one.summary}" for one in self.questions]
        return " ".join([*each, *self.sentences])

    def columns(self) -> dict[str, Any]:
        """One row a question: budgets seen alone and shuffled, and guesses.

        Those that are left out come last, without numbers.
        """
        nothing: list[Any] = [nan] * len(self.left_out)
        return {
            "question": [*(one.question for one in self.questions), *self.left_out],
            "people": [one.shuffled.people for one in self.questions] + nothing,
            "local": [one.shuffled.local_epsilon for one in self.questions] + nothing,
            "epsilon": [one.shuffled.epsilon for one in self.questions] + nothing,
            "delta": [one.shuffled.delta for one in self.questions] + nothing,
            "guess": [one.guess and one.guess.success for one in self.questions] + nothing,
            "blind": [one.guess and one.guess.blind for one in self.questions] + nothing,
        }

    def _together(self, each: list[float]) -> float | None:
        if self.left_out:
            return None
        return sum(each if self.asked is None else nlargest(self.asked, each))

    def _nothing(self) -> str:
        if not self.left_out:
            return ""
        return (
            f"Nothing is said here of {self._names()}: {UNHIDDEN}. So no epsilon is "
            "claimed for all questions together."
        )

    def _central(self) -> str:
        epsilon, delta = self.epsilon, self.delta
        if epsilon is None or delta is None:
            return ""
        each = "all their reports" if self.asked_all else "the reports of the questions they get"
        return (
            f"All questions together, each shuffled separately: {each} hide a person with epsilon "
            f"{rounded_up(epsilon, 5)} at delta {delta_text(delta)}. "
            f"This second view {CONDITION}."
        )

    def _guess(self) -> str:
        if self.guess is None or len(self.questions) < 2:
            return ""
        but = f" but those to {self._names()}" if self.left_out else ""
        return (
            f"Guessing every answer of a person{but}, if they do not depend on each other, is "
            f"right for {of_hundred(self.guess.success)} of 100 people after all reports, seen "
            f"with their sender, and for {of_hundred_before(self.guess.blind)} without any."
        )

    def _finding(self) -> str:
        found = self.reidentification
        if found is None:
            return ""
        text = (
            "Finding whose reports to all questions these are, among "
            f"{found.people:,} people whose answers are known, is right for at most "
            f"{of_hundred(found.most)} of 100 people, and for {of_hundred_before(found.blind)} "
            "without any report."
        )
        if found.expected is None or of_hundred(found.expected) == of_hundred(found.most):
            return text
        text += (
            " If answers do not depend on each other, all of them alike: for "
            f"{of_hundred(found.expected)}"
        )
        if found.standard_error:
            text += f" (simulated; standard error {of_hundred(found.standard_error)})"
        return f"{text}."

    def _names(self) -> str:
        return ", ".join(map(repr, self.left_out))
