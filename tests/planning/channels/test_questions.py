"""The channel of a survey's mean: what it is made for, what it gains, how a survey plans it."""

import numpy as np
import pytest

from planner import Level, Survey, best_channel, plan_survey
from planner.deployment.parameter_file.building import survey_parameters
from planner.errors import ConvergenceError, InputError
from planner.mechanisms.means import first_order
from planner.planning import answer_rates as curves
from planner.planning.answer_rates import AnswerRateModel, channel_curve, plan_answer_rate
from planner.planning.channels import means
from planner.planning.channels.questions import question_channel
from planner.show.kinds import certificate_sentences
from planner.show.plan import assumed_mean, shares_sentence
from planner.survey.file import survey_from_text, survey_text
from planner.survey.numeric_domain import NumericDomain
from planner.survey.preferences import NormalPreferences
from planner.survey.questions import Categorical, Numeric, Target

PEOPLE = NormalPreferences(5, 1.5)
INCOME = NumericDomain(0, 100)


def asked(name="income", domain=INCOME, targets=(), mechanism="channel", **about):
    about = {"epsilon": 2.0, "targets": targets, "mechanism": mechanism} | about
    return Numeric(name, domain.lower, domain.upper, yes_no=domain.yes_no, **about)


@pytest.fixture(scope="module")
def plan():
    question = asked(preferences=PEOPLE, mean=70.0, sd=15.0, targets=(Target(error=0.001),))
    return plan_survey(Survey("s", 100_000, (question,)))


def test_it_is_planned_and_deployed_beside_bisample(plan):
    (one,) = plan.questions
    choice = one.choice
    assert (choice.planned, choice.best.name) == ("channel", "channel")
    assert one.measure == "Error of the mean, for the expected answers"
    rate = float(PEOPLE.answer_rate(np.array([2.0]))[0])
    mean = 0.4 - 0.004  # some of the answers around 70 lie beyond 100
    bisample = 50 * np.sqrt(first_order(np.tanh(1.0), rate, mean, 100_000).mean)
    assert choice.of("bisample-md").error == pytest.approx(bisample, rel=0.01)
    assert choice.of("bisample-md").against > 0.5
    assert one.total_error == pytest.approx(np.sqrt(one.channel.worst_error / 1e5))
    assert one.error_share == pytest.approx(one.total_error / 50)
    file = survey_parameters(plan)
    assert file.questions[0].mechanism == "mean-channel"
    assert file.questions[0].asked.points == one.channel.policy.size - 1
    assert "reports for" in certificate_sentences(one)[0]
    assert "Proven: no mechanism of any kind" in certificate_sentences(one)[0]
    (target,) = one.targets
    assert not target.met
    assert "Not searched" in target.budgets
    assert target.users == pytest.approx((one.error_share / 0.001) ** 2 * 1e5, rel=1e-4)
    view = one.outsiders()
    assert f"{one.channel.policy.size - 1} numbers and no answer" in view.guessed
    assert view.shuffled.local_epsilon == pytest.approx(2.0)


def test_its_error_is_what_its_people_have(plan):
    """The plan's figure against reports of people with such answers, drawn 4,000 times."""
    (one,) = plan.questions
    channel, rng = one.channel, np.random.default_rng(4)
    chances = channel.scenarios[0].population @ channel.matrix
    counts = rng.multinomial(100_000, chances, size=4000)
    total, number = (counts @ channel.estimator.T).T
    expected = (channel.wanted @ channel.scenarios[0].population) @ [1, 0]
    expected /= channel.wanted[1] @ channel.scenarios[0].population
    squared = np.mean((total / number - expected) ** 2)
    # A chi-square with 4,000 degrees strays by 11.2 % or more once in a million.
    assert abs(squared / one.total_error**2 - 1) < 0.112
    assert abs(squared / (1.25 * one.total_error**2) - 1) > 0.112


def test_without_a_mean_the_worst_of_five_is_made_small():
    model = AnswerRateModel(PEOPLE, 1000, INCOME)
    found = question_channel(model, 2.0, rate=0.9)
    assert [one.center for one in found.assumed] == [5.0, 25.0, 50.0, 75.0, 95.0]
    errors = {name: error for name, error, _ in found.mean_squared_errors(1000)}
    assert errors["bisample-md"] / errors["channel"] > 1.75  # 1.79 on five points
    question = asked()
    assert "worst of five means" in assumed_mean(question)
    assert "middle of the range" in assumed_mean(asked(mechanism="bisample-md"))
    assert not assumed_mean(asked(mean=3.0))
    (one,) = plan_survey(Survey("s", 1000, (question,))).questions
    assert one.objective_answers == "for the worst of 5 means"


def test_a_mean_in_the_middle_of_yes_and_no():
    domain = NumericDomain(0, 1, yes_no=True)
    found = question_channel(AnswerRateModel(PEOPLE, 1000, domain, mean=0.5), 1.0, rate=0.9)
    assert found.channel.policy.size == 3
    errors = {name: error for name, error, _ in found.mean_squared_errors(1000)}
    # BiSample is optimal there; the caps for other means cost the channel half a per cent.
    assert errors["bisample-md"] <= errors["channel"] <= 1.01 * errors["bisample-md"]


@pytest.mark.parametrize("epsilon", [1e-3, 20.0, 50.0])
def test_budgets_at_their_ends(epsilon):
    plan = plan_survey(Survey("s", 1000, (asked(epsilon=epsilon),)))
    (one,), (deployed,) = plan.questions, survey_parameters(plan).questions
    assert deployed.pairs[0].realised <= epsilon
    assert one.choice.of("channel").error == pytest.approx(one.total_error)


def test_the_best_budget_is_that_of_the_channel():
    question = asked(preferences=PEOPLE, mean=75.0, sd=15.0, epsilon=None)
    (one,) = plan_survey(Survey("s", 100_000, (question,))).questions
    model = AnswerRateModel(PEOPLE, 100_000, INCOME, 75.0, 15.0)
    assert one.deployed.epsilon == pytest.approx(4.09, abs=0.01)  # docs/theory/channels.md
    assert one.deployed.epsilon > model.best().epsilon + 0.5


def test_shares_are_those_of_bisample_and_it_is_said():
    levels = (Level("any", 1.0, item_count=3),)
    questions = (asked(), Categorical("q", levels, mechanism="oue"))
    survey = Survey("s", 10_000, questions)
    plan = plan_survey(survey)
    said = shares_sentence(plan)
    assert "'income' had BiSample-MD, two bits and 'q' had IDUE opt0" in said
    usual = plan_survey(Survey("s", 10_000, (asked(mechanism="bisample-md"), questions[1])))
    assert plan.questions[0].share == usual.questions[0].share
    assert plan.questions[0].spending[0].spent == pytest.approx(2 * plan.questions[0].share)
    one = survey_from_text(survey_text(survey))
    assert one == survey


def test_a_channel_is_for_means_alone():
    levels = (Level("any", 1.0, item_count=3),)
    survey = Survey("s", 10, (Categorical("q", levels, mechanism="channel"),))
    with pytest.raises(InputError, match="mechanism of question 'q'"):
        plan_survey(survey)


class Refusing:
    """Solves, but not for more than so many points or nats; remembers what was asked."""

    def __init__(self, points=33, nats=50.0):
        self.points, self.nats, self.asked = points, nats, []

    def __call__(self, epsilon, *args, points, **about):
        self.asked.append((epsilon, points))
        if epsilon > self.nats or points > self.points:
            raise ConvergenceError("It stopped early", "Use fewer symbols.")
        return best_channel(epsilon, *args, points=points, **about)


def test_what_the_solver_cannot_prove_is_not_planned(monkeypatch):
    """A finer grid is left out; of a large budget 6 nats are spent; else its error is passed on."""
    model = AnswerRateModel(PEOPLE, 1000, mean=0.5, sd=0.3)
    coarse, small, none = Refusing(points=5), Refusing(nats=6.0), Refusing(nats=1.0)
    monkeypatch.setattr(means, "best_channel", coarse)
    assert question_channel(model, 3.0).channel.policy.size == 6
    assert coarse.asked == [(3.0, 5), (3.0, 9)]
    monkeypatch.setattr(means, "best_channel", small)
    assert question_channel(model, 30.0).channel.policy.bounds().max() == 6.0
    assert small.asked[:2] == [(8.0, 5), (6.0, 5)]
    monkeypatch.setattr(means, "best_channel", none)
    with pytest.raises(ConvergenceError, match="stopped early"):
        question_channel(model, 3.0)
    assert none.asked == [(3.0, 5)]


def test_a_curve_has_gaps_where_nothing_could_be_proven(monkeypatch):
    def refuse(*_args, **_about):
        raise ConvergenceError("It stopped early", "Use fewer symbols.")

    model = AnswerRateModel(PEOPLE, 1000, mean=0.5, sd=0.3)
    monkeypatch.setattr(curves, "best_channel", refuse)
    fallen_back = channel_curve(model, [2.0, 3.0])
    assert np.isfinite(fallen_back.channel_rmse).all()
    monkeypatch.setattr(curves, "provable_channel", refuse)
    assert np.isinf(channel_curve(model, [2.0, 3.0]).channel_rmse).all()
    assert plan_answer_rate(model).channels() is None
