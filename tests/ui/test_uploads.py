"""Uploads: what is read, what is refused, and that nothing of the server can be reached."""

import csv
import io
import tempfile

import openpyxl
import pytest

from planner.errors import FileError
from planner.survey.survey import document_of, settle
from planner.ui.document import EXAMPLES, cleaned, example_document
from planner.ui.opening import as_file, rows_from_items, survey_in
from tests.refusals import refused
from tests.ui.pages import TOTAL, by_label, metric, open_page, session, words

LEVEL = '[[question.level]]\nname = "a"\nepsilon = 1\nitem_count = 2\n'
HEADER = '[survey]\nname = "s"\nusers = 10\n'
FILE = "A survey (TOML), a form (XLSForm), or items (CSV)"


BROKEN_TWICE = (HEADER + '[[question]]\nname = "q"\n' + LEVEL).encode()
BROKEN_TWICE = BROKEN_TWICE.replace(b"users = 10", b"users = 0").replace(
    b"epsilon = 1", b"epsilon = -1"
)


def upload(app, name, data):
    by_label(app.file_uploader, FILE).set_value((name, data, "")).run()
    assert not app.exception


def test_opening_files_and_having_back_what_was_there(questions, pytestconfig):
    by_label(questions.selectbox, "Example").set_value("hours").run()
    browsing = (pytestconfig.rootpath / "examples" / "browsing.toml").read_bytes()
    upload(questions, "b.toml", browsing)
    assert by_label(questions.text_input, "Survey").value == "browsing"
    shown = metric(questions, TOTAL)
    upload(questions, "broken.toml", b"[survey")
    assert "broken.toml" in words(questions)
    assert "Nothing was opened" in words(questions)
    upload(questions, "two.toml", BROKEN_TWICE)
    assert "users is 0" in words(questions)  # all that is wrong, where it was opened
    assert "epsilon is -1" in words(questions)
    assert metric(questions, TOTAL) == shown
    upload(questions, "items.csv", b"item,level,epsilon\nflu,usual,-1\n")
    assert "Budget is '-1'" in words(questions)  # named like one that is typed
    by_label(questions.button, "Undo").click().run()
    upload(questions, "items.csv", b"item,level,epsilon\nflu,usual,2\ncold,usual,2\n")
    assert "broken.toml" not in words(questions)
    (level,) = session(questions).document["question"][0]["level"]
    assert level["items"] == "flu; cold"
    for name in ("browsing", "unpaid help", "health survey"):
        by_label(questions.button, "Undo").click().run()
        assert by_label(questions.text_input, "Survey").value == name


def test_a_form_is_opened_and_asks_for_its_budgets(questions):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "survey"
    sheet.append(["type", "name", "label"])
    sheet.append(["select_one colour", "colour", "Which colour?"])
    sheet.append(["text", "why", "Why?"])
    choices = book.create_sheet("choices")
    choices.append(["list_name", "name", "label"])
    choices.append(["colour", "red", "Red"])
    choices.append(["colour", "green", "Green"])
    content = io.BytesIO()
    book.save(content)
    upload(questions, "form.xlsx", content.getvalue())
    assert "Left out: why, as 'text' has no answers" in words(questions)
    (level,) = session(questions).document["question"][0]["level"]
    assert level["items"] == ["red", "green"]
    assert level["epsilon"] == ""
    assert "Budget is still empty" in words(questions)
    assert not questions.metric  # those of the survey before
    upload(questions, "none.xlsx", b"x")
    assert "none.xlsx" in words(questions)
    assert "Nothing was opened" in words(questions)


def test_a_list_of_items_makes_a_question_where_there_is_none():
    app = open_page("questions", example="answer-rate")
    upload(app, "i.csv", b"item,epsilon\nflu,2\ncold,2\n")
    assert session(app).document["question"][-1]["level"][0]["items"] == "flu; cold"


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_surveys_and_come_back_from_them(name, pytestconfig):
    path = pytestconfig.rootpath / "examples" / f"{name}.toml"
    document = example_document(name)
    assert survey_in(path.name, path.read_bytes()) == (document, ())
    survey, mistakes = settle(cleaned(document))
    assert mistakes == ()
    assert settle(cleaned(document_of(survey)))[0] == survey


WRONG = {
    "cut": "[survey\n",
    "binary": "\udcff",
    "ledger": HEADER + 'ledger = "/etc/passwd"\n[[question]]\nname = "q"\n' + LEVEL,
    "sample": HEADER
    + '[[question]]\nname = "q"\nkind = "numeric"\nlower = 0\nupper = 1\n'
    '[question.preferences]\nmodel = "sample"\nfile = "/etc/passwd"\n',
    "pilot": HEADER + '[[question]]\nname = "q"\nkind = "item-set"\n'
    'sets = {pilot = "/etc/passwd"}\n' + LEVEL,
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_not_right_is_named_by_its_own_name_and_no_file_here_is_read(name):
    with refused(kind=FileError) as caught:
        _, mistakes = survey_in("s.toml", WRONG[name].encode(errors="surrogateescape"))
        raise mistakes[0].error.within("s.toml")
    assert tempfile.gettempdir() not in str(caught.value)
    assert str(caught.value).startswith("s.toml")


def test_items_with_levels_keep_the_budgets_in_the_table_and_without_levels_form_them():
    levels = [{"name": "severe", "epsilon": "ln 4", "items": ["HIV"]}]
    assert rows_from_items(
        "i.csv", b"Item,Level\nHIV,severe\ncold,usual\n", levels
    ) == [
        {"name": "severe", "epsilon": "ln 4", "items": "HIV"},
        {"name": "usual", "epsilon": "", "items": "cold"},
    ]
    rows = rows_from_items(
        "i.csv", b'item,epsilon\n"40-49, male",2\nflu,ln 4\ncold,2\n', []
    )
    assert [row["items"] for row in rows] == ['"40-49, male"; cold', "flu"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "item\nx\n",
        "item,level\n",
        "item,level\n,severe\n",
        "item,level\nx,\n",
        "item,level\n" + "x,a\n" * 100_000,
        "item,level\n" + "x" * 2 * csv.field_size_limit(),
    ],
    ids=range(7),
)
def test_wrong_lists_of_items_name_the_line(text):
    with refused(kind=FileError) as caught:
        rows_from_items("items.csv", text.encode(), [])
    assert len(str(caught.value)) < 1000


def test_temporary_files_are_gone_and_names_cannot_leave_their_folder():
    with as_file("../../etc/passwd", b"x") as path:
        assert path.name == "passwd"
        assert path.read_bytes() == b"x"
        folder = path.parent
    assert not folder.exists()
