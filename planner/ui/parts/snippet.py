"""A plan as a few lines of Python that make it again."""

from __future__ import annotations

__all__ = ["python_snippet"]


def python_snippet(survey: str) -> str:
    """Python that plans the survey in this TOML text, prints the plan, and needs no other file.

    Examples
    --------
    >>> print(python_snippet("[survey]")[:38])
    \"\"\"Plan this survey again. Install the
    """
    return f'''"""Plan this survey again. Install the package ldp-planner first."""

from planner import plan_survey
from planner.survey.file import survey_from_text

SURVEY = {survey!r}

plan = plan_survey(survey_from_text(SURVEY))
for question in plan.questions:
    print(question.summary)
    if question.levels is not None:
        print(question.levels.to_frame().to_string(index=False))
'''
