"""Thousands of mutated files: refused by a named error, or private all the same.

`make sweep` tries fifty-seven thousand.
"""

import copy
import json

import numpy as np
import pytest

from planner.deployment.parameter_file.parameters import parse_parameters
from planner.errors import PlannerError
from tests.deployment.examples import FILES, singles
from tests.deployment.mutations import breach, garbled, mutated, paths_of
from tests.effort import tries

CHANGED, GARBLED = tries(150, 2200), tries(1000, 11_800)


def read_anyhow(data):
    """Parameters, or None if they are refused by a named error."""
    try:
        return parse_parameters(data)
    except PlannerError:
        return None


@pytest.mark.parametrize("which", range(15))
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
            assert all(breach(question) <= 1e-12 for question in altered["questions"])
    assert 0 < accepted < CHANGED  # names and predictions may change, little else


@pytest.mark.parametrize("version", [1, 2])
def test_garbled_files_are_refused_or_private(document, version):
    """Files with damaged bytes; version 1 has no hash to betray the damage."""
    rng = np.random.default_rng(version)
    text = json.dumps(singles(document)[0], separators=(",", ":")).encode()
    if version == 1:
        text = (FILES / "version1.json").read_bytes()
    accepted = 0
    for _ in range(GARBLED):
        data = garbled(text, rng)
        parameters = read_anyhow(data)
        if parameters is not None:
            accepted += data != text
            assert all(breach(question) <= 1e-12 for question in json.loads(data)["questions"])
    # Of version 2 a 17th digit may change nothing.
    assert accepted > 0 if version == 1 else accepted < GARBLED / 100


def test_the_oracle_sees_a_breach(document):
    """The independent check above rejects what is wrong by a millionth."""
    for single in singles(document):
        question = copy.deepcopy(single["questions"][0])
        assert breach(question) <= 0
        key = "epsilon"
        for level in question.get("levels", [question]):
            level[key] *= 0.5
        if isinstance(question.get("rule"), list):
            question["rule"] = [
                [None if entry is None else entry / 2 for entry in row] for row in question["rule"]
            ]
        assert breach(question) > 1e-6
