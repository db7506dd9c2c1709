"""The manners of the command line: standard streams, files that exist, machines, patience."""

import io
import json
import sys
import time

import pytest
from typer.testing import CliRunner

from planner import FileError
from planner.cli import streams
from planner.cli.commands import app
from tests.cli.running import ended, invoke, shown
from tests.refusals import refused
from tests.surveys import EXAMPLES

SURVEY = """[survey]
name = "drinks"
users = 9
ledger = "ledger.json"
[[question]]
name = "drink"
[[question.level]]
name = "any"
epsilon = 40
items = ["tea", "beer"]
"""


def piped(text, *words):
    """What a command prints that reads this."""
    result = CliRunner().invoke(
        app, list(map(str, words)), input=text, catch_exceptions=False
    )
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def parameters(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "params.json"
    path.write_text(piped(SURVEY, "plan", "-", "--out", "-"))
    return path


def test_a_survey_and_its_parameters_pass_through_the_standard_streams(parameters):
    document = json.loads(parameters.read_text())
    assert document["survey"] == "drinks"
    text = parameters.read_text()
    printed = shown("verify", parameters)
    assert piped(text, "verify", "-") == printed


def test_a_survey_that_is_piped_names_files_of_this_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    piped(SURVEY, "plan", "-", "--record", "--quiet")
    assert (tmp_path / "ledger.json").exists()


def test_answers_become_reports_and_these_estimates_in_a_pipe(parameters):
    answers = "drink\ntea\ntea\nbeer\n"
    reports = piped(answers, "perturb", parameters, "--data", "-", "--out", "-")
    assert [json.loads(line)["question"] for line in reports.splitlines()] == [
        "drink"
    ] * 3
    table = piped(reports, "aggregate", parameters, "-", "--out", "-")
    header, *rows = table.splitlines()
    assert header.startswith('"question"')
    assert len(rows) == 2


def test_an_error_calls_the_standard_input_by_its_name(parameters):
    words = ("perturb", parameters, "--data", "-", "--out", "-")
    result = CliRunner().invoke(app, list(map(str, words)), input="drink\nmilk\n")
    said = streams.without_spool(str(result.exception))
    assert said.startswith("standard input: line 2, column 'drink': 'milk'")


def test_reports_of_one_question_go_to_a_folder_too(parameters):
    answers = parameters.with_name("answers.csv")
    answers.write_text("drink\ntea\nbeer\n")
    folder = parameters.with_name("reports")
    shown("perturb", parameters, "--data", answers, "--out", folder)
    assert [path.name for path in folder.iterdir()] == ["question-1.parquet"]


def test_nothing_on_the_standard_input_is_no_report(parameters):
    with refused("standard input: has no lines of reports", kind=FileError):
        piped("", "aggregate", parameters, "-")


def test_one_document_at_most_goes_to_the_standard_output():
    survey = EXAMPLES / "hours.toml"
    with refused("-"):
        shown("plan", survey, "--out", "-", "--json")
    with refused("-"):
        shown("plan", survey, "--out", "-", "--report", "-")


def test_a_file_that_exists_is_replaced_when_that_is_asked_for(tmp_path):
    out = tmp_path / "p.json"
    out.write_text("mine")
    words = ("plan", EXAMPLES / "hours.toml", "--out", out)
    with refused("exists. Write to another file, or", kind=FileError):
        shown(*words)
    assert out.read_text() == "mine"
    shown(*words, "--force")
    assert out.read_text() != "mine"


def test_quiet_says_nothing_and_writes(tmp_path):
    out = tmp_path / "p.json"
    words = ("plan", EXAMPLES / "hours.toml", "--out", out)
    assert not shown(*words, "--quiet")
    assert out.exists()
    assert "Parameters written" in shown(*words, "--force")


def test_an_error_is_a_document_for_machines(tmp_path):
    done = ended("plan", tmp_path / "no.toml", "--json")
    assert done.returncode == 1
    assert done.stderr == ""
    document = json.loads(done.stdout)
    error = document["error"]
    assert error["kind"] == "FileError"
    assert error["exit_code"] == 1
    assert error["message"].endswith("No such file or directory. Check the path.")
    done = ended("plan", "--json")
    document = json.loads(done.stdout)
    assert document["error"]["kind"] == "UsageError"
    assert done.returncode == 2


COMMANDS = [
    "plan",
    "compare",
    "outsiders",
    "answer-rate",
    "simulate",
    "questionnaire",
    "receive",
    "schema",
    "vectors",
    "verify",
    "rehearse",
    "perturb",
    "aggregate",
    "difference",
    "audit",
    "import",
    "app",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_every_command_ends_with_an_example(command):
    assert len(app.registered_commands) == len(COMMANDS)
    text = invoke(command, "--help").stdout
    assert f"Example: ldp-planner {command}" in text
    usage, _, _ = text.partition("\n\n")
    assert "{" not in usage


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_what_takes_long_says_so_and_is_gone_when_it_is_done(monkeypatch):
    monkeypatch.setattr(streams, "SOON", 0.01)
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with streams.working("planning drinks"):
        time.sleep(0.1)
    assert screen.getvalue().startswith("\rplanning drinks: 0 s")
    assert screen.getvalue().endswith("\r" + " " * 20 + "\r")


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_what_is_quick_says_nothing(monkeypatch, stream):
    monkeypatch.setattr(sys, "stderr", stream)
    with streams.working("planning"):
        pass
    assert not stream.getvalue()
