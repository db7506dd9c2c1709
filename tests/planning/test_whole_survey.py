import numpy as np
import pytest

from planner import FileError, InputError, PrivacyPolicy, solve
from planner.deployment.building import parameters_from_plan
from planner.deployment.survey_plans import SurveyPlan, survey_parameters
from planner.planning.compare import compare_plans
from planner.planning.frequency import plan_survey
from planner.planning.whole_survey import plan_whole_survey
from planner.survey import Level, Question, Survey
from planner.survey.file import survey_from_text

TEXT = """
[survey]
name = "household"
users = 200_000
[[question]]
name = "diagnosis"
[[question.target]]
error = 0.01
[[question.level]]
name = "severe"
epsilon = "ln 4"
items = ["HIV"]
[[question.level]]
name = "common"
epsilon = "ln 6"
item_count = 4
[[question]]
name = "page"
weight = 0.05
[[question.level]]
name = "intimate"
epsilon = 2.0
item_count = 5
[[question.level]]
name = "personal"
epsilon = 2.4
item_count = 5
[[question.level]]
name = "public"
epsilon = 4.0
item_count = 90
[[question]]
name = "income"
kind = "numeric"
weight = 3
lower = 0
upper = 10
epsilon = 2.0
[[question.target]]
error = 0.001
"""
BASKETS = """
[survey]
name = "shop"
users = 50_000
[[question]]
name = "articles"
kind = "item-set"
[question.sets]
SETS
[[question.level]]
name = "health"
epsilon = 2
item_count = 2
[[question.level]]
name = "everyday"
epsilon = 4
item_count = 40
"""


@pytest.fixture(scope="module")
def plan():
    return plan_whole_survey(survey_from_text(TEXT))


def _exported(plan, question=None):
    return survey_parameters(SurveyPlan(plan.survey, plan, {}), {}, question)


def test_the_survey_of_the_theory_from_its_file(plan):
    assert plan.allocation.value == pytest.approx(125.735, abs=5e-4)
    assert [q.share for q in plan.questions] == pytest.approx([0.416, 0.296, 0.288], abs=5e-4)
    assert plan.allocation.one_each.noise_value == pytest.approx(45.675, abs=5e-4)


def test_what_is_deployed_spends_what_is_said(plan):
    parameters = _exported(plan)
    parameters.verify()
    spent = {(row.question, row.level): row.spent for row in plan.spending}
    *choices, income = parameters.questions
    for question in choices:
        for level in question.levels:
            assert level.epsilon == pytest.approx(spent[question.name, level.name])
    assert [q.name for q in choices] == ["diagnosis", "page"]
    assert income.epsilon == pytest.approx(spent["income", "income"])
    # Sequential composition: the largest level of every question, added up.
    largest = [max(s for (q, _), s in spent.items() if q == name) for name in plan.allocation.names]
    assert plan.most_spent == pytest.approx(sum(largest))
    shares = sum(q.share for q in plan.questions)
    assert shares <= 1 + 1e-12


def test_errors_are_those_of_the_tables(plan):
    for question, table in zip(plan.questions, plan.allocation.tables, strict=True):
        if table is not None:
            assert question.error == pytest.approx(question.plan.table.worst_case_mse, rel=1e-9)
            assert table.worst_case_mse == pytest.approx(question.error, rel=1e-9)
            scaled = question.share * question.question.policy.epsilons
            assert question.plan.table.policy.epsilons == pytest.approx(scaled)


def test_one_each_exports_question_by_question():
    survey = survey_from_text(
        TEXT.replace("users = 200_000", 'users = 200_000\ndesign = "one-each"')
    )
    plan = plan_whole_survey(survey)
    with pytest.raises(InputError, match="one by one"):
        _exported(plan)
    page = _exported(plan, "page")
    assert page.users == plan.questions[1].users
    epsilons = [level.epsilon for level in page.questions[0].levels]
    assert epsilons == survey.questions[1].policy.epsilons.tolist()
    assert sum(q.fraction for q in plan.questions) == pytest.approx(1)
    assert plan.most_spent == 4.0
    missed = plan.questions[0].targets[0]  # the sampling error is part of the total
    assert missed.reached == pytest.approx(np.sqrt(plan.questions[0].error / 200_000), rel=1e-4)
    assert missed.users == pytest.approx(200_000 * (missed.reached / 0.01) ** 2, rel=1e-4)
    with pytest.raises(InputError, match="one of"):
        _exported(plan, "incme")
    with pytest.raises(InputError, match="mechanism of question 'page'"):
        survey_parameters(SurveyPlan(survey, plan, {}), {"page": "best"}, "page")


def test_targets_are_answered(plan):
    missed, income = plan.questions[0].targets[0], plan.questions[2].targets[0]
    assert not missed.met
    users = missed.users
    error = solve(PrivacyPolicy(np.log([4, 6]) * plan.questions[0].share, [1, 4])).worst_case_mse
    assert np.sqrt(error / users) <= 0.01 < np.sqrt(error / (users - 1))
    assert not income.met
    assert "Impossible, because even without any noise" in income.budgets
    assert income.users == pytest.approx(plan.questions[2].error / 1e-6, rel=1e-6)


def test_minimax_needs_and_keeps_targets():
    survey = TEXT.replace("users = 200_000", 'users = 200_000\nobjective = "minimax"')
    with pytest.raises(FileError, match="targets of question 'page'"):
        survey_from_text(survey)
    survey = survey.replace('name = "page"', 'name = "page"\ntarget = [{ error = 0.05 }]')
    plan = plan_whole_survey(survey_from_text(survey))
    ratios = [
        q.error / 200_000 / next(t.value for t in q.question.targets) ** 2 for q in plan.questions
    ]
    assert ratios == pytest.approx([plan.allocation.value] * 3, rel=1e-5)


def test_priors_change_the_table():
    levels = (Level("a", 1.0, item_count=3, prior=0.9), Level("b", 2.0, item_count=5, prior=0.1))
    plan = plan_whole_survey(Survey("s", 100, (Question("q", levels),)))
    table = plan.questions[0].plan.table
    assert table.objective.kind == "expected"
    value = table.objective_value
    worst = solve(table.policy)
    coefficients = table.objective.coefficients(table.policy)
    assert value <= coefficients.evaluate(worst.noise, worst.signal) * (1 + 1e-12)


@pytest.mark.parametrize("sets", ["sizes = [0, 40, 30, 20, 10]", 'pilot = "pilot.dat"'])
def test_item_sets_are_planned_and_exported_with_padding(sets, tmp_path):
    rng = np.random.default_rng(1)
    lines = [
        " ".join(map(str, rng.choice(30, rng.integers(1, 6), replace=False))) for _ in range(80)
    ]
    (tmp_path / "pilot.dat").write_text("\n".join(lines) + "\n")
    survey = survey_from_text(BASKETS.replace("SETS", sets), tmp_path / "s.toml")
    plan = plan_whole_survey(survey)
    question = plan.questions[0]
    assert question.padding_length == question.padding.length > 1
    assert question.error == pytest.approx(question.choice.error("opt0"), rel=1e-6)
    (exported,) = _exported(plan).questions
    assert exported.mechanism == "idue-ps"
    assert exported.padding_length == question.padding_length


def test_a_set_is_never_exported_without_padding():
    levels = (Level("a", 1.0, item_count=3),)
    survey = Survey("s", 100, (Question("q", levels, kind="item-set"),))
    with pytest.raises(InputError, match="padding_length"):
        parameters_from_plan(plan_survey(survey))
    with pytest.raises(InputError, match="sets of question 'q'"):
        plan_whole_survey(survey)
    fixed = Survey("s", 100, (Question("q", levels, kind="item-set", padding_length=2),))
    made = plan_whole_survey(fixed)
    assert made.questions[0].padding_length == 2
    assert made.questions[0].error == pytest.approx(
        4 * solve(levels_policy(levels)).worst_case_mse + 2
    )


def levels_policy(levels):
    return PrivacyPolicy([x.epsilon for x in levels], [x.item_count for x in levels])


def test_comparison_matches_questions_and_levels_by_name(plan):
    richer = plan_whole_survey(survey_from_text(TEXT.replace('"ln 6"', '"ln 5"')))
    rows = {(r.question, r.level, r.what): r for r in compare_plans(plan, richer).rows}
    row = rows["diagnosis", "common", "nats spent"]
    assert row.first == pytest.approx(plan.spending[1].spent)
    assert row.second == pytest.approx(richer.spending[1].spent)
    assert rows["", "", "objective"].change > 0
    alone = plan_whole_survey(
        Survey("s", 10, (Question("other", (Level("x", 1.0, item_count=2),)),))
    )
    rows = {(r.question, r.level, r.what): r for r in compare_plans(plan, alone).rows}
    assert rows["other", "x", "nats spent"].first is None
    assert rows["other", "x", "nats spent"].change is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("weight = 0.05", "weight = -1", "weight"),
        ("weight = 0.05", "weight = nan", "weight"),
        ("weight = 0.05", "weight = 0", "weight of question 'page'"),
        ("users = 200_000", 'users = 1\ndesign = "both"', "design"),
        ("users = 200_000", 'users = 1\nobjective = "max"', "objective"),
        ("error = 0.01", "error = 1.5", "above 0 and below 1"),
        ("error = 0.01", "error = 0.01\ndetect = 0.1", "exactly one"),
        ("error = 0.01", 'error = 0.01\nlevel = "mild"', "one of the question's levels"),
        ("error = 0.01", "error = 0.01\n[[question.target]]\nerror = 0.02", "contradict"),
        ("error = 0.01", "err = 0.01", "did you mean 'error'"),
        ("item_count = 4", "item_count = 4\nprior = 0.5", "prior"),
        ("epsilon = 2.0\n[[question.target]]\nerror = 0.001", "epsilon = 2.0\nsets = 3", "sets"),
    ],
)
def test_bad_surveys_are_refused(old, new, message):
    assert old in TEXT
    with pytest.raises(FileError, match=message):
        survey_from_text(TEXT.replace(old, new, 1))


def test_weights_that_are_all_zero_are_refused():
    level = (Level("x", 1.0, item_count=2),)
    questions = tuple(Question(n, level, weight=0.0) for n in "ab")
    with pytest.raises(InputError, match="weights"):
        Survey("s", 1, questions)


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ("sizes = [0.5, -0.5, 1]", "no negative mass"),
        ("sizes = [1]", "some set with items"),
        ("", "one of the two"),
        ('sizes = [0, 1]\npilot = "x"', "one of the two"),
        ('sizes = [0, 1]\npopularity = "even"', "popularity"),
    ],
)
def test_bad_sets_are_refused(sets, message):
    with pytest.raises(FileError, match=message):
        survey_from_text(BASKETS.replace("SETS", sets))


def test_bad_pilots_are_refused(tmp_path):
    survey = survey_from_text(BASKETS.replace("SETS", 'pilot = "p.dat"'), tmp_path / "s.toml")
    with pytest.raises(FileError, match="cannot be read"):
        plan_whole_survey(survey)
    (tmp_path / "p.dat").write_text(" ".join(map(str, range(43))) + "\n1 2\n")
    with pytest.raises(FileError, match="43 different items, but the levels have 42"):
        plan_whole_survey(survey)
    text = BASKETS.replace("SETS", 'pilot = "p.dat"')
    text = text.replace("item_count = 2\n", 'items = ["1", "2"]\n').replace(
        "item_count = 40", 'items = ["3"]'
    )
    (tmp_path / "p.dat").write_text("1 2\n4\n")
    with pytest.raises(FileError, match="item '4' that no level lists"):
        plan_whole_survey(survey_from_text(text, tmp_path / "s.toml"))


def test_questions_that_cannot_be_planned_here_are_refused():
    text = TEXT.replace("epsilon = 2.0\n[[question.target]]\nerror = 0.001", "")
    with pytest.raises(InputError, match="epsilon of question 'income'"):
        plan_whole_survey(survey_from_text(text))
