"""The distribution of a number beside what else could be asked for it: simulated curves.

Rivals are Square Wave with EMS (Li et al., SIGMOD 2020) and a hierarchy of intervals (Cormode,
Kulkarni and Srivastava, VLDB 2019), both on 256 cells. Numbers are from 0 to 1 here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from planner.arrays import Array, Whole
from planner.estimates.channel import rising
from planner.estimates.distribution import estimate_distribution, smoothed_shares
from planner.planning.comparison import ComparedRow
from planner.planning.plan import SurveyPlan
from planner.planning.question import QuestionPlan
from planner.solvers.answers import Channel
from planner.survey.ordinal import NumberCells

W1 = "W1"
"""What figures of :func:`compared_curves` begin with."""

COMPARED_CELLS = 256
"""On which curves are compared, and those of the rivals."""

_BRANCHING = 4  # children of a node: Cormode et al. find 4 to 5 best
_HEIGHT = 4  # 4^4 = 256
# Reports of Square Wave are real numbers, and EMS needs them in cells: four times as many as are
# estimated.
_WAVE_REPORTS = 1024
_REPEATS = 5
_SPIKE_SPREAD = 0.004  # the standard deviation around a spike
_SEED = 20200614

RivalCurve = Callable[[Array, float, np.random.Generator], Array]


def square_wave_curve(
    numbers: Array, epsilon: float, rng: np.random.Generator
) -> Array:
    """Shares up to the end of each cell by Square Wave and EMS, shape ``(256,)``.

    Li et al. (2020), algorithms 1 and 2. A report is near the number, within ``b``, with the
    density ``e^eps q``, and elsewhere in ``[-b, 1 + b]`` with ``q``, where (their equation 11)

        b = (eps e^eps - e^eps + 1) / (2 e^eps (e^eps - 1 - eps)).
    """
    ratio = np.exp(epsilon)
    numerator = epsilon * ratio - ratio + 1
    b = numerator / (2 * ratio * (ratio - 1 - epsilon))
    mass_near = 2 * b * ratio  # over q
    q = 1 / (mass_near + 1)
    chance_near = mass_near / (mass_near + 1)
    reports = _wave_reports(numbers, b, chance_near, rng)
    edges = np.linspace(-b, 1 + b, _WAVE_REPORTS + 1)
    counts, _ = np.histogram(reports, edges)
    cells = np.arange(COMPARED_CELLS)[:, None]
    middles = (cells + 0.5) / COMPARED_CELLS
    # A report's cell may be near in part: its law needs the length of that part.
    near_from = np.maximum(edges[:-1], middles - b)
    near_to = np.minimum(edges[1:], middles + b)
    near_length = np.maximum(near_to - near_from, 0)
    width = edges[1] - edges[0]
    law = q * width + (ratio - 1) * q * near_length
    shares = smoothed_shares(law, counts, COMPARED_CELLS)
    return np.cumsum(shares)


def _wave_reports(
    numbers: Array, b: float, chance_near: float, rng: np.random.Generator
) -> Array:
    """Reports of Square Wave, one a number."""
    anywhere = rng.random(numbers.size)
    # Outside of the near interval there is as much room on both sides as the range has: a
    # uniform number below the true one moves down by b, another up by b.
    is_below = anywhere < numbers
    far = np.where(is_below, anywhere - b, anywhere + b)
    near = numbers + rng.uniform(-b, b, numbers.size)
    is_near = rng.random(numbers.size) < chance_near
    return np.where(is_near, near, far)


def hierarchy_curve(numbers: Array, epsilon: float, rng: np.random.Generator) -> Array:
    """Shares up to the end of each cell by a tree of intervals, rising, shape ``(256,)``.

    HH of Cormode et al. (2019): everybody reports the interval at one random level by OUE; parents
    and children are made consistent by constrained inference (Hay et al., VLDB 2010).
    """
    cells = (numbers * COMPARED_CELLS).astype(np.int64)
    level_of = rng.integers(1, _HEIGHT + 1, numbers.size)
    levels = []
    for level in range(1, _HEIGHT + 1):
        intervals = _BRANCHING**level
        interval_of = cells[level_of == level] // (COMPARED_CELLS // intervals)
        people = np.bincount(interval_of, minlength=intervals)
        levels.append(_oue_shares(people, epsilon, rng))
    leaves = _consistent_leaves(levels)
    up_to = np.cumsum(leaves)[:-1]
    return np.append(rising(up_to), 1.0)


def _oue_shares(people: Whole, epsilon: float, rng: np.random.Generator) -> Array:
    """Estimated shares of people with each answer, by OUE (Wang et al., USENIX Security 2017).

    A one is reported as one with chance ``p = 1/2``, a zero with ``q = 1 / (e^eps + 1)``: of a
    share ``f`` of ones ``(f - q) / (p - q)`` is unbiased.
    """
    q = 1 / (np.exp(epsilon) + 1)
    users = people.sum()
    true_ones = rng.binomial(people, 0.5)
    false_ones = rng.binomial(users - people, q)
    f = (true_ones + false_ones) / users
    return (f - q) / (0.5 - q)


def _consistent_leaves(levels: list[Array]) -> Array:
    """The leaves' shares of the tree nearest to the estimates in which children sum to parents.

    Constrained inference (Hay et al. 2010, theorem 3). Going up, a node of height ``h`` (1 of a
    leaf) is the variance-weighted mean of its estimate, with ``(B^h - B^(h-1)) / (B^h - 1)`` for
    ``B`` children, and of its children's sum. Going down, what a parent has beyond its children is
    spread evenly on these. ``levels`` has the estimates from below the root to the leaves.
    """
    sums = levels[-1]
    upwards = [sums]
    for height, estimates in enumerate(reversed(levels[:-1]), 2):
        leaves = _BRANCHING**height
        weight = (leaves - leaves // _BRANCHING) / (leaves - 1)
        children = sums.reshape(-1, _BRANCHING)
        of_children = children.sum(axis=1)
        sums = weight * estimates + (1 - weight) * of_children
        upwards.append(sums)
    # The root is everybody, a share of 1 that is known without a report.
    consistent = np.ones(1)
    for shares in reversed(upwards):
        children = shares.reshape(-1, _BRANCHING)
        missing = consistent - children.sum(axis=1)
        of_each = missing[:, None] / _BRANCHING
        consistent = (children + of_each).ravel()
    return consistent


RIVALS: dict[str, RivalCurve] = {
    "Square Wave with EMS": square_wave_curve,
    "hierarchy": hierarchy_curve,
}


def hump(people: int, rng: np.random.Generator) -> Array:
    """Numbers of people most of whom are in the upper half: beta(5, 2)."""
    return rng.beta(5, 2, people)


def spikes(people: int, rng: np.random.Generator) -> Array:
    """Numbers of people half of whom are within a hundredth of one of five."""
    # Round numbers, as people give them, are what smoothing flattens: the hard case for it.
    centers = [0.1, 0.25, 0.4, 0.75, 0.9]
    shares = [0.3, 0.2, 0.2, 0.2, 0.1]
    near = rng.choice(centers, people, p=shares)
    near += rng.normal(0, _SPIKE_SPREAD, people)
    anywhere = rng.random(people)
    is_near = rng.random(people) < 0.5
    numbers = np.where(is_near, near, anywhere)
    return np.clip(numbers, 0, 1 - 1e-9)


SHAPES = {"a hump": hump, "spikes": spikes}


def planned_curves(
    channel: Channel, numbers: Array, rng: np.random.Generator, *, no_answer: bool
) -> dict[str, Array]:
    """The consistent and the smoothed curve of a channel of cells, shape ``(256,)`` each."""
    cells = channel.policy.size - no_answer
    edges = np.linspace(0, 1, cells + 1)
    cell_of = (numbers * cells).astype(np.int64)
    cell_of = np.minimum(cell_of, cells - 1)
    people = np.bincount(cell_of, minlength=channel.policy.size)
    by_cell = rng.multinomial(people, channel.matrix)
    counts = by_cell.sum(axis=0)
    estimates = estimate_distribution(channel, edges, counts, no_answer=no_answer)
    ends = np.arange(1, COMPARED_CELLS + 1) / COMPARED_CELLS
    return {
        "consistent": np.interp(ends, edges, estimates.consistent),
        "smoothed": estimates.smoothed_share_up_to(ends),
    }


def true_curve(numbers: Array) -> Array:
    """The share of these people up to the end of each cell, shape ``(256,)``."""
    cells = (numbers * COMPARED_CELLS).astype(np.int64)
    people = np.bincount(cells, minlength=COMPARED_CELLS)
    return np.cumsum(people) / numbers.size


def compared_curves(first: SurveyPlan, second: SurveyPlan) -> tuple[ComparedRow, ...]:
    """W1 of both curves of each number whose distribution is asked for, beside that of rivals.

    Simulated, the same people in all; in per cent of the range. W1 is the area between the
    estimated and the true curve: how far people are moved on average. Rivals have the question's
    budget, and nobody in them refuses.
    """
    of_first = _figures(first)
    of_second = _figures(second)
    rows = []
    for key in of_first | of_second:
        name, what = key
        row = ComparedRow(name, "", what, of_first.get(key), of_second.get(key))
        rows.append(row)
    return tuple(rows)


def _figures(plan: SurveyPlan) -> dict[tuple[str, str], float]:
    """W1 by the name of the question and what it is of."""
    figures = {}
    for question in plan.questions:
        if isinstance(question.deployed, NumberCells):
            for what, distance in _distances(question).items():
                figures[question.name, what] = distance
    return figures


def _distances(question: QuestionPlan) -> dict[str, float]:
    """W1 of each shape and each way of asking, in per cent of the range."""
    cells = question.deployed
    channel = question.fact(Channel)
    assert channel is not None  # noqa: S101 - of cells
    assert isinstance(cells, NumberCells)  # noqa: S101 - asked before
    epsilon = float(cells.policy.epsilons[0])
    no_answer = cells.no_answer is not None
    people = question.part.people
    sums: dict[str, float] = {}
    rng = np.random.default_rng(_SEED)
    for shape, draw in SHAPES.items():
        for _ in range(_REPEATS):
            numbers = draw(people, rng)
            curves = planned_curves(channel, numbers, rng, no_answer=no_answer)
            for rival, curve in RIVALS.items():
                curves[rival] = curve(numbers, epsilon, rng)
            truth = true_curve(numbers)
            for name, estimated in curves.items():
                area = float(np.abs(estimated - truth).mean())
                what = f"{W1} of {shape}, %: {name}"
                before = sums.get(what, 0.0)
                sums[what] = before + 100 * area / _REPEATS
    return sums
