"""Reports in memory, and as lines of JSON as ``Report.to_json`` gives them.

A group is what a collector knows of who reported, and nobody randomised. It stands on the report's
line, after what the client wrote, in a column of a Parquet file, or in the names of the folders:
``reports/region=north/``. It spends no budget, and it is seen.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import blake2b, sha256
from io import BytesIO
from math import ceil
from pathlib import Path
from typing import NamedTuple

import numpy as np

from planner.deployment.client.client import Report
from planner.deployment.parameters import Parameters
from planner.errors import InputError
from planner.limits import REPORTS_REMEDY
from planner.mechanisms.asking import CollectedLaw
from planner.mechanisms.counting import Aggregate, Reports

# Question and round; None for a question that has no rounds.
Key = tuple[str, int | None]
Sums = Mapping[Key, Aggregate]
# A value of each declared variable, in their order; empty where none is declared.
Group = tuple[str, ...]
ID_SIZE = 16
MARK_SIZE = 2 * ID_SIZE


def unfit(reason: str) -> InputError:
    """The error for what is not as it was written."""
    return InputError.because("reports", reason, REPORTS_REMEDY)


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Some reports of one question, with the number of the file they are from.

    Attributes
    ----------
    key:
        Question and round.
    rows:
        The reports.
    file_id:
        Number of the file; copies of a file have the same.
    marks:
        The :func:`mark` of each report, one after the other; empty if the file
        has no report ids.
    group:
        Of all of them.
    """

    key: Key
    rows: Reports
    file_id: str
    marks: bytes = b""
    group: Group = ()


class Contradiction(NamedTuple):
    """A report that is left out: another one of its id says something else.

    Attributes
    ----------
    path, line, report_id:
        The file, the number of its line, and the id.
    other:
        Where the other one stands: a file, or a line of the same file.
    """

    path: Path
    line: int
    report_id: str
    other: str


class ReadLines(NamedTuple):
    """What a file of lines holds, in batches by question, round and group.

    ``repeated`` is how many of its reports are counted already.
    """

    batches: list[Batch]
    file_id: str
    repeated: int
    contradictions: tuple[Contradiction, ...]


def mark(report_id: str, content: str) -> bytes:
    """What a collector remembers of a report: enough to know it again, in 32 bytes.

    Two digests of 16 bytes: of the report's id, and of everything that the report says. Two
    reports with one id are the same report if the second digests are equal, and a contradiction
    if not.

    Examples
    --------
    >>> one, same, other = (mark("00ff", text) for text in ("q: AA==", "q: AA==", "q: AQ=="))
    >>> one == same, one == other, one[:ID_SIZE] == other[:ID_SIZE]
    (True, False, True)
    """
    # Digests, not the ids themselves: all have one size, whatever file they are from. A
    # hundred million reports take 3.2 GB, on the disk.
    of_id = blake2b(report_id.encode(), digest_size=ID_SIZE)
    of_content = blake2b(content.encode(), digest_size=ID_SIZE)
    return of_id.digest() + of_content.digest()


class Received(NamedTuple):
    """A line that is right: its report, question and round, group and :func:`mark`.

    ``line`` is the one way to write it, with its end: what the client wrote, and after it the
    group that stands on the line, its variables in their declared order.
    """

    report: Report
    key: Key
    group: Group
    mark: bytes
    line: bytes


# Only the end of a line may have a group, behind the client's own checksum: the
# collector never writes into what the client wrote.
_ON_LINE = re.compile(rb'^(.*"check":"[0-9a-f]{16}"),"group":(\{.*\})\}$', re.DOTALL)
_FIX = "Put each report into the group it is of, as the survey's groups are declared."


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Expected:
    """What reports must be like: the parameter hash, and the law of each question.

    ``sizes`` are the bytes of a report of every question and round, ``groups`` the values of each
    declared variable. A line of more than ``longest_line`` bytes, with its end, would only take
    memory.
    """

    parameters: str
    laws: dict[str, CollectedLaw]
    sizes: dict[Key, int]
    groups: Mapping[str, tuple[str, ...]]
    longest_line: int

    @classmethod
    def of(cls, parameters: Parameters) -> Expected:
        """What verified parameters expect of a report file."""
        laws = {}
        sizes = {}
        for law in parameters.questions:
            laws[law.name] = law
            for number in law.rounds:
                sizes[law.name, number] = law.size
        longest_line = _longest_line(sizes, parameters.groups)
        return cls(parameters.hash, laws, sizes, parameters.groups, longest_line)

    @property
    def longest_stored(self) -> int:
        """Bytes of the longest :attr:`Received.line`: no line that is kept has more."""
        longest_group = {}
        for name, values in self.groups.items():
            longest_group[name] = max(values, key=lambda value: len(_json(value)))
        ending = len(group_ending(longest_group))
        longest_report = 0
        for (question, round_number), size in self.sizes.items():
            report = Report(
                self.parameters, question, bytes(size), "0" * ID_SIZE, round_number
            )
            longest_report = max(longest_report, len(report.to_json().encode()))
        # One more than the report without its brace, and the group's own closing, for
        # the newline that ends the line.
        return longest_report - 1 + ending + 1  # its own brace is in the ending

    def of_folders(self, path: Path) -> dict[str, str]:
        """The groups that the names of a file's folders say, those nearest to it last."""
        groups = {}
        for part in path.parent.parts:
            name, sign, value = part.partition("=")
            if sign and name in self.groups:
                groups[name] = value
        return groups

    def group(
        self, folders: Mapping[str, str], stated: Mapping[str, str], where: str
    ) -> Group:
        """The group of a report, from its folders and what it says itself.

        InputError if it is not one declared, or not one.
        """
        for name in stated:
            if name not in self.groups:
                what = f"group of {where}"
                raise InputError.unknown(what, name, list(self.groups), _FIX)
            # A report that says another group than its folder was moved or mislabelled.
            # Nobody can tell which is right, so that neither is believed.
            if folders.get(name, stated[name]) != stated[name]:
                reason = f"{where} says {name} {stated[name]!r}, its folder {folders[name]!r}"
                raise InputError.because("group", reason, _FIX)
        both = {**folders, **stated}
        for name, values in self.groups.items():
            if name not in both:
                reason = f"{where} has no {name}, neither itself nor by its folder"
                raise InputError.because("group", reason, _FIX)
            if both[name] not in values:
                raise InputError.unknown(f"{name} of {where}", both[name], values, _FIX)
        return tuple(both[name] for name in self.groups)

    def read(self, line: bytes, where: str, folders: Mapping[str, str]) -> Received:
        """What a line without its end says, if a client of these parameters may have written it.

        Its group stands on it or in the names of ``folders``. Receiver and collector both read
        by this function: what the one keeps, the other counts.

        Raises
        ------
        InputError
            It is none; ``where`` is named.
        """
        # Refused by its length before any pattern looks at it, as the work of a pattern
        # grows with the line.
        if len(line) >= self.longest_line:
            raise unfit(f"{where} is longer than any report, {self.longest_line} bytes")
        written = line
        stated = {}
        # Without declared groups nobody may add anything to a line: it is compared with
        # the client's form byte for byte.
        if self.groups:
            grouped = _ON_LINE.match(line)
            if grouped is not None:
                # What the client wrote, without the group, and with its own end again.
                written = grouped[1] + b"}"
                stated = _group_on_line(grouped[2], where)
        report = read_line(written, where)
        group = self.group(folders, stated, where)
        # In the declared order, so that a report is written in one way alone.
        ordered = {name: stated[name] for name in self.groups if name in stated}
        stored = written[:-1] + group_ending(ordered).encode() + b"\n"
        key = (report.question, report.round_number)
        if report.parameters != self.parameters:
            what = f"parameters of {where}"
            raise InputError(what, report.parameters, self.parameters, FOREIGN)
        if key not in self.sizes:
            reason = (
                f"{where} is of question and round {key}, not one in the parameter file"
            )
            raise InputError.because("question and round", reason, FOREIGN)
        size = len(report.payload)
        if size != self.sizes[key]:
            allowed = f"{self.sizes[key]} bytes"
            raise InputError(f"length of {where}", size, allowed, REPORTS_REMEDY)
        # All that a report says but its id: two of one id that differ here contradict each other.
        said = [str(report.round_number), report.payload.hex(), report.question, *group]
        return Received(
            report=report,
            key=key,
            group=group,
            mark=mark(report.report_id, "\n".join(said)),
            line=stored,
        )


def _longest_line(
    sizes: Mapping[Key, int], groups: Mapping[str, tuple[str, ...]]
) -> int:
    """Bytes that the line of a report can need, with its end, however its letters are escaped."""
    longest_group = 0
    for name, values in groups.items():
        letters = len(name) + max(map(len, values))
        longest_group += _FRAME_BYTES + _LETTER_BYTES * letters
    longest_report = 0
    for (question, _), size in sizes.items():
        base64_bytes = 4 * ceil(size / 3)
        needed = _LETTER_BYTES * len(question) + base64_bytes
        longest_report = max(longest_report, needed)
    return _FRAME_BYTES + longest_report + longest_group


def group_ending(group: Mapping[str, str]) -> str:
    """What stands on a line after the client's fields."""
    if not group:
        return "}"
    return f',"group":{_json(group)}}}'


def _json(value: object) -> str:
    """JSON as a client writes it: without blanks, letters as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _group_on_line(text: bytes, where: str) -> dict[str, str]:
    """What the collector added to a line; a name that stands twice says nothing."""
    group: dict[str, str] = {}
    try:
        # Pairs, as a dictionary would silently keep the last of two alike.
        pairs = json.loads(text, object_pairs_hook=list)
        for name, value in pairs:
            if name in group or not isinstance(value, str):
                raise _no_group(text, where)
            group[name] = value
    except (TypeError, ValueError, RecursionError):
        raise _no_group(text, where) from None
    return group


def _no_group(text: bytes, where: str) -> InputError:
    """The error for what is no group of a line."""
    given = text.decode(errors="replace")
    allowed = 'names and values, as {"region":"north"}'
    return InputError(f"group of {where}", given, allowed, _FIX)


MAX_JSON_BYTES = 64 * 2**20
FOREIGN = "Use the parameter file that the reports were made with."
_FRAME_BYTES = 1024  # of a line, for all but its question and its report
_LETTER_BYTES = 12  # of a name's letter in JSON: two escaped halves of a surrogate pair


def read_lines(
    path: Path, expected: Expected, marks_known: Mapping[bytes, str]
) -> ReadLines:
    """What a file of at most 64 MiB holds, with a batch for each question, round and group.

    ``marks_known`` are marks of reports that are not to be counted: with a file that has a report
    of the same id that says something else, or with "" where the same report is counted already.

    Raises
    ------
    InputError
        The file is too large or cut off, or a line is not a report of these parameters.
    """
    if path.stat().st_size > MAX_JSON_BYTES:
        reason = f"the file has more than {MAX_JSON_BYTES} bytes"
        remedy = "Write the reports to a Parquet file, or to several smaller files."
        raise InputError.because("size", reason, remedy)
    data = path.read_bytes()
    limit = expected.longest_line
    folders = expected.of_folders(path)
    first_lines: dict[bytes, tuple[int, bytes]] = {}  # of each id, with its mark
    repeated = 0
    contradictions = list[Contradiction]()
    payloads: dict[tuple[Key, Group], list[bytes]] = {}
    marks: dict[tuple[Key, Group], list[bytes]] = {}
    # At most so many bytes of a line are read: one without an end takes no more memory.
    lines = iter(partial(BytesIO(data).readline, limit + 1), b"")
    for number, line in enumerate(lines, 1):
        if not line.endswith(b"\n") and len(line) <= limit:
            raise unfit("the last line is cut off: no newline ends it")
        # A file is refused at its first wrong line: to skip lines would let a damaged
        # file count in part, and nobody would see which part.
        received = expected.read(line.removesuffix(b"\n"), f"line {number}", folders)
        report_id = received.report.report_id
        known_id = received.mark[:ID_SIZE]
        first_number, first_mark = first_lines.setdefault(
            known_id, (number, received.mark)
        )
        # The first of two that contradict each other counts. A sender who replays an id
        # can thereby not remove a report that came before.
        if first_mark != received.mark:
            other = f"line {first_number} of it"
            contradictions.append(Contradiction(path, number, report_id, other))
        elif first_number != number:
            repeated += 1
        elif received.mark not in marks_known:
            cell = (received.key, received.group)
            payloads.setdefault(cell, []).append(received.report.payload)
            marks.setdefault(cell, []).append(received.mark)
        elif marks_known[received.mark]:
            other = marks_known[received.mark]
            contradictions.append(Contradiction(path, number, report_id, other))
        else:
            repeated += 1
    # Of the bytes, so that copies under other names are one file. A file of lines has
    # no number of its own as Parquet files have.
    file_id = sha256(data).hexdigest()
    batches = []
    for cell, rows in payloads.items():
        key, group = cell
        batch = Batch(key, rows_of(rows), file_id, b"".join(marks[cell]), group)
        batches.append(batch)
    return ReadLines(batches, file_id, repeated, tuple(contradictions))


def rows_of(payloads: Sequence[bytes]) -> Reports:
    """Reports of one size as an array, a row each."""
    data = np.frombuffer(b"".join(payloads), dtype=np.uint8)
    return data.reshape(len(payloads), -1)


_LINE = re.compile(
    r'{"parameters":"([0-9a-f]{64})","question":("(?:[^"\\]|\\.)*"),"id":"([0-9a-f]{16})"'
    r'(?:,"round":([1-9][0-9]{0,8}))?,"report":"([0-9A-Za-z+/=]*)","check":"[0-9a-f]{16}"}'
)
_text = lru_cache(64)(json.loads)  # the names of questions


def read_line(line: bytes, where: str) -> Report:
    """The report of a line, which has to be :meth:`Report.to_json` of it, byte for byte.

    Raises
    ------
    InputError
        It is not, or its id is not of 16 hexadecimal digits.
    """
    try:
        # A line of wrong UTF-8 raises a ValueError here, as wrong base64 does below.
        match = _LINE.fullmatch(line.decode())
        if match is not None:
            parameters, question, report_id, number, report = match.groups()
            round_number = int(number) if number else None
            payload = b64decode(report)
            read = Report(parameters, _text(question), payload, report_id, round_number)
            # What the pattern is loose about, a blank in base64 say, is not what is written.
            if read.to_json().encode() == line:
                return read
    except ValueError:
        pass
    raise unfit(f"{where} is not, byte for byte, what a client writes of a report")
