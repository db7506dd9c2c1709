"""Plans and results as plain JSON: every dataclass is the object of its fields."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel

from planner.deployment.parameters import Parameters
from planner.planning.plan import SurveyPlan
from planner.planning.question import QuestionPlan
from planner.planning.rounds import compared
from planner.show import kinds
from planner.show.guarantees import promises_of

_QUESTION = (
    "name", "share", "fraction", "users", "measure", "total_error", "unit", "error_share",
    "share_of", "lower_bound", "proven_gap", "saturation_epsilon", "padding_length", "spending",
    "levels", "reason", "left_out", "padding", "relaxations", "targets", "explanations",
)  # fmt: skip
_OPTION = ("name", "title", "error", "against", "compared")
_ALLOCATION = (
    "names", "reason", "shares", "errors", "value", "lower_bound", "relative_gap",
    "some_each", "best_each",
)  # fmt: skip


def to_json(thing: Any) -> Any:  # noqa: PLR0911 - a case each
    """Anything as JSON has it: NaN and infinities are null, arrays lists, dataclasses objects.

    Examples
    --------
    >>> to_json({"errors": np.array([1.0, np.inf]), "place": Path("a")})
    {'errors': [1.0, None], 'place': 'a'}
    """
    if thing is None or isinstance(thing, (bool, int, str)):
        return thing
    if isinstance(thing, (np.generic, np.ndarray)):
        return to_json(thing.tolist())
    if isinstance(thing, float):
        return thing if math.isfinite(thing) else None
    if isinstance(thing, Mapping):
        return {str(key): to_json(value) for key, value in thing.items()}
    if is_dataclass(thing):
        return {field.name: to_json(getattr(thing, field.name)) for field in fields(thing)}
    if isinstance(thing, BaseModel):
        return thing.model_dump(mode="json")
    if isinstance(thing, Path):
        return str(thing)
    return [to_json(one) for one in thing]


def plan_json(plan: SurveyPlan, parameters: Parameters | None = None) -> dict[str, Any]:
    """A planned survey; ``parameters`` is null where there is no one file."""
    found = plan.allocation
    return {
        "survey": {
            "name": plan.survey.name,
            "users": plan.survey.users,
            "design": plan.survey.design,
            "better_design": None if found is None else found.better,
            "most_spent": plan.most_spent,
            "sharing": to_json(plan.sharing),
            "allocation": None if found is None else _picked(found, _ALLOCATION),
        },
        "questions": [question_json(question) for question in plan.questions],
        "outsiders": outsiders_json(plan.outsiders()),
        "parameters": None if parameters is None else parameters.document,
    }


def question_json(question: QuestionPlan) -> dict[str, Any]:
    """One question's plan."""
    document: dict[str, Any] = {
        "kind": question.question.kind,
        "mechanism": question.deployed.mechanism,
        "asked_for": question.question.mechanism,
        **_picked(question, _QUESTION),
        "promises": promises_of(question),
        "proof": kinds.certificate_sentences(question),
        "options": [_picked(one, _OPTION) for one in question.options],
    }
    if question.question.rounds is not None:
        ways, bound = compared(question)
        document["rounds"] = to_json({"ways": ways, "bound": bound})
    if question.sampling is not None:
        document["sampling"] = kinds.sampling_json(question.sampling)
    return document


def outsiders_json(view: Any) -> dict[str, Any] | None:
    """What outsiders learn; null where nothing can be said."""
    if view is None:
        return None
    document = to_json(view) | _picked(view, ("epsilon", "delta", "sentences"))
    document["questions"] = [
        to_json(one)
        | _picked(one, ("sentences",))
        | {"shuffled": to_json(one.shuffled) | _picked(one.shuffled, ("epsilon", "local_epsilon"))}
        for one in view.questions
    ]
    return document


def _picked(thing: Any, names: Iterable[str]) -> dict[str, Any]:
    return {name: to_json(getattr(thing, name)) for name in names}
