"""The efficient frontier: the smallest error for every common scale of the budgets.

Data for a plot; nothing here draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.arguments import positive_numbers, whole_number
from planner.designs.set_design import SetDesign
from planner.designs.subset_design import SubsetDesign
from planner.designs.table import UnaryTable
from planner.frames import Framed
from planner.limits import MAX_EPSILON
from planner.planning.budgets import largest_budgets, scaled
from planner.planning.solve import solve_for
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Frontier(Framed):
    """Errors over a common scale of all budgets, rising; ``k`` scales, ``t`` levels.

    Attributes
    ----------
    names:
        The levels.
    scale:
        Common factors, shape ``(k,)``.
    total_error:
        Root of the objective, the total mean squared error for the least favourable answers
        unless another was asked for, as a share of the users, shape ``(k,)``.
    level_errors:
        Standard error of a rare item's share per level, shape ``(k, t)``.
    saturation_epsilon:
        Budget above which a level gains nothing at that scale, nats, shape ``(k,)``; ``nan``
        for rules other than min.
    largest_gap:
        Largest proven relative distance of any point from the optimum.
    """

    names: tuple[str, ...]
    scale: Array
    total_error: Array
    level_errors: Array
    saturation_epsilon: Array
    largest_gap: float

    @property
    def summary(self) -> str:
        """How far the scales reach, and what is proven of every point."""
        reach = f"{self.scale[0]:.3g} to {self.scale[-1]:.3g} times the budgets"
        return f"{reach}; every point is proven optimal to within {self.largest_gap:.1g}."

    def columns(self) -> dict[str, Any]:
        """One row a scale; errors as shares of the users."""
        levels = {f"error of {name}": self.level_errors[:, i] for i, name in enumerate(self.names)}
        columns = {"scale": self.scale, "total_error": self.total_error, **levels}
        return {**columns, "saturation_epsilon": self.saturation_epsilon}


def frontier(
    policy: PrivacyPolicy,
    users: int,
    scales: ArrayLike | None = None,
    model: str = "opt0",
    objective: Objective | None = None,
) -> Frontier:
    """Solve ``policy`` at each common scale of its budgets; every point is certified.

    Parameters
    ----------
    policy:
        The levels and their budgets at scale 1.
    users:
        Number of reports, at least 1.
    scales:
        Factors above 0 that leave every budget at most 50, any order; 50 around 1 if omitted.
    model:
        ``"opt0"``, ``"opt1"`` or ``"opt2"`` for tables, or ``"subset-design"``.
    objective:
        What is minimised; the total error for the least favourable answers when omitted.

    Raises
    ------
    InputError
        A scale or the number of users is out of range.
    SolverError
        A point could not be certified.

    Examples
    --------
    >>> curve = frontier(PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90]), 10_000, [0.5, 1, 2])
    >>> np.square(curve.total_error * 100).round(3).tolist()  # theory: per user
    [1015.294, 239.723, 48.49]
    """
    whole_number("users", users)
    if scales is None:
        chosen = usual_scales(policy)
    else:
        chosen = np.sort(positive_numbers("scales", scales, _largest_scale(policy)))
    solved = _solved(policy, chosen, model, objective or Objective())
    return Frontier(
        policy.names,
        chosen,
        np.sqrt([one.objective_value / users for one in solved]),
        np.sqrt([one.noise / users for one in solved]),
        np.array([one.saturation_epsilon or np.nan for one in solved]),
        max(one.certificate.relative_gap for one in solved if one.certificate),
    )


def usual_scales(policy: PrivacyPolicy, points: int = 50) -> Array:
    """Scales from a quarter to four times the budgets, evenly spaced in their logarithm."""
    top = min(4.0, _largest_scale(policy))
    return np.geomspace(min(0.25, top / 16), top, points)


def _solved(
    policy: PrivacyPolicy, scales: Array, model: str, objective: Objective
) -> list[UnaryTable | SubsetDesign]:
    solved: list[UnaryTable | SubsetDesign] = []
    for scale in scales.tolist():
        found = solve_for(scaled(policy, scale), model, objective)
        assert not isinstance(found, SetDesign)  # noqa: S101 - not for sets
        solved.append(found)
    return solved


def _largest_scale(policy: PrivacyPolicy) -> float:
    return float(MAX_EPSILON / largest_budgets(policy).max())
