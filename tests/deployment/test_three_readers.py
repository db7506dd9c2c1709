"""Client, JavaScript client and collector give one verdict on every file, good, bad or mutated."""

import copy
import json
import sys
from random import Random

import numpy as np
import pytest

from planner import Level, SampledChoice, Sampling, Survey, plan_survey
from planner.deployment.client.document import parse_document
from planner.deployment.parameters import json_schema, survey_parameters
from planner.limits import MAX_CELLS, MAX_WHOLE_SET
from planner.planning.sampled import ACKNOWLEDGEMENTS
from tests.deployment.examples import index, only, sealed, singles
from tests.deployment.mutations import damaged, mutated, paths_of
from tests.deployment.readers import (
    CLIENT,
    collector,
    javascript_client,
    private,
    python_client,
    text,
)
from tests.laws.oracle import D, breaches, true_exp
from tests.laws.questions import FORMS, PROOFS, replaced
from tests.surveys import tries


def changed(document, name, path, value):
    """A sealed copy with a value of the question of that name replaced (or, with ..., removed)."""
    return sealed(
        replaced(document, ["questions", index(document, name), *path], value)
    )


def bad_files(document):
    """Name and bytes of every bad file, made of a good one with every mechanism."""
    for name, bad in (*_documents(document), *_forged(document)):
        yield name, text(bad)
    yield from _texts(json.dumps(document))


def _documents(document):
    """Of the right hash, which is no proof of anything."""
    for name, path, value in _CHANGES:
        yield f"{name} {path} {value!r:.40}", changed(document, name, path, value)
    many = changed(document, "olh", ("levels", 0, "items"), [])
    for count in (2**24, 2**32):  # a collector counts each item
        yield f"{count} items", changed(many, "olh", ("levels", 0, "item_count"), count)
    for key, values in _DOCUMENT.items():
        for value in values:
            yield f"{key} {value!a}", sealed(document | {key: value})
    for key in document:
        yield f"no {key}", sealed({k: v for k, v in document.items() if k != key})
    for name in ("idue", "anchored", "check design"):  # what another is called
        anchor = ("anchor", "name")
        yield f"an anchor called {name}", changed(document, "anchored", anchor, name)
    twice = [*document["questions"], document["questions"][0]]
    yield "a question twice", sealed(document | {"questions": twice})
    yield "a list", [document]


def bad_totals(document):
    """The same, where the fault takes sums over binomial laws, which no device makes."""
    totals = ("guarantee", "aggregates")
    true = document["questions"][index(document, "sampled")]["guarantee"]["aggregates"][
        "epsilon"
    ]
    wrong = [("epsilon", value) for value in (0, true / 2, true * 0.999999, 51)]
    for key, value in (*wrong, ("delta", 1e-30), (_OTHERS, [0, 0])):
        yield (
            f"{key} {value}",
            text(changed(document, "sampled", (*totals, key), value)),
        )


def _forged(document):
    """Hashes that are not the content's."""
    yield "another hash", document | {"hash": "0" * 64}
    yield "no hash", {key: value for key, value in document.items() if key != "hash"}
    yield "a shouted hash", document | {"hash": document["hash"].upper()}
    for version in (1, 2, 3):
        yield f"version {version} without a hash", {**document, "version": version}


def _texts(good):
    """What is no JSON, or not all of it."""
    yield "nothing", b""
    yield "cut off", good[:-1].encode()
    yield "two", (good + good).encode()
    yield "a mark of byte order", b"\xef\xbb\xbf" + good.encode()
    yield "Latin", good.replace('"survey": "', '"survey": "\xe9').encode("latin-1")
    yield (
        "a key twice",
        good.replace('"users": 1000', '"users": 1000, "users": 1000').encode(),
    )
    escaped = good.replace('"users": 1000', '"users": 1000, "\\u0075sers": 1000')
    yield "a key twice, once escaped", escaped.encode()
    for number in ("NaN", "Infinity", "1e999", "1" + "0" * 400, "01", "1_000", "0x10"):
        yield number[:9], good.replace('"users": 1000', f'"users": {number}').encode()
    yield "half a pair", good.replace('"survey": "', '"survey": "\\ud800').encode()
    deep = good.replace('"users": 1000', '"users": ' + "[" * 100_000 + "]" * 100_000)
    yield "deep", deep.encode()


_OTHERS = "others_with_each_value"
_DOCUMENT = {
    "version": (4, 6, True),
    "extra": (1,),
    "questions": ([],),
    "users": (0, 1.5),
    "survey": ("",),
    "created": ("2026-01-01T00:00:00Z",),
}
_CHANGES = [
    *(
        row[:3] for row in (*FORMS, *PROOFS)
    ),  # what is wrong with these, tests/laws says
    # form
    *(
        ("idue", path, 1)
        for path in (("levels", 0, "extra"), ("levels", 0, "toString"))
    ),
    *(
        ("idue", ("levels", 0, "epsilon"), value)
        for value in ({"toString": 1}, 0, 50.5)
    ),
    *(("idue", ("levels", 0, "items"), value) for value in ({"length": 0}, [7], None)),
    *(("idue", (key,), ...) for key in ("a", "asked", "law")),
    *(
        ("idue", (key,), value)
        for key in ("asked", "law")
        for value in ("__proto__", "ordered")
    ),
    *(("idue", (key,), "") for key in ("mechanism", "name")),
    ("idue", ("mechanism",), 1),
    ("idue", ("pairs",), []),
    ("idue", ("__proto__",), 1),
    ("idue", ("longer_sets",), []),
    ("idue", ("law",), "rows"),
    ("idue", ("a",), {"toString": 1}),
    ("idue", ("a", 0), True),
    ("idue", ("b", 0), 0),
    ("yes", ("yes_no",), 1),
    ("age", ("upper",), None),
    ("age", ("upper",), "9"),
    ("sampled", ("guarantee", "extra"), 1),
    ("sampled", ("guarantee", "aggregates", "x"), 1),
    # parts that do not fit each other
    ("grr", ("name",), "idue"),
    ("matrix", ("rule",), [[None, None], [None, 1.0]]),
    ("matrix", ("rule", 0), [1.0]),
    ("sampled", ("rule",), [[0.01]]),
    ("sampled", ("rule",), "avg"),
    ("subset", ("types", 0, 0), 5),
    ("subset", ("types", 0, 0), 0),
    ("design", ("groups", 1), 2),
    ("design", ("weights", 0, 0, 0), 2**33),
    ("sets", ("padding_length",), 2**25),
    ("sets", ("longer_sets", 0, "share"), 0),
    ("sets", ("longer_sets", 0, "share"), 1.5),
    ("sets", ("longer_sets",), [{"size": 5, "share": 0.1}, {"size": 5, "share": 0.1}]),
    ("age", ("points",), 64),
    ("age", ("values", 0), [0.0]),
    ("order", ("order",), [0, 1, 2, 3]),
    ("order", ("values",), [[0.0]]),
    ("order", ("wanted",), "all"),
    # budgets
    ("idue", ("rule",), [[0.01, 0.01], [0.01, 0.01]]),
    ("avg", ("b", 0), 5),
    ("rappor", ("levels", 0, "epsilon"), 0.5),
    ("subset", ("weights", 0, 0), [1, 2**32 - 1]),
    ("design", ("weights", 0, 0), [1, 1]),
    ("order", ("levels", 0, "epsilon"), 0.5),
    ("hours", ("epsilon",), 1.9),
    ("sampled", ("zero",), 0),
    # estimators that are biased
    ("age", ("values", 0, 1), 0.0),
    ("hours", ("values", 1, 0), 9.0),
    # a guarantee that the die does not give
    *(
        ("sampled", ("guarantee", "relies_on"), value)
        for value in ("luck", "aggregates-only")
    ),
    ("sampled", ("guarantee", "round_two_epsilon"), "infinite"),
    ("sampled", ("guarantee", "aggregates", "epsilon"), -1),
    ("sampled", ("guarantee", "aggregates", "delta"), 0),
    *(
        ("sampled", ("guarantee", "aggregates", _OTHERS), [9, 19, *others])
        for others in ([], [-29])
    ),
]


def test_the_javascript_client_reads_the_schema_that_is_printed():
    assert (CLIENT.parent / "schema.json").read_text() == json_schema()


def the_last_is_refused(node, files, folder, reason):
    """By all readers, who accept the others."""
    *right, wrong = files
    expected = ["accepted"] * len(right) + ["Refused"]
    assert javascript_client(node, files) == expected
    assert all(python_client(data, folder) is collector(data) is None for data in right)
    assert all(
        reason in said for said in (python_client(wrong, folder), collector(wrong))
    )


def test_good_files_are_accepted_by_all(node, document, tmp_path):
    files = [text(document), *map(text, singles(document))]
    assert javascript_client(node, files) == ["accepted"] * len(files)
    for data in files:
        assert python_client(data, tmp_path) is collector(data) is None


def test_every_bad_file_is_refused_by_all(node, document, tmp_path):
    """Forged hashes, biased estimators, guarantees that do not hold, and what is no JSON at all."""
    files = dict(bad_files(document))
    assert len(files) > 120
    theirs = javascript_client(node, files.values())
    assert [
        name
        for name, verdict in zip(files, theirs, strict=True)
        if verdict != "Refused"
    ] == []
    assert [
        name for name, data in files.items() if python_client(data, tmp_path) is None
    ] == []
    assert [name for name, data in files.items() if collector(data) is None] == []


@pytest.mark.parametrize("name", ["matrix", "one-sided"])
def test_one_unit_of_one_ordered_pair_decides(node, document, tmp_path, name):
    """All but that of the first level against the second may realise 9 nats, or do far less."""
    (question,) = [q for q in document["questions"] if q["name"] == name]
    b = 2**30
    if name == "matrix":
        question = question | {"rule": [[9, 1], [9, 9]]}
    else:
        levels = zip(question["levels"], ({}, {"against": 1}), strict=True)
        question = question | {
            "levels": [level | {"epsilon": 9} | extra for level, extra in levels]
        }
    most = int(true_exp(1) * b * (D - 5 * b // 4) / (D - b))
    files = []
    for a in (most - 99, most, most + 1):
        files.append(question | {"a": [a, 5 * b // 4], "b": [b, b]})
    files = [text(only(document, [file])) for file in files]
    the_last_is_refused(
        node, files, tmp_path, "Levels 'severe' and 'common' realise 1.0"
    )


def test_all_questions_together_have_as_many_items_as_a_collector_counts(
    node, document, tmp_path
):
    """Each question alone is far below the limit; one item more in one of them is too many."""
    files = []
    for last in (0, 1):
        questions = []
        for i in range(8):
            question = copy.deepcopy(document["questions"][index(document, "olh")])
            *_, level = question["levels"]
            level["items"], others = (
                [],
                sum(level["item_count"] for level in question["levels"][:-1]),
            )
            level["item_count"] = MAX_CELLS // 8 - others + (last if i == 7 else 0)
            questions.append(question | {"name": f"q{i}"})
        files.append(text(only(document, questions)))
    reason = "all questions have 16,777,217 sums to count, at most 16,777,216"
    the_last_is_refused(node, files, tmp_path, reason)


def test_a_file_of_too_many_commas_is_refused_by_all(node, document, tmp_path):
    question = copy.deepcopy(document["questions"][index(document, "olh")])
    count = 2**20
    question["levels"][0] |= {
        "item_count": count,
        "items": [str(i) for i in range(count)],
    }
    data = text(only(document, [question]))
    the_last_is_refused(node, [data], tmp_path, "more than 1,048,576 commas")


def test_whole_sets_that_are_too_long_are_refused_by_all(node, document, tmp_path):
    """Of 2,000 items one is reported; a longer set than the longest is as private, but refused."""
    files = []
    for length in (MAX_WHOLE_SET, MAX_WHOLE_SET + 1):
        question = copy.deepcopy(document["questions"][index(document, "whole sets")])
        question["levels"][1] |= {"item_count": 2000, "items": []}
        question |= {
            "padding_length": length,
            "longer_sets": [{"size": 2000, "share": 0.2}],
        }
        question |= {"held": 1, "ratios": question["ratios"][:1]}
        files.append(text(only(document, [question])))
    the_last_is_refused(
        node, files, tmp_path, "padding_length is 1025 but must be at most 1,024"
    )


@pytest.fixture(scope="module")
def many():
    """A question of Sampling Privacy to so many people that its totals promise something."""
    levels = (
        Level("a", 1.0, ("u",), yes_counts=(300,)),
        Level("b", 1.5, ("v",), yes_counts=(400,)),
    )
    relied = Sampling("round-two", ACKNOWLEDGEMENTS["round-two"])
    question = SampledChoice("sampled", levels, sampling=relied)
    survey = Survey("many", 10_000, (question,))
    return survey_parameters(plan_survey(survey)).document


def test_what_a_device_cannot_check_is_what_the_page_says(node, many, tmp_path):
    assert collector(text(many)) is None
    files = dict(bad_totals(many))
    assert len(files) == 6
    assert javascript_client(node, files.values()) == ["accepted"] * 6
    for data in files.values():
        assert python_client(data, tmp_path) is None
        assert "Question 'sampled': The " in (collector(data) or "")


def test_weaker_statements_of_a_guarantee_are_true_too(node, many, tmp_path):
    """More others, a larger epsilon or delta: what holds for the file's numbers holds for them."""
    totals = ("guarantee", "aggregates")
    files = []
    for path, value in (
        ((*totals, "others_with_each_value"), [3000, 4000]),
        ((*totals, "epsilon"), 2.0),
        ((*totals, "epsilon"), "infinite"),
        ((*totals, "delta"), 1e-3),
        (("guarantee", "round_two_epsilon"), 2.0),
    ):
        files.append(text(changed(many, "sampled", path, value)))
        assert collector(files[-1]) is python_client(files[-1], tmp_path) is None
    assert javascript_client(node, files) == ["accepted"] * len(files)


@pytest.mark.parametrize("seed", range(1, 1 + tries(1, 4)))
def test_mutated_files_get_one_verdict(node, document, tmp_path, seed, record_property):
    """Files with the right hash, changed at one place, and others with damaged bytes."""
    rng = np.random.default_rng(seed)
    random = Random(seed)
    files = []
    for single in singles(document):
        good = json.dumps(single)
        places = [
            path for path in paths_of(json.loads(good)) if path and path[0] != "hash"
        ]
        files += [text(mutated(good, places, rng)) for _ in range(tries(30, 1200))]
        files += [damaged(good.encode(), random) for _ in range(tries(5, 30))]
    ours = [python_client(data, tmp_path) for data in files]
    theirs = javascript_client(node, files)
    assert [refusal is None for refusal in ours] == [
        verdict == "accepted" for verdict in theirs
    ]
    assert set(theirs) == {"accepted", "Refused"}  # no crash
    stricter = 0
    for data, ours_of_file in zip(files, ours, strict=True):
        reason = collector(data)
        if ours_of_file is None:
            assert all(
                private(question) for question in parse_document(data)["questions"]
            )
        if (reason is None) != (ours_of_file is None):
            stricter += 1
            assert ours_of_file is None
            assert "Question 'sampled': The " in reason
    accepted = theirs.count("accepted")
    result = f"{len(files)} files, {accepted} accepted by clients, all but {stricter} by collectors"
    record_property("tries", result)
    sys.stdout.write(f"{result}\n")
    assert len(files) / 100 < accepted < len(files) / 4


def test_the_oracle_sees_a_breach(document):
    """The independent check above rejects what is wrong by a thousandth."""
    for single in singles(copy.deepcopy(document)):
        (question,) = single["questions"]
        assert breaches(question) == []
        for level in question.get("levels", [question]):
            level["epsilon"] *= 0.5
        if isinstance(question.get("rule"), list):
            question["rule"] = [[r and r / 2 for r in row] for row in question["rule"]]
        assert breaches(question) != []
