"""Questions made in Python: what is refused, how they are changed, and what they say."""

import numpy as np
import pytest
from pydantic import BaseModel
from scipy import stats

from planner import (
    AssumedSets,
    Categorical,
    EmpiricalPreferences,
    HistogramPreferences,
    ItemSet,
    NormalPreferences,
    Numeric,
    NumericDomain,
    Ordinal,
    Survey,
    read_preferences,
)
from planner.errors import FileError
from planner.survey.levels import Level, Target
from tests.refusals import refused

LEVELS = (Level("severe", 1.0, ("HIV",)), Level("common", 2.0, item_count=3))
QUESTION = Categorical("q", LEVELS)
AGE = NumericDomain(17, 90)
YES = NumericDomain(0, 1, yes_no=True)


# The sentences of files are in test_files; these are of what is made in Python.
REFUSED = {
    "items 1 is 1.5 but must be text": lambda: Level("x", 1.0, (1.5,)),
    "name is missing": lambda: Categorical(" ", LEVELS),
    "padding_length is not a known": lambda: Categorical("q", LEVELS, padding_length=2),
    "level 'severe': name is 'severe' .* differ": lambda: Categorical(
        "q", LEVELS[:1] * 2
    ),
    "prior is .* of sum 1, not 0.9": lambda: Categorical("q", weighed(0.25, 0.65)),
    "prior .* left out with": lambda: Categorical(
        "q", weighed(0.25, 0.75), criterion="minimax"
    ),
    "importance is .0.0. but": lambda: Categorical(
        "q", [LEVELS[1].replacing(importance=0.0)]
    ),
    "groups is .1, 2. but must be a table": lambda: Survey(
        "s", 1, (QUESTION,), groups=(1, 2)
    ),
    "label is .1: 'x'. but must be a table": lambda: Categorical(
        "q", LEVELS, label={1: "x"}
    ),
    "question 'q': name is 'q' .* different": lambda: Survey(
        "s", 1, (QUESTION, QUESTION)
    ),
    "error, detect.* exactly one of the two": Target,
    "error is 1.0 but must be a number below 1": lambda: Target(error=1.0),
    "detect is nan": lambda: Target(detect=float("nan")),
    "sizes is .* above 0 somewhere": lambda: AssumedSets([0, 0]),
    "sizes is .* a list of at most 100001": lambda: AssumedSets(
        [0.0] * 100_001 + [1.0]
    ),
    "sizes 1 is .* a finite number": lambda: AssumedSets([[0, 1]]),
    "lower is inf but must be a finite number": lambda: NumericDomain(np.inf, 1),
    "lower is '0' but must be a finite number": lambda: NumericDomain("0", 1),
    "upper is .* at least 1e-100 apart from lower": lambda: NumericDomain(0, 1e-320),
    "lower is 2.0 but must be below upper": lambda: NumericDomain(2, 1),
    "upper is 1e.308 but must be": lambda: NumericDomain(-1e308, 1e308),
    r"ages\[1\] is 16.5 but must be from 17 to 90, or NaN": lambda: answers(
        AGE, [20, 16.5]
    ),
    r"ages\[0\] is inf but must be from 17 to 90": lambda: answers(AGE, [np.inf]),
    r"ages\[2\] is 0.5 but must be 0 \(no\), 1": lambda: answers(YES, [0, 1, 0.5]),
    "ages is empty but must be a flat": lambda: answers(AGE, []),
    "ages is 20.0 but must be a flat": lambda: answers(AGE, 20.0),
    "ages is .'20'. but must be a flat": lambda: answers(AGE, ["20"]),
    "ages is .True. but must be a flat": lambda: answers(AGE, [True]),
    "ages is .*, .20, 30.. but must be a flat": lambda: answers(AGE, [[20], [20, 30]]),
    "ages is masked": lambda: answers(AGE, np.ma.masked_array([20.0], [True])),
}


def weighed(*priors):
    return [Level(f"{prior}", 1.0, item_count=2, prior=prior) for prior in priors]


def answers(domain, values):
    return domain.answers(values, "ages")


@pytest.mark.parametrize("sentence", REFUSED)
def test_what_is_refused(sentence):
    with refused():
        REFUSED[sentence]()


def test_too_many_places_are_a_mistake_in_the_program():
    with pytest.raises(TypeError, match="at most name, levels, rule by place"):
        Categorical("q", LEVELS, "min", "categorical")


def test_a_changed_copy_is_checked_and_keeps_nothing_that_was_worked_out():
    assert QUESTION.policy.epsilons.tolist() == [1.0, 2.0]
    half = tuple(level.replacing(epsilon=level.epsilon / 2) for level in LEVELS)
    assert QUESTION.replacing(levels=half).policy.epsilons.tolist() == [0.5, 1.0]
    with refused("weight"):
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
    assert (
        len({QUESTION, Categorical("q", list(LEVELS)), QUESTION.replacing(rule="min")})
        == 1
    )
    assert QUESTION.replacing(rule="avg") != QUESTION


def test_a_matrix_may_leave_cells_to_the_smaller_budget():
    graph = Categorical("q", LEVELS, [["", np.inf], ["inf", "2.5"]])
    expected = ((1.0, np.inf), (np.inf, 2.5))
    assert graph.rule == expected
    expected = [[1.0, np.inf], [np.inf, 2.5]]
    bounds = graph.policy.bounds()
    assert bounds.tolist() == expected


def test_what_is_made_small():
    weighed = (LEVELS[0].replacing(importance=2.0), LEVELS[1])
    several = [
        Level("a", 1.0, item_count=2, prior=0.5),
        Level("b", 1.0, item_count=2, prior=1.5),
    ]
    assert QUESTION.objective.kind == "worst-case"
    question = Categorical("q", weighed)
    assert question.objective.weights == (2.0, 1.0)
    alike = [level.replacing(importance=0.01) for level in LEVELS]
    assert (
        Categorical("q", alike).objective == QUESTION.objective
    )  # beside each other they are 1
    asked = ItemSet("q", several)
    assert asked.objective.prior == (0.5, 1.5)
    question = Categorical("q", LEVELS, criterion="minimax")
    assert question.objective.kind == "minimax"


def test_labels_are_the_items_or_numbered():
    assert Level("x", 1.0, ("b", "a")).labels == ("b", "a")
    assert Level("x", 1.0, item_count=3).labels == ("x 1", "x 2", "x 3")


def test_an_item_may_be_named_like_a_number_that_no_other_has():
    many = Level("many", 2.0, item_count=5)
    assert (
        Categorical("q", (Level("few", 1.0, ("6", "x")),)).policy is not None
    )  # all named
    assert (
        Categorical("q", (Level("few", 1.0, ("7", "x")), many)).policy is not None
    )  # beyond


def test_answers_in_order():
    ends = Level("ends", 1.0, ("0", "10+"))
    middle = Level("middle", 2.0, ("1-9",))
    ordered = Ordinal("q", (ends, middle), order=("0", "1-9", "10+"), scores=(0, 5, 12))
    assert ordered.ordered == ("0", "1-9", "10+")
    assert ordered.of_mean is False
    assert ordered.radius == 6.0
    question = Ordinal("q", (middle, ends))
    assert question.ordered == ("1-9", "0", "10+")
    assert ordered.replacing(wanted="mean of scores").of_mean
    assert ordered.mechanism == "channel"


def test_a_number_has_one_level():
    age = Numeric("age", 17, 90, epsilon=1.0)
    assert age.policy.names == ("age",)
    assert age.policy.epsilons.tolist() == [1.0]
    assert age.levels == ()
    assert age.domain.center == 53.5
    with refused("epsilon of question 'age'"):
        _ = age.replacing(epsilon=None).policy


def test_popularity_decides_what_truncation_costs():
    # Of two items, whoever has two has both: each is lost with probability 1/2 by half the people,
    # however popular it is said to be.
    two = np.array([1, 1])
    four = np.array([2, 2])
    assert AssumedSets([0, 1, 1]).moments(1, two).squared_mean_loss == pytest.approx(
        2 * (0.5 * 0.5) ** 2
    )
    # Of four, one of two items of a person is lost, at rate 1/2.
    weights = 1 / np.arange(1, 5)
    shares = {"zipf": weights / weights.sum(), "uniform": np.full(4, 0.25)}
    for name, share in shares.items():
        squared_mean_loss = (
            AssumedSets([0, 1, 1], name).moments(1, four).squared_mean_loss
        )
        assert squared_mean_loss == pytest.approx(
            (share**2).sum() * (0.5 * 2 * 0.5) ** 2
        )


def test_sizes_may_be_as_large_or_small_as_numbers_are():
    for scale in (1e308, 1e-308):
        sets = AssumedSets([scale, scale])
        assert sets.mean_size == 0.5


def test_a_range_is_mapped_and_missing_answers_stay_missing():
    for domain, values in ((AGE, [17, np.nan, 90]), (YES, [0, np.nan, 1])):
        unit = domain.to_unit(domain.answers(values))
        assert unit[[0, 2]].tolist() == [-1, 1]
        assert np.isnan(unit[1])
    domain = NumericDomain(-5, 20_000)
    values = np.linspace(-5, 20_000, 7)
    assert domain.center == 9997.5
    assert domain.radius == 10_002.5
    back = domain.center + domain.radius * domain.to_unit(values)
    assert back == pytest.approx(values, rel=1e-12)


MODELS = [
    (NormalPreferences(5, 1.5), stats.norm(5, 1.5)),
    (
        HistogramPreferences([0, 1, 3, 4], [0.2, 0.5, 0.3]),
        stats.rv_histogram(
            (np.array([0.2, 0.25, 0.3]), np.array([0.0, 1, 3, 4])), density=True
        ),
    ),
]


@pytest.mark.parametrize(("model", "reference"), MODELS)
def test_answer_rates_are_survival_functions_and_quantiles_invert_them(
    model, reference
):
    epsilon = np.linspace(0.01, 8, 50)
    np.testing.assert_allclose(
        model.answer_rate(epsilon), reference.sf(epsilon), atol=1e-12
    )
    share = np.array([0.05, 0.3, 0.5, 0.77, 0.99])
    expected = reference.ppf(share)
    np.testing.assert_allclose(model.quantile(share), expected, rtol=1e-9)


def test_who_tolerates_exactly_the_budget_answers():
    model = EmpiricalPreferences([2.0, 1.0, 2.0, 3.0])
    assert model.answer_rate([2.0, np.nextafter(2.0, 3)]).tolist() == [0.75, 0.25]
    assert model.kinks.tolist() == [1.0, 2.0, 3.0]
    assert model.quantile([0.25, 0.26, 0.99]).tolist() == [1.0, 2.0, 3.0]


def test_sample_from_csv(tmp_path):
    path = tmp_path / "pilot.csv"
    path.write_text("person,tolerates\na,1.5\nb,0\nc,4\n")
    assert read_preferences(path, "tolerates").sample.tolist() == [0.0, 1.5, 4.0]
    path.write_text("tolerates\n2\n")
    assert read_preferences(path).sample.tolist() == [2.0]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "other\n1\n",
        "eps\n",
        "1.5\n2\n",
        "eps\n1\n\n2\n",
        "eps\n1\nx\n",
        "eps\nnan\n",
        "eps\n" + "1" * 200_000 + "\n",
    ],
    ids=range(8),
)
def test_bad_csv(tmp_path, text):
    path = tmp_path / "pilot.csv"
    path.write_text(text)
    with refused(kind=FileError):
        read_preferences(path, "eps" if "other" in text else None)


def test_models_are_equal_by_value_and_can_be_kept_in_sets():
    histogram = HistogramPreferences([0, 1], [1.0])
    sample = EmpiricalPreferences([1, 2])
    assert len({histogram, HistogramPreferences([0, 1], [1.0]), sample}) == 2
    assert sample == EmpiricalPreferences([1, 2])
    assert sample != EmpiricalPreferences([2, 1.5])
    assert histogram != HistogramPreferences([0, 2], [1.0])
    assert histogram != sample


def test_shares_may_be_numbers_of_people():
    people = HistogramPreferences([0, 1, 4], [25, 75])
    assert people.answer_rate([0.5, 1, 2, 5]).tolist() == [0.875, 0.75, 0.5, 0.0]
    assert people.kinks.tolist() == [0, 1, 4]
    assert NormalPreferences(5, 1).kinks.size == 0
