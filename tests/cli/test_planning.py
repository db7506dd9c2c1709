"""What the planning commands print and write; what it says is in tests/show."""

import json
import math
import re

import pytest

from planner import load_survey, plan_survey, read_ledger, solve
from planner.deployment import Parameters, read_parameters
from tests.cli.running import invoke, shown
from tests.refusals import refused
from tests.surveys import EXAMPLES

HEALTH = EXAMPLES / "health.toml"
HOUSEHOLD = EXAMPLES / "household.toml"
RATES = EXAMPLES / "answer-rate.toml"
AGES = EXAMPLES / "sampled-ages.toml"
ONE_EACH = """
[survey]
name = "two"
users = 1000
design = "one-each"

[[question]]
name = "page"
level = [{ name = "all", epsilon = 1.0, items = ["x", "y"] }]

[[question]]
name = "income"
kind = "numeric"
lower = 0
upper = 100
epsilon = 1.0
"""


def words(*arguments):
    printed = shown(*arguments)
    return " ".join(printed.split())


@pytest.fixture(scope="module")
def few_channels():
    """The best channel at six budgets, not sixty: for tests that are about something else."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("planner.planning.answer_rates._BUDGETS", 6)
        yield


def test_details_and_what_is_next():
    short = words("plan", HEALTH)
    whole = words("plan", HEALTH, "--details")
    assert short.endswith(f"To deploy it: ldp-planner plan {HEALTH} --out params.json")
    assert "deploy" not in words("plan", AGES)  # nobody vouches for what it relies on
    assert "To deploy" not in whole
    for part in ("RAPPOR, smallest budget", "Proven: no mechanism of any kind"):
        assert part in whole
        assert part not in short
    printed = shown("plan", HOUSEHOLD, "--details")
    lines = printed.splitlines()
    assert max(map(len, lines)) <= 80
    assert "if shuffled" not in words("outsiders", HEALTH)
    assert "if shuffled" in words("outsiders", HEALTH, "--details")


def test_plan_for_machines(survey, tmp_path):
    out = tmp_path / "params.json"
    document = json.loads(
        shown("plan", survey, "--model", "opt2", "--json", "--out", out)
    )
    assert Parameters.of(document["parameters"]) == read_parameters(out)
    (question,) = document["questions"]
    assert {option["name"] for option in question["options"]} >= {
        "opt0",
        "opt1",
        "opt2",
        "oue",
        "rappor",
    }
    assert question["mechanism"] == "opt2"
    table = solve(load_survey(survey).questions[0].policy, "opt2")
    total = math.sqrt(100_000 * table.worst_case_mse)
    assert question["total_error"] == pytest.approx(total)


def test_several_questions_for_machines():
    printed = shown("plan", HOUSEHOLD, "--json")
    document = json.loads(printed)
    assert document["survey"]["better_design"] == "one-each"
    assert document["survey"]["allocation"]["value"] == pytest.approx(122.093, rel=1e-3)
    for part in (document["questions"], document["parameters"]["questions"]):
        assert [entry["name"] for entry in part] == ["diagnosis", "page", "income"]
    assert document["questions"][0]["targets"][0]["users"] > 200_000


def test_what_cannot_be_written_is_refused_before_it_is_planned(tmp_path, monkeypatch):
    path = tmp_path / "one.toml"
    path.write_text(ONE_EACH)
    monkeypatch.setattr("planner.planning.plan.plan_survey", None)  # never called
    unknown = invoke("plan", path, "--question", "nope", "--out", tmp_path / "x.json")
    assert "one of" in str(unknown.exception)
    nowhere = invoke("plan", path, "--out", tmp_path / "no" / "x.json")
    assert "its folder does not exist" in str(nowhere.exception)
    vouched = invoke("plan", AGES, "--out", tmp_path / "x.json")
    assert "acknowledged" in str(vouched.exception)


def test_one_each_is_one_file_or_a_question_alone(tmp_path):
    path = tmp_path / "one.toml"
    out = tmp_path / "page.json"
    path.write_text(ONE_EACH)
    said = words("plan", path)
    printed = shown("plan", path, "--json")
    document = json.loads(printed)
    for entry in document["questions"]:
        assert f"{entry['users']:,} of 1,000 people, drawn at random" in said
        assert f"among the {entry['users']:,} people asked" in said
        assert f"'{entry['name']}' {100 * entry['fraction']:.4g} %" in said
    assert not out.exists()
    assert said.endswith("--out params.json")
    chances = document["parameters"]["drawn"]["chances"]
    for entry, chance in zip(document["questions"], chances, strict=True):
        assert chance / 2**32 == pytest.approx(entry["fraction"], abs=1e-9)
    assert "verified" in words("plan", path, "--question", "page", "--out", out)
    assert [question.name for question in read_parameters(out).questions] == ["page"]
    assert "drawn" not in read_parameters(out).document
    printed = shown("plan", path, "--question", "page", "--json")
    alone = json.loads(printed)
    assert [question["name"] for question in alone["parameters"]["questions"]] == [
        "page"
    ]


def test_recording_spends_the_ledger(tmp_path):
    path = tmp_path / "s.toml"
    text = HEALTH.read_text()
    path.write_text(
        text.replace("users = 100_000", 'users = 100_000\nledger = "ledger.json"')
    )
    assert "Recorded in" in words("plan", path, "--record")
    assert read_ledger(tmp_path / "ledger.json").spent("severe") == pytest.approx(
        1.3862943611
    )
    result = invoke("plan", path)
    assert "have spent" in str(result.exception)
    result = invoke("plan", HEALTH, "--record")
    assert result.exit_code == 1


def test_what_cannot_be_written_spends_nothing(tmp_path):
    path = tmp_path / "s.toml"
    out = tmp_path / "p.json"
    text = HEALTH.read_text()
    path.write_text(
        text.replace("users = 100_000", 'users = 100_000\nledger = "ledger.json"')
    )
    failed = invoke(
        "plan", path, "--out", out, "--record", "--report", tmp_path / "no" / "r.html"
    )
    assert failed.exit_code == 1
    assert [file.name for file in tmp_path.iterdir()] == ["s.toml"]


def test_compare_puts_two_scenarios_side_by_side(tmp_path):
    other = tmp_path / "richer.toml"
    text = HEALTH.read_text()
    other.write_text(text.replace('"ln 4"', '"ln 5"'))
    assert "A: health.toml B: richer.toml" in words("compare", HEALTH, other)
    printed = shown("compare", HEALTH, other, "--json")
    rows = json.loads(printed)
    said = {(row["level"], row["what"]): row for row in rows}
    spent = said["severe", "spent (epsilon)"]
    assert (spent["first"], spent["second"]) == pytest.approx(
        (1.386294361, 1.609437912)
    )
    errors = [
        row for row in rows if "error" in row["what"] and row["level"] != "common"
    ]
    assert all(error["change"] <= 0 for error in errors)


def test_what_is_not_shown_is_not_solved(monkeypatch):
    asked = []
    monkeypatch.setattr(
        "planner.planning.what_if.relaxations",
        lambda *_: asked.append("relaxations") or [],
    )
    printed = shown("compare", HEALTH, HEALTH, "--json")
    rows = json.loads(printed)
    assert all(row["change"] == 0 for row in rows)
    shown("outsiders", HEALTH)
    assert asked == []
    shown("plan", HEALTH)
    assert asked == ["relaxations"]


def test_the_report_is_a_small_page_without_scripts_or_other_hosts(tmp_path):
    path = tmp_path / "report.html"
    assert "Report written" in words("plan", HOUSEHOLD, "--report", path)
    page = path.read_text()
    assert "default-src 'none'" in page
    assert len(page) < 100_000
    for word in ("<script", " src=", " href=", "http:", "https:"):
        assert word not in page
    assert page.count("<svg") >= 2


def test_a_page_for_an_ethics_board(tmp_path):
    path = tmp_path / "handout.html"
    assert "Handout written" in words("plan", HOUSEHOLD, "--handout", path)
    page = path.read_text()
    for part in (
        "200,000 people are asked about: diagnosis, page, income",
        "What is not promised",
    ):
        assert part in page
    odds = math.exp(max(row.spent for row in plan_survey(HOUSEHOLD).spending)) / 9
    said = float(re.search(r"hold it to be at most ([\d.]+) % likely", page)[1])
    assert 0 <= said - 100 * odds / (1 + odds) <= 0.1  # rounded up
    assert len(re.sub(r"<[^>]+>", " ", page.partition("<body>")[2]).split()) < 520


# Answer rates


@pytest.mark.usefixtures("few_channels")  # the page docs/how-to/kinds.md has them all
def test_the_best_budget_of_an_answer_rate():
    page = words("answer-rate", RATES, "--details")
    assert "offered now 2.197 96.9 41.64 24.17" in page
    assert "Error of the mean: 24.17 for" in words("plan", RATES)
    printed = shown("answer-rate", RATES, "--json")
    document = json.loads(printed)["bill"]
    assert f"Best budget: epsilon {document['best']['epsilon']:.3f}" in page
    assert len(document["curve"]["mean_rmse"]) == 200


@pytest.mark.usefixtures("few_channels")
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("100_000", "5", "Too few people answer"),
        ('"ln 9"', "30", "offered now 30.000 0.0 unreliable"),
    ],
)
def test_answer_rates_that_go_wrong(tmp_path, old, new, said):
    file = tmp_path / "survey.toml"
    text = RATES.read_text().partition("[question.preferences]")[0]
    sample = '[question.preferences]\nmodel = "sample"\nfile = "pilot.csv"'
    file.write_text(
        (text + sample if "offered" in said else RATES.read_text()).replace(old, new)
    )
    (tmp_path / "pilot.csv").write_text("epsilon\n2\n3\n3\n4\n")
    page = shown("answer-rate", file)
    assert said in " ".join(page.split())
    lines = page.splitlines()
    assert max(map(len, lines)) <= 80
    assert "NaN" not in shown("answer-rate", file, "--json")


# Sampling Privacy


def test_all_three_views_of_sampling_privacy(tmp_path):
    page = words("plan", AGES)
    for part in (
        "INFINITE",
        "no protection",
        "Only the estimates",
        "no parameters are written",
    ):
        assert part in page
    values = words("plan", AGES, "--details")
    for item in ("Round two alone", "under 40", "60 and over"):
        assert item in values
    printed = shown("plan", AGES, "--details")
    lines = printed.splitlines()
    assert max(map(len, lines)) <= 80
    printed = shown("plan", AGES, "--json")
    document = json.loads(printed)
    before = document["questions"][0]["sampling"]
    assert not before["acknowledged"]
    assert before["counts"] == [37, 90, 96, 63]
    file = tmp_path / "survey.toml"
    text = AGES.read_text()
    file.write_text(text.replace("# acknowledged", "acknowledged"))
    printed = shown("plan", file, "--json")
    document = json.loads(printed)
    after = document["questions"][0]["sampling"]
    assert after["acknowledged"]
    assert "Somebody vouches for it" in words("plan", file)
    text = file.read_text()
    file.write_text(text.replace("[37]", "[0]"))
    assert "It promises nothing: until rare values are merged" in words("plan", file)
    assert "--out" not in shown("plan", file)
    printed = shown("plan", file, "--json")
    document = json.loads(printed)
    assert document["parameters"] is None


def test_answer_rates_are_of_numeric_questions():
    with refused("kind"):
        shown("answer-rate", HEALTH)
