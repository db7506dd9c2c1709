"""The command: ours pass, in Python and JavaScript; a tampered one does not.

By the system's randomness: each is accused falsely with a probability of 1e-6 at most.
"""

import json
import sys

import pytest

from planner import Categorical, Level, Survey, randomized_response
from planner.deployment import write_parameters
from planner.deployment.building import parameters_from_mechanisms
from tests.cli.running import ended
from tests.deployment.conftest import node  # noqa: F401
from tests.deployment.readers import CLIENT

LIAR = """
import json, sys
for number, line in enumerate(sys.stdin):
    answer = json.loads(line)
    print(json.dumps({"id": "%016x" % number, "report": "AAAA" if answer == "flu" else "AAAB"}))
"""


@pytest.fixture(scope="module")
def grr_file(tmp_path_factory):
    question = Categorical("q", (Level("all", 1.0, ("flu", "cold", "é")),))
    survey = Survey("s", 1000, (question,))
    parameters = parameters_from_mechanisms(survey, {"q": randomized_response(1.0, items=3)})
    path = tmp_path_factory.mktemp("audit") / "params.json"
    write_parameters(path, parameters)
    return str(path)


def test_the_javascript_client_passes(grr_file, node):  # noqa: F811
    command = [node, str(CLIENT), grr_file, "q", "--lines"]
    done = ended("audit", grr_file, "--reports", "5000", "--json", "--", *command)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["passed"]
    assert 0 < document["visible"] < 0.1
    assert "No fault found" in document["summary"]


def test_a_tampered_client_is_caught(grr_file):
    options = ("--reports", "500", "--answer", "flu", "--answer", '"cold"', "--json")
    done = ended("audit", grr_file, *options, "--", sys.executable, "-c", LIAR)
    assert done.returncode == 4
    document = json.loads(done.stdout)
    assert not document["passed"]
    assert "byte for byte" in document["faults"][0]


def test_a_command_that_fails_is_no_verdict(grr_file):
    done = ended("audit", grr_file, "--reports", "200", "--", sys.executable, "-c", "pass")
    assert done.returncode == 1
    assert "reports is 0" in done.stderr
