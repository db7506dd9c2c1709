"""Documents changed at random, and how far a question breaks its budgets, by plain floats."""

import copy
import itertools
import json
import math

import numpy as np

from planner.deployment.client.laws.pairs import demanded_budget
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


def breach(question):
    """By how much a question's worst pair exceeds its budget, by plain floating point."""
    mechanism = question["mechanism"]
    if question["kind"] == "numeric":
        rows = question.get("rows") or [[question["low"]], [GRID - question["low"]]]
        ratios = [max(one) / min(one) for one in zip(*rows, strict=True)]
        return math.log(max(ratios)) - question["epsilon"]
    levels = question["levels"]
    epsilons = [level["epsilon"] for level in levels]
    if mechanism == "sampling-privacy":
        spread = [
            e for level, e in zip(levels, epsilons, strict=True) for _ in range(level["item_count"])
        ]
        losses = [math.log1p(question["sampling"] / decoy) for decoy in question["decoys"]]
        worst = max(loss - e for loss, e in zip(losses, spread, strict=True))
        if question["everyone_has_value"]:
            return worst
        zero = math.log1p(question["sampling"] / question["zero"])
        return max(worst, zero - question["none_epsilon"])
    size, items = len(levels), sum(level["item_count"] for level in levels)
    rule = question["rule"]
    if isinstance(rule, list):
        rule = [[math.inf if entry is None else entry for entry in row] for row in rule]
    budgets = [[demanded_budget(epsilons, rule, i, j) for j in range(size)] for i in range(size)]
    if mechanism in WORST:
        return WORST[mechanism](question, budgets)
    if mechanism in ("idue", "idue-ps"):
        ones = [math.log(level["a"] / level["b"]) for level in levels]
        zeros = [math.log((GRID - level["b"]) / (GRID - level["a"])) for level in levels]
        pairs = [(i, j) for i in range(size) for j in range(size)]
        return max(ones[i] + zeros[j] - budgets[i][j] for i, j in pairs)
    if mechanism == "subset-selection":
        held, d = question["held"] / GRID, question["size"]
        loss = math.log(held / (1 - held) * (items - d) / d)
    else:
        truth, values = question["truth"] / GRID, question.get("values", items)
        loss = math.log(truth * values / (1 - truth) + 1)
    return loss - min(map(min, budgets))


def worst_of_rows(question, budgets):
    """By how much two answers' probabilities of one report exceed their budget."""
    counts = [level["item_count"] for level in question["levels"]]
    own = np.repeat(np.arange(len(counts)), counts)
    pairs = itertools.permutations(zip(own, np.log(question["rows"]), strict=True), 2)
    return max((one - other).max() - budgets[i][j] for (i, one), (j, other) in pairs)


def worst_of_design(question, budgets):
    """By how much two sides that can stand in one report exceed their budget."""
    levels, worst = question["levels"], -math.inf
    own = [level["group"] for level in levels]
    counts = [level["item_count"] for level in levels]
    if "dummy_group" in question:  # of the least budget towards all, and alone
        own, counts = [*own, question["dummy_group"]], [*counts, 1]
        least = min(level["epsilon"] for level in levels)
        budgets = [*([*row, least] for row in budgets), [least] * len(own)]
    totals = [
        sum(m for m, group in zip(counts, own, strict=True) if group == g)
        for g in range(len(question["groups"]))
    ]
    for o, highs in enumerate(question["types"]):
        sides = [
            (i, side, question["groups"][g][o][side] * totals[g] / n)
            for i, g in enumerate(own)
            for side, n in ((0, totals[g] - highs[g]), (1, highs[g]))
            if n > 0
        ]
        for i, one, above in sides:
            for j, two, below in sides:
                same_side_of_group = own[i] == own[j] and one == two
                lone = i == j and counts[i] == 1
                if above and not same_side_of_group and not lone and budgets[i][j] < math.inf:
                    loss = math.log(above / below) if below else math.inf
                    worst = max(worst, loss - budgets[i][j])
    return worst


WORST = dict.fromkeys(("subset-design", "subset-design-ps"), worst_of_design)
WORST["ordered-channel"] = worst_of_rows
