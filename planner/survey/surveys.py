"""What is collected: a survey of questions.

Every front end builds a :class:`Survey`; :mod:`planner.survey.file` reads one from TOML.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner import arguments
from planner.errors import InputError
from planner.limits import MAX_COUNT
from planner.survey.questions import Question, require_text
from planner.survey.target import Target

DESIGNS = ("split", "one-each", "some-each")
OBJECTIVES = ("sum", "minimax")


@dataclass(frozen=True, slots=True)
class Survey:
    """A named set of questions asked of ``users`` people.

    Parameters
    ----------
    name, users, questions:
        At least one question and one user.
    design:
        ``"split"`` (everybody answers everything and each question gets a share of the budgets),
        ``"one-each"`` (everybody answers one question at its full budget) or ``"some-each"``
        (everybody answers ``asked`` questions, each with an even part of its budgets).
    objective:
        ``"sum"``: the sum of the questions' errors by their weights. ``"minimax"``: the largest
        ratio of a question's error to its target.
    ledger:
        File of earlier collections from the same people, or None.
    asked:
        For ``"some-each"``, and only for it: how many questions each person answers, 1 to all that
        share the budgets; None to plan with the best number.

    Raises
    ------
    InputError
        No question, a repeated question name, a number of users below 1, only weights of 0, an
        unknown design or objective, a number asked that does not fit, or a minimax without
        targets.
    """

    name: str
    users: int
    questions: tuple[Question, ...]
    design: str = "split"
    objective: str = "sum"
    ledger: str | None = None
    asked: int | None = None

    def __post_init__(self) -> None:
        require_text("survey name", self.name)
        if type(self.users) is not int or not 1 <= self.users <= MAX_COUNT:
            remedy = "Say how many people will be asked."
            raise InputError("users", self.users, f"a whole number from 1 to {MAX_COUNT}", remedy)
        if not self.questions:
            raise InputError(
                "questions", self.questions, "one or more questions", "Add a question."
            )
        seen: set[str] = set()
        for question in self.questions:
            if question.name in seen:
                allowed = "different from every other's"
                remedy = "Rename one of the two."
                raise InputError("question name", question.name, allowed, remedy)
            seen.add(question.name)
        self._check_aims()

    def _check_aims(self) -> None:
        for name, value, known in (
            ("design", self.design, DESIGNS),
            ("objective", self.objective, OBJECTIVES),
        ):
            if value not in known:
                raise InputError.unknown(name, value, known, "Leave it out for the usual one.")
        self._check_asked()
        weights = [question.weight for question in self.questions]
        if not any(weights):
            remedy = "Say which questions matter, or leave all weights out."
            raise InputError("weights", weights, "above 0 for the questions that are asked", remedy)
        for question in self.questions:
            if question.weight == 0:
                remedy = "Leave a question that does not matter out of the survey."
                raise InputError(f"weight of question {question.name!r}", 0, "above 0", remedy)
            if self.objective == "minimax" and _total_target(question.targets) is None:
                remedy = "Give it a [[question.target]] with an error and no level."
                what = f"targets of question {question.name!r}"
                raise InputError(what, None, 'given for the objective "minimax"', remedy)

    def _check_asked(self) -> None:
        if self.asked is None:
            return
        if self.design != "some-each":
            remedy = 'Set design = "some-each", or leave it out.'
            raise InputError("asked", self.asked, "given for the design some-each alone", remedy)
        sharing = sum(question.kind != "sampled-choice" for question in self.questions)
        arguments.whole_number("asked", self.asked, 1, max(1, sharing))


def _total_target(targets: Sequence[Target]) -> Target | None:
    return next((t for t in targets if t.kind == "error" and t.level is None), None)
