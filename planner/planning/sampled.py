"""Sampling Privacy, planned: its parameters, and what each observer learns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import inf

import numpy as np

from planner.arguments import whole_number
from planner.arrays import Array
from planner.errors import InputError, VerificationError, mark
from planner.estimates.counts import normal_quantile
from planner.frames import Columns
from planner.laws.die import ACKNOWLEDGEMENTS
from planner.laws.schema import Document
from planner.mechanisms import sampling_privacy
from planner.mechanisms.asking import CollectedLaw, ItemOrNoneCollected
from planner.mechanisms.collected import DieCollected
from planner.mechanisms.rounding import round_die
from planner.outsiders.false_reports import FalseReports, of_two_rounds
from planner.planning.kind import Kind, PlanFacts
from planner.planning.option import ErrorLaw, Option, Part
from planner.survey.choices import SampledChoice

MAX_SAMPLED = 10**7
"""Of people with one answer; more keep the guarantee of so many."""


@dataclass(frozen=True, slots=True)
class SamplingPlan:
    """Parameters, their error, and three guarantees: what is protected depends on who sees what.

    Attributes
    ----------
    question:
        What is asked, how much each answer may reveal in round two, and on which view of the
        guarantee a deployment relies: ``"round-two"`` or ``"aggregates-only"``. Both are weaker
        than local differential privacy, under which nobody needs to be trusted.
    mechanism, delta:
        The parameters found, and at which delta the view of released estimates states its epsilon.
    """

    question: SampledChoice
    mechanism: sampling_privacy.SamplingPrivacy
    delta: float = 1e-6

    @property
    def relies_on(self) -> str:
        """The view of the guarantee that a deployment relies on."""
        return self.question.sampling.relies_on

    @property
    def acknowledged(self) -> bool:
        """Whether whoever deploys vouches for what that view needs."""
        return self.question.sampling.acknowledged is not None

    @property
    def nothing_promised(self) -> bool:
        """Whether that view has no finite epsilon."""
        return self.relies_on == "aggregates-only" and self.released_epsilon == inf

    @property
    def deployable(self) -> bool:
        """Whether somebody vouches for it, and it promises something."""
        return self.acknowledged and not self.nothing_promised

    @property
    def limited_by(self) -> str:
        """What keeps the error from being smaller: ``"cap"`` or ``"budgets"``."""
        cap = self.question.sampling.cap
        # The search ends within a few last digits of the cap.
        if self.mechanism.sampling >= cap * (1 - 1e-8):
            return "cap"
        return "budgets"

    @property
    def counts(self) -> tuple[int, ...]:
        """How many people are expected to have each value, shape ``(V,)``."""
        counts: list[int] = []
        for level in self.question.levels:
            counts.extend(level.yes_counts)
        return tuple(counts)

    @property
    def budgets(self) -> tuple[float, ...]:
        """Stated budgets of the answers 0 (none of the values) and 1 .. V, in nats."""
        return _budgets(self.question)

    @property
    def others(self) -> tuple[int, ...]:
        """How many others have each value at least, whoever is taken out of them."""
        others = []
        for count in self.counts:
            besides = max(0, count - 1)
            # Fewer than there are promise no less than is true: fewer people hide less.
            others.append(min(besides, MAX_SAMPLED))
        return tuple(others)

    @property
    def round_two_epsilon(self) -> float:
        """Budget if an observer sees a person's round two alone, in nats (eq. 21, 25, 29)."""
        return float(self.mechanism.output_losses.max())

    @property
    def released_epsilon(self) -> float:
        """Smallest budget at ``delta`` if the estimates alone are released; ``inf`` above 50."""
        # Delta as a function of epsilon alone, for the people and the sampling that are planned.
        curve = partial(
            sampling_privacy.released_delta,
            self.others,
            self.mechanism.sampling,
            everyone_has_value=self.mechanism.everyone_has_value,
        )
        return sampling_privacy.smallest_epsilon(curve, self.delta)

    @property
    def moves(self) -> FalseReports:
        """What the two false reports of one person do to the counts."""
        names = [level.name for level in self.question.levels]
        sizes = [len(level.yes_counts) for level in self.question.levels]
        return of_two_rounds(names, sizes, self.mechanism.sampling)

    def absolute_errors(self) -> Array:
        """Half-width of the error of each expected count at 95 %, shape ``(V,)``, in people.

        ``z sqrt(c (1 - pi_s) / pi_s)``: the exact standard deviation times the normal
        quantile, an approximation for counts below about 10.
        """
        sampling = self.mechanism.sampling  # pi_s
        counts = np.array(self.counts, dtype=np.float64)  # c
        variances = counts * (1 - sampling) / sampling
        return normal_quantile(0.975) * np.sqrt(variances)

    @property
    def law(self) -> CollectedLaw:
        """What is deployed, in whole numbers; refused as :meth:`guarantee` is."""
        drawn = self.mechanism
        levels = self.question.plain_levels
        sampling, zero, decoys = round_die(drawn.sampling, drawn.zero, drawn.decoys)
        everyone = drawn.everyone_has_value
        # The first budget is that of "none of the values", which is no level of the question.
        none_epsilon = self.budgets[0]
        guarantee = self.guarantee()
        shape = DieCollected(
            levels=levels,
            sampling=sampling,
            zero=zero,
            decoys=tuple(decoys),
            none_epsilon=none_epsilon,
            everyone_has_value=everyone,
            guarantee=guarantee,
        )
        asked = ItemOrNoneCollected(levels, everyone)
        return CollectedLaw("", "sampling-privacy", asked, shape)

    def guarantee(self) -> Document:
        """What a parameter file says of the three views, as plain JSON types.

        Refused if the acknowledgement is missing, or where the view relied on has no finite epsilon
        for the expected counts.
        """
        self.question.sampling.require_acknowledged()
        if self.nothing_promised:
            reason = (
                f"Released estimates have no finite epsilon at delta {self.delta:g}"
            )
            raise VerificationError(
                reason, "Merge rare values, so that more people have each."
            )
        return {
            "relies_on": self.relies_on,
            "acknowledged": self.question.sampling.acknowledged,
            "round_two_epsilon": _outward(self.round_two_epsilon),
            "linkable_epsilon": "infinite",
            "aggregates": {
                "delta": self.delta,
                "epsilon": _outward(self.released_epsilon),
                "others_with_each_value": list(self.others),
            },
        }


def plan_sampling(question: SampledChoice, population: int) -> SamplingPlan:
    """Find the parameters for a question that so many people are asked, and what they promise.

    Raises
    ------
    InputError
        The expected counts do not fit the population; the guarantee relies on linkable rounds, or
        is acknowledged in other words.
    VerificationError
        As :func:`~planner.mechanisms.sampling_privacy.best_sampling`.

    Examples
    --------
    >>> from planner import Level, Sampling
    >>> rare = Level("rare", 1.0, items=("ill",), yes_counts=(300,))
    >>> asked = SampledChoice("health", (rare,), sampling=Sampling(relies_on="round-two"))
    >>> plan = plan_sampling(asked, 10_000)
    >>> round(plan.mechanism.sampling, 6), plan.limited_by, round(plan.released_epsilon, 4)
    (0.45, 'cap', 0.2236)
    >>> plan.guarantee()
    Traceback (most recent call last):
    ...
    planner.errors.InputError: acknowledged is missing but must be "Nobody who sees a person's
    round two can see that person's round one.". The guarantee relied on needs it; if it is
    true, say so word for word. Until then the parameters are not written.
    """
    sampling = question.sampling
    if sampling.relies_on not in ACKNOWLEDGEMENTS:
        allowed = f"one of {', '.join(ACKNOWLEDGEMENTS)}"
        remedy = (
            "No deployment can rely on linkable rounds: their privacy loss is infinite."
        )
        raise InputError("relies_on", sampling.relies_on, allowed, remedy)
    if sampling.acknowledged is not None:
        sampling.require_acknowledged()
    counted = 0
    for level in question.levels:
        counted += sum(level.yes_counts)
    whole_number("population", population)
    if counted > population:
        allowed = f"at most the population, {population}, in total"
        remedy = "Lower the expected counts, or raise the population."
        raise InputError("yes_counts", counted, allowed, remedy)
    if sampling.everyone_has_value and counted < population:
        remedy = f"The others have none of the values: set {mark('everyone_has_value')} to false."
        allowed = f"the population, {population}, in total, if everyone has a value"
        raise InputError("yes_counts", counted, allowed, remedy)
    mechanism = sampling_privacy.best_sampling(
        _budgets(question),
        sampling.cap,
        sampling.floor,
        everyone_has_value=sampling.everyone_has_value,
    )
    return SamplingPlan(question, mechanism)


def _budgets(question: SampledChoice) -> tuple[float, ...]:
    """The budgets of "none of them", the smallest unless another is stated, and of each value."""
    values: list[float] = []
    for level in question.levels:
        values += [float(level.epsilon)] * len(level.yes_counts)
    return question.sampling.none_epsilon or min(values), *values


def _outward(epsilon: float) -> float | str:
    """An epsilon that JSON can carry, raised past the rounding of the logarithm."""
    if epsilon == inf:  # JSON has no infinity
        return "infinite"
    return epsilon * (1 + 1e-12)


class SampledKind(Kind[SampledChoice, SamplingPlan]):
    """A rare answer, asked in two rounds: Sampling Privacy, whose guarantee is of another nature.

    Its error is the largest of a count at 95 %, as an error of the total.
    """

    def options(self, part: Part[SampledChoice]) -> list[Option]:
        """The one mechanism there is."""
        plan = plan_sampling(part.question, part.people)
        largest_error = float(plan.absolute_errors().max())
        # Per person, so that it is the plan's total error once it is one of all people.
        value = largest_error**2 / part.people
        option = Option(part.question.mechanism, value, ErrorLaw(), plan)
        return [option]

    def columns(self, options: Sequence[Option], mechanism: SamplingPlan) -> Columns:
        """One row a value."""
        counts = mechanism.counts
        errors = mechanism.absolute_errors()
        return {
            "value": range(1, len(counts) + 1),
            "expected": counts,
            "error_95": errors,
        }

    def law(self, question: SampledChoice, mechanism: SamplingPlan) -> CollectedLaw:
        """Refused where nobody vouches for what it relies on."""
        return mechanism.law

    def facts(
        self, part: Part[SampledChoice], planned: Option, mechanism: SamplingPlan
    ) -> PlanFacts:
        """The parameters, with the three views of the guarantee."""
        return (mechanism,)
