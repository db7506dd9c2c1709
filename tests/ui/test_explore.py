"""Explore: sliders, the chart, what changed, a pinned scenario, and using the budgets."""

import tomllib

import pytest

from planner.planning.plan import plan_survey
from planner.show.blocks import people, quantity
from planner.survey.survey import settle
from planner.ui.address import word_of
from planner.ui.document import (
    cleaned,
    example_document,
)
from tests.documents import ROOT
from tests.ui.pages import by_label, open_page, session, tables, words


def exploring(example):
    text = (ROOT / "examples" / f"{example}.toml").read_text("utf-8")
    typed = tomllib.loads(text)
    typed["survey"] = {key: typed["survey"][key] for key in ("name", "users")}
    return open_page("explore", survey=word_of(typed))


def planned(app, place=0):
    survey, _ = settle(cleaned(session(app).document))
    return plan_survey(survey).questions[place]


def test_what_is_explored_is_what_is_planned_with_it():
    app = open_page("explore")
    assert "As in the survey: total error 622 people." in words(app)
    assert by_label(app.button, "Use these budgets").disabled
    by_label(app.button, "Pin this").click().run()
    by_label(app.slider, "Budget of severe").set_value(2.0).run()
    assert not app.exception
    said = words(app)
    by_label(app.selectbox, "Errors, in").set_value("MSE in all").run()
    squared = words(app)
    by_label(app.button, "Use these budgets").click().run()
    document = session(app).document
    assert document["question"][0]["level"][0]["epsilon"] == "2"
    error = planned(app).total_error
    assert (
        f"Total error from 622 to {people(error)} people; one answer's error, in"
        in said
    )
    assert f"Total error from {people(622.1**2)[:3]}" in squared
    assert (
        f"to {people(error**2)} MSE in all; one answer's error, in people: 'severe' "
        in squared
    )
    (table,) = tables(app)
    assert table["figure"][:2] == ["people", "most spent (epsilon)"]
    by_label(app.button, "Undo").click().run()
    assert session(app).document == example_document("health")


@pytest.mark.parametrize(
    ("example", "against"),
    [
        ("baskets", "all budgets"),
        ("hours", "the budget of ends"),
        ("answer-rate", "budgets: the error's parts"),
        ("answer-rate", "budgets: who answers"),
        ("answer-rate", "the curve that would be seen"),
        ("waves", "all budgets"),
        ("sampled-ages", "decoys"),  # a joint one is moved below
    ],
)
def test_every_kind_can_be_explored(example, against):
    app = exploring(example)
    by_label(app.selectbox, "Against").set_value(against).run()
    assert len(app.get("plotly_chart")) == 1
    assert not app.exception
    assert not app.warning


@pytest.mark.parametrize(
    ("example", "label", "value"),
    [
        ("baskets", "Padding length", 8),
        ("answer-rate", "Without an answer at any budget", 0.2),
        ("sampled-ages", "Sampled at most", 0.3),
        ("related", "smokes: habits", 1.0),
        ("answer-rate", "People", 50_000),
    ],
)
def test_what_else_is_moved_is_written_where_the_survey_has_it(example, label, value):
    app = exploring(example)
    if label == "People":
        widgets = app.select_slider
    else:
        widgets = app.slider
    by_label(widgets, label).set_value(value).run()
    assert not app.exception
    assert not app.warning
    said = words(app)
    by_label(app.button, "Use these budgets").click().run()
    question = planned(app)
    if question.question.of_mean:
        written = quantity
    else:
        written = people
    assert f" to {written(question.total_error)} " in said
    assert "As in the survey" in words(app)
