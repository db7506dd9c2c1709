"""What false reports do to estimates: a report is whatever a client sends.

``T_a(r)`` is what a report ``r`` adds to the estimate of the people with answer ``a``, unbiased:
``E[T_a | answer] = 1{answer = a}``. One report moves that estimate by at most ``max_r T_a(r)`` up
and ``-min_r T_a(r)`` down. A share ``f`` of false reports moves the share of ``a`` up by at most
``f (max_r T_a(r) - share)``, and many answers at once by the largest sum of their ``T_a`` over one
report (docs/theory/outsiders.md). Of shares up to an answer, means and sums the same maximum is
taken over the rows of the estimator; of what is divided by the estimated number of people who
answer, to first order. All numbers are those of the deployed integers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from planner.arrays import Array
from planner.laws import bits, die, hashing, overlap, rows
from planner.laws.answers import MEAN_OF_SCORES, Number, Ordered
from planner.limits import DENOMINATOR
from planner.mechanisms import subset_design
from planner.mechanisms.asking import CollectedLaw
from planner.outsiders.shapes import extreme_weights

PEOPLE = "people"


@dataclass(frozen=True, slots=True, eq=False)
class FalseReports:
    """What one report moves, at most.

    Attributes
    ----------
    moved:
        What is moved: levels, each standing for the estimated people with one of its answers; or
        the people up to each ordered answer, a sum of scores, the sum of a number.
    up, down:
        By how much one report moves each, in ``unit``, shape ``(len(moved),)``.
    unit:
        ``"people"``, or empty for sums of scores and numbers, in their own unit.
    together:
        Of a level, given by its position, and a number of its answers: by how many people one
        report moves their sum up, at most. None where no answers are counted.
    sizes:
        How many answers each level has; empty where none are counted.
    score_sum:
        Of ordered answers with scores, by how much one report moves the sum of the scores, up and
        down; None of others.
    of_answering:
        Of what is estimated for those who answer, where people may have no answer: by how much one
        report moves the mean of a number, or the share up to each ordered answer, times the
        number of people who answer; None of others.
    """

    moved: tuple[str, ...]
    up: Array
    down: Array
    unit: str = PEOPLE
    together: Callable[[int, int], float] | None = None
    sizes: tuple[int, ...] = ()
    score_sum: tuple[float, float] | None = None
    of_answering: FalseReports | None = None

    @property
    def largest(self) -> int:
        """The position of what one report moves most, up or down."""
        moves = np.maximum(self.up, self.down)
        return int(moves.argmax())

    @property
    def most(self) -> float:
        """The most by which one report moves any estimate, in the unit."""
        moves = np.maximum(self.up, self.down)
        return float(moves.max())

    def share_moved(self, false_share: float, share: float = 0.0) -> Array:
        """How far a share of false reports moves each estimated share up, at most.

        ``f (max_r T_a(r) - share)``: those who would have reported honestly count no more.
        """
        return false_share * (self.up - share)


def false_reports(law: CollectedLaw) -> FalseReports | None:
    """What one report does to the estimates of a question; None where no weights are known.

    Examples
    --------
    Randomised response of ten answers: ``1 + (10 - 1) / (e^eps - 1)`` people up.

    >>> from planner import randomized_response
    >>> moved = false_reports(randomized_response(1.0, items=10))
    >>> moved.up.round(3).tolist(), moved.down.round(3).tolist(), round(moved.together(0, 2), 3)
    ([6.238], [0.582], 5.656)
    """
    compute = _OF_SHAPES.get(law.shape.name)
    if compute is None:
        return None
    return compute(law)


def _of_supports(law: CollectedLaw) -> FalseReports:
    """Reports that support answers: ``T = (1 - b) / (a - b)`` if supported, else ``-b / (a - b)``.

    A bit vector may support all answers at once, and so may a seed of local hashing, as far as is
    known; a set design's report supports as many elements as it holds.
    """
    shape = law.shape
    levels = shape.levels
    support = np.array(shape.support(), dtype=np.float64)
    a = support[:, 0]
    b = support[:, 1]
    length = levels.dummies or 1
    if shape.name == overlap.Overlap.name:
        length = 1  # whole sets are reported, not one item of each
    gap = (a - b) / length
    # Some laws have the same chances for all levels.
    size = len(levels.names)
    up = np.broadcast_to((1 - b) / gap, size)
    down = np.broadcast_to(b / gap, size)
    held = getattr(shape, "held", None)  # elements of one report of a set design

    def together(level: int, answers: int) -> float:
        supported = answers
        if held is not None:
            supported = min(answers, int(held))
        others = answers - supported
        moved_up = supported * up[level]
        moved_down = others * down[level]
        return float(moved_up - moved_down)

    return FalseReports(
        moved=levels.names,
        up=up,
        down=down,
        together=together,
        sizes=tuple(levels.item_counts),
    )


def _of_sides(law: CollectedLaw) -> FalseReports:
    """Subset designs: a type of report, and a side for each answer, of which so many are high."""
    shape = cast("subset_design.SidesCollected", law.shape)
    group = np.array(shape.groups)
    types = shape.output_types
    largest, least = extreme_weights(shape)
    # What each side counts for, and how many items stand there, (types, groups, sides).
    counts = np.stack([types.low_counts, types.high_counts], axis=2)
    weights = np.broadcast_to(shape.estimator, counts.shape)

    def together(level: int, answers: int) -> float:
        # Of each type: what the low side and the high one count for, and how many stand there.
        of_side = weights[:, group[level]]
        room = counts[:, group[level]]
        order = np.argsort(-of_side, axis=1)
        larger, smaller = np.take_along_axis(of_side, order, axis=1).T
        room_on_larger, room_on_smaller = np.take_along_axis(room, order, axis=1).T
        # As many as can stand on the side that counts for more, the others on the other one.
        on_larger = np.minimum(answers, room_on_larger)
        on_smaller = np.minimum(answers - on_larger, room_on_smaller)
        sums = on_larger * larger + on_smaller * smaller
        return float(sums.max())

    return FalseReports(
        moved=shape.levels.names,
        up=largest[group],
        down=-least[group],
        together=together,
        sizes=tuple(shape.levels.item_counts),
    )


def _of_rows(law: CollectedLaw) -> FalseReports | None:
    """Channels: the rows of the estimator, and what follows from them."""
    shape = cast("rows.Rows", law.shape)
    values = np.array(shape.values)
    asked = law.asked
    if isinstance(asked, Number):
        return _of_number(asked, shape)
    if not isinstance(asked, Ordered):
        return None
    if asked.wanted == MEAN_OF_SCORES:
        return _extremes(("the sum of all scores",), values, "")
    item_names = asked.levels.item_names()
    names = []
    for k in asked.order[: len(values)]:
        names.append(f"up to {item_names[k]}")
    moves = _extremes(tuple(names), values, PEOPLE)
    if asked.no_answer:
        *up_to, answering = values
        shares = tuple(f"the share {name}" for name in names[:-1])
        # What one report moves quotients q = S / N by, times N, is T_S(r) - q T_N(r) to first
        # order. It is linear in q: largest at 0 or at 1.
        at_0 = np.array(up_to)
        quotients = np.concatenate([at_0, at_0 - answering], axis=1)
        return replace(moves, of_answering=_extremes(shares, quotients, ""))
    if not asked.scores:
        return moves
    # Of scores s in their order T = s_d + sum_j (s_j - s_(j+1)) T_j, from shares up to answers.
    scores = np.array(asked.scores)
    steps = np.diff(scores)
    sums = scores[-1] - steps @ values
    score_up = float(sums.max())
    score_down = float(-sums.min())
    return replace(moves, score_sum=(score_up, score_down))


def _of_number(asked: Number, shape: rows.Rows) -> FalseReports:
    """The sum of all numbers, and their mean among those who answer.

    The estimator adds up numbers on ``[-1, 1]``, and how many there are. One report ``r`` moves the
    mean ``q`` by ``T_S(r) - q T_N(r)``, times the number N of people who answer and to first order.
    It is linear in ``q`` and in the honest people, so that the largest moves are beside people
    who are all alike.
    """
    lowest = asked.lower
    highest = asked.upper
    radius = (highest - lowest) / 2
    center = (highest + lowest) / 2
    on_unit, t_n = _beside_honest(shape)
    t_s = radius * on_unit + center * t_n
    # Beside people who all have one of the numbers, which then is the mean.
    grid = np.linspace(lowest, highest, asked.points)
    moves = [t_s[:-1] - grid[:, None] * t_n[:-1]]
    # Where next to nobody answers the mean may be any: it moves most at one of the ends.
    for mean in (lowest, highest):
        moves.append(t_s[-1:] - mean * t_n[-1:])
    moves_of_mean = np.vstack(moves).reshape(1, -1)
    of_mean = _extremes(("the mean",), moves_of_mean, "")
    of_sum = _extremes(("the sum of all numbers",), t_s.reshape(1, -1), "")
    return replace(of_sum, of_answering=of_mean)


def _beside_honest(shape: rows.Rows) -> Array:
    """What one more report adds to each wanted sum, ``(wanted, answers, reports)``, to first order.

    Beside honest reports of people who all have one answer. It is the estimator's ``T(y)``. Where a
    device draws a block of reports first, each block's reports are averaged and weighed by the
    chance to be drawn: then a report ``y`` of block ``b`` beside those of answer ``x`` adds
    ``T(y) - E[T | x, b] + E[T | x]``.
    """
    t = np.array(shape.values)[:, None, :]
    law = np.array(shape.rows) / DENOMINATOR
    if not shape.blocks:
        return np.broadcast_to(t, (len(t), *law.shape))
    sizes = np.array(shape.blocks)
    starts = np.cumsum(sizes) - sizes
    block_chances = np.add.reduceat(law, starts, axis=1)  # Pr[b | x], (answers, blocks)
    block_sums = np.add.reduceat(t * law, starts, axis=2)  # E[T 1{b} | x]
    block_means = block_sums / block_chances  # E[T | x, b]
    mean_of_block = np.repeat(block_means, shape.blocks, axis=2)
    mean = block_sums.sum(axis=2, keepdims=True)  # E[T | x]
    return t - mean_of_block + mean


def _of_die(law: CollectedLaw) -> FalseReports:
    shape = cast("die.Die", law.shape)
    sampling = shape.sampling / DENOMINATOR
    return of_two_rounds(shape.levels.names, shape.levels.item_counts, sampling)


def of_two_rounds(
    names: Sequence[str], sizes: Sequence[int], sampling: float
) -> FalseReports:
    """Sampling Privacy: what one person's two false reports do.

    The count of a value is how many more report it in round two than in round one, over
    ``sampling``, the probability ``pi_s`` to be drawn (docs/theory/sampling-privacy.md). Whoever
    reports it in round two alone adds ``1 / pi_s`` people, in round one alone takes as many
    away; no two values can be reported in one round.
    """
    people = 1 / sampling
    of_each = np.full(len(names), people)
    return FalseReports(
        moved=tuple(names),
        up=of_each,
        down=of_each,
        together=lambda _level, _answers: people,
        sizes=tuple(sizes),
    )


def _extremes(moved: tuple[str, ...], values: Array, unit: str) -> FalseReports:
    """What one report moves at most, by the rows of an estimator, ``(quantities, reports)``."""
    most = values.max(axis=1)
    least = values.min(axis=1)
    return FalseReports(moved, up=most, down=-least, unit=unit)


_OF_SHAPES: dict[str, Callable[[CollectedLaw], FalseReports | None]] = {
    bits.Bits.name: _of_supports,
    hashing.Hash.name: _of_supports,
    overlap.Overlap.name: _of_supports,
    subset_design.SidesCollected.name: _of_sides,
    rows.Rows.name: _of_rows,
    die.Die.name: _of_die,
}
