"""A mean's mechanisms: what is stated is what the deployed law does, and the best is planned."""

import numpy as np
import pytest

from planner import NormalPreferences, Survey, best_channel, plan_survey
from planner.deployment.parameter_file.building import survey_parameters
from planner.errors import ConvergenceError
from planner.mechanisms.counting import Aggregate
from planner.mechanisms.means import MeanChannelMechanism
from planner.planning import channels
from planner.planning.answer_rates import AnswerRateModel
from planner.planning.mean import best_for
from planner.survey.numeric_domain import NumericDomain
from planner.survey.questions import Numeric, Target

PEOPLE, RUNS = NormalPreferences(5, 1.5), 4000
STRAY = 0.112  # a chi-square with 4,000 degrees strays by so much once in a million


def planned(users=10_000, **about):
    question = Numeric("q", **({"lower": 0, "upper": 10, "epsilon": 1.0} | about))
    return plan_survey(Survey("s", users, (question,))).questions[0]


def squared_error(mechanism, values, truth):
    """Mean squared error over surveys whose reports are drawn from the deployed law."""
    known, people = np.unique(values, return_counts=True, equal_nan=True)
    rng, law = np.random.default_rng(4), mechanism.output_law(known)
    drawn = sum(rng.multinomial(n, row, size=RUNS) for n, row in zip(people, law, strict=True))
    found = [mechanism.estimate(Aggregate(values.size, counts)).mean for counts in drawn]
    return np.mean([(one.value - truth) ** 2 for one in found])


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0])
def test_no_answers_have_a_larger_error_than_the_least_favourable(epsilon):
    """Where everybody answers BiSample-MD still divides by the estimated answer rate."""
    plan = planned(epsilon=epsilon, mechanism="bisample-md")
    worst = {}
    for place in (5.0, 6.5, 8.0, 10.0):
        values = np.full(10_000, place)
        worst[place] = squared_error(plan.mechanism, values, place) / plan.total_error**2
    assert all(ratio < 1 + STRAY for ratio in worst.values())
    assert max(worst.values()) > 1 - STRAY - 0.02  # the worst place may lie between these
    harmony = plan.option("harmony").error ** 2
    assert epsilon > 1 or worst[10.0] * plan.total_error**2 > (1 + STRAY) * harmony


def test_the_best_is_the_channel_and_its_error_is_what_its_people_have():
    plan = planned(mean=7.0, sd=1.5, preferences=PEOPLE, epsilon=2.0)
    assert (plan.question.mechanism, plan.deployed.mechanism) == ("best", "channel")
    assert plan.measure == "Error of the mean, for the expected answers"
    bisample = plan.option("bisample-md")
    assert bisample.against > 0.5
    assert not bisample.compared
    assert all(plan.option(name).compared for name in ("harmony", "piecewise", "hybrid"))
    rng, missing = np.random.default_rng(3), 1 - PEOPLE.answer_rate(np.array([2.0]))[0]
    people = np.clip(rng.normal(7.0, 1.5, 10_000), 0, 10)
    people[: round(missing * people.size)] = np.nan
    mechanism = MeanChannelMechanism.of(plan.channel)
    squared = squared_error(mechanism, people, np.nanmean(people))
    # Those people were drawn at random, too, and stray by the spread of the answers.
    stated = plan.total_error**2 - np.nanvar(people) / np.isfinite(people).sum()
    assert abs(squared / stated - 1) < STRAY + 0.03
    assert survey_parameters(plan_survey(Survey("s", 10, (plan.question,)))).questions


def test_one_mechanism_has_one_error_whatever_is_planned():
    about = {"mean": 7.0, "preferences": PEOPLE, "epsilon": 3.0}
    ours, theirs = (planned(**about, mechanism=name) for name in ("channel", "bisample-md"))
    for name in ("channel", "bisample-md", "harmony"):
        assert ours.option(name).error == pytest.approx(theirs.option(name).error, rel=0.03)
    assert "forced answers at the top" in ours.option("harmony").title
    assert "forced answers at the top" in theirs.option("harmony").title


def test_without_a_mean_the_worst_of_five_is_made_small():
    plan = planned(epsilon=2.0)
    assert plan.measure == "Error of the mean, for the worst of five means"
    assert (plan.option("bisample-md").error / plan.total_error) ** 2 > 1.7  # 1.79 if some refuse


@pytest.mark.parametrize("epsilon", [1e-3, 20.0, 50.0])
def test_budgets_at_their_ends(epsilon):
    for name in ("best", "channel", "bisample-md"):
        assert np.isfinite(planned(epsilon=epsilon, mechanism=name).total_error)


def test_the_best_budget_is_that_of_the_channel():
    about = {"mean": 7.5, "sd": 1.5, "preferences": PEOPLE, "epsilon": None}
    plan = planned(100_000, **about)
    assert plan.deployed.epsilon == pytest.approx(4.09, abs=0.01)  # docs/theory/channels.md
    model = AnswerRateModel(PEOPLE, 100_000, NumericDomain(0, 10), 7.5, 1.5)
    usual = planned(100_000, **about, mechanism="bisample-md")
    assert usual.deployed.epsilon == pytest.approx(model.best().epsilon)


def test_targets_of_a_mean():
    target = Target(error=0.022)
    plan = planned(mechanism="bisample-md", targets=(target,))
    (answer,) = plan.targets
    assert not answer.met  # 2.7 %: at an end of the range
    assert answer.users == pytest.approx((plan.error_share / 0.022) ** 2 * 10_000, abs=1)
    enough = float(answer.budgets.split()[-1].rstrip("."))
    (again,) = planned(epsilon=enough * 1.001, mechanism="bisample-md", targets=(target,)).targets
    assert again.met
    assert again.reached == pytest.approx(0.022, rel=0.01)
    (answer,) = planned(targets=(target,)).targets
    assert "Not searched" in answer.budgets


def test_what_the_solver_cannot_prove_is_not_planned(monkeypatch):
    """A finer grid is left out; of a large budget 6 nats are spent; else its error is passed on."""

    def refusing(most_points=15, nats=50.0):
        def solve(epsilon, *args, points, **about):
            if epsilon > nats or points > most_points:
                raise ConvergenceError("It stopped early", "Use fewer symbols.")
            return best_channel(epsilon, *args, points=points, **about)

        return solve

    model = AnswerRateModel(PEOPLE, 1000, mean=0.5, sd=0.3)
    monkeypatch.setattr(channels, "best_channel", refusing(most_points=5))
    assert best_for(model, 3.0).policy.size == 6
    monkeypatch.setattr(channels, "best_channel", refusing(nats=6.0))
    assert best_for(model, 30.0).policy.bounds().max() == 6.0
    monkeypatch.setattr(channels, "best_channel", refusing(nats=0.5))
    with pytest.raises(ConvergenceError, match="stopped early"):
        best_for(model, 3.0)
    plan = planned()
    assert plan.deployed.mechanism == "bisample-md"
    assert plan.left_out == ("Channel is left out: It stopped early.",)
    with pytest.raises(ConvergenceError, match="stopped early"):
        planned(mechanism="channel")
