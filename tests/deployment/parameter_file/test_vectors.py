"""Conformance vectors: what a port passed once it passes for good."""

import json

import pytest

from planner.deployment.parameter_file.parameters import read_parameters
from planner.deployment.parameter_file.vectors import make_vectors, replay
from planner.errors import InputError
from tests.deployment.examples import FILES


def test_python_passes_its_vectors(parameters, encoders):
    made = make_vectors(parameters)
    assert {vector["question"] for vector in made["vectors"]} == set(encoders)
    for vector in made["vectors"]:
        assert replay(encoders[vector["question"]], vector).hex() == vector["report"]
    vector = next(one for one in made["vectors"] if one["question"] == "idue")
    longer = vector | {"entropy": vector["entropy"] + "00"}
    with pytest.raises(InputError, match="left over"):
        replay(encoders["idue"], longer)


def test_vectors_do_not_change_by_accident():
    """A frozen copy: what a port passed once it passes for good."""

    frozen = json.loads((FILES / "vectors.json").read_text())
    assert make_vectors(read_parameters(FILES / "version2.json")) == frozen
