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
from typing import NamedTuple

import numpy as np

from planner.arrays import Array, Flags, Whole, distinct_rows
from planner.errors import InputError
from planner.patience import still_wanted
from planner.policy.policy import PrivacyPolicy
from planner.solvers.answers import Certificate, Channel, Scenario, nearest_unbiased
from planner.solvers.channel_search import INWARD, whole_columns
from planner.solvers.ordered_bound import least_error
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
_USUAL_EFFORT = _Effort(10, 60, 200, kept_columns=6, sent_columns=12)
_FINE_EFFORT = _Effort(5, 12, 40, kept_columns=8, sent_columns=8)
_FINEST_EFFORT = _Effort(5, 12, 30, kept_columns=4, sent_columns=4)
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
        return _Columns(self.window[which], self.high[which], self.likelihoods[which])


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
    matrix, _ = whole_columns(
        columns.likelihoods, weights.theta, float(policy.bounds().min())
    )
    # T_o = W J^-1 v_o / w_o is the unbiased estimator of least error for these people.
    expected = weights.people @ matrix
    information = (matrix / expected) @ matrix.T
    estimator = (
        workload @ np.linalg.pinv(information, hermitian=True) @ matrix / expected
    )
    estimator = nearest_unbiased(estimator, workload, matrix, resolution=1e-12)
    shared = np.array(directions)
    shared.setflags(write=False)  # one for all scenarios
    scenarios = tuple(Scenario(answer, shared) for answer in np.eye(size))
    channel = Channel(policy, workload, names, matrix, estimator, scenarios)
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
        cells = [size]
        while cells[-1] > 2 * _FIRST_ANSWERS:
            cells.append((cells[-1] + 1) // 2)
        grids = [_grid_of(size, count) for count in reversed(cells)]
        sets = _runs(len(grids[0]))
        people = np.full(len(grids[0]), 1 / len(grids[0]))
        window = np.repeat(np.arange(len(self.windows.low)), len(sets))
        high = np.tile(sets, (len(self.windows.low), 1))
        for number, answers in enumerate(grids):
            columns, weights = self._on_grid(answers, window, high, people)
            if number + 1 == len(grids):
                break
            finer = grids[number + 1]
            # Each fine answer belongs to the coarse one whose first answer is the last before it.
            parent = np.searchsorted(answers, finer, side="right") - 1
            share = weights.theta * columns.likelihoods.max(axis=1)
            heaviest = np.argsort(-share)[: _COLUMNS_REFINED * len(answers)]
            window, high = _refined(columns.take(heaviest), parent)
            people = weights.people[parent] / np.bincount(parent)[parent]
        return columns, weights

    def _on_grid(
        self, answers: Whole, window: Whole, high: Flags, people: Array
    ) -> tuple[_Columns, _Weights]:
        """The search on one grid, whose answers are given by their first answer of all.

        A coarse grid stands for people who have these answers alone; what is wanted of its answers
        is what all those up to the next add up, in squared error.
        """
        size = len(answers)
        windows = Windows(self.windows.low[:, answers], self.windows.high[:, answers])
        judged = self.judged[:, answers]
        effort = _USUAL_EFFORT
        if size > _FINE_ANSWERS:
            effort = _FINEST_EFFORT
        elif size > _USUAL_ANSWERS:
            effort = _FINE_EFFORT
        columns = _columns(windows, *_whole_pairs(window, high))
        count = len(columns.window)
        theta, multipliers = _balanced(
            columns.likelihoods, np.full(count, count**-2.0), np.ones(size)
        )
        for left in reversed(range(effort.rounds)):
            still_wanted()
            last = left == 0
            sent = effort.sent_columns * size
            weights = _weighted(
                columns,
                judged,
                theta,
                multipliers,
                people,
                steps=effort.last_steps if last else effort.steps,
            )
            if last and len(columns.window) <= sent:
                break
            people = weights.people
            share = weights.theta * columns.likelihoods.max(axis=1)
            most = sent if last else effort.kept_columns * size
            heaviest = np.zeros(len(share), dtype=bool)
            heaviest[np.argsort(-share)[:most]] = True
            heaviest &= share > _LIGHTEST * share.max()
            columns = columns.take(heaviest)
            if last:  # the lightest reports are not sent
                costs = np.square(weights.theta) * weights.charges
                theta, multipliers = _balanced(
                    columns.likelihoods, costs[heaviest], weights.multipliers
                )
                weights = _weighted(
                    columns,
                    judged,
                    theta,
                    multipliers,
                    people,
                    steps=effort.last_steps,
                )
                break
            near = _best_flips(windows, columns, weights)
            fresh = _not_among(near, columns)
            theta = weights.theta[heaviest]
            charges = weights.charges[heaviest]
            start = np.concatenate(
                [
                    np.square(theta) * charges,
                    np.full(
                        len(fresh.window),
                        (_NEWCOMER * np.median(theta)) ** 2 * charges.mean(),
                    ),
                ]
            )
            columns = _Columns(
                np.append(columns.window, fresh.window),
                np.vstack([columns.high, fresh.high]),
                np.vstack([columns.likelihoods, fresh.likelihoods]),
            )
            theta, multipliers = _balanced(
                columns.likelihoods, start, weights.multipliers
            )
        return columns, weights


# -- the columns' weights ----------------------------------------------------------------


def _weighted(
    columns: _Columns,
    judged: Array,
    theta: Array,
    multipliers: Array,
    people: Array,
    *,
    steps: int,
) -> _Weights:
    """Better weights of these columns, and people to whom the errors are less favourable.

    For fixed estimators ``T_o = alpha' u_o / w_o`` the error is ``sum_o c_o / theta_o`` with
    ``c_o = theta_o^2 q_o`` and the charge ``q_o = |alpha' u_o|^2 / w_o``; for fixed weights these
    estimators are the best. Minimising by turns lowers the error at every step, as in the
    multiplicative algorithm for A-optimal designs (Silvey, Titterington and Torsney 1978); a step
    somewhat beyond is faster. People move to the answers with larger errors meanwhile.
    """
    likelihoods = columns.likelihoods
    offsets = np.square(judged).sum(axis=0)
    size = len(people)
    for step in range(steps + 1):
        expected = likelihoods @ people
        information = (likelihoods * (theta / expected)[:, None]).T @ likelihoods
        # A direction that hardly any column tells apart must not stop the search.
        information.flat[:: size + 1] += 1e-14 * np.trace(information)
        alpha = np.asarray(np.linalg.solve(information, judged.T), dtype=np.float64)
        squares = np.square(likelihoods @ alpha).sum(axis=1)
        charges = squares / expected
        errors = likelihoods.T @ (theta * charges / expected) - offsets
        if step == steps:
            break
        covered = likelihoods @ multipliers
        farther = np.clip(charges / covered, _SHORTEST_STEP, _LONGEST_STEP)
        theta, multipliers = _balanced(
            likelihoods, np.square(theta) * charges * farther**_FARTHER, multipliers
        )
        relative = np.clip(errors / (errors @ people), 0.5, 2.0)
        people = people * relative**_TOWARDS_WORST
        people /= people.sum()
    return _Weights(theta, multipliers, people, alpha, charges, errors)


def _balanced(
    likelihoods: Array, costs: Array, multipliers: Array
) -> tuple[Array, Array]:
    """Weights of least ``sum_o c_o / theta_o`` whose columns sum to 1, and the multipliers.

    ``theta_o = sqrt(c_o / (lambda . u_o))`` where ``lambda`` maximises the concave function
    ``2 sum_o sqrt(c_o lambda . u_o) - sum lambda``: Newton's steps, halved while they go too far.
    """
    covered = likelihoods @ multipliers
    if covered.min() <= 0:
        multipliers = np.ones(len(multipliers))
        covered = likelihoods.sum(axis=1)

    value = 2 * np.sqrt(costs * covered).sum() - multipliers.sum()
    for _ in range(_BALANCE_STEPS):
        theta = np.sqrt(costs / covered)
        missing = likelihoods.T @ theta - 1
        if np.abs(missing).max() < _BALANCED:
            break
        curvature = (likelihoods * (theta / covered / 2)[:, None]).T @ likelihoods
        curvature.flat[:: len(missing) + 1] += 1e-12 * np.trace(curvature)
        direction = np.linalg.solve(curvature, missing)
        change = likelihoods @ direction
        step = 1.0
        while step > _SMALLEST_STEP:
            then = covered + step * change
            if then.min() > 0:
                moved = multipliers + step * direction
                value_then = 2 * np.sqrt(costs * then).sum() - moved.sum()
                if value_then >= value - _VALUE_ROUNDING * abs(value):
                    break
            step /= 2
        else:
            break  # digits are used up
        multipliers = moved
        covered = then
        value = value_then
    return np.sqrt(costs / covered), multipliers


# -- sets of answers ---------------------------------------------------------------------


def _best_flips(windows: Windows, columns: _Columns, weights: _Weights) -> _Columns:
    """The set of largest charge over cover that differs from each column by one run of answers.

    Let ``delta`` be what each answer's likelihood changes by when its side does, and a run the
    answers from ``i`` up to, not including, ``j``. With ``G = alpha alpha'`` and sums ``S`` of
    ``delta_x G_xy delta_y`` over ``x < i, y < j``, ``|alpha' u|^2`` changes by
    ``2 sum_run delta_x (G u)_x + S_jj + S_ii - 2 S_ij``: all runs of a column cost ``O(d^2)``.
    """
    gram = weights.alpha @ weights.alpha.T
    size = len(gram)
    likelihoods = columns.likelihoods
    low = np.exp(INWARD * windows.low[columns.window])
    high = np.exp(INWARD * windows.high[columns.window])
    unit = np.where(columns.high, high, low).mean(axis=1, keepdims=True)
    change = np.where(columns.high, low - high, high - low) / unit
    turned = likelihoods @ gram
    square = np.einsum("od,od->o", likelihoods, turned)
    slope = _sums_before(change * turned)
    people = _sums_before(change * weights.people)
    cover = _sums_before(change * weights.multipliers)
    expected = likelihoods @ weights.people
    covered = likelihoods @ weights.multipliers
    no_run = np.tri(size + 1, dtype=bool)  # its end is not after its beginning
    flipped = columns.high.copy()
    exceeds = np.zeros(len(flipped), dtype=bool)
    # Arrays of all runs, filled anew for each column: making them would take most of the time.
    sums = np.zeros((size + 1, size + 1))
    ratio = np.empty_like(sums)
    divisor = np.empty_like(sums)
    factor = np.empty_like(sums)
    for o in range(len(flipped)):
        moved = sums[1:, 1:]
        np.multiply(gram, change[o], out=moved)
        moved *= change[o][:, None]
        np.cumsum(moved, axis=0, out=moved)
        np.cumsum(moved, axis=1, out=moved)
        prefixes = sums.diagonal()
        np.multiply(sums, -2, out=ratio)
        ratio += square[o] + prefixes + 2 * slope[o]
        ratio += (prefixes - 2 * slope[o])[:, None]
        np.subtract(expected[o] + people[o], people[o][:, None], out=divisor)
        np.subtract(covered[o] + cover[o], cover[o][:, None], out=factor)
        divisor *= factor
        divisor[divisor <= 0] = np.inf
        ratio /= divisor
        ratio[no_run] = 0
        first, last = np.unravel_index(np.argmax(ratio), ratio.shape)
        exceeds[o] = ratio[first, last] > 1 + _EXCEEDS
        flipped[o, first:last] = ~flipped[o, first:last]
    chosen = _columns(windows, columns.window[exceeds], flipped[exceeds])
    return _distinct(chosen)


def _sums_before(values: Array) -> Array:
    """Sums of each row's first 0, 1, ... values, shape ``(n, d + 1)``."""
    return np.cumsum(np.pad(values, ((0, 0), (1, 0))), axis=1)


def _columns(windows: Windows, window: Whole, high: Flags) -> _Columns:
    """Likelihoods of mean 1, their logarithms moved inwards so that no pair is exceeded."""
    logs = INWARD * np.where(high, windows.high[window], windows.low[window])
    likelihoods = np.exp(logs)
    likelihoods /= likelihoods.mean(axis=1, keepdims=True)
    return _Columns(window, high, likelihoods)


def _keys(columns: _Columns) -> Array:
    """What tells sets apart, a row each."""
    return np.column_stack([columns.window, columns.high])


def _distinct(columns: _Columns) -> _Columns:
    _, first = np.unique(_keys(columns), axis=0, return_index=True)
    return columns.take(first)


def _not_among(columns: _Columns, others: _Columns) -> _Columns:
    """The columns that are not among the others."""
    excluded = {key.tobytes() for key in _keys(others)}
    fresh = [key.tobytes() not in excluded for key in _keys(columns)]
    return columns.take(np.array(fresh, dtype=bool))


def _whole_pairs(window: Whole, high: Flags) -> tuple[Whole, Flags]:
    """Each set with its complement: half and half they sum to nearly the same for all answers."""
    both = np.column_stack([np.tile(window, 2), np.vstack([high, ~high])])
    keys = distinct_rows(both)
    return keys[:, 0], keys[:, 1:].astype(bool)


def _runs(size: int) -> Flags:
    """Runs of neighbours of lengths 1, 2, 4 and so on, also over the ends."""
    sets = []
    length = 1
    while length < size:
        for first in range(1 - length, size, max(1, length // 4)):
            run = np.zeros(size, dtype=bool)
            run[max(first, 0) : first + length] = True
            sets.append(run)
        length *= 2
    return distinct_rows(np.array(sets))


def _grid_of(size: int, count: int) -> Whole:
    """The places of ``count`` of the answers, evenly, the first and the last among them."""
    return np.rint(np.linspace(0, size - 1, count)).astype(np.int64)


def _refined(columns: _Columns, parent: Whole) -> tuple[Whole, Flags]:
    """Sets of a finer grid, from those of the coarse one whose answer ``parent`` each answer has.

    As they are, moved by one answer, and runs of one to four answers. All runs of the first two
    have an even number of answers, so that only the short ones tell every neighbour apart. Where
    there is time, also what is high in both and in either, and with every second answer turned.
    """
    size = len(parent)
    wide = columns.high[:, parent]
    moved = np.hstack([wide[:, :1], wide[:, :-1]])
    kinds = [wide, moved]
    if size <= _FINE_ANSWERS:
        every_second = np.arange(size) % 2 == 0
        kinds += [wide & moved, wide | moved, wide ^ every_second]
    short = []
    for length in (1, 2, 4):
        for first in range(1 - length, size):
            run = np.zeros(size, dtype=bool)
            run[max(first, 0) : first + length] = True
            short.append(run)
    window = np.concatenate(
        [np.tile(columns.window, len(kinds)), np.zeros(len(short), dtype=np.int64)]
    )
    return window, np.vstack([*kinds, short])
