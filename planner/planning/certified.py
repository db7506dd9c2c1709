"""What planning solves for: the best table of a model, or the best of all mechanisms."""

from __future__ import annotations

from typing import Protocol

from planner.designs.set_design import SetDesign, dummy_objective, with_dummy
from planner.designs.subset_design import SubsetDesign
from planner.designs.table import UnaryTable
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy
from planner.solvers import best_design, solve, solve_near

__all__ = [
    "DESIGN",
    "MOST_LEVELS",
    "ROUGH",
    "TIGHT",
    "Certified",
    "CertifiedSolver",
    "OfOneAnswer",
    "solve_named",
    "solve_next",
    "solve_of_sets",
]

DESIGN = SubsetDesign.model
"""The name of subset designs beside the models of tables."""

TIGHT, ROUGH = 1e-6, 3e-3
"""The gaps to which designs are solved: those that are planned, and points of a curve."""

MOST_LEVELS = 5
"""Levels that differ of which a design is planned: more take too long to be waited for.

Of sets neighbours are merged if there are more.
"""

OfOneAnswer = UnaryTable | SubsetDesign
"""A table or a design, with its proof."""

Certified = OfOneAnswer | SetDesign
"""The same, or a design of sets."""


class CertifiedSolver(Protocol):
    """What finds them for planning: :func:`solve_named`, or something that remembers."""

    def __call__(
        self,
        policy: PrivacyPolicy,
        name: str = "opt0",
        *,
        objective: Objective = ...,
        tolerance: float = ...,
    ) -> Certified:
        """The one called ``name`` with the smallest ``objective``; a design to ``tolerance``."""


def solve_named(
    policy: PrivacyPolicy,
    name: str = "opt0",
    *,
    objective: Objective | None = None,
    tolerance: float = TIGHT,
) -> OfOneAnswer:
    """The best table of a model, or the best of all mechanisms.

    Parameters
    ----------
    policy:
        The levels, their budgets and the pair rule.
    name:
        ``"opt0"``, ``"opt1"``, ``"opt2"`` or ``"subset-design"``.
    objective:
        What is made small; the total error for the least favourable answers when omitted.
    tolerance:
        The gap to which a design is solved.

    Raises
    ------
    InputError, SolverError
        As :func:`~planner.solvers.solving.solve` and :func:`~planner.best_design`.

    Examples
    --------
    >>> policy = PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90])
    >>> [round(solve_named(policy, name).worst_case_mse, 2) for name in ("opt0", "subset-design")]
    [239.72, 175.81]
    """
    wanted = objective or Objective()
    if name == DESIGN:
        return best_design(policy, wanted, tolerance)
    return solve(policy, name, objective=wanted)


def solve_of_sets(
    policy: PrivacyPolicy,
    name: str = "opt0",
    *,
    objective: Objective | None = None,
    tolerance: float = TIGHT,
) -> Certified:
    """The same for one item that is drawn of a set, or the dummy in its stead.

    In a design more than :data:`MOST_LEVELS` levels are merged.

    Raises
    ------
    InputError, SolverError
        As :func:`solve_named`; or the rule has no budgets of sets.

    Examples
    --------
    >>> policy = PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90])
    >>> [round(solve_of_sets(policy, name).worst_case_mse, 2) for name in ("opt0", DESIGN)]
    [239.72, 175.99]
    """
    wanted = objective or Objective()
    if name != DESIGN:
        return solve(policy, name, objective=wanted)
    drawn = dummy_objective(wanted, policy)
    design = best_design(with_dummy(policy), drawn, tolerance, most_levels=MOST_LEVELS)
    return SetDesign(policy, design, wanted)


def solve_next(policy: PrivacyPolicy, last: OfOneAnswer) -> OfOneAnswer:
    """The same for a policy that differs little from that of ``last``: it is tried first.

    Raises
    ------
    InputError, SolverError
        As :func:`solve_named`.
    """
    if isinstance(last, SubsetDesign):
        return best_design(policy, last.objective, near=last)
    return solve_near(policy, last)
