"""The parameter file: what a plan hands to the clients and the collector.

Version 2 (:class:`Parameters`) holds any mechanism's integer probabilities over 2^32, the
budgets they keep, the constants of the estimator and a content hash. Files of version 1
stay readable. Reading is strict: a file that is not exactly right, or whose probabilities
do not keep their budgets, is refused with the reason.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, model_validator

from planner.deployment.client.canonical import (
    FORMAT,
    MAX_FILE_BYTES,
    content_hash,
    parse_document,
    read_document,
)
from planner.deployment.parameter_file.parts import Strict, Text
from planner.deployment.parameter_file.questions import QuestionParameters
from planner.deployment.parameter_file.version1 import upgrade
from planner.errors import FileError, InputError
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


class Parameters(Strict):
    """A whole parameter file.

    ``hash`` is the SHA-256 of the canonical JSON (RFC 8785) of everything else. The
    planner version and the time of creation are null when read from version 1 only.
    """

    format: Literal["ldp-planner-parameters"]
    version: Literal[2]
    hash: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    planner_version: Text | None
    created: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")] | None
    survey: Text
    users: Annotated[int, Field(ge=1, le=10**12)]
    questions: Annotated[list[QuestionParameters], Field(min_length=1)]

    @model_validator(mode="after")
    def _distinct(self) -> Parameters:
        names = [question.name for question in self.questions]
        if len(set(names)) < len(names):
            raise ValueError("a question name appears twice")
        return self

    def verify(self) -> None:
        """Prove every question's budgets again.

        Raises
        ------
        VerificationError
            Names the question and what does not hold.
        """
        for question in self.questions:
            question.verify()

    def question(self, name: str | None = None) -> QuestionParameters:
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
            raise InputError("question", name, f"one of {', '.join(map(repr, names))}")
        return self.questions[names.index(name)]


def read_parameters(path: str | Path) -> Parameters:
    """Read and verify a parameter file of at most 64 MiB, of version 1 or 2.

    Raises
    ------
    FileError
        Unreadable, too large, not JSON, altered, or not exactly of the expected form.
    VerificationError
        The probabilities do not keep the promised budgets.
    """
    return _checked(read_document(path), path)


def parse_parameters(data: bytes | str, source: str | Path = "parameters") -> Parameters:
    """As :func:`read_parameters`, from the file's content; ``source`` is named in errors."""
    return _checked(parse_document(data, source), source)


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
    document = parameters.model_dump(mode="json")
    if content_hash(document) != parameters.hash:
        raise InputError("hash", parameters.hash, "the content's hash", "Build the file anew.")
    parameters.verify()
    if _says_the_same(Path(path), document):
        return
    replace_file(path, json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def json_schema() -> str:
    """The file's JSON Schema (draft 2020-12), as text."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return json.dumps(schema | Parameters.model_json_schema(), indent=2) + "\n"


def _says_the_same(path: Path, document: dict[str, Any]) -> bool:
    try:
        existing = read_document(path)
    except FileError:
        return False
    timeless = [
        {key: value for key, value in each.items() if key not in ("created", "hash")}
        for each in (existing, document)
    ]
    return timeless[0] == timeless[1]


def _checked(document: dict[str, Any], source: str | Path) -> Parameters:
    try:
        current = upgrade(document) if document["version"] == 1 else document
        parameters = Parameters.model_validate(current)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        message = first["msg"].removeprefix("Value error, ")
        raise FileError(source, f"{place}: {message}", "Export the parameters again.") from error
    except InputError as error:
        raise FileError(source, str(error), "Export the parameters again.") from error
    parameters.verify()
    return parameters
