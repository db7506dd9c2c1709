"""Surveys as TOML text that :func:`planner.survey_file.survey_from_text` reads back."""

from __future__ import annotations

from typing import Any

import tomli_w

from planner.errors import InputError
from planner.preferences import (
    EmpiricalPreferences,
    GammaPreferences,
    HistogramPreferences,
    LognormalPreferences,
    NormalPreferences,
    Preferences,
)
from planner.survey import Level, Numeric, Question, Survey

__all__ = ["survey_to_text"]


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
        "survey": {"name": survey.name, "users": survey.users},
        "question": [_question(question) for question in survey.questions],
    }
    return tomli_w.dumps(document)


def _question(question: Question) -> dict[str, Any]:
    table: dict[str, Any] = {"name": question.name}
    if question.kind != "categorical":
        table["kind"] = question.kind
    if question.numeric is not None:
        return table | _numeric(question.numeric)
    if question.rule != "min":
        rule = question.rule
        table["rule"] = rule if isinstance(rule, str) else [list(row) for row in rule]
    if question.objective.kind != "worst-case":
        table["objective"] = question.objective.kind
    if question.sampling is not None:
        about = question.sampling
        table["sampling"] = _given(
            relies_on=about.relies_on,
            acknowledged=about.acknowledged,
            cap=about.cap,
            floor=about.floor,
            none_epsilon=about.none_epsilon,
            everyone_has_value=about.everyone_has_value or None,
        )
    weights, shares = question.objective.weights, question.objective.prior
    table["level"] = [
        _level(level)
        | ({} if weights is None else {"weight": weights[i]})
        | ({} if shares is None else {"share": shares[i]})
        for i, level in enumerate(question.levels)
    ]
    return table


def _level(level: Level) -> dict[str, Any]:
    table: dict[str, Any] = {"name": level.name, "epsilon": float(level.epsilon)}
    if level.items:
        table["items"] = list(level.items)
    else:
        table["item_count"] = level.item_count
    if level.yes_counts:
        table["yes_counts"] = list(level.yes_counts)
    return table


def _numeric(about: Numeric) -> dict[str, Any]:
    return _given(
        lower=about.domain.lower,
        upper=about.domain.upper,
        yes_no=about.domain.yes_no or None,
        epsilon=about.epsilon,
        mean=about.mean,
        sd=about.sd,
        correlation=about.correlation or None,
        preferences=None if about.preferences is None else _preferences(about.preferences),
    )


def _preferences(preferences: Preferences) -> dict[str, Any]:
    match preferences:
        case NormalPreferences():
            return {"model": "normal", "mean": preferences.mean, "sd": preferences.sd}
        case LognormalPreferences():
            shape = {"median": preferences.median, "sigma": preferences.sigma}
            return {"model": "lognormal", **shape}
        case GammaPreferences():
            return {"model": "gamma", "shape": preferences.shape, "scale": preferences.scale}
        case HistogramPreferences():
            bins = {"edges": preferences.edges.tolist(), "shares": preferences.shares.tolist()}
            return {"model": "histogram", **bins}
        case EmpiricalPreferences():
            return {"model": "sample", "values": preferences.sample.tolist()}
        case _:
            remedy = "Use one of the models that survey files know."
            raise InputError("preferences", preferences, "a model with a name", remedy)


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
