"""What questions of all kinds share while they are typed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from planner.errors import InputError
from planner.survey import Question
from planner.survey.set_model import AssumedSets, PilotFile
from planner.survey.target import Target
from planner.ui.parts import cells

Row = dict[str, str]
T = TypeVar("T")


@dataclass(slots=True)
class Aim:
    """How much a question matters, and what is exact enough.

    Attributes
    ----------
    weight:
        Importance among the survey's questions, as typed.
    error:
        Largest acceptable total error, a share of the people as typed; "" for none.
    others:
        Targets from a file that the app does not edit.
    """

    weight: str = "1"
    error: str = ""
    others: tuple[Target, ...] = ()

    @classmethod
    def of(cls, question: Question) -> Aim:
        """The aim that builds this question's weight and targets."""
        total = [t for t in question.targets if t.kind == "error" and t.level is None]
        others = tuple(t for t in question.targets if t not in total)
        error = cells.number_text(total[0].value) if total else ""
        return cls(cells.number_text(question.weight), error, others)

    def build(self) -> tuple[float, tuple[Target, ...]]:
        """Weight and targets.

        Raises
        ------
        InputError
            What was typed is not right.
        """
        weight = cells.number(self.weight, "weight of the question")
        if weight <= 0:
            remedy = "Leave it at 1, or delete a question that does not matter."
            raise InputError("weight of the question", self.weight, "above 0", remedy)
        if not self.error.strip():
            return weight, self.others
        target = Target(error=cells.probability(self.error, "target error"))
        return weight, (target, *self.others)


@dataclass
class QuestionDraft(ABC):
    """A question as typed, whatever its kind.

    Attributes
    ----------
    name:
        As typed.
    included:
        Whether the question is part of the survey.
    aim:
        How much the question matters, and what is exact enough.
    mechanism:
        Name of the mechanism that is planned; "" for the kind's usual one.
    """

    name: str
    included: bool = field(default=True, kw_only=True)
    mechanism: str = field(default="", kw_only=True)
    aim: Aim = field(default_factory=Aim, kw_only=True)

    def build(self) -> tuple[Question | None, list[str]]:
        """The question of all that is right, and a sentence for each thing that is not."""
        problems: list[str] = []
        try:
            about = self._about(problems)
            if about is None:
                return None, problems
            weight, targets = self.aim.build()
            return Question(self.name, weight=weight, targets=targets, **about), problems
        except InputError as error:
            return None, [*problems, str(error)]

    @abstractmethod
    def _about(self, problems: list[str]) -> dict[str, Any] | None:
        """What the question is but for its name and aim; None if nothing of it is right."""


@dataclass(slots=True)
class SetsDraft:
    """What is known of people's sets of answers.

    A pilot from a file is kept, and used while no sizes are typed.
    """

    sizes: str = "0, 40, 30, 20, 10"
    popularity: str = "zipf"
    padding: str = ""
    pilot: PilotFile | None = None
    weights: tuple[float, ...] = ()

    @classmethod
    def of(cls, question: Question) -> SetsDraft:
        """The draft that builds what an item-set question says of its sets."""
        model, length = question.sets, question.padding_length
        padding = "" if length is None else str(length)
        if not isinstance(model, AssumedSets):
            return cls("", padding=padding, pilot=model)
        sizes = ", ".join(cells.number_text(float(size)) for size in model.sizes)
        popularity = model.popularity
        if isinstance(popularity, str):
            return cls(sizes, popularity, padding)
        return cls(sizes, "given", padding, weights=tuple(float(w) for w in popularity))

    def build(self) -> tuple[AssumedSets | PilotFile | None, int | None]:
        """What is known of the sets, and a padding length that is settled.

        Raises
        ------
        InputError
            What was typed is not right.
        """
        padding = self.padding.strip()
        length = cells.whole_number(padding, "padding length") if padding else None
        if not self.sizes.strip():
            return self.pilot, length
        popularity = self.weights if self.popularity == "given" else self.popularity
        return AssumedSets(columns_of(self.sizes, "set sizes"), popularity), length


def columns_of(text: str, argument: str) -> list[float]:
    """Numbers separated by commas or semicolons.

    Raises
    ------
    InputError
        One of them is not a number.

    Examples
    --------
    >>> columns_of("0, 1.5; 3", "edges")
    [0.0, 1.5, 3.0]
    """
    return [cells.number(part, argument) for part in text.replace(";", ",").split(",")]


def read(reader: Callable[[], T], problems: list[str]) -> T | None:
    """What ``reader`` returns; or ``None``, with its complaint added to ``problems``."""
    try:
        return reader()
    except InputError as error:
        problems.append(str(error))
        return None
