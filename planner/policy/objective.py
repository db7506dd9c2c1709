"""What "small error" means: the objectives that stay convex in log-odds coordinates.

With ``noise_i`` and ``signal_i`` the two variance terms of level ``i`` (see
:mod:`planner.policy.logodds`), every objective has the shape

    sum_i (A_i noise_i + Q_i signal_i) + max_k (B_k noise_k + C_k signal_k)

per user, and differs only in the four coefficient vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from planner.arguments import number_column
from planner.arrays import Array
from planner.errors import InputError
from planner.policy.policy import PrivacyPolicy

OBJECTIVES = ("worst-case", "expected", "minimax")
LEAST_WEIGHT = 1e-6
"""Of the largest: what nobody minds is estimated all the same, and its error must have an end."""


class Coefficients(NamedTuple):
    """The four coefficient vectors of an objective, each of shape ``(t,)``."""

    noise_sum: Array
    signal_sum: Array
    noise_max: Array
    signal_max: Array

    def evaluate(self, noise: Array, signal: Array) -> float:
        """The objective at the levels' noise and signal variances."""
        # Linear in the noise and signal variances, with one maximum over levels.
        terms = self.noise_sum * noise + self.signal_sum * signal
        branches = self.noise_max * noise + self.signal_max * signal
        return float(terms.sum() + branches.max())


@dataclass(frozen=True, slots=True)
class Objective:
    """What the solver minimises, per user.

    Parameters
    ----------
    kind:
        ``"worst-case"`` (default): the total mean squared error for the least
        favourable true counts (IDUE paper, eq. 9). ``"expected"``: the exact
        expected total error under ``prior``. ``"minimax"``: the largest noise
        variance of any single item, from people who do not have it.
    weights:
        Importance of each level's error, not negative, not all zero; 1 when omitted. Below a
        millionth of the largest it counts as that.
    prior:
        For ``"expected"``: number of a user's true bits expected in each level,
        ``0 <= q_i <= m_i``; sums to 1 when everybody has exactly one item.

    Examples
    --------
    >>> policy = PrivacyPolicy([1.0, 2.0], [1, 4])
    >>> Objective("expected", prior=(0.1, 0.9)).coefficients(policy).signal_sum.tolist()
    [0.1, 0.9]
    """

    kind: str = "worst-case"
    weights: Sequence[float] | None = None
    prior: Sequence[float] | None = None

    def __post_init__(self) -> None:
        if self.kind not in OBJECTIVES:
            remedy = "Take worst-case if you know nothing of the answers' shares."
            raise InputError(
                "objective", self.kind, f"one of {', '.join(OBJECTIVES)}", remedy
            )
        for name in ("weights", "prior"):
            values = getattr(self, name)
            if values is None:
                continue
            column = number_column(name, values)
            for i in np.flatnonzero(column < 0)[:1]:
                remedy = "Give 0 for a level that does not count."
                raise InputError(f"{name}[{i}]", float(column[i]), "at least 0", remedy)
            object.__setattr__(self, name, tuple(column.tolist()))
        if (self.prior is None) == (self.kind == "expected"):
            remedy = 'Give a prior with the kind "expected", and only with it.'
            raise InputError(
                "prior", self.prior, f"right for the objective {self.kind!r}", remedy
            )

    def coefficients(
        self, policy: PrivacyPolicy, least: float = LEAST_WEIGHT
    ) -> Coefficients:
        """The objective's coefficients for the levels of ``policy``, which it must fit.

        Each level counts at least a share ``least`` of the most important: 0 is what was asked for.
        """
        counts = policy.item_counts.astype(np.float64)
        weights = self._per_level("weights", policy.size, default=1.0)
        none = np.zeros(policy.size)
        if not weights.any():
            remedy = "Give a larger weight to the levels that matter."
            raise InputError(
                "weights", self.weights, "above 0 for at least one level", remedy
            )
        # A weight of 0 would leave an optimum undetermined: a level counts a little at least.
        weights = np.maximum(weights, least * weights.max())
        # Least favourable counts put all people on one item: the largest weighted signal (eq. 9).
        if self.kind == "worst-case":
            return Coefficients(
                noise_sum=weights * counts,
                signal_sum=none,
                noise_max=none,
                signal_max=weights,
            )
        if self.kind == "minimax":
            return Coefficients(
                noise_sum=none,
                signal_sum=none,
                noise_max=weights,
                signal_max=none,
            )
        # The expected total is linear in the prior: signal counts for as many as have an item.
        prior = self._per_level("prior", policy.size, default=0.0)
        for i in np.flatnonzero(prior > counts):
            allowed = f"at most the level's number of items, {int(counts[i])}"
            remedy = "A prior is the share of people who have an item, summed over the level."
            raise InputError(f"prior[{i}]", float(prior[i]), allowed, remedy)
        return Coefficients(
            noise_sum=weights * counts,
            signal_sum=weights * prior,
            noise_max=none,
            signal_max=none,
        )

    def item_weights(self, policy: PrivacyPolicy, least: float = LEAST_WEIGHT) -> Array:
        """Importance of one item's error by level, for mechanisms that are no tables, ``(t,)``."""
        coefficients = self.coefficients(policy, least)
        if self.kind == "minimax":
            return coefficients.noise_max
        return coefficients.noise_sum / policy.item_counts

    def _per_level(self, name: str, size: int, default: float) -> Array:
        values = getattr(self, name)
        if values is None:
            return np.full(size, default)
        if len(values) != size:
            remedy = "Give them in the order of the levels."
            raise InputError(
                name, values, f"a list of {size} numbers, one per level", remedy
            )
        return np.array(values, dtype=np.float64)
