"""Randomise many answers at once, for pilots and tests: the client's law, drawn in bulk.

Whoever runs this sees the true answers; in a collection only the person's own device does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from planner.deployment.client.client import Report
from planner.deployment.collecting.parquet import ReportWriter
from planner.deployment.collecting.reports import (
    MAX_JSON_BYTES,
    Expected,
    Key,
    group_ending,
)
from planner.deployment.parameters import Parameters
from planner.errors import FileError
from planner.estimates.cross_table import RelatedQuestion
from planner.files import replace_file, unwritable
from planner.laws.answers import LEFT_OUT, Code, Item
from planner.laws.law import Law
from planner.laws.levels import Levels
from planner.laws.source import system
from planner.limits import MEBIBYTE
from planner.mechanisms.asking import CollectedLaw
from planner.mechanisms.counting import Reports
from planner.mechanisms.words import system_words
from planner.survey.columns import AnswerColumn
from planner.survey.reading import AnswerFile
from planner.survey.survey import Survey
from planner.survey.tables import Reading

_CODE_BYTES = 4  # of the place of a group's value, beside a report
_BLOCK_BYTES = 32 * MEBIBYTE  # of the reports that are drawn before they are written


class Perturbed(NamedTuple):
    """The number of reports in each file written, and as what the answers were read."""

    written: dict[Path, int]
    said: str


def perturb_file(
    parameters: Parameters,
    data: Path,
    out: Path,
    questions: Sequence[str] = (),
    progress: Callable[[int], None] = lambda _: None,
    survey: Survey | None = None,
    reading: Reading | None = None,
) -> Perturbed:
    """Randomise the answers of a file and write report files, each in an order of its own.

    Parameters
    ----------
    parameters:
        Verified parameters.
    data:
        A file that :class:`~planner.survey.reading.AnswerFile` reads. Of a question that is
        asked again, the answer is that of every round. Of a survey with groups it has a column
        called like each, unless the names of folders of ``out`` say the group; who is of none is
        left out.
    out:
        A directory, of a file for each question and round; if that is one, also a file's name
        that ends in ``.parquet`` or ``.jsonl``.
    questions:
        The questions to answer; all when empty.
    progress:
        Called with the number of people done.
    survey:
        Says in which columns answers stand, and which cells are none.
    reading:
        How the file is read, where that is not to be found out.

    Raises
    ------
    FileError
        The data cannot be read or hold an answer that is none; no file is written then.
    """
    names = list(dict.fromkeys(questions)) or [law.name for law in parameters.questions]
    laws = [parameters.question(name) for name in names]
    paths = _paths(out, laws)
    joint = parameters.joint
    answer_columns = [column_of(law, survey, joint.get(law.name, ())) for law in laws]
    said_by_folders = Expected.of(parameters).of_folders(next(iter(paths.values())))
    groups = {
        name: values
        for name, values in parameters.groups.items()
        if name not in said_by_folders
    }
    answer_columns += [group_column(name, values) for name, values in groups.items()]
    file = AnswerFile(data, answer_columns, reading)
    for _ in file.blocks():
        """Every answer is checked before anything is drawn."""
    if out not in paths.values():
        _make_directory(out)
    written = dict.fromkeys(paths.values(), 0)
    with ExitStack() as stack:
        writers: dict[Key, ReportWriter | _LineWriter] = {}
        for key, path in paths.items():
            writer = _writer(path, parameters, key, groups)
            stack.enter_context(writer)
            writers[key] = writer
        try:
            drawn: dict[Key, IO[bytes]] = {}
            for key, path in paths.items():
                drawn[key] = stack.enter_context(TemporaryFile(dir=path.parent))
            for block in file.blocks():
                asked = _asked(parameters, names, len(block[0]))
                given = [
                    _of_those(asked, law.name, codes)
                    for law, codes in zip(laws, block, strict=False)
                ]
                for key, rows in _drawn_block(laws, given, block[len(laws) :]):
                    drawn[key].write(rows.tobytes())
                progress(file.people)
            for key, path in paths.items():
                size = parameters.question(key[0]).size
                for rows in _shuffled(drawn[key], size + _CODE_BYTES * len(groups)):
                    places = np.ascontiguousarray(rows[:, size:]).view(np.int32)
                    reports = np.ascontiguousarray(rows[:, :size])
                    writers[key].write(reports, places.reshape(len(rows), len(groups)))
                    written[path] += len(rows)
        except OSError as error:
            raise unwritable(out, error) from error
    return Perturbed(written, file.said)


def _asked(
    parameters: Parameters, names: Sequence[str], people: int
) -> dict[str, list[bool]] | None:
    """Of each question who is asked it, drawn for so many people; None if all are."""
    drawing = parameters.drawing
    if drawing is None:
        return None
    asked: dict[str, list[bool]] = {name: [] for name in names}
    for word in system_words().half(people).tolist():
        theirs = drawing.asked(word)
        for name, chosen in asked.items():
            chosen.append(name in theirs)
    return asked


def _of_those(
    asked: dict[str, list[bool]] | None, name: str, codes: Sequence[Code]
) -> Sequence[Code]:
    """The answers of those who are asked; the others give no report."""
    if asked is None:
        return codes
    pairs = zip(codes, asked[name], strict=True)
    return [code if chosen else LEFT_OUT for code, chosen in pairs]


def group_column(name: str, values: tuple[str, ...]) -> AnswerColumn:
    """The column that has each person's value of a known variable, read as an answer is."""
    levels = Levels((name,), (1.0,), (len(values),), (values,))
    return AnswerColumn(name, Item(levels))


def _drawn_block(
    laws: Sequence[CollectedLaw],
    answers: Sequence[Sequence[Code]],
    groups: Sequence[Sequence[Code]],
) -> Iterator[tuple[Key, Reports]]:
    """Reports of some people, each with the places of its group's values behind it.

    ``answers`` has the codes of each question, ``groups`` those of each variable.
    """
    for group, people in _by_group(groups):
        for law, codes in zip(laws, answers, strict=True):
            given_codes = codes if people is None else [codes[k] for k in people]
            for key, reports in _randomised(law, given_codes):
                places = np.tile(group, (len(reports), 1)).view(np.uint8)
                yield key, np.hstack([reports, places])


def _by_group(
    columns: Sequence[Sequence[Code]],
) -> Iterator[tuple[NDArray[np.int32], list[int] | None]]:
    """The people of each combination of values; those without one of them are left out."""
    if not columns:
        yield np.zeros(0, dtype=np.int32), None
        return
    people: dict[tuple[Code, ...], list[int]] = {}
    for k, group in enumerate(zip(*columns, strict=True)):
        if LEFT_OUT not in group:
            people.setdefault(group, []).append(k)
    for group, members in people.items():
        yield np.array(group, dtype=np.int32), members


def column_of(
    law: Law, survey: Survey | None = None, parts: Sequence[RelatedQuestion] = ()
) -> AnswerColumn:
    """Where the answers of a deployed question stand: as its survey says, if it is given.

    Those of a joint question stand in the columns of its ``parts``.
    """
    for question in () if survey is None else survey.questions:
        if question.name == law.name:
            return question.answer_column._replace(asked=law.asked)
    return AnswerColumn(
        name=law.name,
        asked=law.asked,
        columns=tuple(part.name for part in parts),
        joined=bool(parts),
        blanks=tuple(part.outside for part in parts),
    )


def _shuffled(file: IO[bytes], size: int) -> Iterator[Reports]:
    """In an order of their own: joined by rows, a person's reports would say who answered what."""
    count = file.tell() // size
    file.flush()
    order = np.argsort(system_words().raw(count))
    step = max(1, _BLOCK_BYTES // size)
    for start in range(0, count, step):
        rows = np.memmap(file, np.uint8, "r", shape=(count, size))
        yield rows[order[start : start + step]]


def _writer(
    path: Path, parameters: Parameters, key: Key, groups: Mapping[str, Sequence[str]]
) -> ReportWriter | _LineWriter:
    if path.suffix != ".parquet":
        return _LineWriter(path, parameters.hash, key, groups)
    size = parameters.question(key[0]).size
    return ReportWriter(path, parameters.hash, key, size, groups)


class _LineWriter:
    """Writes a file of lines, whole or not at all, as :class:`ReportWriter` does Parquet."""

    def __init__(
        self,
        path: Path,
        parameters: str,
        key: Key,
        groups: Mapping[str, Sequence[str]],
    ) -> None:
        self._path = path
        self._parameters = parameters
        self._question, self._round = key
        self._groups = groups
        self._lines: list[str] = []
        self._bytes = 0

    def __enter__(self) -> Self:
        return self

    def write(self, rows: Reports, groups: NDArray[np.int32]) -> None:
        """Add reports, with the place of each one's value of each variable."""
        for row, places in zip(rows, groups.tolist(), strict=True):
            report = Report(
                self._parameters,
                self._question,
                row.tobytes(),
                system(8).hex(),
                self._round,
            )
            group = {}
            for (name, values), k in zip(self._groups.items(), places, strict=True):
                group[name] = values[k]
            line = report.to_json().removesuffix("}") + group_ending(group)
            self._lines.append(line + "\n")
            self._bytes += len(self._lines[-1].encode())
            if self._bytes > MAX_JSON_BYTES:
                reason = f"would have more than {MAX_JSON_BYTES} bytes, which no collector reads"
                raise FileError(self._path, reason, "Write a .parquet file.")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            replace_file(self._path, "".join(self._lines))


def _randomised(
    column: CollectedLaw, codes: Sequence[Code]
) -> Iterator[tuple[Key, Reports]]:
    """Reports of the people who answer, a block at a time."""
    given = [code for code in codes if code is not LEFT_OUT]
    step = max(1, _BLOCK_BYTES // (column.size * len(column.rounds)))
    for start in range(0, len(given), step):
        drawn = reports_by_round(column, given[start : start + step])
        for number, reports in drawn.items():
            yield (column.name, number), reports


def reports_by_round(
    law: CollectedLaw, codes: Sequence[Code]
) -> dict[int | None, Reports]:
    """Reports of each round: if asked again, of answers that stay, each person's own by lot."""
    words = system_words()
    if law.again is None:
        return dict(zip(law.rounds, law.draw_many(codes, words), strict=True))
    part_numbers = words.below(law.again.parts, len(codes))
    if law.blanks:
        (rows,) = law.draw_many(codes, words)
        active = (part_numbers == 0)[:, None]
        lasting = np.hstack([active.astype(np.uint8), rows * active])
        return dict.fromkeys(law.rounds, lasting)
    by_round: dict[int | None, Reports] = {}
    for n in range(law.again.count):
        part = [codes[u] for u in np.flatnonzero(part_numbers == n).tolist()]
        if part:  # else nobody is asked in this round
            by_round[n + 1] = law.draw_many(part, words)[0]
    return by_round


def _make_directory(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        remedy = "Choose a directory that you may write to."
        raise FileError(
            path, f"cannot be made: {error.strerror or error}", remedy
        ) from error


def _paths(out: Path, columns: Sequence[CollectedLaw]) -> dict[Key, Path]:
    numbered = enumerate(columns, start=1)
    keys = [(i, law.name, number) for i, law in numbered for number in law.rounds]
    if len(keys) == 1 and out.suffix:
        if out.suffix not in (".parquet", ".jsonl"):
            remedy = "Rename it, or give a directory."
            raise FileError(out, "ends neither in .parquet nor in .jsonl", remedy)
        return {keys[0][1:]: out}
    if out.suffix:
        remedy = "Give a directory, or one question with --question."
        raise FileError(out, f"is one file, but {len(keys)} are needed", remedy)
    paths = {}
    for i, name, number in keys:
        ending = f"-round-{number}" if number else ""
        paths[name, number] = out / f"question-{i}{ending}.parquet"
    return paths
