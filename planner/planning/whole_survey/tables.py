"""What one plan solves: every problem once, whoever asks for it.

An edit leaves most problems of a survey as they were: what was solved last is remembered.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple, TypeVar

import numpy as np

from planner.designs.set_design import SetDesign, dummy_objective, with_dummy
from planner.designs.subset_design import SubsetDesign
from planner.designs.table import UnaryTable
from planner.errors import InputError, SolverError, VerificationError
from planner.limits import MAX_CELLS
from planner.mechanisms.design_grid import as_drawn
from planner.planning.certified import DESIGN, MOST_LEVELS, TIGHT, Certified
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy
from planner.solvers import BASELINES, MODELS, baseline, best_design, solve

_MOST_LOST = 1e-4
_REMEMBERED, _SMALL = 128, 100  # problems, of at most so many levels
_Problem = tuple[PrivacyPolicy, str, Objective]
D = TypeVar("D", SubsetDesign, SetDesign)


class Unary(NamedTuple):
    """The tables of a policy by name, and for those that could not be proven the reason."""

    tables: dict[str, UnaryTable]
    left_out: dict[str, str]


class Tables:
    """Solved tables and designs by what was asked for; kept while a survey is being planned.

    Examples
    --------
    >>> tables = Tables()
    >>> policy = PrivacyPolicy([1.0, 2.0], [1, 4])
    >>> tables.solve(policy) is tables.solve(PrivacyPolicy([1.0, 2.0], [1, 4]))
    True
    """

    def __init__(self) -> None:
        self._tables: dict[_Problem, UnaryTable] = {}
        self._designs: dict[tuple[_Problem, float], SubsetDesign] = {}

    def solve(
        self, policy: PrivacyPolicy, model: str = "opt0", objective: Objective | None = None
    ) -> UnaryTable:
        """As :func:`planner.solvers.solving.solve`."""
        key = (policy, model, objective or Objective())
        if key not in self._tables:
            remembering = _solved if policy.size <= _SMALL else _solved.__wrapped__
            self._tables[key] = remembering(policy, model, key[2])
        return self._tables[key]

    def design(
        self,
        policy: PrivacyPolicy,
        objective: Objective | None = None,
        tolerance: float = TIGHT,
        most_levels: int | None = None,
    ) -> SubsetDesign:
        """As :func:`planner.best_design`; those solved for as many levels help."""
        problem = (policy, f"{DESIGN} {most_levels}", objective or Objective())
        for known in (TIGHT, tolerance):
            if (problem, known) in self._designs:
                return self._designs[problem, known]
        near = self._nearest(policy)
        solved = _designed(policy, problem[2], tolerance, near, most_levels)
        self._designs[problem, tolerance] = solved
        return solved

    def _nearest(self, policy: PrivacyPolicy) -> SubsetDesign | None:
        """The design solved for as many levels with the most similar budgets."""
        alike = [one for one in self._designs.values() if one.policy.size == policy.size]
        apart = [np.abs(np.log(one.policy.epsilons / policy.epsilons)).max() for one in alike]
        return alike[int(np.argmin(apart))] if alike else None

    def of_sets(
        self,
        policy: PrivacyPolicy,
        objective: Objective | None = None,
        tolerance: float = TIGHT,
    ) -> SetDesign:
        """The best design of the items and a dummy, for what is drawn of sets."""
        wanted = objective or Objective()
        drawn = dummy_objective(wanted, policy)
        design = self.design(with_dummy(policy), drawn, tolerance, MOST_LEVELS)
        return SetDesign(policy, design, wanted)

    def certified(
        self,
        policy: PrivacyPolicy,
        name: str = "opt0",
        *,
        objective: Objective | None = None,
        tolerance: float = TIGHT,
        sets: bool = False,
    ) -> Certified:
        """As :func:`~planner.planning.certified.solve_named`; ``sets`` as its twin for these."""
        if name != DESIGN:
            return self.solve(policy, name, objective)
        return (self.of_sets if sets else self.design)(policy, objective, tolerance)

    def named(self, policy: PrivacyPolicy, name: str, objective: Objective) -> UnaryTable:
        """The table of a model, or of a baseline, which minimises nothing."""
        return baseline(policy, name) if name in BASELINES else self.solve(policy, name, objective)

    def every(self, policy: PrivacyPolicy, objective: Objective, needed: str) -> Unary:
        """The tables of all models and baselines; those that are only compared may fail.

        Raises
        ------
        SolverError
            The table called ``needed`` could not be proven.
        """
        found = Unary({}, {})
        for name in (*MODELS, *BASELINES):
            try:
                found.tables[name] = self.named(policy, name, objective)
            except SolverError as error:
                if name == needed:
                    raise
                found.left_out[name] = error.reason
        return found

    def best(self, policy: PrivacyPolicy, objective: Objective) -> tuple[SubsetDesign | None, str]:
        """The best design if it can be waited for and proven; why it cannot be deployed, if so."""
        if (levels := _differing_levels(policy, objective)) > MOST_LEVELS:
            most = f"designs are planned for at most {MOST_LEVELS}"
            return None, f"{levels:,} levels differ, and {most}"
        return _if_deployable(self.design, policy, objective)

    def best_of_sets(
        self, policy: PrivacyPolicy, objective: Objective
    ) -> tuple[SetDesign | None, str]:
        """The same for what is drawn of sets."""
        return _if_deployable(self.of_sets, policy, objective)


@lru_cache(maxsize=_REMEMBERED)
def _solved(policy: PrivacyPolicy, model: str, objective: Objective) -> UnaryTable:
    return solve(policy, model, objective=objective)


@lru_cache(maxsize=_REMEMBERED)
def _designed(
    policy: PrivacyPolicy,
    objective: Objective,
    tolerance: float,
    near: SubsetDesign | None,
    most_levels: int | None,
) -> SubsetDesign:
    """Remembered with the design that it started from: the same plan is the same to the digit."""
    return best_design(policy, objective, tolerance, near, most_levels)


_drawn = lru_cache(maxsize=_REMEMBERED)(as_drawn)  # of a design, which is equal to itself alone


def forget() -> None:
    """Forget what earlier plans solved: before a measurement."""
    _solved.cache_clear()
    _designed.cache_clear()
    _drawn.cache_clear()


def _if_deployable(
    solver: Callable[[PrivacyPolicy, Objective], D], policy: PrivacyPolicy, objective: Objective
) -> tuple[D | None, str]:
    design = None
    try:
        design = solver(policy, objective)
        _check_deployable(design.design)
    except (InputError, SolverError, VerificationError) as error:
        return design, error.reason
    return design, ""


def _differing_levels(policy: PrivacyPolicy, objective: Objective) -> int:
    """Number of levels that a mechanism may treat differently; levels alike count as one.

    Examples
    --------
    >>> _differing_levels(PrivacyPolicy([1.0, 1.0, 2.0, 3.0], [1, 1, 1, 1]), Objective())
    2
    """
    alone = objective.weights is not None or objective.prior is not None
    if alone or not policy.rule.by_level:
        return policy.size
    budgets = policy.epsilons
    most = 2 * budgets.min() if policy.rule.saturates else np.inf
    return int(np.unique(np.minimum(budgets, most)).size)


def _check_deployable(design: SubsetDesign) -> None:
    """Check that its probabilities fit the grid of 2^-32, and that its reports can be counted."""
    drawn, least = _drawn(design).objective_value, design.objective_value
    if drawn > least * (1 + _MOST_LOST):
        allowed = f"at most {_MOST_LOST:g} of its error"
        remedy = "Take smaller budgets: a grid of 2^-32 is too coarse for these."
        raise InputError("what rounding costs", drawn / least - 1, allowed, remedy)
    cells = (design.types.size + 1) * (1 + int(design.policy.item_counts.sum()))
    if cells > MAX_CELLS:
        remedy = "Merge items, or ask for a coarser answer first."
        raise InputError("types times items", cells, f"at most {MAX_CELLS}", remedy)
