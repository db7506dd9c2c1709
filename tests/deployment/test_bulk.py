"""Answers are randomised from a file."""

import json

import pytest

from planner.deployment import bulk
from planner.deployment.bulk import perturb_file
from planner.deployment.collecting.collector import collect
from planner.errors import FileError


def test_a_question_named_twice_is_answered_once(parameters, everything, tmp_path):
    """Two reports of one answer would spend its budget twice."""
    out = tmp_path / "grr.parquet"
    written = perturb_file(parameters, everything / "answers.csv", out, ("grr", "grr"))
    assert written == {out: 3000}
    assert collect(parameters, [out]).sums["grr", None].users == 3000


@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
def test_progress_counts_people(parameters, everything, tmp_path, ending):
    seen = []
    out = tmp_path / f"grr.{ending}"
    perturb_file(parameters, everything / "answers.csv", out, ["grr"], seen.append)
    assert seen == [3000]


def test_lines_have_ids_of_their_own(parameters, everything, tmp_path):
    out = tmp_path / "grr.jsonl"
    perturb_file(parameters, everything / "answers.csv", out, ["grr"])
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert len({line["id"] for line in lines}) == 3000


def test_a_directory_that_cannot_be_made(parameters, everything, tmp_path):
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(FileError, match=r"taken.*cannot be made"):
        perturb_file(parameters, everything / "answers.csv", tmp_path / "taken")
    assert (tmp_path / "taken").read_text() == "a file"


def test_large_reports_are_drawn_a_few_people_at_a_time(
    parameters, everything, tmp_path, monkeypatch
):
    monkeypatch.setattr(bulk, "_BLOCK_BYTES", 8 * 700)
    seen, out = [], tmp_path / "idue.parquet"
    perturb_file(parameters, everything / "answers.csv", out, ["idue"], seen.append)
    assert seen == [700, 1400, 2100, 2800, 3000]
    assert collect(parameters, [out]).sums["idue", None].users == 3000


def test_lines_that_no_collector_would_read_are_not_written(
    parameters, everything, tmp_path, monkeypatch
):
    monkeypatch.setattr(bulk, "MAX_JSON_BYTES", 20_000)
    out = tmp_path / "idue.jsonl"
    with pytest.raises(FileError, match=r"idue.jsonl: would have more than 20000 bytes.*\.parquet"):
        perturb_file(parameters, everything / "answers.csv", out, ["idue"])
    assert not out.exists()
