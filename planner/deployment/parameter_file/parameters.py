"""The parameter file: what a plan hands to the clients and the collector.

Version 2 (:class:`Parameters`) holds any mechanism's integer probabilities over 2^32, the
budgets they keep, the constants of the estimator and a content hash. Files of version 1
stay readable. Reading is strict: a file that is not exactly right, or whose probabilities
do not keep their budgets, is refused with the reason.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner.deployment.client.canonical import (
    FORMAT,
    MAX_FILE_BYTES,
    VERSIONS,
    content_hash,
    parse_document,
    read_document,
)
from planner.deployment.client.questions import DeployedQuestion, read_questions
from planner.deployment.client.shape import file_shape
from planner.deployment.mechanisms.registry import deployed
from planner.errors import FileError, InputError, VerificationError
from planner.files import replace_file

__all__ = [
    "FORMAT",
    "MAX_FILE_BYTES",
    "Parameters",
    "json_schema",
    "parse_parameters",
    "read_parameters",
    "write_parameters",
]


@dataclass(frozen=True, slots=True)
class Parameters:
    """A whole parameter file, checked and proven when it is made.

    Attributes
    ----------
    document:
        The file's JSON, not to be changed. :func:`json_schema` is its shape.
    hash:
        SHA-256 of its canonical form (RFC 8785) without the key ``hash``; reports carry it.
    questions:
        The questions, each with its mechanism's law.
    """

    document: Mapping[str, Any]
    hash: str
    questions: tuple[DeployedQuestion, ...]

    @classmethod
    def of(cls, document: Mapping[str, Any], source: str | Path = "parameters") -> Parameters:
        """From a parsed document whose outside was checked, see :func:`parse_parameters`.

        Raises
        ------
        FileError
            It is not exactly of its version's form; ``source`` is named.
        VerificationError
            The probabilities do not keep the promised budgets, or something that is stated
            does not follow from them.
        """
        questions = tuple(read_questions(document, source))
        _prove(questions)
        return cls(document, content_hash(document), questions)

    @property
    def survey(self) -> str:
        """Name of the survey."""
        return str(self.document["survey"])

    @property
    def users(self) -> int:
        """Planned number of people."""
        return int(self.document["users"])

    @property
    def created(self) -> str | None:
        """Time of creation (UTC); ``None`` in version 1."""
        return self.document.get("created")

    def to_json(self) -> str:
        """The file's text."""
        return json.dumps(self.document, indent=2, ensure_ascii=False) + "\n"

    def verify(self) -> None:
        """Prove every question again, what a device cannot prove included.

        Raises
        ------
        VerificationError
            Names the question and what does not hold.
        """
        _prove(read_questions(self.document, "parameters"))

    def question(self, name: str | None = None) -> DeployedQuestion:
        """The question of that name; without a name, the only one.

        Raises
        ------
        InputError
            No such question, or no name given and several questions.
        """
        names = [question.name for question in self.questions]
        if name is None and len(names) == 1:
            return self.questions[0]
        if name not in names:
            remedy = "Name one of its questions."
            raise InputError.unknown("question", name, names, remedy)
        return self.questions[names.index(name)]


def read_parameters(path: str | Path) -> Parameters:
    """Read and verify a parameter file of at most 64 MiB, of any known version.

    Raises
    ------
    FileError
        Unreadable, too large, not JSON, altered, or not exactly of the expected form.
    VerificationError
        The probabilities do not keep the promised budgets.
    """
    return Parameters.of(read_document(path), path)


def parse_parameters(data: bytes | str, source: str | Path = "parameters") -> Parameters:
    """As :func:`read_parameters`, from the file's content; ``source`` is named in errors."""
    return Parameters.of(parse_document(data, source), source)


def write_parameters(path: str | Path, parameters: Parameters) -> None:
    """Verify and write a parameter file, replacing an existing one atomically.

    A file that differs in nothing but its time of creation is left as it is: with a new hash
    clients would not recognise the reports they remember, and would spend the budgets again.

    Raises
    ------
    FileError
        The path cannot be written; nothing is half written.
    VerificationError
        The probabilities do not keep the promised budgets.
    """
    if parameters.document["version"] == VERSIONS[0]:
        allowed = f"at least {VERSIONS[1]}"
        remedy = "Build the parameters anew from the survey."
        raise InputError("version", parameters.document["version"], allowed, remedy)
    if content_hash(parameters.document) != parameters.document["hash"]:
        raise InputError("hash", parameters.hash, "the content's hash", "Build the file anew.")
    parameters.verify()
    if _says_the_same(Path(path), parameters.document):
        return
    replace_file(path, parameters.to_json())


def json_schema() -> str:
    """The file's JSON Schema (draft 2020-12), as text; that of version 1 among its ``$defs``."""
    about = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Parameters",
        "description": "A parameter file. What no schema can say is checked by every client.",
    }
    old = {"$defs": {"version1": file_shape(1)}}
    return json.dumps(about | file_shape() | old, indent=2) + "\n"


def _prove(questions: Iterable[DeployedQuestion]) -> None:
    """What a device cannot prove of the questions that were read."""
    for question in questions:
        try:
            deployed(question.law).verify()
        except VerificationError as error:
            raise VerificationError(f"Question {question.name!r}: {error.reason}") from error


def _says_the_same(path: Path, document: Mapping[str, Any]) -> bool:
    try:
        existing = read_document(path)
    except FileError:
        return False
    timeless = [
        {key: value for key, value in each.items() if key not in ("created", "hash")}
        for each in (existing, document)
    ]
    return timeless[0] == timeless[1]
