"""Nothing leaves this machine: names that are links are text on every page, and settings."""

import re
import tomllib

import pytest

from planner.ui import __main__ as command
from planner.ui.entry import PAGES
from tests.ui.pages import open_page

NAME = (
    "![x](http://out.example/p) <img src=http://out.example> <a href=http://out.example>y</a> "
    "mail@out.example"
)
GROUP = "![x](out) <img mail@out.example"  # known to the collector: no /, no =
SURVEY = f"""[survey]
name = "s {NAME}"
users = 1000
groups = {{ "g {GROUP}" = ["r {GROUP}", "s {GROUP}"] }}
weights = {{ "r {GROUP}" = 1.2, "s {GROUP}" = 0.8 }}
[[question]]
name = "q {NAME}"
label = {{ "j" = "t {NAME}" }}
[[question.level]]
name = "a {NAME}"
epsilon = 1.0
items = ["i {NAME}", "j"]
[[question.level]]
name = "b {NAME}"
epsilon = 2.0
items = ["k {NAME}"]
[[question]]
name = "p {NAME}"
kind = "item-set"
padding_length = 2
[[question.level]]
name = "c {NAME}"
epsilon = 1.0
items = ["m {NAME}", "n"]
"""
PICTURE = re.compile(
    r"(?<!\\)!\[x\]|mail\\?@\w"
)  # or an address, which Markdown links too
TAG = re.compile(r"<(img|a)\b")
NO_MARKDOWN = {"TextInput", "TextArea", "Code"}  # show what was typed
HTML = {"Html"}


def texts(app):
    """Every string of every element, with the element's kind and the field's name."""
    waiting = [app.main, app.sidebar]
    while waiting:
        element = waiting.pop()
        waiting += getattr(element, "children", {}).values()
        message = getattr(element, "proto", None)
        if hasattr(message, "ListFields"):
            yield from strings(type(element).__name__, message)


def strings(kind, message):
    for field, value in message.ListFields():
        for part in value if hasattr(value, "extend") else [value]:
            if isinstance(part, str):
                yield kind, field.name, part
            elif hasattr(part, "ListFields"):
                yield from strings(kind, part)


@pytest.fixture(scope="module")
def opened():
    app = open_page("questions")
    app.file_uploader[0].set_value(
        (f"{NAME}.toml", SURVEY.encode(), "text/plain")
    ).run()
    assert not app.exception
    return app


@pytest.mark.parametrize("name", PAGES)
def test_names_are_text_on_every_page(opened, name):
    if name == "questions":
        app = opened
    else:
        app = open_page(name, opened)
    texts_shown = list(texts(app))
    assert texts_shown
    for kind, field, text in texts_shown:
        if kind in HTML or field == "spec":
            assert not TAG.search(text.replace("\\u003c", "<")), (
                kind,
                field,
                text[:300],
            )
        elif kind not in NO_MARKDOWN and field not in {
            "options",
            "raw_value",
            "alt",
            "id",
        }:
            assert not PICTURE.search(text), (kind, field, text[:300])


def flat(table, prefix=""):
    for key, value in table.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def test_checkout_and_package_keep_everything_on_this_machine(pytestconfig):
    text = (pytestconfig.rootpath / ".streamlit" / "config.toml").read_text()
    document = tomllib.loads(text)
    assert dict(flat(document)) == command.SETTINGS
    settings = command.SETTINGS
    assert settings["server.address"] == "127.0.0.1"
    assert settings["server.maxUploadSize"] <= 20
    assert settings["server.enableXsrfProtection"] is True
    assert settings["browser.gatherUsageStats"] is False
    assert settings["client.showErrorDetails"] == "none"


def test_no_material_icons_and_no_outside_addresses(pytestconfig):
    for path in (pytestconfig.rootpath / "planner" / "ui").rglob("*.py"):
        text = path.read_text()
        assert ":material" not in text, path
        assert "https://" not in text, path
