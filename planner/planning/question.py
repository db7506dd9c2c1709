"""One question of a survey, planned: ranked options, what is deployed, and what becomes of it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, sqrt

import numpy as np
from numpy.typing import ArrayLike

from planner.arrays import Array
from planner.errors import InputError, PlannerError
from planner.frames import Columns, WithDataFrame
from planner.limits import MAX_EPSILON
from planner.mechanisms.asking import CollectedLaw
from planner.mechanisms.catalogue import CATALOGUE
from planner.outsiders.false_reports import FalseReports, false_reports
from planner.planning import targets as targeting
from planner.planning import what_if
from planner.planning.by_level import ByLevel
from planner.planning.channels import OrderedKind
from planner.planning.choice import ChoiceKind
from planner.planning.joint import JointKind
from planner.planning.kind import AnyKind, F, PlanFacts, fact_of
from planner.planning.mean import NumberKind
from planner.planning.option import (
    AnyPart,
    Curve,
    Option,
    Spending,
    best_deployable,
    relative_excess,
    to_solved_digits,
)
from planner.planning.outsiders import OutsiderView, outsider_view
from planner.planning.rounds import Scheme, compared, own_ways
from planner.planning.sampled import SampledKind, SamplingPlan
from planner.planning.sets import Padded, SetKind, SetPromises
from planner.planning.solve import ROUGH, TIGHT, TOTAL, Certified, largest_budgets
from planner.solvers.answers import Channel, SubsetDesign, UnaryTable
from planner.survey.question import BEST
from planner.survey.questions import Question

# of a curve; what is no table takes longer
_POINTS = 25
_FEW_POINTS = 7
_IN_INTEGERS = 1e-6  # relative: what rounding to integers may add to what reports say

KINDS: dict[str, AnyKind] = {
    "categorical": ChoiceKind(),
    "item-set": SetKind(),
    "ordinal": OrderedKind(),
    "numeric": NumberKind(),
    "sampled-choice": SampledKind(),
    "joint": JointKind(),
}
"""What answers for questions of a kind, by its name in survey files."""


@dataclass(frozen=True, eq=False, repr=False)
class QuestionPlan(WithDataFrame):
    """A question with the budgets that it really spends and the mechanism that is deployed.

    Attributes
    ----------
    part, deployed:
        The question as asked, its share of the budgets and its people; and as its parameter file
        states it, with the budgets spent, and nothing open.
    mechanism:
        What was planned: a table, a design, a channel or a law, or a plan of two rounds.
    solved_options:
        Mechanisms that decided it, best first, last those without an error, or that cannot be
        deployed.
    error:
        Predicted squared error per person of the survey, which the survey's objective adds up; of
        the kind ``"sampled-choice"`` the square of ``total_error`` over the people.
    facts:
        What else is known of it, one of each type at most: :meth:`fact` has them by their type.
    targets:
        What becomes of the question's targets.
    realised:
        What a report says for an answer of each level and against it at most, in nats, shape
        ``(2, t)``. This is promised, and proven of the integers that are deployed; the budgets
        spent are its ceiling. Pairs that no budget protects are left out; of sets it is that of any
        two.

    Examples
    --------
    >>> from planner import plan_survey
    >>> (question,) = plan_survey("examples/clinic.toml").questions
    >>> question.planned.name, round(question.total_error, 1)
    ('subset-design', 1093.5)
    """

    part: AnyPart
    deployed: Question
    mechanism: object
    solved_options: tuple[Option, ...]
    error: float
    facts: PlanFacts
    targets: tuple[targeting.TargetAnswer, ...]
    realised: Array

    def fact(self, kind: type[F]) -> F | None:
        """The fact of this type, if there is one.

        Of answers with levels :class:`~planner.ByLevel`, and the table
        (:class:`~planner.UnaryTable`) or design (:class:`~planner.SubsetDesign`) with its proof;
        of sets :class:`~planner.planning.sets.Padded`, and
        :class:`~planner.planning.sets.SetPromises` where they are reported whole; of numbers and
        ordered answers the :class:`~planner.Channel`, of the latter what estimates would be if all
        answers were alike (:class:`~planner.OrderedEstimates`); of two rounds the
        :class:`~planner.SamplingPlan`.
        """
        return fact_of(self.facts, kind)

    @property
    def kind(self) -> AnyKind:
        """The object that answers for questions of this kind."""
        return KINDS[self.part.asked.kind]

    @property
    def question(self) -> Question:
        """The question as it is asked for in the survey."""
        return self.part.asked

    @property
    def name(self) -> str:
        """The question's name."""
        return self.part.asked.name

    @property
    def answering(self) -> int:
        """Number of people who answer it, as stated or assumed."""
        rate = self.kind.answer_rate(self.part.question)
        return round(rate * self.part.people)

    @property
    def spending(self) -> tuple[Spending, ...]:
        """What each level tolerates, has left and spends; nothing where budgets do not add up.

        A mechanism that protects all answers like the most sensitive spends its budget alone.
        """
        if not self.question.shares_budgets:
            return ()
        most = inf
        if not self.planned.by_level:
            policy = self.deployed.policy
            most = self.cap or policy.smallest_pair
        rows = []
        for row in self.part.spending:
            spent = min(row.spent, most)
            against = min(row.against, most)
            rows.append(replace(row, spent=spent, against=against))
        return tuple(rows)

    @property
    def total_error(self) -> float:
        """The question's error, in people or a mean's own unit, among those who are asked.

        Of one round if it is asked again. For the kind ``"sampled-choice"`` the largest error of a
        count at 95 %.
        """
        if self.again is not None:
            return self.part.total(self.again.each)
        return self.part.total(self.error)

    def squared(self, errors: ArrayLike) -> Array:
        """Squared errors of these, as papers have them."""
        return np.square(errors)

    def squared_per_person(self, errors: ArrayLike) -> Array:
        """Squared errors over the people who are asked."""
        return np.square(errors) / self.part.people

    @property
    def drawn_error(self) -> float | None:
        """The largest error of a mean of scores if those asked are drawn at random; else None.

        ``total_error`` is then of the people asked alone; of a number's mean it is of drawn people.
        """
        channel = self.fact(Channel)
        if channel is None or not self.question.of_mean:
            return None
        if len(channel.wanted) > 1:  # of a number's mean, which is a ratio
            return None
        reporting, _ = self.part.in_round(self.planned)
        return sqrt(channel.worst_drawn / reporting.people)

    @property
    def again(self) -> Scheme | None:
        """Errors of rounds, averages and changes; None where the first report serves all."""
        if self.part.rotation_groups <= 1:
            return None
        _, schemes = own_ways(self.part, self.planned)
        return schemes[0]

    def ways(self, *, others: bool = True) -> tuple[list[Scheme], float | None]:
        """Ways of asking it again, its own first, and what none undercuts: see ``rounds``.

        Without ``others``, which take long, its own ways alone.
        """
        if not others:
            _, schemes = own_ways(self.part, self.planned)
            return schemes, None
        return compared(self.part, self.planned, self.solved_options, self.shared)

    @property
    def error_share(self) -> float:
        """The total error as a share of the people who answer, or of half the range of a mean."""
        return self.total_error / self.part.whole

    @property
    def planned(self) -> Option:
        """The option that is deployed."""
        planned = self.deployed.mechanism
        return next(option for option in self.solved_options if option.name == planned)

    @cached_property
    def all_options(self) -> tuple[Option, ...]:
        """All options, also those that a proven design beats: solved when asked for."""
        unsolved = self.kind.unsolved(self.part, self.solved_options)
        if not unsolved:
            return self.solved_options
        return _ranked(self.part, [*unsolved, *self.solved_options], self.planned)

    @cached_property
    def best_plain_ldp(self) -> Option | None:
        """The best that protects all answers like the most sensitive: solved when asked for.

        None if none has an error.
        """
        option = self.kind.best_plain_ldp(self.part, self.solved_options)
        if option is None:
            return None
        (ranked,) = _ranked(self.part, [option], self.planned)
        return ranked

    @cached_property
    def one_sided(self) -> Option | None:
        """The best under the rule "one-sided", in place of the rule min: solved when asked for."""
        option = self.kind.one_sided(self.part, self.planned)
        if option is None:
            return None
        (ranked,) = _ranked(self.part, [option], self.planned)
        return ranked

    @property
    def options(self) -> tuple[Option, ...]:
        """The mechanisms with an error, best first."""
        return tuple(option for option in self.all_options if not option.refused)

    @property
    def most_moved(self) -> list[float | None]:
        """The most that one false report moves an estimate of each option; None if unknown.

        In people, of a mean in the unit of its sum (:class:`~planner.outsiders.false_reports`).
        """
        moved: list[float | None] = []
        for option in self.options:
            moves = None
            if option.name == self.planned.name:
                moves = self.moves
            else:
                mechanism = option.law
                if not option.compared:
                    mechanism = self.kind.deployed(self.part, option)
                # What is only compared may have no integers.
                with suppress(PlannerError):
                    law = self.kind.law(self.deployed, mechanism)
                    moves = false_reports(law)
            moved.append(None if moves is None else moves.most)
        return moved

    @property
    def moves(self) -> FalseReports | None:
        """What one false report does to the estimates of what is deployed."""
        sampling = self.fact(SamplingPlan)
        if sampling is not None:  # it has two reports a person, which go together
            return sampling.moves
        return false_reports(self.law)

    @property
    def curve(self) -> Curve:
        """The error of what is planned at any scale of the budgets that it spends."""
        return self.kind.curve(self.part, self.planned)

    @property
    def shared(self) -> Curve:
        """The error at any share of the question's budgets, as shares are planned."""
        return self.kind.shared(self.part.question, self.part.everybody)

    @cached_property
    def relaxations(self) -> tuple[what_if.Relaxation, ...]:
        """What a little more budget saves of the error, best first: solved when asked for.

        For the levels with the highest prices; of a round, where it is asked again.
        """
        if self.certified is None:
            return ()
        by_level = self.deployed.policy.rule.by_level
        if len(self.question.together) > 1 and not by_level:
            return ()  # its levels are kinds of pairs of answers: budgets are written in its parts
        reporting, planned = self.part.in_round(self.planned)
        fraction = reporting.fraction
        return what_if.relaxations(self.curve, planned, fraction, self.part.share)

    def realised_after(self, relaxation: what_if.Relaxation) -> Array:
        """What :attr:`realised` would be, if the file raised the budget of one level by so much.

        As if its shares of budgets and people stayed as they are.
        """
        factor = relaxation.factor
        level = relaxation.level
        relaxed = self.part.scaled(factor, level)
        option = self.curve.at(factor, level=level, tolerance=ROUGH)
        mechanism = self.kind.deployed(relaxed, option)
        return self.kind.realised(relaxed.deployed, mechanism)

    def raised_keys(self, relaxation: what_if.Relaxation) -> tuple[str, ...]:
        """Keys of a level, ``epsilon`` or ``against``, that the file must raise for a relaxation.

        A relaxation raises both. What is planned then keeps one as it is now if its reports say no
        more that way: so it keeps the budgets of which the other alone is raised.
        """
        policy = self.deployed.policy
        level = policy.names.index(relaxation.level)
        if policy.against is None or policy.against[level] == inf:
            return ("epsilon",)  # it states no other
        said_for, said_against = self.realised_after(relaxation)[:, level]
        keys = []
        if said_for > policy.epsilons[level] * (1 + _IN_INTEGERS):
            keys.append("epsilon")
        if said_against > policy.against[level] * (1 + _IN_INTEGERS):
            keys.append("against")
        # Where neither is used up, nothing tells which of them is of use.
        return tuple(keys) or ("epsilon", "against")

    @property
    def least_protected(self) -> tuple[str, float]:
        """The level of which a report may say most, and by how much odds change then, in nats.

        Of sets that is said of any two.
        """
        realised = self.realised.max(axis=0)
        level = int(realised.argmax())
        name = self.deployed.policy.names[level]
        nats = float(realised[level])
        return name, max(nats, self.cap)

    def option(self, name: str) -> Option:
        """The option called ``name``; an :class:`InputError` if there is none."""
        every = {option.name: option for option in self.options}
        if name not in every:
            remedy = "Ask for one that is compared."
            raise InputError.unknown("option", name, every, remedy)
        return every[name]

    def people_for(self, error: float) -> int | None:
        """The fewest people of the survey for such an error, a share of them; None if none do."""
        part, planned = self.part.in_round(self.planned)
        return self.kind.people_for(part, self.facts, planned, error)

    @property
    def lower_bound(self) -> float | None:
        """No table of the deployed form has a smaller total error; of others, no mechanism.

        Asked one time. Of sets at their padding length, and of mechanisms that report one item.
        None where nothing is proven.
        """
        planned = self.planned
        bound = self.least_error
        if not planned.of_all:
            if planned.bound is None:
                return None
            squared_bound = planned.errors.error(planned.bound, self.part.fraction)
            bound = self.part.total(squared_bound)
        if bound is None:
            return None
        # Rounding may leave a bound above what is reached.
        return min(bound, self.part.total(self.error))

    @property
    def least_error(self) -> float | None:
        """What no mechanism of any kind that keeps the budgets can beat with unbiased estimates.

        The perturbation alone: what a sample misses is known from above only. None where that is
        not known: for sets, whose error depends on their padding, and means.
        """
        for option in self.solved_options:
            if option.of_all and option.bound is not None:
                # Noise grows as fewer are asked; the spread of a sample is left out.
                squared = option.squared_bound / self.part.fraction
                return self.part.total(squared)
        return None

    @property
    def noise_gap(self) -> float | None:
        """The share by which its error may be above :attr:`least_error`, as of those who are asked.

        What a sample misses is the same with any mechanism, and left out. None if not proven.
        """
        least_error = self.least_error
        if not least_error:
            return None
        noise = self.planned.squared / self.part.fraction
        return self.part.total(noise) / least_error - 1

    @property
    def bound_unknown(self) -> bool:
        """Whether the search for a bound on all mechanisms ended without one that says anything."""
        sets = self.fact(SetPromises)
        if sets is not None:
            return sets.gap == inf
        return self.least_error == 0 and self.planned.squared > 0

    @property
    def error_if_common(self) -> float | None:
        """Largest standard error of the count of an answer that everybody has, in people.

        Where the criterion ``"minimax"`` makes that of an answer that few people have small; None
        for others, and for sets. Of ``n`` people ``sqrt(n (noise + signal))``; where one of ``k``
        rounds is reported, of ``n / k``, and scaled by ``k``.
        """
        objective = getattr(self.question, "objective", TOTAL)
        if objective.kind != "minimax" or not self.question.draws_one:
            return None
        law = self.planned.law
        variances = law.noise + law.signal
        variance = float(variances.max())
        # Of n / k reports, whose sum is scaled by k: k^2 n / k.
        rounds = self.part.rotation_groups
        return sqrt(self.part.people * rounds * variance)

    @property
    def proven_gap(self) -> float | None:
        """Share by which the total error may be above the smallest possible; None if not proven.

        At least 1e-9: the digits below are rounding noise.
        """
        bound = self.lower_bound
        if not bound:
            return None
        gap = self.part.total(self.error) / bound - 1
        return max(gap, 1e-9)

    @property
    def cap(self) -> float:
        """Budget of any two sets where it is above those of items, in nats; else 0."""
        promises = self.fact(SetPromises)
        if promises is None:
            return 0.0
        return promises.cap

    @property
    def mechanism_label(self) -> str:
        """What the deployed mechanism is called."""
        return CATALOGUE[self.deployed.mechanism].label

    @property
    def certified(self) -> Certified | None:
        """The table or the design that is deployed, with its proof; None for others."""
        return self.fact(UnaryTable) or self.fact(SubsetDesign)

    @property
    def saturation_epsilon(self) -> float | None:
        """Budget spent above which a level gains nothing, in nats; None where not known."""
        certified = self.certified
        if certified is None:
            return None
        return certified.saturation_epsilon

    @property
    def law(self) -> CollectedLaw:
        """What is deployed, in whole numbers; made when asked for, refused as it would be then."""
        return self.kind.law(self.deployed, self.mechanism)

    @property
    def leakage(self) -> Array:
        """What a report says of any two answers, also where these have no budget, ``(2, t)``."""
        policy = self.deployed.policy
        if not policy.rule.open_pairs:
            return self.realised
        return np.array([policy.leakage_epsilons, policy.against_epsilons])

    @property
    def deployable(self) -> bool:
        """Whether a parameter file may be written: somebody vouches for what it relies on."""
        sampling = self.fact(SamplingPlan)
        return sampling is None or sampling.deployable

    def outsiders(
        self, delta: float | None = None, group: float = 1.0
    ) -> OutsiderView | None:
        """What an outsider learns from reports as they are deployed, beside what is promised.

        Computed when asked for, in less than a second. ``delta`` is that of the central guarantee,
        above 0 and below 1; a power of ten, at most a hundredth of one over the people, when
        omitted. A person hides among a known ``group``, a share of the people. None for the kind
        ``"sampled-choice"``, whose guarantee is of another nature, and where the budgets leave a
        pair of answers unprotected.
        """
        if not self.question.locally_private:
            return None
        levels = self.fact(ByLevel)
        standard_errors = None
        if levels is not None:
            standard_errors = levels.standard_errors
        # Rounded down: fewer people hide less.
        people = max(1, int(self.part.everybody * group))
        return outsider_view(
            question=self.deployed,
            mechanism=self.mechanism,
            people=people,
            standard_errors=standard_errors,
            delta=delta,
            fraction=self.part.fraction,
        )

    @property
    def summary(self) -> str:
        """The question's people, its share of the budgets and its mechanism, in a sentence."""
        share = ""
        if self.question.locally_private:
            share = f", {100 * self.part.share:.1f} % of the budgets"
        return (
            f"{self.name}: {self.part.people:,} people{share}, {self.mechanism_label}."
        )

    def columns(self) -> Columns:
        """One row a mechanism, best first; for the kind ``"sampled-choice"``, one a value."""
        return self.kind.columns(self.options, self.mechanism)


def plan_question(part: AnyPart) -> QuestionPlan:
    """Plan a settled question: rank its options, take the one asked for or the best."""
    kind = KINDS[part.asked.kind]
    options = kind.options(part)
    name = part.asked.mechanism
    allowed = options
    if name != BEST:
        allowed = [option for option in options if option.name == name]
    chosen = best_deployable(allowed)
    if chosen is None:
        remedy = "Ask for a mechanism by its name to see why."
        raise InputError("mechanism", name, "one that can be planned", remedy)
    mechanism = kind.deployed(part, chosen)
    # Tiny budgets are rounded visibly: the plan states what the integers do.
    planned = kind.as_deployed(part, chosen)
    compared = [planned]
    for option in options:
        if option is not chosen:
            compared.append(kind.compared(part, option))
    ranked = _ranked(part, compared, planned)
    facts = kind.facts(part, planned, mechanism)
    targets = targeting.answer_targets(kind, part, planned, facts)
    realised = kind.realised(part.deployed, mechanism)
    return QuestionPlan(
        part=part,
        deployed=part.deployed.replacing(mechanism=planned.name),
        mechanism=mechanism,
        solved_options=ranked,
        error=planned.sampled(part.fraction),
        facts=facts,
        targets=targets,
        realised=realised,
    )


def _ranked(
    part: AnyPart, options: Sequence[Option], planned: Option
) -> tuple[Option, ...]:
    """The options with their total errors, best first; of equal ones first the planned one."""
    planned_error = _total_error(part, planned)
    ranked = list[Option]()
    for option in options:
        error = _total_error(part, option)
        against = 0.0
        if not option.refused:  # else its error is infinite
            against = relative_excess(error, planned_error)
        ranked.append(replace(option, error=error, against=against))

    def rank(option: Option) -> tuple[float, bool]:
        # Errors that differ in what solvers leave open are equal.
        return to_solved_digits(option.error), option.name != planned.name

    return tuple(sorted(ranked, key=rank))


def _total_error(part: AnyPart, option: Option) -> float:
    """The total error of an option, in the plan's unit; of a round if it is asked again."""
    if option.refused:
        return inf
    reporting, in_round = part.in_round(option)
    return part.total(in_round.sampled(reporting.fraction))


def budget_curve(
    question: QuestionPlan,
    scales: Array | None = None,
    level: str | None = None,
    tolerance: float = TIGHT,
) -> what_if.Frontier:
    """The plan's error against a scale of the budgets that the question spends: all, or one level.

    Of one level it is the budget ``epsilon``; what may be said against its answers stays as it is.
    At scale 1 the total error is the plan's, of a round where it is asked again, in people's shares
    or a mean's half ranges. Sets keep their padding length. Levels have errors where a report of
    theirs is about one answer. It takes time: each point is solved, to a ``tolerance``.
    """
    policy = question.deployed.policy
    if scales is None:
        points = _FEW_POINTS
        if question.fact(UnaryTable) is not None:  # tables are solved quickly
            points = _POINTS
        scales = what_if.usual_scales(policy, points)
    within = scales * largest_budgets(policy).max() <= MAX_EPSILON
    curve = question.curve
    if level is not None and policy.against is not None:
        curve = _curve_of_epsilon(question, level)
    part, _ = question.part.in_round(question.planned)
    levels: tuple[str, ...] = ()
    # A report about a set is of one item that was drawn: no level has an error of its own.
    if question.fact(ByLevel) and not question.fact(Padded):
        levels = policy.names
    return what_if.frontier_of(
        curve=curve,
        names=levels,
        scales=scales[within],
        asked=part.people,
        everybody=part.everybody,
        fraction=part.fraction,
        level=level,
        tolerance=tolerance,
    )


def _curve_of_epsilon(question: QuestionPlan, level: str) -> Curve:
    """The question's curve where a scale is of one level's ``epsilon`` alone, not of ``against``.

    For budgets in both directions. ``at`` ignores its own ``level``: it plans the question anew
    with that ``epsilon``.
    """
    asked = question.part.question
    row = question.deployed.policy.names.index(level)

    def at(scale: float = 1.0, *, tolerance: float = TIGHT, **_: object) -> Option:
        levels = list(asked.levels)
        budget = scale * levels[row].epsilon
        levels[row] = levels[row].replacing(epsilon=budget)
        moved = asked.replacing(levels=tuple(levels))
        part = replace(question.part, question=moved)
        return question.kind.curve(part, question.planned).at(tolerance=tolerance)

    return replace(question.curve, at=at)
