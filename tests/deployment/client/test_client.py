"""The client: light, exact, never a value unperturbed, nothing drawn for a wrong answer."""

import json
import math
import os
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pytest
import rfc8785
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from planner.deployment import Client
from planner.deployment.client.document import canonical, parse_document, read_document
from planner.errors import FileError, InputError
from planner.limits import MAX_FILE_BYTES
from tests.deployment.examples import sealed
from tests.refusals import refused
from tests.surveys import tries


@pytest.fixture(scope="module")
def client(parameter_file, tmp_path_factory):
    return Client(
        parameter_file, memory=tmp_path_factory.mktemp("memory") / "reports.sqlite"
    )


@pytest.mark.parametrize(
    "module", ["planner.deployment", "planner.deployment.client.client"]
)
def test_importing_it_pulls_in_the_standard_library_alone(module, parameter_file):
    code = (
        f"import sys, {module}; from planner.deployment import Client;"
        f"client = Client({str(parameter_file)!r}); client.report('idue', 'flu');"
        "names = {name.partition('.')[0] for name in sys.modules};"
        "print(sorted(names - set(sys.stdlib_module_names) - {'planner', '__main__'}))"
    )
    isolated = [
        sys.executable,
        "-S",
        "-c",
        code,
    ]  # -S: without site-packages altogether
    done = subprocess.run(isolated, capture_output=True, text=True, check=True)  # noqa: S603
    document = json.loads(done.stdout.replace("'", '"'))
    assert document == []


def test_memory_does_not_change_the_law(parameters, tmp_path):
    n = 150
    client = Client(sealed(parameters.document), memory=tmp_path / "m.sqlite")
    counts = Counter(
        client.report("grr", "flu", user=f"u{i}").payload for i in range(n)
    )
    kept = counts[(2).to_bytes(8, "little")]  # of flu, item 1
    question = parameters.question("grr")
    p = float(question.shape.support()[0][0])
    reach = 5.2 * math.sqrt(
        n * p * (1 - p)
    )  # real draws: beyond it with a chance of 2.3e-7
    assert abs(kept - n * p) < reach


# -- whatever is thrown at it ---------------------------------------------------------

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=9)
    | st.binary(max_size=9)
    | st.complex_numbers()
    | st.decimals()
    | st.fractions()
    | st.sampled_from(
        ["HIV", "flu", "x", "u", "w", 0, 1, 4, 5, 17, 90, 17.0, "17", np.float64(20)]
    )
    | st.sampled_from(
        [np.int64(1), np.nan, float("-inf"), object(), type, "é\n", b"HIV"]
    )
)
HASHABLE = st.sampled_from(["HIV", "flu", "cold", "x", 1, None, 2.5, "nobody"])
ANYTHING = (
    SCALARS
    | st.lists(HASHABLE, max_size=6)
    | st.tuples(HASHABLE, HASHABLE)
    | st.frozensets(HASHABLE, max_size=6)
    | st.dictionaries(HASHABLE, SCALARS, max_size=3)
    | st.builds(np.array, st.lists(st.integers(0, 4), max_size=4))
)


class Tape:
    """A source that remembers all it gave."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.given = b""

    def __call__(self, count):
        data = self.rng.bytes(count)
        self.given += data
        return data


@settings(
    max_examples=tries(30, 500),
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate, Phase.shrink],
)
@given(answers=st.lists(ANYTHING, min_size=20, max_size=20), seed=st.integers(0, 2**32))
def test_odd_answers(laws, answers, seed):
    """Refused before anything is drawn, or a report that the drawn bytes alone explain."""
    for i, answer in enumerate(answers):
        law = list(laws.values())[(seed + i) % len(laws)]
        tape = Tape(seed)
        try:
            code = law.asked.code(answer)
        except InputError:
            continue
        report = law.draw(code, tape)
        assert type(report) is bytes
        assert len(report) == law.size
        assert len(tape.given) >= 4  # all of it randomised


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(question=ANYTHING, user=ANYTHING, number=ANYTHING)
def test_odd_calls(client, question, user, number):
    try:
        report = client.report(question, "flu", user=user, round_number=number)
    except InputError:
        return
    assert user is None or report == client.report(question, "flu", user=user)


def test_errors_do_not_repeat_the_answer(client):
    for question in ("idue", "age"):
        with pytest.raises(InputError) as caught:
            client.report(question, "my secret")
        assert "secret" not in str(caught.value)


# -- people and rounds -------------------------------------------------------------------


CALLS = [
    *(
        ("idue", {"user": user}, "text that is not empty")
        for user in ("", 7, b"ann", "\ud800")
    ),
    ("idue", {"round_number": 1}, "round_number is 1 but must be left out"),
    *(
        (
            "sampled",
            {"user": "ann", "round_number": number},
            "from 1 to 2 for this question",
        )
        for number in (None, 0, 3, True, 1.0, "1")
    ),
    ("sampled", {"round_number": 1}, "a person's rounds belong together"),
]


@pytest.mark.parametrize(("question", "more", "reason"), CALLS, ids=ascii)
def test_people_and_rounds_that_are_none(client, question, more, reason):
    with pytest.raises(InputError, match=reason):
        client.report(question, "u" if question == "sampled" else "x", **more)


def test_a_person_needs_a_memory(parameter_file):
    with refused("memory"):
        Client(parameter_file).report("idue", "x", user="ann")


# -- canonical JSON, the content hash, and what is refused before a model is built -------


TEXT = st.text(st.characters(exclude_categories=["Cs"]))

NUMBERS = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(
    allow_nan=False, allow_infinity=False
)

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
    ids=[
        "nan",
        "inf",
        "huge",
        "surrogate",
        "surrogate in a key",
        "set",
        "key",
        "object",
    ],
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
        b'{"format":"ldp-planner-parameters","version":5,"x":'
        + b"[" * 65
        + b"]" * 65
        + b"}",
        b'{"x":' + b"[" * 10**6 + b"]" * 10**6 + b"}",
        b'{"format": "ldp-planner-parameters", "version": 5, "x": NaN}',
        b'{"format": "ldp-planner-parameters", "version": 5, "x": 1e999}',
    ],
    ids=lambda value: str(value)[:60],
)
def test_refused_with_the_reason_and_soon(data):
    started = time.process_time()
    with refused(kind=FileError):
        parse_document(data)
    assert time.process_time() - started < 5  # seconds of a processor


def test_files_that_are_not_even_read(tmp_path):
    os.mkfifo(tmp_path / "pipe.json")
    with (tmp_path / "large.json").open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    for name in ("large.json", "pipe.json", "missing.json", "."):
        with refused(kind=FileError):
            read_document(tmp_path / name)
