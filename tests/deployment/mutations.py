"""Documents and the bytes of files, changed at random."""

import copy
import json

from tests.deployment.examples import sealed

GRID = 2**32
ODD = [
    0,
    1,
    -1,
    2**31,
    GRID - 1,
    GRID,
    2**64,
    0.5,
    1.0,
    -0.0,
    1e300,
    49.9,
    50,
    51,
    True,
    False,
]
ODD += [None, "", "min", "avg", "idue", "grr", [], {}, [[1.0]], "é", "x" * 300]
# What has hurt before.
NASTY = (
    *(b"", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\r\n", b"\n\n", b'"', b"'''"),
    *(
        b"\\u0000",
        b"\\ud800",
        b"[" * 1200,
        b'{"a":' * 1200,
        b"[]",
        b"{}",
        b"null",
        b"true",
    ),
    *(b"NaN", b"-0.0", b"1e400", b"1e-320", b"9" * 4400, b"0x" + b"f" * 4000),
    *(b"=HYPERLINK(1)", b"\x1b[2J", b"PAR1", b"SQLite format 3\x00"),
)


def paths_of(value, prefix=()):
    """Every place in a document."""
    yield prefix
    children = value.items() if isinstance(value, dict) else enumerate(value)
    for key, child in children:
        if isinstance(child, dict | list):
            yield from paths_of(child, (*prefix, key))
        else:
            yield (*prefix, key)


def mutated(document, places, rng):
    """One change at a random place: another value, a nudge, a copy from elsewhere, or a loss."""
    copied = json.loads(document)
    *way, key = places[rng.integers(len(places))]
    place = copied
    for step in way:
        place = place[step]
    kind = rng.integers(5)
    if kind == 0:
        place[key] = ODD[rng.integers(len(ODD))]
    elif kind == 1:
        if isinstance(place, list):
            place.append(copy.deepcopy(place[key]))
        else:
            place["extra"] = place.pop(key)
    elif kind == 2:
        del place[key]
    elif type(place[key]) is int:
        place[key] += int(rng.choice([-(10**6), -1, 1, 10**6]))
    elif type(place[key]) is float:
        place[key] *= float(rng.choice([0.5, 1 - 1e-9, 1 + 1e-9, 2]))
    else:
        place[key] = ODD[rng.integers(len(ODD))]
    return sealed(copied)


def flipped(data, random):
    """One byte changed."""
    changed = bytearray(data)
    changed[random.randrange(len(data))] ^= random.randrange(1, 256)
    return bytes(changed)


def damaged(data, random):
    """One to three changes: bytes flipped, cut, doubled, moved, replaced, or all that follow."""
    for _ in range(random.randint(1, 3)):
        data = _changed(data, random)
    return data


def _changed(data, random):
    if not data:
        return random.choice(NASTY)
    start = random.randrange(len(data))
    end = min(len(data), start + random.choice((1, 2, 8, 64, 1024)))
    part = data[start:end]
    rest = data[:start] + data[end:]
    to = random.randint(0, len(rest))
    ways = (
        lambda: flipped(data, random),
        lambda: data[:start],
        lambda: rest,
        lambda: rest[:to] + part + rest[to:],
        lambda: data[:start] + part * random.choice((2, 3, 31)) + data[end:],
        lambda: data[:start] + random.choice(NASTY) + data[end:],
    )
    return random.choice(ways)()
