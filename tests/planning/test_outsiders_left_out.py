"""Questions that shuffling does not hide are named, and no total is claimed over them."""

import html
import json
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from planner import Level, Survey, plan_survey
from planner.outsiders.shown import (
    delta_text,
    lost_at_least,
    of_hundred,
    of_hundred_before,
)
from planner.planning.sampled import ACKNOWLEDGEMENTS
from planner.show.blocks import Sentence
from planner.show.guarantees import outsider_blocks
from planner.show.html import report_html
from planner.show.json import outsiders_json
from planner.survey.questions import Categorical, SampledChoice, Sampling

LEVELS = (Level("rare", 1.0, ("x",)), Level("usual", 2.0, item_count=2))
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


def one_line(text):
    return " ".join(text.split())


def test_no_total_is_claimed_over_questions_that_are_left_out(view):
    assert view.left_out == ("unprotected", "twice")
    assert view.epsilon is view.delta is None
    nothing, guess = view.sentences
    assert "'unprotected', 'twice'" in nothing
    assert "no epsilon" in nothing
    assert "holds if a shuffler" not in nothing
    assert guess.startswith("Guessing every answer of a person but those to 'unprotected', 'twice'")
    assert view.guess.success == pytest.approx(view.questions[0].guess.success ** 2)
    one_each = replace(view, asked=1)
    assert one_each.epsilon is one_each.delta is one_each.guess is None
    whole = replace(view, left_out=())
    assert whole.epsilon == sum(one.shuffled.epsilon for one in view.questions)
    assert "but those" not in whole.sentences[1]


def test_one_question_that_is_left_is_not_all(view):
    alone = replace(view, questions=view.questions[:1])
    assert alone.epsilon is None
    (only,) = alone.sentences
    assert "'unprotected', 'twice'" in only
    assert replace(alone, left_out=()).sentences == ()


def test_every_face_names_them(plan, view):
    document = outsiders_json(view)
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert document["left_out"] == ["unprotected", "twice"]
    assert document["epsilon"] is document["delta"] is None
    shown = [one.text for one in outsider_blocks(view) if isinstance(one, Sentence)]
    page = report_html(plan)
    page = one_line(html.unescape(re.sub(r"<[^>]+>", " ", page)))
    for sentence in view.sentences:
        assert sentence in shown
        assert one_line(sentence) in page
    frame = view.to_frame()
    assert list(frame["question"]) == ["first", "second", "unprotected", "twice"]
    assert frame["epsilon"].isna().tolist() == [False, False, True, True]


@pytest.mark.parametrize("ulps", [-2, -1, 0, 1, 2])
@pytest.mark.parametrize("share", [0.2, 0.5, 0.8808, 0.0237, 0.00123, 1e-7 / 3, 0.9999])
def test_shares_are_never_shown_better_than_they_are(share, ulps):
    exact = share + ulps * np.spacing(share)
    shown, before = Fraction(of_hundred(exact)), Fraction(of_hundred_before(exact))
    true = 100 * Fraction(exact)
    assert before <= true <= shown
    assert shown - before <= Fraction(max(0.01, 0.02 * float(true))) * 2


def test_figures_that_a_float_product_would_round_to_the_other_side():
    assert of_hundred(0.3 + 1e-15) == "30.01"  # 30.0000000000001, which a tolerance took for 30
    lost = 4.9999999999999996e-05
    assert lost * 1e5 == 5 > Fraction(lost) * 10**5
    assert lost_at_least(lost) == "0.00004"
    assert delta_text(1e-8) == "1e-08"
    assert delta_text(1.5e-8) == "1.5e-08"
    assert delta_text(3 * 1e-8) == "3.1e-08"  # a little above 3e-08
    assert Fraction(delta_text(1.2345e-7)) >= Fraction(1.2345e-7)
