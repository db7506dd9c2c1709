"""What can be said of the container unbuilt: who runs it, what goes in, what it calls."""

import json
import re
from pathlib import Path

import typer

from planner.cli.commands import app
from planner.errors import InputError
from tests.cli.running import invoke

ROOT = Path(__file__).parents[2]
LINES = [
    line
    for line in (ROOT / "Dockerfile").read_text().splitlines()
    if line and not line.startswith("#")
]


def said(word):
    return [line.removeprefix(f"{word} ") for line in LINES if line.startswith(f"{word} ")]


def test_it_is_run_by_a_user_without_rights_who_was_made_before():
    (user,) = said("USER")
    made = next(k for k, line in enumerate(LINES) if "useradd" in line and line.endswith(user))
    used = LINES.index(f"USER {user}")
    assert made < used < LINES.index(f"ENTRYPOINT {said('ENTRYPOINT')[0]}")
    assert user not in ("root", "0")
    assert not any(line.startswith("RUN") for line in LINES[used:])


def test_what_is_copied_exists_and_nothing_else_can_be():
    copied = [word for line in said("COPY") for word in line.split()[:-1]]
    assert all((ROOT / name).exists() for name in copied)
    ignored = (ROOT / ".dockerignore").read_text().split()
    assert ignored[0] == "*"
    assert {word.removeprefix("!") for word in ignored if word.startswith("!")} == set(copied)


def test_it_holds_no_secret():
    text = "\n".join(LINES).lower()
    assert not re.search(r"\b(arg|env|add)\b|password|token|secret|https?://(?!127\.0\.0\.1)", text)


def test_what_it_calls_exists():
    assert json.loads(said("ENTRYPOINT")[0]) == ["ldp-planner"]
    assert 'ldp-planner = "planner.cli:main"' in (ROOT / "pyproject.toml").read_text()
    name, *options = json.loads(said("CMD")[0])
    commands = typer.main.get_command(app).commands
    assert {"aggregate", name} <= set(commands)
    known = {text for one in commands[name].params for text in (*one.opts, *one.secondary_opts)}
    assert {word for word in options if word.startswith("--")} <= known
    assert int(said("EXPOSE")[0]) == next(
        one.default for one in commands[name].params if one.name == "port"
    )


def test_the_app_listens_on_this_machine_unless_told(monkeypatch):
    called = []
    monkeypatch.setattr("os.execv", lambda _, words: called.append(words))
    invoke("app", "--no-browser")
    invoke("app", "--no-browser", "--address", "0.0.0.0")  # noqa: S104 - in a container
    assert [words[-1] for words in called] == ["127.0.0.1", "0.0.0.0"]  # noqa: S104
    result = invoke("app", "--address", "example")
    assert isinstance(result.exception, InputError)
    assert "address is 'example' but must be an IP address" in str(result.exception)
    assert len(called) == 2
