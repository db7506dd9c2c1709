"""The parameter file as a whole: there and back, never altered, never written twice."""

import json
from dataclasses import replace

import pytest

from planner import InputError, VerificationError
from planner.deployment.parameters import (
    Parameters,
    make_vectors,
    read_parameters,
    write_parameters,
)
from tests.deployment.examples import FILES, sealed


def test_every_mechanism_there_and_back(parameters, parameter_file):
    assert read_parameters(parameter_file) == parameters
    found = {law.mechanism for law in parameters.questions}
    assert len(found) == 13
    for law in parameters.questions:
        # Budgets are kept, and not idle: the tightest pair comes close to its own.
        gaps = [pair.demanded - pair.realised for pair in law.pairs]
        assert 0 <= min(gaps) < 0.65, law.name


def test_the_same_plan_exported_again_keeps_the_file_and_its_hash(one_question, tmp_path):
    path, days = tmp_path / "params.json", ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z")
    first, again = (sealed(one_question.document | {"created": day}) for day in days)
    write_parameters(path, Parameters.of(first))
    before = path.read_bytes()
    write_parameters(path, Parameters.of(again))
    assert path.read_bytes() == before
    write_parameters(path, Parameters.of(sealed(first | {"users": 2000})))
    assert path.read_bytes() != before


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
    for name, said in ((None, "missing"), ("nobody", "'nobody'")):
        with pytest.raises(InputError, match=f"question is {said} but must be one of idue, "):
            parameters.question(name)


def test_vectors_do_not_change_by_accident():
    """A frozen copy: what a port passed once it passes for good."""
    frozen = json.loads((FILES / "vectors.json").read_text())
    assert make_vectors(read_parameters(FILES / "parameters.json")) == frozen
