"""Bounds on all mechanisms without a search, for any number of levels.

Of one window they are nearly explicit (:mod:`.one_window`); of several, or of assumed people, one
matrix a window proves them (:mod:`.forms`). docs/theory/many-levels.md has both.
"""

from __future__ import annotations

from planner.solvers.counts import DesignProblem
from planner.solvers.forms import Forms
from planner.solvers.one_window import bound_of_one_window
from planner.solvers.relaxed_bound import Relaxed

MOST_LEVELS = 28
"""Levels for which all windows' matrices are found together: a step then takes 0.1 seconds."""

_ROUGH_BOUND = 1e-3  # a bound for which one window's matrix is not worth its time


def relaxed(problem: DesignProblem, close: float = 1e-6) -> Relaxed:
    """The bound of a problem, per item, to about ``close`` of the best that this way can prove.

    With one window it is by its best multipliers, or by forms, whichever proves more; else by
    forms, and with few levels once more with whole counts. Where digits end early it is weaker, at
    worst ``-inf``.

    Examples
    --------
    >>> import numpy as np
    >>> from planner.policy.policy import PrivacyPolicy
    >>> from planner.solvers.rays import windows_of
    >>> policy = PrivacyPolicy(np.linspace(1, 3, 12), [20] * 12, "avg")
    >>> windows = windows_of(policy, np.arange(12))
    >>> found = relaxed(DesignProblem(policy.item_counts, windows, np.ones(12)))
    >>> round(240 * float(found.bounds[0]), 3)  # the best table has 290.489
    282.894
    """
    (k, t) = problem.windows.low.shape
    (low, high) = problem.windows
    alone = k == 1 and low.max() < high.min() and problem.prior is None
    # At tiny budgets forms have fewer digits than what is nearly explicit.
    if alone and (t > MOST_LEVELS or close > _ROUGH_BOUND or problem.near > 0):
        return bound_of_one_window(problem)
    forms = Forms(problem)
    bounds = [forms.proven(forms.solved(close))]
    if alone:  # where budgets differ much, digits for the other end early
        bounds.append(bound_of_one_window(problem))
    return max(bounds, key=lambda bound: bound.bounds[0])
