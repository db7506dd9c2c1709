"""What budget to ask for with the best channel: the answer-rate curve beside BiSample's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.arguments import positive_numbers
from planner.designs.channel import Channel
from planner.errors import InputError, SolverError
from planner.frames import Framed
from planner.limits import MAX_EPSILON
from planner.planning.answer_rate.best_budget import BestBudget, find_best
from planner.planning.answer_rate.model import AnswerRateModel
from planner.planning.channels.means import bisample_error, provable_channel, solve_on_grid
from planner.planning.channels.populations import AssumedAnswers, five_populations, stated_answers
from planner.solvers.channel.solving import high_symbols

Array = NDArray[np.float64]
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
    means over the range. The columns of one budget's channel start the next one's search.

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
    start, grid = None, 2 if model.domain.yes_no else points
    for i in np.flatnonzero(rate >= _FEWEST).tolist():
        epsilon, missing = float(budgets[i]), float(max(0.0, 1 - rate[i]))
        stated = stated_answers(model, missing)
        others = five_populations(model.domain, missing)
        solved = _proven(epsilon, others, grid, stated, start)
        if solved is None:
            continue
        start = high_symbols(solved)
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
    start: NDArray[np.bool_] | None,
) -> Channel | None:
    """The best channel of a budget, or of the part of it that the solver can prove, or none."""
    try:
        return solve_on_grid(epsilon, others, points, stated, _TOLERANCE, start)
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
