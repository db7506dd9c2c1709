"""What outsiders learn from reports as planned, and what is left out of totals."""

import html
import re
from dataclasses import replace
from decimal import ROUND_FLOOR
from fractions import Fraction
from math import exp

import numpy as np
import pytest
from scipy.stats import binom

from planner import ByLevel, Level, Survey, UnaryTable, plan_survey, report_html, unary
from planner.outsiders import shuffled
from planner.outsiders.blanket import Blanket
from planner.outsiders.guarantee import central_delta
from planner.outsiders.shapes import of_rows
from planner.planning.outsiders import negligible, outsider_view
from planner.planning.sampled import ACKNOWLEDGEMENTS
from planner.policy.budget_text import delta_text
from planner.show.blocks import Sentence
from planner.show.json import to_json
from planner.show.promises import (
    of_hundred,
    outsider_blocks,
    together_sentence,
    view_sentences,
)
from planner.survey.choices import Categorical, SampledChoice, Sampling
from planner.survey.numeric import Numeric
from tests.mechanisms.listed import output_law
from tests.refusals import refused

LEVELS = (Level("rare", 1.0, ("x",)), Level("usual", 2.0, item_count=2))


def planned(*questions, users=20_000, design="split"):
    survey = Survey("s", users, questions, design=design)
    return plan_survey(survey)


@pytest.mark.parametrize("mechanism", ["opt0", "oue", "grr", "subset"])
def test_the_view_is_that_of_the_deployed_mechanism(mechanism):
    asked = Categorical("q", LEVELS, mechanism=mechanism)
    (question,) = planned(asked).questions
    view = question.outsiders(delta=1e-7)
    table = question.fact(UnaryTable)
    if table is None:
        deployed = question.mechanism
    else:
        deployed = unary(table)
    law = output_law(deployed)
    expected = law.max(axis=0).sum() / 3
    assert view.guess.success == pytest.approx(expected)
    whole = shuffled(of_rows(law, ("x", "0", "1")), 20_000, 1e-7)
    assert view.shuffled.local_epsilon == pytest.approx(whole.local_epsilon)
    assert view.shuffled.epsilon == pytest.approx(whole.epsilon, rel=2e-3)
    errors = question.fact(ByLevel).standard_errors
    assert np.all(view.reach * view.reports_per_error >= errors)
    assert np.all(view.reach * (view.reports_per_error - 1) < errors)


def test_means_and_many_levels():
    many = tuple(Level(f"l{i}", 1.0 + i / 10, item_count=2) for i in range(3))
    number = Numeric("m", 0, 10, epsilon=1.5, mechanism="bisample-md")
    asked = Categorical("q", many)
    plan = planned(number, asked)
    first, second = plan.outsiders().questions
    assert first.shuffled.names == ("0", "10", "no answer")
    share = plan.questions[0].part.share * 1.5
    assert first.shuffled.local_epsilon == pytest.approx(share, rel=1e-6)
    assert second.shuffled.epsilon > 0
    together = plan.outsiders()
    expected = first.shuffled.epsilon + second.shuffled.epsilon
    assert together.epsilon == expected
    assert all(
        "holds if a shuffler" in " ".join(view_sentences(question))
        for question in together.questions
    )
    apart = replace(together, asked=1)
    expected = max(first.shuffled.epsilon, second.shuffled.epsilon)
    assert apart.epsilon == expected
    assert together_sentence(apart)


def test_nothing_is_said_where_nothing_hides():
    inf = np.inf
    rule = ((1.0, inf), (inf, 1.0))
    question = Categorical("q", LEVELS, rule=rule)
    assert outsider_view(question, None, 1000, None) is None
    with refused("delta"):
        planned(Categorical("q", LEVELS, mechanism="grr")).outsiders(delta=0)


@pytest.mark.parametrize(
    ("known", "parts"),
    [
        ({}, 4),
        ({"changes": 1, "times_open": True}, 2),
        ({"changes": "never"}, 1),
    ],
)
def test_a_report_hides_among_those_of_its_round(known, parts):
    """The true delta, over the lot, of everybody else having one answer; not so among all."""
    question = Categorical("q", LEVELS, mechanism="grr", rounds={"count": 4, **known})
    view = planned(question, users=600).question("q").outsiders(1e-6)
    asked = Categorical("q", LEVELS, mechanism="grr")
    (alone,) = planned(asked, users=600).questions
    law = output_law(alone.mechanism)
    blanket = Blanket.from_laws(law[1], law[2], law[0])

    def delta(epsilon):
        least = int(binom.ppf(1e-10, 599, 1 / parts))
        most = int(binom.ppf(1 - 1e-10, 599, 1 / parts))
        others = np.unique(np.linspace(least, most, 25).astype(int))
        upper = []
        for number in others.tolist():
            upper.append(central_delta(blanket, epsilon, 1 + number).upper)
        in_the_round = np.arange(least, most + 1)
        chance = binom.pmf(in_the_round, 599, 1 / parts)
        return float(chance @ np.interp(in_the_round, others, upper))

    assert delta(view.shuffled.epsilon) <= 1e-6
    assert parts == 1 or delta(alone.outsiders(1e-6).shuffled.epsilon) > 1e-5
    assert ("in the same round" in view_sentences(view)[1]) == (parts > 1)
    expected = parts * alone.outsiders().reach
    assert view.reach == pytest.approx(expected)


@pytest.mark.parametrize("people", [1, 99, 100, 10**4, 10**9])
def test_the_default_delta_is_negligible(people):
    assert 0.1 < negligible(people) * 100 * people * 10 <= 10 * (1 + 1e-9)


def test_sentences_never_show_less_than_there_is():
    question = Categorical("q", LEVELS, mechanism="grr")
    (view,) = planned(question).outsiders().questions
    right = (
        100 * exp(view.shuffled.local_epsilon) / (1 + exp(view.shuffled.local_epsilon))
    )
    shown = float(view_sentences(view)[0].partition("at most ")[2].split()[0])
    assert right <= shown + 1e-9 < right + 0.02


OPEN = ((1.0, np.inf), (np.inf, 1.0))
ASKED = (
    Categorical("first", LEVELS, mechanism="grr"),
    Categorical("second", LEVELS, mechanism="grr"),
    Categorical("unprotected", LEVELS, rule=OPEN),
    SampledChoice(
        "twice",
        (Level("yes", 1.0, ("u", "v"), yes_counts=(10, 20)),),
        sampling=Sampling("round-two", ACKNOWLEDGEMENTS["round-two"]),
    ),
)


@pytest.fixture(scope="module")
def plan():
    return plan_survey(Survey("s", 20_000, ASKED))


@pytest.fixture(scope="module")
def view(plan):
    return plan.outsiders()


def test_no_total_is_claimed_over_questions_that_are_left_out(view):
    assert view.left_out == ("unprotected", "twice")
    assert view.epsilon is view.delta is None
    nothing = together_sentence(view)
    assert "'unprotected', 'twice'" in nothing
    assert "no epsilon" in nothing
    assert "holds if a shuffler" not in nothing
    one_each = replace(view, asked=1)
    assert one_each.epsilon is one_each.delta is None
    whole = replace(view, left_out=())
    assert whole.epsilon == sum(
        question.shuffled.epsilon for question in view.questions
    )


def test_every_face_names_them(plan, view):
    document = to_json(view)
    assert document["left_out"] == ["unprotected", "twice"]
    assert document["epsilon"] is document["delta"] is None
    shown = []
    for block in outsider_blocks(view):
        if isinstance(block, Sentence):
            shown.append(block.text)
    page = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", report_html(plan))).split())
    sentence = together_sentence(view)
    assert sentence in shown
    assert " ".join(sentence.split()) in page


@pytest.mark.parametrize("ulps", [-2, -1, 0, 1, 2])
@pytest.mark.parametrize("share", [0.2, 0.5, 0.8808, 0.0237, 0.00123, 1e-7 / 3, 0.9999])
def test_shares_are_never_shown_better_than_they_are(share, ulps):
    exact = share + ulps * np.spacing(share)
    shown = Fraction(of_hundred(exact))
    before = Fraction(of_hundred(exact, ROUND_FLOOR))
    true = 100 * Fraction(exact)
    assert before <= true <= shown
    assert shown - before <= Fraction(max(0.01, 0.02 * float(true))) * 2


def test_figures_that_a_float_product_would_round_to_the_other_side():
    assert (
        of_hundred(0.3 + 1e-15) == "30.01"
    )  # 30.0000000000001, which a tolerance took for 30
    assert delta_text(1e-8) == "1e-08"
    assert delta_text(1.5e-8) == "1.5e-08"
    assert delta_text(3 * 1e-8) == "3.1e-08"  # a little above 3e-08
    assert Fraction(delta_text(1.2345e-7)) >= Fraction(1.2345e-7)
