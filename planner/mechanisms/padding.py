"""Padding and sampling: item sets through a unary mechanism (IDUE-PS, RAPPOR-PS, OUE-PS)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from planner.arguments import whole_number
from planner.designs.set_design import dummy_level
from planner.errors import InputError
from planner.estimates.truncation import LongerSets, TruncatedEstimates
from planner.limits import DENOMINATOR, MAX_PADDING_LENGTH
from planner.mechanisms import inputs
from planner.mechanisms.aggregate import Aggregate
from planner.mechanisms.itemsets import ItemSets, as_sets
from planner.mechanisms.packed import bit_counts, check_reports
from planner.mechanisms.unary import UnaryMechanism, draw_reports, unary_law
from planner.mechanisms.words import seeded_words
from planner.policy import logodds
from planner.policy.policy import require_set_budgets

Sets = ItemSets | Iterable[Sequence[int]]


class PaddedMechanism(ABC):
    """What padding and sampling do whatever reports the sampled item."""

    __slots__ = ()

    takes_sets: ClassVar[bool] = True
    """Whether a person's answer is a set of items."""
    padding_length: int

    @property
    @abstractmethod
    def items(self) -> int:
        """Number of items without dummies, ``m``."""

    @property
    @abstractmethod
    def item_budgets(self) -> NDArray[np.float64]:
        """The budget of each item and, last, of a dummy, in nats, shape ``(items + 1,)``."""

    def expectation(self, sets: Sets) -> NDArray[np.float64]:
        """Exact mean of the estimates, ``l sum_u P_u(k)``, shape ``(items,)``, in users."""
        sums = as_sets(sets, self.items).sampling_sums(self.padding_length)
        return self.padding_length * sums[0]

    def bias(self, sets: Sets) -> NDArray[np.float64]:
        """Exact bias of the estimates, not positive, shape ``(items,)``, in users."""
        checked = as_sets(sets, self.items)
        return self.expectation(checked) - checked.counts()


@dataclass(frozen=True, slots=True, eq=False)
class PaddedUnaryMechanism(PaddedMechanism):
    """A unary mechanism for item sets: pad or truncate to ``l`` items, sample one, encode it.

    Algorithms 1 and 2 of the IDUE paper. There are ``m + l`` bits; the last ``l``
    belong to dummy items, which have the probabilities of the level with the
    smallest budget.

    Output law: with ``P_u(k) = 1 / max(|x_u|, l)`` if item ``k`` is in the set ``x_u``
    and 0 if not (dummies share the rest equally), the sampled item ``k`` has probability
    ``P_u(k)`` and is reported by unary encoding. So bit ``k`` is 1 with probability
    ``q_u = b_k + (a_k - b_k) P_u(k)``.

    The estimate ``l (count - n b)/(a - b)`` has mean ``l sum_u P_u(k)``: unbiased if no
    set has more than ``l`` items, too small if some have. Its variance is
    ``l^2 / (a-b)^2 sum_u q_u (1-q_u)``, exact.

    Privacy (theorem 4, eq. 18; read its eq. 17 with the denominator ``b_i (1-a_j)``): the
    log-ratio between two sets is at most the smaller of their budgets by eq. 16, see
    :func:`set_budgets`. This needs the pair rows ``(i, i)`` also in levels of one item,
    as two sets sample the same level's dummy and item; every table keeps them.

    Parameters
    ----------
    unary:
        The mechanism for single items.
    padding_length:
        ``l``, a whole number of at least 1. Short sets lose little when it is large, but
        the variance grows with its square.
    longer:
        What is known of sets that are longer, for the upper limits of estimates, which are
        not claimed without it. It changes no report.

    Raises
    ------
    InputError
        The padding length is not a whole number of at least 1, or ``longer`` is of another one.

    Examples
    --------
    >>> unary = UnaryMechanism.oue(2.0, items=4)
    >>> mechanism = PaddedUnaryMechanism(unary, padding_length=2)
    >>> sets = [[0, 1], [0], [0, 2, 3], []]
    >>> mechanism.bias(sets).round(4).tolist()
    [-0.3333, 0.0, -0.3333, -0.3333]
    """

    unary: UnaryMechanism
    padding_length: int
    longer: LongerSets | None = None

    def __post_init__(self) -> None:
        inputs.item_count(self.unary.items, least=1)
        longer = checked_padding(self.padding_length, self.longer, self.items)
        object.__setattr__(self, "longer", longer)

    @property
    def items(self) -> int:
        """Number of items without the dummies, ``m``."""
        return self.unary.items

    @property
    def dummy_level(self) -> int:
        """The level whose probabilities the dummy items have: the smallest budget."""
        return dummy_level(self.unary.table.policy)

    @property
    def item_budgets(self) -> NDArray[np.float64]:
        """The budget of each item and, last, of a dummy, in nats, shape ``(m + 1,)``.

        Raises
        ------
        InputError
            The policy's rule is not ``"min"``, for which alone the paper defines set budgets.
        """
        policy = self.unary.table.policy
        require_set_budgets(policy)
        return policy.epsilons[np.append(self.unary.level_of, self.dummy_level)]

    def perturb(self, sets: Sets, rng: np.random.Generator) -> NDArray[np.uint64]:
        """Packed reports over ``m + l`` bits, uint64, shape ``(n, words)``.

        Parameters
        ----------
        sets:
            One list of distinct item numbers per user, or :class:`ItemSets`.
        rng:
            Seeds the draws.
        """
        checked = as_sets(sets, self.items)
        sampled = sample_items(checked, self.padding_length, inputs.generator(rng))
        a, b = (threshold[self._levels()] for threshold in self.unary.thresholds)
        return draw_reports(sampled, a, b, seeded_words(rng))

    def aggregate(self, reports: NDArray[Any]) -> Aggregate:
        """How many reports set each item's bit, shape ``(items,)``; dummies are dropped."""
        total = self.items + self.padding_length
        checked = check_reports(reports, total)
        return Aggregate(len(checked), bit_counts(checked, self.items))

    def estimate(self, aggregate: Aggregate) -> TruncatedEstimates:
        """Counts with standard errors, shape ``(items,)``, in users.

        Unbiased unless sets were truncated; intervals allow for that by :attr:`longer`. The
        standard errors take the reports as
        independent draws, ``l sqrt(n f (1-f)) / (a-b)`` with the observed share ``f``: never
        too small on average, as ``sum_u q_u (1-q_u)`` is at most that.

        Raises
        ------
        InputError
            No users, or counts of the wrong shape.
        """
        once = self.unary.estimate(aggregate)
        a, b = self.unary.a, self.unary.b
        share = np.clip(aggregate.counts / aggregate.users, b, a)
        spread = np.sqrt(aggregate.users * share * (1 - share)) / (a - b)
        length = self.padding_length
        null = length * once.null_standard_errors
        values = length * once.values
        return TruncatedEstimates(values, length * spread, null, aggregate.users, self.longer)

    def variance(self, sets: Sets) -> NDArray[np.float64]:
        """Exact variance of the estimates for these sets, shape ``(items,)``, in users squared."""
        checked = as_sets(sets, self.items)
        once, twice = checked.sampling_sums(self.padding_length)
        a, b = self.unary.a, self.unary.b
        noise, length = self.variance_terms()[0], self.padding_length
        return checked.users * noise + length**2 * (once * (1 - 2 * b) / (a - b) - twice)

    @property
    def largest_set(self) -> int:
        """Items per user for which :meth:`variance_terms` hold: ``l``, or all if fewer."""
        return min(self.padding_length, self.items)

    def variance_terms(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """``(noise, signal)``: variance per user, and extra per user who has the item.

        For sets of at most ``l`` items, where nothing is truncated. Each of shape ``(items,)``:
        ``noise = l^2 b(1-b)/(a-b)^2``, ``signal = l (1-2b)/(a-b) - 1``.
        """
        a, b, length = self.unary.a, self.unary.b, self.padding_length
        noise = length**2 * logodds.noise_from_probabilities(a, b)
        return noise, length * (1 - 2 * b) / (a - b) - 1

    def draw_aggregate(self, sets: Sets, rng: np.random.Generator) -> Aggregate:
        """An aggregate with the law that perturbing everybody would give, without reports.

        Every user samples an item; the reports of the samples are drawn as counts.
        """
        checked = as_sets(sets, self.items)
        sampled = sample_items(checked, self.padding_length, inputs.generator(rng))
        counts = np.bincount(sampled, minlength=self.items)[: self.items]
        rest = checked.users - counts
        ones = rng.binomial(counts, self.unary.a) + rng.binomial(rest, self.unary.b)
        return Aggregate(checked.users, ones)

    def privacy_loss(self) -> float:
        """Largest log-ratio between any two sets, in nats.

        ``max_i s_i + max_j w_j`` over items and dummies. It is attained when the levels
        that attain the two maxima have enough items to fill two sets, and is
        an upper bound otherwise.
        """
        s, w = self.unary.log_odds()
        return float(s.max() + w.max())

    def output_law(self) -> NDArray[np.float64]:
        """``Pr[report | set]``, shape ``(2^m, 2^(m+l))``, sets and reports read as numbers."""
        levels = self._levels()
        a, b = (threshold[levels] / DENOMINATOR for threshold in self.unary.thresholds)
        bits = unary_law(a, b)
        member = (np.arange(2**self.items)[:, None] >> np.arange(self.items)) & 1
        slots = np.maximum(member.sum(axis=1), self.padding_length)[:, None]
        chance = member / slots
        dummies = (1 - chance.sum(axis=1, keepdims=True)) / self.padding_length
        sampling = np.hstack([chance, np.repeat(dummies, self.padding_length, axis=1)])
        return sampling @ bits

    def report_index(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """The report's bits read as a number."""
        total = self.items + self.padding_length
        return check_reports(reports, total)[:, 0].astype(np.int64)

    def _levels(self) -> NDArray[np.int64]:
        dummies = np.full(self.padding_length, self.dummy_level)
        return np.concatenate([self.unary.level_of, dummies])


def checked_padding(length: int, longer: LongerSets | None, items: int) -> LongerSets | None:
    """What is known of sets longer than the padding length, if both fit each other.

    Raises
    ------
    InputError
        The padding length is not a whole number in its range, or ``longer`` is of another one.
    """
    remedy = "Take about the number of items that a user has."
    whole_number("padding_length", length, 1, MAX_PADDING_LENGTH, remedy)
    if longer is None:
        return LongerSets(length, (), ()) if length >= items else None  # no set is longer
    if longer.padding_length != length:
        remedy = "Ask the model of the sets for this padding length."
        stated = longer.padding_length
        raise InputError("padding_length of longer", stated, f"{length}", remedy)
    return longer


def sample_items(sets: ItemSets, length: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """One item per user, dummies numbered after the items, shape ``(n,)``.

    Truncating and then sampling is sampling from the whole set.
    """
    slot = rng.integers(np.maximum(sets.sizes, length))
    dummy = sets.items + rng.integers(length, size=sets.users)
    real = slot < sets.sizes
    sampled = dummy
    sampled[real] = sets.members[(sets.starts[:-1] + slot)[real]]
    return sampled


def set_budgets(mechanism: PaddedMechanism, sets: Sets) -> NDArray[np.float64]:
    """Budget of each set by eq. 16, in nats, shape ``(n,)``.

    ``eps_x = ln[eta_x mean(e^eps_i, i in x) + (1 - eta_x) e^eps*]`` with
    ``eta_x = |x| / max(|x|, l)`` and ``eps*`` the budget of the dummy items, the smallest.

    Raises
    ------
    InputError
        The policy's rule is not ``"min"``, for which alone the paper defines set budgets.

    Examples
    --------
    >>> mechanism = PaddedUnaryMechanism(UnaryMechanism.oue(2.0, items=4), padding_length=2)
    >>> set_budgets(mechanism, [[0, 1], [0], []]).round(6).tolist()
    [2.0, 2.0, 2.0]
    """
    odds = np.exp(mechanism.item_budgets)
    checked = as_sets(sets, mechanism.items)
    size, length = checked.sizes, mechanism.padding_length
    user = np.repeat(np.arange(checked.users), size)
    total = np.bincount(user, odds[checked.members], checked.users)
    dummies = np.maximum(length - size, 0) * odds[-1]
    return np.log((total + dummies) / np.maximum(size, length))
