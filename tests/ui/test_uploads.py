"""Uploads: what is read, what is refused, and that nothing of the server can be reached."""

import math
import tempfile

import pytest

from planner.deployment.parameter_file.building import (
    deployable_files,
)
from planner.deployment.parameter_file.parameters import write_parameters
from planner.errors import FileError, InputError
from planner.planning.whole_survey.plan import plan_survey
from planner.survey import Level, Numeric, Question, Survey
from planner.survey.file import load_survey
from planner.survey.numeric_domain import NumericDomain
from planner.ui.draft.categorical import CategoricalDraft
from planner.ui.draft.survey import SurveyDraft
from planner.ui.parts import uploads
from planner.ui.state import EXAMPLES, example_survey
from tests.deployment.examples import with_tables

HEADER = '[survey]\nname = "s"\nusers = 10\n'


def test_an_exported_file_gives_back_its_survey():
    levels = (Level("a", math.log(4), ("x", "y")), Level("b", 2.0, item_count=3))
    rules = ("min", "avg", ((1.0, math.inf), (math.inf, 2.0)))
    survey = Survey("s", 50, tuple(Question(f"q{i}", levels, r) for i, r in enumerate(rules)))
    made = with_tables(survey)
    data = uploads.bytes_of(write_parameters, made)
    assert uploads.survey_from_upload("parameters.json", data) == survey


def test_a_parameter_file_that_holds_less_than_its_survey_is_refused(pytestconfig):
    made = plan_survey(load_survey(pytestconfig.rootpath / "examples" / "baskets.toml"))
    data = uploads.bytes_of(write_parameters, deployable_files(made)["parameters"])
    with pytest.raises(InputError, match="Open the survey file"):
        uploads.survey_from_upload("parameters.json", data)


def test_a_number_comes_back_from_its_parameters():
    asked = Question("q", (), kind="numeric", numeric=Numeric(NumericDomain(0, 9), epsilon=1.0))
    made = plan_survey(Survey("s", 50, (asked,)))
    data = uploads.bytes_of(write_parameters, deployable_files(made)["parameters"])
    found = uploads.survey_from_upload("parameters.json", data).questions[0].numeric
    assert (found.domain, found.epsilon) == (NumericDomain(0, 9), 1.0)


def test_answers_in_order_come_back_from_their_parameters():
    survey = example_survey("hours")
    made = deployable_files(plan_survey(survey))["parameters"]
    data = uploads.bytes_of(write_parameters, made)
    found = uploads.survey_from_upload("parameters.json", data)
    assert found == survey
    assert SurveyDraft.of(found).build().survey == survey


@pytest.mark.parametrize("name", EXAMPLES)
def test_survey_files(name, pytestconfig):
    path = pytestconfig.rootpath / "examples" / f"{name}.toml"
    assert uploads.survey_from_upload(path.name, path.read_bytes()) == example_survey(name)


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("s.toml", b"[survey\n", "line 1"),
        ("s.toml", b"\xff\xfe", "UTF-8"),
        ("s.toml", b"", "missing"),
        ("p.json", b"{}", "not a parameter file"),
        ("p.json", b"[", "Invalid JSON"),
    ],
)
def test_what_is_not_right_is_named_by_its_own_name(name, data, words):
    with pytest.raises(FileError, match=words) as caught:
        uploads.survey_from_upload(name, data)
    assert tempfile.gettempdir() not in str(caught.value)
    assert str(caught.value).startswith(name)


@pytest.mark.parametrize(
    "text",
    [
        HEADER + 'ledger = "/etc/passwd"\n[[question]]\nname = "q"\n',
        HEADER + '[[question]]\nname = "q"\n[question.preferences]\nfile = "/etc/passwd"\n',
        HEADER + '[[question]]\nname = "q"\n[question.sets]\npilot = "/etc/passwd"\n',
    ],
)
def test_an_uploaded_survey_cannot_make_the_server_read_its_own_files(text):
    with pytest.raises(FileError, match="names another file, which is not read"):
        uploads.survey_from_upload("s.toml", text.encode())


def test_items_with_levels_keep_the_budgets_in_the_table():
    known = [{"level": "severe", "epsilon": "ln 4", "items": "HIV", "count": ""}]
    rows = uploads.rows_from_items("i.csv", b"Item,Level\nHIV,severe\ncold,usual\n", known)
    assert rows == [
        {"level": "severe", "epsilon": "ln 4", "items": "HIV", "count": ""},
        {"level": "usual", "epsilon": "", "items": "cold", "count": ""},
    ]


def test_items_with_budgets_form_levels():
    data = b'item,epsilon\n"40-49, male",2\nflu,ln 4\ncold,2\n'
    question, problems = CategoricalDraft("q", uploads.rows_from_items("i.csv", data, [])).build()
    assert problems == []
    assert [level.items for level in question.levels] == [("40-49, male", "cold"), ("flu",)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "columns 'item'"),
        ("item\nx\n", "columns 'item'"),
        ("item,level\n", "no items below"),
        ("item,level\n,severe\n", "line 2 has no item"),
        ("item,level\nx,\n", "line 2 has no level"),
        ("item,level\nx,a\nx,b\n", "line 3: the item 'x' is repeated"),
        ("item,epsilon\nx,-1\n", "line 2: epsilon is '-1'"),
        ("item,level,epsilon\nx,a,1\ny,a,2\n", "line 3: level 'a' has the budget '1' above"),
    ],
)
def test_wrong_lists_of_items_name_the_line(text, words):
    with pytest.raises(FileError, match=words):
        uploads.rows_from_items("items.csv", text.encode(), [])


def test_temporary_files_are_gone_and_names_cannot_leave_their_folder():
    with uploads.as_file("../../etc/passwd", b"x") as path:
        assert path.name == "passwd"
        assert path.read_bytes() == b"x"
        folder = path.parent
    assert not folder.exists()
