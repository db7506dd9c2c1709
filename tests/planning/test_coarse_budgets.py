"""At budgets for which multiples of 2^-32 are coarse a plan states the errors of what is drawn."""

from itertools import combinations

import numpy as np
import pytest

from planner import (
    ByLevel,
    Categorical,
    ItemSet,
    Joint,
    Level,
    Numeric,
    Ordinal,
    Survey,
    plan_survey,
)
from planner.planning.joint import Related

PEOPLE = 1000
LEVELS = (Level("a", 1e-5, item_count=3), Level("b", 2e-5, item_count=2))
PARTS = (
    Categorical("a", (Level("s", 1e-4, ("x", "y")),)),
    Categorical("b", (Level("s", 2e-4, ("u", "v", "w")),)),
)


def planned(*questions):
    survey = Survey("s", PEOPLE, questions)
    plan = plan_survey(survey)
    return plan.questions[-1]


def worst_of_choices(law, answers):
    """The squared error of all counts together, and of one that nobody is of, at worst."""
    everybody = PEOPLE * np.eye(answers, dtype=int)
    errors = np.array([law.variance(people) for people in everybody])
    return errors.sum(axis=1).max(), errors[~everybody.astype(bool)].max()


@pytest.mark.parametrize("mechanism", ["opt0", "opt1", "oue", "subset-design"])
def test_of_a_choice_in_all_and_by_level(mechanism):
    question = Categorical("q", LEVELS, mechanism=mechanism)
    plan = planned(question)
    total, of_rare = worst_of_choices(plan.law, 5)
    assert plan.total_error == pytest.approx(total**0.5, rel=1e-8)
    stated = plan.fact(ByLevel).standard_errors
    assert stated.max() == pytest.approx(of_rare**0.5, rel=1e-8)


@pytest.mark.parametrize("mechanism", ["opt0", "opt1", "oue", "set-design"])
def test_of_a_set_that_is_padded_to_two(mechanism):
    question = ItemSet("q", LEVELS, mechanism=mechanism, padding_length=2)
    plan = planned(question)
    sets = [
        [],
        *map(list, combinations(range(5), 1)),
        *map(list, combinations(range(5), 2)),
    ]
    errors = [plan.law.variance([items] * PEOPLE).sum() for items in sets]
    expected = max(errors) ** 0.5
    assert plan.total_error == pytest.approx(expected, rel=1e-8)


def test_of_two_questions_asked_together():
    joint = Joint("q", ("a", "b"))
    plan = planned(*PARTS, joint)
    total, _ = worst_of_choices(plan.law, 6)
    assert plan.total_error == pytest.approx(total**0.5, rel=1e-8)
    assert plan.fact(Related).table == pytest.approx(total / PEOPLE, rel=1e-8)


@pytest.mark.parametrize("wanted", ["shares up to", "counts", "mean of scores"])
def test_of_ordered_answers(wanted):
    """What one person adds to all wanted numbers: the second moment of a row, less its square."""
    if wanted == "mean of scores":
        scores = (0.0, 1.0, 2.0, 6.0)
    else:
        scores = ()
    level = Level("a", 1e-5, ("w", "x", "y", "z"))
    question = Ordinal("q", (level,), wanted=wanted, scores=scores)
    plan = planned(question)
    rows = np.array(plan.law.shape.rows) / 2**32
    values = np.array(plan.law.shape.values)
    if (
        wanted == "counts"
    ):  # from shares up to each, with none below and everybody above
        none = np.zeros(values.shape[1])
        values = np.diff(np.vstack([none, values, none + 1]), axis=0)
    errors = (rows @ np.square(values).T - np.square(rows @ values.T)).sum(axis=1)
    error_share = (errors.max() / PEOPLE) ** 0.5
    if wanted == "mean of scores":
        unit = 1
    else:
        unit = PEOPLE
    assert plan.total_error == pytest.approx(unit * error_share, rel=1e-8)


@pytest.mark.parametrize(
    ("mechanism", "epsilon"), [("channel", 5e-4), ("bisample-md", 1e-4)]
)
@pytest.mark.parametrize("refusing", [0, 250])
def test_of_the_mean_of_a_number(mechanism, epsilon, refusing):
    """To first order. BiSample's formula was 1.7e-6 off; a channel's estimator is rounded, too."""
    asked = Numeric(
        "q",
        -1,
        1,
        epsilon=epsilon,
        mechanism=mechanism,
        mean=0.5,
        sd=0.0,
        refusals=refusing / PEOPLE,
    )
    plan = planned(asked)
    people = np.full(PEOPLE, 0.5)
    people[:refusing] = np.nan
    variance = plan.law.variance(people)
    error = variance.mean**0.5
    assert plan.total_error == pytest.approx(error, rel=5e-7)
