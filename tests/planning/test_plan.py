"""Whole surveys: what is planned, shared, spent, deployed and compared."""

import datetime
from collections import Counter

import numpy as np
import pytest

from planner import AssumedSets, Level, Padded, SamplingPlan, Survey, best_design, solve
from planner.mechanisms.rivals import bisample_variance
from planner.planning import solve as solving_once
from planner.planning.comparison import compare_plans
from planner.planning.ledger import Ledger, LedgerEntry
from planner.planning.plan import plan_survey
from planner.show.kinds import measure, words
from planner.show.plan import design_sentence, spending_sentence
from planner.solvers import solving
from planner.survey.assumed import NormalPreferences
from planner.survey.choices import Categorical, ItemSet, SampledChoice, Sampling
from planner.survey.numeric import Numeric
from planner.survey.ordinal import Ordinal
from tests.planning.surveys import (
    HOUSEHOLD,
    SETS,
    articles,
    shop,
    total,
    with_numeric,
    with_question,
)
from tests.refusals import refused


@pytest.fixture(scope="module")
def plan():
    return plan_survey(HOUSEHOLD)


@pytest.mark.parametrize("design", ["split", "one-each"])
def test_the_objective_is_that_of_the_errors(design):
    others = Categorical(
        "page", (Level("any", 1.0, item_count=30),), weight=0.5, mechanism="opt0"
    )
    for survey in (HOUSEHOLD.replacing(design=design), shop(others, design=design)):
        plan = plan_survey(survey)
        weighted = sum(q.question.weight * q.error for q in plan.questions)
        assert plan.objective_value == pytest.approx(weighted, rel=1e-6)


def test_importance_raises_what_a_sample_may_miss():
    levels = (
        Level("a", 3.0, item_count=1, importance=4.0),
        Level("c", 3.0, item_count=1),
    )
    level = Level("b", 3.0, ("x", "y"))
    other = Categorical("other", (level,))
    question = Categorical("q", levels, mechanism="opt0")
    allocation = plan_survey(
        Survey("s", 1000, (question, other), "one-each")
    ).allocation.some_each
    table = solve(question.policy, objective=question.objective)
    error = table.objective_value
    missed = 4 * 0.5  # a fair coin's variance, times the largest importance
    expected = (error + missed) / allocation.fractions[0] - missed
    assert allocation.errors[0] == pytest.approx(expected, rel=1e-6)


def test_item_sets_of_a_pilot_get_the_best_padding_length(tmp_path):
    rng = np.random.default_rng(1)
    sets = [rng.choice(30, rng.integers(1, 6), replace=False) for _ in range(80)]
    (tmp_path / "pilot.dat").write_text(
        "\n".join(" ".join(map(str, members)) for members in sets)
    )
    pilot = AssumedSets(pilot=str(tmp_path / "pilot.dat"))
    (question,) = plan_survey(shop(sets=pilot)).questions
    assert question.fact(Padded).length == question.fact(Padded).plan.length > 1
    assert question.total_error == pytest.approx(
        question.option("opt0").error, rel=1e-9
    )
    said = "Pilot read as: transactions, blanks, UTF-8, 80 rows."
    assert words(question).assumed(question) == said


def test_a_set_asked_alone_has_the_padding_length_of_its_full_budget():
    level = Level("any", 1.0, item_count=40)
    page = Categorical("page", (level,))
    split = plan_survey(shop(page, users=20_000, design="split"))
    alone = plan_survey(shop(page, users=20_000, design="one-each"))
    (first, _) = split.questions
    (second, _) = alone.questions
    assert second.fact(Padded).length > first.fact(Padded).length
    expected = second.fact(Padded).plan.length
    assert second.fact(Padded).length == expected
    # What is predicted is the error of the very mechanism that is planned, of those asked.
    of_sample = (
        second.fact(Padded).plan.mse[second.fact(Padded).length - 1]
        / second.part.fraction
    )
    unasked = SETS.mean_size * (1 / second.part.fraction - 1)
    assert second.error == pytest.approx(of_sample + unasked, rel=0.02)
    assert split.allocation.some_each.value == pytest.approx(
        alone.objective_value, rel=1e-9
    )


def test_the_ledger_lowers_what_is_left_and_not_what_is_tolerated():
    survey = with_numeric(
        HOUSEHOLD, epsilon=None, preferences=NormalPreferences(5, 1.5)
    )
    survey = survey.replacing(questions=survey.questions[2:])
    (before,) = plan_survey(survey).spending
    past = LedgerEntry(survey="x", day="2026-01-01", rule="min", spent={"income": 1.0})
    (after,) = plan_survey(survey, ledger=Ledger().after(past)).spending
    assert after.tolerated == before.tolerated
    assert after.left == pytest.approx(before.left - 1)


def test_one_collection_keeps_one_rule():
    levels = (Level("a", 1.0, item_count=3), Level("b", 2.0, item_count=3))
    questions = [Categorical(rule, levels, rule) for rule in ("min", "avg")]
    survey = Survey("s", 100, tuple(questions))
    plan = plan_survey(survey)
    with refused("rule"):
        plan.collection(datetime.date(2026, 1, 1))
    (mean,) = HOUSEHOLD.questions[2:]
    survey = Survey("s", 100, (mean,))
    alone = plan_survey(survey)
    assert alone.collection(datetime.date(2026, 1, 1)).rule == "min"


def test_a_matrix_spends_the_largest_protected_pair():
    levels = (Level("a", 1.0, item_count=2), Level("b", 1.0, item_count=3))
    graph = Categorical("q", levels, ((1.0, 0.5), (0.5, 2.0)))
    survey = Survey("s", 100, (graph,))
    (first, second) = plan_survey(survey).spending
    assert first.spent == 1.0
    assert second.spent == 2.0


@pytest.mark.parametrize(
    "survey",
    [
        with_numeric(HOUSEHOLD, epsilon=None),
        with_numeric(HOUSEHOLD, epsilon=12.0, preferences=NormalPreferences(1, 1.2)),
        shop(sets=None),
        Survey("s", 9, (articles().replacing(criterion="minimax"),)),
    ],
)
def test_questions_that_cannot_be_planned_here_are_refused(survey):
    with refused(
        "epsilon of question 'income'", "objective of question 'articles'", "sets"
    ):
        plan_survey(survey)


TINY = (Level("all", 1e-300, ("a", "b", "c")),)
OF_TINY = [
    Categorical("q", TINY),
    Categorical("q", TINY, mechanism="opt0"),
    ItemSet("q", TINY, padding_length=2),
    Ordinal("q", TINY, order=("a", "b", "c")),
]


@pytest.mark.parametrize("question", OF_TINY, ids=lambda one: one.kind)
def test_a_budget_that_no_integers_can_keep_is_named(question):
    with refused("smallest pair budget"):
        plan_survey(Survey("s", 1000, (question,)))


def test_questions_in_two_rounds_take_no_part_in_sharing():
    level = Level("a", 1.0, item_count=1, yes_counts=(5,))
    sampled = SampledChoice("q", (level,), sampling=Sampling("round-two"))
    survey = Survey("s", 100, (sampled,))
    alone = plan_survey(survey)
    assert alone.allocation is None
    assert alone.most_spent == 0.0
    assert alone.spending == ()
    assert (
        measure(alone.questions[0])
        == "Largest error of a count at 95 %, at the expected counts"
    )
    level = Level("a", 1.0, item_count=3)
    other = Categorical("other", (level,))
    survey = Survey("s", 100, (sampled, other))
    both = plan_survey(survey)
    assert [question.name for question in both.questions] == ["q", "other"]
    assert both.allocation is None
    assert both.question("other").part.share == 1
    errors = both.question("q").fact(SamplingPlan).absolute_errors()
    assert both.question("q").total_error == pytest.approx(errors.max())
    with refused("question"):
        both.question("x")
    with refused("spending"):
        alone.collection(datetime.date(2026, 1, 1))


@pytest.mark.parametrize("about", [{}, {"padding_length": 1}])
def test_a_survey_of_one_item_is_planned(about):
    """One answer for everybody has no error: nothing is divided by it."""
    if about:
        make = ItemSet
    else:
        make = Categorical
    level = Level("a", 1.0, ("x",))
    question = make("q", (level,), **about)
    survey = Survey("s", 1000, (question,))
    assert plan_survey(survey).questions[0].total_error >= 0


def means(epsilon, design, asked=None):
    keys = {"epsilon": epsilon, "mechanism": "bisample-md", "refusals": 0}
    questions = tuple(Numeric(f"mean {j}", 0, 100, **keys) for j in range(5))
    return Survey("means", 10_000, questions, design, asked=asked)


def test_several_attributes_are_sampled():
    """d/k times the error of BiSample-MD at eps/k per person is that of k of d attributes."""
    plan = plan_survey(means(6.0, "some-each"))
    errors = []
    for k in (1, 2, 3, 4):
        errors.append(5 / k * float(bisample_variance(1 / np.sinh(3 / k) ** 2, 1.0)))
    assert plan.questions_each == 1 + int(np.argmin(errors)) == 2
    expected = 5 * min(errors)
    assert plan.objective_value == pytest.approx(expected)
    for question in plan.questions:
        assert (
            question.part.share,
            question.part.fraction,
            question.part.people,
        ) == pytest.approx((1 / 2, 2 / 5, 4_000))
        assert question.law.asked.epsilon == pytest.approx(3.0)
        assert question.error == pytest.approx(min(errors))
    assert plan.most_spent == pytest.approx(6.0)
    assert design_sentence(plan, plan.allocation).endswith("This plan does so.")
    assert "2 of 5 questions" in design_sentence(plan, plan.allocation)
    said = "A person answers 2 of 5 questions and spends epsilon 6.0000 at most"
    assert said in spending_sentence(plan)


def test_the_number_asked_may_be_given():
    plan = plan_survey(means(6.0, "some-each", 3))
    assert plan.questions_each == 3
    assert plan.allocation.best_each.asked == 2
    said = design_sentence(plan, plan.allocation)
    assert "This plan asks everybody 3 of 5 questions instead" in said
    assert plan.questions[0].law.asked.epsilon == pytest.approx(2.0)
    alone = plan_survey(means(6.0, "one-each"))
    assert alone.questions_each == 1
    assert alone.better_design == "some-each"


def test_questions_and_levels_are_matched_by_name(plan):
    severe, common = HOUSEHOLD.questions[0].levels
    less = with_question(
        HOUSEHOLD, "diagnosis", levels=(severe, common.replacing(epsilon=1.6))
    )
    other = plan_survey(less)

    def rows_of(first, second):
        return {
            (row.question, row.level, row.what): row
            for row in compare_plans(first, second)
        }

    rows = rows_of(plan, other)
    row = rows["diagnosis", "common", "spent (epsilon)"]
    expected = plan.spending[1].spent
    assert row.first == pytest.approx(expected)
    expected = other.spending[1].spent
    assert row.second == pytest.approx(expected)
    assert rows["", "", "objective"].change > 0
    alone = plan_survey(
        Survey("s", 10, (Categorical("other", (Level("x", 1.0, item_count=2),)),))
    )
    row = rows_of(plan, alone)["other", "x", "spent (epsilon)"]
    assert row.first is None
    assert row.change is None


LEVELS = (Level("health", 2.0, item_count=2), Level("everyday", 4.0, item_count=40))
SURVEYS = {
    "sets of OUE": shop(mechanism="oue"),
    "sets and a choice": shop(Categorical("page", LEVELS), mechanism="best"),
    "twins": Survey(
        "twins", 50_000, [Categorical(x, LEVELS, targets=total(0.01)) for x in "ab"]
    ),
}


@pytest.mark.parametrize("name", SURVEYS)
def test_no_problem_is_solved_twice(name, monkeypatch):
    solved = Counter()
    solve_by = solving.solve_by

    def counted(program, method):
        solved[program.policy, program.model.name, program.objective] += 1
        return solve_by(program, method)

    def designed(policy, objective, tolerance):
        solved[policy, "subset-design", objective, tolerance] += 1
        return best_design(policy, objective, tolerance)

    monkeypatch.setattr(solving, "solve_by", counted)
    monkeypatch.setattr(solving_once, "best_design", designed)
    solving_once.forget()
    plan_survey(SURVEYS[name])
    assert max(solved.values(), default=0) <= 1, solved.most_common(3)
    assert (
        len(solved) >= 3
    )  # every model at least: the count is of what is really solved
    if any(question.kind == "categorical" for question in SURVEYS[name].questions):
        assert any("subset-design" in problem for problem in solved)
    before = solved.copy()
    again = plan_survey(SURVEYS[name])
    assert solved == before
    expected = len(SURVEYS[name].questions)
    assert len(again.questions) == expected
