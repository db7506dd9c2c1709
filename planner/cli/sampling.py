"""``ldp-planner sampling``: parameters, errors and all three views of the guarantee."""

from __future__ import annotations

from planner.cli.options import Json, SurveyFile
from planner.cli.output import print_json, terminal

__all__ = ["sampling"]


def sampling(survey: SurveyFile, json_output: Json = False) -> None:
    """Best Sampling Privacy parameters, and who may see what.

    For the survey's questions of the kind "sampled-choice".
    """
    from planner.cli.show.sampling import sampling_document, show_sampling
    from planner.planning.sampling.plan import plan_sampling_survey
    from planner.survey.file import load_survey

    loaded = load_survey(survey)
    plans = plan_sampling_survey(loaded)
    if json_output:
        print_json({name: sampling_document(plan) for name, plan in plans.items()})
        return
    console = terminal()
    for question in loaded.questions:
        if question.name in plans:
            show_sampling(console, question, loaded.users, plans[question.name])
            console.print()
