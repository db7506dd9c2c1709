"""What a question about one answer is planned with: ranked, explained, with a true reason."""

import numpy as np
import pytest

from planner import (
    ConvergenceError,
    SubsetDesign,
    Survey,
    plan_survey,
    smallest_budgets,
    solve,
)
from planner.planning import solve as solving_once
from planner.planning.beliefs import beliefs_after
from planner.planning.choice import rivals
from planner.planning.question import KINDS, budget_curve
from planner.policy.policy import PrivacyPolicy
from planner.show import plan as said
from planner.show.html import handout_html
from planner.show.plan import left_out
from planner.show.promises import odds_sentence, promises_of, unused_sentence
from planner.solvers import design_search, solving
from planner.solvers.generation import Generated, generate
from planner.survey.choices import Categorical, ItemSet
from planner.survey.levels import Level, Target
from planner.survey.numeric import Numeric
from planner.survey.survey import load_survey
from tests.mechanisms.listed import sets_law
from tests.refusals import refused
from tests.surveys import EXAMPLES


def choices(question):
    return KINDS[question.kind].mechanisms(question)


def planned(epsilons, counts, kind=Categorical, *, people=1000, **keys):
    levels = zip(map(float, epsilons), counts, strict=True)
    rows = tuple(Level(f"l{i}", e, item_count=n) for i, (e, n) in enumerate(levels))
    question = kind("q", rows, **({"mechanism": "opt0"} | keys))
    survey = Survey("s", people, (question,))
    plan = plan_survey(survey)
    return plan.questions[0]


def test_errors_of_rivals_are_their_worst_total_variance():
    policy = PrivacyPolicy([0.7, 1.5], [2, 6], rule="avg")
    plan = planned([0.7, 1.5], [2, 6], rule="avg")
    for name, mechanism in rivals(policy).items():
        counts = 1000 * np.eye(8, dtype=np.int64)
        worst = max(mechanism.variance(count).sum() for count in counts)
        expected = np.sqrt(worst)
        assert plan.option(name).error == pytest.approx(expected, rel=1e-8)
    names = {"subset-design", "opt0", "opt1", "opt2", *rivals(policy), "direct"}
    assert {option.name for option in plan.options} == names
    assert plan.option("direct").title.endswith("not deployed here")


def test_the_best_with_one_budget_for_all_is_the_best_rival():
    plan = planned([1.0, 1.5, 3.0], [1, 3, 12], mechanism="best")
    assert [option.name for option in plan.solved_options] == ["subset-design"]
    plain = min(option.error for option in plan.options if not option.by_level)
    assert plan.best_plain_ldp.error == pytest.approx(plain, rel=1e-6)


@pytest.mark.parametrize("name", ["opt0", "grr"])
def test_options_are_ranked_and_judged_against_the_plan(name):
    plan = planned([1.0, 1.2, 2.0], [5, 5, 90], mechanism=name)
    errors = [option.error for option in plan.options]
    assert errors == sorted(errors)
    chosen = plan.option(name)
    assert plan.planned == chosen
    assert chosen.against == 0.0
    assert chosen.error == plan.total_error
    for another in plan.options:
        assert another.against == pytest.approx(
            another.error / chosen.error - 1, abs=2e-6
        )
        assert another.error >= plan.least_error
    with refused("option"):
        plan.option("laplace")


@pytest.mark.parametrize("mechanism", ["best", "opt0"])
def test_plain_ldp_is_best_where_it_is(mechanism):
    graph = ((1.0, 1.0), (1.0, np.inf))  # nothing is left to protect less
    plan = planned(
        [1.0, 1.0], [2, 30], criterion="minimax", rule=graph, mechanism=mechanism
    )
    assert plan.planned.name == (
        plan.options[0].name if mechanism == "best" else "opt0"
    )


def test_huge_domains_are_compared_by_level():
    policy = PrivacyPolicy([1.0, 2.0], [10**9, 10**11])
    assert rivals(policy) == {}
    assert (
        rivals(PrivacyPolicy([1e-6, 1e-5], [10, 900_000])) == {}
    )  # beyond the grid of 2^-32


def test_choices_by_kind():
    level = Level("a", 1.0, item_count=4)
    levels = (level,)
    tables = ["opt0", "opt1", "opt2", "rappor", "oue"]
    sets = ItemSet("q", levels, padding_length=2)
    assert choices(sets) == ["best", "set-design", *tables]
    assert choices(sets.replacing(criterion="minimax")) == ["best", *tables]
    mean = Numeric("q", 0, 1, epsilon=1.0)
    assert choices(mean) == ["best", "bisample-md", "channel"]
    for count, plain in (
        (1, False),
        (2, True),
        (100_000, True),
        (100_001, False),
    ):
        level = Level("all", 1.0, item_count=count)
        question = Categorical("q", (level,))
        assert ("grr" in choices(question)) == plain
        assert ("subset-design" in choices(question)) == (count > 1)
    asked = Categorical("q", levels, rule=((0.5,),))
    assert "direct" not in choices(asked)


BROWSING = load_survey(EXAMPLES / "browsing.toml")
LEVELS = (Level("severe", 1.0, item_count=1), Level("common", 2.0, item_count=9))


def best_of(*levels, **keys):
    if "padding_length" in keys:
        kind = ItemSet
    else:
        kind = Categorical
    question = kind("q", levels or LEVELS, **keys)
    survey = Survey("s", 10_000, (question,))
    plan = plan_survey(survey)
    return plan.questions[0]


@pytest.fixture(scope="module")
def question():
    (asked,) = BROWSING.questions
    targets = (Target(error=0.01), Target(detect=0.005, level="public"))
    survey = BROWSING.replacing(questions=(asked.replacing(targets=targets),))
    return plan_survey(survey).questions[0]


def test_targets_are_the_designs(question):
    total, detect = question.targets
    expected = np.sqrt(175.805300 / 1e6)
    assert total.reached == pytest.approx(expected, rel=1e-6)
    assert total.users == pytest.approx(1_758_053, abs=2)
    assert detect.met
    policy = question.deployed.policy
    target = Target(error=0.01)
    budgets = smallest_budgets(policy, 1_000_000, target, "subset-design")
    assert budgets.scale == pytest.approx(total.budgets.scale, rel=1e-5)
    assert budgets.reached[0] == pytest.approx(0.01, rel=1e-4)
    assert budgets.reached[0] <= 0.01  # there and back
    assert budgets.option.value == pytest.approx(100, rel=1e-4)
    target = Target(error=0.01)
    opt0 = smallest_budgets(policy, 1_000_000, target)
    assert budgets.scale < 0.9 * opt0.scale


def test_the_budget_curve_is_the_designs(question):
    curve = budget_curve(question, np.array([0.5, 1.0, 2.0]))
    errors = np.array([777.37785, 175.80530, 31.550883])  # per user
    assert np.square(curve.total_error * 1000) == pytest.approx(errors, rel=1e-6)
    assert curve.largest_gap < 1e-6
    unproven = budget_curve(best_of(mechanism="grr"), np.array([1.0, 2.0]))
    assert unproven.summary == "1 to 2 times the budgets."


def test_where_there_is_no_design_the_best_of_the_others_is_planned():
    for kind, name in (({"padding_length": 2}, "set-design"), ({}, "subset-design")):
        plan = best_of(criterion="minimax", **kind)
        assert {option.name: option.refused for option in plan.all_options}[name]
        assert plan.deployed.mechanism == plan.options[0].name != name
        assert plan.fact(SubsetDesign) is None


def test_a_design_that_cannot_be_proven_or_deployed_is_left_out(monkeypatch):
    def fail(*_, **__):
        raise ConvergenceError("Clarabel failed", "Try again.")

    def prove_nothing(*arguments):
        columns, answer, _, solved, stopped = generate(*arguments)
        return Generated(columns, answer, -np.inf, solved, stopped)

    solving_once.forget()
    with monkeypatch.context() as patch:
        patch.setattr(solving_once, "best_design", fail)
        plan = best_of()
    assert tuple(left_out(plan)) == ("Subset design is left out: Clarabel failed.",)
    assert plan.least_error is None
    with monkeypatch.context() as patch:
        patch.setattr(design_search, "generate", prove_nothing)
        plan = best_of(Level("a", 1.0, item_count=7), mechanism="best")
        # not proven, and planned
        assert plan.lower_bound == 0
        assert plan.proven_gap is None
    with monkeypatch.context() as patch:
        patch.setattr(solving_once, "MAX_CELLS", 20)
        plan = best_of()
    assert any("types times items is" in reason for reason in left_out(plan))
    assert plan.deployed.mechanism != "subset-design"
    assert plan.least_error < plan.total_error  # the bound stands all the same
    coarse = best_of(Level("all", 18.3, item_count=304), mechanism="best")
    assert any("what rounding costs is 0.02" in reason for reason in left_out(coarse))
    assert coarse.deployed.mechanism != "subset-design"


def test_a_rival_that_cannot_be_proven_is_left_out_with_a_word(monkeypatch):
    solve_by = solving.solve_by

    def fail_for_opt2(program, method):
        if program.model.name == "opt2":
            raise ConvergenceError("Proven only to 7e-06", "Ask for another.")
        return solve_by(program, method)

    monkeypatch.setattr(solving, "solve_by", fail_for_opt2)
    solving_once.forget()
    for name in ("best", "opt0", "grr"):
        plan = best_of(mechanism=name)
        assert tuple(left_out(plan)) == (
            "IDUE opt2 (a = 1/2) is left out: Proven only to 7e-06.",
        )
        assert {"opt0", "opt1", "oue"} <= {rival.name for rival in plan.options}
    with refused("Proven only to 7e-06", kind=ConvergenceError):
        best_of(mechanism="opt2")  # what is planned must be proven


def test_a_split_says_whose_errors_its_shares_are_planned_with():
    both = (
        Categorical("a", LEVELS, mechanism="grr"),
        Categorical("b", LEVELS, mechanism="opt0"),
    )
    survey = Survey("s", 10_000, both)
    plan = plan_survey(survey)
    sentence = said.shares_sentence(plan, plan.allocation)
    assert "if 'a' had IDUE opt0, whose errors they are planned with" in sentence
    tables_alone = plan.survey.replacing(
        questions=(both[0].replacing(mechanism="opt0"), both[1])
    )
    plan = plan_survey(tables_alone)
    assert "whose errors" not in said.shares_sentence(plan, plan.allocation)


def test_odds_say_the_probabilities():
    plan = planned([1.0, 1.2, 2.0], [5, 5, 90])
    assert "41 send a 1" in odds_sentence(plan, 0)
    assert "27 do" in odds_sentence(plan, 0)
    assert plan.realised[:, 0] == pytest.approx([1.0, 1.0])
    padded = planned([1.0, 1.2, 2.0], [5, 5, 90], ItemSet, padding_length=4)
    assert "31 send a 1" in odds_sentence(padded, 0)  # 27.4 + (40.9 - 27.4) / 4


def test_what_a_report_realises_is_promised_on_every_face():
    """A budget of 3 of which 2 are used: the handout said 69.1 %, the app 45.09 %."""
    survey = plan_survey(load_survey(EXAMPLES / "clinic.toml"))
    (plan,) = survey.questions
    assert plan.spending[-1].spent == 3.0
    assert plan.realised[0] == pytest.approx([1.0, 1.5, 2.0], rel=1e-6)
    assert "7.39-fold for 'harmless'" in promises_of(plan)[0]
    assert beliefs_after(plan.leakage, 0.1)[1].max() == pytest.approx(0.45085, abs=1e-4)
    assert "to be at most 45.1 % likely" in handout_html(survey)
    assert "2.0000 of 3.0000 for 'harmless'" in unused_sentence(plan)


def test_beliefs_about_sets_hold_for_every_report():
    from planner import padded, unary

    policy = PrivacyPolicy([0.6, 1.0], [1, 2])
    table = solve(policy)
    mechanism = padded(unary(table), 2)
    law = sets_law(mechanism)  # 8 sets
    plan = planned([0.6, 1.0], [1, 2], ItemSet, padding_length=2)
    leakage = plan.leakage[:, 0]
    has = (np.arange(8) & 1).astype(bool)
    rng = np.random.default_rng(2)
    for belief in (0.01, 0.1, 0.5):
        low, high = beliefs_after(leakage, belief)
        for _ in range(100):
            prior = rng.dirichlet(np.ones(8))
            prior[has] *= belief / prior[has].sum()
            prior[~has] *= (1 - belief) / prior[~has].sum()
            posterior = (prior[has] @ law[has]) / (prior @ law)
            assert low * (1 - 1e-9) <= posterior.min()
            assert posterior.max() <= high * (1 + 1e-9)


@pytest.mark.parametrize("mechanism", ["opt0", "subset-design"])
def test_at_the_smallest_budgets_the_error_is_that_of_the_integers(mechanism):
    """Rounding to 2^-32 adds up to 3e-3 there, which the plan left out."""
    levels = (Level("a", 1e-5, item_count=3), Level("b", 2e-5, item_count=2))
    asked = Categorical("q", levels, mechanism=mechanism)
    survey = Survey("s", 1000, (asked,))
    plan = plan_survey(survey).question("q")
    errors = [plan.law.variance(1000 * row).sum() for row in np.eye(5, dtype=int)]
    expected = max(errors) ** 0.5
    assert plan.total_error == pytest.approx(expected, rel=1e-6)
    solved = (1000 * plan.mechanism.worst_case_mse) ** 0.5
    assert plan.total_error > (1 + 1e-4) * solved


def test_the_curve_of_one_level_moves_what_reports_say_for_it_and_not_against_it():
    def one_sided(epsilon):
        levels = (
            Level("severe", epsilon, ("a", "b"), against=0.8),
            Level("common", 2.0, ("c", "d")),
        )
        asked = Categorical("q", levels, "one-sided", mechanism="opt0")
        survey = Survey("s", 1000, (asked,))
        plan = plan_survey(survey)
        return plan.questions[0]

    curve = budget_curve(one_sided(1.0), np.array([0.5, 1.0, 2.0]), "severe")
    anew = [one_sided(epsilon).total_error / 1000 for epsilon in (0.5, 1.0, 2.0)]
    assert curve.total_error == pytest.approx(anew, rel=1e-5)
    # With both budgets of the level doubled the error is smaller: the test could see it.
    both = one_sided(1.0).curve.at(2.0, level="severe")
    assert np.sqrt(both.squared / 1000) < 0.97 * curve.total_error[2]
