"""What a plan means for a person, in plain sentences.

People understand odds of a report better than an epsilon: "of 100 people with this answer,
59 send a 1 here; of 100 without it, 33 do". What an observer can learn is said as beliefs:
a budget ``e`` lets a report multiply the odds of an answer by at most ``e^e``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.errors import InputError
from planner.mechanisms.catalogue import SENDS_A_BIT
from planner.planning.level_terms import Terms
from planner.policy import logodds

Array = NDArray[np.float64]
PRIORS = (0.01, 0.10, 0.50)


@dataclass(frozen=True, slots=True)
class LevelExplanation:
    """One level, explained.

    Attributes
    ----------
    level:
        Its name.
    odds:
        What a report says, as a sentence about 100 people.
    with_answer, without_answer:
        Probability that a report supports an answer, for people who have it and for others.
    least_without_answer:
        The smallest such probability of others, where it depends on their answer, and
        ``without_answer`` is the largest.
    leakage:
        By how much a report moves the odds of an answer at most, in nats.
    belief:
        What an observer can come to believe, as a sentence.
    bounds:
        For each of :data:`PRIORS` the smallest and the largest belief after any report.
    """

    level: str
    odds: str
    with_answer: float
    without_answer: float
    least_without_answer: float
    leakage: float
    belief: str
    bounds: tuple[tuple[float, float], ...]


def explain(
    table: Terms,
    question: str,
    padding_length: int | None = None,
    most: int = 40,
    sends: str = SENDS_A_BIT,
    leakage: Array | None = None,
) -> tuple[LevelExplanation, ...]:
    """Every level of a question explained, the first ``most`` of them.

    Parameters
    ----------
    table:
        A table, or the terms of another mechanism.
    question:
        Its name.
    padding_length:
        Of item sets: a person has up to that many answers or more, and one of them is drawn.
    most:
        Number of levels explained.
    sends:
        What people do whose report supports an answer.
    leakage:
        What a report may say of an answer of each level, in nats, shape ``(t,)``; by the policy
        (table I), or between any two sets, when omitted.

    Examples
    --------
    >>> from planner import PrivacyPolicy, solve
    >>> policy = PrivacyPolicy(np.log([4, 6]), [1, 4], names=["severe", "common"])
    >>> severe = explain(solve(policy), "diagnosis")[0]
    >>> print(severe.odds)
    Of 100 people whose answer about diagnosis is one of 'severe', 59 send a 1 for it; of 100
    with another answer, 33 do.
    >>> print(severe.belief)
    A report moves the belief in such an answer from 1 % to at most 3.9 % (at least 0.25 %), from
    10 % to at most 30.8 % (at least 2.7 %), from 50 % to at most 80.0 % (at least 20.0 %).
    """
    if leakage is None:
        leakage = belief_leakage(table, padding_length)
    return tuple(
        _explain_level(table, question, i, padding_length, sends, leakage)
        for i in range(min(most, table.policy.size))
    )


def belief_leakage(table: Terms, padding_length: int | None = None) -> Array:
    """What a report may say of an answer of each level, in nats, shape ``(t,)``.

    By the policy (table I); of item sets, between any two sets.
    """
    policy = table.policy
    if padding_length is None:
        return policy.leakage_epsilons
    s, w = logodds.to_log_odds(table.a, table.b)
    return np.full(policy.size, s.max() + w.max())


def _explain_level(
    table: Terms,
    question: str,
    level: int,
    padding_length: int | None,
    sends: str,
    leakage: Array,
) -> LevelExplanation:
    name = table.policy.names[level]
    a, b, least_b = (float(column[level]) for column in (table.a, table.b, table.least_b))
    whose = f"whose answer about {question} is one of {name!r}"
    other = "with another answer"
    if padding_length is not None:
        a = b + (a - b) / padding_length
        whose = (
            f"with a certain one of {name!r} among up to {padding_length} answers about {question}"
        )
        other = "without it"
    others = _people(b)
    if _people(least_b) != others:
        others = f"{_people(least_b)} to {others}"
    odds = f"Of 100 people {whose}, {_people(a)} {sends}; of 100 {other}, {others} do."
    own = float(leakage[level])
    pairs = (beliefs_after(np.array(own), prior) for prior in PRIORS)
    bounds = tuple((float(low), float(high)) for low, high in pairs)
    return LevelExplanation(name, odds, a, b, least_b, own, _belief(bounds), bounds)


def beliefs_after(leakage: Array, prior: float) -> tuple[Array, Array]:
    """Smallest and largest belief in an input after a report, in the shape of ``leakage``.

    A report's probability under an input of level ``i`` and under any other differs by a factor
    of at most ``e^L_i`` with ``L_i`` the leakage of table I (``min(eps_i, 2 min eps)`` for the
    rule min), whatever the prior on the other inputs. So the odds move by that factor:
    ``prior / (prior + (1 - prior) e^L)`` to ``prior / (prior + (1 - prior) e^-L)``. The bounds of
    table I, ``prior e^-L`` to ``prior e^L``, follow from these and are wider.

    Parameters
    ----------
    leakage:
        ``L`` of each level, in nats.
    prior:
        Belief before the report, above 0 and below 1.

    Raises
    ------
    InputError
        ``prior`` is out of range.

    Examples
    --------
    >>> from planner import PrivacyPolicy
    >>> low, high = beliefs_after(PrivacyPolicy(np.log([4, 6]), [1, 4]).leakage_epsilons, 0.5)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.2, 0.143], [0.8, 0.857])
    """
    if not 0 < prior < 1:
        remedy = "Give the reader's belief before the report, such as 0.5."
        raise InputError("prior", prior, "a probability above 0 and below 1", remedy)
    with np.errstate(over="ignore"):  # an infinite factor leaves certainty, as it should
        high = prior / (prior + (1 - prior) * np.exp(-leakage))
        low = prior / (prior + (1 - prior) * np.exp(leakage))
    return low, high


def _belief(bounds: tuple[tuple[float, float], ...]) -> str:
    said = [
        f"{100 * prior:.0f} % to at most {_percent_up(high)} (at least {_percent_down(low)})"
        for prior, (low, high) in zip(PRIORS, bounds, strict=True)
    ]
    return f"A report moves the belief in such an answer from {', from '.join(said)}."


def _people(probability: float) -> str:
    people = 100 * float(probability)
    if 1 <= people <= 99:
        return f"{people:.0f}"
    return f"{people:.2g}" if people < 1 else f"{people:.4g}"


def _percent_up(share: float) -> str:
    """Never shown smaller than it is."""
    return f"{np.ceil(share * 1000 - 1e-9) / 10:.1f} %"


def _percent_down(share: float) -> str:
    """Never shown larger than it is."""
    digits = 1 if share >= 0.01 else 2
    return f"{np.floor(share * 10 ** (digits + 2) + 1e-9) / 10**digits:.{digits}f} %"
