"""The parameter file: what a plan hands to the clients and the collector.

Version 1 holds, per question, integer bit probabilities over 2^32 with the budgets
they keep. Reading is strict: a file that is not exactly right is refused with the reason.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from planner.deployment.exact import (
    DENOMINATOR,
    PairBudget,
    PairViolation,
    Rule,
    check_budgets,
    pair_budgets,
    round_inward,
)
from planner.errors import FileError, InputError, VerificationError
from planner.files import replace_file
from planner.planning.frequency import Plan, QuestionPlan
from planner.policy import MAX_EPSILON

__all__ = [
    "FORMAT",
    "MAX_FILE_BYTES",
    "LevelParameters",
    "Parameters",
    "Predicted",
    "QuestionParameters",
    "json_schema",
    "parameters_from_plan",
    "read_parameters",
    "write_parameters",
]

FORMAT = "ldp-planner-parameters"
MAX_FILE_BYTES = 64 * 2**20

Text = Annotated[str, Field(min_length=1)]
Bits = Annotated[int, Field(gt=0, lt=DENOMINATOR)]
Budget = Annotated[float, Field(gt=0, le=MAX_EPSILON)]


def _whole(value: object) -> object:
    """A literal compares by value alone, and 1.0 and true equal 1."""
    if type(value) is not int:
        raise ValueError("Input should be a whole number")
    return value


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class LevelParameters(_Strict):
    """One privacy level: its budget in nats, its items, and its integers over 2^32."""

    name: Text
    epsilon: Budget
    item_count: Annotated[int, Field(ge=1)]
    items: list[Text]
    a: Bits
    b: Bits

    @model_validator(mode="after")
    def _consistent(self) -> LevelParameters:
        if self.items and len(self.items) != self.item_count:
            raise ValueError(f"item_count is {self.item_count} but {len(self.items)} are listed")
        if self.b >= self.a:
            raise ValueError(f"b = {self.b} must be below a = {self.a}")
        return self


class Predicted(_Strict):
    """What the plan promises: worst-case total squared error per user, and its proof."""

    worst_case_mse: Annotated[float, Field(gt=0)]
    lower_bound: float
    relative_gap: Annotated[float, Field(ge=0)]


class QuestionParameters(_Strict):
    """One question, its pair rule and its levels; pair budgets of a matrix rule, null = none."""

    name: Text
    kind: Literal["categorical"]
    mechanism: Literal["idue"]
    model: Literal["opt0", "opt1", "opt2"]
    rule: Literal["min", "avg"] | list[list[Budget | None]]
    denominator: Annotated[Literal[4294967296], BeforeValidator(_whole)]
    levels: Annotated[list[LevelParameters], Field(min_length=1)]
    predicted: Predicted

    @model_validator(mode="after")
    def _consistent(self) -> QuestionParameters:
        names = [level.name for level in self.levels]
        items = [item for level in self.levels for item in level.items]
        for kind, values in (("level name", names), ("item", items)):
            if len(set(values)) < len(values):
                raise ValueError(f"a {kind} appears twice")
        if isinstance(self.rule, list):
            size = len(self.levels)
            if len(self.rule) != size or any(len(row) != size for row in self.rule):
                raise ValueError(f"the rule must be a {size} x {size} matrix")
            if any(self.rule[i][j] != self.rule[j][i] for i in range(size) for j in range(i)):
                raise ValueError("the rule must be a symmetric matrix")
            for name, row in zip(names, self.rule, strict=True):
                if all(budget is None for budget in row):
                    raise ValueError(f"the rule protects level {name!r} against nothing")
        return self

    def pairs(self) -> list[PairBudget]:
        """Realised and demanded budget of every pair of levels; O(t^2)."""
        return pair_budgets(*self._numbers())

    def verify(self) -> None:
        """Prove from the integers alone that every pair keeps its budget.

        Raises
        ------
        VerificationError
            Names the first pair of levels that does not.
        """
        try:
            check_budgets(*self._numbers())
        except PairViolation as broken:
            first, second = self.levels[broken.first].name, self.levels[broken.second].name
            raise VerificationError(
                f"Question {self.name!r}: levels {first!r} and {second!r} realise "
                f"{broken.realised:.9f} nats but are promised {broken.demanded:.9f}"
            ) from broken

    def _numbers(self) -> tuple[list[int], list[int], list[float], Rule]:
        rule: Rule
        if isinstance(self.rule, str):
            rule = self.rule
        else:
            rule = [[math.inf if budget is None else budget for budget in row] for row in self.rule]
        levels = self.levels
        return [x.a for x in levels], [x.b for x in levels], [x.epsilon for x in levels], rule


class Parameters(_Strict):
    """A whole parameter file."""

    format: Literal["ldp-planner-parameters"]
    version: Annotated[Literal[1], BeforeValidator(_whole)]
    survey: Text
    users: Annotated[int, Field(ge=1)]
    questions: Annotated[list[QuestionParameters], Field(min_length=1)]

    @model_validator(mode="after")
    def _consistent(self) -> Parameters:
        names = [question.name for question in self.questions]
        if len(set(names)) < len(names):
            raise ValueError("a question name appears twice")
        return self

    def verify(self) -> None:
        """Verify every question; see :meth:`QuestionParameters.verify`."""
        for question in self.questions:
            question.verify()


def parameters_from_plan(plan: Plan) -> Parameters:
    """Round a plan's probabilities inward to integers over 2^32, and verify them exactly.

    Raises
    ------
    InputError
        A budget is too small for probabilities on this grid.
    VerificationError
        The integers do not keep the policy.

    Examples
    --------
    >>> from planner import Level, Question, Survey
    >>> from planner.planning.frequency import plan_survey
    >>> survey = Survey("s", 10, (Question("q", (Level("only", 1.0, item_count=3),)),))
    >>> parameters_from_plan(plan_survey(survey)).questions[0].levels[0].a > 2**30
    True
    """
    parameters = Parameters.model_validate(
        {
            "format": FORMAT,
            "version": 1,
            "survey": plan.survey.name,
            "users": plan.survey.users,
            "questions": [_question(question) for question in plan.questions],
        }
    )
    parameters.verify()
    return parameters


def write_parameters(path: str | Path, parameters: Parameters) -> None:
    """Verify and write a parameter file, replacing an existing one atomically.

    Raises
    ------
    FileError
        The path cannot be written; nothing is half written.
    """
    parameters.verify()
    replace_file(path, parameters.model_dump_json(indent=2) + "\n")


def read_parameters(path: str | Path) -> Parameters:
    """Read a parameter file of at most 64 MiB; it is not verified yet.

    Raises
    ------
    FileError
        Unreadable, too large, not JSON, or not exactly of the expected form.
    """
    path = Path(path)
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise FileError(path, f"is larger than {MAX_FILE_BYTES // 2**20} MiB")
        text = path.read_bytes()
        parameters = Parameters.model_validate_json(text)
    except OSError as error:
        reason = error.strerror or str(error)
        raise FileError(path, f"cannot be read: {reason}", "Check the path.") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        message = first["msg"].removeprefix("Value error, ")
        raise FileError(path, f"{place}: {message}", "Export the parameters again.") from error
    try:
        json.loads(text, object_pairs_hook=_distinct_keys)
    except ValueError as error:
        raise FileError(path, str(error), "Export the parameters again.") from error
    return parameters


def json_schema() -> str:
    """The file's JSON Schema (draft 2020-12), as text."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return json.dumps(schema | Parameters.model_json_schema(), indent=2) + "\n"


def _distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Two readers may disagree about which of two values counts."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {max(keys, key=keys.count)!r} appears twice")
    return found


def _question(plan: QuestionPlan) -> dict[str, Any]:
    table, policy = plan.table, plan.table.policy
    if table.certificate is None:
        raise InputError("model", table.model, "one with a certificate: opt0, opt1 or opt2")
    epsilons = policy.epsilons.tolist()
    rule = policy.rule if isinstance(policy.rule, str) else policy.rule.tolist()
    a, b = round_inward(table.a.tolist(), table.b.tolist(), epsilons, rule)
    grid = np.array([a, b]) / DENOMINATOR
    error = replace(table, a=grid[0], b=grid[1]).worst_case_mse
    bound = table.certificate.lower_bound
    levels = [
        {
            "name": level.name,
            "epsilon": epsilons[i],
            "item_count": level.item_count,
            "items": list(level.items),
            "a": a[i],
            "b": b[i],
        }
        for i, level in enumerate(plan.question.levels)
    ]
    return {
        "name": plan.question.name,
        "kind": "categorical",
        "mechanism": "idue",
        "model": table.model,
        "rule": rule if isinstance(rule, str) else [[_finite(r) for r in row] for row in rule],
        "denominator": DENOMINATOR,
        "levels": levels,
        "predicted": {
            "worst_case_mse": error,
            "lower_bound": bound,
            "relative_gap": max(0.0, (error - bound) / bound),
        },
    }


def _finite(budget: float) -> float | None:
    return None if math.isinf(budget) else budget
