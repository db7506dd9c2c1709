"""An XLSForm becomes a survey whose budgets are open; what does not fit is listed."""

import re

import openpyxl
import pytest

from planner import FileError, survey_from_text
from planner.survey.xlsform import survey_of_form
from tests.cli.running import run, shown
from tests.refusals import refused

SURVEY = [
    (
        "type",
        "name",
        "label::English (en)",
        "label::Deutsch",
        "constraint",
        "parameters",
    ),
    ("start", "begun"),
    ("begin group", "home"),
    ("select_one city", "town", "Where do you live?", "Wo?"),
    ("end_group",),
    ("select multiple drink or_other", "drinks", "What do you drink?"),
    ("integer", "age", "How old are you?", None, ". >= 18 and . <= 99"),
    ("range", "mood", "How are you?", None, None, "start=1 end=10 step=1"),
    ("begin_repeat", "child"),
    ("select_one city", "born", "Where?"),
    ("end_repeat",),
    ("select_one nowhere", "bad", "?"),
    ("select_one alike", "☃", "?"),
    ("decimal", "AGE", "Again"),
]
CHOICES = [
    ("list_name", "name", "label"),
    ("city", "ulm", "Ulm"),
    ("city", 7, "Köln"),
    ("drink", "tea", "Tea"),
    ("alike", "a", "A"),
    ("alike", "A ", "B"),
]


@pytest.fixture
def form(tmp_path):
    book = openpyxl.Workbook()
    book.active.title = "survey"
    sheets = {"survey": SURVEY, "choices": CHOICES, "settings": [["form_title"], ["T"]]}
    for name, rows in sheets.items():
        sheet = book[name] if name in book.sheetnames else book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(tmp_path / "form.xlsx")
    return tmp_path / "form.xlsx"


def test_a_form_becomes_a_survey_when_its_blanks_are_filled_in(form):
    made = survey_of_form(form)
    with refused("survey, users is missing", kind=FileError):
        survey_from_text(made.text)
    assert len(re.findall('= ""  # ', made.text)) == 6
    survey = survey_from_text(made.text.replace('= ""', "= 3"))
    assert survey.name == "T"
    town, drinks, age, mood = survey.questions
    assert (town.ordered, town.ask) == (("ulm", "7"), "Where do you live?")
    assert town.label == (("ulm", "Ulm"), ("7", "Köln"))
    assert (drinks.kind, drinks.ordered) == ("item-set", ("tea", "other"))
    assert [(one.lower, one.upper) for one in (age, mood)] == [(18, 99), (1, 10)]
    assert {name: reason[:18] for name, reason in made.left_out.items()} == {
        "begun": "'start' has no ans", "born": "it is asked again ", "bad": "its list 'nowhere'",
        "☃": "its list 'alike' h", "AGE": "another question h",
    }  # fmt: skip


def test_the_command_lists_what_was_left_out_and_replaces_nothing(form, tmp_path):
    out = tmp_path / "survey.toml"
    page = shown("import", form, "--out", out)
    assert page.count("Left out: ") == 5
    assert out.read_text() == survey_of_form(form).text
    with refused("exists", kind=FileError):
        shown("import", form, "--out", out)


def test_what_the_output_has_no_letters_for_is_spelt_out(form, tmp_path):
    done = run("import", form, "--out", tmp_path / "s.toml", PYTHONIOENCODING="cp1252")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Left out: \\u2603, as its list" in done.stdout


def test_what_is_no_form_is_refused(tmp_path):
    book = openpyxl.Workbook()
    book.save(tmp_path / "none.xlsx")
    with refused("has no sheet 'survey'", kind=FileError):
        survey_of_form(tmp_path / "none.xlsx")
    book.active.title = "survey"
    book.active.append(("type", "name"))
    book.save(tmp_path / "none.xlsx")
    with refused("has no question with answers to choose, or for a", kind=FileError):
        survey_of_form(tmp_path / "none.xlsx")
