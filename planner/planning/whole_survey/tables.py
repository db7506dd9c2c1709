"""What one plan solves: every problem once, whoever asks for it."""

from __future__ import annotations

from planner.designs.table import UnaryTable
from planner.errors import ConvergenceError, InputError
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy
from planner.solvers import BASELINES, MODELS, baseline, least_error, solve

__all__ = ["Tables"]

# More levels are merged for the bound, which takes too long to be waited for at every edit.
_MOST_LEVELS = 5


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

    def least(self, policy: PrivacyPolicy, objective: Objective) -> float | None:
        """The objective's lower bound over all mechanisms, as :func:`planner.least_error`.

        None where it is not known: more than five levels, an objective that designs do not
        have, or a bound that could not be proven.
        """
        if policy.size > _MOST_LEVELS:
            return None
        try:
            return least_error(policy, objective)
        except (ConvergenceError, InputError):
            return None
