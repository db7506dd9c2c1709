"""What is refused, and in which words: ``messages.json`` beside this file pins them, by test.

``MESSAGES=1 make test`` collects what is said now, and ``python -m tests.refusals`` writes it down;
the differences of that file are what to review.
"""

import json
import os
import re
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from planner.errors import InputError

_PINNED = Path(__file__).with_name("messages.json")
_SAID = _PINNED.with_suffix(".said")
_OF_A_RUN = (
    (re.compile(r"/\S*/pytest-of-[^/]+/pytest-\d+/(popen-gw\d+/)?[^/\s:,']+'?"), "TMP"),
    (re.compile(r"(?<![\w:/])/[\w.-]+/[^\s':,]*'?>?"), "PATH"),
    (re.compile(r"(?<=127\.0\.0\.1:)\d+"), "PORT"),
    (re.compile(r"(?<=\d\.\d{5})\d+"), ""),  # digits that are a solver's
)


@cache
def _pinned():
    return json.loads(_PINNED.read_text(encoding="utf-8"))


@contextmanager
def refused(kind=InputError):
    """Expects an error of this kind, in words that are pinned for this test."""
    with pytest.raises(kind) as caught:
        yield caught
    test = re.split(r"\[| \(", os.environ["PYTEST_CURRENT_TEST"])[0]
    said = str(caught.value)
    for pattern, name in _OF_A_RUN:
        said = pattern.sub(name, said)
    if os.environ.get("MESSAGES"):
        with _SAID.open("a") as said_now:
            said_now.write(json.dumps([test, said]) + "\n")
    else:
        assert said in _pinned().get(test, ()), (
            f"{said!r} is not pinned: see tests/refusals.py"
        )


if __name__ == "__main__":
    words = {}
    for test, said in sorted(
        set(map(tuple, map(json.loads, _SAID.read_text().splitlines())))
    ):
        words.setdefault(test, []).append(said)
    text = json.dumps(words, indent=1, ensure_ascii=False, sort_keys=True)
    _PINNED.write_text(text + "\n", encoding="utf-8")
    _SAID.unlink()
