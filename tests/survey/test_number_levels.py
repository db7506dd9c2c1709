"""Parts of a number's range, or no answer, with budgets of their own."""

import numpy as np
import pytest

from planner import InputError, Level, Numeric, NumericDomain, Question, plan_survey
from planner.planning.ledger import Collection, Ledger
from planner.planning.mechanism_choice import mechanism_choices
from planner.planning.whole_survey.promises import promises_of
from planner.survey import Survey
from planner.survey.file import survey_from_text
from planner.survey.number_levels import NumberLevel
from planner.survey.preferences import NormalPreferences
from planner.survey.writer import survey_to_text

INCOMES = NumericDomain(0, 200)
HIGH = NumberLevel("high", 1.0, lower=150)
NONE = NumberLevel("silent", 4.0, no_answer=True)


def income(*levels, epsilon=2.0, mechanism="channel", **more):
    about = Numeric(INCOMES, epsilon=epsilon, mean=60, sd=40, levels=levels, **more)
    return Question("income", (), kind="numeric", numeric=about, mechanism=mechanism)


@pytest.mark.parametrize("points", [2, 3, 5, 9, 33])
def test_every_answer_has_its_protection(points):
    """However it is rounded: both neighbours have at most the answer's budget."""
    rng = np.random.default_rng(points)
    ends = np.sort(rng.uniform(0, 200, 6))
    budgets = rng.uniform(0.5, 3, 3)
    levels = [
        NumberLevel(f"level {k}", float(budgets[k]), *ends[2 * k : 2 * k + 2].tolist())
        for k in range(3)
    ]
    about = income(*levels, NONE).numeric
    grid = np.linspace(0, 200, points)
    of_symbol = np.empty(points + 1)
    for level in about.on_grid(grid):
        of_symbol[list(level.symbols)] = level.epsilon
    assert of_symbol[-1] == 4.0
    for answer in [*rng.uniform(0, 200, 2000), *ends, *grid]:
        own = [
            b
            for b, low, high in zip(budgets, ends[::2], ends[1::2], strict=True)
            if low <= answer <= high
        ]
        reached = {np.searchsorted(grid, answer), np.searchsorted(grid, answer, "right") - 1}
        assert max(of_symbol[k] for k in reached) <= (own[0] if own else 2.0)


def test_no_grid_point_is_stricter_than_it_must_be():
    whole = [NumberLevel("low", 1.0, upper=50), NumberLevel("rest", 3.0, lower=50)]
    grid = np.linspace(0, 200, 5)
    found = {one.name: one.symbols for one in income(*whole).numeric.on_grid(grid)}
    assert found == {"low": (0, 1), "rest": (2, 3, 4), "other answers": (5,)}
    assert income().numeric.on_grid(grid)[0].symbols == (0, 1, 2, 3, 4, 5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda: NumberLevel(" ", 1.0, lower=1), "level name is ' '"),
        (lambda: NumberLevel("a", 0.0, lower=1), "epsilon of level 'a' is 0.0"),
        (lambda: NumberLevel("a", 1.0), "range of level 'a' is missing"),
        (lambda: NumberLevel("a", 1.0, lower=np.nan), "lower of level 'a' is nan"),
        (lambda: NumberLevel("a", 1.0, upper=3, no_answer=True), "left out for no answer"),
        (lambda: income(NumberLevel("a", 1.0, lower=201)), "within 0 to 200"),
        (lambda: income(NumberLevel("a", 1.0, 30, 20)), "lower first"),
        (lambda: income(HIGH, NumberLevel("b", 1.0, 100, 160)), "apart from the other levels"),
        (lambda: income(HIGH, NumberLevel("high", 2.0, upper=3)), "different from every other"),
        (lambda: income(NumberLevel("income", 1.0, upper=3)), "different from the question"),
        (lambda: income(NONE, NumberLevel("b", 1.0, no_answer=True)), "given twice"),
        (lambda: income(HIGH, epsilon=None), "need its epsilon"),
        (lambda: income(HIGH, preferences=NormalPreferences(5, 1)), "no preferences"),
        (lambda: income(HIGH, mechanism="bisample-md"), "'channel' for levels"),
        (
            lambda: Question(
                "q", (Level("a", 1.0, ("x",)),), kind="numeric", numeric=Numeric(INCOMES)
            ),
            "levels of its Numeric",
        ),
    ],
)
def test_what_does_not_fit(change, message):
    with pytest.raises(InputError, match=message):
        change()


def test_a_file_has_them():
    survey = Survey("s", 100, (income(HIGH, NONE),))
    text = survey_to_text(survey)
    assert survey_from_text(text) == survey
    with pytest.raises(InputError, match=r"level 'high', lowest .*did you mean 'lower'"):
        survey_from_text(text.replace("lower = 150", "lowest = 150"))


@pytest.fixture(scope="module")
def planned():
    return plan_survey(Survey("s", 20_000, (income(HIGH, NONE),)))


def test_plans_keep_them_and_gain_by_them(planned):
    (question,) = planned.questions
    assert question.channel.max_violation == 0
    assert set(question.channel.policy.epsilons.tolist()) == {1.0, 2.0, 4.0}
    strict, loose = (
        plan_survey(Survey("s", 20_000, (income(epsilon=e),))).questions[0].total_error
        for e in (1.0, 2.0)
    )
    assert loose < question.total_error < strict
    assert [(row.level, row.spent) for row in planned.spending] == [
        ("income", 2.0),
        ("high", 1.0),
        ("silent", 4.0),
    ]
    assert mechanism_choices(question.question) == ["channel"]
    promises = promises_of(question)
    assert "level 'other answers': a report changes the odds" in promises[0]
    assert "level 'high': a report" in promises[1]
    assert "(epsilon 1.0000)" in promises[1]


def test_shares_and_ledgers_are_of_each_level(planned):
    both = (
        income(HIGH, NONE),
        Question("age", (), kind="numeric", numeric=Numeric(INCOMES, epsilon=2)),
    )
    split = plan_survey(Survey("s", 20_000, both)).question("income")
    spent = [row.spent for row in split.spending]
    assert spent == pytest.approx([2 * split.share, split.share, 4 * split.share])
    assert split.deployed.numeric.levels[0].epsilon == pytest.approx(split.share)
    before = Collection(survey="x", day="2026-01-01", rule="min", spent={"high": 0.4})
    left = plan_survey(planned.survey, Ledger().after(before)).spending
    assert [row.left for row in left] == pytest.approx([2.0, 0.6, 4.0])
