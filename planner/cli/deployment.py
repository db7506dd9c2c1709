"""Commands from a parameter file to estimates, and the check of a client: ``audit``."""

from __future__ import annotations

import json
import signal
import sys
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from planner.cli.options import (
    AnswerFileSurvey,
    DataFile,
    Decimal,
    Delimiter,
    Encoding,
    FirstItem,
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
    print_json,
    progress,
    reading_of,
    say,
    show,
)
from planner.cli.streams import (
    DASH,
    destination,
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
    from planner.deployment.collecting.reports import Key
    from planner.deployment.parameters import Parameters
    from planner.laws.answers import Answer
    from planner.mechanisms.counting import Aggregate


QUARANTINED = 3  # exit code when reports were counted but some files were left out
_FAULTY = 4  # exit code when a fault was found


def schema() -> None:
    """Print the parameter file's JSON Schema (draft 2020-12)."""
    from planner.deployment.parameters import json_schema

    typer.echo(json_schema(), nl=False)


def vectors(
    params: ParameterFile,
    out: Annotated[
        Path | None, option("VECTORS.json", "Write here, not to the screen.")
    ] = None,
    force: Force = False,
) -> None:
    """Test vectors for clients in other languages.

    Each has the entropy that goes in, and the report that has to come out.
    """
    from planner.deployment.parameters import make_vectors

    settle_outputs(out, force=force)
    text = json.dumps(make_vectors(_parameters(params)), indent=1) + "\n"
    replace_file(DASH if out is None else out, text)


def verify(params: ParameterFile, json_output: JsonOption = False) -> None:
    """Prove again, exactly, that parameters keep their budgets."""
    from planner.show.promises import pair_rows, verification_blocks

    parameters = _parameters(params)  # verifies; a file that does not verify is refused
    pairs = [
        {"name": question.name, "pairs": pair_rows(question)}
        for question in parameters.questions
    ]
    show(
        verification_blocks(parameters),
        {"verified": True, "questions": pairs},
        json=json_output,
    )


def perturb(  # noqa: PLR0913, PLR0917 - each is an option of the command
    params: ParameterFile,
    data: DataFile,
    out: Annotated[
        Path,
        option("PATH", "A folder; of one question also a .parquet or .jsonl."),
    ],
    question: Annotated[
        list[str] | None,
        option("NAME", "Only this question; may be given several times."),
    ] = None,
    survey: AnswerFileSurvey = None,
    delimiter: Delimiter = "",
    encoding: Encoding = "",
    decimal: Decimal = "",
    skip_rows: SkipRows = 0,
    place_unlisted: PlaceUnlisted = False,
    first_item: FirstItem = False,
    force: Force = False,
    quiet: Quiet = False,
    json_output: JsonOption = False,
) -> None:
    """Randomise a file of true answers, for pilots and tests.

    In a collection people's devices do it, so that nobody else has the true answers.

    The answers are text with any delimiter, JSON lines, Parquet, Excel or transactions, a person a
    row: see "Try it on your data". Reports are written as .parquet (for many) or .jsonl.
    """
    from planner.deployment.bulk import perturb_file
    from planner.survey.survey import load_survey

    _require_apart(out, [params, data])
    settle_outputs(out, force=force, quiet=quiet, json=json_output)
    parameters = _parameters(params)
    told_by = None if survey is None else load_survey(survey)
    reading = reading_of(
        delimiter, encoding, decimal, skip_rows, place_unlisted, first_item
    )
    with progress() as bar:
        task = bar.add_task("randomising", total=None)

        def tell(done: int) -> None:
            bar.update(task, completed=done)

        with destination(out, ".jsonl") as path:
            perturbed = perturb_file(
                parameters, data, path, question or (), tell, told_by, reading
            )
    if json_output:
        written = {str(path): n for path, n in perturbed.written.items()}
        print_json({"written": written, "read": perturbed.said})
        return
    say(perturbed.said)
    for path, reports in perturbed.written.items():
        say(f"{reports:,} reports written to {path}")


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
    confidence: Annotated[
        float, option("SHARE", "Of the intervals, above 0 and below 1.")
    ] = CONFIDENCE,
    population: Annotated[
        bool,
        typer.Option(
            "--population",
            help="Limits for the population from which the people asked were drawn at "
            "random; else of the people asked, or as the survey says.",
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
    from planner.show.html import page_of
    from planner.show.results import collection_json, files_blocks, result_blocks
    from planner.show.terminal import print_blocks, terminal

    _check_aggregate(confidence, None if out == DASH else out)
    report_files = [path for path in reports if path.is_file()]
    _require_apart(out, [params, *report_files])
    if checkpoint is None and out is not None and out != DASH:
        checkpoint = out.with_name(out.name + ".checkpoint")
    # What has its progress beside it goes on, and is written again.
    goes_on = checkpoint is not None and checkpoint.exists()
    settle_outputs(out, report, force=force or goes_on, quiet=quiet, json=json_output)
    if excel and (out is None or out.suffix != ".csv"):
        remedy = "Leave it out, or name a file such as estimates.csv."
        raise InputError("excel", out, "given with --out FILE.csv", remedy)
    chosen = _engine(engine, scheduler)
    parameters = _parameters(params)
    sizes = dict(_pair(parameters, text) for text in set_sizes or ())
    check_set_sizes(parameters, sizes)
    _require_group(parameters, by)
    regression = formulas.read_model(model, link, parameters) if model else None
    how = cast("Missing", missing)
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
    if not collection.sums:
        print_blocks(terminal(stderr=True), files_blocks(collection), details=True)
        raise _without_reports(collection)
    parts = (by, collection.by(parameters.groups, by)) if by else None
    with working("estimating"):
        estimates = estimates_table(
            parameters,
            collection.sums,
            confidence,
            window,
            sizes,
            parts,
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
    if report is not None:
        page = page_of(f"{parameters.survey}: result", blocks)
        replace_file(report, page)
    show(
        blocks,
        collection_json(collection, estimates) if json_output else None,
        json=json_output,
    )
    if out is not None and not json_output:
        say(f"All {len(estimates):,} estimates written to {out}")
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
    confidence: Annotated[
        float, option("SHARE", "Of the intervals, above 0 and below 1.")
    ] = CONFIDENCE,
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
    from planner.show.html import page_of
    from planner.show.results import collection_json, result_blocks

    _check_aggregate(confidence, None)
    _require_apart(report, [survey, data])
    settle_outputs(report, force=force, json=json_output)
    asked = survey_of(survey)
    with working(f"planning {asked.name}"):
        parameters = survey_parameters(plan_survey(asked))
    _require_group(parameters, by)
    reading = reading_of(delimiter, encoding, decimal, skip_rows, place_unlisted)
    with working("asking everybody"):
        rehearsal = rehearsed(parameters, data, asked, reading)
    collection = rehearsal.collection
    parts = (by, collection.by(parameters.groups, by)) if by else None
    estimates = estimates_table(parameters, collection.sums, confidence, grouped=parts)
    blocks = [
        Sentence(f"{rehearsal.said} A rehearsal: nobody was asked."),
        *result_blocks(parameters, collection, estimates, confidence),
    ]
    if report is not None:
        page = page_of(f"{parameters.survey}: rehearsal", blocks)
        replace_file(report, page)
    document = None
    if json_output:
        document = {"read": rehearsal.said} | collection_json(collection, estimates)
    show(blocks, document, json=json_output)


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
    confidence: Annotated[
        float, option("SHARE", "Of the intervals, above 0 and below 1.")
    ] = CONFIDENCE,
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
    from planner.show.html import page_of
    from planner.show.results import difference_blocks

    _check_aggregate(confidence, None if out == DASH else out)
    for written in (out, report):
        _require_apart(written, [params_a, reports_a, params_b, reports_b])
    settle_outputs(out, report, force=force, quiet=quiet, json=json_output)
    called = _two_names(names)
    everybody = []
    by_value = []
    for params, reports in ((params_a, reports_a), (params_b, reports_b)):
        parameters = _parameters(params)
        _require_group(parameters, by)
        collection = collect(parameters, [reports], ignored=[params])
        for path, reason in collection.quarantined:
            raise FileError(
                path, reason, "Correct it first: a difference needs all reports."
            )
        everybody.append((parameters, collection.sums))
        of_values = collection.by(parameters.groups, by) if by else {}
        by_value.append(
            {value: (parameters, sums) for value, sums in of_values.items()}
        )
    tables = {"": difference_table(everybody[0], everybody[1], confidence, called)}
    for value, first in by_value[0].items():
        if value in by_value[1]:
            second = by_value[1][value]
            tables[f"{by} = {value}"] = difference_table(
                first, second, confidence, called, of_group=True
            )
    if by and len(tables) == 1:
        reason = f"no value of {by!r} has reports in both collections"
        raise InputError.because("by", reason, "Leave it out, or name another group.")
    table = in_one_table(tables)
    if out is not None:
        with destination(out, ".csv") as path:
            write_table(path, table)
    blocks = difference_blocks(tables, called, confidence)
    if report is not None:
        replace_file(report, page_of(f"{called[0]} less {called[1]}", blocks))
    show(blocks, table.to_pylist() if json_output else None, json=json_output)
    if out is not None and not json_output:
        say(f"All {len(table):,} differences and estimates written to {out}")


def _two_names(text: str) -> tuple[str, str]:
    """What two collections are called, from a text with a comma between the names."""
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or not all(names) or names[0] == names[1]:
        allowed = "two different names with a comma between them"
        raise InputError("names", text, allowed, 'Write --names "last year,this year".')
    return names[0], names[1]


def audit(  # noqa: PLR0913, PLR0917 - each is an option of the command
    params: ParameterFile,
    command: Annotated[
        list[str],
        argument("COMMAND", "The client and its options, after --; see below."),
    ],
    question: Annotated[
        str | None, option("NAME", "Needed if the file has several.")
    ] = None,
    answer: Annotated[
        list[str] | None, option("ANSWER", "Ask these, as JSON or text; two or more.")
    ] = None,
    data: Annotated[
        Path | None, option("FILE", "Ask the answers that are in this file.")
    ] = None,
    survey: AnswerFileSurvey = None,
    reports: Annotated[int, typer.Option(help="Reports of each answer.")] = 100_000,
    confidence: Annotated[
        float, option("SHARE", "That an honest client passes.")
    ] = 0.999999,
    seconds: Annotated[float, typer.Option(help="Time limit of each start.")] = 600.0,
    delimiter: Delimiter = "",
    encoding: Encoding = "",
    decimal: Decimal = "",
    skip_rows: SkipRows = 0,
    place_unlisted: PlaceUnlisted = False,
    json_output: JsonOption = False,
) -> None:
    """Judge a client by its reports of known answers.

    The file's own integers say what is right.
    COMMAND reads one answer a line from its standard input, as JSON, and writes one report a line
    to its standard output; it is started twice or more. Exit code 0: no fault found; 4: a fault.
    """
    from numpy.random import default_rng

    from planner.show.blocks import Sentence, said
    from planner.survey.survey import load_survey
    from planner.trial.audit import answers_in, audit_client
    from planner.trial.black_box import CommandBox

    parameters = _parameters(params)
    asked = [_parsed(text) for text in answer or ()]
    read = ""
    if data is not None:
        reading = reading_of(delimiter, encoding, decimal, skip_rows, place_unlisted)
        told_by = None if survey is None else load_survey(survey)
        listed, read = answers_in(data, parameters.question(question), told_by, reading)
        asked += listed
    box = CommandBox(command, seconds)
    audit_result = audit_client(
        parameters, box, default_rng(), question, asked, reports, confidence
    )
    blocks = []
    if read:
        blocks.append(Sentence(read))
    blocks += [Sentence(audit_result.summary), *said(audit_result.faults, "missed")]
    document = asdict(audit_result) | {
        "passed": audit_result.passed,
        "summary": audit_result.summary,
        "read": read,
    }
    show(blocks, document, json=json_output)
    if not audit_result.passed:
        raise typer.Exit(_FAULTY)


def _parsed(text: str) -> Answer:
    try:
        return json.loads(text)
    except ValueError:
        return text


def questionnaire(  # noqa: PLR0913, PLR0917 - each is an option of the command
    survey: SurveyFile,
    parameters: Annotated[
        Path, option("PARAMS.json", "What was planned for this survey.")
    ],
    out: Annotated[Path, option("FILE.html", "Write the page here.")],
    send_to: Annotated[
        str,
        option(
            "URL",
            "Where reports go: https, http on this machine, or a path on the page's own host "
            "[people save them as a file].",
        ),
    ] = "",
    round_number: Annotated[
        int | None,
        option("N", "The round it is for, where there are rounds.", "--round"),
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
    json_output: JsonOption = False,
) -> None:
    """Write the page that people answer, in one file.

    It asks, randomises on their device, says what is sent, and sends reports alone.
    """
    from planner.deployment.questionnaire import questionnaire as page_of
    from planner.files import replace_file

    settle_outputs(out, force=force, quiet=quiet, json=json_output)
    verified = _parameters(parameters)
    page = page_of(survey_of(survey), parameters.read_bytes(), send_to, round_number)
    replace_file(out, page)
    size = len(page.encode())
    rounds = max(law.rounds[-1] or 0 for law in verified.questions)
    number = round_number or 1 if rounds else None
    if json_output:
        print_json(
            {
                "written": str(out),
                "bytes": size,
                "parameters": verified.hash,
                "round": number,
            }
        )
        return
    which = f" for round {number} of {rounds}" if rounds else ""
    what = f"{size / 1000:.0f} kB, parameters {verified.hash[:16]}"
    say(f"Questionnaire written to {out}{which}: {what}.")


def receive(  # noqa: PLR0913, PLR0917 - each is an option of the command
    params: ParameterFile,
    into: Annotated[
        Path, option("FOLDER", "For files of reports, as aggregate takes them.")
    ],
    port: Annotated[
        int, typer.Option(help="Port to listen on.", min=1, max=65534)
    ] = 8780,
    address: Annotated[
        str, option("IP", "To listen on; any but this needs TLS before it.")
    ] = "127.0.0.1",
    page: Annotated[
        Path | None, option("FILE.html", "The questionnaire, served at /.")
    ] = None,
    origin: Annotated[
        list[str] | None,
        option(
            "URL",
            "Of a page elsewhere that may send reports: https://clinic.example, or null for "
            "one in a folder. Again for others.",
        ),
    ] = None,
    share: Annotated[
        str, option("URL", "Address of the page, shown as a QR code.")
    ] = "",
    estimates_from: Annotated[
        int,
        typer.Option(
            metavar="REPORTS", help="Show no estimates before so many.", min=1
        ),
    ] = 100,
) -> None:
    """Receive reports over HTTP, into files.

    POST /reports takes one line or several; they are acknowledged when they are on disk. The next
    port, on this machine alone, has the organiser's page: reports and estimates so far. Ends on
    SIGTERM or Control-C, with every report in a file.
    """
    ending = list[int]()  # signals that come before the receiver listens for them
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, _: ending.append(received))

    import segno

    from planner.deployment.collecting.inbox import Inbox
    from planner.deployment.collecting.receiving import Receiver, listening
    from planner.show.html import page_of
    from planner.show.results import receiving_blocks

    parameters = _parameters(params)
    html = b""
    if page is not None:
        html = page.read_bytes()
        if b64encode(params.read_bytes()) not in html:
            remedy = "Make the page anew: ldp-planner questionnaire."
            raise InputError(
                "page", str(page), "a questionnaire of these parameters", remedy
            )
    code = segno.make(share, error="m").svg_inline(scale=5) if share else ""

    def organiser(sums: Mapping[Key, Aggregate]) -> str:
        blocks = receiving_blocks(parameters, sums, estimates_from, share)
        return page_of("Reports so far", blocks, code)

    with (
        listening(address, port) as public,
        listening("127.0.0.1", port + 1) as private,
    ):
        inbox = Inbox(into, parameters)
        say(
            f"Reports: http://{address}:{port}/reports. Organiser: http://127.0.0.1:{port + 1}/"
        )
        sys.stdout.flush()
        Receiver(inbox, html, origin or (), organiser).serve(public, private, ending)
    say(f"All reports are in {into}.")


def _check_aggregate(confidence: float, out: Path | None) -> None:
    from planner.deployment.collecting.estimate_tables import TABLE_SUFFIXES

    if not 0 < confidence < 1:
        remedy = "Write 0.95 for an interval that holds in 95 of 100 cases."
        raise InputError("confidence", confidence, "above 0 and below 1", remedy)
    if out is not None and out.suffix not in TABLE_SUFFIXES:
        allowed = f"a path that ends in {', '.join(TABLE_SUFFIXES)}"
        remedy = f"Name it for example {out.stem}.csv."
        raise InputError("out", str(out), allowed, remedy)


def _parameters(path: Path) -> Parameters:
    """Read and verify; a survey in place of a parameter file is told so."""
    from planner.deployment.parameters import read_parameters

    if path.suffix.lower() == ".toml":
        remedy = (
            f"Write its parameters first: ldp-planner plan {path} --out params.json"
        )
        raise FileError(path, "is a survey, not a parameter file", remedy)
    return read_parameters(path)


def _pair(parameters: Parameters, text: str) -> tuple[str, str]:
    """Two questions, with a sign between them that their names may have too."""
    names = [question.name for question in parameters.questions]
    for pair in product(names, names):
        if text == "=".join(pair):
            return pair
    allowed = f"two of {', '.join(map(repr, names))}, with = between them"
    raise InputError("set-sizes", text, allowed, "Name the question about sets first.")


def _require_apart(out: Path | None, inputs: Sequence[Path]) -> None:
    """What is written must not replace what is read."""
    for path in inputs:
        if out is not None and out.resolve() == path.resolve():
            raise FileError(
                out, "would be replaced, but is read", "Write to another file."
            )


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
