"""The page Try it on data, run without a browser."""

import gzip

import pytest

from planner.ui.draft.numeric import NumericDraft
from planner.ui.draft.survey import SurveyDraft
from planner.ui.state import Session, example_survey
from tests.ui.pages import (
    LEVELS,
    by_label,
    edit,
    metric,
    open_page,
    session,
    tables,
    words,
)


def test_a_simulation_measures_what_was_predicted():
    app = open_page("try")
    by_label(app.text_input, "Runs per mechanism").set_value("40").run()
    by_label(app.button, "Run the simulation").click().run()
    assert not app.exception
    ratios = [float(text) for text in tables(app)[0]["measured / predicted"]]
    assert len(ratios) == 9
    assert all(0.5 < ratio < 2 for ratio in ratios)
    by_label(app.text_input, "Seed").set_value("-1").run()
    assert "seed is '-1'" in words(app)
    by_label(app.text_input, "Seed").set_value("2").run()
    assert "belong to the settings of the last run" in words(app)


def test_ordered_answers_are_tried_on_a_file():
    hours = Session(SurveyDraft.of(example_survey("hours")))
    app = open_page("try", session=hours, **{"t-one": True})
    assert "surveys say the same" in words(app)
    assert len(app.get("plotly_chart")) == 1
    by_label(app.get("button_group"), "Answers").set_value("upload").run()
    text = b"item,count\n1-2,300\n0,500\n10+,200\n"
    app.file_uploader[0].set_value(("c.csv", text, "text/csv")).run()
    assert "truly 0. Draw more" in words(app)
    by_label(app.text_input, "Runs per mechanism").set_value("40").run()
    by_label(app.button, "Run the simulation").click().run()
    assert not app.exception
    (found,) = tables(app)
    assert found["mechanism"] == ["Channel", "Subset design", "GRR, smallest budget"]
    assert all(0.5 < float(text) < 2 for text in found["measured / predicted"])
    assert "Judge the most frequent" not in [one.label for one in app.text_input]
    session(app).draft.questions[0].wanted = "mean of scores"
    app.run()
    assert "surveys say the same" not in words(app)
    by_label(app.button, "Run the simulation").click().run()
    assert not app.exception
    assert all(0.5 < float(text) < 2 for text in tables(app)[0]["measured / predicted"])
    assert tables(app)[0]["measured, in the question's unit"]


def test_numbers_are_tried_as_generated_and_from_a_file():
    app = open_page("try", session=Session(SurveyDraft.of(example_survey("answer-rate"))))
    by_label(app.text_input, "Runs per mechanism").set_value("40").run()
    by_label(app.button, "Run the simulation").click().run()
    assert not app.exception
    (found,) = tables(app)
    assert found["mechanism"] == ["Channel", "BiSample-MD, two bits"]
    assert all(0.5 < float(text) < 2 for text in found["measured / predicted"])
    by_label(app.get("button_group"), "Answers").set_value("upload").run()
    assert "Upload answers to begin" in words(app)
    app.file_uploader[0].set_value(("c.csv", b"id,bill\n1,40\n2,\n3,x\n", "text/csv")).run()
    by_label(app.selectbox, "Column with the answers").set_value("bill").run()
    assert "line 4: 'x' is not a finite number" in words(app)
    app.file_uploader[0].set_value(("c.csv", b"id,bill\n1,40\n2,\n3,7\n", "text/csv")).run()
    assert "3 people, 1 without an answer" in words(app)


def test_a_choice_and_a_number_are_tried_in_turn(budgets):
    session(budgets).draft.questions.append(NumericDraft("n", "0", "1", yes_no=True, epsilon="2"))
    app = open_page("try", budgets)
    assert "5 items" in words(app)
    by_label(app.get("button_group"), "Try a question for").set_value("NumericDraft").run()
    assert "without an answer" in words(app)
    by_label(app.text_input, "Share without an answer").set_value("2").run()
    assert "share without an answer is '2'" in words(app)
    assert not app.exception


def test_one_survey_is_drawn_beside_the_truth_and_drawn_again():
    app = open_page("try", **{"t-one": True})
    pictures = [app.get("plotly_chart")[0].proto.spec]
    by_label(app.button, "Draw another survey").click().run()
    pictures.append(app.get("plotly_chart")[0].proto.spec)
    assert not app.exception
    assert pictures[0] != pictures[1]
    assert "5 intervals hold the truth in this survey" in words(app)
    app.run()
    assert app.get("plotly_chart")[0].proto.spec == pictures[1]  # drawn again on request only


def test_what_a_change_did_is_said(budgets):
    assert "Before the last change" not in words(budgets)
    before = metric(budgets, "Total error")
    edit(budgets, LEVELS, {0: {"epsilon": "2.5"}})
    after = metric(budgets, "Total error")
    assert f"was {before}, now it is {after} (-" in words(budgets)
    budgets.run()
    assert f"was {before}, now it is {after} (-" in words(budgets)


ANSWERS = {
    "counts": (
        "c.csv",
        "item,count\nHIV,30\nanemia,50\nheadache,20\n",
        "100 people, 5 items, 3 in use",
    ),
    "a column": ("c.csv", "age,diagnosis\n3,HIV\n4,anemia\n5,HIV\n", "3 people, 5 items, 2 in use"),
    "a large file": (
        "c.csv",
        # Byte 100,000 is the second of an "é": what reads a part must not cut there.
        "x,diagnosis\n" + 15_000 * "3,é\n4,ö\n",
        "30,000 people, 5 items, 2 in use",
    ),
    "transactions": ("t.dat", "0 1\n1\n1 2\n", "3 people, 5 items, 2 in use"),
    "clicks": ("t.data", "0 1 1\n\n1 2\n", "1 times an item stood in one set again"),
    "packed": (
        "t.csv.gz",
        gzip.compress(b"x,diagnosis\n3,a\n4,b\n"),
        "2 people, 5 items, 2 in use",
    ),
}


@pytest.mark.parametrize(("name", "text", "words_"), ANSWERS.values(), ids=ANSWERS)
def test_uploaded_answers_are_simulated_once_every_item_has_a_level(name, text, words_):
    app = open_page("try")
    by_label(app.get("button_group"), "Answers").set_value("upload").run()
    assert "Upload answers to begin" in words(app)
    app.file_uploader[0].set_value((name, as_bytes(text), "text/csv")).run()
    if name.endswith(".dat") or name.endswith(".data"):
        assert "Keep the first item of each set" in words(app)
        by_label(app.toggle, "One item a person: keep only the first of each").set_value(True).run()
    by_label(app.toggle, "Spread the items over the levels at random").set_value(True).run()
    assert words_ in words(app)
    by_label(app.text_input, "Runs per mechanism").set_value("2").run()
    by_label(app.button, "Run the simulation").click().run()
    assert not app.exception
    assert len(tables(app)[0]["mechanism"]) >= 4


def as_bytes(content):
    return content.encode() if isinstance(content, str) else content


def test_items_without_a_level_are_counted_before_anything_is_run():
    app = open_page("try")
    by_label(app.get("button_group"), "Answers").set_value("upload").run()
    app.file_uploader[0].set_value(("c.csv", b"item,count\nflu,3\nHIV,2\ncold,1\n", "")).run()
    assert "2 of 3 items of the data are in no level, 'flu', 'cold'" in words(app)
    assert "Run the simulation" not in [button.label for button in app.button]
    by_label(app.toggle, "Spread the items over the levels at random").set_value(True).run()
    assert "Run the simulation" in [button.label for button in app.button]


def test_a_column_of_sets_is_read_as_sets(budgets):
    sets = "A person may have several of these answers, or none"
    by_label(budgets.toggle, sets).set_value(True).run()
    app = open_page("try", budgets)
    by_label(app.get("button_group"), "Answers").set_value("upload").run()
    text = b"id,diagnosis\n1,HIV;anemia\n2,\n3,anemia\n"
    app.file_uploader[0].set_value(("c.csv", text, "")).run()
    assert "3 people, 5 items, 2 in use. Sets are padded or cut to 4 items" in words(app)
    app.file_uploader[0].set_value(("bad.csv.gz", b"no gzip", "")).run()
    assert "not whole in the form of gzip" in words(app)
    assert not app.exception


def test_answers_that_are_too_many_or_not_right_get_a_sentence(budgets):
    by_label(budgets.text_input, "Number of people asked").set_value("20,000,000").run()
    app = open_page("try", budgets)
    assert "Try a smaller survey" in words(app)
    by_label(app.get("button_group"), "Answers").set_value("upload").run()
    app.file_uploader[0].set_value(("c.csv", b"item,count\nHIV,many\n", "text/csv")).run()
    assert "c.csv" in words(app)
    assert not app.exception
    app.file_uploader[0].set_value(("d.csv", b"HIV\nanemia\nHIV\n", "text/csv")).run()
    assert "holds an answer and is no header" in words(app)
    app.file_uploader[0].set_value(("e.csv", b"diagnosis\nHIV\n\nHIV\n", "text/csv")).run()
    assert "line 3 has no answer" in words(app)
    assert not app.exception
