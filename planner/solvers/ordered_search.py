"""Channels of many ordered answers, from sets of answers with few changes along the order.

A column is a report: every answer has one of the two likelihoods that its window allows, and the
answers on the high side are the report's *set*. All ``2^d`` sets of ``d`` answers are too many
beyond sixteen. Good ones have few changes along the order, so sets are looked for near those at
hand: the best set that differs by one run of neighbouring answers is found among all ``d^2 / 2``
of them by sums along the order. Of up to sixteen answers this ends within 2 % of the proven
optimum; beyond, the error stands beside the bound of ``ordered_bound.py``
(docs/theory/channels.md).

Symbols as on that page: ``u_o`` a column, ``theta_o`` its weight, ``sigma`` the shares of the
least favourable people, ``J = sum_o theta_o u_o u_o' / w_o`` with ``w_o = sigma . u_o``, and
``lambda`` the multipliers of the sums ``sum_o theta_o u_o = 1``.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from planner.arrays import Array, Flags, Whole, distinct_rows
from planner.errors import InputError
from planner.patience import still_wanted
from planner.policy.policy import PrivacyPolicy
from planner.solvers.answers import Certificate, Channel, Scenario, nearest_unbiased
from planner.solvers.channel_search import INWARD, whole_columns
from planner.solvers.ordered_bound import evenly_among, least_error
from planner.solvers.rays import Windows, windows_of
from planner.solvers.threads import one_thread

MOST_ORDERED = 257
"""Answers of which a channel is searched: 256, and one outside the order."""

_FIRST_ANSWERS = 8  # of the coarsest grid, where nearly all sets are looked at


class _Effort(NamedTuple):
    """How long a grid is searched: rounds, steps of the weights in one, and in the last ones.

    And how many columns an answer are kept from round to round, and how many are sent in the end.
    """

    rounds: int
    steps: int
    last_steps: int
    kept_columns: int
    sent_columns: int


# The finest grid cannot be searched as long as others in the same time, and with as many columns
# as others an answer its file would be too large.
_USUAL_EFFORT = _Effort(
    rounds=10, steps=60, last_steps=200, kept_columns=6, sent_columns=12
)
_FINE_EFFORT = _Effort(
    rounds=5, steps=12, last_steps=40, kept_columns=8, sent_columns=8
)
_FINEST_EFFORT = _Effort(
    rounds=5, steps=12, last_steps=30, kept_columns=4, sent_columns=4
)
_USUAL_ANSWERS = 64
_FINE_ANSWERS = 192
_COLUMNS_REFINED = 3  # an answer, that a finer grid begins with
_FARTHER = 0.5  # how much farther than to the next best weights a step goes
_LONGEST_STEP = 4.0  # times the next best weight
_SHORTEST_STEP = 1e-3
_TOWARDS_WORST = 0.2  # power of the errors by which people move to the worse answers
_LIGHTEST = 1e-6  # of the largest share of all reports: lighter columns are dropped
_NEWCOMER = 0.3  # of the median weight: what a new column begins with
_EXCEEDS = 1e-3  # relative excess of its charge from which a column is worth adding
_LEAST_INFORMATION = 1e-14  # of the sum of all directions'
_LEAST_CURVATURE = 1e-12
_BALANCE_STEPS = 50
_BALANCED = 1e-6  # distance of the columns' sums from 1
_SMALLEST_STEP = 1e-8
_VALUE_ROUNDING = 1e-13  # of a value that no step may lower


class _Columns(NamedTuple):
    """Sets of answers: ``window`` ``(n,)``, ``high`` ``(n, d)``, likelihoods of mean 1."""

    window: Whole
    high: Flags
    likelihoods: Array

    def take(self, which: Whole | Flags) -> _Columns:
        """The columns at these places."""
        return _Columns(
            window=self.window[which],
            high=self.high[which],
            likelihoods=self.likelihoods[which],
        )

    def joined(self, others: _Columns) -> _Columns:
        """These, and after them the others."""
        return _Columns(
            window=np.append(self.window, others.window),
            high=np.vstack([self.high, others.high]),
            likelihoods=np.vstack([self.likelihoods, others.likelihoods]),
        )


class _Weights(NamedTuple):
    """A point of the search: weights, multipliers, people, and what follows from them.

    ``alpha`` is ``J^-1 W'``, shape ``(d, p)``; ``charges`` ``|alpha' u_o|^2 / w_o``, ``(n,)``;
    ``errors`` of each answer, per person, ``(d,)``.
    """

    theta: Array
    multipliers: Array
    people: Array
    alpha: Array
    charges: Array
    errors: Array

    @property
    def costs(self) -> Array:
        """``c_o = theta_o^2 q_o``, with the charges ``q_o``, ``(n,)``."""
        return np.square(self.theta) * self.charges


@one_thread
def solve_many_answers(
    policy: PrivacyPolicy,
    workload: Array,
    names: tuple[str, ...],
    directions: Array,
) -> Channel:
    """A channel of small worst-case error for up to 257 answers in order, and a bound beside it.

    Parameters
    ----------
    policy:
        One level of one item an answer, in their order; pair budgets by a rule on levels.
    workload, names:
        What each answer adds to each wanted number, ``(p, d)``, and the numbers' names.
    directions:
        Which combinations of these numbers the error adds up, ``(rows, p)``.

    Raises
    ------
    InputError
        More than 257 answers, or pair budgets from a matrix.
    ConvergenceError
        The sets found do not tell the answers apart at these budgets.

    Examples
    --------
    Sixteen answers, of which the best channel of all has 14.0854 (docs/theory/channels.md).

    >>> policy = PrivacyPolicy([2.0] * 16, [1] * 16)
    >>> up_to = np.tri(16)[:-1]
    >>> names = tuple(policy.names[:-1])
    >>> channel = solve_many_answers(policy, up_to, names, np.eye(15))
    >>> 14.08 < channel.worst_error < 14.3, channel.certificate.relative_gap < 0.02
    (True, True)
    """
    size = policy.size
    if not 2 <= size <= MOST_ORDERED:
        allowed = f"from 2 to {MOST_ORDERED}"
        raise InputError("answers", size, allowed, "Merge neighbouring answers.")
    if not policy.rule.by_level:
        remedy = "Give levels budgets, or merge answers until there are 16."
        allowed = f"budgets of levels where there are {size} answers"
        raise InputError("rule", "a matrix of pair budgets", allowed, remedy)
    judged = directions @ workload
    search = _Search(policy, judged)
    columns, weights = search.best()
    smallest_budget = float(policy.bounds().min())
    matrix, _ = whole_columns(columns.likelihoods, weights.theta, smallest_budget)
    # T_o = W J^-1 v_o / w_o is the unbiased estimator of least error for these people.
    w = weights.people @ matrix
    J = (matrix / w) @ matrix.T
    inverse = np.linalg.pinv(J, hermitian=True)
    estimator = workload @ inverse @ matrix / w
    estimator = nearest_unbiased(estimator, workload, matrix, resolution=1e-12)
    shared_directions = np.array(directions)  # one for all scenarios
    shared_directions.setflags(write=False)
    scenarios = []
    for everybody_has_it in np.eye(size):
        scenarios.append(Scenario(everybody_has_it, shared_directions))
    channel = Channel(
        policy,
        wanted=workload,
        wanted_names=names,
        matrix=matrix,
        estimator=estimator,
        scenarios=tuple(scenarios),
    )
    bound = least_error(policy, judged, channel.worst_error)
    if bound == 0:  # it says nothing
        return channel
    proof = Certificate.of(channel.worst_error, bound, "mechanisms")
    return replace(channel, certificate=proof)


class _Search:
    """The search from a coarse grid of answers to all, each grid beginning with the coarser one."""

    def __init__(self, policy: PrivacyPolicy, judged: Array) -> None:
        self.windows = windows_of(policy, np.arange(policy.size))
        self.judged = judged  # W in the directions of the error, (p, d)

    def best(self) -> tuple[_Columns, _Weights]:
        """Columns, and their weights at the end, of the grid of all answers."""
        size = self.judged.shape[1]
        counts = [size]
        while counts[-1] > 2 * _FIRST_ANSWERS:
            counts.append((counts[-1] + 1) // 2)
        grids = [evenly_among(size, count) for count in reversed(counts)]
        coarsest = grids[0]
        sets = _runs(len(coarsest))
        window_count = len(self.windows.low)
        window = np.repeat(np.arange(window_count), len(sets))
        high = np.tile(sets, (window_count, 1))
        even_share = 1 / len(coarsest)
        people = np.full(len(coarsest), even_share)
        columns, weights = self._on_grid(coarsest, window, high, people)
        for coarse, fine in pairwise(grids):
            # Each fine answer belongs to the coarse one whose first answer is the last before it.
            parent = np.searchsorted(coarse, fine, side="right") - 1
            heaviest_first = np.argsort(-_shares(columns, weights))
            refined = heaviest_first[: _COLUMNS_REFINED * len(coarse)]
            window, high = _refined(columns.take(refined), parent)
            # The people of a coarse answer are spread evenly over its fine ones.
            children = np.bincount(parent)
            people = weights.people[parent] / children[parent]
            columns, weights = self._on_grid(fine, window, high, people)
        return columns, weights

    def _on_grid(
        self, answers: Whole, window: Whole, high: Flags, people: Array
    ) -> tuple[_Columns, _Weights]:
        """The search on one grid, whose answers are given by their first answer of all.

        A coarse grid stands for people who have these answers alone; what is wanted of its answers
        is what all those up to the next add up, in squared error.
        """
        size = len(answers)
        windows = Windows(
            low=self.windows.low[:, answers], high=self.windows.high[:, answers]
        )
        judged = self.judged[:, answers]
        effort = _effort_for(size)
        window, high = _with_complements(window, high)
        columns = _columns(windows, window, high)
        count = len(columns.window)
        costs = np.full(count, count**-2.0)  # all alike to begin with
        theta, multipliers = _balanced(columns.likelihoods, costs, np.ones(size))
        for _ in range(effort.rounds - 1):
            still_wanted()
            weights = _weighted(
                columns, judged, theta, multipliers, people, effort.steps
            )
            people = weights.people
            is_kept = _heaviest(columns, weights, effort.kept_columns * size)
            columns = columns.take(is_kept)
            fresh = _not_among(_best_flips(windows, columns, weights), columns)
            kept_costs = weights.costs[is_kept]
            newcomer_theta = _NEWCOMER * np.median(weights.theta[is_kept])
            newcomer_cost = newcomer_theta**2 * weights.charges[is_kept].mean()
            fresh_costs = np.full(len(fresh.window), newcomer_cost)
            columns = columns.joined(fresh)
            theta, multipliers = _balanced(
                columns.likelihoods,
                np.append(kept_costs, fresh_costs),
                weights.multipliers,
            )
        # The last round adds no columns, and the lightest reports are not sent.
        still_wanted()
        steps = effort.last_steps
        weights = _weighted(columns, judged, theta, multipliers, people, steps)
        sent = effort.sent_columns * size
        if len(columns.window) <= sent:
            return columns, weights
        is_sent = _heaviest(columns, weights, sent)
        columns = columns.take(is_sent)
        theta, multipliers = _balanced(
            columns.likelihoods, weights.costs[is_sent], weights.multipliers
        )
        people = weights.people
        return columns, _weighted(columns, judged, theta, multipliers, people, steps)


def _effort_for(size: int) -> _Effort:
    """How long a grid of so many answers is searched."""
    if size > _FINE_ANSWERS:
        return _FINEST_EFFORT
    if size > _USUAL_ANSWERS:
        return _FINE_EFFORT
    return _USUAL_EFFORT


# -- the columns' weights ----------------------------------------------------------------


def _shares(columns: _Columns, weights: _Weights) -> Array:
    """Of each column the largest share of an answer's reports that it has."""
    return weights.theta * columns.likelihoods.max(axis=1)


def _heaviest(columns: _Columns, weights: _Weights, most: int) -> Flags:
    """Which columns are the so many with the largest shares; those of next to none are not."""
    shares = _shares(columns, weights)
    is_heavy = np.zeros(len(shares), dtype=bool)
    is_heavy[np.argsort(-shares)[:most]] = True
    is_heavy &= shares > _LIGHTEST * shares.max()
    return is_heavy


def _weighted(
    columns: _Columns,
    judged: Array,
    theta: Array,
    multipliers: Array,
    people: Array,
    steps: int,
) -> _Weights:
    """Better weights of these columns, and people to whom the errors are less favourable.

    For fixed estimators ``T_o = alpha' u_o / w_o`` the error is ``sum_o c_o / theta_o`` with
    ``c_o = theta_o^2 q_o`` and the charge ``q_o = |alpha' u_o|^2 / w_o``; for fixed weights these
    estimators are the best. Minimising by turns lowers the error at every step, as in the
    multiplicative algorithm for A-optimal designs (Silvey, Titterington and Torsney 1978); a step
    somewhat beyond is faster. People move to the answers with larger errors meanwhile.
    """
    weights = _at(columns, judged, theta, multipliers, people)
    for _ in range(steps):
        covered = columns.likelihoods @ weights.multipliers
        beyond = np.clip(weights.charges / covered, _SHORTEST_STEP, _LONGEST_STEP)
        costs = weights.costs * beyond**_FARTHER
        theta, multipliers = _balanced(columns.likelihoods, costs, weights.multipliers)
        mean_error = weights.errors @ weights.people
        relative_errors = np.clip(weights.errors / mean_error, 0.5, 2.0)
        people = weights.people * relative_errors**_TOWARDS_WORST
        people /= people.sum()
        weights = _at(columns, judged, theta, multipliers, people)
    return weights


def _at(
    columns: _Columns, judged: Array, theta: Array, multipliers: Array, people: Array
) -> _Weights:
    """What follows from these weights and people: estimators, charges, errors.

    With ``J = sum_o theta_o u_o u_o' / w_o`` they are ``alpha = J^-1 W'``, and the errors
    ``sum_o theta_o u_o |T_o|^2`` less ``|w_x|^2``, which is known.
    """
    u = columns.likelihoods
    w = u @ people
    by_people = theta / w
    J = (u * by_people[:, None]).T @ u
    # A direction that hardly any column tells apart must not stop the search.
    J.flat[:: len(J) + 1] += _LEAST_INFORMATION * np.trace(J)
    alpha = np.asarray(np.linalg.solve(J, judged.T), dtype=np.float64)
    squares = np.square(u @ alpha).sum(axis=1)  # |alpha' u_o|^2
    charges = squares / w
    truth = np.square(judged).sum(axis=0)
    errors = u.T @ (theta * charges / w) - truth
    return _Weights(
        theta,
        multipliers,
        people,
        alpha=alpha,
        charges=charges,
        errors=errors,
    )


def _balanced(
    likelihoods: Array, costs: Array, multipliers: Array
) -> tuple[Array, Array]:
    """Weights of least ``sum_o c_o / theta_o`` whose columns sum to 1, and the multipliers.

    ``theta_o = sqrt(c_o / (lambda . u_o))`` where ``lambda`` maximises the concave function
    ``2 sum_o sqrt(c_o lambda . u_o) - sum lambda``: Newton's steps, halved while they go too far.
    """
    covered = likelihoods @ multipliers  # lambda . u_o
    if covered.min() <= 0:
        multipliers = np.ones(len(multipliers))
        covered = likelihoods.sum(axis=1)

    reach = 2 * np.sqrt(costs * covered).sum()
    value = reach - multipliers.sum()
    for _ in range(_BALANCE_STEPS):
        theta = np.sqrt(costs / covered)
        gradient = likelihoods.T @ theta - 1
        if np.abs(gradient).max() < _BALANCED:
            break
        bends = theta / covered / 2
        curvature = (likelihoods * bends[:, None]).T @ likelihoods  # minus the Hessian
        curvature.flat[:: len(gradient) + 1] += _LEAST_CURVATURE * np.trace(curvature)
        direction = np.linalg.solve(curvature, gradient)
        change = likelihoods @ direction
        lowest = value - _VALUE_ROUNDING * abs(value)
        step = 1.0
        while step > _SMALLEST_STEP:
            new_covered = covered + step * change
            if new_covered.min() > 0:
                new_multipliers = multipliers + step * direction
                reach = 2 * np.sqrt(costs * new_covered).sum()
                new_value = reach - new_multipliers.sum()
                if new_value >= lowest:
                    break
            step /= 2
        else:
            break  # digits are used up
        multipliers = new_multipliers
        covered = new_covered
        value = new_value
    return np.sqrt(costs / covered), multipliers


# -- sets of answers ---------------------------------------------------------------------


def _best_flips(windows: Windows, columns: _Columns, weights: _Weights) -> _Columns:
    """The set of largest charge over cover that differs from each column by one run of answers.

    Let ``delta`` be what each answer's likelihood changes by when its side does, and a run the
    answers from ``i`` up to, not including, ``j``. With ``G = alpha alpha'`` and sums ``S`` of
    ``delta_x G_xy delta_y`` over ``x < i, y < j``, ``|alpha' u|^2`` changes by
    ``2 sum_run delta_x (G u)_x + S_jj + S_ii - 2 S_ij``: all runs of a column cost ``O(d^2)``.
    The charge over the cover is this square over ``(sigma . u) (lambda . u)``, whose factors change
    by sums of ``delta_x sigma_x`` and ``delta_x lambda_x`` over the run.
    """
    G = weights.alpha @ weights.alpha.T
    size = len(G)
    u = columns.likelihoods
    low = np.exp(INWARD * windows.low[columns.window])
    high = np.exp(INWARD * windows.high[columns.window])
    unscaled = np.where(columns.high, high, low)
    mean = unscaled.mean(axis=1, keepdims=True)
    delta = np.where(columns.high, low - high, high - low) / mean
    Gu = u @ G
    square = np.einsum("od,od->o", u, Gu)  # |alpha' u|^2
    w = u @ weights.people  # sigma . u
    covered = u @ weights.multipliers  # lambda . u
    # Sums over the answers before each one, of which differences are sums over runs.
    slope_sums = _sums_before(delta * Gu)
    people_sums = _sums_before(delta * weights.people)
    cover_sums = _sums_before(delta * weights.multipliers)
    is_no_run = np.tri(size + 1, dtype=bool)  # its end is not after its beginning
    flipped = columns.high.copy()
    exceeds = np.zeros(len(flipped), dtype=bool)
    # Arrays of all runs, filled anew for each column: making them would take most of the time.
    S = np.zeros((size + 1, size + 1))
    ratio = np.empty_like(S)
    divisor = np.empty_like(S)
    new_covered = np.empty_like(S)
    for o in range(len(flipped)):
        inner = S[1:, 1:]
        np.multiply(G, delta[o], out=inner)
        inner *= delta[o][:, None]
        np.cumsum(inner, axis=0, out=inner)
        np.cumsum(inner, axis=1, out=inner)
        S_ii = S.diagonal()
        twice_slopes = 2 * slope_sums[o]
        np.multiply(S, -2, out=ratio)
        ratio += square[o] + S_ii + twice_slopes
        ratio += (S_ii - twice_slopes)[:, None]
        people_before = people_sums[o]
        np.subtract(w[o] + people_before, people_before[:, None], out=divisor)
        cover_before = cover_sums[o]
        np.subtract(covered[o] + cover_before, cover_before[:, None], out=new_covered)
        divisor *= new_covered
        divisor[divisor <= 0] = np.inf
        ratio /= divisor
        ratio[is_no_run] = 0
        i, j = np.unravel_index(ratio.argmax(), ratio.shape)
        exceeds[o] = ratio[i, j] > 1 + _EXCEEDS
        run = flipped[o, i:j]
        np.logical_not(run, out=run)
    chosen = _columns(windows, columns.window[exceeds], flipped[exceeds])
    return _distinct(chosen)


def _sums_before(values: Array) -> Array:
    """Sums of each row's first 0, 1, ... values, shape ``(n, d + 1)``."""
    after_none = np.pad(values, ((0, 0), (1, 0)))
    return np.cumsum(after_none, axis=1)


def _columns(windows: Windows, window: Whole, high: Flags) -> _Columns:
    """Likelihoods of mean 1, their logarithms moved inwards so that no pair is exceeded."""
    high_logs = windows.high[window]
    low_logs = windows.low[window]
    logs = np.where(high, high_logs, low_logs)
    likelihoods = np.exp(INWARD * logs)
    likelihoods /= likelihoods.mean(axis=1, keepdims=True)
    return _Columns(window, high, likelihoods)


def _keys(columns: _Columns) -> Array:
    """What tells sets apart, a row each."""
    return np.column_stack([columns.window, columns.high])


def _distinct(columns: _Columns) -> _Columns:
    """Each set once."""
    _, first = np.unique(_keys(columns), axis=0, return_index=True)
    return columns.take(first)


def _not_among(columns: _Columns, others: _Columns) -> _Columns:
    """The columns that are not among the others."""
    excluded = {key.tobytes() for key in _keys(others)}
    is_fresh = np.ones(len(columns.window), dtype=bool)
    for i, key in enumerate(_keys(columns)):
        is_fresh[i] = key.tobytes() not in excluded
    return columns.take(is_fresh)


def _with_complements(window: Whole, high: Flags) -> tuple[Whole, Flags]:
    """Each set with its complement: half and half they sum to nearly the same for all answers."""
    windows_twice = np.tile(window, 2)
    sets = np.vstack([high, ~high])
    keys = distinct_rows(np.column_stack([windows_twice, sets]))
    return keys[:, 0], keys[:, 1:].astype(bool)


def _runs(size: int) -> Flags:
    """Runs of neighbours of lengths 1, 2, 4 and so on, also over the ends."""
    sets = []
    length = 1
    while length < size:
        step = max(1, length // 4)
        for first in range(1 - length, size, step):
            sets.append(_run(size, first, length))
        length *= 2
    return distinct_rows(np.array(sets))


def _run(size: int, first: int, length: int) -> Flags:
    """The set of ``length`` neighbours from ``first`` on, as far as they are among the answers."""
    is_high = np.zeros(size, dtype=bool)
    is_high[max(first, 0) : first + length] = True
    return is_high


def _refined(columns: _Columns, parent: Whole) -> tuple[Whole, Flags]:
    """Sets of a finer grid, from those of the coarse one whose answer ``parent`` each answer has.

    As they are, moved by one answer, and runs of one to four answers. All runs of the first two
    have an even number of answers, so that only the short ones tell every neighbour apart. Where
    there is time, also what is high in both and in either, and with every second answer turned.
    """
    size = len(parent)
    as_they_are = columns.high[:, parent]
    first_answer = as_they_are[:, :1]
    moved = np.hstack([first_answer, as_they_are[:, :-1]])
    kinds = [as_they_are, moved]
    if size <= _FINE_ANSWERS:
        is_second = np.arange(size) % 2 == 0
        kinds.append(as_they_are & moved)
        kinds.append(as_they_are | moved)
        kinds.append(as_they_are ^ is_second)
    short_runs = []
    for length in (1, 2, 4):
        for first in range(1 - length, size):
            short_runs.append(_run(size, first, length))
    window_of_kinds = np.tile(columns.window, len(kinds))
    first_window = np.zeros(len(short_runs), dtype=np.int64)
    window = np.append(window_of_kinds, first_window)
    return window, np.vstack([*kinds, short_runs])
