"""Anchors: questions whose true answer is known, from a survey file to corrected shares."""

import numpy as np
import pytest

from planner.deployment.collecting.attending import ATTENTION, CORRECTED
from planner.deployment.collecting.engines import counter
from planner.deployment.collecting.estimating import estimates_table
from planner.deployment.parameters import (
    check_writable,
    parse_parameters,
    survey_parameters,
)
from planner.deployment.questionnaire import questionnaire
from planner.laws.anchor import Anchor
from planner.mechanisms.words import seeded_words
from planner.planning.anchors import anchor_cost
from planner.planning.plan import plan_survey
from planner.show.json import plan_json
from planner.show.plan import anchor_sentence
from planner.show.promises import view_sentences
from planner.survey.survey import survey_from_text, survey_text
from tests.refusals import refused

SURVEY = """
[survey]
name = "clinic"
users = 20000
[[question]]
name = "diagnosis"
[[question.level]]
name = "rare"
epsilon = 2.0
items = ["HIV", "cancer"]
[[question.level]]
name = "usual"
epsilon = 3.0
items = ["flu", "cold", "none of these"]
[[question]]
name = "check"
anchor = "diagnosis"
known = "none of these"
"""
OTHER = """
[[question]]
name = "smokes"
[[question.level]]
name = "any"
epsilon = 1.0
items = ["yes", "no"]
"""


def test_an_anchor_has_the_answers_and_the_mechanism_of_its_question():
    plan = plan_survey(survey_from_text(SURVEY))
    question, anchor = plan.questions
    assert anchor.question.policy == question.question.policy
    assert anchor.law.shape == question.law.shape
    assert anchor.deployed.mechanism == question.deployed.mechanism


def test_an_anchor_spends_nothing_and_takes_no_share():
    with_anchor = plan_survey(survey_from_text(SURVEY + OTHER))
    before = SURVEY.partition('[[question]]\nname = "check"')[0]
    without = plan_survey(survey_from_text(before + OTHER))
    assert with_anchor.questions_each == without.questions_each == 2
    assert with_anchor.most_spent == pytest.approx(without.most_spent)
    assert with_anchor.spending == without.spending
    question, anchor, _ = with_anchor.questions
    assert anchor.part.share == question.part.share < 1
    assert anchor.law.shape == question.law.shape
    assert with_anchor.outsiders().epsilon == without.outsiders().epsilon
    anchored, other = with_anchor.outsiders().questions
    assert "hides only among those who do" in " ".join(view_sentences(anchored))
    assert "hides only among those who do" not in " ".join(view_sentences(other))


def test_a_file_with_an_anchor_is_read_and_written():
    survey = survey_from_text(SURVEY)
    text = survey_text(survey)
    assert text.count("epsilon") == 2
    assert survey_from_text(text) == survey


@pytest.mark.parametrize(
    ("before", "after", "code"),
    [
        ('anchor = "diagnosis"', 'anchor = "age"', "anchor"),
        ('known = "none of these"', 'known = "plague"', "known"),
        ('known = "none of these"', "", "anchor"),
        ("users = 20000", 'users = 20000\ndesign = "one-each"', "design"),
        ('name = "check"', 'name = "check"\nweight = 2.0', "weight"),
        ('anchor = "diagnosis"\nknown = "none of these"', "", "level"),
    ],
)
def test_what_is_no_anchor_is_refused(before, after, code):
    assert SURVEY.count(before) == 1
    with refused(code):
        survey_from_text(SURVEY.replace(before, after))


def test_a_plan_says_how_many_people_an_anchor_costs():
    plan = plan_survey(survey_from_text(SURVEY))
    question, anchor = plan.questions
    assert anchor_cost(question) is None
    cost = anchor_cost(anchor)
    assert 5_000 < cost.as_exact_as[0.8] < cost.as_exact_as[1.0] < 20_000
    said = anchor_sentence(anchor)
    assert f"{cost.as_exact_as[1.0]:,} of 20,000 people" in said
    assert "spends no budget" in said
    assert plan_json(plan)["questions"][1]["anchor"]["known"] == "none of these"


def test_people_told_of_are_those_of_draws():
    """Corrected shares of 3,000 draws: their spread within 7 % but once in 10 million (5.4 sd).

    People attend to both questions or to neither.
    """
    plan = plan_survey(survey_from_text(SURVEY))
    _, anchor = plan.questions
    rng = np.random.default_rng(11)
    attentive = 0.8
    people = 20_000
    law = anchor.planned.law

    def supported(level, share):
        """Chance that a report supports an answer that so many of these people give."""
        return law.b[level] + share * (law.a[level] - law.b[level])

    # Nobody has "HIV", and all have the known answer; who does not attend gives any of the five.
    chances = np.zeros((2, 2))  # of a report of HIV, and of the known answer
    for size, rare, known in ((attentive, 0.0, 1.0), (1 - attentive, 0.2, 0.2)):
        of_rare = supported(0, rare)
        of_known = supported(1, known)
        chances += size * np.outer([1 - of_rare, of_rare], [1 - of_known, of_known])
    drawn = rng.multinomial(people, chances.ravel(), size=3000).reshape(-1, 2, 2)
    supports_rare = drawn[:, 1].sum(axis=1) / people
    supports_known = drawn[:, :, 1].sum(axis=1) / people
    signal = law.a - law.b
    share_of_rare = (supports_rare - law.b[0]) / signal[0]
    share_of_known = (supports_known - law.b[1]) / signal[1]
    g = (share_of_known - 0.2) / 0.8
    corrected = (share_of_rare - (1 - g) * 0.2) / g
    plain = law.b[0] * (1 - law.b[0]) / signal[0] ** 2
    as_exact_as = plain / corrected.var(ddof=1)
    assert as_exact_as == pytest.approx(anchor_cost(anchor).as_exact_as[0.8], rel=0.14)


TWO = """
[survey]
name = "habits"
users = 20000
[[question]]
name = "smokes"
[[question.level]]
name = "any"
epsilon = 4.0
items = ["yes", "no"]
[[question]]
name = "check"
anchor = "smokes"
known = "no"
"""


def test_of_two_answers_the_cost_is_that_of_people_who_attend_to_both():
    """Nobody smokes; 3,000 draws: within 14 %, a false alarm of one in 10 million.

    Of people who attend to each question on their own, a near miss, it is 27 % lower.
    """
    _, anchor = plan_survey(survey_from_text(TWO)).questions
    own, other = anchor.law.shape.support()[0]
    a = float(own)
    b = float(other)
    rng = np.random.default_rng(12)
    attentive = 0.8
    people = 20_000

    def reports(yes, no):
        """Chances of a report, and the anchor's report, that support yes and no."""
        of_yes = b + yes * (a - b)
        of_no = b + no * (a - b)
        return np.outer([1 - of_yes, of_yes], [1 - of_no, of_no])

    def as_exact_as(chances):
        drawn = rng.multinomial(people, chances.ravel(), size=3000).reshape(-1, 2, 2)
        yes = (drawn[:, 1].sum(axis=1) / people - b) / (a - b)
        no = (drawn[:, :, 1].sum(axis=1) / people - b) / (a - b)
        g = 2 * no - 1
        corrected = (yes - (1 - g) / 2) / g
        return b * (1 - b) / (a - b) ** 2 / corrected.var(ddof=1)

    both = attentive * reports(0.0, 1.0) + (1 - attentive) * reports(0.5, 0.5)
    apart = reports(0.1, 0.9)
    stated = anchor_cost(anchor).as_exact_as[attentive]
    assert as_exact_as(both) == pytest.approx(stated, rel=0.14)
    assert as_exact_as(apart) != pytest.approx(stated, rel=0.14)


@pytest.fixture(scope="module")
def parameters():
    return survey_parameters(plan_survey(survey_from_text(SURVEY)))


def collected(parameters, shares, attentive, people=20_000):
    """Estimates of people who attend to both questions or to neither."""
    rng = np.random.default_rng(5)
    attends = rng.random(people) < attentive
    anything = rng.integers(5, size=(2, people))
    of_question = np.where(attends, rng.choice(5, people, p=shares), anything[0])
    of_anchor = np.where(attends, 4, anything[1])
    law = parameters.question("diagnosis")
    pairs = list(zip(of_question.tolist(), of_anchor.tolist(), strict=True))
    (rows,) = law.draw_many(pairs, seeded_words(rng))
    counting = counter(law)
    counting.add(rows)
    sums = {("diagnosis", None): counting.sums()}
    return estimates_table(parameters, sums).to_pandas()


def test_corrected_shares_stand_beside_the_plain_ones(parameters):
    """Each limit within 6 standard errors of the truth: a false alarm of 1e-8."""
    shares = [0.05, 0.25, 0.2, 0.2, 0.3]
    table = collected(parameters, shares, attentive=0.8)
    (attention,) = table[table["of"] == ATTENTION].itertuples()
    assert abs(attention.estimate - 16_000) < 6 * attention.standard_error
    assert attention.limits_for == "population"
    corrected = table[table["of"] == CORRECTED].set_index("answer")
    gaps = corrected["share"] - shares
    assert (gaps.abs() < 6 * corrected["standard_error"] / 20_000).all()
    # The plain share of HIV is off by (1 - g)(u - p) = .03: refused by these limits.
    plain = table[(table["of"] == "") & (table["answer"] == "HIV")]
    assert plain["share"].iloc[0] > corrected["share_upper"]["HIV"]


def test_nobody_who_attends_gives_no_corrected_share(parameters):
    table = collected(parameters, [0.2] * 5, attentive=0.0)
    (attention,) = table[table["of"] == ATTENTION].itertuples()
    assert "not told apart from 0, nothing is corrected" in attention.remark
    assert not (table["of"] == CORRECTED).any()


def test_a_parameter_file_and_a_page_know_of_the_anchor(parameters):
    (law,) = parameters.questions
    assert law.anchor == Anchor("check", "none of these")
    assert law.size == 2 * law.shape.size
    again = parse_parameters(parameters.to_json())
    assert again.questions == parameters.questions
    survey = survey_from_text(SURVEY)
    page = questionnaire(survey, parameters.to_json().encode(), "https://example.org/r")
    assert '"shuffled": true' in page


def test_an_anchor_is_exported_with_its_question():
    plan = plan_survey(survey_from_text(SURVEY + OTHER))
    alone = survey_parameters(plan, "diagnosis")
    assert [law.anchor for law in alone.questions] == [Anchor("check", "none of these")]
    with refused("question"):
        survey_parameters(plan, "check")
    with refused("question"):
        check_writable(plan.survey, "check")


def test_a_question_has_one_anchor():
    second = SURVEY.partition('[[question]]\nname = "check"')[2]
    with refused("anchor"):
        survey_from_text(f'{SURVEY}[[question]]\nname = "second"{second}')
