"""The form of a JSON document: a small part of JSON Schema, and the check of a value by it.

A law states the keys of its questions once. Clients here and in other languages check by them, and
``ldp-planner schema`` prints them.

Numbers are compared by value, as JSON Schema and the canonical form (RFC 8785) have it: 1.0 is
the whole number 1, and :func:`planner.deployment.client.document.parse_document` reads it so.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from math import inf
from typing import Any

from planner.errors import InputError
from planner.limits import DENOMINATOR, EXPORT_REMEDY, MAX_EPSILON

Json = Any  # a value of a JSON document, or of TOML
Document = dict[str, Json]  # an object in one, as it is read and written
Schema = Mapping[str, Json]
Keys = Mapping[str, Schema]  # of an object

TEXT: Schema = {"type": "string", "minLength": 1}
FLAG: Schema = {"type": "boolean"}
FINITE: Schema = {
    "type": "number",
    "minimum": -sys.float_info.max,
    "maximum": sys.float_info.max,
}
BUDGET: Schema = {
    "type": "number",
    "exclusiveMinimum": 0,
    "maximum": MAX_EPSILON,
    "description": "Nats.",
}
PROBABILITY: Schema = {
    "type": "integer",
    "minimum": 1,
    "maximum": DENOMINATOR - 1,
    "description": "A probability times 2^32.",
}
SHARE: Schema = {"type": "number", "exclusiveMinimum": 0, "maximum": 1}
NULL: Schema = {"type": "null"}
_TYPES: dict[str, tuple[str, tuple[type, ...]]] = {
    "object": ("a JSON object", (dict,)),
    "array": ("a list", (list,)),
    "string": ("text", (str,)),
    "integer": ("a whole number", (int,)),
    "number": ("a number", (int, float)),
    "boolean": ("true or false", (bool,)),
    "null": ("null", (type(None),)),
}


def whole(least: int, most: int) -> Document:
    """A whole number from ``least`` to ``most``."""
    return {"type": "integer", "minimum": least, "maximum": most}


def choice(*values: str | int) -> Document:
    """The schema of one of some values."""
    return {"enum": list(values)}


def either(*schemas: Schema) -> Document:
    """A value of one of some shapes."""
    return {"anyOf": list(schemas)}


def list_of(item: Schema, least: int = 1) -> Document:
    """A list of at least ``least`` entries."""
    return {"type": "array", "items": item, "minItems": least}


def record(properties: Mapping[str, Schema], description: str = "") -> Document:
    """An object with exactly these keys."""
    schema = {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
    if not description:
        return schema
    return described(schema, description)


def described(schema: Schema, description: str) -> Document:
    """A schema with a word on what it means."""
    return {**schema, "description": description}


def unfit(argument: str, value: object, allowed: str) -> InputError:
    """What is wrong in a parameter file."""
    return InputError(argument, value, allowed, EXPORT_REMEDY)


def check(value: Json, schema: Schema, path: str = "", where: str = "") -> None:
    """Check a parsed value against a schema.

    Examples
    --------
    >>> check({"truth": 5}, record({"truth": whole(0, 10)}))
    >>> where = " of question 'q'"
    >>> check({"truth": -1}, record({"truth": whole(0, 10)}), "", where)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    planner.errors.InputError: truth of question 'q' is -1 but must be a whole number...

    What is allowed is said in words:

    >>> names, form = either(choice("a", 1), choice("b")), {"type": "string", "pattern": "^x$"}
    >>> least, lists = {"type": "number", "minimum": 2}, (list_of(TEXT, 2), list_of(TEXT, 0))
    >>> for schema in (whole(0, 10**12), BUDGET, least, *lists, TEXT, form, names):
    ...     try:
    ...         check(None, schema)
    ...     except InputError as refused:
    ...         print(refused.allowed)
    a whole number from 0 to 1000000000000
    a number above 0 and at most 50
    a number of at least 2
    a list with at least 2 entries
    a list
    text that is not empty
    text of the form ^x$
    one of 'a', 1 or 'b'
    """
    if not _fits(value, schema):
        raise unfit(_name(path, where), value, _allowed(schema))
    if "properties" in schema:
        _check_keys(value, schema, path, where)
        properties = schema["properties"]
        for key, part in value.items():
            if key in properties:
                check(part, properties[key], _join(path, key), where)
    elif "items" in schema:
        for i, part in enumerate(value):
            check(part, schema["items"], f"{path}[{i}]", where)


def _check_keys(value: Document, schema: Schema, path: str, where: str) -> None:
    for key in schema["required"]:
        if key not in value:
            raise unfit(_name(_join(path, key), where), None, "given")
    if schema["additionalProperties"]:
        return
    owner = where or " of the document"
    if path:
        owner = f" of {path}{where}"
    for key in value:
        if key not in schema["properties"]:
            raise unfit(f"key{owner}", key, f"one of {', '.join(schema['properties'])}")


def _fits(value: Json, schema: Schema) -> bool:
    """Whether a value is of the schema's type and range; an object's or list's parts may not be."""
    if "anyOf" in schema:
        return any(passes(value, allowed) for allowed in schema["anyOf"])
    if "enum" in schema:
        # By the type, too: in Python True is 1.
        typed = [(type(item), item) for item in schema["enum"]]
        return (type(value), value) in typed
    _, classes = _TYPES[schema["type"]]
    if type(value) not in classes:
        return False
    return _in_range(value, schema)


def _in_range(value: Json, schema: Schema) -> bool:
    if "pattern" in schema:  # from ^ to $
        return re.fullmatch(schema["pattern"][1:-1], value) is not None
    if "minItems" in schema or "minLength" in schema:
        return len(value) >= schema.get("minItems", schema.get("minLength"))
    if schema["type"] not in ("integer", "number"):
        return True
    least = schema.get("minimum", -inf)
    most = schema.get("maximum", inf)
    above = schema.get("exclusiveMinimum", -inf)
    return bool(least <= value <= most and above < value)


def passes(value: Json, schema: Schema) -> bool:
    """Whether a value has the form of a schema."""
    try:
        check(value, schema)
    except InputError:
        return False
    return True


def _allowed(schema: Schema) -> str:
    """What a schema allows, as the end of "must be ..."."""
    if "anyOf" in schema:
        return " or ".join(_allowed(option) for option in schema["anyOf"])
    if "enum" in schema:
        values = [*map(repr, schema["enum"])]
        if len(values) == 1:
            return values[0]
        return f"one of {', '.join(values)}"
    if "pattern" in schema:
        return f"text of the form {schema['pattern']}"
    name, _ = _TYPES[schema["type"]]
    least = schema.get("minimum")
    above = schema.get("exclusiveMinimum")
    most = schema.get("maximum")
    if least is not None and most is not None:
        return f"{name} from {least:.15g} to {most:.15g}"
    words = []
    for word, limit in (("above", above), ("of at least", least), ("at most", most)):
        if limit is not None:
            words.append(f"{word} {limit:g}")
    if schema.get("minItems"):
        words = [f"with at least {schema['minItems']} entries"]
    if schema.get("minLength"):
        words = ["that is not empty"]
    return " ".join([name, " and ".join(words)]).strip()


def _join(path: str, key: str) -> str:
    """The place of a key in an object that stands at a path."""
    if not path:
        return key
    return f"{path}.{key}"


def _name(path: str, where: str) -> str:
    """What an error is about: a place in the document, or a part such as " of question 'q'"."""
    if where and not path:
        return where.strip()
    return f"{path or 'the document'}{where}"
