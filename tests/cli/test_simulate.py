"""The commands that try and audit: ours pass, in Python and JavaScript; a tampered one does not.

By the system's randomness: each is accused falsely with a probability of 1e-6 at most.
"""

import json
import sys
from pathlib import Path

import pytest

from planner import (
    Categorical,
    ItemSet,
    Level,
    Numeric,
    Ordinal,
    Survey,
    randomized_response,
)
from planner.deployment import write_parameters
from planner.deployment.parameters import parameters_from_mechanisms
from planner.survey.asked_again import AskedAgain
from planner.survey.survey import survey_text
from tests.cli.running import ended, shown
from tests.deployment.conftest import node  # noqa: F401
from tests.deployment.readers import CLIENT
from tests.refusals import refused

LEVELS = (Level("few", 1.0, item_count=1), Level("many", 2.0, item_count=2))
BASKET = ItemSet("basket", LEVELS, padding_length=2)
CHOICE = Categorical("basket", LEVELS)
HOURS = Ordinal("hours", (Level("all", 2.0, ("0", "1-4", "5+")),))
AGE = Numeric("age", 0, 90, epsilon=2.0)


def write(path, *questions):
    survey = Survey("shop", 3, questions)
    text = survey_text(survey)
    path.write_text(text)
    return str(path)


@pytest.fixture
def files(tmp_path):
    (tmp_path / "basket.dat").write_text("0 1\n2\n1 2\n\n0 1 2\n" * 20)
    return [
        write(tmp_path / "survey.toml", BASKET),
        "--data",
        str(tmp_path / "basket.dat"),
    ]


def test_command_prints_predicted_beside_measured(files):
    page = shown("simulate", *files)
    assert "basket: 100 people, 3 answers, sets cut or padded to 2" in page
    assert "IDUE opt0" in page
    assert "predicted error on these answers" in page
    single = shown("simulate", *files, "--first-item")
    assert "padded to 2" in single  # what is deployed does not depend on the data
    write(Path(files[0]), CHOICE)
    assert "GRR" in shown("simulate", *files, "--first-item")
    with refused("'0 1' must be the name of an item of this"):
        shown("simulate", *files)


def test_command_prints_json_and_repeats_itself(files):
    words = ("simulate", *files, "--json", "--repeats", "2", "--seed")
    first = shown(*words, "7")
    again = shown(*words, "7")
    assert first == again
    document = json.loads(first)
    assert document["people"] == 100
    assert document["asked"] == 100
    assert document["unit"] == "people"
    assert document["mechanisms"][0]["name"] == "set-design"
    other = shown(*words, "8")
    assert other != first
    printed = shown("simulate", *files, "--json", "--repeats", "1")
    once = json.loads(printed)
    assert once["mechanisms"][0]["spread"] is None


def test_command_refuses_bad_options(files):
    for bad in (["--repeats", "0"], ["--seed", "-1"], ["--question", "x"]):
        with refused("question", "repeats", "seed"):
            shown("simulate", *files, *bad)


def test_several_questions_need_a_choice(files, tmp_path):
    several = write(tmp_path / "several.toml", BASKET, BASKET.replacing(name="other"))
    words = ["simulate", several, *files[1:]]
    with refused("question"):
        shown(*words)
    assert "other: 100 people" in shown(*words, "--question", "other")


@pytest.fixture
def asked(tmp_path):
    survey = write(tmp_path / "survey.toml", HOURS, AGE)
    rows = "0,30\n1-4,\n5+,41.5\n" * 100
    (tmp_path / "answers.csv").write_text(f"hours,age\n{rows}")
    return ["simulate", survey, "--data", tmp_path / "answers.csv", "--question"]


def test_ordered_answers_and_their_mean_are_simulated(asked, tmp_path):
    page = shown(*asked, "hours", "--first-item")
    assert "hours: 300 people" in page
    assert "intervals, all at once, hold" in page
    printed = shown(*asked, "hours", "--json", "--repeats", "1")
    document = json.loads(printed)
    assert [mechanism["name"] for mechanism in document["mechanisms"]] == [
        "channel",
        "subset-design",
        "grr",
    ]
    assert document["mechanisms"][0]["spread"] is None
    write(
        tmp_path / "survey.toml",
        HOURS.replacing(wanted="mean of scores", scores=(0, 2, 7)),
    )
    assert "Error of the mean, measured and predicted" in shown(*asked, "hours")


def test_numbers_are_simulated(asked):
    assert "age: 300 people, 100 without an answer" in shown(*asked, "age")
    printed = shown(*asked, "age", "--json")
    document = json.loads(printed)
    assert document["missing"] == 100
    assert [mechanism["name"] for mechanism in document["mechanisms"]] == [
        "channel",
        "bisample-md",
    ]


def test_what_is_asked_again_is_tried_in_one_round_and_says_so(tmp_path):
    survey = tmp_path / "survey.toml"
    data = tmp_path / "answers.csv"
    rounds = AskedAgain(3, 1)
    write(survey, CHOICE.replacing(rounds=rounds))
    data.write_text("basket\n" + "0\n" * 30 + "1\n" * 50 + "2\n" * 20)
    page = " ".join(
        shown("simulate", str(survey), "--data", str(data), "--repeats", "2").split()
    )
    assert "tried in one round" in page
    assert "100 people, 33 of them in a round" in page


# -- the command: ours pass, in Python and JavaScript; a tampered one does not -----------


LIAR = """
import json, sys
for number, line in enumerate(sys.stdin):
    answer = json.loads(line)
    print(json.dumps({"id": "%016x" % number, "report": "AAAA" if answer == "flu" else "AAAB"}))
"""


@pytest.fixture(scope="module")
def grr_file(tmp_path_factory):
    level = Level("all", 1.0, ("flu", "cold", "é"))
    question = Categorical("q", (level,))
    survey = Survey("s", 1000, (question,))
    parameters = parameters_from_mechanisms(
        survey, {"q": randomized_response(1.0, items=3)}
    )
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
    done = ended(
        "audit", grr_file, "--reports", "200", "--", sys.executable, "-c", "pass"
    )
    assert done.returncode == 1
    assert "reports is 0" in done.stderr
