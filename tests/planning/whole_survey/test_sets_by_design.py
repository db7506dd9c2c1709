"""Questions of sets that ask for a subset design: plan, file, clients, collector and estimates."""

import numpy as np
import pytest

from planner import (
    AssumedSets,
    InputError,
    Level,
    Survey,
    plan_survey,
)
from planner.deployment.parameter_file.building import question_document, survey_parameters
from planner.mechanisms.itemsets import ItemSets
from planner.mechanisms.words import seeded_words
from planner.planning.solve import solve_for
from planner.planning.what_if import relaxed
from planner.show import kinds
from planner.show import plan as said
from planner.survey.questions import ItemSet, Numeric

LEVELS = (Level("rare", 1.0, ("x",)), Level("usual", 2.0, item_count=11))
SETS = ItemSet("basket", LEVELS, sets=AssumedSets([1, 4, 3, 2, 1]), mechanism="subset-design")


def planned(users=20_000, **more):
    (one,) = plan_survey(Survey("s", users, (SETS.replacing(**more),))).questions
    return one


@pytest.fixture(scope="module")
def plan():
    return plan_survey(Survey("s", 20_000, (SETS,)))


def test_its_padding_length_is_its_own_and_its_error_smaller(plan):
    (question,) = plan.questions
    assert question.padding_length == question.padding.length
    assert question.total_error == pytest.approx(question.option("subset-design").error)
    assert question.total_error < 0.9 * question.option("opt0").error
    assert question.least_error is None  # a set is more than one draw
    assert question.lower_bound <= question.total_error <= (1 + 1e-6) * question.lower_bound
    assert (
        "padded or cut to 3, with any unbiased estimate of what is drawn"
        in kinds.certificate_sentences(question)[0]
    )
    assert "all 12 answers and a dummy" in kinds.report_sentences(question)[1]
    assert kinds.report_sentences(question)[0].startswith(
        "One of a person's answers, padded or cut to"
    )


def test_the_best_is_planned_and_the_others_are_compared(plan):
    (named,), usual = plan.questions, planned(mechanism="best")
    assert usual.deployed.mechanism == usual.options[0].name == "subset-design"
    assert usual.total_error == named.total_error
    table = planned(mechanism="opt0")
    assert usual.option("opt0").note == f"l = {table.padding_length}"
    assert usual.option("opt0").error == pytest.approx(table.total_error, rel=0.01)
    assert table.option("subset-design").error == pytest.approx(usual.total_error, rel=0.01)


def test_sets_that_are_never_empty_have_a_design_at_length_one():
    """Nothing is known of whom a dummy is drawn; from an empty set it still is."""
    one = planned(mechanism="best", sets=AssumedSets([0, 3, 1]), padding_length=1)
    assert (one.deployed.mechanism, one.left_out) == ("subset-design", ())
    assert one.mechanism.expectation([[], [], [0]]) == pytest.approx([1.0] + [0.0] * 11)
    assert one.mechanism.variance([[]]).sum() < 2 * one.mechanism.variance([[5]]).sum()
    assert one.total_error == pytest.approx(one.padding_errors[0], rel=1e-6)


def test_more_budget_is_looked_at_as_for_tables(plan):
    (question,) = plan.questions
    assert {one.level for one in question.relaxations} <= {"rare", "usual"}
    (best, *_) = question.relaxations
    raised = LEVELS[0].replacing(epsilon=1.1), LEVELS[1]
    more = planned(levels=raised, padding_length=question.padding_length)
    assert best.level == "rare"
    saved = 1 - more.total_error / question.total_error
    assert best.saving == pytest.approx(saved, rel=0.05)  # at its length as drawn before


def test_the_shares_of_a_split_follow_the_designs_errors():
    income = Numeric("income", -1, 1, epsilon=2.0, weight=20.0, mechanism="bisample-md")
    sets = SETS.replacing(mechanism="best", padding_length=2)
    plan = plan_survey(Survey("s", 20_000, (sets, income)))
    split = plan.allocation
    assert "whose errors" not in said.shares_sentence(plan)  # of another mechanism
    assert split.errors == pytest.approx([one.error for one in plan.questions], rel=1e-9)
    assert 0 < split.relative_gap < 0.2
    basket, mean = (one.block for one in plan.questions)
    assert basket.mechanism == "subset-design"
    # Others are no better, and none is below what is proven.
    other = basket.bounds_at(0.9)[0] + 20 * mean.at(0.1).error
    assert other >= split.value >= split.lower_bound


def test_more_levels_are_merged_with_a_gap_that_says_so():
    budgets = (1.0, 1.1, 1.2, 1.4, 1.6, 1.7, 2.0, 3.0)
    counts = (2,) * 6 + (30,) * 2
    named = zip(budgets, counts, strict=True)
    levels = tuple(Level(f"l{i}", e, item_count=m) for i, (e, m) in enumerate(named))
    many = SETS.replacing(levels=levels, mechanism="best", padding_length=2)
    plan = plan_survey(Survey("s", 20_000, (many,)))
    (question,) = plan.questions
    design = question.design
    assert design.types.item_counts.size == 6  # five groups, and the dummy apart
    assert np.flatnonzero(design.groups == design.groups[-1]).tolist() == [len(levels)]
    assert design.merges_budgets
    assert question.total_error < 0.95 * question.option("opt0").error
    assert 0.8 * question.total_error < question.lower_bound < 0.999 * question.total_error
    gap = question.total_error / question.lower_bound - 1
    stated = float(kinds.certificate_sentences(question)[0].split("is within ")[1].split(" %")[0])
    assert 100 * gap <= stated < 100 * gap + 1
    best, policy, block = question.relaxations[0], question.deployed.policy, question.block
    raised = solve_for(relaxed(policy, 0, 0.1), "subset-design", block.objective, sets=True)
    after = question.block.law.error(raised.objective_value) / question.error
    assert (best.level, best.saving) == ("l0", pytest.approx(1 - np.sqrt(after), abs=2e-5))
    assert best.saving > 0.01
    assert (
        "are treated as one of 5, with the smallest budget" in kinds.report_sentences(question)[1]
    )
    assert survey_parameters(plan).questions  # every pair of levels is checked, exactly


def test_estimates_are_as_far_off_as_predicted(plan):
    """Deployed reports of one survey; a false alarm has probability below 1e-6."""
    (question,) = plan.questions
    law = survey_parameters(plan).questions[0]
    rng = np.random.default_rng(20200420)
    sizes = rng.choice(5, size=4_000, p=np.array([1, 4, 3, 2, 1]) / 11)
    sets = [tuple(sorted(rng.choice(12, size, replace=False).tolist())) for size in sizes]
    counter = law.shape.counter()
    (rows,) = law.draw_many(sets, seeded_words(rng))
    counter.add(rows)
    found = law.estimate([counter.sums()], 0.95)
    mechanism, people = question.mechanism, ItemSets.of(sets, 12)
    errors = (found.estimates - mechanism.expectation(people)) / np.sqrt(mechanism.variance(people))
    assert np.abs(errors).max() < 6
    assert np.sqrt(np.mean(errors**2)) > 0.3
    stated = np.array(found.standard_errors) / np.sqrt(mechanism.variance(people))
    assert ((stated > 0.9) & (stated < 1.15)).all()


def test_the_planned_error_is_that_of_the_mechanism():
    """For sets as assumed, of items all alike popular, nothing cut."""
    question = planned(sets=AssumedSets([1, 4, 3, 2, 1], popularity="uniform"), padding_length=4)
    share = np.array([1, 4, 3, 2, 1]) / 11
    rng = np.random.default_rng(1)
    sizes = np.repeat(np.arange(5), np.round(22_000 * share).astype(int))
    people = ItemSets.of([rng.choice(12, size, replace=False).tolist() for size in sizes], 12)
    variance = question.mechanism.variance(people).sum() / people.users
    assert question.total_error**2 / 20_000 == pytest.approx(variance, rel=0.01)


def test_without_sizes_the_error_is_for_the_worst_sets():
    question = planned(sets=None, padding_length=2)
    largest = max(
        question.mechanism.variance([one]).sum() for one in ([], [0], [1], [0, 1], [1, 2])
    )
    assert question.total_error**2 / 20_000 >= largest * (1 - 1e-6)  # rounded to integers
    assert question.total_error**2 / 20_000 == pytest.approx(largest, rel=0.05)


def test_another_questions_design_is_not_exported(plan):
    other = SETS.replacing(levels=(LEVELS[0], Level("usual", 2.5, item_count=11)))
    with pytest.raises(InputError, match="design of question 'basket' is for another policy"):
        question_document(other, plan.questions[0].mechanism)
