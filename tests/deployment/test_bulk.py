"""Bulk draws follow the client's law, and answers are randomised from a file."""

import json

import numpy as np
import pytest
from scipy.stats import norm

from planner.deployment import bulk
from planner.deployment.bulk import perturb_file
from planner.deployment.client.drawing.entropy import system
from planner.deployment.collecting.collector import collect
from planner.deployment.mechanisms.unary import _bernoulli, draw_unary
from planner.errors import FileError

FALSE_ALARM = 1e-6


def test_bulk_bits_are_exact():
    """All first digits, and at a tie all values around the rest: k of 2^32, counted."""
    threshold = np.uint32(0x5A_123456)

    def bit(first, rest):
        played = iter([bytes([first]), np.array([rest], "<u4").tobytes()])
        return bool(_bernoulli(np.array([threshold]), 1, lambda _: next(played))[0, 0])

    ones = sum(bit(first, 0xFFFFFFFF) * 2**24 for first in range(256) if first != 0x5A)
    assert ones == 0x5A * 2**24
    below = [bit(0x5A, rest) for rest in (0, 0x123455, 0x123456, 0xFFFFFF, 0xFF_000000)]
    assert below == [True, True, False, False, True]  # 0x123456 of the 2^24 rests


def test_bulk_reports_follow_the_law(one_question):
    law, n = one_question.questions[0].law, 30_000
    true = np.full(n, 2)
    rows = draw_unary(law, true, system)
    counts = np.unpackbits(rows, axis=1, bitorder="little")[:, :40].sum(axis=0)
    level = np.array(law.levels.level_of())
    p = np.array(law.b)[level] / 2**32
    p[2] = law.a[0] / 2**32
    z = (counts - n * p) / np.sqrt(n * p * (1 - p))
    limit = norm.isf(FALSE_ALARM / 80)
    assert abs(z).max() < limit
    wrong = (counts - n * 1.1 * p) / np.sqrt(n * p * (1 - p))
    assert abs(wrong).min() > limit  # a near miss shows in every bit


# -- files -------------------------------------------------------------------------


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
