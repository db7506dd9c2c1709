"""The parameter file as a whole: there and back, never altered, never written twice."""

import json
from dataclasses import replace

import pytest

from planner import InputError, VerificationError
from planner.deployment import Client
from planner.deployment.client.document import content_hash
from planner.deployment.parameters import (
    Parameters,
    make_vectors,
    read_parameters,
    write_parameters,
)
from planner.survey.questions import Survey
from tests.deployment.examples import FILES, SMALL, with_tables
from tests.deployment.readers import replay


def test_every_mechanism_there_and_back(parameters, parameter_file):
    assert read_parameters(parameter_file) == parameters
    found = {law.mechanism for law in parameters.questions}
    assert len(found) == 13
    for law in parameters.questions:
        # Budgets are kept, and not idle: the tightest pair comes close to its own.
        gaps = [pair.demanded - pair.realised for pair in law.pairs]
        assert 0 <= min(gaps) < 0.65, law.name


def test_a_frozen_file_stays_readable():
    path = FILES / "parameters.json"
    parameters, client = read_parameters(path), Client(path)
    assert client.questions == tuple(law.name for law in parameters.questions)
    assert client.parameter_hash == parameters.hash


def test_writing_refuses_another_hash(parameters, tmp_path):
    altered = replace(parameters, document={**parameters.document, "users": 7})
    with pytest.raises(InputError, match="hash"):
        write_parameters(tmp_path / "x.json", altered)
    assert not list(tmp_path.iterdir())


def _at(parameters, created):
    document = parameters.document | {"created": created}
    return Parameters.of(document | {"hash": content_hash(document)})


def test_the_same_plan_exported_again_keeps_the_file_and_its_hash(tmp_path):
    path, parameters = tmp_path / "params.json", with_tables(SMALL)
    write_parameters(path, _at(parameters, "2026-01-01T00:00:00Z"))
    before = path.read_bytes()
    write_parameters(path, _at(parameters, "2026-01-02T00:00:00Z"))
    assert path.read_bytes() == before
    longer = Survey("health", 200_000, SMALL.questions)
    write_parameters(path, with_tables(longer))
    assert path.read_bytes() != before


def test_what_does_not_verify_is_not_written(small_parameters, tmp_path):
    document = json.loads(small_parameters.to_json())
    document["questions"][0]["a"][0] += 10_000
    sealed = replace(small_parameters, document=document | {"hash": content_hash(document)})
    with pytest.raises(VerificationError, match=r"Question 'diagnosis': Levels .* realise"):
        write_parameters(tmp_path / "copy.json", sealed)
    assert not list(tmp_path.iterdir())


def test_questions_are_found_by_name(parameters, one_question):
    assert parameters.question("grr").name == "grr"
    assert one_question.question() is one_question.question("q") is one_question.questions[0]
    for name, said in ((None, "missing"), ("nobody", "'nobody'")):
        with pytest.raises(InputError, match=f"question is {said} but must be one of idue, "):
            parameters.question(name)


def test_python_passes_its_vectors(parameters, laws):
    made = make_vectors(parameters)
    assert {vector["question"] for vector in made["vectors"]} == set(laws)
    for vector in made["vectors"]:
        assert replay(laws[vector["question"]], vector).hex() == vector["report"]


def test_vectors_do_not_change_by_accident():
    """A frozen copy: what a port passed once it passes for good."""
    frozen = json.loads((FILES / "vectors.json").read_text())
    assert make_vectors(read_parameters(FILES / "parameters.json")) == frozen
