"""What the mechanisms share whose answer is a number in a range, or none."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from planner.deployment.client.drawing.answers import number
from planner.deployment.client.laws.bounds import log_upper_bound
from planner.deployment.client.laws.exact import check_ratio
from planner.deployment.client.laws.pairs import PairBudget
from planner.deployment.client.mechanisms.law import Law
from planner.deployment.client.schema import BUDGET, FINITE, FLAG, Schema
from planner.errors import InputError
from planner.limits import EXPORT_REMEDY

ANY_ANSWER = ("any answer or none",)


@dataclass(frozen=True, slots=True)
class NumberLaw(Law):
    """A number from ``lower`` to ``upper`` or none, all answers protected alike by ``epsilon``."""

    kind: ClassVar[str] = "numeric"
    rounds: ClassVar[tuple[int | None, ...]] = (None,)
    shared: ClassVar[Mapping[str, Schema]] = {
        "epsilon": BUDGET,
        "lower": FINITE,
        "upper": FINITE,
        "yes_no": FLAG,
    }

    epsilon: float
    lower: float
    upper: float
    yes_no: bool

    @property
    @abstractmethod
    def ratio(self) -> Fraction:
        """Largest ratio of two answers' probabilities of one report."""

    @property
    def labels(self) -> tuple[str, ...]:
        return ANY_ANSWER

    def verify(self) -> None:
        check_ratio(self.ratio, self.epsilon)

    def pairs(self) -> list[PairBudget]:
        return [PairBudget(0, 0, log_upper_bound(self.ratio), self.epsilon)]

    def examples(self) -> Iterator[Any]:
        yield from (self.lower, self.upper, None)
        if not self.yes_no:
            yield from (self.lower + (self.upper - self.lower) * share for share in (0.5, 0.7))

    def from_text(self, cell: str) -> Any:
        try:
            return float(cell) if cell.strip() else None
        except ValueError:
            return cell

    @staticmethod
    def read_range(question: Mapping[str, Any]) -> tuple[float, float, float, bool]:
        """Budget, ends and whether they are the only answers; InputError for an empty range."""
        lower, upper = (float(question[key]) for key in ("lower", "upper"))
        if not lower < upper or not math.isfinite(upper - lower):
            allowed = f"above lower, which is {lower!r}, by a finite amount"
            raise InputError("upper", upper, allowed, EXPORT_REMEDY)
        return float(question["epsilon"]), lower, upper, question["yes_no"]


class NumberEncoder:
    """Takes a number in the range, or none, as an answer."""

    def __init__(self, law: NumberLaw) -> None:
        self._range = law.lower, law.upper
        self._yes_no = law.yes_no

    def code(self, answer: Any) -> Any:
        """The number, or ``None``."""
        return number(answer, *self._range, self._yes_no)

    def share(self, answer: float) -> float:
        """How far from the lower end it is, as a share of the range; all in doubles."""
        lower, upper = self._range
        return (answer - lower) / (upper - lower)

    def output(self, drawn: bytes, code: Any, round_number: int | None) -> bytes:
        """What was drawn."""
        del code, round_number
        return drawn
