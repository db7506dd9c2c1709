"""Who answers at which budget, and what BiSample-MD and forced answers have there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import ArrayLike

from planner.arguments import positive_numbers, whole_number
from planner.arrays import Array, Flags
from planner.errors import InputError
from planner.limits import MAX_EPSILON
from planner.mechanisms.rivals import bisample_variance, mean_error, missing_variance
from planner.planning.channels import USUAL_SPREAD, AssumedAnswers, five_populations
from planner.planning.option import flat_region
from planner.survey.assumed import Preferences
from planner.survey.levels import NumericDomain

BISAMPLE = "bisample-md"
_NARROWEST = 1e-3  # spread, in radii
MOST_MEANS = 101  # over the range, of the least favourable answers
_LOWEST = 0.01  # budget that is looked at
_GRID_POINTS = 1000
_FINER = 5  # how often a hundred points more stand between two
_BUDGETS = 27  # of a curve of best channels, each of which is solved
_RELIABLE = 5.0  # standard errors between the answer rate and 0


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
    reliable: Flags


@dataclass(frozen=True, slots=True)
class BestBudget:
    """The budget with the smallest error of a mean, and around it those within 5 % of that."""

    epsilon: float
    rmse: float
    flat_lower: float
    flat_upper: float
    answer_rate: float
    reliable: bool = True


@dataclass(frozen=True, eq=False)
class AnswerRateModel:
    """A numeric question, the people asked, and how much epsilon they tolerate.

    Parameters
    ----------
    preferences, users:
        Distribution of the largest epsilon that a person tolerates; number of people asked.
    domain:
        Range of the answers; ``[-1, 1]`` when omitted.
    mean, sd:
        What is expected of all people's answers, in the question's unit. The largest error for five
        means over the range, and 0.3 of half the range, when omitted; a yes/no question has no sd.
    missing:
        Share of people without an answer at any budget, below 1.
    any_answers:
        Whether errors are for the least favourable answers, whatever is expected.
    share:
        Share of the budget that people are offered which the question itself gets, at most 1.

    Raises
    ------
    InputError
        A number is out of range.

    Examples
    --------
    >>> from planner.survey.assumed import NormalPreferences
    >>> best = AnswerRateModel(NormalPreferences(5, 1.5), users=100_000, mean=0.5, sd=0).best()
    >>> [round(x, 2) for x in (best.epsilon, best.answer_rate, best.flat_lower, best.flat_upper)]
    [3.16, 0.89, 2.48, 3.88]
    """

    preferences: Preferences
    users: int
    domain: NumericDomain = field(default_factory=NumericDomain)
    mean: float | None = None
    sd: float | None = None
    missing: float = 0.0
    any_answers: bool = False
    share: float = 1.0

    def __post_init__(self) -> None:
        whole_number("users", self.users)
        lower = self.domain.lower
        upper = self.domain.upper
        if self.mean is not None and not lower <= self.mean <= upper:
            remedy = "Give the expected mean of the answers, within their range."
            raise InputError("mean", self.mean, f"from {lower:g} to {upper:g}", remedy)
        if self.sd is None:
            return
        # Of numbers within [-1, 1] with mean m the variance is at most 1 - m^2, of two ends alone.
        m = np.zeros(())
        if self.mean is not None:
            m = self.domain.to_unit(np.array(self.mean))
        on_unit = np.sqrt(1 - m**2)
        largest = self.domain.radius * float(on_unit)
        if not 0 <= self.sd <= largest * (1 + 1e-9):
            allowed = f"from 0 to {largest:.6g}, the largest for this mean and range"
            raise InputError("sd", self.sd, allowed, "Lower sd, or leave it out.")

    def curve(self, epsilons: ArrayLike | None = None) -> AnswerRateCurve:
        """Predictions at these budgets (0 to 50), or at 200 up to where 1 % still answer."""
        if epsilons is None:
            highest = self.highest
            epsilons = np.linspace(highest / 200, highest, 200)
        epsilon = positive_numbers("epsilons", epsilons, MAX_EPSILON)
        rate = self.answer_rate(epsilon)
        mean = np.array(self.moments)[:, :1]
        theta = np.tanh(self.share * epsilon / 2)  # how much of an answer a bit keeps
        variances = missing_variance(theta, rate, mean)
        # The largest over the people assumed, of which each is a row.
        largest = variances.max(axis=0)
        missing = np.sqrt(largest / self.users)
        return AnswerRateCurve(
            epsilon=epsilon,
            answer_rate=rate,
            mean_rmse=self.rmse(BISAMPLE, epsilon),
            missing_rate_rmse=missing,
            top_rmse=self.rmse("harmony", epsilon, "top"),
            random_rmse=self.rmse("harmony", epsilon, "random"),
            reliable=rate >= _RELIABLE * missing,
        )

    def answer_rate(self, epsilon: ArrayLike) -> Array:
        """Share of people who answer at each budget."""
        accepting = self.preferences.answer_rate(epsilon)
        return np.asarray((1 - self.missing) * accepting)

    def rmse(
        self, name: str, epsilon: Array, fake: str = "top", rate: Array | None = None
    ) -> Array:
        """Root mean squared error of a mechanism's mean, in the question's unit."""
        if rate is None:
            rate = self.answer_rate(epsilon)
        spent = self.share * epsilon
        variance, bias = self.error(name, spent, rate, fake)
        # Variances are of one person on [-1, 1]; a bias is the same of any number of people.
        squared_error = variance / self.users + bias**2
        error = self.domain.radius * np.sqrt(squared_error)
        return np.asarray(error)

    def error(
        self, name: str, epsilon: Array, rate: Array, fake: str = "top"
    ) -> tuple[Array, Array]:
        """The largest error at each budget, by :func:`~planner.mechanisms.rivals.mean_error`."""
        if self.any_answers and name == BISAMPLE:
            # Excess noise of a bit under randomised response.
            excess = 1 / np.sinh(epsilon / 2) ** 2
            variance = bisample_variance(excess, rate)
            return variance, np.zeros_like(variance)
        # Rows are assumed answers, columns budgets: the worst of the rows counts.
        means_and_squares = np.array(self.moments)[:, :, None]
        mean, square = np.moveaxis(means_and_squares, 1, 0)
        variance, bias = mean_error(name, epsilon, rate, mean, square, fake)
        variance, bias = np.broadcast_arrays(variance, bias)
        # Per person a variance stays, and a squared bias grows with their number.
        squared_errors = variance + self.users * bias**2
        worst = np.argmax(squared_errors, axis=0)
        budgets = np.arange(worst.size)
        return variance[worst, budgets], bias[worst, budgets]

    def best(self) -> BestBudget:
        """The budget with the smallest error of BiSample-MD's mean.

        There is none for the missing rate, which is another quantity at each budget, and known best
        (100 %) where nobody answers. An :class:`InputError` if nobody answers at any.
        """
        error = partial(self.rmse, BISAMPLE)
        best = smallest_error(error, self, MAX_EPSILON)
        (reliable,) = self.curve([best.epsilon]).reliable
        return replace(best, reliable=bool(reliable))

    @property
    def highest(self) -> float:
        """The largest budget that is shown: where 1 % of the people still answer."""
        last = float(self.preferences.quantile(0.99))
        if last <= 0.1:
            # Hardly anybody accepts any budget: show some of them all the same.
            return 1.0
        return min(MAX_EPSILON, last)

    def budgets(self, besides: ArrayLike = ()) -> Array:
        """Rising budgets at which channels are solved: even ones, kinks and the ``besides``."""
        # A best budget is often at a kink, where the answer rate jumps.
        kinks = self.preferences.kinks
        shown = (kinks > 0) & (kinks <= self.highest)
        # A pilot's preferences have a kink a person: of many about as many as of even budgets.
        stride = 1 + kinks.size // _BUDGETS
        some_kinks = kinks[shown][::stride]
        step = self.highest / _BUDGETS
        even = step * np.arange(1, _BUDGETS + 1)
        besides = np.atleast_1d(besides)
        # Even ones next to a budget that is wanted anyway would cost a channel each.
        distances = np.abs(np.subtract.outer(even, besides))
        nearest = distances.min(axis=1, initial=step)
        kept = even[nearest > step / 4]
        budgets = np.concatenate([kept, some_kinks, besides])
        return np.unique(budgets)

    @property
    def spread(self) -> float:
        """Standard deviation around the expected mean, as stated or assumed; of yes/no next to 0.

        There the mean says all.
        """
        least = _NARROWEST * self.domain.radius
        if self.domain.yes_no:
            return least
        if self.sd is None:
            return USUAL_SPREAD * self.domain.radius
        return max(self.sd, least)

    def assumed(self, missing: float) -> tuple[AssumedAnswers, ...]:
        """People whose largest error is predicted: around the expected mean, or one of five."""
        if self.mean is None:
            return five_populations(self.domain, missing, self.spread)
        expected = AssumedAnswers(self.mean, self.spread, missing, self.domain)
        return (expected,)

    @cached_property
    def moments(self) -> list[tuple[float, float]]:
        """Mean of the answers, and of their squares, on ``[-1, 1]``: one pair for each people."""
        if not self.any_answers:
            return [people.moments for people in self.assumed(0.0)]
        # Of answers with a mean m the mean square is m^2, if all are alike, to 1, if all are ends.
        pairs = []
        means = np.linspace(-1, 1, MOST_MEANS)
        for mean in means.tolist():
            pairs.append((mean, mean**2))
            pairs.append((mean, 1.0))
        return pairs


def smallest_error(
    error: Callable[[Array], Array],
    model: AnswerRateModel,
    highest: float,
    lowest: float = _LOWEST,
) -> BestBudget:
    """Where an error is least, and the ends of what is within 5 % of it.

    On a grid that is made finer, five times, around the best budget and where the flat region ends.
    """
    kinks = model.preferences.kinks
    within = (kinks > lowest) & (kinks < highest)
    inside = kinks[within]
    even = np.linspace(lowest, highest, _GRID_POINTS)
    by_ratio = np.geomspace(lowest, highest, _GRID_POINTS)
    points = np.concatenate([even, by_ratio, inside])
    grid = np.unique(points)
    # The points of earlier grids stay: what is found never gets worse.
    for finer in range(_FINER + 1):
        values = error(grid)
        if not np.isfinite(values).any():
            allowed = f"high enough that somebody answers at a budget above {lowest:g}"
            remedy = "Nobody would answer this question."
            raise InputError("preferences", "too low", allowed, remedy)
        best = int(np.argmin(values))
        low, high = flat_region(values, best)
        if finer < _FINER:
            around = {best - 1, best, low - 1, high}
            grid = _finer(grid, around)
    epsilon = float(grid[best])
    return BestBudget(
        epsilon=epsilon,
        rmse=float(values[best]),
        flat_lower=float(grid[low]),
        flat_upper=float(grid[high]),
        answer_rate=float(model.answer_rate(epsilon)),
    )


def _finer(grid: Array, cells: set[int]) -> Array:
    """The grid with a hundred points within these cells, each from its point to the next."""
    pieces = [grid]
    for cell in cells:
        if 0 <= cell < grid.size - 1:  # the best may be the first or the last point
            start = grid[cell]
            end = grid[cell + 1]
            pieces.append(np.linspace(start, end, 100))
    return np.unique(np.concatenate(pieces))
