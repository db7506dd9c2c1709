"""A survey: questions, who is asked, and how; joint questions take their parts."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, SerializerFunctionWrapHandler, Strict, model_serializer, model_validator

from planner.errors import InputError
from planner.laws.schema import Document
from planner.limits import MAX_COUNT
from planner.survey.description import Description
from planner.survey.levels import require_distinct
from planner.survey.questions import BEST, AnyQuestion, Categorical, Joint, Question
from planner.survey.values import (
    Codes,
    Grouping,
    Language,
    Name,
    NamedFile,
    Parts,
    at,
    count,
    wrong,
)

_OF_A_PART = {"weight": 1.0, "targets": (), "rounds": None, "mechanism": BEST, "criterion": "total"}


class Survey(Description):
    """A named set of one or more questions, of different names, asked of ``users`` people.

    By ``design`` everybody answers everything, with a share of the budgets each (``"split"``), one
    question at its full budget (``"one-each"``), or ``asked`` of them (``"some-each"``; None for
    the best number). ``ledger`` is a file of earlier collections from the same people, or None.
    The page that people answer shows ``title`` (the name when left out), ``intro`` and ``thanks``;
    its own words are of the ``language`` (``"en"``, ``"de"``, or a file of words). ``missing`` are
    cells of a file of answers that stand for none, unless a question has its own.

    ``groups`` are what the collector knows of who reports, and nobody randomises: a region, say,
    with its values. Of one of them, each value may have in ``weights`` what one person of it counts
    for, or in ``population`` how many people there are, or their share.
    """

    name: Name
    users: Annotated[int, count(1, MAX_COUNT, "Say how many people will be asked, in digits.")]
    questions: Annotated[tuple[AnyQuestion, ...], Strict(False)] = Field(
        min_length=1, validation_alias="question", serialization_alias="question"
    )
    design: Literal["split", "one-each", "some-each"] = "split"
    ledger: NamedFile | None = None
    asked: Annotated[int, count(1, MAX_COUNT, "Leave it out for the best.")] | None = None
    title: Name | None = None
    intro: Name | None = None
    thanks: Name | None = None
    language: Language = "en"
    groups: Grouping = ()
    weights: Parts = ()
    population: Parts = ()
    missing: Codes | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        require_distinct(
            (("question", i, "name"), one.name) for i, one in enumerate(self.questions)
        )
        self._join()
        if self.weights and self.population:
            remedy = "Give one of the two: a weight is what one person counts for."
            raise wrong("given", "left out beside weights", remedy, "population")
        parts = self.weights or self.population
        if parts and not any({*values} == {name for name, _ in parts} for _, values in self.groups):
            allowed = "of all values of one of the groups, and of no others"
            remedy = "Single people have no weights: a weight of one's own is a name."
            which = "weights" if self.weights else "population"
            raise wrong([name for name, _ in parts], allowed, remedy, which)
        if self.missing is not None:
            self.__dict__["questions"] = tuple(
                one if one.missing is not None else one.replacing(missing=self.missing)
                for one in self.questions
            )
        if self.asked is not None:
            sharing = sum(not one.apart for one in self.questions)
            most = max(1, sharing) if self.design == "some-each" else 0
            if self.asked > most:
                allowed = f"at most {most}, the number of questions"
                allowed = allowed if most else "given for the design some-each alone"
                remedy = 'Leave it out, or set design = "some-each".'
                raise wrong(self.asked, allowed, remedy, "asked")
        return self

    def _join(self) -> None:
        """Joint questions get their parts, which are no questions of their own then."""
        known: dict[str, Question] = {one.name: one for one in self.questions}
        for i, one in enumerate(self.questions):
            if isinstance(one, Joint) and not one.parts:
                try:
                    parts = tuple(self._part(one, name, known) for name in one.of)
                    known[one.name] = one.replacing(parts=parts)
                except InputError as error:
                    raise at("question", i, "of", error=error) from None
                known = {name: other for name, other in known.items() if name not in one.of}
        self.__dict__["questions"] = tuple(known.values())

    def _part(self, joint: Joint, name: str, known: dict[str, Question]) -> Categorical:
        """The question of that name, of one answer each and nothing of its own."""
        part, names = known.get(name), [one.name for one in self.questions]
        if name not in names:
            raise InputError.unknown("of", name, names, "Name questions of this survey.")
        if type(part) is not Categorical or joint.of.count(name) > 1:
            allowed = "two or three different questions of one answer each, in one joint question"
            raise InputError("of", name, allowed, "Name others.")
        i, remedy = self.questions.index(part), f"It is asked within {joint.name!r}: say it there."
        for key, usual in _OF_A_PART.items():
            if getattr(part, key) != usual:
                raise wrong(getattr(part, key), "left out", remedy, "question", i, key)
        for k, level in enumerate(part.levels):
            if level.prior is not None or level.importance != 1:
                key = "importance" if level.prior is None else "prior"
                remedy = "All pairs of answers count alike."
                place = "question", i, "level", k, key
                raise wrong(getattr(level, key), "left out", remedy, *place)
        return part

    @model_serializer(mode="wrap")
    def _written(self, write: SerializerFunctionWrapHandler) -> Document:
        found = write(self)
        tables = [row for one in found["question"] for row in (*one.pop("parts", ()), one)]
        return {"name": self.name, **found, "question": tables}

    def group_shares(self) -> dict[str, dict[str, float]]:
        """Expected share of the people in each value of each known group.

        By its ``population`` where it is stated, else all values alike.
        """
        population = dict(self.population)
        found = {}
        for name, values in self.groups:
            own = population if {*population} == {*values} else dict.fromkeys(values, 1.0)
            found[name] = {value: own[value] / sum(own.values()) for value in values}
        return found
