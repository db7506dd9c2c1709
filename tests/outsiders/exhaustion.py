"""Exact delta of shuffled reports by listing every histogram, for small numbers of people."""

from itertools import combinations_with_replacement
from math import exp

import numpy as np


def histogram_law(rows):
    """``Pr[histogram]`` as a dictionary, for people with these laws of their reports."""
    law = {(0,) * len(rows[0]): 1.0}
    for row in rows:
        after = {}
        for counts, chance in law.items():
            for y, p in enumerate(row):
                key = (*counts[:y], counts[y] + 1, *counts[y + 1 :])
                after[key] = after.get(key, 0.0) + chance * p
        law = after
    return law


def delta(one, two, others, epsilon, seen=lambda counts: counts):
    """Hockey-stick divergence between the shuffled reports of two neighbouring data sets."""
    totals = []
    for victim in (one, two):
        law = {}
        for counts, chance in histogram_law([victim, *others]).items():
            law[seen(counts)] = law.get(seen(counts), 0.0) + chance
        totals.append(law)
    keys = set(totals[0]) | set(totals[1])
    return sum(max(0.0, totals[0].get(k, 0) - exp(epsilon) * totals[1].get(k, 0)) for k in keys)


def worst_delta(law, i, j, people, epsilon):
    """The largest over all answers of the others and both orders."""
    answers = combinations_with_replacement(range(len(law)), people - 1)
    return max(
        max(
            delta(law[i], law[j], law[list(rest)], epsilon),
            delta(law[j], law[i], law[list(rest)], epsilon),
        )
        for rest in answers
    )


def random_law(rng, answers, reports, largest=2.0):
    """A mechanism with log-ratios of at most ``largest`` or so."""
    law = np.exp(rng.uniform(0, largest, (answers, reports)))
    return law / law.sum(axis=1, keepdims=True)
