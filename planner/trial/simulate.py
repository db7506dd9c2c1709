"""Try a planned question on answers that are known: what is drawn is what the plan deploys.

A trial takes the question's plan: the mechanism that is deployed, at its share of the budgets, over
all answers that the question lists, of as many people as are asked, at the planned padding length.
Beside it stand the other mechanisms that the question could be deployed with, planned for the same
budgets. No report is made: counts of reports are drawn from their exact law given the true answers,
so that a million people and tens of thousands of items take a fraction of a second.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from planner.arguments import whole_number
from planner.errors import InputError, SolverError
from planner.estimates.channel import OrderedEstimates, estimate_ordered, wanted_estimates
from planner.estimates.counts import normal_quantile, tail_share
from planner.limits import MAX_COUNT
from planner.mechanisms import inputs
from planner.mechanisms.catalogue import CATALOGUE
from planner.mechanisms.counting import Aggregate
from planner.mechanisms.means import MeanMechanism
from planner.mechanisms.subset_design import SubsetDesignMechanism
from planner.mechanisms.unary import UnaryMechanism
from planner.mechanisms.words import spawn
from planner.planning.choice import mechanism_choices
from planner.planning.datasets import Answers
from planner.planning.plan import plan_survey
from planner.planning.question import QuestionPlan
from planner.solvers.answers import Channel, Scenario, SubsetDesign, UnaryTable
from planner.survey.questions import Question, Survey
from planner.trial.known import Asked, placed

Array = NDArray[np.float64]
_CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Simulated:
    """One mechanism's errors, measured over repeated runs and predicted, in the plan's unit.

    Attributes
    ----------
    name:
        The mechanism.
    error:
        Root of the mean squared error over the runs: the error that the plan names, among the
        people who are asked.
    spread:
        Its standard error; None with a single run.
    predicted:
        The same as expected for these people: exact, but of a mean to first order.
    covered:
        Of means and ordered answers: share of the runs whose 95 % intervals hold the truth, all at
        once; else None.
    """

    name: str
    error: float
    spread: float | None
    predicted: float
    covered: float | None = None

    @property
    def label(self) -> str:
        """The name that people know."""
        return CATALOGUE[self.name].label


@dataclass(frozen=True, slots=True, eq=False)
class OneSurvey:
    """The most frequent answers of one simulated survey.

    Attributes
    ----------
    labels:
        Names, the most frequent first, at most as many as were asked for.
    truth:
        How many of the people asked have each, as expected, shape ``(k,)``.
    estimates:
        What this survey would say, shape ``(k,)``.
    lower, upper:
        Ends of each estimate's own 95 % interval, shape ``(k,)``.
    """

    labels: tuple[str, ...]
    truth: Array
    estimates: Array
    lower: Array
    upper: Array


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """A planned question beside people whose answers are known.

    Attributes
    ----------
    planned:
        The plan; its deployed mechanism is the first that is tried.
    asked:
        How many people the data have, and how many of them are asked.
    labels:
        The names of all listed answers; none for a number.
    missing:
        How many people have no answer.
    """

    planned: QuestionPlan
    asked: Asked
    labels: tuple[str, ...]
    missing: int
    _tried: dict[str, _Tried]

    @classmethod
    def of(
        cls,
        planned: QuestionPlan,
        answers: Answers | NDArray[np.float64],
        rng: np.random.Generator,
    ) -> Self:
        """Put the answers in the question's places, and plan what else it could be deployed with.

        Parameters
        ----------
        planned:
            Any question with a single round.
        answers:
            The truth; of a question for a number one number a person, NaN for none.
        rng:
            Places answers that no level lists among those that a level leaves open.

        Raises
        ------
        InputError
            The answers do not fit the question.

        Examples
        --------
        >>> from planner.survey.questions import Categorical, Level
        >>> levels = (Level("rare", 1.0, ("HIV",)), Level("common", 2.0, ("flu", "cold")))
        >>> survey = Survey("s", 1000, (Categorical("now", levels),))
        >>> answers = Answers(("flu", "HIV"), np.array([900, 100]))
        >>> rng = np.random.default_rng(1)
        >>> trial = Trial.of(plan_survey(survey).question("now"), answers, rng)
        >>> trial.labels, trial.names[:2]
        (('HIV', 'flu', 'cold'), ['subset-design', 'opt0'])
        >>> deployed, *_ = trial.run(400, rng)
        >>> abs(deployed.error / deployed.predicted - 1) < 0.2
        True
        """
        question = planned.deployed
        inputs.generator(rng)
        if planned.sampling is not None:
            remedy = "Choose a question with a single round."
            raise InputError("kind", question.kind, "asked in a single round", remedy)
        if question.kind == "numeric":
            values = question.domain.answers(answers)  # type: ignore[arg-type]
            asked = Asked.of(values.size, planned.fraction)
            found: dict[str, _Tried] = {
                name: _Mean(_numeric(question, one), values, asked)
                for name, one in _alternatives(planned).items()
            }
            return cls(planned, asked, (), int(np.isnan(values).sum()), found)
        if not isinstance(answers, Answers):
            remedy = "Give the people who have each answer."
            raise InputError("answers", type(answers).__name__, "answers by their names", remedy)
        known = placed(question, answers, rng)
        asked = Asked.of(known.users, planned.fraction)
        if question.kind == "ordinal":
            order = [known.labels.index(answer) for answer in question.ordered]
            people = known.counts[order]
            channels = {one.name: one.law for one in planned.options}
            found = {name: _Ordered(one, question, people, asked) for name, one in channels.items()}
        else:
            weights = _weights(question)
            criterion = getattr(question, "criterion", "total")
            found = {
                name: _Counts(_drawable(one), known, asked, weights, criterion)
                for name, one in _alternatives(planned).items()
            }
        return cls(planned, asked, known.labels, 0, found)

    @property
    def names(self) -> list[str]:
        """The mechanisms that are tried, the deployed one first."""
        return list(self._tried)

    @property
    def shares_up_to(self) -> Array:
        """The true shares of the people up to each ordered answer."""
        question, (tried, *_) = self.planned.deployed, self._tried.values()
        if not isinstance(tried, _Ordered):
            raise InputError("kind", question.kind, "one for ordered answers", "Choose another.")
        return np.cumsum(tried.people) / tried.people.sum()

    def run(
        self,
        repeats: int,
        rng: np.random.Generator,
        progress: Callable[[], object] = lambda: None,
    ) -> list[Simulated]:
        """Run every mechanism ``repeats`` times.

        Parameters
        ----------
        repeats:
            Runs of each, at least 1.
        rng:
            Seeds every mechanism on its own.
        progress:
            Called after every run.

        Raises
        ------
        InputError
            A number outside its range.
        """
        whole_number("repeats", repeats, 1, MAX_COUNT, remedy="Take 100 for a first look.")
        children = spawn(inputs.generator(rng), len(self._tried))
        return [
            tried.simulated(name, repeats, child, progress)
            for (name, tried), child in zip(self._tried.items(), children, strict=True)
        ]

    def one(
        self, name: str, rng: np.random.Generator, most: int = 20
    ) -> OneSurvey | OrderedEstimates:
        """What one survey with the mechanism called ``name`` would say of shares or counts.

        Parameters
        ----------
        name:
            One of :attr:`names`.
        rng:
            Source of the draw.
        most:
            How many of the most frequent answers to give of counts, at least 1.

        Raises
        ------
        InputError
            ``most`` is less than 1, or a mean is asked for.
        """
        whole_number("most", most, remedy="Show 20 items for a first look.")
        tried = self._tried[name]
        if isinstance(tried, _Counts):
            return tried.picture(self.labels, tried.draw(rng), most)
        if isinstance(tried, _Ordered) and not self.planned.question.of_mean:
            return estimate_ordered(tried.channel, tried.reports(rng))
        remedy = "Of a mean there is no more to see than its error."
        raise InputError("question", self.planned.name, "one for shares or counts", remedy)


class _Tried(ABC):
    """A mechanism on given people: draws, squared errors, and what these are on average."""

    predicted: float

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> Any:
        """The estimates of one survey."""

    @abstractmethod
    def square(self, estimates: Any) -> float:
        """Their squared error."""

    def simulated(
        self,
        name: str,
        repeats: int,
        rng: np.random.Generator,
        progress: Callable[[], object],
    ) -> Simulated:
        """All runs."""
        squares, held = np.empty(repeats), []
        for run in range(repeats):
            estimates = self.draw(rng)
            squares[run] = self.square(estimates)
            held.append(self.holds(estimates))
            progress()
        error, spread = sqrt(squares.mean()), None
        if repeats > 1:
            spread = float(squares.std(ddof=1)) / sqrt(repeats) / max(2 * error, 1e-300)
        covered = None if None in held else float(np.mean(np.array(held, dtype=np.float64)))
        return Simulated(name, error, spread, sqrt(self.predicted), covered)

    def holds(self, _estimates: Any) -> bool | None:
        """Whether their 95 % intervals hold the truth, all at once; None if that is not asked."""
        return None


class _Counts(_Tried):
    """A mechanism for one item or a set of each person."""

    def __init__(
        self, mechanism: Any, known: Answers, asked: Asked, weights: Array, criterion: str
    ) -> None:
        self._mechanism, self._known, self._asked = mechanism, known, asked
        self.truth: Array = asked.fraction * known.counts.astype(np.float64)
        data: Any = known.counts if known.sets is None else known.sets
        bias = asked.fraction * mechanism.bias(data)
        self.expected = asked.fraction * mechanism.variance(data) + np.square(bias)
        if asked.some:
            self.expected += asked.sampling_variance(*_moments(known, mechanism))
        if criterion == "minimax":  # the error of the item that is worst
            weighted = weights * self.expected
            weights = np.where(np.arange(weights.size) == np.argmax(weighted), weights, 0.0)
        self._weights = weights
        self.predicted = float(weights @ self.expected)

    def draw(self, rng: np.random.Generator) -> Any:
        data: Any = self._known.counts
        if self._known.sets is not None:
            sets = self._known.sets
            data = sets.some(self._asked.choose(rng)) if self._asked.some else sets
        elif self._asked.some:
            data = self._asked.split(data, rng)
        return self._mechanism.estimate(self._mechanism.draw_aggregate(data, rng))

    def square(self, estimates: Any) -> float:
        return float(self._weights @ np.square(estimates.values - self.truth))

    def picture(self, labels: tuple[str, ...], estimates: Any, most: int) -> OneSurvey:
        """The most frequent items' estimates."""
        chosen = np.argsort(-self.truth, kind="stable")[:most]
        lower, upper = estimates.intervals()
        names = tuple(labels[k] for k in chosen)
        values: Array = estimates.values[chosen]
        return OneSurvey(names, self.truth[chosen], values, lower[chosen], upper[chosen])


class _Ordered(_Tried):
    """A channel for ordered answers: shares or counts in people, a mean in scores."""

    def __init__(
        self, channel: Channel, question: Question, people: NDArray[np.int64], asked: Asked
    ) -> None:
        self.channel, self.people, self._asked = channel, people, asked
        shares = people / people.sum()
        self._truth = channel.wanted @ shares
        scenarios = channel.scenarios
        self._directions = scenarios[0].directions if scenarios else np.eye(self._truth.size)
        once = channel.error(Scenario("these people", shares, self._directions)) / asked.asked
        if asked.some:
            each = self._directions @ channel.wanted
            shares = people.astype(np.float64)
            moments = (shares @ each.T, shares @ np.square(each).T)
            once += float(asked.sampling_variance(*moments).sum()) / asked.asked**2
        self._scale = 1.0 if question.of_mean else float(asked.asked)
        self.predicted = self._scale**2 * once

    def reports(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """How often each report comes in."""
        people = self._asked.split(self.people, rng) if self._asked.some else self.people
        return np.asarray(rng.multinomial(people, self.channel.matrix).sum(axis=0))

    def draw(self, rng: np.random.Generator) -> Any:
        return wanted_estimates(self.channel.estimator, self.reports(rng))

    def square(self, estimates: Any) -> float:
        gap = self._directions @ (estimates.values - self._truth)
        return float(np.square(self._scale * gap).sum())

    def holds(self, estimates: Any) -> bool:
        errors = np.sqrt(np.maximum(estimates.covariance.diagonal(), 0))
        reach = normal_quantile(1 - tail_share(_CONFIDENCE, self._truth.size) / 2)
        off = np.abs(estimates.values - self._truth)
        return bool(np.all(off <= reach * errors + 1e-12))


class _Mean(_Tried):
    """A mechanism for a number; a run without an estimate counts as the middle of its interval."""

    def __init__(self, mechanism: Any, values: Array, asked: Asked) -> None:
        self._mechanism, self._asked = mechanism, asked
        known, self._sizes = np.unique(values, return_counts=True, equal_nan=True)
        self._law, answered = mechanism.output_law(known), values[~np.isnan(values)]
        self._truth = float(answered.mean())
        self.predicted = mechanism.variance(values).mean / asked.fraction
        if asked.some:
            off = answered - self._truth
            each = np.array([off.sum()]), np.array([np.square(off).sum()])
            among = asked.asked * answered.size / values.size
            self.predicted += float(asked.sampling_variance(*each)[0]) / among**2

    def draw(self, rng: np.random.Generator) -> Any:
        people = self._asked.split(self._sizes, rng) if self._asked.some else self._sizes
        counts = rng.multinomial(people, self._law).sum(axis=0)
        return self._mechanism.estimate(Aggregate(self._asked.asked, counts)).mean

    def square(self, estimates: Any) -> float:
        middle = (estimates.lower + estimates.upper) / 2
        value = middle if estimates.value is None else estimates.value
        return float((value - self._truth) ** 2)

    def holds(self, estimates: Any) -> bool:
        return bool(estimates.lower <= self._truth <= estimates.upper)


def _alternatives(planned: QuestionPlan) -> dict[str, Any]:
    """The deployed mechanism, and all others that the plan compares and that could be deployed.

    They are planned for the same people, budgets and padding length; one that cannot be proven is
    left out.
    """
    question = planned.deployed
    found = {question.mechanism: planned.mechanism}
    compared = {one.name for one in planned.options}  # the others may take minutes
    for name in mechanism_choices(question):
        if name in found or name not in compared:
            continue
        other = question.replacing(mechanism=name, targets=(), weight=1.0)
        try:
            plan = plan_survey(
                Survey(name="trial", users=planned.users, questions=(other,)), what_if=False
            )
        except SolverError:
            continue
        found[name] = plan.questions[0].mechanism
    return found


def _drawable(mechanism: Any) -> Any:
    """What draws and estimates, of a solved table or design."""
    if isinstance(mechanism, UnaryTable):
        return UnaryMechanism(mechanism)
    return SubsetDesignMechanism.of(mechanism) if isinstance(mechanism, SubsetDesign) else mechanism


def _numeric(question: Question, mechanism: Any) -> Any:
    if isinstance(mechanism, Channel) and question.kind == "numeric":
        return MeanMechanism.of(mechanism, question.yes_no)
    return mechanism


def _weights(question: Question) -> Array:
    """The importance of every item."""
    counts = [level.item_count for level in question.levels]
    return np.repeat([level.importance for level in question.levels], counts).astype(np.float64)


def _moments(known: Answers, mechanism: Any) -> tuple[Array, Array]:
    """Sums over all people of what each adds to the expected counts, and of its square."""
    if known.sets is None:
        return known.counts.astype(np.float64), known.counts.astype(np.float64)
    length = mechanism.padding_length
    once, twice = known.sets.sampling_sums(length)
    return length * once, length**2 * twice
