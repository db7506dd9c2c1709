"""The survey that a parameter file was made for."""

from __future__ import annotations

import math

from planner.deployment.parameters import Parameters, QuestionParameters
from planner.survey import Level, Question, Survey

__all__ = ["survey_from_parameters"]


def survey_from_parameters(parameters: Parameters) -> Survey:
    """Budgets, items and rules as the file states them, ready to be planned again."""
    questions = tuple(_question(question) for question in parameters.questions)
    return Survey(parameters.survey, parameters.users, questions)


def _question(question: QuestionParameters) -> Question:
    levels = tuple(
        Level(level.name, level.epsilon, tuple(level.items), level.item_count)
        for level in question.levels
    )
    if isinstance(question.rule, str):
        return Question(question.name, levels, question.rule)
    rule = tuple(tuple(math.inf if r is None else r for r in row) for row in question.rule)
    return Question(question.name, levels, rule)
