"""The page Try it on data, run without a browser."""

import pytest

from planner.ui.address import word_of
from planner.ui.document import (
    example_document,
)
from tests.ui.pages import by_label, open_page, session, tables, words

DETAILS = {"trial-details": True}


def run(app, runs=40):
    by_label(app.text_input, "Runs per mechanism").set_value(str(runs)).run()
    by_label(app.button, "Run the simulation").click().run()
    assert not app.exception
    return tables(app)[-1]


def ratios(app):
    """Measured over predicted errors, a mechanism each."""
    _, measured, _, predicted, *_ = app.values()
    pairs = zip(measured, predicted, strict=True)
    return [
        float(value.replace(",", "")) / float(other.replace(",", ""))
        for value, other in pairs
    ]


def upload(app, name, data):
    if not app.file_uploader[1:]:
        by_label(app.get("button_group"), "Answers").set_value("upload").run()
        assert "Upload answers to begin" in words(app)
    app.file_uploader[1].set_value((name, data, "text/csv")).run()
    assert not app.exception


def test_a_simulation_measures_what_was_predicted_and_draws_one_survey():
    app = open_page("trial", **DETAILS)
    measured = ratios(run(app))
    assert len(measured) == 9
    assert all(0.5 < ratio < 2 for ratio in measured)
    pictures = [app.get("plotly_chart")[0].proto.spec]
    by_label(app.button, "Draw another survey").click().run()
    pictures.append(app.get("plotly_chart")[0].proto.spec)
    assert pictures[0] != pictures[1]
    assert "5 intervals hold the truth" in words(app)
    app.run()
    assert (
        app.get("plotly_chart")[0].proto.spec == pictures[1]
    )  # drawn again on request only
    by_label(app.text_input, "Seed of the runs").set_value("-1").run()
    assert "seed is '-1'" in words(app)
    by_label(app.text_input, "Seed of the runs").set_value("2").run()
    assert "belong to the settings of the last run" in words(app)


def test_ordered_answers_are_tried_on_a_file():
    app = open_page("trial", example="hours", **DETAILS)
    upload(app, "c.csv", b"hours\n" + b"1-2\n" * 300 + b"0\n" * 500 + b"10+\n" * 200)
    page = run(app)
    assert page["mechanism"][0] == "Channel"
    assert all(0.5 < ratio < 2 for ratio in ratios(page))
    assert "truly 0." in words(app)
    session(app).document["question"][0]["wanted"] = "mean of scores"
    app.run()
    by_label(app.button, "Run the simulation").click().run()
    assert not app.exception
    assert tables(app)[0]["units of the question"]
    assert "The interval" in words(app)


def test_numbers_are_tried_as_generated_and_from_a_file():
    app = open_page("trial", example="answer-rate", **DETAILS)
    assert all(0.5 < ratio < 2 for ratio in ratios(run(app)))
    assert len(app.get("plotly_chart")) == 1
    by_label(app.text_input, "Share without an answer").set_value("2").run()
    assert "share without an answer is '2'" in words(app)
    upload(app, "c.csv", b"id,bill\n1,40\n2,\n3,x\n")
    by_label(app.selectbox, "Column with the answers").set_value("bill").run()
    assert "line 4, column 'bill': 'x' must be a number" in words(app)
    upload(app, "c.csv", b"id,bill\n1,40\n2,\n3,7\n")
    assert "3 people, 1 without an answer" in words(app)


ANSWERS = {
    "a column": (
        "c.csv",
        b"age,diagnosis\n3,HIV\n4,anemia\n5,HIV\n",
        "3 people, 5 answers",
    ),
    "items in no level": (
        "c.csv",
        b"diagnosis\nflu\nHIV\n",
        "line 2, column 'diagnosis': 'flu' must be the name of an item",
    ),
    "no header": ("d.csv", b"HIV\nanemia\nHIV\n", "holds an answer, no header"),
    "no answer": (
        "e.csv",
        b"diagnosis\nHIV\n\nHIV\n",
        "1 without an answer to 'diagnosis'",
    ),
    "an endless line": ("f.csv", b"diagnosis\n" + b"x" * 200_000, "f.csv"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_uploaded_answers_are_taken_or_refused_with_a_sentence(name):
    file, data, said = ANSWERS[name]
    app = open_page("trial", **DETAILS)
    upload(app, file, data)
    assert said in words(app)


def test_a_column_of_sets_is_read_as_sets(questions):
    by_label(questions.selectbox, "A person gives").set_value("item-set").run()
    by_label(questions.text_input, "Cut or pad to").set_value("4").run()
    app = open_page("trial", questions)
    upload(app, "c.csv", b"id,diagnosis\n1,HIV;anemia\n2,\n3,anemia\n")
    assert "3 people, 5 answers, sets cut or padded to 4" in words(app)


def test_ticked_columns_are_chosen_and_their_ticks_typed():
    document = example_document("health")
    question = document["question"][0]
    question |= {"kind": "item-set", "padding_length": "2"}
    question["level"] = [{"name": "all", "epsilon": "1", "items": "HIV; flu"}]
    app = open_page("trial", survey=word_of(document))
    upload(app, "c.csv", b"id,diagnosis/flu,diagnosis/HIV\n1,yo,no\n2,,\n3,yo,yo\n")
    label = "Column with the answers, or a column for each that is ticked"
    both = ["diagnosis/flu", "diagnosis/HIV"]
    by_label(app.multiselect, label).set_value(both).run()
    assert "'yo' must be ticked, as by" in words(app)
    assert 'Name it in "Cells that are ticks" or "Cells that are none".' in words(app)
    by_label(app.text_input, "Cells that are ticks").set_value("yo").run()
    by_label(app.text_input, "Cells that are none").set_value("no").run()
    assert "3 people, 2 answers, sets cut or padded to 2" in words(app)


def test_rows_are_pasted_and_some_cells_are_no_answer():
    app = open_page("trial")
    by_label(app.get("button_group"), "Answers").set_value("paste").run()
    (box,) = app.text_area
    box.set_value("diagnosis\tage\nHIV\t40\nanemia\t30\n99\t20\n").run()
    assert "'99' must be the name of an item" in words(app)
    # In the words of the field, not of a survey's file.
    assert 'name it in "Cells that are no answer" if' in words(app)
    by_label(app.text_input, "Cells that are no answer").set_value("99").run()
    assert "2 people, 5 answers" in words(app)


def test_cells_stand_for_answers_where_it_is_typed():
    app = open_page("trial")
    upload(app, "c.csv", b"diagnosis\n1\n2\n1\n")
    assert "'1' must be the name of an item" in words(app)
    label = "Cells that stand for an answer"
    by_label(app.text_input, label).set_value("1 = HIV; 2 = anemia").run()
    assert "3 people, 5 answers" in words(app)
    by_label(app.text_input, label).set_value("1 = HIV; 2 = flu").run()
    assert "'flu' must be the name of an item" in words(app)


def test_a_survey_that_is_too_large_or_wrong_is_not_tried(questions):
    by_label(questions.text_input, "People asked").set_value("20,000,000").run()
    assert "Try a smaller survey" in words(open_page("trial", questions))
    by_label(questions.text_input, "People asked").set_value("x").run()
    app = open_page("trial", questions)
    assert "Mend this" in words(app)
    assert "Run the simulation" not in [button.label for button in app.button]


def test_a_model_of_the_answers_says_how_surely_its_effects_would_show():
    """A difference of 30 points among 2,000 people: told apart; one of 1 point: hardly."""
    document = example_document("health")
    document["survey"] |= {"users": "2000", "groups": {"region": ["north", "south"]}}
    question = document["question"][0]
    question["level"] = [
        {"name": "severe", "epsilon": "2", "items": "HIV"},
        {"name": "common", "epsilon": "3", "items": "flu"},
    ]
    app = open_page("trial", survey=word_of(document))
    assert "A model of the answers" not in words(app)  # made-up people have no groups
    north = b"HIV,north\n" * 200 + b"flu,north\n" * 800
    south = b"HIV,south\n" * 500 + b"flu,south\n" * 500
    upload(app, "c.csv", b"diagnosis,region\n" + north + south)
    assert "A model of the answers" in words(app)
    by_label(app.text_input, "Collections").set_value("40").run()
    by_label(app.text_input, "Model").set_value("HIV ~ region").run()
    assert "HIV ~ region: 40 collections" in words(app)
    effects, _ = [table for table in tables(app) if "told apart" in table]
    assert effects["of"][0] == "region: south against north"
    assert effects["told apart"][0].startswith("100.0")
    assert effects["without privacy"][0] == "30 %"
    by_label(app.text_input, "People drawn").set_value("50").run()
    assert "50 people drawn from its rows" in words(app)
    effects, _ = [table for table in tables(app) if "told apart" in table]
    assert not effects["told apart"][0].startswith("100.0")
    by_label(app.text_input, "Model").set_value("HIV ~ age").run()
    assert "model is 'age' but must be one of region" in words(app)
    by_label(app.text_input, "Collections").set_value("1").run()
    assert "collections is '1'" in words(app)


def test_without_groups_no_model_is_asked_for():
    app = open_page("trial")
    upload(app, "c.csv", b"diagnosis\nHIV\nanemia\n")
    assert "A model of the answers" not in words(app)
