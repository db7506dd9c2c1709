"""Thousands of mutated files: refused by a named error, or private all the same.

`make sweep` tries fifty-seven thousand.
"""

import copy
import json

import numpy as np
import pytest

from planner.deployment.parameters import parse_parameters
from planner.errors import PlannerError
from tests.deployment.examples import ANSWERS, singles
from tests.deployment.mutations import garbled, mutated, paths_of
from tests.effort import tries
from tests.laws.oracle import breaches, members

CHANGED, GARBLED = tries(150, 2200), tries(1000, 11_800)


def read_anyhow(data):
    """Parameters, or None if they are refused by a named error."""
    try:
        return parse_parameters(data)
    except PlannerError:
        return None


@pytest.mark.parametrize("which", range(len(ANSWERS)))
def test_mutated_files_are_refused_or_private(document, which):
    """Documents changed and sealed again: no crash, nothing that is not private."""
    rng = np.random.default_rng(1000 + which)
    text = json.dumps(singles(document)[which])
    places = [path for path in paths_of(json.loads(text)) if path and path[0] != "hash"]
    accepted = 0
    for _ in range(CHANGED):
        altered = mutated(text, places, rng)
        parameters = read_anyhow(json.dumps(altered))
        if parameters is not None:
            accepted += 1
            parameters.verify()
            assert all(private(question) for question in parameters.document["questions"])
    assert 0 < accepted < CHANGED  # names may change, little else


def private(question):
    """Whether the listed reports keep every budget; what has too many is left to the proof.

    Sets as a whole are listed in ``tests/laws/test_staircase.py``.
    """
    if question["law"] == "staircase" or sum(count for count, _ in members(question)) > 12:
        return True
    return breaches(question) == []


def test_garbled_files_are_refused_or_private(document):
    """Files with damaged bytes: the hash betrays all but a 17th digit, which changes nothing."""
    rng = np.random.default_rng(2)
    text = json.dumps(singles(document)[0], separators=(",", ":")).encode()
    accepted = 0
    for _ in range(GARBLED):
        data = garbled(text, rng)
        parameters = read_anyhow(data)
        if parameters is not None:
            accepted += data != text
            assert all(private(question) for question in parameters.document["questions"])
    assert accepted < GARBLED / 100


def test_the_oracle_sees_a_breach(document):
    """The independent check above rejects what is wrong by a thousandth."""
    for single in singles(copy.deepcopy(document)):
        (question,) = single["questions"]
        if question["law"] == "staircase":
            continue
        assert breaches(question) == []
        for level in question.get("levels", [question]):
            level["epsilon"] *= 0.5
        if isinstance(question.get("rule"), list):
            question["rule"] = [[r and r / 2 for r in row] for row in question["rule"]]
        assert breaches(question) != []
