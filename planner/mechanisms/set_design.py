"""The set design: one report about a whole set of items, not about one item drawn from it.

A set is padded with dummies to ``length`` elements, of ``items + length``. A report is a set K
of ``size`` elements; its chance depends on the number of hits, elements of both, alone, and grows
with it in steps: a staircase. Two promises hold: two padded sets that differ in one element are
told apart by at most ``epsilon``, any two by at most ``cap``. Derivation, proofs and
reference values: docs/theory/item-sets.md.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from math import ceil, expm1, log1p, sinh, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from planner.errors import InputError, VerificationError
from planner.laws import staircase
from planner.limits import DENOMINATOR
from planner.mechanisms.collected import Collected
from planner.mechanisms.counting import Aggregate, Counter, PackedCounter, Rows, SumCounter
from planner.mechanisms.words import Words, seeded_words
from planner.policy.policy import PrivacyPolicy

Array = NDArray[np.float64]
_ALL_SIZES = 3000  # elements up to which every size is tried; else a grid, and around its best
_GRID = 300
_ALL_STAIRS = 1000  # up to which every place of a short step is tried
_PEOPLE = 10_000  # whose reports are held at once
_MOST_NATS = 20.0  # budgets above are not used up: whole numbers over 2^32 could not hold more
_RAREST = 2.0**-22  # chance of a uniform report that whole numbers over 2^32 can still lift
_MOST_ROUNDED = 0.1  # share of the uniform law that rounding may mix in

Numbers = NDArray[np.int64]
_CHUNK = 2**20  # numbers drawn at once


class Staircase(staircase.Staircase, Collected):
    """A set design, see :class:`planner.laws.staircase.Staircase`."""

    def counter(self) -> Counter:
        if self.width:
            return SumCounter(self.cells, self._counted)
        return PackedCounter(self.cells, self.held)

    def draw_many(self, own: Numbers, words: Words) -> list[Rows]:
        """Of padded sets, shape ``(n, length)``."""
        rows = max(1, _CHUNK // (2 * self.held + own.shape[1]))
        parts = [self._drawn(own[i : i + rows], words) for i in range(0, len(own), rows)]
        return [np.concatenate(parts) if parts else np.empty((0, self.size), np.uint8)]

    def draw_aggregate(self, own: Numbers, rng: np.random.Generator) -> Aggregate:
        """Of padded sets, shape ``(n, length)``: reports are drawn, counted and forgotten."""
        counter, words = self.counter(), seeded_words(rng)
        for part in np.array_split(own, -(-len(own) // _PEOPLE)):
            counter.add(self.draw_many(part, words)[0])
        return counter.sums()

    def _counted(self, rows: Rows) -> Numbers:
        numbers = rows.view(f"<u{self.width}").astype(np.int64)
        wrong = (numbers[:, -1] >= self.cells) | (np.diff(numbers, axis=1) <= 0).any(axis=1)
        for u in np.flatnonzero(wrong)[:1]:
            allowed = f"{self.held} rising numbers below {self.cells}"
            raise InputError(f"report {u}", "another one", allowed, "Leave the report out.")
        return np.bincount(numbers.ravel(), minlength=self.cells)

    def _drawn(self, own: Numbers, words: Words) -> Rows:
        hits, length = self._hits_drawn(len(own), words), own.shape[1]
        own = np.take_along_axis(own, _orders(len(own), length, words), axis=1)
        places = _distinct(self.cells - length, self.held - hits, words)
        shifts = np.sort(own, axis=1) - np.arange(length)
        others = places + sum((places >= one[:, None]).astype(np.int64) for one in shifts.T)
        others[places < 0] = self.cells  # not taken: behind all elements
        mine = np.where(np.arange(length) < hits[:, None], own, self.cells)
        chosen = np.sort(np.concatenate([mine, others], axis=1), axis=1)[:, : self.held]
        if self.width:
            return np.ascontiguousarray(chosen.astype(f"<u{self.width}")).view(np.uint8)
        bits = np.zeros((len(own), 8 * self.size), dtype=np.bool_)
        np.put_along_axis(bits, chosen, True, axis=1)
        return np.packbits(bits, axis=1, bitorder="little")

    def _hits_drawn(self, count: int, words: Words) -> Numbers:
        """The number of own elements in each report."""
        step = np.searchsorted(np.array(self._ends), words.half(count), side="right")
        found = np.empty(count, dtype=np.int64)
        for c, ends in enumerate(self._within):
            rows = np.flatnonzero(step == c)
            shares = [(end << 64) // ends[-1] for end in ends if end < ends[-1]]
            edges = np.array(shares, dtype=np.uint64)
            drawn = words.raw(rows.size)
            places = np.searchsorted(edges, drawn, side="right")
            for k in np.flatnonzero(np.isin(drawn, edges)):  # 64 bits do not tell: one in 10^18
                places[k] = _place(ends, int(drawn[k]), words)
            found[rows] = self.steps[c] + places
        return found


def _place(ends: list[int], number: int, words: Words) -> int:
    """How many of the shares ``ends / ends[-1]`` a uniform number that begins so is not below."""
    total, bits = ends[-1], 64
    while True:
        low, high = number * total >> bits, ((number + 1) * total - 1) >> bits
        if bisect_right(ends, low) == bisect_right(ends, high):
            return bisect_right(ends, low)
        number, bits = (number << 64) + int(words.raw(1)[0]), bits + 64


def _orders(rows: int, count: int, words: Words) -> Numbers:
    """In every row the numbers below ``count`` in a random order; a row with a tie anew."""
    keys = words.raw(rows * count).reshape(rows, count)
    order = np.argsort(keys, axis=1)
    ranked = np.take_along_axis(keys, order, axis=1)
    tied = (ranked[:, 1:] == ranked[:, :-1]).any(axis=1)
    if tied.any():
        order[tied] = _orders(int(tied.sum()), count, words)
    return order


def _distinct(count: int, needed: Numbers, words: Words) -> Numbers:
    """In every row so many of 0 to ``count - 1``, uniformly, and -1: the first different ones."""
    most, tries = int(needed.max()), count
    if 2 * most <= count:
        tries = ceil(count * -log1p(-most / count)) + ceil(6 * sqrt(most)) + 8
    if tries >= count:
        order = _orders(needed.size, count, words)
        return np.where(np.arange(count) < needed[:, None], order, -1)
    drawn = words.below(count, needed.size * tries).reshape(needed.size, tries)
    order = np.argsort(drawn, axis=1, kind="stable")
    ranked = np.take_along_axis(drawn, order, axis=1)
    new = np.ones(drawn.shape, dtype=np.bool_)
    np.put_along_axis(new, order[:, 1:], ranked[:, 1:] != ranked[:, :-1], axis=1)
    number = np.cumsum(new, axis=1)
    chosen = np.where(new & (number <= needed[:, None]), drawn, -1)
    rare = np.flatnonzero(number[:, -1] < needed)  # too few: all anew, so that no set is likelier
    if rare.size:
        again = _orders(rare.size, count, words)[:, :tries]
        chosen[rare] = np.where(np.arange(tries) < needed[rare, None], again, -1)
    return chosen


# -- the best design ---------------------------------------------------------------------


@dataclass(frozen=True)
class SetDesign:
    """Which sets of ``size`` elements are reported with which chance.

    Examples
    --------
    >>> design = best_set_design(100, 10, epsilon=1.0)
    >>> design.size, round(design.worst_case_mse, 4), round(design.lower_bound, 4)
    (3, 3664.17, 3272.2807)
    >>> best_set_design(100, 10, epsilon=1.0, cap=2.0).log_steps[:5]
    (0.0, 0.0, 1.0, 2.0, 2.0)
    """

    items: int
    length: int
    size: int
    log_steps: tuple[float, ...]

    @property
    def epsilon(self) -> float:
        """Largest budget of two padded sets that differ in one element."""
        return max(high - low for low, high in pairwise(self.log_steps))

    @property
    def cap(self) -> float:
        """Largest budget of any two sets."""
        return self.log_steps[-1]

    @property
    def support(self) -> tuple[float, float]:
        """Chances (a, b) that a report has an element of the padded set, and another one."""
        own, other = _support(
            self.items, self.length, np.array([self.size]), np.array([self.log_steps])
        )
        return float(own[0, 0]), float(other[0, 0])

    @property
    def worst_case_mse(self) -> float:
        """Total squared error per person for the worst number of items, none or ``length``."""
        return float(set_error(self.items, self.length, *self.support))

    @property
    def lower_bound(self) -> float:
        """No unbiased mechanism with these promises for all sets of ``length`` items has less.

        Of the total squared error per person of the counts, for the worst set.
        """
        return set_error_bound(self.items, self.length, self.epsilon, self.cap)


@lru_cache(maxsize=1024)
def best_set_design(items: int, length: int, epsilon: float, cap: float | None = None) -> SetDesign:
    """Return the set design of the smallest worst-case error among all sizes and staircases."""
    cap = epsilon if cap is None else cap
    if not 1 <= length <= items:
        raise InputError("length", length, f"1 to {items:,}, the number of items", "Shorten it.")
    if not epsilon <= cap <= length * epsilon * (1 + 1e-12):
        allowed = f"{epsilon:g} to {length * epsilon:g}: once to length times the smallest budget"
        raise InputError("cap", cap, allowed, "Leave it out for one budget of any two sets.")
    epsilon, cap = min(epsilon, _MOST_NATS), min(cap, length * _MOST_NATS)
    stairs = _staircases(length, epsilon, max(epsilon, cap))
    size, stair = _searched(items, length, stairs)
    return SetDesign(items, length, size, tuple(stairs[stair].tolist()))


def set_error_bound(items: int, length: int, epsilon: float, cap: float) -> float:
    """Total squared error per person that no unbiased mechanism undercuts.

    For the worst set of ``length`` items, where two sets that differ in one item have the budget
    ``epsilon`` and any two have ``cap``, in nats.
    """
    if min(epsilon, cap) <= 0:
        remedy = "Give budgets in nats, such as 1."
        raise InputError("epsilon", min(epsilon, cap), "above 0", remedy)
    spread = length * (items - length) / items
    others = items - length + 1
    return max(
        0.0,
        spread * ((items - 1) * _four_over(cap) - 1),
        (others - 1) / others * ((others - 1) * _four_over(epsilon) - 1),
    )


def _four_over(budget: float) -> float:
    """4 E / (E - 1)^2 for E = e^budget."""
    return 1 / sinh(budget / 2) ** 2


def _staircases(length: int, epsilon: float, cap: float) -> Array:
    """All of them: flat, whole steps and at most one short one, flat; a row each, by hits.

    Where they are many, the short step is the first or the last.
    """
    whole = int(cap / epsilon + 1e-9)
    rest = cap - whole * epsilon
    short = [rest] if rest > 1e-9 * cap else []
    places = range(whole + 1) if length * whole <= _ALL_STAIRS else (0, whole)
    rows: dict[tuple[float, ...], None] = {}
    for first in range(length):
        for place in places if short else (0,):
            steps = [epsilon] * place + short + [epsilon] * (whole - place)
            rises = ([0.0] * (first + 1) + steps + [0.0] * length)[: length + 1]
            rows[tuple(np.cumsum(rises).tolist())] = None
    return np.array(list(rows))


def _hits(elements: int, length: int, sizes: NDArray[np.int64]) -> Array:
    """Chance of each number of hits of a uniform report: (sizes, length + 1)."""
    taken, j = np.arange(length), np.arange(length + 1)

    def falling(counts: NDArray[np.int64]) -> Array:
        with np.errstate(divide="ignore"):
            logs = np.log(np.maximum(counts[:, None] - taken, 0))
        return np.concatenate([np.zeros((counts.size, 1)), np.cumsum(logs, axis=1)], axis=1)

    ways = gammaln(length + 1) - gammaln(j + 1) - gammaln(length - j + 1)
    everything = float(np.log(elements - taken).sum())
    return np.exp(ways + falling(sizes) + falling(elements - sizes)[:, ::-1] - everything)


def _support(
    items: int, length: int, sizes: NDArray[np.int64], stairs: Array
) -> tuple[Array, Array]:
    """Chances a and b of a report to have an own and another element: (sizes, stairs)."""
    uniform = _hits(items + length, length, sizes)
    height = np.exp(stairs - stairs[:, -1:]).T
    own = (uniform * np.arange(length + 1)) @ height / (uniform @ height) / length
    return own, (sizes[:, None] - length * own) / items


def _error(items: int, own: Any, other: Any, held: int) -> Any:
    with np.errstate(divide="ignore"):
        noise = (items - held) * other * (1 - other) + held * own * (1 - own)
        return noise / (own - other) ** 2


def set_error(items: int, length: int, own: Any, other: Any) -> Any:
    """Squared error per person for the worst number of items, none or all: it is linear in it."""
    return np.maximum(_error(items, own, other, 0), _error(items, own, other, length))


def _searched(items: int, length: int, stairs: Array) -> tuple[int, int]:
    """The size, and the staircase of these, of the smallest worst-case error."""
    elements = items + length
    sizes = np.arange(1, elements)
    if elements > _ALL_SIZES:
        sizes = np.unique(np.geomspace(1, elements - 1, _GRID).astype(np.int64))
        near, _ = _least(items, length, sizes, stairs)
        place = int(np.searchsorted(sizes, near))
        sizes = np.arange(sizes[max(place - 1, 0)], sizes[min(place + 1, len(sizes) - 1)] + 1)
        sizes = np.unique(sizes[:: max(1, len(sizes) // _ALL_SIZES)])
    return _least(items, length, sizes, stairs)


def _least(items: int, length: int, sizes: NDArray[np.int64], stairs: Array) -> tuple[int, int]:
    own, other = _support(items, length, sizes, stairs)
    errors = set_error(items, length, own, other)
    raised = _hits(items + length, length, sizes) @ (stairs > 0).T
    errors[np.minimum(raised, 1 - raised) < _RAREST] = np.inf
    size, stair = np.unravel_index(int(np.nanargmin(errors)), errors.shape)
    return int(sizes[size]), int(stair)


def smallest_budget(policy: PrivacyPolicy) -> float:
    """The smallest budget of two different items, or of an item and a dummy."""
    pairs = policy.bounds()
    alone = np.eye(policy.size, dtype=np.bool_) & (policy.item_counts == 1)
    least = float(np.where(alone, np.inf, pairs).min())
    return min(least, float(policy.epsilons.min())) if policy.rule.by_level else least


def rival_supports(items: int, length: int, epsilon: float) -> dict[str, tuple[float, float]]:
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
    hit, ratio = np.array([[0.0] + [epsilon] * length]), np.exp(epsilon)
    best, _ = _searched(items, length, hit)
    one, privset = np.stack(_support(items, length, np.array([1, best]), hit))[:, :, 0].T.tolist()
    arc = float(1 / (2 * length - 1 + length * ratio))
    wheel = float(arc * ratio / (1 + (ratio - 1) * length * arc)), arc
    return {"amplified-grr": tuple(one), "privset": tuple(privset), "wheel": wheel}


def rounded(design: SetDesign) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """First hits and 2^32 times the probability of each step, rounded to the private side.

    A little of every step's uniform chance, ``delta``, makes room for rounding down: the ratios
    shrink by more than that costs them. Steps at the ends that are too rare for whole numbers take
    the height of their neighbours, whichever way leaves the smallest error.
    """
    best: tuple[float, tuple[int, ...], tuple[int, ...]] | None = None
    uniform = _hits(design.items + design.length, design.length, np.array([design.size]))[0]
    logs = np.array(design.log_steps)
    heights = np.unique(logs)
    for low in range(heights.size - 1):
        for high in range(heights.size - 1, low, -1):
            clipped = np.clip(logs, heights[low], heights[high])
            steps = np.flatnonzero(np.diff(clipped, prepend=-1.0) > 0)
            shares = np.add.reduceat(uniform, steps)
            rise = np.diff(clipped[steps]).min(initial=design.cap)
            delta = 2 / (DENOMINATOR * shares.min() * -expm1(-rise))
            if not delta < _MOST_ROUNDED:
                continue
            tall = shares * np.exp(clipped[steps] - clipped[-1])
            mixed = (1 - delta) * tall / tall.sum() + delta * shares
            weights = np.floor(mixed * DENOMINATOR).astype(np.int64)
            weights[np.argmax(shares)] += DENOMINATOR - weights.sum()
            reached = np.repeat(np.log(weights / shares), np.diff([*steps, logs.size]))
            error = replace(design, log_steps=tuple((reached - reached.min()).tolist()))
            value = error.worst_case_mse
            if best is None or value < best[0]:
                best = value, tuple(steps.tolist()), tuple(weights.tolist())
    if best is None:
        reason = f"A budget of {design.epsilon:g} is too small for integers over 2^32"
        raise VerificationError(reason, "Raise the smallest budget, or shorten the padding.")
    return best[1:]
