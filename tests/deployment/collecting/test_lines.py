"""Newline JSON: a bad line makes its file worthless."""

import json
from dataclasses import replace

import pytest

from planner.deployment import Client
from planner.deployment.collecting.collector import collect

LINES = [
    ("parameters", "0" * 64, "parameters"), ("question", "other", "question and round"),
    ("payload", b"123", "length of line 5"), ("payload", b"1234567\x80", "0 in all bits"),
    ("round_number", 1, "question and round"), ("round_number", True, "byte for byte"),
    ("report_id", "", "byte for byte"), ("report_id", "AB" * 8, "byte for byte"),
    ("report_id", "ab" * 7, "byte for byte"),
]  # fmt: skip


@pytest.mark.parametrize(("field", "value", "reason"), LINES, ids=str)
def test_a_bad_report_quarantines_its_file(one_question, tmp_path, field, value, reason):
    client = Client(one_question.document)
    reports = [client.report("q", i) for i in range(10)]
    reports[4] = replace(reports[4], **{field: value})
    path = tmp_path / "a.jsonl"
    path.write_text("".join(one.to_json() + "\n" for one in reports))
    done = collect(one_question, [path])
    assert not done.sums
    assert reason in done.quarantined[0][1]


def test_more_than_a_pilot_is_refused(one_question, tmp_path, monkeypatch):
    line = Client(one_question.document).report("q", 1).to_json() + "\n"
    (tmp_path / "a.jsonl").write_text(line)
    for limit, refused in ((len(line), 0), (len(line) - 1, 1)):
        monkeypatch.setattr("planner.deployment.collecting.reports.MAX_JSON_BYTES", limit)
        done = collect(one_question, [tmp_path])
        assert len(done.quarantined) == refused
    assert f"more than {limit} bytes" in done.quarantined[0][1]


def test_a_line_sent_again_counts_once(one_question, tmp_path):
    """As clients do that got no answer; the same id with other contents costs the file."""
    client = Client(one_question.document)
    first, second, third = (client.report("q", i).to_json() + "\n" for i in (1, 2, 3))
    (tmp_path / "a.jsonl").write_text(3 * first + second + first)
    (tmp_path / "b.jsonl").write_text(2 * second + 2 * third)
    done = collect(one_question, [tmp_path])
    assert not done.quarantined
    assert done.sums["q", None].users == 3
    assert [one.repeated for one in done.counted] == [3, 3]
    forged = replace(client.report("q", 4), report_id=json.loads(third)["id"]).to_json()
    (tmp_path / "b.jsonl").write_text(f"{third}{forged}\n")
    done = collect(one_question, [tmp_path])
    assert done.sums["q", None].users == 2
    assert "line 2 has the id" in done.quarantined[0][1]


NO_LINES = [
    '{"parameters":"PARAMETERS","question":"q","id":"x"}',
    '{"parameters":"PARAMETERS","question":"q","id":"x","report":{}}',
    '{"parameters":"PARAMETERS","question":["q"],"id":"x","report":""}',
    '{"parameters":"PARAMETERS","question":"q","id":7,"report":"\\u00e9"}',
    '{"parameters":"PARAMETERS","question":"\\ud800","id":"x","report":""}',
    '{"parameters":"PARAMETERS","id":"a","id":"b"}',
    *("[]", "{", "7", "null", '"report"', "[" * 1000, " GOOD"),
    '{"parameters":NaN}',
    '{"parameters":' + "[" * 480 + "]" * 480 + "}",
    '{"parameters":' + "9" * 900 + "}",
]
BAD = [(line + "\n", "line 1 is not, byte for byte, what a client writes") for line in NO_LINES]
BAD += [("GOOD", "cut off"), ("", "no reports")]


def test_a_bad_line_never_stops_the_collection(one_question, tmp_path):
    """Whatever one file holds, it is named, and the others are counted."""
    first, second = (Client(one_question.document).report("q", i).to_json() for i in (1, 2))
    for i, (text, _) in enumerate(BAD):
        whole = text.replace("PARAMETERS", one_question.hash).replace("GOOD", first)
        (tmp_path / f"{i:02}.jsonl").write_text(whole)
    (tmp_path / "good.jsonl").write_text(second + "\n")
    done = collect(one_question, [tmp_path])
    assert done.sums["q", None].users == 1
    assert [path.name for path, _ in done.quarantined] == [f"{i:02}.jsonl" for i in range(len(BAD))]
    for (_, found), (_, reason) in zip(done.quarantined, BAD, strict=True):
        assert reason in found
