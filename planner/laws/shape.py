"""What every form of report has: its integers in the file, its proof, its draw, its bytes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import ClassVar, Self

from planner.errors import VerificationError
from planner.laws.exact import log_upper_bound
from planner.laws.levels import Levels, PairBudget
from planner.laws.schema import Document, Json, Keys, Schema
from planner.laws.source import Source

# The elements that a person's report is about: one, or all of a whole set.
Own = tuple[int, ...]
# What each element counts as in each wanted number: rows are numbers, columns elements.
Wanted = Sequence[Sequence[Fraction]]
# An estimate is off by one part in so many of what a person counts for, at most.
BIAS = 10**9
# Values of a file are doubles; times this, rounded down, they are exact far below the bias.
SCALE = 2**80
VALUE: Schema = {"type": "number", "minimum": -(2.0**40), "maximum": 2.0**40}
_BIT_DIGITS = bytes.maketrans(b"\x00\x01", b"01")
MOST_LISTED = 200  # levels of which all pairs are listed


class LawPart:
    """A part of a law: what is worked out once stays where it was worked out."""

    def __getstate__(self) -> Document:
        # Cached properties are left out: they are worked out again where they are needed.
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]


@dataclass(frozen=True)
class Shape(LawPart, ABC):
    """One form of report. A subclass states its output law and the order of its random words.

    Attributes
    ----------
    levels:
        The elements that a report can be about, level by level, dummies last, and their budgets.
    """

    name: ClassVar[str]  # its name in the file, the value of law
    keys: ClassVar[Keys]  # its keys of a question, each a field of the class
    asked: ClassVar[tuple[str, ...]]  # the ways of asking that it serves
    # The rounds in which reports are made; None where there are none.
    rounds: ClassVar[tuple[int | None, ...]] = (None,)

    levels: Levels

    @classmethod
    def read(cls, question: Document, levels: Levels) -> Self:
        """The integers of a question of the right form; InputError if they do not fit."""
        law = cls(levels, *(as_tuples(question[key]) for key in cls.keys))
        law.require_fit()
        return law

    def require_fit(self) -> None:
        """InputError if the integers do not fit each other and the levels."""

    @abstractmethod
    def check(self, counts_as: Wanted | None) -> None:
        """Prove all demanded budgets, and that an estimator in the file is unbiased.

        ``counts_as`` is what each element counts as in each wanted number, where answers are more
        than one of some items.
        """

    @abstractmethod
    def ratio(self, i: int, j: int) -> Fraction | None:
        """Largest ratio of an element of ``i`` to one of ``j`` in one report, ``None``: no end."""

    @abstractmethod
    def draw(self, elements: Own, source: Source) -> bytes:
        """The report of a person, about ``elements``, by all of that person's randomness."""

    def output(self, drawn: bytes, elements: Own, round_number: int | None) -> bytes:
        """The report of a round; where there are no rounds, what was drawn."""
        return drawn

    @property
    @abstractmethod
    def size(self) -> int:
        """Bytes of a report."""

    @property
    @abstractmethod
    def cells(self) -> int:
        """Sums that a collector keeps, of all rounds together."""

    @property
    def addends(self) -> int:
        """How many numbers what a report adds to the count of one element can be.

        Two where a report supports an element or does not; 0 of a form that counts no anchors.
        """
        return 0

    @property
    def people_needed(self) -> tuple[int, ...]:
        """How many must have each answer for what is promised of released estimates.

        Where there are any, it is promised of the estimates of all people alone, released one time.
        Of other forms, empty, each report keeps its budgets whatever is released of it.
        """
        return ()

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the positions that :meth:`pairs` refers to."""
        return self.levels.names

    def pairs(self) -> list[PairBudget]:
        """Realised and demanded budgets of pairs of levels, but for those that nobody can meet.

        Either way round where the budgets differ. Of over 200 levels, each with itself and with the
        first of the least budget.
        """
        size = len(self.levels.names)
        least = self.levels.dummy_level
        others = range(size)
        if size > MOST_LISTED:
            others = range(least, least + 1)
        pairs = set()
        for i in range(size):
            pairs.add((i, i))
            for j in others:
                pairs.add((min(i, j), max(i, j)))
        # Both orders of a pair have one budget under an undirected rule: one of them is listed.
        directed = self.levels.directed
        if directed:
            pairs |= {(j, i) for i, j in pairs}
        budgets = []
        for i, j in sorted(pairs):
            if i == j and self.levels.item_counts[i] == 1:
                continue  # a lone item is told from no other of its level
            forward = self.ratio(i, j)
            backward = forward
            if not directed:
                backward = self.ratio(j, i)
            if forward is not None and backward is not None:
                realised = log_upper_bound(max(forward, backward))
                demanded = self.levels.demanded(i, j)
                budgets.append(PairBudget(i, j, realised, demanded))
        return budgets

    def support(self) -> list[tuple[Fraction, Fraction]] | None:
        """The chances that a report counts for an own element, and for another one, by level.

        ``None`` if reports say more of an element than yes and no.
        """
        return None

    def require_telling(self) -> None:
        """VerificationError where a report does not count more often for the own element."""
        for true_chance, other_chance in self.support() or ():
            if true_chance <= other_chance:
                raise VerificationError(
                    "A report must hold the true item more often than another"
                )

    def with_levels(self, levels: Levels) -> Self:
        """The law with other levels, as many as its own; of one level, of all of them alike."""
        return replace(self, levels=levels)

    def document(self) -> Document:
        """The keys of a question."""
        return {key: as_lists(getattr(self, key)) for key in self.keys}


def packed(bits: bytearray, size: int) -> bytes:
    """One byte an element, 0 or 1, as bit ``k % 8`` of byte ``k // 8`` of so many bytes."""
    # The first element is the lowest bit of the number, the last digit that int() reads.
    bits.reverse()
    digits = bytes(bits.translate(_BIT_DIGITS))
    return int(digits, 2).to_bytes(size, "little")


def octets(bits: int) -> int:
    """Bytes of a report of so many bits, in whole 64-bit words."""
    return 8 * -(-bits // 64)


def as_tuples(value: Json) -> Json:
    """A value of JSON with its lists as tuples, at any depth."""
    if type(value) is not list:
        return value
    return tuple(map(as_tuples, value))


def as_lists(value: Json) -> Json:
    """A value of a law with its tuples as lists, at any depth: what JSON takes."""
    if type(value) is not tuple:
        return value
    return list(map(as_lists, value))


def has_shape(rows: Json, shape: tuple[int, ...]) -> bool:
    """Whether nested rows are a table of so many rows, columns, ..."""
    if not shape:
        return True
    if len(rows) != shape[0]:
        return False
    return all(has_shape(row, shape[1:]) for row in rows)
