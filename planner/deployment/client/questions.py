"""Read a parameter document: the one list of what is checked, on a device and by a collector.

In this order: the document's shape; for each question that its parts fit, that its integers keep
the promised budgets, and that pairs and estimator are exactly what follows from the integers; that
a collector can count the answers to all questions together.
Format, version, content hash and the rules of JSON were checked when the document was parsed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner.deployment.client.laws.pairs import PairBudget
from planner.deployment.client.mechanisms.law import Law
from planner.deployment.client.mechanisms.registry import LAWS
from planner.deployment.client.schema import TEXT, check, choice, list_of, record
from planner.deployment.client.shape import file_shape, question_shape, version_1_question_shape
from planner.errors import FileError, InputError, VerificationError
from planner.limits import EXPORT_REMEDY, MAX_CELLS


@dataclass(frozen=True, slots=True)
class DeployedQuestion:
    """A question of a parameter file, proven.

    Attributes
    ----------
    name:
        Its name.
    law:
        Its mechanism's output law.
    document:
        Its JSON, as the versions from 2 on have it.
    """

    name: str
    law: Law
    document: Mapping[str, Any]

    @property
    def mechanism(self) -> str:
        """The mechanism's name in the file."""
        return self.law.mechanism

    @property
    def kind(self) -> str:
        """The kind of question."""
        return self.law.kind

    @property
    def pairs(self) -> tuple[PairBudget, ...]:
        """The listed pairs, ``inf`` where no budget is demanded."""
        return tuple(
            PairBudget(
                pair["first"],
                pair["second"],
                pair["realised"],
                math.inf if pair["demanded"] is None else pair["demanded"],
            )
            for pair in self.document["pairs"]
        )


def read_questions(document: Mapping[str, Any], source: str | Path) -> list[DeployedQuestion]:
    """The questions of a parsed document, each checked and proven; one at least.

    Raises
    ------
    FileError
        The document is not exactly of its version's shape, or parts do not fit each other.
    VerificationError
        A question does not keep the budgets that it promises, or states what does not follow
        from its integers.
    """
    version = document["version"]
    try:
        # Questions are checked one by one below, each by the shape of its own mechanism.
        shape = file_shape(version)
        anything = shape["properties"] | {"questions": list_of({"type": "object"})}
        check(document, shape | {"properties": anything})
        read = [_read(i, question, version) for i, question in enumerate(document["questions"])]
    except InputError as error:
        raise FileError(source, error.reason, EXPORT_REMEDY) from error
    names = [question.name for question in read]
    if len(set(names)) < len(names):
        raise FileError(source, "a question name appears twice", EXPORT_REMEDY)
    cells = sum(question.law.cells for question in read)
    if cells > MAX_CELLS:
        reason = f"all questions have {cells:,} sums to count, at most {MAX_CELLS:,} are allowed"
        raise FileError(source, reason, "Merge items, or ask for a coarser answer first.")
    if version > 1 and version != version_for(document["questions"]):
        reason = f"version: {version} is not the first one that has all that its questions state"
        raise FileError(source, reason, EXPORT_REMEDY)
    return read


def version_for(questions: Iterable[Mapping[str, Any]]) -> int:
    """The version of a file with these questions: the first that has all that they state."""
    return max(map(_since, questions))


def read_law(question: Mapping[str, Any]) -> Law:
    """The law of one question of the file's present version; its budgets are not proven yet.

    Raises
    ------
    InputError
        The question is not exactly of its mechanism's shape, or its parts do not fit.

    Examples
    --------
    >>> level = {"name": "all", "epsilon": 1.1, "item_count": 3, "items": []}
    >>> question = {"name": "q", "kind": "categorical", "mechanism": "grr", "rule": "min",
    ...             "denominator": 2**32, "levels": [level], "truth": 2**30,
    ...             "predicted": {"worst_case_mse": 1.0, "lower_bound": None,
    ...                           "relative_gap": None}}
    >>> law = law_of(question)
    >>> law.verify()
    >>> round(law.pairs()[0].realised, 6)  # ln 2
    0.693147
    >>> read_law(question | derived(law)) == law
    True
    """
    return _checked(question, 2, "the question")


def law_of(question: Mapping[str, Any]) -> Law:
    """The law of a question that has its mechanism's keys and may lack what follows from them."""
    law: type[Law] = LAWS[question["mechanism"]]
    return law.read(question)


def derived(law: Law) -> dict[str, Any]:
    """What a question states although it follows from the integers: estimator and pairs.

    A pair's budget is ``null`` where none is demanded.
    """
    pairs = [
        {
            "first": pair.first,
            "second": pair.second,
            "realised": pair.realised,
            "demanded": None if math.isinf(pair.demanded) else pair.demanded,
        }
        for pair in law.pairs()
    ]
    return {"estimator": law.estimator(), "pairs": pairs}


def _read(i: int, question: Mapping[str, Any], version: int) -> DeployedQuestion:
    law = _checked(question, version, f"questions[{i}]")
    name = question["name"]
    try:
        law.verify()
        expected = derived(law)
        if version == 1:
            question = {**question, **expected}
        if question["estimator"] != expected["estimator"]:
            raise VerificationError("The estimator does not follow from the probabilities")
        if question["pairs"] != expected["pairs"]:
            raise VerificationError("The listed pairs do not follow from the probabilities")
    except VerificationError as error:
        raise VerificationError(f"Question {name!r}: {error.reason}") from error
    return DeployedQuestion(name, law, question)


def _since(question: Mapping[str, Any]) -> int:
    law: type[Law] = LAWS[question["mechanism"]]
    return max(law.since, 3 if any(key in question for key in law.stated) else 0)


def _checked(question: Mapping[str, Any], version: int, place: str) -> Law:
    """The law of a question whose shape is right."""
    outside: dict[str, Any] = {"name": TEXT, "mechanism": choice(*LAWS)}
    check(question, record(outside) | {"additionalProperties": True}, place)
    where = f" of question {question['name']!r}"
    law = LAWS[question["mechanism"]]
    shape = version_1_question_shape() if version == 1 else question_shape(law)
    check(question, shape, where=where)
    try:
        return law.read(question)
    except InputError as error:
        reason = f"question {question['name']!r}: {error.reason}"
        raise InputError.because(error.argument + where, reason, error.remedy) from error
