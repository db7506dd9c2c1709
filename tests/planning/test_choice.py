"""What a question can be planned with: on one scale, ranked, with a reason that is true."""

import numpy as np
import pytest

from planner import InputError, Objective, PrivacyPolicy, plan_survey
from planner.planning.choice import LevelTerms, mechanism_choices, plain_rivals, rivals
from planner.survey.questions import Categorical, ItemSet, Level, Numeric, Survey


def planned(epsilons, counts, people=1000, **about):
    levels = zip(map(float, epsilons), counts, strict=True)
    made = tuple(Level(f"l{i}", e, item_count=n) for i, (e, n) in enumerate(levels))
    question = Categorical("q", made, **({"mechanism": "opt0"} | about))
    return plan_survey(Survey("s", people, (question,)), what_if=False).questions[0]


def test_errors_of_rivals_are_their_worst_total_variance():
    policy = PrivacyPolicy([0.7, 1.5], [2, 6], rule="avg")
    plan = planned([0.7, 1.5], [2, 6], rule="avg")
    for name, mechanism in plain_rivals(policy).items():
        counts = 1000 * np.eye(8, dtype=np.int64)
        worst = max(mechanism.variance(one).sum() for one in counts)
        assert plan.option(name).error == pytest.approx(np.sqrt(worst), rel=1e-8)
    names = {"subset-design", "opt0", "opt1", "opt2", *plain_rivals(policy), "direct"}
    assert {one.name for one in plan.options} == names
    assert plan.option("direct").title.endswith("not deployed here")


@pytest.mark.parametrize("name", ["opt0", "grr"])
def test_options_are_ranked_and_judged_against_the_plan(name):
    plan = planned([1.0, 1.2, 2.0], [5, 5, 90], mechanism=name)
    errors = [one.error for one in plan.options]
    assert errors == sorted(errors)
    own = plan.option(name)
    assert (plan.planned, own.against, own.error) == (own, 0.0, plan.total_error)
    for one in plan.options:
        assert one.against == pytest.approx(one.error / own.error - 1, abs=2e-6)
        assert one.error >= plan.least_error
    with pytest.raises(InputError, match="option"):
        plan.option("laplace")


def test_the_objective_decides_for_all_mechanisms_alike():
    policy, aim = PrivacyPolicy([0.7, 1.5], [2, 6]), Objective("expected", prior=[0.1, 0.9])
    grr = rivals(policy)["grr"]
    counts = np.array([50, 50] + [150] * 6)
    value = LevelTerms.of(grr, policy).value(aim)
    assert value == pytest.approx(grr.variance(counts).sum() / 1000, rel=1e-9)


@pytest.mark.parametrize(
    ("epsilons", "counts", "said"),
    [
        ([1.4, 1.8], [1, 4], "Subset design uses what the less sensitive answers tolerate"),
        ([1.0, 1.0], [2, 3], "All budgets are equal, so there is nothing to discriminate by"),
    ],
)
def test_the_reason_is_true_of_the_best(epsilons, counts, said):
    plan = planned(epsilons, counts, mechanism="best")
    assert plan.reason.startswith(said)
    plain = next(one for one in plan.options if not one.by_level)
    if "equal" not in said:
        assert f"{100 * plain.against:.1f} % more error" in plan.reason


def test_plain_ldp_is_said_to_win_where_it_does():
    graph = ((1.0, 1.0), (1.0, np.inf))  # nothing is left to protect less
    plan = planned([1.0, 1.0], [2, 30], criterion="minimax", rule=graph)
    best = plan.options[0]
    assert plan.reason.startswith("Plain LDP wins") == (not best.by_level)


def test_huge_domains_are_compared_by_level():
    assert rivals(PrivacyPolicy([1.0, 2.0], [10**9, 10**11])) == {}
    assert rivals(PrivacyPolicy([1e-6, 1e-5], [10, 900_000])) == {}  # beyond the grid of 2^-32


def test_a_single_answer_can_be_planned():
    plan = planned([1.0], [1], mechanism="best")
    assert np.isfinite(plan.total_error)
    assert all(one.against >= 0 for one in plan.options)
    assert plan_survey(Survey("s", 10, (plan.question,))).questions[0].reason


def test_choices_by_kind():
    levels, tables = (Level("a", 1.0, item_count=4),), ["opt0", "opt1", "opt2", "rappor", "oue"]
    sets = ItemSet("q", levels, padding_length=2)
    assert mechanism_choices(sets) == ["best", "set-design", *tables]
    assert mechanism_choices(sets.replacing(criterion="minimax")) == ["best", *tables]
    mean = Numeric("q", 0, 1, epsilon=1.0)
    assert mechanism_choices(mean) == ["best", "bisample-md", "channel"]
    for count, plain in ((1, False), (2, True), (100_000, True), (100_001, False)):
        question = Categorical("q", (Level("all", 1.0, item_count=count),))
        assert ("grr" in mechanism_choices(question)) == plain
        assert ("subset-design" in mechanism_choices(question)) == (count > 1)
    assert "direct" not in mechanism_choices(Categorical("q", levels, rule=((0.5,),)))
