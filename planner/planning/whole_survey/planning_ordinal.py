"""The plan of a question about ordered answers: the best channel for what is wanted of them."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

from planner.errors import InputError
from planner.planning.candidates import choose
from planner.planning.channels.questions_in_order import plan_ordered_channel
from planner.planning.option import ErrorLaw
from planner.planning.whole_survey.part import Part
from planner.planning.whole_survey.question_blocks import ordinal_block
from planner.planning.whole_survey.question_plan import QuestionPlan
from planner.planning.whole_survey.target_answers import TargetAnswer
from planner.survey.questions import CHANNEL, Ordinal


def plan_ordinal(part: Part) -> QuestionPlan:
    """Plan an ``"ordinal"`` question.

    Raises
    ------
    InputError
        A target does not fit.
    SolverError
        No channel could be proven near the best.
    """
    spent, asked = part.deployed, part.question
    assert isinstance(spent, Ordinal)  # noqa: S101 - it was asked so
    assert isinstance(asked, Ordinal)  # noqa: S101
    planned = plan_ordered_channel(spent)
    block = ordinal_block(asked, part.everybody)

    # Of a channel's error, noise alone, what a sample misses is no part.
    of_mean, unit = asked.of_mean, asked.radius if asked.of_mean else 1.0
    law = ErrorLaw(spread=1.0) if of_mean else block.law

    def squared(error: float) -> float:
        return law.error(error / unit**2, part.fraction)

    def rooted(error: float) -> float:
        return unit * sqrt(error / part.everybody) if of_mean else part.total(error)

    error = squared(planned.channel.worst_error)
    bound, total = planned.lower_bound, rooted(error)
    least = None if bound is None else min(rooted(squared(bound)), total)
    plan = QuestionPlan(
        question=part.asked,
        deployed=spent,
        share=part.share,
        fraction=part.fraction,
        users=part.people,
        everybody=part.everybody,
        spending=part.spending,
        mechanism=planned.channel,
        error=error,
        total_error=total,
        error_share=total / (unit if of_mean else part.people),
        lower_bound=least,
        # What a sample misses is known from above only.
        least_error=least if part.fraction == 1 else None,
        targets=_targets(part, error),
        block=block,
    )
    errors = [(name, rooted(squared(other)), note) for name, other, note in planned.errors]
    about = plan.unit, plan.measure, plan.least_error
    choice = choose(errors, CHANNEL, None, *about)
    return replace(plan, choice=choice)


def _targets(part: Part, error: float) -> tuple[TargetAnswer, ...]:
    answers = []
    for target in part.asked.targets:
        if target.kind != "error" or target.level is not None:
            remedy = "For ordered answers give the total error of what is wanted alone."
            what = f"target of question {part.asked.name!r}"
            raise InputError(what, target.text, "an error without a level", remedy)
        people = ErrorLaw().people(error, target.value, part.everybody)
        budgets = "Not searched for a channel, which is made for its budget."
        reached = sqrt(error / part.everybody)
        answers.append(TargetAnswer(target, reached, budgets, people, part.asked.of_mean))
    return tuple(answers)
