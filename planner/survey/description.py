"""What all descriptions have in common, and one sentence for each mistake in them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import ClassVar, NamedTuple, Self, TypeVar

import pydantic
from pydantic_core import (
    ErrorDetails,
    InitErrorDetails,
    PydanticCustomError,
    core_schema,
)

from planner.errors import InputError
from planner.laws.schema import Document, Json

Where = tuple[str | int, ...]


# What a table is called, and which of several classes it is: written first.
_NAMING = ("name", "kind", "model")


class Description(pydantic.BaseModel):
    """A frozen table of a survey, checked once when made; a mistake is an ``InputError``.

    Fields are given by name, or in their order (of some the ``first`` alone); ``model_validate``
    reads the keys of a file, without blank ones. ``model_copy`` would check nothing: take
    :meth:`replacing`.
    """

    model_config = pydantic.ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        serialize_by_alias=True,
        defer_build=True,
    )
    first: ClassVar[tuple[str, ...]] = ()

    def __init__(self, /, *places: object, **fields: object) -> None:
        first = self.first or tuple(type(self).model_fields)
        if len(places) > len(first):
            most = ", ".join(first)
            raise TypeError(f"{type(self).__name__} takes at most {most} by place")
        given = dict(zip(first, places, strict=False)) | fields
        # Files say "level" where Python says "levels".
        names = type(self).model_fields
        aliases = dict(zip(names, self.file_keys(), strict=False))
        document: Document = {}
        for name, value in given.items():
            document[aliases.get(name, name)] = value
        try:
            self.__pydantic_validator__.validate_python(document, self_instance=self)
        except pydantic.ValidationError as error:
            raise mistakes(error, document)[0].error from None

    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]  # not for tables within

    @classmethod
    def file_keys(cls) -> list[str]:
        """The keys of the description in a survey file."""
        keys = []
        for name, field in cls.model_fields.items():
            keys.append(field.serialization_alias or name)
        return keys

    def replacing(self, **changes: object) -> Self:
        """The description with other values of these fields, checked anew."""
        fields = {name: getattr(self, name) for name in self.model_fields_set}
        return type(self)(**fields | changes)

    @pydantic.model_validator(mode="before")
    @classmethod
    def _plain(cls, table: Json) -> Json:
        """The table without what is blank; an unknown key is refused."""
        if type(table) is not dict:
            return table
        _know(table, cls, {})
        return {key: cell for key, cell in table.items() if not _blank(cell)}

    @pydantic.model_serializer(mode="wrap")
    def _written(self, write: pydantic.SerializerFunctionWrapHandler) -> Document:
        first = {}
        for key in _NAMING:
            if key in type(self).model_fields:
                first[key] = getattr(self, key)
        if first.get("kind") == "categorical":  # the usual one
            del first["kind"]
        return first | dict(write(self))


def _blank(cell: object) -> bool:
    """Whether a cell says nothing: a blank text, or a table that has blank texts alone."""
    match cell:
        case dict():
            for value in cell.values():
                if type(value) is not str or not _blank(value):
                    return False
            return bool(cell)
        case str():
            return not cell.strip()
    return False


Models = Mapping[str, type[Description]]
D = TypeVar("D", bound=Description)


def _know(table: Iterable[object], kind: type[Description], rivals: Models) -> None:
    """Refuse a key that is not of this kind of table, though it may be of one of its rivals."""
    keys = kind.file_keys()
    for key in table:
        if key in keys:
            continue
        owners = []
        for name, rival in rivals.items():
            if key in rival.file_keys():
                owners.append(repr(name))
        near = difflib.get_close_matches(str(key), keys, n=1)
        if owners:
            hint = f"it is one of the kind {' and '.join(owners)}"
        elif near:
            hint = f"did you mean {near[0]!r}?"
        else:
            hint = f"known are {', '.join(keys)}"
        remedy = "Correct the key, or delete its line."
        reason = f"{key} is not a known key ({hint})"
        raise at(str(key), error=InputError.because(str(key), reason, remedy))


def named(key: str, *kinds: type[D]) -> dict[str, type[D]]:
    """Kinds of tables by what their ``key`` says."""
    return {kind.model_fields[key].default: kind for kind in kinds}


class told_apart:  # noqa: N801 - stands in annotations beside Pydantic's validators
    """Reads a table as the one of the known kinds that its ``key`` names.

    Each kind checks its own tables: what is annotated so needs no schema of all kinds together,
    which would take a survey of one kind as long to make as it takes to plan it.
    """

    def __init__(self, key: str, remedy: str, kinds: Models, usual: str = "") -> None:
        self.key = key
        self.remedy = remedy
        self.kinds = kinds
        self.usual = usual

    def __get_pydantic_core_schema__(
        self, source: object, handler: pydantic.GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        del source, handler
        write = core_schema.plain_serializer_function_ser_schema(_dumped, info_arg=True)
        return core_schema.with_info_plain_validator_function(
            self._read, serialization=write
        )

    def _read(self, table: Json, info: pydantic.ValidationInfo) -> Json:
        kinds = self.kinds
        if isinstance(table, tuple(kinds.values())):
            return table
        given: Document = {}
        if type(table) is dict:
            given = table
        name = given.get(self.key, self.usual)
        # A mistake is told at the key, and not once for each kind that it could be.
        if name not in list(kinds):  # what is no text may have no hash
            stated = given.get(self.key)
            error = InputError.unknown(self.key, stated, kinds, self.remedy)
            raise at(self.key, error=error)
        kind = kinds[name]
        _know(given, kind, kinds)
        return kind.model_validate(table, context=info.context)


def _dumped(described: Description, info: pydantic.SerializationInfo) -> Document:
    """A table within another, written as that is."""
    return described.model_dump(
        mode=info.mode,
        exclude_defaults=info.exclude_defaults,
        exclude_unset=info.exclude_unset,
        exclude_none=info.exclude_none,
    )


def at(*where: str | int, error: InputError) -> pydantic.ValidationError:
    """The mistake, with the keys and numbers of rows that lead to it in what is validated."""
    return mistake_at(where, error)


def mistake_at(where: Where, error: InputError) -> pydantic.ValidationError:
    """The mistake, as :func:`at` makes it, where the way to it is a tuple already."""
    # Pydantic collects such errors, so that a file's mistakes are all listed at once.
    context = {"reason": error.reason, "error": error}
    kind = PydanticCustomError("mistake", "{reason}", context)
    detail = InitErrorDetails(type=kind, loc=where, input=error.value)
    return pydantic.ValidationError.from_exception_data("", [detail])


def wrong(
    value: object, allowed: str, remedy: str, *where: str | int
) -> pydantic.ValidationError:
    """The mistake of a value, called like the key at the end of the way to it."""
    key = str(where[-1])
    return mistake_at(where, InputError(key, value, allowed, remedy))


class Mistake(NamedTuple):
    """What is wrong, with the place in words, and the way to its cell in the document."""

    where: Where
    error: InputError


def mistakes(
    error: pydantic.ValidationError, document: Document, under: str = ""
) -> list[Mistake]:
    """Every mistake, in the order of the document; ``under``: its table beside the questions."""
    listed = []
    for details in error.errors(include_url=False):
        where = details["loc"]
        if under and where[:1] != ("question",):
            where = (under, *where)
        # A list whose rows are wrong is too short as well, without being empty: its rows say why.
        if details["type"] == "too_short" and details["input"]:
            continue
        listed.append(_mistake(details, where, document))
    return listed


_TABLE_NAMES = {
    "survey": "[survey]",
    "question": "[[question]]",
    "sampling": "[question.sampling]",
}


def _mistake(details: ErrorDetails, where: Where, document: Document) -> Mistake:
    """Pydantic's mistake as ours: of the last key of its place, or of what a rule names there."""
    words, value = _words(where, document)
    kind = details["type"]
    context = details.get("ctx", {})
    if kind == "missing":
        *table_words, last = words
        line = _TABLE_NAMES.get(last, f"{last} = ...")
        remedy = f"Add a line {line} there."
        missing = InputError(last, None, "", remedy, place=tuple(table_words))
        return Mistake(where, missing)
    cause = context.get("error")
    argument = ""
    if not isinstance(cause, InputError):
        usual = (details["msg"].lower(), "Write such a value.")
        allowed, remedy = _WORDS.get(kind, usual)
        allowed = allowed.format(**context)
        cause = InputError("value", details["input"], allowed, remedy)
    of_table = not where or type(where[-1]) is int or kind == "value_error"
    if not (of_table and isinstance(value, dict | Description)):
        # It is a mistake of a key or of a cell.
        *words, argument = words
        if "[" in cause.argument:  # says which cell already
            argument = cause.argument
    return Mistake(where, cause.at(*words, argument=argument))


def _words(where: Where, value: Json) -> tuple[list[str], Json]:
    """A place in words, rows by their name where they have one; and what stands there."""
    words = list[str]()
    rows = None  # whose names stand for their numbers
    for part in where:
        below = _inside(value, part)
        if part == "rule":  # rows and columns of a matrix go by the levels
            rows = _inside(value, "level")
        elif type(part) is str:
            rows = below
        if type(part) is str:
            words.append(part)
        else:
            name = _inside(_inside(rows, part), "name")
            if name:
                words[-1] += f" {name!r}"
            else:
                words[-1] += f" {int(part) + 1}"
        value = below
    return words, value


def _inside(value: Json, part: str | int) -> Json:
    """What stands there in a document, or in what was made of it; None if nothing does."""
    match value:
        case dict():
            return value.get(part)
        case list() | tuple():
            if type(part) is int and part < len(value):
                return value[part]
            return None
    return getattr(value, str(part), None)


_TABLE = ("a table of keys and values", "Write key = value under its [name].")
_LIST = (
    "a list",
    "Write values in [brackets], tables of a list in [[double brackets]].",
)
_WORDS = {
    "model_type": _TABLE,
    "dict_type": _TABLE,
    "list_type": _LIST,
    "tuple_type": _LIST,
    "too_short": ("one or more", "Add one."),
    "too_long": ("a list of at most {max_length}", "Give fewer."),
    "bool_type": ("true or false", "Write it without quotes."),
    "string_type": ("text", "Put it in quotes."),
    "greater_than": ("a number above {gt:g}", "Give a larger one."),
    "greater_than_equal": ("a number of at least {ge:g}", "Give a larger one."),
    "less_than": ("a number below {lt:g}", "Give a smaller one."),
    "literal_error": ("{expected}", "Write that, or leave it out."),
    "none_required": ("left out", "Delete it."),
}
