"""What-ifs on known answers of questions with a linear estimate: ordered answers, and means.

As in :mod:`planner.trial.simulate`, no report is made: counts of reports are drawn from their
exact law given the true answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.arguments import whole_number
from planner.designs.channel import Channel, Scenario
from planner.errors import InputError
from planner.estimates.channel import ChannelEstimates, estimate_ordered, wanted_estimates
from planner.estimates.counts import normal_quantile, tail_share
from planner.estimates.means import Estimate
from planner.estimates.ordered import OrderedEstimates
from planner.limits import MAX_COUNT
from planner.mechanisms import inputs
from planner.mechanisms.aggregate import Aggregate
from planner.mechanisms.bisample import BiSampleMD
from planner.mechanisms.channel import MeanChannelMechanism
from planner.mechanisms.chunks import spawn
from planner.mechanisms.numeric import NumericMechanism
from planner.planning.channels.questions_in_order import plan_ordered_channel
from planner.planning.datasets import Answers
from planner.planning.whole_survey.plan import plan_survey
from planner.survey import Question, Survey
from planner.survey.kinds import CHANNEL

Array = NDArray[np.float64]
_CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Measured:
    """One mechanism's error, measured over repeated runs and predicted.

    Attributes
    ----------
    name:
        The mechanism.
    mse:
        Mean over runs of the squared error: of a numeric question's mean as it is, in its unit
        squared; of ordered answers the sum over all shares (or the mean score) that are wanted,
        times the number of users, which makes it people squared per user.
    mse_error:
        Standard error of ``mse`` over the runs; NaN with a single run.
    predicted_mse:
        The same as expected for these people; of a mean to first order.
    covered:
        Share of the runs whose 95 % intervals hold the truth: of ordered answers those for all that
        is wanted at once.
    """

    name: str
    mse: float
    mse_error: float
    predicted_mse: float
    covered: float

    @classmethod
    def of(cls, name: str, squares: Array, predicted: float, inside: Array) -> Measured:
        """From the squared error of each run, and whether its intervals held, ``(runs,)`` each."""
        spread = squares.std(ddof=1) / np.sqrt(squares.size) if squares.size > 1 else np.nan
        return cls(name, float(squares.mean()), float(spread), predicted, float(inside.mean()))


def error_scale(question: Question, users: int) -> float:
    """By what ``mse`` is multiplied to be in people squared, of a mean in its unit squared."""
    if not question.of_mean:
        return users
    return 1.0 if question.numeric is not None else 1 / users


def ordered_channels(question: Question) -> dict[str, Channel]:
    """The best channel for an ``"ordinal"`` question, and the mechanisms beside it, by name.

    Examples
    --------
    >>> from planner.survey import Level
    >>> question = Question("q", (Level("all", 1.0, ("no", "some", "all")),), kind="ordinal")
    >>> list(ordered_channels(question))
    ['channel', 'subset-design', 'grr']
    """
    return {name: channel for name, channel, _ in plan_ordered_channel(question).candidates}


def mean_mechanisms(question: Question, users: int) -> dict[str, NumericMechanism]:
    """The channel and BiSample-MD for a numeric question, as planned for so many people.

    Raises
    ------
    InputError
        The question has no budget, and nothing to find one from.
    SolverError
        No channel could be proven near the best.
    """
    if question.numeric is None:
        raise InputError("kind", question.kind, "numeric", "Choose a question for a number.")
    asked = Question(question.name, (), kind="numeric", numeric=question.numeric, mechanism=CHANNEL)
    (planned,) = plan_survey(Survey("trial", users, (asked,))).questions
    domain, least = question.numeric.domain, min(row.spent for row in planned.spending)
    return {
        CHANNEL: MeanChannelMechanism.of(planned.mechanism, domain.yes_no),
        "bisample-md": BiSampleMD(least, domain),
    }


def answers_in_question(question: Question, answers: Answers) -> NDArray[np.int64]:
    """How many people have each answer of an ``"ordinal"`` question, the lowest first.

    Raises
    ------
    InputError
        People may have several answers, or somebody has one that the question does not list.
    """
    if answers.sets is not None:
        remedy = "Keep the first item of each set, or ask with the kind item-set."
        raise InputError("answers", "sets", "one for each person", remedy)
    for label in answers.labels:
        if label not in question.ordered:
            remedy = "List it in a level, and in the order if there is one."
            raise InputError.unknown("answer of the data", label, question.ordered, remedy)
    number = dict(zip(answers.labels, answers.counts.tolist(), strict=True))
    return np.array([number.get(answer, 0) for answer in question.ordered], dtype=np.int64)


def measure_ordered(
    channels: Mapping[str, Channel],
    counts: ArrayLike,
    repeats: int,
    rng: np.random.Generator,
    progress: Callable[[], object] = lambda: None,
) -> list[Measured]:
    """Run every channel ``repeats`` times on people whose answers are known.

    Parameters
    ----------
    channels:
        By name, such as :func:`ordered_channels`.
    counts:
        How many people have each symbol, shape ``(symbols,)``, two or more in all.
    repeats:
        Runs of each, at least 1.
    rng:
        Seeds every channel on its own.
    progress:
        Called after every run.

    Raises
    ------
    InputError
        A number outside its range, or counts that do not fit.

    Examples
    --------
    >>> from planner import PrivacyPolicy, best_ordered_channel
    >>> channel = best_ordered_channel(PrivacyPolicy([1.0] * 3, [1] * 3))
    >>> (found,) = measure_ordered(
    ...     {"channel": channel}, [500, 200, 300], 400, np.random.default_rng(1)
    ... )
    >>> abs(found.mse / found.predicted_mse - 1) < 0.2, found.covered > 0.9
    (True, True)
    """
    runs, people = whole_number("repeats", repeats, 1, MAX_COUNT), np.asarray(counts)
    children = spawn(inputs.generator(rng), len(channels))
    results = []
    for (name, channel), child in zip(channels.items(), children, strict=True):
        users, estimates = _draws(channel, people, runs, child, progress)
        truth = channel.wanted @ people / users
        gaps = np.array([one.values - truth for one in estimates])
        errors = np.sqrt([np.maximum(one.covariance.diagonal(), 0) for one in estimates])
        directions = channel.scenarios[0].directions if channel.scenarios else np.eye(truth.size)
        squares = users * np.square(gaps @ directions.T).sum(axis=1)
        predicted = channel.error(Scenario("these people", people / users, directions))
        reach = normal_quantile(1 - tail_share(_CONFIDENCE, truth.size) / 2)
        inside = np.all(np.abs(gaps) <= reach * errors + 1e-12, axis=1)
        results.append(Measured.of(name, squares, predicted, inside))
    return results


def one_ordered_survey(
    channel: Channel, counts: ArrayLike, rng: np.random.Generator
) -> OrderedEstimates:
    """What one simulated survey of people with these answers would say.

    Parameters
    ----------
    channel, counts, rng:
        As in :func:`measure_ordered`; the channel wants the shares up to each answer.

    Examples
    --------
    >>> from planner import PrivacyPolicy, best_ordered_channel
    >>> channel = best_ordered_channel(PrivacyPolicy([1.0] * 3, [1] * 3, names=["0", "1", "2+"]))
    >>> one_ordered_survey(channel, [600, 200, 200], np.random.default_rng(1)).quantile().answer
    '0'
    """
    people = np.asarray(counts, dtype=np.int64)
    return estimate_ordered(channel, rng.multinomial(people, channel.matrix).sum(axis=0))


def measure_mean(
    mechanisms: Mapping[str, NumericMechanism],
    values: ArrayLike,
    repeats: int,
    rng: np.random.Generator,
    progress: Callable[[], object] = lambda: None,
) -> list[Measured]:
    """Run every mechanism ``repeats`` times on people whose numbers are known, NaN for none.

    The truth is the mean of those who have a number. A run without an estimate counts as one of
    the middle of its interval.

    Parameters
    ----------
    mechanisms:
        By name, such as :func:`mean_mechanisms`.
    values:
        One number a person, shape ``(n,)``.
    repeats, rng, progress:
        As in :func:`measure_ordered`.

    Raises
    ------
    InputError
        A number outside its range, or nobody has one.
    """
    runs, numbers = whole_number("repeats", repeats, 1, MAX_COUNT), np.asarray(values, np.float64)
    known, sizes = np.unique(numbers, return_counts=True, equal_nan=True)
    results = []
    children = spawn(inputs.generator(rng), len(mechanisms))
    for (name, mechanism), child in zip(mechanisms.items(), children, strict=True):
        predicted = mechanism.variance(numbers).mean
        law, truth = mechanism.output_law(known), float(np.nanmean(numbers))
        found: list[Estimate] = []
        for _ in range(runs):
            counts = child.multinomial(sizes, law).sum(axis=0)
            found.append(mechanism.estimate(Aggregate(numbers.size, counts)).mean)
            progress()
        middles = [(one.lower + one.upper) / 2 if one.value is None else one.value for one in found]
        inside = np.array([one.lower <= truth <= one.upper for one in found])
        results.append(Measured.of(name, np.square(np.array(middles) - truth), predicted, inside))
    return results


def _draws(
    channel: Channel,
    people: NDArray[np.int64],
    runs: int,
    rng: np.random.Generator,
    progress: Callable[[], object],
) -> tuple[int, Sequence[ChannelEstimates]]:
    """The number of people, and the estimates of each run."""
    size = len(channel.symbols)
    if people.shape != (size,) or people.dtype.kind not in "iu" or people.min() < 0:
        allowed = f"{size} whole numbers of at least 0, one an answer"
        raise InputError("counts", people, allowed, "Count the people who have each answer.")
    found = []
    for _ in range(runs):
        reports = rng.multinomial(people, channel.matrix).sum(axis=0)
        found.append(wanted_estimates(channel.estimator, reports))
        progress()
    return int(people.sum()), found
