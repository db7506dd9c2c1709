"""Direct encoding with one row per input: generalised randomised response for unequal budgets."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import floor

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.errors import InputError
from planner.limits import DENOMINATOR
from planner.mechanisms import inputs
from planner.mechanisms.aggregate import Aggregate
from planner.mechanisms.frequency import ItemReports
from planner.mechanisms.unary import levels_of_items
from planner.policy.policy import PrivacyPolicy

_WEIGHTS = 2.0**50  # total of the integer weights, about: fine enough, and exact in doubles


@dataclass(frozen=True, slots=True, eq=False)
class DirectEncoding(ItemReports):
    """Report the item itself, or one drawn by weights that favour the sensitive items.

    Output law: ``Pr[y = x] = q_x + d`` and ``Pr[y = j] = q_j`` for every other item ``j``, with
    ``d + sum_j q_j = 1``: the truth with probability ``d``, else an item by weights. A report
    ``j`` tells its own input from another by ``(q_j + d) / q_j``, so privacy is one row per
    input, ``d <= (e^R_j - 1) q_j`` with ``R_j`` the smallest pair budget of ``j``'s level.

    Variance of an estimated count: ``n q(1-q)/d^2 + c (1-2q-d)/d``. With ``z_j = q_j / d``, so
    that ``1/d = 1 + sum z``, the worst-case total per user is ``sum_k z_k (1 + sum_(j != k) z_j)
    + max_k (sum z - 2 z_k)``, which falls in no ``z``: every row binds at the optimum,
    ``q_j = d / (e^R_j - 1)``, ``d = 1 / (1 + sum_j 1/(e^R_j - 1))``. This is also the largest
    ``d``, the linear program of Sampling Privacy's second round (its eq. 12 to 16).

    Under the rule min every ``R_j`` is the smallest budget, and this is generalised randomised
    response; only the rule avg and policy graphs make a difference.

    Parameters
    ----------
    policy:
        The levels and pair budgets.
    level_of:
        Level number of each item, shape ``(m,)``; when omitted, the first ``m_1`` items are in
        level 0, and so on.

    Raises
    ------
    InputError
        Fewer than two items, a wrong assignment, or budgets too small for a grid of 2^-32.

    Examples
    --------
    >>> mechanism = DirectEncoding(PrivacyPolicy([1.0, 3.0], [1, 4], rule="avg"))
    >>> mechanism.a.round(3).tolist(), mechanism.b.round(3).tolist()
    ([0.716, 0.524, 0.524, 0.524, 0.524], [0.264, 0.071, 0.071, 0.071, 0.071])
    """

    policy: PrivacyPolicy
    level_of: NDArray[np.int64] = None  # type: ignore[assignment]
    _weights: NDArray[np.int64] = field(init=False, repr=False)
    _truth: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        policy, set_field = self.policy, object.__setattr__
        inputs.item_count(int(policy.item_counts.sum()))
        set_field(self, "level_of", levels_of_items(self.level_of, policy))
        gain = np.expm1(policy.room(np.zeros(policy.size)))  # e^R - 1 per level
        shares = policy.item_counts / gain
        weights = np.ceil(_WEIGHTS / gain / shares.sum()).astype(np.int64)
        total = int(weights @ policy.item_counts)
        odds = float(np.min(gain * weights)) / total  # largest d / (1 - d) that keeps all rows
        # Doubles err by less than 1e-14.
        truth = floor(odds / (1 + odds) * DENOMINATOR * (1 - 1e-14))
        if truth < 1:
            allowed = f"large enough for {total} items on a grid of 2^-32"
            raise InputError("epsilons", policy.epsilons.tolist(), allowed, "Raise them.")
        set_field(self, "_weights", weights)
        set_field(self, "_truth", truth)

    @property
    def items(self) -> int:  # type: ignore[override]
        """Number of items, ``m``."""
        return self.level_of.size

    @property
    def d(self) -> float:
        """Probability of reporting the truth outright, as really drawn."""
        return self._truth / DENOMINATOR

    @property
    def a(self) -> NDArray[np.float64]:
        """``Pr[y = k | item k]``, shape ``(items,)``."""
        return self.b + self.d

    @property
    def b(self) -> NDArray[np.float64]:
        """``q_k = Pr[y = k | another item]``, shape ``(items,)``."""
        total = int(self._weights @ self.policy.item_counts)
        return ((1 - self.d) * self._weights / total)[self.level_of]

    def perturb(self, values: ArrayLike, rng: np.random.Generator) -> NDArray[np.int64]:
        """Reported item numbers, int64, shape ``(n,)``."""
        true = inputs.item_numbers(values, self.items)
        coin = inputs.generator(rng).integers(DENOMINATOR, size=true.size, dtype=np.uint64)
        ends = np.cumsum(self._weights[self.level_of])
        other = np.searchsorted(ends, rng.integers(ends[-1], size=true.size), side="right")
        return np.where(coin < np.uint64(self._truth), true, other)

    def draw_aggregate(self, true_counts: ArrayLike, rng: np.random.Generator) -> Aggregate:
        """Exact joint law: truthful users per item, the rest multinomial by the weights."""
        counts = inputs.true_counts(true_counts, self.items)
        kept = inputs.generator(rng).binomial(counts, self.d)
        n = int(counts.sum())
        return Aggregate(n, kept + rng.multinomial(n - int(kept.sum()), self.b / self.b.sum()))

    def privacy_loss(self) -> float:
        """``max_k ln(1 + d / q_k)``, in nats."""
        return float(np.log1p(self.d / self.b).max())

    def output_law(self) -> NDArray[np.float64]:
        """``Pr[y | x]``, shape ``(items, items)``."""
        return np.tile(self.b, (self.items, 1)) + self.d * np.eye(self.items)
