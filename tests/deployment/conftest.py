"""Parameters with every mechanism, and small report files."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from planner import Level, Question, Survey, solve
from planner.deployment.building import parameters_from_mechanisms
from planner.deployment.document.canonical import content_hash
from planner.deployment.parameters import write_parameters
from planner.mechanisms.bisample import BiSampleMD
from planner.mechanisms.direct import GeneralizedRandomizedResponse
from planner.mechanisms.hashing import OptimizedLocalHashing
from planner.mechanisms.padding import PaddedUnaryMechanism
from planner.mechanisms.subset import SubsetSelection
from planner.mechanisms.unary import UnaryMechanism
from planner.numeric_domain import NumericDomain
from planner.planning.sampling.plan import ACKNOWLEDGEMENTS, plan_sampling_survey
from planner.survey import Numeric, Sampling

FILES = Path(__file__).parent / "files"
LEVELS = (Level("severe", 1.0, ("HIV",)), Level("common", 2.0, ("flu", "cold", "x", "é\n")))
MATRIX = ((1.0, 3.0), (3.0, 2.0))


def every_mechanism():
    """A survey, and a mechanism for each of its questions; as many as there are kinds."""
    rules = {"idue": "min", "avg": "avg", "matrix": MATRIX}
    names = [*rules, "rappor", "oue", "sets", "grr", "olh", "subset"]
    questions = [Question(name, LEVELS, rules.get(name, "min")) for name in names]
    ages, yes = NumericDomain(17, 90), NumericDomain(0, 1, yes_no=True)
    questions += [
        Question("age", (), kind="numeric", numeric=Numeric(ages)),
        Question("yes", (), kind="numeric", numeric=Numeric(yes)),
        Question(
            "sampled",
            (
                Level("a", 1.0, ("u", "v"), yes_counts=(10, 20)),
                Level("b", 1.5, ("w",), yes_counts=(30,)),
            ),
            kind="sampled-choice",
            sampling=Sampling("round-two", ACKNOWLEDGEMENTS["round-two"]),
        ),
    ]
    survey = Survey("every mechanism", 1000, tuple(questions))
    tables = {question.name: solve(question.policy) for question in questions[:3]}
    mechanisms = tables | {
        "rappor": UnaryMechanism.rappor(1.0, 5),
        "oue": UnaryMechanism.oue(1.0, 5),
        "sets": PaddedUnaryMechanism(UnaryMechanism(tables["idue"]), 3),
        "grr": GeneralizedRandomizedResponse(1.0, 5),
        "olh": OptimizedLocalHashing(1.0, 5),
        "subset": SubsetSelection(1.0, 5),
        "age": BiSampleMD(2.0, ages),
        "yes": BiSampleMD(1.0, yes),
        "sampled": plan_sampling_survey(survey)["sampled"],
    }
    return survey, mechanisms


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


def sealed(document):
    """The document with the hash that belongs to it."""
    return document | {"hash": content_hash(document)}


@pytest.fixture(scope="session")
def one_question():
    """Parameters for one question of 40 items in two levels, to collect with."""
    levels = (Level("few", 1.0, item_count=4), Level("many", 2.0, item_count=36))
    survey = Survey("pilot", 1000, (Question("q", levels),))
    return parameters_from_mechanisms(survey, {"q": solve(survey.questions[0].policy)})


@pytest.fixture
def rng():
    return np.random.default_rng(20_250)


@pytest.fixture(scope="session")
def node():
    """Node.js; where it is missing the test is skipped, but not in continuous integration."""
    found = shutil.which("node")
    if found is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("Node.js is not installed")
    return found
