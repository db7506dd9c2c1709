"""What a report may make somebody believe of its sender."""

from __future__ import annotations

from math import exp

import numpy as np

from planner.arrays import Array


def beliefs_after(leakage: Array, prior: float) -> tuple[Array, Array]:
    """Smallest and largest belief in an input after a report.

    ``prior`` is the belief before, above 0 and below 1. A report is at most ``e^L`` times as likely
    under an input as under any other, and the reverse with a second ``L``, the rows of ``leakage``,
    whatever the prior on the other inputs. So the odds move by such factors:
    ``prior / (prior + (1 - prior) e^L)`` to ``prior / (prior + (1 - prior) e^-L)``. The bounds of
    table I of the IDUE paper, ``prior e^-L`` to ``prior e^L``, follow from these and are wider.
    """
    above, below = leakage
    other = 1 - prior
    # An infinite factor leaves certainty, as it should.
    with np.errstate(over="ignore"):
        largest = prior / (prior + other * np.exp(-above))
        smallest = prior / (prior + other * np.exp(below))
    return smallest, largest


def belief_between_two(epsilon: float, prior: float) -> float:
    """The largest belief in one of two answers that a report tells apart by ``epsilon`` nats.

    Examples
    --------
    >>> round(belief_between_two(2.0, prior=0.1), 3)
    0.451
    """
    return prior / (prior + (1 - prior) * exp(-epsilon))


def guess_success(epsilon: float, delta: float = 0.0) -> float:
    """How often a guess between two answers, both as likely before, is right at most.

    Whatever is seen, one answer is at most ``e^epsilon`` times as likely as the other, but for
    ``delta``: as often as ``(e^epsilon + delta) / (1 + e^epsilon)``.

    Examples
    --------
    >>> round(guess_success(1.0), 3), guess_success(0.0)
    (0.731, 0.5)
    """
    # Numerator and denominator times e^-epsilon, which large budgets do not overflow.
    factor = exp(-epsilon)
    return min(1.0, (1 + delta * factor) / (1 + factor))
