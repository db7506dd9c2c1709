"""Questions made in Python: what is refused, how they are changed, and what they say."""

import numpy as np
import pytest
from pydantic import BaseModel

from planner import InputError
from planner.survey.questions import (
    Categorical,
    ItemSet,
    Level,
    Numeric,
    Ordinal,
    SampledChoice,
    Survey,
    Target,
)
from planner.survey.sets import AssumedSets

LEVELS = (Level("severe", 1.0, ("HIV",)), Level("common", 2.0, item_count=3))
QUESTION = Categorical("q", LEVELS)


def wrong(message, make, *places, **fields):
    return pytest.param(make, places, fields, message, id=message)


@pytest.mark.parametrize(
    ("make", "places", "fields", "message"),
    [
        wrong("items is empty but must be not empty", Level, "x", 1.0),
        wrong("item_count is 2 but must be the number", Level, "x", 1.0, ("a",), 2),
        wrong("epsilon is 60.0 but must be a budget", Level, "x", 60.0, ("a",)),
        wrong("items 1 is 1.5 but must be text", Level, "x", 1.0, (1.5,)),
        wrong("item_count is True but must be a whole", Level, "x", 1.0, item_count=True),
        wrong("name is ' ' but must be text", Categorical, " ", LEVELS),
        wrong("level is empty but must be a list", Categorical, "q", ()),
        wrong("rule is 'sum' but must be", Categorical, "q", LEVELS, "sum"),
        wrong("level 'severe': name is 'severe' .* differ", Categorical, "q", LEVELS[:1] * 2),
        wrong("padding_length is not a known key", Categorical, "q", LEVELS, padding_length=2),
        wrong("sampling is missing", SampledChoice, "q", LEVELS),
        wrong("prior is .* of sum 1, not 0.9", Categorical, "q", [
            Level("a", 1.0, item_count=2, prior=0.25), Level("b", 1.0, item_count=2, prior=0.65)
        ]),
        wrong("prior is .* criterion 'minimax'", Categorical, "q", [
            Level("a", 1.0, item_count=2, prior=1.0)
        ], criterion="minimax"),
        wrong("epsilon is '1x' but must be", Numeric, "n", 0, 1, epsilon="1x"),
        wrong("lower is 1.0 but must be below upper", Numeric, "n", 1, 0),
        wrong("users is .* but must be a whole number", Survey, "s", 1.5, (QUESTION,)),
        wrong("question is empty but must be one", Survey, "s", 1, ()),
        wrong("question 'q': name is 'q' .* different", Survey, "s", 1, (QUESTION, QUESTION)),
        wrong("error, detect.* exactly one of the two", Target),
        wrong("error is 1.0 but must be a share from 1e-12", Target, error=1.0),
        wrong("detect is nan", Target, detect=float("nan")),
        wrong("popularity is .* above 0 somewhere", AssumedSets, [0, 1], [0, 0]),
        wrong("sizes is 100002 but must be at most", AssumedSets, [0.0] * 100_001 + [1.0]),
        wrong("sizes 1 is .* a finite number", AssumedSets, [[0, 1]]),
    ],
)  # fmt: skip
def test_what_is_refused(make, places, fields, message):
    with pytest.raises(InputError, match=message):
        make(*places, **fields)


def test_too_many_places_are_a_mistake_in_the_program():
    with pytest.raises(TypeError, match="at most name, levels, rule by place"):
        Categorical("q", LEVELS, "min", "categorical")


def test_a_changed_copy_is_checked_and_keeps_nothing_that_was_worked_out():
    assert QUESTION.policy.epsilons.tolist() == [1.0, 2.0]
    half = tuple(level.replacing(epsilon=level.epsilon / 2) for level in LEVELS)
    assert QUESTION.replacing(levels=half).policy.epsilons.tolist() == [0.5, 1.0]
    with pytest.raises(InputError, match="weight is -1"):
        QUESTION.replacing(weight=-1)
    with pytest.raises(Exception, match="frozen"):
        QUESTION.weight = 2.0


def test_nothing_copies_a_description_unchecked(pytestconfig):
    """``model_copy`` and ``model_construct`` check nothing, and keep what was worked out."""
    unchecked = ("model_copy", "model_construct")
    assert all(hasattr(BaseModel, name) for name in unchecked)
    for path in (pytestconfig.rootpath / "planner").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not any(f".{name}(" in text for name in unchecked), path


def test_equal_questions_are_one_in_a_set():
    assert len({QUESTION, Categorical("q", list(LEVELS)), QUESTION.replacing(rule="min")}) == 1
    assert QUESTION.replacing(rule="avg") != QUESTION


def test_a_matrix_may_leave_cells_to_the_smaller_budget():
    graph = Categorical("q", LEVELS, [["", np.inf], ["inf", "2.5"]])
    assert graph.rule == ((1.0, np.inf), (np.inf, 2.5))
    assert graph.policy.bounds().tolist() == [[1.0, np.inf], [np.inf, 2.5]]


def test_what_is_made_small():
    weighed = (LEVELS[0].replacing(importance=2.0), LEVELS[1])
    several = [Level("a", 1.0, item_count=2, prior=0.5), Level("b", 1.0, item_count=2, prior=1.5)]
    assert QUESTION.objective.kind == "worst-case"
    assert Categorical("q", weighed).objective.weights == (2.0, 1.0)
    assert ItemSet("q", several).objective.prior == (0.5, 1.5)
    assert Categorical("q", LEVELS, criterion="minimax").objective.kind == "minimax"


def test_labels_are_the_items_or_numbered():
    assert Level("x", 1.0, ("b", "a")).labels == ("b", "a")
    assert Level("x", 1.0, item_count=3).labels == ("x 1", "x 2", "x 3")


def test_an_item_must_not_be_named_like_the_number_of_another():
    few, many = Level("few", 1.0, ("6", "x")), Level("many", 2.0, item_count=5)
    with pytest.raises(InputError, match=r"'6' but must be no number.*Name all items, or none"):
        Categorical("q", (few, many))
    assert Categorical("q", (few,)).policy is not None  # all named
    assert Categorical("q", (Level("few", 1.0, ("7", "x")), many)).policy is not None  # beyond


def test_answers_in_order():
    ends, middle = Level("ends", 1.0, ("0", "10+")), Level("middle", 2.0, ("1-9",))
    ordered = Ordinal("q", (ends, middle), order=("0", "1-9", "10+"), scores=(0, 5, 12))
    assert (ordered.ordered, ordered.of_mean, ordered.radius) == (("0", "1-9", "10+"), False, 6.0)
    assert Ordinal("q", (middle, ends)).ordered == ("1-9", "0", "10+")
    assert ordered.replacing(wanted="mean of scores").of_mean
    assert ordered.mechanism == "channel"


def test_a_number_has_one_level():
    age = Numeric("age", 17, 90, epsilon=1.0)
    assert (age.policy.names, age.policy.epsilons.tolist(), age.levels) == (("age",), [1.0], ())
    assert age.domain.center == 53.5
    with pytest.raises(InputError, match=r"epsilon of question 'age' is missing .*preferences"):
        _ = age.replacing(epsilon=None).policy


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (Target(error=0.01), "total error at most 1 % of the users"),
        (Target(error=0.0125, level="a"), "standard error of a rare item of 'a' at most 1.25 %"),
        (Target(detect="5 %"), "every item detectable from 5 % of the users"),
        (Target(detect=0.05, level="a"), "every item of 'a' detectable from 5 % of the users"),
    ],
)
def test_targets_in_words(target, text):
    assert target.text == text


def test_popularity_is_given_for_each_item():
    sets = AssumedSets([0, 1, 1], [3, 1])
    with pytest.raises(InputError, match="popularity is 2 but must be one weight for each of 3"):
        sets.moments(1, np.array([1, 2]))
    # Of two items, whoever has two has both: each is lost with probability 1/2 by half the people,
    # however popular it is said to be.
    assert sets.moments(1, np.array([1, 1])).lost2 == pytest.approx(2 * (0.5 * 0.5) ** 2)
    # Of four, one of two items of a person is lost, at rate 1/2.
    four = AssumedSets([0, 1, 1], [3, 2, 2, 1]).moments(1, np.array([2, 2]))
    assert four.lost2 == pytest.approx((9 + 4 + 4 + 1) / 64 * (0.5 * 2 * 0.5) ** 2)
