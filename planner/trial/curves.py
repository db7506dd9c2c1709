"""The distribution of a number beside what else could be asked for it: simulated curves.

Rivals are Square Wave with EMS (Li et al., SIGMOD 2020) and a hierarchy of intervals (Cormode,
Kulkarni and Srivastava, VLDB 2019), both on 256 cells. Numbers are from 0 to 1 here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from planner.arrays import Array
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

_FAN_OUT = 4  # Cormode et al. find 4 to 5 best
_LEVELS = 4  # 4^4 = 256
# Reports are real numbers, and EMS needs them in cells: here four times as many as are
# estimated.
_WAVE_REPORTS = 1024  # cells of Square Wave's reports
_REPEATS = 5
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
    odds = np.exp(epsilon)
    reach = (epsilon * odds - odds + 1) / (2 * odds * (odds - 1 - epsilon))
    chance_near = 2 * reach * odds / (2 * reach * odds + 1)
    density = 1 / (2 * reach * odds + 1)
    anywhere = rng.random(numbers.size)
    # Outside of the near interval there is as much room on both sides as the range has:
    # a uniform number below the true one moves down by b, another up by b.
    far = np.where(anywhere < numbers, anywhere - reach, anywhere + reach)
    near = numbers + rng.uniform(-reach, reach, numbers.size)
    reports = np.where(rng.random(numbers.size) < chance_near, near, far)
    edges = np.linspace(-reach, 1 + reach, _WAVE_REPORTS + 1)
    middles = (np.arange(COMPARED_CELLS) + 0.5) / COMPARED_CELLS
    # A report's cell may be near in part; the law of a cell needs the length of what is
    # near.
    upper = np.minimum(edges[1:], middles[:, None] + reach)
    lower = np.maximum(edges[:-1], middles[:, None] - reach)
    overlap = np.maximum(upper - lower, 0)
    width = edges[1] - edges[0]
    law = density * width + (odds - 1) * density * overlap
    counts = np.histogram(reports, edges)[0]
    return np.cumsum(smoothed_shares(law, counts, COMPARED_CELLS))


def hierarchy_curve(numbers: Array, epsilon: float, rng: np.random.Generator) -> Array:
    """Shares up to the end of each cell by a tree of intervals, rising, shape ``(256,)``.

    HH of Cormode et al. (2019): everybody reports the interval at one random level by OUE; parents
    and children are made consistent by constrained inference (Hay et al., VLDB 2010).
    """
    cell = (numbers * COMPARED_CELLS).astype(np.int64)
    level_of = rng.integers(1, _LEVELS + 1, numbers.size)
    # OUE of Wang et al. (USENIX Security 2017): a one is reported as one with chance
    # 1/2, a zero with 1 / (e^eps + 1).
    chance_of_other = 1 / (np.exp(epsilon) + 1)
    shares = []
    for level in range(1, _LEVELS + 1):
        size = _FAN_OUT**level
        interval = cell[level_of == level] // (COMPARED_CELLS // size)
        people = np.bincount(interval, minlength=size)
        users = people.sum()
        true_ones = rng.binomial(people, 0.5)
        false_ones = rng.binomial(users - people, chance_of_other)
        ones = (true_ones + false_ones) / users
        # The unbiased share: (f - q) / (p - q) with p = 1/2.
        shares.append((ones - chance_of_other) / (0.5 - chance_of_other))
    for level in range(_LEVELS - 2, -1, -1):  # from the leaves up
        leaves = _FAN_OUT ** (_LEVELS - level)
        # Hay et al. (2010), section 4.1: the variance-weighted mean of a node's own
        # estimate and its children's sum. With B children, a node of height h (1 of a
        # leaf) has the weight (B^h - B^(h-1)) / (B^h - 1).
        weight = (leaves - leaves // _FAN_OUT) / (leaves - 1)
        children = shares[level + 1].reshape(-1, _FAN_OUT).sum(axis=1)
        shares[level] = weight * shares[level] + (1 - weight) * children
    # The root is everybody, a share of 1 that is known without a report: what is
    # missing is spread evenly.
    consistent = shares[0] + (1 - shares[0].sum()) / _FAN_OUT
    for level in range(1, _LEVELS):  # and down again
        children = shares[level].reshape(-1, _FAN_OUT)
        # What a parent has beyond its children is spread evenly on these, which is the
        # least-squares solution.
        missing = consistent - children.sum(axis=1)
        consistent = (children + missing[:, None] / _FAN_OUT).ravel()
    return np.append(rising(np.cumsum(consistent)[:-1]), 1.0)


RIVALS: dict[str, RivalCurve] = {
    "Square Wave with EMS": square_wave_curve,
    "hierarchy": hierarchy_curve,
}


def hump(people: int, rng: np.random.Generator) -> Array:
    """Numbers of people most of whom are in the upper half: beta(5, 2)."""
    return rng.beta(5, 2, people)


def spikes(people: int, rng: np.random.Generator) -> Array:
    """Numbers of people half of whom are within a hundredth of one of five."""
    # Round numbers, as people give them, are what smoothing flattens: the hard case for
    # a smoothed curve.
    centers = rng.choice(
        [0.1, 0.25, 0.4, 0.75, 0.9], people, p=[0.3, 0.2, 0.2, 0.2, 0.1]
    )
    near = centers + rng.normal(0, 0.004, people)
    anywhere = rng.random(people)
    numbers = np.where(rng.random(people) < 0.5, near, anywhere)
    return np.clip(numbers, 0, 1 - 1e-9)


SHAPES = {"a hump": hump, "spikes": spikes}


def planned_curves(
    channel: Channel, numbers: Array, rng: np.random.Generator, *, no_answer: bool
) -> dict[str, Array]:
    """The consistent and the smoothed curve of a channel of cells, shape ``(256,)`` each."""
    cells = channel.policy.size - no_answer
    edges = np.linspace(0, 1, cells + 1)
    cell = np.minimum((numbers * cells).astype(np.int64), cells - 1)
    people = np.bincount(cell, minlength=channel.policy.size)
    counts = rng.multinomial(people, channel.matrix).sum(axis=0)
    estimates = estimate_distribution(channel, edges, counts, no_answer=no_answer)
    ends = np.arange(1, COMPARED_CELLS + 1) / COMPARED_CELLS
    return {
        "consistent": np.interp(ends, edges, estimates.consistent),
        "smoothed": estimates.smoothed_share_up_to(ends),
    }


def true_curve(numbers: Array) -> Array:
    """The share of these people up to the end of each cell, shape ``(256,)``."""
    cell = (numbers * COMPARED_CELLS).astype(np.int64)
    return np.cumsum(np.bincount(cell, minlength=COMPARED_CELLS)) / numbers.size


def compared_curves(first: SurveyPlan, second: SurveyPlan) -> tuple[ComparedRow, ...]:
    """W1 of both curves of each number whose distribution is asked for, beside that of rivals.

    Simulated, the same people in all; in per cent of the range. W1 is the area between the
    estimated and the true curve: how far people are moved on average. Rivals have the question's
    budget, and nobody in them refuses.
    """
    figures: list[dict[tuple[str, str], float]] = []
    for plan in (first, second):
        of_plan = {}
        for question in plan.questions:
            if isinstance(question.deployed, NumberCells):
                for what, distance in _distances(question).items():
                    of_plan[question.name, what] = distance
        figures.append(of_plan)
    rows = []
    for key in dict.fromkeys([*figures[0], *figures[1]]):
        (name, what) = key
        rows.append(
            ComparedRow(name, "", what, figures[0].get(key), figures[1].get(key))
        )
    return tuple(rows)


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
            for way, estimated in curves.items():
                distance = 100 * float(np.abs(estimated - truth).mean())
                what = f"{W1} of {shape}, %: {way}"
                sums[what] = sums.get(what, 0.0) + distance / _REPEATS
    return sums
