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
    if isinstance(value, dict):
        children = value.items()
    else:
        children = enumerate(value)
    for key, child in children:
        if isinstance(child, dict | list):
            yield from paths_of(child, (*prefix, key))
        else:
            yield (*prefix, key)


def mutated(document, places, rng):
    """One change at a random place: another value, a nudge, a copy from elsewhere, or a loss."""
    copied = json.loads(document)
    *steps, key = places[rng.integers(len(places))]
    holder = copied
    for step in steps:
        holder = holder[step]
    kind = rng.integers(5)
    if kind == 0:
        holder[key] = ODD[rng.integers(len(ODD))]
    elif kind == 1:
        if isinstance(holder, list):
            holder.append(copy.deepcopy(holder[key]))
        else:
            holder["extra"] = holder.pop(key)
    elif kind == 2:
        del holder[key]
    elif type(holder[key]) is int:
        holder[key] += int(rng.choice([-(10**6), -1, 1, 10**6]))
    elif type(holder[key]) is float:
        holder[key] *= float(rng.choice([0.5, 1 - 1e-9, 1 + 1e-9, 2]))
    else:
        holder[key] = ODD[rng.integers(len(ODD))]
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
    stop = random.randint(0, len(rest))
    ways = (
        lambda: flipped(data, random),
        lambda: data[:start],
        lambda: rest,
        lambda: rest[:stop] + part + rest[stop:],
        lambda: data[:start] + part * random.choice((2, 3, 31)) + data[end:],
        lambda: data[:start] + random.choice(NASTY) + data[end:],
    )
    return random.choice(ways)()
