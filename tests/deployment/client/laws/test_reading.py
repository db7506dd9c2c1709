"""From a question's JSON to its law; the outermost integers of each field, and one beyond."""

import copy
import sys

import pytest

from planner.deployment.client.mechanisms.channel import MeanChannelLaw
from planner.deployment.client.mechanisms.design import DesignLaw
from planner.deployment.client.mechanisms.hashing import HashingLaw
from planner.deployment.client.mechanisms.item_sets import DesignSetLaw, SetLaw
from planner.deployment.client.mechanisms.ordered_channel import OrderedChannelLaw
from planner.deployment.client.mechanisms.registry import LAWS
from planner.deployment.client.mechanisms.response import ResponseLaw
from planner.deployment.client.mechanisms.sampling import ACKNOWLEDGEMENTS, Guarantee, SamplingLaw
from planner.deployment.client.mechanisms.sign import SignLaw
from planner.deployment.client.mechanisms.subset import SubsetLaw
from planner.deployment.client.mechanisms.unary import UnaryLaw
from planner.deployment.client.questions import read_law
from planner.errors import InputError
from planner.limits import MAX_PADDING_LENGTH
from tests.deployment.client.laws.oracle import D, levels

LEVEL = {"name": "level 0", "epsilon": 1.0, "item_count": 4, "items": []}
WITH_BITS = {"rule": "min", "levels": [LEVEL | {"a": 5, "b": 3}]}
WITH_ITEMS = {"rule": "min", "levels": [LEVEL]}
OWN = levels((1.0,), (4,))
TOTALS = {"delta": 1e-6, "difference_epsilon": 0.5, "totals_epsilon": "infinite"}
TOTALS |= {"totals_are_exact": False, "others_with_each_value": [4, 5], "others_with_none": 6}
GUARANTEE = {
    "relies_on": "round-two",
    "acknowledged": ACKNOWLEDGEMENTS["round-two"],
    "round_two_epsilon": 0.75,
    "linkable_epsilon": "infinite",
    "aggregates": TOTALS,
}
STATED = Guarantee("round-two", 0.75, 1e-6, 0.5, None, False, (4, 5), 6)
DIE = {"sampling": 3, "zero": 5, "decoys": [7, 8, 9, 10]}
RANGE = {"epsilon": 1.5, "lower": -1, "upper": 2.5, "yes_no": False}
ROWS, MEANT = ((14, D - 14), (15, D - 15), (16, D - 16)), ((0.25, 0.5), (0.75, 1.0))
FOUR = (*ROWS, (17, D - 17))
THRICE = (*MEANT, (1.25, 1.5))
IN_ORDER = {
    "order": [2, 0, 1, 3],
    "scores": [1, 2, 3.0, 5],
    "wanted": "counts",
    "rows": [list(row) for row in FOUR],
    "estimator": {"values": [list(row) for row in THRICE]},
}
CHANNEL = RANGE | {
    "rows": [list(row) for row in ROWS],
    "estimator": {"values": [list(row) for row in MEANT]},
}
HASHED = {"truth": 11, "values": 6, "hash_function": "xxh32"}
WITH_TYPES = {
    "rule": "min",
    "levels": [LEVEL | {"group": 0}],
    "types": [[1], [0]],
    "groups": [[[14, 15], [D - 29, 0]]],
    "estimator": {"values": [[[0.25, 0.5]], [[0.0, 0.75]]]},
}
VALUES = (((0.25, 0.5),), ((0.0, 0.75),))
QUESTIONS = {
    "subset-design": (
        WITH_TYPES,
        DesignLaw(OWN, (0,), ((1,), (0,)), (((14, 15), (D - 29, 0)),), VALUES),
    ),
    "subset-design-ps": (
        WITH_TYPES | {"padding_length": 2, "dummy_group": 0},
        DesignSetLaw(OWN, (0,), ((1,), (0,)), (((14, 15), (D - 29, 0)),), VALUES, 0, 2),
    ),
    "idue": (WITH_BITS, UnaryLaw(OWN, (5,), (3,))),
    "idue-ps": (WITH_BITS | {"padding_length": 2}, SetLaw(OWN, (5,), (3,), 2)),
    "grr": (WITH_ITEMS | {"truth": 11}, ResponseLaw(OWN, 11)),
    "olh": (WITH_ITEMS | HASHED, HashingLaw(OWN, 11, 6)),
    "subset-selection": (WITH_ITEMS | {"held": 13, "size": 2}, SubsetLaw(OWN, 13, 2)),
    "mean-channel": (CHANNEL, MeanChannelLaw(1.5, -1.0, 2.5, False, ROWS, MEANT)),
    "ordered-channel": (
        WITH_ITEMS | IN_ORDER,
        OrderedChannelLaw(OWN, (2, 0, 1, 3), (1.0, 2.0, 3.0, 5.0), "counts", FOUR, THRICE),
    ),
    "bisample-md": (RANGE | {"low": 17}, SignLaw(1.5, -1.0, 2.5, yes_no=False, low=17)),
    "sampling-privacy": (
        WITH_ITEMS
        | DIE
        | {"none_epsilon": 2.0, "everyone_has_value": True, "guarantee": GUARANTEE},
        SamplingLaw(OWN, 3, 5, (7, 8, 9, 10), 2.0, True, STATED),
    ),
}


NOTHING = {"worst_case_mse": 1.0, "lower_bound": None, "relative_gap": None}
MORE = {
    "idue": {"model": "opt0", "predicted": NOTHING},
    "idue-ps": {"model": "opt0", "predicted": NOTHING},
    "grr": {"predicted": NOTHING},
    "olh": {"predicted": NOTHING},
    "subset-selection": {"predicted": NOTHING},
    "subset-design": {"predicted": NOTHING, "estimator": WITH_TYPES["estimator"]},
    "subset-design-ps": {"predicted": NOTHING, "estimator": WITH_TYPES["estimator"]},
    "mean-channel": {"estimator": CHANNEL["estimator"]},
    "ordered-channel": {"estimator": IN_ORDER["estimator"]},
    "bisample-md": {"estimator": {"noise": 0.25, "theta": 0.5}},
    "sampling-privacy": {"estimator": {"sampling": 0.25}},
}
LINEAR = {"estimator": {"factor": 1, "offsets": [0.25], "slopes": [0.25]}}
PAIRS = [{"first": 0, "second": 0, "realised": 0.5, "demanded": 1.0}]


def question(mechanism):
    """Of the right shape; whether it is true is looked at when it is verified."""
    law = QUESTIONS[mechanism][1]
    start = {"name": "q", "kind": law.kind, "mechanism": mechanism, "denominator": D}
    stated = QUESTIONS[mechanism][0]
    return start | stated | LINEAR | MORE[mechanism] | {"pairs": PAIRS}


def test_there_is_a_question_for_each_mechanism():
    assert set(QUESTIONS) == set(LAWS)


@pytest.mark.parametrize("mechanism", LAWS)
def test_every_field_ends_where_it_belongs(mechanism):
    assert read_law(question(mechanism)) == QUESTIONS[mechanism][1]


@pytest.mark.parametrize("mechanism", LAWS)
def test_no_field_may_be_missing(mechanism):
    given = question(mechanism)
    for key in given:
        with pytest.raises(InputError, match=f"{key}.* is missing but must be given"):
            read_law({k: value for k, value in given.items() if k != key})


def test_a_guarantee_says_what_it_relies_on():
    with pytest.raises(InputError, match=r"^guarantee.relies_on of question 'q' is missing"):
        read_law(question("sampling-privacy") | {"guarantee": {}})


RANGES = [
    ("idue", ("levels", 0, "a"), 4, D - 1),
    ("idue", ("levels", 0, "b"), 1, 4),
    ("idue-ps", ("padding_length",), 1, MAX_PADDING_LENGTH),
    ("subset-design-ps", ("padding_length",), 1, MAX_PADDING_LENGTH),
    ("grr", ("truth",), 1, D - 1),
    ("olh", ("truth",), 1, D - 1),
    ("olh", ("values",), 2, D - 1),
    ("subset-selection", ("held",), 1, D - 1),
    ("subset-selection", ("size",), 1, 3),
    ("bisample-md", ("low",), 1, D // 2 - 1),
    ("mean-channel", ("rows", 1, 0), 1, D - 1),
    ("ordered-channel", ("rows", 1, 0), 1, D - 1),
    ("sampling-privacy", ("sampling",), 1, D - 1),
    ("sampling-privacy", ("zero",), 0, D - 1),
    ("sampling-privacy", ("decoys", 2), 1, D - 1),
    *((mechanism, ("denominator",), D, D) for mechanism in LAWS),
]


def changed(mechanism, way, value):
    given = copy.deepcopy(question(mechanism))
    *steps, key = way
    place = given
    for step in steps:
        place = place[step]
    place[key] = value
    return given


@pytest.mark.parametrize(("mechanism", "way", "least", "most"), RANGES, ids=str)
def test_whole_numbers_and_their_ranges(mechanism, way, least, most):
    for value in (least, most):
        read_law(changed(mechanism, way, value))
    for value in (least - 1, most + 1, least + 0.5, True, None, str(least)):
        with pytest.raises(InputError):
            read_law(changed(mechanism, way, value))


@pytest.mark.parametrize("mechanism", ["bisample-md", "sampling-privacy"])
def test_budgets_and_their_ranges(mechanism):
    key = "epsilon" if mechanism == "bisample-md" else "none_epsilon"
    for value in (5e-324, 50, 50.0):
        read_law(changed(mechanism, (key,), value))
    for value in (0, -1.0, 50.001, True, "1"):
        with pytest.raises(InputError, match=f"{key} of question 'q'"):
            read_law(changed(mechanism, (key,), value))


@pytest.mark.parametrize("mechanism", ["grr", "olh", "subset-selection"])
def test_one_item_is_too_few(mechanism):
    with pytest.raises(InputError, match="at least 2 are needed"):
        read_law(changed(mechanism, ("levels", 0, "item_count"), 1))
    read_law(changed("idue", ("levels", 0, "item_count"), 1))


def test_the_range_of_numbers():
    largest = sys.float_info.max
    for lower, upper in ((-1, -1), (2, -1), (-largest, largest), (1e308, -1e308)):
        given = question("bisample-md") | {"lower": lower, "upper": upper}
        with pytest.raises(InputError, match=r"question 'q': upper is .* above lower"):
            read_law(given)
    law = read_law(question("bisample-md") | {"lower": 0, "upper": largest})
    assert (law.lower, law.upper) == (0.0, largest)


def test_b_lies_below_a():
    with pytest.raises(InputError, match=r"b of level 'level 0' is 5 but must be below a = 5"):
        read_law(changed("idue", ("levels", 0, "b"), 5))


def test_words_that_must_be_right():
    for mechanism, way, value, reason in (
        ("grr", ("mechanism",), "coin", "one of 'idue', 'idue-ps', 'grr'"),
        ("grr", ("name",), "", "name.* must be text that is not empty"),
        ("grr", ("kind",), "numeric", "must be 'categorical'"),
        ("olh", ("hash_function",), "md5", "must be 'xxh32'"),
        ("sampling-privacy", ("guarantee", "relies_on"), "luck", "one of 'round-two', 'aggreg"),
        ("sampling-privacy", ("guarantee", "acknowledged"), "yes", "Nobody who sees"),
        ("sampling-privacy", ("guarantee", "relies_on"), "aggregates-only", "A trusted aggregat"),
        ("bisample-md", ("yes_no",), 1, "true or false"),
    ):
        with pytest.raises(InputError, match=reason):
            read_law(changed(mechanism, way, value))
    with pytest.raises(InputError, match="a JSON object"):
        read_law([])
