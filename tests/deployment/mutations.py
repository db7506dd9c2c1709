"""Documents changed at random."""

import copy
import json

from tests.deployment.examples import sealed

GRID = 2**32
ODD = [0, 1, -1, 2**31, GRID - 1, GRID, 2**64, 0.5, 1.0, -0.0, 1e300, 49.9, 50, 51, True, False]
ODD += [None, "", "min", "avg", "idue", "grr", [], {}, [[1.0]], "é", "x" * 300]


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


def garbled(text, rng):
    """Bytes flipped, cut out, doubled or cut off; the hash is left as it was."""
    data = bytearray(text)
    start, end = sorted(rng.integers(len(data), size=2))
    kind = rng.integers(4)
    if kind == 0:
        data[start] = rng.integers(256)
    elif kind == 1:
        del data[start : start + 1 + end % 7]
    elif kind == 2:
        data[start:start] = data[start : start + 1 + end % 7]
    else:
        del data[start:]
    return bytes(data)
