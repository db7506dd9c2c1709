"""One question of a survey, planned: ranked options, what is deployed, and what becomes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.errors import InputError
from planner.estimates.channel import OrderedEstimates, shares_up_to
from planner.frames import Columns, Framed
from planner.limits import MAX_EPSILON
from planner.mechanisms.asking import CollectedLaw
from planner.mechanisms.catalogue import CATALOGUE
from planner.mechanisms.making import law_of
from planner.planning import channels, choice, mean, sets
from planner.planning.choice import Levels, SetPromises
from planner.planning.curve import Curve, choice_curve
from planner.planning.option import (
    Option,
    Part,
    Spending,
    least,
    over,
    rounded,
)
from planner.planning.outsiders import OutsiderView, outsider_view
from planner.planning.sampled import SamplingPlan, plan_sampling
from planner.planning.sets import PaddingPlan
from planner.planning.solve import DESIGN, Certified, largest_budgets
from planner.planning.what_if import (
    Frontier,
    Relaxation,
    TargetAnswer,
    answer_targets,
    frontier_of,
    relaxations,
    usual_scales,
)
from planner.solvers.answers import Channel, SubsetDesign, UnaryTable
from planner.survey.questions import (
    BEST,
    COUNTS,
    ORDINAL,
    Numeric,
    Ordinal,
    Question,
    SampledChoice,
)

_POINTS, _DESIGNS = 50, 7  # of a curve; designs take longer


@dataclass(frozen=True, eq=False, repr=False)
class QuestionPlan(Framed):
    """A question with the budgets that it really spends and the mechanism that is deployed.

    Attributes
    ----------
    part, deployed:
        The question as asked, its share of the budgets and its people; and as its parameter file
        states it, with the budgets spent, and nothing open.
    mechanism:
        What was planned: a table, a design, a channel or a law, or a plan of two rounds.
    found:
        Mechanisms that decided it, best first (none for the kind ``"sampled-choice"``), last those
        without an error, or that cannot be deployed.
    error:
        Predicted squared error per person of the survey, which the survey's objective adds up; for
        the kind ``"sampled-choice"`` the square of ``total_error`` over the people.
    levels, certified:
        What a report does, level by level; the table or the design that is deployed, with its
        proof. None for others.
    padding, padding_errors, set_promises:
        Every padding length's squared bias and variance, and its total error in people, where sets
        are known; what a report about a whole set promises.
    targets:
        What becomes of the question's targets.
    """

    part: Part[Any]
    deployed: Question
    mechanism: Any
    found: tuple[Option, ...]
    error: float
    levels: Levels | None = None
    certified: Certified | None = None
    padding: PaddingPlan | None = None
    padding_errors: NDArray[np.float64] | None = None
    set_promises: SetPromises | None = None
    targets: tuple[TargetAnswer, ...] = ()

    @property
    def question(self) -> Question:
        """As asked for in the survey."""
        return self.part.asked

    @property
    def name(self) -> str:
        """The question's name."""
        return self.part.asked.name

    @property
    def share(self) -> float:
        """Share of the budgets left that it gets."""
        return self.part.share

    @property
    def fraction(self) -> float:
        """Share of the people who are asked it."""
        return self.part.fraction

    @property
    def users(self) -> int:
        """Number of people who are asked it."""
        return self.part.people

    @property
    def everybody(self) -> int:
        """Number of people of the whole survey."""
        return self.part.everybody

    @property
    def answering(self) -> int:
        """Number of people who answer it, as stated or assumed."""
        return round(mean.answer_rate(self.part.question) * self.users)

    @property
    def spending(self) -> tuple[Spending, ...]:
        """What each level tolerates, has left and spends; none for ``"sampled-choice"``.

        A mechanism that protects all answers like the most sensitive spends its budget alone.
        """
        if self.planned is None:
            return ()
        most = inf
        if not self.planned.by_level:
            policy = self.deployed.policy
            most = self.cap or policy.smallest_pair
        rows = self.part.spending
        return tuple(
            replace(one, spent=min(one.spent, most), against=min(one.against, most)) for one in rows
        )

    @property
    def total_error(self) -> float:
        """The question's error in :attr:`unit`: the root of ``error``, among those who are asked.

        For the kind ``"sampled-choice"`` the largest error of a count at 95 %.
        """
        return self.part.total(self.error)

    @property
    def error_share(self) -> float:
        """The same as a share of :attr:`share_of`."""
        return self.total_error / self.part.whole

    @property
    def planned(self) -> Option | None:
        """The option that is deployed."""
        return next((one for one in self.found if one.name == self.deployed.mechanism), None)

    @cached_property
    def every(self) -> tuple[Option, ...]:
        """As ``found``, with what a design that is proven the best beats: solved when asked for."""
        if self.planned is None or not self._proven_best:
            return self.found
        return _ranked(self.part, [*choice.others(self.part), *self.found], self.planned)

    @cached_property
    def alike(self) -> Option | None:
        """The best that protects all answers like the most sensitive: solved when asked for.

        None if none has an error.
        """
        found = self.found
        if self.planned is not None and self._proven_best:
            found = _ranked(self.part, [choice.alike(self.part)], self.planned)
            return None if found[0].refused else found[0]
        return next((one for one in found if not one.by_level), None)

    @cached_property
    def one_sided(self) -> Option | None:
        """The same under the rule "one-sided", in place of the rule min: solved when asked for."""
        policy = self.deployed.policy
        if self.planned is None or not policy.rule.saturates or np.ptp(policy.epsilons) == 0:
            return None
        if self.question.kind != "categorical":
            return None
        found = choice.one_sided(self.part, self.planned)
        return None if found.refused else _ranked(self.part, [found], self.planned)[0]

    @property
    def _proven_best(self) -> bool:
        """Whether it is a design that is proven the best, so that nothing else was solved."""
        return [one.name for one in self.found] == [DESIGN]

    @property
    def options(self) -> tuple[Option, ...]:
        """All mechanisms with an error, best first."""
        return tuple(one for one in self.every if not one.refused)

    @cached_property
    def relaxations(self) -> tuple[Relaxation, ...]:
        """What a little more budget saves of ``total_error``, best first: solved when asked for.

        For the levels with the highest prices.
        """
        if self.certified is None or self.planned is None:
            return ()
        return relaxations(self._of_table(self.planned), self.planned, self.fraction)

    def _of_table(self, planned: Option) -> Curve:
        """The table or design that is deployed, at other budgets than it spends."""
        about = planned.law.objective, planned.errors, planned.name
        return choice_curve(self.name, planned.law.policy, 1.0, *about)

    def option(self, name: str) -> Option:
        """The option called ``name``; an :class:`InputError` if there is none."""
        every = {one.name: one for one in self.options}
        if name not in every:
            raise InputError.unknown("option", name, every, "Ask for one that is compared.")
        return every[name]

    @property
    def left_out(self) -> tuple[str, ...]:
        """Why mechanisms have no error here, or are not deployed, in sentences."""
        return tuple(
            f"{CATALOGUE[one.name].label} is left out: {one.refused}."
            for one in self.every
            if one.refused
        )

    @property
    def lower_bound(self) -> float | None:
        """No table of the deployed form has a smaller total error; of a design, no mechanism.

        Of sets at their padding length, and of mechanisms that report one item. None where nothing
        is proven.
        """
        planned = self.planned
        if planned is None or planned.bound is None:
            return None
        if planned.name == DESIGN and self.question.kind == "categorical":
            return None if self.least_error is None else min(self.least_error, self.total_error)
        bound = planned.errors.error(planned.bound, self.fraction)
        return min(self.part.total(bound), self.total_error)

    @property
    def least_error(self) -> float | None:
        """What no mechanism of any kind that keeps the budgets can beat with unbiased estimates.

        None where that is not known: for sets, whose error depends on their padding, and means.
        """
        if self.question.kind == ORDINAL:  # what a sample misses is known from above only
            return self.lower_bound if self.fraction == 1 else None
        best = next((one for one in self.found if one.name == DESIGN), None)
        if self.question.kind != "categorical" or best is None or best.bound is None:
            return None
        # The perturbation alone: what a sample misses is known from above only.
        return self.part.total(best.errors.error(best.bound) / self.fraction)

    @property
    def noise_gap(self) -> float | None:
        """By which share its error may be above :attr:`least_error`, as of those who are asked.

        What a sample misses is the same with any mechanism, and left out. None if not proven.
        """
        planned, least = self.planned, self.least_error
        if planned is None or not least:
            return None
        return self.part.total(planned.errors.error(planned.value) / self.fraction) / least - 1

    @property
    def cap(self) -> float:
        """Budget of any two sets where it is above those of items, in nats; else 0."""
        return 0.0 if self.set_promises is None else self.set_promises.cap

    @property
    def mechanism_label(self) -> str:
        """What the deployed mechanism is called."""
        return CATALOGUE[self.deployed.mechanism].label

    @property
    def curve(self) -> Curve | None:
        """What its error is at any share of its budgets, as shares are planned.

        None for the kind ``"sampled-choice"``.
        """
        kind = KINDS.get(self.question.kind)
        return kind and kind.curve(self.part.question, self.everybody)

    @property
    def shared_as(self) -> str | None:
        """What the mechanism is called whose errors decide its share; None where none does."""
        curve = self.curve
        return None if curve is None else CATALOGUE[curve.mechanism].label

    @property
    def padding_length(self) -> int | None:
        """To how many items sets are padded or cut; None for other questions."""
        return getattr(self.deployed, "padding_length", None)

    @property
    def unit(self) -> str:
        """Of ``total_error``: ``"people"``, or ``"units of the question"`` for a mean."""
        return "units of the question" if self.question.of_mean else "people"

    @property
    def share_of(self) -> str:
        """What ``error_share`` is a share of."""
        return "half the range" if self.question.of_mean else "the people who answer"

    @property
    def objective_name(self) -> str:
        """Which error is predicted and made small, in words."""
        about = self.question
        if isinstance(about, SampledChoice):
            return "largest error of a count at 95 %"
        if about.of_mean or isinstance(about, Numeric):
            return "error of the mean"
        what = "total error"
        if isinstance(about, Ordinal):
            what += f" of the {'counts' if about.wanted == COUNTS else 'cumulative shares'}"
        elif about.objective.kind == "minimax":
            what = "error of the worst single item"
        return what if about.objective.weights is None else f"weighted {what}"

    @property
    def objective_answers(self) -> str:
        """For which answers that error holds, in words."""
        about = self.question
        if self.padding is not None:
            return "expected for these sets"
        if isinstance(about, SampledChoice):
            return "at the expected counts"
        if self.assumed is not None:
            missing = 100 * (1 - mean.answer_rate(self.part.question))
            whom = f"people drawn at random, {missing:.3g} % of them without one"
            return f"for {self.assumed.whose} of {whom}"
        of_whom = " of people drawn at random" if about.of_mean else ""
        if not isinstance(about, Numeric) and about.objective.kind == "expected":
            return "for the expected answers"
        return f"for the least favourable answers{of_whom}"

    @property
    def assumed(self) -> mean.AnswerRateModel | None:
        """What is assumed of the people who answer, for the kind ``"numeric"``; else None."""
        asked = self.part.question
        return mean.model_of(asked, self.users) if isinstance(asked, Numeric) else None

    @property
    def measure(self) -> str:
        """Which error :attr:`total_error` is, and for which answers."""
        return f"{self.objective_name.capitalize()}, {self.objective_answers}"

    @property
    def saturation_epsilon(self) -> float | None:
        """Budget spent above which a level gains nothing, in nats; None where not known."""
        return None if self.certified is None else self.certified.saturation_epsilon

    @property
    def table(self) -> UnaryTable | None:
        """The table of probabilities that is deployed, with its proof; None for the others."""
        return self.certified if isinstance(self.certified, UnaryTable) else None

    @property
    def design(self) -> SubsetDesign | None:
        """The subset design that is deployed; of sets that of the items and a dummy."""
        return None if self.certified is None else self.certified.design

    @property
    def proven_gap(self) -> float | None:
        """Share by which the total error may be above the smallest possible; None if not proven.

        At least 1e-9: the digits below are rounding noise.
        """
        bound = self.lower_bound
        return max(self.total_error / bound - 1, 1e-9) if bound else None

    @property
    def channel(self) -> Channel | None:
        """The channel that is deployed, with what it was made for and its proof, or None."""
        return self.mechanism if isinstance(self.mechanism, Channel) else None

    @property
    def expected(self) -> OrderedEstimates | None:
        """What estimates of ordered answers would be on average, were all answers alike.

        None for other questions, and where a mean alone is wanted.
        """
        if self.channel is None or self.question.kind != ORDINAL or self.question.of_mean:
            return None
        channel, size = shares_up_to(self.channel), len(self.channel.symbols)
        alike = np.full(size, 1 / size)
        spread = channel.covariance(alike, drawn=True) / self.users
        return OrderedEstimates(channel.symbols, channel.wanted @ alike, spread, self.users)

    @property
    def law(self) -> CollectedLaw:
        """What is deployed, in whole numbers; made when asked for, refused as it would be then."""
        planned = self.mechanism if self.sampling is None else self.sampling.law
        return law_of(self.deployed, planned)

    @property
    def sampling(self) -> SamplingPlan | None:
        """The plan of the two rounds, for the kind ``"sampled-choice"``; else None."""
        return self.mechanism if isinstance(self.mechanism, SamplingPlan) else None

    def outsiders(self, delta: float | None = None) -> OutsiderView | None:
        """What an outsider learns from reports as they are deployed, beside what is promised.

        Computed when asked for, in less than a second. ``delta`` is that of the central guarantee,
        above 0 and below 1; a power of ten, at most a hundredth of one over the people, when
        omitted. None for the kind ``"sampled-choice"``, whose guarantee is of another nature, and
        where the budgets leave a pair of answers unprotected.
        """
        if self.sampling is not None:
            return None
        errors = None if self.levels is None else self.levels.standard_errors
        about = self.deployed, self.mechanism, self.everybody, errors, delta, self.fraction
        return outsider_view(*about)

    @property
    def summary(self) -> str:
        """What it gets, and its mechanism."""
        share = f", {self.share:.1%} of the budgets" if self.options else ""
        return f"{self.name}: {self.users:,} people{share}, {self.mechanism_label}."

    def columns(self) -> Columns:
        """One row a mechanism, best first; for the kind ``"sampled-choice"``, one a value."""
        if not self.options:
            counts, errors = self.mechanism.counts, self.mechanism.absolute_errors()
            return {"value": range(1, len(counts) + 1), "expected": counts, "error_95": errors}
        return {
            "mechanism": [one.title for one in self.options],
            "error": [one.error for one in self.options],
            "against_plan": [one.against for one in self.options],
        }


def plan_question(part: Part[Any]) -> QuestionPlan:
    """Plan a settled question: rank its options, take the one asked for or the best."""
    kind = KINDS[part.asked.kind]
    found = kind.options(part)
    name = part.asked.mechanism
    if name == BEST:
        best = least(found)
        if best is None:
            remedy = "Ask for a mechanism by its name to see why."
            raise InputError("mechanism", BEST, "one that can be planned", remedy)
        name = best.name
    planned = next(one for one in found if one.name == name)
    if part.asked.kind == "item-set":
        found = [one if one is planned else sets.at_best_length(part, one) for one in found]
    details = {} if kind in (channels, mean) else kind.details(part, planned)
    total = kind.total(part, planned)
    return QuestionPlan(
        part=part,
        deployed=part.deployed.replacing(mechanism=name),
        mechanism=mechanism_of(part, planned),
        found=_ranked(part, found, planned),
        error=planned.errors.error(planned.value, part.fraction),
        targets=answer_targets(part, planned, total, details.get("padding")),
        **details,
    )


def mechanism_of(part: Part[Any], option: Option) -> Any:
    """What would be deployed of an option."""
    kind = KINDS[part.asked.kind]
    return option.law if kind in (channels, mean) else kind.deployed(part, option)


def plan_sampled(question: SampledChoice, users: int) -> QuestionPlan:
    """A question that is asked in two rounds, planned."""
    plan = plan_sampling(question, users)
    largest = float(plan.absolute_errors().max())
    part = Part(question, question, question, 1.0, 1.0, users)
    return QuestionPlan(part, question, plan, (), largest**2 / users)


def _ranked(part: Part[Any], found: Sequence[Option], planned: Option) -> tuple[Option, ...]:
    own, ranked = part.total(planned.errors.error(planned.value, part.fraction)), list[Option]()
    for one in found:
        error = inf if one.refused else part.total(one.errors.error(one.value, part.fraction))
        ranked.append(replace(one, error=error, against=0.0 if one.refused else over(error, own)))
    return tuple(sorted(ranked, key=lambda one: (rounded(one.error), one.name != planned.name)))


KINDS: dict[str, Any] = {
    "categorical": choice,
    "item-set": sets,
    "ordinal": channels,
    "numeric": mean,
}
"""The module of each kind that shares budgets: its ``options`` of a part."""


def has_budget_curve(question: QuestionPlan) -> bool:
    """Whether there is a :func:`budget_curve`, which takes time: of a design, several others."""
    certified, known = question.certified, question.padding_length is None
    return known and certified is not None and certified.certificate is not None


def budget_curve(
    question: QuestionPlan, scales: NDArray[np.float64] | None = None
) -> Frontier | None:
    """The plan's error against a common scale of the budgets that the question spends.

    At scale 1 the total error is the plan's. None where the budgets alone do not decide: for
    means, for sets, whose padding length changes too, and for mechanisms with one budget for all.
    """
    planned = question.planned
    if planned is None or not has_budget_curve(question):
        return None
    policy, points = planned.law.policy, _POINTS if question.design is None else _DESIGNS
    chosen = usual_scales(policy, points) if scales is None else scales
    chosen = chosen[chosen * largest_budgets(policy).max() <= MAX_EPSILON]
    about = policy, chosen, (question.users, question.everybody), planned, question.fraction
    return frontier_of(question._of_table(planned), *about)
