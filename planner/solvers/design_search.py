"""From a policy to the best of all mechanisms that keep it, with proof."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from planner.arrays import Array, Flags, Whole, distinct_rows
from planner.errors import ConvergenceError, InputError, SolverError
from planner.policy.objective import LEAST_WEIGHT, Objective
from planner.policy.policy import PrivacyPolicy, require_policy
from planner.solvers.answers import Certificate, SubsetDesign, UnaryTable
from planner.solvers.counts import (
    Counts,
    DesignProblem,
    few_high_types,
    natural_high,
    split_types,
)
from planner.solvers.game import GameColumns
from planner.solvers.generation import (
    NO_DIGITS,
    TOO_MANY_LEVELS,
    Generated,
    fewest,
    generate,
)
from planner.solvers.rays import components_of, one_window, windows_of
from planner.solvers.relaxed import MOST_LEVELS, relaxed
from planner.solvers.relaxed_bound import Relaxed
from planner.solvers.solving import solve
from planner.solvers.threads import one_thread
from planner.solvers.types import OutputTypes, grouped, pooled
from planner.solvers.types_near import types_near

_FIRST = 25  # types to begin with, for each level
_A_NUMBER = (
    1.3  # types for each number that tells types apart, fewer do not come near the best
)
_FITTING = 2.0  # for each of these: weights then fit all numbers
_MOST_FITTING = 2600  # types: a step of their program takes a quarter of a second
_CLOSE_BOUND = 1e-5  # to which bounds of histories are solved
_NEAR_BOUND = (
    1e-5  # of a table's error: no design is looked for that may be so much better
)
_LASTING = 2e-3  # a gap for which all levels are searched, too, where some are free
_CLOSE_FREE = 1e-4  # to which a design without these, and a bound, are solved
_FAR_APART = 1e3  # times the smallest budget: errors have a million times the size
_NO_PART = 1e-6  # of the total error
_AS_LITTLE = 1e-9  # of the largest cost, weight or people: what is less is as little
_CLOSE_GROUPS = 1e-3  # to which those of groups are solved
_PROVEN_LEVELS = (
    3  # of which a design is proven the best: a table is compared where it is not
)
_MOST_THINNED = (
    500  # numbers that weights keep when types are left out: each is a long sum
)
_FEW_STAND_HIGH = 3  # items that stand high by themselves
_MOST_DESIGNED = 64  # levels of a design: it takes about half their square of types


@one_thread
def best_design(
    policy: PrivacyPolicy,
    objective: Objective | str | None = None,
    tolerance: float = 1e-6,
) -> SubsetDesign | UnaryTable:
    """Find the mechanism with the smallest error of all that keep ``policy``, with proof.

    Not the best table of bit probabilities, which :func:`planner.solve` finds, but the best
    of all non-interactive mechanisms with unbiased estimates.

    Parameters
    ----------
    policy:
        The levels, their budgets and the pair rule. Everybody has exactly one item, so that
        within a level of one item there is no pair to protect.
    objective:
        The worst case when omitted; or an :class:`~planner.policy.objective.Objective` of kind
        ``"worst-case"`` or ``"expected"``, with weights if wanted. An assumed prior must sum to 1.
    tolerance:
        The relative gap to prove, above 0 and below 1.

    Returns
    -------
    SubsetDesign
        Its certificate states the gap that was reached, which may be larger than asked for. Where
        no design is found that is better, the best table, whose certificate is about all mechanisms
        too: with one window and many items a level, for very many levels, and for tiny budgets.

    Raises
    ------
    InputError
        An argument is outside its range, or a matrix of pair budgets has too many levels.
    ConvergenceError
        These budgets leave nothing to tell the items apart by.

    Notes
    -----
    Source: this package's own result; docs/theory/designs.md has the proofs. With equal
    budgets it returns subset selection (Ye and Barg 2018).

    Examples
    --------
    >>> from math import log
    >>> design = best_design(PrivacyPolicy([log(4), log(6)], [1, 4]))
    >>> round(design.worst_case_mse, 5), design.types.size  # the best table has 8.56750
    (3.87024, 3)
    >>> design.types.high_counts.tolist()
    [[0, 1], [0, 2], [1, 0]]
    """
    require_policy(policy)
    chosen = Objective() if objective is None else objective
    chosen = Objective(chosen) if isinstance(chosen, str) else chosen
    if chosen.kind == "minimax":
        allowed = '"worst-case" or "expected" for the best of all mechanisms'
        raise InputError(
            "objective", chosen.kind, allowed, "Use solve() for the best table."
        )
    if not 0 < tolerance < 1:
        raise InputError(
            "tolerance", tolerance, "above 0 and below 1", "Leave it out for 1e-6."
        )
    groups, asked = levels_merged(policy, chosen)
    few = asked.policy.size <= _PROVEN_LEVELS
    answers: list[SubsetDesign | UnaryTable] = []
    if not few:
        answers += _tables(policy, chosen)
    table = _least_error(answers)
    bounds = np.full(2, -np.inf)
    stopped = ""
    free = _free_levels(asked)
    if free.any():
        close = max(tolerance, _CLOSE_FREE)
        bounds = _solve(asked.chosen(~free), close, np.inf).bounds
        joined = np.where(free, np.count_nonzero(~free), np.cumsum(~free) - 1)
        tighter = _solve(asked.tightened(joined), close, table)
        answers += _designs(policy, chosen, joined[groups], tighter)
    if not _least_error(answers) <= (1 + max(tolerance, _LASTING)) * bounds[0]:
        design = _solve(asked, tolerance, _least_error(answers))
        answers += _designs(policy, chosen, groups, design)
        bounds = np.maximum(bounds, design.bounds)
        stopped = design.stopped
    solved, bound = bounds
    proven = (1 + max(tolerance, _NEAR_BOUND)) * solved
    if few and not (answers and answers[0].objective_value <= proven):
        answers += _tables(policy, chosen)
    if not answers:
        reason = "Rounding hides at these budgets what tells the items apart"
        raise ConvergenceError(reason, "Take larger ones.")
    best = min(answers, key=lambda answer: answer.objective_value)
    certificate = Certificate.of(best.objective_value, bound, "mechanisms", solved)
    if best.objective_value > proven:
        certificate = replace(certificate, stopped=stopped)
    return replace(best, certificate=certificate)


def _least_error(answers: list[SubsetDesign | UnaryTable]) -> float:
    """The objective of the best of these, infinite where there is none."""
    return min((answer.objective_value for answer in answers), default=np.inf)


def _designs(
    policy: PrivacyPolicy, objective: Objective, groups: Whole, design: _SolvedDesign
) -> list[SubsetDesign]:
    """The design of groups of levels, if its types tell all items apart."""
    if design.types is None or not design.types.tells_apart(design.prior):
        return []
    return [SubsetDesign(policy, design.types, groups, design.prior, objective)]


def _free_levels(asked: _Asked) -> Flags:
    """Levels of such large budgets that their errors are no part of the total, ``(t,)``.

    Budgets over six powers of ten have errors over twelve, more than there are digits. So these
    levels may keep the smallest of their budgets, and be one, and still cost no more than a
    millionth; and what mechanisms of the others alone do not undercut, none does: people may all
    be of those, whose errors are part of the total. Where people are assumed this is no bound.
    """
    policy = asked.policy
    none = np.zeros(policy.size, dtype=np.bool_)
    if asked.prior is not None or not policy.rule.by_level:
        return none
    budgets = policy.epsilons
    if policy.against is not None:
        budgets = np.minimum(budgets, policy.against)
    if budgets.max() < _FAR_APART * budgets.min():
        return none
    costs = np.sinh(budgets / 2) ** -2.0
    weight = asked.weights[0] * policy.item_counts
    order = np.argsort(budgets)
    for first in range(1, policy.size):
        rest = order[first:]
        strict = order[:first]
        together = weight[rest].sum() * costs[rest[0]]
        if together <= _NO_PART * (weight[strict] @ costs[strict]):
            free = none
            free[rest] = policy.item_counts[strict].sum() > 1
            return free
    return none


@one_thread
def history_bound(policy: PrivacyPolicy, objective: Objective, spread: Array) -> float:
    """What no protocol undercuts in a round, per person, with reports in many: of all, as proven.

    Answers of level ``i`` change within it, by a law whose factor ``f`` is ``spread[i]``, shape
    ``(t,)``: docs/theory/rounds.md, theorem 3. Any change of budgets is the caller's to rule out.
    """
    _, asked = levels_merged(policy, objective, spread)
    merged = asked.policy
    prior = asked.prior
    bounds = [0.0]
    for levels in components_of(merged):
        mass = 1.0 if prior is None else float(prior[levels].sum())
        if mass and merged.item_counts[levels].sum() > 1:
            bound = float(_bound(asked, levels, _CLOSE_BOUND).bounds[1])
            bounds.append(
                mass * int(merged.item_counts[levels].sum()) * max(0.0, bound)
            )
    return float(max(bounds) if prior is None else sum(bounds))


class _Asked(NamedTuple):
    """A policy over groups of levels; weights as they are solved and as they are asked for.

    The latter, ``(2, t)``, differ in those of levels that nobody minds. ``prior`` are shares of
    people, ``spread`` what :func:`history_bound` says, or None.
    """

    policy: PrivacyPolicy
    weights: Array
    prior: Array | None
    spread: Array | None

    def problem(self, levels: Whole) -> DesignProblem:
        """The problem of one component, its people summing to 1."""
        people = None if self.prior is None else self.prior[levels]
        if people is not None:
            people = people / people.sum() if people.any() else None
        spread = None if self.spread is None else self.spread[levels]
        m = self.policy.item_counts[levels]
        (solved, asked) = self.weights[:, levels]
        return DesignProblem(
            m, windows_of(self.policy, levels), solved, people, asked, spread
        )

    def chosen(self, levels: Flags) -> _Asked:
        """What is asked of these levels alone, of a rule by level."""
        policy = self.policy
        rule = policy.rule.mapped(lambda budgets: budgets[levels])
        few = PrivacyPolicy(policy.epsilons[levels], policy.item_counts[levels], rule)
        return _Asked(few, self.weights[:, levels], None, None)

    def tightened(self, groups: Whole) -> _Asked:
        """Over fewer groups that keep all budgets, and whose errors count more."""
        weights = grouped(self.weights.T, groups, np.maximum).T
        return _Asked(pooled(self.policy, groups), weights, None, None)

    def pooled(self, groups: Whole) -> _Asked:
        """Over fewer groups that may do more, and whose errors count less."""
        policy = pooled(self.policy, groups, np.maximum)
        items = self.policy.item_counts
        prior = self.prior
        if prior is not None:
            prior = grouped(prior / items, groups, np.minimum) * grouped(
                items, groups, np.add
            )
        spread = (
            None if self.spread is None else grouped(self.spread, groups, np.minimum)
        )
        return _Asked(
            policy, grouped(self.weights.T, groups, np.minimum).T, prior, spread
        )


def levels_merged(
    policy: PrivacyPolicy, objective: Objective, spread: Array | None = None
) -> tuple[Whole, _Asked]:
    """The group of each level, and what is asked: levels alike are one, which loses nothing.

    Averaging over permutations of items with the same budgets never hurts, and budget beyond the
    largest range of a report is of no use: under the rule min above twice the smallest. Levels of a
    matrix are never merged.
    """
    weights = [objective.item_weights(policy, least) for least in (LEAST_WEIGHT, 0.0)]
    prior = _prior(objective)
    items = policy.item_counts
    groups = np.arange(policy.size)
    most = policy.rule.largest_range(policy.epsilons)
    rule = policy.rule.mapped(lambda budgets: np.minimum(budgets, most))
    used = PrivacyPolicy(np.minimum(policy.epsilons, most), items, rule)
    if policy.rule.by_level:
        against = 0 * items if used.against is None else used.against
        people = 0 * items if prior is None else prior / items
        extra = 0 * items if spread is None else spread
        alike = np.column_stack([used.epsilons, against, *weights, people, extra])
        _, first, kind = np.unique(
            alike, axis=0, return_index=True, return_inverse=True
        )
        groups = first.argsort().argsort()[kind.reshape(-1)]
    shares = None if prior is None else grouped(prior, groups, np.add)
    means = np.array(
        [grouped(item_weights, groups, np.minimum) for item_weights in weights]
    )
    factor = None if spread is None else grouped(spread, groups, np.minimum)
    return groups, _Asked(pooled(used, groups), means, shares, factor)


def _tables(policy: PrivacyPolicy, objective: Objective) -> list[UnaryTable]:
    """The best table, if one is found."""
    with suppress(InputError, SolverError):
        return [solve(policy, objective=objective)]
    return []


def _prior(objective: Objective) -> Array | None:
    if objective.prior is None:
        return None
    prior = np.array(objective.prior)
    if abs(prior.sum() - 1) > 1e-9:
        remedy = "In a design everybody has exactly one item."
        raise InputError("prior", objective.prior, "shares that sum to 1", remedy)
    return prior


class _SolvedDesign(NamedTuple):
    """Types over groups, or None, their estimator's prior, bounds for both weights, ``(2,)``.

    ``stopped`` is why a search ended early, see :class:`planner.solvers.answers.Certificate`.
    """

    types: OutputTypes | None
    prior: Array
    bounds: Array
    stopped: str = ""


def _solve(asked: _Asked, close: float, table: float) -> _SolvedDesign:
    """Each component alone: nobody of another one can be taken for somebody of this."""
    policy = asked.policy
    components = components_of(asked.policy)
    parts = [
        _solve_component(asked, component, close, table) for component in components
    ]
    if len(parts) == 1:
        return parts[0]
    every = [part.types for part in parts if part.types is not None]
    bounds = np.array([part.bounds for part in parts])
    stopped = max(part.stopped for part in parts)
    bounds = bounds.max(axis=0) if asked.prior is None else bounds.sum(axis=0)
    if len(every) < len(parts):
        return _SolvedDesign(None, np.zeros(0), bounds, stopped)
    total = sum(types.size for types in every)
    low, high = np.zeros((2, total, policy.size))
    counts = np.zeros((total, policy.size), dtype=np.int64)
    shares = np.zeros(policy.size)
    first = 0
    for levels, part, types in zip(components, parts, every, strict=True):
        block = np.ix_(np.arange(first, first + types.size), levels)
        low[block] = types.low
        high[block] = types.high
        counts[block] = types.high_counts
        shares[levels] = part.prior / len(parts)
        first += types.size
    amounts = np.concatenate([types.weights for types in every])
    types = OutputTypes(policy.item_counts, amounts, low, high, counts)
    return _SolvedDesign(types, shares, bounds, stopped)


def _solve_component(
    asked: _Asked, levels: Whole, close: float, table: float
) -> _SolvedDesign:
    """The bound is the component's part of the objective: times its share of assumed people."""
    m = asked.policy.item_counts[levels]
    mass = 1.0
    if asked.prior is not None:
        mass = float(asked.prior[levels].sum())
    if m.sum() == 1:  # nothing to tell it from: its answer is known
        certain = np.ones((1, 1))
        return _SolvedDesign(
            OutputTypes(m, certain[0], certain, certain, m[None]),
            certain[0],
            np.zeros(2),
        )
    problem = asked.problem(levels)
    scaled = mass * int(m.sum())
    if levels.size <= _PROVEN_LEVELS:
        generated = _generated(
            problem, close, split_types(problem), np.full(2, -np.inf)
        )
        if (
            generated is not None
            and generated.answer.value <= (1 + close) * generated.solved
        ):
            return _designed(problem, generated, scaled)
    elif levels.size <= _MOST_DESIGNED and natural_high(problem) < _FEW_STAND_HIGH:
        # At large budgets types of few high items are enough, and no matrix proves anything.
        generated = _generated(
            problem, close, few_high_types(problem), np.full(2, -np.inf)
        )
        if generated is not None and not generated.stopped:
            return _designed(problem, generated, scaled)
    bound = _bound(asked, levels, close / 4)
    beaten = table > (1 + max(close, _NEAR_BOUND)) * scaled * bound.bounds[1]
    if beaten and bound.people.size == levels.size <= _MOST_DESIGNED:
        size = _first_types(levels.size)
        first = np.vstack(
            [
                few_high_types(problem),
                types_near(problem, bound, size),
            ]
        )
        generated = _generated(problem, close, distinct_rows(first), bound.bounds)
        if generated is not None:
            return _designed(problem, generated, scaled)
    stopped = (
        NO_DIGITS
        if bound.people.size == levels.size <= _MOST_DESIGNED
        else TOO_MANY_LEVELS
    )
    proven = scaled * np.maximum(bound.bounds, 0.0)
    return _SolvedDesign(None, bound.people, proven, stopped)


def _first_types(levels: int) -> int:
    """How many types are drawn to begin with.

    Types differ in ``r = t (t + 1) / 2`` numbers, and more. Of ``n`` points drawn evenly about a
    centre in ``r`` dimensions some weights have it as their mean if ``n`` is above ``2 r`` or so
    (Wendel, 1962): so many weights fit what the bound says of types.
    """
    numbers = levels * (levels + 1) / 2
    fitting = min(_FITTING * numbers, _MOST_FITTING)
    return round(max(_FIRST * levels, _A_NUMBER * numbers, fitting))


def _generated(
    problem: DesignProblem, close: float, first: Whole, proven: Array
) -> Generated | None:
    """None where digits do not tell the items apart."""
    oracle = Counts(problem, close, first)
    with suppress(ConvergenceError):
        return generate(
            oracle.game, oracle, close, problem.game(problem.both_weights[1]), proven
        )
    return None


def _designed(
    problem: DesignProblem, generated: Generated, scaled: float
) -> _SolvedDesign:
    people = (
        generated.answer.multipliers.scenarios
        if problem.prior is None
        else problem.prior
    )
    bounds = scaled * np.maximum(np.array([generated.solved, generated.bound]), 0.0)
    types = types_of(problem, generated)
    return _SolvedDesign(types, people / people.sum(), bounds, generated.stopped)


def _bound(asked: _Asked, levels: Whole, close: float) -> Relaxed:
    """What no mechanism undercuts, per item: of too many levels that of groups, budgets raised."""
    if levels.size > MOST_LEVELS and (
        asked.prior is not None or not one_window(asked.policy)
    ):
        few = asked.pooled(coarser(asked))
        return relaxed(
            few.problem(np.arange(few.policy.size)), max(close, _CLOSE_GROUPS)
        )
    return relaxed(asked.problem(levels), close)


def coarser(asked: _Asked) -> Whole:
    """The groups, some two dozen, of levels alike in what they cost, in weights and in people.

    Halved in turn is the group where one of these differs most, costly levels before others.
    """
    items = asked.policy.item_counts
    weights = asked.weights[1]
    cost = np.sinh(asked.policy.epsilons / 2) ** -2.0
    people = (
        np.ones(items.size) if asked.prior is None else (asked.prior / items) ** 0.3
    )
    logs = np.log(
        [
            np.maximum(sizes, _AS_LITTLE * sizes.max())
            for sizes in (cost, weights, people)
        ]
    ).T
    parts = weights * items * cost**2
    groups = np.zeros(items.size, dtype=np.int64)
    for new in range(1, MOST_LEVELS - 2):
        low, high = (grouped(logs, groups, end) for end in (np.minimum, np.maximum))
        spans = (high - low) * grouped(parts, groups, np.add)[:, None]
        group, trait = np.unravel_index(spans.argmax(), spans.shape)
        if spans[group, trait] > 0:
            above = logs[:, trait] > (low[group, trait] + high[group, trait]) / 2
            groups[(groups == group) & above] = new
    return groups


def _kept_numbers(
    problem: DesignProblem, columns: GameColumns, weights: Array, people: Array
) -> Array:
    """What fewer types have to keep, ``(numbers, n)``: it decides a design's sums and errors.

    A row is what each type adds to one number, times its weight ``theta_o`` (``weights``), ``w_o``
    being ``people``. The numbers are the sums, the information within each level, and that on level
    means, ``J = sum_o theta_o u_o u_o' / w_o``, in coordinates in which it is the unit matrix:
    budgets that differ by powers of ten give it eigenvalues that do, and each is to keep its last
    digits. But where all likelihoods are near each other also what pairs of items leave,
    :func:`_of_pairs`.
    """
    mean, *within = columns.parts
    information = (mean * (weights / people)[:, None]).T @ mean
    sizes, axes = np.linalg.eigh(information)
    whitened = mean @ (axes / np.sqrt(np.maximum(sizes, np.finfo(float).tiny)))
    (first, second) = np.triu_indices(mean.shape[1])
    squares = [whitened[:, first] * whitened[:, second]]
    squares += [np.square(part) for part in within]
    if problem.near == 0:
        squares.append(_of_pairs(problem, columns))
    return np.asarray(np.hstack([columns.sums, np.hstack(squares) / people[:, None]]).T)


def _of_pairs(problem: DesignProblem, columns: GameColumns) -> Array:
    """What two different items have in common in each type, ``(n, numbers)``.

    For every two levels it is the mean of ``v(x) v(x')`` over items ``x`` of one and ``x'`` of the
    other; for every level of several items it is the sum over its ordered pairs. Types are scaled
    to a mean of 1.

    As ``w = sum_x pi_x v(x)``, information ``J`` on items has ``pi_x J_xx = 1 - sum pi_x' J_xx'``
    over ``x' != x``. At large budgets that sum is in the last digits of ``pi_x J_xx``, and errors
    are made of it: so what pairs share is kept by itself.
    """
    level_means = columns.sums
    (first, second) = np.triu_indices(level_means.shape[1], 1)
    between = level_means[:, first] * level_means[:, second]
    scale = problem.scale(columns.key)[:, None]
    low, high = (side / scale for side in problem.sides(columns.key))
    m = problem.item_counts
    k = columns.key[:, 1:]
    both_high = k * (k - 1) * high**2
    one_high = 2 * k * (m - k) * high * low
    none_high = (m - k) * (m - k - 1) * low**2
    inside = (both_high + one_high + none_high)[:, problem.several]
    return np.hstack([between, inside])


def types_of(problem: DesignProblem, generated: Generated) -> OutputTypes | None:
    """Few types with the same error, their weights corrected until probabilities sum to 1.

    None where the digits that are left make no such weights.
    """
    columns = generated.columns
    amounts = generated.answer.weights
    people = columns.people @ generated.answer.multipliers.scenarios
    rows = _kept_numbers(problem, columns, amounts, people)
    live = np.arange(amounts.size)
    if len(rows) <= _MOST_THINNED or live.size > len(rows):
        live, amounts = fewest(rows, amounts)
    chosen = columns.key[live]
    amounts = amounts / problem.scale(columns.key[live])
    for _ in range(3):
        chosen = chosen[amounts > 0]
        amounts = amounts[amounts > 0]
        low, high = problem.sides(chosen)
        total = low + (high - low) * (chosen[:, 1:] / problem.item_counts)
        sway = total * amounts[:, None]
        missing = np.linalg.lstsq(total.T @ sway, 1 - amounts @ total)[0]
        amounts = amounts + amounts * (total @ missing)
    if not (amounts > 0).all():
        return None
    order = np.lexsort(chosen[:, :0:-1].T)  # whatever windows they were found in
    low, high = problem.sides(chosen[order])
    return OutputTypes(
        problem.item_counts, amounts[order], low, high, chosen[order, 1:]
    )
