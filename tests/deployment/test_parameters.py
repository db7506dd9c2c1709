"""The parameter file as a whole: there and back, never altered, never written twice."""

import json
import time
from dataclasses import replace

import pytest

from planner import InputError, VerificationError, plan_survey
from planner.deployment.building import survey_parameters
from planner.deployment.parameters import make_vectors, read_parameters, write_parameters
from planner.planning.solve import forget
from tests.deployment.examples import FILES, sealed
from tests.refusals import refused
from tests.surveys import EXAMPLES


def test_every_mechanism_there_and_back(parameters, parameter_file):
    assert read_parameters(parameter_file) == parameters
    found = {law.mechanism for law in parameters.questions}
    assert len(found) == 13
    for law in parameters.questions:
        # Budgets are kept, and not idle: the tightest pair comes close to its own.
        gaps = [pair.demanded - pair.realised for pair in law.pairs]
        assert 0 <= min(gaps) < 0.65, law.name


def test_the_same_plan_is_the_same_file_byte_for_byte():
    """Whenever it is made: with another hash clients would spend the budgets again."""
    first = survey_parameters(plan_survey(EXAMPLES / "clinic.toml")).to_json()
    time.sleep(1)  # the least step of a clock in a file
    forget()  # what was solved
    assert survey_parameters(plan_survey(EXAMPLES / "clinic.toml")).to_json() == first


def test_what_does_not_verify_is_not_written(one_question, tmp_path):
    document = json.loads(one_question.to_json())
    document["questions"][0]["a"][0] += 10_000
    for one, error, reason in (
        (document, InputError, "hash"),
        (sealed(document), VerificationError, r"Question 'q': Levels .* realise"),
    ):
        with pytest.raises(error, match=reason):
            write_parameters(tmp_path / "copy.json", replace(one_question, document=one))
    assert not list(tmp_path.iterdir())


def test_questions_are_found_by_name(parameters, one_question):
    assert parameters.question("grr").name == "grr"
    assert one_question.question() is one_question.question("q") is one_question.questions[0]
    for name in (None, "nobody"):
        with refused():
            parameters.question(name)


def test_vectors_do_not_change_by_accident():
    """A frozen copy: what a port passed once it passes for good."""
    frozen = json.loads((FILES / "vectors.json").read_text())
    assert make_vectors(read_parameters(FILES / "parameters.json")) == frozen
