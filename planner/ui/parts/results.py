"""Planning results, remembered by the frozen question they belong to; bounded, never stale.

Equal questions share one entry, whoever asks: an entry can only be had by someone who
already holds the very same question.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from planner.errors import InputError
from planner.planning.answer_rates import (
    AnswerRatePlan,
    ChannelCurve,
    EnoughAnswers,
    enough_answers,
    model_of,
    plan_answer_rates,
)
from planner.planning.budget_search import BudgetAnswer
from planner.planning.frontier import Frontier
from planner.planning.ledger import Ledger
from planner.planning.outsiders import OutsiderView, SurveyOutsiderView
from planner.planning.padded_error import Padding
from planner.planning.pilot import set_model_of
from planner.planning.sampled import SamplingPlan, plan_sampling_survey
from planner.planning.smallest_budgets import smallest_budgets
from planner.planning.whole_survey.budget_curve import budget_curve
from planner.planning.whole_survey.plan import SurveyPlan, plan_survey
from planner.planning.whole_survey.question_plan import QuestionPlan
from planner.planning.whole_survey.target_answers import TargetAnswer
from planner.survey import Question, Survey
from planner.survey.target import Target
from planner.ui.draft.parts import QuestionDraft
from planner.ui.state import session

Array = NDArray[np.float64]
DELTA_EPSILONS = np.array([0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0])

_ENTRIES = 64
_SCALES = np.array([0.25, 0.5, 1.0, 2.0, 4.0])


@lru_cache(maxsize=_ENTRIES)
def survey_plan(survey: Survey, ledger: str | None = None) -> SurveyPlan:
    """The plan of a survey; ``ledger`` is a ledger file's JSON.

    Raises
    ------
    PlannerError
        The survey cannot be planned; nothing is remembered then.
    """
    return plan_survey(survey, None if ledger is None else Ledger.model_validate_json(ledger))


@lru_cache(maxsize=_ENTRIES)
def outsider_view(plan: QuestionPlan) -> OutsiderView | None:
    """What an outsider learns from a planned question."""
    return plan.outsiders()


@lru_cache(maxsize=_ENTRIES)
def together_view(plan: SurveyPlan) -> SurveyOutsiderView | None:
    """What an outsider learns from all questions of a planned survey."""
    return plan.outsiders()


@lru_cache(maxsize=_ENTRIES)
def wanted_sentence(view: OutsiderView, epsilon: float) -> str:
    """Which local budget reaches a central epsilon among the people of a view.

    Raises
    ------
    InputError, InfeasibleError
        ``epsilon`` is not above 0, or no budget reaches it.
    """
    return view.wanted_sentence(epsilon)


def planned_question(draft: QuestionDraft, question: Question) -> QuestionPlan:
    """A question as the survey asks it; alone while it is not part of the survey.

    Raises
    ------
    PlannerError
        It cannot be planned, or another question of its survey.
    """
    return planned_with(draft, question).question(question.name)


def planned_with(draft: QuestionDraft, question: Question) -> SurveyPlan:
    """All questions that are asked with this one; arguments and errors as there."""
    return survey_plan(_survey_of(draft, question), session().ledger)


def _survey_of(draft: QuestionDraft, question: Question) -> Survey:
    survey = session().build().survey
    if not draft.included or survey is None or question not in survey.questions:
        return Survey("survey", session().draft.read_users(), (question,))
    return survey


def needed(draft: QuestionDraft, question: Question, target: Target) -> TargetAnswer:
    """What a target takes: the question as its survey asks it, with this target alone.

    Raises
    ------
    PlannerError
        The survey cannot be planned with it.
    """
    survey, wanted = _survey_of(draft, question), replace(question, targets=(target,))
    questions = tuple(wanted if one == question else one for one in survey.questions)
    plan = survey_plan(replace(survey, questions=questions), session().ledger)
    return plan.question(question.name).targets[0]


@lru_cache(maxsize=_ENTRIES)
def enough(question: Question, users: int, wanted: float) -> EnoughAnswers:
    """What an error of the mean takes where people may refuse, asked alone."""
    if question.numeric is None:
        raise InputError("kind", question.kind, "numeric", "Choose a question for a number.")
    return enough_answers(model_of(question.numeric, users), wanted)


@lru_cache(maxsize=_ENTRIES)
def error_curve(plan: QuestionPlan) -> Frontier | None:
    """Error against a common scale of the budgets: halved and doubled twice, where allowed.

    Five points draw the curve, which is nearly straight on logarithmic axes.
    """
    return budget_curve(plan, _SCALES)


@lru_cache(maxsize=_ENTRIES)
def target_answer(
    plan: QuestionPlan, target: Target, adjustable: tuple[str, ...] | None
) -> BudgetAnswer:
    """The smallest budgets that reach a target, for the people who answer the question."""
    asked, policy, name = plan.question, plan.deployed.policy, plan.deployed.mechanism
    sets = None
    if plan.padding_length is not None:
        sets = Padding(set_model_of(asked), asked.padding_length, asked.objective)
    about = policy, plan.users, target, name, adjustable, sets
    return smallest_budgets(*about)


@lru_cache(maxsize=_ENTRIES)
def answer_rate_plan(question: Question, users: int) -> AnswerRatePlan:
    """The best budget to offer for a numeric question, asked alone."""
    return plan_answer_rates(Survey("survey", users, (question,)))[question.name]


@lru_cache(maxsize=_ENTRIES)
def channel_errors(plan: AnswerRatePlan) -> ChannelCurve | None:
    """The same people with the best channel of every budget."""
    return plan.channels()


@lru_cache(maxsize=_ENTRIES)
def sampling_plan(question: Question, users: int) -> SamplingPlan:
    """The design and the guarantees of a Sampling Privacy question, asked alone."""
    return plan_sampling_survey(Survey("survey", users, (question,)))[question.name]


@lru_cache(maxsize=_ENTRIES)
def sampling_guarantees(question: Question, users: int) -> tuple[str, str, str]:
    """Who is protected from whom: a sentence for each of the three views."""
    plan = sampling_plan(question, users)
    return plan.views.sentences(plan.delta)


@lru_cache(maxsize=_ENTRIES)
def sampling_deltas(question: Question, users: int) -> tuple[Array, Array]:
    """Delta at each of ``DELTA_EPSILONS`` if estimates, or both rounds' totals, are released."""
    return sampling_plan(question, users).views.aggregates.curve(DELTA_EPSILONS)
