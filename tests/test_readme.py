"""Every console block of the README with a ``$ ldp-planner`` line is that command's real output."""

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
BLOCK = re.compile(r"```console\n\$ (ldp-planner [^\n]*)\n(.*?)```", re.DOTALL)


def _blocks():
    return BLOCK.findall(README.read_text())


def run(command: str, folder: Path) -> str:
    """What the command prints on a terminal 80 columns wide."""
    call = [sys.executable, "-c", "from planner.cli import main; main()"]
    terminal = {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(  # noqa: S603 - the commands are the README's own
        [*call, *shlex.split(command)[1:]],
        cwd=folder,
        env=os.environ | terminal,
        capture_output=True,
        text=True,
        check=True,
    )
    return "\n".join(line.rstrip() for line in done.stdout.splitlines()).strip()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("readme")
    (place / "examples").symlink_to(ROOT / "examples")
    return place


def test_readme_shows_commands():
    assert len(_blocks()) >= 2


@pytest.mark.parametrize(("command", "shown"), _blocks(), ids=[c for c, _ in _blocks()])
def test_command_prints_what_the_readme_shows(command, shown, folder):
    if "verify" in command:  # it reads what the first command wrote
        run(_blocks()[0][0], folder)
    printed = run(command, folder)
    assert printed == "\n".join(line.rstrip() for line in shown.splitlines()).strip()


def test_python_examples_run():
    text = re.search(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert text
    test = doctest.DocTestParser().get_doctest(text[1], {}, "README", None, 0)
    assert doctest.DocTestRunner().run(test).failed == 0


if __name__ == "__main__":  # write the real output into the README
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        (place / "examples").symlink_to(ROOT / "examples")
        README.write_text(
            BLOCK.sub(
                lambda m: f"```console\n$ {m[1]}\n{run(m[1], place)}\n```", README.read_text()
            )
        )
