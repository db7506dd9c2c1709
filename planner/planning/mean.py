"""Questions for a mean: who answers at which budget, the best channel, BiSample-MD and rivals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.arguments import positive_numbers, whole_number
from planner.errors import InputError, SolverError
from planner.limits import MAX_EPSILON
from planner.mechanisms.making import bisample_md
from planner.mechanisms.rivals import first_order
from planner.mechanisms.rounding import drawn_channel
from planner.planning.channels import (
    NARROWEST,
    USUAL_SPREAD,
    AssumedAnswers,
    five_populations,
    mean_error,
    provable_channel,
)
from planner.planning.curve import Curve, bisample_worst, mean_curve
from planner.planning.option import ErrorLaw, Option, Part, flat_region
from planner.solvers.answers import Channel
from planner.survey.numeric_domain import NumericDomain
from planner.survey.preferences import EmpiricalPreferences, Preferences
from planner.survey.questions import CHANNEL, Numeric, Question, Survey

Array = NDArray[np.float64]
BISAMPLE = "bisample-md"
_COMPARED = ("harmony", "piecewise", "hybrid")
_GRIDS = (5, 9)  # 17 points take seconds, and save one to four per cent of a squared error
_WORTH = 0.01  # share of the error that a finer grid must save
_VALUES = 101  # of one answer that everybody gives
_LOWEST = 0.01  # budget that is looked at
_GRID_POINTS, _FINER = 1000, 5  # and how often a hundred points more stand between two
_BUDGETS = 27  # of a curve of best channels, each of which is solved
_FEWEST = 1e-3  # share who answer, below which no channel is predicted
_TOLERANCE = 1e-3  # to which channels of a curve are solved
_RELIABLE = 5.0  # standard errors between the answer rate and 0


# Who answers at which budget


@dataclass(frozen=True, slots=True, eq=False)
class AnswerRateCurve:
    """Predictions for BiSample-MD over budgets; all columns of shape ``(k,)``.

    ``top_rmse`` and ``random_rmse`` are those of a mechanism that forces an answer, Harmony, where
    whoever would rather not gives the top of the range (TOP) or a random value (RND).
    """

    epsilon: Array
    answer_rate: Array
    mean_rmse: Array
    missing_rate_rmse: Array
    top_rmse: Array
    random_rmse: Array
    reliable: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class BestBudget:
    """The budget with the smallest error of a mean, and around it those within 5 % of that."""

    epsilon: float
    rmse: float
    flat_lower: float
    flat_upper: float
    answer_rate: float
    reliable: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class AnswerRateModel:
    """A numeric question, the people asked, and how much epsilon they tolerate.

    Parameters
    ----------
    preferences, users:
        Distribution of the largest epsilon that a person tolerates; number of people asked.
    domain:
        Range of the answers; ``[-1, 1]`` when omitted.
    mean, sd:
        What is expected of all people's answers, in the question's unit: the middle of the domain,
        and the largest spread possible, that of answers at its ends, when omitted. The latter
        always for a yes/no question.

    Raises
    ------
    InputError
        A number is out of range.

    Examples
    --------
    >>> from planner.survey.preferences import NormalPreferences
    >>> best = AnswerRateModel(NormalPreferences(5, 1.5), users=100_000, mean=0.5).best()
    >>> [round(x, 2) for x in (best.epsilon, best.answer_rate, best.flat_lower, best.flat_upper)]
    [3.16, 0.89, 2.48, 3.88]
    """

    preferences: Preferences
    users: int
    domain: NumericDomain = field(default_factory=NumericDomain)
    mean: float | None = None
    sd: float | None = None

    def __post_init__(self) -> None:
        whole_number("users", self.users)
        lower, upper = self.domain.lower, self.domain.upper
        if self.mean is not None and not lower <= self.mean <= upper:
            remedy = "Give the expected mean of the answers, within their range."
            raise InputError("mean", self.mean, f"from {lower:g} to {upper:g}", remedy)
        largest = self.domain.radius * np.sqrt(1 - self.unit_mean**2)
        if self.sd is not None and not 0 <= self.sd <= largest * (1 + 1e-9):
            allowed = f"from 0 to {largest:.6g}, the largest for this mean and range"
            raise InputError("sd", self.sd, allowed, "Lower sd, or leave it out.")

    def curve(self, epsilons: ArrayLike | None = None) -> AnswerRateCurve:
        """Predictions at these budgets (0 to 50), or at 200 up to where 1 % still answer."""
        if epsilons is None:
            epsilons = np.linspace(self.highest / 200, self.highest, 200)
        epsilon = positive_numbers("epsilons", epsilons, MAX_EPSILON)
        rate = self.preferences.answer_rate(epsilon)
        theta = np.tanh(epsilon / 2)
        missing = np.sqrt(first_order(theta, rate, self.unit_mean, self.users).missing_rate)
        return AnswerRateCurve(
            epsilon,
            rate,
            self.rmse(BISAMPLE, epsilon),
            missing,
            self.rmse("harmony", epsilon, "top"),
            self.rmse("harmony", epsilon, "random"),
            rate >= _RELIABLE * missing,
        )

    def rmse(self, name: str, epsilon: Array, fake: str = "top") -> Array:
        """Root mean squared error of a mechanism's mean, in the question's unit."""
        rate = self.preferences.answer_rate(epsilon)
        about = rate, self.unit_mean, self.mean_square, fake
        variance, bias = mean_error(name, epsilon, *about)
        return np.asarray(self.domain.radius * np.sqrt(variance / self.users + bias**2))

    def best(self) -> BestBudget:
        """The budget with the smallest error of BiSample-MD's mean.

        There is none for the missing rate, which is another quantity at each budget, and known best
        (100 %) where nobody answers. An :class:`InputError` if nobody answers at any.
        """
        found = _least(lambda e: self.rmse(BISAMPLE, e), self.preferences.kinks, MAX_EPSILON)
        at = self.curve([found[0]])
        return BestBudget(*found, float(at.answer_rate[0]), bool(at.reliable[0]))

    @property
    def highest(self) -> float:
        """The largest budget that is shown: where 1 % of the people still answer."""
        last = float(self.preferences.quantile(0.99))
        return min(MAX_EPSILON, last) if last > 0.1 else 1.0

    @property
    def unit_mean(self) -> float:
        """Expected mean of all people's answers on ``[-1, 1]``."""
        if self.mean is None:
            return 0.0
        return float(self.domain.to_unit(np.array([self.mean]))[0])

    @property
    def mean_square(self) -> float:
        """Of all people's answers on ``[-1, 1]``."""
        variance = 1 - self.unit_mean**2
        if self.sd is not None and not self.domain.yes_no:
            variance = min(variance, (self.sd / self.domain.radius) ** 2)
        return variance + self.unit_mean**2

    def stated(self, missing: float) -> AssumedAnswers:
        """Answers around the expected mean, with its spread or 0.3 radii of the range."""
        place = self.domain
        spread = USUAL_SPREAD * place.radius if self.sd is None else self.sd
        center = float(np.clip(place.from_unit(self.unit_mean), place.lower, place.upper))
        return AssumedAnswers(center, max(spread, NARROWEST * place.radius), missing, place)


def _least(
    error: Callable[[Array], Array], kinks: Array, highest: float, lowest: float = _LOWEST
) -> tuple[float, float, float, float]:
    """Where an error is least, the error, and the ends of what is within 5 % of it."""
    inside = kinks[(kinks > lowest) & (kinks < highest)]
    ends = lowest, highest, _GRID_POINTS
    grid = np.unique(np.concatenate([np.linspace(*ends), np.geomspace(*ends), inside]))
    for finer in range(_FINER + 1):
        values = error(grid)
        if not np.isfinite(values).any():
            allowed = f"high enough that somebody answers at a budget above {lowest:g}"
            raise InputError(
                "preferences", "too low", allowed, "Nobody would answer this question."
            )
        best = int(np.argmin(values))
        low, high = flat_region(values, best)
        if finer < _FINER:  # around the best, and where the flat region ends
            cells = {i for i in (best - 1, best, low - 1, high) if 0 <= i < grid.size - 1}
            parts = [np.linspace(float(grid[i]), float(grid[i + 1]), 100) for i in cells]
            grid = np.unique(np.concatenate([grid, *parts]))
    return float(grid[best]), float(values[best]), float(grid[low]), float(grid[high])


@dataclass(frozen=True, slots=True, eq=False)
class ChannelCurve:
    """Predicted errors of the mean with the best channel of each budget; columns of shape ``(k,)``.

    Attributes
    ----------
    epsilon, answer_rate:
        Budgets in nats, rising, and the share of people who answer.
    channel_rmse:
        Root mean squared error in the question's unit; ``inf`` where fewer than one in a thousand
        answer, or no channel could be proven.
    relative_gap, preferences:
        Proven distance of each channel's variance from the best of its grid; what people tolerate.
    """

    epsilon: Array
    answer_rate: Array
    channel_rmse: Array
    relative_gap: Array
    preferences: Preferences

    def best(self) -> BestBudget:
        """The best budget and those about as good; an :class:`InputError` if it is not known."""
        known = self.epsilon[np.isfinite(self.channel_rmse)]
        if known.size < 2:
            reason = "somebody answers at fewer than two of these budgets"
            remedy = "Raise the preferred epsilons, or compare smaller budgets."
            raise InputError.because("preferences", reason, remedy)
        ends = float(known[-1]), float(known[0])
        found = _least(self.channel_errors, self.preferences.kinks, *ends)
        return BestBudget(*found, float(self.preferences.answer_rate(found[0])))

    def channel_errors(self, epsilons: ArrayLike) -> Array:
        """The errors between the curve's budgets; ``inf`` outside them."""
        from scipy.interpolate import CubicSpline, PchipInterpolator

        known = np.isfinite(self.channel_rmse)
        # Where there are kinks, without swinging over.
        smooth = (PchipInterpolator if self.preferences.kinks.size else CubicSpline)(
            self.epsilon[known], np.log(self.channel_rmse[known]), extrapolate=False
        )
        return np.exp(np.nan_to_num(smooth(np.asarray(epsilons, dtype=np.float64)), nan=np.inf))


def channel_curve(model: AnswerRateModel, epsilons: ArrayLike | None = None) -> ChannelCurve:
    """Predict the error of the mean at each budget, with the best channel of that budget.

    Each channel is made for the model's mean and spread (0.3 radii of the range if it
    states none) at that budget's answer rate, on five points, and has at most 1.02 times the error
    of BiSample for five means over the range. ``epsilons`` are in nats; 27 up to where 1 % still
    answer when omitted, and those just above which fewer do.

    Raises
    ------
    InputError
        Budgets out of range.

    Examples
    --------
    >>> from planner.survey.preferences import NormalPreferences
    >>> model = AnswerRateModel(NormalPreferences(5, 1.5), users=100_000, mean=0.5, sd=0.3)
    >>> curve = channel_curve(model, np.linspace(1.0, 6.0, 11))
    >>> round(curve.best().epsilon, 1), round(model.best().epsilon, 1)
    (4.1, 3.2)
    """
    kinks = model.preferences.kinks
    if epsilons is None:
        inside = kinks[(kinks > 0) & (kinks <= model.highest)][:: 1 + kinks.size // _BUDGETS]
        even = np.linspace(model.highest / _BUDGETS, model.highest, _BUDGETS)
        epsilons = np.unique(np.concatenate([even, inside]))
    budgets = np.unique(positive_numbers("epsilons", epsilons, MAX_EPSILON))
    rate = model.preferences.answer_rate(budgets)
    variance, gaps = np.full(budgets.shape, np.inf), np.full(budgets.shape, np.nan)
    for i in np.flatnonzero(rate >= _FEWEST).tolist():
        try:
            solved = _coarse(model, float(budgets[i]), float(max(0.0, 1 - rate[i])), _TOLERANCE)
        except SolverError:
            continue
        assert solved.certificate is not None  # noqa: S101 - of all that are solved
        variance[i], gaps[i] = solved.worst_error, solved.certificate.relative_gap
    return ChannelCurve(budgets, rate, np.sqrt(variance / model.users), gaps, model.preferences)


def _coarse(model: AnswerRateModel, epsilon: float, missing: float, tolerance: float) -> Channel:
    """The best channel on the coarsest grid, for the model's mean and spread."""
    others, points = five_populations(model.domain, missing), 2 if model.domain.yes_no else 5
    return provable_channel(epsilon, others, points, model.stated(missing), tolerance)


@dataclass(frozen=True, slots=True, eq=False)
class AnswerRatePlan:
    """Predictions over budgets, the best budget, and the budget in use.

    ``curve`` has BiSample-MD, and forced answers, at 200 budgets; ``best`` is the budget with the
    smallest error of the mean; ``offered`` has the predictions at the budget that the question
    states (one row), None if it states none.
    """

    model: AnswerRateModel
    curve: AnswerRateCurve
    best: BestBudget
    offered: AnswerRateCurve | None
    mechanism: str = BISAMPLE

    def best_planned(self, channels: ChannelCurve | None) -> BestBudget:
        """The best budget of what the question is planned with: of BiSample-MD by name alone."""
        return self.best if channels is None or self.mechanism == BISAMPLE else channels.best()

    def channels(self) -> ChannelCurve | None:
        """The same people with the best channel of every budget.

        Computed when asked for, in about a second. None where so few answer that no budget is
        predicted.
        """
        found = channel_curve(self.model)
        return found if np.isfinite(found.channel_rmse).sum() > 1 else None


def model_of(about: Numeric, users: int) -> AnswerRateModel:
    """What a survey's numeric question is predicted from; without preferences all answer."""
    everybody = EmpiricalPreferences(values=(float(MAX_EPSILON),))
    preferences = about.preferences or everybody
    return AnswerRateModel(preferences, users, about.domain, about.mean, about.sd)


def plan_answer_rate(model: AnswerRateModel, epsilon: float | None = None) -> AnswerRatePlan:
    """Plan one question; ``epsilon`` is the budget in use, from 0 to 50, if there is one.

    Examples
    --------
    >>> from planner.survey.preferences import NormalPreferences
    >>> plan = plan_answer_rate(AnswerRateModel(NormalPreferences(5, 1.5), 100_000), epsilon=6.0)
    >>> round(plan.best.epsilon, 2), round(float(plan.offered.mean_rmse[0] / plan.best.rmse), 1)
    (2.94, 2.2)
    """
    offered = None if epsilon is None else model.curve([epsilon])
    return AnswerRatePlan(model, model.curve(), model.best(), offered)


def plan_answer_rates(survey: Survey) -> dict[str, AnswerRatePlan]:
    """Plan every numeric question of a survey that states its people's preferences, by name."""
    plans = {
        question.name: replace(
            plan_answer_rate(model_of(question, survey.users), question.epsilon),
            mechanism=question.mechanism,
        )
        for question in survey.questions
        if isinstance(question, Numeric) and question.preferences is not None
    }
    if not plans:
        kinds = ", ".join(sorted({question.kind for question in survey.questions}))
        allowed = "'numeric', with [question.preferences], for one question at least"
        remedy = "Add [question.preferences] to a numeric question."
        raise InputError("kind", kinds, allowed, remedy)
    return plans


# What a question is planned with


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
    if 1 - rate == 1:  # to the last digit
        remedy = "Nobody answers at this budget: lower it."
        what = f"epsilon of question {question.name!r}"
        raise InputError(what, epsilon, "tolerated by somebody", remedy)
    return rate


def curve(question: Numeric, users: int) -> Curve:
    """As shares are planned: with BiSample-MD, at the answer rate and the expected mean.

    Its error is a line in ``1 / tanh^2(eps/2)``; where everybody answers it is for the least
    favourable answers, and no line.
    """
    epsilon, rate = float(question.policy.epsilons[0]), answer_rate(question)
    if rate is None:
        return mean_curve(question.name, epsilon, question.weight, least_favourable=True)
    mean = model_of(question, users).unit_mean
    # The variance is affine in 1 / theta^2: two values give both terms.
    full, half = (float(first_order(t, rate, mean, 1).mean) for t in (1.0, 0.5))
    scale = (half - full) / 3
    return mean_curve(question.name, epsilon, question.weight, ErrorLaw(scale, full - scale))


def options(part: Part[Numeric]) -> list[Option]:
    """The best channel and BiSample-MD, and mechanisms that are compared alone, for one people.

    They are those that the question states; of ``bisample-md`` where everybody answers the least
    favourable ones, of others, where no mean is stated, the worst of five means over the range.
    """
    question = part.question
    epsilon, rate = float(part.deployed.policy.epsilons[0]), answer_rate(question)
    model, missing = model_of(question, part.people), 0.0 if rate is None else 1 - rate
    by_name = question.mechanism == BISAMPLE
    assumed: tuple[AssumedAnswers, ...] = (model.stated(missing),)
    if by_name and rate is None:
        assumed = _everybody_alike(assumed[0])
    elif not by_name and model.mean is None:
        assumed = five_populations(model.domain, missing)
    moments = [one.moments for one in assumed]
    if by_name and rate is not None:
        moments = [(model.unit_mean, model.mean_square)]
    found = [_best_channel(part, model, epsilon, missing, assumed)]
    for name in (BISAMPLE, *_COMPARED):
        errors = [map(float, mean_error(name, epsilon, 1 - missing, *one)) for one in moments]
        variance, bias = max(map(tuple, errors), key=lambda one: one[0] + part.people * one[1] ** 2)
        law, note = None, f"forced answers at the top, bias {bias * part.whole:+.3g}"
        if name == BISAMPLE:
            law, note = (
                bisample_md(epsilon, question.domain),
                "missing answers stay missing",
            )
            if by_name and rate is None:  # the worst answer of all lies between two of these
                variance = bisample_worst(float(1 / np.tanh(epsilon / 2) ** 2))
        errors_of, note = ErrorLaw(bias=part.everybody * bias**2), note if missing else ""
        found.append(Option(name, variance, errors_of, law, note=note, compared=law is None))
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
    stated = None if model.mean is None else model.stated(missing)
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
    part: Part[Numeric],
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


def _everybody_alike(stated: AssumedAnswers) -> tuple[AssumedAnswers, ...]:
    """Everybody has one answer, whichever: what no other answers are worse than for BiSample-MD."""
    place = stated.domain
    values = np.linspace(place.lower, place.upper, _VALUES).tolist()
    return tuple(replace(stated, center=value, spread=0.0) for value in values)


def total(_part: Part[Numeric], planned: Option) -> tuple[float, ErrorLaw]:
    """The value and the law of the error that targets are about: the mean's own."""
    return planned.value, planned.errors
