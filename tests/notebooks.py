"""Run a notebook like its reader: each cell in turn, and what it shows beside what it showed.

A cell shows what it prints and its last expression, as a notebook does. ``python -m
tests.notebooks NOTEBOOK.ipynb ...`` writes what is shown into the notebooks.
"""

import ast
import contextlib
import io
import json
import sys
import tempfile
from pathlib import Path

from tests.documents import ROOT


def run(notebook: dict, folder: Path) -> dict:
    """The notebook with the outputs that it should have."""
    if not (folder / "examples").exists():
        (folder / "examples").symlink_to(ROOT / "examples")
    names = {}
    cells = []
    count = 0
    with contextlib.chdir(folder):
        for cell in notebook["cells"]:
            played = cell
            if cell["cell_type"] == "code":
                count += 1
                played = cell | {
                    "execution_count": count,
                    "outputs": _shown(cell, names, count),
                }
            cells.append(played)
    return notebook | {"cells": cells}


def html_of(value: object) -> str:
    """What a notebook shows of a value that has a page of its own; empty of others."""
    if not hasattr(value, "_repr_html_"):
        return ""
    return value._repr_html_()


def _shown(cell: dict, names: dict, count: int) -> list[dict]:
    *body, last = ast.parse("".join(cell["source"])).body
    printed = io.StringIO()
    value = None
    with contextlib.redirect_stdout(printed):
        if not isinstance(last, ast.Expr):
            body = [*body, last]
            last = None
        exec(compile(ast.Module(body, []), "cell", "exec"), names)  # noqa: S102 - our own
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)  # noqa: S307
    outputs = []
    if printed.getvalue():
        text = printed.getvalue().splitlines(keepends=True)
        outputs.append({"name": "stdout", "output_type": "stream", "text": text})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        html = html_of(value)
        if html:
            data = {"text/html": html.splitlines(keepends=True)} | data
        result = {
            "execution_count": count,
            "metadata": {},
            "output_type": "execute_result",
        }
        outputs.append({"data": data} | result)
    return outputs


def text_of(notebook: dict) -> str:
    """As notebooks are written."""
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as name:
            found = run(json.loads(Path(argument).read_text("utf-8")), Path(name))
        Path(argument).write_text(text_of(found), "utf-8")
