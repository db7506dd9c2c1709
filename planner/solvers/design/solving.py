"""From a policy to the best of all mechanisms that keep it, with proof."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.designs.output_types import OutputTypes
from planner.designs.subset_design import DesignCertificate, SubsetDesign
from planner.errors import ConvergenceError, InputError
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy, require_policy
from planner.solvers.design.generation import generate
from planner.solvers.design.levels import Merged, merge
from planner.solvers.design.problem import DesignProblem
from planner.solvers.design.repair import balanced_prior, purified, types_of
from planner.solvers.design.starts import leanings
from planner.solvers.rays import components_of, windows_of

Array = NDArray[np.float64]

_MERGED_TOLERANCE = 1e-3  # where merging levels costs far more


def best_design(
    policy: PrivacyPolicy,
    objective: Objective | str | None = None,
    tolerance: float = 1e-6,
    near: SubsetDesign | None = None,
    most_levels: int | None = None,
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
        The design of a similar policy, for series of policies: its types are tried first.
    most_levels:
        If more levels differ, neighbours are merged, those of no importance aside: quicker the
        fewer, with a gap that says what that costs. When omitted 60, five of a matrix of pair
        budgets.

    Returns
    -------
    SubsetDesign
        Its certificate states the gap that was reached, which may be larger than asked for.
        More than eight levels that differ cost some per cent of it; where levels are merged
        the best table can be better.

    Raises
    ------
    InputError
        An argument is outside its range, or a matrix of pair budgets has too many windows.
    ConvergenceError
        The solver failed at its first types.

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
    merged = _merged(policy, _aims(policy, chosen), most_levels)
    return _best(merged, policy, chosen, tolerance, near)


def _best(
    merged: Merged,
    policy: PrivacyPolicy,
    chosen: Objective,
    tolerance: float,
    near: SubsetDesign | None,
) -> SubsetDesign:
    """The design, from the types of another if they help."""
    if near is not None:
        # Types of another policy may leave levels apart by rounding alone.
        with suppress(InputError, ConvergenceError):
            return _best_from(merged, policy, chosen, tolerance, near)
    return _best_from(merged, policy, chosen, tolerance, None)


def _best_from(
    merged: Merged,
    policy: PrivacyPolicy,
    chosen: Objective,
    tolerance: float,
    near: SubsetDesign | None,
) -> SubsetDesign:
    aims = _aims(policy, chosen)
    start = None
    if near is not None and near.types.item_counts.size == merged.kept.size:
        start = leanings(near.types)
    enough = tolerance if merged.exact else max(tolerance, _MERGED_TOLERANCE)
    items = np.bincount(merged.groups, policy.item_counts)
    means = np.bincount(merged.groups, aims.weights * policy.item_counts) / items
    shares = None
    if aims.prior is not None:
        shares = np.bincount(merged.groups, aims.prior).astype(np.float64)
    answer = _solve(merged.kept, aims._replace(weights=means, prior=shares), enough, start)
    bound = answer.lower_bound
    if not merged.exact:  # no mechanism has less error where less of it counts
        least = aims._replace(weights=_least(aims.weights, merged.groups))
        if aims.prior is not None:
            density = _least(aims.prior / policy.item_counts, merged.groups)
            least = least._replace(prior=density * items)
        bound = _solve(merged.allowed, least, enough, None).lower_bound
    design = SubsetDesign(policy, answer.types, merged.groups, answer.prior, chosen)
    value = design.objective_value
    bound = min(bound, value)
    gap = (value - bound) / bound if bound > 0 else float(np.inf if value > 0 else 0.0)
    return replace(design, certificate=DesignCertificate(bound, gap))


class _Aims(NamedTuple):
    """What is minimised, by level: see :class:`~planner.policy.objective.Objective`."""

    weights: Array  # of one item's error
    prior: Array | None  # assumed shares of the people


def _merged(policy: PrivacyPolicy, aims: _Aims, most: int | None) -> Merged:
    density = 0 * aims.weights if aims.prior is None else aims.prior / policy.item_counts
    return merge(policy, np.column_stack([aims.weights, density]), most)


def _least(values: Array, groups: NDArray[np.int64]) -> Array:
    least = np.full(int(groups.max()) + 1, np.inf)
    np.minimum.at(least, groups, values)
    return least


class _Solved(NamedTuple):
    """Types over levels or groups, their estimator's prior, and a bound on all mechanisms."""

    types: OutputTypes
    prior: Array
    lower_bound: float


def _aims(policy: PrivacyPolicy, objective: Objective) -> _Aims:
    weights, prior = objective.item_weights(policy), None
    if objective.prior is not None:
        prior = np.array(objective.prior)
        if abs(prior.sum() - 1) > 1e-9:
            remedy = "In a design everybody has exactly one item."
            raise InputError("prior", objective.prior, "shares that sum to 1", remedy)
    return _Aims(weights, prior)


def _solve(policy: PrivacyPolicy, aims: _Aims, tolerance: float, near: Array | None) -> _Solved:
    """Each component alone: nobody of another one can be taken for somebody of this."""
    components = components_of(policy)
    parts = [_solve_component(policy, levels, aims, tolerance, near) for levels in components]
    bounds = [part.lower_bound for part in parts]
    bound = max(bounds) if aims.prior is None else sum(bounds)
    if len(parts) == 1:
        return parts[0]
    total = sum(part.types.size for part in parts)
    low, high = np.zeros((2, total, policy.size))
    counts = np.zeros((total, policy.size), dtype=np.int64)
    shares, first = np.zeros(parts[0].prior.ndim * (policy.size,)), 0
    for levels, part in zip(components, parts, strict=True):
        types = part.types
        place = np.ix_(np.arange(first, first + types.size), levels)
        low[place], high[place], counts[place] = types.low, types.high, types.high_counts
        shares[np.ix_(*part.prior.ndim * (levels,))] = part.prior / len(parts)
        first += types.size
    amounts = np.concatenate([part.types.weights for part in parts])
    return _Solved(OutputTypes(policy.item_counts, amounts, low, high, counts), shares, bound)


def _solve_component(
    policy: PrivacyPolicy,
    levels: NDArray[np.int64],
    aims: _Aims,
    tolerance: float,
    near: Array | None,
) -> _Solved:
    """The bound is the component's part of the objective: times its share of assumed people."""
    m, prior = policy.item_counts[levels], aims.prior
    if m.sum() == 1:  # nothing to tell it from: its answer is known
        one = np.ones((1, 1))
        return _Solved(OutputTypes([1], [1.0], one, one, one), np.ones(1), 0.0)
    mass = 1.0 if prior is None else float(prior[levels].sum())
    assumed = None if prior is None or mass == 0 else prior[levels] / mass
    windows = windows_of(policy, levels)
    problem = DesignProblem(m, windows, aims.weights[levels], assumed)
    start = None if near is None else near[:, levels]
    answer = generate(problem, tolerance, start)
    columns, amounts = purified(problem, answer.columns, answer.weights, answer.prior)
    types = types_of(problem, columns, amounts)
    shares = answer.prior
    if problem.prior is None:
        shares = balanced_prior(lambda at: types.level_errors(at, problem.weights), shares)
    return _Solved(types, shares, mass * answer.lower_bound)
