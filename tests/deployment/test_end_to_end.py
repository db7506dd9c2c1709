"""perturb -> aggregate -> estimate with the commands, on every mechanism."""

import json

import pytest
from typer.testing import CliRunner

from planner.cli.commands import app
from planner.errors import InputError


def command(*words, code=0):
    """The command's outcome; its exit code is checked."""
    result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


def test_newline_json_by_the_command(parameter_file, everything, tmp_path):
    out = tmp_path / "grr.jsonl"
    words = ("--data", everything / "answers.csv", "--out", out, "--question", "grr")
    command("perturb", parameter_file, *words)
    assert len(out.read_text().splitlines()) == 3000
    shown = command("aggregate", parameter_file, out, "--json")
    document = json.loads(shown.stdout)
    assert document["reports"] == 3000


def fails(*words):
    with pytest.raises(InputError) as caught:
        command(*words)
    return str(caught.value)


def test_perturb_refuses_before_anything_is_written(parameter_file, tmp_path):
    data, out = tmp_path / "a.csv", tmp_path / "out.parquet"
    one = ("--question", "idue")
    for text, more, reason in (
        ("idue\nHIV\nnobody\n", one, "line 3: answer"),
        ("idue\n", one, "no rows"),
        ("idue,sets,age\nHIV,[1],1\n", (*one, "--out", tmp_path / "x.csv"), "ends neither"),
        ("idue,grr\nHIV,x\n", (*one, "--question", "grr"), "one file"),
        ("idue\nHIV\n", ("--question", "nothing"), "nothing"),
    ):
        data.write_text(text)
        assert reason in fails("perturb", parameter_file, "--data", data, "--out", out, *more)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv"]


def test_aggregate_says_what_was_left_out(parameter_file, everything, tmp_path):
    folder = tmp_path / "reports"
    folder.mkdir()
    source = everything / "reports" / "question-7.parquet"
    (folder / "a.parquet").write_bytes(source.read_bytes())
    (folder / "b.parquet").write_bytes(source.read_bytes())
    out = tmp_path / "e.csv"
    shown = command("aggregate", parameter_file, folder, "--out", out, code=3)
    assert "LEFT OUT" in shown.stdout
    assert "is a copy of" in shown.stdout
    assert out.exists()
    again = command("aggregate", parameter_file, folder, "--out", out, "--json", code=3)
    assert json.loads(again.stdout)["files_counted_before"] == 1
    (folder / "a.parquet").unlink()
    (folder / "b.parquet").write_bytes(b"")
    with pytest.raises(InputError, match="none of the files can be counted"):
        command("aggregate", parameter_file, folder)
