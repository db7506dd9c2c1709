"""Commands that plan a survey, or try a plan: ``plan``, ``compare``, ``simulate`` and so on."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from planner.cli.options import (
    DataFile,
    Decimal,
    Delimiter,
    Details,
    Encoding,
    FirstItem,
    Force,
    JsonOption,
    Mechanism,
    ModelLink,
    PlaceUnlisted,
    Quiet,
    SkipRows,
    SurveyFile,
    argument,
    option,
    print_json,
    progress,
    reading_of,
    say,
    show,
)
from planner.cli.streams import settle_outputs, survey_of, working
from planner.errors import InputError
from planner.files import replace_file

if TYPE_CHECKING:
    from planner.laws.schema import Document
    from planner.planning.plan import SurveyPlan
    from planner.show.blocks import Block
    from planner.survey.questions import Question
    from planner.survey.survey import Survey
    from planner.survey.tables import Reading


_RUNS_UNLESS_STATED = 10  # of each mechanism


def import_form(
    form: Annotated[Path, argument("FORM.xlsx", "The form.")],
    out: Annotated[Path, option("SURVEY.toml", "Write the survey here.")],
    given: Annotated[
        list[str] | None,
        option(
            "NAME",
            "A question that all who take part answer alike, such as one for consent: what is "
            "asked on that condition is asked of all. Again for others.",
        ),
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
    json_output: JsonOption = False,
) -> None:
    """Make a survey of an XLSForm (ODK, Kobo, SurveyCTO).

    Budgets stay open, with a comment; every question that was left out is listed.
    """
    from planner.survey.xlsform import survey_of_form

    settle_outputs(out, force=force, quiet=quiet, json=json_output)
    imported = survey_of_form(form, given or ())
    replace_file(out, imported.text)
    if json_output:
        changes = {"left_out": imported.left_out, "changed": imported.changed}
        print_json({"written": str(out)} | changes)
        return
    # All of it, so that nobody takes the survey for the whole form.
    for name, reason in imported.left_out.items():
        say(f"Left out: {name}, as {reason}.")
    for name, change in imported.changed.items():
        say(f"Changed: {name}: {change}.")
    say(f"{out} written: fill in what is blank.")


def plan(  # noqa: PLR0913, PLR0917 - each is an option of the command
    survey: SurveyFile,
    mechanism: Mechanism = None,
    out: Annotated[
        Path | None, option("PARAMS.json", "Write deployable parameters here.")
    ] = None,
    question: Annotated[
        str | None, option("NAME", "Write the parameters of this question alone.")
    ] = None,
    report: Annotated[
        Path | None, option("REPORT.html", "Write a report with charts here.")
    ] = None,
    handout: Annotated[
        Path | None, option("HANDOUT.html", "Write a page for an ethics board.")
    ] = None,
    record: Annotated[
        bool, typer.Option("--record", help="Add what is spent to the survey's ledger.")
    ] = False,
    details: Details = False,
    force: Force = False,
    quiet: Quiet = False,
    json_output: JsonOption = False,
) -> None:
    """Find the smallest errors that keep every budget.

    Prints what is exported, its error, how far it is from the best, and what to do next.
    """
    from planner.planning.plan import plan_survey
    from planner.show.json import plan_json
    from planner.show.plan import plan_blocks

    settle_outputs(out, report, handout, force=force, quiet=quiet, json=json_output)
    asked = survey_of(survey)
    _refuse_early(asked, question, out)
    with working(f"planning {survey}"):
        survey_plan = plan_survey(asked, mechanism=mechanism)
        # All is made before anything is written, as whatever is made may fail.
        pages = _pages(survey_plan, report, handout)
        parameters = None
        shown = json_output and survey_plan.deployable
        if out is not None or question is not None or shown:
            from planner.deployment.parameters import survey_parameters

            parameters = survey_parameters(survey_plan, question)
        # Only what is printed is made: the figures of either take a while.
        document = plan_json(survey_plan, parameters) if json_output else None
        blocks = [] if json_output else plan_blocks(survey_plan, details=details)
    for path, _, page in pages:
        replace_file(path, page)
    if record:  # after the pages, and before what must not be spent unrecorded
        survey_plan.record(datetime.datetime.now(datetime.UTC).date())
    if out is not None and parameters is not None:
        from planner.deployment.parameters import write_parameters

        write_parameters(out, parameters)
    if document is not None:
        print_json(document)
        return
    show(blocks, details=details)
    if out is not None:
        say(f"Parameters written to {out} and verified.")
    for path, what, _ in pages:
        say(f"{what} written to {path}.")
    if record:
        say(f"Recorded in {survey_plan.survey.ledger}.")
    if not details and out is None:  # else the next step was just taken
        say(f"\nMore with --details.{_next(survey_plan, survey)}")


def _refuse_early(survey: Survey, question: str | None, out: Path | None) -> None:
    """What cannot be written is refused before the survey is planned, which may take long."""
    if out is not None or question is not None:
        from planner.deployment.parameters import check_writable

        check_writable(survey, question, out)


def _pages(
    survey_plan: SurveyPlan, report: Path | None, handout: Path | None
) -> list[tuple[Path, str, str]]:
    """The pages that are asked for: where each is to be written, what it is, and itself."""
    pages = []
    if report is not None:
        from planner.show.html import report_html

        pages.append((report, "Report", report_html(survey_plan)))
    if handout is not None:
        from planner.show.html import handout_html

        pages.append((handout, "Handout", handout_html(survey_plan)))
    return pages


def _next(survey_plan: SurveyPlan, survey: Path) -> str:
    """How to write what is deployed."""
    if not survey_plan.deployable:
        return ""
    return f" To deploy it:\nldp-planner plan {survey} --out params.json"


def compare(
    first: Annotated[Path, argument("A.toml", "One scenario.")],
    second: Annotated[Path, argument("B.toml", "The other one.")],
    mechanism: Mechanism = None,
    json_output: JsonOption = False,
) -> None:
    """Put two scenarios side by side: budgets and errors."""
    from planner.planning.comparison import compare_plans
    from planner.planning.plan import plan_survey
    from planner.show.others import comparison_blocks
    from planner.trial.curves import compared_curves

    with working("planning both"):
        first_plan = plan_survey(survey_of(first), mechanism=mechanism)
        second_plan = plan_survey(survey_of(second), mechanism=mechanism)
        figures = compare_plans(first_plan, second_plan)
        comparison = (*figures, *compared_curves(first_plan, second_plan))
    blocks = comparison_blocks(comparison, (first.name, second.name))
    show(blocks, comparison, json=json_output)


def outsiders(
    survey: SurveyFile,
    mechanism: Mechanism = None,
    delta: Annotated[
        float | None, option("NUMBER", "Of the central guarantee [far below 1/people].")
    ] = None,
    details: Details = False,
    json_output: JsonOption = False,
) -> None:
    """Say what outsiders learn, beside what is promised.

    One report and the best guess from it; all reports if a shuffler or a secure sum takes their
    senders off; false reports. Never instead of the budgets that the survey promises.
    """
    from planner.planning.plan import plan_survey
    from planner.show.promises import outsider_blocks

    with working("planning"):
        view = plan_survey(survey_of(survey), mechanism=mechanism).outsiders(delta)
    show(outsider_blocks(view), view, details=details, json=json_output)


def answer_rate(
    survey: SurveyFile, details: Details = False, json_output: JsonOption = False
) -> None:
    """Predict who answers at which budget, and find the best one.

    For the survey's numeric questions that state what people tolerate.
    """
    from planner.planning.distribution import with_cells
    from planner.planning.ledger import earlier
    from planner.planning.mean import plan_answer_rates
    from planner.planning.plan import parts_of
    from planner.show.blocks import Block
    from planner.show.others import answer_rate_blocks

    asked = with_cells(survey_of(survey))
    parts, _ = parts_of(asked, earlier(asked.ledger))
    plans = plan_answer_rates(parts)
    document = {}
    blocks = list[Block]()
    for name, bare in plans.items():
        rate_plan = bare.with_channels()
        figures = {
            "best": rate_plan.best_planned,
            "offered": rate_plan.offered,
            "curve": rate_plan.curve,
        }
        document[name] = figures | {"channels": rate_plan.channels}
        blocks += answer_rate_blocks(name, rate_plan)
    show(blocks, document, details=details, json=json_output)


def simulate(  # noqa: PLR0913, PLR0917 - each is an option of the command
    survey: SurveyFile,
    data: DataFile,
    repeats: Annotated[
        int | None,
        option(
            "N", "Runs per mechanism, 10 unless stated; of a model collections, 1,000."
        ),
    ] = None,
    seed: Annotated[int, option("N", "The same seed gives the same figures.")] = 1,
    first_item: FirstItem = False,
    question: Annotated[
        str, option("NAME", "The question, if the survey has several.")
    ] = "",
    model: Annotated[
        str,
        option(
            "FORMULA",
            'Of a regression such as "HIV ~ age + region": how often each effect is told apart.',
        ),
    ] = "",
    link: ModelLink = "logit",
    people: Annotated[
        int | None,
        option(
            "N",
            "Of a model: people drawn from the rows for each collection, not all rows.",
        ),
    ] = None,
    delimiter: Delimiter = "",
    encoding: Encoding = "",
    decimal: Decimal = "",
    skip_rows: SkipRows = 0,
    place_unlisted: PlaceUnlisted = False,
    json_output: JsonOption = False,
) -> None:
    """Try the plan on answers that you have.

    What is deployed and what else could be: measured errors stand beside predicted ones. With
    a model, the power of the survey for its effects.
    """
    if seed < 0:
        remedy = "Leave --seed out, or write one such as 1."
        raise InputError("seed", seed, "a whole number of at least 0", remedy)
    reading = reading_of(
        delimiter, encoding, decimal, skip_rows, place_unlisted, first_item
    )
    asked = survey_of(survey)
    # An option that would do nothing is refused: whoever gave it expects otherwise.
    if model:
        if question:
            remedy = "The model names its question: leave --question out."
            raise InputError("question", question, "left out with --model", remedy)
        drawn = _Collections(repeats, people, seed)
        blocks, document = _model_simulated(asked, data, reading, model, link, drawn)
    elif people is not None:
        remedy = "Leave --people out: errors are of the people of the file."
        raise InputError("people", people, "left out without --model", remedy)
    else:
        chosen = _pick(asked, question)
        if repeats is None:
            repeats = _RUNS_UNLESS_STATED
        blocks, document = _mechanisms_simulated(
            asked, data, reading, seed, chosen, repeats
        )
    show(blocks, document, json=json_output)


class _Collections(NamedTuple):
    """How many collections are drawn, of how many people each if not of the file's, and how."""

    number: int | None
    people: int | None
    seed: int


def _mechanisms_simulated(
    survey: Survey,
    data: Path,
    reading: Reading,
    seed: int,
    question: Question,
    repeats: int,
) -> tuple[list[Block], Document]:
    """Errors of the deployed mechanism and of others, as blocks and for programs."""
    import numpy as np

    from planner.planning.datasets import read_known
    from planner.planning.plan import plan_survey
    from planner.show.blocks import Sentence
    from planner.show.others import simulation_blocks, simulation_json
    from planner.trial.simulate import Trial

    dataset = read_known(data, question.answer_column, reading)
    with working(f"planning {survey.name}"):
        planned = plan_survey(survey).question(question.name)
        trial = Trial.of(planned, dataset.answers)
    with _runs("simulating", repeats * len(trial.names)) as advance:
        results = trial.run(repeats, np.random.default_rng(seed), advance)
    blocks = [Sentence(dataset.read_as), *simulation_blocks(trial, results)]
    return blocks, {"read": dataset.read_as} | simulation_json(trial, results)


def _model_simulated(
    survey: Survey,
    data: Path,
    reading: Reading,
    formula: str,
    link: str,
    drawn: _Collections,
) -> tuple[list[Block], Document]:
    """Power of a model's effects, as blocks and for programs."""
    import numpy as np

    from planner.deployment.collecting.formulas import read_model
    from planner.deployment.parameters import survey_parameters
    from planner.planning.plan import plan_survey
    from planner.show.blocks import Sentence
    from planner.show.effects import power_blocks, power_json
    from planner.trial.effects import COLLECTIONS, KnownPeople, effect_power

    with working(f"planning {survey.name}"):
        parameters = survey_parameters(plan_survey(survey))
    model = read_model(formula, link, parameters)
    known = KnownPeople.read(parameters, data, model, survey, reading)
    # A share of collections needs many to be exact; an error, squared over all answers, few.
    collections = COLLECTIONS
    if drawn.number is not None:
        collections = drawn.number
    with _runs("collecting", collections * len(known.questions)) as advance:
        power = effect_power(
            parameters,
            known,
            model,
            np.random.default_rng(drawn.seed),
            collections=collections,
            people=drawn.people,
            progress=advance,
        )
    blocks = [Sentence(known.read_as), *power_blocks(power)]
    return blocks, {"read": known.read_as} | power_json(power)


@contextmanager
def _runs(doing: str, total: int) -> Iterator[Callable[[], None]]:
    """A bar of so many runs; what is yielded says that one more is done."""
    from rich.progress import BarColumn, MofNCompleteColumn, TimeRemainingColumn

    with progress(
        doing, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    ) as bar:
        task = bar.add_task("runs", total=total)
        yield lambda: bar.advance(task)


def _pick(survey: Survey, name: str) -> Question:
    """The question that is named, or the only one; those of two rounds cannot be simulated."""
    fitting = {}
    for candidate in survey.questions:
        if candidate.shares_budgets:
            fitting[candidate.name] = candidate
    if name in fitting:
        return fitting[name]
    if not name and len(fitting) == 1:
        return next(iter(fitting.values()))
    raise InputError.unknown(
        "question", name, tuple(fitting), "Choose one with --question NAME."
    )
