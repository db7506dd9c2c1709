"""What is collected: a survey of questions, read from TOML and written back."""

from planner.survey.questions import Level, Numeric, Question, Survey

__all__ = ["Level", "Numeric", "Question", "Survey"]
