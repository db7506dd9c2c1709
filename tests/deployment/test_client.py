"""The client: light, exact, never a value unperturbed, never the same budget twice."""

import json
import math
import sqlite3
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from planner.deployment import Client, Memory
from planner.deployment.client import encoders_of
from planner.deployment.drawing.encoders import MAX_BITS, encoder_for
from planner.deployment.drawing.entropy import choose, words
from planner.deployment.drawing.xxh32 import xxh32
from planner.deployment.laws.output import SamplingLaw, SignLaw, UnaryLaw
from planner.deployment.vectors import make_vectors, replay
from planner.errors import FileError, InputError, PlannerError, VerificationError
from tests.deployment.conftest import FILES, sealed

GRID = 2**32
FALSE_ALARM = 1e-6


@pytest.fixture(scope="module")
def client(parameter_file, tmp_path_factory):
    return Client(parameter_file, memory=tmp_path_factory.mktemp("memory") / "reports.sqlite")


@pytest.fixture(scope="module")
def encoders(document):
    return encoders_of(document, "parameters")


@pytest.mark.parametrize("module", ["planner.deployment", "planner.deployment.client"])
def test_importing_it_pulls_in_the_standard_library_alone(module, parameter_file):
    code = (
        f"import sys, {module}; from planner.deployment import Client;"
        f"client = Client({str(parameter_file)!r}); client.report('idue', 'flu');"
        "names = {name.partition('.')[0] for name in sys.modules};"
        "print(sorted(names - set(sys.stdlib_module_names) - {'planner', '__main__'}))"
    )
    isolated = [sys.executable, "-S", "-c", code]  # -S: without site-packages altogether
    done = subprocess.run(isolated, capture_output=True, text=True, check=True)  # noqa: S603
    assert json.loads(done.stdout.replace("'", '"')) == []


# -- the law, exactly ------------------------------------------------------------


class Counted:
    """Plays words back and counts what was taken; zeros when they run out."""

    def __init__(self, *played):
        self.played = list(played)
        self.taken = 0

    def __call__(self, count):
        self.taken += count
        words = [self.played.pop(0) if self.played else 0 for _ in range(count // 4)]
        return b"".join(word.to_bytes(4, "little") for word in words)


def bits_of(report):
    return np.unpackbits(np.frombuffer(report, np.uint8), bitorder="little")


def test_every_bit_has_exactly_its_threshold(parameters, encoders):
    """A bit is 1 for words below the threshold and 0 from it on: probability k / 2^32."""
    for name in ("idue", "avg", "matrix", "rappor", "oue"):
        law, encoder = parameters.question(name).law, encoders[name]
        levels = law.levels.level_of()
        for item in range(law.bits):
            own = [law.a[i] if k == item else law.b[i] for k, i in enumerate(levels)]
            code = encoder.code(law.levels.item_names()[item])
            below = Counted(*(threshold - 1 for threshold in own))
            at = Counted(*own)
            assert bits_of(encoder.draw(code, below))[: law.bits].all()
            assert not bits_of(encoder.draw(code, at)).any()
            assert below.taken == at.taken == 4 * law.bits


def test_item_sets_sample_each_slot_alike(parameters, encoders):
    law, encoder = parameters.question("sets").law, encoders["sets"]
    code = encoder.code(["x", "HIV"])
    assert code == (0, 3)
    least = law.levels.epsilons.index(min(law.levels.epsilons))
    own = []
    for slot, dummy in product(range(3), range(3)):
        drawn = [slot] if slot < 2 else [slot, dummy]
        thresholds = [law.b[i] for i in [*law.levels.level_of(), *[least] * 3]]
        report = bits_of(encoder.draw(code, Counted(*drawn, *thresholds)))  # only the own bit is 1
        assert report.sum() == 1
        own.append(int(report.argmax()))
    assert own == [0, 0, 0, 3, 3, 3, 5, 6, 7]
    full = encoder.code(["HIV", "flu", "cold", "x", "é\n"])  # more items than the padding length
    first = encoder.draw(full, Counted(4, *[law.b[1]] * 8))
    assert bits_of(first)[4] == 1


def test_responses(parameters, encoders):
    law, encoder = parameters.question("grr").law, encoders["grr"]
    code = encoder.code("x")
    assert encoder.draw(code, Counted(law.truth - 1)) == (3).to_bytes(4, "little")
    other = [encoder.draw(code, Counted(law.truth, word)) for word in range(5)]
    assert other == [k.to_bytes(4, "little") for k in range(5)]


def test_hashing(parameters, encoders):
    import xxhash

    law, encoder = parameters.question("olh").law, encoders["olh"]
    for seed in (0, 7, GRID - 1):
        expected = xxhash.xxh32_intdigest((2).to_bytes(4, "little"), seed)
        assert xxh32(2, seed) == expected
        report = encoder.draw(2, Counted(seed, law.truth - 1))
        assert report == seed.to_bytes(4, "little") + (expected % law.values).to_bytes(4, "little")


def test_subsets_are_all_alike(parameters, encoders):
    """Exactly uniform over the sets of the right size, given whether the true item is held."""
    law, encoder = parameters.question("subset").law, encoders["subset"]
    for held, code in product((True, False), range(5)):
        first = law.held - 1 if held else law.held
        missing = law.size - held
        choices = [range(4 - missing + j + 1) for j in range(missing)]
        reports = Counter(
            encoder.draw(code, Counted(first, *choice)) for choice in product(*choices)
        )
        assert set(reports.values()) == {math.factorial(missing)}
        assert len(reports) == math.comb(4, missing)
        for report in reports:
            assert bits_of(report).sum() == law.size
            assert bits_of(report)[code] == held


def test_two_bits(parameters, encoders):
    law, encoder = parameters.question("age").law, encoders["age"]
    for answer, share in ((17, 0), (90, 1), (53.5, Fraction(1, 2)), (None, 0), (math.nan, 0)):
        code = encoder.code(answer)
        threshold = law.low + round(share * (GRID - 2 * law.low))
        for positive in (0, 1):
            flipped = not positive and code is not None
            for word, one in ((threshold - 1, 1), (threshold, 0)):
                report = encoder.draw(code, Counted(word, positive))
                assert report == bytes([2 * positive + (one ^ flipped)])


@given(st.floats(17, 90))
def test_numbers_between_have_the_nearest_threshold(encoders, parameters, answer):
    low = parameters.question("age").law.low
    exact = low + (Fraction(answer) - 17) / 73 * (GRID - 2 * low)
    threshold = encoders["age"]._threshold(answer)
    assert low <= threshold <= GRID - low
    assert abs(threshold - exact) <= Fraction(1, 2) + Fraction(1, 1000)  # 2^32 times a rounding


def test_sampling_rounds_share_the_die(parameters, encoders):
    law, encoder = parameters.question("sampled").law, encoders["sampled"]
    assert isinstance(law, SamplingLaw)
    edges = np.cumsum([law.zero, *law.decoys]).tolist()
    for code in range(4):
        for face, edge in enumerate(edges):
            die = encoder.draw(code, Counted(edge - 1))
            both = [encoder.output(die, code, number) for number in (1, 2)]
            assert both == [face.to_bytes(4, "little")] * 2
        for word in (edges[-1], GRID - 1):
            die = encoder.draw(code, Counted(word))
            assert encoder.output(die, code, 1) == bytes(4)
            assert encoder.output(die, code, 2) == code.to_bytes(4, "little")


def test_uniform_choices_reject():
    for size in (1, 3, 2**31 + 1, GRID):
        last = GRID - GRID % size - 1
        assert choose(Counted(last), size) == last % size
        if GRID % size:
            source = Counted(GRID - 1, last + 1, 5)
            assert choose(source, size) == 5 % size
            assert source.taken == 12


@pytest.mark.parametrize("data", [b"", b"123", b"12345", None, "1234"])
def test_a_broken_source_reports_nothing(data):
    with pytest.raises(VerificationError, match="entropy"):
        words(lambda _: data, 1)


# -- the law, statistically (false-alarm rate 1e-6 in each test) --------------------


def test_reports_from_the_system_follow_the_law(parameters, client):
    """Counts of every bit against Binomial(n, a or b), and of a bit with a 5 % wrong law."""
    law, n = parameters.question("idue").law, 20_000
    counts = sum(bits_of(client.report("idue", "cold").payload).astype(int) for _ in range(n))
    levels = law.levels.level_of()
    probabilities = [law.a[i] if k == 2 else law.b[i] for k, i in enumerate(levels)]

    def p_value(wrong):
        expected = np.array(probabilities) / GRID * wrong
        tables = [(counts[k], n - counts[k]) for k in range(5)]
        laws = [(n * p, n * (1 - p)) for p in expected]
        each = [chisquare(*pair).pvalue for pair in zip(tables, laws, strict=True)]
        return min(each) * 5

    assert p_value(1.0) > FALSE_ALARM
    assert p_value(1.1) < FALSE_ALARM


def test_memory_does_not_change_the_law(parameters, tmp_path):
    law, n = parameters.question("grr").law, 150
    client = Client(sealed(parameters.model_dump(mode="json")), memory=tmp_path / "m.sqlite")
    counts = Counter(client.report("grr", "flu", user=f"u{i}").payload for i in range(n))
    kept = counts[(1).to_bytes(4, "little")]
    p = law.truth / GRID + (1 - law.truth / GRID) / 5
    assert abs(kept - n * p) < 5.2 * math.sqrt(n * p * (1 - p))


# -- whatever is thrown at it ---------------------------------------------------------

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9)
    | st.binary(max_size=9) | st.complex_numbers() | st.decimals() | st.fractions()
    | st.sampled_from(["HIV", "flu", "x", "u", "w", 0, 1, 4, 5, 17, 90, 17.0, "17", np.float64(20)])
    | st.sampled_from([np.int64(1), np.nan, float("-inf"), object(), type, "é\n", b"HIV"])
)  # fmt: skip
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
    max_examples=500,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate, Phase.shrink],
)
@given(answers=st.lists(ANYTHING, min_size=20, max_size=20), seed=st.integers(0, 2**32))
def test_ten_thousand_odd_answers(parameters, encoders, answers, seed):
    """Refused before anything is drawn, or a report that the drawn bytes alone explain."""
    for i, answer in enumerate(answers):
        question = parameters.questions[(seed + i) % 12]
        encoder, tape = encoders[question.name], Tape(seed)
        try:
            code = encoder.code(answer)
        except InputError:
            continue
        report = encoder.draw(code, tape)
        assert type(report) is bytes
        assert len(report) == encoder.size
        assert len(tape.given) >= 4 * law_words(question.law, report)  # all of it randomised


def law_words(law, report):
    """Words that a report of this law takes at least."""
    if isinstance(law, UnaryLaw):
        assert not bits_of(report)[law.bits :].any()
        return law.bits
    return 2 if isinstance(law, SignLaw) else 1


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


def test_all_reports_of_a_question_have_one_size(client):
    for question, answers in (("idue", ["HIV", "x"]), ("sets", [[], ["x"], ["x", "flu", "HIV"]])):
        lines = {len(client.report(question, answer).to_json()) for answer in answers * 20}
        assert len(lines) == 1


# -- memory --------------------------------------------------------------------------


def test_asking_twice_does_not_spend_twice(parameter_file, tmp_path):
    path = tmp_path / "reports.sqlite"
    asked = [Client(parameter_file, memory=path) for _ in range(3)]
    for user in ("ann", "bob"):
        reports = {
            one.report("idue", answer, user=user) for one in asked for answer in ("HIV", "x")
        }
        assert len(reports) == 1
    assert path.stat().st_mode & 0o077 == 0
    fresh = {asked[0].report("idue", "x").report_id for _ in range(20)}
    assert len(fresh) == 20


def test_memory_is_kept_apart_by_parameters_user_and_question(document, tmp_path):
    memory = Memory(tmp_path / "reports.sqlite")
    other = sealed(document | {"users": 2000})
    reports = [
        Client(which, memory=memory).report(question, "x", user=user).report_id
        for which in (document, other)
        for question in ("idue", "grr")
        for user in ("ann", "bob")
    ]
    assert len(set(reports)) == 8


def test_two_at_once_get_the_same_report(parameter_file, tmp_path):
    path = tmp_path / "reports.sqlite"
    Memory(path)

    def ask(_):
        return Client(parameter_file, memory=path).report("idue", "x", user="ann")

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(ask, range(24)))) == 1


def test_sampling_needs_a_memory_and_remembers_both_rounds(parameter_file, tmp_path):
    client = Client(parameter_file, memory=tmp_path / "m.sqlite")
    for wrong in ({}, {"user": "ann"}, {"round_number": 1}, {"user": "ann", "round_number": 3}):
        with pytest.raises(InputError):
            client.report("sampled", "u", **wrong)
    for i in range(50):
        first = client.report("sampled", "u", user=f"{i}", round_number=1)
        second = client.report("sampled", "u", user=f"{i}", round_number=2)
        assert second == client.report("sampled", "w", user=f"{i}", round_number=2)
        assert first.report_id != second.report_id  # nothing links them
        moved = (first.payload, second.payload) == (bytes(4), (1).to_bytes(4, "little"))
        assert moved or first.payload == second.payload


def test_user_without_memory(parameter_file):
    with pytest.raises(InputError, match="memory"):
        Client(parameter_file).report("idue", "x", user="ann")


def test_a_memory_that_fails_releases_nothing(parameter_file, tmp_path):
    broken = tmp_path / "broken.sqlite"
    broken.write_bytes(b"not a database" * 100)
    for path in (broken, tmp_path / "nowhere" / "m.sqlite", tmp_path):
        with pytest.raises(FileError, match="memory"):
            Client(parameter_file, memory=path)
    path = tmp_path / "m.sqlite"
    client = Client(parameter_file, memory=path)
    path.write_bytes(b"overwritten" * 1000)
    with pytest.raises(FileError, match="memory"):
        client.report("idue", "x", user="ann")
    path.unlink()
    client = Client(parameter_file, memory=path)
    client.report("idue", "x", user="ann")
    with sqlite3.connect(path) as database:
        database.execute("UPDATE reports SET payload = x'00'")
    with pytest.raises(VerificationError, match="wrong size"):
        client.report("idue", "x", user="ann")


# -- parameters ------------------------------------------------------------------------


def test_a_client_that_cannot_prove_its_parameters_does_not_start(document):
    for change in ({"questions": []}, {"questions": None}, {"questions": [1]}, {"version": 3}):
        with pytest.raises(FileError):
            Client(sealed(document | change))
    with pytest.raises(FileError):
        Client({"x": object()})


def test_too_many_items_for_a_report(document):
    question = dict(document["questions"][0])
    question["levels"] = [dict(level) for level in question["levels"]]
    question["levels"][0] |= {"items": [], "item_count": MAX_BITS}
    with pytest.raises(FileError, match=str(MAX_BITS)):
        Client(sealed(document | {"questions": [question]}))
    with pytest.raises(InputError, match="encoder"):
        encoder_for(None)


def test_items_without_names_are_given_by_number(one_question):
    client = Client(one_question.model_dump(mode="json"))
    assert len(client.report("q", 39).payload) == 8
    for wrong in (40, -1, True, 1.0, "0", None):
        with pytest.raises(InputError, match="number from 0 to 39"):
            client.report("q", wrong)


# -- conformance vectors ----------------------------------------------------------------


def test_python_passes_its_vectors(parameters, encoders):
    made = make_vectors(parameters)
    assert {vector["question"] for vector in made["vectors"]} == set(encoders)
    for vector in made["vectors"]:
        assert replay(encoders[vector["question"]], vector).hex() == vector["report"]
    vector = next(one for one in made["vectors"] if one["question"] == "idue")
    longer = vector | {"entropy": vector["entropy"] + "00"}
    with pytest.raises(InputError, match="left over"):
        replay(encoders["idue"], longer)


def test_vectors_do_not_change_by_accident():
    """A frozen copy: what a port passed once it passes for good."""
    from planner.deployment.parameters import read_parameters

    frozen = json.loads((FILES / "vectors.json").read_text())
    assert make_vectors(read_parameters(FILES / "version2.json")) == frozen


def test_javascript_passes_the_vectors(node, tmp_path, parameter_file, parameters):
    script = str(FILES.parents[2] / "examples" / "client.mjs")
    path = tmp_path / "vectors.json"
    for file, made in (
        (parameter_file, make_vectors(parameters)),
        (FILES / "version2.json", json.loads((FILES / "vectors.json").read_text())),
    ):
        path.write_text(json.dumps(made))
        call = [node, script, str(file), "--vectors", str(path)]
        done = subprocess.run(call, capture_output=True, text=True, check=True)  # noqa: S603
        assert done.stdout.strip() == f"{len(made['vectors'])} vectors pass"
    made["vectors"][3]["report"] = "ff" + made["vectors"][3]["report"][2:]
    path.write_text(json.dumps(made))
    done = subprocess.run(call, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 1
    assert "vector 3 differs" in done.stderr


JAVASCRIPT = """
import { Client, Memory } from "CLIENT";
import { readFileSync } from "node:fs";
const cases = JSON.parse(readFileSync(0, "utf8"));
const outcome = cases.map((document) => {
  try { new Client(Buffer.from(JSON.stringify(document))); return "accepted"; }
  catch (error) { return error.constructor.name; }
});
console.log(JSON.stringify(outcome));
"""


def test_javascript_refuses_what_python_refuses(node, document):
    from tests.deployment.test_parameter_files import mutated, paths_of, singles

    rng, cases = np.random.default_rng(3), []
    for single in singles(document):
        text = json.dumps(single)
        places = [p for p in paths_of(json.loads(text)) if len(p) > 2]
        cases += [mutated(text, places, rng) for _ in range(60)]

    def outcome(case):
        try:
            Client(case)
        except PlannerError:
            return "Refused"
        return "accepted"

    module = (FILES.parents[2] / "examples" / "client.mjs").as_uri()
    call = [node, "--input-type=module", "--eval", JAVASCRIPT.replace("CLIENT", module)]
    given = json.dumps(cases)
    done = subprocess.run(call, input=given, capture_output=True, text=True, check=True)  # noqa: S603
    theirs, ours = json.loads(done.stdout), [outcome(case) for case in cases]
    assert set(theirs) == {"accepted", "Refused"}
    # JavaScript has one kind of number: 1.0 is a whole number to it.
    different = [
        case for case, a, b in zip(cases, theirs, ours, strict=True) if a != b and a == "Refused"
    ]
    assert different == []
    assert sum(a != b for a, b in zip(theirs, ours, strict=True)) <= 2


def test_javascript_remembers(node, tmp_path, parameter_file):
    script = str(FILES.parents[2] / "examples" / "client.mjs")

    def ask(*words):
        call = [node, script, str(parameter_file), *words]
        done = subprocess.run(call, capture_output=True, text=True, check=False)  # noqa: S603
        return done.stdout or done.stderr

    kept = ("--memory", str(tmp_path / "memory"), "--user", "ann")
    assert ask("idue", "flu", *kept) == ask("idue", "x", *kept) != ask("idue", "x")
    first, second = (ask("sampled", "u", *kept, "--round", number) for number in "12")
    assert json.loads(first)["id"] != json.loads(second)["id"]
    assert second == ask("sampled", "w", *kept, "--round", "2")
    assert "memory" in ask("sampled", "u", "--round", "1")
    assert "none of the question's items" in ask("idue", "nobody")


def test_system_entropy_is_not_the_numpy_state(client):
    np.random.seed(1)  # noqa: NPY002 - the global state that must not matter
    first = [client.report("idue", "x").payload for _ in range(50)]
    np.random.seed(1)  # noqa: NPY002
    assert first != [client.report("idue", "x").payload for _ in range(50)]
