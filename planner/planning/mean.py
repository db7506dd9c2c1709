"""Questions for a mean: who answers at which budget, the best channel, BiSample-MD and rivals."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import atanh, exp

import numpy as np
from numpy.typing import ArrayLike

from planner.arguments import positive_numbers
from planner.arrays import Array
from planner.errors import InputError, SolverError
from planner.estimates.channel import OrderedEstimates
from planner.limits import MAX_EPSILON
from planner.mechanisms.making import bisample_md
from planner.mechanisms.rivals import bisample_variance
from planner.mechanisms.rounding import drawn_channel
from planner.planning.answer_rates import (
    BISAMPLE,
    MOST_MEANS,
    AnswerRateCurve,
    AnswerRateModel,
    BestBudget,
    smallest_error,
)
from planner.planning.channels import (
    USUAL_SPREAD,
    five_populations,
    proven_channel,
)
from planner.planning.distribution import expected_of_cells, plan_distribution
from planner.planning.kind import Kind, PlanFacts
from planner.planning.option import (
    FLAT,
    AnyPart,
    Curve,
    ErrorLaw,
    Option,
    Part,
    mean_curve,
)
from planner.solvers.answers import Channel
from planner.survey.assumed import EmpiricalPreferences
from planner.survey.numeric import Numeric
from planner.survey.ordinal import CHANNEL, NumberCells

_COMPARED = ("harmony", "piecewise", "hybrid")
# Points of a channel: 17 take seconds, and save one to four per cent of a squared error. The
# fewer are for where no proof is found with the more.
_GRIDS = (9, 5)
_GRIDS_OF_YES_NO = (2,)  # there are no other answers
_FEWEST = 1e-3  # share who answer, below which no channel is predicted
_MEAN_TOLERANCE = 1e-3  # to which channels of a curve are solved
_CURVE_CELLS = 12  # of the curve that would be seen: solved while somebody waits
_AROUND = 2.5  # times a budget, up to which others are looked at


@dataclass(frozen=True, slots=True, eq=False)
class ChannelCurve:
    """Predicted errors of the mean with the best channel of each budget; columns of shape ``(k,)``.

    Attributes
    ----------
    model, epsilon, answer_rate:
        The people; budgets in nats, rising, and the share of people who answer.
    channel_rmse:
        Root mean squared error in the question's unit; ``inf`` where fewer than one in a thousand
        answer, or no channel could be proven.
    relative_gap:
        Proven distance of each channel's variance from the best of its grid.
    noise_rmse:
        The error of the same channels if everybody answered.
    """

    model: AnswerRateModel
    epsilon: Array
    answer_rate: Array
    channel_rmse: Array
    relative_gap: Array
    noise_rmse: Array

    def best(self) -> BestBudget:
        """The best budget and those about as good; an :class:`InputError` if it is not known."""
        predicted = self.epsilon[np.isfinite(self.channel_rmse)]
        if predicted.size < 2:
            reason = "somebody answers at fewer than two of these budgets"
            remedy = "Raise the preferred epsilons, or compare smaller budgets."
            raise InputError.because("preferences", reason, remedy)
        highest = float(predicted[-1])
        lowest = float(predicted[0])
        return smallest_error(self.channel_errors, self.model, highest, lowest)

    def of_people(self, users: int) -> ChannelCurve:
        """The curve for another number of people asked: the channels do not change."""
        # Variances fall with the number of people, and nobody's mind is changed by it.
        factor = np.sqrt(self.model.users / users)
        return replace(
            self,
            model=replace(self.model, users=users),
            channel_rmse=factor * self.channel_rmse,
            noise_rmse=factor * self.noise_rmse,
        )

    def channel_errors(self, epsilons: ArrayLike, *, noise: bool = False) -> Array:
        """The errors between the curve's budgets, or their ``noise``; ``inf`` outside them."""
        from scipy.interpolate import CubicSpline, PchipInterpolator

        predicted = np.isfinite(self.channel_rmse)
        errors = self.channel_rmse
        if noise:
            errors = self.noise_rmse
        # Logarithms are nearly straight in the budget, and no curve through them is negative.
        budgets = self.epsilon[predicted]
        logs = np.log(errors[predicted])
        interpolator = CubicSpline
        if self.model.preferences.kinks.size:
            # Where the answer rate has a kink a spline with a smooth slope would swing over.
            interpolator = PchipInterpolator
        smooth = interpolator(budgets, logs, extrapolate=False)
        between = smooth(np.asarray(epsilons, dtype=np.float64))
        outside_infinite = np.nan_to_num(between, nan=np.inf)
        return np.exp(outside_infinite)


def channel_curve(
    model: AnswerRateModel, epsilons: ArrayLike | None = None
) -> ChannelCurve:
    """Predict the error of the mean at each budget, with the best channel of that budget.

    Each is that of :func:`best_for` at that budget's answer rate, and its error that for the
    model's people. ``epsilons`` are in nats; 27 up to where 1 % still answer when omitted, and
    those just above which fewer do.

    Raises
    ------
    InputError
        Budgets out of range.

    Examples
    --------
    >>> from planner.survey.assumed import NormalPreferences
    >>> model = AnswerRateModel(NormalPreferences(5, 1.5), users=100_000, mean=0.5, sd=0.3)
    >>> curve = channel_curve(model, np.linspace(1.0, 6.0, 11))
    >>> round(curve.best().epsilon, 1), round(model.best().epsilon, 1)
    (4.2, 3.2)
    """
    if epsilons is None:
        epsilons = model.budgets()
    budgets = np.unique(positive_numbers("epsilons", epsilons, MAX_EPSILON))
    curve = offered_curve(model)
    rate = model.answer_rate(budgets)
    variance = np.full(budgets.shape, np.inf)
    noise = np.ones(budgets.shape)
    gaps = np.full(budgets.shape, np.nan)
    radius = model.domain.radius
    for i in np.flatnonzero(rate >= _FEWEST).tolist():
        budget = float(budgets[i])
        with suppress(SolverError):
            option = curve.at(budget, tolerance=_MEAN_TOLERANCE)
            variance[i] = option.squared
            gaps[i] = option.law.certificate.relative_gap
            if_all_answer = channel_error(model, option.law, rate=1.0)
            noise[i] = if_all_answer / radius**2
    # Variances are of one person, in squared half ranges.
    rmse = radius * np.sqrt(variance / model.users)
    noise_rmse = radius * np.sqrt(noise / model.users)
    return ChannelCurve(
        model=model,
        epsilon=budgets,
        answer_rate=rate,
        channel_rmse=rmse,
        relative_gap=gaps,
        noise_rmse=noise_rmse,
    )


@dataclass(frozen=True, slots=True)
class LargerOffer:
    """What a larger budget offered saves of the error, a share, and how much more odds change."""

    saving: float
    odds: float


@dataclass(frozen=True, slots=True, eq=False)
class AnswerRatePlan:
    """Predictions over budgets, the best budget, and the budget in use.

    ``curve`` has BiSample-MD, and forced answers, at 200 budgets; ``best`` is the budget with the
    smallest error of the mean; ``offered`` has the predictions at the budget that the question
    states (one row), None if it states none. ``channels`` are None until they are asked for.
    """

    model: AnswerRateModel
    curve: AnswerRateCurve
    best: BestBudget
    offered: AnswerRateCurve | None
    mechanism: str = BISAMPLE
    channels: ChannelCurve | None = None

    def with_channels(self, channels: ChannelCurve | None = None) -> AnswerRatePlan:
        """Beside the best channel of every budget, solved now if not given, in a second or two.

        The same where so few answer that no budget is predicted.
        """
        if channels is None:
            budgets = self.model.budgets()
            if self.offered is not None:
                budgets = self.model.budgets(self.offered.epsilon)
            channels = channel_curve(self.model, budgets)
        predicted = np.isfinite(channels.channel_rmse)
        if predicted.sum() < 2:  # no curve goes through one point
            return self
        return replace(self, channels=channels)

    @property
    def planned(self) -> ChannelCurve | None:
        """The channels, where the question is planned with one; else it is with BiSample-MD."""
        return None if self.mechanism == BISAMPLE else self.channels

    @property
    def best_planned(self) -> BestBudget:
        """The best budget of what the question is planned with."""
        if self.planned is None:
            return self.best
        return self.planned.best()

    @property
    def larger_offer(self) -> LargerOffer | None:
        """What offering the least budget about as good as the best would change.

        Its error is taken to be ``1 + FLAT`` times that of the best. None where no budget is
        offered, or one that is large enough.
        """
        if self.offered is None:
            return None
        best = self.best_planned
        now = self.offered.epsilon
        # A budget in nats bounds the logarithm of how far a report moves the odds.
        extra_nats = best.flat_lower - float(now[0])
        if extra_nats <= 0:
            return None
        error_now = float(self.rmse(now)[0])
        error_then = (1 + FLAT) * best.rmse
        saving = 1 - error_then / error_now
        return LargerOffer(saving, odds=exp(extra_nats))

    def sampled(self, count: int, budgets: Sequence[float]) -> AnswerRateCurve:
        """The curve at so many budgets, evenly spaced up to its end, and at these ``budgets``."""
        last = self.curve.epsilon[-1]
        # At 0 nothing is predicted.
        _, *even = np.linspace(0, last, count + 1)
        return self.model.curve(np.union1d(even, budgets))

    def error_parts(self, epsilon: Array) -> tuple[Array, Array, Array]:
        """The error of what is planned, its noise, and what refusals add; NaN where not known.

        Squares add up: what refusals add is the root of ``total^2 - noise^2``.
        """
        total = _or_gap(self.rmse(epsilon))
        noise = _or_gap(self.rmse(epsilon, noise=True))
        by_refusals = np.maximum(total**2 - noise**2, 0)
        return total, noise, np.sqrt(by_refusals)

    def rmse(self, epsilon: Array, *, noise: bool = False) -> Array:
        """The error of what is planned at budgets, or its ``noise``, if everybody answered."""
        if self.planned is not None:
            return self.planned.channel_errors(epsilon, noise=noise)
        answer_rate = None  # that of the model
        if noise:
            answer_rate = np.ones(epsilon.shape)
        return self.model.rmse(BISAMPLE, epsilon, rate=answer_rate)


def _or_gap(errors: Array) -> Array:
    """The errors, NaN where nobody answers and they are infinite: a chart has a gap there."""
    return np.where(np.isfinite(errors), errors, np.nan)


def model_of(question: Numeric, users: int, share: float = 1.0) -> AnswerRateModel:
    """What a survey's numeric question is predicted from; without preferences any budget will do.

    BiSample-MD that is asked for by its name, without a mean, is for the least favourable answers.
    """
    everybody = EmpiricalPreferences(values=(float(MAX_EPSILON),))
    return AnswerRateModel(
        preferences=question.preferences or everybody,
        users=users,
        domain=question.domain,
        mean=question.mean,
        sd=question.sd,
        missing=question.refusing,
        any_answers=question.mechanism == BISAMPLE and question.mean is None,
        share=share,
    )


def plan_answer_rate(
    model: AnswerRateModel, epsilon: float | None = None, mechanism: str = BISAMPLE
) -> AnswerRatePlan:
    """Plan one question; ``epsilon`` is the budget in use, from 0 to 50, if there is one.

    Examples
    --------
    >>> from planner.survey.assumed import NormalPreferences
    >>> plan = plan_answer_rate(AnswerRateModel(NormalPreferences(5, 1.5), 100_000), epsilon=6.0)
    >>> round(plan.best.epsilon, 2), round(float(plan.offered.mean_rmse[0] / plan.best.rmse), 1)
    (2.94, 2.2)
    """
    offered = None
    if epsilon is not None:
        offered = model.curve([epsilon])
    return AnswerRatePlan(
        model=model,
        curve=model.curve(),
        best=model.best(),
        offered=offered,
        mechanism=mechanism,
    )


def answer_rate_of(part: AnyPart) -> AnswerRatePlan:
    """Predictions for a number at other budgets: all that somebody answers at, or some around it.

    Without preferences the budget changes nobody's mind.
    """
    question = part.question
    model = model_of(question, part.people, part.share)
    plan = plan_answer_rate(model, question.epsilon, question.mechanism)
    if question.preferences is not None:
        return plan
    top = min(_AROUND * question.epsilon, MAX_EPSILON)
    # As many budgets as a curve over preferences has; at 0 nothing is predicted.
    budgets = np.linspace(top / 200, top, 200)
    return replace(plan, curve=model.curve(budgets))


def plan_answer_rates(parts: Sequence[AnyPart]) -> dict[str, AnswerRatePlan]:
    """Plan every numeric question that states its people's preferences, by name.

    ``parts`` are those of a planned survey; an :class:`InputError` if it has no such question.
    """
    plans = {}
    kinds_asked = set()
    for part in parts:
        kinds_asked.add(part.asked.kind)
        if getattr(part.question, "preferences", None) is not None:
            plans[part.asked.name] = answer_rate_of(part)
    if not plans:
        kinds = ", ".join(sorted(kinds_asked))
        allowed = "'numeric', with [question.preferences], for one question at least"
        remedy = "Add [question.preferences] to a numeric question."
        raise InputError("kind", kinds, allowed, remedy)
    return plans


def expected_curve(part: AnyPart) -> tuple[Array, OrderedEstimates]:
    """The shares of people up to a number that would be seen, were it asked for its distribution.

    At the budget in use and of the people assumed: the ends of the cells, ``(d + 1,)``, and the
    shares up to each but the first, with their limits. Answers are put around the middle of the
    range where no mean is stated. A number whose distribution is wanted has the cells of its plan.
    """
    if isinstance(part.deployed, NumberCells):
        return expected_of_cells(part.deployed, part.people, USUAL_SPREAD)
    question = part.question
    model = model_of(question, part.people, part.share)
    offered = float(question.policy.epsilons[0])
    missing = 1 - float(model.answer_rate(offered))
    domain = model.domain
    plan = plan_distribution(
        domain.lower,
        domain.upper,
        epsilon=float(part.deployed.policy.epsilons[0]),
        people=part.people,
        refusals=True,
        cells=_CURVE_CELLS,
    )
    center = model.mean
    if center is None:
        center = domain.center
    return plan.edges, plan.expected(center, model.spread, missing)


# What a question is planned with


def best_for(
    model: AnswerRateModel,
    epsilon: float,
    missing: float = 0.0,
    tolerance: float = 1e-5,
) -> Channel:
    """The channel for a mean as it is drawn, on nine grid points, or on five if it must be.

    A stated mean is what it is made for, with the model's spread, at no more than 1.02 times
    BiSample's error for five means over the range; without one the largest error of these five is
    made small.
    """
    five = five_populations(model.domain, missing, model.spread)
    stated = None
    if model.mean is not None:
        stated = model.assumed(missing)[0]
    grids: tuple[int, ...] = _GRIDS
    if model.domain.yes_no:  # nobody has an answer in between
        grids = _GRIDS_OF_YES_NO
    *finer, last = grids
    for points in finer:
        with suppress(SolverError):  # on a coarser grid digits go further
            channel = proven_channel(epsilon, five, points, stated, tolerance)
            return drawn_channel(channel)
    channel = proven_channel(epsilon, five, last, stated, tolerance)
    return drawn_channel(channel)


def channel_error(model: AnswerRateModel, channel: Channel, rate: float) -> float:
    """Largest error per person of a channel's mean, in squared units of the question.

    Of any answers: those with a mean ``m`` of the least favourable ones are at two grid points, of
    which the error, linear in their shares, is the largest.
    """
    domain = model.domain
    size = channel.policy.size - 1
    grid = np.linspace(domain.lower, domain.upper, size)
    largest = 0.0
    if not model.any_answers:
        for population in model.assumed(1 - rate):
            error = float(channel.error(population.scenario(grid)))
            largest = max(largest, error)
        return largest
    for mean in np.linspace(domain.lower, domain.upper, MOST_MEANS):
        # What a person adds to the squared error of "sum - mean * number", by what they answer.
        residuals = [1, -mean] @ channel.estimator
        squares = np.square(residuals) @ channel.matrix.T
        answered = squares[:-1]
        refused = squares[-1]
        worst = _worst_of_pairs(grid, mean, answered)
        # The delta method: the error of the sum over the number who answer, ``rate`` of people.
        squared_error = rate * worst + (1 - rate) * refused
        error = float(squared_error) / rate**2
        largest = max(largest, error)
    return largest


def _worst_of_pairs(grid: Array, mean: float, errors: Array) -> float:
    """The largest error of people with a ``mean`` who answer at two grid points.

    Some answer at a point ``x`` below the mean ``m``, and the share ``up = (m - x) / (y - x)`` at a
    point ``y`` above it: ``(1 - up) e_x + up e_y``, of the ``errors`` at the points.
    """
    below = grid <= mean
    above = grid >= mean
    x = grid[below, None]
    y = grid[above]
    width = np.maximum(y - x, np.finfo(float).tiny)
    up = np.clip((mean - x) / width, 0, 1)
    of_lower = (1 - up) * errors[below, None]
    of_upper = up * errors[above]
    return float(np.max(of_lower + of_upper))


def offered_curve(model: AnswerRateModel) -> Curve:
    """The best channel at any budget that people are offered, in nats: who answers depends on it.

    Its error is that for the model's people, a share of half the range.
    """
    law = ErrorLaw()

    def at(scale: float = 1.0, tolerance: float = 1e-5, **_: object) -> Option:
        # People decide by the budget of the whole survey; the question spends its share of it.
        rate = float(model.answer_rate(scale))
        missing = max(0.0, 1 - rate)
        spent = model.share * scale
        channel = best_for(model, spent, missing, tolerance)
        error = channel_error(model, channel, rate)
        value = error / model.domain.radius**2
        return Option(CHANNEL, value, law, channel)

    return Curve(CHANNEL, 1.0, law, CHANNEL, at)


class NumberKind(Kind[Numeric, object]):
    """A number, or none: the best channel for its mean, or BiSample-MD."""

    def settled(self, question: Numeric, users: int) -> Numeric:
        """The question with its mechanism's best budget for its preferences, if it states none."""
        if question.epsilon or question.preferences is None:
            return question
        model = model_of(question, users)
        if question.mechanism == BISAMPLE:
            best = model.best()
        else:
            best = channel_curve(model).best()
        return question.replacing(epsilon=best.epsilon)

    def answer_rate(self, question: Numeric) -> float:
        """The share who answer, by the budget of the whole survey, whatever the question gets."""
        epsilon = float(question.policy.epsilons[0])
        rate = float(model_of(question, 1).answer_rate(epsilon))
        if 1 - rate == 1:  # to the last digit: errors would be divided by 0
            remedy = "Nobody answers at this budget: lower it."
            what = f"epsilon of question {question.name!r}"
            raise InputError(what, epsilon, "tolerated by somebody", remedy)
        return rate

    def shared(self, question: Numeric, users: int) -> Curve:
        """The error with BiSample-MD, at the answer rate, for the people assumed."""
        rate = self.answer_rate(question)
        model = model_of(question, users)
        squares = None  # the least favourable mean
        if not model.any_answers:
            means = [mean for mean, _ in model.moments]
            squares = np.square(means)

        def error(excess: float) -> float:
            variances = bisample_variance(excess, rate, squares)
            return float(np.max(variances))

        epsilon = float(question.policy.epsilons[0])
        return mean_curve(question.name, epsilon, question.weight, error)

    def curve(self, part: Part[Numeric], planned: Option) -> Curve:
        """The error at other budgets: of BiSample-MD a formula."""
        if planned.name != BISAMPLE:
            return super().curve(part, planned)
        whole = self.shared(part.question, part.everybody)

        def at(scale: float = 1.0, **_: object) -> Option:
            return whole.at(part.share * scale)

        return replace(whole, at=at)

    def searched(self, part: Part[Numeric], planned: Option) -> Curve | None:
        """The total error at other budgets, of BiSample-MD alone, which is quick."""
        if planned.name != BISAMPLE:
            return None
        return self.curve(part, planned)

    def options(self, part: Part[Numeric]) -> list[Option]:
        """The best channel and BiSample-MD, and what is compared alone, for one people."""
        question = part.question
        rate = self.answer_rate(question)
        model = model_of(question, part.people, part.share)
        offered = float(question.policy.epsilons[0])
        try:
            options = [offered_curve(model).at(offered)]
        except SolverError as error:
            if part.asked.mechanism == CHANNEL:
                raise
            refused = Option(CHANNEL, np.inf, ErrorLaw(), refused=error.reason)
            options = [refused]
        epsilon = part.deployed.policy.epsilons
        for name in (BISAMPLE, *_COMPARED):
            variances, biases = model.error(name, epsilon, np.array([rate]))
            variance = variances.item()
            bias = biases.item()
            law = None
            if name == BISAMPLE:
                law = bisample_md(float(epsilon[0]), question.domain)
            if rate >= 1:  # nobody refuses
                note = ""
            elif name == BISAMPLE:
                note = "missing answers stay missing"
            else:
                # These mechanisms have no report for "no answer": who refuses is put at an end.
                note = f"forced answers at the top, bias {bias * part.whole:+.3g}"
            # A bias does not fall with the number of people: squared, per person, it grows.
            errors = ErrorLaw(bias=part.everybody * bias**2)
            option = Option(name, variance, errors, law, note=note)
            options.append(replace(option, compared=law is None))
        return options

    def in_integers(self, part: Part[Numeric], planned: Option) -> Option:
        """BiSample-MD's option with ``theta``, ``tanh(eps/2)`` rounded down: a smaller budget's.

        A channel is planned by its integers.
        """
        if planned.name != BISAMPLE:
            return planned
        # A report moves the estimate by 2 / theta, as its estimator has it.
        estimate_of_report = planned.law.shape.values[0][-1]
        theta = 2 / estimate_of_report
        budget_drawn = np.array([2 * atanh(theta)])
        # Who answers is decided by the budget that is offered, not by the one that is drawn.
        rate = np.array([self.answer_rate(part.question)])
        model = model_of(part.question, part.people, part.share)
        variance, _ = model.error(BISAMPLE, budget_drawn, rate)
        return replace(planned, value=variance.item())

    def facts(
        self, part: Part[Numeric], planned: Option, mechanism: object
    ) -> PlanFacts:
        """The channel, and what is assumed of the people who answer."""
        return mechanism, model_of(part.question, part.people)
