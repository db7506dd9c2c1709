"""Questions for a mean: the best channel, BiSample-MD, and what is compared with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from planner.errors import InputError, SolverError
from planner.mechanisms.means import MeanMechanism, first_order
from planner.mechanisms.rounding import drawn_channel
from planner.planning.answer_rates import AnswerRateModel, channel_curve, model_of, stated_answers
from planner.planning.channels import (
    AssumedAnswers,
    five_populations,
    least_favourable,
    mean_error,
    provable_channel,
)
from planner.planning.option import ErrorLaw, Option, Part
from planner.solvers.answers import Channel
from planner.survey.questions import CHANNEL, Numeric, Question

BISAMPLE = "bisample-md"
_COMPARED = ("harmony", "piecewise", "hybrid")
_GRIDS = (5, 9)  # 17 points take seconds, and save one to four per cent of a squared error
_WORTH = 0.01  # share of the error that a finer grid must save
_VALUES = 101  # of one answer that everybody gives


def settled(question: Question, users: int) -> Question:
    """The question with its mechanism's best budget for its preferences, if it states none."""
    if not isinstance(question, Numeric) or question.epsilon or question.preferences is None:
        return question
    model = model_of(question, users)
    best = model.best() if question.mechanism == BISAMPLE else channel_curve(model).best()
    return question.replacing(epsilon=best.epsilon)


def answer_rate(question: Question) -> float | None:
    """Share of the people who answer the question at its budget; None if everybody does.

    People decide by the budget of the whole survey, whatever share the question gets of it.
    """
    if not isinstance(question, Numeric) or question.preferences is None:
        return None
    epsilon = float(question.policy.epsilons[0])
    rate = float(question.preferences.answer_rate(np.array([epsilon]))[0])
    if rate <= 0:
        remedy = "Nobody answers at this budget: lower it."
        what = f"epsilon of question {question.name!r}"
        raise InputError(what, epsilon, "tolerated by somebody", remedy)
    return rate


def rough_law(question: Question, users: int) -> ErrorLaw | None:
    """BiSample-MD's error by ``1 / tanh^2(eps/2)``, at the answer rate and the expected mean.

    None where everybody answers: then it is for the least favourable answers, and no line.
    """
    rate = answer_rate(question)
    if rate is None or not isinstance(question, Numeric):
        return None
    mean = model_of(question, users).unit_mean
    # The variance is affine in 1 / theta^2: two values give both terms.
    full, half = (float(first_order(t, rate, mean, 1).mean) for t in (1.0, 0.5))
    scale = (half - full) / 3
    return ErrorLaw(scale, full - scale)


def options(part: Part) -> list[Option]:
    """The best channel and BiSample-MD, and mechanisms that are compared alone, for one people.

    They are those that the question states; of ``bisample-md`` where everybody answers the least
    favourable ones, of others, where no mean is stated, the worst of five means over the range.
    """
    question = part.question
    assert isinstance(question, Numeric)  # noqa: S101 - by its kind
    epsilon, rate = float(part.deployed.policy.epsilons[0]), answer_rate(question)
    model, missing = model_of(question, part.people), 0.0 if rate is None else 1 - rate
    assumed: tuple[AssumedAnswers, ...] = (stated_answers(model, missing),)
    moments = [(model.unit_mean, model.mean_square)]
    if question.mechanism == BISAMPLE and rate is None:
        assumed, moments = _everybody_alike(assumed[0]), []
    elif question.mechanism != BISAMPLE and model.mean is None:
        assumed = five_populations(model.domain, missing)
    if question.mechanism != BISAMPLE:
        moments = [one.moments for one in assumed]
    found = [_best_channel(part, model, epsilon, missing, assumed)]
    for name in (BISAMPLE, *_COMPARED):
        law = MeanMechanism.bisample_md(epsilon, question.domain) if name == BISAMPLE else None
        found.append(_known(part, name, epsilon, moments, 1 - missing, law))
    return found


def best_for(
    model: AnswerRateModel, epsilon: float, missing: float = 0.0, *, roughly: bool = False
) -> Channel:
    """The channel for a mean as it is drawn, on the coarsest grid that a finer one hardly beats.

    A stated mean is what it is made for (with the stated spread, or 0.3 of half the range), at no
    more than 1.02 times BiSample's error for five means over the range; without one the largest
    error of these five is made small. ``roughly`` is for comparisons: the coarsest grid, to 1 %.
    """
    five = five_populations(model.domain, missing)
    stated = None if model.mean is None else stated_answers(model, missing)
    first, *finer = (2,) if model.domain.yes_no else _GRIDS
    if roughly:
        return drawn_channel(provable_channel(epsilon, five, first, stated, _WORTH))
    best = provable_channel(epsilon, five, first, stated=stated)
    for points in finer:
        try:
            other = provable_channel(epsilon, five, points, stated=stated)
        except SolverError:
            break
        if other.worst_error > (1 - _WORTH) * best.worst_error:
            break
        best = other
    return drawn_channel(best)


def _best_channel(
    part: Part,
    model: AnswerRateModel,
    epsilon: float,
    missing: float,
    assumed: Sequence[AssumedAnswers],
) -> Option:
    try:
        asked_by_name = part.asked.mechanism == BISAMPLE
        channel = best_for(model, epsilon, missing, roughly=asked_by_name)
    except SolverError as error:
        if part.asked.mechanism == CHANNEL:
            raise
        return Option(CHANNEL, np.inf, ErrorLaw(), refused=error.reason)
    place = model.domain
    grid = np.linspace(place.lower, place.upper, channel.policy.size - 1)
    worst = max(float(channel.error(one.scenario(grid))) for one in assumed)
    return Option(CHANNEL, worst / place.radius**2, ErrorLaw(), channel)


def _known(
    part: Part,
    name: str,
    epsilon: float,
    moments: Sequence[tuple[float, float]],
    rate: float,
    law: MeanMechanism | None,
) -> Option:
    """A mechanism with a formula, for the worst of these people; of none the least favourable."""
    if not moments:
        value = least_favourable(name, epsilon)
        return Option(name, value, ErrorLaw(), law, compared=law is None)
    errors = [mean_error(name, epsilon, rate, *one) for one in moments]
    variance, bias = max(errors, key=lambda one: float(one[0]) + part.people * float(one[1]) ** 2)
    note = "" if law is None or rate == 1 else "missing answers stay missing"
    if law is None and rate < 1:
        note = f"forced answers at the top, bias {float(bias) * part.whole:+.3g}"
    errors_of = ErrorLaw(bias=part.everybody * float(bias) ** 2)
    return Option(name, float(variance), errors_of, law, note=note, compared=law is None)


def _everybody_alike(stated: AssumedAnswers) -> tuple[AssumedAnswers, ...]:
    """Everybody has one answer, whichever: what no other answers are worse than for BiSample-MD."""
    place = stated.domain
    values = np.linspace(place.lower, place.upper, _VALUES).tolist()
    return tuple(replace(stated, center=value, spread=0.0) for value in values)
