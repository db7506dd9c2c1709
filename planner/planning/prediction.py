"""Errors to expect before anything is collected, for every mechanism on one scale.

All mechanisms here have ``Var[count_k] = n noise_k + c_k signal_k``, so one function
predicts them all, and their worst cases can be compared honestly: for a handful of
items plain generalised randomised response often beats everything else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from planner.arguments import whole_number
from planner.errors import InputError
from planner.estimates.counts import normal_quantile
from planner.frames import Framed
from planner.mechanisms.catalogue import CATALOGUE
from planner.mechanisms.frequency import FrequencyMechanism
from planner.mechanisms.padding import PaddedUnaryMechanism
from planner.mechanisms.unary import UnaryMechanism
from planner.policy.policy import PrivacyPolicy


class Predictable(Protocol):
    """What a prediction needs of a mechanism."""

    @property
    def items(self) -> int:
        """Number of items."""

    @property
    def largest_set(self) -> int:
        """Largest number of items per user for which the terms hold."""

    def variance_terms(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """``(noise, signal)`` per item."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Prediction(Framed):
    """Expected errors of one mechanism for ``users`` users.

    Attributes
    ----------
    name:
        The mechanism.
    users:
        Number of reports.
    total_mse:
        Total mean squared error of all counts for the least favourable true counts, in
        users squared; divide by ``users`` for the per-user figure of the papers.
    standard_errors, relative_errors, interval_widths, smallest_frequencies:
        One number per group of items (privacy level), shape ``(groups,)``, the least
        favourable item of each group: standard error of a count in users at the
        given frequency; the same divided by that count; full width of a confidence
        interval in users; the smallest share of users at which an item is told apart
        from an absent one with the given power (``inf`` if none is).
    """

    name: str
    users: int
    total_mse: float
    standard_errors: NDArray[np.float64]
    relative_errors: NDArray[np.float64]
    interval_widths: NDArray[np.float64]
    smallest_frequencies: NDArray[np.float64]

    @property
    def summary(self) -> str:
        """The mechanism, and its total error."""
        return (
            f"{self.name}, {self.users:,} reports: total mean squared error {self.total_mse:.6g}."
        )

    def columns(self) -> dict[str, Any]:
        """One row a group of items, a column an attribute."""
        names = ("standard_errors", "relative_errors", "interval_widths", "smallest_frequencies")
        return {name: getattr(self, name) for name in names}


def predict(
    mechanism: Predictable,
    users: int,
    name: str = "mechanism",
    groups: NDArray[np.int64] | None = None,
    frequency: float = 0.01,
    level: float = 0.95,
    power: float = 0.8,
) -> Prediction:
    """Predict the errors of ``mechanism``.

    Parameters
    ----------
    mechanism:
        Any frequency mechanism. With padding and sampling the figures hold for sets of at
        most ``l`` items; larger sets add the bias that ``bias`` states.
    users:
        Number of reports, at least 1.
    name:
        Shown with the result.
    groups:
        Group (level) of each item, shape ``(items,)``; all items together when omitted.
    frequency:
        Share of users who have the item, above 0, at most 1.
    level:
        Confidence of intervals and of the one-sided test against zero.
    power:
        Probability with which the smallest detectable frequency is detected.

    Raises
    ------
    InputError
        A number outside its range.

    Examples
    --------
    >>> one = predict(UnaryMechanism.oue(np.log(4), items=5), users=1000)
    >>> round(one.total_mse / 1000, 3)
    9.889
    >>> one.standard_errors.round(1).tolist()
    [42.3]
    """
    _check(users, frequency, level, power)
    noise, signal = mechanism.variance_terms()
    home = np.zeros(mechanism.items, dtype=np.int64) if groups is None else np.asarray(groups)
    if home.shape != noise.shape or home.dtype.kind not in "iu" or home.min() < 0:
        allowed = f"one group number per item, ({noise.size},)"
        remedy = "Give each item the number of its group, counted from 0."
        raise InputError("groups", home.shape, allowed, remedy)
    gain = np.sort(signal)[::-1][: mechanism.largest_set]
    if mechanism.largest_set > 1:
        gain = np.maximum(gain, 0)  # a set may also be smaller
    spread = np.sqrt(users * (noise + frequency * signal))
    detectable = detectable_frequencies(noise, signal, users, level, power)
    width = 2 * normal_quantile((1 + level) / 2)
    errors = _worst_per_group(spread, home)
    return Prediction(
        name,
        users,
        float(users * (noise.sum() + gain.sum())),
        errors,
        errors / (users * frequency),
        width * errors,
        _worst_per_group(detectable, home),
    )


def plain_rivals(policy: PrivacyPolicy) -> dict[str, FrequencyMechanism]:
    """The single-item mechanisms of plain LDP that protect every pair like the strictest.

    One is left out above its largest budget; of local hashing that is 20.

    Examples
    --------
    >>> list(plain_rivals(PrivacyPolicy([1.0, 2.0], [1, 4])))
    ['rappor', 'oue', 'grr', 'subset', 'olh']
    """
    epsilon, items = _strictest(policy)
    return {
        name: offer.at(epsilon, items)
        for name, offer in CATALOGUE.items()
        if offer.at is not None and epsilon <= offer.most
    }


def padded_rivals(policy: PrivacyPolicy, padding_length: int) -> dict[str, PaddedUnaryMechanism]:
    """The item-set mechanisms of plain LDP: RAPPOR-PS and OUE-PS at the strictest budget.

    Examples
    --------
    >>> list(padded_rivals(PrivacyPolicy([1.0, 2.0], [1, 4]), padding_length=2))
    ['rappor-ps', 'oue-ps']
    """
    epsilon, items = _strictest(policy)
    unary = {
        "rappor-ps": UnaryMechanism.rappor(epsilon, items),
        "oue-ps": UnaryMechanism.oue(epsilon, items),
    }
    return {name: PaddedUnaryMechanism(one, padding_length) for name, one in unary.items()}


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

    Parameters
    ----------
    noise, signal:
        Variance of a count per user, and extra per user who has the item; one shape.
    users:
        Number of reports, above 0.
    level, power:
        Confidence of the one-sided test against zero, and its power.
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
    """Number of users at which ``frequency`` is just detectable: the inverse of the above.

    Examples
    --------
    >>> noise, signal = np.array([3.0]), np.array([0.5])
    >>> share = detectable_frequencies(noise, signal, users=12_345)
    >>> users_to_detect(noise, signal, float(share[0])).round(6).tolist()
    [12345.0]
    """
    reach = normal_quantile(level) * np.sqrt(noise)
    spread = normal_quantile(power) * np.sqrt(noise + frequency * signal)
    return np.square((reach + spread) / frequency)


def verdict(predictions: Iterable[Prediction] | Mapping[str, Prediction]) -> str:
    """Which mechanism has the smallest worst-case total error, in a sentence.

    Examples
    --------
    >>> rivals = plain_rivals(PrivacyPolicy([np.log(4)], [5]))
    >>> print(verdict(predict(rivals[name], 1000, name) for name in ("oue", "grr")))
    grr has the smallest worst-case error, 4.889 per user; the next, oue, has 9.889 (+102 %).
    """
    every = predictions.values() if isinstance(predictions, Mapping) else predictions
    ranked = sorted(every, key=lambda one: one.total_mse / one.users)
    if not ranked:
        remedy = "Predict at least one mechanism first."
        raise InputError.because("predictions", "there are no predictions to rank", remedy)
    best = ranked[0]
    figure = best.total_mse / best.users
    text = f"{best.name} has the smallest worst-case error, {figure:.4g} per user"
    if len(ranked) == 1:
        return text + "."
    second = ranked[1].total_mse / ranked[1].users
    more = 100 * (second / figure - 1)
    return f"{text}; the next, {ranked[1].name}, has {second:.4g} (+{more:.0f} %)."


def _check(users: int, frequency: float, level: float, power: float) -> None:
    whole_number("users", users, remedy="Give the number of people who will answer.")
    if not 0 < frequency <= 1:
        remedy = "Give the share of people with the item, such as 0.05 for 5 %."
        raise InputError("frequency", frequency, "a share above 0 and at most 1", remedy)
    for argument, value in (("level", level), ("power", power)):
        if not 0.5 <= value < 1:
            remedy = "Give a probability such as 0.95."
            raise InputError(argument, value, "a probability of at least 0.5 and below 1", remedy)


def _strictest(policy: PrivacyPolicy) -> tuple[float, int]:
    """The budget that protects every pair, and the number of items."""
    return float(policy.room(np.zeros(policy.size)).min()), int(policy.item_counts.sum())


def _worst_per_group(values: NDArray[np.float64], home: NDArray[np.int64]) -> NDArray[np.float64]:
    worst = np.full(int(home.max()) + 1, -np.inf)
    np.maximum.at(worst, home, values)
    return worst
