"""Ways of asking: which answers there are, and what each report is about.

Errors say of what type an answer is, never the answer: they may end up in a log.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

from planner.errors import InputError
from planner.laws import schema
from planner.laws.levels import LEVELS_FORM, RULE, Levels, folded
from planner.laws.schema import (
    BUDGET,
    FINITE,
    FLAG,
    Document,
    Json,
    Keys,
    unfit,
)
from planner.laws.shape import LawPart, Own, Wanted, as_lists
from planner.laws.source import Source, words
from planner.limits import DENOMINATOR

_MAX_ANSWERS = 257
SHARES_UP_TO = "shares up to"
COUNTS = "counts"
MEAN_OF_SCORES = "mean of scores"
ANY_ANSWER = "any answer or none"
# In place of an answer: a person who has none, where the question has no answer for that.
LEFT_OUT = "left out"
_FLOAT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_MOST_SEEN = 2**16  # texts for items that are remembered
Answer = Json  # what a person gives: a name or number, a number or none, a list
# An answer, checked, as its way of asking takes it: an item's number, a number or none, a set.
Code = Json


@dataclass(frozen=True)
class WayOfAsking(LawPart, ABC):
    """How an answer becomes what a report is about.

    Attributes
    ----------
    levels:
        The items, with the dummies that reports may be about.
    """

    name: ClassVar[str]  # its name in the file, the value of asked
    kind: ClassVar[str]  # the kind of question in a survey
    keys: ClassVar[Keys]  # its keys of a question
    optional: ClassVar[Keys] = {}  # those that may be left out

    several: ClassVar[bool] = False  # whether a person has any number of items
    in_order: ClassVar[bool] = False  # whether its answers have an order of their own

    levels: Levels

    @property
    def decimals(self) -> bool:
        """Whether a cell of a table may have a mark of decimals."""
        return False

    @classmethod
    @abstractmethod
    def read(cls, question: Document) -> Self:
        """The way of asking of a question of the right form; InputError if its parts do not fit."""

    def counts_as(self) -> Wanted | None:
        """What each element counts as in each wanted number; ``None``: an item counts for one."""
        return None

    @abstractmethod
    def code(self, answer: Answer) -> Code:
        """The answer, checked, in the form that :meth:`own` takes; InputError if it is none."""

    @abstractmethod
    def own(self, code: Code, source: Source) -> Own:
        """What the report is about; takes as many random words for every answer."""

    @abstractmethod
    def read_cell(self, cell: str) -> Code:
        """The answer that a cell of a table means, which is not blank; InputError if none."""

    def texts(self, cell: str) -> list[str]:
        """The texts in a cell that name an item each."""
        return [cell]

    def find(self, text: str) -> int | None:
        """The item that a text of a table means."""
        return None

    def placing(self, places: Mapping[str, int]) -> Self:
        """The way of asking in which these folded texts mean items without a name, too."""
        return self

    def without(self, *, blank: bool) -> Code:
        """What somebody without an answer counts as, by a blank cell or by a code for that."""
        return LEFT_OUT

    @abstractmethod
    def answer(self, code: Code) -> Answer:
        """The answer that has this code, as a client takes it."""

    @abstractmethod
    def examples(self) -> Iterator[Answer]:
        """Answers that a conformance test should try: first, middle, last, none."""

    def document(self) -> Document:
        """The keys of a question."""
        document: Document = {}
        for key in self.keys:
            if hasattr(self, key):  # but for those of the levels
                document[key] = as_lists(getattr(self, key))
        if "levels" in self.keys:
            document |= self.levels.document()
        return document


@dataclass(frozen=True)
class Item(WayOfAsking):
    """One item, given by its name or, where items have no names, by its number. Draws nothing."""

    name: ClassVar[str] = "item"
    kind: ClassVar[str] = "categorical"
    keys: ClassVar[Keys] = {"rule": RULE, "levels": LEVELS_FORM}

    @classmethod
    def read(cls, question: Document) -> Self:
        return cls(Levels.read(question))

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each named item."""
        return self.levels.numbers()

    @cached_property
    def meant(self) -> dict[str, int]:
        """The number of each item by its name as cells have it; none that two may mean."""
        # Two names that differ by case alone are told apart by clients, not by a cell.
        names = Counter(map(folded, self.numbers))
        meant = {}
        for name, number in self.numbers.items():
            text = folded(name)
            if names[text] == 1:
                meant[text] = number
        return meant

    def code(self, answer: Answer) -> Code:
        number = None
        if type(answer) is str:  # nothing else is a name; a list has no hash
            number = self.numbers.get(answer)
        if number is None:
            number = self.levels.unnamed(answer)
        return self._known(number, answer)

    def _known(self, number: int | None, answer: Answer) -> int:
        if number is not None:
            return number
        allowed = "the name of an item of this question"
        if not self.levels.named:
            allowed += f", or its number from 0 to {self.levels.total - 1}"
        remedy = "Give an item as the parameter file lists it."
        raise InputError("answer", type_of(answer), allowed, remedy)

    @cached_property
    def _seen(self) -> dict[str, int]:
        return {}

    def find(self, text: str) -> int | None:
        number = self._seen.get(text)
        if number is None:
            number = self.numbers.get(text.strip())
            if number is None:
                number = self.meant.get(folded(text))
            if number is None:
                number = self.levels.meant(text.strip())
            if number is not None and len(self._seen) < _MOST_SEEN:
                self._seen[text] = number
        return number

    def own(self, code: Code, source: Source) -> Own:
        return (code,)

    def placing(self, places: Mapping[str, int]) -> Self:
        placed = replace(self)
        placed.meant.update(places)
        return placed

    def read_cell(self, cell: str) -> Code:
        return self._known(self.find(cell), cell)

    def answer(self, code: Code) -> Answer:
        return self.levels.item_name(code)

    def examples(self) -> Iterator[Answer]:
        total = self.levels.total
        # The first, a middle one and the last, which may be the same.
        numbers = sorted({0, total // 2, total - 1})
        yield from map(self.levels.item_name, numbers)


@dataclass(frozen=True)
class ItemOrNone(Item):
    """One item or, if not everybody has one, none: number 0, items from 1. Draws nothing."""

    name: ClassVar[str] = "item-or-none"
    kind: ClassVar[str] = "sampled-choice"
    keys: ClassVar[Keys] = {
        **Item.keys,
        "rule": schema.choice("min"),
        "everyone_has_value": FLAG,
    }

    everyone_has_value: bool

    @classmethod
    def read(cls, question: Document) -> Self:
        return cls(Levels.read(question), question["everyone_has_value"])

    def code(self, answer: Answer) -> Code:
        if answer is None and not self.everyone_has_value:
            return 0
        return 1 + super().code(answer)

    def read_cell(self, cell: str) -> Code:
        return 1 + super().read_cell(cell)

    def without(self, *, blank: bool) -> Code:
        if blank and not self.everyone_has_value:
            return 0
        return LEFT_OUT

    def answer(self, code: Code) -> Answer:
        if code == 0:
            return None
        return super().answer(code - 1)

    def examples(self) -> Iterator[Answer]:
        yield from super().examples()
        if not self.everyone_has_value:
            yield None


@dataclass(frozen=True)
class Ordered(Item):
    """A choice of one ordered answer; wanted are shares up to each, counts, or a mean of scores.

    Items stand level by level, as everywhere; ``order`` has their numbers from the lowest answer
    to the highest, ``scores`` what each answer counts for, in their order. With ``no_answer`` the
    last is outside the order, and takes no part in what is said of the others.

    With ``lower`` and ``upper`` an answer is a number, and the others are ``d`` cells of equal
    width from the lowest to the highest: with ``share = (answer - lower) / (upper - lower) d`` in
    doubles the number is in the cell at its whole part, at most ``d - 1``, before anything is
    drawn. No number is the last answer where it is outside the order.
    """

    name: ClassVar[str] = "ordered"
    kind: ClassVar[str] = "ordinal"
    in_order: ClassVar[bool] = True
    keys: ClassVar[Keys] = {
        **Item.keys,
        "order": schema.described(
            schema.list_of(schema.whole(0, _MAX_ANSWERS - 1), 2),
            "The items' numbers, from the lowest answer to the highest.",
        ),
        "scores": schema.described(
            schema.list_of(FINITE, 0),
            "What each answer, in their order, counts for in a mean; empty if no mean is wanted.",
        ),
        "wanted": schema.described(
            schema.choice(SHARES_UP_TO, COUNTS, MEAN_OF_SCORES),
            "Of which the error is small. For a mean nothing else is estimated.",
        ),
    }

    optional: ClassVar[Keys] = {
        "no_answer": schema.described(
            FLAG, "Whether the last answer is outside the order: for who has no other."
        ),
        "lower": schema.described(
            FINITE,
            "Beside upper: an answer is a number from lower to upper, and the answers in order "
            "are cells of equal width.",
        ),
        "upper": FINITE,
    }

    order: tuple[int, ...]
    scores: tuple[float, ...]
    wanted: str
    no_answer: bool = False
    lower: float | None = None
    upper: float | None = None

    @property
    def decimals(self) -> bool:
        return self.lower is not None

    @property
    def cells(self) -> int:
        """How many answers are of the order."""
        return len(self.order) - self.no_answer

    @classmethod
    def read(cls, question: Document) -> Self:
        levels = Levels.read(question, least=2)
        order = question["order"]
        scores = question["scores"]
        size = levels.total
        if size > _MAX_ANSWERS or sorted(order) != list(range(size)):
            allowed = f"the numbers of all items once, at most {_MAX_ANSWERS}"
            raise unfit("order", order, allowed)
        if len(scores) not in (0, size):
            raise unfit("scores", scores, f"{size} numbers, or none")
        estimates = question["wanted"]
        if estimates == MEAN_OF_SCORES and not scores:
            raise unfit("scores", scores, f"given for {estimates!r}")
        outside = question.get("no_answer", False)
        if outside and (estimates == MEAN_OF_SCORES or size < 3):
            allowed = f"left out for {estimates!r} of {size} answers"
            raise unfit("no_answer", outside, allowed)
        lower = question.get("lower")
        upper = question.get("upper")
        if (lower is None) != (upper is None):
            raise unfit("upper", upper, "given beside lower, or left out with it")
        if lower is not None and upper is not None:
            if not 0 < upper - lower < math.inf:
                allowed = f"above lower, which is {lower!r}, by a finite amount"
                raise unfit("upper", upper, allowed)
            # JSON has 1 and 1.0 alike; cells are computed in doubles.
            lower = float(lower)
            upper = float(upper)
        return cls(
            levels,
            order=tuple(order),
            scores=tuple(map(float, scores)),
            wanted=estimates,
            no_answer=outside,
            lower=lower,
            upper=upper,
        )

    def document(self) -> Document:
        found = super().document()
        if self.no_answer:
            found["no_answer"] = True
        if self.lower is not None:
            found["lower"] = self.lower
            found["upper"] = self.upper
        return found

    def code(self, answer: Answer) -> Code:
        if self.lower is None or self.upper is None:
            return super().code(answer)
        missing = answer is None or (isinstance(answer, float) and math.isnan(answer))
        if missing and self.no_answer:
            return self.order[-1]
        fits = isinstance(answer, int | float) and not isinstance(answer, bool)
        if missing or not fits or not self.lower <= answer <= self.upper:
            allowed = f"a number from {self.lower:g} to {self.upper:g}"
            remedy = "Give such a number."
            if self.no_answer:
                allowed += ", or none"
                remedy = "Give one of these, or None."
            raise InputError("answer", type_of(answer), allowed, remedy)
        share = (answer - self.lower) / (self.upper - self.lower)
        # The upper end is of the last cell.
        cell = min(int(share * self.cells), self.cells - 1)
        return self.order[cell]

    def find(self, text: str) -> int | None:
        if self.lower is None or not _FLOAT.fullmatch(text):
            return super().find(text)
        try:
            return int(self.code(float(text)))
        except InputError:
            return None

    def read_cell(self, cell: str) -> Code:
        if self.lower is None or not _FLOAT.fullmatch(cell):
            return super().read_cell(cell)
        return self.code(float(cell))

    def answer(self, code: Code) -> Answer:
        if self.lower is None or self.upper is None:
            return super().answer(code)
        cell = self.order.index(code)
        if cell == self.cells:
            return None
        width = self.upper - self.lower
        return self.lower + width * (cell + 0.5) / self.cells

    def examples(self) -> Iterator[Answer]:
        if self.lower is None or self.upper is None:
            yield from super().examples()
            return
        for share in (0.0, 0.3, 0.5, 1.0):
            yield self.lower + (self.upper - self.lower) * share
        if self.no_answer:
            yield None

    def without(self, *, blank: bool) -> Code:
        if self.no_answer:
            return self.order[-1]
        return super().without(blank=blank)

    def counts_as(self) -> Wanted:
        # The position in the order of each item, as items stand.
        ranks = [self.order.index(k) for k in range(len(self.order))]
        if self.wanted == MEAN_OF_SCORES:
            return [[Fraction(self.scores[rank]) for rank in ranks]]
        shares = []
        for answer in range(len(ranks) - 1):
            # The share up to an answer counts who has it or one below.
            counted = [Fraction(rank <= answer) for rank in ranks]
            shares.append(counted)
        return shares


@dataclass(frozen=True)
class Number(WayOfAsking):
    """A number from ``lower`` to ``upper`` or none, all protected alike.

    Elements are ``points`` even grid points from the lower to the upper end, then "no answer".
    With ``share = (answer - lower) / (upper - lower) (points - 1)`` in doubles and ``k`` its whole
    part, at most ``points - 2``, the answer becomes point ``k + 1`` if a random word is below
    ``floor((share - k) 2^32 + 1/2)``, else ``k``. One word is drawn, also for no answer.
    """

    name: ClassVar[str] = "number"
    kind: ClassVar[str] = "numeric"
    keys: ClassVar[Keys] = {
        "epsilon": BUDGET,
        "lower": FINITE,
        "upper": FINITE,
        "yes_no": FLAG,
        "points": schema.described(
            schema.whole(2, 63),
            "Even grid points from the lower to the upper end; an answer between "
            "two is rounded to either at random, without bias.",
        ),
    }

    lower: float
    upper: float
    yes_no: bool
    points: int

    @property
    def decimals(self) -> bool:
        return True

    @property
    def epsilon(self) -> float:
        """The budget, in nats."""
        return self.levels.epsilons[0]

    @classmethod
    def read(cls, question: Document) -> Self:
        lower = float(question["lower"])
        upper = float(question["upper"])
        if not lower < upper or not math.isfinite(upper - lower):
            raise unfit(
                "upper", upper, f"above lower, which is {lower!r}, by a finite amount"
            )
        yes_no = question["yes_no"]
        points = question["points"]
        if yes_no and points != 2:
            raise unfit("points", points, "2: no and yes")
        return cls.of_range(lower, upper, yes_no, points, float(question["epsilon"]))

    @classmethod
    def of_range(
        cls, lower: float, upper: float, yes_no: bool, points: int, epsilon: float
    ) -> Self:
        """A number on so many points of a range; elements are called by them, for people alone."""
        names = []
        for k in range(points):
            point = lower + (upper - lower) * k / (points - 1)
            names.append(f"{point:.12g}")
        names.append("no answer")
        levels = Levels(
            names=(ANY_ANSWER,),
            epsilons=(epsilon,),
            item_counts=(points + 1,),
            items=(tuple(names),),
        )
        return cls(levels, lower, upper, yes_no, points)

    def counts_as(self) -> Wanted:
        last = self.points - 1
        # Points of the range on [-1, 1], so that sums of answers have one scale.
        sums = [Fraction(2 * k - last, last) for k in range(self.points)]
        answered = [Fraction(1)] * self.points
        # No answer, the last element, adds to neither.
        sums.append(Fraction(0))
        answered.append(Fraction(0))
        return [sums, answered]

    def code(self, answer: Answer) -> Code:
        if answer is None or (isinstance(answer, float) and math.isnan(answer)):
            return None
        lower = self.lower
        upper = self.upper
        fits = isinstance(answer, int | float) and not isinstance(answer, bool)
        if (
            not fits
            or not lower <= answer <= upper
            or (self.yes_no and lower < answer < upper)
        ):
            allowed = f"a number from {lower:g} to {upper:g}, or none"
            if self.yes_no:
                allowed = f"{lower:g}, {upper:g} or none"
            raise InputError(
                "answer", type_of(answer), allowed, "Give one of these, or None."
            )
        return float(answer)

    def own(self, code: Code, source: Source) -> Own:
        (word,) = words(source, 1)
        return (self.point(code, word),)

    def point(self, code: float | None, word: int) -> int:
        """The element that an answer takes with this word."""
        if code is None:
            return self.points
        share = (code - self.lower) / (self.upper - self.lower)
        position = share * (self.points - 1)
        # The upper end has no point above it: it is taken for one that is always moved up.
        below = min(int(position), self.points - 2)
        # The point above with the chance of the distance from the one below: right on average.
        chance = int((position - below) * DENOMINATOR + 0.5)
        if word < chance:
            return below + 1
        return below

    def read_cell(self, cell: str) -> Code:
        number = math.nan  # of no range
        if _FLOAT.fullmatch(cell):
            number = float(cell)
        if not self.lower <= number <= self.upper:
            # A text is refused by its type, so that the error holds no part of an answer.
            return self.code(cell)
        if self.yes_no:
            return self.code(number)
        return number

    def without(self, *, blank: bool) -> Code:
        return None

    def answer(self, code: Code) -> Answer:
        return code

    def examples(self) -> Iterator[Answer]:
        yield self.lower
        yield self.upper
        yield None
        if self.yes_no:
            return
        for share in (0.5, 0.7):  # on the grid or beside it, by how fine that is
            yield self.lower + (self.upper - self.lower) * share


def type_of(answer: Answer) -> str | None:
    """What kind of thing the answer is, or that there is none; never the answer."""
    if answer is None:
        return None
    return f"of type {type(answer).__name__}"
