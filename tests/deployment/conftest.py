"""Parameters with every mechanism, and small report files."""

import csv
import json
import os
import shutil

import numpy as np
import pytest

from planner import Categorical, Level, Survey, solve
from planner.deployment import write_parameters
from planner.deployment.bulk import perturb_file
from planner.deployment.parameters import parameters_from_mechanisms
from planner.laws.law import DEVICE, Law
from tests.deployment.examples import ANSWERS, every_mechanism
from tests.deployment.report_files import counted, draw, write


@pytest.fixture(scope="session")
def parameters():
    return parameters_from_mechanisms(*every_mechanism())


@pytest.fixture(scope="session")
def parameter_file(parameters, tmp_path_factory):
    path = tmp_path_factory.mktemp("parameters") / "params.json"
    write_parameters(path, parameters)
    return path


@pytest.fixture(scope="session")
def document(parameter_file):
    return json.loads(parameter_file.read_text())


@pytest.fixture(scope="session")
def laws(document):
    """As a device reads them."""
    return {
        question["name"]: Law.read(question, DEVICE)
        for question in document["questions"]
    }


@pytest.fixture(scope="session")
def one_question():
    """Parameters for one question of 40 items in two levels, to collect with."""
    levels = (Level("few", 1.0, item_count=4), Level("many", 2.0, item_count=36))
    question = Categorical("q", levels)
    survey = Survey("pilot", 1000, (question,))
    table = solve(survey.questions[0].policy)
    return parameters_from_mechanisms(survey, {"q": table})


@pytest.fixture
def rng():
    return np.random.default_rng(20_250)


@pytest.fixture(scope="session")
def node():
    """Node.js; where it is missing the test is skipped, but not in continuous integration."""
    path = shutil.which("node")
    if path is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(
            "Node.js is not installed"
        )
    return path


@pytest.fixture(autouse=True)
def counting(counting_here):
    """Files are counted in this process, but where a module has its own ``counting_here``."""


@pytest.fixture
def collection(one_question, tmp_path, rng):
    """Ten files of reports, and their counts."""
    rows = [draw(one_question, rng, 30 + i) for i in range(10)]
    folder = tmp_path / "reports"
    folder.mkdir()
    for i, table in enumerate(rows):
        write(folder / f"{i}.parquet", one_question, table)
    return folder, sum(counted(row) for row in rows), sum(map(len, rows))


@pytest.fixture(scope="session")
def everything(parameters, tmp_path_factory):
    """Files of 3,000 people who all give the same answers, and one in four no number."""
    folder = tmp_path_factory.mktemp("everything")
    with (folder / "answers.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ANSWERS)
        writer.writeheader()
        for i in range(3000):
            writer.writerow(ANSWERS | ({"age": ""} if i % 4 == 0 else {}))
    written = perturb_file(
        parameters, folder / "answers.csv", folder / "reports"
    ).written
    assert len(written) == 1 + len(parameters.questions)  # one has two rounds
    return folder
