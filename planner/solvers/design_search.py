"""From a policy to the best of all mechanisms that keep it, with proof."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from planner.arrays import Array, Whole
from planner.errors import ConvergenceError, InputError
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy, require_policy
from planner.solvers.answers import Certificate, SubsetDesign
from planner.solvers.counts import Counts, DesignProblem
from planner.solvers.generation import Generated, fewest, generate
from planner.solvers.levels import merge
from planner.solvers.rays import components_of, windows_of
from planner.solvers.types import OutputTypes, grouped

_MERGED_TOLERANCE = 1e-3  # where merging levels costs far more
_FINE, _CLOSE_BOUND = 2**12, 3e-4  # parts of a level of histories; to which these are solved


def best_design(
    policy: PrivacyPolicy,
    objective: Objective | str | None = None,
    tolerance: float = 1e-6,
    near: SubsetDesign | None = None,
) -> SubsetDesign:
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
    near:
        A design of similar budgets, to begin from.

    Returns
    -------
    SubsetDesign
        Its certificate states the gap that was reached, which may be larger than asked for. If
        more than five levels differ, neighbours are merged, those of no importance aside: the gap
        says what that costs, and the best table can be better. Under a matrix none are merged.

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
        raise InputError("objective", chosen.kind, allowed, "Use solve() for the best table.")
    if not 0 < tolerance < 1:
        raise InputError("tolerance", tolerance, "above 0 and below 1", "Leave it out for 1e-6.")
    weights, prior = _weights(chosen, policy), _prior(chosen)
    density = 0 * weights[0] if prior is None else prior / policy.item_counts
    merged = merge(policy, np.column_stack([weights[0], density]))
    items = np.bincount(merged.groups, policy.item_counts)
    means = [np.bincount(merged.groups, one * policy.item_counts) / items for one in weights]
    shares = None if prior is None else np.bincount(merged.groups, prior).astype(np.float64)
    enough = tolerance if merged.exact else max(tolerance, _MERGED_TOLERANCE)
    found = _solve(merged.kept, np.array(means), shares, enough, near)
    bounds = found.bounds
    if not merged.exact:  # no mechanism has less error where less of it counts
        least = grouped(weights.T, merged.groups, np.minimum).T
        people = None if prior is None else items * grouped(density, merged.groups, np.minimum)
        bounds = _solve(merged.allowed, least, people, enough, near).bounds
    if not found.types.tells_apart(found.prior):
        reason = "Rounding hides at these budgets what tells the items apart"
        raise ConvergenceError(reason, "Take larger ones.")
    design = SubsetDesign(policy, found.types, merged.groups, found.prior, chosen)
    certificate = Certificate.of(design.objective_value, bounds[1], "mechanisms", bounds[0])
    return replace(design, certificate=certificate)


def history_bound(policy: PrivacyPolicy, objective: Objective, spread: Array) -> float:
    """What no protocol undercuts in a round, per person, with reports in many: of all, as proven.

    Answers of level ``i`` change within it, by a law whose factor ``f`` is ``spread[i]``, shape
    ``(t,)``: docs/theory/rounds.md, theorem 3. Any change of budgets is the caller's to rule out.
    """
    weights, prior = _weights(objective, policy), _prior(objective)
    density = 0 * spread if prior is None else prior / policy.item_counts
    merged = merge(policy, np.column_stack([weights[0], density, spread]))
    (least, asked), factor = (
        grouped(one.T, merged.groups, np.minimum).T for one in (weights, spread)
    )
    allowed, bounds = merged.allowed, [0.0]
    people = grouped(density, merged.groups, np.minimum) * allowed.item_counts
    for at in components_of(allowed):
        m, mass = allowed.item_counts[at], float(people[at].sum()) if prior is not None else 1.0
        if not (mass and m.sum() > 1):
            continue
        fine = -(-_FINE // int(m.min()))
        assumed = None if prior is None else people[at] / mass
        problem = DesignProblem(
            m * fine, windows_of(allowed, at), least[at], assumed, fine, factor[at]
        )
        oracle = Counts(problem, _CLOSE_BOUND)
        found = generate(oracle.game, oracle, _CLOSE_BOUND, problem.game(asked[at]))
        bounds.append(mass * max(0.0, int(m.sum()) * found.bound))
    return max(bounds) if prior is None else sum(bounds)


def _weights(objective: Objective, policy: PrivacyPolicy) -> Array:
    """As they are solved, and as they are asked for: those of levels that nobody minds are 0."""
    return np.array([objective.item_weights(policy), objective.item_weights(policy, 0.0)])


def _prior(objective: Objective) -> Array | None:
    if objective.prior is None:
        return None
    prior = np.array(objective.prior)
    if abs(prior.sum() - 1) > 1e-9:
        remedy = "In a design everybody has exactly one item."
        raise InputError("prior", objective.prior, "shares that sum to 1", remedy)
    return prior


class _SolvedDesign(NamedTuple):
    """Types over levels or groups, their estimator's prior, bounds for both weights, ``(2,)``."""

    types: OutputTypes
    prior: Array
    bounds: Array


def _solve(
    policy: PrivacyPolicy,
    weights: Array,
    prior: Array | None,
    close: float,
    near: SubsetDesign | None,
) -> _SolvedDesign:
    """Each component alone: nobody of another one can be taken for somebody of this."""
    components, begin = components_of(policy), np.zeros((0, policy.size), dtype=np.int64)
    if near is not None and np.array_equal(near.types.item_counts, policy.item_counts):
        begin = near.types.high_counts
    parts = [_solve_component(policy, at, weights, prior, close, begin[:, at]) for at in components]
    if len(parts) == 1:
        return parts[0]
    total = sum(part.types.size for part in parts)
    low, high = np.zeros((2, total, policy.size))
    counts = np.zeros((total, policy.size), dtype=np.int64)
    shares, first = np.zeros(policy.size), 0
    for levels, part in zip(components, parts, strict=True):
        types = part.types
        place = np.ix_(np.arange(first, first + types.size), levels)
        low[place], high[place], counts[place] = types.low, types.high, types.high_counts
        shares[levels] = part.prior / len(parts)
        first += types.size
    amounts = np.concatenate([part.types.weights for part in parts])
    bounds = np.array([part.bounds for part in parts])
    types = OutputTypes(policy.item_counts, amounts, low, high, counts)
    return _SolvedDesign(types, shares, bounds.max(axis=0) if prior is None else bounds.sum(axis=0))


def _solve_component(
    policy: PrivacyPolicy,
    levels: Whole,
    weights: Array,
    prior: Array | None,
    close: float,
    begin: Whole,
) -> _SolvedDesign:
    """The bound is the component's part of the objective: times its share of assumed people."""
    m, (weights, asked) = policy.item_counts[levels], weights[:, levels]
    if m.sum() == 1:  # nothing to tell it from: its answer is known
        one = np.ones((1, 1))
        return _SolvedDesign(OutputTypes(m, one[0], one, one, m[None]), one[0], np.zeros(2))
    mass = 1.0 if prior is None else float(prior[levels].sum())
    assumed = None if prior is None or mass == 0 else prior[levels] / mass
    problem = DesignProblem(m, windows_of(policy, levels), weights, assumed)
    oracle = Counts(problem, close, begin)
    found = generate(oracle.game, oracle, close, problem.game(asked))
    types = _types_of(problem, found)
    shares = found.answer.multipliers.scenarios if assumed is None else assumed
    bounds = mass * np.maximum(problem.items * np.array([found.solved, found.bound]), 0.0)
    return _SolvedDesign(types, shares / shares.sum(), bounds)


def _types_of(problem: DesignProblem, found: Generated) -> OutputTypes:
    """Few types with the same error, their weights corrected until probabilities sum to 1."""
    columns, amounts = found.columns, found.answer.weights
    people = columns.people @ found.answer.multipliers.scenarios
    mean, *within = columns.parts
    first, second = np.triu_indices(mean.shape[1])
    rows = np.hstack([mean[:, first] * mean[:, second], *(part**2 for part in within)]).T / people
    live, amounts = fewest(rows, amounts)
    about, amounts = columns.about[live], amounts / problem.scale(columns.about[live])
    for _ in range(3):
        about, amounts = about[amounts > 0], amounts[amounts > 0]
        low, high = problem.sides(about)
        total = low + (high - low) * (about[:, 1:] / problem.item_counts)
        sway = total * amounts[:, None]
        missing = np.linalg.lstsq(total.T @ sway, 1 - amounts @ total)[0]
        amounts = amounts + amounts * (total @ missing)
    order = np.lexsort(about[:, :0:-1].T)  # whatever windows they were found in
    low, high = problem.sides(about[order])
    return OutputTypes(problem.item_counts, amounts[order], low, high, about[order, 1:])
