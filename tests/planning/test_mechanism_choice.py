import numpy as np
import pytest

from planner import (
    GeneralizedRandomizedResponse,
    InputError,
    OptimizedLocalHashing,
    PrivacyPolicy,
    SubsetSelection,
    baseline,
    solve,
)
from planner.mechanisms.direct_levels import DirectEncoding
from planner.planning.answer_rate.model import AnswerRateModel
from planner.planning.mechanism_choice import choose_for_choices, choose_for_mean, choose_for_sets
from planner.planning.padding import plan_padding
from planner.survey.preferences import NormalPreferences
from planner.survey.set_model import AssumedSets


def tables(policy):
    found = {name: solve(policy, name) for name in ("opt0", "opt1", "opt2")}
    return found | {name: baseline(policy, name) for name in ("rappor", "oue")}


def worst_case(mechanism):
    """From the variance of true counts: all people have the least favourable item."""
    items = mechanism.items
    return max(
        mechanism.variance(1000 * np.eye(items, dtype=int)[k]).sum() / 1000 for k in range(items)
    )


def test_all_candidates_are_on_one_scale():
    policy = PrivacyPolicy([0.7, 1.5], [2, 6], rule="avg")
    choice = choose_for_choices(policy, tables(policy))
    rivals = {
        "grr": GeneralizedRandomizedResponse(0.7, 8),
        "subset": SubsetSelection(0.7, 8),
        "olh": OptimizedLocalHashing(0.7, 8),
        "direct": DirectEncoding(policy),
    }
    for name, mechanism in rivals.items():
        assert choice.error(name) == pytest.approx(worst_case(mechanism), rel=1e-9)
    for name, table in tables(policy).items():
        assert choice.error(name) == table.worst_case_mse
    errors = [c.error for c in choice.candidates]
    assert errors == sorted(errors)
    with pytest.raises(InputError, match="candidate"):
        choice.error("laplace")


def test_plain_ldp_is_recommended_where_it_wins():
    few = PrivacyPolicy(np.log([4, 6]), [1, 4])
    choice = choose_for_choices(few, tables(few))
    assert choice.best.name in ("grr", "subset")
    assert choice.reason.startswith("Plain LDP wins")
    many = PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90])
    choice = choose_for_choices(many, tables(many))
    assert choice.best.name == "opt0"
    assert "protects all like the most sensitive" in choice.reason


def test_equal_budgets_leave_nothing_to_discriminate_by():
    policy = PrivacyPolicy([1.0, 1.0], [2, 3])
    assert "nothing to discriminate by" in choose_for_choices(policy, tables(policy)).reason


def test_huge_domains_are_compared_by_level():
    policy = PrivacyPolicy([1.0, 2.0], [10**9, 10**11])
    names = {c.name for c in choose_for_choices(policy, tables(policy)).candidates}
    assert names == {"opt0", "opt1", "opt2", "rappor", "oue"}


def test_sets_are_compared_at_their_own_lengths():
    policy = PrivacyPolicy([2.0, 4.0], [20, 400])
    sets = AssumedSets([0, 30, 25, 15, 10, 8, 5])
    choice = choose_for_sets(tables(policy), 50_000, sets)
    for name, table in tables(policy).items():
        plan = plan_padding(table, 50_000, sets)
        assert choice.error(name) == pytest.approx(plan.mse.min())
    fixed = choose_for_sets(tables(policy), 50_000, sets, length=2)
    assert all(c.label.endswith("l = 2") for c in fixed.candidates)
    blind = choose_for_sets(tables(policy), 50_000, None, assumed=3)
    assert blind.error("opt0") == pytest.approx(9 * solve(policy).worst_case_mse + 6)


def test_means_with_and_without_missing_answers():
    model = AnswerRateModel(NormalPreferences(5, 1.5), users=100_000)
    rate = float(model.preferences.answer_rate(np.array([4.0]))[0])
    missing = choose_for_mean(model, 4.0, rate)
    assert missing.best.name == "bisample-md"
    assert "biases the mean" in missing.reason
    answered = {c.name: c.error for c in choose_for_mean(model, 4.0).candidates}
    assert answered["harmony"] == pytest.approx(1 / np.tanh(2) ** 2)
    gap = np.expm1(2.0)
    ends, middle = 1 / gap + (gap + 4) / (3 * gap**2), (gap + 4) / (3 * gap**2)
    assert answered["piecewise"] == pytest.approx(max(ends, middle))
    offered = float(model.curve([4.0]).mean_rmse[0]) ** 2 * model.users
    assert missing.best.error == pytest.approx(offered, rel=1e-9)


def test_budgets_beyond_the_grid_leave_the_tables_alone():
    policy = PrivacyPolicy([1e-6, 1e-5], [10, 900_000])
    found = tables(policy)
    assert {c.name for c in choose_for_choices(policy, found).candidates} == set(found)


def test_the_reason_gives_what_is_true_of_the_winner():
    large = PrivacyPolicy([1.0, 1.0], [500, 500])
    unequal = PrivacyPolicy([1.0, 1.1], [1, 3000])
    few, answers = PrivacyPolicy([1.0], [20]), AssumedSets([5, 1, 1, 1])  # OUE as good as opt2
    for policy, choice in (
        *((p, choose_for_choices(p, tables(p))) for p in (large, unequal, few)),
        (few, choose_for_sets(tables(few), 1000, answers)),
    ):
        named = choice.best.name in ("grr", "subset")
        assert ("naming answers is less noisy" in choice.reason) == named
        equal = "nothing to discriminate by" in choice.reason
        plain = not choice.best.name.startswith("opt")
        assert equal == (plain and np.ptp(policy.epsilons) == 0)
        assert choice.reason.startswith("Plain LDP wins") == plain
