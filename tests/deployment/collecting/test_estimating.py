"""From sums to estimates: every mechanism within its intervals, in every format."""

import csv
import json

import numpy as np
import pyarrow as pa
import pytest

from planner import ItemSet, Level, Survey, plan_survey
from planner.deployment.client.client import Report
from planner.deployment.collecting.attending import CORRECTED
from planner.deployment.collecting.collector import collect
from planner.deployment.collecting.estimate_tables import write_table
from planner.deployment.collecting.estimating import difference_table, estimates_table
from planner.deployment.parameters import survey_parameters
from planner.errors import FileError
from tests.deployment.examples import ANSWERS
from tests.refusals import refused


def test_every_mechanism_is_estimated_within_its_intervals(parameters, everything):
    done = collect(parameters, [everything / "reports"])
    assert not done.quarantined
    # About 100 intervals of real draws: one misses the truth with a chance of 1e-7.
    table = estimates_table(parameters, done.sums, confidence=1 - 1e-9)
    rows = table.to_pylist()
    assert {row["question"] for row in rows} == {
        law.name for law in parameters.questions
    }
    numbers = {
        ("age", "mean"): 53.5,
        ("age", "missing rate"): 0.25,
        ("age", "total"): 53.5 * 2250,
        ("yes", "mean"): 1.0,
        ("yes", "missing rate"): 0.0,
        ("yes", "total"): 3000.0,
        ("yes", "frequency"): 1.0,
        ("hours", "mean"): 40.25,
        ("hours", "total"): 40.25 * 3000,
        ("yes by channel", "missing rate"): 1.0,
        ("order", "mean score"): 2.5,
        ("order", "up to cold"): 3000.0,
        ("order", "up to x"): 3000.0,
        ("sampled", "none of the values"): 0.0,
        ("cells", "3.66667 to 7"): 3000.0,
        # Everybody gives the known answer to the one anchor, and to the other one another.
        ("anchored", "attentive people"): 3000.0,
        ("design anchored", "attentive people"): 0.0,
    }
    corrected = {row["question"] for row in rows if row["of"] == CORRECTED}
    assert corrected == {"anchored"}
    # Of cells quartiles are numbers, between ends of the cell that all people are in.
    for quartile in ("lower quartile", "median", "upper quartile"):
        numbers["cells", quartile] = float(ANSWERS["cells"])
    assert {row["level"] for row in rows} == {"", "severe", "common", "a", "b", "cells"}
    assert numbers.keys() <= {(row["question"], row["answer"]) for row in rows}
    for row in rows:
        key = (row["question"], row["answer"])
        held = row["answer"] in ANSWERS[row["question"]].split(";")
        if row["remark"].startswith("smoothed by EMS"):  # a curve without limits
            assert row["lower"] is None
            continue
        if row["lower"] is None:
            # Of cells the curve gives a number between their ends, which draws move.
            if row["question"] == "cells":
                shown = ""
            else:
                shown = "cold"
            assert row["remark"].startswith(f"{row['answer']}: {shown}")
            continue
        truth = numbers.get(key, 3000.0 if held else 0.0)
        assert row["lower"] - 1e-9 <= truth <= row["upper"] + 1e-9, row
        assert row["users"] == 3000


def test_estimates_as_parquet_csv_and_json(parameters, everything, tmp_path):
    import pandas

    table = estimates_table(
        parameters, collect(parameters, [everything / "reports"]).sums
    )
    for suffix, read in (
        ("parquet", pandas.read_parquet),
        ("csv", pandas.read_csv),
        ("json", pandas.read_json),
    ):
        write_table(tmp_path / f"e.{suffix}", table)
        frame = read(tmp_path / f"e.{suffix}")
        assert list(frame.columns) == table.column_names
        expected = table["estimate"].to_numpy()
        np.testing.assert_allclose(frame["estimate"], expected)
    with refused("ends in none of .parquet, .csv, .json", kind=FileError):
        write_table(tmp_path / "e.xlsx", table)


@pytest.mark.parametrize("excel", [False, True])
def test_a_csv_has_no_formula_and_for_excel_a_mark(tmp_path, excel):
    """Other formats have names as they are."""
    formulas = {
        "=1+1": "'=1+1",
        "+49": "'+49",
        "-x": "'-x",
        "@a": "'@a",
        "\t=1": "'\t'=1",
        "a;=1+1": "a;'=1+1",
        'b;"@x': "b;\"'@x",
        "a=1": "a=1",
        "'b": "'b",
        "x-y": "x-y",
    }
    table = pa.table({"answer": list(formulas), "estimate": [-1.5] * len(formulas)})
    path = tmp_path / "e.csv"
    write_table(path, table, excel=excel)
    assert (path.read_bytes()[:3] == b"\xef\xbb\xbf") == excel
    with path.open(encoding="utf-8-sig", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["answer", "estimate"]
    assert [answer for answer, _ in rows] == list(formulas.values())
    assert {estimate for _, estimate in rows} == {"-1.5"}
    write_table(tmp_path / "e.json", table)
    text = (tmp_path / "e.json").read_text()
    written = json.loads(text)
    assert [row["answer"] for row in written] == list(formulas)


def test_a_stranger_in_one_round_costs_no_results(parameters, everything, tmp_path):
    """One report more in round one: every other question stands, and this one says so."""
    (question,) = (law for law in parameters.questions if law.name == "sampled")
    stray = Report(parameters.hash, "sampled", bytes(4), "00" * 8, 1)
    path = tmp_path / "stray.jsonl"
    path.write_text(stray.to_json() + "\n")
    folder = everything / "reports"
    paths = folder.glob("*.parquet")
    collection = collect(parameters, [*paths, path])
    assert (
        collection.sums["sampled", 1].users == 1 + collection.sums["sampled", 2].users
    )
    table = estimates_table(parameters, collection.sums)
    rows = [row for row in table.to_pylist() if row["question"] == "sampled"]
    assert len(rows) == question.levels.total + 1
    for row in rows:
        assert "unmatched reports, of one round alone: 1" in row["remark"]


def test_limits_that_claim_nothing_are_empty_in_every_file(tmp_path):
    """Of cut sets no upper limit is known: the difference of two collections has none."""
    level = Level("all", 2.0, ("tea", "rice", "fish"))
    question = ItemSet("q", (level,), padding_length=1)
    survey = Survey("s", 900, (question,))
    plan = plan_survey(survey)
    parameters = survey_parameters(plan)
    law = parameters.question("q")
    rng = np.random.default_rng(2)
    reports = law.draw_aggregate([[0, 1]] * 400 + [[2]] * 500, rng)
    sums = {("q", None): reports}
    gap = difference_table((parameters, sums), (parameters, sums))
    write_table(tmp_path / "gap.json", gap)
    text = (tmp_path / "gap.json").read_text()
    rows = json.loads(text)
    of_gap = [row for row in rows if row["group"] == "collections: first less second"]
    assert [row["share_upper"] for row in of_gap] == [None] * 3


def test_rounds_that_do_not_fit(parameters, everything):
    folder = everything / "reports"
    (first,) = folder.glob("question-*-round-1.parquet")
    with refused("reports of 'sampled' per round"):
        estimates_table(parameters, collect(parameters, [first]).sums)
    with refused("reports"):
        estimates_table(parameters, {})
