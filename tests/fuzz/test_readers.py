"""Damaged files against every reader, for three seconds; ``make fuzz`` goes on for hours.

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

from planner.errors import PlannerError
from tests.fuzz.readers import READERS, Refused

SECONDS = float(os.environ.get("FUZZ_SECONDS", "3")) / len(READERS)
SEED = int(os.environ.get("FUZZ_SEED", "1"))
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
    seen = f"{reader}: {tries:,} tries, {refused:,} refused, slowest {slowest:.2f} s"
    print(f"\n{seen}, {peak() / 1024:,.0f} MiB at most")  # noqa: T201
    assert peak() - before < MOST_KIBIBYTES
    assert refused > 0
    assert slowest < MOST_SECONDS
