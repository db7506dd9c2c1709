"""An anchor from its plan to corrected shares, by the commands that a person types."""

import json

import numpy as np
import pytest

from tests.cli.running import shown

SURVEY = """[survey]
name = "clinic"
users = 6000
[[question]]
name = "diagnosis"
[[question.level]]
name = "any"
epsilon = 4
items = ["HIV", "flu", "cold", "none of these"]
[[question]]
name = "check"
anchor = "diagnosis"
known = "none of these"
"""
ANSWERS = ("HIV", "flu", "cold", "none of these")
SHARES = (0.05, 0.35, 0.2, 0.4)
ATTENTIVE = 0.7


@pytest.fixture(scope="module")
def estimates(tmp_path_factory):
    """Results of 6,000 people, of whom three in ten tick anything, by report of each question."""
    folder = tmp_path_factory.mktemp("anchor")
    survey = folder / "clinic.toml"
    survey.write_text(SURVEY)
    rng = np.random.default_rng(6)
    attends = rng.random(6000) < ATTENTIVE
    diagnosis = np.where(
        attends, rng.choice(4, 6000, p=SHARES), rng.integers(4, size=6000)
    )
    check = np.where(attends, 3, rng.integers(4, size=6000))
    rows = []
    for k, anchor in zip(diagnosis, check, strict=True):
        rows.append(f"{ANSWERS[k]},{ANSWERS[anchor]}")
    answers = folder / "answers.csv"
    answers.write_text("\n".join(["diagnosis,check", *rows]) + "\n")
    parameters = folder / "clinic.json"
    printed = shown("plan", survey, "--out", parameters)
    planned = " ".join(printed.split())
    shown("perturb", parameters, "--data", answers, "--out", folder / "reports")
    page = folder / "results.html"
    text = shown(
        "aggregate", parameters, folder / "reports", "--json", "--report", page
    )
    document = json.loads(text)
    text = page.read_text(encoding="utf-8")
    return planned, document["estimates"], text


def of(rows, what):
    return {
        row["answer"]: row
        for row in rows
        if row["question"] == "diagnosis" and row["of"] == what
    }


def test_the_plan_says_what_the_anchor_costs(estimates):
    planned, *_ = estimates
    assert "spends no budget" in planned


def test_the_share_of_attentive_people_is_estimated(estimates):
    """Within 6 standard errors: a false alarm of 1e-8."""
    _, rows, _ = estimates
    attention = of(rows, "attention")["attentive people"]
    assert (
        abs(attention["estimate"] - 6000 * ATTENTIVE) < 6 * attention["standard_error"]
    )
    assert attention["standard_error"] < 100
    # Near miss: that all attend.
    assert attention["upper"] < 5000


def test_corrected_shares_are_those_of_who_attends(estimates):
    """Within 6 standard errors; the plain share of a rare answer, .11, is 6 of them too large."""
    _, rows, _ = estimates
    plain = of(rows, "")
    corrected = of(rows, "if all attended")
    for answer, share in zip(ANSWERS, SHARES, strict=True):
        error = corrected[answer]["standard_error"] / 6000
        assert abs(corrected[answer]["share"] - share) < 6 * error
    error = corrected["HIV"]["standard_error"] / 6000
    assert plain["HIV"]["share"] - 0.05 > 6 * error


def test_the_page_shows_both(estimates):
    *_, page = estimates
    assert "attentive people" in page
    assert "if all attended" in page
