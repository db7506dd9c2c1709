"""Laws: a way of asking and a form of report, read from a question of the file and proven."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Self

from planner.errors import InputError, VerificationError
from planner.laws.anchor import ANCHOR_FORM, Anchor
from planner.laws.answers import (
    Answer,
    Code,
    Item,
    ItemOrNone,
    Number,
    Ordered,
    WayOfAsking,
)
from planner.laws.bits import Bits
from planner.laws.die import Die
from planner.laws.hashing import Hash
from planner.laws.item_sets import OneOfSet, WholeSet
from planner.laws.levels import Levels, PairBudget
from planner.laws.overlap import Overlap
from planner.laws.rounds import ROUNDS_FORM, Rounds
from planner.laws.rows import Rows
from planner.laws.schema import TEXT, Document, check, choice, described, record, unfit
from planner.laws.shape import Shape
from planner.laws.sides import Sides
from planner.laws.source import Source
from planner.limits import DENOMINATOR


class Halves(NamedTuple):
    """The classes of which laws are made, by the names in the file."""

    shapes: dict[str, type[Shape]]
    asked: dict[str, type[WayOfAsking]]

    @classmethod
    def of(cls, *classes: type[Shape] | type[WayOfAsking]) -> Self:
        """Forms of report and ways of asking."""
        shapes = {}
        asked = {}
        for part in classes:
            if issubclass(part, Shape):
                shapes[part.name] = part
            else:
                asked[part.name] = part
        return cls(shapes, asked)

    def pairs(self) -> list[tuple[type[WayOfAsking], type[Shape]]]:
        """The ways of asking with the forms of report that serve them."""
        pairs = []
        for shape in self.shapes.values():
            for name in shape.asked:
                pairs.append((self.asked[name], shape))
        return pairs


# What a person's device needs of each, and no more.
DEVICE = Halves.of(
    Bits,
    Sides,
    Rows,
    Overlap,
    Hash,
    Die,
    Item,
    ItemOrNone,
    Ordered,
    Number,
    OneOfSet,
    WholeSet,
)


@dataclass(frozen=True)
class Law:
    """The law of one question, proven when it is read.

    Attributes
    ----------
    name:
        The question's.
    mechanism:
        Its name for people, such as ``"grr"``; nothing depends on it.
    asked, shape:
        The way of asking, and the form of report.
    again:
        The rounds of a question that is asked again; each person's one report is of one of them.
    anchor:
        The anchor of the question: an answer is then a pair, of the question and of the anchor,
        and a report has the bytes of both.
    """

    name: str
    mechanism: str
    asked: WayOfAsking
    shape: Shape
    again: Rounds | None = None
    anchor: Anchor | None = None

    @classmethod
    def read(cls, question: Document, halves: Halves, label: str = "question") -> Self:
        """The law of one question of the file; ``label`` is named in errors.

        Examples
        --------
        >>> level = {"name": "all", "epsilon": 1.1, "item_count": 3, "items": []}
        >>> question = {"name": "q", "mechanism": "grr", "asked": "item", "law": "sides",
        ...             "denominator": 2**32, "rule": "min", "levels": [level], "groups": [0],
        ...             "types": [[1]], "weights": [[[2**31, 2**31]]], "values": []}
        >>> law = Law.read(question, DEVICE)
        >>> round(law.shape.pairs()[0].realised, 6)  # ln 2
        0.693147
        >>> law.document() == question
        True
        """
        names = {
            "name": TEXT,
            "asked": choice(*halves.asked),
            "law": choice(*halves.shapes),
        }
        # First the keys that say which classes read the rest, with any other keys beside them.
        check(question, record(names) | {"additionalProperties": True}, label)
        where = f" of question {question['name']!r}"
        asked = halves.asked[question["asked"]]
        shape = halves.shapes[question["law"]]
        if asked.name not in shape.asked:
            allowed = f"{' or '.join(map(repr, shape.asked))} for law {shape.name!r}"
            raise unfit(f"asked{where}", asked.name, allowed)
        check(question, question_form(asked, shape), where=where)
        try:
            asking = asked.read(question)
            form = shape.read(question, asking.levels)
            form.check(asking.counts_as())
            anchor = _anchor_of(question, asking, form)
        # Errors of a part name the question; what each says, and its remedy, stays.
        except VerificationError as error:
            raise VerificationError(
                f"Question {question['name']!r}: {error.reason}"
            ) from error
        except InputError as error:
            reason = f"question {question['name']!r}: {error.reason}"
            raise InputError.because(
                error.argument + where, reason, error.remedy
            ) from error
        return cls(
            name=question["name"],
            mechanism=question["mechanism"],
            asked=asking,
            shape=form,
            again=Rounds.read(question),
            anchor=anchor,
        )

    def document(self) -> Document:
        """The question in the file."""
        header = {
            "name": self.name,
            "mechanism": self.mechanism,
            "asked": self.asked.name,
            "law": self.shape.name,
            "denominator": DENOMINATOR,
        }
        document = header | self.asked.document() | self.shape.document()
        if self.again is not None:
            document["rounds"] = self.again.document()
        if self.anchor is not None:
            document["anchor"] = self.anchor.document()
        return document

    @property
    def kind(self) -> str:
        """The kind of question in a survey."""
        return self.asked.kind

    @property
    def levels(self) -> Levels:
        """The items and their budgets."""
        return self.asked.levels

    @property
    def rounds(self) -> tuple[int | None, ...]:
        """The rounds in which reports are made; ``None`` if the question has no rounds."""
        if self.again is None:
            return self.shape.rounds
        return tuple(range(1, self.again.count + 1))

    @property
    def blanks(self) -> bool:
        """Whether some reports are blanks, and all begin with a byte that tells."""
        return self.again is not None and self.again.changes is not None

    @property
    def size(self) -> int:
        """Bytes of a report."""
        size = self.shape.size
        if self.anchor is not None:  # a report of each
            size = 2 * size
        return size + self.blanks

    @property
    def cells(self) -> int:
        """Sums that a collector keeps, of all rounds together."""
        if self.anchor is not None:
            # How many reports there are, and their sums, by what the anchor's report adds.
            return self.shape.addends * (1 + self.shape.cells)
        of_round = self.shape.cells + self.blanks
        if self.again is None:
            return of_round
        return self.again.count * of_round

    @property
    def pairs(self) -> list[PairBudget]:
        """Realised and demanded budgets."""
        return self.shape.pairs()

    def code(self, answer: Answer) -> Code:
        """The answer, checked, as :meth:`draw` takes it: a pair where there is an anchor.

        InputError if it is none.
        """
        if self.anchor is None:
            return self.asked.code(answer)
        if not isinstance(answer, list | tuple) or len(answer) != 2:
            anchor = self.anchor.name
            given = f"of type {type(answer).__name__}"
            allowed = (
                f"a list of two answers, to {self.name!r} and to its anchor {anchor!r}"
            )
            raise InputError(
                "answer", given, allowed, "Give both: one report has both."
            )
        of_question, of_anchor = answer
        return self.asked.code(of_question), self.asked.code(of_anchor)

    def answer(self, code: Code) -> Answer:
        """The answer that has this code, as :meth:`code` takes it."""
        if self.anchor is None:
            return self.asked.answer(code)
        of_question, of_anchor = code
        return [self.asked.answer(of_question), self.asked.answer(of_anchor)]

    def examples(self) -> Iterator[Answer]:
        """Answers that a conformance test should try: first, middle, last, none."""
        if self.anchor is None:
            yield from self.asked.examples()
            return
        for example in self.asked.examples():
            yield [example, self.anchor.known]
        # Somebody who does not attend may give any answer to the anchor.
        yield [self.anchor.known, next(self.asked.examples())]

    def draw(self, code: Code, source: Source) -> bytes:
        """The report of one person, whose answer was checked by :meth:`code`, by all randomness."""
        if self.anchor is None:
            return self.shape.draw(self.asked.own(code, source), source)
        drawn = b""
        for part in code:
            drawn += self.shape.draw(self.asked.own(part, source), source)
        return drawn

    def output(self, drawn: bytes, code: Code, round_number: int | None) -> bytes:
        """The report of a round; where there are no rounds, what was drawn."""
        if round_number is None:
            return drawn
        return self.shape.output(drawn, (code,), round_number)


def question_form(asked: type[WayOfAsking], shape: type[Shape]) -> Document:
    """The form of a question: a JSON Schema."""
    header = {
        "name": TEXT,
        "mechanism": described(TEXT, "A name for people; no reader acts on it."),
        "asked": choice(asked.name),
        "law": choice(shape.name),
        "denominator": choice(DENOMINATOR),
    }
    description = (shape.__doc__ or "").partition("\n")[0]
    form = record(header | dict(asked.keys) | dict(shape.keys), description)
    form["properties"] |= asked.optional
    if shape.rounds == (None,):
        form["properties"]["rounds"] = ROUNDS_FORM  # which may be left out
    if asked.name == Item.name:
        form["properties"]["anchor"] = ANCHOR_FORM
    return form


def _anchor_of(question: Document, asked: WayOfAsking, shape: Shape) -> Anchor | None:
    """The anchor of a question of the right form; InputError if it does not fit."""
    anchor = Anchor.read(question)
    if anchor is None:
        return None
    if "rounds" in question or not shape.addends:
        allowed = "left out of a question in rounds, and of one of this law"
        raise unfit("anchor", anchor.name, allowed)
    try:
        asked.code(anchor.known)
    except InputError:
        raise unfit("known", anchor.known, "an answer of the question") from None
    return anchor
