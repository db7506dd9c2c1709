from dataclasses import replace

import pytest

from planner import InputError, Level, Numeric, NumericDomain, Question, Survey
from planner.survey import Sampling
from planner.survey.set_model import AssumedSets
from planner.survey.target import Target

LEVELS = (Level("severe", 1.0, ("HIV",)), Level("common", 2.0, item_count=3))


def test_items_are_counted_and_kept_as_a_tuple():
    level = Level("x", 1.0, ["a", "b"])
    assert level.items == ("a", "b")
    assert level.item_count == 2
    assert hash(level) == hash(Level("x", 1.0, ("a", "b")))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("x", 1.0), "items of level 'x' is .* not empty. List the level's items"),
        (("x", 1.0, "HIV"), "items of level 'x' is 'HIV' but must be a list of texts"),
        (("x", 1.0, ("a",), 2), "item_count of level 'x' is 2 but must be the number"),
    ],
)
def test_bad_levels(arguments, message):
    with pytest.raises(InputError, match=message):
        Level(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((" ", LEVELS), "question name is ' '"),
        (("q", ()), r"epsilons is empty but must be a list of one or more budgets. Add a level"),
        (("q", LEVELS, "sum"), "rule is 'sum'"),
        (("q", LEVELS, "min", "open"), "kind is 'open' but must be one of categorical"),
        (("q", (Level("x", 1.0, ("a", "a")),)), "item of level 'x' is 'a'"),
        (("q", (Level("x", 60.0, ("a",)),)), r"epsilons\[0\] is 60.0"),
        (("q", (Level("x", 1.0, (5,)),)), "item of level 'x' is 5 but must be text"),
        (("q", (Level("x", 1.0, item_count=1.5),)), r"item_counts\[0\] is 1.5"),
    ],
)
def test_bad_questions(arguments, message):
    with pytest.raises(InputError, match=message):
        Question(*arguments)


@pytest.mark.parametrize("users", [0, -1, 1.5, True, "10", 10**12 + 1, None, float("nan")])
def test_bad_numbers_of_users(users):
    with pytest.raises(InputError, match=r"users is .* but must be a whole number from 1 to"):
        Survey("s", users, (Question("q", LEVELS),))


def test_bad_surveys():
    question = Question("q", LEVELS)
    with pytest.raises(InputError, match=r"questions is .* but must be one or more questions"):
        Survey("s", 1, ())
    with pytest.raises(InputError, match="question name is 'q' but must be different"):
        Survey("s", 1, (question, question))
    with pytest.raises(InputError, match="survey name is empty but must be text"):
        Survey("", 1, (question,))


SETS = AssumedSets([0, 1])
NUMERIC = Numeric(NumericDomain(0, 1))
PICKED = (Level("x", 1.0, ("a",), yes_counts=(3,)),)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"weight": -1.0}, "weight is -1.0 but must be a finite number of at least 0"),
        ({"weight": float("inf")}, "weight is inf but must be a finite number"),
        ({"weight": "much"}, "weight is 'much' but must be a finite number"),
        ({"criterion": "median"}, "criterion is 'median' but must be one of total, minimax"),
        ({"numeric": NUMERIC}, "numeric is .* left out for 'categorical'"),
        ({"kind": "numeric", "levels": ()}, "numeric is missing but must be given for 'numeric'"),
        ({"kind": "numeric", "numeric": NUMERIC}, "levels is .* left out, with the rule"),
        ({"sets": SETS}, "sets is .* left out for 'categorical'"),
        ({"padding_length": 2}, "padding_length is 2 but must be left out for 'categorical'"),
        (
            {"kind": "item-set", "padding_length": 0},
            "padding_length is 0 but must be a whole number from 1 to 1048576",
        ),
        ({"kind": "item-set", "padding_length": 1.5}, "padding_length is 1.5 .* whole number"),
        ({"kind": "item-set", "padding_length": True}, "padding_length is True .* whole number"),
        ({"kind": "item-set", "rule": "avg"}, "rule is 'avg' .* defined for the rule min alone"),
        ({"kind": "sampled-choice"}, "sampling is missing but must be given for 'sampled-choice'"),
        ({"sampling": Sampling("round-two")}, "sampling is .* left out for 'categorical'"),
        (
            {"kind": "sampled-choice", "sampling": Sampling("round-two"), "rule": "avg"},
            "rule is 'avg' but must be left out for 'sampled-choice'",
        ),
        ({"levels": PICKED}, r"yes_counts of level 'x' is \(3,\) .* left out unless"),
    ],
    ids=str,
)
def test_what_does_not_belong_to_a_kind(arguments, message):
    with pytest.raises(InputError, match=message):
        Question(**({"name": "q", "levels": LEVELS} | arguments))


def with_priors(*priors, kind="categorical", criterion="total"):
    levels = (Level("a", 1.0, item_count=2, prior=p) for p in priors)
    named = tuple(replace(level, name=f"l{i}") for i, level in enumerate(levels))
    return Question("q", named, kind=kind, criterion=criterion)


def test_priors_are_for_all_levels_and_sum_to_one_where_everybody_has_one_answer():
    assert with_priors(0.25, 0.75).objective.kind == "expected"
    assert with_priors(0.5, 1.5, kind="item-set").objective.prior == (0.5, 1.5)
    with pytest.raises(InputError, match=r"given for all levels of the question, or for none"):
        with_priors(0.25, None)
    with pytest.raises(InputError, match=r"of sum 1, not 0.9. Everybody has exactly one answer"):
        with_priors(0.25, 0.65)
    with pytest.raises(InputError, match="left out for the criterion 'minimax'"):
        with_priors(0.25, 0.75, criterion="minimax")


@pytest.mark.parametrize("epsilon", [0, -1.0, 50.5, float("nan"), "1", True])
def test_bad_budgets_of_numeric_questions(epsilon):
    with pytest.raises(InputError, match=r"epsilon is .* but must be"):
        Numeric(NumericDomain(0, 1), epsilon=epsilon)


def test_labels_are_the_items_or_numbered():
    assert Level("x", 1.0, ("b", "a")).labels == ("b", "a")
    assert Level("x", 1.0, item_count=3).labels == ("x 1", "x 2", "x 3")


TARGET = Target(error=0.01)


@pytest.mark.parametrize(
    ("change", "survey", "message"),
    [
        ({}, {"design": "both"}, "design is 'both' but must be one of split, one-each"),
        ({}, {"asked": 1}, "asked is 1 but must be given for the design some-each alone"),
        ({}, {"design": "some-each", "asked": 2}, "asked is 2 but must be a whole number"),
        ({}, {"design": "some-each", "asked": 0}, "asked is 0 but must be a whole number"),
        ({}, {"objective": "max"}, "objective is 'max' but must be one of sum, minimax"),
        ({"weight": 0.0}, {}, r"weights is \[0.0\] .* Say which questions matter"),
        (
            {},
            {"objective": "minimax"},
            r"targets of question 'q' is missing .* \[\[question.target",
        ),
        (
            {"targets": (Target(error=0.1, level="severe"), Target(detect=0.1))},
            {"objective": "minimax"},
            "an error and no level",
        ),
    ],
    ids=str,
)
def test_bad_aims(change, survey, message):
    with pytest.raises(InputError, match=message):
        Survey("s", 1, (Question("q", LEVELS, **change),), **survey)


def test_a_question_without_weight_beside_one_that_has_some():
    questions = (Question("q", LEVELS), Question("free", LEVELS, weight=0.0))
    with pytest.raises(InputError, match="weight of question 'free' is 0 but must be above 0"):
        Survey("s", 1, questions)
    fine = (Question("q", LEVELS, targets=(TARGET,)),)
    assert Survey("s", 1, fine, objective="minimax").objective == "minimax"


def test_an_item_must_not_be_named_like_the_number_of_another():
    few, many = Level("few", 1.0, ("6", "x")), Level("many", 2.0, item_count=5)
    with pytest.raises(InputError, match=r"'6' but must be no number.*Name all items, or none"):
        Question("q", (few, many))
    assert Question("q", (few,)).policy is not None  # all named
    assert Question("q", (Level("few", 1.0, ("7", "x")), many)).policy is not None  # beyond
