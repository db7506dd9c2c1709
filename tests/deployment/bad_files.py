"""Files that no reader may accept: one list for the two clients, ``verify`` and the collector."""

import copy
import json
import math

from planner.deployment.client.canonical import content_hash
from tests.deployment.examples import FILES, index, sealed
from tests.deployment.readers import text


def changed(document, name, path, value):
    """A sealed copy with a value of the question of that name replaced (or, with ..., removed)."""
    copied = copy.deepcopy(document)
    place = copied["questions"][index(document, name)]
    for key in path[:-1]:
        place = place[key]
    if value is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return sealed(copied)


def value_at(document, name, path):
    """A value of the question of that name."""
    place = document["questions"][index(document, name)]
    for key in path:
        place = place[key]
    return place


def bad_files(document):
    """Name and bytes of every bad file, made of a good one with every mechanism."""
    for name, one in (*_documents(document), *_forged(document)):
        yield name, text(one)
    yield from _texts(json.dumps(document))


def _documents(document):
    """Of the right hash, which is no proof of anything."""
    for name, path, value in _CHANGES:
        yield f"{name} {path} {value!r:.40}", changed(document, name, path, value)
    for name, path, step in _STEPS:
        value = math.nextafter(value_at(document, name, path), step)
        yield f"{name} {path} one digit", changed(document, name, path, value)
    many = changed(document, "olh", ("levels", 0, "items"), [])
    for count in (2**24, 2**32):  # a collector counts each item
        yield f"{count} items", changed(many, "olh", ("levels", 0, "item_count"), count)
    for change in ({"version": 4}, {"version": True}, {"extra": 1}, {"questions": []}):
        yield str(change), sealed(document | change)
    for change in ({"users": 0}, {"users": 1.5}, {"survey": ""}, {"created": "today"}):
        yield str(change), sealed(document | change)
    yield "digits of another script", sealed(document | {"created": "\uff12026-01-01T00:00:00Z"})
    yield "a newline more", sealed(document | {"created": "2026-01-01T00:00:00Z\n"})
    for key in document:
        yield f"no {key}", sealed({k: v for k, v in document.items() if k != key})
    twice = [*document["questions"], document["questions"][0]]
    yield "a question twice", sealed(document | {"questions": twice})
    yield "a list", [document]


def bad_totals(document):
    """The same, where the fault takes sums over binomial laws, which no device makes."""
    totals = ("guarantee", "aggregates")
    for key in ("difference_epsilon", "totals_epsilon"):
        true = value_at(document, "sampled", (*totals, key))
        for value in (0, true / 2, true * 0.999999, 51):
            yield f"{key} {value}", text(changed(document, "sampled", (*totals, key), value))
    for key, value in (("delta", 1e-30), ("totals_are_exact", True), (_OTHERS, [0, 0])):
        yield f"{key} {value}", text(changed(document, "sampled", (*totals, key), value))


def _forged(document):
    """Hashes that are not the content's."""
    old = json.loads((FILES / "version1.json").read_text())
    for level in old["questions"][0]["levels"]:
        level |= {"epsilon": 50.0, "a": 2**32 - 9, "b": 9}
    yield "version 1 of another's hash", old | {"hash": document["hash"]}
    yield "version 1 of its own hash", old | {"hash": content_hash(old)}
    yield "another hash", document | {"hash": "0" * 64}
    yield "no hash", {key: value for key, value in document.items() if key != "hash"}
    yield "a shouted hash", document | {"hash": document["hash"].upper()}
    yield "version 1 of version 2", document | {"version": 1}


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
_GRID = 2**32
_CHANGES = [
    # shape
    ("idue", ("extra",), 1), ("idue", ("levels", 0, "extra"), 1), ("idue", ("pairs", 0, "x"), 1),
    ("idue", ("predicted", "extra"), 1), ("idue", ("estimator", "extra"), 1),
    ("sampled", ("guarantee", "extra"), 1), ("sampled", ("guarantee", "aggregates", "x"), 1),
    ("idue", ("pairs",), ...), ("idue", ("estimator",), ...), ("idue", ("predicted",), ...),
    ("idue", ("kind",), "numeric"), ("idue", ("kind",), ...), ("idue", ("model",), "best"),
    ("idue", ("mechanism",), "grr"), ("idue", ("mechanism",), "__proto__"),
    ("idue", ("__proto__",), 1), ("idue", ("denominator",), 2**31), ("idue", ("name",), ""),
    ("idue", ("levels", 0, "a"), _GRID), ("idue", ("levels", 0, "a"), True),
    ("idue", ("levels", 0, "epsilon"), 50.5), ("idue", ("levels", 0, "epsilon"), 0),
    ("idue", ("levels", 0, "items"), [7]), ("idue", ("levels", 0, "items"), None),
    ("idue", ("predicted", "worst_case_mse"), 0), ("yes", ("yes_no",), 1),
    ("age", ("upper",), None), ("age", ("upper",), "9"), ("olh", ("hash_function",), "md5"),
    # parts that do not fit each other
    ("grr", ("name",), "idue"), ("idue", ("levels", 0, "name"), "common"),
    ("idue", ("levels", 0, "items"), ["flu"]), ("idue", ("levels", 0, "item_count"), 2),
    ("idue", ("levels", 0, "b"), _GRID - 1), ("matrix", ("rule", 0, 1), 2.0),
    ("matrix", ("rule",), [[1.0]]), ("matrix", ("rule",), [[None, None], [None, 1.0]]),
    ("matrix", ("rule", 0), [1.0]), ("sets", ("rule",), "avg"), ("sampled", ("rule",), [[0.01]]),
    ("sampled", ("rule",), "avg"), ("subset", ("size",), 5), ("age", ("lower",), 90.0),
    ("idue", ("rule",), [[0.01, 0.01], [0.01, 0.01]]), ("sets", ("padding_length",), 2**25),
    ("sets", ("longer_sets",), None), ("sets", ("longer_sets", 0, "size"), 3),
    ("sets", ("longer_sets", 0, "share"), 0), ("sets", ("longer_sets", 0, "share"), 1.5),
    ("sets", ("longer_sets",), [{"size": 5, "share": 0.1}, {"size": 5, "share": 0.1}]),
    ("sets", ("longer_sets",), [{"size": 4, "share": 0.1}, {"size": 5, "share": 0.2}]),
    ("idue", ("longer_sets",), []),
    # budgets
    ("idue", ("levels", 1, "a"), 3 * 10**9), ("avg", ("levels", 1, "a"), 4 * 10**9),
    ("rappor", ("levels", 0, "epsilon"), 0.5),
    ("grr", ("truth",), 3 * 10**9), ("olh", ("values",), 30), ("subset", ("held",), _GRID - 1),
    ("subset", ("held",), 1), ("age", ("low",), 100), ("age", ("epsilon",), 1.99),
    ("sampled", ("decoys", 0), 1), ("sampled", ("none_epsilon",), 0.5),
    ("sampled", ("decoys",), [1]), ("sampled", ("zero",), 0),
    # what does not follow from the integers
    ("idue", ("pairs", 0, "demanded"), 2.0), ("idue", ("pairs", 0, "demanded"), None),
    ("idue", ("pairs", 0, "realised"), 0.5), ("idue", ("pairs", 0), ...),
    ("idue", ("pairs",), []), ("idue", ("pairs", 1, "second"), 0),
    ("avg", ("pairs", 1, "demanded"), 1),
    ("idue", ("estimator", "factor"), 2), ("sets", ("estimator", "factor"), 1),
    ("idue", ("estimator", "offsets", 0), 0.5), ("grr", ("estimator", "slopes"), [0.5]),
    ("age", ("estimator", "noise"), 0.25), ("sampled", ("estimator", "sampling"), 0.5),
    # a guarantee that the die does not give
    ("sampled", ("guarantee", "acknowledged"), "yes"),
    ("sampled", ("guarantee", "relies_on"), "luck"),
    ("sampled", ("guarantee", "relies_on"), "aggregates-only"),
    ("sampled", ("guarantee", "linkable_epsilon"), 1.0),
    ("sampled", ("guarantee", "round_two_epsilon"), 0.001),
    ("sampled", ("guarantee", "round_two_epsilon"), "infinite"),
    ("sampled", ("guarantee", "aggregates", "difference_epsilon"), -1),
    ("sampled", ("guarantee", "aggregates", "totals_epsilon"), -1),
    ("sampled", ("guarantee", "aggregates", "delta"), 0),
    ("sampled", ("guarantee", "aggregates", _OTHERS), [9, -19, 29]),
    ("sampled", ("guarantee", "aggregates", _OTHERS), [9, 19]),
    ("sampled", ("guarantee", "aggregates", "others_with_none"), -1),
]  # fmt: skip
_STEPS = [
    ("idue", ("pairs", 0, "realised"), 0), ("idue", ("pairs", 0, "realised"), 9),
    ("idue", ("pairs", 0, "demanded"), 9), ("grr", ("pairs", 0, "realised"), 0),
    ("olh", ("pairs", 0, "realised"), 0), ("subset", ("pairs", 0, "realised"), 0),
    ("age", ("pairs", 0, "realised"), 0), ("sampled", ("pairs", 0, "realised"), 0),
    ("grr", ("estimator", "offsets", 0), 0), ("olh", ("estimator", "slopes", 0), 0),
    ("subset", ("estimator", "slopes", 1), 1), ("age", ("estimator", "theta"), 1),
]  # fmt: skip
