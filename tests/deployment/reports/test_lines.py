"""Newline JSON: a bad line makes its file worthless."""

import json

import pytest

from planner.deployment import Client
from planner.deployment.collector import collect

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
    client = Client(one_question.model_dump(mode="json"))
    lines = [json.loads(client.report("q", i).to_json()) for i in range(10)]
    lines[4][key] = value
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = collect(one_question, [path])
    assert not done.sums
    assert reason in done.quarantined[0][1]


def test_lines_cut_off_repeated_or_no_json(one_question, tmp_path):
    line = Client(one_question.model_dump(mode="json")).report("q", 1).to_json()
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
