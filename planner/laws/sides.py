"""Subset designs and subset selection: a type, and for every element one of two sides."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, chain
from math import floor, inf
from operator import mul
from typing import ClassVar, Self

from planner.errors import InputError, VerificationError
from planner.laws.exact import Likelihoods, check_ratio
from planner.laws.levels import Levels, of_both
from planner.laws.schema import Keys, described, list_of, unfit, whole
from planner.laws.shape import (
    BIAS,
    SCALE,
    VALUE,
    Own,
    Shape,
    Wanted,
    has_shape,
    octets,
    packed,
)
from planner.laws.source import Source, choose_all, words
from planner.limits import DENOMINATOR as D
from planner.limits import EXPORT_REMEDY, MAX_COUNT

# Units of 2^-32 of blank reports, up to which they change no error by a millionth.
_MOST_BLANKS = 2**10
MAX_GROUPS = 64
MAX_TYPES = 4096
TYPE_BYTES = 8
_MOST_TYPE_NAMES = 20  # of levels in a message


@dataclass(frozen=True)
class Sides(Shape):
    """A type and the own element's side, by ``weights[g][o][side]/2^32`` for one of group ``g``.

    Levels of one group share their likelihoods. Of the other elements a report of type ``o`` has,
    at random, as many on the high side (bit 1) that ``types[o][g]`` of every group are there.
    One type of one group is subset selection; with one element high, randomised response.

    A report is eight bytes with the type's number, little-endian, left out if there is one type;
    then a bit an element, laid out as in :class:`~planner.laws.bits.Bits`. Elements stand group by
    group; within a group by their numbers.

    Draws one word: the type and the own element's side, in the order of the group's integers (the
    first type low, high, the second type low, ...). Then, for every group whose ``k`` of ``m``
    elements are high, ``0 < k < m``: of the smaller side, ``c = min(k, m - k)`` elements (the
    high ones if both are equal), each by Floyd's method, for ``j`` from ``m - c`` to ``m - 1`` a
    choice from 0 to ``j``, or ``j`` itself if that one is in the set already; then a choice from 0
    to ``k - 1`` and one from 0 to ``m - k - 1``. If the own element is not on the side that was
    drawn, it changes sides with the one there whose number in ascending order is the first choice
    (of the high ones) or the second (of the low ones). All choices are always drawn, and their
    sizes depend on the type alone, so that the number of words says no more than the report.
    """

    name: ClassVar[str] = "sides"
    asked: ClassVar[tuple[str, ...]] = ("item",)
    keys: ClassVar[Keys] = {
        "groups": described(
            list_of(whole(0, MAX_GROUPS - 1)), "The group of each level."
        ),
        "types": described(
            list_of(list_of(whole(0, MAX_COUNT))),
            "For every type, how many elements of each group are on the high side.",
        ),
        "weights": described(
            list_of(list_of(list_of(whole(0, D)))),
            "For every group, 2^32 times the probabilities of each type with the "
            "own element on the low and on the high side; they sum to 2^32.",
        ),
        "values": described(
            list_of(list_of(list_of(VALUE)), 0),
            "People with an item: the sum over all reports of the value, by type, "
            "group, and the item's side (low, high). Empty for one type of one group, where the "
            "weights leave no choice.",
        ),
    }

    groups: tuple[int, ...]
    types: tuple[tuple[int, ...], ...]
    weights: tuple[tuple[tuple[int, int], ...], ...]
    values: tuple[tuple[tuple[float, float], ...], ...]

    def require_fit(self) -> None:
        levels = len(self.levels.names)
        kinds = len(self.types)
        size = len(self.weights)
        numbers = set(range(size))  # each group has a level at least
        if len(self.groups) != levels or set(self.groups) != numbers:
            allowed = f"one of {size} for each of {levels} levels, from 0"
            raise unfit("groups", list(self.groups), allowed)
        if size > MAX_GROUPS or kinds > MAX_TYPES:
            allowed = f"at most {MAX_TYPES} types of {MAX_GROUPS} groups"
            raise unfit("types", (kinds, size), allowed)
        shapes: dict[str, tuple[int, ...]] = {
            "types": (kinds, size),
            "weights": (size, kinds, 2),
            "values": (kinds, size, 2),
        }
        if kinds * size == 1:  # the weights leave no choice of an estimator
            shapes["values"] = (0,)
        for key, shape in shapes.items():
            if not has_shape(getattr(self, key), shape):
                reason = f"{key} is not of the shape {' x '.join(map(str, shape))}"
                raise InputError.because(key, reason, EXPORT_REMEDY)
        for o, row in enumerate(self.types):
            for g, (high, count) in enumerate(zip(row, self.counts, strict=True)):
                if high > count:
                    allowed = f"at most the {count} elements"
                    raise unfit(f"types[{o}][{g}]", high, allowed)
        if sum(self.counts) < 2:
            raise unfit("levels", sum(self.counts), "at least 2 elements")

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """How many elements each group has."""
        counts = [0] * len(self.weights)
        for group, count in zip(self.groups, self.levels.item_counts, strict=True):
            counts[group] += count
        return tuple(counts)

    @property
    def cells(self) -> int:
        # A collector counts type by type: the reports, and the ones of each element.
        return len(self.types) * (1 + self.levels.elements)

    @property
    def addends(self) -> int:
        return 2 * len(self.types)  # of each type, an element on the low or high side

    @property
    def size(self) -> int:
        return self._type_bytes + octets(self.levels.elements)

    @property
    def _type_bytes(self) -> int:
        if len(self.types) == 1:  # its number says nothing and is not sent
            return 0
        return TYPE_BYTES

    # -- proof -----------------------------------------------------------------------------

    def check(self, counts_as: Wanted | None) -> None:
        for g, row in enumerate(self.weights):
            if sum(map(sum, row)) != D:
                raise VerificationError(f"The integers of group {g} do not sum to 2^32")
            for o, pair in enumerate(row):
                standing = self._standing(g, o)
                for elements, weight in zip(standing, pair, strict=True):
                    if weight and not elements:
                        empty = f"no element of group {g} on a side with a probability"
                        raise VerificationError(f"Type {o} has {empty}")
        for (a, b), demanded in self._demanded.items():
            if demanded < inf:
                names = f"Levels {self._names[a]} and {self._names[b]}: a report"
                check_ratio(self._ratios[a, b], demanded, names)
        self.require_telling()
        if self.values:
            self._require_unbiased()

    def ratio(self, i: int, j: int) -> Fraction | None:
        return self._ratios[self.groups[i], self.groups[j]]

    def with_levels(self, levels: Levels) -> Self:
        groups = self.groups
        if len(groups) != len(levels.names):  # one group serves all levels alike
            groups = (0,) * len(levels.names)
        return replace(self, levels=levels, groups=groups)

    def support(self) -> list[tuple[Fraction, Fraction]] | None:
        """The chances that an element is high, where one group and one type alone have any there.

        Other types, of which no element is high, tell nothing apart: rounding leaves one, the
        *blank*, with a few units of 2^-32. That a report is one is part of both chances. Where
        blanks are many, an estimate that tells them from reports is more exact, and none of these.
        """
        if len(self.weights) > 1:
            return None
        # Reports of a type without a high element are blanks: they count for nobody.
        high_counts = [high for (high,) in self.types]
        if len(self.types) - high_counts.count(0) != 1:
            return None
        high = max(high_counts)
        telling = high_counts.index(high)
        (group,) = self.weights
        (elements,) = self.counts
        low_weight, high_weight = group[telling]
        blanks = D - low_weight - high_weight
        if blanks > _MOST_BLANKS:
            return None
        # Another element is high in place of one of those that are: all of them where the own
        # one is low, all but one where it is high.
        others = low_weight * high + high_weight * (high - 1)
        true_chance = Fraction(high_weight, D)
        other_chance = Fraction(others, D * (elements - 1))
        return [(true_chance, other_chance)] * len(self.levels.names)

    def _standing(self, group: int, kind: int) -> tuple[int, int]:
        """How many elements of a group are low and high in a type."""
        high = self.types[kind][group]
        return self.counts[group] - high, high

    @cached_property
    def _names(self) -> list[str]:
        """The names of the first levels of each group, in one text."""
        of_groups = [list[str]() for _ in self.weights]
        for name, group in zip(self.levels.names, self.groups, strict=True):
            names = of_groups[group]
            if len(names) < _MOST_TYPE_NAMES:
                names.append(repr(name))
        return list(map(", ".join, of_groups))

    @cached_property
    def _ratios(self) -> dict[tuple[int, int], Fraction | None]:
        """The largest ratio of an element of a group to one of another, by the pair of groups.

        A side with the weight ``w`` and ``n`` of ``m`` elements has the likelihood ``w m / n``, but
        for a factor that is the same for all groups.
        """
        likelihoods = []
        for group, count in enumerate(self.counts):
            least = []
            most = []
            for kind, pair in enumerate(self.weights[group]):
                standing = self._standing(group, kind)
                values = []
                for weight, n in zip(pair, standing, strict=True):
                    if n:  # a side on which nobody stands is never reported
                        values.append(Fraction(weight * count, n))
                least.append(min(values))
                most.append(max(values))
            likelihoods.append(Likelihoods(least, most))
        ratios = {}
        for a, of_first in enumerate(likelihoods):
            for b, of_second in enumerate(likelihoods):
                ratios[a, b] = of_first.ratio(of_second)
        return ratios

    @cached_property
    def _demanded(self) -> dict[tuple[int, int], float]:
        """Smallest budget of two different elements of two groups.

        Of one group under a rule of names: the smallest of its levels, even if one item has it.
        """
        if self.levels.matrix is None:
            budgets = self._demanded_by_name()
        else:
            budgets = self._demanded_by_matrix()
        for group, count in enumerate(self.counts):
            if count == 1:  # a lone element is told from no other of its group
                del budgets[group, group]
        return budgets

    def _demanded_by_name(self) -> dict[tuple[int, int], float]:
        """The budgets of all pairs of groups, under a rule with a name."""
        levels = self.levels
        # Levels of a group share their likelihoods, so the least budget of any binds all.
        raising = [inf] * len(self.counts)
        lowering = [inf] * len(self.counts)
        for group, level in zip(self.groups, levels.members, strict=True):
            raising[group] = min(raising[group], level.epsilon)
            lowering[group] = min(lowering[group], level.against)
        budgets = {}
        for a, x in enumerate(raising):
            for b, y in enumerate(raising):
                budgets[a, b] = of_both(levels.rule, x, y, lowering[b])
        return budgets

    def _demanded_by_matrix(self) -> dict[tuple[int, int], float]:
        """The budgets of all pairs of groups, under a matrix of pair budgets."""
        budgets = dict[tuple[int, int], float]()
        for i, first in enumerate(self.groups):
            for j, second in enumerate(self.groups):
                smallest = budgets.get((first, second), inf)
                demanded = self.levels.demanded(i, j)
                budgets[first, second] = min(smallest, demanded)
        return budgets

    def _require_unbiased(self) -> None:
        """An answer counts as one for its item and as none for every other, on average."""
        # Of each group the integer of each type, whichever side its element is on.
        sent = [list(map(sum, row)) for row in self.weights]
        for a, count in enumerate(self.counts):
            # Sums over all reports of weight times value, scaled: for the item it must be one.
            true_error = -D * SCALE
            group_error = 0
            totals = []
            for o, (at_low, at_high) in enumerate(self.weights[a]):
                low, high = self._standing(a, o)
                low_value, high_value = map(_scaled, self.values[o][a])
                total = high_value * high + low_value * low
                totals.append(total)
                true_error += at_low * low_value + at_high * high_value
                # All others of the group: the total without the own element's value.
                group_error += at_low * (total - low_value)
                group_error += at_high * (total - high_value)
            # An item misses by one part in BIAS at most; a group by as much for each element.
            bound = D * SCALE // BIAS
            biased = abs(true_error) > bound
            if count > 1:
                biased |= abs(group_error) > bound * (count - 1)
            for b, row in enumerate(sent):
                if b != a:
                    other_error = sum(map(mul, row, totals))
                    biased |= abs(other_error) > bound * count
            if biased:
                raise VerificationError(
                    f"The estimator of levels {self._names[a]} is biased"
                )

    # -- draw ------------------------------------------------------------------------------

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The first bit of each group, and the number of bits."""
        return (0, *accumulate(self.counts))

    @cached_property
    def first_elements(self) -> tuple[int, ...]:
        """The number of each level's first element."""
        return (0, *accumulate(self.levels.item_counts[:-1]))

    @cached_property
    def first_bits(self) -> tuple[int, ...]:
        """The bit of each level's first element."""
        free = list(self.starts)
        first_bits = []
        for group, count in zip(self.groups, self.levels.item_counts, strict=True):
            first_bits.append(free[group])
            free[group] += count
        return tuple(first_bits)

    @cached_property
    def _ends(self) -> list[list[int]]:
        """The integers of each group, added up: of each type low, then high."""
        ends = []
        for row in self.weights:
            integers = chain.from_iterable(row)
            ends.append(list(accumulate(integers)))
        return ends

    @cached_property
    def _choices(self) -> dict[int, list[int]]:
        return {}

    def draw(self, elements: Own, source: Source) -> bytes:
        # Elements are numbered level by level; bits stand group by group.
        (element,) = elements
        level = bisect_right(self.first_elements, element) - 1
        in_level = element - self.first_elements[level]
        bit = self.first_bits[level] + in_level
        group = self.groups[level]
        (word,) = words(source, 1)
        # A type's low and high side stand one after the other among the group's integers.
        position = bisect_right(self._ends[group], word)
        kind, side = divmod(position, 2)
        bits = self._split(kind, bit, bool(side), group, source)
        sides = packed(bits, self.size - self._type_bytes)
        return kind.to_bytes(self._type_bytes, "little") + sides

    def _split(
        self, kind: int, own_bit: int, own_side: bool, own_group: int, source: Source
    ) -> bytearray:
        """Which elements are high in a report of this type, one byte an element, 0 or 1."""
        bits = bytearray(self.starts[-1])
        drawn = iter(choose_all(source, self.sizes(kind)))
        for group, start in enumerate(self.starts[:-1]):
            low, high = self._standing(group, kind)
            end = start + low + high
            few = min(low, high)
            if not few:  # all are on one side
                bits[start:end] = bytes([high > 0]) * (end - start)
                continue
            smaller = high <= low  # the smaller side, high if both are equal
            bits[start:end] = bytes([not smaller]) * (end - start)
            # Floyd's method (Bentley, 1987): a subset for the smaller side, all alike.
            for last in range(end - few, end):
                pick = start + next(drawn)
                if bits[pick] == smaller:  # is in the subset already
                    pick = last
                bits[pick] = smaller
            of_high = next(drawn)
            of_low = next(drawn)
            if group == own_group and bits[own_bit] != own_side:
                # It changes sides with one that is there, the first or second choice of these.
                standing = [k for k in range(start, end) if bits[k] == own_side]
                if own_side:
                    chosen = standing[of_high]
                else:
                    chosen = standing[of_low]
                bits[chosen] = not own_side
                bits[own_bit] = own_side
        return bits

    def sizes(self, kind: int) -> list[int]:
        """The sizes of all choices of a report of a type, in their order."""
        if kind not in self._choices:
            sizes: list[int] = []
            for group, count in enumerate(self.counts):
                low, high = self._standing(group, kind)
                few = min(low, high)
                if few:
                    sizes += range(count - few + 1, count + 1)
                    sizes += [high, low]
            self._choices[kind] = sizes
        return self._choices[kind]


def _scaled(value: float) -> int:
    """A value of the file in units of ``1 / SCALE``, rounded down."""
    return floor(Fraction(value) * SCALE)
