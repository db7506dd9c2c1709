"""The pages Plan, What a report says and Words; which budget to offer."""

import pytest

from planner import SamplingPlan
from planner.planning.mean import plan_answer_rates
from planner.planning.plan import plan_survey
from planner.show.blocks import Facts, Figure, Table
from planner.show.plan import question_blocks
from planner.show.two_rounds import views_in_words
from planner.survey.survey import settle
from planner.ui.address import word_of
from planner.ui.document import (
    EXAMPLES,
    example_document,
)
from planner.ui.state import Session
from tests.ui.pages import (
    TOTAL,
    by_label,
    metric,
    open_page,
    session,
    tables,
    type_levels,
    words,
)


def example(name):
    survey, mistakes = settle(example_document(name))
    assert not mistakes
    return survey


def test_a_result_has_its_figures_one_picture_and_no_button_that_protects_less():
    app = open_page("plan")
    assert metric(app, TOTAL) == "622 people"
    assert len(app.get("plotly_chart")) == 1
    assert not [button for button in app.button if button.proto.type == "primary"]
    assert "odds may then change more: " in words(app)
    (mechanisms,) = tables(app)  # others are details
    assert mechanisms["mechanism"][0] == "Subset design"
    assert (
        "Standard error of other answers' counts, people: 261 for 'common'."
        in words(app)
    )


def test_a_better_design_is_one_click_away():
    document = example_document("health")
    (question,) = document["question"]
    document["question"] = [question, question | {"name": "again"}]
    app = open_page("plan", survey=word_of(document))
    by_label(app.button, "Ask each person one question").click().run()
    assert session(app).document["survey"]["design"] == "one-each"
    assert "This plan does so." in words(app)
    assert not [button for button in app.button if button.label.startswith("Ask each")]


def texts_of(block):
    if isinstance(block, Table):
        return [cell for column in block.columns for cell in column.cells]
    if isinstance(block, Facts):
        return [fact.value for fact in block.facts]
    return [block.title if isinstance(block, Figure) else block.text]


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_page_shows_every_block_of_the_plan(name):
    survey = example(name)
    plan = plan_survey(survey)
    app = open_page("plan", example=name, details=True)
    toggles = [toggle.label for toggle in app.toggle]
    cells = [
        cell for table in tables(app) for column in table.values() for cell in column
    ]
    page = " ".join(
        [words(app), *toggles, *cells, *(metric.value for metric in app.metric)]
    )
    page = " ".join(page.replace("\\", "").split())
    for block in question_blocks(plan.questions[0]):
        for text in texts_of(block):
            assert " ".join(text.split()) in page, text


def test_a_missed_target_says_how_many_people_it_takes():
    app = open_page("questions")
    by_label(app.text_input, "Exact enough at").set_value("0.5 %").run()
    result = open_page("plan", app)
    (ask,) = (button for button in result.button if button.label.startswith("Ask "))
    ask.click().run()
    expected = ask.label.split()[1]
    assert session(result).document["survey"]["users"] == expected
    assert not [button for button in result.button if button.label.startswith("Ask ")]
    assert (
        float(metric(result, "as a share of the people who answer").split()[0]) <= 0.5
    )


def test_results_are_greyed_while_something_is_wrong(questions):
    type_levels(questions, {0: {"epsilon": "?"}})
    for name in ("plan", "meaning"):
        app = open_page(name, questions)
        assert "from before" in words(app)
        assert "Saturation" not in words(app)  # a detail
        assert "severe" in app.warning[0].value
    assert not [
        button
        for button in open_page("plan", questions).button
        if "Raise" in button.label
    ]


def test_meaning_says_odds_and_moves_beliefs(questions):
    app = open_page("meaning", questions, **{"meaning-details": True})
    assert (
        "52 send a report that counts for it; of 100 with another answer, 13 do"
        in words(app)
    )
    app.slider[0].set_value(50).run()
    beliefs, pairs, *_ = tables(app)
    assert beliefs["at most"] == ["80.00 %", "85.72 %"]
    used = map(float, pairs["realised epsilon"])
    allowed = map(float, pairs["promised epsilon"])
    assert all(map(float.__le__, used, allowed))
    drawn = []
    for element in app.get("html"):
        if "<div class=dots>" in element.proto.body:
            drawn.append(element.proto.body)
    assert [body.count("<i class=on>") for body in drawn] == [52, 13]


def test_answer_rates_offer_the_smallest_budget_that_is_about_as_good(monkeypatch):
    """A larger budget than the question has is a sentence with its price, and no button."""
    monkeypatch.setattr(
        "planner.planning.answer_rates._BUDGETS", 6
    )  # of a curve: few are faster
    app = open_page("explore", example="answer-rate", offers=True)
    offers = [button for button in app.button if button.label.startswith("Offer")]
    assert not offers
    assert "lowers the error by" in words(app)
    assert "the odds of an answer may then change" in words(app)
    document = example_document("answer-rate")
    document["question"][0]["epsilon"] = "6"
    app = open_page("explore", survey=word_of(document), offers=True)
    plan = plan_survey(example("answer-rate"))
    part = plan.questions["bill"].part
    rates = plan_answer_rates([part])["bill"]
    best = rates.with_channels().best_planned
    (offer,) = (button for button in app.button if button.label.startswith("Offer"))
    assert float(offer.label.split()[1]) == pytest.approx(best.flat_lower, rel=0.02)
    offer.click().run()
    expected = offer.label.split()[1]
    assert session(app).document["question"][0]["epsilon"] == expected
    assert "lowers the error by" not in words(app)


def test_sampling_always_shows_all_three_views():
    plan = plan_survey(example("sampled-ages")).questions[0].fact(SamplingPlan)
    for page, state in (("plan", {"details": True}), ("meaning", {})):
        app = open_page(page, example="sampled-ages", **state)
        assert [view for view in views_in_words(plan) if view not in words(app)] == []


def test_a_bias_that_no_number_of_people_lowers_is_said():
    question = {
        "name": "q",
        "kind": "item-set",
        "padding_length": 1,
        "target": [{"error": 0.001}],
    }
    question["sets"] = {"sizes": [0, 0, 0, 1]}
    question["level"] = [{"name": "a", "epsilon": 2.0, "item_count": 3}]
    survey = {"name": "s", "users": 1000}
    app = open_page("plan", survey=word_of({"survey": survey, "question": [question]}))
    assert "no number of people" in words(app)
    assert not [button for button in app.button if button.label.startswith("Ask ")]


def test_the_words_of_the_app_are_those_of_the_documents(pytestconfig):
    glossary = pytestconfig.rootpath / "planner" / "ui" / "glossary.md"
    text = glossary.read_text()
    assert open_page("glossary").markdown[-1].value == text.strip()
    page = (pytestconfig.rootpath / "docs" / "architecture.md").read_text()
    assert '--8<-- "planner/ui/glossary.md"' in page
    lines = glossary.read_text().splitlines()
    rows = lines[2:]
    terms = []
    for row in rows:
        for term in row.split("|")[1].split(","):
            terms.append(term.strip())
    assert len(set(terms)) == len(terms)  # one meaning each


def test_a_session_remembers_so_much_and_no_more():
    here = Session(example_document("health"))
    assert [here.remembered(k, lambda k=k: k) for k in range(100)] == list(range(100))
    assert len(here.memory) == 64
