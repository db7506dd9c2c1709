"""The shape of a whole parameter file, of each version, from what the mechanisms state."""

from __future__ import annotations

from typing import Any

from planner.deployment.client.canonical import FORMAT, VERSIONS
from planner.deployment.client.laws.exact import DENOMINATOR
from planner.deployment.client.mechanisms.law import Law
from planner.deployment.client.mechanisms.registry import LAWS
from planner.deployment.client.mechanisms.unary import UnaryLaw
from planner.deployment.client.schema import (
    BUDGET,
    TEXT,
    Schema,
    choice,
    either,
    list_of,
    record,
    whole,
)
from planner.limits import MAX_COUNT

_NULL: Schema = {"type": "null"}
_PAIRS = list_of(
    record(
        {
            "first": whole(0, 2**32),
            "second": whole(0, 2**32),
            "realised": {"type": "number", "minimum": 0},
            "demanded": either(BUDGET, _NULL),
        },
        "Budget of telling an item of one level from one of another; positions from 0, nats. "
        "realised is rounded up; demanded is null if the policy demands none. Up to 200 levels "
        "all pairs are listed, beyond that each level's tightest ones only.",
    )
)
_WHO = {"survey": TEXT, "users": whole(1, MAX_COUNT)}


def question_shape(law: type[Law]) -> dict[str, Any]:
    """The shape of a mechanism's questions, in the file's present version."""
    common = {
        "name": TEXT,
        "kind": choice(law.kind),
        "mechanism": choice(law.mechanism),
        "denominator": choice(DENOMINATOR),
    }
    derived = {"estimator": law.estimates, "pairs": _PAIRS}
    shape = record(common | dict(law.keys) | derived, (law.__doc__ or "").partition("\n")[0])
    return shape | {"properties": shape["properties"] | dict(law.stated)}


def version_1_question_shape() -> dict[str, Any]:
    """Version 1 had IDUE alone, each with a certificate, and nothing that follows from it."""
    proven = {"lower_bound": {"type": "number"}, "relative_gap": {"type": "number", "minimum": 0}}
    predicted = UnaryLaw.keys["predicted"]["properties"] | proven
    changed = {"model": choice("opt0", "opt1", "opt2"), "predicted": record(predicted)}
    properties = question_shape(UnaryLaw)["properties"] | changed
    return record({k: v for k, v in properties.items() if k not in ("estimator", "pairs")})


def file_shape(version: int = VERSIONS[-1]) -> dict[str, Any]:
    """The shape of a file: a JSON Schema of draft 2020-12; versions 2 and 3 have one.

    Examples
    --------
    >>> file_shape(1)["required"]
    ['format', 'version', 'survey', 'users', 'questions']
    """
    start = {"format": choice(FORMAT), "version": choice(*VERSIONS[1:])}
    if version == 1:
        start["version"] = choice(1)
        return record(start | _WHO | {"questions": list_of(version_1_question_shape())})
    moment = {"type": "string", "pattern": "^[0-9]{4}(-[0-9]{2}){2}T[0-9]{2}(:[0-9]{2}){2}Z$"}
    written = {
        "hash": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
        "planner_version": TEXT,
        "created": moment,
    }
    questions = list_of(either(*map(question_shape, LAWS.values())))
    return record(start | written | _WHO | {"questions": questions})
