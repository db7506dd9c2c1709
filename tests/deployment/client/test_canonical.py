"""Canonical JSON, the content hash, and what is refused before a model is built."""

import os
import time

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.deployment.client.document import canonical, parse_document, read_document
from planner.errors import FileError, InputError
from planner.limits import MAX_FILE_BYTES
from tests.effort import tries
from tests.refusals import refused

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


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xfe",
        b"[" * 100_000,
        b"1" * 5000,
        b'{"format": "other"}',
        b"[]",
        b'{"format": "ldp-planner-parameters", "version": 3}',
        b'{"format": "ldp-planner-parameters", "version": true}',
        b'{"format": "ldp-planner-parameters", "version": 5}',
        b"{" + b"".join(b'"k%d":0,' % i for i in range(40_000)) + b'"k1":1}',
        b'{"format":"ldp-planner-parameters","version":5,"x":' + b"[" * 65 + b"]" * 65 + b"}",
        b'{"x":' + b"[" * 10**6 + b"]" * 10**6 + b"}",
        b'{"format": "ldp-planner-parameters", "version": 5, "x": NaN}',
        b'{"format": "ldp-planner-parameters", "version": 5, "x": 1e999}',
    ],
    ids=lambda value: str(value)[:60],
)  # fmt: skip
def test_refused_with_the_reason_and_soon(data):
    started = time.process_time()
    with refused(FileError):
        parse_document(data)
    assert time.process_time() - started < 5  # seconds of a processor


def test_files_that_are_not_even_read(tmp_path):
    os.mkfifo(tmp_path / "pipe.json")
    with (tmp_path / "large.json").open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    for name in ("large.json", "pipe.json", "missing.json", "."):
        with refused(FileError):
            read_document(tmp_path / name)
