"""What a parameter file says of sets that are cut, and what the collector claims by it."""

import json
from dataclasses import replace

import numpy as np
import pytest

from planner import (
    Aggregate,
    FileError,
    InputError,
    ItemSet,
    ItemSets,
    Level,
    Ordinal,
    Survey,
    plan_survey,
)
from planner.deployment import Client, Parameters
from planner.deployment.bulk import perturb_file
from planner.deployment.collecting.collector import Collection
from planner.deployment.collecting.estimating import estimates_table
from planner.deployment.parameters import survey_parameters
from planner.estimates import item_sets
from planner.laws.levels import Levels
from planner.laws.rounds import Rounds
from planner.mechanisms import asking
from planner.mechanisms.asking import OneOfSetCollected, OrderedCollected
from planner.show.blocks import Sentence, Table
from planner.show.results import result_blocks
from planner.survey.assumed import AssumedSets
from tests.deployment.readers import asked as asked_client
from tests.refusals import refused

ITEMS = 30
USERS = 20_000
LEVELS = (Level("rare", 2.0, item_count=5), Level("usual", 3.0, item_count=25))


@pytest.fixture(scope="module")
def sets():
    rng = np.random.default_rng(11)
    sizes = np.minimum(ITEMS, 1 + rng.pareto(1.0, USERS).astype(np.int64))
    order = np.argsort(
        rng.exponential(size=(USERS, ITEMS)) * np.arange(1, ITEMS + 1), axis=1
    )
    return ItemSets.of(
        [row[:size] for row, size in zip(order, sizes, strict=True)], ITEMS
    )


def exported(length=None, **keys):
    keys = {"mechanism": "opt0", "padding_length": length, **keys}
    question = ItemSet("q", LEVELS, **keys)
    survey = Survey("s", USERS, (question,))
    plan = plan_survey(survey)
    return survey_parameters(plan)


def collected(parameters, sets, seed=3):
    """Estimates at 99.999999 %, from the law that everybody's reports together have."""
    (question,) = parameters.questions
    law = question.shape
    drawn = np.random.default_rng(seed)
    level = np.repeat(np.arange(len(law.a)), law.levels.item_counts)
    a = np.array(law.a)[level] / 2**32
    b = np.array(law.b)[level] / 2**32
    slot = drawn.integers(np.maximum(sets.sizes, question.asked.padding_length))
    real = slot < sets.sizes
    items = sets.members[(sets.starts[:-1] + slot)[real]]
    held = np.bincount(items, minlength=ITEMS)
    ones = drawn.binomial(held, a) + drawn.binomial(sets.users - held, b)
    ones = np.concatenate([ones, np.zeros(law.levels.dummies, dtype=np.int64)])
    return estimates_table(
        parameters, {("q", None): Aggregate(sets.users, ones)}, 1 - 1e-8
    )


def test_limits_hold_for_the_sets_that_were_planned_with(sets):
    stated = exported(1, sets=AssumedSets(np.bincount(sets.sizes)))
    (question,) = stated.document["questions"]
    length = question["padding_length"]
    longer = question["longer_sets"]
    assert longer[-1]["size"] == sets.sizes.max()
    expected = (sets.sizes > length).mean()
    assert longer[0]["share"] == pytest.approx(expected)
    assert (
        Parameters.of(json.loads(json.dumps(stated.document))).questions
        == stated.questions
    )
    table = collected(stated, sets)
    truth = sets.counts()
    rows = table.to_pylist()
    for row, count in zip(rows, truth.tolist(), strict=True):
        assert row["lower"] <= count <= row["upper"]  # all 60 limits: false alarm 1e-6
        assert row["joint_lower"] <= row["lower"]
        assert row["joint_upper"] >= row["upper"]
        assert f"sets of more than {length} items were cut: on average" in row["remark"]
    # The usual interval, which ignores the cut, misses the most frequent item by far.
    first = rows[int(np.argmax(truth))]
    assert first["estimate"] + 8 * first["standard_error"] < truth.max()
    assert f"{first['lower']:,.0f} to" in page_of(stated, table)


def page_of(stated, table):
    shown = result_blocks(stated, Collection({}, (), (), 0), table, 0.95)
    tables = [block for block in shown if isinstance(block, Table)]
    cells = [
        cell for table in tables for column in table.columns for cell in column.cells
    ]
    return " ".join(
        [*cells, *(block.text for block in shown if isinstance(block, Sentence))]
    )


def test_nothing_is_claimed_above_where_no_sizes_are_known(sets):
    untold = exported(length=2)
    assert untold.document["questions"][0]["longer_sets"] is None
    table = collected(untold, sets)
    for row, count in zip(table.to_pylist(), sets.counts().tolist(), strict=True):
        assert row["lower"] <= count
        assert row["upper"] is row["joint_upper"] is None
        assert "by an unknown number of people, without upper limits" in row["remark"]
    page = page_of(untold, table)
    assert "at least" in page
    assert "their number is not stated" in page


# -- sizes that were asked for -----------------------------------------------------------

SIZES = (1, 2, 4, 8, 16, ITEMS)


@pytest.fixture(scope="module")
def asked(sets):
    """Parameters, and the counts of a question about sets and of one about their sizes."""
    basket = ItemSet("basket", LEVELS, mechanism="opt0", padding_length=2)
    names = tuple(f"up to {n}" for n in SIZES)
    level = Level("all", 4.0, names)
    how_many = Ordinal("how many", (level,), scores=SIZES)
    survey = Survey("s", USERS, (basket, how_many))
    plan = plan_survey(survey)
    parameters = survey_parameters(plan)
    rng = np.random.default_rng(4)
    reports = plan.questions[0].mechanism.draw_aggregate(sets, rng)
    baskets = reports.counts
    held = np.bincount(np.searchsorted(SIZES, sets.sizes), minlength=len(SIZES))
    question = parameters.question("how many")
    rows = np.array(question.shape.rows) / 2**32
    reports = sum(rng.multinomial(n, row) for n, row in zip(held, rows, strict=True))
    counts = {"basket": baskets, "how many": reports}
    return parameters, {
        (name, None): Aggregate(USERS, count) for name, count in counts.items()
    }


def test_limits_from_sizes_that_were_asked_for_hold(asked, sets, monkeypatch):
    """False alarm 5e-7: 30 intervals at 1e-8, shares of sizes and people of them at 1e-7 each."""
    monkeypatch.setattr(asking, "SIZES_MISS", 1e-7)
    monkeypatch.setattr(item_sets, "_MISS", 1e-7)
    table = estimates_table(
        *asked, 1 - 1e-8, set_sizes={"basket": "how many"}
    ).to_pylist()
    truth = sets.counts().tolist()
    rows = [row for row in table if row["question"] == "basket"]
    for row, count in zip(rows, truth, strict=True):
        assert row["lower"] <= count <= row["upper"] < USERS
        assert "which the limits allow for" in row["remark"]
    first = rows[int(np.argmax(truth))]  # without allowance the limit misses by far
    assert first["estimate"] + 8 * first["standard_error"] < max(truth)
    untold = estimates_table(*asked).to_pylist()
    assert all(row["upper"] is None for row in untold if row["question"] == "basket")


REFUSED = [
    ({"basket": "how mny"}, "one of basket, how many"),
    (
        {"how many": "how many"},
        "set_sizes is 'ordinal' but must be of a question about item sets",
    ),
    (
        {"basket": "basket"},
        "set_sizes is 'item-set' but must be of a question about set sizes",
    ),
    ({"basket": "how many"}, "question 'how many' has none"),
]


@pytest.mark.parametrize(("names", "message"), REFUSED)
def test_set_sizes_that_say_nothing_are_refused(asked, names, message):
    parameters, sums = asked
    some = {("basket", None): sums["basket", None]}
    with pytest.raises(InputError, match=message):
        estimates_table(parameters, some, set_sizes=names)


def test_set_sizes_are_asked_for_once(asked):
    parameters, sums = asked
    question = parameters.question("how many")
    again = replace(question, again=Rounds(2))
    questions = (parameters.question("basket"), again)
    with refused("set_sizes"):
        estimates_table(
            replace(parameters, questions=questions), sums, set_sizes=REFUSED[3][0]
        )


@pytest.mark.parametrize(
    "scores",
    [(1.0, 1.0, 2.0), (0.0, 1.5, 2.0), (-1.0, 0.0, 1.0), (1.0, 2.0, 1e300), ()],
)
def test_scores_that_are_no_numbers_of_items_are_refused_before_counting(scores):
    levels = Levels(("all",), (1.0,), (3,), ((),))
    with refused("scores of set sizes"):
        OrderedCollected(levels, (0, 1, 2), scores, "counts").set_sizes()
    assert (
        OrderedCollected(levels, (0, 1, 2), (0.0, 1.0, 7.0), "counts").set_sizes() == ()
    )


def test_sizes_up_to_the_padding_length_are_not_cut():
    levels = Levels(("all",), (1.0,), (9,), ((),))
    longer = ((1, 1.0), (3, 0.6), (9, 0.25), (9, 0))
    for length, cut in (
        (1, longer[1:3]),
        (2, longer[1:3]),
        (3, longer[2:3]),
        (9, ()),
    ):
        assert OneOfSetCollected(levels, length).with_sizes(longer).longer_sets == cut


# -- sets larger than any that is stated -------------------------------------------------

TEAS = ("green", "black", "mint", "white", "red")
LARGEST = 3  # that the sizes below state


@pytest.fixture(scope="module", params=["one-of-set", "whole-set"])
def stated(request):
    """Parameters by which no set has more than three of five items."""
    if request.param == "one-of-set":
        mechanism = "opt0"
    else:
        mechanism = "set-design"
    level = (Level("all", 2.0, TEAS),)
    sizes = AssumedSets((0.1, 0.5, 0.3, 0.1))
    question = ItemSet("q", level, mechanism=mechanism, padding_length=2, sets=sizes)
    survey = Survey("s", 100, (question,))
    plan = plan_survey(survey)
    parameters = survey_parameters(plan)
    assert parameters.questions[0].asked.name == request.param
    return parameters


def test_no_client_reports_of_a_larger_set(stated, node, tmp_path):
    client = Client(stated.document)
    path = tmp_path / "params.json"
    path.write_text(stated.to_json())
    assert client.report("q", TEAS[:LARGEST]).payload
    with refused("answer"):
        client.report("q", TEAS[: LARGEST + 1])
    for size, said in ((LARGEST, ""), (LARGEST + 1, "more items than the sizes")):
        text = json.dumps(TEAS[:size])
        done = asked_client(node, path, "q", text)
        assert said in done.stderr
        assert bool(done.stdout) == (not said)


@pytest.mark.parametrize("form", ["listed", "ticked"])
def test_no_larger_set_is_randomised_from_a_file(stated, form, tmp_path):
    """Nothing is written, and the row is named."""
    rows = [TEAS[:2], TEAS[:LARGEST], TEAS[: LARGEST + 1]]
    lines = ["q", *(";".join(row) for row in rows)]
    if form == "ticked":
        ticks = [["1" if tea in row else "0" for tea in TEAS] for row in rows]
        lines = [",".join(cells) for cells in (TEAS, *ticks)]
    data = tmp_path / "data.csv"
    out = tmp_path / "out.jsonl"
    level = Level("all", 2.0, TEAS)
    question = ItemSet("q", (level,), padding_length=2)
    columned = question.replacing(columns=TEAS if form == "ticked" else ("q",))
    survey = Survey("s", 100, (columned,))
    data.write_text("\n".join(lines) + "\n")
    with pytest.raises(FileError, match=f"at most {LARGEST}") as error:
        perturb_file(stated, data, out, survey=survey)
    assert "line 4" in str(error.value)
    assert not out.exists()
    data.write_text("\n".join(lines[:3]) + "\n")
    assert perturb_file(stated, data, out, survey=survey).written == {out: 2}


def test_where_nothing_is_stated_every_set_is_taken():
    level = (Level("all", 2.0, TEAS),)
    question = ItemSet("q", level, mechanism="opt0", padding_length=2)
    survey = Survey("s", 100, (question,))
    plan = plan_survey(survey)
    parameters = survey_parameters(plan)
    client = Client(parameters.document)
    assert client.report("q", TEAS).payload
