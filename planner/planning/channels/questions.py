"""The channel that a survey's question of a mean is planned with, beside the known mechanisms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from planner.designs.channel import Channel
from planner.errors import SolverError
from planner.mechanisms.channel_grid import as_drawn
from planner.mechanisms.rivals import harmony_variance, hybrid_variance, piecewise_variance, privkvm
from planner.planning.answer_rates import AnswerRateModel, stated_answers
from planner.planning.channels.means import bisample_error, provable_channel
from planner.planning.channels.populations import AssumedAnswers, five_populations

_GRIDS = (5, 9)  # 17 points take seconds, and save one to four per cent of a squared error
_WORTH = 0.01  # share of the error that a finer grid must save


@dataclass(frozen=True, slots=True, eq=False)
class QuestionChannel:
    """A channel for a question of a mean, as it is drawn.

    Attributes
    ----------
    channel:
        Its probabilities are on the grid of 2^-32.
    assumed:
        The answers whose largest error was made small: those that the question states, or five
        means over the range where it states none.
    """

    channel: Channel
    assumed: tuple[AssumedAnswers, ...]

    def mean_squared_errors(self, users: int) -> list[tuple[str, float, str]]:
        """Name, mean squared error in the worst of the assumed answers, and a note of each.

        The channel's first, then BiSample-MD and mechanisms that force an answer, for the same
        people; whoever does not answer then sends anything.
        """
        noise = self.channel.worst_error
        found = [("channel", noise / users, "")]
        epsilon = float(self.channel.policy.bounds().min())
        peers = [mechanism_errors(epsilon, one) for one in self.assumed]
        refused = any(one.missing for one in self.assumed)
        for rows in zip(*peers, strict=True):
            name = rows[0].mechanism.lower()
            forced = refused and name != "bisample-md"
            worst = max(row.rmse(users) ** 2 for row in rows)
            found.append((name, worst, "forced answers at random" if forced else ""))
        return found


def question_channel(
    model: AnswerRateModel, epsilon: float, rate: float | None = None
) -> QuestionChannel:
    """Plan a channel for a mean, on the coarsest grid that a finer one hardly beats.

    Parameters
    ----------
    model:
        The question and its people. A stated mean is what the channel is made for (with the
        stated spread, or 0.3 of half the range), at no more than 1.02 times BiSample's error for
        five means over the range; without one the largest error of these five is made small.
    epsilon:
        Budget in nats.
    rate:
        Share of the people who answer; all of them when omitted.

    Raises
    ------
    SolverError
        No channel could be proven near the best.

    Examples
    --------
    >>> from planner.survey.preferences import NormalPreferences
    >>> model = AnswerRateModel(NormalPreferences(5, 1.5), users=10_000, mean=0.5)
    >>> errors = question_channel(model, 2.0, rate=0.9).mean_squared_errors(10_000)
    >>> [(name, round(error**0.5, 4)) for name, error, _ in errors][:2]
    [('channel', 0.0098), ('bisample-md', 0.0149)]
    """
    missing = 0.0 if rate is None else 1 - rate
    five = five_populations(model.domain, missing)
    stated = None if model.mean is None else stated_answers(model, missing)
    grids = (2,) if model.domain.yes_no else _GRIDS

    def solve(points: int) -> Channel:
        return provable_channel(epsilon, five, points, stated=stated)

    channel = _coarsest(grids, solve)
    return QuestionChannel(as_drawn(channel), five if stated is None else (stated,))


def _coarsest(grids: Sequence[int], solve: Callable[[int], Channel]) -> Channel:
    """The channel on the coarsest grid that a finer one, if it can be proven, hardly beats."""
    best = solve(grids[0])
    for points in grids[1:]:
        try:
            finer = solve(points)
        except SolverError:
            break
        if finer.worst_error > (1 - _WORTH) * best.worst_error:
            break
        best = finer
    return best


class PeerError(NamedTuple):
    """First-order error of an estimated mean of those who answer.

    Attributes
    ----------
    mechanism:
        Its name.
    variance:
        Per person, people drawn at random, in squared units of the question.
    bias:
        What more people do not take away, in the question's unit.
    """

    mechanism: str
    variance: float
    bias: float

    def rmse(self, users: int) -> float:
        """Root mean squared error with this many people."""
        return float(np.sqrt(self.variance / users + self.bias**2))


def mechanism_errors(epsilon: float, assumed: AssumedAnswers) -> tuple[PeerError, ...]:
    """BiSample-MD, and the mechanisms that force an answer: Harmony, Piecewise, Hybrid.

    Whoever has no answer gives these three a uniformly random one; their mean is that of
    true and random answers together.

    Parameters
    ----------
    epsilon:
        Budget in nats, 0.0001 to 50.
    assumed:
        The population.

    Examples
    --------
    >>> for one in mechanism_errors(1.0, AssumedAnswers(0.5, 0.3, 0.1)):
    ...     print(one.mechanism, round(one.variance, 2), round(one.bias, 3))
    BiSample-MD 6.76 0.0
    Harmony 4.48 -0.049
    Piecewise 4.32 -0.049
    Hybrid 4.42 -0.049
    """
    place, rate = assumed.domain, 1 - assumed.missing
    mean = (assumed.mean - place.center) / place.radius
    fine = np.linspace(place.lower, place.upper, 2001)
    unit = (fine - place.center) / place.radius
    square = rate * float(assumed.shares(fine) @ unit**2) + (1 - rate) / 3
    mixed = rate * mean
    noises = {
        "Harmony": float(harmony_variance(epsilon, square)),
        "Piecewise": float(piecewise_variance(epsilon, square)),
        "Hybrid": hybrid_variance(epsilon, square),
    }
    size = place.radius
    forced = (
        PeerError(name, size**2 * float(noise + square - mixed**2), size * (mixed - mean))
        for name, noise in noises.items()
    )
    return PeerError("BiSample-MD", bisample_error(epsilon, assumed), 0.0), *forced


def peer_errors(epsilon: float, assumed: AssumedAnswers) -> tuple[PeerError, ...]:
    """The same with PrivKVM; parameters as in :func:`mechanism_errors`."""
    place = assumed.domain
    bisample, *forced = mechanism_errors(epsilon, assumed)
    found = privkvm(epsilon, 1 - assumed.missing, (assumed.mean - place.center) / place.radius)
    size = place.radius
    private = PeerError("PrivKVM", size**2 * found.mean_variance, size * found.mean_bias)
    return bisample, private, *forced
