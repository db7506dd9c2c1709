"""The best channel for a mean when people refuse: over all mechanisms, with proof."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.arguments import whole_number
from planner.designs.channel import Channel, Scenario
from planner.errors import InputError, SolverError
from planner.frames import Framed
from planner.mechanisms.bisample_variance import first_order
from planner.planning.channels.populations import NO_ANSWER, AssumedAnswers, five_populations
from planner.policy.policy import PrivacyPolicy
from planner.solvers.channel.solving import bound_channels, high_symbols, solve_channel
from planner.survey.numeric_domain import NumericDomain

Array = NDArray[np.float64]
WANTED = ("sum of answers", "number of answers")
_MOST_POINTS = 33
_FINE = 33  # points that answers of any number of digits are compared on
_SHAPES = (9, 17)
_PROVABLE = (8.0, 6.0)  # nats, the first that the solver can prove; noise is next to nothing
_CAP = 1.02  # where BiSample is optimal, its very error could not be kept to the last digit


def best_channel(
    epsilon: float | ArrayLike,
    populations: Sequence[AssumedAnswers] | None = None,
    *,
    points: int = 5,
    stated: AssumedAnswers | None = None,
    cap: float = 1.0,
    rule: str | ArrayLike = "min",
    tolerance: float = 1e-6,
) -> Channel:
    """The channel of least error of the mean, over all mechanisms on a grid.

    Symbols are ``points`` even grid points of the range and "no answer"; an answer between
    two points is rounded to either at random, without bias. The estimated mean is the
    estimated sum over the estimated number of answers.

    Parameters
    ----------
    epsilon:
        One budget for all symbols, or one per symbol: the grid points, then "no answer".
        An answer between two points has the weaker protection of the two.
    populations:
        The largest of their errors is made small. When omitted, five means over
        ``[-1, 1]``, one in ten refusing; :func:`~planner.planning.channels.populations.\
five_populations` has them for other ranges.
    points:
        Grid points, 2 to 33. More are better, and slower; see :func:`refine_channel`.
    stated:
        One population whose error alone is made small; no other's may be larger than
        ``cap`` times the error of BiSample at the smallest budget.
    cap:
        See ``stated``; at least 1, so that it can be kept.
    rule:
        ``"min"``, ``"avg"`` or a matrix of pair budgets between symbols.
    tolerance:
        Proven relative distance from the optimum on this grid.

    Raises
    ------
    InputError, SolverError
        A number is out of range, or no channel could be proven near the best.

    Examples
    --------
    >>> channel = best_channel(2.0)
    >>> round(channel.worst_error, 4), channel.certificate.relative_gap < 1e-5
    (1.2401, True)
    >>> bisample = max(bisample_error(2.0, one) for one in five_populations())
    >>> round(bisample / channel.worst_error, 2)
    1.79
    """
    if cap < 1:
        remedy = "Set cap to 1 or more."
        raise InputError("cap", cap, "at least 1: BiSample itself is one of the channels", remedy)
    assumed = tuple(populations or five_populations())
    return _solve_stated(epsilon, assumed, points, stated, (cap, rule, tolerance, None))


def provable_channel(
    epsilon: float | ArrayLike,
    assumed: Sequence[AssumedAnswers],
    points: int,
    stated: AssumedAnswers | None = None,
    tolerance: float = 1e-4,
) -> Channel:
    """:func:`best_channel`, with as much of the budget as the solver can prove: 8 nats, or 6.

    More leaves next to no noise to lose. Of stated answers, others have at most 1.02 times the
    error of BiSample.
    """
    first, second = (np.minimum(epsilon, most) for most in _PROVABLE)
    solve = partial(best_channel, points=points, stated=stated, cap=_CAP, tolerance=tolerance)
    try:
        return solve(first, assumed)
    except SolverError:
        if np.array_equal(first, second):
            raise
        return solve(second, assumed)


def solve_on_grid(
    epsilon: float | ArrayLike,
    assumed: Sequence[AssumedAnswers],
    points: int,
    stated: AssumedAnswers | None = None,
    tolerance: float = 1e-6,
    start: NDArray[np.bool_] | None = None,
) -> Channel:
    """:func:`best_channel` for one budget rule, with columns to start from.

    ``start`` comes from :func:`~planner.solvers.channel.solving.high_symbols`.
    """
    return _solve_stated(epsilon, assumed, points, stated, (1.0, "min", tolerance, start))


def _solve_stated(
    epsilon: float | ArrayLike,
    assumed: Sequence[AssumedAnswers],
    points: int,
    stated: AssumedAnswers | None,
    how: tuple[float, str | ArrayLike, float, NDArray[np.bool_] | None],
) -> Channel:
    cap, rule, tolerance, start = how
    size = whole_number("points", points, 2, _MOST_POINTS)
    place = _domain([*assumed, *([] if stated is None else [stated])])
    grid = np.linspace(place.lower, place.upper, size)
    policy = _policy(epsilon, grid, rule)
    scenarios = [one.scenario(grid) for one in assumed]
    if stated is not None:
        smallest = float(policy.bounds().min())
        ceilings = [cap * bisample_error(smallest, one) * (1 + 1e-9) for one in assumed]
        others = zip(scenarios, ceilings, strict=True)
        capped = [replace(scenario, cap=ceiling) for scenario, ceiling in others]
        scenarios = [stated.scenario(grid), *capped]
    return _solve(policy, grid, scenarios, tolerance, start)


def bisample_error(epsilon: float, assumed: AssumedAnswers) -> float:
    """Error per person of BiSample-MD's mean, in squared units of the question, first order.

    Examples
    --------
    >>> round(bisample_error(1.0, AssumedAnswers(0.0, 0.3, 0.1)), 4)
    5.7688
    """
    place = assumed.domain
    unit = (assumed.mean - place.center) / place.radius
    variance = first_order(np.tanh(epsilon / 2), 1 - assumed.missing, unit, 1).mean
    return float(variance) * place.radius**2


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MeanChannel(Framed):
    """A channel on a grid that was refined, and how near it is to the best for any answers.

    Attributes
    ----------
    channel:
        The channel on the last grid.
    errors:
        Largest error per person by number of grid points.
    continuous_bound:
        No mechanism for answers of any number of digits has a smaller largest error, in
        populations that have the assumed shares of 33 grid points after rounding.
    """

    channel: Channel
    errors: dict[int, float]
    continuous_bound: float

    @property
    def gap(self) -> float:
        """Proven relative distance from the best mechanism for continuous answers."""
        return self.channel.worst_error / self.continuous_bound - 1

    @property
    def summary(self) -> str:
        """The grid, the error and the gap."""
        points = max(self.errors)
        return (
            f"{points} grid points: largest error {self.channel.worst_error:.6g} per person, "
            f"within {self.gap:.2%} of any mechanism for continuous answers."
        )

    def columns(self) -> dict[str, Any]:
        """One row a grid."""
        return {"points": list(self.errors), "error": list(self.errors.values())}


def refine_channel(
    epsilon: float,
    populations: Sequence[AssumedAnswers] | None = None,
    gap: float = 0.01,
) -> MeanChannel:
    """Double the grid until no mechanism for continuous answers can be better by ``gap``.

    The bound: whoever rounds answers to 33 points could draw, for each point, from any law
    with that mean, and then use a mechanism for continuous answers. So the best error on
    the 33 points bounds that mechanism's error from below, in every population that
    is such a mixture. It is proven from multipliers of few shapes.

    Parameters
    ----------
    epsilon:
        One budget for all answers and "no answer".
    populations:
        As for :func:`best_channel`.
    gap:
        Refine until the remaining gap is at most this, or the grid has 17 points.

    Raises
    ------
    InputError, SolverError
        As for :func:`best_channel`.

    Examples
    --------
    >>> refined = refine_channel(1.0, gap=0.05)
    >>> refined.gap <= 0.05, max(refined.errors)
    (True, 5)
    """
    assumed = tuple(populations or five_populations())
    errors: dict[int, float] = {}
    start, bound = None, -np.inf
    for points in (5, 9, 17):
        tolerance = 1e-6 if points <= 9 else gap / 10
        channel = solve_on_grid(epsilon, assumed, points, None, tolerance, start)
        errors[points] = channel.worst_error
        for shapes in _SHAPES:
            bound = max(bound, _continuous(epsilon, assumed, channel, shapes, gap / 10))
            if channel.worst_error <= (1 + gap) * bound:
                return MeanChannel(channel, errors, bound)
            if channel.worst_error > (1 + 3 * gap) * bound:
                break  # the grid is to blame, not the bound
        start = high_symbols(channel, _places(points, 2 * points - 1))
    return MeanChannel(channel, errors, bound)


def _continuous(
    epsilon: float, assumed: Sequence[AssumedAnswers], channel: Channel, shapes: int, gap: float
) -> float:
    place = assumed[0].domain
    fine = np.linspace(-1.0, 1.0, _FINE)
    scenarios = [_unit(one).scenario(fine) for one in assumed]
    mixed = np.mean([scenario.population for scenario in scenarios], axis=0)
    basis = np.zeros((_FINE + 1, shapes + 3))
    hats = np.maximum(0, 1 - np.abs(fine[:, None] - np.linspace(-1, 1, shapes)) * (shapes - 1) / 2)
    basis[1:-2, :shapes] = hats[1:-1] * mixed[1:-2, None]
    basis[0, shapes] = basis[-2, shapes + 1] = basis[-1, shapes + 2] = 1.0  # people at the ends
    basis /= basis.sum(axis=0)
    policy = _policy(epsilon, fine, "min")
    start = high_symbols(channel, _places(channel.policy.size - 1, _FINE))
    bound = bound_channels(policy, _wanted(fine), scenarios, basis, tolerance=gap, start=start)
    return bound * place.radius**2


def _solve(
    policy: PrivacyPolicy,
    grid: Array,
    scenarios: Sequence[Scenario],
    tolerance: float,
    start: NDArray[np.bool_] | None = None,
) -> Channel:
    """Solve on ``[-1, 1]``, where numbers are near 1, and bring the answer back."""
    center, radius = (grid[-1] + grid[0]) / 2, (grid[-1] - grid[0]) / 2
    turn = np.array([[radius, center], [0.0, 1.0]])  # wanted = turn @ wanted on [-1, 1]
    unit = [
        replace(
            scenario,
            directions=scenario.directions @ turn / radius,
            cap=None if scenario.cap is None else scenario.cap / radius**2,
        )
        for scenario in scenarios
    ]
    wanted = _wanted((grid - center) / radius)
    solved = solve_channel(policy, wanted, unit, WANTED, tolerance=tolerance, start=start)
    certificate = solved.certificate
    assert certificate is not None  # noqa: S101 - solve_channel proves every answer
    return replace(
        solved,
        wanted=_wanted(grid),
        estimator=turn @ solved.estimator,
        scenarios=tuple(scenarios),
        certificate=replace(certificate, lower_bound=certificate.lower_bound * radius**2),
    )


def _wanted(grid: Array) -> Array:
    return np.array([np.append(grid, 0.0), np.append(np.ones(grid.size), 0.0)])


def _policy(epsilon: float | ArrayLike, grid: Array, rule: str | ArrayLike) -> PrivacyPolicy:
    size = grid.size + 1
    budgets = np.asarray(epsilon, dtype=np.float64)
    if budgets.ndim == 0:
        budgets = np.full(size, float(budgets))
    if budgets.shape != (size,):
        allowed = f"a number, or {size} of them: one a grid point, then no answer"
        raise InputError("epsilon", epsilon, allowed, "Give one budget for all, or one for each.")
    names = [*(f"{value:.12g}" for value in grid), NO_ANSWER]
    return PrivacyPolicy(budgets, np.ones(size, dtype=int), rule, names)


def _domain(assumed: Sequence[AssumedAnswers]) -> NumericDomain:
    place = assumed[0].domain
    for one in assumed:
        if one.domain != place:
            allowed = f"[{place.lower:g}, {place.upper:g}], the range of all"
            remedy = "Give all assumed answers the same range."
            raise InputError("domain", [one.domain.lower, one.domain.upper], allowed, remedy)
    return place


def _unit(assumed: AssumedAnswers) -> AssumedAnswers:
    place = assumed.domain
    center = float(np.clip((assumed.center - place.center) / place.radius, -1, 1))
    return AssumedAnswers(center, assumed.spread / place.radius, assumed.missing)


def _places(old: int, new: int) -> Array:
    """Where the new grid's points and "no answer" lie between the old grid's, ``(new, old)``."""
    hats = np.maximum(0, 1 - np.abs(np.linspace(0, old - 1, new)[:, None] - np.arange(old)))
    places = np.zeros((new + 1, old + 1))
    places[:-1, :-1], places[-1, -1] = hats, 1.0
    return places
