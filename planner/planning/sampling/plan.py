"""A Sampling Privacy plan, which is written only with its weak point acknowledged."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

from planner.errors import InputError, VerificationError
from planner.frames import Framed
from planner.planning.sampling.design import SamplingDesign, find_parameters
from planner.planning.sampling.question import SamplingQuestion
from planner.planning.sampling.views import GuaranteeViews, guarantee_views
from planner.survey import Survey

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
    """A plan for each ``"sampled-choice"`` question of a survey, by question name.

    Raises
    ------
    InputError
        No question is of that kind, or as :func:`plan_sampling`.
    """
    plans = {}
    for question in survey.questions:
        if question.sampling is None:
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
