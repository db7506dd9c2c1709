"""Set designs: a report is a set of elements, likelier the more it has of one's own."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from math import comb, prod
from typing import ClassVar

from planner.errors import VerificationError
from planner.laws.exact import check_ratio, log_upper_bound
from planner.laws.schema import BUDGET, Keys, described, list_of, unfit, whole
from planner.laws.shape import Own, Shape, Wanted, octets
from planner.laws.source import Source, below, order
from planner.limits import DENOMINATOR as D
from planner.limits import MAX_COUNT, MAX_WHOLE_SET


@dataclass(frozen=True)
class Overlap(Shape):
    """A report of ``held`` elements is ``ratios[c]/2^32`` times as likely as with one more own one.

    The first ratio is that of reports with as few own elements as ``held`` allow. Reports with as
    many own elements are equally likely. The own elements are as many as dummies, which fill up
    every set (docs/theory/item-sets.md). Two padded sets that differ in one element keep the
    smallest pair budget, any two ``cap``.

    A report is the numbers of its elements, ascending, each in two bytes, or four if there are
    over 65,536 elements, little-endian; or, where that is no longer, a bit an element, laid out
    as in :class:`~planner.laws.bits.Bits`.

    Draws an integer below the sum of all weights, which says the number of hits; the weight of a
    number of hits is that of its reports, one by one, all over a common denominator. Then an order
    of the own elements, and one of the others, each as far as a report could need it, whatever the
    hits. Reported are the first ones of both: hits, and the rest.
    """

    name: ClassVar[str] = "overlap"
    asked: ClassVar[tuple[str, ...]] = ("whole-set",)
    keys: ClassVar[Keys] = {
        "held": described(whole(1, MAX_COUNT), "Elements of a report."),
        "cap": described(BUDGET, "Budget of any two sets."),
        "ratios": described(
            list_of(whole(1, D)),
            "2^32 times the probability of a report over that of one with one more "
            "own element, from the fewest that a report can have to one below the most.",
        ),
    }

    held: int
    cap: float
    ratios: tuple[int, ...]

    def require_fit(self) -> None:
        if self.levels.dummies > MAX_WHOLE_SET:
            allowed = f"at most {MAX_WHOLE_SET:,} where a report is about the whole set"
            raise unfit("padding_length", self.levels.dummies, allowed)
        if not 1 <= self.held < self.cells:
            raise unfit("held", self.held, f"from 1 to {self.cells - 1}")
        if len(self.ratios) != len(self.hits) - 1:
            allowed = (
                f"{len(self.hits) - 1}, one less than possible numbers of own elements"
            )
            raise unfit("number of ratios", len(self.ratios), allowed)

    def check(self, counts_as: Wanted | None) -> None:
        least = self.levels.least_demanded()
        if self.cap < least:
            raise VerificationError(
                f"cap is {self.cap:g}, below the smallest budget {least:g}"
            )
        # Sets that differ in one element have numbers of hits that differ by one at most.
        check_ratio(self.ratio(0, 0), least, "Sets that differ in one item: a report")
        # Any two sets differ in as many elements as dummies at most: all ratios multiply.
        check_ratio(self._any_two, self.cap, "Two sets: a report")
        self.require_telling()

    def ratio(self, i: int, j: int) -> Fraction | None:
        """The largest of two sets that differ in one element, whatever its level."""
        return Fraction(D, min(self.ratios))

    def largest(self) -> float:
        """Largest log-ratio of any two sets in one report, in nats, rounded up."""
        return log_upper_bound(self._any_two)

    def require_telling(self) -> None:
        """Refuse a law that says nothing: more own elements are likelier, unless all are alike.

        The number of hits is then on average above that of reports drawn from all alike, in which
        own elements are as frequent as others.
        """
        if min(self.ratios) == D:
            raise VerificationError(
                "A report must hold the true item more often than another"
            )

    def support(self) -> list[tuple[Fraction, Fraction]]:
        *ends, total = self.ends
        # The mean of a whole number up to k is k less the chances to be at most 0, 1, .. k - 1.
        most = self.hits[-1]
        mean_hits = most - Fraction(sum(ends), total)
        mean_others = self.held - mean_hits
        # Of the own elements, as many as dummies, each is reported as often; so are all others.
        true_chance = mean_hits / self.levels.dummies
        other_chance = mean_others / self.levels.total
        return [(true_chance, other_chance)] * len(self.levels.names)

    @property
    def cells(self) -> int:
        return self.levels.elements

    @property
    def size(self) -> int:
        if self.width:
            return self.held * self.width
        return octets(self.cells)

    @property
    def width(self) -> int:
        """Bytes of an element's number in a report; 0 where a report is a bit an element."""
        width = 2
        if self.cells > 2**16:
            width = 4
        if self.held * width >= octets(self.cells):
            return 0
        return width

    def draw(self, elements: Own, source: Source) -> bytes:
        held = self.held
        drawn = below(source, self.ends[-1])
        hits = self.hits[bisect_right(self.ends, drawn)]
        mine = sorted(elements)
        own_count = len(mine)
        other_count = self.cells - own_count
        # As far as a report could need it, so that the number of words says no number of hits.
        own_order = order(source, own_count, min(held, own_count))
        other_order = order(source, other_count, min(held, other_count))
        reported = [mine[position] for position in own_order[:hits]]
        # Others are numbered without one's own: an element's number, less those of one's own
        # below it, is its position among the others.
        shifts = [element - position for position, element in enumerate(mine)]
        for position in other_order[: held - hits]:
            # As many of one's own stand below it as have a shift of at most its position.
            own_below = bisect_right(shifts, position)
            reported.append(position + own_below)
        return self.written(sorted(reported))

    def written(self, elements: Sequence[int]) -> bytes:
        """The report that has these elements, ascending."""
        report = bytearray()
        if self.width:
            for number in elements:
                report += number.to_bytes(self.width, "little")
            return bytes(report)
        bits = 0
        for number in elements:
            bits |= 1 << number
        return bits.to_bytes(self.size, "little")

    @cached_property
    def hits(self) -> range:
        """The numbers of own elements that a report can have."""
        length = self.levels.dummies
        others = self.levels.total
        fewest = max(0, self.held - others)
        most = min(length, self.held)
        return range(fewest, most + 1)

    @cached_property
    def ends(self) -> list[int]:
        """Weights of reports with so many hits or fewer, for each number of :attr:`hits`."""
        held = self.held
        length = self.levels.dummies
        others = self.levels.total
        least = self.hits[0]
        # Reports with j hits are as many as C(held, j) C(n - held, l - j), but for a factor.
        reports = comb(held, least)
        reports *= comb(self.cells - held, length - least)
        weight = reports * prod(self.ratios)
        weights = [weight]
        # With their likelihood over a common denominator each weight follows from the one before.
        for j, ratio in zip(self.hits, self.ratios, strict=False):
            more_reports = (held - j) * (length - j)
            fewer_reports = (j + 1) * (others - held + j + 1)
            # The division leaves nothing over.
            weight = weight * (more_reports * D) // (fewer_reports * ratio)
            weights.append(weight)
        return list(accumulate(weights))

    @cached_property
    def _any_two(self) -> Fraction:
        """The largest ratio of any two sets in one report."""
        return Fraction(D ** len(self.ratios), prod(self.ratios))
