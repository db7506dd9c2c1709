"""Files that no reader may accept: one list for the two clients, ``verify`` and the collector."""

import json

from tests.deployment.examples import index, sealed
from tests.deployment.readers import text
from tests.laws.questions import FORMS, PROOFS, replaced


def changed(document, name, path, value):
    """A sealed copy with a value of the question of that name replaced (or, with ..., removed)."""
    return sealed(replaced(document, ["questions", index(document, name), *path], value))


def bad_files(document):
    """Name and bytes of every bad file, made of a good one with every mechanism."""
    for name, one in (*_documents(document), *_forged(document)):
        yield name, text(one)
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
    twice = [*document["questions"], document["questions"][0]]
    yield "a question twice", sealed(document | {"questions": twice})
    yield "a list", [document]


def bad_totals(document):
    """The same, where the fault takes sums over binomial laws, which no device makes."""
    totals = ("guarantee", "aggregates")
    true = document["questions"][index(document, "sampled")]["guarantee"]["aggregates"]["epsilon"]
    wrong = [("epsilon", value) for value in (0, true / 2, true * 0.999999, 51)]
    for key, value in (*wrong, ("delta", 1e-30), (_OTHERS, [0, 0])):
        yield f"{key} {value}", text(changed(document, "sampled", (*totals, key), value))


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
    yield "a key twice", good.replace('"users": 1000', '"users": 1000, "users": 1000').encode()
    escaped = good.replace('"users": 1000', '"users": 1000, "\\u0075sers": 1000')
    yield "a key twice, once escaped", escaped.encode()
    for number in ("NaN", "Infinity", "1e999", "1" + "0" * 400, "01", "1_000", "0x10"):
        yield number[:9], good.replace('"users": 1000', f'"users": {number}').encode()
    yield "half a pair", good.replace('"survey": "', '"survey": "\\ud800').encode()
    deep = good.replace('"users": 1000', '"users": ' + "[" * 100_000 + "]" * 100_000)
    yield "deep", deep.encode()


_OTHERS = "others_with_each_value"
_DOCUMENT = {
    "version": (4, 6, True), "extra": (1,), "questions": ([],), "users": (0, 1.5), "survey": ("",),
    "created": ("2026-01-01T00:00:00Z",),
}  # fmt: skip
_CHANGES = [
    *(row[:3] for row in (*FORMS, *PROOFS)),  # what is wrong with these, tests/laws says
    # form
    *(("idue", path, 1) for path in (("levels", 0, "extra"), ("levels", 0, "toString"))),
    *(("idue", ("levels", 0, "epsilon"), value) for value in ({"toString": 1}, 0, 50.5)),
    *(("idue", ("levels", 0, "items"), value) for value in ({"length": 0}, [7], None)),
    *(("idue", (key,), ...) for key in ("a", "asked", "law")),
    *(("idue", (key,), value) for key in ("asked", "law") for value in ("__proto__", "ordered")),
    *(("idue", (key,), "") for key in ("mechanism", "name")), ("idue", ("mechanism",), 1),
    ("idue", ("pairs",), []), ("idue", ("__proto__",), 1), ("idue", ("longer_sets",), []),
    ("idue", ("law",), "rows"), ("idue", ("a",), {"toString": 1}), ("idue", ("a", 0), True),
    ("idue", ("b", 0), 0), ("yes", ("yes_no",), 1), ("age", ("upper",), None),
    ("age", ("upper",), "9"), ("sampled", ("guarantee", "extra"), 1),
    ("sampled", ("guarantee", "aggregates", "x"), 1),
    # parts that do not fit each other
    ("grr", ("name",), "idue"), ("matrix", ("rule",), [[None, None], [None, 1.0]]),
    ("matrix", ("rule", 0), [1.0]), ("sampled", ("rule",), [[0.01]]),
    ("sampled", ("rule",), "avg"), ("subset", ("types", 0, 0), 5), ("subset", ("types", 0, 0), 0),
    ("design", ("groups", 1), 2), ("design", ("weights", 0, 0, 0), 2**33),
    ("sets", ("padding_length",), 2**25),
    ("sets", ("longer_sets", 0, "share"), 0), ("sets", ("longer_sets", 0, "share"), 1.5),
    ("sets", ("longer_sets",), [{"size": 5, "share": 0.1}, {"size": 5, "share": 0.1}]),
    ("age", ("points",), 64), ("age", ("values", 0), [0.0]), ("order", ("order",), [0, 1, 2, 3]),
    ("order", ("values",), [[0.0]]), ("order", ("wanted",), "all"),
    # budgets
    ("idue", ("rule",), [[0.01, 0.01], [0.01, 0.01]]), ("avg", ("b", 0), 5),
    ("rappor", ("levels", 0, "epsilon"), 0.5),
    ("subset", ("weights", 0, 0), [1, 2**32 - 1]), ("design", ("weights", 0, 0), [1, 1]),
    ("order", ("levels", 0, "epsilon"), 0.5), ("hours", ("epsilon",), 1.9),
    ("sampled", ("zero",), 0),
    # estimators that are biased
    ("age", ("values", 0, 1), 0.0), ("hours", ("values", 1, 0), 9.0),
    # a guarantee that the die does not give
    *(("sampled", ("guarantee", "relies_on"), value) for value in ("luck", "aggregates-only")),
    ("sampled", ("guarantee", "round_two_epsilon"), "infinite"),
    ("sampled", ("guarantee", "aggregates", "epsilon"), -1),
    ("sampled", ("guarantee", "aggregates", "delta"), 0),
    *(("sampled", ("guarantee", "aggregates", _OTHERS), [9, 19, *more]) for more in ([], [-29])),
]  # fmt: skip
