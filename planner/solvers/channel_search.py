"""From a linear question to its best channel, certified over all mechanisms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.errors import ConvergenceError, InfeasibleError, InputError
from planner.policy.policy import PrivacyPolicy
from planner.solvers.answers import Certificate, Channel, Scenario
from planner.solvers.game import ROUNDING, Columns, Game, Multipliers, lower_bound, worst
from planner.solvers.generation import Generated, generate
from planner.solvers.rays import Windows, rays_of, windows_of

Array = NDArray[np.float64]

MOST_ANSWERS = 16
"""Symbols whose columns are all priced: 65,536 a window, round after round."""

_INWARD = 1 - 2.0**-46  # of a budget: no rounding of a logarithm carries a pair past it
_FEW = 5  # symbols with which all columns are tried at once
_NEGLIGIBLE = 1e-9  # share of all reports below which an output is left out
_FEW_A_SYMBOL = 3  # outputs: a linear program to save some would cost more than it is worth
_MOST_MOMENTS = 600  # rows of that program, which takes longer than all else from there on
_MOST_MISSING = 1e-3
_BLANK = 2.0**-50  # of a report that says nothing: no rounding of a row's sum is larger
_SECONDARY = 1e-8  # weight of directions that no scenario looks at


def solve_channel(
    policy: PrivacyPolicy,
    wanted: ArrayLike,
    scenarios: Sequence[Scenario],
    wanted_names: Sequence[str] | None = None,
    *,
    tolerance: float = 1e-6,
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

    Raises
    ------
    InputError
        Shapes that do not fit, or more than 16 symbols.
    InfeasibleError, ConvergenceError
        The caps cannot be kept, or these budgets leave nothing to tell the symbols apart by.

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
    question = _Question.of(policy, table, scenarios)
    game = question.game
    oracle: Listed | Ends
    if policy.rule.windows(policy.epsilons) is None:
        oracle = Listed(game, question.columns(rays_of(policy)))
    else:
        oracle = Ends(question, windows_of(policy, np.arange(policy.size)))
    found = generate(game, oracle, tolerance)
    multipliers = found.answer.multipliers
    bound = float(found.bound) * question.unit
    certain = bound if bound > 0 else 0.0
    names = tuple(wanted_names or (f"number {j + 1}" for j in range(len(table))))
    over = _claim(scenarios)
    expected = 2 * tolerance
    if found.bound > 0:
        expected += lower_bound(game, multipliers, 1.0) / found.bound - 1
    off = np.abs(found.answer.weights @ found.columns.sums - 1).max() > _MOST_MISSING
    if off and not game.free.all():  # the price of a cap grew without end
        raise InfeasibleError("The caps cannot be kept", "Raise the caps, or the budgets.")
    made, meanings = [], question.meanings(found)
    for weights in (_fewest(game, found, meanings), found.answer.weights):
        # Fewer reports, unless rounding then costs too much.
        matrix, kept = whole_columns(found.columns.sums, weights, float(policy.bounds().min()))
        estimators = [best_estimator(table, scenarios, multipliers.scenarios, matrix)]
        if question.turn is not None:
            # Right where a cap does not bind, and its directions have no multiplier.
            estimators.append(unbiased(question.turn @ meanings[kept].T, table, matrix))
        for estimator in estimators:
            channel = Channel(policy, table, names, matrix, estimator, tuple(scenarios))
            least = min(certain, channel.worst_error)
            gap = channel.worst_error / least - 1 if least > 0 else np.inf
            made.append(replace(channel, certificate=Certificate(least, gap, over)))
            if gap <= expected and _excess(channel) <= 10 * tolerance:
                return made[-1]
    channel = min(made, key=lambda one: (_excess(one) > 10 * tolerance, one.worst_error))
    if _excess(channel) > 10 * tolerance:
        reason = f"The caps cannot be kept: one is exceeded by {_excess(channel):.1%}"
        raise InfeasibleError(reason, "Raise the caps, or the budgets.")
    return channel


def _claim(scenarios: Sequence[Scenario]) -> str:
    """Whom the bound is about: estimators that learn which population it is may go below it.

    With one population, or where everybody may have any answer, none does.
    """
    anybody = all(np.max(one.population) == 1 and not one.drawn for one in scenarios)
    alike = all(np.array_equal(one.directions, scenarios[0].directions) for one in scenarios)
    capped = any(one.cap is not None for one in scenarios)
    if capped or not (len(scenarios) == 1 or (anybody and alike)):
        return "linear mechanisms"
    return "mechanisms"


@dataclass(frozen=True, slots=True, eq=False)
class _Question:
    """A question as a game: errors in a ``unit`` that brings them near 1.

    ``turn``: from the game's numbers to those wanted, where there are as many and forms differ.
    """

    game: Game
    populations: Array
    unit: float
    turn: Array | None

    @classmethod
    def of(cls, policy: PrivacyPolicy, wanted: Array, scenarios: Sequence[Scenario]) -> _Question:
        """Directions that no scenario looks at are taken out of numbers that forms are about.

        Raises
        ------
        InputError
            No scenario without a cap, shapes that do not fit, or nothing wanted.
        """
        _check_scenarios(wanted, scenarios)
        directions = [scenario.directions for scenario in scenarios]
        squares = np.array([one.T @ one for one in directions])
        common = bool(np.abs(squares - squares[0]).max() <= 1e-12 * np.abs(squares[0]).max())
        _, sizes, seen = np.linalg.svd(np.vstack(directions[: 1 if common else None]))
        seen = seen[: sizes.size][sizes > 1e-12 * max(float(sizes.max()), 1e-300)]
        if not seen.size or not np.any(seen @ wanted):
            remedy = "Ask for numbers that differ."
            raise InputError.because("wanted", "wanted has the same numbers for every one", remedy)
        forms = seen @ squares @ seen.T
        inner = seen @ wanted
        populations = np.array([scenario.population for scenario in scenarios])
        known = np.array([scenario.known(wanted) + (scenario.cap or 0.0) for scenario in scenarios])
        size = np.einsum("px,kpq,qx,kx->k", inner, forms, inner, populations, optimize=True)
        unit = _hardness(policy) * float(size.max())
        if common:
            inner = np.linalg.cholesky(forms[0]).T @ inner
        free = np.array([float(scenario.cap is None) for scenario in scenarios])
        game = Game(
            (inner / np.sqrt(unit),),
            np.ones(policy.size),
            known / unit,
            free,
            None if common else forms,
        )
        square = not common and seen.shape[0] == seen.shape[1]
        return cls(game, populations, unit, seen.T * np.sqrt(unit) if square else None)

    def columns(self, logs: Array) -> Columns:
        """Columns of these log values, each of mean 1."""
        likelihoods = np.exp(logs - logs.max(axis=1, keepdims=True))
        likelihoods /= likelihoods.mean(axis=1, keepdims=True)
        nothing = np.zeros((len(logs), 0), dtype=np.int64)
        people = likelihoods @ self.populations.T
        return Columns((likelihoods,), people, likelihoods, nothing)

    def meanings(self, found: Generated) -> Array:
        """What each column adds to the game's numbers, shape ``(N, p)``."""
        (part,), at = found.columns.parts, found.answer.multipliers
        (alpha,), weighed = at.alpha, found.columns.people * at.scenarios
        if self.game.forms is None:
            return np.asarray(part @ alpha / weighed.sum(axis=1, keepdims=True))
        forms = np.einsum("os,spq->opq", weighed, self.game.forms)
        return np.asarray(np.linalg.solve(forms, (part @ alpha)[..., None])[..., 0])


def _check_scenarios(wanted: Array, scenarios: Sequence[Scenario]) -> None:
    p, m = wanted.shape
    if not any(scenario.cap is None for scenario in scenarios):
        reason = "every scenario has a cap, so there is no error to make small"
        remedy = "Leave the cap of one scenario out."
        raise InputError.because("scenarios", reason, remedy)
    for i, scenario in enumerate(scenarios):
        if scenario.population.shape != (m,) or scenario.directions.shape[1] != p:
            shapes = scenario.population.shape, scenario.directions.shape
            remedy = "Give one share a symbol, and one direction column a number wanted."
            raise InputError(f"scenarios[{i}]", shapes, f"of shapes ({m},) and (rows, {p})", remedy)


def _checked(policy: PrivacyPolicy, numbers: ArrayLike) -> Array:
    wanted = np.atleast_2d(np.array(numbers, dtype=np.float64))
    if (policy.item_counts != 1).any():
        remedy = "Give each symbol a level of its own; levels may share a budget."
        raise InputError("item_counts", policy.item_counts.tolist(), "1 for every level", remedy)
    if not 2 <= policy.size <= MOST_ANSWERS:
        allowed = f"from 2 to {MOST_ANSWERS}"
        raise InputError("symbols", policy.size, allowed, "Group neighbours.")
    if wanted.ndim != 2 or wanted.shape[1] != policy.size or not np.isfinite(wanted).all():
        allowed = f"finite numbers, {policy.size} columns"
        raise InputError("wanted", wanted.shape, allowed, "Give a column a symbol.")
    return wanted


def _hardness(policy: PrivacyPolicy) -> float:
    """About the error of a number of size 1: that of randomised response."""
    return float(1 + 1 / np.sinh(float(policy.bounds().min()) / 2) ** 2)


@dataclass(frozen=True, slots=True, eq=False)
class Listed:
    """Prices a complete list of columns."""

    game: Game
    columns: Columns

    def start(self) -> Columns:
        """All: a matrix of pair budgets is for few symbols."""
        return self.columns

    def prove(self, multipliers: Multipliers) -> tuple[Columns, float]:
        """Exact, up to rounding that is charged."""
        return worst(self.game, multipliers, self.columns)

    def price(self, multipliers: Multipliers, columns: Columns) -> tuple[Columns, float]:  # noqa: ARG002
        """The same."""
        return self.prove(multipliers)


class Ends:
    """Prices every end of every symbol's window: ``2^m`` columns a window.

    What is priced has the ends of windows outwards, what is found inwards: the bound is for the
    budgets themselves, and no column found exceeds them.
    """

    def __init__(self, question: _Question, windows: Windows) -> None:
        self.question, self.windows = question, windows
        self.highs = bits(windows.low.shape[1]) > 0
        self.every = [self._outwards(low, high) for low, high in zip(*windows, strict=True)]

    def start(self) -> Columns:
        """All if they are few, else those whose high symbols are neighbours, or all others."""
        m = self.windows.low.shape[1]
        chosen = self.highs if m <= _FEW else runs(m)
        return self._found([chosen] * len(self.windows.low))

    def prove(self, multipliers: Multipliers) -> tuple[Columns, float]:
        """Exact, up to rounding that is charged."""
        game, largest, chosen = self.question.game, 0.0, []
        for columns in self.every:
            found, here = worst(game, multipliers, columns)
            largest = max(largest, here)
            chosen.append(self.highs[found.about[:, 0]])
        return worst(game, multipliers, self._found(chosen))[0], largest

    def price(self, multipliers: Multipliers, columns: Columns) -> tuple[Columns, float]:  # noqa: ARG002
        """The same."""
        return self.prove(multipliers)

    def _outwards(self, low: Array, high: Array) -> Columns:
        columns = self.question.columns(np.where(self.highs, high + ROUNDING, low - ROUNDING))
        return columns._replace(about=np.arange(len(self.highs))[:, None])

    def _found(self, chosen: Sequence[NDArray[np.bool_]]) -> Columns:
        windows = zip(chosen, *self.windows, strict=True)
        logs = [np.where(highs, high, low) for highs, low, high in windows]
        return self.question.columns(_INWARD * np.vstack(logs))


@lru_cache(maxsize=8)
def bits(m: int) -> Array:
    """All subsets of ``m`` symbols as rows of zeros and ones, shape ``(2^m, m)``."""
    rows: Array = ((np.arange(2**m)[:, None] >> np.arange(m)) & 1).astype(np.float64)
    rows.setflags(write=False)
    return rows


def runs(m: int) -> NDArray[np.bool_]:
    """All runs of neighbours, and their complements, none and all among them."""
    place = np.arange(m)
    chosen = np.array([(place >= i) & (place < j) for j in range(m + 1) for i in range(j + 1)])
    return np.unique(np.vstack([chosen, ~chosen]), axis=0)


def whole_columns(
    columns: Array, weights: Array, smallest_budget: float
) -> tuple[Array, NDArray[np.bool_]]:
    """``Pr[report | symbol]``, shape ``(m, outputs)``, rows summing to 1; which columns it has.

    The weighted columns sum to nearly 1. They are scaled down until what is missing is
    itself an allowed column; that is added to the most frequent output, and a sum
    of allowed columns is allowed.

    Raises
    ------
    ConvergenceError
        The weighted columns are too far from 1.
    """
    share = weights * columns.max(axis=1)
    kept = share > _NEGLIGIBLE * share.max()
    joint = (columns[kept] * weights[kept, None]).T
    sums = joint.sum(axis=1)
    if not np.abs(sums - 1).max() < _MOST_MISSING:
        raise ConvergenceError("The outputs' probabilities do not sum to 1", "Use fewer symbols.")
    joint /= sums.max()
    missing = 1 - joint.sum(axis=1)
    # After the factor 1 - delta, delta + (1 - delta) missing must keep the smallest budget.
    spread = float(np.ptp(missing)) + 1e-15
    delta = min(1.0, 2 * spread / np.expm1(smallest_budget) + _BLANK)
    joint *= 1 - delta
    most = int(np.argmax(joint.sum(axis=0)))
    joint[:, most] += 1 - joint.sum(axis=1)
    return joint, kept


def _fewest(game: Game, found: Generated, meanings: Array) -> Array:
    """Weights with the same errors on as few of the columns as a vertex has, shape ``(N,)``.

    What each column means stays. Row sums, unbiasedness and every scenario's error are linear in
    the weights then: a basic solution of these rows has no more columns than rows.
    """
    from scipy.optimize import linprog

    columns, (part,) = found.columns, found.columns.parts
    weights = found.answer.weights
    kept = weights * part.max(axis=1) > _NEGLIGIBLE
    if game.wanted[0].size > _MOST_MOMENTS or kept.sum() <= _FEW_A_SYMBOL * part.shape[1]:
        return weights
    part, people, share, means = part[kept], columns.people[kept], weights[kept], meanings[kept]
    squares = people * np.square(means).sum(axis=1, keepdims=True)
    if game.forms is not None:
        squares = people * np.einsum("op,spq,oq->os", means, game.forms, means)
    moments = np.einsum("op,om->opm", means, part).reshape(len(part), -1)
    rows = np.vstack([part.T, moments.T, squares.T])
    rows /= np.abs(rows).max(axis=1, keepdims=True) + 1e-300
    vertex = linprog(-share, A_eq=rows, b_eq=rows @ share, method="highs-ds")
    few = np.zeros_like(weights)
    few[kept] = vertex.x if vertex.status == 0 else share
    return few


def best_estimator(
    wanted: Array, scenarios: Sequence[Scenario], weights: Array, matrix: Array
) -> Array:
    """The unbiased estimator of least weighted error for a channel, shape ``(p, outputs)``.

    Parameters
    ----------
    wanted:
        The numbers wanted, shape ``(p, m)``; directions that no scenario looks at get the
        estimator of least variance.
    scenarios, weights:
        The scenarios, and the weight of each one's error.
    matrix:
        ``Pr[report | symbol]``, shape ``(m, outputs)``.

    Raises
    ------
    ConvergenceError
        These reports cannot tell what is wanted.
    """
    populations = np.array([scenario.population for scenario in scenarios])
    expected = populations @ matrix * weights[:, None]  # (k, outputs)
    squares = np.array([one.directions.T @ one.directions for one in scenarios])
    total = expected.sum(axis=0)
    p, m = len(wanted), len(matrix)
    if np.abs(squares - squares[0]).max() == 0 and np.linalg.matrix_rank(squares[0]) == p:
        inner = (matrix / total) @ matrix.T
        inverse = np.linalg.pinv(inner, rcond=1e-13, hermitian=True)
        return unbiased(wanted @ inverse @ matrix / total, wanted, matrix)
    forms = np.einsum("ko,kpq->opq", expected, squares)
    floor = _SECONDARY * np.trace(forms.sum(axis=0)) / p * total / total.sum()
    inverses = np.linalg.inv(forms + floor[:, None, None] * np.eye(p))
    system = np.einsum("xo,zo,opq->xpzq", matrix, matrix, inverses).reshape(m * p, m * p)
    alpha = np.linalg.lstsq(system, wanted.T.ravel(), rcond=1e-14)[0].reshape(m, p)
    estimator = np.einsum("opq,xq,xo->po", inverses, alpha, matrix)
    return unbiased(estimator, wanted, matrix)


def unbiased(estimator: Array, wanted: Array, matrix: Array) -> Array:
    """The nearest estimator whose expectations are right, to the last digits.

    Raises
    ------
    ConvergenceError
        These reports cannot tell what is wanted.
    """
    inverse = np.linalg.pinv(matrix, rcond=1e-12)
    for _ in range(2):
        estimator = estimator + (wanted - estimator @ matrix.T) @ inverse.T
    if np.abs(estimator @ matrix.T - wanted).max() > 1e-10 * max(1.0, np.abs(wanted).max()):
        remedy = "Add a scenario that needs them, or give it a cap."
        raise ConvergenceError("The best reports do not tell all the wanted numbers", remedy)
    return estimator


def _excess(channel: Channel) -> float:
    """By which share the worst kept cap is exceeded, at most; negative if none is."""
    pairs = zip(channel.scenarios, channel.errors, strict=True)
    return max((float(error) / one.cap - 1 for one, error in pairs if one.cap), default=-1.0)
