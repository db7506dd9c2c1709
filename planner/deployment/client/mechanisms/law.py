"""What a device needs of a mechanism: its shape in the file, its law, and how it draws.

A law is made of a question's integers. It proves the budgets that the question promises, states
the pairs and the estimator that follow from the integers, and gives an encoder, which checks an
answer (drawing nothing) and then randomises it from bytes alone, in an order that its docstring
fixes for ports. Every probability is a whole number over ``D = 2^32``. Standard library only.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, Protocol, Self

from planner.deployment.client.drawing.answers import item_number
from planner.deployment.client.drawing.entropy import Source
from planner.deployment.client.laws.bounds import log_above
from planner.deployment.client.laws.exact import check_ratio
from planner.deployment.client.laws.levels import LEVEL, RULE, Levels
from planner.deployment.client.laws.pairs import PairBudget, least_budget, listed_pairs
from planner.deployment.client.schema import Schema, either, list_of, record, whole
from planner.errors import InputError

Estimator = dict[str, Any]
_SHARE: Schema = {"type": "number", "exclusiveMinimum": 0, "maximum": 1}
LINEAR = record(
    {"factor": whole(1, 2**32), "offsets": list_of(_SHARE), "slopes": list_of(_SHARE)},
    "People with an item: factor * (count - users * offset) / slope, constants per level.",
)
_ERROR: Schema = {"type": "number", "exclusiveMinimum": 0}
PREDICTED = record(
    {
        "worst_case_mse": _ERROR,
        "lower_bound": either({"type": "number"}, {"type": "null"}),
        "relative_gap": either({"type": "number", "minimum": 0}, {"type": "null"}),
    },
    "Worst-case total squared error per user, and the proof that nothing of its kind does better, "
    "null for mechanisms with a closed form. For item sets that of the sampled item, before the "
    "estimate is scaled. A statement of the planner that no reader checks.",
)


class Encoder(Protocol):
    """Checks and randomises the answers to one question."""

    def code(self, answer: Any) -> Any:
        """The answer in the form that :meth:`draw` takes; InputError if it is none."""

    def draw(self, code: Any, source: Source) -> bytes:
        """All randomness of one person, of which :meth:`output` makes a round's report.

        As many bytes as a report.
        """

    def output(self, drawn: bytes, code: Any, round_number: int | None) -> bytes:
        """The report of a round; where there are no rounds, what was drawn."""


class Law(Protocol):
    """What a mechanism's integers promise, and the encoder that does as they say."""

    mechanism: ClassVar[str]
    """Its name in the file."""
    kind: ClassVar[str]
    """The kind of question that it answers."""
    keys: ClassVar[Mapping[str, Schema]]
    """The keys of a question but for those that all have, see :mod:`.shape`."""
    stated: ClassVar[Mapping[str, Schema]] = {}
    """Keys that a question may have or leave out; version 3 of the file was the first with any."""
    estimates: ClassVar[Schema]
    """The shape of :meth:`estimator`."""
    since: ClassVar[int] = 2
    """The first version of the file that has it."""
    rounds: ClassVar[tuple[int | None, ...]]
    """The rounds in which reports are made; ``None`` if the question has no rounds."""

    @classmethod
    def read(cls, question: Mapping[str, Any]) -> Self:
        """The law of a question of the right shape; InputError if its parts do not fit."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the positions that :meth:`pairs` refers to."""

    @property
    def cells(self) -> int:
        """Sums that a collector keeps, of all rounds together."""

    @property
    def size(self) -> int:
        """Bytes of a report."""

    def verify(self) -> None:
        """Prove the promised budgets; VerificationError if they are not kept."""

    def pairs(self) -> list[PairBudget]:
        """Realised (rounded up) and demanded budgets."""

    def estimator(self) -> Estimator:
        """The constants of the estimator, each the double nearest to the exact number."""

    def encoder(self) -> Encoder:
        """How answers are checked and drawn."""

    def examples(self) -> Iterator[Any]:
        """Answers that a conformance test should try: first, middle, last, none."""

    def from_text(self, cell: str) -> Any:
        """The answer that a person means by a cell of a table; any cell gives something."""


@dataclass(frozen=True, slots=True)
class ItemLaw(Law):
    """What all laws share whose answer is one item of some levels."""

    kind: ClassVar[str] = "categorical"
    estimates: ClassVar[Schema] = LINEAR
    rounds: ClassVar[tuple[int | None, ...]] = (None,)

    levels: Levels

    @property
    def labels(self) -> tuple[str, ...]:
        return self.levels.names

    def examples(self) -> Iterator[Any]:
        total, names = self.levels.total, self.levels.item_names()
        numbers = self.levels.numbers()
        for k in sorted({0, total // 2, total - 1}):
            yield names[k] if names[k] in numbers else k

    def from_text(self, cell: str) -> Any:
        return self.levels.from_text(cell) if cell else None


class ItemEncoder:
    """Takes one item of the levels as an answer."""

    def __init__(self, levels: Levels) -> None:
        self._levels = levels
        self._numbers = levels.numbers()

    def code(self, answer: Any) -> Any:
        """The item's number."""
        return item_number(self._levels, self._numbers, answer)

    def output(self, drawn: bytes, code: Any, round_number: int | None) -> bytes:
        """What was drawn."""
        del code, round_number
        return drawn


@dataclass(frozen=True, slots=True)
class OneRatioLaw(ItemLaw):
    """Mechanisms that treat all items alike: every pair of levels realises the same loss."""

    shared: ClassVar[Mapping[str, Schema]] = {
        "rule": RULE,
        "levels": list_of(LEVEL),
        "predicted": PREDICTED,
    }

    @property
    @abstractmethod
    def ratio(self) -> Fraction:
        """Largest ratio of two items' probabilities of one report."""

    @property
    @abstractmethod
    def support(self) -> tuple[Fraction, Fraction]:
        """Probability that a report supports the true item, and that it supports another."""

    def verify(self) -> None:
        check_ratio(self.ratio, least_budget(self.levels.epsilons, self.levels.rule))

    def pairs(self) -> list[PairBudget]:
        size = len(self.levels.names)
        ones, zeros = [log_above(self.ratio)] * size, [Decimal(0)] * size
        return listed_pairs(ones, zeros, self.levels.epsilons, self.levels.rule)

    def estimator(self) -> Estimator:
        own, other = self.support
        size = len(self.levels.names)
        return linear([other] * size, [own - other] * size)


def linear(offsets: list[Fraction], slopes: list[Fraction], factor: int = 1) -> Estimator:
    """The constants of a linear estimator, one offset and slope a level.

    Raises
    ------
    InputError
        A slope is not above 0.
    """
    if any(slope <= 0 for slope in slopes):
        remedy = "The mechanism says nothing at this budget; raise it."
        raise InputError("slopes", "0 or less", "above 0", remedy)
    return {
        "factor": factor,
        "offsets": [float(offset) for offset in offsets],
        "slopes": [float(slope) for slope in slopes],
    }


def octets(bits: int) -> int:
    """Bytes of a report of so many bits, in whole 64-bit words."""
    return 8 * -(-bits // 64)
