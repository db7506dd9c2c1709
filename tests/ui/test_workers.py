"""One plan at a time is made on the spot; several at once are made by worker processes."""

import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

from planner.errors import InputError
from planner.ui import workers

APP = Path(__file__).resolve().parents[2] / "app.py"


@pytest.fixture
def crew(monkeypatch):
    main = ModuleType("__main__")  # the server's, which every new process of a crew loads too
    main.__file__ = str(APP)
    monkeypatch.setitem(sys.modules, "__main__", main)
    fresh = workers._Crew()
    monkeypatch.setattr(workers, "_CREW", fresh)
    yield fresh
    if fresh.pool is not None:
        fresh.pool.shutdown()


@pytest.fixture
def crowded(crew):
    """As if another visitor's plan were being made, and the workers are up."""
    crew.busy = 1
    assert workers.compute(os.getpid) == os.getpid()  # starts them, and does not wait
    crew.ready.result(timeout=60)
    return crew


def wrong():
    raise InputError("epsilon", -1, "above 0")


def end_of_process():
    os._exit(1)


def test_a_single_visitor_needs_no_workers(crew):
    assert workers.compute(os.getpid) == os.getpid()
    assert crew.pool is None
    assert crew.busy == 0


@pytest.mark.usefixtures("crowded")
def test_several_visitors_are_served_by_workers():
    assert workers.compute(os.getpid) != os.getpid()
    assert workers.compute(max, 3, 5) == 5


def test_errors_arrive_as_they_are(crowded):
    with pytest.raises(InputError, match="epsilon is -1") as caught:
        workers.compute(wrong)
    assert caught.value.argument == "epsilon"
    assert crowded.busy == 1


def test_workers_that_break_are_replaced_and_nothing_is_lost(crowded):
    crowded.pool.submit(end_of_process).exception()
    assert workers.compute(max, 3, 5) == 5
    assert crowded.pool is None  # the next crowd starts new ones
