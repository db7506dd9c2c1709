"""What planning solves for: the best table of a model, or the best of all mechanisms."""

from __future__ import annotations

from typing import Protocol

from planner.designs.set_design import SetDesign
from planner.designs.subset_design import SubsetDesign
from planner.designs.table import UnaryTable
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy
from planner.solvers import best_design, solve, solve_near

__all__ = ["DESIGN", "Certified", "CertifiedSolver", "OfOneAnswer", "solve_named", "solve_next"]

DESIGN = SubsetDesign.model
"""The name of subset designs beside the models of tables."""

OfOneAnswer = UnaryTable | SubsetDesign
"""A table or a design, with its proof."""

Certified = OfOneAnswer | SetDesign
"""The same, or a design of sets."""


class CertifiedSolver(Protocol):
    """What finds them for planning: :func:`solve_named`, or something that remembers."""

    def __call__(
        self, policy: PrivacyPolicy, name: str = "opt0", *, objective: Objective = ...
    ) -> Certified:
        """The one called ``name`` with the smallest ``objective``."""


def solve_named(
    policy: PrivacyPolicy, name: str = "opt0", *, objective: Objective | None = None
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
        return best_design(policy, wanted)
    return solve(policy, name, objective=wanted)


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
