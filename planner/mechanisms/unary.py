"""Unary encoding with one pair of bit probabilities per privacy level: IDUE, RAPPOR, OUE."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner import arguments
from planner.errors import InputError, VerificationError
from planner.limits import DENOMINATOR
from planner.mechanisms import inputs
from planner.mechanisms.bernoulli import BernoulliRows, thresholds_above, thresholds_below
from planner.mechanisms.counting import Aggregate
from planner.mechanisms.packed import bit_counts, check_reports, words_for
from planner.mechanisms.plain import FrequencyMechanism
from planner.mechanisms.words import Words, map_rows, rows_per_chunk, seeded_words
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
        Level number of each item, shape ``(m,)``, with as many items per level as the
        policy says; when omitted, the first ``m_1`` items are in level 0, and so on.

    Raises
    ------
    InputError
        The assignment does not fit the policy, or a level's probabilities are
        closer than the grid of 2^-32 can express.
    VerificationError
        The table breaks its own policy.

    Examples
    --------
    >>> mechanism = UnaryMechanism.rappor(np.log(4), items=5)
    >>> reports = mechanism.perturb([0] * 600 + [3] * 400, np.random.default_rng(1))
    >>> reports.shape, reports.dtype
    ((1000, 1), dtype('uint64'))
    >>> mechanism.estimate(mechanism.aggregate(reports)).values.round().tolist()
    [563.0, 32.0, -34.0, 389.0, 26.0]
    """

    table: UnaryTable
    level_of: NDArray[np.int64] = None  # type: ignore[assignment]
    _a: NDArray[np.uint32] = field(init=False, repr=False)
    _b: NDArray[np.uint32] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        policy = self.table.policy
        set_field = object.__setattr__
        set_field(self, "level_of", levels_of_items(self.level_of, policy))
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

    def perturb(self, values: ArrayLike, rng: np.random.Generator) -> NDArray[np.uint64]:
        """Packed reports, uint64, shape ``(n, words)``; see :mod:`planner.mechanisms.packed`.

        Parameters
        ----------
        values:
            One item number per user, from 0, shape ``(n,)``.
        rng:
            Seeds the draws; the result does not depend on the number of processors.
        """
        true = inputs.item_numbers(values, self.items)
        rng = inputs.generator(rng)
        return draw_reports(true, self._a[self.level_of], self._b[self.level_of], seeded_words(rng))

    def aggregate(self, reports: NDArray[Any]) -> Aggregate:
        """How many reports set each bit, shape ``(items,)``."""
        checked = check_reports(reports, self.items)
        return Aggregate(len(checked), bit_counts(checked, self.items))

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


def levels_of_items(level_of: ArrayLike | None, policy: PrivacyPolicy) -> NDArray[np.int64]:
    """Level number of each item, shape ``(m,)``, checked against ``policy``.

    Without an assignment the first ``m_1`` items are in level 0, and so on.

    Raises
    ------
    InputError
        A level does not exist, or has another number of items in the policy.
    """
    if level_of is None:
        levels = np.repeat(np.arange(policy.size), policy.item_counts)
    else:
        levels = inputs.item_numbers(level_of, policy.size, "level_of").copy()
    for i in np.flatnonzero(np.bincount(levels, minlength=policy.size) != policy.item_counts):
        allowed = f"{policy.item_counts[i]}, as the policy says"
        remedy = "Change level_of, or the item_counts of the policy."
        raise InputError(f"items in level {i}", int(np.sum(levels == i)), allowed, remedy)
    levels.setflags(write=False)
    return levels


def _one_level(
    epsilon: float, items: int, a: NDArray[np.float64], b: NDArray[np.float64], model: str
) -> UnaryTable:
    policy = PrivacyPolicy([epsilon], [inputs.item_count(items)])
    return UnaryTable(policy, a, b, model, "closed form")
