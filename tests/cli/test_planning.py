import json
import re

import pytest

from planner.deployment.parameter_file.parameters import read_parameters
from planner.planning.ledger import read_ledger
from tests.cli.running import invoke
from tests.surveys import EXAMPLES

HOUSEHOLD = EXAMPLES / "household.toml"
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


def words(result):
    assert result.exit_code == 0, result.output
    return " ".join(result.stdout.split())


def test_a_survey_of_several_questions_can_be_read_at_80_columns():
    result = invoke("plan", HOUSEHOLD, "--details")
    text = words(result)
    for part in (
        "Ask each person one question: the objective is at most 31.7646",
        'put design = "one-each" under [survey]',
        "The shares are proven best",
        "sequential composition",
        "38.1%",
        "91.6622",
        "MISSED",
        "Of 100 people whose answer about page is one of 'intimate'",
        "Smallest share of the people at which an item is told apart",
        "Raising the budget of 'intimate'",
    ):
        assert part in text, part
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_the_document_has_all_of_it(tmp_path):
    out = tmp_path / "params.json"
    result = invoke("plan", HOUSEHOLD, "--json", "--out", out)
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    found = document["survey"]["allocation"]
    assert found["better_design"] == "one-each"
    assert found["split"]["value"] == pytest.approx(91.662, rel=1e-3)
    assert found["some_each"]["perturbation_alone"] == pytest.approx(30.2229, rel=1e-3)
    assert [q["name"] for q in document["questions"]] == ["diagnosis", "page", "income"]
    assert document["questions"][0]["targets"][0]["met"] is False
    exported = {q.name: q.mechanism for q in read_parameters(out).questions}
    assert exported == {
        "diagnosis": "subset-design",
        "page": "subset-design",
        "income": "bisample-md",
    }


def test_names_are_printed_as_they_are(tmp_path):
    path = tmp_path / "odd.toml"
    path.write_text((EXAMPLES / "health.toml").read_text().replace("severe", "[b]:smile:"))
    assert "[b]:smile:" in words(invoke("plan", path, "--details"))


def test_one_each_is_exported_question_by_question(tmp_path):
    path, out = tmp_path / "one.toml", tmp_path / "page.json"
    path.write_text(ONE_EACH)
    assert "one by one" in str(invoke("plan", path, "--out", out).exception)
    assert not out.exists()
    assert "verified" in words(invoke("plan", path, "--question", "page", "--out", out))
    assert [q.name for q in read_parameters(out).questions] == ["page"]


def test_one_each_has_no_parameters_in_common(tmp_path):
    path = tmp_path / "one.toml"
    path.write_text(ONE_EACH)
    document = json.loads(invoke("plan", path, "--json").stdout)
    assert document["parameters"] is None
    alone = json.loads(invoke("plan", path, "--question", "page", "--json").stdout)
    assert [q["name"] for q in alone["parameters"]["questions"]] == ["page"]


def test_recording_spends_the_ledger(tmp_path):
    path = tmp_path / "s.toml"
    text = (EXAMPLES / "health.toml").read_text()
    path.write_text(text.replace("users = 100_000", 'users = 100_000\nledger = "ledger.json"'))
    assert "Recorded in" in words(invoke("plan", path, "--record"))
    assert read_ledger(tmp_path / "ledger.json").spent("severe") == pytest.approx(1.3862943611)
    again = invoke("plan", path)
    assert "have spent" in str(again.exception)
    assert invoke("plan", EXAMPLES / "health.toml", "--record").exit_code == 1


def test_compare_puts_two_scenarios_side_by_side(tmp_path):
    other = tmp_path / "richer.toml"
    other.write_text((EXAMPLES / "health.toml").read_text().replace('"ln 4"', '"ln 5"'))
    text = words(invoke("compare", EXAMPLES / "health.toml", other))
    assert "A: health.toml B: richer.toml" in text
    assert "total error" in text
    rows = json.loads(invoke("compare", EXAMPLES / "health.toml", other, "--json").stdout)
    spent = next(r for r in rows if r["level"] == "severe" and r["figure"] == "nats spent")
    assert (spent["first"], spent["second"]) == pytest.approx((1.386294361, 1.609437912))
    assert all(r["change"] <= 0 for r in rows if "error" in r["figure"] and r["level"] != "common")


def test_what_is_not_shown_is_not_solved(monkeypatch):
    asked = []
    monkeypatch.setattr(
        "planner.planning.whole_survey.planning_choice.relaxations",
        lambda *_: asked.append("relaxations") or [],
    )
    path = EXAMPLES / "health.toml"
    rows = json.loads(invoke("compare", path, path, "--json").stdout)
    assert all(row["change"] == 0 for row in rows)
    assert invoke("outsiders", path).exit_code == 0
    assert asked == []
    invoke("plan", path)
    assert asked == ["relaxations"]


def test_the_report_is_one_page_without_outside_hosts(tmp_path):
    path = tmp_path / "report.html"
    assert "Report written" in words(invoke("plan", HOUSEHOLD, "--report", path))
    page = path.read_text()
    assert "default-src 'none'" in page
    body = re.sub(r"<script>/\*\*.*?</script>", "", page, flags=re.DOTALL)  # the chart library
    assert len(body) < 500_000
    assert not re.search(r"(src|href)\s*=", body)
    assert "http" not in body.replace("http-equiv", "")
    assert body.count("Plotly.newPlot") == 1 + 4 + 4 + 1
    for part in ("91.6622", "31.7646", "Of 100 people whose answer about page"):
        assert part in body
