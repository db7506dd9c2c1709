"""What budget to ask for, when a larger one means less noise but fewer answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.arguments import positive_numbers, whole_number
from planner.errors import InputError, SolverError
from planner.frames import Framed
from planner.limits import MAX_EPSILON
from planner.mechanisms.means import first_order
from planner.mechanisms.rivals import FAKE_ANSWERS
from planner.planning.channels import (
    NARROWEST,
    USUAL_SPREAD,
    AssumedAnswers,
    best_channel,
    bisample_error,
    five_populations,
    mean_error,
    provable_channel,
)
from planner.solvers.answers import Channel
from planner.survey.numeric_domain import NumericDomain
from planner.survey.preferences import EmpiricalPreferences, Preferences
from planner.survey.questions import Numeric, Survey

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AnswerRateCurve(Framed):
    """Predictions for BiSample-MD over budgets; all columns of shape ``(k,)``."""

    epsilon: Array
    answer_rate: Array
    mean_rmse: Array
    missing_rate_rmse: Array
    reliable: NDArray[np.bool_]

    @property
    def summary(self) -> str:
        """Which budgets the rows are for."""
        return f"BiSample-MD at {self.epsilon.size} budgets."

    def columns(self) -> dict[str, Any]:
        """One row a budget, a column an attribute."""
        names = ("epsilon", "answer_rate", "mean_rmse", "missing_rate_rmse")
        return {name: getattr(self, name) for name in (*names, "reliable")}


class ForcedAnswerCurve(NamedTuple):
    """Predictions for a mechanism that forces an answer, in the question's unit, ``(k,)``."""

    epsilon: Array
    bias: Array
    rmse: Array


_GRID_POINTS = 1000


@dataclass(frozen=True, slots=True)
class BestBudget:
    """The best budget and what it gives."""

    epsilon: float
    rmse: float
    flat_lower: float
    flat_upper: float
    tolerance: float
    answer_rate: float = float("nan")
    reliable: bool = True

    def with_rate(self, answer_rate: float, reliable: bool) -> BestBudget:
        """The same, completed."""
        return replace(self, answer_rate=answer_rate, reliable=reliable)


def find_best(
    error: Callable[[Array], Array],
    kinks: Array,
    budgets: tuple[float, float],
    tolerance: float,
) -> BestBudget:
    """Minimise ``error`` over a range of budgets: a grid that has all kinks, then Brent."""
    lowest, highest = budgets
    if not 0 < lowest < highest <= MAX_EPSILON:
        allowed = f"such that 0 < lowest < highest <= {MAX_EPSILON:g}"
        remedy = "Give a lowest and a highest budget in this order, such as (0.1, 5)."
        raise InputError("(lowest, highest)", budgets, allowed, remedy)
    if not 0 < tolerance < np.inf:
        remedy = "Give the share above the least error that still counts as flat."
        raise InputError("tolerance", tolerance, "above 0, such as 0.05", remedy)
    inside = kinks[(kinks > lowest) & (kinks < highest)]
    even = np.linspace(lowest, highest, _GRID_POINTS)
    steps = np.geomspace(lowest, highest, _GRID_POINTS)
    grid = np.unique(np.concatenate([[lowest, highest], even[1:-1], steps[1:-1], inside]))
    values = error(grid)
    if not np.isfinite(values).any():
        allowed = f"high enough that somebody answers at a budget above {lowest:g}"
        raise InputError("preferences", "too low", allowed, "Nobody would answer this question.")
    start = int(np.argmin(values))
    epsilon, least = _refine(error, grid, values, start)
    limit = (1 + tolerance) * least
    left, right = np.flatnonzero(grid < epsilon)[::-1], np.flatnonzero(grid > epsilon)
    return BestBudget(
        epsilon,
        least,
        _edge(error, epsilon, (grid[left], values[left]), limit),
        _edge(error, epsilon, (grid[right], values[right]), limit),
        tolerance,
    )


def _refine(
    error: Callable[[Array], Array], grid: Array, values: Array, start: int
) -> tuple[float, float]:
    from scipy.optimize import minimize_scalar

    best = float(grid[start]), float(values[start])
    for left in (start - 1, start):  # each side by itself: the error may jump at the middle
        if 0 <= left < grid.size - 1:
            ends = (float(grid[left]), float(grid[left + 1]))
            found = minimize_scalar(
                lambda e: float(error(np.array([e]))[0]),
                bounds=ends,
                method="bounded",
                options={"xatol": 1e-9},
            )
            if found.success and found.fun < best[1]:
                best = float(found.x), float(found.fun)
    return best


def _edge(
    error: Callable[[Array], Array], start: float, outward: tuple[Array, Array], limit: float
) -> float:
    """The farthest budget, going outward without a gap, whose error is within the limit."""
    grid, values = outward
    beyond = np.flatnonzero(~(values <= limit))
    if beyond.size == 0:
        return float(grid[-1]) if grid.size else start
    good = float(grid[beyond[0] - 1]) if beyond[0] else start
    bad = float(grid[beyond[0]])
    while abs(bad - good) > 1e-9 * max(good, bad):
        middle = (good + bad) / 2
        good, bad = (middle, bad) if error(np.array([middle]))[0] <= limit else (good, middle)
    return good


_RELIABLE = 5.0  # standard errors between the answer rate and 0


@dataclass(frozen=True, slots=True, eq=False)
class AnswerRateModel:
    """A numeric question, the people asked, and how much epsilon they tolerate.

    Parameters
    ----------
    preferences:
        Distribution of the largest epsilon that a person tolerates.
    users:
        Number of people asked, at least 1.
    domain:
        Range of the answers; ``[-1, 1]`` when omitted.
    mean:
        Expected mean of all people's answers, in the question's unit; the middle of the
        domain when omitted.
    sd:
        Expected standard deviation, in the question's unit; Piecewise alone uses it. When omitted
        it is the largest possible, that of answers at the ends of the domain. Always that for a
        yes/no question.

    Raises
    ------
    InputError
        A number is out of range.

    Examples
    --------
    >>> from planner.survey.preferences import NormalPreferences
    >>> model = AnswerRateModel(NormalPreferences(5, 1.5), users=100_000, mean=0.5)
    >>> best = model.best()
    >>> round(best.epsilon, 3), round(best.answer_rate, 3)
    (3.157, 0.89)
    >>> round(best.flat_lower, 2), round(best.flat_upper, 2)
    (2.48, 3.88)
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
        """Predictions at these budgets, or at 200 budgets up to where 1 % still answer.

        Raises
        ------
        InputError
            A budget outside 0 to 50.
        """
        epsilon = self._budgets(epsilons)
        rate = self.preferences.answer_rate(epsilon)
        variance = first_order(np.tanh(epsilon / 2), rate, self.unit_mean, self.users)
        rate_error = np.sqrt(variance.missing_rate)
        return AnswerRateCurve(
            epsilon,
            rate,
            self.domain.radius * np.sqrt(variance.mean),
            rate_error,
            rate >= _RELIABLE * rate_error,
        )

    def best(
        self, tolerance: float = 0.05, lowest: float = 0.01, highest: float = MAX_EPSILON
    ) -> BestBudget:
        """The budget with the smallest error of the mean, and how flat the error is around it.

        There is no such budget for the missing rate: it is another quantity at each
        budget, and known best (100 %) where nobody answers.

        Parameters
        ----------
        tolerance:
            The flat region is where the error stays within this share of the best.
        lowest, highest:
            Budgets to consider, in nats.

        Raises
        ------
        InputError
            An argument out of range, or nobody answers at any of these budgets.
        """

        def error(epsilon: Array) -> Array:
            return self.curve(epsilon).mean_rmse

        found = find_best(error, self.preferences.kinks, (lowest, highest), tolerance)
        at = self.curve([found.epsilon])
        return found.with_rate(float(at.answer_rate[0]), bool(at.reliable[0]))

    def forced(
        self, mechanism: str, fake_answer: str, epsilons: ArrayLike | None = None
    ) -> ForcedAnswerCurve:
        """Predictions for a mechanism that forces an answer, with its bias.

        With ``mu`` the mean on ``[-1, 1]`` the bias of the mean is
        ``(1 - R)(1 - mu)`` for ``"top"`` and ``-(1 - R) mu`` for ``"random"``.

        Parameters
        ----------
        mechanism:
            ``"harmony"`` (and BiSample, which has the same error) or ``"piecewise"``.
        fake_answer:
            ``"top"`` (the paper's TOP) or ``"random"`` (its RND).
        epsilons:
            Budgets in nats; as for :meth:`curve` when omitted.

        Raises
        ------
        InputError
            An unknown name or a budget outside 0 to 50.
        """
        if mechanism not in ("harmony", "piecewise"):
            remedy = "Choose one of them."
            raise InputError("mechanism", mechanism, '"harmony" or "piecewise"', remedy)
        if fake_answer not in FAKE_ANSWERS:
            raise InputError("fake_answer", fake_answer, '"random" or "top"', "Choose one of them.")
        epsilon = self._budgets(epsilons)
        rate = self.preferences.answer_rate(epsilon)
        people = rate, self.unit_mean, self.mean_square
        variance, bias = mean_error(mechanism, epsilon, *people, fake_answer)
        spread = np.sqrt(variance / self.users + bias * bias)
        return ForcedAnswerCurve(epsilon, self.domain.radius * bias, self.domain.radius * spread)

    def usual_budgets(self) -> Array:
        """Two hundred budgets up to where 1 % of the people still answer."""
        last = float(self.preferences.quantile(0.99))
        highest = min(MAX_EPSILON, last) if last > 0.1 else 1.0
        return np.linspace(highest / 200, highest, 200)

    @property
    def unit_mean(self) -> float:
        """Expected mean of all people's answers on ``[-1, 1]``."""
        if self.mean is None:
            return 0.0
        return float(self.domain.to_unit(np.array([self.mean]))[0])

    def _budgets(self, epsilons: ArrayLike | None) -> Array:
        if epsilons is None:
            return self.usual_budgets()
        return positive_numbers("epsilons", epsilons, MAX_EPSILON)

    @property
    def mean_square(self) -> float:
        """Of all people's answers on ``[-1, 1]``."""
        variance = 1 - self.unit_mean**2
        if self.sd is not None and not self.domain.yes_no:
            variance = min(variance, (self.sd / self.domain.radius) ** 2)
        return variance + self.unit_mean**2


def stated_answers(model: AnswerRateModel, missing: float) -> AssumedAnswers:
    """Answers around a question's expected mean, with its spread or 0.3 radii of the range."""
    place = model.domain
    spread = USUAL_SPREAD * place.radius if model.sd is None else model.sd
    center = float(np.clip(place.from_unit(model.unit_mean), place.lower, place.upper))
    return AssumedAnswers(center, max(spread, NARROWEST * place.radius), missing, place)


_BUDGETS = 60
_FEWEST = 1e-3  # share who answer, below which nothing is predicted
_TOLERANCE = 1e-3


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ChannelCurve(Framed):
    """Predicted errors of the mean over budgets; columns of shape ``(k,)``.

    Attributes
    ----------
    epsilon:
        Budgets in nats, rising.
    answer_rate:
        Share of people who answer.
    channel_rmse:
        Root mean squared error with the best channel of each budget, in the question's
        unit; ``inf`` where fewer than one in a thousand answer, or none could be proven.
    bisample_rmse:
        The same with BiSample-MD, for the same people.
    relative_gap:
        Proven distance of each channel's variance from the best of its grid.
    kinks:
        Budgets just above which fewer people answer, all at once, or at which the curve bends;
        none for smooth preferences.
    """

    epsilon: Array
    answer_rate: Array
    channel_rmse: Array
    bisample_rmse: Array
    relative_gap: Array
    kinks: Array = field(default_factory=lambda: np.empty(0))

    def best(self, mechanism: str = "channel", tolerance: float = 0.05) -> BestBudget:
        """The budget of least error and the flat region around it, read off the curve.

        Parameters
        ----------
        mechanism:
            ``"channel"`` or ``"bisample"``.
        tolerance:
            The flat region is where the error stays within this share of the best.

        Raises
        ------
        InputError
            An unknown name, or nobody answers at any of these budgets.
        """
        if mechanism not in ("channel", "bisample"):
            remedy = "Choose one of them."
            raise InputError("mechanism", mechanism, '"channel" or "bisample"', remedy)
        values = self.channel_rmse if mechanism == "channel" else self.bisample_rmse
        known = np.isfinite(values)
        if known.sum() < 2:
            reason = "somebody answers at fewer than two of these budgets"
            remedy = "Raise the preferred epsilons, or compare smaller budgets."
            raise InputError.because("preferences", reason, remedy)
        ends = self.epsilon[known]
        error, budgets = self._between(values), (float(ends[0]), float(ends[-1]))
        best = find_best(error, self.kinks, budgets, tolerance)
        rate = float(np.interp(best.epsilon, self.epsilon, self.answer_rate))
        return best.with_rate(rate, reliable=True)

    def channel_errors(self, epsilons: ArrayLike) -> Array:
        """Root mean squared errors with the best channel between the curve's budgets.

        ``inf`` outside them.
        """
        return self._between(self.channel_rmse)(np.asarray(epsilons, dtype=np.float64))

    def _between(self, values: Array) -> Callable[[Array], Array]:
        """Smooth between the budgets; where there are kinks, without swinging over."""
        from scipy.interpolate import CubicSpline, PchipInterpolator

        known = np.isfinite(values)
        smooth = (PchipInterpolator if self.kinks.size else CubicSpline)(
            self.epsilon[known], np.log(values[known]), extrapolate=False
        )
        return lambda epsilon: np.exp(np.nan_to_num(smooth(epsilon), nan=np.inf))

    @property
    def summary(self) -> str:
        """Both best budgets."""
        ours, theirs = self.best(), self.best("bisample")
        return (
            f"Best channel: budget {ours.epsilon:.3g}, RMSE {ours.rmse:.4g}; "
            f"BiSample-MD: budget {theirs.epsilon:.3g}, RMSE {theirs.rmse:.4g}."
        )

    def columns(self) -> dict[str, Any]:
        """One row a budget."""
        names = ("epsilon", "answer_rate", "channel_rmse", "bisample_rmse", "relative_gap")
        return {name: getattr(self, name) for name in names}


def channel_curve(
    model: AnswerRateModel, epsilons: ArrayLike | None = None, points: int = 5
) -> ChannelCurve:
    """Predict the error of the mean at each budget, with the best channel of that budget.

    Each channel is made for the model's mean and spread (0.3 radii of the range if it
    states none) at that budget's answer rate, and does no worse than BiSample for five
    means over the range.

    Parameters
    ----------
    model:
        The question, its people, and what they tolerate.
    epsilons:
        Budgets in nats, rising; 60 up to where 1 % still answer when omitted, and those just
        above which fewer do.
    points:
        Grid points, 2 to 15; 2 for a question of yes and no.

    Raises
    ------
    InputError
        Budgets out of range or not rising.

    Examples
    --------
    >>> from planner.survey.preferences import NormalPreferences
    >>> model = AnswerRateModel(NormalPreferences(5, 1.5), users=100_000, mean=0.5, sd=0.3)
    >>> curve = channel_curve(model, np.linspace(1.0, 6.0, 11))
    >>> round(curve.best().epsilon, 1), round(curve.best("bisample").epsilon, 1)
    (4.1, 3.2)
    """
    budgets = _budgets(model, epsilons)
    rate = model.preferences.answer_rate(budgets)
    channel, bisample = np.full(budgets.shape, np.inf), np.full(budgets.shape, np.inf)
    gaps = np.full(budgets.shape, np.nan)
    grid = 2 if model.domain.yes_no else points
    for i in np.flatnonzero(rate >= _FEWEST).tolist():
        epsilon, missing = float(budgets[i]), float(max(0.0, 1 - rate[i]))
        stated = stated_answers(model, missing)
        others = five_populations(model.domain, missing)
        solved = _proven(epsilon, others, grid, stated)
        if solved is None:
            continue
        if solved.certificate is not None:
            gaps[i] = solved.certificate.relative_gap
        noise = solved.worst_error, bisample_error(epsilon, stated)
        channel[i], bisample[i] = np.sqrt(np.array(noise) / model.users)
    return ChannelCurve(budgets, rate, channel, bisample, gaps, model.preferences.kinks)


def _proven(
    epsilon: float,
    others: Sequence[AssumedAnswers],
    points: int,
    stated: AssumedAnswers,
) -> Channel | None:
    """The best channel of a budget, or of the part of it that the solver can prove, or none."""
    try:
        return best_channel(epsilon, others, points=points, stated=stated, tolerance=_TOLERANCE)
    except SolverError:
        pass
    try:
        return provable_channel(epsilon, others, points, stated, _TOLERANCE)
    except SolverError:
        return None


def _budgets(model: AnswerRateModel, epsilons: ArrayLike | None) -> Array:
    if epsilons is None:
        highest = float(model.usual_budgets()[-1])
        even = np.linspace(highest / _BUDGETS, highest, _BUDGETS)
        kinks = model.preferences.kinks
        inside = kinks[(kinks > 0) & (kinks <= highest)]
        return np.unique(np.concatenate([even, inside[:: 1 + inside.size // _BUDGETS]]))
    budgets = positive_numbers("epsilons", epsilons, MAX_EPSILON)
    for i in np.flatnonzero(np.diff(budgets) <= 0)[:1]:
        allowed = "above the one before"
        remedy = "Sort the budgets, and give each once."
        raise InputError(f"epsilons[{i + 1}]", float(budgets[i + 1]), allowed, remedy)
    return budgets


_USUAL = ", if the spread, which is left open, is 0.3 of half the range"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AnswerRatePlan(Framed):
    """Predictions over budgets, the best budget, the budget in use, and the alternatives.

    Attributes
    ----------
    model:
        What was predicted from.
    curve:
        BiSample-MD at 200 budgets.
    best:
        The budget with the smallest error of the mean.
    offered:
        Predictions at the budget that the question states (one row); ``None`` if none.
    forced:
        Per fake answer (``"top"``, ``"random"``): Harmony at the budgets of ``curve``.
    """

    model: AnswerRateModel
    curve: AnswerRateCurve
    best: BestBudget
    offered: AnswerRateCurve | None
    forced: dict[str, ForcedAnswerCurve]

    def channels(self) -> ChannelCurve | None:
        """The same people with the best channel of every budget, beside BiSample-MD.

        Computed when asked for, in about a second. None where so few answer that no budget is
        predicted.
        """
        found = channel_curve(self.model)
        return found if np.isfinite(found.channel_rmse).sum() > 1 else None

    @property
    def summary(self) -> str:
        """The best budget and its error."""
        best = self.best
        rate = f"{best.answer_rate:.1%} answer"
        return f"Best budget {best.epsilon:.4g} nats: {rate}, RMSE of the mean {best.rmse:.4g}."

    def columns(self) -> dict[str, Any]:
        """The curve, one row a budget."""
        return self.curve.columns()


def channel_sentence(plan: AnswerRatePlan, channels: ChannelCurve) -> str:
    """The best channel's best budget, and what it gains on BiSample-MD's."""
    best = channels.best()
    gain = 1 - best.rmse / plan.best.rmse
    less = f"{gain:.0%} less" if gain >= 0.01 else "about as large as that of BiSample-MD"
    return (
        f"With the best channel in place of BiSample-MD: epsilon {best.epsilon:.3f}. "
        f"{best.answer_rate:.1%} answer, and the mean's error is {best.rmse:.4g}, "
        f"{less}{'' if plan.model.sd is not None else _USUAL}."
    )


def model_of(about: Numeric, users: int) -> AnswerRateModel:
    """What a survey's numeric question is predicted from; without preferences all answer."""
    everybody = EmpiricalPreferences(values=(float(MAX_EPSILON),))
    return AnswerRateModel(
        about.preferences or everybody, users, about.domain, about.mean, about.sd
    )


def plan_answer_rate(model: AnswerRateModel, epsilon: float | None = None) -> AnswerRatePlan:
    """Plan one question; ``epsilon`` is the budget in use, if there is one.

    Raises
    ------
    InputError
        The budget is outside 0 to 50, or nobody answers at any budget.

    Examples
    --------
    >>> from planner.survey.preferences import NormalPreferences
    >>> plan = plan_answer_rate(AnswerRateModel(NormalPreferences(5, 1.5), 100_000), epsilon=6.0)
    >>> round(plan.best.epsilon, 2), round(float(plan.offered.mean_rmse[0] / plan.best.rmse), 1)
    (2.94, 2.2)
    """
    curve = model.curve()
    return AnswerRatePlan(
        model,
        curve,
        model.best(),
        None if epsilon is None else model.curve([epsilon]),
        {fake: model.forced("harmony", fake, curve.epsilon) for fake in ("top", "random")},
    )


def plan_answer_rates(survey: Survey) -> dict[str, AnswerRatePlan]:
    """Plan every numeric question of a survey that states its people's preferences, by name."""
    plans = {
        question.name: plan_answer_rate(model_of(question, survey.users), question.epsilon)
        for question in survey.questions
        if isinstance(question, Numeric) and question.preferences is not None
    }
    if not plans:
        kinds = ", ".join(sorted({question.kind for question in survey.questions}))
        allowed = "'numeric', with [question.preferences], for one question at least"
        remedy = "Add [question.preferences] to a numeric question."
        raise InputError("kind", kinds, allowed, remedy)
    return plans
