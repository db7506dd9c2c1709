import numpy as np
import pytest

from planner import (
    GeneralizedRandomizedResponse,
    InputError,
    OptimizedLocalHashing,
    PrivacyPolicy,
    SubsetSelection,
    baseline,
    best_design,
    solve,
)
from planner.mechanisms.catalogue import CATALOGUE
from planner.planning.answer_rates import AnswerRateModel
from planner.planning.candidates import choose
from planner.planning.mechanism_choice import errors_for_choices, mechanism_choices
from planner.planning.whole_survey.planning_mean import errors_for_mean
from planner.policy.objective import Objective
from planner.survey.preferences import NormalPreferences
from planner.survey.questions import Categorical, ItemSet, Level, Numeric


def tables(policy):
    found = {name: solve(policy, name) for name in ("opt0", "opt1", "opt2")}
    return found | {name: baseline(policy, name) for name in ("rappor", "oue")}


def chosen(policy, planned="opt0"):
    errors = errors_for_choices(policy, tables(policy))
    rows = [(name, np.sqrt(error), "") for name, error in errors.items()]
    return choose(rows, planned, policy, "people", "Total error")


def worst_case(mechanism):
    """From the variance of true counts: all people have the least favourable item."""
    items = mechanism.items
    return max(
        mechanism.variance(1000 * np.eye(items, dtype=int)[k]).sum() / 1000 for k in range(items)
    )


def test_all_candidates_are_on_one_scale():
    policy = PrivacyPolicy([0.7, 1.5], [2, 6], rule="avg")
    errors = errors_for_choices(policy, tables(policy))
    rivals = {
        "grr": GeneralizedRandomizedResponse(0.7, 8),
        "subset": SubsetSelection(0.7, 8),
        "olh": OptimizedLocalHashing(0.7, 8),
    }
    for name, mechanism in rivals.items():
        assert errors[name] == pytest.approx(worst_case(mechanism), rel=1e-9)
    for name, table in tables(policy).items():
        assert errors[name] == pytest.approx(table.worst_case_mse, rel=1e-12)
    assert errors["direct"] < errors["grr"]
    assert set(errors) == {*rivals, "direct", *tables(policy)}


@pytest.mark.parametrize("planned", ["opt0", "grr"])
def test_candidates_are_ranked_and_judged_against_the_plan(planned):
    choice = chosen(PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90]), planned)
    errors = [one.error for one in choice.candidates]
    assert errors == sorted(errors)
    own = choice.of(planned)
    assert own.against == 0
    for one in choice.candidates:
        assert one.against == pytest.approx(one.error / own.error - 1, abs=1e-12)
        assert one.title == CATALOGUE[one.name].label
    with pytest.raises(InputError, match="candidate"):
        choice.of("laplace")


def test_no_mechanism_is_more_efficient_than_the_best_of_all():
    policy = PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90])
    least = best_design(policy).certificate.lower_bound ** 0.5
    tables = {"opt0": solve(policy), "oue": baseline(policy, "oue")}
    roots = [(name, error**0.5, "") for name, error in errors_for_choices(policy, tables).items()]
    choice = choose(roots, "opt0", policy, "people", "total error", least)
    assert choice.least_error == least
    squares = (choice.least_error / choice.of("opt0").error) ** 2
    assert squares == pytest.approx(175.805300 / 239.722961, rel=1e-4)
    equal = PrivacyPolicy([1.0], [100])  # subset selection of the best size is the best of all
    best = errors_for_choices(equal, {"oue": baseline(equal, "oue")})["subset"]
    assert 0.999 < best_design(equal).certificate.lower_bound / best <= 1 + 1e-9


def test_the_objective_decides_for_all_mechanisms_alike():
    policy = PrivacyPolicy([0.7, 1.5], [2, 6])
    aim = Objective("expected", prior=[0.1, 0.9])
    errors = errors_for_choices(policy, {"oue": baseline(policy, "oue")}, aim)
    mechanism = GeneralizedRandomizedResponse(0.7, 8)
    counts = np.array([50, 50] + [150] * 6)
    assert errors["grr"] == pytest.approx(mechanism.variance(counts).sum() / 1000, rel=1e-9)
    apart = PrivacyPolicy([0.5, 4.0], [1, 6])  # where the kind of error decides the table
    aim = Objective("expected", weights=[10.0, 1.0], prior=[0.05, 0.95])
    made_for = {"aim": solve(apart, objective=aim), "worst": solve(apart)}
    errors = errors_for_choices(apart, made_for, aim)
    assert errors["aim"] < 0.95 * errors["worst"]
    errors = errors_for_choices(apart, made_for)
    assert errors["worst"] < 0.95 * errors["aim"]


def test_plain_ldp_is_recommended_where_it_wins():
    choice = chosen(PrivacyPolicy(np.log([4, 6]), [1, 4]))
    assert choice.best.name in ("grr", "subset")
    assert choice.reason.startswith("Plain LDP wins")
    choice = chosen(PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90]))
    assert choice.best.name == "opt0"
    assert "protects all like the most sensitive" in choice.reason
    assert f"{100 * choice.of('subset').against:.1f} % more error" in choice.reason


def test_equal_budgets_leave_nothing_to_discriminate_by():
    assert "nothing to discriminate by" in chosen(PrivacyPolicy([1.0, 1.0], [2, 3])).reason


def test_huge_domains_are_compared_by_level():
    policy = PrivacyPolicy([1.0, 2.0], [10**9, 10**11])
    names = set(errors_for_choices(policy, tables(policy)))
    assert names == {"opt0", "opt1", "opt2", "rappor", "oue"}


def test_means_with_and_without_missing_answers():
    model = AnswerRateModel(NormalPreferences(5, 1.5), users=100_000)
    rate = float(model.preferences.answer_rate(np.array([4.0]))[0])
    missing = choose(errors_for_mean(model, 4.0, rate), "bisample-md", None, "", "")
    assert missing.best.name == "bisample-md"
    assert "biases the mean" in missing.reason
    assert "forced answers at the top" in missing.of("harmony").title
    answered = {name: error for name, error, _ in errors_for_mean(model, 4.0)}
    assert answered["harmony"] == pytest.approx(1 / np.tanh(2) ** 2 / model.users)
    gap = np.expm1(2.0)
    ends, middle = 1 / gap + (gap + 4) / (3 * gap**2), (gap + 4) / (3 * gap**2)
    assert answered["piecewise"] == pytest.approx(max(ends, middle) / model.users)
    offered = float(model.curve([4.0]).mean_rmse[0]) ** 2
    assert missing.best.error == pytest.approx(offered, rel=1e-9)


def test_budgets_beyond_the_grid_leave_the_tables_alone():
    policy = PrivacyPolicy([1e-6, 1e-5], [10, 900_000])
    found = tables(policy)
    assert set(errors_for_choices(policy, found)) == set(found)


def test_the_reason_gives_what_is_true_of_the_winner():
    large = PrivacyPolicy([1.0, 1.0], [500, 500])
    unequal = PrivacyPolicy([1.0, 1.1], [1, 3000])
    for policy in (large, unequal, PrivacyPolicy([1.0], [20])):
        choice = chosen(policy)
        named = choice.best.name in ("grr", "subset")
        assert ("naming answers is less noisy" in choice.reason) == named
        equal = "nothing to discriminate by" in choice.reason
        plain = not choice.best.name.startswith("opt")
        assert equal == (plain and np.ptp(policy.epsilons) == 0)
        assert choice.reason.startswith("Plain LDP wins") == plain


def test_choices_by_kind():
    levels = (Level("a", 1.0, item_count=4),)
    sets = ItemSet("q", levels, padding_length=2)
    tables = ["opt0", "opt1", "opt2", "rappor", "oue"]
    assert mechanism_choices(sets) == ["best", "subset-design", *tables]
    assert mechanism_choices(sets.replacing(criterion="minimax")) == ["best", *tables]
    mean = Numeric("q", 0, 1, epsilon=1.0)
    assert mechanism_choices(mean) == [mean.mechanism, "channel"] == ["bisample-md", "channel"]
    for count, plain in ((1, False), (2, True), (100_000, True), (100_001, False)):
        question = Categorical("q", (Level("all", 1.0, item_count=count),))
        assert ("grr" in mechanism_choices(question)) == plain
        assert ("subset-design" in mechanism_choices(question)) == (count > 1)
    worst_item = Categorical("q", levels, criterion="minimax")
    assert "subset-design" not in mechanism_choices(worst_item)
    graph = Categorical("q", levels, rule=((0.5,),))
    assert "direct" not in mechanism_choices(graph)  # compared, and cannot be deployed
