"""``ldp-planner schema``, ``vectors``, ``perturb`` and ``aggregate``: ask, run, show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import Progress
from rich.table import Table

from planner.errors import InputError
from planner.files import replace_file

if TYPE_CHECKING:
    from rich.console import Console

    from planner.deployment.collector import Collection
    from planner.deployment.counting.local import Engine

__all__ = ["aggregate", "perturb", "schema", "vectors"]

QUARANTINED = 3
"""Exit code when reports were counted but some files were left out."""
_MOST_ROWS = 20
_MOST_FILES = 20

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document for machines.")]
ParameterFile = Annotated[Path, typer.Argument(metavar="params.json", help="The parameters.")]


def schema(json_output: Json = False) -> None:
    """Print the parameter file's JSON Schema (draft 2020-12)."""
    del json_output  # it is JSON anyway
    from planner.deployment.parameters import json_schema

    typer.echo(json_schema(), nl=False)


def vectors(
    params: ParameterFile,
    out: Annotated[
        Path | None, typer.Option(metavar="vectors.json", help="Write here, not to the screen.")
    ] = None,
    json_output: Json = False,
) -> None:
    """Conformance vectors for clients in other languages: entropy in, expected report out."""
    del json_output  # they are JSON anyway
    from planner.deployment.parameters import read_parameters
    from planner.deployment.vectors import make_vectors

    text = json.dumps(make_vectors(read_parameters(params)), indent=1) + "\n"
    if out is None:
        typer.echo(text, nl=False)
    else:
        replace_file(out, text)


def perturb(
    params: ParameterFile,
    data: Annotated[Path, typer.Option(help="CSV with a column named like each question.")],
    out: Annotated[
        Path, typer.Option(help=".parquet or .jsonl for one question, a directory for several.")
    ],
    question: Annotated[
        list[str] | None, typer.Option(help="Only this question; may be given several times.")
    ] = None,
    json_output: Json = False,
) -> None:
    """Randomise a file of true answers, for pilots and tests; devices do it in a collection."""
    from planner.cli.text import terminal
    from planner.deployment.bulk import perturb_file
    from planner.deployment.parameters import read_parameters

    parameters = read_parameters(params)
    with Progress(console=terminal(stderr=True), transient=True) as progress:
        task = progress.add_task("randomising", total=None)
        written = perturb_file(
            parameters,
            data,
            out,
            question or (),
            lambda done: progress.update(task, completed=done),
        )
    if json_output:
        typer.echo(json.dumps({"written": {str(path): n for path, n in written.items()}}, indent=2))
        return
    for path, reports in written.items():
        terminal().print(f"{reports:,} reports written to {path}", soft_wrap=True)


def aggregate(  # noqa: PLR0913, PLR0917 - each is an option of the command
    params: ParameterFile,
    reports: Annotated[list[Path], typer.Argument(help="Report files, or directories of them.")],
    engine: Annotated[
        str,
        typer.Option(
            help="local (threads), isolated (processes that hostile files may crash), or dask."
        ),
    ] = "local",
    scheduler: Annotated[str, typer.Option(help="Address of the Dask scheduler.")] = "",
    out: Annotated[
        Path | None, typer.Option(help="Write all estimates here: .parquet, .csv or .json.")
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Keep progress here, to go on after an interruption [OUT.checkpoint]."),
    ] = None,
    confidence: Annotated[float, typer.Option(help="Of the intervals.")] = 0.95,
    json_output: Json = False,
) -> None:
    """Count report files and estimate, with standard errors and intervals.

    Exit code 0: every file was counted; 3: some were left out, see the summary.
    """
    from planner.cli.text import terminal
    from planner.deployment.collector import collect
    from planner.deployment.estimating import TABLE_SUFFIXES, estimates_table, write_table
    from planner.deployment.parameters import read_parameters

    if not 0 < confidence < 1:
        raise InputError("confidence", confidence, "above 0 and below 1")
    if out is not None and out.suffix not in TABLE_SUFFIXES:
        raise InputError("out", str(out), f"a path that ends in {', '.join(TABLE_SUFFIXES)}")
    parameters = read_parameters(params)
    if checkpoint is None and out is not None:
        checkpoint = out.with_name(out.name + ".checkpoint")
    with Progress(console=terminal(stderr=True), transient=True) as progress:
        task = progress.add_task("counting files", total=None)
        collection = collect(
            parameters,
            reports,
            engine=_engine(engine, scheduler),
            checkpoint=checkpoint,
            progress=lambda done, total: progress.update(task, completed=done, total=total),
        )
    if not collection.sums:
        _show_files(terminal(stderr=True), collection)
        raise InputError("reports", "none", "in at least one file that can be counted")
    estimates = estimates_table(parameters, collection.sums, confidence)
    if out is not None:
        write_table(out, estimates)
    if json_output:
        document = _summary(collection) | {"estimates": estimates.to_pylist()}
        typer.echo(json.dumps(document, indent=2, allow_nan=False))
    else:
        _show(terminal(), collection, estimates, confidence, out)
    if collection.quarantined:
        raise typer.Exit(QUARANTINED)


def _engine(name: str, scheduler: str) -> Engine:
    if name == "local":
        from planner.deployment.counting.local import local_engine

        return local_engine
    if name == "isolated":
        from planner.deployment.counting.isolated import isolated_engine

        return isolated_engine
    if name != "dask":
        raise InputError("engine", name, "local, isolated or dask")
    if not scheduler:
        raise InputError("scheduler", scheduler, "given with --engine dask", "tcp://HOST:8786")
    from planner.deployment.counting.cluster import dask_engine

    return dask_engine(scheduler)


def _summary(collection: Collection) -> dict[str, Any]:
    from planner.deployment.counting.poisoning import ALPHA

    return {
        "files": len(collection.counted),
        "files_counted_before": collection.resumed,
        "reports": sum(one.users for one in collection.counted),
        "quarantined": [{"file": str(p), "reason": why} for p, why in collection.quarantined],
        "poisoning_signs": [
            {"file": str(one.path), "signs": list(one.signs)} for one in collection.suspicious
        ],
        "false_alarm_rate_per_file_and_question": ALPHA,
    }


def _show(
    console: Console, collection: Collection, estimates: Any, confidence: float, out: Path | None
) -> None:
    _show_files(console, collection)
    _show_estimates(console, estimates, confidence)
    if out is not None:
        console.print(f"All {len(estimates):,} estimates written to {out}", soft_wrap=True)


def _show_files(console: Console, collection: Collection) -> None:
    from planner.deployment.counting.poisoning import ALPHA

    reports = sum(one.users for one in collection.counted)
    files = len(collection.counted)
    console.print(f"{reports:,} reports in {files:,} file{'s' * (files != 1)} counted")
    if collection.resumed:
        console.print(f"{collection.resumed:,} of the files had been counted before.")
    for path, reason in collection.quarantined[:_MOST_FILES]:
        console.print(f"LEFT OUT {path}: {reason}", soft_wrap=True)
    _more(console, len(collection.quarantined), "files left out")
    for one in collection.suspicious[:_MOST_FILES]:
        for sign in one.signs:
            console.print(f"SUSPICIOUS {one.path}: {sign}", soft_wrap=True)
    _more(console, len(collection.suspicious), "suspicious files")
    if collection.suspicious:
        console.print(
            f"Suspicious files are counted. Honest reports, whatever the answers, look so with "
            f"probability {ALPHA:g} at most per file and question."
        )


def _show_estimates(console: Console, estimates: Any, confidence: float) -> None:
    table = Table(title="Estimates, largest first", title_justify="left")
    for heading in ("question", "answer"):
        table.add_column(heading)
    for heading in ("estimate", "std. error", f"{confidence:.0%} interval", "processed"):
        table.add_column(heading, justify="right")
    rows = estimates.to_pylist()
    rows.sort(key=lambda row: (row["question"], -(row["estimate"] or 0)))
    for row in rows[:_MOST_ROWS]:
        interval = f"{_number(row['lower'])} to {_number(row['upper'])}"
        cells = [_number(row[key]) for key in ("estimate", "standard_error")]
        table.add_row(row["question"], row["answer"], *cells, interval, _number(row["processed"]))
    console.print(table)
    _more(console, len(rows), "estimates", _MOST_ROWS)
    for remark in sorted({row["remark"] for row in rows if row["remark"]}):
        console.print(remark[0].upper() + remark[1:])
    console.print("Intervals cover the randomness of the reports, not of who was asked.")


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.1f}" if abs(value) >= 100 else f"{value:,.4g}"


def _more(console: Console, size: int, what: str, most: int = _MOST_FILES) -> None:
    if size > most:
        console.print(f"... and {size - most:,} more {what} (see --json or --out).")
