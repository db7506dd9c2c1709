"""What is collected: a survey of questions, read from TOML and written back."""

from planner.survey.kinds import KINDS, Level, Numeric, Sampling
from planner.survey.questions import Question, Rule
from planner.survey.surveys import DESIGNS, Survey

__all__ = ["DESIGNS", "KINDS", "Level", "Numeric", "Question", "Rule", "Sampling", "Survey"]
