"""How far a mechanism is from the best of all: its error beside the bound for its policy."""

from __future__ import annotations

from functools import lru_cache
from math import isfinite

from planner.errors import InputError
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy
from planner.solvers.design.solving import best_design

_TOLERANCE = 1e-4  # a share of the error: more digits than anybody reads of an efficiency


def least_error(policy: PrivacyPolicy, objective: Objective | None = None) -> float:
    """What no mechanism that keeps ``policy`` can beat: the objective's proven lower bound.

    Per user, for unbiased estimates of single answers; see :func:`best_design`. Solved once
    for each policy and objective, then remembered.

    Raises
    ------
    InputError
        As :func:`best_design`.
    ConvergenceError
        The solver failed at its first types.

    Examples
    --------
    >>> round(least_error(PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90])), 1)
    175.8
    """
    return _bound(policy, Objective() if objective is None else objective)


def efficiency(policy: PrivacyPolicy, error: float, objective: Objective | None = None) -> float:
    """Bound over error: the share of this error that every mechanism has, 0 to 1.

    1 means that no mechanism has a smaller error. Only an estimator with bias can have more.

    Parameters
    ----------
    policy, objective:
        What the mechanism keeps, and in what sense the error is small.
    error:
        The mechanism's error in that sense, per user, not negative.

    Raises
    ------
    InputError
        The error is negative or not finite, or see :func:`least_error`.

    Examples
    --------
    >>> from planner import solve
    >>> policy = PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90])
    >>> f"{efficiency(policy, solve(policy).worst_case_mse):.0%}"
    '73%'
    """
    if not (isfinite(error) and error >= 0):
        raise InputError(
            "error", error, "a finite number, not negative", "Give the error per user."
        )
    bound = least_error(policy, objective)
    return bound / error if error > 0 else 1.0


@lru_cache(maxsize=256)
def _bound(policy: PrivacyPolicy, objective: Objective) -> float:
    certificate = best_design(policy, objective, _TOLERANCE).certificate
    return 0.0 if certificate is None else certificate.lower_bound
