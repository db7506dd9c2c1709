"""Newline JSON: a bad line makes its file worthless."""

import json

import pytest

from planner.deployment import Client
from planner.deployment.collecting.counting.collector import collect

LINES = [
    ("parameters", "0" * 64, "parameters"),
    ("question", "other", "question and round"),
    ("report", "AAAA", "length"),
    ("report", "???", "base64"),
    ("report", "AAAAAAAAAIA=", "0 in all bits"),
    ("round", 1, "question and round"),
    ("extra", 1, "keys"),
    ("id", "", "id"),
]


@pytest.mark.parametrize(("key", "value", "reason"), LINES, ids=str)
def test_a_bad_line_quarantines_its_file(one_question, tmp_path, key, value, reason):
    client = Client(one_question.document)
    lines = [json.loads(client.report("q", i).to_json()) for i in range(10)]
    lines[4][key] = value
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = collect(one_question, [path])
    assert not done.sums
    assert reason in done.quarantined[0][1]


def test_lines_cut_off_repeated_or_no_json(one_question, tmp_path):
    line = Client(one_question.document).report("q", 1).to_json()
    for text, reason in (
        (line, "cut off"),
        (f"{line}\n{line}\n", "given once"),
        ("{\n", "not JSON"),
        ("[]\n", "JSON object"),
        ("[" * 100_000 + "\n", "not JSON"),
        ("", "no reports"),
    ):
        (tmp_path / "a.jsonl").write_text(text)
        done = collect(one_question, [tmp_path])
        assert reason in done.quarantined[0][1]


def test_more_than_a_pilot_is_refused(one_question, tmp_path, monkeypatch):
    line = Client(one_question.document).report("q", 1).to_json() + "\n"
    (tmp_path / "a.jsonl").write_text(line)
    for limit, refused in ((len(line), 0), (len(line) - 1, 1)):
        monkeypatch.setattr("planner.deployment.collecting.reports.lines.MAX_JSON_BYTES", limit)
        done = collect(one_question, [tmp_path])
        assert len(done.quarantined) == refused
    assert f"at most {limit}; use Parquet" in done.quarantined[0][1]


def test_rounds_are_told_apart(parameters, tmp_path):
    client = Client(parameters.document, memory=tmp_path / "m.sqlite")
    reports = [
        client.report("sampled", "u", user=str(i), round_number=number)
        for i in range(5)
        for number in (1, 2)
    ]
    (tmp_path / "a.jsonl").write_text("".join(one.to_json() + "\n" for one in reports))
    done = collect(parameters, [tmp_path / "a.jsonl"])
    assert {key: total.users for key, total in done.sums.items()} == {
        ("sampled", 1): 5,
        ("sampled", 2): 5,
    }
