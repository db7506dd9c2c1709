import numpy as np
import pytest

from planner import (
    InputError,
    Level,
    PrivacyPolicy,
    Survey,
    Target,
    plan_survey,
    solve,
)
from planner.survey.questions import Categorical, ItemSet, Ordinal
from tests.planning.whole_survey.surveys import HOUSEHOLD, shop, total, with_numeric, with_question

PAGE = Categorical("page", (Level("any", 1.0, item_count=40),))


def answers(survey, name):
    (question,) = (q for q in plan_survey(survey).questions if q.question.name == name)
    return question.targets


def budget_in(text):
    return float(text.removesuffix(".").split()[-1])


def test_a_missed_target_says_how_many_people_would_do():
    plan = plan_survey(HOUSEHOLD)
    (missed,) = plan.questions[0].targets
    assert not missed.met
    error = solve(PrivacyPolicy(np.log([4, 6]) * plan.questions[0].share, [1, 4])).worst_case_mse
    assert np.sqrt(error / missed.users) <= 0.01 < np.sqrt(error / (missed.users - 1))
    assert missed.wanted == "total error at most 1 % of the users"


def test_the_sampling_error_of_one_question_each_is_part_of_the_total():
    plan = plan_survey(HOUSEHOLD.replacing(design="one-each"))
    (missed,) = plan.questions[0].targets
    assert missed.reached == pytest.approx(np.sqrt(plan.questions[0].error / 200_000), rel=1e-4)
    assert missed.users == pytest.approx(200_000 * (missed.reached / 0.01) ** 2, rel=1e-4)


def test_the_smallest_budgets_leave_room_for_the_sampling_error():
    other = Categorical("other", (Level("a", 1.0, item_count=5),), mechanism="opt0")
    asked = other.replacing(name="q", targets=total(0.02))
    survey = Survey("s", 10_000, (asked, other), "one-each")
    plan = plan_survey(survey)
    question = plan.questions[0]
    (answer,) = question.targets
    epsilon = float(answer.budgets.split("targets: a ")[1].split()[0])
    table = solve(PrivacyPolicy([epsilon], [5]))
    unasked = 0.8 * (1 / question.fraction - 1)
    error = (table.worst_case_mse / question.fraction + unasked) / 10_000
    assert np.sqrt(error) == pytest.approx(0.02, rel=1e-3)
    (hopeless,) = answers(with_question(survey, "q", targets=total(0.005)), "q")
    assert "asking only some of the people leaves an error of" in hopeless.budgets
    floor = float(hopeless.budgets.split()[-2]) / 100
    assert floor == pytest.approx(np.sqrt(unasked / 10_000), rel=1e-3)


@pytest.mark.parametrize(("design", "wanted"), [("split", 0.04), ("one-each", 0.036)])
def test_the_budget_of_a_mean_and_its_people_reach_the_target(design, wanted):
    survey = with_numeric(HOUSEHOLD, epsilon=3.0).replacing(design=design)
    survey = with_question(survey, "income", targets=total(wanted)).replacing(users=3000)
    plan = plan_survey(survey)
    (answer,) = plan.questions[2].targets
    assert "half the range" in answer.wanted
    assert not answer.met
    # The block's own errors, at the share that spends this budget, by bisection on the share.
    block, fraction = plan.questions[2].block, plan.questions[2].fraction
    share = budget_in(answer.budgets) / 3.0
    reached = np.sqrt(block.law.of_sample(block.at(share).error, fraction) / 3000)
    assert reached == pytest.approx(wanted, rel=2e-3)
    # With so many people, asked at these shares, the target is met with equality.
    noise = plan.questions[2].error - block.law.bias
    assert noise / answer.users + block.law.bias / 3000 == pytest.approx(wanted**2, rel=1e-3)


def test_a_mean_that_no_budget_makes_precise_enough():
    (answer,) = answers(with_question(HOUSEHOLD, "income", targets=total(0.001)), "income")
    assert not answer.met
    assert "Impossible: whatever the budgets, the best is" in answer.budgets
    assert budget_in(answer.budgets[:-3]) == pytest.approx(100 / np.sqrt(200_000), rel=1e-3)


@pytest.mark.parametrize("others", [(), (PAGE,)], ids=["alone", "one of two"])
def test_sets_are_planned_with_a_longer_padding_for_more_people(others):
    def planned(users):
        return plan_survey(
            shop(*others, users=users, design="one-each", targets=total(0.02))
        ).questions[0]

    before = planned(2000)
    (missed,) = before.targets
    assert missed.reached == pytest.approx(np.sqrt(before.error / 2000))
    assert not missed.met
    after = planned(missed.users)
    assert after.padding_length > before.padding_length
    (reached,) = after.targets
    assert reached.met
    if not others:  # else the share of the people who are asked changes too
        assert reached.reached == pytest.approx(0.02, rel=0.03)


def test_sets_of_a_fixed_length_keep_their_bias():
    survey = shop(padding_length=1, targets=total(0.02))
    (answer,) = answers(survey, "articles")
    assert answer.users is None
    assert "Impossible, because sets of more than 1 items are cut" in answer.budgets


def test_a_plan_with_the_smallest_budgets_of_sets_meets_the_target():
    def planned(scale):
        (one,) = shop(targets=total(0.2)).questions
        levels = tuple(level.replacing(epsilon=scale * level.epsilon) for level in one.levels)
        twins = (one.replacing(levels=levels), one.replacing(levels=levels, name="others"))
        return plan_survey(Survey("shop", 5_000, twins, "one-each")).questions[0].targets[0]

    missed = planned(1.0)
    assert not missed.met
    assert "in their proportions, that meet the targets: health" in missed.budgets
    scale = float(missed.budgets.split("(")[1].split()[0])
    assert planned(scale).reached == pytest.approx(0.2, rel=1e-3)  # as to what asking half adds


@pytest.mark.parametrize("target", [Target(detect=0.1), Target(error=0.1, level="health")])
def test_sets_have_a_total_error_alone(target):
    with pytest.raises(InputError, match="For item sets give the total error alone"):
        plan_survey(shop(targets=(target,)))


def test_a_mean_has_nothing_to_detect():
    survey = with_question(HOUSEHOLD, "income", targets=(Target(detect=0.1),))
    with pytest.raises(InputError, match="no items to detect"):
        plan_survey(survey)


def test_targets_of_sets_are_about_the_total_error_whatever_is_made_small():
    levels = (Level("a", 1.0, item_count=2), Level("b", 2.0, item_count=6))
    sets = ItemSet("q", levels, criterion="minimax", padding_length=2, targets=total(0.03))
    (question,) = plan_survey(Survey("s", 100, (sets,)), what_if=False).questions
    pairs = [[i, j] for i in range(8) for j in range(i)]
    worst = max(question.mechanism.variance([pair] * 100).sum() for pair in pairs)
    assert question.targets[0].reached == pytest.approx(np.sqrt(worst) / 100, rel=1e-6)
    assert question.targets[0].reached > 1.5 * question.error_share


def test_targets_of_ordered_answers_are_not_weighted():
    answers = ("never", "monthly", "weekly", "daily")
    reached = []
    for importance in (1.0, 0.01):
        level = Level("all", 1.0, answers, importance=importance)
        ordered = Ordinal("q", (level,), targets=total(0.05))
        (question,) = plan_survey(Survey("s", 1000, (ordered,)), what_if=False).questions
        reached.append(question.targets[0].reached)
    assert reached[0] == pytest.approx(question.error_share * 10, rel=1e-3)
    assert reached[1] == pytest.approx(reached[0], rel=1e-3)
