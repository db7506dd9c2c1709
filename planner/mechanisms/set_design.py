"""The set design: one report about a whole set of items, not about one item drawn from it.

A set is padded with dummies to ``length`` elements, of ``items + length``. A report is a set K
of ``size`` elements; its chance depends on the number of hits, elements of both, alone, and grows
with it in steps: a staircase. Two promises hold: two padded sets that differ in one element are
told apart by at most ``epsilon``, any two by at most ``cap``. Derivation, proofs and
reference values: docs/theory/item-sets.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import expm1, log, log1p, sinh

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from planner.errors import InputError

Array = NDArray[np.float64]
_ALL_SIZES = 3000  # elements up to which every size is tried; else a grid, and around its best
_GRID = 300


@dataclass(frozen=True)
class SetDesign:
    """Which sets of ``size`` elements are reported with which chance.

    Parameters
    ----------
    items
        Items that can be in a set, without dummies.
    length
        Elements of a padded set, and dummies: 1 to ``items``.
    size
        Elements of a report.
    log_steps
        By number of hits, 0 to ``length``: logarithm of the chance of a report, less that of a
        report without a hit.

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

    def error(self, held: int) -> float:
        """Total squared error per person of all counts, where everybody has ``held`` items."""
        own, other = self.support
        return float(_error(self.items, np.asarray(own), np.asarray(other), held))

    @property
    def worst_case_mse(self) -> float:
        """The same for the worst number of items, none or ``length``."""
        return max(self.error(0), self.error(self.length))

    @property
    def lower_bound(self) -> float:
        """No unbiased mechanism with these promises for all sets of ``length`` items has less.

        Of the total squared error per person of the counts, for the worst set.
        """
        return set_error_bound(self.items, self.length, self.epsilon, self.cap)


def best_set_design(items: int, length: int, epsilon: float, cap: float | None = None) -> SetDesign:
    """Return the set design of the smallest worst-case error among all sizes and staircases.

    Parameters
    ----------
    items, length
        As in `SetDesign`.
    epsilon
        Budget in nats of two sets that differ in one item, above 0.
    cap
        Budget of any two sets, ``epsilon`` to ``length * epsilon``; default ``epsilon``.

    Raises
    ------
    InputError
        If a length or a cap is out of its range.
    """
    cap = epsilon if cap is None else cap
    if not 1 <= length <= items:
        raise InputError("length", length, f"1 to {items:,}, the number of items", "shorten it")
    if not epsilon <= cap <= length * epsilon * (1 + 1e-12):
        allowed = f"{epsilon:g} to {length * epsilon:g}: once to length times the smallest budget"
        raise InputError("cap", cap, allowed, "leave it out for one budget of any two sets")
    stairs = _staircases(length, epsilon, cap)
    elements = items + length
    sizes = np.arange(1, elements)
    if elements > _ALL_SIZES:
        sizes = np.unique(np.geomspace(1, elements - 1, _GRID).astype(np.int64))
        near, _ = _least(items, length, sizes, stairs)
        place = int(np.searchsorted(sizes, near))
        sizes = np.arange(sizes[max(place - 1, 0)], sizes[min(place + 1, len(sizes) - 1)] + 1)
        sizes = np.unique(sizes[:: max(1, len(sizes) // _ALL_SIZES)])
    size, stair = _least(items, length, sizes, stairs)
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
    """All of them: flat, whole steps and at most one short one, flat; a row each, by hits."""
    whole = int(cap / epsilon + 1e-9)
    rest = cap - whole * epsilon
    short = [rest] if rest > 1e-9 * cap else []
    rows: dict[tuple[float, ...], None] = {}
    for first in range(length):
        for place in range(whole + 1) if short else (0,):
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


def _error(items: int, own: Array, other: Array, held: int) -> Array:
    with np.errstate(divide="ignore"):
        noise = (items - held) * other * (1 - other) + held * own * (1 - own)
        return noise / (own - other) ** 2


def _least(items: int, length: int, sizes: NDArray[np.int64], stairs: Array) -> tuple[int, int]:
    """The size and the staircase of the smallest worst-case error."""
    own, other = _support(items, length, sizes, stairs)
    errors = np.maximum(_error(items, own, other, 0), _error(items, own, other, length))
    size, stair = np.unravel_index(int(np.nanargmin(errors)), errors.shape)
    return int(sizes[size]), int(stair)


def privset_error(items: int, length: int, epsilon: float) -> float:
    """PrivSet at its best size: a report hits the padded set or does not.

    Wang et al., PrivSet: Set-valued data analyses with local differential privacy, 2018.
    """
    hit = np.array([[0.0] + [epsilon] * length])
    sizes = np.arange(1, min(items + length, _ALL_SIZES))
    own, other = _support(items, length, sizes, hit)
    return float(np.maximum(_error(items, own, other, 0), _error(items, own, other, length)).min())


def wheel_error(items: int, length: int, epsilon: float) -> float:
    """Wheel on sets of ``length`` items: arcs of length p, likelier where one is of the set.

    Wang et al., Set-valued data publication with local privacy: tight error bounds and efficient
    mechanisms, 2020.
    """
    ratio = np.exp(epsilon)
    arc = 1 / (2 * length - 1 + length * ratio)
    own = arc * ratio / (1 + (ratio - 1) * length * arc)
    return float(_error(items, np.asarray(own), np.asarray(arc), length))


def amplified_budget(length: int, epsilon: float) -> float:
    """Budget of randomised response on one of ``length`` items that keeps ``epsilon`` for sets.

    ln(length (e^epsilon - 1) + 1): Wang, Li and Jha, Locally differentially private frequent
    itemset mining, 2018.
    """
    return log1p(length * expm1(epsilon)) if epsilon < 700 else epsilon + log(length)
