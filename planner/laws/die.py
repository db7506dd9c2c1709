"""Sampling Privacy: a die with decoys, thrown once for two rounds."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf
from typing import ClassVar, Self

from planner.errors import InputError, VerificationError
from planner.laws import schema
from planner.laws.exact import check_ratio, log_upper_bound
from planner.laws.levels import Levels, PairBudget, spans
from planner.laws.schema import BUDGET, FLAG, PROBABILITY, SHARE, TEXT, Document, Keys
from planner.laws.shape import Own, Shape, Wanted
from planner.laws.source import Source, words
from planner.limits import DENOMINATOR as D
from planner.limits import MAX_EPSILON

ACKNOWLEDGEMENTS = {
    "round-two": "Nobody who sees a person's round two can see that person's round one.",
    "aggregates-only": "A trusted aggregator releases the estimates alone.",
}
_RELEASED_ALONE = "aggregates-only"
_MAX_OTHERS = 10**7
_INFINITE = schema.choice("infinite")
_FINITE = {"type": "number", "minimum": 0, "maximum": MAX_EPSILON + 1}
_EPSILON = schema.either(_FINITE, _INFINITE)
_AGGREGATES = schema.record(
    {
        "delta": SHARE,
        "epsilon": _EPSILON,
        "others_with_each_value": schema.list_of(schema.whole(0, _MAX_OTHERS)),
    },
    "What estimates alone promise, (epsilon, delta), to people of whom so many others are asked.",
)
_GUARANTEE = schema.record(
    {
        "relies_on": schema.choice(*ACKNOWLEDGEMENTS),
        "acknowledged": TEXT,
        "round_two_epsilon": _FINITE,
        "linkable_epsilon": _INFINITE,
        "aggregates": _AGGREGATES,
    },
    "The three views; a deployment relies on one of the weaker two and says so.",
)


@dataclass(frozen=True)
class Die(Shape):
    """A die with ``zero``, a decoy per value, and "sampled", which tells the truth in round two.

    Report 0 is none of the values, else a value's number from 1, in four bytes, little-endian. The
    die is kept by the person and thrown once for both rounds; it is blind to the answer.

    Draws one word. The faces follow each other: staying at 0, each value's decoy, "sampled".
    """

    name: ClassVar[str] = "die"
    size = 4
    asked: ClassVar[tuple[str, ...]] = ("item-or-none",)
    rounds: ClassVar[tuple[int | None, ...]] = (1, 2)
    keys: ClassVar[Keys] = {
        "sampling": PROBABILITY,
        "zero": schema.whole(0, D - 1),
        "decoys": schema.list_of(PROBABILITY),
        "none_epsilon": BUDGET,
        "everyone_has_value": FLAG,
        "guarantee": _GUARANTEE,
    }

    sampling: int
    zero: int
    decoys: tuple[int, ...]
    none_epsilon: float
    everyone_has_value: bool
    guarantee: Document

    @classmethod
    def read(cls, question: Document, levels: Levels) -> Self:
        law = super().read(question, levels)
        stated = law.guarantee
        needed = ACKNOWLEDGEMENTS[stated["relies_on"]]
        if stated["acknowledged"] != needed:
            remedy = "Export the parameters again with this sentence."
            raise InputError(
                "acknowledged", stated["acknowledged"], repr(needed), remedy
            )
        return law

    @property
    def released(self) -> float:
        """The stated epsilon of released estimates, which a device cannot prove."""
        stated = self.guarantee["aggregates"]["epsilon"]
        if stated == "infinite":  # JSON has no number for it
            return inf
        return float(stated)

    @property
    def people_needed(self) -> tuple[int, ...]:
        """The people that each value needs if estimates alone are released: its others and one."""
        if self.guarantee["relies_on"] != _RELEASED_ALONE:
            return ()
        others = self.guarantee["aggregates"]["others_with_each_value"]
        return tuple(number + 1 for number in others)

    @property
    def cells(self) -> int:
        return len(self.rounds) * (1 + self.levels.total)

    @property
    def labels(self) -> tuple[str, ...]:
        return (*self.levels.names, "none of the values")

    def check(self, counts_as: Wanted | None) -> None:
        values = self.levels.total
        others = self.guarantee["aggregates"]["others_with_each_value"]
        counts = {"decoys": len(self.decoys), "numbers of others": len(others)}
        for what, count in counts.items():
            if count != values:
                raise VerificationError(f"{count} {what} for {values} values")
        total = self.sampling + self.zero + sum(self.decoys)
        if total != D:
            raise VerificationError(
                f"The die's faces have {total} of 2^32 parts in total"
            )
        # Where nobody stays at 0 whatever the answer, who is at 0 in round two has none.
        if not self.zero and not self.everyone_has_value:
            raise VerificationError(
                "Output 0 would give away that a person has none of the values"
            )
        # Each value at its own budget, and all of them at what the file states of round two.
        stated = self.guarantee["round_two_epsilon"]
        for i, (label, budget) in enumerate(self._promised):
            ratio = self.ratio(i, i)
            check_ratio(ratio, budget, label)
            check_ratio(ratio, stated, "Round two")
        if self.guarantee["relies_on"] == _RELEASED_ALONE and self.released == inf:
            raise VerificationError(
                "Released estimates have no finite epsilon, yet are relied on"
            )

    def ratio(self, i: int, j: int) -> Fraction:
        """How much having a value of level ``i`` raises the chance of reporting it in round two."""
        # The face of its own value is thrown anyway with its decoy chance; the truth adds sampling.
        face = self._least_faces[i]
        return Fraction(face + self.sampling, face)

    @cached_property
    def _least_faces(self) -> list[int]:
        """The face that the truth raises most, of each level; last that of none."""
        faces = []
        for first, last in spans(self.levels.item_counts):
            decoys = self.decoys[first:last]
            faces.append(min(decoys))
        faces.append(self.zero)
        return faces

    def pairs(self) -> list[PairBudget]:
        """Loss of the round-two outputs of each level, at ``(i, i)``; of "none" at the end."""
        budgets = []
        for i, (_, budget) in enumerate(self._promised):
            realised = log_upper_bound(self.ratio(i, i))
            budgets.append(PairBudget(i, i, realised, budget))
        return budgets

    @property
    def _promised(self) -> list[tuple[str, float]]:
        """Each level and, if an answer may be none, none, with its budget."""
        levels = self.levels
        promised = list(zip(levels.names, levels.epsilons, strict=True))
        if not self.everyone_has_value:
            promised.append((self.labels[-1], self.none_epsilon))
        return promised

    def draw(self, elements: Own, source: Source) -> bytes:
        # The word itself: it says nothing of the answer, and both rounds follow from it.
        (word,) = words(source, 1)
        return word.to_bytes(4, "little")

    def output(self, drawn: bytes, elements: Own, round_number: int | None) -> bytes:
        # Faces stand one after the other on the line of words: zero, the decoys, then the truth.
        left = int.from_bytes(drawn, "little")
        for face, width in enumerate((self.zero, *self.decoys)):
            if left < width:
                return face.to_bytes(4, "little")
            left -= width
        # The face "sampled": the truth, but in round two alone.
        answer = 0
        if round_number == 2:
            answer = elements[0]
        return answer.to_bytes(4, "little")
