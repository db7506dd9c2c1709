"""What a parameter file says of sets that are cut, and what the collector claims by it."""

import json

import numpy as np
import pytest

from planner import AssumedSets, Level, Survey, plan_survey
from planner.deployment.building import parameters_from_mechanisms, survey_parameters
from planner.deployment.collecting.estimating import estimates_table
from planner.deployment.parameters import Parameters
from planner.mechanisms.counting import Aggregate
from planner.mechanisms.itemsets import ItemSets, PaddedUnaryMechanism
from planner.mechanisms.unary import UnaryMechanism
from planner.show.blocks import Sentence, Table
from planner.show.others import estimates_blocks
from planner.survey.questions import ItemSet

ITEMS, USERS = 30, 20_000
LEVELS = (Level("rare", 2.0, item_count=5), Level("usual", 3.0, item_count=25))


@pytest.fixture(scope="module")
def sets():
    rng = np.random.default_rng(11)
    sizes = np.minimum(ITEMS, 1 + rng.pareto(1.0, USERS).astype(np.int64))
    order = np.argsort(rng.exponential(size=(USERS, ITEMS)) * np.arange(1, ITEMS + 1), axis=1)
    return ItemSets.of([row[:size] for row, size in zip(order, sizes, strict=True)], ITEMS)


def exported(length=None, **more):
    more = {"mechanism": "opt0", "padding_length": length, **more}
    question = ItemSet("q", LEVELS, **more)
    return survey_parameters(plan_survey(Survey("s", USERS, (question,))))


def collected(parameters, sets, seed=3):
    """Estimates at 99.999999 %, from the law that everybody's reports together have."""
    (question,) = parameters.questions
    law, drawn = question.shape, np.random.default_rng(seed)
    level = np.repeat(np.arange(len(law.a)), law.levels.item_counts)
    a, b = (np.array(column)[level] / 2**32 for column in (law.a, law.b))
    slot = drawn.integers(np.maximum(sets.sizes, question.asked.padding_length))
    real = slot < sets.sizes
    items = sets.members[(sets.starts[:-1] + slot)[real]]
    held = np.bincount(items, minlength=ITEMS)
    ones = drawn.binomial(held, a) + drawn.binomial(sets.users - held, b)
    ones = np.concatenate([ones, np.zeros(law.levels.dummies, dtype=np.int64)])
    return estimates_table(parameters, {("q", None): Aggregate(sets.users, ones)}, 1 - 1e-8)


def test_limits_hold_for_the_sets_that_were_planned_with(sets):
    told = exported(1, sets=AssumedSets(np.bincount(sets.sizes)))
    (question,) = told.document["questions"]
    length, longer = question["padding_length"], question["longer_sets"]
    assert longer[-1]["size"] == sets.sizes.max()
    assert longer[0]["share"] == pytest.approx((sets.sizes > length).mean())
    assert Parameters.of(json.loads(json.dumps(told.document))).questions == told.questions
    table, truth = collected(told, sets), sets.counts()
    rows = table.to_pylist()
    for row, count in zip(rows, truth.tolist(), strict=True):
        assert row["lower"] <= count <= row["upper"]  # all 60 limits: false alarm 1e-6
        assert row["joint_lower"] <= row["lower"]
        assert row["joint_upper"] >= row["upper"]
        assert f"sets of more than {length} items were cut: on average" in row["remark"]
    # The usual interval, which ignores the cut, misses the most frequent item by far.
    first = rows[int(np.argmax(truth))]
    assert first["estimate"] + 8 * first["standard_error"] < truth.max()
    assert f"{first['lower']:,.1f} to" in page_of(table)


def page_of(table):
    shown = estimates_blocks(table, 0.95)
    cells = [
        cell for one in shown if isinstance(one, Table) for c in one.columns for cell in c.cells
    ]
    return " ".join([*cells, *(one.text for one in shown if isinstance(one, Sentence))])


def test_nothing_is_claimed_above_where_no_sizes_are_known(sets):
    untold = exported(length=2)
    assert untold.document["questions"][0]["longer_sets"] is None
    table = collected(untold, sets)
    for row, count in zip(table.to_pylist(), sets.counts().tolist(), strict=True):
        assert row["lower"] <= count
        assert row["upper"] is row["joint_upper"] is None
        assert "by an unknown number of people, without upper limits" in row["remark"]
    page = page_of(table)
    assert "at least" in page
    assert "their number is not stated" in page


def test_nothing_is_said_where_nothing_is_cut(sets):
    whole = exported(length=ITEMS)
    assert whole.document["questions"][0]["longer_sets"] == []
    rows = collected(whole, sets).to_pylist()
    assert {row["remark"] for row in rows} == {
        "processed: clipped to [0, users]; no longer unbiased"
    }
    assert all(row["lower"] <= row["estimate"] <= row["upper"] for row in rows)


def test_a_mechanism_of_which_nothing_is_said_states_nothing():
    mechanism = PaddedUnaryMechanism(UnaryMechanism.oue(2.0, ITEMS), 2)
    question = ItemSet("q", LEVELS, padding_length=2)
    made = parameters_from_mechanisms(Survey("s", 9, (question,)), {"q": mechanism})
    assert made.questions[0].asked.longer_sets is None
