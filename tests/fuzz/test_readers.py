"""Damaged files against every reader, for two seconds; ``make fuzz`` goes on for hours.

An attack writes a damaged file and reads it. It returns whether the file was accepted; an error of
the planner's own is a refusal, any other exception a crash. What a reader accepts is compared with
what must hold, by an assertion.
"""

import json
import os
import pickle
import resource
import sys
import time
from dataclasses import dataclass
from random import Random

import pytest

from planner import load_survey, read_ledger
from planner.deployment import Client
from planner.deployment.bulk import column_of, perturb_file
from planner.deployment.collecting.checkpoint import Checkpoint
from planner.deployment.collecting.collector import collect
from planner.deployment.collecting.engines import CountingProcess, count_file
from planner.deployment.collecting.parquet import seal
from planner.deployment.collecting.reports import Expected
from planner.deployment.parameters import parse_parameters
from planner.errors import PlannerError
from planner.laws.answers import LEFT_OUT
from planner.survey.reading import AnswerFile
from tests.deployment.mutations import damaged, flipped
from tests.deployment.readers import private
from tests.surveys import EXAMPLES

ITEMS = 40
Q = ("q", None), ()
"""The question's only round, of people who tell no group."""


class Refused(Exception):
    """The reader names what is wrong."""


@dataclass
class Attack:
    """Damaged copies of one file, and the reader that must withstand them."""

    path: object
    read: object
    damage: object = damaged
    end: object = lambda: None

    def __post_init__(self):
        self.original = self.path.read_bytes()

    def strike(self, random):
        """Read one damaged copy."""
        self.path.write_bytes(self.damage(self.original, random))
        return self.read(self.path)


def _parameters(parameters, folder):
    path = folder / "params.json"
    path.write_text(parameters.to_json())

    def read(path):
        parameters = parse_parameters(path.read_bytes())
        assert all(private(question) for question in parameters.document["questions"])

    return Attack(path, read)


def _answers_file(folder):
    path = folder / "answers.csv"
    path.write_text("q\n" + "".join(f"{i % ITEMS}\n" for i in range(60)))
    return path


def _lines(parameters, folder):
    client = Client(parameters.document)
    path = folder / "reports.jsonl"
    path.write_text("".join(client.report("q", i).to_json() + "\n" for i in range(5)))
    return Attack(path, _counted(parameters, path), flipped)


def _counted(parameters, path):
    """A reader of reports that counts what stood in the undamaged file, or refuses."""
    expected = Expected.of(parameters)
    right = count_file(path, expected).sums[Q]

    def read(path):
        counted = count_file(path, expected)
        if counted.refused:
            raise Refused
        _same(counted.sums.values(), right)

    return read


def _same(sums, right):
    assert sum(total.users for total in sums) == right.users
    assert sum(total.counts for total in sums).tolist() == right.counts.tolist()


def _parquet(parameters, folder):
    path = folder / "reports.parquet"
    perturb_file(parameters, _answers_file(folder), path)
    return Attack(path, _counted(parameters, path))


def _sealed(parameters, folder):
    """Damage that somebody sealed again: only the library that reads Parquet is left to see it.

    What it says instead may be true, so nothing is compared; it is read in a process of its own,
    which may crash, but neither hang nor take the machine's memory.
    """
    path = folder / "reports.parquet"
    perturb_file(parameters, _answers_file(folder), path)
    worker = CountingProcess(pickle.dumps(Expected.of(parameters)))

    def read(path):
        seal(path)
        if worker.count(path).refused:
            raise Refused

    return Attack(path, read, _inside, worker.stop)


def _inside(data, random):
    """Change what is between the frame's ends: the pages, or the footer and not its length."""
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    pages = data[4:start]
    footer = data[start:-8]
    if random.random() < 0.5:
        pages = damaged(pages, random)
    else:
        footer = damaged(footer, random)
    return b"PAR1" + pages + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def _memory(parameters, folder):
    path = folder / "memory"
    client = Client(parameters.document, memory=path)
    users = ("ann", "bob", "é")
    right = [client.report("q", 3, user=user) for user in users]

    def read(_):
        reports = [client.report("q", 3, user=user) for user in users]
        assert reports == right  # not a fresh draw

    return Attack(path, read)


def _checkpoint(parameters, folder):
    reports = folder / "reports"
    reports.mkdir()
    client = Client(parameters.document)
    path = folder / "progress"
    for i in range(3):
        lines = "".join(client.report("q", j).to_json() + "\n" for j in range(i + 1))
        (reports / f"{i}.jsonl").write_text(lines)
    done = collect(parameters, [reports], checkpoint=path)
    total = done.sums["q", None]

    def read(path):
        saved = Checkpoint(path, parameters.hash)
        try:
            _same([content.sums[Q] for content in saved.contents()], total)
        finally:
            saved.close()

    return Attack(path, read)


def _survey(_, folder):
    path = folder / "survey.toml"
    path.write_bytes((EXAMPLES / "baskets.toml").read_bytes())
    return Attack(path, load_survey)


def _answers(parameters, folder):
    question = parameters.question("q")
    columns = [column_of(question)]

    def read(path):
        for (codes,) in AnswerFile(path, columns).blocks():
            assert all(code is LEFT_OUT or 0 <= code < ITEMS for code in codes)

    return Attack(_answers_file(folder), read)


def _ledger(_, folder):
    path = folder / "ledger.json"
    entry = {"day": "2026-03-01", "rule": "min", "spent": {"a": 0.5, "b": 1.0}}
    entries = [entry | {"survey": f"s{i}"} for i in range(3)]
    ledger = {"format": "ldp-planner-ledger", "version": 1, "collections": entries}
    path.write_text(json.dumps(ledger))

    def read(path):
        assert all(
            x > 0
            for collection in read_ledger(path).collections
            for x in collection.spent.values()
        )

    return Attack(path, read)


# The parameters that they are given ask one question ``q`` of 40 items.
READERS = {
    "parameters": _parameters,
    "lines": _lines,
    "parquet": _parquet,
    "sealed": _sealed,
    "memory": _memory,
    "checkpoint": _checkpoint,
    "survey": _survey,
    "answers": _answers,
    "ledger": _ledger,
}


SECONDS = float(os.environ.get("FUZZ_SECONDS", "2")) / len(READERS)
SEED = int(os.environ.get("FUZZ_SEED", "1"))
MOST_SECONDS = 5.0  # of a processor
MOST_KIBIBYTES = 2**20


def peak():
    """Kibibytes, of this process or one that it ended; the system of Apple counts bytes."""
    ours = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    size = max(resource.getrusage(which).ru_maxrss for which in ours)
    if sys.platform == "darwin":
        return size // 1024
    return size


@pytest.mark.parametrize("reader", READERS)
def test_damaged_files_are_named_or_read_right(one_question, tmp_path, reader):
    attacked = READERS[reader](one_question, tmp_path)
    attacked.read(attacked.path)  # as it is, it is accepted
    before = peak()
    tries = 0
    refused = 0
    slowest = 0.0
    until = time.monotonic() + SECONDS
    while time.monotonic() < until or tries < 20:
        random = Random(f"{reader} {SEED} {tries}")
        started = time.process_time()
        try:
            attacked.strike(random)
        except (PlannerError, Refused):
            refused += 1
        except Exception as error:
            error.add_note(f"FUZZ_SEED={SEED}, try {tries} against {reader}")
            raise
        slowest = max(slowest, time.process_time() - started)
        tries += 1
    attacked.end()
    seen = f"{reader}: {tries:,} tries, {refused:,} refused, slowest {slowest:.2f} s"
    print(f"\n{seen}, {peak() / 1024:,.0f} MiB at most")  # noqa: T201
    assert peak() - before < MOST_KIBIBYTES
    assert refused > 0
    assert slowest < MOST_SECONDS
