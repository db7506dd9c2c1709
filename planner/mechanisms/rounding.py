"""What makes integers over 2^32 of probabilities, of every form of report, on the private side.

Rounding each probability to the nearest integer breaks budgets: many are met with equality, and
a probability rounded up next to one rounded down exceeds them. A closed form and a table are
rounded inward. A subset design is mixed with a little of a law that says nothing, which leaves
every pair some room, and rounded down; what is left goes to one more type, the *blank*, in which no
item is on the high side. The proof is in docs/theory/exact-integers.md; what doubles may be off by
is charged as if the design exceeded its budgets by as much.

Of a channel symbols are levels of one item, and reports are types with that item on the high
side, so that rounding and its proof hold as they are; the blank is its last report.

What is rounded is checked again in :mod:`planner.laws.exact`, as every client does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from math import ceil, floor

import numpy as np
from numpy.typing import ArrayLike

from planner.arrays import Array, Whole
from planner.errors import InputError, VerificationError
from planner.laws.exact import PairViolation, check_unary
from planner.laws.levels import Levels
from planner.limits import DENOMINATOR
from planner.policy.policy import PrivacyPolicy
from planner.solvers.answers import Certificate, Channel, SubsetDesign, nearest_unbiased
from planner.solvers.types import NO_SPLIT, OutputTypes, pooled

# Factors that outweigh the rounding of a double.
_BELOW = 1 - 1e-15
_ABOVE = 1 + 2**-40
_MAX_STEPS = 8  # times that a pair may give up one more unit; once is the rule
_MOST_MIXED = 0.01
_MOST_EXCESS = 1e-9
# Relative: more than sums, ratios and products of doubles are off by.
_DOUBLES = 2.0**-45


def units_below(share: float) -> int:
    """The most units of 2^-32 that a share surely has, in spite of its own rounding."""
    return int(share * DENOMINATOR * _BELOW)


def units_above(shares: ArrayLike) -> Whole:
    """The fewest units of 2^-32 that shares surely have not more than, each."""
    units = np.asarray(shares) * DENOMINATOR
    return np.ceil(units * _ABOVE).astype(np.int64)


def round_inward(
    a: Sequence[float], b: Sequence[float], levels: Levels
) -> tuple[list[int], list[int]]:
    """A table's integers, ``a`` rounded down and ``b`` up, that keep every pair's budget."""
    a_units = []
    b_units = []
    most = DENOMINATOR - 1
    for a_share, b_share in zip(a, b, strict=True):
        a_units.append(min(floor(a_share * DENOMINATOR), most))
        b_units.append(max(ceil(b_share * DENOMINATOR), 1))
    for _ in range(1 + _MAX_STEPS):
        _require_apart(a_units, b_units, levels)
        try:
            check_unary(a_units, b_units, levels)
        except PairViolation as broken:
            # The pair's probabilities move one unit towards each other; then all is checked again.
            for i in {broken.first, broken.second}:
                level = i
                if i == len(a_units):  # dummies, which have their level's probabilities
                    level = levels.dummy_level
                a_units[level] -= 1
                b_units[level] += 1
            continue
        return a_units, b_units
    raise VerificationError("The probabilities break the policy by more than rounding")


def _require_apart(
    a_units: Sequence[int], b_units: Sequence[int], levels: Levels
) -> None:
    """InputError that names the first level whose bit says nothing: ``a`` is not above ``b``."""
    for i, epsilon in enumerate(levels.epsilons):
        if b_units[i] >= a_units[i]:
            allowed = "large enough for probabilities that differ by more than 2^-32"
            remedy = (
                "Raise the smallest budgets, or leave out the levels that force them."
            )
            raise InputError(f"epsilons[{i}]", epsilon, allowed, remedy)


def round_die(
    sampling: float, zero: float, decoys: Sequence[float]
) -> tuple[int, int, list[int]]:
    """Integers of Sampling Privacy: ``sampling`` rounded down, the others up, 2^32 in all.

    Those of multiples of 2^-32 are exactly these. InputError if nobody would be sampled.
    """
    units = [ceil(decoy * DENOMINATOR) for decoy in decoys]
    decoy_units = sum(units)
    least_zero = ceil(zero * DENOMINATOR)
    room = DENOMINATOR - least_zero - decoy_units
    sampled = min(floor(sampling * DENOMINATOR), room)
    if sampled < 1:
        allowed = (
            "large enough to keep a multiple of 2^-32 once the decoys are rounded up"
        )
        raise InputError("sampling", sampling, allowed, "Sample more, or merge values.")
    # What rounding leaves over goes to staying at 0: that output then says less than before.
    stay = DENOMINATOR - decoy_units - sampled
    return sampled, stay, units


def likelihoods(item_counts: Whole, high_counts: Whole, integers: Whole) -> OutputTypes:
    """Types on the grid as likelihoods, for the formulas of the estimator and the variances.

    ``integers / 2^32`` are the probabilities of a type and the own side; on a side of ``n`` of the
    level's ``m`` items a report's likelihood is ``m / n`` times as much.
    """
    items = item_counts[:, None, None]  # m
    high_items = high_counts.T[:, :, None]
    low_items = items - high_items
    on_side = np.concatenate([low_items, high_items], axis=2)  # n, (levels, types, 2)
    scale = items / np.maximum(on_side, 1) / DENOMINATOR
    likelihood = integers * scale
    # A side on which nobody stands has no likelihood: it gets that of the other.
    of_other_side = likelihood[:, :, ::-1]
    likelihood = np.where(on_side > 0, likelihood, of_other_side)
    return OutputTypes(
        item_counts,
        weights=np.ones(len(high_counts)),
        low=likelihood[:, :, 0].T,
        high=likelihood[:, :, 1].T,
        high_counts=high_counts,
    )


def drawn_design(design: SubsetDesign) -> SubsetDesign:
    """The design with its probabilities rounded, the blank type last: what reports really follow.

    Examples
    --------
    >>> types = OutputTypes([3], [0.5], [[1.0]], [[4.0]], [[1]])
    >>> drawn = drawn_design(SubsetDesign(PrivacyPolicy([np.log(4)], [3]), types, [0], [1.0]))
    >>> drawn.types.size, bool(drawn.pair_losses[0, 0] <= np.log(4))
    (2, True)
    """
    groups = pooled(design.policy, design.groups)
    high_counts, integers = round_types(groups, design.types)
    types = likelihoods(groups.item_counts, high_counts, integers)
    return replace(design, types=types)


def round_types(policy: PrivacyPolicy, types: OutputTypes) -> tuple[Whole, Whole]:
    """Round a design's types to the private side; the blank type is last.

    Returns how many items of each level are on the high side, int64, shape ``(n, t)``, and
    ``2^32 Pr[type, own side | level]``, low and high, int64, shape ``(t, n, 2)``, 2^32 a level.

    Examples
    --------
    Generalised randomised response on three items, ``e^eps = 4``: the item itself with 2/3.

    >>> types = OutputTypes([3], [0.5], [[1.0]], [[4.0]], [[1]])
    >>> high_counts, integers = round_types(PrivacyPolicy([np.log(4)], [3]), types)
    >>> high_counts.tolist(), integers.tolist()
    ([[1], [0]], [[[1431655766, 2863311527], [3, 0]]])
    """
    types = _without_equal_sides(types)
    # D = 2^32 and, below, r, eta, K, B_0, M_o, delta and phi_o are those of the proof.
    bounds = policy.bounds()
    eta = _excess(types, bounds)
    is_budget = np.isfinite(bounds)
    r = math.log(2)  # without a budget between any two levels, any r does
    if is_budget.any():
        r = float(bounds[is_budget].min())
    chances = types.probabilities  # p_i(o, s), shape (t, n, 2)
    row_sums = chances.sum(axis=(1, 2))  # R_i
    _require_laws(row_sums)
    side_shares = _side_shares(types)  # n / m_i
    is_occupied = side_shares > 0
    # Of the rounding of K numbers the blank type gets less than K units, and what rows of unequal
    # sums leave over; B_0 is as much as makes e^r times the least of it exceed the most.
    entries = is_occupied.sum(axis=(1, 2))
    K = int(entries.max())
    largest_sum = row_sums.max()
    uneven = float(np.ptp(row_sums) / largest_sum) + _DOUBLES
    left_over = K + DENOMINATOR * uneven
    B_0 = ceil(left_over / math.expm1(r)) + 1
    room = max(DENOMINATOR - B_0, 1)  # D - B_0
    occupied_shares = np.where(is_occupied, side_shares, 1.0)
    M = 1 / occupied_shares.min(axis=(0, 2))  # M_o
    # The silent law's part delta outweighs a unit of rounding and what the doubles are off by.
    grown = 1 + DENOMINATOR * (eta + _DOUBLES)
    room_of_r = room * -math.expm1(-r)
    delta = float(M.sum() * grown / room_of_r)
    if delta > _MOST_MIXED:
        allowed = "large enough for so many items on a grid of 2^-32"
        remedy = "Raise the smallest budgets, or merge items."
        raise InputError("epsilons", policy.epsilons.tolist(), allowed, remedy)
    phi = M / M.sum()  # phi_o
    silent = phi[:, None] * side_shares
    drawn = (1 - delta) * chances / largest_sum
    mixed = drawn + delta * silent
    shape = (row_sums.size, types.size + 1, 2)
    integers = np.zeros(shape, dtype=np.int64)
    integers[:, :-1] = np.floor(room * mixed)
    lacking = DENOMINATOR - integers.sum(axis=(1, 2))
    integers[:, -1, 0] = lacking
    blank_counts = np.zeros_like(types.item_counts)
    return np.vstack([types.high_counts, blank_counts]), integers


def _require_laws(row_sums: Array) -> None:
    """VerificationError unless the probabilities of each level sum to 1, but for rounding."""
    for level, total in enumerate(row_sums.tolist()):
        if abs(total - 1) > _MOST_EXCESS:
            reason = f"The probabilities of level {level} sum to {total!r}, not to 1"
            raise VerificationError(reason, "Solve the design again.")


def _side_shares(types: OutputTypes) -> Array:
    """The share ``n / m`` of a level's items that stand on each side, ``(levels, types, 2)``."""
    is_possible = types.high > 0
    on_side = np.stack([types.low_counts, types.high_counts], axis=2)
    on_side = on_side * is_possible[..., None]
    by_level = on_side.transpose(1, 0, 2)
    return by_level / types.item_counts[:, None, None]


def _without_equal_sides(types: OutputTypes) -> OutputTypes:
    """The types with sides that tell nothing apart joined to one, the low one."""
    sides_differ = types.low < types.high * (1 - NO_SPLIT)
    all_high = types.low_counts == 0
    is_split = sides_differ | all_high
    is_possible = types.high > 0
    high_counts = np.where(is_split & is_possible, types.high_counts, 0)
    # Joined, the low side has the mean likelihood; doubles must not lift it above the high one.
    joined = np.minimum(types.means, types.high)
    low = np.where(is_split, types.low, joined)
    return OutputTypes(types.item_counts, types.weights, low, types.high, high_counts)


def _excess(types: OutputTypes, bounds: Array) -> float:
    """The factor, less 1, by which types exceed a pair's budget; refused if not tiny."""
    is_budget = np.isfinite(bounds)
    excesses = types.pair_losses[is_budget] - bounds[is_budget]  # nats
    # Of a level with a single item, which has no pair, the loss is NaN: fmax leaves it out.
    largest = np.fmax.reduce(excesses, initial=0.0)
    excess = float(np.expm1(largest))
    if not excess <= _MOST_EXCESS:
        reason = f"The design exceeds a pair's budget by {excess:.3g} nats"
        remedy = "Do not deploy it: plan again with budgets that differ less."
        raise VerificationError(reason, remedy)
    return excess


def drawn_channel(channel: Channel) -> Channel:
    """The channel with its probabilities rounded, the blank report last: what is really drawn.

    The estimator is the nearest one that is unbiased for the rounded probabilities. One that is
    on the grid already is returned as it is.

    Examples
    --------
    >>> from planner import best_channel
    >>> channel = best_channel(2.0)
    >>> drawn = drawn_channel(channel)
    >>> drawn.outputs - channel.outputs, drawn.max_violation <= 0
    (1, True)
    >>> round(drawn.worst_error / channel.worst_error - 1, 6)
    0.0
    """
    if _is_on_grid(channel):
        return channel
    symbols, outputs = channel.matrix.shape
    # Each symbol is the one item of a level, and each report a type with all of them high.
    by_report = channel.matrix.T
    types = OutputTypes(
        item_counts=np.ones(symbols, dtype=np.int64),
        weights=np.ones(outputs),
        low=by_report,
        high=by_report,
        high_counts=np.ones((outputs, symbols), dtype=np.int64),
    )
    _, integers = round_types(channel.policy, types)
    matrix = integers.sum(axis=2) / DENOMINATOR
    # The blank report adds nothing before the estimator is made unbiased again.
    of_blank = np.zeros(len(channel.wanted))
    estimator = np.column_stack([channel.estimator, of_blank])
    estimator = nearest_unbiased(estimator, channel.wanted, matrix)
    drawn = replace(channel, matrix=matrix, estimator=estimator, certificate=None)
    proof = channel.certificate
    if proof is None:
        return drawn
    # The bound is of all channels, those on the grid among them; only the error has moved.
    gap = drawn.worst_error / proof.lower_bound - 1
    certificate = Certificate(proof.lower_bound, max(0.0, gap), proof.over)
    return replace(drawn, certificate=certificate)


def _is_on_grid(channel: Channel) -> bool:
    """Whether all probabilities are positive multiples of 2^-32 that sum to 1 for each symbol."""
    units = channel.matrix * DENOMINATOR
    is_whole = np.array_equal(units, np.rint(units))
    if not is_whole or units.min() < 1:
        return False
    sums = units.sum(axis=1)
    return bool((sums == DENOMINATOR).all())


def integers_of(channel: Channel) -> Whole:
    """``2^32 Pr[report | symbol]`` of a channel as drawn, shape ``(symbols, outputs)``."""
    units = drawn_channel(channel).matrix * DENOMINATOR
    return np.rint(units).astype(np.int64)
