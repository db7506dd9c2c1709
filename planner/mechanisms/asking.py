"""The ways of asking with NumPy: answers of many people, and rows of estimates."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.errors import InputError
from planner.estimates.channel import ChannelEstimates, OrderedEstimates, large_sample
from planner.estimates.counts import Estimates
from planner.estimates.rows import AnswerRows, item_rows, ordered_rows, quantity_rows
from planner.estimates.truncation import (
    SIZES_MISS,
    LongerSets,
    TruncatedEstimates,
    set_estimates,
)
from planner.laws import answers
from planner.laws.answers import MEAN_OF_SCORES, Asked
from planner.laws.law import Halves, Law
from planner.limits import DENOMINATOR, MAX_COUNT
from planner.mechanisms.collected import Bits, Collected, Die, Hash, Rows
from planner.mechanisms.counting import Aggregate, stacked
from planner.mechanisms.counting import Rows as Reports
from planner.mechanisms.itemsets import ItemSets
from planner.mechanisms.means import mean_estimates
from planner.mechanisms.set_design import Staircase
from planner.mechanisms.subset_design import Sides
from planner.mechanisms.words import Words
from planner.survey.numeric_domain import NumericDomain

Numbers = NDArray[np.int64]
Longer = tuple[tuple[int, float], ...]


class Estimating(Asked):
    """What the collector's classes add."""

    @abstractmethod
    def own_many(self, codes: Sequence[Any], words: Words) -> Numbers:
        """What the reports of many people are about, shape ``(n,)``."""

    @abstractmethod
    def rows(self, found: Any, confidence: float) -> AnswerRows:
        """Rows of what a form of report has estimated."""

    def with_sizes(self, longer: Longer) -> Estimating:  # noqa: ARG002 - sets know better
        """The same with set sizes as they were asked for; InputError if it is not about sets."""
        remedy = "Name the question about sets first, then the one about their sizes."
        raise InputError("set_sizes", self.kind, "of a question about item sets", remedy)

    def set_sizes(self, found: Any = None) -> Longer:  # noqa: ARG002 - ordered answers know better
        """Numbers of items, each with an upper limit of the share with more than the last one.

        InputError unless answers are numbers of items; nothing where nothing was found yet.
        """
        remedy = "Ask for the number of items in a question of kind 'ordinal'."
        raise InputError("set_sizes", self.kind, "of a question about set sizes", remedy)


class Item(answers.Item, Estimating):
    """One item."""

    def own_many(self, codes: Sequence[Any], words: Words) -> Numbers:
        del words
        return np.array(codes, dtype=np.int64)

    def rows(self, found: Any, confidence: float) -> AnswerRows:
        names = self.levels.level_names(), self.levels.item_names()
        return item_rows(*names, found, found.on_simplex(), confidence)


class ItemOrNone(answers.ItemOrNone, Item):
    """One item, or none."""

    def rows(self, found: Any, confidence: float) -> AnswerRows:
        items = ["none of the values", *self.levels.item_names()]
        return item_rows(
            ["", *self.levels.level_names()], items, found, found.clipped(), confidence
        )


class Ordered(answers.Ordered, Item):
    """One of some ordered answers."""

    def rows(self, found: Any, confidence: float) -> AnswerRows:
        if self.wanted != MEAN_OF_SCORES:
            shares = self._shares(found, confidence)
            return ordered_rows(self.levels, self.order, shares, self.scores)
        (value,), ((variance,),) = found.values.tolist(), found.covariance.tolist()
        mean = large_sample(value, variance, confidence)
        possible = min(self.scores), max(self.scores)
        return quantity_rows(found.users, [("mean score", mean, possible)])

    def set_sizes(self, found: Any = None) -> Longer:
        whole = all(score.is_integer() and 0 <= score <= MAX_COUNT for score in self.scores)
        rising = all(low < high for low, high in pairwise(self.scores))
        if not (self.scores and whole and rising) or self.wanted == MEAN_OF_SCORES:
            allowed = f"whole numbers that rise from 0 to {MAX_COUNT:,}, not only their mean wanted"
            remedy = "Give each answer, as its score, the largest number of items it stands for."
            raise InputError("scores of set sizes", self.scores, allowed, remedy)
        if found is None:
            return ()
        below = self._shares(found, 1 - SIZES_MISS).band[0]
        return tuple(zip(map(int, self.scores), [1.0, *(1 - below[:-1]).tolist()], strict=True))

    def _shares(self, found: ChannelEstimates, confidence: float) -> OrderedEstimates:
        names = self.levels.item_names()
        in_order = tuple(names[k] for k in self.order)
        return OrderedEstimates(in_order, *found.of_shares_up_to(), confidence)


class Number(answers.Number, Estimating):
    """A number in a range, or none."""

    def own_many(self, codes: Sequence[Any], words: Words) -> Numbers:
        unit = np.array(codes, dtype=np.float64)  # None becomes NaN
        none, last = np.isnan(unit), self.points - 1
        share = (np.where(none, self.lower, unit) - self.lower) / (self.upper - self.lower) * last
        below = np.minimum(share.astype(np.int64), last - 1)
        threshold = ((share - below) * DENOMINATOR + 0.5).astype(np.int64)
        return np.where(none, self.points, below + (words.half(unit.size) < threshold))

    def rows(self, found: Any, confidence: float) -> AnswerRows:
        """Of the mean with Fieller's interval, the total, the missing rate; of yes and no too."""
        domain = NumericDomain(self.lower, self.upper, self.yes_no)
        estimates = mean_estimates(domain, found, confidence)
        quantities = (
            ("mean", estimates.mean, (domain.lower, domain.upper)),
            ("total", estimates.total, None),
            ("missing rate", estimates.missing_rate, (0.0, 1.0)),
            ("frequency", estimates.frequency, (0.0, 1.0)),
        )
        wanted = [(name, one, possible) for name, one, possible in quantities if one is not None]
        return quantity_rows(found.users, wanted)


class OneOfSet(answers.OneOfSet, Item):
    """One element of a set; some sets are cut."""

    def own_many(self, codes: Sequence[Any], words: Words) -> Numbers:
        lengths = np.array([len(code) for code in codes])
        slots = words.below(np.maximum(lengths, self.padding_length), lengths.size)
        own = self.levels.total + words.below(self.dummies, lengths.size)
        for u in np.flatnonzero(slots < lengths).tolist():
            own[u] = codes[u][slots[u]]
        return own

    def with_sizes(self, longer: Longer) -> OneOfSet:
        cut = ((size, share) for size, share in longer if size > self.padding_length and share > 0)
        return replace(self, longer_sets=tuple(cut))

    @property
    def longer(self) -> LongerSets | None:
        """Which sets are longer than the padding length, as stated or asked."""
        if self.longer_sets is None:
            return None
        sizes, shares = zip(*self.longer_sets, strict=True) if self.longer_sets else ((), ())
        return LongerSets(self.padding_length, sizes, shares)

    def rows(self, found: Any, confidence: float) -> AnswerRows:
        estimates, longer = self.scaled(found), self.longer
        names = self.levels.level_names(), self.levels.item_names()
        remark = _cut_remark(longer, self.padding_length, estimates.users)
        return item_rows(*names, estimates, estimates.clipped(), confidence, remark)

    def scaled(self, once: Estimates) -> TruncatedEstimates:
        """Counts of the sets, from those of the items that reports are about."""
        return set_estimates(once, self.levels.total, self.longer, self.padding_length)


class WholeSet(answers.WholeSet, OneOfSet):
    """A whole set; some sets are cut."""

    def own_many(self, codes: Sequence[Any], words: Words) -> Numbers:
        """What the reports are about, shape ``(n, padding length)``."""
        return ItemSets.of(codes, self.levels.total).padded(self.padding_length, words)

    def scaled(self, once: Estimates) -> TruncatedEstimates:
        """The counts."""
        return set_estimates(once, self.levels.total, self.longer)


def _cut_remark(longer: LongerSets | None, length: int, users: int) -> str:
    """What cutting long sets has done to the estimates, in people."""
    if longer is None:
        return (
            f"; sets of more than {length} items were cut and their number is not stated: "
            "counts are too small by an unknown number of people, without upper limits"
        )
    if not longer.sizes:
        return ""
    return (
        f"; sets of more than {length} items were cut: on average a count is too small by up "
        f"to {longer.largest_bias(users):,.0f} people, which the limits allow for"
    )


COLLECTOR = Halves(
    {one.name: one for one in (Bits, Sides, Rows, Staircase, Hash, Die)},
    {one.name: one for one in (Item, ItemOrNone, Ordered, Number, OneOfSet, WholeSet)},
)
"""The classes of :data:`~planner.laws.law.DEVICE`, each with its collector's half."""


@dataclass(frozen=True)
class CollectedLaw(Law):
    """The law of a question as a collector needs it."""

    asked: Estimating
    shape: Collected

    def estimate(self, rounds: Sequence[Aggregate], confidence: float) -> AnswerRows:
        """Estimates from the sums of each round, all of them with the same users."""
        return self.asked.rows(self.shape.estimate(stacked(rounds)), confidence)

    def draw_many(self, codes: Sequence[Any], words: Words) -> list[Reports]:
        """Reports of checked answers for each round; the client's law, drawn in bulk."""
        return self.shape.draw_many(self.asked.own_many(codes, words), words)
