"""A client that dies anywhere between deciding, storing and sending: a round has one report."""

import json
import subprocess
import sys
from base64 import b64decode
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from tests.deployment.asked_again import ONCE, VALUE, asked_again, person_of_value
from tests.deployment.readers import CLIENT

HERE = Path(__file__).parent
OWN = 2
ASKED = [
    (ONCE, [(OWN, "a", False)], [(OWN, "b", False)]),
    (VALUE, [(1, "a", False), (2, "b", True)], [(2, "c", True), (3, "c", False)]),
]


@contextmanager
def python(_request):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, HERE / "killed.py"], **pipes) as process:  # noqa: S603

        def ask(words):
            text = json.dumps(words)
            print(text, file=process.stdin, flush=True)
            return json.loads(process.stdout.readline())

        yield partial(deaths, ask)


@contextmanager
def javascript(request):
    node = request.getfixturevalue("node")

    def sessions(words, folder, key, _step):
        memory = str(folder / f"{key} {words['late']}")
        words = words | {"folder": memory, "client": CLIENT.as_uri()}
        text = json.dumps(words)
        call = [node, HERE / "killed.mjs", text]
        done = subprocess.run(call, capture_output=True, text=True, check=True)  # noqa: S603
        return [
            list(map(json.loads, json.loads(line))) for line in done.stdout.splitlines()
        ]

    yield sessions


def deaths(ask, words, folder, key, step):
    """What was sent before a death and after it, for every stage from the first to none."""
    for n in count():
        words = words | {"memory": str(folder / f"{key} {n} {words['late']}")}
        died, before = ask(words | {"death": {key: n * step}})
        ended, after = ask(words | {"asked": words["again"], "death": {}})
        assert ended == 0
        yield before + after
        if not died:
            return


def check(rounds, sessions):
    """A round has one report, and a value is counted and drawn for once; how many there are."""
    for stages, sent in enumerate(sessions, 1):
        by_round = {}
        for line in sent:
            text = json.dumps(line)
            by_round.setdefault(line["round"], set()).add(text)
        assert all(len(same) == 1 for same in by_round.values()), (
            f"two reports of one round, {stages}"
        )
        if rounds is ONCE:
            assert list(by_round) == [OWN]
        else:
            reports = [b64decode(json.loads(*by_round[n])["report"]) for n in (1, 2, 3)]
            assert [report[0] for report in reports] == [0, 1, 1]
            assert reports[1] == reports[2]
    return stages


@pytest.mark.parametrize("client", [python, javascript])
@pytest.mark.parametrize(("rounds", "asked", "again"), ASKED)
def test_a_client_that_is_killed_reports_once(
    request, tmp_path, client, rounds, asked, again
):
    """One that stores after sending is caught: that its ids are alike has a chance of 2^-64."""
    params = tmp_path / "params.json"
    text = json.dumps(asked_again(rounds))
    params.write_text(text)
    user = person_of_value(rounds, OWN)
    words = {
        "params": str(params),
        "user": user,
        "asked": asked,
        "again": again,
        "late": False,
    }
    with client(request) as sessions:
        assert check(rounds, sessions(words, tmp_path, "stage", 1)) > 8
        if client is python:
            assert check(rounds, sessions(words, tmp_path, "size", 2048)) > 8
        with pytest.raises(AssertionError, match="two reports of one round"):
            check(rounds, sessions(words | {"late": True}, tmp_path, "stage", 1))
