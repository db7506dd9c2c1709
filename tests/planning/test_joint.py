"""A joint question: what it is made of, what it tells beside asking apart, and what it spends."""

import datetime
from itertools import combinations
from math import log

import numpy as np
import pytest

from planner import Categorical, ItemSet, Joint, Ledger, Level, Survey, plan_survey
from planner.deployment.parameters import survey_parameters
from planner.estimates.cross_table import people_for_association
from planner.planning.datasets import AnswerCounts
from planner.planning.joint import Related
from planner.show.kinds import related_blocks
from planner.show.others import beside_truth
from planner.solvers.unequal_parts import least_table_error
from planner.survey.survey import survey_from_text, survey_text
from planner.trial.simulate import Trial
from tests.refusals import refused
from tests.solvers.questions import written_out


def alike(name, budget, answers=5, **keys):
    level = Level("all", budget, item_count=answers)
    return Categorical(name, (level,), **keys)


def diagnosis(**keys):
    levels = (
        Level("severe", log(4), ("HIV",)),
        Level("common", log(6), ("flu", "none", "a", "b")),
    )
    return Categorical("diagnosis", levels, **keys)


def smokes(budget="ln 6"):
    level = Level("any", budget, ("yes", "no"))
    return Categorical("smokes", (level,))


def planned(*parts, users=10_000, ledger=None):
    both = Joint("both", tuple(part.name for part in parts))
    survey = Survey("s", users, (*parts, both))
    return plan_survey(survey, ledger)


@pytest.mark.parametrize(
    ("parts", "table", "apart"),
    [
        ([alike("a", 2), alike("b", 2)], 15.72261965, 153.5),
        # Tables by the program of docs/theory/relating.md over groups, with a cone solver.
        ([diagnosis(), smokes()], 9.505968, 63.88),
        ([diagnosis(), smokes("ln 4")], 12.534951, 98.07),
    ],
)
def test_a_table_asked_together_and_apart(parts, table, apart):
    (question,) = planned(*parts).questions
    related = question.fact(Related)
    assert related.table == pytest.approx(table, rel=1e-7)
    assert related.separate == pytest.approx(apart, rel=2e-4)
    survey = Survey("s", 10_000, tuple(parts))
    plan = plan_survey(survey)
    offered = plan.together
    assert (offered.table, offered.separate) == pytest.approx(
        (related.table, related.separate)
    )


def test_a_census_by_marital_status_and_income():
    """Errors of a cell, in people: 318.5 in one report, 1,294 apart with shares on a grid."""
    (question,) = planned(
        alike("status", 1, 7), alike("income", 1, 2), users=32_561
    ).questions
    tables = np.array([question.fact(Related).table, question.fact(Related).separate])
    together, apart = np.sqrt(tables * 32_561 / 14)
    assert together == pytest.approx(318.5, abs=0.05)
    assert 1290 < apart < 1294


def test_margins_together_split_and_one_each():
    plan = planned(alike("a", 4), alike("b", 4))
    related = plan.questions[0].fact(Related)
    apart = related.margins_separate
    figures = sum(related.margins), apart.value, apart.some_each.value
    assert figures == pytest.approx((1.84, 3.48, 2.22), abs=0.006)
    assert related.gains[1] == pytest.approx(2.22 / 1.84, rel=0.005)


def test_people_who_see_an_association():
    """V is phi over the root of the fewer answers less 1: at a phi of 0.1, 33,483.1 and 8,692.6."""
    plan = planned(alike("a", 2), alike("b", 2))
    five = plan.questions[0].fact(Related)
    plan = planned(alike("a", 1, 2), alike("b", 1, 2))
    two = plan.questions[0].fact(Related)
    assert five.people["a", "b"] == pytest.approx(33483.1 / 4, abs=1)
    assert two.people["a", "b"] == 8693


def test_three_questions_have_a_table_of_every_two():
    parts = []
    for name, answers in (("a", 2), ("b", 3), ("c", 2)):
        parts.append(alike(name, 2, answers))
    plan = planned(*parts)
    related = plan.questions[0].fact(Related)
    assert [*related.people] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert len(related.margins) == 3
    assert max(related.margins) < related.table


def test_cells_are_pairs_of_answers_at_the_smaller_budget():
    first = Categorical(
        "a", (Level("x", 1, ("p",), against=3), Level("y", 2, ("q",))), "one-sided"
    )
    level = Level("z", 1.5, ("r", "s"), against=2)
    second = Categorical("b", (level,), "one-sided")
    joint = Joint("both", ("a", "b"))
    survey = Survey("s", 10, (first, second, joint))
    (both,) = survey.questions
    assert both.ordered == ("p / r", "p / s", "q / r", "q / s")
    assert both.policy.names == ("x / z", "y / z")
    assert both.policy.epsilons.tolist() == [1, 1.5]
    assert both.policy.against.tolist() == [2, 2]
    joint = Joint("both", ("a", "b"))
    asked = (first, second, joint, alike("c", 1))
    survey = Survey("s", 1000, asked)
    plan = plan_survey(survey)
    spent = plan.questions[0]
    expected = 2 * spent.part.share
    assert spent.deployed.policy.against == pytest.approx(expected)


def test_the_file_has_the_parts_as_they_are_asked():
    both = Joint("both", ("diagnosis", "smokes"))
    survey = Survey("s", 10, (diagnosis(ask="What?"), smokes(), both))
    text = survey_text(survey)
    assert text.count("[[question]]") == 3
    assert 'kind = "joint"' in text
    assert survey_from_text(text) == survey


@pytest.mark.parametrize(
    ("others", "of", "about"),
    [
        ([], ("a", "nobody"), {}),
        ([], ("a", "a"), {}),
        ([], ("a",), {}),
        ([Joint("j", ("a", "b")), alike("c", 1)], ("j", "c"), {}),
        ([Joint("j", ("a", "b")), alike("c", 1)], ("a", "c"), {}),
        ([ItemSet("set", (Level("l", 1.0, ("x", "y")),))], ("a", "set"), {}),
        ([alike("c", 1, rule="avg")], ("a", "c"), {}),
        ([alike("c", 1, 201)], ("a", "c"), {}),
        ([alike("c", 1, weight=2.0)], ("a", "c"), {}),
        ([], ("a", "b"), {"rule": "min"}),
        ([], ("a", "b"), {"levels": (Level("l", 9.0, ("x", "y")),)}),
    ],
)
def test_what_no_joint_question_is_of(others, of, about):
    with refused("level", "of", "rule", "weight"):
        Survey(
            "s", 10, (alike("a", 1), alike("b", 1), *others, Joint("both", of, **about))
        )


def test_it_spends_what_its_parts_have():
    """A ledger goes by the levels of the parts: asked again alone, nothing is left of them."""
    plan = planned(diagnosis(), smokes(2.0))
    ledger = Ledger().after(plan.collection(datetime.date(2026, 3, 1)))
    # Who knows the diagnosis may learn of smoking as much as it promises by itself.
    spent = {"severe": log(4), "common": log(6), "any": 2.0}
    assert {name: ledger.spent(name) for name in spent} == pytest.approx(spent)
    with refused("budget left for 'severe'"):
        plan_survey(Survey("t", 10_000, (diagnosis(),)), ledger)
    again = Ledger().after(
        planned(diagnosis(), smokes(0.5)).collection(datetime.date(2026, 1, 1))
    )
    plan = planned(diagnosis(), smokes(2.0), ledger=again)
    (left,) = plan.questions
    # Reports of those with the same answer on smoking may say 2 x 0.5 of the diagnosis.
    expected = log(4) - 1.0
    assert left.spending[0].left == pytest.approx(expected)


def test_one_survey_of_known_answers_stands_beside_their_true_table():
    """Half have the same answer to both: Cramér's V is 0.5, and seen within five of its errors."""
    plan = planned(alike("a", 4, 2), alike("b", 4, 2))
    (question,) = plan.questions
    cells = ("all 1 / all 1", "all 1 / all 2", "all 2 / all 1", "all 2 / all 2")
    answers = AnswerCounts(cells, np.array([3000, 1000, 1000, 3000]))
    trial = Trial.of(question, answers)
    rng = np.random.default_rng(3)
    ((table, truth),) = trial.tables(rng)
    assert truth.tolist() == [[3000, 1000], [1000, 3000]]
    assert (
        abs(table.association.value - 0.5) < 5 * table.association.standard_error < 0.2
    )
    blocks = beside_truth(table, truth)
    assert "(3,000)" in blocks[0].columns[1].cells[0]
    assert blocks[1].text.endswith("Truly V is 0.50.")


def levels_of(name, levels):
    """A question whose levels have these budgets and numbers of answers."""
    rows = []
    for number, (budget, answers) in enumerate(levels):
        level_name = f"{name}{number}"
        items = tuple(f"{level_name}.{k}" for k in range(answers))
        rows.append(Level(level_name, budget, items))
    return Categorical(name, tuple(rows))


@pytest.mark.parametrize(
    ("first", "second", "error"),
    [
        # Least values by closed form, and by a cone program over all extreme rays.
        ([(3, 2)], [(0.5, 2)], 22.682104),  # 36.759283 at the smaller budget
        ([(2, 3)], [(1, 2)], 8.772580),  # 14.875275
        ([(1, 2)], [(2, 3)], 8.772580),
        ([(1, 1), (2, 2)], [(1, 2)], 13.121227),  # 14.875275
        ([(4, 5)], [(2, 5)], 13.497587),  # 15.722620
        ([(2, 100)], [(1, 2)], 365.783368),  # 728.202172
        ([(2, 3)], [(1, 1), (1.5, 1)], 8.772580),  # 13.286833
        ([(1, 2), (2, 3)], [(1.5, 2)], 23.286456),  # 25.238852
        ([(1, 3)], [(1, 2)], 14.875275),  # equal budgets gain nothing
    ],
)
def test_parts_whose_budgets_differ_have_the_best_table(first, second, error):
    plan = planned(levels_of("a", first), levels_of("b", second))
    (question,) = plan.questions
    assert question.fact(Related).table == pytest.approx(error, rel=1e-6)


def test_no_report_says_more_of_a_part_than_it_promises():
    """Exactly, of the integers: each pair of sheets keeps the budget of the parts that differ."""
    plan = planned(levels_of("a", [(1.5, 3)]), levels_of("b", [(1, 2)]))
    assert plan.questions[0].fact(Related).said_of_parts == (1.5, 1.0)
    (law,) = survey_parameters(plan).questions
    sheets = [item.split(" / ") for item in law.levels.item_names()]
    level_of = np.repeat(np.arange(2), law.levels.item_counts)
    realised = np.zeros((2, 2))
    for pair in law.pairs:
        for i, j in ((pair.first, pair.second), (pair.second, pair.first)):
            realised[i, j] = max(realised[i, j], pair.realised)
    for i, j in combinations(range(6), 2):
        same_b = sheets[i][1] == sheets[j][1]
        if same_b:
            promised = 1.5
        else:
            promised = 1.0
        loss = realised[level_of[i], level_of[j]]
        assert promised * (1 - 1e-6) < loss <= promised


def test_what_is_drawn_errs_as_predicted():
    """5 standard errors off once in a million; 20 % more or less would be seen at once."""
    parts = (levels_of("a", [(2, 3)]), levels_of("b", [(1, 2)]))
    (question,) = planned(*parts).questions
    people = AnswerCounts(question.question.ordered, np.array([400, 0, 50, 50, 0, 100]))
    trial = Trial.of(question, people)
    rng = np.random.default_rng(11)
    measured = trial.run(400, rng)[0]
    predicted = 600 * np.sqrt(question.fact(Related).table / 600)
    assert measured.predicted == pytest.approx(predicted, rel=1e-6)
    assert abs(measured.error - predicted) < 5 * measured.spread < 0.1 * predicted


def test_people_for_an_association_go_by_its_own_noise():
    """Each report of the law written out, and what it adds to a table whose margins are 0."""
    parts = (levels_of("a", [(2, 3)]), levels_of("b", [(1, 2)]))
    (question,) = planned(*parts).questions
    design = question.certified.design
    chances, kinds, sides = written_out(design.types)
    estimator = design.types.estimator(design.prior)
    level_of = np.repeat(np.arange(2), 3)
    association = (
        np.array([1, -1, 0, -1, 1, 0]) / 2
    )  # a0.0, a0.1, a0.2 of each answer of b
    variance = 0.0
    for output, (kind, side) in enumerate(zip(kinds, sides, strict=True)):
        added = estimator[kind, level_of, side]
        variance += chances[:, output].mean() * (association @ added) ** 2
    related = question.fact(Related)
    per_kappa = people_for_association(1.0, (3, 2)) / ((1.0 + 1 - 1 / 6) / 5)
    assert related.people["a", "b"] == pytest.approx(variance * per_kappa, abs=1)
    of_all_cells = (related.table + 1 - 1 / 6) / 5  # with one budget it is the same
    assert of_all_cells > 1.1 * variance


@pytest.mark.parametrize(
    ("stricter", "looser", "budgets", "error"),
    [
        # By a cone program over all extreme rays, where these can be listed.
        (2, 2, (3.0, 0.5), 22.682104),
        (2, 3, (1.5, 1.0), 10.722311),
        (3, 2, (2.0, 1.0), 11.551245),
        (5, 5, (2.0, 1.0), 83.850635),
        # By a second implementation.
        (10, 10, (6.0, 3.0), 20.390099),
        (5, 20, (4.0, 2.0), 65.008521),
    ],
)
def test_the_least_error_of_a_table(stricter, looser, budgets, error):
    assert least_table_error(stricter, looser, *budgets) == pytest.approx(
        error, abs=1e-6
    )


@pytest.mark.parametrize(("answers", "budgets"), [((3, 2), (2, 1)), ((4, 4), (2, 1.5))])
def test_what_is_deployed_has_the_least_error_of_a_table(answers, budgets):
    parts = []
    for name, budget, size in zip("ab", budgets, answers, strict=True):
        parts.append(alike(name, budget, size))
    plan = planned(*parts)
    related = plan.questions[0].fact(Related)
    assert related.table == pytest.approx(related.least_table, rel=1e-6)


@pytest.mark.parametrize(
    ("budgets", "words"),
    [
        ((6, 3), "By that a table's squared error could be 1.23 % smaller, no more."),
        ((2, 1), "No mechanism has a better table by that."),
    ],
)
def test_what_too_many_kinds_of_pairs_lose_is_said(budgets, words):
    parts = []
    for name, budget in zip("ab", budgets, strict=True):
        parts.append(alike(name, budget, 10))
    (question,) = planned(*parts).questions
    assert question.fact(Related).unused_budgets
    assert any(words in str(block) for block in related_blocks(question))
