"""Canonical JSON, the content hash, and what is refused before a model is built."""

import json
import os

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.deployment.client.document import canonical, parse_document, read_document
from planner.errors import FileError, InputError
from planner.limits import MAX_FILE_BYTES
from tests.effort import tries

TEXT = st.text(st.characters(exclude_categories=["Cs"]))

NUMBERS = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)

JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
    max_leaves=20,
)


@settings(max_examples=tries(100, 1000), deadline=None)
@given(JSON)
def test_canonical_form_is_that_of_the_reference_library(value):
    assert canonical(value) == rfc8785.dumps(value)


@pytest.mark.parametrize(
    "value",
    [
        *(float("nan"), float("inf"), -(10**400)),
        *("\ud800", {"\ud800": 1, "a": 2}, {"a": {1, 2}}, {1: 2}, object()),
    ],
    ids=["nan", "inf", "huge", "surrogate", "surrogate in a key", "set", "key", "object"],
)
def test_what_has_no_canonical_form(value):
    with pytest.raises(InputError):
        canonical(value)


def test_deep_nesting_is_named():
    value = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(InputError, match="nested"):
        canonical(value)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "Invalid JSON"),
        (b"\xff\xfe", "UTF-8"),
        (b"[" * 100_000, "Invalid JSON"),
        (b"1" * 5000, "Invalid JSON"),
        (b'{"format": "other"}', "not a parameter file"),
        (b"[]", "not a parameter file"),
        (
            b'{"format": "ldp-planner-parameters", "version": 3}',
            "version: 3 is not 4",
        ),
        (b'{"format": "ldp-planner-parameters", "version": true}', "version: True"),
        (b'{"format": "ldp-planner-parameters", "version": 4}', "hash"),
        (b'{"format": "ldp-planner-parameters", "version": 4, "version": 4}', "twice"),
        (b'{"format": "ldp-planner-parameters", "version": 4, "x": NaN}', "NaN"),
        (b'{"format": "ldp-planner-parameters", "version": 4, "x": 1e999}', "finite"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_refused_with_the_reason(data, reason):
    with pytest.raises(FileError, match=reason):
        parse_document(data)


def test_oversize_file_is_not_even_read(tmp_path):
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    with pytest.raises(FileError, match="larger than 64 MiB"):
        read_document(path)
    with pytest.raises(FileError, match="larger than 64 MiB"):
        parse_document(b" " * (MAX_FILE_BYTES + 1))


@pytest.mark.parametrize("name", ["missing.json", "."])
def test_unreadable_path(tmp_path, name):
    with pytest.raises(FileError, match="cannot be read"):
        read_document(tmp_path / name)


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(FileError, match="not a regular file"):
        read_document(tmp_path / "pipe.json")


def test_any_change_breaks_the_hash(document):
    assert parse_document(json.dumps(document)) == document
    for change in ({"users": 1001}, {"survey": "other"}, {"extra": None}):
        with pytest.raises(FileError, match="hash"):
            parse_document(json.dumps(document | change))


def test_layout_does_not_matter(document):
    backwards = dict(reversed(document.items()))
    assert parse_document(json.dumps(backwards, indent=7)) == document
