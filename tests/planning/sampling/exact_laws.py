"""Exact laws in fractions, for the guarantees of Sampling Privacy to be checked against."""

from fractions import Fraction
from itertools import product
from math import comb, exp

EPSILONS = (0, 0.1, 0.5, 1, 3)


def hockey_stick(p, q, epsilon):
    """Both directions, over dictionaries of probabilities, in exact arithmetic."""
    growth = Fraction(exp(epsilon))
    outcomes = p.keys() | q.keys()
    pairs = [(p.get(o, Fraction(0)), q.get(o, Fraction(0))) for o in outcomes]
    return float(
        max(
            sum(max(b - growth * a, Fraction(0)) for a, b in pairs),
            sum(max(a - growth * b, Fraction(0)) for a, b in pairs),
        )
    )


def binomial(size, chance):
    chance = Fraction(chance)
    return {x: comb(size, x) * chance**x * (1 - chance) ** (size - x) for x in range(size + 1)}


def totals(mechanism, answers):
    """Exact law of all released totals, person by person, from the stated output law."""
    law = {(0,) * (2 * mechanism.items): Fraction(1)}
    stay = [mechanism.zero, *mechanism.decoys]
    for answer in answers:
        moves = {}
        for first, second, chance in [
            *((j, j, stay[j]) for j in range(mechanism.items)),
            (0, answer, mechanism.sampling),
        ]:
            step = [0] * (2 * mechanism.items)
            step[first] += 1
            step[mechanism.items + second] += 1
            moves[tuple(step)] = moves.get(tuple(step), Fraction(0)) + Fraction(chance)
        new = {}
        for (total, p), (step, q) in product(law.items(), moves.items()):
            key = tuple(a + b for a, b in zip(total, step, strict=True))
            new[key] = new.get(key, Fraction(0)) + p * q
        law = new
    return law
