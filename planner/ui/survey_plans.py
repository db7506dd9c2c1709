"""The whole survey planned: what the pages Survey and Export show and write."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from planner.deployment.building import parameters_from_mechanisms
from planner.deployment.parameters import Parameters
from planner.errors import InputError
from planner.mechanisms.bisample import BiSampleMD
from planner.mechanisms.padding import PaddedUnaryMechanism
from planner.mechanisms.unary import UnaryMechanism
from planner.planning.ledger import Ledger
from planner.planning.sampling_plan import SamplingPlan, plan_sampling_survey
from planner.planning.whole_survey import PlannedQuestion, WholePlan, plan_whole_survey
from planner.prediction import plain_rivals
from planner.survey import Question, Survey

__all__ = ["SurveyPlan", "deployable_files", "mechanism_choices", "plan_survey_with"]

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
    if question.kind == "item-set":
        return ["opt0", "opt1", "opt2", "rappor", "oue"]
    if question.kind != "categorical":
        return ["opt0"]
    items = sum(level.item_count for level in question.levels)
    plain = plain_rivals(question.policy) if 2 <= items <= _MOST_RIVAL_ITEMS else {}
    return [
        "opt0",
        "opt1",
        "opt2",
        *(name for name in ("rappor", "oue") if name not in plain),
        *plain,
    ]


def deployable_files(plan: SurveyPlan, chosen: dict[str, str]) -> dict[str, Parameters]:
    """Verified parameters by a name for their file: one, or one a question if each gets one.

    Parameters
    ----------
    plan:
        The survey's plan.
    chosen:
        Name of the mechanism per question; ``"opt0"`` where none is chosen.

    Raises
    ------
    InputError
        A question cannot be deployed, a weaker guarantee is not acknowledged for example.
    VerificationError
        Probabilities do not keep their budgets.
    """
    planned = {} if plan.whole is None else {q.question.name: q for q in plan.whole.questions}
    asked: list[Question] = []
    mechanisms: dict[str, Any] = {}
    for question in plan.survey.questions:
        if question.name in plan.sampled:
            asked.append(question)
            mechanisms[question.name] = plan.sampled[question.name]
            continue
        name = chosen.get(question.name, "opt0")
        spending, mechanism = _mechanism(plan.whole, planned[question.name], name)
        asked.append(spending)
        mechanisms[question.name] = mechanism
    if plan.survey.design == "split" or len(asked) == 1:
        survey = replace(plan.survey, questions=tuple(asked), objective="sum")
        return {"parameters": parameters_from_mechanisms(survey, mechanisms)}
    files = {}
    for number, question in enumerate(asked, start=1):
        one = planned.get(question.name)
        users = plan.survey.users if one is None else one.users
        survey = replace(plan.survey, users=users, questions=(question,), objective="sum")
        made = parameters_from_mechanisms(survey, {question.name: mechanisms[question.name]})
        files[f"parameters-{number}"] = made
    return files


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
    if question.kind == "item-set":
        unary = UnaryMechanism(tables[name])
        return question, PaddedUnaryMechanism(unary, planned.padding_length or 1)
    if name in tables:
        return question, tables[name]
    return question, plain_rivals(question.policy)[name]
