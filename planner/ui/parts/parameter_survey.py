"""The survey that a parameter file was made for."""

from __future__ import annotations

import math

from planner.deployment.client.questions import DeployedQuestion
from planner.deployment.parameter_file.parameters import Parameters
from planner.errors import InputError
from planner.survey import Level, Numeric, Question, Rule, Survey
from planner.survey.kinds import ORDINAL
from planner.survey.numeric_domain import NumericDomain

__all__ = ["survey_from_parameters"]


def survey_from_parameters(parameters: Parameters) -> Survey:
    """Budgets, items and rules as the file states them, ready to be planned again.

    Raises
    ------
    InputError
        A question holds less in its parameters than its plan needs.
    """
    questions = tuple(_question(question) for question in parameters.questions)
    return Survey(parameters.survey, parameters.users, questions)


def _question(question: DeployedQuestion) -> Question:
    stated = question.document
    if question.kind == "numeric":
        domain = NumericDomain(stated["lower"], stated["upper"], stated["yes_no"])
        numeric = Numeric(domain, epsilon=stated["epsilon"])
        return Question(question.name, (), kind="numeric", numeric=numeric)
    if question.kind not in ("categorical", ORDINAL):
        remedy = "Open the survey file (TOML) instead: it says what people are expected to answer."
        raise InputError(
            f"kind of question {question.name!r}",
            question.kind,
            "categorical, ordinal or numeric",
            remedy,
        )
    levels = tuple(
        Level(level["name"], level["epsilon"], tuple(level["items"]), level["item_count"])
        for level in stated["levels"]
    )
    if question.kind == ORDINAL:
        items = [item for level in levels for item in level.items]
        about = {
            "order": tuple(items[place] for place in stated["order"]),
            "scores": tuple(stated["scores"]),
            "wanted": stated["wanted"],
        }
    else:
        about = {}
    return Question(question.name, levels, _rule(stated["rule"]), question.kind, **about)


def _rule(rule: str | list[list[float | None]]) -> Rule:
    if isinstance(rule, str):
        return rule
    return tuple(tuple(math.inf if r is None else r for r in row) for row in rule)
