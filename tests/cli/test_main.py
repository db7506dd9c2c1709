import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from planner import VerificationError, __version__
from planner.cli import main
from planner.cli.commands import app
from planner.deployment.client.document import content_hash
from planner.deployment.parameters import read_parameters
from tests.cli.running import ended, invoke, run, shown
from tests.surveys import EXAMPLES

COMMANDS = sorted(typer.main.get_command(app).commands)


@pytest.fixture
def params(survey, tmp_path):
    path = tmp_path / "params.json"
    result = invoke("plan", survey, "--out", path)
    assert result.exit_code == 0
    return path


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)])
def test_help(command):
    result = invoke(*command, "--help")
    assert result.exit_code == 0
    assert result.stdout.startswith("Usage: ")
    assert "--help" in result.stdout
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert "..." not in result.stdout.partition("Commands:")[2]  # no summary is cut


@pytest.mark.parametrize("command", COMMANDS)
def test_help_names_what_to_type_and_no_type_of_python(command):
    shown = invoke(command, "--help").stdout
    assert re.findall(r"<\w[^>]*>|\[(?:str|Path)\]", shown) == []


def test_nothing_asked_is_a_request_for_help():
    done = ended()
    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout == ended("--help").stdout
    for name in COMMANDS:
        assert f"\n  {name} " in done.stdout


def test_every_command_has_json_and_a_summary():
    for name, command in typer.main.get_command(app).commands.items():
        assert command.help, name
        machine = any("--json" in option.opts for option in command.params)
        # Two serve pages, two print JSON anyway.
        assert machine == (name not in {"app", "receive", "schema", "vectors"}), name


def test_verify_lists_every_pair(params):
    result = invoke("verify", params)
    assert result.exit_code == 0
    assert (
        "Every pair keeps its promised budget, proven in exact integer arithmetic."
        in " ".join(result.stdout.split())
    )
    document = json.loads(invoke("verify", params, "--json").stdout)
    assert document["verified"] is True
    pairs = document["questions"][0]["pairs"]
    names = [(pair["level"], pair["against"]) for pair in pairs]
    assert names == [("severe", "common"), ("common", "common")]
    assert all(pair["realised"] <= pair["demanded"] for pair in pairs)


def test_verify_fails_on_the_first_violation(params):
    text = params.read_text()
    group = read_parameters(params).questions[0].shape.weights[0]
    often = max(max(sides) for sides in group)
    altered = json.loads(text.replace(str(often), str(often + 1000)))
    params.write_text(json.dumps(altered | {"hash": content_hash(altered)}))
    result = invoke("verify", params)
    assert result.exit_code != 0
    assert isinstance(result.exception, VerificationError)
    assert result.stdout == ""
    assert isinstance(invoke("verify", params, "--json").exception, VerificationError)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ("plan", "none.toml"),
            1,
            "none.toml: cannot be read: No such file or directory",
        ),
        (
            ("verify", EXAMPLES / "health.toml"),
            1,
            "health.toml: is a survey, not a parameter file",
        ),
        (
            ("plan", EXAMPLES / "health.toml", "--model", "opt9"),
            1,
            "mechanism of question 'diagnosis' is 'opt9'",
        ),
        (
            ("plan", EXAMPLES / "health.toml", "--mechanism", "gr"),
            1,
            "Did you mean 'grr'?",
        ),
        (
            ("plan", EXAMPLES / "health.toml", "--model", ""),
            1,
            "mechanism is empty but must be",
        ),
        (
            ("plan", EXAMPLES / "health.toml", "--out", "/proc/none/x"),
            1,
            "cannot be written",
        ),
        (("plan",), 2, "Missing argument 'SURVEY.toml'. Try: ldp-planner plan --help"),
        (("plan", "x", "--mechansim", "grr"), 2, "--mechanism"),
        (
            ("plan", "x", "--out"),
            2,
            "'--out' requires an argument. Try: ldp-planner --help",
        ),
        (
            ("simulate", "x", "--data", "y", "--seed", "z"),
            2,
            "Invalid value for '--seed'",
        ),
        (("pla",), 2, "'plan'"),
    ],
)
def test_an_error_is_one_sentence_without_a_traceback(arguments, code, message):
    done = ended(*arguments)
    assert done.returncode == code
    assert done.stdout == ""
    assert done.stderr.startswith("ldp-planner: ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1  # for people and for grep: never wrapped


def test_stopping_is_no_accident(monkeypatch, capsys):
    def stop(*_, **__):
        raise typer.Abort

    monkeypatch.setattr("planner.cli.commands.app", stop)
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 130
    assert capsys.readouterr().err == "ldp-planner: stopped.\n"


NASTY = (
    "\x1b[2J\x1b]0;title\x07 [link](http://x.example) \u202e ![x](http://x.example) "
    "<img src=http://x.example> <a href=http://x.example>y</a>"
)
TAG = re.compile(
    r"(?:<|\\u003c)(?:img|a)\b[^>]*x\.example"
)  # as HTML, or in a chart's JSON


def test_names_never_reach_the_screen_as_commands(tmp_path):
    """One nasty survey through every command that prints its names."""
    escaped = NASTY.replace("\x1b", "\\u001b").replace("\x07", "\\u0007")
    text = f"""[survey]
name = "s {escaped}"
users = 1000
[[question]]
name = "q {escaped}"
[[question.level]]
name = "a {escaped}"
epsilon = 1.0
items = ["i {escaped}", "j"]
"""
    path = tmp_path / f"{NASTY.replace('/', '')}.toml"
    params = tmp_path / "params.json"
    path.write_text(text)
    answers = tmp_path / "answers.csv"
    answers.write_text(f"q {NASTY}\n" + "j\n" * 20)
    reports = tmp_path / "reports"
    reports.mkdir()
    (reports / path.name).write_text("")
    (reports / "x\n9 reports in 1 file counted.jsonl").write_text("")
    pages = []
    for words in (
        ("plan", path, "--out", params, "--report", tmp_path / "report.html"),
        ("compare", path, path),
        ("verify", params),
        ("perturb", params, "--data", answers, "--out", reports / "a.parquet"),
        ("aggregate", params, reports, "--out", tmp_path / "e.csv"),
    ):
        done = invoke(*words)
        assert done.exit_code in {0, 3}, done.exception
        pages.append(done.stdout)
    pages.append(ended("verify", path).stderr)  # what is refused is printed elsewhere
    assert ["\\x1b[2J" in page for page in pages] == [
        True,
        True,
        True,
        False,
        True,
        True,
    ]
    for page in pages:
        assert not set(page) & set("\x1b\x07\u202e")
    assert not any(line.startswith("9 reports") for line in pages[4].splitlines())
    report = (tmp_path / "report.html").read_text()
    assert report.count("x.example") >= 4  # the names are there, as text
    assert not TAG.search(report)
    assert TAG.search(f"<p>{NASTY}</p>")


@pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="the system has no full device"
)
def test_an_output_that_is_full_is_one_sentence():
    call = [sys.executable, "-c", "from planner.cli import main; main()", "schema"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(  # noqa: S603
            call, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 1
    assert done.stderr == (
        "ldp-planner: the output cannot be written: No space left on device. "
        "Make room, and run again.\n"
    )


STOPPED = """
import os, signal, sys
from importlib.abc import MetaPathFinder
class Stop(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "typer":
            os.kill(os.getpid(), getattr(signal, sys.argv[1]))
sys.meta_path.insert(0, Stop())
# As at a keyboard: what runs in the background may have been told to ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)
from planner.cli import main
main()
"""


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_stopped_while_it_starts(name, code):
    call = [sys.executable, "-c", STOPPED, name]
    done = subprocess.run(call, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == code
    assert "Traceback" not in done.stderr


def test_small_systems_are_solved_by_one_thread(monkeypatch):
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    monkeypatch.setattr(sys, "argv", ["ldp-planner", "--version"])
    with pytest.raises(SystemExit):
        main()
    assert os.environ["OPENBLAS_NUM_THREADS"] == "1"
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")  # whoever wants more is let have it
    with pytest.raises(SystemExit):
        main()
    assert os.environ["OPENBLAS_NUM_THREADS"] == "2"


def test_the_version_and_short_help():
    assert shown("--version") == f"ldp-planner {__version__}\n"
    assert shown("-h") == shown("--help")
    assert shown("plan", "-h") == shown("plan", "--help")


def test_completion_of_commands():
    asked = {"COMP_WORDS": "ldp-planner ver", "COMP_CWORD": "1"}
    done = run("", _LDP_PLANNER_COMPLETE="complete_bash", **asked)
    assert "verify" in done.stdout.split()
