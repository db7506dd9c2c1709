"""From sums to estimates: every mechanism within its intervals, in every format."""

import numpy as np
import pyarrow as pa

from planner.deployment.collecting.collector import collect
from planner.deployment.collecting.estimating import estimates_table, write_table
from planner.errors import FileError
from tests.deployment.examples import ANSWERS
from tests.refusals import refused


def test_every_mechanism_is_estimated_within_its_intervals(parameters, everything):
    done = collect(parameters, [everything / "reports"])
    assert not done.quarantined
    # About 100 intervals of real draws: one misses the truth with a chance of 1e-7.
    rows = estimates_table(parameters, done.sums, confidence=1 - 1e-9).to_pylist()
    assert {row["question"] for row in rows} == set(ANSWERS)
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
    }
    assert {row["level"] for row in rows} == {"", "severe", "common", "a", "b", "cells"}
    assert numbers.keys() <= {(row["question"], row["answer"]) for row in rows}
    for row in rows:
        key = (row["question"], row["answer"])
        held = row["answer"] in ANSWERS[row["question"]].split(";")
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
        np.testing.assert_allclose(frame["estimate"], table["estimate"].to_numpy())
    with refused("ends in none of .parquet, .csv, .json", kind=FileError):
        write_table(tmp_path / "e.xlsx", table)


def test_a_file_for_excel_has_its_mark_and_no_formula(tmp_path):
    table = pa.table(
        {"answer": ["=1+1", "+49", "-x", "@a", "a=1", "'b"], "estimate": [-1.5] * 6}
    )
    write_table(tmp_path / "e.csv", table, excel=True)
    lines = (tmp_path / "e.csv").read_bytes().decode("utf-8-sig").splitlines()
    assert (tmp_path / "e.csv").read_bytes()[:3] == b"\xef\xbb\xbf"
    assert [line.partition(",")[0].strip('"') for line in lines] == [
        "answer",
        "'=1+1",
        "'+49",
        "'-x",
        "'@a",
        "a=1",
        "'b",
    ]
    assert {line.rpartition(",")[2] for line in lines[1:]} == {"-1.5"}


def test_rounds_that_do_not_fit(parameters, everything):
    folder = everything / "reports"
    (first,) = folder.glob("question-*-round-1.parquet")
    with refused("reports of 'sampled' per round"):
        estimates_table(parameters, collect(parameters, [first]).sums)
    with refused("reports"):
        estimates_table(parameters, {})
