"""Independent answers from the document alone: laws by listing all reports, budgets pair by pair.

Nothing here uses the code that is tested: probabilities are fractions, exponentials a series.
"""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product

D = 2**32


@lru_cache(maxsize=10_000)
def true_exp(x):
    """``e^x`` to more than 80 digits: independent of decimal's own ``exp``."""
    with localcontext(prec=100):
        part = Decimal(x)
        halved = 0
        while part > Decimal("0.1"):  # e^x = (e^(x/2))^2
            part = part / 2
            halved = halved + 1
        term = total = Decimal(1)
        for k in range(1, 80):
            term *= part / k
            total += term
        return Fraction(total ** (2**halved))


def members(question):
    """Elements and budget of each level, then of the dummies."""
    if question["asked"] == "number":
        return [(question["points"] + 1, question["epsilon"])]
    found = [(level["item_count"], level["epsilon"]) for level in question["levels"]]
    dummies = question.get("padding_length", 0)
    return (
        [*found, (dummies, min(epsilon for _, epsilon in found))] if dummies else found
    )


def budget(question, i, j):
    """The budget of two different elements of the levels; ``inf`` for none."""
    epsilons = [epsilon for _, epsilon in members(question)]
    rule = question.get("rule", "min")
    if isinstance(rule, list):
        return math.inf if rule[i][j] is None else rule[i][j]
    if rule == "one-sided":
        return min(epsilons[i], question["levels"][j].get("against", math.inf))
    both = epsilons[i], epsilons[j]
    return min(both) if rule == "min" else sum(both) / 2


def level_of(question):
    """The level of each element."""
    return [i for i, (count, _) in enumerate(members(question)) for _ in range(count)]


def inputs(question):
    """What a report can be about: one element, or a whole padded set of them."""
    elements = (
        len(question["decoys"]) + 1
        if question["law"] == "die"
        else len(level_of(question))
    )
    length = question["padding_length"] if question["law"] == "staircase" else 1
    return list(combinations(range(elements), length))


def law_of(question):
    """For every input the probability of each report, as the bytes that are sent."""
    return _LAWS[question["law"]](question)


def _packed(bits):
    number = sum(1 << k for k, bit in enumerate(bits) if bit)
    return number.to_bytes(8 * -(-len(bits) // 64), "little")


def _bits(question):
    epsilons = [epsilon for _, epsilon in members(question)]
    least = epsilons.index(min(epsilons))
    levels = [i if i < len(question["a"]) else least for i in level_of(question)]
    laws = []
    for own in range(len(levels)):
        chances = [
            Fraction(question["a" if k == own else "b"][i], D)
            for k, i in enumerate(levels)
        ]
        laws.append(
            {
                _packed(bits): math.prod(
                    p if bit else 1 - p for p, bit in zip(chances, bits, strict=True)
                )
                for bits in product((0, 1), repeat=len(levels))
            }
        )
    return laws


def _sides(question):
    own_groups = [question["groups"][i] for i in level_of(question)]
    order = sorted(
        range(len(own_groups)), key=own_groups.__getitem__
    )  # bits, group by group
    groups = range(len(question["weights"]))
    laws = [{} for _ in own_groups]
    for kind, highs in enumerate(question["types"]):
        choices = []
        for g in groups:
            mine = [k for k in order if own_groups[k] == g]
            choices.append([set(chosen) for chosen in combinations(mine, highs[g])])
        splits = [set().union(*parts) for parts in product(*choices)]
        head = kind.to_bytes(8, "little") if len(question["types"]) > 1 else b""
        for own, g in enumerate(own_groups):
            for side in (0, 1):
                there = [split for split in splits if (own in split) == side]
                weight = Fraction(question["weights"][g][kind][side], D)
                for split in there:
                    report = head + _packed([k in split for k in order])
                    laws[own][report] = weight / len(there)
    return laws


def _rows(question):
    numbered = (enumerate(row) for row in question["rows"])
    return [
        {y.to_bytes(2, "little"): Fraction(w, D) for y, w in row} for row in numbered
    ]


def _die(question):
    """Of round two; round one has the same law for everybody."""
    faces = [question["zero"], *question["decoys"]]
    return [
        {
            y.to_bytes(4, "little"): Fraction(
                face + question["sampling"] * (y == own), D
            )
            for y, face in enumerate(faces)
        }
        for own in range(len(faces))
    ]


def _hash(question):
    """Of the value, given that it is the item's: a number a value, whatever the seed."""
    others = Fraction(D - question["truth"], D * question["values"])
    truth = Fraction(question["truth"], D)
    values = range(question["values"])
    return [{y: others + truth * (y == own) for y in values} for own in values]


def _staircase(question):
    owns = inputs(question)
    held = question["held"]
    elements = len(level_of(question))
    width = 2 if elements <= 2**16 else 4
    width = width if held * width < 8 * -(-elements // 64) else 0
    laws = []
    for own in owns:
        hits = {}
        for report in combinations(range(elements), held):
            bits = _packed([k in report for k in range(elements)])
            numbers = b"".join(k.to_bytes(width or 4, "little") for k in report)
            hits[numbers if width else bits] = len(set(own).intersection(report))
        heights = {min(hits.values()): Fraction(1)}
        for ratio in question["ratios"]:
            heights[max(heights) + 1] = heights[max(heights)] * Fraction(D, ratio)
        total = sum(heights[own_ones] for own_ones in hits.values())
        laws.append(
            {report: heights[own_ones] / total for report, own_ones in hits.items()}
        )
    return laws


def set_ratios(question):
    """The largest of two padded sets that differ in one element, and of any two."""
    worst = [Fraction(0), Fraction(0)]
    owns = inputs(question)
    laws = law_of(question)
    for (one, first), (two, second) in product(zip(owns, laws, strict=True), repeat=2):
        ratio = max(first[report] / second[report] for report in first)
        apart = len({*one} - {*two})
        worst = [max(worst[0], ratio if apart == 1 else 0), max(worst[1], ratio)]
    return worst


_LAWS = {
    one.__name__[1:]: one for one in (_bits, _sides, _rows, _die, _hash, _staircase)
}


def largest_ratio(laws, first, second):
    """Of two lists of elements' laws, those of the same element left out; ``None`` if endless."""
    worst = None
    for one, other in product(first, second):
        if one == other:
            continue
        for report in laws[one].keys() | laws[other].keys():
            above = laws[one].get(report, 0)
            below = laws[other].get(report, 0)
            if above and not below:
                return math.inf
            if above:
                worst = max(worst or 0, above / below)
    return worst


def breaches(question):
    """Pairs of levels whose budget the law of a question exceeds, by ``e^r`` from the series."""
    laws = law_of(question)
    if question["law"] == "staircase":
        least = min(
            budget(question, *pair) for pair in _pairs_of_items(level_of(question))
        )
        promised = zip(set_ratios(question), (least, question["cap"]), strict=True)
        return [r for ratio, r in promised if ratio > true_exp(r)]
    if question["law"] == "hash":
        pairs = _pairs_of_items(level_of(question))
        least = min((budget(question, *pair) for pair in pairs), default=50.0)
        ratio = largest_ratio(laws, range(len(laws)), range(len(laws)))
        return [] if ratio <= true_exp(least) else ["values"]
    if question["law"] == "die":
        epsilons = [members(question)[i][1] for i in level_of(question)]
        return [
            own
            for own, epsilon in enumerate([question["none_epsilon"], *epsilons])
            if not (own == 0 and question["everyone_has_value"])
            and max(_over_others(laws, own)) > true_exp(epsilon)
        ]
    levels = level_of(question)
    found = []
    size = len(members(question))
    for i in range(size):
        for j in range(size):
            r = budget(question, i, j)
            if math.isinf(r):
                continue
            first, second = (
                [k for k, level in enumerate(levels) if level == x] for x in (i, j)
            )
            ratio = largest_ratio(laws, first, second)
            if ratio is not None and (ratio == math.inf or ratio > true_exp(r)):
                found.append((i, j))
    return found


def _over_others(laws, own):
    report = own.to_bytes(4, "little")
    return [
        laws[own][report] / laws[other][report]
        for other in range(len(laws))
        if other != own
    ]


def _pairs_of_items(levels):
    return {
        (i, j) for k, i in enumerate(levels) for n, j in enumerate(levels) if k != n
    }
