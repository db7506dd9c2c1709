# ruff: noqa: E501 - a row of a form on a line
"""An XLSForm becomes a survey whose budgets are open; what does not fit is listed."""

import re

import openpyxl
import pytest

from planner import FileError, survey_from_text
from planner.survey.bounds import bounds_of
from planner.survey.xlsform import survey_of_form
from tests.cli.running import run, shown
from tests.refusals import refused

SURVEY = [
    ("type", "name", "label::English (en)", "label::Deutsch", "constraint", "parameters"),
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
    (None, "untyped", "?"),
]  # fmt: skip
CHOICES = [
    ("list_name", "name", "label"),
    ("city", "ulm", "Ulm"),
    ("city", 7, "Köln"),
    ("drink", "tea", "Tea"),
    ("alike", "a", "A"),
    ("alike", "A ", "B"),
]
SURVEYCTO = [
    ("type", "name", "label:english", "label:français", "relevance", "relevant", "disabled", "constraint"),
    ("begin group", "consented", None, None, None, "${consent} = 1"),
    ("select_one yesno", "smokes", "Do you **smoke**, ${name}?", "Fumez-vous ?"),
    ("select_one yesno", "old", "Old?", "Vieux ?", None, None, "yes"),
    ("integer", "born", "Year of birth", "Année", None, None, None, "2024 - . >= 18"),
    ("integer", "cigarettes", "How many?", "Combien ?", None, "${smokes} = 1"),
    ("end group",),
    ("select one from yesno or_other", "works", "<b>Work</b> &amp; pay", "Travail"),
    ("decimal", "pay", "Pay", "Paie", None, None, None, "(. >= 0 and . < 90.5) or . = -99 or . = 5"),
    ("select_one_from_file towns.csv", "town", "Town", "Ville"),
    ("select_one yesno", "sex"),
]  # fmt: skip
VALUES = [
    ("list_name", "value", "label:english", "label:français"),
    ("yesno", 1, "Yes", "Oui"),
    ("yesno", 0, "No", "Non"),
    ("yesno", "other", "Other", "Autre"),
]


def form_of(path, **sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


@pytest.fixture
def form(tmp_path):
    settings = [["form_title"], ["T"]]
    sheets = {"survey": SURVEY, "choices": CHOICES, "settings": settings}
    return form_of(tmp_path / "form.xlsx", **sheets)


@pytest.fixture
def surveycto(tmp_path):
    settings = [["form_title", "default_language"], ["T", "français"]]
    sheets = {"survey": SURVEYCTO, "choices": VALUES, "settings": settings}
    return form_of(tmp_path / "form.xlsx", **sheets)


LOOPS = [
    ("type", "name", "label", "appearance", "choice_filter"),
    ("begin loop over vehicles", "loop"),
    ("integer", "owned", "How many?"),
    ("end loop",),
    ("begin lgroup", "children"),
    ("integer", "age", "How old?"),
    ("end lgroup",),
    ("select_one_external towns", "town", "Town?"),
    ("select_one shop", "shop", "Shop?", "minimal search('shops')"),
    ("select_one shop", "nearest", "Nearest?", None, "city=${city}"),
]  # fmt: skip
SHOPS = [
    ("list_name", "name", "label"),
    ("shop", "a", "${first} ${second}"),
    ("shop", "b", "Bakery"),
]


def filled(text):
    return survey_from_text(text.replace('= ""', "= 3"))


def test_a_form_becomes_a_survey_when_its_blanks_are_filled_in(form):
    imported = survey_of_form(form)
    with refused("survey, users is missing", kind=FileError):
        survey_from_text(imported.text)
    assert len(re.findall('= ""  # ', imported.text)) == 6
    assert not re.findall('= ""$', imported.text, re.MULTILINE)
    survey = filled(imported.text)
    assert survey.name == "T"
    town, drinks, age, mood = survey.questions
    assert town.ordered == ("ulm", "7")
    assert town.ask == "Where do you live?"
    assert town.label == (("ulm", "Ulm"), ("7", "Köln"))
    assert drinks.kind == "item-set"
    assert drinks.ordered == ("tea", "other")
    assert [(question.lower, question.upper) for question in (age, mood)] == [
        (18, 99),
        (1, 10),
    ]
    assert imported.left_out == {
        "begun": "'start' has no answers to choose, and is no number",
        "born": "it is asked again and again of one person",
        "bad": "its list 'nowhere' has not two choices or more",
        "☃": "its list 'alike' has two choices with the same name",
        "AGE": "another question has its name",
        "untyped": "its type is blank",
    }


def test_a_form_of_surveycto_in_its_own_language_with_skips_and_markup(surveycto):
    imported = survey_of_form(surveycto)
    works, pay, sex = filled(imported.text).questions
    assert works.ask == "Travail"
    assert works.ordered == ("1", "0", "other")
    assert works.label == (("1", "Oui"), ("0", "Non"), ("other", "Autre"))
    assert pay.lower == 0
    assert pay.upper == 90.5
    assert pay.missing == ("", "-99")
    assert sex.ask is None
    assert imported.changed == {}
    condition = "it is asked only of those with ${consent} = 1"
    assert imported.left_out == {
        "smokes": condition, "old": "it is disabled", "born": condition,
        "cigarettes": condition, "town": "its choices are in a file of their own",
    }  # fmt: skip


def test_loops_searches_and_filters_of_a_form_are_told(tmp_path):
    made = survey_of_form(form_of(tmp_path / "form.xlsx", survey=LOOPS, choices=SHOPS))
    (nearest,) = filled(made.text).questions
    assert (nearest.ordered, nearest.label) == (("a", "b"), (("b", "Bakery"),))
    again = "it is asked again and again of one person"
    elsewhere = "its choices are in a file of their own"
    assert made.left_out == {
        "owned": again, "age": again, "town": elsewhere, "shop": elsewhere,
    }  # fmt: skip
    filtered = "the form shows some of its answers alone, by its choice_filter"
    assert made.changed == {"nearest": filtered}


def test_a_condition_that_all_who_take_part_meet_leaves_nothing_out(surveycto):
    imported = survey_of_form(surveycto, given=["Consent"])
    assert (
        imported.left_out["cigarettes"]
        == "it is asked only of those with ${smokes} = 1"
    )
    smokes, born, *_ = imported.text.split("[[question]]")[1:]
    assert 'lower = ""  # The smallest number that counts.' in born
    assert 'epsilon = ""  # The budget, such as "ln 4", which is the same' in born
    assert 'ask = "Fumez-vous ?"' in smokes
    english = [[*row[:3], None, *row[4:]] for row in SURVEYCTO]
    form_of(surveycto, survey=english, choices=VALUES)
    imported = survey_of_form(surveycto, given=["consent"])
    assert 'ask = "Do you smoke, …?"' in imported.text
    assert 'ask = "Work & pay"' in imported.text
    assert imported.changed == {"smokes": "the form puts name where its text has …"}


@pytest.mark.parametrize(
    ("constraint", "lower", "upper"),
    [
        (". > 17", "18", ""), ("18 <= . and (. < 99)", "18", "98"), ("(. > 1) and (. < 9)", "2", "8"),
        ("2024 - . >= 18", "", ""), (". >= 18 and . <= ${most}", "18", ""), ("not(. > 5 and . < 9)", "", ""),
        (". < 5 or . > 9", "", ""), ("string-length(.) >= 10", "", ""), (". >= 0 and (. < 5 or . = 9)", "0", ""),
        (". = 3", "", ""), ("", "", ""), (". != 5", "", ""), ("if(. > 5, 1, 0)", "", ""),
    ],
)  # fmt: skip
def test_only_plain_constraints_are_bounds(constraint, lower, upper):
    bounds = bounds_of(constraint, whole=True)
    assert bounds.lower == lower
    assert bounds.upper == upper


def test_the_command_lists_what_was_left_out_and_replaces_nothing(form, tmp_path):
    out = tmp_path / "survey.toml"
    page = shown("import", form, "--out", out)
    assert page.count("Left out: ") == 6
    text = out.read_text()
    assert text == survey_of_form(form).text
    with refused("exists", kind=FileError):
        shown("import", form, "--out", out)


def test_what_the_output_has_no_letters_for_is_spelt_out(form, tmp_path):
    done = run("import", form, "--out", tmp_path / "s.toml", PYTHONIOENCODING="cp1252")
    assert done.returncode == 0
    assert done.stderr == ""
    assert "Left out: \\u2603, as its list" in done.stdout


def test_a_form_of_sheets_one_below_the_other_is_read(tmp_path):
    path = tmp_path / "form.csv"
    path.write_text(
        '"survey",,,\n,"type","name","label:english"\n'
        ',"select one from yes_or_no","good_day","A good day?"\n,,,\n'
        '"choices",,,\n,"list name","name","label:english"\n'
        ',"yes_or_no","yes","Yes"\n,"yes_or_no","no","no"\n'
    )
    (question,) = filled(survey_of_form(path).text).questions
    assert (question.ask, question.ordered) == ("A good day?", ("yes", "no"))
    assert question.label == (("yes", "Yes"),)


def test_what_is_no_form_is_refused(tmp_path):
    path = tmp_path / "none.xlsx"
    for sheets, words in (
        ({"Sheet": []}, "has no sheet 'survey'"),
        ({"survey": [("type", "name")]}, "has no question with answers to choose, or"),
        ({"survey": SURVEY[:2]}, "1 are left out: begun, as 'start' has no answers"),
    ):
        with refused(words, kind=FileError):
            survey_of_form(form_of(path, **sheets))
    for name, words in (
        ("form.csv", "is text that has no sheet 'survey'"),
        ("form.xls", "is not a spreadsheet. Is it text"),
        ("form.xlsx", "is not a spreadsheet. Is it text"),
    ):
        (tmp_path / name).write_text("type,name\n")
        with refused(words, kind=FileError):
            survey_of_form(tmp_path / name)
