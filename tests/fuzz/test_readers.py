"""Damaged files against every reader, for five seconds; ``make fuzz`` goes on for hours.

Every try must be accepted for good reason or refused by name, within five seconds and a gigabyte.
``FUZZ_SECONDS`` sets the time for all readers together, ``FUZZ_SEED`` where the tries start. A
failure leaves its number, from which ``FUZZ_SEED`` and the reader give the same file again.
"""

import os
import resource
import sys
import time
from random import Random

import pytest

from planner.deployment.bulk import perturb_file
from planner.deployment.collecting.one_file import Expected, count_file
from planner.errors import PlannerError
from tests.deployment.report_files import draw, write
from tests.fuzz.readers import READERS, Refused

ALL_SECONDS = float(os.environ.get("FUZZ_SECONDS", "5"))
SECONDS = ALL_SECONDS / len(READERS)
LARGE = 200_000 if ALL_SECONDS > 60 else 5_000
SEED = int(os.environ.get("FUZZ_SEED", "1"))
LARGE_TRIES = 5
MOST_SECONDS = 5.0  # of a processor
MOST_KIBIBYTES = 2**20


def peak():
    """Kibibytes, of this process or one that it ended; the system of Apple counts bytes."""
    ours = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    size = max(resource.getrusage(which).ru_maxrss for which in ours)
    return size // 1024 if sys.platform == "darwin" else size


@pytest.mark.parametrize("reader", READERS)
def test_damaged_files_are_named_or_read_right(one_question, tmp_path, reader):
    attacked = READERS[reader](one_question, tmp_path)
    attacked.read(attacked.path)  # as it is, it is accepted
    before, tries, refused, slowest = peak(), 0, 0, 0.0
    until = time.monotonic() + SECONDS
    while time.monotonic() < until or tries < 20:
        random, started = Random(f"{reader} {SEED} {tries}"), time.process_time()
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
    told(f"{reader}: {tries:,} tries, {refused:,} refused, slowest {slowest:.2f} s", before)
    assert refused > 0
    assert slowest < MOST_SECONDS


def told(sentence, before):
    """Say what was seen, and that memory was bounded."""
    print(f"\n{sentence}, {peak() / 1024:,.0f} MiB at most")  # noqa: T201
    assert peak() - before < MOST_KIBIBYTES


@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
def test_large_files_that_are_damaged_are_refused_in_bounded_memory(
    one_question, tmp_path, rng, ending
):
    """With more time large ones: 34 MB of lines, 160 MB of Parquet."""
    path, people = tmp_path / f"reports.{ending}", LARGE
    if ending == "parquet":
        people *= 100
        write(path, one_question, draw(one_question, rng, people))
    else:
        (tmp_path / "answers.csv").write_text("q\n" + "7\n" * people)
        perturb_file(one_question, tmp_path / "answers.csv", path)
    size, before, slowest = path.stat().st_size, peak(), 0.0
    expected, random = Expected.of(one_question), Random(SEED)
    assert count_file(path, expected).users == people
    for _ in range(LARGE_TRIES):
        place, bit = random.randrange(size), 1 << random.randrange(8)
        with path.open("r+b") as file:
            flip(file, place, bit)
            started = time.process_time()
            found = count_file(path, expected)
            slowest = max(slowest, time.process_time() - started)
            flip(file, place, bit)
        assert found.refused
    told(f"{size / 1e6:.0f} MB of {ending}: {LARGE_TRIES} tries, slowest {slowest:.2f} s", before)


def flip(file, place, bit):
    file.seek(place)
    (octet,) = file.read(1)
    file.seek(place)
    file.write(bytes([octet ^ bit]))
    file.flush()
