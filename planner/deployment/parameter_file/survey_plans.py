"""From a planned survey to parameter files: one for everybody, or one a question."""

from __future__ import annotations

from dataclasses import replace

from planner.deployment.parameter_file.building import parameters_from_mechanisms
from planner.deployment.parameter_file.parameters import Parameters
from planner.errors import InputError
from planner.planning.whole_survey.plan import SurveyPlan

__all__ = ["deployable_files", "one_file", "survey_parameters"]


def one_file(plan: SurveyPlan) -> bool:
    """Whether everybody gets the same parameter file: not if each person answers some questions."""
    return plan.survey.design == "split" or len(plan.questions) == 1


def deployable_files(plan: SurveyPlan) -> dict[str, Parameters]:
    """Verified parameters by a name for their file: one, or one a question if each gets one.

    Errors are those of :func:`survey_parameters`.
    """
    if one_file(plan):
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
    >>> from planner import Level, Question, Survey, plan_survey
    >>> survey = Survey("s", 10, (Question("q", (Level("only", 1.0, item_count=3),)),))
    >>> survey_parameters(plan_survey(survey)).questions[0].mechanism
    'subset-design'
    """
    if question is None and not one_file(plan):
        remedy = "Export the questions one by one: each person gets the files of theirs."
        raise InputError(
            "design", plan.survey.design, '"split" for a file with all questions', remedy
        )
    planned = plan.questions if question is None else (plan.question(question),)
    users = plan.survey.users if question is None else planned[0].users
    questions = tuple(one.deployed for one in planned)
    survey = replace(plan.survey, users=users, questions=questions, objective="sum", asked=None)
    return parameters_from_mechanisms(survey, {one.name: one.mechanism for one in planned})
