"""Plans and results as plain JSON: a dataclass is an object of its fields, or of what is named."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import BaseModel

from planner.laws.schema import Document
from planner.outsiders.false_reports import FalseReports
from planner.outsiders.guarantee import ShuffledGuarantee
from planner.planning.anchors import anchor_cost
from planner.planning.by_level import ByLevel
from planner.planning.joint import Related
from planner.planning.mean import ChannelCurve
from planner.planning.option import Option
from planner.planning.outsiders import OutsiderView, SurveyOutsiderView
from planner.planning.plan import ComparedRow, SurveyPlan
from planner.planning.question import QuestionPlan
from planner.planning.sampled import SamplingPlan
from planner.planning.sets import Padded
from planner.planning.shares import Allocation
from planner.planning.targets import TargetAnswer
from planner.show import kinds
from planner.show.plan import better_design, budgets_sentence, left_out
from planner.show.promises import (
    odds_sentence,
    promises_of,
    together_sentence,
    view_sentences,
)

if TYPE_CHECKING:
    from planner.deployment.parameters import Parameters

_MOST_EXPLAINED = 40  # levels
_NAMES_OF: dict[
    type, str
] = {  # values and properties, beside or in place of the fields
    QuestionPlan: "name total_error error_share drawn_error lower_bound "
    "proven_gap saturation_epsilon spending realised relaxations options",
    ByLevel: "names items epsilons a b if_had standard_errors percent detectable",
    Option: "name title error against compared",
    Allocation: "names shares errors value lower_bound relative_gap some_each best_each",
    ChannelCurve: "epsilon answer_rate channel_rmse relative_gap",
    TargetAnswer: "target reached users of_mean in_file power groups",
    ComparedRow: "question level what first second change",
    Related: "names sizes table margins separate margins_separate",
    OutsiderView: "question shuffled guess levels reach swaying moves",
    FalseReports: "moved up down unit score_sum of_answering",
    SurveyOutsiderView: "questions asked left_out moves_of_others epsilon delta",
    SamplingPlan: "limited_by counts absolute_errors mechanism relies_on acknowledged",
    ShuffledGuarantee: "names people delta epsilons local epsilon local_epsilon",
}

_SAID: dict[type, dict[str, Callable[[Any], object]]] = {  # and in words
    QuestionPlan: {
        "share": lambda plan: plan.part.share,
        "fraction": lambda plan: plan.part.fraction,
        "users": lambda plan: plan.part.people,
        "kind": lambda plan: plan.question.kind,
        "mechanism": lambda plan: plan.deployed.mechanism,
        "asked_for": lambda plan: plan.question.mechanism,
        "unit": lambda plan: plan.question.unit,
        "measure": kinds.measure,
        "share_of": kinds.share_of,
        "promises": promises_of,
        "proof": kinds.certificate_sentences,
        "left_out": left_out,
    },
    Allocation: {"reason": better_design},
    Related: {
        "people_for_association": lambda related: [
            [*two, n] for two, n in related.people.items()
        ]
    },
    OutsiderView: {
        "guessed": lambda view: kinds.WORDS[view.kind].guessed(view),
        "sentences": view_sentences,
    },
    SurveyOutsiderView: {
        "sentences": lambda view: [*filter(None, [together_sentence(view)])]
    },
    SamplingPlan: {"sentences": kinds.views_in_words},
}


def to_json(thing: Any) -> Any:  # noqa: PLR0911 - a case each
    """Anything as JSON has it: NaN and infinities are null, arrays lists, dataclasses objects.

    Examples
    --------
    >>> to_json({"errors": np.array([1.0, np.inf]), "place": Path("a")})
    {'errors': [1.0, None], 'place': 'a'}
    """
    match thing:
        case None | bool() | int() | str():
            return thing
        case np.generic() | np.ndarray():
            return to_json(thing.tolist())
        case float():
            return thing if math.isfinite(thing) else None
        case Mapping():
            return {str(key): to_json(value) for key, value in thing.items()}
        case BaseModel():
            return thing.model_dump(mode="json")
        case Path():
            return str(thing)
    if is_dataclass(thing):
        named = _NAMES_OF.get(type(thing))
        names = named.split() if named else [field.name for field in fields(thing)]
        said = {name: say(thing) for name, say in _SAID.get(type(thing), {}).items()}
        values = {name: getattr(thing, name) for name in names} | said
        return {name: to_json(v() if callable(v) else v) for name, v in values.items()}
    return [to_json(item) for item in thing]


def plan_json(plan: SurveyPlan, parameters: Parameters | None = None) -> Document:
    """A planned survey; ``parameters`` is null where there is no one file."""
    survey = plan.survey
    allocation = plan.allocation
    document = {
        "name": survey.name,
        "users": survey.users,
        "design": survey.design,
        "better_design": None if allocation is None else allocation.better,
        "most_spent": plan.most_spent,
        "allocation": allocation,
    }
    return {
        "survey": to_json(document),
        "questions": [question_json(question) for question in plan.questions],
        "outsiders": to_json(plan.outsiders()),
        "parameters": None if parameters is None else parameters.document,
    }


def question_json(question: QuestionPlan) -> Document:
    """One question's plan."""
    levels = question.fact(ByLevel)
    padded = question.fact(Padded)
    targets = [
        (to_json(asked), budgets_sentence(question, asked))
        for asked in question.targets
    ]
    shown = range(min(len(levels.names), _MOST_EXPLAINED) if levels else 0)
    odds = [odds_sentence(question, level) for level in shown]
    document: Document = {
        **to_json(question),
        "levels": levels and to_json(levels) | {"odds": odds},
        "padding_length": padded and padded.length,
        "padding": to_json(padded and padded.plan),
        "sampling": to_json(question.fact(SamplingPlan)),
        "targets": [target | {"budgets": budgets} for target, budgets in targets],
    }
    if question.question.anchor_of is not None:
        document["anchor"] = to_json(anchor_cost(question))
    if question.fact(Related) is not None:
        document["joint"] = to_json(question.fact(Related))
    if question.question.rounds is not None:
        ways, bound = question.ways()
        beside = [] if question.again is None else question.again.beside
        total = question.part.total
        errors = {
            name: {"stays": total(asked), "anew": total(two)}
            for name, asked, two in beside
        }
        document["rounds"] = to_json({"errors": errors, "ways": ways, "bound": bound})
    return document
