"""The set design: one report about a whole set of items, not about one item drawn from it.

A set is padded with dummies to ``length`` elements, of ``items + length``. A report is a set K
of ``size`` elements; its chance depends on the number of hits, elements of both, alone, and grows
with it in steps: a staircase. Two promises hold: two padded sets that differ in one element are
told apart by at most ``epsilon``, any two by at most ``cap``. Derivation, proofs and
reference values: docs/theory/item-sets.md.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from math import ceil, expm1, sinh
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from planner.arrays import Array, Whole
from planner.errors import InputError
from planner.laws import overlap
from planner.laws.levels import Levels
from planner.laws.shape import octets
from planner.laws.source import below
from planner.limits import DENOMINATOR, MAX_WHOLE_SET
from planner.mechanisms.collected import Collected, as_bytes
from planner.mechanisms.counting import (
    Aggregate,
    Counter,
    PackedCounter,
    Reports,
    SumCounter,
)
from planner.mechanisms.rounding import units_above
from planner.mechanisms.words import Words
from planner.policy import logodds

# hits of all sizes up to which each is tried; else so many sizes
_ALL_HITS = 30_000
_GRID = 300
_ALL_STAIRS = 1000  # up to which every place of a short step is tried
# Budgets above are not used up: whole numbers over 2^32 could not hold more.
_MOST_NATS = 20.0
_CHUNK_ELEMENTS = 2**18  # elements of reports at once: what stays in the cache


class OverlapCollected(overlap.Overlap, Collected):
    """A set design, see :class:`planner.laws.overlap.Overlap`."""

    @classmethod
    def of(cls, levels: Levels, cap: float | None) -> OverlapCollected:
        """The best design, with its ratios rounded up to whole numbers over 2^32: private."""
        epsilon = levels.least_demanded()
        design = best_set_design(levels.total, levels.dummies, epsilon, cap)
        # Of a report with j hits to one with j + 1; fewer hits than size - items are impossible.
        fewest = max(0, design.size - levels.total)
        steps = np.diff(design.log_steps)[fewest : design.size]
        ratios = units_above(np.exp(-steps))
        ratios = np.minimum(ratios, DENOMINATOR)
        return cls(
            levels,
            held=design.size,
            cap=cap or epsilon,
            ratios=tuple(ratios.tolist()),
        )

    def counter(self) -> Counter:
        if self.width:
            return SumCounter(self.cells, self._counted)
        return PackedCounter(self.cells, self.held)

    def draw_many(self, elements: Whole, words: Words) -> list[Reports]:
        """Draw the reports of padded sets, shape ``(n, length)``."""
        part_count = 1 + len(elements) * self.cells // _CHUNK_ELEMENTS
        reports = []
        for part in np.array_split(elements, part_count):
            reports.append(self._drawn(part.T, words))
        return [np.concatenate(reports)]

    def draw_aggregate(self, people: Whole, rng: np.random.Generator) -> Aggregate:
        """Draw the counts of padded sets: element ``k`` is in ``people[k]`` of them."""
        users = int(people.sum()) // self.levels.dummies
        return self._supports_drawn(people, users, rng)

    def _counted(self, rows: Reports) -> Whole:
        """How many of the reports have each element, of reports that list rising numbers."""
        numbers = rows.view(f"<u{self.width}").astype(np.int64)
        is_outside = numbers[:, -1] >= self.cells
        rises = np.diff(numbers, axis=1)
        is_unordered = (rises <= 0).any(axis=1)
        for u in np.flatnonzero(is_outside | is_unordered):
            allowed = f"{self.held} rising numbers below {self.cells}"
            remedy = "Leave the report out."
            raise InputError(f"report {u}", "another one", allowed, remedy)
        return np.bincount(numbers.ravel(), minlength=self.cells)

    def _drawn(self, elements: Whole, words: Words) -> Reports:
        """Reports about sets side by side, each with its hits and, at random, some others.

        ``elements`` are of padded sets, shape ``(length, n)``. A report's ``held`` elements are
        ``h`` hits and ``held - h`` others. All own elements are there while others are drawn, again
        where what was drawn was there already, until there are ``length + held - h``; then the own
        ones that are no hits are taken away.
        """
        length, n = elements.shape
        width = 8 * octets(self.cells)
        bits = np.zeros(n * width, np.bool_)
        rows = bits.reshape(n, width)
        first_bit = np.arange(n) * width
        hits_left = self.hits_drawn(n, words)
        filled_size = length + self.held - hits_left
        # Of j own elements that are left, h of them hits, the next is one with the chance h / j.
        is_hit = np.zeros(elements.shape, np.bool_)
        for position in range(length):
            own_left = length - position
            is_hit[position] = words.below(own_left, n) < hits_left
            hits_left -= is_hit[position]
        own_bits = elements + first_bit
        bits[own_bits] = True
        while True:
            missing = filled_size - np.count_nonzero(rows, axis=1)
            if not missing.any():
                break
            first_bits = np.repeat(first_bit, missing)
            drawn = words.below(self.cells, first_bits.size)
            bits[first_bits + drawn] = True
        is_no_hit = ~is_hit
        bits[own_bits[is_no_hit]] = False
        if not self.width:
            return np.packbits(rows, axis=1, bitorder="little")
        numbers = np.flatnonzero(bits) % width
        lists = numbers.reshape(n, self.held)
        return as_bytes(lists.astype(f"<u{self.width}"))

    def hits_drawn(self, count: int, words: Words) -> Whole:
        """The number of own elements in each report.

        ``ends`` are the cumulated weights of the numbers of hits, whole numbers of any length; the
        last is their total. The first 64 binary digits of a uniform number below it nearly always
        decide between them.
        """
        *ends, total = self.ends
        first_digits = [(end << 64) // total for end in ends]
        edges = np.array(first_digits, dtype=np.uint64)
        drawn = words.raw(count)
        extra_hits = np.searchsorted(edges, drawn, side="right")
        # A word that is an edge does not tell, once in 10^18: it gets further digits.
        is_undecided = np.isin(drawn, edges)
        for k in np.flatnonzero(is_undecided):
            further_digits = below(words.octets, total)
            number = int(drawn[k]) * total + further_digits
            extra_hits[k] = bisect_right(ends, number >> 64)
        fewest_hits = self.hits[0]
        return fewest_hits + extra_hits


# -- the best design ---------------------------------------------------------------------


class SetDesign(NamedTuple):
    """Which sets of ``size`` elements are reported with which chance.

    ``log_steps`` has the log of a report's chance by its hits, and ``support`` the chances (a, b)
    that a report has an element of the padded set, and another one.

    Examples
    --------
    >>> design = best_set_design(100, 10, epsilon=1.0)
    >>> design.size, float(set_error(100, 10, *design.support).round(4))
    (3, 3664.17)
    >>> best_set_design(100, 10, epsilon=1.0, cap=2.0).log_steps[:5]
    (0.0, 0.0, 1.0, 2.0, 2.0)
    """

    size: int
    log_steps: tuple[float, ...]
    support: tuple[float, float]


@lru_cache(maxsize=1024)
def best_set_design(
    items: int, length: int, epsilon: float, cap: float | None = None
) -> SetDesign:
    """Return the set design of the smallest worst-case error among those tried.

    All sizes and staircases where they are few, else a sample (docs/theory/item-sets.md).
    """
    if cap is None:
        cap = epsilon
    if not 1 <= length <= min(items, MAX_WHOLE_SET):
        allowed = f"1 to {items:,}, the number of items, and at most {MAX_WHOLE_SET:,}"
        raise InputError("length", length, allowed, "Shorten it.")
    largest_cap = length * epsilon
    if not epsilon <= cap <= largest_cap * (1 + 1e-12):
        allowed = (
            f"{epsilon:g} to {largest_cap:g}: once to length times the smallest budget"
        )
        remedy = "Leave it out for one budget of any two sets."
        raise InputError("cap", cap, allowed, remedy)
    stairs = _staircases(length, min(epsilon, _MOST_NATS), cap)
    return _best(items, length, stairs)


def set_error_bound(items: int, length: int, epsilon: float, cap: float) -> float:
    """Total squared error per person that no unbiased mechanism undercuts.

    For the worst set of ``length`` items, where two sets that differ in one item have the budget
    ``epsilon`` and any two have ``cap``, in nats. With ``x = 1 / sinh^2(budget / 2)``, which is
    ``4 E / (E - 1)^2`` of ``E = e^budget``, ``m`` items and ``l`` of them in the set, it is the
    larger of ``l (m - l) / m ((m - 1) x_cap - 1)`` and, with ``r = m - l``,
    ``r / (r + 1) (r x_epsilon - 1)``, where ``r`` is ``q - 1`` of docs/theory/item-sets.md.
    """
    m = items
    r = m - length
    x_cap = sinh(cap / 2) ** -2
    x_epsilon = sinh(epsilon / 2) ** -2
    by_cap = length * r / m * ((m - 1) * x_cap - 1)
    by_epsilon = r / (r + 1) * (r * x_epsilon - 1)
    return max(0.0, by_cap, by_epsilon)


def set_error(
    items: int, length: int, own_chance: ArrayLike, other_chance: ArrayLike
) -> Array:
    """Squared error per person for the worst number of items, none or all: it is linear in it.

    ``items noise + length max(signal, 0)``, with the terms of :mod:`planner.policy.logodds`.
    """
    a = np.asarray(own_chance)
    b = np.asarray(other_chance)
    with np.errstate(divide="ignore", invalid="ignore"):
        noise, signal = logodds.noise_and_signal(a, b)
    of_holders = length * np.maximum(signal, 0.0)
    return items * noise + of_holders


def _staircases(length: int, epsilon: float, cap: float) -> Array:
    """All staircases: flat, whole steps and one that may be short, flat; a row each, by hits.

    Where they are many, the short step is the first or the last. Shape ``(stairs, length + 1)``.
    """
    whole_steps = ceil(cap / epsilon - 1e-9) - 1
    # By so much the one short step is shorter than epsilon, for the stairs to end at the cap.
    last_height = cap - whole_steps * epsilon
    missing = max(0.0, epsilon - last_height)
    short_step_count = 1
    if missing > 1e-9 * cap:  # the short step may be any of them
        short_step_count = whole_steps + 1
    short_steps = np.arange(short_step_count)
    if length * short_step_count > _ALL_STAIRS:
        short_steps = short_steps[[0, -1]]
    hits = np.arange(length + 1)
    hits_before_first_step = np.arange(length)[:, None, None]
    steps_climbed = hits - hits_before_first_step
    is_after_short = steps_climbed > short_steps[:, None]
    heights = epsilon * steps_climbed - missing * is_after_short
    heights = np.clip(heights, 0.0, cap)
    return np.asarray(heights.reshape(-1, length + 1))


def hits_by_size(elements: int, length: int, sizes: Whole) -> Array:
    """Chance of each number of hits of a uniform report, up to a factor: ``(sizes, length + 1)``.

    Hypergeometric: ``C(length, j) C(elements - length, k - j)`` for ``j`` hits of ``k`` elements,
    by the ratios of neighbours: that of ``j + 1`` to ``j`` hits is
    ``(length - j) / (j + 1) (k - j) / (elements - length - k + j + 1)``.
    """
    j = np.arange(length)
    k = sizes[:, None]
    misses = np.maximum(k - j, 0)
    others_left = elements - length - k + j + 1
    others_left = np.maximum(others_left, 1e-200)  # none: the size has no such hits
    hit_ratios = (length - j) / (j + 1)
    ratios = hit_ratios * misses / others_left
    with np.errstate(divide="ignore"):  # numbers of hits that a size cannot have
        log_ratios = np.log(ratios)
    from_first = np.pad(log_ratios, ((0, 0), (1, 0)))
    logs = np.cumsum(from_first, axis=1)
    # Divided by the largest, so that no size overflows.
    largest = logs.max(axis=1, keepdims=True)
    return np.exp(logs - largest)


def chances_in_report(
    items: int, length: int, sizes: Whole, stairs: Array
) -> tuple[Array, Array]:
    """Chances a and b of a report to have an own and another element: ``(sizes, stairs)``.

    ``a`` is the mean number of hits by the length; reports have ``k`` elements in all, so that
    ``b = (k - length a) / items``.
    """
    uniform = hits_by_size(items + length, length, sizes)
    # A report's chance is the uniform one times the stair's height, up to one factor for all.
    log_heights = stairs - stairs[:, -1:]
    heights = np.exp(log_heights).T
    hits = np.arange(length + 1)
    total = uniform @ heights
    hits_total = (uniform * hits) @ heights
    mean_hits = hits_total / total
    a = mean_hits / length
    b = (sizes[:, None] - mean_hits) / items
    return a, b


def _best(items: int, length: int, stairs: Array) -> SetDesign:
    """The one of these staircases and any size with the smallest worst-case error.

    Where sizes are many a sample is tried, then the sizes around the best of it, and so on.
    """
    low = 1
    high = items + length - 1
    while True:
        sizes = np.arange(low, high + 1)
        if sizes.size > max(_GRID, _ALL_HITS // length):
            grid = np.geomspace(low, high, _GRID).astype(np.int64)
            sizes = np.unique(grid)
        a, b = chances_in_report(items, length, sizes, stairs)
        errors = set_error(items, length, a, b)  # (sizes, stairs)
        best = int(np.nanargmin(errors))
        i, stair = divmod(best, len(stairs))
        if sizes.size > high - low:  # all of them were tried
            own_chance = float(a[i, stair])
            other_chance = float(b[i, stair])
            return SetDesign(
                size=int(sizes[i]),
                log_steps=tuple(stairs[stair].tolist()),
                support=(own_chance, other_chance),
            )
        before = max(i - 1, 0)
        after = min(i + 1, sizes.size - 1)
        low = int(sizes[before])
        high = int(sizes[after])


def rival_supports(
    items: int, length: int, epsilon: float
) -> dict[str, tuple[float, float]]:
    """Chances (a, b) of rivals by name, where any two sets of up to ``length`` have ``epsilon``.

    Padded and sampled GRR with the amplified budget ``ln(length (e^epsilon - 1) + 1)`` (Wang, Li
    and Jha: Locally differentially private frequent itemset mining, 2018): one element is reported.
    PrivSet (Wang et al.: PrivSet: Set-valued data analyses with local differential privacy, 2018)
    at its best size: a report hits the set or not. Wheel (Wang et al.: Set-valued data publication
    with local privacy: tight error bounds and efficient mechanisms, 2020): arcs of length b.

    Examples
    --------
    >>> for name, chances in rival_supports(100, 10, epsilon=1.0).items():
    ...     print(name, round(set_error(100, 10, *chances), 2))
    amplified-grr 4992.31
    privset 3664.17
    wheel 5133.71
    """
    # One step at the first hit: a report hits the set or not.
    hit = np.array([[0.0] + [epsilon] * length])
    one_element = np.array([1])
    a, b = chances_in_report(items, length, one_element, hit)
    # An arc around each own element is e^epsilon times as likely as the rest of the circle.
    grown = expm1(epsilon)  # e^epsilon - 1
    arc = 1 / (3 * length - 1 + length * grown)
    total = 1 + grown * length * arc
    in_own_arc = arc * (1 + grown) / total
    return {
        "amplified-grr": (a.item(), b.item()),
        "privset": _best(items, length, hit).support,
        "wheel": (in_own_arc, arc),
    }
