"""From a linear question to its best channel, certified over all mechanisms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.arrays import Array
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
    if not 2 <= policy.size <= MOST_ANSWERS:
        allowed = f"from 2 to {MOST_ANSWERS}"
        raise InputError("symbols", policy.size, allowed, "Group neighbours.")
    if len(components_of(policy)) > 1:
        remedy = "Give some pair between the unconnected symbols a finite budget."
        raise InputError(
            "rule", "inf between groups", "finite along some chain", remedy
        )
    table = np.atleast_2d(np.array(workload, dtype=np.float64))
    question = ChannelProblem(policy, table, scenarios)
    oracle = Ends(question, windows_of(policy, np.arange(policy.size)))
    game = (
        None if asked is None else question.seen_in(table, scenarios, np.asarray(asked))
    )
    generated = generate(question.game, oracle, tolerance, game)
    answer = generated.answer
    off = np.abs(answer.weights @ generated.columns.sums - 1).max() > _MOST_MISSING
    if off and not question.game.free.all():  # the price of a cap grew without end
        raise InfeasibleError(
            "The caps cannot be kept", "Raise the caps, or the budgets."
        )
    column_estimates = question.column_estimates(generated)
    live, weights = fewest(
        question.moments(generated.columns, column_estimates).T, answer.weights
    )
    sums = generated.columns.sums[live]
    matrix, kept = whole_columns(sums, weights, float(policy.bounds().min()))
    estimators = [
        best_estimator(table, scenarios, answer.multipliers.scenarios, matrix)
    ]
    if question.turn is not None:
        # Right where a cap does not bind, and its directions have no multiplier.
        estimators.append(
            unbiased(question.turn @ column_estimates[live][kept].T, table, matrix)
        )
    names = tuple(wanted_names or (f"number {j + 1}" for j in range(len(table))))
    channels = [
        Channel(policy, table, names, matrix, estimator, tuple(scenarios))
        for estimator in estimators
    ]
    channel = min(
        channels,
        key=lambda estimator: (
            _excess(estimator) > 10 * tolerance,
            estimator.worst_error,
        ),
    )
    if _excess(channel) > 10 * tolerance:
        reason = f"The caps cannot be kept: one is exceeded by {100 * _excess(channel):.1f} %"
        raise InfeasibleError(reason, "Raise the caps, or the budgets.")
    solved, bound = (
        float(estimator) * question.unit
        for estimator in (generated.solved, generated.bound)
    )
    certificate = Certificate.of(channel.worst_error, bound, claim(scenarios), solved)
    return replace(channel, certificate=certificate)


def claim(scenarios: Sequence[Scenario]) -> str:
    """Whom the bound is about: estimators that learn which population it is may go below it.

    With one population, or where everybody may have any answer, none does.
    """
    anybody = all(
        np.max(scenario.population) == 1 and not scenario.drawn
        for scenario in scenarios
    )
    alike = all(
        np.array_equal(scenario.directions, scenarios[0].directions)
        for scenario in scenarios
    )
    capped = any(scenario.cap is not None for scenario in scenarios)
    if capped or not (len(scenarios) == 1 or (anybody and alike)):
        return "linear mechanisms"
    return "mechanisms"


class ChannelProblem:
    """A question as a game: errors in a ``unit`` that brings them near 1.

    Directions that no scenario looks at are taken out of numbers that forms are about. ``turn``:
    from the game's numbers to those wanted, where there are as many and forms differ.
    """

    def __init__(
        self, policy: PrivacyPolicy, workload: Array, scenarios: Sequence[Scenario]
    ) -> None:
        directions = [scenario.directions for scenario in scenarios]
        squares = np.array([rows.T @ rows for rows in directions])
        common = bool(
            np.abs(squares - squares[0]).max() <= 1e-12 * np.abs(squares[0]).max()
        )
        _, sizes, seen = np.linalg.svd(np.vstack(directions[: 1 if common else None]))
        seen = seen[: sizes.size][sizes > 1e-12 * sizes.max()]
        forms = seen @ squares @ seen.T
        inner = seen @ workload
        self.populations = np.array([scenario.population for scenario in scenarios])
        offsets = np.array(
            [scenario.known(workload) + (scenario.cap or 0.0) for scenario in scenarios]
        )
        size = np.einsum("px,kpq,qx,kx->k", inner, forms, inner, self.populations)
        # About the error of a number of size 1: that of randomised response.
        hardness = float(1 + 1 / np.sinh(float(policy.bounds().min()) / 2) ** 2)
        self.unit = hardness * float(size.max())
        if common:
            inner = directions[0] @ workload
        free = np.array([float(scenario.cap is None) for scenario in scenarios])
        part = (inner / np.sqrt(self.unit),)
        self.game = Game(part, offsets / self.unit, free, None if common else forms)
        square = not common and seen.shape[0] == seen.shape[1]
        self.turn = seen.T * np.sqrt(self.unit) if square else None

    def seen_in(
        self, workload: Array, scenarios: Sequence[Scenario], directions: Array
    ) -> Game:
        """The game, the directions of all scenarios being others."""
        offsets = [
            replace(scenario, directions=directions).known(workload)
            for scenario in scenarios
        ]
        part = directions @ workload / np.sqrt(self.unit)
        return self.game._replace(
            workload=(part,), offsets=np.array(offsets) / self.unit
        )

    def columns(self, logs: Array) -> GameColumns:
        """Columns of these log values, each of mean 1, known by their place."""
        likelihoods = np.exp(logs - logs.max(axis=1, keepdims=True))
        likelihoods /= likelihoods.mean(axis=1, keepdims=True)
        people = likelihoods @ self.populations.T
        return GameColumns(
            (likelihoods,), people, likelihoods, np.arange(len(logs))[:, None]
        )

    def column_estimates(self, generated: Generated) -> Array:
        """What a report of each column adds to the game's estimates, shape ``(N, p)``.

        ``T_o = H_o^-1 alpha' u_o`` with ``H_o = sum_s sigma_s P_os G_s``, or ``alpha' u_o / w_o``
        without forms. They are held fixed while columns are dropped: sums, expectations and errors
        are then linear in the columns' weights, and a few columns give the same.
        """
        (part,) = generated.columns.parts
        multipliers = generated.answer.multipliers
        (alpha,) = multipliers.alpha
        weighed = generated.columns.people * multipliers.scenarios
        if self.game.forms is None:
            return np.asarray(part @ alpha / weighed.sum(axis=1, keepdims=True))
        forms = np.einsum("os,spq->opq", weighed, self.game.forms)
        return np.asarray(np.linalg.solve(forms, (part @ alpha)[..., None])[..., 0])

    def moments(self, columns: GameColumns, column_estimates: Array) -> Array:
        """Linear in the columns' weights while their estimates stay: sums, numbers, errors."""
        (part,) = columns.parts
        people = columns.people
        squares = people * np.square(column_estimates).sum(axis=1, keepdims=True)
        if self.game.forms is not None:
            squares = people * np.einsum(
                "op,spq,oq->os", column_estimates, self.game.forms, column_estimates
            )
        expectations = np.einsum("op,om->opm", column_estimates, part).reshape(
            len(part), -1
        )
        return np.hstack([part, expectations, squares])


class Ends:
    """Prices every end of every symbol's window: ``2^m`` columns a window, one of a ray.

    What is found is moved inwards, what is priced is not: the bound is for the budgets themselves,
    and no column found exceeds them.
    """

    def __init__(self, question: ChannelProblem, windows: Windows) -> None:
        self.question = question
        (low, high) = windows
        m = low.shape[1]
        highs = (
            np.arange(2**m)[:, None] >> np.arange(m) & 1
        ) > 0  # every subset of the symbols
        self.logs, first = [low], np.ones(len(low), dtype=bool)
        if (low < high).any():
            self.logs = [
                np.where(highs, up, down) for down, up in zip(low, high, strict=True)
            ]
            # All if they are few, else those whose high symbols are neighbours, or all others.
            changes = (highs != np.roll(highs, 1, axis=1)).sum(axis=1)
            first = (changes <= 2) | (m <= _FEW_ANSWERS)
        self.first = np.flatnonzero(first)
        self.every = [question.columns(logs) for logs in self.logs]

    searched = True
    staged = False

    def start(self) -> GameColumns:
        """Rays, or runs of neighbours."""
        return self._found([self.first] * len(self.logs))

    def prove(
        self, multipliers: Multipliers, _: GameColumns | float = 0.0
    ) -> tuple[GameColumns, float]:
        """Exact, up to rounding that is charged."""
        game = self.question.game
        seen = [worst(game, multipliers, columns) for columns in self.every]
        chosen = [exceeding.key[:, 0] for exceeding, _ in seen]
        return worst(game, multipliers, self._found(chosen))[0], max(
            ratio for _, ratio in seen
        )

    price = prove

    def _found(self, chosen: Sequence[NDArray[np.int64]]) -> GameColumns:
        logs = [ends[which] for ends, which in zip(self.logs, chosen, strict=True)]
        columns = self.question.columns(INWARD * np.vstack(logs))
        return columns._replace(key=0 * columns.key)


def whole_columns(
    columns: Array, weights: Array, smallest_budget: float
) -> tuple[Array, NDArray[np.bool_]]:
    """``Pr[report | symbol]``, shape ``(m, outputs)``, rows summing to 1; which columns it has.

    The weighted columns sum to nearly 1. They are scaled down until what is missing is
    itself an allowed column; that is added to the most frequent output, and a sum
    of allowed columns is allowed.
    """
    share = weights * columns.max(axis=1)
    kept = share > _NEGLIGIBLE * share.max()
    joint = (columns[kept] * weights[kept, None]).T
    sums = joint.sum(axis=1)
    if not np.abs(sums - 1).max() < _MOST_MISSING:
        raise ConvergenceError(
            "The outputs' probabilities do not sum to 1", "Use fewer symbols."
        )
    joint /= sums.max()
    missing = 1 - joint.sum(axis=1)
    # After the factor 1 - delta, delta + (1 - delta) missing must keep the smallest budget.
    spread = float(np.ptp(missing)) + 1e-15
    delta = min(1.0, 2 * spread / np.expm1(smallest_budget) + _BLANK)
    joint *= 1 - delta
    most = int(np.argmax(joint.sum(axis=0)))
    joint[:, most] += 1 - joint.sum(axis=1)
    return joint, kept


def best_estimator(
    workload: Array, scenarios: Sequence[Scenario], weights: Array, matrix: Array
) -> Array:
    """The unbiased estimator of least weighted error for a channel, shape ``(p, outputs)``.

    ``weights`` are those of the scenarios' errors; directions that no scenario looks at get the
    estimator of least variance.
    """
    populations = np.array([scenario.population for scenario in scenarios])
    expected = populations @ matrix * weights[:, None]  # (k, outputs)
    squares = np.array([case.directions.T @ case.directions for case in scenarios])
    total = expected.sum(axis=0)
    (p, m) = (len(workload), len(matrix))
    forms = np.einsum("ko,kpq->opq", expected, squares)
    floor = _SECONDARY * np.trace(forms.sum(axis=0)) / p * total / total.sum()
    inverses = np.linalg.inv(forms + floor[:, None, None] * np.eye(p))
    system = np.einsum("xo,zo,opq->xpzq", matrix, matrix, inverses).reshape(
        m * p, m * p
    )
    alpha = np.linalg.lstsq(system, workload.T.ravel())[0].reshape(m, p)
    estimator = np.einsum("opq,xq,xo->po", inverses, alpha, matrix)
    return unbiased(estimator, workload, matrix)


def unbiased(estimator: Array, workload: Array, matrix: Array) -> Array:
    """The nearest one; ConvergenceError where there is none."""
    estimator = nearest_unbiased(estimator, workload, matrix, resolution=1e-12)
    if np.abs(estimator @ matrix.T - workload).max() > 1e-10 * max(
        1.0, np.abs(workload).max()
    ):
        remedy = "Add a scenario that needs them, or give it a cap."
        raise ConvergenceError(
            "The best reports do not tell all the wanted numbers", remedy
        )
    return estimator


def _excess(channel: Channel) -> float:
    """The share by which the worst kept cap is exceeded, at most; negative if none is."""
    capped = [scenario for scenario in channel.scenarios if scenario.cap]
    return max(
        (channel.error(scenario) / (scenario.cap or 1) - 1 for scenario in capped),
        default=-1.0,
    )
