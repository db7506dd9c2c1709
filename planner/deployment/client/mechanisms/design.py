"""Subset designs: a report says a type and, for every item, on which of two sides it stands."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, chain, combinations_with_replacement
from math import floor, inf
from typing import Any, ClassVar, Self

from planner.deployment.client.drawing.entropy import Source, choose_all, words
from planner.deployment.client.laws.bounds import exp_lower_bound, log_upper_bound
from planner.deployment.client.laws.exact import DENOMINATOR as D
from planner.deployment.client.laws.levels import LEVEL, RULE, Levels
from planner.deployment.client.laws.pairs import MAX_LISTED_LEVELS, PairBudget, demanded_budget
from planner.deployment.client.mechanisms.law import (
    PREDICTED,
    Encoder,
    Estimator,
    ItemEncoder,
    ItemLaw,
    octets,
)
from planner.deployment.client.schema import Schema, list_of, record, whole
from planner.errors import InputError, VerificationError
from planner.limits import EXPORT_REMEDY, MAX_COUNT

__all__ = ["MAX_GROUPS", "DesignEncoder", "DesignLaw"]

MAX_GROUPS, _MAX_TYPES = 64, 4096
_BIAS = 10**9  # a person may shift an estimate by one part in so many of a person
_SCALE = 2**80
_TYPE_BYTES = 8
_DIGITS = bytes.maketrans(b"\x00\x01", b"01")
_VALUE: Schema = {"type": "number", "minimum": -(2.0**40), "maximum": 2.0**40}
_SHARE = whole(0, D)
Ends = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class DesignLaw(ItemLaw):
    """A subset design: with ``groups[g][o][side]/D`` type ``o`` and the own item on that side.

    Levels of one group share their likelihoods. Of the other items a report of type ``o`` has, at
    random, as many on the high side that ``types[o][g]`` items of every group ``g`` are there.
    """

    mechanism: ClassVar[str] = "subset-design"
    since: ClassVar[int] = 3
    keys: ClassVar[Mapping[str, Schema]] = {
        "rule": RULE,
        "levels": list_of(
            record(
                LEVEL["properties"] | {"group": whole(0, MAX_GROUPS - 1)},
                "A level, and the group of levels whose likelihoods it shares.",
            )
        ),
        "types": list_of(list_of(whole(0, MAX_COUNT)))
        | {"description": "For every type, how many items of each group are on the high side."},
        "groups": list_of(list_of(list_of(_SHARE)))
        | {
            "description": "For every group, 2^32 times the probabilities of each type with the "
            "own item on the low and on the high side; they sum to 2^32."
        },
        "predicted": PREDICTED,
    }
    estimates: ClassVar[Schema] = record(
        {"values": list_of(list_of(list_of(_VALUE)))},
        "People with an item: the sum over all reports of the value, by the report's type, the "
        "item's group, and the item's side in the report (low, high).",
    )

    least_items: ClassVar[int] = 2
    """Items that the levels have at least."""

    level_groups: tuple[int, ...]
    types: tuple[tuple[int, ...], ...]
    groups: tuple[tuple[tuple[int, int], ...], ...]
    values: tuple[tuple[tuple[float, float], ...], ...]

    @classmethod
    def read(cls, question: Mapping[str, Any]) -> Self:
        levels = Levels.read(question, least=cls.least_items)
        own = tuple(level["group"] for level in question["levels"])
        types, groups = question["types"], question["groups"]
        values = question["estimator"]["values"]
        parts = (_tuples(types), _tuples(groups), _tuples(values))
        law = cls(levels, own, *parts, *cls._more(question))
        if sorted({group for group, _, _ in law.members}) != list(range(len(groups))):
            raise InputError(
                "groups", len(groups), "as many as the levels name, from 0", EXPORT_REMEDY
            )
        if len(groups) > MAX_GROUPS or len(types) > _MAX_TYPES:
            allowed = f"at most {_MAX_TYPES} types of {MAX_GROUPS} groups"
            raise InputError("types", (len(types), len(groups)), allowed, EXPORT_REMEDY)
        for name, rows, shape in (
            ("types", types, (len(types), len(groups))),
            ("groups", groups, (len(groups), len(types), 2)),
            ("estimator.values", values, (len(types), len(groups), 2)),
        ):
            if not _has_shape(rows, shape):
                reason = f"{name} is not of the shape {' x '.join(map(str, shape))}"
                raise InputError.because(name, reason, EXPORT_REMEDY)
        for o, row in enumerate(law.types):
            for g, (high, items) in enumerate(zip(row, law.items, strict=True)):
                if high > items:
                    raise InputError(
                        f"types[{o}][{g}]", high, f"at most the {items} items", EXPORT_REMEDY
                    )
        return law

    @classmethod
    def _more(cls, question: Mapping[str, Any]) -> tuple[Any, ...]:
        del question
        return ()

    @property
    def members(self) -> list[tuple[int, int, float]]:
        """Group, number of items and budget of each level; then of a dummy, if there is one."""
        levels = self.levels
        return list(zip(self.level_groups, levels.item_counts, levels.epsilons, strict=True))

    @cached_property
    def items(self) -> tuple[int, ...]:
        """Items of each group."""
        counts = [0] * len(self.groups)
        for group, count, _ in self.members:
            counts[group] += count
        return tuple(counts)

    @property
    def cells(self) -> int:
        return len(self.types) * (1 + sum(self.items))  # a collector counts them type by type

    @property
    def size(self) -> int:
        return _TYPE_BYTES + octets(sum(self.items))

    def verify(self) -> None:
        for g, row in enumerate(self.groups):
            if sum(map(sum, row)) != D:
                raise VerificationError(f"The integers of group {g} do not sum to 2^32")
            for o, (pair, high) in enumerate(zip(row, self._column(g), strict=True)):
                if any(not n and w for n, w in zip(_sides(self.items[g], high), pair, strict=True)):
                    reason = f"Type {o} has no item of group {g} on a side with a probability"
                    raise VerificationError(reason)
        for (a, b), demanded in self._demanded.items():
            if demanded < inf and self._ratio(a, b, exp_lower_bound(demanded)) is None:
                first, second = (self._name(g) for g in (a, b))
                reason = f"Levels {first} and {second} realise more than the promised"
                raise VerificationError(f"{reason} {demanded:.9f} nats")
        self._require_unbiased()

    def pairs(self) -> list[PairBudget]:
        """Pairs of levels; of over 200 levels, the most protected of each pair of groups.

        Without those that nobody demands and a report may tell apart for sure.
        """
        listed = {}
        for i, j in self._listed():
            a, b = sorted((self.level_groups[i], self.level_groups[j]))
            alone = i == j and self.levels.item_counts[i] == 1
            ratio = Fraction(1) if alone else self._realised[a, b]
            if ratio is not None:
                demanded = demanded_budget(self.levels.epsilons, self.levels.rule, i, j)
                listed[i, j] = PairBudget(i, j, log_upper_bound(ratio), demanded)
        return [listed[pair] for pair in sorted(listed)]

    def estimator(self) -> Estimator:
        return {"values": [[list(sides) for sides in row] for row in self.values]}

    def encoder(self) -> Encoder:
        return DesignEncoder(self)

    def _column(self, group: int) -> Iterator[int]:
        return (row[group] for row in self.types)

    def _name(self, group: int) -> str:
        return ", ".join(
            repr(name)
            for name, own in zip(self.levels.names, self.level_groups, strict=True)
            if own == group
        )

    @cached_property
    def _ends(self) -> list[list[Ends]]:
        """For every type and group the smallest and largest likelihood of an item, times D."""
        rows = []
        for o, highs in enumerate(self.types):
            row = []
            for group, (items, high) in enumerate(zip(self.items, highs, strict=True)):
                sides = zip(self.groups[group][o], _sides(items, high), strict=True)
                values = [Fraction(w * items, n) for w, n in sides if n]
                row.append((min(values), max(values)))
            rows.append(row)
        return rows

    def _ratio(self, a: int, b: int, limit: Fraction | None = None) -> Fraction | None:
        """Largest ratio of two items of the groups in one report; ``None`` if above ``limit``.

        Also if it is infinite.
        """
        worst = Fraction(1)
        for row in self._ends:
            for (_, most), (least, _) in ((row[a], row[b]), (row[b], row[a])):
                if most and not least:
                    return None
                worst = max(worst, most / least) if most else worst
        return worst if limit is None or worst <= limit else None

    @cached_property
    def _realised(self) -> dict[tuple[int, int], Fraction | None]:
        pairs = combinations_with_replacement(range(len(self.groups)), 2)
        return {(a, b): self._ratio(a, b) for a, b in pairs}

    @cached_property
    def _demanded(self) -> dict[tuple[int, int], float]:
        """Smallest budget of two different items of two groups.

        Of one group under a rule of names: the smallest of its levels, even if one item has it.
        """
        levels, found = self.levels, {}
        if isinstance(levels.rule, str):
            least = [inf] * len(self.groups)
            for group, _, epsilon in self.members:
                least[group] = min(least[group], epsilon)
            for a, b in combinations_with_replacement(range(len(least)), 2):
                found[a, b] = demanded_budget(least, levels.rule, a, b)
        else:
            for i, j in combinations_with_replacement(range(len(levels.names)), 2):
                if i != j or levels.item_counts[i] > 1:
                    a, b = sorted((self.level_groups[i], self.level_groups[j]))
                    found[a, b] = min(found.get((a, b), inf), levels.rule[i][j])
        return {
            pair: r for pair, r in found.items() if pair[0] != pair[1] or self.items[pair[0]] > 1
        }

    def _listed(self) -> list[tuple[int, int]]:
        levels = range(len(self.levels.names))
        if len(levels) <= MAX_LISTED_LEVELS:
            return list(combinations_with_replacement(levels, 2))
        best: dict[tuple[int, int], tuple[float, int, int]] = {}
        rule, epsilons = self.levels.rule, self.levels.epsilons
        some: Sequence[int] = levels
        if isinstance(rule, str):  # the strictest level of each group, and the second one
            order = sorted(levels, key=epsilons.__getitem__)
            picked: dict[int, list[int]] = {}
            for i in order:
                picked.setdefault(self.level_groups[i], []).append(i)
            some = sorted(chain.from_iterable(one[:2] for one in picked.values()))
        for i, j in combinations_with_replacement(some, 2):
            if i != j or self.levels.item_counts[i] > 1:
                a, b = sorted((self.level_groups[i], self.level_groups[j]))
                entry = (demanded_budget(epsilons, rule, i, j), i, j)
                best[a, b] = min(best.get((a, b), entry), entry)
        return [(i, j) for _, i, j in best.values()]

    def _require_unbiased(self) -> None:
        """An answer counts as one for its item and as none for every other, on average."""
        values = [
            [tuple(floor(Fraction(value) * _SCALE) for value in sides) for sides in row]
            for row in self.values
        ]
        for a, items in enumerate(self.items):
            own, same, other = -D * _SCALE, 0, [0] * len(self.items)
            for o, highs in enumerate(self.types):
                (low_value, high_value), high = values[o][a], highs[a]
                low = items - high
                at_low, at_high = self.groups[a][o]
                own += at_low * low_value + at_high * high_value
                same += at_low * (high_value * high + low_value * (low - 1))
                same += at_high * (high_value * (high - 1) + low_value * low)
                for b, row in enumerate(self.groups):
                    other[b] += sum(row[o]) * (high_value * high + low_value * low)
            other[a] = 0
            bound = D * _SCALE // _BIAS
            biased = abs(own) > bound or (items > 1 and abs(same) > bound * (items - 1))
            if biased or any(abs(shift) > bound * items for shift in other):
                raise VerificationError(f"The estimator of levels {self._name(a)} is biased")


class DesignEncoder(ItemEncoder):
    """Eight bytes with the type's number, then a bit an item, 1 on the high side.

    Numbers are little-endian; bits are laid out as for unary encoding. Items stand group by
    group; within a group in the order of the file.

    Draws one word: the type and the own item's side, in the order of the group's integers (the
    first type low, high, the second type low, ...). Then, for every group whose ``k`` of ``m``
    items are on the high side, ``0 < k < m``: of the smaller side, ``c = min(k, m - k)`` items (the
    high one if both are equal), each by Floyd's method, for ``j`` from ``m - c`` to ``m - 1`` a
    choice from 0 to ``j``, or ``j`` itself if that one is in the set already; then a choice from 0
    to ``k - 1`` and one from 0 to ``m - k - 1``. If the own item is not on the side that was drawn,
    it changes sides with the item there whose number in ascending order is the first choice (of
    the high ones) or the second (of the low ones). All choices are always drawn, and their sizes
    depend on the type alone, so that the number of words says nothing that the report does not.
    """

    def __init__(self, law: DesignLaw) -> None:
        super().__init__(law.levels)
        self._law = law
        starts = [0, *accumulate(law.items)]
        free, firsts = list(starts), []
        for group, count in zip(law.level_groups, law.levels.item_counts, strict=True):
            firsts.append(free[group])
            free[group] += count
        self._starts, self._firsts = starts, firsts
        self._numbers_of_levels = [0, *accumulate(law.levels.item_counts)]
        self._ends = [list(accumulate(chain.from_iterable(row))) for row in law.groups]
        self._choices: dict[int, list[int]] = {}

    def draw(self, code: Any, source: Source) -> bytes:
        """The report."""
        level = bisect_right(self._numbers_of_levels, code) - 1
        group = self._law.level_groups[level]
        place = self._firsts[level] + code - self._numbers_of_levels[level]
        return self._report(group, place, source)

    def _report(self, group: int, place: int, source: Source) -> bytes:
        """That of the item of a group at a place of the bits."""
        kind, side = divmod(bisect_right(self._ends[group], words(source, 1)[0]), 2)
        bits = self._split(kind, place, bool(side), group, source)
        bits.reverse()
        size = self._law.size - _TYPE_BYTES
        number = int(bytes(bits.translate(_DIGITS)), 2)
        return kind.to_bytes(_TYPE_BYTES, "little") + number.to_bytes(size, "little")

    def _split(self, kind: int, place: int, held: bool, own: int, source: Source) -> bytearray:
        """One byte an item, 0 or 1."""
        bits = bytearray(self._starts[-1])
        drawn = iter(choose_all(source, self._sizes(kind)))
        for group, (items, high) in enumerate(
            zip(self._law.items, self._law.types[kind], strict=True)
        ):
            start, few = self._starts[group], min(high, items - high)
            if not few:
                bits[start : start + items] = bytes([high > 0]) * items
                continue
            ones = high <= items - high
            if not ones:
                bits[start : start + items] = b"\x01" * items
            for last in range(start + items - few, start + items):
                pick = start + next(drawn)
                bits[last if bits[pick] == ones else pick] = ones
            ranks = next(drawn), next(drawn)
            if group == own and bits[place] != held:
                there = [k for k in range(start, start + items) if bits[k] == held]
                bits[there[ranks[0] if held else ranks[1]]], bits[place] = not held, held
        return bits

    def _sizes(self, kind: int) -> list[int]:
        """The sizes of all choices of a report of a type."""
        if kind not in self._choices:
            sizes = []
            for items, high in zip(self._law.items, self._law.types[kind], strict=True):
                if 0 < high < items:
                    few = min(high, items - high)
                    sizes += [*range(items - few + 1, items + 1), high, items - high]
            self._choices[kind] = sizes
        return self._choices[kind]


def _sides(items: int, high: int) -> tuple[int, int]:
    return items - high, high


def _has_shape(rows: Any, shape: tuple[int, ...]) -> bool:
    if not shape:
        return True
    return len(rows) == shape[0] and all(_has_shape(row, shape[1:]) for row in rows)


def _tuples(rows: Any) -> Any:
    return tuple(map(_tuples, rows)) if isinstance(rows, list) else rows
