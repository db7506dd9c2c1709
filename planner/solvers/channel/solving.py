"""From a linear question to its best channel, certified over all mechanisms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.designs.channel import Channel, Scenario
from planner.designs.table import Certificate
from planner.errors import ConvergenceError, InfeasibleError, InputError
from planner.policy.policy import PrivacyPolicy
from planner.solvers.channel.cone import ConeAnswer, solve_cones
from planner.solvers.channel.local import LocalSearch, spectral_bound, worst_population
from planner.solvers.channel.plane import Plane
from planner.solvers.channel.pricing import (
    MOST_ENUMERATED,
    MOST_LISTED,
    Enumeration,
    Pricing,
    RayList,
    lower_bound,
    ratios,
)
from planner.solvers.channel.program import Program, program_of
from planner.solvers.channel.rays import INWARD, windows
from planner.solvers.channel.repair import best_estimator, few_outputs, unbiased, whole_columns
from planner.solvers.channel.saddle import solve_saddle
from planner.solvers.rays import rays_of

Array = NDArray[np.float64]
_ROUNDS = 60
_SOLVED = 1e-9  # relative distance of the values at a saddle point
_SEARCH_ROUNDS = 60
_SEARCHED_A_ROUND = 4  # columns a symbol
_MOST_SEARCHED = 128
_WORTH = 1e-3  # relative gain of a round of local search
_LISTED_ROUNDS, _FINE = 4, 1e-2  # rounds with all columns after it, until so near the bound
_MOST_OF_FORMS = 13  # symbols with forms that differ: 8192 columns a window
_PLANE = 2  # wanted numbers for which any number of symbols is searched
_COLUMNS_A_ROUND = 40
_MIDDLE, _THRESHOLDS = 0.5, (0.02, 0.25, 0.5, 0.75, 0.98)
_NEAR, _NEARER = 0.95, 0.98  # columns below are left out of the next round, or search


def solve_channel(
    policy: PrivacyPolicy,
    wanted: ArrayLike,
    scenarios: Sequence[Scenario],
    wanted_names: Sequence[str] | None = None,
    *,
    tolerance: float = 1e-6,
    start: NDArray[np.bool_] | None = None,
) -> Channel:
    """The channel of least largest error for numbers that are linear in the answers.

    Minimises the largest error of the scenarios without a cap, over all mechanisms that
    keep the pair budgets and all unbiased linear estimators, with the others' errors under
    their caps. Columns are added until the bound over all of them is within ``tolerance``.

    Parameters
    ----------
    policy:
        One level of one item per symbol.
    wanted:
        What each symbol adds to each wanted number, shape ``(p, symbols)``.
    scenarios:
        The assumed populations and what counts as error in each.
    wanted_names:
        ``p`` names; ``"number 1"``, ... when omitted.
    tolerance:
        Stop when the proven relative gap is this small.
    start:
        Which symbols have the larger probability, for columns to try first: shape
        ``(columns, symbols)``, as from :func:`high_symbols` of a similar channel.

    Raises
    ------
    InputError
        Shapes that do not fit, or more symbols than can be searched with proof.
    InfeasibleError, ConvergenceError
        The caps cannot be kept, or the solver stopped early.

    Examples
    --------
    Randomised response is the best channel for one share.

    >>> policy = PrivacyPolicy([np.log(3)] * 2, [1, 1], names=["no", "yes"])
    >>> worst = [Scenario(name, one, np.eye(1)) for name, one in zip(policy.names, np.eye(2))]
    >>> channel = solve_channel(policy, [[0, 1]], worst, ["share of yes"])
    >>> round(channel.worst_error, 6), np.sort(channel.matrix).round(6).tolist()
    (0.75, [[0.25, 0.75], [0.25, 0.75]])
    """
    table = _checked(policy, wanted)
    program = program_of(table, scenarios, _hardness(policy))
    pricing = _pricing(policy, program, tolerance)
    columns = pricing.start(start)
    if isinstance(pricing, LocalSearch):
        best = _searched(program, pricing, columns, tolerance)
    else:
        best = _generate(program, pricing, columns, tolerance)
    names = tuple(wanted_names or (f"number {j + 1}" for j in range(len(table))))
    multipliers, weights, meanings = best.answer
    few = few_outputs(program, best.answer, best.columns)
    made = []
    expected = 2 * tolerance + lower_bound(program, multipliers, 1.0) / best.bound - 1
    for chosen in (few, weights):  # fewer reports, unless rounding then costs too much
        matrix, kept = whole_columns(best.columns, chosen, float(policy.bounds().min()))
        estimators = [best_estimator(table, scenarios, multipliers.scenarios, matrix)]
        if meanings is not None and program.turn.shape == (len(table), len(table)):
            # Right where a cap does not bind, and its directions have no multiplier.
            estimators.append(unbiased(program.turn @ meanings[kept].T, table, matrix))
        for estimator in estimators:
            channel = Channel(policy, table, names, matrix, estimator, tuple(scenarios))
            gap = max(0.0, channel.worst_error / best.bound - 1) if best.bound > 0 else np.inf
            certificate = Certificate(best.bound, gap, channel.max_violation)
            made.append(replace(channel, certificate=certificate))
            if gap <= expected and _excess(channel) <= 10 * tolerance:
                return made[-1]
    channel = min(made, key=lambda one: (_excess(one) > 10 * tolerance, one.worst_error))
    if _excess(channel) > 10 * tolerance:
        reason = f"The caps cannot be kept: one is exceeded by {_excess(channel):.1%}"
        raise InfeasibleError(reason, "Raise the caps, or the budgets.")
    return channel


def _excess(channel: Channel) -> float:
    """By which share the worst kept cap is exceeded, at most; negative if none is."""
    pairs = zip(channel.scenarios, channel.errors, strict=True)
    return max((float(error) / one.cap - 1 for one, error in pairs if one.cap), default=-1.0)


def bound_channels(
    policy: PrivacyPolicy,
    wanted: ArrayLike,
    scenarios: Sequence[Scenario],
    basis: ArrayLike,
    *,
    tolerance: float = 1e-3,
    start: NDArray[np.bool_] | None = None,
) -> float:
    """An error that no channel beats, from multipliers of the given shapes.

    For many symbols: the number of unknowns is that of the shapes. The bound holds for
    all mechanisms whatever the shapes; they decide how tight it is.

    Parameters
    ----------
    policy, wanted, scenarios, tolerance, start:
        As for :func:`solve_channel`.
    basis:
        Shapes of the multipliers over the symbols, shape ``(symbols, shapes)``.

    Raises
    ------
    InputError, ConvergenceError
        As for :func:`solve_channel`.

    Examples
    --------
    >>> policy = PrivacyPolicy([1.0] * 3, [1, 1, 1])
    >>> worst = [Scenario(str(i), one, np.eye(1)) for i, one in enumerate(np.eye(3))]
    >>> full = bound_channels(policy, [[0, 1, 2]], worst, np.eye(3))
    >>> weaker = bound_channels(policy, [[0, 1, 2]], worst, [[1, 0], [0, 0], [0, 1]])
    >>> round(full, 4), weaker <= full
    (3.9327, True)
    """
    table = _checked(policy, wanted)
    shapes = np.array(basis, dtype=np.float64)
    program = program_of(table, scenarios, _hardness(policy), shapes)
    pricing = _pricing(policy, program, tolerance)
    return _generate(program, pricing, pricing.start(start), tolerance).bound


def high_symbols(channel: Channel, places: ArrayLike | None = None) -> NDArray[np.bool_]:
    """Which symbols have the larger probability of each report, to start a like case from.

    Parameters
    ----------
    channel:
        A solved channel.
    places:
        Where the new symbols lie between the old ones, shape ``(new, old)``, rows sum to 1;
        the same symbols when omitted. Several thresholds are taken then.

    Examples
    --------
    >>> policy = PrivacyPolicy([np.log(3)] * 2, [1, 1])
    >>> worst = [Scenario(str(i), one, np.eye(1)) for i, one in enumerate(np.eye(2))]
    >>> channel = solve_channel(policy, [[0, 1]], worst)
    >>> high_symbols(channel, [[1, 0], [0.5, 0.5], [0, 1]]).shape
    (10, 3)
    """
    logs = np.log(channel.matrix)
    logs = logs[:, np.ptp(logs, axis=0) > 0]
    level = (logs - logs.min(axis=0)) / np.ptp(logs, axis=0)
    if places is None:
        return np.asarray(level.T > _MIDDLE)
    moved = (np.asarray(places) @ level).T
    return np.vstack([moved > threshold for threshold in _THRESHOLDS])


class _Best(NamedTuple):
    answer: ConeAnswer
    columns: Array
    bound: float


def _generate(program: Program, pricing: Pricing, columns: Array, tolerance: float) -> _Best:
    bound, lowest = -np.inf, np.inf
    for _ in range(_ROUNDS):
        answer = _solved(program, columns)
        priced = pricing.price(program, answer.multipliers, _COLUMNS_A_ROUND)
        bound = max(bound, lower_bound(program, answer.multipliers, priced.largest))
        # What the columns at hand reach: the dual's own value, as if they were all rays.
        reached = lower_bound(program, answer.multipliers, 1.0)
        if bound > -np.inf and reached - bound <= tolerance * abs(bound):
            return _Best(answer, columns, bound)
        if bound > -np.inf and reached < lowest - _WORTH * tolerance * abs(lowest):
            # Where the value stands still, multipliers would go round in circles.
            columns = columns[ratios(program, answer.multipliers, columns) > _NEAR]
        lowest = min(lowest, reached)
        columns = np.unique(np.vstack([columns, priced.columns]), axis=0)
    reason = f"The bound is still {reached / bound - 1:.1e} away after {_ROUNDS} rounds"
    raise ConvergenceError(reason, "Ask for a larger tolerance.")


def _spectral(program: Program, shares: Array, span: float) -> float:
    noise = spectral_bound(program.wanted, shares @ program.populations, span)
    return (noise - float(program.offsets @ shares)) * program.unit


def _solved(program: Program, columns: Array, close: float = _SOLVED) -> ConeAnswer:
    """Of many numbers by the smaller matrices, where these are not singular."""
    if program.common and not program.capped.any() and len(program.wanted) > _PLANE:
        try:
            return solve_saddle(program, columns, close)
        except ConvergenceError:
            pass
    return solve_cones(program, columns)


def _pricing(policy: PrivacyPolicy, program: Program, tolerance: float) -> Pricing:
    if policy.rule_name == "matrix":
        return RayList(np.exp(rays_of(policy) * INWARD))
    if policy.size <= (MOST_ENUMERATED if program.common else _MOST_OF_FORMS):
        return Enumeration(windows(policy))
    if len(program.wanted) <= _PLANE:
        return Plane(windows(policy), tolerance / 2)
    if program.common and not program.capped.any() and policy.size <= _MOST_SEARCHED:
        return LocalSearch(windows(policy))
    most = _MOST_SEARCHED if program.common else _MOST_OF_FORMS
    allowed = f"at most {most} for more than {_PLANE} wanted numbers"
    raise InputError("symbols", policy.size, allowed, "Join neighbouring symbols.")


def _searched(program: Program, pricing: LocalSearch, columns: Array, tolerance: float) -> _Best:
    """Columns as far as local search finds them, and the bound that needs none."""
    span = max(float(window.high.max() - window.low.min()) for window in pricing.windows)
    bound, value, listed = -np.inf, np.inf, 0
    if np.array_equal(program.populations, np.eye(columns.shape[1])):
        bound = _spectral(program, worst_population(program.wanted, span), span)
    for _ in range(_SEARCH_ROUNDS):
        answer = _solved(program, columns, _WORTH / 10)
        shares = answer.multipliers.scenarios / answer.multipliers.scenarios.sum()
        bound = max(bound, _spectral(program, shares, span))
        before, value = value, lower_bound(program, answer.multipliers, 1.0)
        columns = columns[ratios(program, answer.multipliers, columns) > _NEARER]
        most = _SEARCHED_A_ROUND * columns.shape[1]
        found = pricing.price(program, answer.multipliers, most)
        if not len(found.columns) or before - value <= _WORTH * value:
            if columns.shape[1] > MOST_LISTED or listed == _LISTED_ROUNDS:
                break
            listed += 1
            found = Enumeration(pricing.windows).price(program, answer.multipliers, most)
            bound = max(bound, lower_bound(program, answer.multipliers, found.largest))
            if value - bound <= max(tolerance, _FINE) * bound:
                break
        columns = np.vstack([columns, found.columns])
    answer = _solved(program, columns)
    return _Best(answer, columns, bound)


def _checked(policy: PrivacyPolicy, numbers: ArrayLike) -> Array:
    wanted = np.atleast_2d(np.array(numbers, dtype=np.float64))
    if (policy.item_counts != 1).any():
        remedy = "Give each symbol a level of its own; levels may share a budget."
        raise InputError("item_counts", policy.item_counts.tolist(), "1 for every level", remedy)
    if policy.size < 2:
        remedy = "Give a level for every symbol, two or more."
        raise InputError("symbols", policy.size, "at least 2", remedy)
    if wanted.ndim != 2 or wanted.shape[1] != policy.size or not np.isfinite(wanted).all():
        allowed = f"finite numbers, {policy.size} columns"
        raise InputError("wanted", wanted.shape, allowed, "Give a column a symbol.")
    return wanted


def _hardness(policy: PrivacyPolicy) -> float:
    """About the error of a number of size 1: that of randomised response."""
    return float(1 + 1 / np.sinh(float(policy.bounds().min()) / 2) ** 2)
