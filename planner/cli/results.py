"""Commands from reports to estimates: of a collection, of a rehearsal, of two collections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from planner.cli.options import (
    Confidence,
    DataFile,
    Decimal,
    Delimiter,
    Encoding,
    Force,
    JsonOption,
    ModelLink,
    ParameterFile,
    PlaceUnlisted,
    Quiet,
    SkipRows,
    SurveyFile,
    argument,
    option,
    progress,
    reading_of,
    say,
    show,
)
from planner.cli.streams import (
    DASH,
    destination,
    parameters_of,
    require_apart,
    settle_outputs,
    spooled_all,
    survey_of,
    working,
)
from planner.errors import FileError, InputError
from planner.files import replace_file
from planner.limits import CONFIDENCE

if TYPE_CHECKING:
    from planner.deployment.collecting.collector import Collection
    from planner.deployment.collecting.engines import Engine
    from planner.deployment.collecting.reports import Sums
    from planner.deployment.parameters import Parameters
    from planner.show.blocks import Block


QUARANTINED = 3  # exit code when reports were counted but some files were left out


def aggregate(  # noqa: PLR0913, PLR0917 - each is an option of the command
    params: ParameterFile,
    reports: Annotated[
        list[Path],
        argument(
            "REPORTS",
            "Report files, directories, or places such as s3://bucket/folder. Reports in "
            "Parquet files have no ids: one that stands in two of them counts twice. - reads "
            "lines.",
            spooled_all,
        ),
    ],
    engine: Annotated[
        str, option("local|dask", "All processors of this machine, or a Dask cluster.")
    ] = "local",
    scheduler: Annotated[
        str, option("ADDRESS", "Of the Dask scheduler: tcp://HOST:8786.")
    ] = "",
    out: Annotated[
        Path | None,
        option("FILE", "Write all estimates here: .parquet, .csv or .json."),
    ] = None,
    excel: Annotated[
        bool,
        typer.Option(
            "--excel",
            help="Write a .csv whose letters Excel knows.",
        ),
    ] = False,
    checkpoint: Annotated[
        Path | None,
        option(
            "FILE",
            "Keep progress here, to go on after an interruption [OUT.checkpoint].",
        ),
    ] = None,
    missing: Annotated[
        str,
        option(
            "refuse|keep|drop",
            "What to do if files that were counted earlier are gone: stop, keep their "
            "reports, or take them out.",
        ),
    ] = "refuse",
    confidence: Confidence = CONFIDENCE,
    population: Annotated[
        bool,
        typer.Option(
            "--population",
            help="Limits for the population from which the people asked were drawn at "
            "random, as always where each person is asked some of the questions; else of "
            "the people asked, or as the survey says.",
        ),
    ] = False,
    set_sizes: Annotated[
        list[str] | None,
        option(
            '"SETS=SIZES"',
            "A question about sets, and the ordinal one that asked for the number of items: "
            "limits allow for cut sets by it. Again for other questions.",
        ),
    ] = None,
    by: Annotated[
        str, option("GROUP", "A known group: results of each of its values.")
    ] = "",
    model: Annotated[
        str,
        option(
            '"ANSWER ~ GROUPS"',
            "A regression: of an answer, a question, or all of them (answer), on known groups.",
        ),
    ] = "",
    link: ModelLink = "logit",
    window: Annotated[
        int, option("ROUNDS", "Of a moving average, where asked again.")
    ] = 3,
    report: Annotated[
        Path | None, option("FILE.html", "Write estimates and charts over rounds here.")
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
    json_output: JsonOption = False,
) -> None:
    """Count report files and estimate.

    Estimates come with standard errors and intervals. Exit code 0: every file was
    counted; 3: some were left out, see the summary.
    """
    from pyarrow import concat_tables

    from planner.deployment.collecting import estimate_tables, formulas, modelling
    from planner.deployment.collecting.collector import Missing, collect
    from planner.deployment.collecting.estimating import (
        check_set_sizes,
        estimates_table,
    )
    from planner.show.counted import collection_json, files_blocks
    from planner.show.results import result_blocks
    from planner.show.terminal import print_blocks, terminal

    _check_aggregate(confidence, out)
    # A folder of reports may have the estimates in it, too: its files are checked as they are read.
    report_files = [path for path in reports if path.is_file()]
    require_apart(out, [params, *report_files])
    if checkpoint is None and out is not None and out != DASH:
        # Whoever writes a file can go on after an interruption without having asked for
        # it.
        checkpoint = out.with_name(out.name + ".checkpoint")
    # What has its progress beside it goes on, and is written again.
    goes_on = checkpoint is not None and checkpoint.exists()
    settle_outputs(out, report, force=force or goes_on, quiet=quiet, json=json_output)
    # The other forms say how their letters are written; of a .csv Excel guesses.
    if excel and (out is None or out.suffix != ".csv"):
        remedy = "Leave it out, or name a file such as estimates.csv."
        raise InputError("excel", out, "given with --out FILE.csv", remedy)
    chosen = _engine(engine, scheduler)
    parameters = parameters_of(params)
    sizes = _sizes_of_sets(parameters, set_sizes or ())
    check_set_sizes(parameters, sizes)
    # A misspelt group would else be found when all reports are counted.
    _require_group(parameters, by)
    # Read before anything is counted, which may take long: a wrong formula is refused at once.
    regression = formulas.read_model(model, link, parameters) if model else None
    how = cast("Missing", missing)
    # What may be in the folder of the reports, and is none.
    ignored = [params, *([] if out is None else [out])]
    with progress() as bar:
        task = bar.add_task("counting files", total=None)
        collection = collect(
            parameters,
            reports,
            engine=chosen,
            checkpoint=checkpoint,
            missing=how,
            ignored=ignored,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    # What was left out and why is said first: the error then says what to do about it.
    if not collection.sums:
        print_blocks(terminal(stderr=True), files_blocks(collection), details=True)
        raise _without_reports(collection)
    with working("estimating"):
        estimates = estimates_table(
            parameters,
            collection.sums,
            confidence,
            window,
            sizes,
            _values_of(by, collection, parameters),
            population=population or None,
        )
    if regression is not None:
        modelled = modelling.model_table(
            parameters, collection.by_group, regression, confidence
        )
        estimates = concat_tables([estimates, modelled])
    if out is not None:
        with destination(out, ".csv") as path:
            estimate_tables.write_table(path, estimates, excel=excel)
    blocks = result_blocks(parameters, collection, estimates, confidence)
    _write_page(report, f"{parameters.survey}: result", blocks)
    document = collection_json(collection, estimates) if json_output else None
    show(blocks, document, json=json_output)
    if out is not None and not json_output:
        say(f"All {len(estimates):,} estimates written to {out}")
    # A script sees by the code that estimates are of some of the files alone, although
    # the command has succeeded.
    if collection.quarantined:
        raise typer.Exit(QUARANTINED)


def _without_reports(collection: Collection) -> InputError:
    """What is wrong where nothing can be estimated."""
    reason = "none of the files can be counted"
    remedy = "Correct the files for the reasons above, or name others."
    if not collection.quarantined:
        reason = "there is no file of reports"
        remedy = "Name the folder that they are in."
    if collection.waiting:
        remedy = "Start and end the receiver as is said above, or name other files."
    return InputError.because("reports", reason, remedy)


def rehearse(  # noqa: PLR0913, PLR0917 - each is an option of the command
    survey: SurveyFile,
    data: DataFile,
    by: Annotated[
        str,
        option("GROUP", "A group of the survey, and a column: results of each value."),
    ] = "",
    confidence: Confidence = CONFIDENCE,
    report: Annotated[
        Path | None, option("FILE.html", "Write estimates and charts here.")
    ] = None,
    delimiter: Delimiter = "",
    encoding: Encoding = "",
    decimal: Decimal = "",
    skip_rows: SkipRows = 0,
    place_unlisted: PlaceUnlisted = False,
    force: Force = False,
    json_output: JsonOption = False,
) -> None:
    """Show results as these people's reports give them.

    What a colleague would read, had they been asked. Plans the survey, randomises the answers as
    people's devices would, counts the reports and estimates, in one go: plan, perturb and
    aggregate. Nothing is kept but the page.
    """
    from planner.deployment.collecting.estimating import estimates_table
    from planner.deployment.parameters import survey_parameters
    from planner.deployment.rehearsal import rehearse as rehearsed
    from planner.planning.plan import plan_survey
    from planner.show.blocks import Sentence
    from planner.show.counted import collection_json
    from planner.show.results import result_blocks

    _check_aggregate(confidence, None)
    require_apart(report, [survey, data])
    # Asked before planning, which may take minutes: a page that exists is not to be
    # refused after them.
    settle_outputs(report, force=force, json=json_output)
    asked = survey_of(survey)
    with working(f"planning {asked.name}"):
        parameters = survey_parameters(plan_survey(asked))
    _require_group(parameters, by)
    reading = reading_of(delimiter, encoding, decimal, skip_rows, place_unlisted)
    with working("asking everybody"):
        rehearsal = rehearsed(parameters, data, asked, reading)
    collection = rehearsal.collection
    estimates = estimates_table(
        parameters,
        collection.sums,
        confidence,
        grouped=_values_of(by, collection, parameters),
    )
    blocks = [
        Sentence(f"{rehearsal.read_as} A rehearsal: nobody was asked."),
        *result_blocks(parameters, collection, estimates, confidence),
    ]
    _write_page(report, f"{parameters.survey}: rehearsal", blocks)
    document = None
    if json_output:
        document = {"read": rehearsal.read_as} | collection_json(collection, estimates)
    show(blocks, document, json=json_output)


def _values_of(
    group: str, collection: Collection, parameters: Parameters
) -> tuple[str, Mapping[str, Sums]] | None:
    """The group whose values have results of their own, with the reports of each; or none."""
    if not group:
        return None
    return group, collection.by(parameters.groups, group)


def _write_page(report: Path | None, heading: str, blocks: Sequence[Block]) -> None:
    if report is not None:
        from planner.show.html import page_of

        replace_file(report, page_of(heading, blocks))


def _require_group(parameters: Parameters, group: str) -> None:
    if group and group not in parameters.groups:
        remedy = (
            "Declare groups in the survey: reports carry those of their parameter file."
        )
        raise InputError.unknown("by", group, list(parameters.groups), remedy)


def difference(  # noqa: PLR0913, PLR0917 - each is an option of the command
    params_a: ParameterFile,
    reports_a: Annotated[Path, argument("REPORTS_A", "Its reports.")],
    params_b: ParameterFile,
    reports_b: Annotated[Path, argument("REPORTS_B", "Its reports.")],
    names: Annotated[
        str, option('"A,B"', "What the two are called, such as last year,this year.")
    ] = "first,second",
    by: Annotated[
        str, option("GROUP", "A known group of both: differences of each value, too.")
    ] = "",
    confidence: Confidence = CONFIDENCE,
    out: Annotated[
        Path | None,
        option("FILE", "Write all differences here: .parquet, .csv or .json."),
    ] = None,
    report: Annotated[
        Path | None, option("FILE.html", "Write the differences here, as a page.")
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
    json_output: JsonOption = False,
) -> None:
    """Compare two collections, with limits and p.

    The same questions to independent people, last year and this year, say. Each is
    estimated by its own parameters.
    """
    from planner.deployment.collecting.collector import collect
    from planner.deployment.collecting.estimate_tables import write_table
    from planner.deployment.collecting.estimating import difference_table, in_one_table
    from planner.show.results import difference_blocks

    _check_aggregate(confidence, out)
    for written in (out, report):
        require_apart(written, [params_a, reports_a, params_b, reports_b])
    settle_outputs(out, report, force=force, quiet=quiet, json=json_output)
    called = _two_names(names)
    everybody = []
    by_value = []
    for params, reports in ((params_a, reports_a), (params_b, reports_b)):
        parameters = parameters_of(params)
        _require_group(parameters, by)
        collection = collect(parameters, [reports], ignored=[params])
        # An aggregate says what it left out; a difference would take it for a change.
        for path, reason in collection.quarantined:
            remedy = "Correct it first: a difference needs all reports."
            raise FileError(path, reason, remedy)
        everybody.append((parameters, collection.sums))
        by_value.append(_sums_by_value(by, collection, parameters))
    last, this = everybody
    tables = {"": difference_table(last, this, confidence, called)}
    of_first, of_second = by_value
    for value, first in of_first.items():
        second = of_second.get(value)
        if second is None:  # of a value that one of them lacks there is no difference
            continue
        tables[f"{by} = {value}"] = difference_table(
            first, second, confidence, called, of_group=True
        )
    # The table of everybody alone would look as if the group had been compared.
    if by and len(tables) == 1:
        reason = f"no value of {by!r} has reports in both collections"
        raise InputError.because("by", reason, "Leave it out, or name another group.")
    table = in_one_table(tables)
    if out is not None:
        with destination(out, ".csv") as path:
            write_table(path, table)
    blocks = difference_blocks(tables, called, confidence)
    _write_page(report, f"{called[0]} less {called[1]}", blocks)
    show(blocks, table.to_pylist() if json_output else None, json=json_output)
    if out is not None and not json_output:
        say(f"All {len(table):,} differences and estimates written to {out}")


def _sums_by_value(
    group: str, collection: Collection, parameters: Parameters
) -> dict[str, tuple[Parameters, Sums]]:
    """The reports of each value of a group, with the parameters that they are of."""
    by_value = {}
    if group:
        for value, sums in collection.by(parameters.groups, group).items():
            by_value[value] = (parameters, sums)
    return by_value


def _two_names(text: str) -> tuple[str, str]:
    """What two collections are called, from a text with a comma between the names."""
    first, _, second = map(str.strip, text.partition(","))
    if not first or not second or "," in second or first == second:
        allowed = "two different names with a comma between them"
        raise InputError("names", text, allowed, 'Write --names "last year,this year".')
    return first, second


def _check_aggregate(confidence: float, out: Path | None) -> None:
    from planner.deployment.collecting.estimate_tables import TABLE_SUFFIXES

    if not 0 < confidence < 1:
        remedy = "Write 0.95 for an interval that holds in 95 of 100 cases."
        raise InputError("confidence", confidence, "above 0 and below 1", remedy)
    # What is printed is CSV, and - has no ending that could say another.
    if out is not None and out != DASH and out.suffix not in TABLE_SUFFIXES:
        allowed = f"a path that ends in {', '.join(TABLE_SUFFIXES)}"
        remedy = f"Name it for example {out.stem}.csv."
        raise InputError("out", str(out), allowed, remedy)


def _sizes_of_sets(parameters: Parameters, texts: Sequence[str]) -> dict[str, str]:
    """Questions about sets, each with the question that asked for the number of items."""
    sizes = {}
    for text in texts:
        sets, question = _pair(parameters, text)
        sizes[sets] = question
    return sizes


def _pair(parameters: Parameters, text: str) -> tuple[str, str]:
    """Two questions, with a sign between them that their names may have too."""
    names = [question.name for question in parameters.questions]
    # Not cut at the sign, as a name may have it: the text is put together, not taken apart.
    for pair in product(names, names):
        if text == "=".join(pair):
            return pair
    allowed = f"two of {', '.join(map(repr, names))}, with = between them"
    raise InputError("set-sizes", text, allowed, "Name the question about sets first.")


def _engine(name: str, scheduler: str) -> Engine:
    from planner.deployment.collecting import engines

    if name == "local":
        return engines.local_engine
    if name != "dask":
        remedy = "Leave --engine out to count on this machine."
        raise InputError.unknown("engine", name, ("local", "dask"), remedy)
    if not scheduler:
        remedy = "Name it: --scheduler tcp://HOST:8786."
        raise InputError("scheduler", scheduler, "given with --engine dask", remedy)
    return engines.dask_engine(scheduler)
