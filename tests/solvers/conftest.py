"""How much work tests of this folder may take: a worse search still proves its answer, only later,
and nothing but counts of what it does would tell."""

import json
import os
from pathlib import Path
from pkgutil import resolve_name

import pytest

COUNTED = {
    "models.Program.pieces": lambda *_: 1,
    "generation.saddle": lambda *_: 1,
    "saddle._second_order": lambda *_: 1,
    "game._sides": lambda _, __, columns: len(columns.sums),
    "counts._promising": lambda *_: 1,
    "counts.Priced.bounded": lambda _, boxes, __: boxes.window.size,
}
FILE = Path(__file__).with_name("work.json")
MOST = json.loads(FILE.read_text())


@pytest.fixture(autouse=True)
def _no_more_work_than_it_took(request, monkeypatch):
    """A twentieth is to spare, and one, for other roundings; WORK=1 writes what it takes now."""
    done = dict.fromkeys(COUNTED, 0)
    name = request.node.name

    def counted(place, made):
        def instead(*given):
            done[place] += COUNTED[place](*given)
            return made(*given)

        return instead

    for place in map("planner.solvers.{}".format, COUNTED if name in MOST else ()):
        monkeypatch.setattr(place, counted(place[16:], resolve_name(place)))
    yield
    if "WORK" in os.environ and name in MOST:
        MOST[name] = list(done.values())
        FILE.write_text(json.dumps(MOST).replace("], ", "],\n") + "\n")
    for (place, found), most in zip(done.items(), MOST.get(name, ()), strict=False):
        assert found <= most + max(1, most // 20), place
