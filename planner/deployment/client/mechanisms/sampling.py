"""Sampling Privacy: a die with decoys, thrown once for two rounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

from planner.deployment.client.drawing.entropy import Source, words
from planner.deployment.client.laws.bounds import log_upper_bound
from planner.deployment.client.laws.exact import DENOMINATOR as D
from planner.deployment.client.laws.exact import check_ratio
from planner.deployment.client.laws.levels import LEVEL, Levels
from planner.deployment.client.laws.pairs import PairBudget
from planner.deployment.client.mechanisms.law import Encoder, Estimator, ItemEncoder, ItemLaw
from planner.deployment.client.schema import (
    BUDGET,
    FLAG,
    PROBABILITY,
    TEXT,
    Schema,
    choice,
    either,
    list_of,
    record,
    whole,
)
from planner.errors import InputError, VerificationError
from planner.limits import MAX_EPSILON

ACKNOWLEDGEMENTS = {
    "round-two": "Nobody who sees a person's round two can see that person's round one.",
    "aggregates-only": "A trusted aggregator releases totals only.",
}
_MAX_OTHERS = 10**7
_INFINITE = choice("infinite")
_FINITE = {"type": "number", "minimum": 0, "maximum": MAX_EPSILON + 1}
_EPSILON = either(_FINITE, _INFINITE)
_AGGREGATES = record(
    {
        "delta": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
        "difference_epsilon": _EPSILON,
        "totals_epsilon": _EPSILON,
        "totals_are_exact": FLAG,
        "others_with_each_value": list_of(whole(0, _MAX_OTHERS)),
        "others_with_none": whole(0, _MAX_OTHERS),
    },
    "What released totals promise, (epsilon, delta), to people of whom so many others are asked.",
)
_GUARANTEE = record(
    {
        "relies_on": choice(*ACKNOWLEDGEMENTS),
        "acknowledged": TEXT,
        "round_two_epsilon": _FINITE,
        "linkable_epsilon": _INFINITE,
        "aggregates": _AGGREGATES,
    },
    "The three views; a deployment relies on one of the weaker two and says so.",
)


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What the file says that its die promises; ``None`` stands for an endless epsilon."""

    relies_on: str
    round_two_epsilon: float
    delta: float
    difference_epsilon: float | None
    totals_epsilon: float | None
    totals_are_exact: bool
    others_with_each_value: tuple[int, ...]
    others_with_none: int

    @classmethod
    def read(cls, stated: Mapping[str, Any]) -> Guarantee:
        """The guarantee of a question of the right shape, acknowledged word for word."""
        needed = ACKNOWLEDGEMENTS[stated["relies_on"]]
        if stated["acknowledged"] != needed:
            remedy = "Export the parameters again with this sentence."
            raise InputError("acknowledged", stated["acknowledged"], repr(needed), remedy)
        totals = stated["aggregates"]
        return cls(
            stated["relies_on"],
            float(stated["round_two_epsilon"]),
            float(totals["delta"]),
            _number(totals["difference_epsilon"]),
            _number(totals["totals_epsilon"]),
            totals["totals_are_exact"],
            tuple(totals["others_with_each_value"]),
            totals["others_with_none"],
        )


@dataclass(frozen=True, slots=True)
class SamplingLaw(ItemLaw):
    """Sampling Privacy: a die with ``zero``, a decoy per value, and "tell the truth"."""

    mechanism: ClassVar[str] = "sampling-privacy"
    kind: ClassVar[str] = "sampled-choice"
    keys: ClassVar[Mapping[str, Schema]] = {
        "rule": choice("min"),
        "sampling": PROBABILITY,
        "zero": whole(0, D - 1),
        "decoys": list_of(PROBABILITY),
        "none_epsilon": BUDGET,
        "everyone_has_value": FLAG,
        "levels": list_of(LEVEL),
        "guarantee": _GUARANTEE,
    }
    estimates: ClassVar[Schema] = record(
        {"sampling": {"type": "number", "exclusiveMinimum": 0, "maximum": 1}},
        "People with a value: (its total in round two - that in round one) / sampling.",
    )

    rounds: ClassVar[tuple[int | None, ...]] = (1, 2)

    sampling: int
    zero: int
    decoys: tuple[int, ...]
    none_epsilon: float
    everyone_has_value: bool
    guarantee: Guarantee | None = None

    @classmethod
    def read(cls, question: Mapping[str, Any]) -> Self:
        return cls(
            Levels.read(question),
            question["sampling"],
            question["zero"],
            tuple(question["decoys"]),
            float(question["none_epsilon"]),
            question["everyone_has_value"],
            Guarantee.read(question["guarantee"]),
        )

    @property
    def cells(self) -> int:
        return len(self.rounds) * (1 + self.levels.total)

    @property
    def size(self) -> int:
        return 4

    @property
    def labels(self) -> tuple[str, ...]:
        return (*self.levels.names, "none of the values")

    def verify(self) -> None:
        if len(self.decoys) != self.levels.total:
            reason = f"{len(self.decoys)} decoys for {self.levels.total} values"
            raise VerificationError(reason)
        total = self.sampling + self.zero + sum(self.decoys)
        if total != D:
            raise VerificationError(f"The die's faces have {total} of 2^32 parts in total")
        if not self.zero and not self.everyone_has_value:
            raise VerificationError("Output 0 would give away that a person has none of the values")
        for position, ratio in self._ratios():
            check_ratio(ratio, self._budgets[position], self.labels[position])
        if self.guarantee is not None:
            self._verify_guarantee(self.guarantee)

    def _verify_guarantee(self, stated: Guarantee) -> None:
        """What the standard library can prove of the guarantee; see the collector for the rest."""
        if len(stated.others_with_each_value) != self.levels.total:
            counts = len(stated.others_with_each_value)
            raise VerificationError(f"{counts} numbers of others for {self.levels.total} values")
        worst = max(ratio for _, ratio in self._ratios())
        check_ratio(worst, stated.round_two_epsilon, "Round two")
        if stated.relies_on == "aggregates-only" and stated.totals_epsilon is None:
            raise VerificationError("Released totals have no finite epsilon, yet are relied on")

    def pairs(self) -> list[PairBudget]:
        """Loss of the round-two outputs of each level, at ``(i, i)``; of "none" at the end."""
        worst: dict[int, Fraction] = {}
        for i, ratio in self._ratios():
            worst[i] = max(ratio, worst.get(i, ratio))
        return [
            PairBudget(i, i, log_upper_bound(ratio), self._budgets[i])
            for i, ratio in sorted(worst.items())
        ]

    def estimator(self) -> Estimator:
        return {"sampling": self.sampling / D}

    def encoder(self) -> Encoder:
        return SamplingEncoder(self)

    def examples(self) -> Iterator[Any]:
        yield from ItemLaw.examples(self)
        if not self.everyone_has_value:
            yield None

    @property
    def _budgets(self) -> tuple[float, ...]:
        return (*self.levels.epsilons, self.none_epsilon)

    def _ratios(self) -> list[tuple[int, Fraction]]:
        """For each output its label's position and how much the truth raises its probability."""
        faces = list(zip(self.levels.level_of(), self.decoys, strict=True))
        if not self.everyone_has_value:
            faces.append((len(self.levels.names), self.zero))
        return [(position, Fraction(face + self.sampling, face)) for position, face in faces]


class SamplingEncoder(ItemEncoder):
    """The die of Sampling Privacy: four bytes, kept by the person, thrown once for both rounds.

    Draws one word. The faces follow each other: staying at 0, each value's decoy, "sampled".
    """

    def __init__(self, law: SamplingLaw) -> None:
        super().__init__(law.levels)
        self._law = law

    def code(self, answer: Any) -> Any:
        """0 for none of the values, else the value's number from 1."""
        if answer is None and not self._law.everyone_has_value:
            return 0
        return 1 + int(super().code(answer))

    def draw(self, code: Any, source: Source) -> bytes:  # noqa: ARG002 - the die is blind
        """The die."""
        return words(source, 1)[0].to_bytes(4, "little")

    def output(self, drawn: bytes, code: Any, round_number: int | None) -> bytes:
        """The report of a round: round one tells nothing, round two the truth if sampled."""
        left = int.from_bytes(drawn, "little")
        for face, width in enumerate((self._law.zero, *self._law.decoys)):
            if left < width:
                return face.to_bytes(4, "little")
            left -= width
        return (int(code) if round_number == 2 else 0).to_bytes(4, "little")


def _number(epsilon: float | str) -> float | None:
    return None if isinstance(epsilon, str) else float(epsilon)
