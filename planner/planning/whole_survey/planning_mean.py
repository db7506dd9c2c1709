"""The plan of a mean, and of a question asked in two rounds: neither has a table."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

from planner.designs.channel import Channel
from planner.mechanisms.bisample import BiSampleMD
from planner.planning.answer_rate.plan import model_of
from planner.planning.channels.questions import question_channel
from planner.planning.mechanism_choice import choose, errors_for_mean
from planner.planning.sampling.plan import SamplingPlan
from planner.planning.whole_survey.left_open import answer_rate, budget_of
from planner.planning.whole_survey.part import Part
from planner.planning.whole_survey.question_blocks import mean_block
from planner.planning.whole_survey.question_plan import QuestionPlan
from planner.planning.whole_survey.spending import at_share, spending_of
from planner.planning.whole_survey.target_answers import answer_mean_targets
from planner.survey import Numeric, Question
from planner.survey.kinds import CHANNEL

__all__ = ["plan_mean", "plan_sampled"]


def plan_mean(part: Part, about: Numeric) -> QuestionPlan:
    """Plan a numeric question, ``about`` this.

    Raises
    ------
    InputError
        It has no budget, nobody answers, or a target does not fit.
    """
    deployed = at_share(part.question, part.share)
    budgets = deployed.numeric
    assert budgets is not None  # noqa: S101 - a share of a numeric question is one
    spent = budget_of(deployed)
    block = mean_block(part.question, about, part.everybody)
    model, rate = model_of(about, part.people), answer_rate(part.question)
    radius = about.domain.radius
    mechanism: Channel | BiSampleMD
    if part.asked.mechanism == CHANNEL:
        planned = question_channel(model, budgets, rate)
        mechanism = planned.channel
        noise = planned.channel.worst_error / radius**2
        error = part.error(block, noise + block.fixed)
        errors = planned.mean_squared_errors(part.people)
    else:
        mechanism = BiSampleMD(spent, about.domain)
        error = part.error(block, block.at(part.share).error)
        errors = errors_for_mean(model, spent, rate)
    own, total = part.asked.mechanism, sqrt(error / part.everybody) * radius
    # The plan's own error is of a share of the people; the others' of so many whole people.
    roots = [(name, total if name == own else sqrt(e), note) for name, e, note in errors]
    plan = QuestionPlan(
        question=part.asked,
        deployed=deployed,
        share=part.share,
        fraction=part.fraction,
        users=part.people,
        everybody=part.everybody,
        spending=tuple(spending_of(part.tolerated, part.question, part.share)),
        mechanism=mechanism,
        error=error,
        total_error=total,
        error_share=sqrt(error / part.everybody),
        targets=answer_mean_targets(part.asked, block, error, part.everybody, part.fraction),
        block=block,
    )
    choice = choose(roots, own, None, plan.unit, plan.measure)
    return replace(plan, choice=choice)


def plan_sampled(question: Question, users: int, plan: SamplingPlan) -> QuestionPlan:
    """A question asked in two rounds, from the plan of these."""
    largest = float(plan.design.absolute_errors().max())
    return QuestionPlan(
        question=question,
        deployed=question,
        share=1.0,
        fraction=1.0,
        users=users,
        everybody=users,
        spending=(),
        mechanism=plan,
        error=largest**2 / users,
        total_error=largest,
        error_share=largest / users,
    )
