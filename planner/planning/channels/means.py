"""The best channel for a mean when people refuse: over all mechanisms, with proof."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.arguments import whole_number
from planner.designs.channel import Channel, Scenario
from planner.errors import InputError, SolverError
from planner.mechanisms.means import first_order
from planner.planning.channels.populations import NO_ANSWER, AssumedAnswers, five_populations
from planner.policy.policy import PrivacyPolicy
from planner.solvers.channel_search import MOST_ANSWERS, solve_channel
from planner.survey.numeric_domain import NumericDomain

Array = NDArray[np.float64]
WANTED = ("sum of answers", "number of answers")
_MOST_POINTS = MOST_ANSWERS - 1  # and no answer
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
        Grid points, 2 to 15. More are better, and slower.
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
    return _solve(policy, grid, scenarios, tolerance)


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


def _solve(
    policy: PrivacyPolicy,
    grid: Array,
    scenarios: Sequence[Scenario],
    tolerance: float,
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
    solved = solve_channel(policy, wanted, unit, WANTED, tolerance=tolerance)
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
