"""Answers are randomised from a file."""

import pyarrow.parquet as pq
import pytest

from planner import Categorical, Level, Survey, randomized_response
from planner.deployment import bulk
from planner.deployment.building import parameters_from_mechanisms
from planner.deployment.bulk import perturb_file
from planner.deployment.collecting.collector import collect
from planner.survey import reading
from tests.refusals import refused


def test_a_question_named_twice_is_answered_once_and_a_few_people_at_a_time(
    parameters, everything, tmp_path, monkeypatch
):
    """Two reports of one answer would spend its budget twice."""
    monkeypatch.setattr(bulk, "_BLOCK_BYTES", 8 * 700)
    monkeypatch.setattr(reading, "_ROWS_AT_A_TIME", 2000)
    seen, out = [], tmp_path / "idue.parquet"
    twice = ("idue", "idue")
    found = perturb_file(parameters, everything / "answers.csv", out, twice, seen.append)
    assert found.written == {out: 3000}
    assert seen == [2000, 3000]
    assert collect(parameters, [out]).sums["idue", None].users == 3000


@pytest.mark.parametrize(
    ("text", "names", "out"),
    [
        ("idue\nHIV\nnobody\n", ["idue"], "out.parquet"),
        ("idue\n", ["idue"], "out.parquet"),
        ("idue,sets\nHIV,[1]\n", ["idue"], "x.csv"),
        ("idue,grr\nHIV,x\n", ["idue", "grr"], "out.parquet"),
        ("idue\nHIV\n", ["nothing"], "out.parquet"),
        ("idue,grr\nHIV,x\n", ["idue", "grr"], "answers"),
        ("idue\n" + "HIV\n" * 200, ["idue"], "o.jsonl"),
    ],
)
def test_what_is_refused_leaves_no_file(parameters, tmp_path, monkeypatch, text, names, out):
    monkeypatch.setattr(bulk, "MAX_JSON_BYTES", 20_000)
    data = tmp_path / "answers"
    data.write_text(text)
    with refused():
        perturb_file(parameters, data, tmp_path / out, names)
    assert list(tmp_path.iterdir()) == [data]
    assert data.read_text() == text


def test_rows_of_two_files_are_not_of_one_person(tmp_path):
    """The reports of half of the people say 0, of the others 1, in order, to both questions."""
    names, people = ("a", "b"), 2_000
    level = (Level("only", 20.0, item_count=2),)
    survey = Survey("s", people, tuple(Categorical(name, level) for name in names))
    truth = {name: randomized_response(20.0, items=2) for name in names}
    (tmp_path / "answers.csv").write_text("a,b\n" + "0,0\n" * 1_000 + "1,1\n" * 1_000)
    parameters = parameters_from_mechanisms(survey, truth)
    found = perturb_file(parameters, tmp_path / "answers.csv", tmp_path / "reports").written
    a, b = ([row[0] for row in pq.read_table(path)["report"].to_pylist()] for path in found)
    assert len(set(a)) == len(set(b)) == 2
    # Of so many pairs in any order half are alike, give or take 22: 7 times that is 1e-12.
    assert abs(sum(x == y for x, y in zip(a, b, strict=True)) - people / 2) < 7 * 22.4
    assert abs(a[: people // 2].count(a[0]) - people / 4) < 7 * 11.2
