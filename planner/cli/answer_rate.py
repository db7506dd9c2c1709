"""``ldp-planner answer-rate``: who answers at which budget, and which budget is best."""

from __future__ import annotations

from planner.cli.options import Json, SurveyFile
from planner.cli.output import print_json, terminal

__all__ = ["answer_rate"]


def answer_rate(survey: SurveyFile, json_output: Json = False) -> None:
    """Predict who answers at which budget, and find the best one.

    For the survey's numeric questions that state what people tolerate.
    """
    from planner.cli.show.answer_rate import answer_rate_document, show_answer_rate
    from planner.planning.answer_rate.plan import plan_answer_rates
    from planner.survey.file import load_survey

    plans = plan_answer_rates(load_survey(survey))
    if json_output:
        print_json({name: answer_rate_document(plan) for name, plan in plans.items()})
        return
    console = terminal()
    for name, plan in plans.items():
        show_answer_rate(console, name, plan)
        console.print()
