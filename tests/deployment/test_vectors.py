"""Conformance vectors: what a port passed once it passes for good."""

import json

from planner.deployment.parameters import make_vectors, read_parameters
from tests.deployment.examples import FILES
from tests.deployment.readers import replay


def test_python_passes_its_vectors(parameters, laws):
    made = make_vectors(parameters)
    assert {vector["question"] for vector in made["vectors"]} == set(laws)
    for vector in made["vectors"]:
        assert replay(laws[vector["question"]], vector).hex() == vector["report"]


def test_vectors_do_not_change_by_accident():
    """A frozen copy: what a port passed once it passes for good."""
    frozen = json.loads((FILES / "vectors.json").read_text())
    assert make_vectors(read_parameters(FILES / "parameters.json")) == frozen
