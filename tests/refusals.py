"""What is refused, and in which words.

A test says which argument is refused; ``words.json`` beside this file holds what users then read,
by argument, so that a change of words is reviewed in one place. ``WORDS=1 pytest tests/...``
collects what is said now, and ``python -m tests.refusals`` adds it to the file. After all tests,
``WORDS=1 make test``, ``python -m tests.refusals --all`` takes out what is said no longer, too.
"""

import json
import os
import re
import sys
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from planner.errors import InputError

_TABLE = Path(__file__).with_name("words.json")
_SAID = _TABLE.with_suffix(".said")
_OF_A_RUN = (
    (re.compile(r"/\S*/pytest-of-[^/]+/pytest-\d+/(popen-gw\d+/)?[^/\s:,']+'?"), "TMP"),
    (re.compile(r"(?<![\w:/])/[\w.-]+/[^\s':,]*'?>?"), "PATH"),
    (re.compile(r"(?<=127\.0\.0\.1:)\d+"), "PORT"),
    (re.compile(r"(?<=\d\.\d{5})\d+"), ""),  # digits that are a solver's
    (re.compile(r"(?<=\(known are )[^)]*"), "..."),  # a list of keys grows
)


@cache
def _table():
    return json.loads(_TABLE.read_text(encoding="utf-8"))


def code_of(error):
    """The argument that an error names, without its indices; else the error's kind.

    >>> code_of(InputError("epsilons[2]", -1.0, "above 0", "Raise it."))
    'epsilons'
    """
    argument = getattr(error, "argument", "file")
    if argument == "file":
        return type(error).__name__
    return re.sub(r"\[[^\]]*\]", "", argument)


@contextmanager
def refused(*codes, kind=InputError):
    """Expects an error of this kind: of one of these arguments, or saying one of these phrases."""
    with pytest.raises(kind) as caught:
        yield caught
    code = code_of(caught.value)
    message = str(caught.value)
    if codes:
        named = code in codes or any(phrase in message for phrase in codes)
        assert named, f"{message!r} is of {code!r}, not of {codes}"
    for pattern, name in _OF_A_RUN:
        message = pattern.sub(name, message)
    if os.environ.get("WORDS"):
        with _SAID.open("a") as said_now:
            said_now.write(json.dumps([code, message]) + "\n")
    else:
        assert message in _table().get(code, ()), (
            f"{message!r} is not in tests/words.json: see tests/refusals.py"
        )


def _collected():
    """What the tests said, by argument."""
    words = {}
    for line in _SAID.read_text(encoding="utf-8").splitlines():
        code, message = json.loads(line)
        words.setdefault(code, set()).add(message)
    return words


if __name__ == "__main__":
    said = _collected()
    if _TABLE.exists():
        known = _table()
    else:
        known = {}
    for code, messages in known.items():
        unsaid = set(messages) - said.get(code, set())
        if "--all" in sys.argv:
            sys.stdout.writelines(
                f"No longer said: {words}\n" for words in sorted(unsaid)
            )
        else:
            said.setdefault(code, set()).update(unsaid)
    table = {code: sorted(messages) for code, messages in said.items()}
    text = json.dumps(table, indent=1, ensure_ascii=False, sort_keys=True)
    _TABLE.write_text(text + "\n", encoding="utf-8")
    _SAID.unlink()
