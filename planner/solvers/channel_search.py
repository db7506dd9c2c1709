"""From a linear question to its best channel, certified over all mechanisms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from planner.arrays import Array, Flags, Whole
from planner.errors import ConvergenceError, InfeasibleError, InputError
from planner.policy.policy import PrivacyPolicy
from planner.solvers.answers import Certificate, Channel, Scenario, nearest_unbiased
from planner.solvers.game import Game, GameColumns, Multipliers, worst
from planner.solvers.generation import Generated, fewest, generate
from planner.solvers.rays import Windows, components_of, windows_of
from planner.solvers.threads import one_thread

MOST_ANSWERS = 16
"""Symbols whose columns are all priced: 65,536 a window, round after round."""

INWARD = 1 - 2.0**-46  # of a budget: no rounding of a logarithm carries a pair past it
_FEW_ANSWERS = 5  # symbols with which all columns are tried at once
_NEGLIGIBLE = 1e-9  # share of all reports below which an output is left out
_MOST_MISSING = 1e-3
_BLANK = 2.0**-50  # of a report that says nothing: no rounding of a row's sum is larger
_SECONDARY = 1e-8  # weight of directions that no scenario looks at
_RAISE_CAPS = "Raise the caps, or the budgets."


@one_thread
def solve_channel(
    policy: PrivacyPolicy,
    workload: ArrayLike,
    scenarios: Sequence[Scenario],
    wanted_names: Sequence[str] | None = None,
    *,
    asked: ArrayLike | None = None,
    tolerance: float = 1e-6,
) -> Channel:
    """The channel of least largest error for numbers that are linear in the answers.

    Minimises the largest error of the scenarios without a cap, of which there is one, over all
    mechanisms that keep the pair budgets and all unbiased linear estimators, with the others'
    errors under their caps. Each symbol is a level of one item and has a column of ``workload``,
    shape ``(p, symbols)``. Columns are added until the proven relative gap is ``tolerance``.
    Where all scenarios look at the same directions, the bound is for those ``asked``, if given.

    Raises
    ------
    InputError
        More than 16 symbols, or some that no chain of finite budgets connects.
    InfeasibleError, ConvergenceError
        The caps cannot be kept, or these budgets leave nothing to tell the symbols apart by.

    Examples
    --------
    Randomised response is the best channel for one share.

    >>> policy = PrivacyPolicy([np.log(3)] * 2, [1, 1], names=["no", "yes"])
    >>> worst = [Scenario(one, np.eye(1)) for one in np.eye(2)]
    >>> channel = solve_channel(policy, [[0, 1]], worst, ["share of yes"])
    >>> round(channel.worst_error, 6), np.sort(channel.matrix).round(6).tolist()
    (0.75, [[0.25, 0.75], [0.25, 0.75]])
    """
    _require_few_connected(policy)
    table = np.atleast_2d(np.array(workload, dtype=np.float64))
    problem = ChannelProblem(policy, table, scenarios)
    every_symbol = np.arange(policy.size)
    oracle = Ends(problem, windows_of(policy, every_symbol))
    asked_game = None
    if asked is not None:
        asked_game = problem.seen_in(np.asarray(asked))
    generated = generate(problem.game, oracle, tolerance, asked_game)
    sums = generated.answer.weights @ generated.columns.sums
    is_capped = not problem.game.free.all()
    if is_capped and np.abs(sums - 1).max() > _MOST_MISSING:
        # The price of a cap grew without end.
        raise InfeasibleError("The caps cannot be kept", _RAISE_CAPS)

    matrix, estimators = _mechanism(problem, generated)
    names = wanted_names
    if not names:
        names = [f"number {j + 1}" for j in range(len(table))]
    channels = []
    for estimator in estimators:
        channel = Channel(
            policy,
            wanted=table,
            wanted_names=tuple(names),
            matrix=matrix,
            estimator=estimator,
            scenarios=tuple(scenarios),
        )
        channels.append(channel)
    most_excess = 10 * tolerance

    def preference(channel: Channel) -> tuple[bool, float]:
        return _excess(channel) > most_excess, channel.worst_error

    best = min(channels, key=preference)
    excess = _excess(best)
    if excess > most_excess:
        reason = f"The caps cannot be kept: one is exceeded by {100 * excess:.1f} %"
        raise InfeasibleError(reason, _RAISE_CAPS)
    certificate = Certificate.of(
        best.worst_error,
        bound=float(generated.bound) * problem.unit,
        over=claim(scenarios),
        solved=float(generated.solved) * problem.unit,
    )
    return replace(best, certificate=certificate)


def _require_few_connected(policy: PrivacyPolicy) -> None:
    """InputError unless there are few symbols, and finite budgets connect all of them."""
    if not 2 <= policy.size <= MOST_ANSWERS:
        allowed = f"from 2 to {MOST_ANSWERS}"
        raise InputError("symbols", policy.size, allowed, "Group neighbours.")
    if len(components_of(policy)) > 1:
        remedy = "Give some pair between the unconnected symbols a finite budget."
        allowed = "finite along some chain"
        raise InputError("rule", "inf between groups", allowed, remedy)


def _mechanism(
    problem: ChannelProblem, generated: Generated
) -> tuple[Array, list[Array]]:
    """``Pr[report | symbol]`` of few of the columns, and the estimators that may be the best."""
    column_estimates = problem.column_estimates(generated)
    moments = problem.moments(generated.columns, column_estimates)
    few, weights = fewest(moments.T, generated.answer.weights)
    columns = generated.columns.sums[few]
    matrix, kept = whole_columns(columns, weights, problem.smallest_budget)
    workload = problem.workload
    sigma = generated.answer.multipliers.scenarios
    estimators = [best_estimator(workload, problem.scenarios, sigma, matrix)]
    if problem.to_wanted is not None:
        # Right where a cap does not bind, and its directions have no multiplier.
        of_reports = problem.to_wanted @ column_estimates[few][kept].T
        estimators.append(unbiased(of_reports, workload, matrix))
    return matrix, estimators


def claim(scenarios: Sequence[Scenario]) -> str:
    """Whom the bound is about: estimators that learn which population it is may go below it.

    With one population, or where everybody may have any answer, none does.
    """
    first = scenarios[0]
    of_one_answer_each = True
    for scenario in scenarios:
        if scenario.cap is not None:
            return "linear mechanisms"
        is_one_answer = np.max(scenario.population) == 1 and not scenario.drawn
        is_alike = np.array_equal(scenario.directions, first.directions)
        of_one_answer_each &= bool(is_one_answer and is_alike)
    if len(scenarios) == 1 or of_one_answer_each:
        return "mechanisms"
    return "linear mechanisms"


class ChannelProblem:
    """A question as a game: errors in a ``unit`` that brings them near 1.

    A scenario ``s`` looks at its directions ``F_s`` with the form ``G_s = F_s' F_s``. If all forms
    are the same, the game is about the numbers ``F W``; else about coordinates of ``W`` in the
    space that all ``F_s`` span, and has the forms in these. ``to_wanted`` leads from the game's
    numbers to those wanted, where there are as many and forms differ; else it is None.
    """

    def __init__(
        self, policy: PrivacyPolicy, workload: Array, scenarios: Sequence[Scenario]
    ) -> None:
        self.workload = workload
        self.scenarios = scenarios
        self.smallest_budget = float(policy.bounds().min())
        directions = [scenario.directions for scenario in scenarios]
        squares = np.array([F.T @ F for F in directions])  # G_s
        first = squares[0]
        largest_difference = np.abs(squares - first).max()
        are_alike = bool(largest_difference <= 1e-12 * np.abs(first).max())
        if are_alike:
            axes = _spanned(directions[0])
        else:
            axes = _spanned(np.vstack(directions))
        forms = axes @ squares @ axes.T
        numbers = axes @ workload
        self.populations = np.array([scenario.population for scenario in scenarios])
        # How large the numbers are in each scenario: sum_x pi_s(x) w_x' G_s w_x.
        sizes = np.einsum("px,kpq,qx,kx->k", numbers, forms, numbers, self.populations)
        # About the error of a number of size 1: that of randomised response.
        excess = 1 / np.sinh(self.smallest_budget / 2) ** 2
        self.unit = float(1 + excess) * float(sizes.max())

        offsets = []  # c_s + k_s
        free = []
        for scenario in scenarios:
            cap = scenario.cap or 0.0
            offsets.append(scenario.known(workload) + cap)
            free.append(float(scenario.cap is None))
        if are_alike:
            numbers = directions[0] @ workload
        self.game = Game(
            workload=(numbers / np.sqrt(self.unit),),
            offsets=np.array(offsets) / self.unit,
            free=np.array(free),
            forms=None if are_alike else forms,
        )
        self.to_wanted: Array | None = None
        if not are_alike and axes.shape[0] == axes.shape[1]:
            self.to_wanted = axes.T * np.sqrt(self.unit)

    def seen_in(self, directions: Array) -> Game:
        """The game, the directions of all scenarios being others."""
        offsets = []
        for scenario in self.scenarios:
            turned = replace(scenario, directions=directions)
            offsets.append(turned.known(self.workload))
        numbers = directions @ self.workload / np.sqrt(self.unit)
        return self.game._replace(
            workload=(numbers,), offsets=np.array(offsets) / self.unit
        )

    def columns(self, logs: Array) -> GameColumns:
        """Columns of these log values, each of mean 1, known by their place."""
        largest = logs.max(axis=1, keepdims=True)
        likelihoods = np.exp(logs - largest)
        likelihoods /= likelihoods.mean(axis=1, keepdims=True)
        return GameColumns(
            parts=(likelihoods,),
            people=likelihoods @ self.populations.T,
            sums=likelihoods,
            key=np.arange(len(logs))[:, None],
        )

    def column_estimates(self, generated: Generated) -> Array:
        """What a report of each column adds to the game's estimates, shape ``(N, p)``.

        ``T_o = H_o^-1 alpha' u_o`` with ``H_o = sum_s sigma_s P_os G_s``, or ``alpha' u_o / w_o``
        without forms. They are held fixed while columns are dropped: sums, expectations and errors
        are then linear in the columns' weights, and a few columns give the same.
        """
        (u,) = generated.columns.parts
        multipliers = generated.answer.multipliers
        (alpha,) = multipliers.alpha
        moved = u @ alpha  # alpha' u_o
        weighed = generated.columns.people * multipliers.scenarios  # sigma_s P_os
        if self.game.forms is None:
            w = weighed.sum(axis=1, keepdims=True)
            return np.asarray(moved / w)
        H = np.einsum("os,spq->opq", weighed, self.game.forms)
        T = np.linalg.solve(H, moved[..., None])
        return np.asarray(T[..., 0])

    def moments(self, columns: GameColumns, column_estimates: Array) -> Array:
        """What is linear in the columns' weights while their estimates ``T_o`` stay.

        A row a column: its values ``u_o``, its share ``T_o u_o'`` of the expectations, and of each
        scenario's error ``P_os T_o' G_s T_o``.
        """
        (u,) = columns.parts
        T = column_estimates
        if self.game.forms is None:
            squares = np.square(T).sum(axis=1, keepdims=True)
        else:
            squares = np.einsum("op,spq,oq->os", T, self.game.forms, T)
        errors = columns.people * squares
        products = np.einsum("op,om->opm", T, u)
        expectations = products.reshape(len(u), -1)
        return np.hstack([u, expectations, errors])


def _spanned(rows: Array) -> Array:
    """Orthonormal rows that span what these rows span."""
    _, sizes, axes = np.linalg.svd(rows)
    axes = axes[: sizes.size]
    return np.asarray(axes[sizes > 1e-12 * sizes.max()])


class Ends:
    """Prices every end of every symbol's window: ``2^m`` columns a window, one of a ray.

    Columns that join the game are moved inwards, those priced are not: the bound is for the
    budgets themselves, and no column of the channel exceeds them.
    """

    searched = True
    staged = False

    def __init__(self, problem: ChannelProblem, windows: Windows) -> None:
        self.problem = problem
        low = windows.low
        m = low.shape[1]
        if (low == windows.high).all():
            # Each window is a ray.
            self.logs = [low]
            is_first = np.ones(len(low), dtype=bool)
        else:
            subsets = np.arange(2**m)
            digits = subsets[:, None] >> np.arange(m)
            is_high = (digits & 1) > 0  # (subsets, symbols)
            self.logs = []
            for low_logs, high_logs in zip(low, windows.high, strict=True):
                self.logs.append(np.where(is_high, high_logs, low_logs))
            # All if they are few, else those whose high symbols are neighbours, or all others.
            differs_from_next = is_high != np.roll(is_high, 1, axis=1)
            changes = differs_from_next.sum(axis=1)
            is_first = (changes <= 2) | (m <= _FEW_ANSWERS)
        self.first = np.flatnonzero(is_first)
        self.every = [problem.columns(logs) for logs in self.logs]

    def start(self) -> GameColumns:
        """Rays, or runs of neighbours."""
        return self._moved_inwards([self.first] * len(self.logs))

    def prove(
        self, multipliers: Multipliers, _: GameColumns | float = 0.0
    ) -> tuple[GameColumns, float]:
        """Exact, up to rounding that is charged."""
        game = self.problem.game
        ratios = []
        chosen = []
        for columns in self.every:
            exceeding, ratio = worst(game, multipliers, columns)
            ratios.append(ratio)
            chosen.append(exceeding.key[:, 0])
        news, _ = worst(game, multipliers, self._moved_inwards(chosen))
        return news, max(ratios)

    price = prove

    def _moved_inwards(self, chosen: Sequence[Whole]) -> GameColumns:
        """The columns of each window with these numbers, a little inside the budgets."""
        logs = []
        for of_window, numbers in zip(self.logs, chosen, strict=True):
            logs.append(of_window[numbers])
        columns = self.problem.columns(INWARD * np.vstack(logs))
        return columns._replace(key=0 * columns.key)


def whole_columns(
    columns: Array, weights: Array, smallest_budget: float
) -> tuple[Array, Flags]:
    """``Pr[report | symbol]``, shape ``(m, outputs)``, rows summing to 1; which columns it has.

    The weighted columns sum to nearly 1. They are scaled down until what is missing is
    itself an allowed column; that is added to the most frequent output, and a sum
    of allowed columns is allowed.

    After the factor ``1 - delta`` there is ``delta + (1 - delta) missing(x)``, of which two symbols
    have at most the ratio ``1 + spread / delta``: ``delta`` is twice what keeps that below
    ``e^smallest_budget``.
    """
    share = weights * columns.max(axis=1)
    kept = share > _NEGLIGIBLE * share.max()
    joint = (columns[kept] * weights[kept, None]).T
    sums = joint.sum(axis=1)
    if not np.abs(sums - 1).max() < _MOST_MISSING:
        reason = "The outputs' probabilities do not sum to 1"
        raise ConvergenceError(reason, "Use fewer symbols.")
    joint /= sums.max()
    missing = 1 - joint.sum(axis=1)
    spread = float(np.ptp(missing)) + 1e-15
    enough = 2 * spread / np.expm1(smallest_budget)
    delta = min(1.0, enough + _BLANK)
    joint *= 1 - delta
    frequency = joint.sum(axis=0)
    most_frequent = int(frequency.argmax())
    joint[:, most_frequent] += 1 - joint.sum(axis=1)
    return joint, kept


def best_estimator(
    workload: Array, scenarios: Sequence[Scenario], weights: Array, matrix: Array
) -> Array:
    """The unbiased estimator of least weighted error for a channel, shape ``(p, outputs)``.

    ``weights`` ``sigma`` are those of the scenarios' errors. With ``v_o`` the channel's columns and
    ``H_o = sum_s sigma_s (pi_s . v_o) G_s`` it is ``T_o = H_o^-1 alpha' v_o``, where ``alpha``
    solves ``sum_o v_o v_o' (x) H_o^-1 alpha = W'`` (docs/theory/channels.md). Directions that no
    scenario looks at get the estimator of least variance: all have a small weight.
    """
    m = len(matrix)
    p = len(workload)
    populations = np.array([scenario.population for scenario in scenarios])
    squares = np.array([case.directions.T @ case.directions for case in scenarios])
    weighed = populations @ matrix * weights[:, None]  # sigma_s pi_s . v_o
    H = np.einsum("so,spq->opq", weighed, squares)
    total = weighed.sum(axis=0)
    trace = np.trace(H.sum(axis=0))
    floor = _SECONDARY * trace / p * total / total.sum()
    least_weight = floor[:, None, None] * np.eye(p)
    inverses = np.linalg.inv(H + least_weight)
    system = np.einsum("xo,zo,opq->xpzq", matrix, matrix, inverses)
    square_system = system.reshape(m * p, m * p)
    alpha, *_ = np.linalg.lstsq(square_system, workload.T.ravel())
    by_symbol = alpha.reshape(m, p)
    estimator = np.einsum("opq,xq,xo->po", inverses, by_symbol, matrix)
    return unbiased(estimator, workload, matrix)


def unbiased(estimator: Array, workload: Array, matrix: Array) -> Array:
    """The nearest one; ConvergenceError where there is none."""
    nearest = nearest_unbiased(estimator, workload, matrix, resolution=1e-12)
    bias = np.abs(nearest @ matrix.T - workload).max()
    size = max(1.0, np.abs(workload).max())
    if bias > 1e-10 * size:
        reason = "The best reports do not tell all the wanted numbers"
        remedy = "Add a scenario that needs them, or give it a cap."
        raise ConvergenceError(reason, remedy)
    return nearest


def _excess(channel: Channel) -> float:
    """The share by which the worst kept cap is exceeded, at most; negative if none is."""
    excess = -1.0
    for scenario in channel.scenarios:
        if scenario.cap:
            error = channel.error(scenario)
            excess = max(excess, error / scenario.cap - 1)
    return excess
