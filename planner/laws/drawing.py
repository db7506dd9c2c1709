"""Which questions a person is asked, where each person answers some of them.

It is drawn on the person's device, from the operating system's generator, before they answer,
and kept: so it depends on no answer, and what a person spends is that of these questions alone.
docs/theory/surveys.md has what it gains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Self

from planner.laws import schema
from planner.laws.schema import Document, Schema, unfit
from planner.limits import DENOMINATOR

DRAWN: Schema = schema.described(
    schema.record({"chances": schema.list_of(schema.whole(1, DENOMINATOR))}),
    "Each person answers some questions alone, drawn on their device: question k with this "
    "chance times 2^32. The chances add up to the number of questions that a person answers. Left "
    "out where everybody answers all.",
)


@dataclass(frozen=True)
class Drawing:
    """Systematic sampling of questions by their chances (Madow, 1949), in whole numbers.

    The chances ``f_k`` stand one after the other on a line as intervals of these lengths. Of
    points at distance 1 from each other, the first of which is ``word / 2^32``, each falls into
    one interval: that question is asked. An interval of length at most 1 has at most one point,
    and has one with the chance ``f_k``, exactly, for a uniform word.

    ``chances`` are ``f_k`` times 2^32, from 1 to 2^32; their sum is a multiple of 2^32.
    """

    names: tuple[str, ...]
    chances: tuple[int, ...]

    @classmethod
    def read(cls, document: Document) -> Self | None:
        """The drawing of a parameter file of the right form; None where everybody answers all."""
        if "drawn" not in document:
            return None
        chances = document["drawn"]["chances"]
        names = [question["name"] for question in document["questions"]]
        if len(chances) != len(names):
            raise unfit("drawn.chances", len(chances), f"one of each of {len(names)}")
        total = sum(chances)
        if total % DENOMINATOR:
            raise unfit("sum of drawn.chances", total, "a multiple of 2^32")
        return cls(tuple(names), tuple(chances))

    @classmethod
    def of(cls, names: Sequence[str], fractions: Sequence[float]) -> Self:
        """The drawing by shares of the people, each in ``(0, 1]``, that add up to a whole number.

        Examples
        --------
        >>> Drawing.of(["a", "b", "c"], [0.25, 0.75, 1.0]).chances
        (1073741824, 3221225472, 4294967296)
        """
        chances = [
            _allowed_chance(int(fraction * DENOMINATOR)) for fraction in fractions
        ]
        total = round(sum(fractions)) * DENOMINATOR
        missing = total - sum(chances)  # what rounding has left; it may be below 0
        # What is missing goes to the first that have room.
        for k, chance in enumerate(chances):
            changed = _allowed_chance(chance + missing)
            missing -= changed - chance
            chances[k] = changed
        return cls(tuple(names), tuple(chances))

    def document(self) -> Document:
        """The key of a parameter file."""
        return {"chances": list(self.chances)}

    @property
    def questions_each(self) -> int:
        """How many questions a person answers."""
        return sum(self.chances) // DENOMINATOR

    def asked(self, word: int) -> tuple[str, ...]:
        """The questions of a person with this word of 32 bits.

        Examples
        --------
        >>> drawing = Drawing.of(["a", "b", "c"], [0.25, 0.75, 1.0])
        >>> drawing.asked(0), drawing.asked(2**30), drawing.questions_each
        (('a', 'c'), ('b', 'c'), 2)
        """
        ends = accumulate(self.chances, initial=0)
        # How many points of the line are before each end: ceil((end - word) / 2^32).
        points = [-((word - end) // DENOMINATOR) for end in ends]
        asked = []
        for name, (before, after) in zip(self.names, pairwise(points), strict=True):
            if after > before:
                asked.append(name)
        return tuple(asked)


def _allowed_chance(chance: int) -> int:
    """The nearest whole number that may be a chance times 2^32."""
    return min(max(chance, 1), DENOMINATOR)
