"""The plan of a mean, and of a question asked in two rounds: neither has a table."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

from planner.designs.channel import Channel
from planner.mechanisms.means import BiSampleMD
from planner.mechanisms.rivals import harmony_variance, hybrid_variance, piecewise_variance
from planner.planning.answer_rates import AnswerRateModel, model_of
from planner.planning.candidates import choose
from planner.planning.channels.questions import question_channel
from planner.planning.sampled import SamplingPlan
from planner.planning.whole_survey.left_open import answer_rate
from planner.planning.whole_survey.part import Part
from planner.planning.whole_survey.question_blocks import mean_block
from planner.planning.whole_survey.question_plan import QuestionPlan
from planner.planning.whole_survey.target_answers import answer_mean_targets
from planner.survey.preferences import answering
from planner.survey.questions import CHANNEL, Numeric, Question


def plan_mean(part: Part, about: Numeric) -> QuestionPlan:
    """Plan a numeric question, ``about`` this.

    Raises
    ------
    InputError
        It has no budget, nobody answers, or a target does not fit.
    """
    deployed = part.deployed
    spent = float(deployed.policy.epsilons[0])
    block = mean_block(about, part.everybody)
    model, rate = model_of(about, part.people), answer_rate(about)
    radius = about.domain.radius
    mechanism: Channel | BiSampleMD
    if part.asked.mechanism == CHANNEL:
        planned = question_channel(model, spent, rate)
        mechanism = planned.channel
        noise = planned.channel.worst_error / radius**2
        error = block.law.of_sample(noise + block.law.bias, part.fraction)
        errors = planned.mean_squared_errors(part.people)
    else:
        mechanism = BiSampleMD(spent, about.domain)
        error = block.law.of_sample(block.at(part.share).error, part.fraction)
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
        spending=part.spending,
        mechanism=mechanism,
        error=error,
        total_error=total,
        error_share=sqrt(error / part.everybody),
        targets=answer_mean_targets(part.asked, block, error, part.everybody, part.fraction),
        block=block,
    )
    choice = choose(roots, own, None, plan.unit, plan.measure)
    return replace(plan, choice=choice)


def errors_for_mean(
    model: AnswerRateModel, epsilon: float, rate: float | None = None
) -> list[tuple[str, float, str]]:
    """Name, mean squared error and a note for every mechanism for a mean at ``epsilon``.

    Everybody answers, or a share ``rate`` of the people. The errors, in the question's unit
    squared, then include the bias of forced answers; fake answers at the top are assumed for
    the forced ones. Where everybody answers they are for the least favourable answers.

    Examples
    --------
    >>> from planner.survey.preferences import NormalPreferences
    >>> model = AnswerRateModel(NormalPreferences(5, 1.5), users=100_000)
    >>> min(errors_for_mean(model, 3.0), key=lambda one: one[1])[0]
    'hybrid'
    >>> min(errors_for_mean(model, 3.0, rate=0.9), key=lambda one: one[1])[0]
    'bisample-md'
    """
    if rate is None:
        return _answered(epsilon, model.domain.radius**2 / model.users)
    return _with_missing(replace(model, preferences=answering(rate)), epsilon)


def _with_missing(model: AnswerRateModel, epsilon: float) -> list[tuple[str, float, str]]:
    kept = float(model.curve([epsilon]).mean_rmse[0]) ** 2
    found = [("bisample-md", kept, "missing answers stay missing")]
    for name in ("harmony", "piecewise"):
        at = model.forced(name, "top", [epsilon])
        note = f"forced answers at the top, bias {at.bias[0]:+.3g}"
        found.append((name, float(at.rmse[0]) ** 2, note))
    return found


def _answered(epsilon: float, unit: float) -> list[tuple[str, float, str]]:
    """Worst case over the answers: 0 for Harmony and BiSample, the ends for the others."""
    harmony = unit * float(harmony_variance(epsilon))
    piecewise = unit * max(float(piecewise_variance(epsilon, x)) for x in (0.0, 1.0))
    hybrid = unit * max(float(hybrid_variance(epsilon, x)) for x in (0.0, 1.0))
    return [
        ("bisample-md", harmony, ""),
        ("harmony", harmony, ""),
        ("piecewise", piecewise, ""),
        ("hybrid", hybrid, ""),
    ]


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
