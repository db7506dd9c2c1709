"""A collection with known groups, from the survey to its result, on the command line."""

import json

import pytest

from tests.cli.running import invoke, shown
from tests.deployment.conftest import counting_here  # noqa: F401

SURVEY = """
[survey]
name = "clinic"
users = 900
groups = { region = ["north", "south"] }
population = { north = 3000, south = 1000 }
[[question]]
name = "diagnosis"
[[question.level]]
name = "all"
epsilon = 3.0
items = ["HIV", "flu", "none"]
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("groups")
    (folder / "survey.toml").write_text(SURVEY)
    shown("plan", folder / "survey.toml", "--out", folder / "params.json")
    for region, answers in (
        ("north", "HIV\n" * 100 + "none\n" * 500),
        ("south", "none\n" * 300),
    ):
        (folder / "a.csv").write_text("diagnosis\n" + answers)
        out = folder / "reports" / f"region={region}" / "a.parquet"
        out.parent.mkdir(parents=True)
        shown(
            "perturb", folder / "params.json", "--data", folder / "a.csv", "--out", out
        )
    return folder


def test_a_plan_says_what_is_expected_of_each_group(place):
    page = " ".join(shown("plan", place / "survey.toml").split())
    assert "north 675" in page
    assert "Fewer than 300 people are expected in 'south'." in page
    assert "not hidden" in page
    assert "among 225 people" in " ".join(
        shown("outsiders", place / "survey.toml").split()
    )


def test_the_result_by_group_as_a_page_and_a_document(place):
    words = "aggregate", place / "params.json", place / "reports", "--by", "region"
    page = shown(*words, "--report", place / "r.html")
    assert "north (600)" in page
    assert "north less south" in page
    # (3000 + 1000)^2 / (3000^2 / 600 + 1000^2 / 300)
    assert "as exact as 873 people" in " ".join(page.split())
    html = (place / "r.html").read_text()
    assert html.count("<h2>diagnosis</h2>") == 1
    assert "chi-square" in html
    rows = json.loads(shown(*words, "--json"))["estimates"]
    gap = {row["answer"]: row["p"] for row in rows if " less " in row["group"]}
    assert gap["HIV"] < 1e-6
    assert invoke("aggregate", *words[1:3], "--by", "land").exit_code == 1


def test_two_collections(place):
    north, south = (place / "reports" / f"region={name}" for name in ("north", "south"))
    params = place / "params.json"
    page = shown("difference", params, north, params, south)
    assert "first less second" in page
    rows = json.loads(shown("difference", params, north, params, south, "--json"))
    assert {row["answer"] for row in rows} == {"HIV", "flu", "none"}
    assert next(row["p"] for row in rows if row["answer"] == "HIV") < 1e-6
