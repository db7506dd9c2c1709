"""Randomise many answers at once, for pilots and tests: the client's law, drawn in bulk.

Whoever runs this sees the true answers; in a collection only the person's own device does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
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

# An int32 in this machine's byte order; it never leaves the temporary file.
_CODE_BYTES = 4  # of the number of a group's value, beside a report
_BLOCK_BYTES = 32 * MEBIBYTE  # of the reports that are drawn before they are written


class Perturbed(NamedTuple):
    """The number of reports in each file written, and as what the answers were read."""

    written: dict[Path, int]
    read_as: str


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
    laws = list(parameters.questions)
    if questions:
        laws = [parameters.question(name) for name in dict.fromkeys(questions)]
    paths = _paths(out, laws)
    groups = _groups_of_rows(parameters, paths)
    file = AnswerFile(data, _columns(parameters, laws, groups, survey), reading)
    # A wrong answer in the last row must not leave reports of the first rows behind: a
    # second run would draw for these people again.
    for _ in file.blocks():
        """Every answer is checked before anything is drawn."""
    if out not in paths.values():
        _make_directory(out)
    written = {}
    with ExitStack() as stack:
        writers: dict[Key, ReportWriter | _LineWriter] = {}
        for key, path in paths.items():
            writer = _writer(path, parameters, key, groups)
            stack.enter_context(writer)
            writers[key] = writer
        try:
            drawn: dict[Key, IO[bytes]] = {}
            for key, path in paths.items():
                # Beside the output, since the system's own temporary folder may be
                # small, in memory, or on a disk that others read.
                drawn[key] = stack.enter_context(TemporaryFile(dir=path.parent))
            first_group = len(file.columns) - len(groups)
            for block in file.blocks():
                given = answers_of(laws, block)
                answers = _of_those_asked(parameters, laws, given)
                for key, rows in _drawn_block(laws, answers, block[first_group:]):
                    drawn[key].write(rows.tobytes())
                progress(file.people)
            for key, path in paths.items():
                question, _ = key
                size = parameters.question(question).size
                # Reports are written after all of them are drawn: only then can they be
                # shuffled over the whole file.
                number = _write(drawn[key], writers[key], size, len(groups))
                written[path] = number
        except OSError as error:
            raise unwritable(out, error) from error
    return Perturbed(written, file.read_as)


def _groups_of_rows(
    parameters: Parameters, paths: Mapping[Key, Path]
) -> dict[str, tuple[str, ...]]:
    """The groups whose values stand in each row: those that no folder's name says."""
    path = next(iter(paths.values()))
    said_by_folders = Expected.of(parameters).of_folders(path)
    groups = {}
    for name, values in parameters.groups.items():
        if name not in said_by_folders:
            groups[name] = values
    return groups


def _columns(
    parameters: Parameters,
    laws: Sequence[CollectedLaw],
    groups: Mapping[str, tuple[str, ...]],
    survey: Survey | None,
) -> list[AnswerColumn]:
    """Where answers stand: to each question, to anchors, and each person's value of each group."""
    joint = parameters.joint
    columns = []
    for law in laws:
        parts = joint.get(law.name, ())
        columns.append(column_of(law, survey, parts))
    columns += anchor_columns(laws, survey)
    for name, values in groups.items():
        columns.append(group_column(name, values))
    return columns


def _write(
    drawn: IO[bytes], writer: ReportWriter | _LineWriter, size: int, groups: int
) -> int:
    """Write the reports of a temporary file, each of so many bytes, and say how many they are."""
    written = 0
    row_bytes = size + _CODE_BYTES * groups
    for rows in _shuffled(drawn, row_bytes):
        reports, codes = np.hsplit(rows, [size])
        # The codes stand behind a report of any length, and only a contiguous copy can be
        # viewed as int32.
        numbers = np.ascontiguousarray(codes).view(np.int32)
        of_groups = numbers.reshape(len(rows), groups)
        writer.write(np.ascontiguousarray(reports), of_groups)
        written += len(rows)
    return written


def _of_those_asked(
    parameters: Parameters,
    laws: Sequence[CollectedLaw],
    block: Sequence[Sequence[Code]],
) -> Sequence[Sequence[Code]]:
    """The answers to each question of those who are asked it; the others give no report.

    Which questions a person is asked is drawn, as a device would.
    """
    drawing = parameters.drawing
    if drawing is None:
        return block
    answers = [list(codes) for codes in block]
    # From the operating system, as in a collection: whoever knew the seed would know
    # which questions a person was left out of.
    words = system_words().half(len(block[0])).tolist()
    for person, word in enumerate(words):
        questions = drawing.asked(word)
        for law, codes in zip(laws, answers, strict=True):
            if law.name not in questions:
                codes[person] = LEFT_OUT
    return answers


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
    for group, people in _by_group(groups, len(answers[0])):
        # Four bytes a group behind each report, which the file's writer takes off again.
        group_bytes = group.view(np.uint8)
        for law, codes in zip(laws, answers, strict=True):
            codes_of_group = [codes[person] for person in people]
            for key, reports in _randomised(law, codes_of_group):
                endings = np.tile(group_bytes, (len(reports), 1))
                yield key, np.hstack([reports, endings])


def _by_group(
    groups: Sequence[Sequence[Code]], people: int
) -> Iterator[tuple[NDArray[np.int32], Sequence[int]]]:
    """The people of each combination of values; those without one of them are left out."""
    if not groups:
        yield np.zeros(0, dtype=np.int32), range(people)
        return
    members: dict[tuple[Code, ...], list[int]] = {}
    values_of_people = zip(*groups, strict=True)
    for person, values in enumerate(values_of_people):
        if LEFT_OUT not in values:
            members.setdefault(values, []).append(person)
    for values, of_group in members.items():
        numbers = np.array(values, dtype=np.int32)
        yield numbers, of_group


def column_of(
    law: Law, survey: Survey | None = None, parts: Sequence[RelatedQuestion] = ()
) -> AnswerColumn:
    """Where the answers of a deployed question stand: as its survey says, if it is given.

    Those of a joint question stand in the columns of its ``parts``.
    """
    if survey is not None:
        for question in survey.questions:
            if question.name == law.name:
                return question.answer_column._replace(asked=law.asked)
    return AnswerColumn(
        name=law.name,
        asked=law.asked,
        columns=tuple(part.name for part in parts),
        joined=bool(parts),
        blanks=tuple(part.outside for part in parts),
    )


def anchor_columns(
    laws: Sequence[Law], survey: Survey | None = None
) -> list[AnswerColumn]:
    """Where the answers to the anchors of some questions stand, one after the other."""
    columns = []
    for law in laws:
        if law.anchor is not None:
            # It is asked as its question is, under its own name.
            asked_alone = replace(law, name=law.anchor.name)
            columns.append(column_of(asked_alone, survey))
    return columns


def answers_of(
    laws: Sequence[Law], columns: Sequence[Sequence[Code]]
) -> list[Sequence[Code]]:
    """The answers to each question, of one with an anchor in pairs.

    ``columns`` are those of the questions and then those of :func:`anchor_columns`. Who has no
    answer to one of the two has none: a report has both.
    """
    answers = list(columns[: len(laws)])
    next_anchor = len(laws)
    for k, law in enumerate(laws):
        if law.anchor is None:
            continue
        pairs: list[Code] = []
        for pair in zip(columns[k], columns[next_anchor], strict=True):
            pairs.append(LEFT_OUT if LEFT_OUT in pair else pair)
        answers[k] = pairs
        next_anchor += 1
    return answers


def _shuffled(file: IO[bytes], size: int) -> Iterator[Reports]:
    """The reports of a file in a random order: joined by rows they would say who answered what."""
    count = file.tell() // size
    file.flush()
    # Sorting by 64 random bits is a uniform order unless two keys are equal; of a
    # million people that has probability 3e-8.
    keys = system_words().raw(count)
    order = np.argsort(keys)
    step = max(1, _BLOCK_BYTES // size)
    for start in range(0, count, step):
        block = order[start : start + step]
        # Mapped anew for each block, so that the pages of the last one are let go.
        rows = np.memmap(file, np.uint8, "r", shape=(count, size))
        yield rows[block]


def _writer(
    path: Path, parameters: Parameters, key: Key, groups: Mapping[str, Sequence[str]]
) -> ReportWriter | _LineWriter:
    if path.suffix != ".parquet":
        return _LineWriter(path, parameters.hash, key, groups)
    question, _ = key
    size = parameters.question(question).size
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
        """Add reports, with the number of each one's value of each group."""
        for row, numbers in zip(rows, groups.tolist(), strict=True):
            report = Report(
                self._parameters,
                self._question,
                row.tobytes(),
                # As a client draws it; a counter as the id would undo the shuffle.
                system(8).hex(),
                self._round,
            )
            group = {}
            for name, number in zip(self._groups, numbers, strict=True):
                group[name] = self._groups[name][number]
            document = report.to_json().removesuffix("}")
            line = document + group_ending(group) + "\n"
            self._lines.append(line)
            self._bytes += len(line.encode())
            # Found while writing: the size of the group's text differs from line to
            # line. Nothing is left behind, as the file is written at the end.
            if self._bytes > MAX_JSON_BYTES:
                reason = f"would have more than {MAX_JSON_BYTES} bytes, which no collector reads"
                raise FileError(self._path, reason, "Write a .parquet file.")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            replace_file(self._path, "".join(self._lines))


def _randomised(
    law: CollectedLaw, codes: Sequence[Code]
) -> Iterator[tuple[Key, Reports]]:
    """Reports of the people who answer, a block at a time."""
    given = [code for code in codes if code is not LEFT_OUT]
    report_bytes = law.size * len(law.rounds)
    step = max(1, _BLOCK_BYTES // report_bytes)
    for start in range(0, len(given), step):
        block = given[start : start + step]
        for number, reports in reports_by_round(law, block).items():
            key = (law.name, number)
            yield key, reports


def reports_by_round(
    law: CollectedLaw, codes: Sequence[Code]
) -> dict[int | None, Reports]:
    """Reports of each round: if asked again, of answers that stay, each person's own by lot."""
    words = system_words()
    if law.again is None:
        reports = law.draw_many(codes, words)
        return dict(zip(law.rounds, reports, strict=True))
    # The answers of a pilot stay the same, so that each person has one value, and is
    # active in every round or in none.
    group_of = words.below(law.again.rotation_groups, len(codes))
    if law.blanks:
        # One person in so many has a report of the value, the others a blank, in each round.
        (rows,) = law.draw_many(codes, words)
        active = (group_of == 0)[:, None].astype(np.uint8)
        # A blank is all zeros behind its first byte, as the client writes it; otherwise
        # its bytes would tell what was drawn.
        lasting = np.hstack([active, rows * active])
        return dict.fromkeys(law.rounds, lasting)
    by_round: dict[int | None, Reports] = {}
    for group in range(law.again.count):
        members = np.flatnonzero(group_of == group).tolist()
        if not members:  # nobody is asked in this round
            continue
        codes_of_group = [codes[person] for person in members]
        (rows,) = law.draw_many(codes_of_group, words)
        by_round[group + 1] = rows
    return by_round


def _make_directory(path: Path) -> None:
    """Make a directory and the folders above it; FileError if it cannot be made."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = f"cannot be made: {error.strerror or error}"
        remedy = "Choose a directory that you may write to."
        raise FileError(path, reason, remedy) from error


def _paths(out: Path, laws: Sequence[CollectedLaw]) -> dict[Key, Path]:
    """A file for the reports of each question and round: ``out`` itself, or files in it."""
    paths = {}
    for i, law in enumerate(laws, start=1):
        for number in law.rounds:
            ending = f"-round-{number}" if number else ""
            paths[law.name, number] = out / f"question-{i}{ending}.parquet"
    if not out.suffix:
        return paths
    if len(paths) > 1:
        remedy = "Give a directory, or one question with --question."
        raise FileError(out, f"is one file, but {len(paths)} are needed", remedy)
    if out.suffix not in (".parquet", ".jsonl"):
        remedy = "Rename it, or give a directory."
        raise FileError(out, "ends neither in .parquet nor in .jsonl", remedy)
    return dict.fromkeys(paths, out)
