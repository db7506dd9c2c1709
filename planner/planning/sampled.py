"""Sampling Privacy: its question, the best parameters, a plan with its weak point acknowledged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner import arguments
from planner.arguments import positive_numbers
from planner.errors import InputError, VerificationError
from planner.estimates.counts import normal_quantile
from planner.frames import Framed
from planner.limits import MAX_EPSILON
from planner.mechanisms.sampling_privacy import SamplingPrivacy
from planner.planning.sampled_views import GuaranteeViews, guarantee_views
from planner.survey.questions import Survey


@dataclass(frozen=True, slots=True)
class SamplingQuestion:
    """What is asked, of how many, and how much each answer may reveal in round two.

    Parameters
    ----------
    epsilons:
        Budget of each value 1 .. V, or one number for all, in nats, above 0, at most 50:
        how much the output ``v`` may say about the answer ``v`` (round two seen alone).
    yes_counts:
        Expected number of people with each value, shape ``(V,)``, whole, at least 0.
    population:
        Number of people asked, at least 1 and at least the sum of ``yes_counts``.
    cap:
        Largest sampling probability, above 0 and below 1; 0.45 (the paper's choice)
        keeps a sampled person in the minority.
    floor:
        Smallest ``pi_0``, at least 0 and below 1: people who stay at 0 hide the sampled
        ones in round one.
    none_epsilon:
        Budget of the answer "none of the values"; the smallest of ``epsilons`` if omitted.
    everyone_has_value:
        True only if "none of the values" cannot be an answer; then output 0 needs no budget.

    Raises
    ------
    InputError
        A budget, count or probability is out of range, or the counts exceed the population.

    Examples
    --------
    >>> SamplingQuestion(1.0, [30, 60], population=286).epsilons
    (1.0, 1.0)
    """

    epsilons: float | Sequence[float]
    yes_counts: Sequence[int]
    population: int
    cap: float = 0.45
    floor: float = 0.0
    none_epsilon: float | None = None
    everyone_has_value: bool = False

    def __post_init__(self) -> None:
        counts = _counts(self.yes_counts)
        population = arguments.whole_number("population", self.population)
        if sum(counts) > population:
            allowed = f"at most the population, {population}"
            remedy = "Lower the expected counts, or raise the population."
            raise InputError("yes_counts", sum(counts), f"{allowed}, in total", remedy)
        if self.everyone_has_value and sum(counts) < population:
            remedy = "The others have none of the values: set everyone_has_value to false."
            allowed = f"the population, {population}, in total, if everyone has a value"
            raise InputError("yes_counts", sum(counts), allowed, remedy)
        if not 0 < self.cap < 1:
            remedy = "Give the probability that a person is sampled at most, such as 0.45."
            raise InputError("cap", self.cap, "a probability above 0 and below 1", remedy)
        if not 0 <= self.floor < 1:
            remedy = "Give the probability that a person is sampled at least, such as 0."
            raise InputError("floor", self.floor, "a probability of at least 0 and below 1", remedy)
        budgets = _budgets(self.epsilons, len(counts))
        none = min(budgets) if self.none_epsilon is None else self.none_epsilon
        set_field = object.__setattr__
        set_field(self, "yes_counts", counts)
        set_field(self, "population", population)
        set_field(self, "epsilons", budgets)
        set_field(self, "none_epsilon", arguments.budget("none_epsilon", none))

    @property
    def output_budgets(self) -> NDArray[np.float64]:
        """Budget of each round-two output 0 .. V, shape ``(V + 1,)``; inf if it needs none."""
        none = inf if self.everyone_has_value else self.budgets[0]
        return np.array([none, *self.budgets[1:]])

    @property
    def budgets(self) -> tuple[float, ...]:
        """Stated budgets of the answers 0 (none of the values) and 1 .. V, in nats."""
        return (cast("float", self.none_epsilon), *cast("tuple[float, ...]", self.epsilons))


def _counts(yes_counts: Sequence[int]) -> tuple[int, ...]:
    array = np.asarray(yes_counts)
    if array.ndim != 1 or array.size == 0:
        allowed = "a list with one expected count per value"
        remedy = "Give how many people you expect to have each value."
        raise InputError("yes_counts", yes_counts, allowed, remedy)
    counts = enumerate(array.tolist())
    return tuple(arguments.whole_number(f"yes_counts[{v}]", count, 0) for v, count in counts)


def _budgets(epsilons: float | Sequence[float], values: int) -> tuple[float, ...]:
    if isinstance(epsilons, int | float | np.number):
        return (arguments.budget("epsilons", epsilons),) * values
    budgets = np.asarray(epsilons)
    if budgets.shape != (values,):
        allowed = f"one budget, or a list of {values}, one per value"
        remedy = "Give each value its budget, or one budget for all."
        raise InputError("epsilons", epsilons, allowed, remedy)
    return tuple(arguments.budget(f"epsilons[{v}]", e) for v, e in enumerate(budgets.tolist()))


Array = NDArray[np.float64]
_INWARD = 1 - 1e-12  # a rounding error in the search must not overdraw a budget


@dataclass(frozen=True, slots=True)
class SamplingDesign:
    """The parameters found, and why they are the best."""

    question: SamplingQuestion
    mechanism: SamplingPrivacy
    best_sampling: float
    limited_by: str

    def absolute_errors(self, confidence: float = 0.95) -> Array:
        """Half-width of the error of each expected count, shape ``(V,)``, in people.

        ``z sqrt(c (1 - pi_s) / pi_s)``: the exact standard deviation times the normal
        quantile ``z`` (1.96 for 95 %), an approximation for counts below about 10.
        """
        counts = np.array(self.question.yes_counts, dtype=np.float64)
        return _absolute_errors(counts, self.mechanism.sampling, confidence)


class ErrorGrid(NamedTuple):
    """Error against budget, for plots: ``epsilons`` and ``sampling`` (k,), ``errors`` (k, V)."""

    epsilons: Array
    sampling: Array
    errors: Array


def find_parameters(question: SamplingQuestion) -> SamplingDesign:
    """The parameters with the smallest error within the budgets.

    The error of every count falls in ``pi_s`` and depends on nothing else, so the best
    parameters solve, whatever the counts, the linear program

        maximise pi_s   s.t.  pi_s <= (e^eps_j - 1) pi_j   for every protected output j,
                              pi_0 >= floor,  pi_s <= cap,  pi_s + sum_j pi_j = 1

    (output 0 is protected unless everyone has a value). With ``w_j = 1/(e^eps_j - 1)`` and
    ``W`` their sum over the values the optimum is the smallest of ``cap``,
    ``(1 - floor)/(1 + W)`` and, if output 0 is protected, ``1/(1 + W + w_0)``. Probability that a
    cap leaves over goes to the outputs in proportion to ``w_j``, which lowers every loss below its
    budget.
    """
    budgets = question.output_budgets
    closed = float(closed_form(budgets, question.floor, question.cap))
    sampling = closed * _INWARD
    zero, decoys = place(sampling, budgets, question.floor)
    mechanism = SamplingPrivacy(sampling, zero, tuple(decoys), question.everyone_has_value)
    excess = mechanism.output_losses - budgets
    if excess.max() > 0 or mechanism.sampling > question.cap:
        raise VerificationError(f"Output {excess.argmax()} overdraws its budget by {excess.max()}")
    limited_by = "cap" if closed >= question.cap else "budgets"
    return SamplingDesign(question, mechanism, closed, limited_by)


def error_grid(
    question: SamplingQuestion, epsilons: ArrayLike, confidence: float = 0.95
) -> ErrorGrid:
    """Absolute error of every count at each common budget, by the closed form."""
    grid = positive_numbers("epsilons", epsilons, MAX_EPSILON)
    protected = np.isfinite(question.output_budgets)
    budgets = np.where(protected, grid[:, None], inf)
    sampling = closed_form(budgets, question.floor, question.cap)
    counts = np.array(question.yes_counts, dtype=np.float64)
    return ErrorGrid(grid, sampling, _absolute_errors(counts, sampling[:, None], confidence))


def _quantile(confidence: float) -> float:
    if not 0 < confidence < 1:
        remedy = "Give a probability such as 0.95."
        raise InputError("confidence", confidence, "above 0 and below 1", remedy)
    return normal_quantile((1 + confidence) / 2)


def _absolute_errors(counts: Array, sampling: Array | float, confidence: float) -> Array:
    return _quantile(confidence) * np.sqrt(counts * (1 - sampling) / sampling)


def closed_form(budgets: Array, floor: float, cap: float) -> Array:
    """The largest ``pi_s`` within budgets of shape ``(..., V + 1)``: a linear program, solved."""
    weights = _weights(budgets)
    values = 1 + weights[..., 1:].sum(axis=-1)
    return np.minimum(cap, np.minimum((1 - floor) / values, 1 / (values + weights[..., 0])))


def place(sampling: float, budgets: Array, floor: float) -> tuple[float, Array]:
    """``pi_0`` and the decoys: everything not sampled, in proportion to ``w_j``."""
    weights = _weights(budgets)
    rest = 1 - sampling
    zero = max(floor, float(rest * weights[0] / weights.sum()))
    return zero, (rest - zero) * weights[1:] / weights[1:].sum()


def _weights(budgets: Array) -> Array:
    return np.asarray(1 / np.expm1(budgets))  # 0 for an output that needs no budget


ACKNOWLEDGEMENTS = {
    "round-two": "Nobody who sees a person's round two can see that person's round one.",
    "aggregates-only": "A trusted aggregator releases totals only.",
}
_NO_LINKABLE = "No deployment can rely on linkable rounds: their privacy loss is infinite."


@dataclass(frozen=True, slots=True, repr=False)
class SamplingPlan(Framed):
    """Parameters, their error, and the view of the guarantee that a deployment relies on.

    Parameters
    ----------
    design:
        The parameters found.
    relies_on:
        ``"round-two"`` or ``"aggregates-only"``. Both are weaker than local differential
        privacy, under which nobody needs to be trusted.
    acknowledged:
        The sentence in ``ACKNOWLEDGEMENTS`` for that view, word for word: whoever deploys
        vouches for it. ``None`` while planning; without it nothing is written.
    delta:
        At which the aggregate view states its epsilon, above 0 and below 1.

    Raises
    ------
    InputError
        Another view, another sentence, or a delta out of range.

    Examples
    --------
    >>> question = SamplingQuestion(1.0, [300], population=10_000)
    >>> SamplingPlan(find_parameters(question), "round-two").to_document()
    Traceback (most recent call last):
    ...
    planner.errors.InputError: acknowledged is missing but must be "Nobody who sees a person's
    round two can see that person's round one.". The guarantee relied on needs it; if it is
    true, say so word for word. Until then the parameters are not written.
    >>> plan = SamplingPlan(
    ...     find_parameters(question), "aggregates-only", ACKNOWLEDGEMENTS["aggregates-only"]
    ... )
    >>> plan.to_document()["guarantee"]["linkable_epsilon"]
    'infinite'
    """

    design: SamplingDesign
    relies_on: str
    acknowledged: str | None = None
    delta: float = 1e-6

    def __post_init__(self) -> None:
        if self.relies_on not in ACKNOWLEDGEMENTS:
            allowed = f"one of {', '.join(ACKNOWLEDGEMENTS)}"
            raise InputError("relies_on", self.relies_on, allowed, _NO_LINKABLE)
        if self.acknowledged is not None:
            self._demand_acknowledgement()
        if not 0 < self.delta < 1:
            remedy = "Choose a small probability, such as 1e-6."
            raise InputError("delta", self.delta, "above 0 and below 1", remedy)

    @property
    def views(self) -> GuaranteeViews:
        """All three views for the expected counts."""
        question = self.design.question
        return guarantee_views(self.design.mechanism, question.yes_counts, question.population)

    def to_document(self) -> dict[str, Any]:
        """Everything a deployment needs, as plain JSON types; all three views included.

        Raises
        ------
        InputError
            The acknowledgement is missing.
        VerificationError
            The view relied on has no finite epsilon for the expected counts.
        """
        self._demand_acknowledgement()
        mechanism, views = self.design.mechanism, self.views
        aggregates = views.aggregates
        totals_epsilon = aggregates.totals_epsilon(self.delta)
        if self.relies_on == "aggregates-only" and totals_epsilon == inf:
            reason = f"Released totals have no finite epsilon at delta {self.delta:g}"
            remedy = "Merge rare values, so that more people have each, or raise delta."
            raise VerificationError(reason, remedy)
        return {
            "kind": "sampled-choice",
            "denominator": 2**32,
            "sampling": round(mechanism.sampling * 2**32),
            "zero": round(mechanism.zero * 2**32),
            "decoys": [round(decoy * 2**32) for decoy in mechanism.decoys],
            "everyone_has_value": mechanism.everyone_has_value,
            "guarantee": {
                "relies_on": self.relies_on,
                "acknowledged": self.acknowledged,
                "round_two_epsilon": _outward(views.round_two_epsilon),
                "linkable_epsilon": "infinite",
                "aggregates": {
                    "delta": self.delta,
                    "difference_epsilon": _outward(aggregates.difference_epsilon(self.delta)),
                    "totals_epsilon": _outward(totals_epsilon),
                    "totals_are_exact": aggregates.totals_are_exact,
                    "others_with_each_value": list(aggregates.others_yes),
                    "others_with_none": aggregates.others_no,
                },
            },
        }

    def _demand_acknowledgement(self) -> None:
        needed = ACKNOWLEDGEMENTS[self.relies_on]
        if self.acknowledged != needed:
            remedy = (
                "The guarantee relied on needs it; if it is true, say so word for word. "
                "Until then the parameters are not written."
            )
            raise InputError("acknowledged", self.acknowledged, f'"{needed}"', remedy)

    @property
    def summary(self) -> str:
        """What the guarantee relies on, and that it is not local differential privacy."""
        return f"Sampling Privacy, relies on {self.relies_on}. {ACKNOWLEDGEMENTS[self.relies_on]}"

    def columns(self) -> dict[str, Any]:
        """One row a value: its probabilities, round-two budget, and error at 95 % in people."""
        question, mechanism = self.design.question, self.design.mechanism
        return {
            "value": range(1, len(question.yes_counts) + 1),
            "expected_count": question.yes_counts,
            "sampling": mechanism.sampling,
            "decoy": mechanism.decoys,
            "round_two_epsilon": mechanism.output_losses[1:],
            "error_95": self.design.absolute_errors(0.95),
        }


def plan_sampling(
    question: SamplingQuestion, relies_on: str, acknowledged: str | None = None
) -> SamplingPlan:
    """Find the parameters for ``question`` and state what their guarantee relies on.

    Raises
    ------
    InputError, SolverError, VerificationError
        As :class:`SamplingPlan` and :func:`find_parameters` say.

    Examples
    --------
    >>> plan = plan_sampling(SamplingQuestion(1.0, [300], population=10_000), "round-two")
    >>> round(plan.design.mechanism.sampling, 6), plan.design.limited_by
    (0.45, 'cap')
    """
    return SamplingPlan(find_parameters(question), relies_on, acknowledged)


def plan_sampling_survey(survey: Survey) -> dict[str, SamplingPlan]:
    """A plan for each ``"sampled-choice"`` question of a survey, by question name."""
    plans = {}
    for question in survey.questions:
        if question.kind != "sampled-choice":
            continue
        settings = question.sampling
        asked = SamplingQuestion(
            [level.epsilon for level in question.levels for _ in level.yes_counts],
            [count for level in question.levels for count in level.yes_counts],
            survey.users,
            settings.cap,
            settings.floor,
            settings.none_epsilon,
            settings.everyone_has_value,
        )
        plans[question.name] = plan_sampling(asked, settings.relies_on, settings.acknowledged)
    if not plans:
        kinds = sorted({question.kind for question in survey.questions})
        allowed = "'sampled-choice' for one question at least"
        remedy = 'Add a question with kind = "sampled-choice".'
        raise InputError("kind", ", ".join(kinds), allowed, remedy)
    return plans


def _outward(epsilon: float) -> float | str:
    """An epsilon that JSON can carry, raised past the rounding of the logarithm."""
    return "infinite" if epsilon == inf else epsilon * (1 + 1e-12)
