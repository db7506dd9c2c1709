"""A rehearsal: from a file of answers to results by group, in one command or in three."""

import json

import pytest

from planner import FileError
from tests.cli.running import shown
from tests.refusals import refused

# At such a budget a report is the answer but once in 10^17 times.
SURVEY = """[survey]
name = "visits"
users = 9
groups = { region = ["north", "south"], sex = ["f", "m"] }
[[question]]
name = "ward"
[[question.level]]
name = "any"
epsilon = 40
items = ["Eye", "Ear"]
"""
ANSWERS = "Region,sex,ward\nNorth,f,Eye\nnorth,m,eye\nsouth,m,Ear\n,f,Eye\nsouth,f,\nsouth,f,Eye\n"


@pytest.fixture
def files(tmp_path):
    survey = tmp_path / "visits.toml"
    survey.write_text(SURVEY)
    answers = tmp_path / "visits.csv"
    answers.write_text(ANSWERS)
    return survey, answers


def counted(text):
    """The number of people with each answer, by group."""
    settings = {}
    for row in json.loads(text)["estimates"]:
        if row["estimate"] is not None:  # else a difference of two groups
            group = row["group"].removeprefix("region = ") or "all"
            settings[group, row["answer"]] = round(row["estimate"])
    return settings


EXPECTED = {
    ("all", "Eye"): 3,
    ("all", "Ear"): 1,
    ("north", "Eye"): 2,
    ("north", "Ear"): 0,
    ("south", "Eye"): 1,
    ("south", "Ear"): 1,
}


def test_one_command_shows_results_by_group(files):
    survey, answers = files
    text = shown("rehearse", survey, "--data", answers, "--by", "region", "--json")
    assert counted(text) == EXPECTED
    printed = shown("rehearse", survey, "--data", answers)
    page = " ".join(printed.split())
    assert "1 without an answer to 'region' left out" in page
    assert "A rehearsal: nobody was asked." in page


@pytest.mark.parametrize("name", ["reports.jsonl", "reports.parquet"])
def test_rehearsed_reports_say_of_which_groups_they_are(files, tmp_path, name):
    survey, answers = files
    parameters = tmp_path / "params.json"
    shown("plan", survey, "--out", parameters)
    shown("perturb", parameters, "--data", answers, "--out", tmp_path / name)
    text = shown("aggregate", parameters, tmp_path / name, "--by", "region", "--json")
    assert counted(text) == EXPECTED


def test_a_folder_that_says_the_group_needs_no_column(files, tmp_path):
    survey, answers = files
    parameters = tmp_path / "params.json"
    shown("plan", survey, "--out", parameters)
    answers.write_text("sex,ward\nf,Eye\nm,Ear\n")
    with refused("one column 'region' is needed", kind=FileError):
        shown("perturb", parameters, "--data", answers, "--out", tmp_path / "a.parquet")
    folder = tmp_path / "region=north"
    folder.mkdir()
    shown("perturb", parameters, "--data", answers, "--out", folder / "a.parquet")
    text = shown("aggregate", parameters, folder, "--by", "region", "--json")
    assert counted(text)["north", "Ear"] == 1


def test_a_group_that_the_survey_does_not_have_is_refused(files):
    survey, answers = files
    with refused("by"):
        shown("rehearse", survey, "--data", answers, "--by", "town")
