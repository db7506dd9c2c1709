"""Play a Markdown page like a reader who types everything in: what it shows must come true.

In order, in one empty folder: a block with a title is saved under that name (but for changes to
code, of the kind ``diff``, whose title is the file that they would change), a Python block
runs as a doctest, and a console block that starts with ``$ ldp-planner`` runs the command,
whose output on a terminal 80 columns wide must be what the block shows. Where the block shows
``...`` any output will do: real reports are never the same twice. What a simulation measured,
and its standard error, may differ: another processor rounds a solution otherwise and draws
another stream.

``python -m tests.documents PAGE.md ...`` writes the commands' real output into the pages.
"""

import contextlib
import doctest
import re
import shlex
import sys
import tempfile
from pathlib import Path

from tests.cli.running import ended

ROOT = Path(__file__).parents[1]
FENCE = re.compile(
    r"^(?P<indent> *)```(?P<kind>\w*)(?: title=\"(?P<title>[^\"]+)\")?\n"
    r"(?P<body>.*?)^(?P=indent)```$",
    re.DOTALL | re.MULTILINE,
)
MEASURED = re.compile(r" +[\d,.]+ +[\d,.]+ +(?=[\d,.]+$)", re.MULTILINE)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def play(page: Path, folder: Path) -> str:
    """The page's text as it should be; fails on a Python example that does not hold."""
    if not (folder / "examples").exists():
        (folder / "examples").symlink_to(ROOT / "examples")
    names: dict[str, object] = {}

    def block(match: re.Match[str]) -> str:
        body = match["body"]
        if match["kind"] == "diff":
            return match[0]
        if match["title"]:
            (folder / match["title"]).write_text(body, encoding="utf-8")
        elif match["kind"] == "python":
            _run_doctest(
                page, body, names, page.read_text()[: match.start()].count("\n")
            )
        elif body.startswith("$ ldp-planner "):
            command, shown = body.split("\n", 1)
            printed = run(command[2:], folder)
            printed += "\n" * bool(printed)
            if "simulate" in command and MEASURED.sub(" ", shown) == MEASURED.sub(
                " ", printed
            ):
                return match[0]
            if not (
                "..." in shown
                and doctest.OutputChecker().check_output(shown, printed, FLAGS)
            ):
                return match[0].replace(body, f"{command}\n{printed}")
        return match[0]

    with contextlib.chdir(folder):
        return FENCE.sub(block, page.read_text(encoding="utf-8"))


def run(command: str, folder: Path) -> str:
    """What the command prints on a terminal 80 columns wide."""
    with contextlib.chdir(folder):
        done = ended(*shlex.split(command)[1:])
    shown = done.stdout + (done.stderr if done.returncode else "")
    return "\n".join(line.rstrip() for line in shown.splitlines()).strip()


def _run_doctest(page: Path, body: str, names: dict[str, object], line: int) -> None:
    assert ">>>" in body, f"{page.name}: a Python block that does not run:\n{body}"
    test = doctest.DocTestParser().get_doctest(body, names, page.name, str(page), line)
    report: list[str] = []
    failed = doctest.DocTestRunner(optionflags=FLAGS).run(
        test, out=report.append, clear_globs=False
    )
    assert failed.failed == 0, "".join(report)
    names.update(test.globs)


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as name:
            Path(argument).write_text(
                play(Path(argument).resolve(), Path(name)), encoding="utf-8"
            )
