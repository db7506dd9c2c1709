"""Explore: sliders, the chart, what changed, a pinned scenario, and using the budgets."""

import pytest

from planner.planning.plan import plan_survey
from planner.show.blocks import people
from planner.survey.file import settle
from planner.ui.document import cleaned, example_document
from tests.ui.pages import by_label, open_page, session, tables, words


def test_what_is_explored_is_what_is_planned_with_it():
    app = open_page("explore")
    assert "As in the survey: total error 622.1 people." in words(app)
    assert len(app.get("plotly_chart")) == 1
    assert by_label(app.button, "Use these budgets").disabled
    by_label(app.button, "Pin this beside what comes").click().run()
    by_label(app.slider, "Budget of severe").set_value(2.0).run()
    assert not app.exception
    said = words(app)
    assert "Total error from 622.1 to" in said
    by_label(app.button, "Use these budgets").click().run()
    document = session(app).document
    assert document["question"][0]["level"][0]["epsilon"] == "2"
    survey, _ = settle(cleaned(document))
    planned = people(plan_survey(survey).questions[0].total_error)
    assert f"Total error from 622.1 to {planned} people." in said
    assert f"As in the survey: total error {planned} people." in words(app)
    (table,) = tables(app)
    assert table["error"] == ["622.1", planned]
    by_label(app.button, "Undo").click().run()
    assert session(app).document == example_document("health")


@pytest.mark.parametrize("example", ["baskets", "hours", "answer-rate", "waves", "browsing"])
def test_every_kind_can_be_explored(example):
    app = open_page("explore", example=example)
    assert len(app.get("plotly_chart")) == 1
    assert not app.warning


def test_two_rounds_have_a_page_of_their_own():
    assert "Sampling Privacy" in words(open_page("explore", example="sampled-ages"))
