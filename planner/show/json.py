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
from planner.planning.comparison import ComparedRow
from planner.planning.joint import Related
from planner.planning.mean import ChannelCurve
from planner.planning.option import Option
from planner.planning.outsiders import OutsiderView, SurveyOutsiderView
from planner.planning.plan import SurveyPlan
from planner.planning.question import QuestionPlan
from planner.planning.sampled import SamplingPlan
from planner.planning.sets import Padded
from planner.planning.shares import Allocation
from planner.planning.targets import TargetAnswer
from planner.show import kinds, two_rounds
from planner.show.plan import better_design, left_out
from planner.show.promises import (
    odds_sentence,
    promises_of,
    together_sentence,
    view_sentences,
)
from planner.show.targets import budgets_sentence

if TYPE_CHECKING:
    from planner.deployment.parameters import Parameters

_MOST_EXPLAINED = 40  # levels of which odds are said: a sentence each

# Names of a document are a promise to programs that read it, so that they are listed here: values
# and properties of a class in place of its fields. Classes that are not here give all their fields.
_NAMES_OF: dict[type, str] = {
    QuestionPlan: "name total_error error_share drawn_error lower_bound "
    "proven_gap saturation_epsilon spending realised relaxations options",
    ByLevel: "names items epsilons a b if_had standard_errors percent detectable",
    Option: "name title error against compared",
    Allocation: "names shares errors value lower_bound relative_gap some_each best_each",
    ChannelCurve: "epsilon answer_rate channel_rmse relative_gap",
    TargetAnswer: "target reached users of_mean in_file power groups",
    ComparedRow: "question level what first second change",
    Related: "names sizes table margins separate margins_separate",
    OutsiderView: "question shuffled guess levels reach reports_per_error moves",
    FalseReports: "moved up down unit score_sum of_answering",
    SurveyOutsiderView: "questions asked left_out moves_of_others epsilon delta",
    SamplingPlan: "limited_by counts absolute_errors mechanism relies_on acknowledged",
    ShuffledGuarantee: "names people delta epsilons local epsilon local_epsilon",
}


def _people_for_association(related: Related) -> list[list[object]]:
    """Rows of two answers and a number of people: keys of JSON's objects are no pairs."""
    return [[*answers, people] for answers, people in related.people.items()]


def _survey_sentences(view: SurveyOutsiderView) -> list[str]:
    """What holds for all questions together; nothing where there is only one."""
    together = together_sentence(view)
    if not together:
        return []
    return [together]


# What is added under names of its own: mostly the sentences that other faces show, so that a
# program can pass on what is promised in the same words.
_SAID: dict[type, dict[str, Callable[[Any], object]]] = {
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
    Related: {"people_for_association": _people_for_association},
    OutsiderView: {
        "guessed": lambda view: kinds.WORDS[view.kind].guessed(view),
        "sentences": view_sentences,
    },
    SurveyOutsiderView: {"sentences": _survey_sentences},
    SamplingPlan: {"sentences": two_rounds.views_in_words},
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
        case float() if math.isfinite(thing):
            return thing
        case float():
            return None
        case Mapping():
            return {str(key): to_json(value) for key, value in thing.items()}
        case BaseModel():
            return thing.model_dump(mode="json")
        case Path():
            return str(thing)
    if is_dataclass(thing):
        return _object(thing)
    return [to_json(item) for item in thing]


def _object(thing: Any) -> Document:
    """A dataclass as an object: of the names that are chosen for it, else of all its fields."""
    kind = type(thing)
    if kind in _NAMES_OF:
        names = _NAMES_OF[kind].split()
    else:
        names = [field.name for field in fields(thing)]
    # Sentences come first, as a plan solves what its fields ask for: then the call goes down once.
    sentences = {name: say(thing) for name, say in _SAID.get(kind, {}).items()}
    document: Document = {}
    for name in names:
        value = getattr(thing, name)
        if callable(value):  # a method without arguments
            value = value()
        document[name] = to_json(value)
    for name, sentence in sentences.items():
        document[name] = to_json(sentence)
    return document


def plan_json(plan: SurveyPlan, parameters: Parameters | None = None) -> Document:
    """A planned survey; ``parameters`` is null where there is no one file."""
    survey = plan.survey
    allocation = plan.allocation
    better = None
    if allocation is not None:
        better = allocation.better
    document = {
        "name": survey.name,
        "users": survey.users,
        "design": survey.design,
        "better_design": better,
        "most_spent": plan.most_spent,
        "allocation": allocation,
    }
    exported = None
    if parameters is not None:
        exported = parameters.document
    return {
        "survey": to_json(document),
        "questions": [question_json(question) for question in plan.questions],
        "outsiders": to_json(plan.outsiders()),
        "parameters": exported,
    }


def _levels(question: QuestionPlan) -> Document | None:
    """Errors by level, and what reports do to odds, of the first levels; null of other kinds."""
    levels = question.fact(ByLevel)
    if levels is None:
        return None
    explained = min(len(levels.names), _MOST_EXPLAINED)
    odds = [odds_sentence(question, level) for level in range(explained)]
    return {**to_json(levels), "odds": odds}


def _rounds(question: QuestionPlan) -> Document:
    """Errors over rounds, where answers stay and where they are drawn anew, and other ways."""
    # ``bound`` is what no mechanism undercuts (docs/theory/rounds.md).
    ways, bound = question.ways()
    errors = {}
    if question.again is not None:
        for name, stays, anew in question.again.beside:
            errors[name] = {
                "stays": question.part.total(stays),
                "anew": question.part.total(anew),
            }
    document: Document = to_json({"errors": errors, "ways": ways, "bound": bound})
    return document


def question_json(question: QuestionPlan) -> Document:
    """One question's plan."""
    padded = question.fact(Padded)
    padding_length = None
    padding_plan = None
    if padded is not None:
        padding_length = padded.length
        padding_plan = padded.plan
    levels = _levels(question)
    targets = []
    for target in question.targets:
        # The smallest budgets as a sentence: as figures they stand under "in_file".
        budgets = budgets_sentence(question, target)
        targets.append({**to_json(target), "budgets": budgets})
    document: Document = {
        **to_json(question),
        "levels": levels,
        "padding_length": padding_length,
        "padding": to_json(padding_plan),
        "sampling": to_json(question.fact(SamplingPlan)),
        "targets": targets,
    }
    # Keys of a few questions alone: they are left out elsewhere, not null.
    if question.question.anchor_of is not None:
        document["anchor"] = to_json(anchor_cost(question))
    related = question.fact(Related)
    if related is not None:
        document["joint"] = to_json(related)
    if question.question.rounds is not None:
        document["rounds"] = _rounds(question)
    return document
