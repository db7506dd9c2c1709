"""The best of all mechanisms: planned unless another is asked for, and said why where it is not."""

import numpy as np
import pytest

from planner import (
    Level,
    Survey,
    Target,
    best_design,
    load_survey,
    plan_survey,
)
from planner.deployment.parameter_file.building import survey_parameters
from planner.errors import ConvergenceError
from planner.mechanisms.subset_design import SubsetDesignMechanism
from planner.planning import solve as solving_once
from planner.planning.question import budget_curve, realised_budgets
from planner.planning.what_if import smallest_budgets
from planner.show import kinds
from planner.show import plan as said
from planner.solvers import solving
from planner.survey.questions import Categorical, ItemSet
from tests.surveys import EXAMPLES

BROWSING = load_survey(EXAMPLES / "browsing.toml")
LEVELS = (Level("severe", 1.0, item_count=1), Level("common", 2.0, item_count=9))


def planned(*levels, **about):
    kind = ItemSet if "padding_length" in about else Categorical
    question = kind("q", levels or LEVELS, **about)
    return plan_survey(Survey("s", 10_000, (question,))).questions[0]


@pytest.fixture(scope="module")
def browsing():
    (question,) = BROWSING.questions
    wanted = (Target(error=0.01), Target(detect=0.005, level="public"))
    return plan_survey(BROWSING.replacing(questions=(question.replacing(targets=wanted),)))


@pytest.fixture(scope="module")
def question(browsing):
    return browsing.questions[0]


def test_browsing_has_the_error_that_is_proven_least(question):
    assert (question.question.mechanism, question.deployed.mechanism) == ("best", "subset-design")
    assert question.total_error == pytest.approx(np.sqrt(175.805300 * 1e6), rel=1e-7)
    assert question.option("opt0").error == pytest.approx(np.sqrt(239.722960 * 1e6), rel=1e-7)
    assert question.options[0].name == question.deployed.mechanism == "subset-design"
    assert question.lower_bound <= question.total_error <= question.lower_bound * (1 + 1e-6)
    sentence = kinds.certificate_sentences(question)[0]
    assert "no mechanism of any kind that keeps these budgets" in sentence
    assert len(kinds.certificate_sentences(question)) == 1
    assert "IDUE opt0, one bit an answer, has 16.8 % more error" in question.reason


def test_what_is_exported_keeps_every_budget_and_the_error(browsing, question):
    (file,) = survey_parameters(browsing).questions
    assert file.mechanism == "subset-design"
    sent = kinds.report_sentences(question)[1]
    assert f"{question.design.types.size} types of reports" in sent
    assert sent.endswith(f"{8 + 16} bytes.")
    losses, bounds = realised_budgets(question), question.deployed.policy.bounds()
    assert (losses <= bounds).all()
    assert (losses > 0.999 * bounds).all()  # and it uses what it may


def test_the_simulated_error_is_the_predicted_one_at_three_truths(question):
    """200 runs: five standard errors are passed by chance once in a million."""
    mechanism = SubsetDesignMechanism.of(question.design)
    worst = int(np.argmax(question.design.level_errors))
    first = np.cumsum([0, 5, 5])
    rng = np.random.default_rng(11)
    truths = np.zeros((3, 100), dtype=np.int64)
    truths[0, first[worst]] = 100_000
    truths[1] = 1000
    truths[2] = rng.multinomial(100_000, rng.dirichlet(np.full(100, 0.2)))
    for truth in truths:
        drawn = (mechanism.estimate(mechanism.draw_aggregate(truth, rng)) for _ in range(200))
        errors = np.array([np.square(one.values - truth).sum() for one in drawn]) / 100_000
        spread = errors.std(ddof=1) / np.sqrt(errors.size)
        predicted = mechanism.variance(truth).sum() / 100_000
        assert abs(errors.mean() - predicted) < 5 * spread
        assert abs(errors.mean() - 1.3 * predicted) > 5 * spread  # a near miss is seen
    at_worst = mechanism.variance(truths[0]).sum() / 100_000
    assert at_worst == pytest.approx(175.805300, rel=1e-6)


def test_a_rare_items_error_is_at_most_what_is_said(question):
    mechanism = SubsetDesignMechanism.of(question.design)
    rng = np.random.default_rng(3)
    for shares in rng.dirichlet(np.full(3, 0.5), 20):
        people = np.rint(shares * 1_000_000).astype(np.int64)
        truth = np.zeros(100, dtype=np.int64)
        truth[[1, 6, 11]] = people  # the first item of each level is nobody's
        errors = np.sqrt(mechanism.variance(truth)[[0, 5, 10]])
        assert (errors <= question.levels.standard_errors * (1 + 1e-6)).all()


def test_targets_are_the_designs(question):
    total, detect = question.targets
    assert total.reached == pytest.approx(np.sqrt(175.805300 / 1e6), rel=1e-6)
    assert total.users == pytest.approx(1_758_053, abs=2)
    assert detect.met
    policy = question.deployed.policy
    found = smallest_budgets(policy, 1_000_000, Target(error=0.01), "subset-design")
    assert found.reason == total.budgets
    assert found.reached[0] == pytest.approx(0.01, rel=1e-4)
    assert found.reached[0] <= 0.01  # there and back
    assert found.certified.worst_case_mse == pytest.approx(100, rel=1e-4)
    opt0 = smallest_budgets(policy, 1_000_000, Target(error=0.01))
    assert found.scale < 0.9 * opt0.scale


def test_what_a_little_more_budget_buys_is_the_designs(question):
    best = question.relaxations[0]
    assert (best.level, best.amount) == ("intimate", 0.1)
    more = best_design(question.deployed.policy.with_changes([1.1, 1.2, 2.0]))
    saved = 1 - np.sqrt(more.worst_case_mse / question.design.worst_case_mse)
    assert best.saving == pytest.approx(saved, rel=1e-4)
    assert question.saturation_epsilon == 2.0
    assert question.levels.prices is None


def test_the_budget_curve_is_the_designs(question):
    curve = budget_curve(question, np.array([0.5, 1.0, 2.0]))
    known = np.array([777.37785, 175.80530, 31.550883])  # per user
    assert np.square(curve.total_error * 1000) == pytest.approx(known, rel=1e-6)
    assert curve.largest_gap < 1e-6


def test_where_there_is_no_design_the_best_of_the_others_is_planned():
    for kind in ({"padding_length": 2}, {}):
        one = planned(criterion="minimax", **kind)
        refused = {option.name: option.refused for option in one.refused}
        name = "set-design" if kind else "subset-design"
        assert refused[name]
        assert one.deployed.mechanism == one.options[0].name == one.deployed.mechanism
        assert one.design is None


def test_of_many_levels_a_design_treats_neighbours_alike_and_says_the_gap():
    many = tuple(Level(f"l{i}", 1 + i / 10, item_count=3) for i in range(8))
    one = planned(*many)
    assert one.deployed.mechanism == one.options[0].name == "subset-design"
    assert one.design.types.item_counts.size == 5
    assert 0.01 < one.proven_gap < 0.2
    alike = tuple(level.replacing(epsilon=1.0 + i % 2) for i, level in enumerate(many))
    assert planned(*alike).deployed.mechanism == "subset-design"  # two kinds of level


def test_a_design_that_cannot_be_proven_or_deployed_is_left_out(monkeypatch):
    def fail(*_, **__):
        raise ConvergenceError("Clarabel failed", "Try again.")

    solving_once.forget()
    with monkeypatch.context() as patch:
        patch.setattr(solving_once, "best_design", fail)
        one = planned()
    assert one.left_out == ("Subset design is left out: Clarabel failed.",)
    assert one.least_error is None
    with monkeypatch.context() as patch:
        patch.setattr(solving_once, "MAX_CELLS", 20)
        one = planned()
    assert any("types times items is" in reason for reason in one.left_out)
    assert one.deployed.mechanism != "subset-design"
    assert one.least_error < one.total_error  # the bound stands all the same
    coarse = planned(Level("all", 18.3, item_count=304), mechanism="best")
    assert any("what rounding costs is 0.02" in reason for reason in coarse.left_out)
    assert coarse.deployed.mechanism != "subset-design"


def test_a_rival_that_cannot_be_proven_is_left_out_with_a_word(monkeypatch):
    solve_by = solving._solve_by

    def fail_for_opt2(program, method):
        if program.model.name == "opt2":
            raise ConvergenceError("Proven only to 7e-06", "Ask for another.")
        return solve_by(program, method)

    monkeypatch.setattr(solving, "_solve_by", fail_for_opt2)
    solving_once.forget()
    for name in ("best", "opt0", "grr"):
        one = planned(mechanism=name)
        assert one.left_out == ("IDUE opt2 (a = 1/2) is left out: Proven only to 7e-06.",)
        assert {"opt0", "opt1", "oue"} <= {rival.name for rival in one.options}
    with pytest.raises(ConvergenceError, match="7e-06"):
        planned(mechanism="opt2")  # what is planned must be proven


def test_any_other_is_one_word_away():
    for name in ("opt0", "grr", "subset-design"):
        one = planned(mechanism=name)
        assert one.deployed.mechanism == one.deployed.mechanism == name


def test_equal_budgets_say_that_nothing_is_gained_over_plain_subsets():
    one = planned(Level("all", 1.0, item_count=10))
    assert one.deployed.mechanism == "subset-design"
    assert one.reason.startswith("All budgets are equal, so there is nothing")
    assert one.option("subset").against == pytest.approx(0, abs=1e-6)


def test_a_split_says_whose_errors_its_shares_are_planned_with():
    both = (Categorical("a", LEVELS, mechanism="grr"), Categorical("b", LEVELS, mechanism="opt0"))
    plan = plan_survey(Survey("s", 10_000, both))
    assert "if 'a' had IDUE opt0, whose errors they are planned with" in said.shares_sentence(plan)
    tables_alone = plan.survey.replacing(questions=(both[0].replacing(mechanism="opt0"), both[1]))
    assert "whose errors" not in said.shares_sentence(plan_survey(tables_alone))
