"""The parameter file as a document: strict parsing, canonical form, content hash, and its laws.

Only the standard library is used; clients and collectors read files through here.

The content hash is the SHA-256 of the document without its key ``hash`` in the canonical
form of RFC 8785: no blanks, keys sorted by UTF-16 code units, strings with the shortest
escapes, numbers as ECMAScript prints them (shortest digits that read back the same
double).

What is checked, on a device and by a collector, in this order: the rules of JSON, format, version
and content hash; the document's form; for each question that its parts fit, that its integers keep
the promised budgets, and that its estimator is unbiased; that a collector can count the answers to
all questions together.
"""

from __future__ import annotations

import json
import math
from decimal import Decimal
from hashlib import sha256
from json.encoder import encode_basestring
from pathlib import Path
from typing import TypeVar

from planner.errors import FileError, InputError
from planner.files import unreadable
from planner.laws import schema
from planner.laws.drawing import DRAWN, Drawing
from planner.laws.law import DEVICE, Halves, Law, question_form
from planner.laws.schema import TEXT, Document, Json, Schema, check
from planner.limits import EXPORT_REMEDY, JOINED, MAX_CELLS, MAX_COUNT, MAX_FILE_BYTES

L = TypeVar("L", bound=Law)

FORMAT = "ldp-planner-parameters"
FILE_VERSION = 5
_MAX_MARKS = (
    2**20
)  # commas, colons and opening brackets: bounds what a file becomes in memory
_MAX_DEPTH = 64
_NESTING = (dict, list, tuple)
# Beyond 2^53 - 1 doubles skip whole numbers, and JavaScript would read another integer
# than Python (RFC 8259, section 6).
_MAX_INTEGER = 2**53 - 1


def read_document(path: str | Path) -> Document:
    """Read and check the outside of a parameter file of at most 64 MiB.

    Raises
    ------
    FileError
        Unreadable, too large, not JSON, not of the format and version, or altered.
    """
    path = Path(path)
    try:
        # A device or a pipe may have no end, or wait for ever.
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise FileError(path, "is not a regular file", "Check the path.")
        with path.open("rb") as file:
            # One byte more than is allowed tells a file that is too large from one that
            # just fits, without reading all of it.
            data = file.read(MAX_FILE_BYTES + 1)  # what is larger is refused
    except OSError as error:
        raise unreadable(path, error) from error
    return parse_document(data, source=path)


def parse_document(data: bytes | str, source: str | Path = "parameters") -> Document:
    """Parse a parameter document and check its format, version and content hash.

    Parameters
    ----------
    data:
        JSON in UTF-8, at most 64 MiB with at most 2^20 commas, colons and opening brackets, nested
        at most 64 deep. A key given twice, NaN and infinities are refused.
    source:
        Named in errors.

    Raises
    ------
    FileError
        As :func:`read_document`.
    """
    if len(data) > MAX_FILE_BYTES:
        reason = f"is larger than {MAX_FILE_BYTES // 2**20} MiB"
        raise FileError(source, reason, EXPORT_REMEDY)
    text = data
    if isinstance(text, str):
        # A lone surrogate in a text that was built in memory is let through here; the
        # canonical form refuses it by name.
        text = text.encode("utf-8", "surrogatepass")
    # Before it is parsed: each mark may become an object, which takes far more memory.
    if sum(map(text.count, b",:[{")) > _MAX_MARKS:
        reason = f"has more than {_MAX_MARKS:,} commas, colons and opening brackets"
        raise FileError(source, reason, "Ask about fewer items, or merge some.")
    try:
        document = parse_json(data)
    except UnicodeDecodeError as error:
        raise FileError(source, "is not text in UTF-8", EXPORT_REMEDY) from error
    except ValueError as error:
        reason = f"the file: Invalid JSON: {error}"
        raise FileError(source, reason, EXPORT_REMEDY) from error
    # The format first: a file of something else deserves to be told so, and not that
    # its hash is wrong.
    if type(document) is not dict or document.get("format") != FORMAT:
        reason = f"is not a parameter file (format {FORMAT!r})"
        raise FileError(source, reason, EXPORT_REMEDY)
    version = document.get("version")
    # Python takes True for 1; the type is asked for too, as a reader in another
    # language would not.
    if type(version) is not int or version != FILE_VERSION:
        reason = f"version: {version!r} is not {FILE_VERSION}, the one that is read"
        raise FileError(source, reason, EXPORT_REMEDY)
    try:
        actual = content_hash(document)
    except InputError as error:
        raise FileError(source, error.reason, EXPORT_REMEDY) from error
    # A hash without a key finds damage and mix-ups. It stops no attacker, who would
    # write the right hash; who may publish the file decides that.
    if document.get("hash") != actual:
        reason = f"hash: the content has the hash {actual}, the file says {document.get('hash')!r}"
        remedy = (
            "The file was altered or damaged. Get the original, or export it again."
        )
        raise FileError(source, reason, remedy)
    return document


def parse_json(data: bytes | str) -> Json:
    """Parse JSON in UTF-8 strictly: no key twice in an object, no NaN, no infinities.

    Raises
    ------
    ValueError
        It is not such JSON, or nested deeper than the interpreter allows.

    Examples
    --------
    >>> parse_json('{"a": 1, "b": 2, "a": 3}')
    Traceback (most recent call last):
    ...
    ValueError: the key 'a' appears twice
    """
    text = data
    if isinstance(text, bytes):
        text = text.decode("utf-8")
    try:
        return json.loads(
            text,
            object_pairs_hook=_unique,
            parse_constant=_no_constant,
            parse_float=_value,
        )
    except RecursionError:
        # Deep nesting exhausts the stack of the interpreter before the document's own
        # bound is asked for.
        raise ValueError("it is nested too deeply") from None


def content_hash(document: Document) -> str:
    """SHA-256 (lower-case hex) of a document's canonical form without its key ``hash``.

    Raises
    ------
    InputError
        The document has no canonical form.

    Examples
    --------
    >>> content_hash({"b": 1, "a": 2.0}) == content_hash({"a": 2, "b": 1, "hash": "..."})
    True
    """
    content = {key: value for key, value in document.items() if key != "hash"}
    return sha256(canonical(content)).hexdigest()


def canonical(value: Json) -> bytes:
    """Canonical JSON (RFC 8785) in UTF-8.

    Raises
    ------
    InputError
        A number that is not finite or beyond what a double holds, text that is not Unicode,
        nesting of more than 64 objects and lists, or no JSON type at all.

    Examples
    --------
    >>> canonical({"b": [1e21, 0.000001, -0.0], "a": "é"}).decode()
    '{"a":"é","b":[1e+21,0.000001,0]}'
    """
    try:
        return _canonical(value, _MAX_DEPTH).encode()
    except UnicodeEncodeError:
        reason = "a text has half of a surrogate pair, which is no character"
        raise InputError.because("text", reason, "Remove that half.") from None


def _canonical(value: Json, depth: int) -> str:
    """A value as canonical JSON text; InputError if nested more than ``depth`` levels deep."""
    if isinstance(value, _NESTING) and depth == 0:
        remedy = "Take out levels of nesting."
        reason = f"the document is nested more than {_MAX_DEPTH} levels deep"
        raise InputError.because("document", reason, remedy)
    match value:
        case str():
            # Python's encoder for text escapes quotes, backslashes and control
            # characters alone, the shortest way, which is what RFC 8785 (3.2.2.2)
            # wants.
            return encode_basestring(value)
        # A bool is an int in Python: asked for later, it would be written as a number.
        case None | bool():
            return json.dumps(value)
        case float() | int():
            return _number(value)
        case list() | tuple():
            items = [_canonical(item, depth - 1) for item in value]
            return f"[{','.join(items)}]"
        case dict():
            return _canonical_object(value, depth)
    remedy = "Use text, numbers, true, false, null, lists and objects alone."
    raise InputError("a value", type(value).__name__, "one of JSON's types", remedy)


def _canonical_object(value: Document, depth: int) -> str:
    """An object, its keys in the order of their UTF-16 units (RFC 8785, 3.2.3)."""
    if not {*map(type, value)} <= {str}:
        reason = "a key is not text, and JSON has no other"
        raise InputError.because("key", reason, "Use text as the keys.")

    def units(key: str) -> bytes:
        return key.encode("utf-16-be", "surrogatepass")

    parts = []
    # Python sorts by code points. These differ from UTF-16 units where a character
    # beyond U+FFFF stands against one from U+E000 on.
    for key in sorted(value, key=units):
        content = _canonical(value[key], depth - 1)
        parts.append(f"{encode_basestring(key)}:{content}")
    return f"{{{','.join(parts)}}}"


def _number(value: float) -> str:
    """A double as ECMAScript prints it; Python has the same digits, but another layout.

    A whole number beyond 2^53 is the double that other languages read it as.
    """
    if isinstance(value, int) and abs(value) <= _MAX_INTEGER:
        return str(int(value))
    try:
        text = repr(float(value) + 0.0)  # which is 0 of -0
    except OverflowError:
        allowed = "one that a double can hold"
        remedy = "Use a number below 1e308."
        raise InputError("a whole number", value, allowed, remedy) from None
    if not math.isfinite(value):
        remedy = "Replace NaN and infinity; null stands for no demand."
        raise InputError("a number", value, "finite", remedy)
    mantissa, _, power = text.partition("e")
    if not power:
        return text.removesuffix(".0")
    # ECMAScript writes the digits in full from 1e-6 to below 1e21.
    # Python changes to an exponent at 1e16 and below 1e-4, ECMAScript at 1e21 and below
    # 1e-6 (ECMA-262, Number::toString).
    if -7 < int(power) < 21:
        return f"{Decimal(text):f}"
    return f"{mantissa}e{int(power):+d}"


def _unique(pairs: list[tuple[str, Json]]) -> Document:
    """An object whose keys stand once each; of two alike no reader may choose."""
    unique: Document = {}
    for key, value in pairs:
        if key in unique:
            raise ValueError(f"the key {key!r} appears twice")
        unique[key] = value
    return unique


def _value(text: str) -> float | int:
    """A number by its value: 1.0 is a whole number in JSON Schema and in the canonical form."""
    number = float(text)
    if number.is_integer() and abs(number) <= _MAX_INTEGER:
        return int(number)
    return number


def _no_constant(name: str) -> None:
    """Python's own JSON takes NaN and infinities, which JSON has not."""
    raise ValueError(f"{name} is not a number that JSON allows")


def read_questions(
    document: Document, source: str | Path, kind: type[L], halves: Halves
) -> list[L]:
    """The laws of the questions of a parsed document, each checked and proven; one at least.

    Raises
    ------
    FileError
        The document is not exactly of its form, or parts do not fit each other.
    VerificationError
        A question does not keep the budgets that it promises, or its estimator is biased.
    """
    try:
        # Questions are checked one by one below, each by the form of its own law.
        form = file_form()
        anything = {"questions": schema.list_of({"type": "object"})}
        check(document, form | {"properties": form["properties"] | anything})
        laws = []
        for i, question in enumerate(document["questions"]):
            laws.append(kind.read(question, halves, f"questions[{i}]"))
        Drawing.read(document)
    except InputError as error:
        raise FileError(source, error.reason, EXPORT_REMEDY) from error
    names = [law.name for law in laws]
    # An anchor is called like no question: files of answers have a column of each.
    names += [law.anchor.name for law in laws if law.anchor is not None]
    if len(set(names)) < len(names):
        raise FileError(source, "a question name appears twice", EXPORT_REMEDY)
    # Each combination of values of the groups is counted apart.
    # Groups multiply what a collector holds in memory, so that the bound is on the
    # product.
    cells = sum(law.cells for law in laws)
    for group in document.get("groups", ()):
        cells *= len(group["values"])
    if cells > MAX_CELLS:
        reason = f"all questions have {cells:,} sums to count, at most {MAX_CELLS:,} are allowed"
        remedy = "Merge items, or ask for a coarser answer first."
        raise FileError(source, reason, remedy)
    return laws


_NOT_NEGATIVE: Schema = {"type": "number", "minimum": 0, "maximum": 1e300}


def file_form() -> Document:
    """The form of a parameter file: a JSON Schema of draft 2020-12.

    Examples
    --------
    >>> file_form()["required"][:4]
    ['format', 'version', 'hash', 'planner_version']
    """
    questions = [question_form(asked, shape) for asked, shape in DEVICE.pairs()]
    always = schema.record(
        {
            "format": schema.choice(FORMAT),
            "version": schema.choice(FILE_VERSION),
            "hash": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
            "planner_version": TEXT,
            "survey": TEXT,
            "users": schema.whole(1, MAX_COUNT),
            "questions": schema.list_of(schema.either(*questions)),
        }
    )
    parts = {
        name: schema.list_of(_NOT_NEGATIVE, 0) for name in ("weights", "population")
    }
    group = schema.record({"name": TEXT, "values": schema.list_of(TEXT, 2), **parts})
    group["properties"]["kind"] = schema.choice("number")  # or left out
    groups = schema.described(
        schema.list_of(group),
        "What the collector knows of who reports, and nobody randomises (of the kind "
        "number its values are whole numbers): each "
        "report is of one value of each; of one of them, what a person of each value counts for, "
        "or how many people there are of each. Left out where there is none.",
    )
    part = schema.record({"name": TEXT, "answers": schema.list_of(TEXT)})
    part["properties"]["in_order"] = schema.described(
        schema.whole(2, MAX_COUNT),
        "How many of the answers, the first ones, have an order, the lowest first. Left out where "
        "none have.",
    )
    joint = schema.described(
        schema.list_of(
            schema.record({"question": TEXT, "of": schema.list_of(part, 2)})
        ),
        "The questions that a joint one is of: its answers are theirs, joined by "
        f"{JOINED!r}. Left out where there is none.",
    )
    limits = schema.described(
        schema.choice("population"),
        "Whose variance limits of estimates count: that of people drawn at random from a "
        "population, as always of a question that is drawn for a person. Left out where those of "
        "other questions are of the people asked.",
    )
    optional = {
        "groups": groups,
        "joint": joint,
        "drawn": DRAWN,
        "limits": limits,
    }
    return always | {"properties": always["properties"] | optional}


def line_check(
    parameters: str,
    question: str,
    report_id: str,
    round_number: int | None,
    report: str,
) -> str:
    """The first 16 hexadecimal digits of SHA-256 of the fields, joined by newlines.

    The order is parameters, round (empty if there is none), report (base64), id, question. It
    depends on the values only, so that a line may be written anew with other blanks or another
    order of its keys. It betrays damage, not malice: whoever can write a line can write this too.

    Examples
    --------
    >>> line_check("0" * 64, "q", "0011223344556677", None, "AAAAAA==")
    '2167707bae03b8c0'
    """
    number = "" if round_number is None else str(round_number)
    # Newlines part the fields. Only the question, the last, may have one itself, so
    # that no two sets of fields give one text.
    text = "\n".join((parameters, number, report, report_id, question))
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
