"""What plain LDP offers for the same question, and which shares can be told apart from none."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from planner.estimates.counts import normal_quantile
from planner.mechanisms.catalogue import CATALOGUE
from planner.mechanisms.frequency import FrequencyMechanism
from planner.policy.policy import PrivacyPolicy


def plain_rivals(policy: PrivacyPolicy) -> dict[str, FrequencyMechanism]:
    """The single-item mechanisms of plain LDP that protect every pair like the strictest.

    One is left out above its largest budget; of local hashing that is 20.

    Examples
    --------
    >>> list(plain_rivals(PrivacyPolicy([1.0, 2.0], [1, 4])))
    ['rappor', 'oue', 'grr', 'subset', 'olh']
    """
    epsilon = float(policy.room(np.zeros(policy.size)).min())
    items = int(policy.item_counts.sum())
    return {
        name: offer.at(epsilon, items)
        for name, offer in CATALOGUE.items()
        if offer.at is not None and epsilon <= offer.most
    }


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
