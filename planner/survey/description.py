"""What all descriptions have in common, and one sentence for each mistake in them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, get_args

from pydantic import BaseModel, ConfigDict, ValidationError, model_serializer
from pydantic_core import ErrorDetails

from planner.errors import InputError

Document = dict[str, Any]
Where = tuple[str | int, ...]
Rows = Mapping[Where, Sequence[int]]


class Description(BaseModel):
    """A frozen table of a survey, checked once when made; a mistake is an ``InputError``.

    Fields are given by name, or in their order (of some the ``first`` alone). ``model_validate``
    reads a document with the keys of a file. A class of several that a key tells apart names the
    key as its ``tag``; ``named`` are keys for files that are read before. ``model_copy`` would
    check nothing: take :meth:`replacing`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, serialize_by_alias=True)
    tag: ClassVar[str] = ""
    named: ClassVar[tuple[str, ...]] = ()
    first: ClassVar[tuple[str, ...]] = ()

    def __init__(self, /, *places: Any, **fields: Any) -> None:
        known = type(self).model_fields
        first = self.first or tuple(known)
        if len(places) > len(first):
            raise TypeError(f"{type(self).__name__} takes at most {', '.join(first)} by place")
        given = dict(zip(first, places, strict=False)) | fields
        aliases = {name: field.serialization_alias or name for name, field in known.items()}
        document = {aliases.get(name, name): value for name, value in given.items()}
        try:
            self.__pydantic_validator__.validate_python(document, self_instance=self)
        except ValidationError as error:
            raise mistakes(error, document, type(self))[0].error from None

    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]  # not for tables within

    def replacing(self, **changes: Any) -> Self:
        """The same with other values of these fields, checked anew."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self)(**fields | changes)

    @model_serializer(mode="wrap")
    def _written(self, write: Callable[[Self], Document]) -> Document:
        first = {key: getattr(self, key) for key in ("name", self.tag) if hasattr(self, key)}
        if first.get("kind") == "categorical":  # the usual one
            del first["kind"]
        return first | write(self)


@dataclass(frozen=True, slots=True)
class Mistake:
    """What is wrong, and where: ``where`` leads to the cell of the document that was validated.

    ``place`` is the same as in the file, ``"question 'page', level 'severe', epsilon"``; ``reason``
    begins with it.
    """

    where: Where
    place: str
    reason: str
    remedy: str

    @property
    def error(self) -> InputError:
        """To be raised."""
        return InputError.because(self.place, self.reason, self.remedy)

    @property
    def sentence(self) -> str:
        """For a reader."""
        return str(self.error)


def mistakes(
    error: ValidationError,
    document: Document,
    table: type[Description],
    rows: Rows | None = None,
    under: str = "",
) -> list[Mistake]:
    """Every mistake, the most telling first: the kind, which decides the keys, then unknown keys.

    Parameters
    ----------
    error, document, table:
        What pydantic found, in which document, read as what.
    rows:
        For lists of which rows were left out: which are left, by the list's place.
    under:
        The name of the file's table that has the keys beside the questions.
    """
    found = sorted(error.errors(include_url=False), key=_rank)
    told = [_told(one, _Place(one["loc"], document, table, rows or {}, under)) for one in found]
    misspelt = {(*one.where[:-1], near) for one, near in told if near}
    return [one for one, _ in told if not (one.where in misspelt and "is missing" in one.reason)]


def _rank(mistake: ErrorDetails) -> int:
    if mistake["loc"][-1:] in (("kind",), ("model",)):
        return 0
    return 1 if mistake["type"] == "extra_forbidden" else 2


class _Place:
    """Where a location of pydantic is in the document, and of which table."""

    def __init__(
        self, loc: Where, value: Any, table: type[Description], rows: Rows, under: str
    ) -> None:
        beside = bool(under) and loc[:1] != ("question",)
        self.words = [under] if beside else []
        self.where: list[str | int] = [under] if beside else []
        self.known = _keys(table)
        self.rivals: list[type[Description]] = []
        tables, names = [table], list[Any]()
        for part in loc:
            chosen = [one for one in tables if part in (one.__name__, _kind(one))]
            if len(tables) > 1 and chosen:  # pydantic's choice between tables
                self.rivals, tables = tables, chosen
                continue
            if isinstance(part, str):
                names = _names(value) if part == "rule" else []
                self.known = _keys(tables[0]) if tables else []
                tables = _tables_of(part, tables[0]) if tables else []
                value = value.get(part) if isinstance(value, dict) else getattr(value, part, None)
                self.words.append(part)
                self.where.append(part)
            else:
                row = rows.get(tuple(self.where), range(part + 1))[part]
                value = value[row] if isinstance(value, list | tuple) else None
                name = value.get("name") if isinstance(value, dict) else getattr(value, "name", "")
                name = name or (names[row] if row < len(names) else "")
                self.words[-1] += f" {name!r}" if name else f" {row + 1}"
                self.where.append(row)
        if beside:
            self.known = [key for key in self.known if key != "question"]
        self.of_table = bool(tables) and isinstance(value, dict | Description)


def _names(question: Any) -> list[Any]:
    """Of the levels, by which rows and columns of a matrix go."""
    levels = question.get("level", ()) if isinstance(question, dict) else ()
    return [level.get("name") for level in levels if isinstance(level, dict)]


def _told(found: ErrorDetails, at: _Place) -> tuple[Mistake, str]:
    """The mistake, and the key that was meant if one is misspelt."""
    kind, place = found["type"], ", ".join(at.words)
    cause, near = found.get("ctx", {}).get("error"), ""
    if kind == "extra_forbidden":
        near, *_ = difflib.get_close_matches(at.words[-1], at.known, n=1) or ("",)
        owners = [repr(_kind(one)) for one in at.rivals if at.words[-1] in _keys(one)]
        hint = f"did you mean {near!r}?" if near else f"known are {', '.join(at.known)}"
        hint = f"it is one of the kind {' and '.join(owners)}" if owners else hint
        reason, remedy = (
            f"{place} is not a known key ({hint})",
            "Correct the key, or delete its line.",
        )
    elif kind == "missing":
        reason, remedy = f"{place} is missing", f"Add a line {at.words[-1]} = ... there."
    else:
        key = "" if at.of_table else at.words[-1] if at.words else ""
        if not isinstance(cause, InputError):
            allowed, remedy = _WORDS.get(kind, (found["msg"].lower(), "Write such a value."))
            cause = InputError("value", found["input"], allowed, remedy)
        before, reason, remedy = at.words, cause.reason, cause.remedy
        if key:
            before = at.words[:-1]
            if reason.startswith(f"{cause.argument} is ") and "[" not in cause.argument:
                reason = InputError(key, cause.value, cause.allowed, remedy).reason
        reason = f"{', '.join(before)}: {reason}" if before else reason
    return Mistake(tuple(at.where), place, reason, remedy), near


_WORDS = {
    "model_type": ("a table of keys and values", "Write key = value under its [name]."),
    "model_attributes_type": ("a table of keys and values", "Write key = value under its [name]."),
    "dict_type": ("a table of keys and values", "Write key = value under its [name]."),
    "list_type": ("a list of tables", "Write tables of a list in [[double brackets]]."),
    "tuple_type": ("a list of tables", "Write tables of a list in [[double brackets]]."),
    "bool_type": ("true or false", "Write it without quotes."),
    "string_type": ("text", "Put it in quotes."),
}


def _kind(table: type[Description]) -> object:
    return table.model_fields[table.tag].default if table.tag else None


def _keys(table: type[Description]) -> list[str]:
    return [field.serialization_alias or name for name, field in table.model_fields.items()] + list(
        table.named
    )


def _tables_of(key: str, table: type[Description]) -> list[type[Description]]:
    """The tables that a key of a table may hold."""
    fields = table.model_fields.items()
    return [
        one
        for name, field in fields
        if key == (field.serialization_alias or name)
        for one in _in(field.annotation)
    ]


def _in(annotation: Any) -> Iterator[type[Description]]:
    if isinstance(annotation, type) and issubclass(annotation, Description):
        yield annotation
    for part in get_args(annotation):
        yield from _in(part)
