"""Bounds on all mechanisms without a search, for any number of levels.

Of one window they are nearly explicit (:mod:`.one_window`); of several, or of assumed people, one
matrix a window proves them (:mod:`.forms`). docs/theory/many-levels.md has both.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from planner.arrays import Array
from planner.solvers.counts import DesignProblem
from planner.solvers.forms import BEGUN, Forms
from planner.solvers.one_window import bound_of_one_window
from planner.solvers.relaxed_bound import Relaxed, box_of

MOST_LEVELS = 28
"""Levels for which all windows' matrices are found together: a step then takes 0.1 seconds."""

# levels and bounds for which whole counts are worth a program
_MOST_CUT = 16
_WORTH_CUTS = 1e-3


def relaxed(problem: DesignProblem, close: float = 1e-6) -> Relaxed:
    """The bound of a problem, per item, to about ``close`` of the best that this way can prove.

    With one window it is by its best multipliers, or by forms, whichever proves more; else by
    forms, and with few levels once more with whole counts. Where digits end early it is weaker, at
    worst ``-inf``.

    Examples
    --------
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
    if alone and (t > MOST_LEVELS or close > _WORTH_CUTS or problem.near > 0):
        return bound_of_one_window(problem)
    cut = k > 1 and t <= _MOST_CUT and problem.spread is None and close <= _WORTH_CUTS
    forms = Forms(problem)
    begun = forms.solved(BEGUN if cut else close)
    bounds = [forms.proven(forms.solved(close, begun) if cut else begun)]
    if alone:  # where budgets differ much, digits for the other end early
        bounds.append(bound_of_one_window(problem))
    if cut:
        forms = Forms(problem, _floors(problem, bounds[0]))
        with suppress(np.linalg.LinAlgError):  # digits are used up
            bounds.append(forms.proven(forms.solved(close, forms.cut(begun))))
    return max(bounds, key=lambda bound: bound.bounds[0])


def _floors(problem: DesignProblem, bound: Relaxed) -> Array:
    """The whole counts just below those where a bound is reached, ``(k, t)``."""
    m = problem.item_counts
    (low, high) = box_of(problem)
    gap = high - low
    share = np.divide(bound.mean - low, gap, out=np.zeros_like(low), where=gap > 0)
    floors = np.floor(np.clip(share * m + 1e-6, 0, m - 1))
    # The only item of a level has no count between its two: below both is one that cuts nothing.
    return np.where(m > 1, floors, -1.0)
