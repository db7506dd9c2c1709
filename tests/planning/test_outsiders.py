"""What an outsider learns from a plan, against the laws of its mechanisms."""

from dataclasses import replace
from math import exp, isnan

import numpy as np
import pytest

from planner import AssumedSets, Level, Survey, plan_survey
from planner.errors import InputError
from planner.mechanisms.unary import UnaryMechanism
from planner.outsiders import shuffled
from planner.outsiders.shapes import Rows
from planner.planning.outsiders import negligible, outsider_view
from planner.survey.questions import Categorical, ItemSet, Numeric
from tests.mechanisms.listed import output_law

LEVELS = (Level("rare", 1.0, ("x",)), Level("usual", 2.0, item_count=2))


def planned(*questions, users=20_000, design="split"):
    return plan_survey(Survey("s", users, questions, design=design))


@pytest.mark.parametrize("mechanism", ["opt0", "oue", "grr", "subset"])
def test_the_view_is_that_of_the_whole_law(mechanism):
    plan = planned(Categorical("q", LEVELS, mechanism=mechanism))
    (question,) = plan.questions
    view = question.outsiders(delta=1e-7)
    deployed = question.mechanism
    if mechanism in ("opt0", "oue"):
        deployed = UnaryMechanism(question.table)
    law = output_law(deployed)
    assert view.guess.success == pytest.approx(law.max(axis=0).sum() / 3)
    assert view.guess.blind == pytest.approx(1 / 3)
    local = float(np.max(np.log(law[:, None] / law[None])))
    assert view.shuffled.local_epsilon == pytest.approx(local)
    whole = shuffled(Rows(law, ("x", "0", "1")), 20_000, 1e-7, every_example=False)
    assert view.shuffled.epsilon == pytest.approx(whole.epsilon, rel=2e-3)
    assert 0.8 * whole.epsilon < view.shuffled.lost < view.shuffled.epsilon
    assert np.all(view.reach * view.swaying >= view.standard_errors)
    assert np.all(view.reach * (view.swaying - 1) < view.standard_errors)
    assert not view.to_frame().empty


def test_means_and_many_levels():
    many = tuple(Level(f"l{i}", 1.0 + i / 10, item_count=2) for i in range(8))
    plan = planned(
        Numeric("m", 0, 10, epsilon=1.5, mechanism="bisample-md"), Categorical("q", many)
    )
    first, second = plan.outsiders().questions
    assert first.shuffled.names == ("the lowest number", "the highest number", "no answer")
    share = plan.questions[0].share * 1.5
    assert first.shuffled.local_epsilon == pytest.approx(share, rel=1e-6)
    assert second.shuffled.epsilon > 0
    together = plan.outsiders()
    assert together.epsilon == first.shuffled.epsilon + second.shuffled.epsilon
    assert together.guess.success == pytest.approx(first.guess.success * second.guess.success)
    assert all("holds if a shuffler" in one.summary for one in together.questions)
    assert list(together.to_frame()["question"]) == ["m", "q"]
    apart = replace(together, asked=1)
    assert apart.epsilon == max(first.shuffled.epsilon, second.shuffled.epsilon)
    assert apart.guess is None
    assert len(apart.sentences) == 1


def test_sets_and_expected_answers():
    sets = ItemSet("basket", LEVELS, sets=AssumedSets([1, 5, 3, 1]))
    (view,) = planned(sets).outsiders().questions
    assert isnan(view.shuffled.lost)
    assert view.assumed is None
    weighed = tuple(
        level.replacing(prior=prior) for level, prior in zip(LEVELS, (0.1, 0.9), strict=True)
    )
    (question,) = planned(Categorical("q", weighed, mechanism="grr")).questions
    view = question.outsiders()
    prior = np.array([0.1, 0.45, 0.45])
    true = np.max(prior[:, None] * output_law(question.mechanism), axis=0).sum()
    assert view.assumed.success == pytest.approx(true)
    assert view.assumed.blind == pytest.approx(0.45)
    assert "With the expected answers" in view.summary


def test_nothing_is_said_where_nothing_hides():
    inf = np.inf
    rule = ((1.0, inf), (inf, 1.0))
    question = Categorical("q", LEVELS, rule=rule)
    assert outsider_view(question, None, 1000, None) is None
    with pytest.raises(InputError, match="delta"):
        planned(Categorical("q", LEVELS, mechanism="grr")).outsiders(delta=0)


@pytest.mark.parametrize("people", [1, 99, 100, 10**4, 10**9])
def test_the_default_delta_is_negligible(people):
    assert 0.1 < negligible(people) * 100 * people * 10 <= 10 * (1 + 1e-9)


def test_sentences_never_show_less_than_there_is():
    (view,) = planned(Categorical("q", LEVELS, mechanism="grr")).outsiders().questions
    right = 100 * exp(view.shuffled.local_epsilon) / (1 + exp(view.shuffled.local_epsilon))
    shown = float(view.sentences[0].partition("at most ")[2].split()[0])
    assert right <= shown + 1e-9 < right + 0.02
