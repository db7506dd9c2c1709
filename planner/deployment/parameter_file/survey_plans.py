"""From a planned survey to parameter files: one for everybody, or one a question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from planner.deployment.parameter_file.building import parameters_from_mechanisms
from planner.deployment.parameter_file.parameters import Parameters
from planner.errors import InputError
from planner.mechanisms.bisample import BiSampleMD
from planner.mechanisms.padding import PaddedUnaryMechanism
from planner.mechanisms.unary import UnaryMechanism
from planner.planning.ledger import Ledger
from planner.planning.prediction import plain_rivals
from planner.planning.sampling.plan import SamplingPlan, plan_sampling_survey
from planner.planning.whole_survey.plan import WholePlan, plan_whole_survey
from planner.planning.whole_survey.planned_question import PlannedQuestion
from planner.survey import Question, Survey

__all__ = [
    "DEPLOYABLE",
    "SurveyPlan",
    "deployable_files",
    "mechanism_choices",
    "plan_survey_with",
    "survey_parameters",
]

DEPLOYABLE = {
    "opt0": "IDUE opt0, each level's own budget",
    "opt1": "IDUE opt1 (a + b = 1)",
    "opt2": "IDUE opt2 (a = 1/2)",
    "rappor": "RAPPOR at the smallest budget",
    "oue": "OUE at the smallest budget",
    "grr": "randomised response (GRR) at the smallest budget",
    "subset": "subset selection at the smallest budget",
    "olh": "local hashing (OLH) at the smallest budget",
}
_MOST_RIVAL_ITEMS = 100_000


@dataclass(frozen=True, slots=True, eq=False)
class SurveyPlan:
    """A survey's plan: questions that share the budgets, and those asked in two rounds.

    ``whole`` is ``None`` if every question is of the kind ``"sampled-choice"``, whose
    guarantee is of another nature and does not take part in sharing.
    """

    survey: Survey
    whole: WholePlan | None
    sampled: dict[str, SamplingPlan]


@lru_cache(maxsize=32)
def plan_survey_with(survey: Survey, ledger: str | None = None) -> SurveyPlan:
    """Plan every question of a survey; ``ledger`` is a ledger file's JSON.

    Raises
    ------
    PlannerError
        A question cannot be planned, or no budget is left for it.
    """
    sharing = tuple(q for q in survey.questions if q.kind != "sampled-choice")
    spent = None if ledger is None else Ledger.model_validate_json(ledger)
    whole = None
    if sharing:
        whole = plan_whole_survey(replace(survey, questions=sharing), ledger=spent)
    sampled = {}
    if len(sharing) < len(survey.questions):
        asked = tuple(q for q in survey.questions if q.kind == "sampled-choice")
        sampled = plan_sampling_survey(replace(survey, questions=asked, objective="sum"))
    return SurveyPlan(survey, whole, sampled)


def mechanism_choices(question: Question) -> list[str]:
    """Mechanisms that a question can be deployed with, by name; the first is the plan's."""
    unary = ("opt0", "opt1", "opt2", "rappor", "oue")
    if question.kind == "item-set":
        return list(unary)
    if question.kind != "categorical":
        return ["opt0"]
    items = sum(level.item_count for level in question.levels)
    plain = plain_rivals(question.policy) if 2 <= items <= _MOST_RIVAL_ITEMS else {}
    return list(dict.fromkeys((*unary, *plain)))


def deployable_files(plan: SurveyPlan, chosen: Mapping[str, str]) -> dict[str, Parameters]:
    """Verified parameters by a name for their file: one, or one a question if each gets one.

    Arguments and errors are those of :func:`survey_parameters`.
    """
    questions = plan.survey.questions
    if plan.survey.design == "split" or len(questions) == 1:
        return {"parameters": survey_parameters(plan, chosen)}
    return {
        f"parameters-{number}": survey_parameters(plan, chosen, question.name)
        for number, question in enumerate(questions, start=1)
    }


def survey_parameters(
    plan: SurveyPlan, chosen: Mapping[str, str], question: str | None = None
) -> Parameters:
    """Verified parameters of a planned survey: what every question really spends, and no more.

    Parameters
    ----------
    plan:
        The survey's plan.
    chosen:
        Name of the mechanism per question; ``"opt0"`` where none is chosen.
    question:
        This question alone; all of them when omitted.

    Raises
    ------
    InputError
        No such question or mechanism; a question cannot be deployed, a weaker guarantee is
        not acknowledged for example; or everybody answers one question, so that there is
        no one file for everybody.
    VerificationError
        Probabilities do not keep their budgets.
    """
    survey = plan.survey
    names = [q.name for q in survey.questions]
    if question is not None and question not in names:
        raise InputError("question", question, f"one of {', '.join(map(repr, names))}")
    if question is None and len(names) > 1 and survey.design == "one-each":
        remedy = "Export the questions one by one: each person gets the file of one of them."
        raise InputError("design", "one-each", '"split" for a file with all questions', remedy)
    planned = {} if plan.whole is None else {q.question.name: q for q in plan.whole.questions}
    asked: list[Question] = []
    mechanisms: dict[str, Any] = {}
    for one in survey.questions:
        if question not in (None, one.name):
            continue
        if one.name in plan.sampled:
            spending, mechanism = one, plan.sampled[one.name]
        else:
            name = chosen.get(one.name, "opt0")
            spending, mechanism = _mechanism(plan.whole, planned[one.name], name)
        asked.append(spending)
        mechanisms[one.name] = mechanism
    users = planned[question].users if question in planned else survey.users
    survey = replace(survey, users=users, questions=tuple(asked), objective="sum")
    return parameters_from_mechanisms(survey, mechanisms)


def _mechanism(
    whole: WholePlan | None, planned: PlannedQuestion, name: str
) -> tuple[Question, Any]:
    """The question with the budgets that it spends, and its mechanism."""
    question = planned.question
    if whole is not None and question.numeric is not None:
        spent = next(row.spent for row in whole.spending if row.question == question.name)
        spending = replace(question, numeric=replace(question.numeric, epsilon=spent))
        return spending, BiSampleMD(spent, question.numeric.domain)
    if planned.plan is None:
        raise InputError("kind", question.kind, "one that can be deployed")
    question, tables = planned.plan.question, planned.plan.alternatives
    if name not in (choices := mechanism_choices(question)):
        what = f"mechanism of question {question.name!r}"
        raise InputError(what, name, f"one of {', '.join(choices)}")
    if question.kind == "item-set":
        unary = UnaryMechanism(tables[name])
        return question, PaddedUnaryMechanism(unary, planned.padding_length or 1)
    if name in tables:
        return question, tables[name]
    return question, plain_rivals(question.policy)[name]
