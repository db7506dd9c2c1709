"""Sets of a shop's baskets: from the plan over file, client and collector."""

from pathlib import Path

import numpy as np
import pytest

from planner import AssumedSets, ItemSet, ItemSets, Level, Survey, plan_survey
from planner.deployment import Client
from planner.deployment.parameters import survey_parameters
from planner.mechanisms.words import system_words

RETAIL = Path(__file__).parents[3] / "shared" / "data" / "retail.dat"
PEOPLE, FREQUENT = 5_000, 150
# A twentieth of the items at budget 2 and at 2.4 each, the others at 4.
LEVELS = tuple(Level(f"{x}", x, item_count=count) for x, count in ((2.0, 7), (2.4, 7), (4.0, 136)))
BY_CLIENT = 200  # people whose reports a client makes; the others' are drawn in bulk by its law


@pytest.fixture(scope="module")
def baskets():
    """What the first people bought of the most frequent items, numbered at random."""
    if not RETAIL.exists():
        pytest.skip(f"{RETAIL.name} is not beside the repository; see the reproduction's page")
    lines = RETAIL.read_text().splitlines()[:PEOPLE]
    bought = [[int(item) for item in line.split()] for line in lines]
    frequent = np.bincount(np.concatenate(bought)).argsort()[::-1][:FREQUENT]
    mixed = np.random.default_rng(1).permutation(FREQUENT).tolist()
    number = dict(zip(frequent.tolist(), mixed, strict=True))
    return [tuple(sorted(number[item] for item in one if item in number)) for one in bought]


def collected(parameters, people):
    """Estimates from real draws, of the client and in bulk."""
    client, law = Client(parameters.document), parameters.questions[0]
    counter = law.shape.counter()
    reports = [client.report(law.name, list(one)).payload for one in people[:BY_CLIENT]]
    counter.add(np.frombuffer(b"".join(reports), dtype=np.uint8).reshape(BY_CLIENT, -1))
    counter.add(law.draw_many(people[BY_CLIENT:], system_words())[0])
    return law.rows([counter.sums()], 0.95)["estimate"]


def test_sets_of_baskets(baskets):
    people = ItemSets.of(baskets, FREQUENT)
    question = ItemSet("basket", LEVELS, sets=AssumedSets(np.bincount(people.sizes)))
    survey = Survey("baskets", PEOPLE, (question,))
    plan = plan_survey(survey)
    mechanism = plan.questions[0].mechanism
    parameters = survey_parameters(plan)
    assert parameters.questions[0].mechanism == "set-design"
    estimates = collected(parameters, baskets)
    ours = as_predicted(estimates, mechanism, people)
    table = survey.replacing(questions=(question.replacing(mechanism="opt0"),))
    usual, rng = plan_survey(table).questions[0].mechanism, np.random.default_rng(5)
    counted = usual.draw_aggregate(people, rng)
    theirs = as_predicted(usual.estimate(counted).values, usual, people)
    assert ours < 0.8 * theirs


def as_predicted(estimates, mechanism, people):
    """The exact expected squared error for these very people, which the measured one is near."""
    bias, variance = mechanism.bias(people), mechanism.variance(people)
    expected = np.square(bias).sum() + variance.sum()
    spread = np.sqrt((2 * np.square(variance) + 4 * np.square(bias) * variance).sum())
    # Entropy of the system: seven standard deviations of the total, 7e-9 (as a chi-square).
    assert abs(np.square(estimates - people.counts()).sum() - expected) < 7 * spread < expected
    return expected
