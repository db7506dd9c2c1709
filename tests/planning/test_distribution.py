"""The distribution of a number: cells, curves, limits."""

import numpy as np
import pytest

from planner.deployment.collecting.collector import Collection
from planner.deployment.collecting.estimating import estimates_table
from planner.deployment.parameters import survey_parameters
from planner.estimates.channel import estimate_ordered
from planner.estimates.rows import SMOOTHED, number_at
from planner.planning.distribution import cell_of, plan_distribution, with_cells
from planner.planning.mean import expected_curve
from planner.planning.plan import plan_survey
from planner.show.figures import seen_figure
from planner.show.results import result_blocks
from planner.survey.levels import NumericDomain
from planner.survey.numeric import Numeric
from planner.survey.survey import Survey, survey_from_text, survey_text
from planner.trial.simulate import Trial
from tests.refusals import refused

PEOPLE = 20_000


@pytest.fixture(scope="module")
def plan():
    return plan_distribution(0, 80, epsilon=2.0, people=PEOPLE, cells=16)


@pytest.fixture(scope="module")
def answers():
    rng = np.random.default_rng(5)
    return 80 * rng.beta(5, 2, PEOPLE)


def test_more_people_and_more_budget_have_more_cells():
    few = plan_distribution(0, 1, epsilon=1.0, people=1_000)
    many = plan_distribution(0, 1, epsilon=2.0, people=8_000)
    assert few.cells == 8
    assert many.cells == 16
    assert few.standard_error * 4 > 1 / 16  # else it would have 16
    assert many.standard_error * 4 <= 1 / 16


def test_limits_hold_all_shares_and_quantiles_in_nearly_all_surveys(plan, answers):
    """Together at 95 %: of 40 surveys fewer than 33 hold with chance 1e-3; near misses do not."""
    rng = np.random.default_rng(11)
    values = np.linspace(3, 77, 23)
    true = np.array([(answers <= value).mean() for value in values])
    held = missed = 0
    for _ in range(40):
        estimates = plan.estimate(plan.drawn_counts(answers, rng))
        shares = [estimates.share_up_to(value) for value in values.tolist()]
        lower = np.array([share.lower for share in shares])
        upper = np.array([share.upper for share in shares])
        held += bool(((lower <= true) & (true <= upper)).all())
        missed += bool(((lower <= true + 0.12) & (true + 0.12 <= upper)).all())
        middle = estimates.quantile(0.5)
        assert middle.lower <= middle.value <= middle.upper
    assert held >= 33
    assert missed == 0


def test_curves_rise_from_nothing_to_all_and_are_near_the_truth(plan, answers):
    rng = np.random.default_rng(3)
    estimates = plan.estimate(plan.drawn_counts(answers, rng))
    values = np.linspace(0, 80, 161)
    true = np.array([(answers <= value).mean() for value in values])
    smoothed = estimates.smoothed_share_up_to(values)
    consistent = np.interp(values, estimates.edges, estimates.consistent)
    for curve in (smoothed, consistent):
        assert curve[0] == 0
        assert curve[-1] == pytest.approx(1)
        assert (np.diff(curve) >= 0).all()
        assert np.abs(curve - true).max() < 0.06
    shares, lower, upper = estimates.histogram()
    assert shares.sum() == pytest.approx(1)
    assert (lower <= upper).all()


def test_people_without_an_answer_are_left_out_of_the_shape(answers):
    plan = plan_distribution(0, 80, epsilon=2.0, people=PEOPLE, refusals=True, cells=12)
    some = answers.copy()
    some[::4] = np.nan
    rng = np.random.default_rng(4)
    estimates = plan.estimate(plan.drawn_counts(some, rng))
    true = np.nanquantile(some, 0.5)
    middle = estimates.quantile(0.5)
    assert middle.lower <= true <= middle.upper
    assert abs(float(estimates.smoothed_share_up_to(true)) - 0.5) < 0.08


def test_the_cells_are_a_question_that_can_be_deployed(plan):
    question = plan.question("income")
    survey = Survey("s", PEOPLE, (question,))
    (planned,) = plan_survey(survey).questions
    assert len(planned.law.shape.rows) == 16
    assert question.ordered[0] == "0 to 5"


def test_the_curve_that_would_be_seen_tightens_with_the_budget():
    wide = part_of_number(0.5)
    tight = part_of_number(3.0)
    widths = []
    for part in (wide, tight):
        edges, expected = expected_curve(part)
        lower, upper = expected.band
        assert edges[[0, -1]].tolist() == [10.0, 30.0]
        middle = np.interp(20.0, edges, np.append(0.0, expected.consistent))
        assert middle == pytest.approx(0.5, abs=0.01)
        widths.append(float((upper - lower)[:-1].mean()))
    assert widths[1] < 0.4 * widths[0]
    chart = seen_figure(tight)
    assert chart.titles == ("answer", "people up to the answer")


def test_the_curve_of_a_distribution_tightens_with_the_budget():
    widths = []
    for epsilon in (1.0, 4.0):
        planned = planned_cells(AGE.replacing(epsilon=epsilon, cells=8))
        edges, expected = expected_curve(planned.part)
        assert edges.tolist() == [0, 10, 20, 30, 40, 50, 60, 70, 80]
        assert expected.consistent[3] == pytest.approx(0.5)  # up to 40, the middle
        lower, upper = expected.band
        widths.append(float((upper - lower)[:-1].mean()))
    assert widths[1] < 0.4 * widths[0]
    (line,) = seen_figure(planned.part).lines
    assert list(line.x) == edges.tolist()


def part_of_number(epsilon):
    question = Numeric(
        "q", 10, 30, epsilon=epsilon, mean=20, sd=4, mechanism="bisample-md"
    )
    survey = Survey("s", 5_000, (question,))
    (planned,) = plan_survey(survey).questions
    return planned.part


def test_refusals(plan):
    with refused("cells"):
        plan_distribution(0, 1, epsilon=1.0, people=100, cells=257)
    with refused("answers"):
        plan.drawn_counts([np.nan], np.random.default_rng(1))
    rng = np.random.default_rng(1)
    estimates = plan.estimate(plan.drawn_counts([1.0] * 50, rng))
    with refused("value"):
        estimates.share_up_to(81.0)
    with refused("share"):
        estimates.quantile(1.0)


AGE = Numeric("age", 0, 80, epsilon=2.0, of="distribution")


def planned_cells(question, people=PEOPLE, **survey):
    return plan_survey(Survey("s", people, (question,), **survey)).questions[0]


def law_of_cells(question):
    """The law as its parameter file has it."""
    survey = Survey("s", PEOPLE, (question,))
    plan = plan_survey(survey)
    (law,) = survey_parameters(plan).questions
    return law


def test_a_question_is_planned_as_the_cells_for_its_people_and_budget():
    survey = Survey("s", PEOPLE, (AGE,))
    (cells,) = with_cells(survey).questions
    assert cells.ordered[-1] == "no answer"
    assert cells.reason.startswith(f"{len(cells.ordered) - 1} cells: ")
    assert cells.reason.endswith("Planned for 18,000 people who have a number.")
    survey = with_cells(Survey("s", 500, (AGE,)))
    few = survey.questions[0]
    assert len(few.ordered) < len(cells.ordered)
    nobody_refuses = AGE.replacing(refusals=0.0, cells=5)
    survey = with_cells(Survey("s", 500, (nobody_refuses,)))
    (sure,) = survey.questions
    assert sure.ordered[-1] == "64 to 80"


def test_a_share_of_the_budget_has_fewer_cells():
    survey = Survey("s", PEOPLE, (AGE,))
    (alone,) = with_cells(survey).questions
    survey = Survey("s", PEOPLE, (AGE, AGE.replacing(name="years")))
    both = with_cells(survey)
    for cells in both.questions:
        assert len(cells.ordered) < len(alone.ordered)


def test_the_survey_of_a_plan_is_the_one_that_was_asked_for():
    few = AGE.replacing(cells=4)
    survey = Survey("s", PEOPLE, (few,))
    plan = plan_survey(survey)
    assert plan.survey.questions == (few,)
    text = survey_text(plan.survey)
    assert survey_from_text(text) == plan.survey


def test_a_device_puts_numbers_into_the_cells_of_the_plan():
    asked = law_of_cells(AGE.replacing(cells=7)).asked
    rng = np.random.default_rng(8)
    numbers = np.append(rng.uniform(0, 80, 200), [0, 5, 80])
    domain = NumericDomain(0, 80)
    cells = cell_of(domain, asked.cells, numbers, refusals=True)
    assert [asked.code(number) for number in numbers.tolist()] == cells.tolist()
    assert asked.code(None) == asked.cells
    assert asked.read_cell("80") == asked.cells - 1
    for bad in (80.1, -1, "5", True):
        with refused("answer"):
            asked.code(bad)
    with refused("answer"):
        law_of_cells(AGE.replacing(refusals=0.0, cells=4)).asked.code(None)


@pytest.mark.parametrize("population", [False, True])
def test_limits_of_a_quartile_hold_it_in_nearly_all_surveys(answers, population):
    """Each at 95 %: of 20 surveys fewer than 15 hold with chance 4e-4; two cells on, none does."""
    planned = plan_distribution(
        0, 80, epsilon=2.0, people=PEOPLE, refusals=True, cells=8
    )
    given = np.where(np.arange(PEOPLE) % 10 == 0, np.nan, answers)
    domain = NumericDomain(0, 80)
    cells = cell_of(domain, 8, given, refusals=True)
    everybody = np.bincount(cells, minlength=9)
    true = float(np.nanquantile(given, 0.25))
    channel = planned.channel
    rng = np.random.default_rng(21)
    held = missed = 0
    for _ in range(20):
        people = everybody
        if population:  # they are drawn anew each time, from these shares
            people = rng.multinomial(PEOPLE, everybody / PEOPLE)
        counts = rng.multinomial(people, channel.matrix).sum(axis=0)
        estimates = estimate_ordered(channel, counts, no_answer=True)
        value, least, most = number_at(
            estimates, np.linspace(0, 80, 9), 0.25, population=population
        )
        assert least <= value <= most
        held += least <= true <= most
        missed += least <= true + 20 <= most
    assert held >= 15
    assert missed == 0


def test_results_say_quartiles_in_the_unit_of_the_number(answers):
    law = law_of_cells(AGE.replacing(cells=4))
    people = np.bincount((answers // 20).astype(int), minlength=5)
    rng = np.random.default_rng(4)
    reports = law.draw_aggregate(people, rng)
    rows = law.rows([reports], 0.95)
    assert rows.answers[:4] == ["up to 20", "up to 40", "up to 60", "0 to 20"]
    median = rows.answers.index("median")
    assert abs(rows["estimate"][median] - np.median(answers)) < 2
    assert rows["lower"][median] == 40
    assert rows["upper"][median] == 60


def test_files_have_quartiles_and_the_smoothed_curve_of_all_and_of_each_group(answers):
    """Of two groups, the second 20 younger: their medians' limits of 95 % are cells apart."""
    survey = Survey("s", PEOPLE, (AGE.replacing(cells=8, refusals=0.0),))
    plan = plan_survey(survey)
    parameters = survey_parameters(plan)
    (law,) = parameters.questions
    rng = np.random.default_rng(9)
    groups = {}
    for name, ages in (("older", answers), ("younger", np.maximum(answers - 20, 0))):
        people = np.bincount((ages // 10).astype(int), minlength=8)
        reports = law.draw_aggregate(people, rng)
        groups[name] = {("age", None): reports}
    table = estimates_table(
        parameters, groups["older"], grouped=("part", groups)
    ).to_pandas()
    everybody = table[table["group"] == ""]
    median = everybody[everybody["answer"] == "median"].iloc[0]
    assert median["lower"] <= np.median(answers) <= median["upper"]
    assert median["upper"] - median["lower"] <= 20
    medians = table[table["answer"] == "median"].set_index("group")
    younger = medians.loc["part = younger"]
    older = medians.loc["part = older"]
    assert younger["upper"] <= older["lower"]
    assert np.isnan(medians.loc["part: older less younger", "estimate"])
    of_population = estimates_table(
        parameters, groups["older"], population=True
    ).to_pandas()
    wider = of_population[of_population["answer"] == "median"].iloc[0]
    assert wider["lower"] <= median["lower"]
    assert median["upper"] <= wider["upper"]
    assert "people asked" not in wider["remark"]
    for group in ("", "part = older", "part = younger"):
        of_group = table[(table["group"] == group) & (table["of"] == SMOOTHED)]
        assert len(of_group) == 256
        assert of_group["answer"].iloc[-1] == "up to 80"
        assert (of_group["share"].diff().dropna() >= 0).all()
        assert of_group["share"].iloc[-1] == pytest.approx(1)
        assert of_group["lower"].isna().all()
    # The share up to 50 on both curves, of people of whom a third is below it.
    smoothed = everybody[everybody["of"] == SMOOTHED].set_index("answer")["share"]
    expected = (answers <= 50).mean()
    assert smoothed["up to 50"] == pytest.approx(expected, abs=0.03)


def test_a_picture_of_results_has_both_curves(answers):
    survey = Survey("s", PEOPLE, (AGE.replacing(cells=4, refusals=0.0),))
    plan = plan_survey(survey)
    parameters = survey_parameters(plan)
    (law,) = parameters.questions
    people = np.bincount((answers // 20).astype(int), minlength=4)
    rng = np.random.default_rng(4)
    reports = law.draw_aggregate(people, rng)
    sums = {("age", None): reports}
    table = estimates_table(parameters, sums)
    blocks = result_blocks(parameters, Collection({}, (), (), 0), table, 0.95)
    (figure,) = [block for block in blocks if getattr(block, "key", "") == "curve age"]
    consistent, smoothed = figure.draw().lines
    assert list(consistent.x) == [0, 20, 40, 60, 80]
    lower, upper = consistent.limits
    assert (lower <= upper).all()
    for line in (consistent, smoothed):
        assert line.values[0] == 0
        assert line.values[-1] == pytest.approx(PEOPLE)
        assert (np.diff(line.values) >= 0).all()


def test_a_simulation_takes_numbers(answers):
    trial = Trial.of(planned_cells(AGE.replacing(cells=4)), np.append(answers, np.nan))
    people = np.bincount((answers // 20).astype(int), minlength=4)
    assert trial.people.tolist() == [*people, 1]


@pytest.mark.parametrize(
    ("changes", "argument"),
    [
        ({"mean": 40.0}, "mean"),
        ({"yes_no": True}, "yes_no"),
        ({"epsilon": None}, "epsilon of question 'age'"),
        ({"cells": 1}, "cells"),
        ({"of": "mean", "cells": 8}, "cells"),
        ({"of": "median"}, "of"),
    ],
)
def test_what_a_distribution_cannot_have_is_refused(changes, argument):
    with refused(argument):
        AGE.replacing(**changes)
