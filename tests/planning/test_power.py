"""Differences between groups: people needed and power, against published figures and draws."""

import numpy as np
import pytest
from scipy.stats import norm

from planner.planning.plan import plan_survey
from planner.planning.power import (
    HALVES,
    ComparedGroups,
    detectable_difference,
    drawn_variance,
    people_for_difference,
    power_of_difference,
)
from planner.show.json import plan_json
from planner.show.targets import target_sentence
from planner.survey.choices import Categorical
from planner.survey.levels import Level, Target
from planner.survey.survey import Survey, survey_from_text, survey_text
from tests.refusals import refused

# Forced response: 1/6 of the people say yes and 1/6 no, whatever is true.
FORCED = {
    "epsilon": np.log(5),
    "count": 2,
    "mechanism": "grr",
}
HUNDRED = {
    "epsilon": 1.0,
    "count": 100,
    "mechanism": "subset-design",
}
REGION = (("region", ("north", "south")),)


def planned(
    start,
    end,
    people=1000,
    *,
    epsilon,
    count,
    mechanism,
    groups=REGION,
    population=(("north", 0.5), ("south", 0.5)),
    between="region",
):
    target = Target(difference=end - start, between=between, from_share=start)
    question = Categorical(
        name="q",
        levels=(Level("all", epsilon, item_count=count),),
        mechanism=mechanism,
        targets=(target,),
    )
    survey = Survey("s", people, (question,), groups=groups, population=population)
    return plan_survey(survey)


@pytest.mark.parametrize(
    ("about", "start", "end", "people_a_group"),
    [
        (FORCED, 0.20, 0.30, 781),
        (FORCED, 0.05, 0.10, 2394),
        (HUNDRED, 0.20, 0.30, 6314),
        (HUNDRED, 0.05, 0.10, 23437),
    ],
)
def test_people_needed_for_a_difference_are_the_known_ones(
    about, start, end, people_a_group
):
    plan = planned(start, end, **about)
    (answer,) = plan.questions[0].targets
    assert answer.users / 2 == pytest.approx(people_a_group, abs=1)
    enough = planned(start, end, people=answer.users, **about)
    (reached,) = enough.questions[0].targets
    assert reached.met
    assert reached.power == pytest.approx(0.8, abs=1e-3)
    assert reached.reached == pytest.approx(end - start, rel=1e-3)
    (missed,) = (
        planned(start, end, people=answer.users - 20, **about).questions[0].targets
    )
    assert not missed.met


def test_power_is_how_often_draws_show_the_difference():
    # 5 standard deviations of a share of 4,000 draws at 50 %: a false alarm in 2,000,000.
    rng = np.random.default_rng(57)
    draws = 4000
    sizes = {"north": 600, "south": 1800}
    shares = {"north": 0.30, "south": 0.20}
    a, b = 5 / 6, 1 / 6
    weights = {}
    for name, people in sizes.items():
        yes = rng.binomial(people, b + shares[name] * (a - b), size=draws)
        weights[name] = (yes / people - b) / (a - b), yes / people
    gap = weights["north"][0] - weights["south"][0]
    variance = sum(
        share * (1 - share) / (a - b) ** 2 / sizes[name]
        for name, (_, share) in weights.items()
    )
    seen = np.mean(np.abs(gap) > norm.ppf(0.975) * np.sqrt(variance))
    noise = np.array([b * (1 - b) / (a - b) ** 2])
    groups = ComparedGroups("north", "south", 0.25, 0.75)
    power = power_of_difference(noise, np.zeros(1), 0.20, 0.10, groups, 2400)
    within = 5 * np.sqrt(power * (1 - power) / draws)
    assert seen == pytest.approx(power, abs=within)
    # Taken for halves, the power is one that the draws refuse.
    wrong = power_of_difference(noise, np.zeros(1), 0.20, 0.10, HALVES, 2400)
    assert abs(seen - wrong) > within


def test_the_power_of_one_sample_is_that_of_rr():
    # power.rr.test(p = 2/3, p0 = 1/6, p1 = 1/6, n = 200, presp = .2, presp.null = 0,
    # sig.level = .01, type one-sided): .9868872 by R's package rr.
    noise = np.array([1 / 6 * 5 / 6 / (2 / 3) ** 2])
    sd_null = np.sqrt(drawn_variance(noise, np.zeros(1), 0) / 200)
    sd = np.sqrt(drawn_variance(noise, np.zeros(1), 0.2) / 200)
    power = norm.cdf((0.2 - norm.ppf(0.99) * sd_null) / sd)
    assert power == pytest.approx(0.9868872, abs=1e-7)


def test_unequal_groups_need_more_people_and_the_smallest_two_decide():
    groups = (("region", ("north", "middle", "south")),)
    population = (("north", 0.5), ("middle", 0.1), ("south", 0.4))
    (answer,) = (
        planned(0.2, 0.3, **FORCED, groups=groups, population=population)
        .questions[0]
        .targets
    )
    assert answer.groups.first == "middle"
    assert answer.groups.second == "south"
    low = 0.3 * 0.7 / (2 / 3) ** 2
    yes = 1 / 6 + 0.3 * 2 / 3
    high = yes * (1 - yes) / (2 / 3) ** 2
    z = norm.ppf(0.975) + norm.ppf(0.8)
    # The larger share is in the smaller group: it has the larger variance.
    by_hand = z**2 * (high / 0.1 + low / 0.4) / 0.1**2
    assert answer.users == np.ceil(by_hand)


def test_the_smallest_difference_needs_as_many_people_as_there_are():
    noise = np.array([0.3125, 2.0])
    signal = np.array([0.0, -0.4])
    groups = ComparedGroups("a", "b", 0.1, 0.6)
    difference = detectable_difference(noise, signal, 0.05, groups, 5000)
    assert people_for_difference(
        noise, signal, 0.05, difference, groups
    ) == pytest.approx(5000)
    assert detectable_difference(noise, signal, 0.9, groups, 100) == np.inf


def test_a_missed_difference_has_budgets_that_meet_it():
    plan = planned(0.2, 0.25, people=2000, **FORCED).questions[0]
    (answer,) = plan.targets
    assert answer.budgets is None  # of a mechanism that is not searched
    keys = FORCED | {"mechanism": "opt0"}
    plan = planned(0.2, 0.25, people=3000, **keys)
    (answer,) = plan.questions[0].targets
    assert not answer.met
    assert answer.budgets.possible
    assert answer.budgets.reached[0] == pytest.approx(0.05, rel=1e-6)


def test_a_plan_says_the_power_and_the_people():
    plan = planned(0.2, 0.3, people=1000, **FORCED)
    (answer,) = plan.questions[0].targets
    said = target_sentence(plan.questions[0], answer)
    assert "a difference of 10 % between any two of 'region' detected" in said
    assert "ask 1,56" in said
    (target,) = plan_json(plan)["questions"][0]["targets"]
    assert target["power"] == answer.power
    assert target["groups"]["first_share"] == 0.5
    assert target["target"]["from"] == 0.2


def test_a_survey_file_states_a_difference():
    plan = planned(0.2, 0.3, **FORCED)
    survey = plan.survey
    text = survey_text(survey)
    assert 'between = "region"' in text
    assert survey_from_text(text) == survey


def test_what_is_no_difference_is_refused():
    with refused("between"):
        Target(difference=0.1, from_share=0.2)
    with refused("from"):
        Target(error=0.1, from_share=0.2)
    with refused("difference"):
        Target(difference=0.5, between="region", from_share=0.6)
    with refused("between"):
        planned(0.2, 0.3, **FORCED, between="sex")
    with refused("between"):
        population = (("north", 1.0), ("south", 0.0))
        planned(0.2, 0.3, **FORCED, population=population)
