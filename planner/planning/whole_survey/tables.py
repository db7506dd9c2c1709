"""The tables of one plan: every problem is solved once, whoever asks for it."""

from __future__ import annotations

from planner.designs.table import UnaryTable
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy
from planner.solvers import BASELINES, MODELS, baseline, solve

__all__ = ["Tables"]


class Tables:
    """Solved tables by what was asked for; kept while a survey is being planned.

    Examples
    --------
    >>> tables = Tables()
    >>> policy = PrivacyPolicy([1.0, 2.0], [1, 4])
    >>> tables.solve(policy) is tables.solve(PrivacyPolicy([1.0, 2.0], [1, 4]))
    True
    """

    def __init__(self) -> None:
        self._found: dict[tuple[PrivacyPolicy, str, Objective], UnaryTable] = {}

    def solve(
        self, policy: PrivacyPolicy, model: str = "opt0", objective: Objective | None = None
    ) -> UnaryTable:
        """As :func:`planner.solvers.solving.solve`."""
        key = (policy, model, objective or Objective())
        if key not in self._found:
            self._found[key] = solve(policy, model, objective=key[2])
        return self._found[key]

    def named(self, policy: PrivacyPolicy, name: str, objective: Objective) -> UnaryTable:
        """The table of a model, or of a baseline, which minimises nothing."""
        return baseline(policy, name) if name in BASELINES else self.solve(policy, name, objective)

    def every(self, policy: PrivacyPolicy, objective: Objective) -> dict[str, UnaryTable]:
        """The tables of all models and baselines, by name."""
        return {name: self.named(policy, name, objective) for name in (*MODELS, *BASELINES)}
