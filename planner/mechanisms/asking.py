"""The ways of asking with NumPy: answers of many people, and rows of estimates."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from planner.arrays import Array, Whole
from planner.errors import InputError
from planner.estimates.channel import (
    ChannelEstimates,
    NumericEstimates,
    OrderedEstimates,
    PopulationEstimates,
    large_sample,
    mean_of_scores,
    ratio,
)
from planner.estimates.item_sets import (
    SIZES_MISS,
    LongerSets,
    TruncatedEstimates,
    set_estimates,
)
from planner.estimates.report_law import ReportLaw
from planner.estimates.rows import AnswerRows, item_rows, ordered_rows, quantity_rows
from planner.laws import answers, item_sets
from planner.laws.answers import MEAN_OF_SCORES, Code, WayOfAsking
from planner.laws.law import Halves, Law
from planner.limits import CONFIDENCE, DENOMINATOR, MAX_COUNT
from planner.mechanisms.collected import (
    BitsCollected,
    Collected,
    DieCollected,
    Found,
    HashCollected,
    RowsCollected,
)
from planner.mechanisms.counting import Aggregate, Reports, stacked
from planner.mechanisms.inputs import ItemSets, OwnSums, generator, true_counts
from planner.mechanisms.set_design import OverlapCollected
from planner.mechanisms.subset_design import SidesCollected
from planner.mechanisms.words import Words, seeded_words
from planner.survey.levels import NumericDomain

if TYPE_CHECKING:  # readers of files start without what reads surveys
    from planner.survey.numeric import Numeric
    from planner.survey.questions import Question

Longer = tuple[tuple[int, float], ...]
People = Any
"""How many have each item; of numbers one a person, NaN for none; of sets one list a person."""


class NumericVariance(NamedTuple):
    """Variances of the estimated mean, total and missing rate, each in its unit squared."""

    mean: float
    total: float
    missing_rate: float


class AskedCollected(WayOfAsking):
    """The collector's half of a way of asking: estimates, their variance and bias, true counts."""

    @abstractmethod
    def own_many(self, codes: Sequence[Code], words: Words) -> Whole:
        """What the reports of many people are about, shape ``(n,)``."""

    @abstractmethod
    def rows(self, raw: Found, confidence: float) -> AnswerRows:
        """Rows of what a form of report has estimated."""

    @abstractmethod
    def estimates(self, raw: Found) -> Found:
        """Estimates of the answers, from those of what reports are about."""

    @property
    def longer(self) -> LongerSets | None:
        """Which sets are cut, as stated or asked; None where nothing is known."""
        return None

    def bias(self, people: People) -> Array:  # noqa: ARG002 - sets know better
        """How much too large estimates are on average: not at all, unless sets are cut."""
        return np.zeros(1)

    @abstractmethod
    def variance(self, shape: Collected, people: People) -> Found:
        """Variance of the estimates for these people."""

    def own_counts(self, people: People, rng: np.random.Generator) -> Whole:
        """How many of these people's reports are about each element."""
        elements = self.own_many(people, seeded_words(rng)).ravel()
        return np.bincount(elements, minlength=self.levels.elements)

    def of(self, question: Question) -> Self:
        """The way of asking with the items of a question, in its order."""
        levels = question.plain_levels.with_dummies(self.levels.dummies)
        return replace(self, levels=levels)

    def with_sizes(self, longer: Longer) -> AskedCollected:  # noqa: ARG002 - sets know better
        """The way of asking with set sizes as they were asked for; InputError if it has no sets."""
        allowed = "of a question about item sets"
        remedy = "Name the question about sets first, then the one about their sizes."
        raise InputError("set_sizes", self.kind, allowed, remedy)

    def set_sizes(self, raw: Found = None) -> Longer:  # noqa: ARG002 - ordered answers know better
        """Numbers of items, each with an upper limit of the share with more than the last one.

        InputError unless answers are numbers of items; nothing where nothing was found yet.
        """
        allowed = "of a question about set sizes"
        remedy = "Ask for the number of items in a question of kind 'ordinal'."
        raise InputError("set_sizes", self.kind, allowed, remedy)


class ItemCollected(answers.Item, AskedCollected):
    """One item; people are given by how many have each, shape ``(items,)``."""

    scale: ClassVar[int] = 1
    """What counts of what reports are about are multiplied by."""

    def own_many(self, codes: Sequence[Code], words: Words) -> Whole:
        del words
        return np.array(codes, dtype=np.int64)

    def estimates(self, raw: Found) -> Found:
        """Counts of the items, from those of what reports are about."""
        return raw

    def rows(self, raw: Found, confidence: float) -> AnswerRows:
        names = (self.levels.level_names(), self.levels.item_names())
        return item_rows(names, raw, raw.on_simplex(), confidence)

    def own_sums(self, people: People) -> OwnSums:
        """Sums over people of the chances that each item is what a report is about."""
        counts = true_counts(people, self.levels.total)
        users = int(counts.sum())
        holders = counts.astype(np.float64)
        return OwnSums(users, chances=holders, squares=holders)

    def variance(self, shape: Collected, people: People) -> Found:
        variances = shape.variance(self.own_sums(people))
        return np.asarray(self.scale**2 * variances)

    def own_counts(self, people: People, rng: np.random.Generator) -> Whole:
        del rng  # how many have each item is given: nothing is drawn
        return true_counts(people, self.levels.total)


class ItemOrNoneCollected(answers.ItemOrNone, ItemCollected):
    """One item, or none."""

    def rows(self, raw: Found, confidence: float) -> AnswerRows:
        items = ["none of the values", *self.levels.item_names()]
        names = (["", *self.levels.level_names()], items)
        remark = ""
        if raw.unmatched:
            people = raw.unmatched / raw.sampling
            remark = (
                f"unmatched reports, of one round alone: {raw.unmatched:,}; they may move a count "
                f"by {people:,.0f} people, which the limits allow for"
            )
        return item_rows(names, raw, raw.clipped(), confidence, remark)


class OrderedCollected(answers.Ordered, ItemCollected):
    """A choice of one ordered answer, estimated."""

    def rows(self, raw: Found, confidence: float) -> AnswerRows:
        if self.wanted == MEAN_OF_SCORES:
            mean = mean_of_scores(raw, confidence)
            possible = (min(self.scores), max(self.scores))
            quantity = ("mean score", mean, possible)
            return quantity_rows(raw.users, [quantity])
        size = len(self.order) - self.no_answer
        shares_of_all = None
        if self.no_answer:
            shares_of_all = self._shares(raw, confidence, every=True)
        return ordered_rows(
            self.levels,
            self.order[:size],
            self._shares(raw, confidence),
            self.scores[:size],
            outside=self.order[-1],
            none=shares_of_all,
            edges=self.edges,
        )

    @property
    def edges(self) -> Array | None:
        """Ends of the cells of a number, shape ``(cells + 1,)``; None of other answers."""
        if self.lower is None or self.upper is None:
            return None
        return np.linspace(self.lower, self.upper, self.cells + 1)

    def set_sizes(self, raw: Found = None) -> Longer:
        are_whole = all(
            score.is_integer() and 0 <= score <= MAX_COUNT for score in self.scores
        )
        are_rising = all(low < high for low, high in pairwise(self.scores))
        are_sizes = self.scores and are_whole and are_rising
        if not are_sizes or self.wanted == MEAN_OF_SCORES:
            allowed = f"whole numbers that rise from 0 to {MAX_COUNT:,}, not only their mean wanted"
            remedy = "Give each answer, as its score, the largest number of items it stands for."
            raise InputError("scores of set sizes", self.scores, allowed, remedy)
        if raw is None:
            return ()
        # More than a size have at most 1 less the lower limit of the share up to it.
        (least_shares, _) = self._shares(raw, 1 - SIZES_MISS).band
        most_above = 1 - least_shares[:-1]
        most_with_more = [1.0, *most_above.tolist()]
        sizes = [int(score) for score in self.scores]
        return tuple(zip(sizes, most_with_more, strict=True))

    def _shares(
        self, raw: ChannelEstimates, confidence: float, *, every: bool = False
    ) -> OrderedEstimates:
        """Estimated shares of the answers in their order, or of ``every`` answer."""
        names = self.levels.item_names()
        is_outside = self.no_answer and not every
        if raw.law is not None:
            # The law's rows stand level by level; shares go by the order of the answers.
            in_order = raw.law.matrix[[*self.order]]
            law = raw.law._replace(matrix=in_order)
            raw = raw._replace(law=law)
        size = len(self.order) - is_outside
        answers_in_order = tuple(names[k] for k in self.order[:size])
        shares = raw.of_shares_up_to(no_answer=is_outside)
        return OrderedEstimates(
            answers_in_order,
            values=shares.values,
            covariance=shares.covariance,
            users=shares.users,
            law=shares.law,
            confidence=confidence,
        )


class NumberCollected(answers.Number, AskedCollected):
    """A number in a range, or none."""

    def own_many(self, codes: Sequence[Code], words: Words) -> Whole:
        answers = np.array(codes, dtype=np.float64)  # None becomes NaN
        below, units_above = self._grid(answers)
        is_above = words.half(below.size) < units_above
        points = below + is_above
        return np.where(np.isnan(answers), self.points, points)

    def _grid(self, answers: Array) -> tuple[Whole, Whole]:
        """The grid point below each answer, and 2^32 times the chance of the next."""
        last = self.points - 1
        given = np.where(np.isnan(answers), self.lower, answers)
        width = self.upper - self.lower
        position = (given - self.lower) / width * last
        below = np.minimum(position.astype(np.int64), last - 1)
        units_above = (position - below) * DENOMINATOR
        to_nearest = (units_above + 0.5).astype(np.int64)
        return below, to_nearest

    def of(self, question: Question) -> Self:
        asked = cast("Numeric", question)
        epsilon = float(asked.policy.epsilons[0])
        return self.of_range(
            asked.lower, asked.upper, asked.yes_no, self.points, epsilon
        )

    @property
    def domain(self) -> NumericDomain:
        """The range of the answers."""
        return NumericDomain(self.lower, self.upper, self.yes_no)

    def estimates(self, raw: Found, confidence: float = CONFIDENCE) -> NumericEstimates:
        """Mean with Fieller's interval, total and missing rate.

        From the estimated sum, on ``[-1, 1]``, and number of answers. Where the reports cannot rule
        out that nobody answered, the mean's note says so and its interval is the whole range.
        Intervals are of the draws, whoever was asked. Who answers is 1 or 0, and so is known how
        people differ in it, and in what follows from it; what is answered too where that is yes or
        no. Of other numbers reports do not tell how they differ (docs/how-to/collect.md), and the
        mean's interval is wide enough for people who do not differ at all. The covariance is that
        of the reports, and at least the law's for people who differ as little as they can: of
        answers at an end reports may be all the same.
        """
        domain = self.domain
        (total_of_all, answered) = raw.values.tolist()
        rate = min(max(answered, 0.0), 1.0)  # R
        mean_of_all = 0.0  # mu, of those who answer
        if rate:
            mean_of_all = min(max(total_of_all / rate, -1.0), 1.0)
        if raw.law is not None:
            shares = self._least_spread_shares(rate, mean_of_all)
            raw = raw.at_least(raw.law.covariance(shares))
        raw = raw.of_draws(self._spread(rate, mean_of_all))
        covariance = raw.covariance
        mean = ratio(raw, confidence, (-1.0, 1.0))
        # An answer is center + radius v: the sum of all is that of v and the number of answers.
        units = np.array([domain.radius, domain.center])
        total_share = float(units @ raw.values)
        total_variance = float(units @ covariance @ units)
        total = large_sample(total_share, total_variance, confidence)
        missing_variance = float(covariance[1, 1])
        missing_rate = large_sample(1 - answered, missing_variance, confidence)
        frequency = None
        if domain.yes_no:
            frequency = mean.scaled(0.5, 0.5)
        return NumericEstimates(
            mean.scaled(domain.center, domain.radius),
            total.scaled(0.0, raw.users),
            missing_rate,
            frequency,
        )

    def _spread(self, rate: float, mean: float) -> Array:
        """How people differ in ``(answer or 0, 1 or 0 if none)``, as far as it is known, (2, 2).

        With rate ``R`` and mean ``mu``, ``R (1 - R) [[mu^2, mu], [mu, 1]]`` for answers all alike;
        answers that are 1 or -1 alone add their own variance ``R (1 - mu^2)`` to the first.
        """
        answer = np.array([mean, 1.0])
        spread = rate * (1 - rate) * np.outer(answer, answer)
        if self.yes_no:
            spread[0, 0] += rate * (1 - mean**2)
        return spread

    def _least_spread_shares(self, rate: float, mean: float) -> Array:
        """Shares of the grid's points, and last of no answer: all who answer are around the mean.

        The two points beside it have what makes the mean exact, as random rounding does.
        """
        grid_position = (mean + 1) / 2 * (self.points - 1)
        below = min(int(grid_position), self.points - 2)
        shares = np.zeros(self.points + 1)
        shares[below] = rate * (below + 1 - grid_position)
        shares[below + 1] = rate * (grid_position - below)
        shares[-1] = 1 - rate
        return shares

    def rows(self, raw: Found, confidence: float) -> AnswerRows:
        """The rows of mean, total and missing rate; of yes and no the frequency, too."""
        estimates = self.estimates(raw, confidence)
        quantities = (
            ("mean", estimates.mean, (self.lower, self.upper)),
            ("total", estimates.total, None),
            ("missing rate", estimates.missing_rate, (0.0, 1.0)),
            ("frequency", estimates.frequency, (0.0, 1.0)),
        )
        stated = []
        for name, estimate, possible in quantities:
            if estimate is not None:
                stated.append((name, estimate, possible))
        return quantity_rows(raw.users, stated)

    def output_law(self, shape: Any, values: ArrayLike) -> Array:
        """``Pr[report | answer]``, shape ``(n, outputs)``, exactly as drawn; NaN is no answer.

        An answer between two grid points has the mixture of their rows by which it is rounded.
        InputError for a value outside the range.
        """
        answers = self.domain.answers(values)
        rows = np.array(shape.rows) / DENOMINATOR
        below, units_above = self._grid(answers)
        share_above = units_above[:, None] / DENOMINATOR
        share_below = 1 - share_above
        law = share_below * rows[below] + share_above * rows[below + 1]
        is_missing = np.isnan(answers)[:, None]
        return np.where(is_missing, rows[-1], law)

    def variance(  # type: ignore[override]
        self, shape: RowsCollected, people: People
    ) -> NumericVariance:
        """Variances to first order, for people with these answers, shape ``(n,)``, NaN allowed.

        With ``C`` the covariance of the estimated sum, on ``[-1, 1]``, and number of answers, ``m``
        answers with the mean ``mu`` there, and center and radius of the range: ``g C g (radius /
        m)^2`` of the mean, with ``g = (1, -mu)``; ``t C t`` of the total, with ``t = (radius,
        center)``; and ``C_22 / n^2`` of the missing rate.

        InputError for bad values, or where nobody answered.
        """
        unit = self.domain.to_unit(self.domain.answers(people))
        people_count = unit.size
        is_given = ~np.isnan(unit)
        if not is_given.any():
            remedy = "The mean is undefined, nobody answered."
            raise InputError(
                "values", "NaN for everybody", "a number for somebody", remedy
            )
        # Of somebody drawn from these people; less how they differ it is that of their reports.
        law_of_each = self.output_law(shape, people)
        law = ReportLaw(
            law_of_each.mean(axis=0, keepdims=True),
            np.array(shape.values),
            reports=1,
            blocks=shape.blocks,
        )
        drawn = law.covariance(np.ones(1))
        deviations = np.array([np.nan_to_num(unit), is_given])
        deviations -= deviations.mean(axis=1, keepdims=True)
        C = people_count * drawn - deviations @ deviations.T
        mean = float(unit[is_given].mean())
        g = np.array([1.0, -mean])
        t = np.array([self.domain.radius, self.domain.center])
        scale = self.domain.radius / is_given.sum()
        return NumericVariance(
            mean=float(g @ C @ g) * scale**2,
            total=float(t @ C @ t),
            missing_rate=float(C[1, 1]) / people_count**2,
        )

    def own_counts(self, people: People, rng: np.random.Generator) -> Whole:
        return super().own_counts(self.domain.answers(people), rng)


class OneOfSetCollected(item_sets.OneOfSet, ItemCollected):
    """One element of a set; some sets are cut. People are given by their sets.

    With ``P_u(k) = 1 / max(|x_u|, l)`` if item ``k`` is in the set ``x_u`` of person ``u``, else 0,
    what is estimated has the mean ``l sum_u P_u(k)``: too small where sets were cut.
    """

    # A person has several items: the ones that reports are about are drawn.
    own_counts = AskedCollected.own_counts

    @property
    def scale(self) -> int:  # type: ignore[override]
        return self.padding_length

    def own_many(self, codes: Sequence[Code], words: Words) -> Whole:
        sets = ItemSets.of(codes, self.levels.total)
        return sets.sampled(self.padding_length, words)

    def own_sums(self, people: People) -> OwnSums:
        sets = ItemSets.of(people, self.levels.total)
        return sets.sampling_sums(self.padding_length)

    def bias(self, people: People) -> Array:
        sets = ItemSets.of(people, self.levels.total)
        return sets.lost(self.padding_length)

    def with_sizes(self, longer: Longer) -> OneOfSetCollected:
        cut = []
        for size, share in longer:
            if size > self.padding_length and share > 0:
                cut.append((size, share))
        return replace(self, longer_sets=tuple(cut))

    @property
    def longer(self) -> LongerSets | None:
        """Which sets are longer than the padding length, as stated or asked."""
        if self.longer_sets is None:
            return None
        sizes = tuple(size for size, _ in self.longer_sets)
        shares = tuple(share for _, share in self.longer_sets)
        return LongerSets(self.padding_length, sizes, shares)

    def rows(self, raw: Found, confidence: float) -> AnswerRows:
        estimates = self.estimates(raw)
        levels = self.levels
        names = (levels.level_names(), levels.item_names())
        remark = _cut_remark(self.longer, self.padding_length, estimates.users)
        return item_rows(names, estimates, estimates.clipped(), confidence, remark)

    def estimates(self, raw: Found) -> TruncatedEstimates:
        return set_estimates(raw, self.levels.total, self.longer, self.scale)


class WholeSetCollected(item_sets.WholeSet, OneOfSetCollected):
    """A whole set; some sets are cut. A report is about an item with the chance ``l P_u(k)``."""

    scale: ClassVar[int] = 1

    def own_many(self, codes: Sequence[Code], words: Words) -> Whole:
        """What the reports are about, shape ``(n, padding length)``."""
        sets = ItemSets.of(codes, self.levels.total)
        return sets.padded(self.padding_length, words)

    def own_sums(self, people: People) -> OwnSums:
        of_one_item = super().own_sums(people)
        length = self.padding_length
        return OwnSums(
            of_one_item.users,
            chances=length * of_one_item.chances,
            squares=length**2 * of_one_item.squares,
        )


def _cut_remark(longer: LongerSets | None, length: int, users: int) -> str:
    """What cutting long sets has done to the estimates, in people."""
    if longer is None:
        return (
            f"sets of more than {length} items were cut and their number is not stated: "
            "counts are too small by an unknown number of people, without upper limits"
        )
    if not longer.sizes:
        return ""
    return (
        f"sets of more than {length} items were cut: on average a count is too small by up "
        f"to {longer.largest_bias(users):,.0f} people, which the limits allow for"
    )


COLLECTOR = Halves.of(
    BitsCollected, SidesCollected, RowsCollected, OverlapCollected, HashCollected, DieCollected,
    ItemCollected, ItemOrNoneCollected, OrderedCollected, NumberCollected, OneOfSetCollected,
    WholeSetCollected,
)  # fmt: skip
"""The classes of :data:`~planner.laws.law.DEVICE`, each with its collector's half."""


@dataclass(frozen=True)
class CollectedLaw(Law):
    """The law of a question as a collector needs it, and a mechanism for whoever simulates one.

    ``people`` are how many have each item, shape ``(items,)``; of sets one list of item numbers a
    person; of numbers one a person, NaN for no answer.
    """

    asked: AskedCollected
    shape: Collected

    def rows(self, rounds: Sequence[Aggregate], confidence: float) -> AnswerRows:
        """Estimates from the sums of each round, all of them with the same users."""
        raw = self.shape.estimate(stacked(rounds))
        rows, _ = self.rows_of(raw, confidence)
        return rows

    def rows_of(self, raw: Found, confidence: float) -> tuple[AnswerRows, Array]:
        """The rows of estimates, and what the choice of the people adds to each variance."""
        rows = self.asked.rows(raw, confidence)
        if not isinstance(raw, ChannelEstimates):
            return rows, rows.drawn
        # Of a channel's numbers it is what errors for a population are larger by, squared.
        of_population = PopulationEstimates(
            raw.values, raw.covariance, raw.users, raw.law
        )
        population_rows = self.asked.rows(of_population, confidence)
        population_variance = np.square(population_rows["standard_error"])
        drawn = population_variance - np.square(rows["standard_error"])
        drawn = np.maximum(drawn, 0)
        drawn = np.nan_to_num(drawn)  # quartiles have no standard error
        of_rows = np.where(np.isnan(rows.drawn), np.nan, drawn)
        return replace(rows, drawn=of_rows), drawn

    def draw_many(self, codes: Sequence[Code], words: Words) -> list[Reports]:
        """Reports of checked answers for each round; the client's law, drawn in bulk."""
        if self.anchor is None:
            return self._drawn(codes, words)
        # A pair of answers a person, and both reports side by side.
        of_question = self._drawn([code for code, _ in codes], words)
        of_anchor = self._drawn([code for _, code in codes], words)
        return [np.hstack([of_question[0], of_anchor[0]])]

    def _drawn(self, codes: Sequence[Code], words: Words) -> list[Reports]:
        """Reports of answers to the question, or to its anchor, for each round."""
        elements = self.asked.own_many(codes, words)
        return self.shape.draw_many(elements, words)

    def estimate(self, aggregate: Aggregate) -> Found:
        """Estimates of the answers from the sums of one round."""
        raw = self.shape.estimate(aggregate)
        return self.asked.estimates(raw)

    def bias(self, people: People) -> Array:
        """Exact bias of the estimated counts of items, not positive, in people."""
        return self.asked.bias(people)

    def variance(self, people: People) -> Found:
        """Variance of the estimates for these people: exact of counts, of means to first order."""
        return self.asked.variance(self.shape, people)

    def draw_aggregate(self, people: People, rng: np.random.Generator) -> Aggregate:
        """Sums with the law that reports of these people give each, without reports."""
        elements = self.asked.own_counts(people, generator(rng))
        return self.shape.draw_aggregate(elements, rng)

    def with_sizes(self, longer: Longer) -> Self:
        """The law where so many sets are longer, for the upper limits of estimates.

        Sizes, each with the share of people with a set longer than the one before, or than the
        padding length. InputError if it is not about sets.
        """
        return replace(self, asked=self.asked.with_sizes(longer))

    def of(self, question: Question) -> Self:
        """The mechanism with the levels, items and range of a question."""
        asked = self.asked.of(question)
        again = None
        if question.rounds is not None:
            again = question.rounds.deployed
        return replace(
            self,
            name=question.name,
            asked=asked,
            shape=self.shape.with_levels(asked.levels),
            again=again,
        )
