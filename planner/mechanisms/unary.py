"""Unary encoding with one pair of bit probabilities per privacy level: IDUE, RAPPOR, OUE."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from planner import arguments
from planner.errors import InputError, VerificationError
from planner.limits import DENOMINATOR
from planner.mechanisms import inputs
from planner.mechanisms.bernoulli import BernoulliRows, thresholds_above, thresholds_below
from planner.mechanisms.packed import words_for
from planner.mechanisms.plain import FrequencyMechanism
from planner.mechanisms.words import Words, map_rows, rows_per_chunk
from planner.policy import logodds
from planner.policy.policy import PrivacyPolicy
from planner.solvers.answers import UnaryTable

ROUNDING = 1e-12
"""What the logarithms here may err by, in nats; the thresholds are rounded inward by more."""


@dataclass(frozen=True, slots=True, eq=False)
class UnaryMechanism(FrequencyMechanism):
    """Unary encoding: one bit per item, every bit randomised independently.

    Output law: bit ``k`` is 1 with probability ``a`` of the item's level if the
    user's item is ``k``, else with probability ``b`` of the level. Both are drawn
    exactly as integers over 2^32, ``a`` rounded down and ``b`` up, so that no pair
    of items becomes easier to tell apart.

    Variance of an estimated count: ``n b(1-b)/(a-b)^2 + c (1-a-b)/(a-b)``, exact.

    Source: IDUE paper, section V-B; RAPPOR: Erlingsson et al. (CCS 2014); OUE: Wang
    et al. (USENIX Security 2017).

    Parameters
    ----------
    table:
        Bit probabilities per level, and the policy they keep.
    level_of:
        Level number of each item, shape ``(m,)``; when omitted, the first ``m_1`` items are in
        level 0, and so on.

    Raises
    ------
    InputError
        The assignment does not fit the policy, or a level's probabilities are closer than the grid
        of 2^-32 can express.
    VerificationError
        The table breaks its own policy.

    Examples
    --------
    >>> mechanism = UnaryMechanism.rappor(np.log(4), items=5)
    >>> counts = mechanism.draw_aggregate([600, 0, 0, 400, 0], np.random.default_rng(1))
    >>> mechanism.estimate(counts).values.round().tolist()
    [614.0, 17.0, 68.0, 419.0, -1.0]
    """

    table: UnaryTable
    level_of: NDArray[np.int64] = None  # type: ignore[assignment]
    _a: NDArray[np.uint32] = field(init=False, repr=False)
    _b: NDArray[np.uint32] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        policy = self.table.policy
        set_field = object.__setattr__
        in_order = np.repeat(np.arange(policy.size), policy.item_counts)
        levels = in_order if self.level_of is None else np.array(self.level_of)
        if not np.array_equal(np.bincount(levels, minlength=policy.size), policy.item_counts):
            allowed = f"a level of each item, with {policy.item_counts.tolist()} of each"
            raise InputError("level_of", levels, allowed, "Change it, or the policy's item_counts.")
        set_field(self, "level_of", levels)
        a, b = thresholds_below(self.table.a), thresholds_above(self.table.b)
        for i in np.flatnonzero(b >= a):  # a below 1 and b above 0 stay so when rounded inward
            pair = (float(self.table.a[i]), float(self.table.b[i]))
            allowed = "further apart than 2^-32"
            raise InputError(f"(a, b) of level {i}", pair, allowed, "Change the level's budget.")
        set_field(self, "_a", a.astype(np.uint32))
        set_field(self, "_b", b.astype(np.uint32))
        s, w = self.log_odds()
        excess = float(np.max(s - policy.room(w)))
        if excess > ROUNDING:
            raise VerificationError(f"the table exceeds a pair's budget by {excess:.3g} nats")

    @classmethod
    def rappor(cls, epsilon: float, items: int) -> UnaryMechanism:
        """Basic RAPPOR (symmetric unary encoding): ``a = 1 - b = e^(eps/2) / (e^(eps/2) + 1)``."""
        half = np.array([arguments.budget("epsilon", epsilon) / 2])
        a, b = logodds.from_log_odds(half, half)
        return cls(_one_level(epsilon, items, a, b, "rappor"))

    @classmethod
    def oue(cls, epsilon: float, items: int) -> UnaryMechanism:
        """Optimised unary encoding: ``a = 1/2``, ``b = 1 / (e^eps + 1)``."""
        b = 1 / (np.exp([arguments.budget("epsilon", epsilon)]) + 1)
        return cls(_one_level(epsilon, items, np.array([0.5]), b, "oue"))

    @property
    def items(self) -> int:  # type: ignore[override]
        """Number of items, ``m``."""
        return self.level_of.size

    @property
    def a(self) -> NDArray[np.float64]:
        """``Pr[bit k is 1 | item k]`` as really drawn, shape ``(items,)``."""
        return self._a[self.level_of] / DENOMINATOR

    @property
    def b(self) -> NDArray[np.float64]:
        """``Pr[bit k is 1 | another item]`` as really drawn, shape ``(items,)``."""
        return self._b[self.level_of] / DENOMINATOR

    @property
    def thresholds(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """``(a, b)`` per level as integers over 2^32, each of shape ``(t,)``."""
        return self._a, self._b

    def log_odds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """``(s, w)`` per level of the law really drawn, see :mod:`planner.policy.logodds`."""
        return logodds.to_log_odds(self._a / DENOMINATOR, self._b / DENOMINATOR)

    def privacy_loss(self) -> float:
        """Largest of :meth:`pair_losses`, in nats; 0.0 if there is only one item."""
        losses = self.pair_losses()
        return float(np.nanmax(losses)) if self.items > 1 else 0.0

    def pair_losses(self) -> NDArray[np.float64]:
        """Realised budget of every pair of levels, in nats, shape ``(t, t)``.

        A report distinguishes items of levels ``i`` and ``j`` best by bit ``i`` set and
        bit ``j`` not: ``ln[a_i (1-b_j) / (b_i (1-a_j))]``, or the other way round. NaN
        on the diagonal of a level with a single item, which has no pair.
        """
        s, w = self.log_odds()
        losses = s[:, None] + w[None, :]
        losses = np.maximum(losses, losses.T)
        alone = self.table.policy.item_counts == 1
        losses[np.diag_indices(s.size)] = np.where(alone, np.nan, s + w)
        return losses


def draw_reports(
    true: NDArray[np.int64],
    a: NDArray[np.uint32],
    b: NDArray[np.uint32],
    words: Words,
) -> NDArray[np.uint64]:
    """Packed unary reports for checked item numbers; ``a``, ``b`` over 2^32, one per item."""
    width = words_for(a.size)
    chunk = rows_per_chunk(width)
    reports = np.empty((true.size, width), dtype=np.uint64)
    noise = BernoulliRows(b, min(chunk, true.size))
    children = words.split(-(-true.size // chunk))

    def draw(part: slice, i: int) -> None:
        rows, items = reports[part], true[part]
        noise.fill(rows, children[i])
        heads = children[i].half(items.size) < a[items]
        place = (np.arange(items.size), items >> 6)
        shift = (items & 63).astype(np.uint64)
        rows[place] &= ~(np.uint64(1) << shift)  # the true bit has its own law
        rows[place] |= heads.astype(np.uint64) << shift

    map_rows(draw, true.size, chunk)
    return reports


def _one_level(
    epsilon: float, items: int, a: NDArray[np.float64], b: NDArray[np.float64], model: str
) -> UnaryTable:
    policy = PrivacyPolicy([epsilon], [inputs.item_count(items)])
    return UnaryTable(policy, a, b, model, "closed form")
