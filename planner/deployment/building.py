"""Build parameter files: of a planned survey, or of a mechanism for each of its questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from planner.deployment.client.document import FILE_VERSION, FORMAT, content_hash
from planner.deployment.parameters import Parameters
from planner.errors import InputError
from planner.laws.schema import Document
from planner.mechanisms.making import law_of
from planner.survey.questions import Question
from planner.survey.survey import Survey
from planner.version import VERSION as PLANNER_VERSION

if TYPE_CHECKING:
    from planner.planning.plan import SurveyPlan


def parameters_from_mechanisms(survey: Survey, mechanisms: Document) -> Parameters:
    """Parameters with a chosen mechanism for each question, verified exactly; no time in them.

    Parameters
    ----------
    survey:
        The questions with their levels, items and rule.
    mechanisms:
        For each question's name a law, or a table, design or channel of a solver. Levels and
        items are the question's, in its order.

    Raises
    ------
    InputError
        A question without a mechanism, or a mechanism that does not fit its question.
    VerificationError
        The integers do not keep the question's budgets.

    Examples
    --------
    >>> from planner import Level, Categorical, Survey
    >>> survey = Survey("s", 10, (Categorical("q", (Level("only", 1.0, item_count=3),)),))
    >>> from planner import randomized_response
    >>> mechanisms = {"q": randomized_response(1.0, items=3)}
    >>> parameters = parameters_from_mechanisms(survey, mechanisms)
    >>> parameters.questions[0].mechanism, parameters.questions[0].pairs[0].realised <= 1
    ('grr', True)
    """
    names = [question.name for question in survey.questions]
    if sorted(names) != sorted(mechanisms):
        allowed = f"one for each of {sorted(names)}"
        remedy = "Give a mechanism for each question of the survey, by its name."
        raise InputError("mechanisms", sorted(mechanisms), allowed, remedy)
    questions = [law_of(q, mechanisms[q.name]).document() for q in survey.questions]
    document = {
        "format": FORMAT,
        "version": FILE_VERSION,
        "planner_version": PLANNER_VERSION,
        "survey": survey.name,
        "users": survey.users,
        "questions": questions,
    }
    if survey.groups:
        document["groups"] = [_group(survey, name, values) for name, values in survey.groups]
    joint = [
        {"question": one.name, "of": [_answers(part) for part in one.together]}
        for one in survey.questions
        if len(one.together) > 1
    ]
    if joint:
        document["joint"] = joint
    return Parameters.of(document | {"hash": content_hash(document)})


def _answers(part: Question) -> Document:
    return {"name": part.name, "answers": part.plain_levels.item_names()}


def _group(survey: Survey, name: str, values: Sequence[str]) -> Document:
    """One known variable, with what its values count for if these are its own."""
    parts = [dict(pairs) for pairs in (survey.weights, survey.population)]
    columns = ([one[value] for value in values] if {*one} == {*values} else [] for one in parts)
    weights, population = columns
    return {"name": name, "values": list(values), "weights": weights, "population": population}


def deployable_files(plan: SurveyPlan) -> dict[str, Parameters]:
    """Verified parameters by a name for their file: one, or one a question if each gets one.

    Errors are those of :func:`survey_parameters`.
    """
    if plan.one_file:
        return {"parameters": survey_parameters(plan)}
    return {
        f"parameters-{number}": survey_parameters(plan, one.name)
        for number, one in enumerate(plan.questions, start=1)
    }


def survey_parameters(plan: SurveyPlan, question: str | None = None) -> Parameters:
    """Verified parameters of a planned survey: what every question really spends, and no more.

    Parameters
    ----------
    plan:
        The survey's plan; it says which mechanism every question has.
    question:
        This question alone; all of them when omitted.

    Raises
    ------
    InputError
        No such question; a question cannot be deployed, a weaker guarantee is not
        acknowledged for example; or everybody answers some questions, so that there is no one
        file for everybody.
    VerificationError
        Probabilities do not keep their budgets.

    Examples
    --------
    >>> from planner import Level, Categorical, Survey, plan_survey
    >>> survey = Survey("s", 10, (Categorical("q", (Level("only", 1.0, item_count=3),)),))
    >>> survey_parameters(plan_survey(survey)).questions[0].mechanism
    'subset-design'
    """
    if question is None and not plan.one_file:
        remedy = "Export them one by one, with --question NAME: each person gets those of theirs."
        raise InputError(
            "design", plan.survey.design, '"split" for a file with all questions', remedy
        )
    planned = plan.questions if question is None else (plan.question(question),)
    users = plan.survey.users if question is None else planned[0].users
    questions = tuple(one.deployed for one in planned)
    survey = plan.survey.model_copy(update={"users": users, "questions": questions})
    return parameters_from_mechanisms(survey, {one.name: one.law for one in planned})
