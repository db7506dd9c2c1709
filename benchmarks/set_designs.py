"""Set designs: one report about a whole set, beside IDUE-PS, PrivSet and Wheel.

Run: ``python benchmarks/set_designs.py``. The baskets of retail.dat are taken from beside the
project, if they are there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from measure import LONG, Figure, rows, seconds, show

from planner import AssumedSets, Level, QuestionPlan, Survey, load_survey, plan_survey
from planner.deployment.parameters import survey_parameters
from planner.laws.source import system
from planner.mechanisms.inputs import ItemSets
from planner.mechanisms.set_design import (
    best_set_design,
    rival_supports,
    set_error,
    set_error_bound,
)
from planner.mechanisms.words import system_words
from planner.planning.sets import Padded
from planner.survey.choices import ItemSet

ROOT = Path(__file__).parents[1]
RETAIL = ROOT.parent / "shared" / "data" / "retail.dat"
SCALED = np.array([1.0, 1.2, 2.0])


def figures() -> list[Figure]:
    return rows(the_example, one, four, randomising)


def the_example() -> Figure:
    """The example's question, whose padding length is given and nothing known of the sets."""
    survey = load_survey(ROOT / "examples" / "baskets.toml")
    (question,) = survey.questions
    taken = seconds(lambda: plan_survey(survey), repeat=1)
    design, table = (
        planned(question, name, survey.users) for name in ("set-design", "opt0")
    )
    return _beside(f"examples/baskets.toml, planned in {taken:.2f} s", design, table)


def one() -> list[Figure]:
    return _baskets(1.0)


def four() -> list[Figure]:
    return _baskets(4.0)


def planned(question: ItemSet, mechanism: str, users: int) -> QuestionPlan:
    """The question's plan with this mechanism, at the padding length that is best for it."""
    return plan_survey(
        Survey("s", users, (question.replacing(mechanism=mechanism),))
    ).questions[0]


def _baskets(epsilon: float) -> list[Figure]:
    """All baskets, every item at random in a level; planned for the sizes that they have."""
    if not RETAIL.exists():
        return []
    people = retail()
    few = people.items // 20
    counts = zip(SCALED * epsilon, (few, few, people.items - 2 * few), strict=True)
    levels = tuple(Level(f"l{e}", e, item_count=count) for e, count in counts)
    sets = AssumedSets(np.bincount(people.sizes).tolist())
    question = ItemSet("basket", levels, sets=sets)
    plans = [planned(question, name, people.users) for name in ("set-design", "opt0")]
    what = f"{people.users:,} baskets of {people.items:,} items, e = {epsilon:g}"
    measured = [_measured(people, *plans)] if LONG else []
    return [_beside(what, *plans), *measured]


def retail() -> ItemSets:
    bought = [np.unique(line.split()) for line in RETAIL.read_text().splitlines()]
    names, items = np.unique(np.concatenate(bought), return_inverse=True)
    mixed = np.random.default_rng(1).permutation(names.size)[items]
    starts = np.cumsum([0, *map(len, bought)])
    return ItemSets(names.size, mixed, starts)


def _beside(what: str, design: QuestionPlan, table: QuestionPlan) -> Figure:
    """Predicted errors of both; and per person, for the worst sets, of what the literature has."""
    shape = design.law.shape
    length = design.fact(Padded).length
    about = (shape.levels.total, length, shape.levels.least_demanded())
    rivals = rival_supports(*about)
    privset, wheel = (
        set_error(*about[:2], *rivals[name]) for name in ("privset", "wheel")
    )
    worst = set_error(*about[:2], *best_set_design(*about, shape.cap).support)
    bound = set_error_bound(*about, shape.cap)
    return Figure(
        f"{what}: predicted error",
        f"{design.total_error:,.0f} people, l = {length}",
        peer=f"IDUE-PS {table.total_error:,.0f} people, l = {table.fact(Padded).length}: "
        f"{table.total_error / design.total_error:.2f} x; squared, worst sets: "
        f"PrivSet {privset / worst:.3f} x, Wheel {wheel / worst:.3f} x",
        limit=f"bound {worst / bound:.3f} x",
    )


def _measured(people: ItemSets, design: QuestionPlan, table: QuestionPlan) -> Figure:
    """One survey of each, and what is expected of exactly these sets."""
    found = {"set design": design.law, "IDUE-PS": table.law}
    error, expected, taken = zip(
        *(_tried(one, people) for one in found.values()), strict=True
    )
    ratio = error[0] / expected[0]
    return Figure(
        f"the same, measured on them in {taken[0]:.1f} s",
        f"{error[0]:,.0f} people, {ratio:.3f} of what is expected of these sets, "
        f"{error[0] / design.total_error:.3f} of what was planned for",
        "expected to 3 %",
        bool(abs(ratio - 1) < 0.03),
        f"IDUE-PS {error[1]:,.0f} people, {error[1] / expected[1]:.3f} of expected, "
        f"{error[1] / error[0]:.2f} x",
    )


def _tried(mechanism: Any, people: ItemSets) -> tuple[float, float, float]:
    """The error of one survey as it is deployed, the expected one, in people, and the seconds."""
    counter = mechanism.shape.counter()
    draw = lambda: counter.add(mechanism.draw_many(people, system_words())[0])  # noqa: E731
    taken = seconds(draw, repeat=1, warm_up=False)
    off = mechanism.estimate(counter.sums()).values - people.counts()
    expected = mechanism.variance(people) + mechanism.bias(people) ** 2
    return float(np.sqrt(np.square(off).sum())), float(np.sqrt(expected.sum())), taken


def randomising() -> Figure:
    """Sets of up to ten items of a thousand, in bulk and one by one."""
    levels = tuple(
        Level(f"l{e}", e, item_count=m)
        for e, m in zip(SCALED, (50, 50, 900), strict=True)
    )
    question = ItemSet("q", levels, mechanism="set-design", padding_length=5)
    law = survey_parameters(plan_survey(Survey("s", 10**6, (question,)))).questions[0]
    rng = np.random.default_rng(1)
    sizes = rng.integers(11, size=20_000)
    sets = [
        tuple(sorted(rng.choice(1000, size, replace=False).tolist())) for size in sizes
    ]
    bulk = seconds(lambda: law.draw_many(sets, system_words()), repeat=3)
    single = 20 * seconds(
        lambda: [law.draw(one, system) for one in sets[:1_000]], repeat=1
    )
    return Figure(
        "perturb: sets of 1,000 items by a set design, from the system's entropy",
        f"{len(sets) / bulk:,.0f} a second",
        limit=f"one by one {len(sets) / single:,.0f} a second",
    )


if __name__ == "__main__":
    show(figures(), "Set designs")
