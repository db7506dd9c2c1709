"""One question of a whole survey, planned with the budgets that it really spends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.frames import Framed
from planner.planning.allocation.blocks import ChoiceBlock, error_of_sample
from planner.planning.answer_rate.plan import model_of
from planner.planning.explain import LevelExplanation, explain
from planner.planning.frequency import QuestionPlan, plan_question
from planner.planning.mechanism_choice import (
    Choice,
    choose_for_choices,
    choose_for_mean,
    choose_for_sets,
)
from planner.planning.padding import PaddingPlan
from planner.planning.pilot import set_model_of
from planner.planning.whole_survey.left_open import answer_rate, budget_of, padding_of
from planner.planning.whole_survey.question_blocks import choice_block, mean_block
from planner.planning.whole_survey.spending import at_share
from planner.planning.whole_survey.target_answers import (
    TargetAnswer,
    answer_choice_targets,
    answer_mean_targets,
    answer_set_targets,
)
from planner.survey import Numeric, Question

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Part", "PlannedQuestion", "plan_part"]


@dataclass(frozen=True, slots=True, eq=False)
class PlannedQuestion(Framed):
    """One question of the survey, with the budgets that it really spends.

    Attributes
    ----------
    question:
        As asked for in the survey.
    share, fraction:
        Share of the budgets left that it gets; share of the people who are asked it.
    users:
        Number of people who answer it.
    error:
        Predicted error per user in the unit of the objective: total mean squared error
        (choices and sets), mean squared error on [-1, 1] (means).
    plan:
        The table and its alternatives at the budgets spent; None for a numeric question.
    choice:
        All mechanisms on one scale at these budgets.
    padding:
        For item sets with something known of the sets: the padding length's curve.
    padding_length:
        For item sets; else None.
    targets:
        What becomes of the question's targets.
    explanations:
        Levels in plain sentences, the first 40.
    """

    question: Question
    share: float
    fraction: float
    users: int
    error: float
    plan: QuestionPlan | None
    choice: Choice
    padding: PaddingPlan | None
    padding_length: int | None
    targets: tuple[TargetAnswer, ...]
    explanations: tuple[LevelExplanation, ...]

    @property
    def summary(self) -> str:
        """What it gets, and why its best mechanism is the best."""
        asked = f"{self.question.name}: {self.users:,} people, {self.share:.1%} of the budgets"
        return f"{asked}. {self.choice.reason}"

    def to_frame(self) -> DataFrame:
        """One row a mechanism at the budgets spent, best first."""
        frame: DataFrame = self.choice.to_frame()
        return frame


@dataclass(frozen=True, slots=True)
class Part:
    """A question's part in a survey.

    Attributes
    ----------
    asked:
        As asked for in the survey.
    question:
        With the budgets left, and nothing open.
    share, fraction:
        Share of these budgets that it gets; share of the people who are asked it.
    everybody:
        Number of people who are asked anything.
    """

    asked: Question
    question: Question
    share: float
    fraction: float
    everybody: int

    @property
    def people(self) -> int:
        """Number of people who are asked this question."""
        return max(1, round(self.fraction * self.everybody))


def plan_part(part: Part, model: str) -> PlannedQuestion:
    """Plan the question with the tables of ``model``.

    Raises
    ------
    InputError
        A target does not fit the question.
    SolverError
        No certified table could be produced.
    """
    if part.question.numeric is not None:
        return _planned_mean(part, part.question.numeric)
    return _planned_choice(part, model)


def _planned_choice(part: Part, model: str) -> PlannedQuestion:
    spending = at_share(part.question, part.share)
    padding, length, objective = padding_of(spending, part.people)
    plan = plan_question(spending, model, objective=objective)
    block = choice_block(part.question, part.everybody)
    error = error_of_sample(block, block.error_with(plan.table), part.fraction)
    if spending.kind == "item-set":
        sets, own = set_model_of(spending), part.asked.padding_length
        choice = choose_for_sets(plan.alternatives, part.people, sets, own, length)
        targets = _set_targets(part, block, error, padding)
    else:
        choice = choose_for_choices(spending.policy, plan.alternatives)
        targets = answer_choice_targets(
            part.asked.targets, plan.table, part.everybody, part.fraction
        )
    return PlannedQuestion(
        question=part.asked,
        share=part.share,
        fraction=part.fraction,
        users=part.people,
        error=error,
        plan=plan,
        choice=choice,
        padding=padding,
        padding_length=spending.padding_length,
        targets=targets,
        explanations=explain(plan.table, part.asked.name, spending.padding_length),
    )


def _set_targets(
    part: Part, block: ChoiceBlock, error: float, padding: PaddingPlan | None
) -> tuple[TargetAnswer, ...]:
    errors, biases = np.array([error]), np.array([block.fixed])
    if padding is not None and part.asked.padding_length is None:
        # With more people another length may be best.
        bias = padding.bias2 / part.people * part.everybody
        sampled = float(block.sampling_variance or 0.0) * (1 / part.fraction - 1)
        errors = np.append(errors, padding.variance / part.fraction + sampled + bias)
        biases = np.append(biases, bias)
    return answer_set_targets(part.asked.targets, errors, biases, part.everybody)


def _planned_mean(part: Part, about: Numeric) -> PlannedQuestion:
    spent = part.share * budget_of(part.question)
    choice = choose_for_mean(model_of(about, part.people), spent, answer_rate(part.question))
    block = mean_block(part.question, about, part.everybody)
    error = error_of_sample(block, block.at(part.share).error, part.fraction)
    return PlannedQuestion(
        question=part.asked,
        share=part.share,
        fraction=part.fraction,
        users=part.people,
        error=error,
        plan=None,
        choice=choice,
        padding=None,
        padding_length=None,
        targets=answer_mean_targets(part.asked, block, error, part.everybody, part.fraction),
        explanations=(),
    )
