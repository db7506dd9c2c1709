"""Differences between two known groups: what is detected, by how many people, and how surely.

An answer that a share ``p`` of a group has is estimated there by the mean of unbiased weights ``T``
of its reports. Of people drawn at random ``T`` has the variance

    v(p) = noise + p signal + p (1 - p),

``noise`` of whoever lacks the answer, ``noise + signal`` of whoever has it; where an answer is
supported with chance ``l = b + p (a - b)`` this is ``l (1 - l) / (a - b)^2``. Of ``n`` people, of
whom the shares ``s_1`` and ``s_2`` are in the two groups, the difference of the two estimates has
the variance ``(v(p_1) / s_1 + v(p_2) / s_2) / n``. It is tested against 0 at 5 %, two-sided, and is
to be detected with a power of 80 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt

import numpy as np

from planner.arrays import Array
from planner.errors import InputError

# Quantiles of the normal distribution: 5 %, two-sided, and a power of 80 %.
_Z_LEVEL = 1.959963984540054
Z_POWER = 0.8416212335729143
_Z_BOTH_SQUARED = (_Z_LEVEL + Z_POWER) ** 2


@dataclass(frozen=True, slots=True)
class GroupShares:
    """A known group by its ``name``, and the share of the people in each of its ``values``."""

    name: str
    values: tuple[tuple[str, float], ...]

    @property
    def smallest(self) -> ComparedGroups:
        """The two values with the fewest people, of those that somebody has."""
        present = [(share, value) for value, share in self.values if share > 0]
        if len(present) < 2:
            reason = f"the population has one value of {self.name!r} alone"
            raise InputError.because("between", reason, "Name another group.")
        # By shares alone: of values with as many people the first listed ones are taken.
        present.sort(key=lambda pair: pair[0])
        first_share, first = present[0]
        second_share, second = present[1]
        return ComparedGroups(
            first=first,
            second=second,
            first_share=first_share,
            second_share=second_share,
        )


@dataclass(frozen=True, slots=True)
class ComparedGroups:
    """Two values of a known group, and the share of the people who are in each."""

    first: str
    second: str
    first_share: float = 0.5
    second_share: float = 0.5


HALVES = ComparedGroups("one half", "the other half")


def compared_groups(between: str, groups: Sequence[GroupShares]) -> ComparedGroups:
    """The values of the group called ``between`` whose difference is the hardest to detect.

    An :class:`InputError` if there is no such group, or it has not two values.
    """
    for group in groups:
        if group.name == between:
            return group.smallest
    names = [group.name for group in groups]
    remedy = "Name a group of the survey that is no number."
    raise InputError.unknown("between", between, names, remedy)


def drawn_variance(noise: Array, signal: Array, share: float) -> Array:
    """``v(p)`` of one report's weight, of people whose expected ``share`` has the answer.

    Examples
    --------
    Forced response, ``a = 5/6`` and ``b = 1/6``, at a share of 20 %: ``l = 3/10``.

    >>> noise = np.array([1 / 6 * 5 / 6 / (2 / 3) ** 2])
    >>> drawn_variance(noise, np.zeros(1), 0.2).round(6).tolist()  # .3 .7 / (2/3)^2
    [0.4725]
    """
    return np.asarray(noise + share * signal + share * (1 - share))


def people_for_difference(
    noise: Array, signal: Array, start: float, difference: float, groups: ComparedGroups
) -> float:
    """People of the survey by whom a difference is detected, of the answer that needs the most.

    ``n = (z_level + z_power)^2 (v(p_1) / s_1 + v(p_2) / s_2) / (p_1 - p_2)^2``, with the larger
    share in the group where that needs more.
    """
    variance = _variance(noise, signal, start, difference, groups)
    return _Z_BOTH_SQUARED * variance / difference**2


def power_of_difference(
    noise: Array,
    signal: Array,
    start: float,
    difference: float,
    groups: ComparedGroups,
    users: float,
) -> float:
    """How often so many people of the survey show a difference: ``Phi(|d| / sd - z_level)``.

    And ``Phi(-|d| / sd - z_level)``, of a difference that is seen the wrong way round.
    """
    from scipy.stats import norm

    variance = _variance(noise, signal, start, difference, groups)
    size = difference / sqrt(variance / users)  # in standard deviations
    right_way = norm.cdf(size - _Z_LEVEL)
    wrong_way = norm.cdf(-size - _Z_LEVEL)
    return float(right_way + wrong_way)


def detectable_difference(
    noise: Array, signal: Array, start: float, groups: ComparedGroups, users: float
) -> float:
    """The smallest difference from ``start`` that so many people detect; ``inf`` if none.

    ``d^2 n / z^2 = v(p) / s_1 + v(p + d) / s_2`` is quadratic in ``d``, as ``v`` is.
    """
    largest = 0.0
    at_start = drawn_variance(noise, signal, start)
    shares = (groups.first_share, groups.second_share)
    # As v(p + d) = v(p) + d (signal + 1 - 2 p) - d^2, the formula reads
    # square d^2 - 2 half_slope d - constant = 0. Either group may be the one with the larger share.
    for of_start, of_other in (shares, shares[::-1]):
        square = users / _Z_BOTH_SQUARED + 1 / of_other
        half_slope = (signal + 1 - 2 * start) / of_other / 2
        constant = at_start / of_start + at_start / of_other
        root = np.sqrt(np.square(half_slope) + square * constant)
        differences = (half_slope + root) / square
        largest = max(largest, float(np.max(differences)))
    if start + largest > 1:  # no share is above 1
        return inf
    return largest


def _variance(
    noise: Array, signal: Array, start: float, difference: float, groups: ComparedGroups
) -> float:
    """``v(p_1) / s_1 + v(p_2) / s_2``, the largest of all answers and of both orders of groups."""
    low = drawn_variance(noise, signal, start)
    high = drawn_variance(noise, signal, start + difference)
    # The larger share may be in the second group, or in the first.
    second_larger = low / groups.first_share + high / groups.second_share
    first_larger = high / groups.first_share + low / groups.second_share
    return float(np.maximum(second_larger, first_larger).max())
