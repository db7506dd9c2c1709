"""What an outsider learns from a plan, against the laws of its mechanisms."""

import re
from dataclasses import replace
from itertools import permutations
from math import exp, isnan

import numpy as np
import pytest

from planner import AssumedSets, Level, Question, Survey, plan_survey
from planner.errors import InputError
from planner.mechanisms.subset_design import SubsetDesignMechanism
from planner.outsiders import (
    MatrixGuessing,
    MatrixReports,
    UnaryReports,
    exposure_of,
    shuffled,
)
from planner.outsiders.auditing.views import VIEWS
from planner.outsiders.statistics import caught_from, findable_excess
from planner.planning.whole_survey.outsider_view import AUDITED, negligible, outsider_view
from planner.planning.whole_survey.outsiders_together import SurveyOutsiderView
from planner.policy.budget_text import rounded_up
from planner.policy.policy import PrivacyPolicy
from planner.solvers import best_design
from planner.survey import Numeric
from planner.survey.numeric_domain import NumericDomain

LEVELS = (Level("rare", 1.0, ("x",)), Level("usual", 2.0, item_count=2))


def planned(*questions, users=20_000, design="split"):
    return plan_survey(Survey("s", users, questions, design=design))


@pytest.mark.parametrize("mechanism", ["opt0", "oue", "grr", "subset"])
def test_the_view_is_that_of_the_whole_law(mechanism):
    plan = planned(Question("q", LEVELS, mechanism=mechanism))
    (question,) = plan.questions
    view = question.outsiders(delta=1e-7)
    deployed = question.mechanism
    if mechanism in ("opt0", "oue"):
        from planner.mechanisms.unary import UnaryMechanism

        deployed = UnaryMechanism(question.table)
    law = deployed.output_law()
    assert view.guess.success == pytest.approx(MatrixGuessing(law).success(np.full(3, 1 / 3)))
    assert view.guess.blind == pytest.approx(1 / 3)
    local = float(np.max(np.log(law[:, None] / law[None])))
    assert view.shuffled.local_epsilon == pytest.approx(local)
    excesses = [
        caught_from(x, y, AUDITED // 2, 1e-6 / (2 * len(VIEWS) + 3))
        for x, y in permutations(law, 2)
        if np.log(x / y).max() > local - 1e-9
    ]
    assert view.caught == pytest.approx(max(excesses), rel=0.02)  # other reports, other sums
    assert local < min(excesses)
    assert "catches about 90 of 100 clients" in view.sentences[-1]
    whole = shuffled(MatrixReports(law), 20_000, 1e-7, every_example=False)
    assert view.shuffled.epsilon == pytest.approx(whole.epsilon, rel=2e-3)
    assert 0.8 * whole.epsilon < view.shuffled.lost < view.shuffled.epsilon
    assert np.all(view.reach * view.swaying >= view.standard_errors)
    assert np.all(view.reach * (view.swaying - 1) < view.standard_errors)
    assert not view.to_frame().empty


def test_a_design_has_a_view_of_its_own():
    policy = PrivacyPolicy([1.0, 2.0], [1, 2])
    design = best_design(policy)
    mechanism = SubsetDesignMechanism.of(design)
    exposed = exposure_of(design, policy)
    law = mechanism.output_law()
    ours = shuffled(exposed.reports, 20_000, 1e-7).epsilon
    assert ours == pytest.approx(shuffled(MatrixReports(law), 20_000, 1e-7).epsilon, rel=2e-3)
    guess = exposed.guess()
    assert guess.success == pytest.approx(MatrixGuessing(law).success(np.full(3, 1 / 3)))
    reports = np.unique(
        mechanism.perturb(np.arange(3).repeat(400), np.random.default_rng(1)), axis=0
    )
    moved = np.array(
        [mechanism.estimate(mechanism.aggregate(report[None])).values for report in reports]
    )
    for level, items in enumerate(([0], [1, 2])):
        most = max(moved[:, items].max(), 1 - moved[:, items].min())
        assert exposed.reach[level] == pytest.approx(most)


def test_totals_alone_where_they_tell_less():
    levels = (Level("intimate", 1.0, item_count=5), Level("public", 2.0, item_count=50))
    (question,) = planned(Question("q", levels, mechanism="opt0")).questions
    view = question.outsiders(delta=1e-7)
    reports = replace(UnaryReports.of(question.table), totals_only=True)
    alone = shuffled(reports, 20_000, 1e-7, every_example=False)
    assert view.totals.epsilons == pytest.approx(alone.epsilons, rel=2e-3)
    assert np.all(view.totals.epsilons <= view.shuffled.epsilons)
    less, more = view.totals.level_epsilons[0], view.shuffled.level_epsilons[0]
    assert less < 0.9 * more
    assert view.totals.lost < view.totals.epsilon
    (sentence,) = (one for one in view.sentences if "nothing but totals" in one)
    assert f"(epsilon {rounded_up(less, 5)}, in place of {rounded_up(more, 5)})" in sentence
    shown = float(sentence.partition("at most ")[2].split()[0])
    right = 100 * (exp(less) + 1e-7) / (1 + exp(less))
    assert right <= shown < right + 0.02
    assert "'intimate'" in sentence


@pytest.mark.parametrize("mechanism", ["rappor", "grr", "subset-design"])
def test_totals_alone_where_no_less_is_proven(mechanism):
    (view,) = planned(Question("q", LEVELS, mechanism=mechanism)).outsiders().questions
    assert view.totals is view.totals_epsilons is None
    assert "Released totals alone are not proven to tell less than that." in view.sentences


def test_means_and_many_levels():
    mean = Numeric(NumericDomain(0, 10), epsilon=1.5)
    many = tuple(Level(f"l{i}", 1.0 + i / 10, item_count=2) for i in range(8))
    plan = planned(Question("m", (), kind="numeric", numeric=mean), Question("q", many))
    first, second = plan.outsiders().questions
    assert len(first.shuffled.names) == 3
    assert first.reach is None
    assert first.swaying is None
    share = plan.questions[0].share * 1.5
    assert first.shuffled.local_epsilon == pytest.approx(share, rel=1e-6)
    assert second.shuffled.names == ("any answer",)
    assert isnan(second.shuffled.lost)
    assert second.shuffled.epsilon > 0
    together = plan.outsiders()
    assert together.epsilon == first.shuffled.epsilon + second.shuffled.epsilon
    assert together.guess.success == pytest.approx(first.guess.success * second.guess.success)
    assert all("holds if a shuffler" in one.summary for one in together.questions)
    assert list(together.to_frame()["question"]) == ["m", "q"]
    found = together.reidentification
    assert found.people == 20_000
    assert found.lift == pytest.approx(first.lift * second.lift)
    assert first.lift == pytest.approx(first.guess.lift)
    assert found.expected <= found.most
    assert "these are, among 20,000 people" in together.sentences[-1]
    apart = replace(together, asked=1)
    assert apart.epsilon == max(first.shuffled.epsilon, second.shuffled.epsilon)
    assert apart.guess is apart.reidentification is None
    assert len(apart.sentences) == 1


@pytest.mark.parametrize("mechanism", ["grr", "oue"])
def test_whose_reports_these_are_in_words(mechanism):
    """Twelve questions: one kind of report each, or 4^12 together, of which some are drawn."""
    (view,) = planned(Question("q", LEVELS, mechanism=mechanism)).outsiders().questions
    together = SurveyOutsiderView((view,) * 12, asked=None)
    found, said = together.reidentification, together.sentences[-1]
    assert found.most == pytest.approx(min(1, view.lift**12 / 20_000))
    shown, blind, alike = (float(x) for x in re.findall(r"for (?:at most )?(\d\S*?\d)\b", said))
    assert 100 * found.most <= shown < 100 * found.most + 0.01
    assert blind == 0.005
    assert 100 * found.expected <= alike < 100 * found.expected + 0.01
    assert found.blind < found.expected < found.most
    assert (
        ("simulated; standard error" in said) == (found.standard_error > 0) == (mechanism == "oue")
    )


def test_sets_and_expected_answers():
    sets = Question("basket", LEVELS, kind="item-set", sets=AssumedSets([1, 5, 3, 1]))
    (view,) = planned(sets).outsiders().questions
    assert isnan(view.shuffled.lost)
    assert view.assumed is view.likelihoods is view.caught is None
    for mechanism in ("oue", "subset-design"):
        (question,) = planned(replace(sets, mechanism=mechanism)).questions
        every = question.mechanism.output_law().max(axis=0).sum()  # over all sets
        assert every <= question.outsiders().lift < 3 * every
    weighed = tuple(
        replace(level, prior=prior) for level, prior in zip(LEVELS, (0.1, 0.9), strict=True)
    )
    (question,) = planned(Question("q", weighed, mechanism="grr")).questions
    view = question.outsiders()
    prior = np.array([0.1, 0.45, 0.45])
    true = MatrixGuessing(question.mechanism.output_law()).success(prior)
    assert view.assumed.success == pytest.approx(true)
    assert view.assumed.blind == pytest.approx(0.45)
    assert "With the expected answers" in view.summary


def test_hashing_lifts_no_answer_more_than_its_hash_values():
    (question,) = planned(Question("q", LEVELS, mechanism="olh")).questions
    values, p = question.mechanism.values, float(question.mechanism.a[0])
    view = question.outsiders()
    assert view.guess.lift < view.lift == pytest.approx(values * p)
    tells = p * (1 - 1.01 / values)  # reports of the answer's value, if the other's is different
    error = 1e-6 / (2 * len(VIEWS) + 3)
    excess = findable_excess(tells, tells * exp(-view.shuffled.local_epsilon), 50_000, error)
    assert view.caught == pytest.approx(view.shuffled.local_epsilon + excess, rel=1e-6)


def test_nothing_is_said_where_nothing_hides():
    inf = np.inf
    rule = ((1.0, inf), (inf, 1.0))
    question = Question("q", LEVELS, rule=rule)
    assert outsider_view(question, None, 1000, None) is None
    with pytest.raises(InputError, match="delta"):
        planned(Question("q", LEVELS, mechanism="grr")).outsiders(delta=0)


def test_a_mechanism_that_nobody_knows_keeps_what_every_one_does():
    policy = PrivacyPolicy([1.0, 2.0], [2, 3])
    exposed = exposure_of(object(), policy)
    assert (exposed.guess(), exposed.reach, exposed.likelihoods()) == (None, None, None)
    assert exposed.lift(policy) == pytest.approx(np.e)
    view = outsider_view(Question("q", LEVELS), object(), 1000, None)
    assert len(view.sentences) == 3


@pytest.mark.parametrize("people", [1, 99, 100, 10**4, 10**9])
def test_the_default_delta_is_negligible(people):
    assert 0.1 < negligible(people) * 100 * people * 10 <= 10 * (1 + 1e-9)


def test_sentences_never_show_less_than_there_is():
    (view,) = planned(Question("q", LEVELS, mechanism="grr")).outsiders().questions
    right = 100 * exp(view.shuffled.local_epsilon) / (1 + exp(view.shuffled.local_epsilon))
    shown = float(view.sentences[0].partition("at most ")[2].split()[0])
    assert right <= shown + 1e-9 < right + 0.02
