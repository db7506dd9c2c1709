"""The command: what outsiders learn, and the local budget for a wanted central epsilon."""

import json

import pytest

from planner.outsiders import shuffled
from planner.outsiders.shapes import Anything
from planner.policy.policy import PrivacyPolicy
from tests.cli.running import invoke
from tests.surveys import EXAMPLES

SURVEY = EXAMPLES / "answer-rate.toml"


def test_a_local_budget_for_a_wanted_epsilon():
    options = ("--epsilon", "0.05", "--delta", "1e-8")
    document = json.loads(invoke("outsiders", SURVEY, *options, "--json").stdout)
    (question,) = document["questions"]
    assert document["delta"] == 1e-8
    assert question["wanted"]["epsilon"] == 0.05
    nats = question["wanted"]["local_budget"]

    def central(budget):
        people = question["shuffled"]["people"]
        return shuffled(Anything(PrivacyPolicy([budget], [2])), people, 1e-8).epsilon

    assert central(nats) <= 0.05 * 1.001 < central(1.01 * nats)  # 1.001: epsilon is bracketed
    text = " ".join(invoke("outsiders", SURVEY, *options).stdout.split())
    assert f"keeps a plain budget of {int(nats * 1e4) / 1e4:.4f} nats" in text
    assert text.count("holds if a shuffler") == 2


def test_an_epsilon_that_no_budget_reaches():
    done = invoke("outsiders", SURVEY, "--epsilon", "1e-12")
    assert done.exit_code == 1
    assert "Ask more people" in str(done.exception)


@pytest.mark.parametrize("epsilon", ["0", "-1"])
def test_an_epsilon_out_of_range(epsilon):
    done = invoke("outsiders", SURVEY, "--epsilon", epsilon)
    assert done.exit_code == 1
    assert "epsilon" in str(done.exception)
