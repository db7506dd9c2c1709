"""What a mechanism reaches for a target: standard errors, and shares that are seen.

The estimated count of an item that ``f n`` of ``n`` people have has the variance
``n (noise + f signal)``: ``noise`` of whoever lacks the item, ``noise + signal`` of whoever has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil

import numpy as np
from numpy.typing import NDArray

from planner.arrays import Array
from planner.planning.by_level import PureProtocol
from planner.planning.power import (
    HALVES,
    Z_POWER,
    ComparedGroups,
    detectable_difference,
    people_for_difference,
    power_of_difference,
)
from planner.survey.levels import Target, wrong_targets

# Quantile of the normal distribution: 95 %, one-sided.
_Z_ONE_SIDED = 1.6448536269514722
_LAST_DIGITS = 1e-12  # of a number of people that a target is met with exactly


def achieved(
    protocol: PureProtocol,
    users: float,
    target: Target,
    groups: ComparedGroups = HALVES,
) -> float:
    """What is reached for ``target``, as a share of ``users``; ``inf`` if undetectable.

    A difference is one between two ``groups``.
    """
    levels = _levels_of(protocol, target)
    noise = protocol.noise[levels]
    signal = protocol.signal[levels]
    if target.kind == "difference":
        start = target.from_share or 0.0
        return detectable_difference(noise, signal, start, groups, users)
    if target.kind == "detect":
        return float(detectable_frequencies(noise, signal, users).max())
    if target.level is None:
        return float(np.sqrt(protocol.worst_case_mse / users))
    # Of one item of a level that few people have.
    return float(np.sqrt(noise.max() / users))


def power(
    protocol: PureProtocol,
    users: float,
    target: Target,
    groups: ComparedGroups = HALVES,
) -> float:
    """How often ``users`` show the difference that a ``target`` asks for, at 5 %, two-sided."""
    levels = _levels_of(protocol, target)
    return power_of_difference(
        protocol.noise[levels],
        protocol.signal[levels],
        target.from_share or 0.0,
        target.value,
        groups,
        users,
    )


def users_needed(
    protocol: PureProtocol,
    target: Target,
    fraction: float = 1.0,
    groups: ComparedGroups = HALVES,
) -> int:
    """How many users reach ``target``, where a ``fraction`` of them is asked.

    An error ``v / n`` is at most ``value^2`` from ``n = v / value^2`` on. A share ``f`` is detected
    from ``n = ((z_level sqrt(noise) + z_power sqrt(noise + f signal)) / f)^2`` on.

    Examples
    --------
    >>> from planner import PrivacyPolicy, solve
    >>> table = solve(PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90]))
    >>> users_needed(table, Target(error=0.01))
    2397230
    """
    levels = _levels_of(protocol, target)
    noise = protocol.noise[levels]
    if target.kind == "difference":
        signal = protocol.signal[levels]
        start = target.from_share or 0.0
        needed = people_for_difference(noise, signal, start, target.value, groups)
    elif target.kind == "detect":
        absent = _Z_ONE_SIDED * np.sqrt(noise)
        if_shared = noise + target.value * protocol.signal[levels]
        present = Z_POWER * np.sqrt(if_shared)
        needed = np.square((absent + present) / target.value).max()
    elif target.level is None:
        # The total error over all items, for the least favourable answers.
        needed = protocol.worst_case_mse / target.value**2
    else:
        needed = noise.max() / target.value**2
    return ceil(needed / fraction * (1 - _LAST_DIGITS))


def _levels_of(protocol: PureProtocol, target: Target) -> NDArray[np.intp]:
    """Places of the levels that a target is about."""
    names = protocol.policy.names
    check_targets([target], names)
    if target.level is None:
        return np.arange(len(names))
    return np.array([names.index(target.level)])


def detectable_frequencies(noise: Array, signal: Array, users: float) -> Array:
    """Smallest share at which an item is told apart from an absent one; ``inf`` if none is.

    Smallest ``f`` with ``n f - z_power sd(f) >= z_level sd(0)``, at 95 % and a power of 80 %. With
    ``x = n f`` and ``t = z_level sd(0)``: ``(x - t)^2 = z_power^2 (n noise + x signal)``, the
    larger root of a quadratic.
    """
    t = _Z_ONE_SIDED * np.sqrt(users * noise)
    z2 = Z_POWER**2
    # x^2 - 2 middle x + t^2 - z_power^2 n noise = 0.
    middle = t + z2 * signal / 2
    discriminant = np.square(middle) - np.square(t) + z2 * users * noise
    x = middle + np.sqrt(discriminant)
    # No more people can have it than there are.
    return np.where(x <= users, x / users, np.inf)


def check_targets(targets: Iterable[Target], levels: Sequence[str]) -> None:
    """Check targets against levels and each other."""
    for _, _, error in wrong_targets(tuple(targets), levels):
        raise error
