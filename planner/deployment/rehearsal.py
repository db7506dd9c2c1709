"""A rehearsal: a collection from people whose answers are known, without its files."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from planner.deployment.bulk import perturb_file
from planner.deployment.collecting.collector import Collection, collect
from planner.deployment.parameters import Parameters
from planner.survey.survey import Survey
from planner.survey.tables import Reading


class Rehearsed(NamedTuple):
    """What the reports of a rehearsal say, and as what the answers were read."""

    collection: Collection
    read_as: str


def rehearse(
    parameters: Parameters, data: Path, survey: Survey, reading: Reading | None = None
) -> Rehearsed:
    """Randomise the answers of a file as people's devices would, and count the reports.

    They stand in a folder that is gone afterwards.

    Raises
    ------
    FileError
        The data cannot be read or hold an answer that is none.
    """
    with TemporaryDirectory() as folder:
        reports = Path(folder, "reports")
        files = [number for law in parameters.questions for number in law.rounds]
        if len(files) == 1:
            reports = reports.with_suffix(".parquet")
        perturbed = perturb_file(
            parameters, data, reports, survey=survey, reading=reading
        )
        return Rehearsed(collect(parameters, [reports]), perturbed.read_as)
