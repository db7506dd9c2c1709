"""How often limits hold what is true: deployed draws, at 95 %.

Run: python benchmarks/coverage.py [DRAWS]. A row names a setting and says which share of its draws
each limit held, the rarest answers first. With LONG=1 ten times as many draws.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from measure import LONG, Figure, show

from planner.deployment.collecting.attending import CORRECTED, attention_rows
from planner.estimates.channel import OrderedEstimates
from planner.estimates.rows import AnswerRows, differences, weighted
from planner.laws.anchor import Anchor
from planner.mechanisms.anchored import AnchoredCounter, counts_of_question
from planner.mechanisms.asking import CollectedLaw
from planner.mechanisms.making import subset_selection
from planner.mechanisms.words import seeded_words
from planner.planning.plan import plan_survey
from planner.survey.choices import Categorical, ItemSet
from planner.survey.levels import Level
from planner.survey.ordinal import Ordinal
from planner.survey.questions import Question
from planner.survey.survey import Survey

DRAWS = 2000 if LONG else 200
LEAST = 0.95


def figures(draws: int = DRAWS) -> list[Figure]:
    """Every setting of which limits once missed too often."""
    rows = [one_budget(draws)]
    rows += [
        several_types(draws, "one-sided", 1.0),
        several_types(draws, "one-sided", 4.0),
        several_types(draws, "min", 4.0),
    ]
    rows += [of_sets(draws), ordered(draws)]
    rows += [
        of_weights(draws, people=(20, 20), weights=(5, 1), budget=6.0, rare=0.08),
        of_weights(draws, people=(20, 20), weights=(5, 1), budget=6.0, rare=0.02),
        of_weights(draws, people=(1000, 1000), weights=(2, 1), budget=8.0, rare=0.004),
        of_weights(draws, people=(1000, 1000), weights=(2, 1), budget=8.0, rare=0.001),
    ]
    eight = (400, 100, 50, 25, 20, 10, 5, 5)
    rows.append(of_weights(draws, eight, weights=(1,) * 8, budget=6.0, rare=0.05))
    # Of an answer that nobody has, both estimates may be above 0 by noise alone.
    rows += [
        of_weights(draws, people=(500, 500), weights=(1, 1), budget=1.3, rare=0.0),
        of_weights(draws, people=(5000, 5000), weights=(1, 1), budget=1.0, rare=0.005),
        of_gaps(draws, people=(200, 2000), budget=1.3, shares=(0.0, 0.0)),
    ]
    rows += [
        of_gaps(draws, people=(20, 20), budget=6.0, shares=(0.2, 0.2)),
        of_gaps(draws, people=(20, 1000), budget=2.0, shares=(0.2, 0.2)),
        of_gaps(draws, people=(200, 100), budget=8.0, shares=(0.0, 0.05)),
    ]
    for together in (True, False):
        rows += [
            of_attention(draws, 100, (6.0, 8.0), 0.05, together=together),
            of_attention(draws, 2000, (6.0, 8.0), 0.002, together=together),
            of_attention(draws, 2000, (2.0, 3.0), 0.0, together=together),
        ]
    return rows


def one_budget(draws: int) -> Figure:
    """Five answers of one budget; the first two of nobody and of one person."""
    law = deployed(Categorical("q", (Level("all", 8.0, tuple("abcde")),)), 500)
    people = np.array([0, 1, 3, 10, 486])
    rng = np.random.default_rng(1)
    held = np.zeros(5)
    above = 0
    for _ in range(draws):
        found = law.estimate(law.draw_aggregate(people, rng))
        lower, upper = found.intervals()
        held += (lower <= people) & (people <= upper)
        above += lower[0] > 0
    extra = f"; of the one nobody has {above / draws:.1%} get a lower limit above 0"
    return figure("five answers, budget 8, 500 people", held / draws, extra)


def several_types(draws: int, rule: str, low: float) -> Figure:
    """Two levels, so that reports are of several types."""
    levels = (Level("low", low, ("a", "b")), Level("high", 8.0, ("c", "d", "e")))
    law = deployed(Categorical("q", levels, rule=rule), 500)
    people = np.array([0, 10, 0, 5, 485])
    rng = np.random.default_rng(1)
    held = np.zeros(5)
    together = 0
    for _ in range(draws):
        found = law.estimate(law.draw_aggregate(people, rng))
        lower, upper = found.intervals()
        held += (lower <= people) & (people <= upper)
        lower, upper = found.intervals(simultaneous=True)
        together += bool(((lower <= people) & (people <= upper)).all())
    extra = f"; together {together / draws:.3f}"
    return figure(f"{rule}, levels {low:g} and 8, 500 people", held / draws, extra)


def of_sets(draws: int) -> Figure:
    """Items of whole sets of which none is cut; the first item is of two people."""
    question = ItemSet(
        "q", (Level("all", 8.0, tuple("abcdef")),), padding_length=2, sets=None
    )
    law = deployed(question, 400).with_sizes(())
    sets = [[0, 1]] * 2 + [[2]] * 8 + [[3, 4]] * 390
    truth = np.bincount([item for one in sets for item in one], minlength=6)
    rng = np.random.default_rng(1)
    held = np.zeros(6)
    for _ in range(draws):
        lower, upper = law.estimate(law.draw_aggregate(sets, rng)).intervals()
        held += (lower <= truth) & (truth <= upper)
    return figure("sets of at most two of six items, budget 8", held / draws)


def ordered(draws: int) -> Figure:
    """Shares up to each of five answers among people of whom a fifth gives none."""
    level = Level("all", 8.0, (*"abcde", "none"))
    law = deployed(Ordinal("q", (level,), no_answer="none"), 400)
    people = np.array([0, 3, 290, 4, 23, 80])
    truth = np.cumsum(people[:5])[:-1] / people[:5].sum()
    up_to = np.tri(4, 5, dtype=np.bool_)
    rng = np.random.default_rng(1)
    held = np.zeros(4)
    for _ in range(draws):
        found = law.shape.estimate(law.draw_aggregate(people, rng))
        shares = found.of_shares_up_to(no_answer=True)
        estimates = OrderedEstimates(
            tuple("abcde"),
            shares.values,
            shares.covariance,
            shares.users,
            shares.law,
        )
        *_, lower, upper = estimates.among(up_to)
        held += (lower - 1e-9 <= truth) & (truth <= upper + 1e-9)
    return figure("shares up to, budget 8, 400 people, a fifth refuse", held / draws)


def of_weights(
    draws: int,
    people: Sequence[int],
    weights: Sequence[float],
    budget: float,
    rare: float,
) -> Figure:
    """A rare answer, weighted by group."""
    law = subset_selection(budget, 5)
    rng = np.random.default_rng(1)
    truth = rare * sum(people)
    held = 0
    for _ in range(draws):
        groups = [drawn(law, size, rare, rng) for size in people]
        both, _ = weighted(groups, weights, 0.95)
        held += both["lower"][0] <= truth <= both["upper"][0]
    sizes = " + ".join(map(str, people))
    what = f"weighted {sizes} people, budget {budget:g}, share {rare:g}"
    return figure(what, np.array([held / draws]))


def of_gaps(
    draws: int, people: tuple[int, int], budget: float, shares: tuple[float, float]
) -> Figure:
    """The difference of two groups, and how often it is found."""
    law = subset_selection(budget, 5)
    rng = np.random.default_rng(1)
    held = 0
    told_apart = 0
    for _ in range(draws):
        first = drawn(law, people[0], shares[0], rng)
        second = drawn(law, people[1], shares[1], rng)
        gap, chance = differences(first, second, 0.95)
        held += gap["lower"][0] <= shares[0] - shares[1] <= gap["upper"][0]
        told_apart += chance[0] < 0.05
    what = f"difference of {people[0]} and {people[1]} people, budget {budget:g}, "
    what += f"{shares[0]:g} and {shares[1]:g}"
    extra = f"; found at 5 % in {told_apart / draws:.1%}"
    return figure(what, np.array([held / draws]), extra)


def of_attention(
    draws: int,
    people: int,
    budgets: tuple[float, float],
    rare: float,
    *,
    together: bool,
) -> Figure:
    """Shares of four answers if all attended, by an anchor; eight in ten people attend.

    To both questions or to neither if ``together``, else to each by itself.
    """
    first = Level("rare", budgets[0], ("a", "b"))
    second = Level("usual", budgets[1], ("c", "d"))
    law = deployed(Categorical("q", (first, second), "avg"), people)
    law = replace(law, anchor=Anchor("check", "d"))
    truth = np.array([rare, *[(1 - rare) / 3] * 3])
    rng = np.random.default_rng(1)
    held = np.zeros(4)
    for _ in range(draws):
        attends = rng.random(people) < 0.8
        attends_to_anchor = attends
        if not together:
            attends_to_anchor = rng.random(people) < 0.8
        anything, any_other = rng.integers(4, size=(2, people))
        of_question = np.where(attends, rng.choice(4, people, p=truth), anything)
        of_anchor = np.where(attends_to_anchor, 3, any_other)
        pairs = list(zip(of_question.tolist(), of_anchor.tolist(), strict=True))
        counter = AnchoredCounter(law)
        counter.add(law.draw_many(pairs, seeded_words(rng))[0])
        sums = {("q", None): counter.sums()}
        counted = counts_of_question(law, sums["q", None])
        rows = law.rows([counted], LEAST)
        corrected = dict(attention_rows(law, sums, rows, LEAST))["q", CORRECTED]
        lower = corrected["lower"] / people
        upper = corrected["upper"] / people
        held += (lower - 1e-9 <= truth) & (truth <= upper + 1e-9)
    attend = "both or neither" if together else "each by itself"
    what = (
        f"if all attended, {people} people, budgets {budgets[0]:g} and {budgets[1]:g}, "
    )
    return figure(f"{what}share {rare:g}, {attend}", held / draws)


def deployed(question: Question, people: int) -> CollectedLaw:
    """The law that a plan deploys."""
    return plan_survey(Survey("s", people, (question,))).question("q").law


def drawn(
    law: CollectedLaw, people: int, rare: float, rng: np.random.Generator
) -> AnswerRows:
    """Rows of people drawn at random, of whom this share has the first of five answers."""
    shares = np.array([rare, *[(1 - rare) / 4] * 4])
    counted = law.draw_aggregate(rng.multinomial(people, shares), rng)
    found = law.shape.estimate(counted)
    population = found.for_population()
    numbers = np.full((7, 5), np.nan)
    numbers[0] = found.values
    numbers[1] = found.standard_errors
    blank = [""] * 5
    return AnswerRows(
        users=people,
        levels=blank,
        answers=blank,
        numbers=numbers,
        processing=blank,
        notes=blank,
        whole=np.full(5, float(people)),
        drawn=np.square(population.standard_errors) - np.square(found.standard_errors),
        of_population=population.intervals,
    )


def figure(what: str, held: np.ndarray, extra: str = "") -> Figure:
    """A row; missed if a share is further below 95 % than draws explain, four deviations."""
    draws = DRAWS
    least = LEAST - 4 * np.sqrt(LEAST * (1 - LEAST) / draws)
    shares = ", ".join(f"{share:.3f}" for share in held)
    met = bool(held.min() >= least)
    return Figure(f"95 % limits hold: {what}", shares + extra, f"{LEAST}", met)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        DRAWS = int(sys.argv[1])
    show(figures(DRAWS))
