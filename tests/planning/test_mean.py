"""Numbers: best channels, their rivals, what is planned of them, and what they cost in answers."""

import numpy as np
import pytest

from examples.reproduction import populations
from examples.reproduction.rivals import harmony, hybrid, piecewise
from planner import (
    Aggregate,
    ConvergenceError,
    Numeric,
    NumericDomain,
    PrivacyPolicy,
    bisample_md,
    channel_curve,
    mean_channel,
)
from planner.deployment.parameters import survey_parameters
from planner.planning import channels
from planner.planning.answer_rates import AnswerRateModel
from planner.planning.channels import (
    AssumedAnswers,
    best_channel,
    bisample_error,
    five_populations,
)
from planner.planning.ledger import Ledger
from planner.planning.mean import best_for, model_of, plan_answer_rates
from planner.planning.plan import parts_of, plan_survey
from planner.planning.solve import forget
from planner.show.kinds import measure, words
from planner.show.plan import left_out
from planner.solvers.answers import Channel, Scenario
from planner.solvers.channel_search import solve_channel
from planner.survey.assumed import (
    EmpiricalPreferences,
    HistogramPreferences,
    NormalPreferences,
)
from planner.survey.survey import Survey
from tests.mechanisms.decisions import mean_square_is
from tests.planning.surveys import HOUSEHOLD
from tests.refusals import refused

PEOPLE = NormalPreferences(5, 1.5)
RUNS = 2000
STRAY = 0.163  # a chi-square with 2,000 degrees strays by so much once in a million


def planned(users=10_000, **keys):
    question = Numeric("q", **({"lower": 0, "upper": 10, "epsilon": 1.0} | keys))
    survey = Survey("s", users, (question,))
    plan = plan_survey(survey)
    return plan.questions[0]


def squared_error(mechanism, values, truth):
    """Mean squared error over surveys whose reports are drawn from the deployed law."""
    answers, people = np.unique(values, return_counts=True, equal_nan=True)
    rng = np.random.default_rng(4)
    law = mechanism.asked.output_law(mechanism.shape, answers)
    drawn = sum(
        rng.multinomial(n, row, size=RUNS) for n, row in zip(people, law, strict=True)
    )
    estimates = (
        mechanism.shape.estimate(Aggregate(values.size, draw)).values for draw in drawn
    )
    total, number = np.array(list(estimates)).T
    domain = mechanism.asked.domain
    return np.mean((domain.center + domain.radius * total / number - truth) ** 2)


@pytest.mark.parametrize(("epsilon", "missing"), [(1.0, 0), (4.0, 0.5)])
def test_no_answers_have_a_larger_error_than_the_least_favourable(epsilon, missing):
    """BiSample-MD divides by the estimated answer rate: also where everybody answers, and more
    where many refuse. A channel made for five means has its least favourable answers elsewhere."""
    plan = planned(epsilon=epsilon, mechanism="bisample-md", refusals=missing)
    option = plan.option("channel")
    channel = mean_channel(option.law)
    for law, stated in (
        (plan.mechanism, plan.total_error),
        (channel, plan.option("channel").error),
    ):
        worst = []
        for answer in (5.0, 8.0, 10.0):
            values = np.full(10_000, answer)
            values[: round(missing * values.size)] = np.nan
            worst.append(squared_error(law, values, answer) / stated**2)
        assert max(worst) < 1 + STRAY
        # The worst place may lie between these; of a channel two answers may be worse than one.
        assert law is channel or max(worst) > 1 - STRAY - 0.02
    assert f"{100 * missing:g} % of them without one" in measure(plan)


def test_a_number_that_states_nobody_refuses_is_planned_for_a_tenth():
    """Nothing was assumed to refuse, nor said: half refusing had 1.6 times the error stated."""
    usual = planned(epsilon=4.0)
    tenth = planned(epsilon=4.0, refusals=0.1)
    assert usual.total_error == tenth.total_error
    assert usual.answering == 9000
    everybody = planned(epsilon=4.0, refusals=0)
    half = planned(epsilon=4.0, refusals=0.5)
    assert everybody.total_error < 0.95 * usual.total_error < 0.75 * half.total_error
    said = [words(plan).assumed(plan) for plan in (usual, tenth)]
    assert "10 % of the people give no answer" in said[0]
    assert "no answer" not in said[1]
    assert "0.3 of half the range" in said[1]


def test_the_best_is_the_channel_and_its_error_is_what_its_people_have():
    plan = planned(mean=7.0, sd=1.5, preferences=PEOPLE, epsilon=2.0)
    assert plan.question.mechanism == "best"
    assert plan.deployed.mechanism == "channel"
    assert (
        "for answers around 7 (spread 1.5) of people drawn at random, 2.28 %"
        in measure(plan)
    )
    bisample = plan.option("bisample-md")
    assert bisample.against > 0.5
    assert not bisample.compared
    assert all(
        plan.option(name).compared for name in ("harmony", "piecewise", "hybrid")
    )
    rng = np.random.default_rng(3)
    missing = 1 - PEOPLE.answer_rate(np.array([2.0]))[0]
    people = np.clip(rng.normal(7.0, 1.5, 10_000), 0, 10).round(1)
    people[: round(missing * people.size)] = np.nan
    mechanism = mean_channel(plan.fact(Channel))
    squared = squared_error(mechanism, people, np.nanmean(people))
    # Those people were drawn at random, too, and stray by the spread of the answers.
    stated = plan.total_error**2 - np.nanvar(people) / np.isfinite(people).sum()
    assert abs(squared / stated - 1) < STRAY + 0.03
    survey = Survey("s", 10, (plan.question,))
    parameters = survey_parameters(plan_survey(survey))
    assert parameters.questions


def test_one_mechanism_has_one_error_whatever_is_planned():
    keys = {"mean": 7.0, "preferences": PEOPLE, "epsilon": 3.0}
    ours = planned(**keys, mechanism="channel")
    theirs = planned(**keys, mechanism="bisample-md")
    for name in ("channel", "bisample-md", "harmony"):
        assert ours.option(name).error == pytest.approx(
            theirs.option(name).error, rel=0.03
        )
    assert "forced answers at the top" in ours.option("harmony").title
    assert "forced answers at the top" in theirs.option("harmony").title


def test_without_a_mean_the_worst_of_five_is_made_small():
    plan = planned(epsilon=2.0)
    assert "for the worst of five means (spread 1.5) of people drawn" in measure(plan)
    assert (
        plan.option("bisample-md").error / plan.total_error
    ) ** 2 > 1.7  # 1.79 if some refuse


@pytest.mark.parametrize("epsilon", [1e-3, 20.0, 50.0])
def test_budgets_at_their_ends(epsilon):
    for name in ("best", "channel", "bisample-md"):
        plan = planned(epsilon=epsilon, mechanism=name)
        assert np.isfinite(plan.total_error)


def test_the_best_budget_is_that_of_the_channel():
    keys = {"mean": 7.5, "sd": 1.5, "preferences": PEOPLE, "epsilon": None}
    plan = planned(100_000, **keys)
    assert plan.deployed.epsilon == pytest.approx(
        4.243, abs=2e-3
    )  # docs/theory/channels.md
    domain = NumericDomain(0, 10)
    model = AnswerRateModel(PEOPLE, 100_000, domain, 7.5, 1.5)
    usual = planned(100_000, **keys, mechanism="bisample-md")
    expected = model.best().epsilon
    assert usual.deployed.epsilon == pytest.approx(expected)


def test_what_the_solver_cannot_prove_is_not_planned(monkeypatch):
    """A finer grid is left out; of a large budget 6 nats are spent; else its error is passed on."""

    def refusing(most_points=15, nats=50.0):
        def solve(epsilon, *args, points, **keys):
            if epsilon > nats or points > most_points:
                raise ConvergenceError("It stopped early", "Use fewer symbols.")
            return best_channel(epsilon, *args, points=points, **keys)

        return solve

    forget()
    model = AnswerRateModel(PEOPLE, 1000, mean=0.5, sd=0.3)
    monkeypatch.setattr(channels, "best_channel", refusing(most_points=5))
    assert best_for(model, 3.0).policy.size == 6
    monkeypatch.setattr(channels, "best_channel", refusing(nats=6.0))
    bounds = best_for(model, 30.0).policy.bounds()
    assert bounds.max() == 6.0
    monkeypatch.setattr(channels, "best_channel", refusing(nats=0.5))
    forget()
    with refused("It stopped early", kind=ConvergenceError):
        best_for(model, 3.0)
    plan = planned()
    assert plan.deployed.mechanism == "bisample-md"
    assert tuple(left_out(plan)) == ("Channel is left out: It stopped early.",)
    with refused("It stopped early", kind=ConvergenceError):
        planned(mechanism="channel")


FIVE = five_populations()


def worst_bisample(epsilon):
    return max(bisample_error(epsilon, population) for population in FIVE)


def made_for_one(epsilon, assumed, points):
    """The best channel for ``sum - mean * number`` alone."""
    grid = np.linspace(-1, 1, points)
    scenario = assumed.scenario(grid)
    matrix = scenario.directions @ [np.append(grid, 0), np.append(np.ones(points), 0)]
    policy = PrivacyPolicy([epsilon] * (points + 1), [1] * (points + 1))
    alone = Scenario(scenario.population, np.eye(1), drawn=True)
    return solve_channel(policy, matrix, [alone]).worst_error


@pytest.mark.parametrize(
    ("epsilon", "ratio"),
    [
        (0.5, 1.18),
        (1.0, 1.33),
        (2.0, 1.79),
        (3.0, 3.25),
        (4.0, 5.39),
    ],
)
def test_one_channel_for_five_means(epsilon, ratio):
    channel = best_channel(epsilon)
    assert round(worst_bisample(epsilon) / channel.worst_error, 2) == ratio
    assert channel.certificate.relative_gap < 1e-5
    assert channel.max_violation == 0


@pytest.mark.parametrize(
    ("missing", "epsilon", "optimal"),
    [
        (0.1, 2.2, True),
        (0.1, 2.6, False),
        (0.5, 1.0, True),
        (0.5, 2.0, False),
    ],
)
def test_where_bisample_is_optimal_on_two_points_at_mean_0(missing, epsilon, optimal):
    assumed = AssumedAnswers(0.0, 0.3, missing)
    best = made_for_one(epsilon, assumed, 2)
    theirs = bisample_error(epsilon, assumed)
    assert best <= theirs * (1 + 1e-7)
    assert (theirs / best < 1 + 1e-6) == optimal


def test_units_do_not_matter():
    income = NumericDomain(0, 100_000)
    channel = best_channel(1.0, five_populations(income))
    unit = best_channel(1.0)
    expected = unit.errors * income.radius**2
    assert channel.errors == pytest.approx(expected, rel=1e-6)
    assert channel.certificate.lower_bound == pytest.approx(
        unit.certificate.lower_bound * income.radius**2, rel=1e-6
    )
    assert channel.symbols[0] == "0"
    assert channel.symbols[-1] == "no answer"


def test_a_stated_population_costs_the_others_no_more_than_bisample():
    stated = AssumedAnswers(0.5, 0.3, 0.1)
    channel = best_channel(1.0, stated=stated)
    assert channel.errors[0] < best_channel(1.0).errors[3]
    ceilings = [bisample_error(1.0, population) for population in FIVE]
    assert (channel.errors[1:] <= np.array(ceilings) * (1 + 1e-5)).all()
    assert channel.errors[0] < 0.75 * bisample_error(1.0, stated)


def test_budgets_may_differ_by_symbol():
    loose = best_channel(2.0).worst_error
    strict_refusal = best_channel([2.0] * 5 + [0.7])
    strict_ends = best_channel([0.7, 2.0, 2.0, 2.0, 0.7, 2.0])
    assert strict_refusal.max_violation == strict_ends.max_violation == 0
    assert loose < strict_refusal.worst_error < strict_ends.worst_error
    assert strict_ends.worst_error < best_channel(0.7).worst_error


# -- populations --------------------------------------------------------------------------------


@pytest.mark.parametrize("place", [NumericDomain(), NumericDomain(17, 90)])
def test_shares_are_those_of_rounded_answers(place):
    assumed = AssumedAnswers(
        place.center + 0.7 * place.radius, 0.4 * place.radius, 0.2, place
    )
    rng = np.random.default_rng(3)
    values = np.clip(
        rng.normal(assumed.center, assumed.spread, 10**6), place.lower, place.upper
    )
    grid = np.linspace(place.lower, place.upper, 5)
    position = (values - place.lower) / (grid[1] - grid[0])
    cell = np.minimum(position.astype(int), 3)
    cell += rng.random(values.size) < position - cell
    seen = np.bincount(cell, minlength=5) / values.size
    shares = assumed.shares(grid)
    # Five cells, |z| < 5.2 each: false alarms below 1e-6 together.
    assert (
        np.abs(seen - shares) < 5.2 * np.sqrt(shares * (1 - shares) / values.size)
    ).all()
    assert shares @ grid == pytest.approx(assumed.mean, rel=1e-12)
    near = AssumedAnswers(assumed.center, assumed.spread * 1.02, 0.2, place).shares(
        grid
    )
    assert (np.abs(seen - near) > 5.2 * np.sqrt(near * (1 - near) / values.size)).any()


def test_shares_of_a_grid_are_those_of_a_finer_one_and_of_one_answer():
    assumed = AssumedAnswers(-0.4, 0.3)
    fine = np.linspace(-1, 1, 33)
    coarse = np.linspace(-1, 1, 5)
    hats = np.maximum(0, 1 - np.abs(fine[:, None] - coarse) / 0.5)
    assert assumed.shares(fine) @ hats == pytest.approx(
        assumed.shares(coarse), abs=1e-14
    )
    assert AssumedAnswers(0.25, 0.0).shares([-1, 0, 1]).tolist() == [0.0, 0.75, 0.25]


@pytest.mark.parametrize(
    "build",
    [
        lambda: best_channel(1.0, points=1),
        lambda: best_channel([1.0, 2.0]),
        lambda: best_channel(1.0, stated=FIVE[0], cap=0.5),
        lambda: best_channel(
            1.0, stated=AssumedAnswers(0.5, 0.1, 0.1, NumericDomain(0, 1))
        ),
        lambda: AssumedAnswers(2.0, 0.1),
        lambda: AssumedAnswers(0.0, -1.0),
        lambda: AssumedAnswers(0, 1, 1),
    ],
)
def test_refusals(build):
    with refused("cap", "center", "domain", "epsilon", "missing", "points", "spread"):
        build()


# -- answer rates: predictions against draws, the best budget, what is enough ------------


PREFERENCES = NormalPreferences(5, 1.5)
USERS = 100_000


def model(mean, **keys):
    return AnswerRateModel(PREFERENCES, USERS, mean=mean, **keys)


Z = 4.9  # two-sided false-alarm rate 1e-6


class TestPredictionAgainstSimulation:
    """People drawn anew, perturbed one by one: nothing of the prediction is reused."""

    def test_bisample_md(self):
        rng = np.random.default_rng(41)
        epsilon = 4.0
        mechanism = bisample_md(epsilon)
        users = 1000
        repeats = 3000
        errors = np.empty((repeats, 2))
        for i in range(repeats):
            values = populations.gaussian(users, rng)
            values[rng.normal(5, 1.5, users) < epsilon] = np.nan
            cells = mechanism.asked.output_law(mechanism.shape, values).cumsum(axis=1)[
                :, :-1
            ]
            reports = (rng.random((users, 1)) > cells).sum(axis=1)
            counts = np.bincount(reports, minlength=mechanism.shape.cells)
            counted = Aggregate(users, counts)
            estimates = mechanism.estimate(counted)
            rate = PREFERENCES.answer_rate(epsilon)
            errors[i] = (
                (estimates.mean.value or 0) - 0.5,
                estimates.missing_rate.value - 1 + rate,
            )
        curve = AnswerRateModel(PREFERENCES, users, mean=0.5).curve([epsilon])
        for column, predicted in (
            (0, curve.mean_rmse[0]),
            (1, curve.missing_rate_rmse[0]),
        ):
            assert mean_square_is(errors[:, [column]], predicted**2)
            assert not mean_square_is(errors[:, [column]], (1.1 * predicted) ** 2)
            assert not mean_square_is(errors[:, [column]], (predicted / 1.1) ** 2)

    @pytest.mark.parametrize("fake_answer", ["top", "random"])
    @pytest.mark.parametrize("report", [harmony, piecewise, hybrid])
    def test_forced_answers(self, report, fake_answer):
        rng = np.random.default_rng(42)
        epsilon = 4.0
        users = 250
        repeats = 6000
        values = np.clip(rng.normal(0.5, 0.1, users * repeats), -1, 1)
        if fake_answer == "top":
            fakes = 1.0
        else:
            fakes = rng.uniform(-1, 1, values.size)
        values = np.where(rng.normal(5, 1.5, values.size) < epsilon, fakes, values)
        reports = report(values, epsilon, rng).reshape(repeats, users)
        errors = reports.mean(axis=1, keepdims=True) - 0.5
        model = AnswerRateModel(PREFERENCES, users, mean=0.5, sd=0.1)
        (rmse,) = model.rmse(report.__name__, np.array([epsilon]), fake_answer)
        refuse = 1 - PREFERENCES.answer_rate(epsilon)
        if fake_answer == "top":
            bias = refuse * 0.5
        else:
            bias = -refuse * 0.5
        spread = np.sqrt(rmse**2 - bias**2)
        assert abs(errors.mean() - bias) < Z * spread / np.sqrt(repeats)
        assert abs(errors.mean() - 1.2 * bias) > Z * spread / np.sqrt(repeats)
        assert mean_square_is(errors, rmse**2)
        assert not mean_square_is(errors, (1.08 * rmse) ** 2)


@pytest.mark.parametrize(
    "build",
    [
        lambda: AnswerRateModel(PREFERENCES, 0),
        lambda: model(1.01),
        lambda: model(0.5, sd=-0.1),
        lambda: model(0.5, sd=0.9),
        lambda: model(0.5).curve([0.0]),
        lambda: model(0.5).curve([50.1]),
        lambda: AnswerRateModel(EmpiricalPreferences([0.0, -1.0]), USERS).best(),
        lambda: channel_curve(CURVED, [40.0, 41.0]).best(),
        lambda: plan_answer_rates(parts_of(HOUSEHOLD, Ledger())[0]),
    ],
)
def test_bad_input(build):
    with refused("epsilons", "kind", "mean", "preferences", "sd", "users"):
        build()


TWO_CAMPS = HistogramPreferences([0.5, 0.6, 6.0, 6.1], [0.4, 0.0, 0.6])  # and a gap


class TestBestBudget:
    @pytest.mark.parametrize(
        ("mean", "epsilon"),
        [
            (0.5, 3.157),
            (0.0, 2.943),
            (-0.83, 3.666),
        ],
    )
    def test_known_budgets(self, mean, epsilon):
        assert round(model(mean, sd=0.0).best().epsilon, 3) == epsilon

    @pytest.mark.parametrize(
        ("people", "near"), [(PREFERENCES, 3.157), (TWO_CAMPS, 6.0)]
    )
    def test_nothing_on_a_fine_grid_is_better(self, people, near):
        asked = AnswerRateModel(people, USERS, mean=0.5)
        best = asked.best()
        curve = asked.curve(np.linspace(0.01, 12, 100_001))
        assert best.rmse <= curve.mean_rmse.min() * (1 + 1e-12)
        assert best.epsilon == pytest.approx(near, abs=0.05)

    def test_flat_region(self):
        best = model(0.5).best()
        assert 2.4 < best.flat_lower < best.epsilon < best.flat_upper < 4.0
        ends = model(0.5).curve([best.flat_lower, best.flat_upper])
        np.testing.assert_allclose(ends.mean_rmse, 1.05 * best.rmse, rtol=1e-6)
        inside = model(0.5).curve(np.linspace(best.flat_lower, best.flat_upper, 500))
        assert inside.mean_rmse.max() <= 1.05 * best.rmse * (1 + 1e-9)

    def test_a_sample_is_best_at_one_of_its_values_or_between(self):
        """Two thirds tolerate just 2, the others 3: stop at 2 exactly, not above."""
        sample = EmpiricalPreferences([2.0, 2.0, 3.0])
        best = AnswerRateModel(sample, USERS).best()
        assert best.epsilon == 2.0
        assert best.flat_upper == pytest.approx(2.0)
        assert best.answer_rate == 1.0

    def test_few_people_are_not_called_reliable(self):
        assert model(0.5).best().reliable
        assert not AnswerRateModel(PREFERENCES, 5).best().reliable

    def test_some_or_nobody_or_everybody_answers(self):
        question = Numeric("q", -1, 1, preferences=EmpiricalPreferences([1.0, 3.0]))
        curve = model_of(question, USERS).curve([0.5, 2.0, 4.0])
        assert curve.answer_rate.tolist() == [1.0, 0.5, 0.0]
        assert np.isinf(curve.mean_rmse).tolist() == [False, False, True]
        assert np.isfinite(curve.missing_rate_rmse).all()
        assert curve.reliable.tolist() == [True, True, False]
        without = model_of(question.replacing(preferences=None), USERS)
        assert without.curve([0.1, 50.0]).answer_rate.tolist() == [0.9, 0.9]

    def test_unit_does_not_matter(self):
        domain = NumericDomain(0, 100)
        wide = AnswerRateModel(PREFERENCES, USERS, domain, mean=75)
        expected = model(0.5).best().epsilon
        assert wide.best().epsilon == pytest.approx(expected, rel=1e-6)
        expected = 50 * model(0.5).best().rmse
        assert wide.best().rmse == pytest.approx(expected, rel=1e-9)


CURVED = AnswerRateModel(NormalPreferences(5, 1.5), users=100_000, mean=0.5, sd=0.3)


@pytest.fixture(scope="module")
def curve():
    return channel_curve(CURVED)


def test_every_budget_is_proven_and_never_worse_than_bisample(curve):
    assert curve.epsilon.size == 27
    finite = np.isfinite(curve.channel_rmse)
    theirs = CURVED.curve(curve.epsilon).mean_rmse
    assert finite.sum() >= 25
    assert np.nanmax(curve.relative_gap) < 5e-3
    # The assumed answers are clipped at 1: their mean is 0.4941, not 0.5.
    assert (curve.channel_rmse[finite] <= theirs[finite] * 1.01).all()


def test_the_best_budget_moves(curve):
    ours = curve.best()
    theirs = CURVED.best()
    assert ours.epsilon == pytest.approx(4.243, abs=2e-3)
    assert ours.flat_lower < ours.epsilon < ours.flat_upper
    assert ours.answer_rate < theirs.answer_rate
    assert ours.rmse < 0.5 * theirs.rmse


def test_one_point_is_that_channel():
    curve = channel_curve(CURVED, [3.0])
    missing = float(1 - CURVED.preferences.answer_rate(np.array([3.0]))[0])
    five = five_populations(missing=missing)
    stated = AssumedAnswers(0.5, 0.3, missing)
    channel = best_channel(3.0, five, points=9, stated=stated, cap=1.02)
    expected = np.sqrt(channel.worst_error / CURVED.users)
    assert curve.channel_rmse[0] == pytest.approx(expected, rel=1e-3)


def test_channel_errors_between_budgets_are_those_of_channels_there(curve):
    """Budgets between two of the curve's, solved for themselves; nothing is said outside."""
    budgets = curve.epsilon[8:20] + np.diff(curve.epsilon)[0] / 2
    alone = channel_curve(CURVED, budgets)
    assert curve.channel_errors(budgets) == pytest.approx(alone.channel_rmse, rel=2e-3)
    assert np.isinf(curve.channel_errors([0.01, 49.0])).all()


def test_a_sample_is_best_just_where_many_would_leave():
    """Half of the people accept 2, half 4; above each they leave at once."""
    model = AnswerRateModel(EmpiricalPreferences([2.0, 4.0]), 100_000, mean=0.5, sd=0.3)
    curve = channel_curve(model)
    assert curve.best().epsilon in (2.0, 4.0)
    assert np.isin([2.0, 4.0], curve.epsilon).all()
    assert curve.channel_errors([4.0]) < curve.channel_errors([3.9])
    assert curve.channel_errors([2.0]) < curve.channel_errors([2.2])


def test_budgets_that_the_solver_cannot_prove_are_spent_in_part():
    everybody = AnswerRateModel(
        HistogramPreferences([0, 1e-9, 50, 51], [0.1, 0, 0.9]), 1000, mean=0.5, sd=0.3
    )
    curve = channel_curve(everybody, [8.0, 20.0, 50.0])
    assert np.isfinite(curve.channel_rmse).all()
    assert np.ptp(curve.channel_rmse) < 0.05 * curve.channel_rmse[0]
