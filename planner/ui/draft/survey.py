"""A survey as it is being typed: text that may be wrong, and what is right about it.

A draft keeps exactly what was typed. :meth:`SurveyDraft.build` turns it into a frozen
:class:`~planner.survey.Survey` of everything that is right, and one sentence for every
cell that is not.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.errors import InputError
from planner.survey import Question, Survey
from planner.ui.draft.categorical import CategoricalDraft
from planner.ui.draft.numeric import NumericDraft
from planner.ui.draft.parts import QuestionDraft, read
from planner.ui.draft.sampled import SampledDraft
from planner.ui.parts import cells


@dataclass(frozen=True, slots=True)
class Built:
    """What a draft amounts to.

    Attributes
    ----------
    survey:
        Of all that is right; ``None`` if nothing can be planned yet.
    problems:
        One sentence for each thing that is not.
    """

    survey: Survey | None
    problems: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether the survey is all that was typed."""
        return self.survey is not None and not self.problems


@dataclass(slots=True)
class SurveyDraft:
    """A survey as typed: its name, the number of users and its questions."""

    name: str
    users: str
    questions: list[QuestionDraft]
    design: str = "split"
    objective: str = "sum"
    asked: str = ""

    @classmethod
    def of(cls, survey: Survey) -> SurveyDraft:
        """The draft that builds this survey."""
        questions = [_draft_of(question) for question in survey.questions]
        asked = "" if survey.asked is None else str(survey.asked)
        aims = survey.design, survey.objective, asked
        return cls(survey.name, f"{survey.users:,}", questions, *aims)

    def build(self) -> Built:
        """All that is right, and one sentence for each thing that is not."""
        users, problems = self.build_users()
        name = self.name.strip()
        included = [question for question in self.questions if question.included]
        questions = []
        for draft in included:
            question, found = draft.build()
            where = f"Question {draft.name!r}. " if len(included) > 1 else ""
            problems += [where + sentence for sentence in found]
            if question is not None:
                questions.append(question)
        if not name or users is None or not questions:
            return Built(None, tuple(problems))
        try:
            asked = self.read_asked() if self.design == "some-each" else None
            aims = self.design, self.objective, None, asked
            survey = Survey(name, users, tuple(questions), *aims)
            return Built(survey, tuple(problems))
        except InputError as error:
            return Built(None, (*problems, str(error)))

    def build_users(self) -> tuple[int | None, list[str]]:
        """The number of users, and a sentence for what is wrong outside the questions."""
        problems = [] if self.name.strip() else ["The survey has no name yet."]
        return read(self.read_users, problems), problems

    def read_users(self) -> int:
        """The number of users.

        Raises
        ------
        InputError
            What was typed is no such number.
        """
        return cells.whole_number(self.users, "users")

    def read_asked(self) -> int | None:
        """How many questions each person answers; None for the best number.

        Raises
        ------
        InputError
            What was typed is no such number.
        """
        return cells.whole_number(self.asked, "asked") if self.asked.strip() else None


def _draft_of(question: Question) -> QuestionDraft:
    if question.kind == "numeric":
        return NumericDraft.of(question)
    if question.kind == "sampled-choice":
        return SampledDraft.of(question)
    return CategoricalDraft.of(question)
