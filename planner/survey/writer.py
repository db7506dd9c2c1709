"""Surveys as TOML text that :func:`planner.survey.file.survey_from_text` reads back."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import tomli_w

from planner.errors import InputError
from planner.policy.rules import DEFAULT_RULE
from planner.survey.kinds import USUAL_MECHANISM, Level, Numeric, Sampling
from planner.survey.numeric_tables import MODEL_TABLES
from planner.survey.ordered_answers import SHARES_UP_TO
from planner.survey.preferences import EmpiricalPreferences, Preferences
from planner.survey.questions import Question
from planner.survey.set_model import AssumedSets, PilotFile
from planner.survey.surveys import Survey
from planner.survey.target import Target


def survey_to_text(survey: Survey) -> str:
    """A survey as TOML; reading it gives an equal survey.

    Raises
    ------
    InputError
        The survey holds a preference model that survey files cannot express.

    Examples
    --------
    >>> from planner import Level, Question, Survey
    >>> print(survey_to_text(Survey("s", 10, (Question("q", (Level("only", 1.0, ("x",)),)),))))
    [survey]
    name = "s"
    users = 10
    <BLANKLINE>
    [[question]]
    name = "q"
    <BLANKLINE>
    [[question.level]]
    name = "only"
    epsilon = 1.0
    items = [
        "x",
    ]
    <BLANKLINE>
    """
    document = {
        "survey": _given(
            name=survey.name,
            users=survey.users,
            design=_unless(survey.design, "split"),
            asked=survey.asked,
            objective=_unless(survey.objective, "sum"),
            ledger=survey.ledger,
        ),
        "question": [_question(question) for question in survey.questions],
    }
    return tomli_w.dumps(document)


def _question(question: Question) -> dict[str, Any]:
    about = {} if question.numeric is None else _numeric(question.numeric)
    return {
        **_given(
            name=question.name,
            kind=_unless(question.kind, "categorical"),
            rule=_unless(question.rule, DEFAULT_RULE),
            criterion=_unless(question.criterion, "total"),
            mechanism=_unless(question.mechanism, USUAL_MECHANISM[question.kind]),
            weight=_unless(question.weight, 1.0),
            padding_length=question.padding_length,
            order=list(question.order) or None,
            scores=list(question.scores) or None,
            wanted=_unless(question.wanted, SHARES_UP_TO),
        ),
        **about,
        **_given(
            sampling=None if question.sampling is None else _stated(question.sampling),
            sets=None if question.sets is None else _sets(question.sets),
            target=list(map(_stated, question.targets)) or None,
            level=[_level(level) for level in question.levels] or None,
        ),
    }


def _level(level: Level) -> dict[str, Any]:
    return _given(
        name=level.name,
        epsilon=float(level.epsilon),
        items=list(level.items) or None,
        item_count=None if level.items else level.item_count,
        yes_counts=list(level.yes_counts) or None,
        prior=level.prior,
        importance=_unless(level.importance, 1.0),
    )


def _stated(about: Target | Sampling) -> dict[str, Any]:
    """Its fields, whose names are the table's keys; without those that are not said."""
    return {
        key: value
        for key, value in asdict(about).items()
        if value is not None and value is not False
    }


def _sets(model: AssumedSets | PilotFile) -> dict[str, Any]:
    if isinstance(model, PilotFile):
        return {"pilot": model.path}
    popularity = model.popularity
    if not isinstance(popularity, str):
        popularity = [float(weight) for weight in popularity]
    return _given(
        sizes=[float(size) for size in model.sizes], popularity=_unless(popularity, "zipf")
    )


def _numeric(about: Numeric) -> dict[str, Any]:
    return _given(
        lower=about.domain.lower,
        upper=about.domain.upper,
        yes_no=about.domain.yes_no or None,
        epsilon=about.epsilon,
        mean=about.mean,
        sd=about.sd,
        preferences=None if about.preferences is None else _preferences(about.preferences),
    )


def _preferences(preferences: Preferences) -> dict[str, Any]:
    if isinstance(preferences, EmpiricalPreferences):
        return {"model": "sample", "values": preferences.sample.tolist()}
    for name, table in MODEL_TABLES.items():
        if isinstance(preferences, table.made):
            keys = [key for key in table.model_fields if key != "model"]
            values = {key: np.asarray(getattr(preferences, key)).tolist() for key in keys}
            return {"model": name, **values}
    remedy = f"Use one of {', '.join(MODEL_TABLES)}, or a sample."
    raise InputError("preferences", preferences, "a model that survey files know", remedy)


def _unless(value: Any, usual: Any) -> Any:
    return None if value == usual else value


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
