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
    sizes = [(level["item_count"], level["epsilon"]) for level in question["levels"]]
    dummies = question.get("padding_length", 0)
    if dummies:
        return [*sizes, (dummies, min(epsilon for _, epsilon in sizes))]
    return sizes


def budget(question, i, j):
    """The budget of two different elements of the levels; ``inf`` for none."""
    epsilons = [epsilon for _, epsilon in members(question)]
    rule = question.get("rule", "min")
    if isinstance(rule, list):
        if rule[i][j] is None:
            return math.inf
        return rule[i][j]
    if rule == "one-sided":
        return min(epsilons[i], question["levels"][j].get("against", math.inf))
    both = epsilons[i], epsilons[j]
    if rule == "min":
        return min(both)
    return sum(both) / 2


def level_of(question):
    """The level of each element."""
    levels = []
    for level, (count, _) in enumerate(members(question)):
        levels += [level] * count
    return levels


def inputs(question):
    """What a report can be about: one element, or a whole padded set of them."""
    if question["law"] == "die":
        elements = len(question["decoys"]) + 1
    else:
        elements = len(level_of(question))
    if question["law"] == "overlap":
        length = question["padding_length"]
    else:
        length = 1
    return list(combinations(range(elements), length))


def law_of(question):
    """For every input the probability of each report, as the bytes that are sent."""
    return _LAWS[question["law"]](question)


def _packed(bits):
    number = 0
    for place, bit in enumerate(bits):
        if bit:
            number += 1 << place
    words = -(-len(bits) // 64)
    return number.to_bytes(8 * words, "little")


def _bits(question):
    """Each element has a bit: 1 with probability a if it is the person's own, else with b."""
    epsilons = [epsilon for _, epsilon in members(question)]
    least = epsilons.index(min(epsilons))
    levels = level_of(question)
    for element, level in enumerate(levels):
        if level == len(question["a"]):  # a dummy is drawn like the strictest items
            levels[element] = least
    laws = []
    for own in range(len(levels)):
        ones = [Fraction(question["b"][level], D) for level in levels]
        ones[own] = Fraction(question["a"][levels[own]], D)
        law = {}
        for bits in product((0, 1), repeat=len(levels)):
            chance = Fraction(1)
            for one_chance, bit in zip(ones, bits, strict=True):
                if bit:
                    chance *= one_chance
                else:
                    chance *= 1 - one_chance
            law[_packed(bits)] = chance
        laws.append(law)
    return laws


def _sides(question):
    """A type of report by the side of the own element, then any split with so many on each."""
    own_groups = [question["groups"][level] for level in level_of(question)]
    # Bits stand group by group.
    order = sorted(range(len(own_groups)), key=own_groups.__getitem__)
    groups = range(len(question["weights"]))
    laws = [{} for _ in own_groups]
    for kind, highs in enumerate(question["types"]):
        choices = []
        for g in groups:
            mine = [k for k in order if own_groups[k] == g]
            choices.append([set(chosen) for chosen in combinations(mine, highs[g])])
        splits = []
        for parts in product(*choices):
            splits.append(set().union(*parts))
        if len(question["types"]) > 1:
            head = kind.to_bytes(8, "little")
        else:
            head = b""
        for own, g in enumerate(own_groups):
            for side in (0, 1):
                there = [split for split in splits if (own in split) == side]
                weight = Fraction(question["weights"][g][kind][side], D)
                for split in there:
                    report = head + _packed([k in split for k in order])
                    laws[own][report] = weight / len(there)
    return laws


def _rows(question):
    """A row of probabilities for each input."""
    laws = []
    for row in question["rows"]:
        law = {}
        for number, weight in enumerate(row):
            law[number.to_bytes(2, "little")] = Fraction(weight, D)
        laws.append(law)
    return laws


def _die(question):
    """Of round two; round one has the same law for everybody."""
    faces = [question["zero"], *question["decoys"]]
    laws = []
    for own in range(len(faces)):
        weights = list(faces)
        weights[own] += question["sampling"]
        law = {}
        for face, weight in enumerate(weights):
            law[face.to_bytes(4, "little")] = Fraction(weight, D)
        laws.append(law)
    return laws


def _hash(question):
    """Of the value, given that it is the item's: a number a value, whatever the seed."""
    others = Fraction(D - question["truth"], D * question["values"])
    truth = Fraction(question["truth"], D)
    laws = []
    for own in range(question["values"]):
        law = dict.fromkeys(range(question["values"]), others)
        law[own] += truth
        laws.append(law)
    return laws


def _overlap(question):
    """So many elements of all; a report's weight rises with those that are the person's own."""
    held = question["held"]
    elements = len(level_of(question))
    if elements <= 2**16:
        width = 2
    else:
        width = 4
    listed = held * width < 8 * -(-elements // 64)  # else bits are shorter
    laws = []
    for own in inputs(question):
        hits = {}
        for chosen in combinations(range(elements), held):
            if listed:
                report = b"".join(k.to_bytes(width, "little") for k in chosen)
            else:
                report = _packed([k in chosen for k in range(elements)])
            hits[report] = len(set(own).intersection(chosen))
        fewest = min(hits.values())
        heights = {fewest: Fraction(1)}
        for step, ratio in enumerate(question["ratios"], fewest):
            heights[step + 1] = heights[step] * Fraction(D, ratio)
        total = sum(heights[count] for count in hits.values())
        laws.append({report: heights[count] / total for report, count in hits.items()})
    return laws


def set_ratios(question):
    """The largest of two padded sets that differ in one element, and of any two."""
    one_apart = Fraction(0)
    any_two = Fraction(0)
    sets = inputs(question)
    laws = law_of(question)
    for first, second in product(range(len(sets)), repeat=2):
        ratio = Fraction(0)
        for report, chance in laws[first].items():
            ratio = max(ratio, chance / laws[second][report])
        any_two = max(any_two, ratio)
        if len({*sets[first]} - {*sets[second]}) == 1:
            one_apart = max(one_apart, ratio)
    return one_apart, any_two


_LAWS = {
    "bits": _bits,
    "sides": _sides,
    "rows": _rows,
    "die": _die,
    "hash": _hash,
    "overlap": _overlap,
}


def largest_ratio(laws, first, second):
    """Of two lists of elements' laws, those of the same element left out; ``None`` if endless."""
    worst = None
    for element, other in product(first, second):
        if element == other:
            continue
        for report in laws[element].keys() | laws[other].keys():
            above = laws[element].get(report, 0)
            below = laws[other].get(report, 0)
            if above and not below:
                return math.inf
            if above:
                worst = max(worst or 0, above / below)
    return worst


def breaches(question):
    """Pairs of levels whose budget the law of a question exceeds, by ``e^r`` from the series."""
    laws = law_of(question)
    if question["law"] == "overlap":
        one_apart, any_two = set_ratios(question)
        exceeded = []
        if one_apart > true_exp(_least_budget(question)):
            exceeded.append("one item")
        if any_two > true_exp(question["cap"]):
            exceeded.append("cap")
        return exceeded
    if question["law"] == "hash":
        ratio = largest_ratio(laws, range(len(laws)), range(len(laws)))
        if ratio <= true_exp(_least_budget(question)):
            return []
        return ["values"]
    if question["law"] == "die":
        return _breaches_of_die(question, laws)
    exceeded = []
    levels = level_of(question)
    for i, j in product(range(len(members(question))), repeat=2):
        allowed = budget(question, i, j)
        if math.isinf(allowed):
            continue
        first = [k for k, level in enumerate(levels) if level == i]
        second = [k for k, level in enumerate(levels) if level == j]
        ratio = largest_ratio(laws, first, second)
        if ratio is not None and (ratio == math.inf or ratio > true_exp(allowed)):
            exceeded.append((i, j))
    return exceeded


def _breaches_of_die(question, laws):
    """Values whose own report is too much likelier than from anybody else."""
    epsilons = [question["none_epsilon"]]
    for level in level_of(question):
        epsilons.append(members(question)[level][1])
    exceeded = []
    for own, epsilon in enumerate(epsilons):
        if own == 0 and question["everyone_has_value"]:
            continue
        report = own.to_bytes(4, "little")
        rarest = min(law[report] for other, law in enumerate(laws) if other != own)
        if laws[own][report] / rarest > true_exp(epsilon):
            exceeded.append(own)
    return exceeded


def _least_budget(question):
    """The smallest of two different elements; the largest there is where there is one alone."""
    least = 50.0
    for i, j in combinations(level_of(question), 2):
        least = min(least, budget(question, i, j), budget(question, j, i))
    return least
