"""Version 1 of the parameter file: IDUE tables only, no hash, no pairs. Read, never written."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from planner.deployment.client.canonical import content_hash
from planner.deployment.client.laws.reading import read_law
from planner.deployment.parameter_file.parts import (
    Predicted,
    Rule,
    Strict,
    Text,
    UnaryLevelParameters,
    derived,
    whole,
)

__all__ = ["upgrade"]


class _Predicted(Predicted):
    lower_bound: float
    relative_gap: Annotated[float, Field(ge=0)]


class _Question(Strict):
    name: Text
    kind: Literal["categorical"]
    mechanism: Literal["idue"]
    model: Literal["opt0", "opt1", "opt2"]
    rule: Rule
    denominator: Annotated[Literal[4294967296], BeforeValidator(whole)]
    levels: Annotated[list[UnaryLevelParameters], Field(min_length=1)]
    predicted: _Predicted


class _File(Strict):
    format: Literal["ldp-planner-parameters"]
    version: Literal[1]
    survey: Text
    users: Annotated[int, Field(ge=1)]
    questions: Annotated[list[_Question], Field(min_length=1)]


def upgrade(document: dict[str, Any]) -> dict[str, Any]:
    """A document of version 1 with all that version 2 holds; the hash is the original's.

    Raises
    ------
    pydantic.ValidationError
        The document is not exactly of version 1.
    """
    _File.model_validate(document)
    questions = [question | derived(read_law(question)) for question in document["questions"]]
    added = {"version": 2, "planner_version": None, "created": None, "questions": questions}
    return document | added | {"hash": content_hash(document)}
