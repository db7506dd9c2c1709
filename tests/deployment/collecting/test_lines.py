"""Newline JSON: a bad line makes its file worthless."""

import json

import pytest

from planner.deployment import Client
from planner.deployment.client.document import line_check
from planner.deployment.collecting.collector import collect
from planner.deployment.collecting.engines import isolated_engine, local_engine

LINES = [
    ("parameters", "0" * 64, "parameters"),
    ("question", "other", "question and round"),
    ("report", "AAAA", "length"),
    ("report", "???", "base64"),
    ("report", "AAAAAAAAAIA=", "0 in all bits"),
    ("round", 1, "question and round"),
    ("extra", 1, "keys"),
    ("id", "", "id"),
    ("id", "\ud800", "text that is not empty"),
    ("id", 7, "id"),
    ("check", "0" * 16, "or the line is damaged"),
    ("check", 7, "check"),
    ("check", None, "check"),
]


@pytest.mark.parametrize(("key", "value", "reason"), LINES, ids=str)
def test_a_bad_line_quarantines_its_file(one_question, tmp_path, key, value, reason):
    client = Client(one_question.document)
    lines = [json.loads(client.report("q", i).to_json()) for i in range(10)]
    lines[4][key] = value
    if key not in {"check", "extra"} and type(value) is str:
        one = lines[4]
        parts = [one[name] for name in ("parameters", "question", "id")]
        one["check"] = line_check(*parts, one.get("round"), one["report"])
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = collect(one_question, [path])
    assert not done.sums
    assert reason in done.quarantined[0][1]


def test_lines_cut_off_repeated_or_no_json(one_question, tmp_path):
    line = Client(one_question.document).report("q", 1).to_json()
    for text, reason in (
        (line, "cut off"),
        (f"{line}\n{line}\n", "of an earlier line"),
        ("{\n", "not JSON"),
        ("[]\n", "keys of line 1"),
        ("[" * 1_000 + "\n", "not JSON"),
        ("[" * 100_000 + "\n", "longer than any report, 1048 bytes"),
        ("", "no reports"),
    ):
        (tmp_path / "a.jsonl").write_text(text)
        done = collect(one_question, [tmp_path])
        assert reason in done.quarantined[0][1]


def test_more_than_a_pilot_is_refused(one_question, tmp_path, monkeypatch):
    line = Client(one_question.document).report("q", 1).to_json() + "\n"
    (tmp_path / "a.jsonl").write_text(line)
    for limit, refused in ((len(line), 0), (len(line) - 1, 1)):
        monkeypatch.setattr("planner.deployment.collecting.reports.MAX_JSON_BYTES", limit)
        done = collect(one_question, [tmp_path])
        assert len(done.quarantined) == refused
    assert f"more than {limit} bytes" in done.quarantined[0][1]


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


BAD_LINES = [
    ('{"parameters":"PARAMETERS","question":"q","id":"x"}', "report of line 1 is"),
    ('{"parameters":"PARAMETERS","question":"q","id":"x","report":{}}', "text that is not"),
    ('{"parameters":"PARAMETERS","question":"q","id":"x","report":"\\u00e9"}', "base64"),
    ('{"parameters":"PARAMETERS","question":"\\ud800"}', "text that is not"),
    ('{"parameters":"PARAMETERS","id":"a","id":"b"}', "the key 'id' appears twice"),
    ('{"parameters":NaN}', "NaN is not a number"),
    ('{"parameters":' + "[" * 480 + "]" * 480 + "}", "text that is not empty"),
    ('{"parameters":' + "9" * 900 + "}", "text that is not empty"),
]


@pytest.mark.parametrize("engine", [local_engine, isolated_engine])
def test_a_bad_line_never_stops_the_collection(one_question, tmp_path, engine):
    """Whatever one file holds, it is named, and the others are counted."""
    client = Client(one_question.document)
    for i, (line, _) in enumerate(BAD_LINES):
        text = line.replace("PARAMETERS", one_question.hash) + "\n"
        (tmp_path / f"bad{i}.jsonl").write_text(text)
    (tmp_path / "good.jsonl").write_text(client.report("q", 1).to_json() + "\n")
    done = collect(one_question, [tmp_path], engine=engine)
    refused = {path.name: reason for path, reason in done.quarantined}
    assert len(refused) == len(BAD_LINES)
    for i, (_, reason) in enumerate(BAD_LINES):
        assert reason in refused[f"bad{i}.jsonl"]
    assert done.sums["q", None].users == 1


def test_a_line_may_be_written_anew(one_question, tmp_path):
    line = json.loads(Client(one_question.document).report("q", 1).to_json())
    again = json.dumps(dict(reversed(line.items())), indent=None, separators=(" , ", " : "))
    (tmp_path / "a.jsonl").write_text(again + "\n")
    assert collect(one_question, [tmp_path]).sums["q", None].users == 1
