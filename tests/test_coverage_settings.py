"""Coverage counts the same files whatever folder a measured process is started in."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from coverage import CoverageData

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = ROOT / "pyproject.toml"
LEFT_OUT = ROOT / "planner" / "ui"

# A plain process; and a process of a pool like the app's, whose parent changed its folder.
A_PROCESS = """
import subprocess, sys
program = [sys.executable, "-c", "import planner.errors, planner.ui"]
subprocess.run(program, cwd={folder!r}, check=True)
"""
A_WORKER = """
import os
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from multiprocessing import get_context

if __name__ == "__main__":
    os.chdir({folder!r})
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        for module in ("planner.errors", "planner.ui"):
            pool.submit(import_module, module).exception()  # modules do not travel back
"""


@pytest.mark.parametrize("parent", [A_PROCESS, A_WORKER], ids=["process", "worker"])
def test_a_process_started_elsewhere_leaves_out_the_same_files(parent, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    script = tmp_path / "parent.py"
    script.write_text(parent.format(folder=str(elsewhere)))
    measured = measured_files(script, tmp_path)
    assert ROOT / "planner" / "errors.py" in measured  # the process was measured
    assert [path for path in measured if path.is_relative_to(LEFT_OUT)] == []


def measured_files(script, folder):
    """All files that the processes of a script report, run or not, started from the checkout."""
    data = folder / "coverage"
    outside = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    subprocess.run(  # noqa: S603 - our own program
        [
            *(sys.executable, "-m", "coverage", "run"),
            *(f"--rcfile={SETTINGS}", f"--data-file={data}", str(script)),
        ],
        cwd=ROOT,
        env=outside | {"PYTHONPATH": str(ROOT)},
        check=True,
    )
    parts = list(folder.glob("coverage.*"))
    assert len(parts) > 1, "only one process was measured"
    found = set()
    for part in parts:
        figures = CoverageData(str(part))
        figures.read()
        found.update(map(Path, figures.measured_files()))
    return found
