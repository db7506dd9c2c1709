"""Set before NumPy loads: threads inside LAPACK slow the small problems of these tests down."""

import gc
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings
from hypothesis.internal.conjecture import providers

from tests.surveys import GOOD

# Else examples hang on the numbers in the modules that happen to be loaded: on the order of tests.
pytest.MonkeyPatch().setattr(
    providers, "_get_local_constants", lambda: providers._local_constants
)
# The same examples on every run; no test is judged by the clock. With ten of a property, tests
# notice 98 % of the changes to solvers, mechanisms and laws that change an answer (`make mutate`).
settings.register_profile("planner", deadline=None, derandomize=True, max_examples=10)
# `make sweep`: other examples on every run, and many.
settings.register_profile(
    "sweep", parent=settings.get_profile("planner"), derandomize=False, max_examples=400
)
settings.load_profile("planner")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """What is collected stays: searching it for garbage again and again takes a third longer.

    Tests make few circles, so that garbage is looked for more rarely afterwards, too.
    """
    gc.disable()
    done = yield
    gc.freeze()
    gc.enable()
    gc.set_threshold(20_000, 50, 50)
    return done


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Examples to run are the package's; looking for some in every test took 11 seconds."""
    collectors = yield
    return [
        collector
        for collector in collectors
        if not isinstance(collector, DoctestModule)
    ]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Modules stay whole; those that need a browser share a process, and so one app and Chromium.

    Theirs are the tests that mostly wait, while the other processes compute.
    """
    from xdist.scheduler import LoadScopeScheduling

    if config.getvalue("dist") != "loadscope":
        return None

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            if nodeid.startswith("tests/browser/"):
                return "tests/browser"
            return super()._split_scope(nodeid)

    return Scheduling(config, log)


@pytest.fixture
def counting_here(monkeypatch):
    """Files of reports are counted in this process, and not in others."""
    from planner.deployment.collecting import collector, engines

    def count(files, expected):
        for path in files:
            yield engines.count_file(path, expected)

    monkeypatch.setattr(collector, "local_engine", count)
    monkeypatch.setattr(engines, "local_engine", count)


@pytest.fixture
def survey(tmp_path):
    """A small file of a survey."""
    path = tmp_path / "survey.toml"
    path.write_text(GOOD)
    return path
