"""A survey: questions, who is asked, and how; joint questions take their parts.

Survey files: TOML in, a ``Survey`` out, one sentence for every mistake; and back.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

import pydantic
import tomli_w

from planner.errors import FileError, InputError
from planner.files import read_text
from planner.laws.answers import SHARES_UP_TO
from planner.laws.schema import Document, Json
from planner.limits import MAX_COUNT
from planner.survey import values
from planner.survey.choices import Categorical
from planner.survey.description import Description, Mistake, at, mistakes, wrong
from planner.survey.joint import Joint
from planner.survey.levels import listed_items, require_distinct
from planner.survey.questions import AnyQuestion, Question

_LARGEST = 16  # MiB
_OF_A_PART = {
    "weight": 1.0,
    "targets": (),
    "rounds": None,
    "criterion": "total",
    "anchor": None,
}
# Of an ordered part: what is estimated of it follows from the table.
_OF_A_SCALE = {"scores": (), "wanted": SHARES_UP_TO}


class Survey(Description):
    """A named set of one or more questions, of different names, asked of ``users`` people.

    By ``design`` everybody answers everything, with a share of the budgets each (``"split"``), one
    question at its full budget (``"one-each"``), or ``asked`` of them (``"some-each"``; None for
    the best number). ``ledger`` is a file of earlier collections from the same people, or None.
    The page that people answer shows ``title`` (the name when left out), ``intro`` and ``thanks``;
    its own words are of the ``language`` (``"en"``, ``"de"``, or a file of words). ``missing`` are
    cells of a file of answers that stand for none, unless a question has its own.

    ``groups`` are what the collector knows of who reports, and nobody randomises: a region, say,
    with its values, or a whole number, such as an age, with its range. Of one of them, each value
    may have in ``weights`` what one person of it counts for, or in ``population`` how many people
    there are, or their share. ``limits`` says whose variance errors and limits of estimates count:
    that of the people asked, or that of people drawn at random from a ``"population"``. Where a
    person is asked some of the questions it is always the latter: who is asked is drawn.

    Examples
    --------
    >>> from planner import Categorical, Level
    >>> levels = (Level("severe", 1.0, ("HIV",)), Level("common", 2.0, item_count=4))
    >>> Survey("health", 1000, (Categorical("diagnosis", levels),)).questions[0].policy.size
    2
    """

    name: values.Name
    users: Annotated[
        int, values.count(1, MAX_COUNT, "Say how many people will be asked, in digits.")
    ]
    questions: values.Several[AnyQuestion] = pydantic.Field(
        min_length=1, alias="question"
    )
    design: Literal["split", "one-each", "some-each"] = "split"
    ledger: values.NamedFile | None = None
    asked: (
        Annotated[int, values.count(1, MAX_COUNT, "Leave it out for the best.")] | None
    ) = None
    title: values.Name | None = None
    intro: values.Name | None = None
    thanks: values.Name | None = None
    language: values.Language = "en"
    groups: values.Grouping = ()
    weights: values.Parts = ()
    population: values.Parts = ()
    limits: Literal["people asked", "population"] = "people asked"
    missing: values.Codes | None = None

    @pydantic.model_validator(mode="after")
    def _fits(self) -> Self:
        names = []
        for i, question in enumerate(self.questions):
            names.append((("question", i, "name"), question.name))
        require_distinct(names)
        self._check_differences()
        # Before questions are joined, as a part of a joint question can have no anchor
        # and is still told apart here.
        self._anchor()
        self._join()
        # Both would weigh the same people, and twice.
        if self.weights and self.population:
            remedy = "Give one of the two: a weight is what one person counts for."
            raise wrong("given", "left out beside weights", remedy, "population")
        self._check_parts()
        if self.missing is not None:
            self._spread_missing(self.missing)
        if self.asked is not None:
            self._check_asked(self.asked)
        return self

    def _check_parts(self) -> None:
        """Weights or numbers of people are those of all values of one known group."""
        parts = dict(self.weights or self.population)
        if not parts:
            return
        # The key names no group: its values say which one is meant.
        for listed in self.named_groups.values():
            if set(listed) == set(parts):
                return
        allowed = "of all values of one of the groups, and of no others"
        remedy = "Single people have no weights: a weight of one's own is a name."
        key = "weights" if self.weights else "population"
        raise wrong(list(parts), allowed, remedy, key)

    def _spread_missing(self, missing: tuple[str, ...]) -> None:
        """Questions without missing codes of their own have the survey's."""
        questions = []
        for question in self.questions:
            if question.missing is None:
                questions.append(question.replacing(missing=missing))
            else:
                questions.append(question)
        self.__dict__["questions"] = tuple(questions)

    def _check_asked(self, asked: int) -> None:
        """Refuse a number of questions a person but under "some-each", and one above them all."""
        most = 0
        allowed = "given for the design some-each alone"
        if self.design == "some-each":
            # Questions that spend budgets of another nature are asked of everybody.
            sharing = [
                question for question in self.questions if question.shares_budgets
            ]
            most = max(1, len(sharing))
            allowed = f"at most {most}, the number of questions"
        if asked > most:
            remedy = 'Leave it out, or set design = "some-each".'
            raise wrong(asked, allowed, remedy, "asked")

    def _check_differences(self) -> None:
        """Targets of differences name a known group that is no number."""
        names = list(self.named_groups)
        for i, question in enumerate(self.questions):
            for k, target in enumerate(question.targets):
                if target.between is not None and target.between not in names:
                    remedy = "Name a group of the survey that is no number."
                    error = InputError.unknown("between", target.between, names, remedy)
                    raise at("question", i, "target", k, "between", error=error)

    def _anchor(self) -> None:
        """Anchors get the answers and the mechanism of the question that they are the anchor of."""
        joined = set[str]()
        for question in self.questions:
            if isinstance(question, Joint):
                joined.update(question.of)
        fitting = {}
        for question in self.questions:
            # Not of a joint question, which is a choice of pairs.
            if type(question) is not Categorical or question.name in joined:
                continue
            if question.rounds is None and question.anchor_of is None:
                fitting[question.name] = question
        settled = []
        anchored = set[str]()
        for i, question in enumerate(self.questions):
            if question.anchor_of is not None:
                if question.anchor_of in anchored:
                    remedy = "Ask another question with an anchor of its own."
                    allowed = "a question that no other is the anchor of"
                    raise wrong(
                        question.anchor_of, allowed, remedy, "question", i, "anchor"
                    )
                settled.append(self._anchored(i, question, fitting))
                anchored.add(question.anchor_of)
            else:
                settled.append(question)
        # The model is frozen for its users; here it is still being made.
        self.__dict__["questions"] = tuple(settled)

    def _anchored(
        self, i: int, anchor: Question, fitting: Mapping[str, Question]
    ) -> Question:
        """An anchor with the answers of its question, which is one of the ``fitting`` ones."""
        # Attention is measured on the very people whose answers it corrects, and other
        # designs would ask others.
        if self.design != "split":
            allowed = "split, where a question is an anchor"
            remedy = "Whoever answers a question must answer its anchor."
            raise wrong(self.design, allowed, remedy, "design")
        name = anchor.anchor_of or ""
        known = getattr(anchor, "known", None) or ""
        if name not in fitting:
            remedy = (
                "Name a question of one answer that is asked once, and in no joint one."
            )
            error = InputError.unknown("anchor", name, list(fitting), remedy)
            raise at("question", i, "anchor", error=error)
        question = fitting[name]
        items = listed_items(question.levels)
        if known not in items:
            remedy = "Name the answer that is true of everybody."
            error = InputError.unknown("known", known, items, remedy)
            raise at("question", i, "known", error=error)
        written = listed_items(anchor.levels)
        # A survey that was written out has them, and is read again as an equal one.
        if written and written != items:
            remedy = "Leave them out: an anchor has the answers of its question."
            raise wrong(written, f"those of {name!r}", remedy, "question", i, "level")
        return anchor.replacing(
            levels=question.levels,
            rule=getattr(question, "rule", None),
            label=getattr(question, "label", ()),
            mechanism=question.mechanism,
            criterion=getattr(question, "criterion", None),
        )

    def _join(self) -> None:
        """Joint questions get their parts, which are no questions of their own then."""
        # What is left are questions of their own; parts go into their joint question.
        left: dict[str, Question] = {}
        for question in self.questions:
            left[question.name] = question
        for i, question in enumerate(self.questions):
            # One that has parts already was joined before, in the survey it comes from.
            if not isinstance(question, Joint) or question.parts:
                continue
            try:
                parts = [self._part(question, name, left) for name in question.of]
                left[question.name] = question.replacing(parts=tuple(parts))
            except InputError as error:
                raise at("question", i, "of", error=error) from None
            for name in question.of:
                del left[name]
        self.__dict__["questions"] = tuple(left.values())

    def _part(
        self, joint: Joint, name: str, questions_left: dict[str, Question]
    ) -> Question:
        """The question of that name, of one answer each and nothing of its own."""
        part = questions_left.get(name)
        names = [question.name for question in self.questions]
        if name not in names:
            raise InputError.unknown(
                "of", name, names, "Name questions of this survey."
            )
        if part is None or not part.joins or joint.of.count(name) > 1:
            allowed = "two or three different questions of one answer each, in one joint question"
            raise InputError("of", name, allowed, "Name others.")
        # Errors name the part's own place in the file, where it is to be corrected.
        i = self.questions.index(part)
        remedy = f"It is asked within {joint.name!r}: say it there."
        usual_mechanism = type(part).model_fields["mechanism"].default
        expected = _OF_A_PART | {"mechanism": usual_mechanism}
        for key, usual in expected.items():
            if getattr(part, key, usual) != usual:
                raise wrong(getattr(part, key), "left out", remedy, "question", i, key)
        remedy = (
            f"Of {joint.name!r} the people with each pair of answers are estimated."
        )
        for key, usual in _OF_A_SCALE.items():
            if getattr(part, key, usual) != usual:
                raise wrong(getattr(part, key), "left out", remedy, "question", i, key)
        # The worst case over cells is planned for: no part weighs its levels differently.
        remedy = "All pairs of answers count alike."
        for k, level in enumerate(part.levels):
            for key, usual in (("prior", None), ("importance", 1.0)):
                cell = getattr(level, key)
                if cell != usual:
                    raise wrong(
                        cell, "left out", remedy, "question", i, "level", k, key
                    )
        return part

    @pydantic.model_serializer(mode="wrap")
    def _written(self, write: pydantic.SerializerFunctionWrapHandler) -> Document:
        # Reading what is written gives an equal survey: the order of questions counts.
        written = write(self)
        tables = []
        for table in written["question"]:
            # The parts of a joint question stand before it, as a file has them.
            tables.extend(table.pop("parts", ()))
            tables.append(table)
        return {"name": self.name, **written, "question": tables}

    @property
    def named_groups(self) -> dict[str, tuple[str, ...]]:
        """The values of each known group that is no number."""
        named = {}
        for name, listed in self.groups:
            if isinstance(listed, tuple):
                named[name] = listed
        return named

    @property
    def group_shares(self) -> dict[str, dict[str, float]]:
        """Expected share of the people in each value of each known group.

        By its ``population`` where it is stated, else all values alike.
        """
        population = dict(self.population)
        shares = {}
        for name, listed in self.named_groups.items():
            if set(population) == set(listed):
                people = population
            else:  # nothing is stated of this group
                people = dict.fromkeys(listed, 1.0)
            total = sum(people.values())
            shares[name] = {value: people[value] / total for value in listed}
        return shares


# -- files ---------------------------------------------------------------------------------


def load_survey(path: str | Path) -> Survey:
    """Read a survey from a TOML file of at most 16 MiB, and the files that it names.

    A :class:`~planner.errors.FileError` names what cannot be read, the line and column that is not
    TOML, or the key that is missing, misspelt or misused.

    Examples
    --------
    >>> load_survey("examples/clinic.toml").users
    50000
    """
    text = read_text(path, _LARGEST, "Give items by their number, item_count.")
    return survey_from_text(text, source=path)


def survey_from_text(text: str, source: str | Path = "survey") -> Survey:
    """Read a survey from TOML text; ``source`` is named in errors, files are looked for beside it.

    Examples
    --------
    >>> survey = survey_from_text('''
    ... [survey]
    ... name = "health"
    ... users = 1000
    ... [[question]]
    ... name = "diagnosis"
    ... [[question.level]]
    ... name = "severe"
    ... epsilon = "ln 4"
    ... items = ["HIV"]
    ... [[question.level]]
    ... name = "common"
    ... epsilon = "ln 6"
    ... item_count = 4
    ... ''')
    >>> survey.questions[0].policy.names
    ('severe', 'common')
    """
    survey, errors = settle(read_document(text, source), Path(source).parent)
    if survey is None:
        raise errors[0].error.within(source)
    return survey


def survey_text(survey: Survey) -> str:
    """A survey as TOML; reading it gives an equal survey.

    Examples
    --------
    >>> from planner import Categorical, Level, Survey
    >>> print(survey_text(Survey("s", 10, (Categorical("q", (Level("only", 1.0, ("x",)),)),))))
    [survey]
    name = "s"
    users = 10
    <BLANKLINE>
    [[question]]
    name = "q"
    <BLANKLINE>
    [[question.level]]
    name = "only"
    epsilon = 1.0
    items = [
        "x",
    ]
    <BLANKLINE>
    """
    return tomli_w.dumps(document_of(survey))


def document_of(survey: Survey) -> Document:
    """The document that reads back as an equal survey, without what is as usual."""
    table = survey.model_dump(exclude_defaults=True)
    return {"survey": table, "question": table.pop("question")}


def read_document(text: str, source: str | Path = "survey") -> Document:
    """TOML text as a document: no endless numbers, no depths, no character U+0000."""
    try:
        document = tomllib.loads(text)
    except RecursionError as error:
        raise FileError(
            source, "is nested too deeply", "Survey files need six tables."
        ) from error
    except ValueError as error:  # TOML's own, or a whole number of thousands of digits
        if text.lstrip().startswith("{"):
            remedy = "Name the survey's own file."
            raise FileError(source, "is JSON, and a survey is TOML", remedy) from error
        # Python's advice on its own limits is not for whoever writes a survey.
        advice = "; use sys.set_int_max_str_digits() to increase the limit"
        reason = str(error).replace(advice, "")
        last = text.rpartition("\n")[2]
        end = f"(at line {text.count(chr(10)) + 1}, column {len(last) + 1}, the end of the file)"
        reason = reason.replace("(at end of document)", end)
        raise FileError(
            source, f"is not valid TOML: {reason}", "Correct that line."
        ) from error
    _require_plain(document, source)
    return document


def settle(
    document: Document, folder: Path | None = None
) -> tuple[Survey | None, tuple[Mistake, ...]]:
    """The survey of a document; or None, and every mistake. Blank cells are left out.

    Files that it names are those of the ``folder``; without one it must name none.
    """
    under = ""  # a mistake of the outline names its own table
    try:
        outline = _Outline.model_validate(document)
        under = "survey"
        flat = outline.survey | {"question": outline.question}
        return Survey.model_validate(flat, context={"folder": folder}), ()
    except pydantic.ValidationError as error:
        return None, tuple(mistakes(error, document, under))


class _Outline(Description):
    """The two tables that a file has."""

    survey: Document
    question: list[Json]


def _require_plain(document: Document, source: str | Path) -> None:
    """What TOML allows and no survey needs: a character that ends a path, endless integers."""
    # A list of what is still to be looked at, as recursion has a limit of its own.
    waiting: list[Json] = [document]
    while waiting:
        match value := waiting.pop():
            case dict():
                waiting += [*value, *value.values()]
            case list():
                waiting += value
            case str() if "\0" in value:
                raise FileError(
                    source, f"{value!r} has a character U+0000", "Leave it out."
                )
            case int() if not -(2**63) <= value < 2**63:
                raise FileError(
                    source, "has a whole number beyond 64 bits", "Give a smaller one."
                )
