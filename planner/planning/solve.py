"""The one way from planning to a solver, which remembers what was asked before; other budgets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np

from planner.arrays import Array
from planner.errors import InputError, SolverError, VerificationError
from planner.limits import MAX_CELLS
from planner.mechanisms.asking import CollectedLaw
from planner.mechanisms.rounding import drawn_design
from planner.patience import still_wanted
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy
from planner.solvers.answers import SubsetDesign, UnaryTable
from planner.solvers.design_search import best_design
from planner.solvers.solving import BASELINES, baseline, solve

DESIGN = SubsetDesign.model
"""The name of subset designs beside the models of tables."""

TIGHT = 1e-6
ROUGH = 1e-4
"""The gaps to which designs are solved: those that are planned, and points of a curve."""

TOTAL = Objective()
"""The total error for the least favourable answers."""

Certified = UnaryTable | SubsetDesign
"""A table or a design, with its proof."""

_NO_BETTER = (
    "no design of so many levels and items is found that is better than the best table"
)
_MOST_LOST = 1e-4
COARSE_BUDGET = 1e-3
"""Below it rounding to ``2^-32`` changes errors by 1e-5 and more, which a plan states."""

_SMALL_PROBLEM = 1_000  # levels of the problems that are remembered
REMEMBERED = 256
"""How many problems of a kind are remembered."""


def solve_for(
    policy: PrivacyPolicy,
    name: str = "opt0",
    objective: Objective = TOTAL,
    tolerance: float = TIGHT,
) -> Certified:
    """The best table of a model, a baseline, or the best design; a table if none is better."""
    if name != DESIGN:  # of others one answer is remembered, whatever is asked for
        tolerance = TIGHT
    if policy.size > _SMALL_PROBLEM:
        return _solved.__wrapped__(policy, name, objective, tolerance)
    return _solved(policy, name, objective, tolerance)


def solved_or_why_not(
    policy: PrivacyPolicy, name: str, objective: Objective = TOTAL
) -> tuple[Certified | None, str]:
    """What is solved, and the reason why it cannot be proven or deployed; empty if it can.

    A design that cannot be deployed still has its bound.
    """
    solved = None
    try:
        solved = solve_for(policy, name, objective)
        if solved.design is not None:
            _check_deployable(solved.design)
        elif name == DESIGN:
            return solved, _NO_BETTER
    except (InputError, SolverError, VerificationError) as error:
        return solved, error.reason
    return solved, ""


def in_integers(solved: Certified, law: CollectedLaw) -> Certified:
    """The table or design with the probabilities of its ``law``, multiples of ``2^-32``."""
    if isinstance(solved, SubsetDesign):
        return _drawn(solved)
    support = np.array(law.shape.support(), dtype=np.float64)
    a, b = support.T
    return replace(solved, a=a, b=b)


def forget() -> None:
    """Forget what earlier plans solved: before a measurement."""
    for forget_some in FORGET:
        forget_some()


@lru_cache(maxsize=REMEMBERED)
def _solved(
    policy: PrivacyPolicy, name: str, objective: Objective, tolerance: float
) -> Certified:
    still_wanted()
    if name in BASELINES:
        return baseline(policy, name)
    if name != DESIGN:
        return solve(policy, name, objective=objective)
    return best_design(policy, objective, tolerance)


# Of a design, which is equal to itself alone.
_drawn = lru_cache(maxsize=REMEMBERED)(drawn_design)
FORGET = [_solved.cache_clear, _drawn.cache_clear]
"""What :func:`forget` calls."""


def _check_deployable(design: SubsetDesign) -> None:
    """Check that its probabilities fit the grid of 2^-32, and that its reports can be counted."""
    drawn = _drawn(design).objective_value
    least = design.objective_value
    if least and drawn > least * (1 + _MOST_LOST):  # 0: every answer is told as it is
        allowed = f"at most {_MOST_LOST:g} of its error"
        remedy = "Take smaller budgets: a grid of 2^-32 is too coarse for these."
        raise InputError("what rounding costs", drawn / least - 1, allowed, remedy)
    items = int(design.policy.item_counts.sum())
    cells = (design.types.size + 1) * (1 + items)
    if cells > MAX_CELLS:
        remedy = "Merge items, or ask for a coarser answer first."
        raise InputError("types times items", cells, f"at most {MAX_CELLS}", remedy)


def scaled(
    policy: PrivacyPolicy, scale: float, level: str | None = None
) -> PrivacyPolicy:
    """``policy`` with all budgets, and all pair budgets of a matrix, times ``scale``.

    Or with that of one ``level`` alone, and as many nats more or less in its pairs of a matrix.

    Examples
    --------
    >>> policy = PrivacyPolicy([1.0, 2.0], [1, 4], names=["severe", "common"])
    >>> scaled(policy, 0.5).epsilons.tolist(), scaled(policy, 1.5, "severe").epsilons.tolist()
    ([0.5, 1.0], [1.5, 2.0])
    """
    if level is None:
        budgets = policy.epsilons * scale
        return policy.with_changes(budgets, rule=policy.rule.scaled(scale))
    row = policy.names.index(level)
    amount = (scale - 1) * float(policy.epsilons[row])
    return relaxed(policy, row, amount)


def relaxed(policy: PrivacyPolicy, level: int, amount: float) -> PrivacyPolicy:
    """``policy`` with ``amount`` nats more, or less if negative, for level number ``level``.

    With a matrix of pair budgets every protected pair of that level gets them.

    Examples
    --------
    >>> relaxed(PrivacyPolicy([1.0, 2.0], [1, 4]), 0, 0.25).epsilons.tolist()
    [1.25, 2.0]
    """
    epsilons = policy.epsilons.copy()
    epsilons[level] += amount
    rule = policy.rule.relaxed(level, amount)
    return policy.with_changes(epsilons, rule=rule)


def largest_budgets(policy: PrivacyPolicy) -> Array:
    """Per level the largest of its budgets, or of its protected pairs.

    Examples
    --------
    >>> largest_budgets(PrivacyPolicy([1.0, 2.0], [1, 4], [[1, 3], [3, np.inf]])).tolist()
    [3.0, 3.0]
    """
    budgets = np.maximum(policy.epsilons, policy.tolerated)
    against = policy.against
    if against is None:
        return budgets
    # An infinite one is no budget: a report may say anything against that answer.
    stated = np.where(np.isinf(against), budgets, against)
    return np.maximum(budgets, stated)


def crossing(
    excess: Callable[[float], float], low: float, high: float, step: float = 1e-13
) -> float:
    """Where a falling ``excess`` is 0 between these, to a ``step``; an end if it is beyond.

    By Brent's method, as SciPy has it.

    Examples
    --------
    >>> round(crossing(lambda x: 2 - x**2, 0.0, 2.0), 12)
    1.414213562373
    """
    from scipy.optimize import brentq

    if excess(low) <= 0:
        return low
    if excess(high) >= 0:
        return high
    rounding = 4 * float(np.finfo(float).eps)
    return float(brentq(excess, low, high, xtol=step, rtol=rounding))
