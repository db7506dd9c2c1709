"""Which pairs of likelihoods the levels may have in one report: the windows of a pair rule.

In an extreme ray of the cone of allowed outputs every level has at most two values. A
*window* is one choice of ``ln low_i <= ln high_i`` for all levels; the rays of a policy are
the splits of the items over the ends of finitely many windows (docs/theory/designs.md).
This is the one place that knows the pair rules apart.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.policy.policy import PrivacyPolicy

__all__ = ["Windows", "windows_of"]

Array = NDArray[np.float64]


class Windows(NamedTuple):
    """Natural logarithms of the two likelihoods, each of shape ``(windows, t)``."""

    low: Array
    high: Array


def windows_of(policy: PrivacyPolicy) -> Windows:
    """All windows of a policy; superfluous ones are harmless.

    Examples
    --------
    >>> windows = windows_of(PrivacyPolicy([1.0, 1.5, 4.0], [2, 2, 2]))
    >>> windows.low.tolist(), windows.high.tolist()
    ([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [1.0, 0.5, 0.0]],
     [[1.0, 1.0, 1.0], [1.0, 1.5, 1.5], [1.0, 1.5, 2.0]])
    """
    if policy.rule_name == "min":
        return _min_windows(policy.epsilons)
    half = policy.epsilons[None, :] / 2
    return Windows(half.max() - half, half.max() + half)


def _min_windows(epsilons: Array) -> Windows:
    """``[max(0, E - eps_i), min(E, eps_i)]`` for every range ``E`` that can be tight."""
    most = 2 * epsilons.min()
    ranges = set(epsilons[epsilons <= most].tolist())
    if epsilons.max() >= most:
        ranges.add(float(most))
    E = np.array(sorted(ranges))[:, None]
    return Windows(np.maximum(0.0, E - epsilons), np.minimum(E, epsilons))
