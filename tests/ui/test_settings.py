"""The app talks to this machine only, and alike from a checkout and from the package."""

import sys
import tomllib
from importlib import resources
from pathlib import Path

import pytest
from typer.testing import CliRunner

from planner.cli.commands import app
from planner.ui import __main__ as command


def flat(table, prefix=""):
    for key, value in table.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def test_checkout_and_package_have_the_same_settings(pytestconfig):
    text = (pytestconfig.rootpath / ".streamlit" / "config.toml").read_text()
    assert dict(flat(tomllib.loads(text))) == command.SETTINGS


def test_settings_keep_everything_on_this_machine():
    settings = command.SETTINGS
    assert settings["server.address"] == "127.0.0.1"
    assert settings["server.maxUploadSize"] <= 20
    assert settings["server.enableXsrfProtection"] is True
    assert settings["browser.gatherUsageStats"] is False
    assert settings["client.showErrorDetails"] == "none"


@pytest.mark.parametrize(
    ("option", "mode"), [("--no-browser", "headless"), ("--browser", "browser")]
)
def test_the_command_becomes_the_apps_server(option, mode, monkeypatch):
    seen = []
    monkeypatch.setattr("os.execv", lambda *words: seen.append(words))
    result = CliRunner().invoke(app, ["app", "--port", "9000", option])
    assert result.exit_code == 0, result.output
    ((program, words),) = seen
    assert (program, words) == (
        sys.executable,
        [sys.executable, "-m", "planner.ui", "9000", mode, "127.0.0.1"],
    )


@pytest.mark.parametrize("mode", ["headless", "browser"])
def test_the_server_runs_the_packaged_app(mode, monkeypatch):
    seen = []
    monkeypatch.setattr("streamlit.web.cli.main", lambda: seen.extend(sys.argv))
    monkeypatch.setattr(sys, "argv", ["planner.ui"])
    monkeypatch.setattr("os._exit", seen.append)
    command.main("9000", mode)
    assert seen[:2] == ["streamlit", "run"]
    assert seen[-1] == 0
    assert Path(seen[2]) == Path(str(resources.files("planner.ui") / "entry.py"))
    for words in (["--server.port", "9000"], ["--server.address", "127.0.0.1"]):
        place = seen.index(words[0])
        assert seen[place : place + 2] == words
    assert ("--server.headless" in seen) == (mode == "headless")


def test_no_material_icons_and_no_outside_addresses(pytestconfig):
    for path in (pytestconfig.rootpath / "planner" / "ui").glob("*.py"):
        text = path.read_text()
        assert ":material" not in text, path
        assert "https://" not in text, path
