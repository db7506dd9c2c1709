"""Targets: what a table reaches for a given number of users, and how many users it needs.

Errors are shares of the users, as in :class:`~planner.survey.questions.Target`. The budgets that a
target needs are found by :mod:`planner.planning.what_if`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from planner.errors import InputError
from planner.estimates.counts import normal_quantile
from planner.policy.policy import PrivacyPolicy
from planner.survey.questions import Target, wrong_targets


class Terms(Protocol):
    """What a target needs to know of a mechanism; noise and signal by level, shape ``(t,)``."""

    @property
    def policy(self) -> PrivacyPolicy:
        """The levels."""

    @property
    def noise(self) -> NDArray[np.float64]:
        """Variance of one item's count per user, at most."""

    @property
    def signal(self) -> NDArray[np.float64]:
        """Extra variance per user who has the item, at most."""

    @property
    def worst_case_mse(self) -> float:
        """Total mean squared error per user for the least favourable answers."""


@dataclass(frozen=True, slots=True)
class UserAnswer:
    """How many users a target needs with a given table.

    ``users`` is the whole number to ask, ``exact`` the real number at which the target is
    met with equality, ``reason`` the answer as a sentence.
    """

    users: int
    exact: float
    reason: str


def achieved(table: Terms, users: float, target: Target) -> float:
    """What ``table`` reaches for ``target``, as a share of ``users``; ``inf`` if undetectable."""
    if not 0 < users < float("inf"):
        remedy = "Give the number of people who will answer."
        raise InputError("users", users, "above 0 and finite", remedy)
    chosen = _chosen(table, target)
    if target.kind == "detect":
        return float(detectable_frequencies(*_terms(table, chosen), users).max())
    if target.level is None:
        return float(np.sqrt(table.worst_case_mse / users))
    return float(np.sqrt(table.noise[chosen].max() / users))


def users_needed(table: Terms, target: Target) -> UserAnswer:
    """How many users reach ``target`` with ``table``; in closed form.

    Examples
    --------
    >>> from planner import PrivacyPolicy, solve
    >>> table = solve(PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90]))
    >>> users_needed(table, Target(error=0.01)).users
    2397230
    """
    chosen = _chosen(table, target)
    if target.kind == "detect":
        exact = float(users_to_detect(*_terms(table, chosen), target.value).max())
    elif target.level is None:
        exact = table.worst_case_mse / target.value**2
    else:
        exact = float(table.noise[chosen].max()) / target.value**2
    users = ceil(exact * (1 - 1e-12))
    return UserAnswer(users, exact, f"{users:,} users give: {target.text}.")


def _chosen(table: Terms, target: Target) -> NDArray[np.intp]:
    check_targets([target], table.policy.names)
    if target.level is None:
        return np.arange(table.policy.size)
    return np.array([table.policy.names.index(target.level)])


def _terms(
    table: Terms, chosen: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return table.noise[chosen], table.signal[chosen]


def detectable_frequencies(
    noise: NDArray[np.float64],
    signal: NDArray[np.float64],
    users: float,
    level: float = 0.95,
    power: float = 0.8,
) -> NDArray[np.float64]:
    """Smallest share at which an item is told apart from an absent one; ``inf`` if none is.

    Smallest ``f`` with ``n f - z_power sd(f) >= z_level sd(0)``. With ``x = n f`` and
    ``t = z_level sd(0)``: ``(x - t)^2 = z_power^2 (n noise + x signal)``, the larger root of a
    quadratic.
    """
    reach = normal_quantile(level) * np.sqrt(users * noise)
    z2 = normal_quantile(power) ** 2
    half = reach + z2 * signal / 2
    root = half + np.sqrt(np.square(half) - np.square(reach) + z2 * users * noise)
    return np.where(root <= users, root / users, np.inf)


def users_to_detect(
    noise: NDArray[np.float64],
    signal: NDArray[np.float64],
    frequency: float,
    level: float = 0.95,
    power: float = 0.8,
) -> NDArray[np.float64]:
    """Number of users at which ``frequency`` is just detectable: the inverse of the above."""
    reach = normal_quantile(level) * np.sqrt(noise)
    spread = normal_quantile(power) * np.sqrt(noise + frequency * signal)
    return np.square((reach + spread) / frequency)


def check_targets(
    targets: Iterable[Target], levels: Sequence[str], *, of_sets: bool = False
) -> None:
    """Check targets against levels and each other."""
    wanted = tuple(targets)
    for target in wanted:
        if of_sets and not target.of_all:
            remedy = "For item sets give the total error alone."
            raise InputError("target", target.text, "a total error", remedy)
    for _, _, error in wrong_targets(wanted, levels):
        raise error
