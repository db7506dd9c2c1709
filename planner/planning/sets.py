"""Questions about item sets: reported whole, or one item drawn, each at its padding length."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, sqrt
from typing import Any

import numpy as np

from planner.arrays import Array
from planner.errors import InputError, VerificationError, mark
from planner.estimates.item_sets import LongerSets
from planner.laws.levels import Levels
from planner.limits import MAX_EPSILON
from planner.mechanisms.asking import CollectedLaw
from planner.mechanisms.making import padded, set_design, unary
from planner.mechanisms.set_design import (
    rival_supports,
    set_error,
    set_error_bound,
)
from planner.planning.by_level import PureProtocol, SupportProbabilities
from planner.planning.choice import levels_of, solved
from planner.planning.datasets import SetModel, set_model_of
from planner.planning.kind import Kind, PlanFacts, fact_of
from planner.planning.option import (
    Curve,
    ErrorLaw,
    Option,
    Part,
    choice_curve,
)
from planner.planning.padding import (
    PaddingPlan,
    every_length,
    law_at,
    plan_padding,
    plan_whole_sets,
    refuse_objective,
)
from planner.planning.solve import TOTAL, in_integers, solve_for
from planner.solvers.answers import UnaryTable
from planner.solvers.models import MODELS
from planner.solvers.solving import BASELINES
from planner.survey.assumed import AssumedSets
from planner.survey.choices import SET_DESIGN, ItemSet
from planner.survey.question import BEST


@dataclass(frozen=True, slots=True)
class SetPromises:
    """What a set design promises, and how near to the best it is.

    ``epsilon`` is the budget of two sets that differ in one item and ``cap`` that of any two, in
    nats; sets up to ``length`` items are not cut. Its error for the worst set may be above that of
    the best unbiased mechanism for sets of ``length`` items by ``gap``, a share; ``inf`` where the
    bound says nothing. ``larger_cap`` is the cap of twice the budget, as the survey would state it,
    and the total error with it, in people; None if that buys nothing.

    Examples
    --------
    >>> from planner import plan_survey
    >>> (question,) = plan_survey("examples/baskets.toml").questions
    >>> promises = question.fact(SetPromises)
    >>> promises.epsilon, promises.cap, promises.length
    (1.0, 1.0, 10)
    """

    epsilon: float
    cap: float
    length: int
    gap: float
    larger_cap: tuple[float, float] | None

    @property
    def error_gap(self) -> float:
        """The gap of the error, where :attr:`gap` is that of the squared error."""
        return sqrt(1 + self.gap) - 1


@dataclass(frozen=True, slots=True, eq=False)
class Padded:
    """The number of items to which sets are padded or cut, and what that costs.

    ``longer`` says which sets are cut, as far as it is known, and ``plan`` has every length's error
    with the mechanism that is planned, where sets are known; ``uncut`` is the smallest length at
    which none of them is cut, with the total error at it; ``read_as`` says how a pilot was read.
    ``given`` says that the survey states the length.

    Examples
    --------
    >>> from planner import plan_survey
    >>> (question,) = plan_survey("examples/baskets.toml").questions
    >>> question.fact(Padded).length
    10
    """

    length: int
    longer: LongerSets | None
    plan: PaddingPlan | None = None
    uncut: tuple[int, float] | None = None
    read_as: str = ""
    given: bool = False


class SetKind(Kind[ItemSet, CollectedLaw]):
    """A set of answers: reported whole, or one that is drawn of it with a table."""

    def mechanisms(self, question: ItemSet) -> list[str]:
        """Designs are for the total error."""
        offered = super().mechanisms(question)
        if question.criterion == "total":
            return offered
        return [name for name in offered if name != SET_DESIGN]

    def fitted(self, question: ItemSet, users: float, share: float = 1.0) -> ItemSet:
        """The question with a padding length: its own, else the best for so many people.

        Of ``"best"`` it is that of the set design, or of the best table if its error is smaller.
        """
        _check_cap(question)
        if question.padding_length is not None:
            return question
        sets = set_model_of(question)
        if sets is None:
            raise _no_length(question)
        refuse_objective(question)
        people = max(1, round(users))
        part = Part.alone(question, people, share)
        policy = part.deployed.policy
        plans = []
        # A table's chances do not depend on the length; a design is made for each anew.
        if question.mechanism in (BEST, SET_DESIGN):
            plans.append(_padding(part, None, sets))
        if question.mechanism != SET_DESIGN and policy.rule.covers_sets:
            model = question.mechanism
            if model == BEST:
                model = "opt0"
            table = solve_for(policy, model)
            plans.append(_padding(part, table, sets))
        best = min(plans, key=lambda plan: plan.mse.min())
        return question.replacing(padding_length=best.length)

    def shared(self, question: ItemSet, users: int) -> Curve:
        """The error with a set design, if that is deployed, else with tables; at its length.

        They are compared at its full budgets.
        """
        name = question.name
        weight = question.weight
        asked = question.mechanism
        # Shares are found with opt0 in place of baselines, whose budget is one for all levels.
        model = "opt0"
        if asked in MODELS:
            model = asked
        objective, errors = law_at(question, users)
        policy = question.policy
        drawn = choice_curve(name, policy, weight, objective, errors, model)
        if asked not in (BEST, SET_DESIGN):
            return drawn

        def at(scale: float = 1.0, level: str | None = None, **_: object) -> Option:
            part = Part.alone(question, users).scaled(scale, level)
            option = whole_sets(part, question.padding_length or 1)
            return replace(option, bound=option.value)  # of set designs, it is the best

        design = at()
        covered = policy.rule.covers_sets
        _require_planned(question, design)
        if asked == BEST and covered:
            table = drawn.at()
            if table.squared < design.squared:
                return drawn
        return Curve(name, weight, design.errors, SET_DESIGN, at)

    def options(self, part: Part[ItemSet]) -> list[Option]:
        """A set design, tables for one item that is drawn of a set, and rivals, at one length."""
        question = part.deployed
        length = part.question.padding_length or 1
        objective, errors = law_at(question, part.everybody)
        policy = question.policy
        tables = []
        for name in (*MODELS, *BASELINES):
            # What is asked for by its name is planned, or refused with the reason.
            must = name == part.asked.mechanism
            table = solved(policy, name, objective, errors, must=must)
            if not policy.rule.covers_sets:
                reason = "budgets of sets are defined for the rule min alone"
                table = replace(table, refused=reason)
            tables.append(table)
        whole = whole_sets(part, length)
        _require_planned(part.asked, whole)
        options = [whole, *tables, *_rivals(part, whole)]
        return [_at_length(option, length) for option in options]

    def curve(self, part: Part[ItemSet], planned: Option) -> Curve:
        """The error at other budgets; a table is solved for them, at the same length."""
        if planned.name not in MODELS:
            return super().curve(part, planned)
        objective, errors = law_at(part.deployed, part.everybody)
        return choice_curve(
            name=part.asked.name,
            policy=part.deployed.policy,
            weight=part.asked.weight,
            objective=objective,
            errors=errors,
            mechanism=planned.name,
        )

    def searched(self, part: Part[ItemSet], planned: Option) -> Curve | None:
        """The total error of tables and set designs, at the best length unless one is asked for."""
        name = planned.name
        if name != SET_DESIGN and name not in MODELS:
            return None
        sets = set_model_of(part.deployed)

        # Scales are of what the question spends here, not of what it tolerates.
        spent = replace(part, question=part.deployed, share=1.0)

        def at(scale: float = 1.0, level: str | None = None, **_: object) -> Option:
            scaled = spent.scaled(scale, level)
            if name == SET_DESIGN:
                design = self.best_whole(scaled)
                return replace(design, bound=design.value)  # of set designs the best
            question = scaled.deployed
            length = part.asked.padding_length
            if length is None and sets is not None:
                # The length is chosen with the table for the total error, which it leaves as it is.
                table = solve_for(question.policy, name)
                length = _padding(scaled, table, sets).length
            objective, errors = law_at(question, part.everybody, length, TOTAL)
            option = solved(question.policy, name, objective, errors, must=True)
            return _at_length(option, length or 1)

        return replace(super().curve(part, planned), at=at)

    def compared(self, part: Part[ItemSet], option: Option) -> Option:
        """The option at the padding length that is best for it."""
        if option.law is None or part.asked.padding_length is not None:
            return option
        question = part.deployed
        sets = set_model_of(question)
        if sets is None:
            return option
        length = _padding(part, option.law, sets).length
        if option.name == SET_DESIGN:
            whole = whole_sets(part, length)
            return _at_length(whole, length)
        objective, errors = law_at(question, part.everybody, length)
        value = option.law.value(objective)
        drawn = replace(option, value=value, errors=errors)
        return _at_length(drawn, length)

    def best_whole(self, part: Part[ItemSet]) -> Option:
        """The set design at the best length, or at the one asked for."""
        length = part.asked.padding_length or 1
        return self.compared(part, whole_sets(part, length))

    def deployed(self, part: Part[ItemSet], option: Option) -> CollectedLaw:
        """A law, with what is known of longer sets."""
        # A set design is a law already; a table becomes one with the length that it pads to.
        law: CollectedLaw | None = getattr(option.law, "mechanism", None)
        if law is None:
            length = option.length or part.question.padding_length or 1
            law = padded(unary(option.law), length)
        sets = set_model_of(part.deployed)
        if sets is None:
            return law
        # A set is padded with as many dummies as the law's length says.
        levels = law.levels
        longer = sets.longer(levels.dummies, levels.total)
        return law.with_sizes(longer)

    def in_integers(self, part: Part[ItemSet], planned: Option) -> Option:
        """The option with a table's integers; a set design is planned by its own."""
        table = planned.law
        if not isinstance(table, UnaryTable):
            return planned
        mechanism = self.deployed(part, planned)
        law = self.law(part.deployed, mechanism)
        drawn = in_integers(table, law)
        objective, _ = law_at(part.deployed, part.everybody)
        value = drawn.value(objective)
        return replace(planned, law=drawn, value=value)

    def total(self, part: Part[ItemSet], planned: Option) -> Option:
        """Expected where sets are known, of all items alike; else for the worst."""
        if set_model_of(part.deployed) is not None or planned.name == SET_DESIGN:
            return planned
        _, errors = law_at(part.question, part.everybody, objective=TOTAL)
        value = planned.law.value(TOTAL)
        return replace(planned, value=value, errors=errors)

    def people_for(
        self, part: Part[ItemSet], facts: PlanFacts, total: Option, error: float
    ) -> int | None:
        """The fewest people for such an error: with more of them another length may be best."""
        # The fewest over all lengths: at more people the plan would take another.
        at_this_length = super().people_for(part, facts, total, error)
        padded = fact_of(facts, Padded)
        given = part.asked.padding_length is not None
        if given or padded is None or padded.plan is None:
            return at_this_length
        numbers = [at_this_length]
        squared_errors, biases = every_length(part, padded.plan)
        for squared, bias in np.column_stack([squared_errors, biases]).tolist():
            # What is cut stays, however many people there are; the rest falls with them.
            errors = ErrorLaw(bias=bias)
            people = errors.people(squared - bias, error, part.everybody)
            numbers.append(people)
        reached = [number for number in numbers if number is not None]
        return min(reached, default=None)

    def realised(self, question: ItemSet, mechanism: Any) -> Array:
        """What a report says of any two sets, in nats, ``(2, t)``."""
        largest = mechanism.shape.largest()
        return np.minimum(question.policy.largest_each_way, largest)

    def facts(
        self, part: Part[ItemSet], planned: Option, mechanism: CollectedLaw
    ) -> PlanFacts:
        """The levels, what padding costs, the table, or what is promised of whole sets."""
        length = part.question.padding_length or 1
        padded = Padded(
            length=length,
            longer=mechanism.asked.longer,
            given=part.asked.padding_length is not None,
        )
        sets = set_model_of(part.deployed)
        if sets is not None:
            plan = _padding(part, planned.law, sets)
            padded = replace(padded, plan=plan, read_as=sets.read_as)
            if plan.uncut is not None:
                errors, _ = every_length(part, plan)
                error = float(errors[plan.uncut - 1])
                uncut = (plan.uncut, part.total(error))
                padded = replace(padded, uncut=uncut)
        promised = planned.law
        if planned.name == SET_DESIGN:
            promised = _promises(part, planned)
        return levels_of(part, planned, length), padded, promised


def _check_cap(question: ItemSet) -> None:
    """Refuse a cap below the budget of items: two sets that differ in one item have that."""
    least = question.policy.plain(1).least_demanded()
    if question.cap is not None and question.cap < least:
        what = f"cap of question {question.name!r}"
        allowed = f"at least {least:g}, that of items"
        remedy = (
            "Leave it out for one budget of any two sets, or lower the levels' budgets."
        )
        raise InputError(what, question.cap, allowed, remedy)


def _no_length(question: ItemSet) -> InputError:
    """What is wrong where nothing is known from which a padding length could be chosen."""
    remedy = (
        f"Add {mark('padding_length')}, or in {mark('[question.sets]')} the shares of "
        "people with 0, 1, 2, ... items (sizes) or the file of a pilot."
    )
    where = (f"question {question.name!r}",)
    return InputError("sets", None, "given, or a padding length", remedy, place=where)


def _at_length(option: Option, length: int) -> Option:
    """The option, which is for sets that are padded to a ``length``."""
    return replace(option, note=f"l = {length}", length=length)


def _require_planned(question: ItemSet, whole: Option) -> None:
    """Refuse a question for which nothing but a set design will do, if there is none."""
    needed = question.mechanism == SET_DESIGN or not question.policy.rule.covers_sets
    if needed and whole.refused:
        remedy = 'Change that, or ask for another mechanism, under the rule "min".'
        raise InputError.because(SET_DESIGN, f"{SET_DESIGN}: {whole.refused}", remedy)


def whole_sets(part: Part[ItemSet], length: int) -> Option:
    """The set design at a padding length, or why there is none."""
    question = part.deployed
    policy = question.policy
    items = int(policy.item_counts.sum())
    length = min(length, items)
    cap = question.cap
    if question.objective != TOTAL:
        refused = "it is made for the total error, unweighted"
        return Option(SET_DESIGN, inf, ErrorLaw(), refused=refused)
    if cap is not None:
        # Sets of that many items differ in no more: what is above all their budgets is no use.
        of_an_item = policy.plain(1).least_demanded()
        cap = min(cap, length * of_an_item)
    try:
        design = set_design(policy, length, cap)
    except (InputError, VerificationError) as error:
        return Option(SET_DESIGN, inf, ErrorLaw(), refused=error.reason)
    law = SupportProbabilities.alike(policy, design)
    value, errors = _error_of_whole(part, length, law)
    bound = None
    if set_model_of(question) is None:
        bound = _least_of_all(design.levels, cap) or None
    return Option(SET_DESIGN, value, errors, law, bound)


def _error_of_whole(
    part: Part[ItemSet], length: int, protocol: SupportProbabilities
) -> tuple[float, ErrorLaw]:
    """What reports of whole sets with these two chances have: per person, and its law."""
    question = part.deployed
    if set_model_of(question) is None:
        # All levels have the same two chances. One person's set has at most as many items as
        # its length: the largest variance that a sample can add.
        items = int(question.policy.item_counts.sum())
        a = protocol.a[0]
        b = protocol.b[0]
        error = set_error(items, length, a, b)
        return float(error), ErrorLaw(spread=length)
    objective, errors = law_at(question, part.everybody, length, whole=True)
    return protocol.value(objective), errors


def _rivals(part: Part[ItemSet], whole: Option) -> list[Option]:
    """The literature's, beside a set design: formulas, which are compared alone."""
    if whole.refused:
        return []
    policy = part.deployed.policy
    levels = whole.law.mechanism.levels
    length = levels.dummies
    supports = rival_supports(levels.total, length, levels.least_demanded())
    options = []
    for name, support in supports.items():
        # They protect all levels like the strictest, with the same two chances.
        a, b = np.outer(support, np.ones(policy.size))
        protocol = SupportProbabilities(policy, a, b)
        value, errors = _error_of_whole(part, length, protocol)
        options.append(Option(name, value, errors, compared=True))
    return options


def _padding(
    part: Part[ItemSet], law: PureProtocol | None, sets: SetModel
) -> PaddingPlan:
    """Every padding length of what is planned with a table, or else of the set design."""
    match law:
        case UnaryTable():
            return plan_padding(law, part.people, sets)
    question = part.deployed
    return plan_whole_sets(question.policy, question.cap, part.people, sets)


def _promises(part: Part[ItemSet], planned: Option) -> SetPromises:
    """What a set design promises, and how near it is to the best of all."""
    law = planned.law
    shape = law.mechanism.shape
    levels = shape.levels
    bound = _least_of_all(levels, shape.cap)
    a = law.a[0]
    b = law.b[0]
    error = float(set_error(levels.total, levels.dummies, a, b))
    gap = inf
    if bound:  # a bound of 0 says nothing
        gap = error / bound - 1
    return SetPromises(
        epsilon=levels.least_demanded(),
        cap=shape.cap,
        length=levels.dummies,
        gap=gap,
        larger_cap=_with_larger_cap(part, planned),
    )


def _least_of_all(levels: Levels, cap: float | None) -> float:
    """What no unbiased mechanism with these promises undercuts."""
    epsilon = levels.least_demanded()
    return set_error_bound(levels.total, levels.dummies, epsilon, cap or epsilon)


def _with_larger_cap(
    part: Part[ItemSet], planned: Option
) -> tuple[float, float] | None:
    """A cap of twice the budget, and the total error with it; None if that buys nothing."""
    shape = planned.law.mechanism.shape
    sets = part.question.sets or AssumedSets()
    # Sets of one item differ in one at most: a cap above one budget would be no use for them.
    most_differing = min(2, part.asked.padding_length or 2)
    twice = most_differing * shape.levels.least_demanded()
    if not shape.cap * (1 + 1e-9) < twice <= MAX_EPSILON * part.share:
        return None
    # The survey states the cap before the question's share is taken of it.
    cap = twice / part.share
    capped = sets.replacing(cap=cap)
    question = part.question.replacing(sets=capped)
    larger = replace(part, question=question)
    # Another padding length may be the best with the larger cap.
    design = SetKind().best_whole(larger)
    error = design.sampled(part.fraction)
    if error >= planned.sampled(part.fraction):
        return None
    return cap, part.total(error)
