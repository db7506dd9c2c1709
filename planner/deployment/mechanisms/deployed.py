"""What the planner and a collector need of a mechanism, beyond what a device needs.

A device's half of a mechanism is its law (:mod:`planner.deployment.client.mechanisms.law`). This
is the other half, which may use NumPy: how a plan becomes a question of the file, how reports are
counted, and what the counts say about people. Both are joined by the name in the file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from planner.deployment.client.drawing.entropy import Source
from planner.deployment.client.mechanisms.law import Law
from planner.deployment.mechanisms.answers import AnswerRows
from planner.deployment.mechanisms.counting import Counter
from planner.errors import InputError
from planner.estimates.truncation import SetSizes
from planner.mechanisms.aggregate import Aggregate
from planner.survey import Question

Rows = NDArray[np.uint8]
"""Reports as bytes, shape ``(n, report size)``."""
L = TypeVar("L", bound=Law)


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """What honest reports count for, whatever the answers: a name and two probabilities a cell.

    Attributes
    ----------
    names:
        One per cell of the counts.
    low, high:
        Smallest and largest probability, over all answers, that a report counts for the cell.
    """

    names: Sequence[str]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


class Deployed(ABC, Generic[L]):
    """One question's mechanism, made of its law, proven. Subclasses stand in ``registry.py``."""

    law_type: ClassVar[type[Law]]
    """The device's half."""
    sources: ClassVar[tuple[type, ...]] = ()
    """The mechanisms, tables or plans that :meth:`describe` turns into a question."""

    def __init__(self, law: L) -> None:
        self.law = law

    # -- from a plan to the file --------------------------------------------------------

    @classmethod
    @abstractmethod
    def describe(cls, source: Any, question: Question) -> dict[str, Any]:
        """The keys of the question's law (``law.keys``) for a mechanism, as JSON.

        Raises
        ------
        InputError
            The mechanism does not fit the question.
        """

    # -- from reports to estimates ------------------------------------------------------

    @abstractmethod
    def counter(self) -> Counter:
        """Counts batches of reports; refuses those that the mechanism cannot produce."""

    @abstractmethod
    def cells(self, round_number: int | None) -> Cells:
        """What honest reports count for."""

    @abstractmethod
    def estimate(self, rounds: Sequence[Aggregate], confidence: float) -> AnswerRows:
        """Estimates from the sums of each round, all of them with the same users."""

    def with_sizes(self, sizes: SetSizes | None) -> Self:  # noqa: ARG002 - some know better
        """The same, with set sizes that were asked for, if any: of what was cut more is known.

        Raises
        ------
        InputError
            The question is not about sets.
        """
        remedy = "Name the question about sets first, then the one about their sizes."
        raise InputError("set_sizes", self.law.kind, "of a question about item sets", remedy)

    def size_reader(self) -> Callable[[Sequence[Aggregate]], SetSizes]:
        """What reads from the sums of each round how many items people have, if that was asked.

        Raises
        ------
        InputError
            The question does not ask for a number of items.
        """
        remedy = "Ask for the number of items in a question of kind 'ordinal'."
        raise InputError("set_sizes", self.law.kind, "of a question about set sizes", remedy)

    # -- pilots and proofs --------------------------------------------------------------

    def draw(self, codes: Sequence[Any], source: Source) -> list[Rows]:
        """Reports of checked answers for each round; the client's law, drawn in bulk."""
        encoder, rounds = self.law.encoder(), self.law.rounds
        drawn = [(encoder.draw(code, source), code) for code in codes]
        return [
            _stacked([encoder.output(*one, number) for one in drawn], self.law.size)
            for number in rounds
        ]

    def verify(self) -> None:
        """Prove what a device cannot.

        Raises
        ------
        VerificationError
            The question states something that does not hold.
        """


def _stacked(payloads: list[bytes], size: int) -> Rows:
    return np.frombuffer(b"".join(payloads), dtype=np.uint8).reshape(-1, size)
