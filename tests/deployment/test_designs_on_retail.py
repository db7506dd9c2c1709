"""Baskets of a shop, first items: from the plan over file, client and collector to estimates."""

from pathlib import Path

import numpy as np
import pytest

from planner import Level, Question, Survey, best_design, solve
from planner.deployment import Client
from planner.deployment.mechanisms.registry import deployed
from planner.deployment.parameter_file.building import parameters_from_mechanisms
from planner.mechanisms.aggregate import Aggregate
from planner.mechanisms.unary import UnaryMechanism

RETAIL = Path(__file__).parents[3] / "shared" / "data" / "retail.dat"
BY_CLIENT = 200  # people whose reports a client makes; the others' are drawn in bulk by its law


@pytest.fixture(scope="module")
def firsts():
    if not RETAIL.exists():
        pytest.skip(f"{RETAIL.name} is not beside the repository; see the reproduction's page")
    lines = RETAIL.read_text().splitlines()
    _, values = np.unique([int(line.split()[0]) for line in lines], return_inverse=True)
    mixed = np.random.default_rng(1).permutation(values.max() + 1)  # levels at random
    return mixed[values]


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0])
def test_first_items_of_baskets(firsts, epsilon):
    items = int(firsts.max()) + 1
    twentieth = items // 20
    rows = ((1, twentieth), (1.2, twentieth), (2, items - 2 * twentieth))
    levels = tuple(Level(f"{x}", x * epsilon, item_count=count) for x, count in rows)
    question = Question("first", levels)
    design = best_design(question.policy)
    survey = Survey("baskets", firsts.size, (question,))
    parameters = parameters_from_mechanisms(survey, {"first": design})
    client, half = Client(parameters.document), deployed(parameters.questions[0].law)
    counter, rng = half.counter(), np.random.default_rng(5)
    reports = [client.report("first", int(item)).payload for item in firsts[:BY_CLIENT]]
    counter.add(np.frombuffer(b"".join(reports), dtype=np.uint8).reshape(BY_CLIENT, -1))
    counter.add(half._mechanism.perturb(firsts[BY_CLIENT:], rng).view(np.uint8))
    assert half.signs(counter.tally(), None) == []
    aggregate: Aggregate = counter.tally().aggregate
    truth = np.bincount(firsts)
    errors = np.asarray(half.estimate([aggregate], 0.95).estimates) - truth
    predicted = half._mechanism.variance(truth)
    # The total's relative standard deviation; entropy of the system: six of them, 1e-8.
    spread = np.sqrt(2 * np.square(predicted).sum()) / predicted.sum()
    assert abs(np.square(errors).sum() / predicted.sum() - 1) < 6 * spread
    table = UnaryMechanism(solve(question.policy))
    others = table.estimate(table.aggregate(table.perturb(firsts, rng))).values - truth
    assert np.square(errors).sum() < 0.9 * np.square(others).sum()
