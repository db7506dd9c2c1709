"""Speed of the numeric mechanisms and of the answer-rate curve.

Run: python benchmarks/numeric.py. The peer of BiSample-MD
is the same algorithm written as the paper prints it, a person at a time.
"""

from __future__ import annotations

import math
import random

import numpy as np
from measure import Figure, peak_megabytes, rows, seconds, show

from planner import Numeric, Survey
from planner.deployment.parameters import parameters_from_mechanisms
from planner.mechanisms.making import bisample_md
from planner.mechanisms.words import seeded_words
from planner.planning.answer_rates import AnswerRateModel
from planner.survey.assumed import NormalPreferences

USERS = 10_000_000
PEER_USERS = 100_000
EPSILON = 3.0
CHUNK = 100_000


def people(users: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    return np.clip(rng.normal(0.5, 0.1, users), -1, 1), rng.normal(5, 1.5, users)


def collect(values: np.ndarray, preferences: np.ndarray) -> float:
    """Who tolerates less does not answer; perturb, aggregate and estimate."""
    question = Numeric("q", -1, 1, epsilon=EPSILON, mechanism="bisample-md")
    mechanism = bisample_md(EPSILON)
    survey = Survey("s", values.size, (question,))
    law = parameters_from_mechanisms(survey, {"q": mechanism}).questions[0]
    given = np.where(preferences < EPSILON, np.nan, values)
    counter = law.shape.counter()
    words = seeded_words(np.random.default_rng(2))
    for part in np.array_split(given, max(1, given.size // CHUNK)):
        counter.add(law.draw_many(part, words)[0])
    return float(mechanism.estimate(counter.sums()).mean.value or 0.0)


def whole_run() -> None:
    collect(*people(USERS))


def one_by_one(values: list[float], preferences: list[float]) -> float:
    """Algorithms 3 and 4 and equation 20, as printed."""
    draw = random.Random(3).random  # noqa: S311 - a simulation
    p = math.exp(EPSILON) / (math.exp(EPSILON) + 1)
    counts = [[0, 0], [0, 0]]
    for value, tolerated in zip(values, preferences, strict=True):
        positive = draw() < 0.5
        if tolerated < EPSILON:
            chance = 1 - p
        else:
            chance = (2 * p - 1) * (value if positive else -value) / 2 + 0.5
        counts[positive][draw() < chance] += 1
    f_neg, f_pos = (ones / (zeros + ones) for zeros, ones in counts)
    return (f_pos - f_neg) / (f_pos + f_neg + 2 * p - 2)


def figures() -> list[Figure]:
    return rows(_bisample, _memory, _curve)


def _bisample() -> Figure:
    values, preferences = people(USERS)
    ours = seconds(lambda: collect(values, preferences))
    few = values[:PEER_USERS].tolist(), preferences[:PEER_USERS].tolist()
    theirs = seconds(lambda: one_by_one(*few)) * USERS / PEER_USERS
    draws = np.random.default_rng(4)
    words = seconds(lambda: draws.integers(2**32, size=USERS, dtype=np.uint32))
    return Figure(
        f"BiSample-MD, {USERS:,} people, all steps",
        f"{ours:.3f} s",
        "under 1 s",
        ours < 1,
        f"loop over people: {theirs:.1f} s ({theirs / ours:.0f} times)",
        f"32 random bits each: {words:.3f} s ({words / ours:.0%})",
    )


def _memory() -> Figure:
    memory = peak_megabytes(whole_run)
    return Figure(
        "the same, peak memory with its input",
        f"{memory:.0f} MB",
        "500 MB",
        memory < 500,
    )


def _curve() -> Figure:
    budgets = np.linspace(0.05, 10, 200)
    tanh = seconds(lambda: np.tanh(budgets / 2), repeat=50)
    plain = seconds(AnswerRateModel(NormalPreferences(5, 1.5), 100_000, mean=0.5).curve)
    return Figure(
        "answer-rate curve, 200 budgets",
        f"{plain * 1e3:.3f} ms",
        "50 ms",
        plain < 0.05,
        limit=f"one tanh each: {tanh * 1e3:.4f} ms ({tanh / plain:.1%})",
    )


if __name__ == "__main__":
    show(figures(), "Numeric questions")
