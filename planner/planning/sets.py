"""Questions about item sets: each mechanism at its padding length, and what padding costs.

With padding length ``l`` a set of more than ``l`` items loses the share ``1 - l/|x|`` of each,
a bias that grows with the square of the number of people; the variance of a table grows with
``l^2``, that of a set design with ``l``. The IDUE paper leaves the best ``l`` as future work. Here
it is the whole number with the smallest expected total squared error

    sum_k bias_k^2 + var_k,    var_k = l^2/(a-b)^2 sum_u q_u (1-q_u),    q_u = b + (a-b) P_u(k)

for what is known of the sets (:mod:`planner.survey.assumed`); of set designs there is no factor
``l^2``, and ``P_u(k)`` is ``l`` times as large.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import repeat
from math import inf, sqrt
from typing import Any

import numpy as np

from planner.arguments import whole_number
from planner.arrays import Array, Whole
from planner.errors import InputError, VerificationError, mark
from planner.estimates.item_sets import LongerSets
from planner.laws.levels import Levels
from planner.limits import MAX_EPSILON, MAX_WHOLE_SET
from planner.mechanisms.asking import CollectedLaw
from planner.mechanisms.making import padded, set_design, unary
from planner.mechanisms.set_design import (
    best_set_design,
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
    flat_region,
)
from planner.planning.solve import TOTAL, solve_for
from planner.policy import logodds
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy
from planner.solvers.answers import UnaryTable
from planner.solvers.models import MODELS
from planner.solvers.solving import BASELINES
from planner.survey.assumed import AssumedSets
from planner.survey.questions import BEST, SET_DESIGN, ItemSet

_DESIGN_LENGTHS = 60  # lengths of which set designs are made
_MOST_AT_ONCE = 1_000_000  # numbers per length and level that are held at a time


@dataclass(frozen=True, slots=True, eq=False)
class PaddingPlan:
    """The best padding length, and the expected error of every other.

    Attributes
    ----------
    length, lengths:
        The best ``l``, and all that are compared, shape ``(k,)``.
    bias2, variance:
        Expected total squared bias and variance per user at each, shape ``(k,)``.
    flat_lower, flat_upper:
        Around the best, all lengths between these have an error within 5 % of it.
    lost, users:
        Share of all answers that are cut away, shape ``(k,)``; number of people.
    """

    length: int
    lengths: Whole
    bias2: Array
    variance: Array
    flat_lower: int
    flat_upper: int
    lost: Array
    users: int

    def in_people(self, squared: Array) -> Array:
        """Errors of all people's counts, from squared ones per user such as :attr:`mse`."""
        return np.sqrt(self.users * squared)

    @property
    def uncut(self) -> int | None:
        """The smallest length at which no set is cut, as far as is known of the sets, if any."""
        return next(iter(self.lengths[self.lost <= 0].tolist()), None)

    @property
    def mse(self) -> Array:
        """Expected total squared error per user at each length, shape ``(k,)``."""
        return self.bias2 + self.variance


def plan_padding(table: UnaryTable, users: int, sets: SetModel) -> PaddingPlan:
    """The padding length with the smallest expected total error for ``users`` people.

    ``table`` has bit probabilities per level; ``sets`` is what is known of the sets, a histogram of
    sizes or a pilot.

    Raises
    ------
    InputError
        ``users`` out of range, or a pilot that does not fit the levels.

    Examples
    --------
    >>> from planner.survey.assumed import AssumedSets
    >>> from planner import PrivacyPolicy, solve
    >>> table = solve(PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90]))
    >>> sets = AssumedSets([0.1, 0.3, 0.3, 0.2, 0.05, 0.05])
    >>> [plan_padding(table, users, sets).length for users in (100, 10_000, 1_000_000)]
    [1, 1, 3]
    """
    noise = np.full(sets.largest, table.policy.item_counts @ table.noise)
    return _planned(table.policy, users, sets, noise, table.signal, whole=False)


def plan_whole_sets(
    policy: PrivacyPolicy, cap: float | None, users: int, sets: SetModel
) -> PaddingPlan:
    """The same where reports are about whole sets: the best set design of every length.

    Lengths up to the number of items, and to 1,024. Of more than 60 the designs of 60 are made,
    whose two chances those of the others lie between.

    Examples
    --------
    >>> from planner.survey.assumed import AssumedSets
    >>> sets, policy = AssumedSets([0.1, 0.3, 0.3, 0.2, 0.05, 0.05]), PrivacyPolicy([1.0], [100])
    >>> [plan_whole_sets(policy, None, users, sets).length for users in (100, 10_000, 1_000_000)]
    [1, 2, 4]
    """
    items = int(policy.item_counts.sum())
    epsilon = policy.plain(1).least_demanded()
    lengths = tried = np.arange(1, min(sets.largest, items, MAX_WHOLE_SET) + 1)
    if tried.size > _DESIGN_LENGTHS:
        tried = np.unique(np.geomspace(1, tried.size, _DESIGN_LENGTHS).astype(np.int64))
    caps = [min(cap or epsilon, length * epsilon) for length in tried.tolist()]
    designs = map(best_set_design, repeat(items), tried.tolist(), repeat(epsilon), caps)
    a, b = np.array([design.support for design in designs]).T
    terms = logodds.noise_and_signal(a, b)
    noise, signal = (np.interp(lengths, tried, term) for term in terms)
    return _planned(policy, users, sets, items * noise, signal[:, None], whole=True)


def _planned(
    policy: PrivacyPolicy,
    users: int,
    sets: SetModel,
    noise: Array,
    signal: Array,
    *,
    whole: bool,
) -> PaddingPlan:
    """For the noise of all items at each length, and the signal of those of each level."""
    whole_number("users", users)
    lengths = np.arange(1, noise.size + 1)
    signal = np.broadcast_to(signal, (lengths.size, policy.size))
    bias2, variance, lost = np.empty((3, lengths.size))
    parts = -(-lengths.size * policy.size // _MOST_AT_ONCE)
    for part in np.array_split(np.arange(lengths.size), parts):
        length = lengths[part].astype(np.float64)
        scale = 1 if whole else length
        at = sets.moments(lengths[part], policy.item_counts)
        bias2[part] = (users - 1) * at.lost2 + at.spread2
        held = np.einsum("lt,lt->l", at.once, 1 + signal[part])
        variance[part] = (
            scale**2 * noise[part] + scale * length * held - length**2 * at.twice
        )
        lost[part] = at.lost / sets.mean_size
    mse = bias2 + variance
    best = int(np.argmin(mse))
    lower, upper = flat_region(mse, best)
    lost[lengths >= sets.largest] = 0.0  # not a rounding error of the sums
    flat = int(lengths[lower]), int(lengths[upper])
    return PaddingPlan(int(lengths[best]), lengths, bias2, variance, *flat, lost, users)


@dataclass(frozen=True, slots=True)
class SetPromises:
    """What a set design promises, and how near to the best it is.

    ``epsilon`` is the budget of two sets that differ in one item and ``cap`` that of any two, in
    nats; sets up to ``length`` items are not cut. Its error for the worst set may be above that of
    the best unbiased mechanism for sets of ``length`` items by ``gap``, a share; ``inf`` where the
    bound says nothing. ``larger_cap`` is the cap of twice the budget, as the survey would state it,
    and the total error with it, in people; None if that buys nothing.
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


def law_at(
    question: ItemSet,
    users: int,
    length: int | None = None,
    objective: Objective | None = None,
    *,
    whole: bool = False,
) -> tuple[Objective, ErrorLaw]:
    """What tables for a drawn item are made for at a padding length, and the error of the sets.

    Or what reports about ``whole`` sets have an error for, where the sets are known.

    The error falls with the objective's value, and so in the budgets. Where nothing is known of the
    sets ``objective`` stands in place of the question's own.

    Examples
    --------
    >>> from planner.survey.levels import Level
    >>> from planner.survey.assumed import AssumedSets
    >>> about = ItemSet("q", (Level("a", 1.0, item_count=4),), sets=AssumedSets([0, 1, 1]))
    >>> [law_at(about, 100, length)[0].prior for length in (1, 2)], law_at(about, 100, 2)[1].bias
    ([(1.0,), (0.75,)], 0.0)
    """
    sets = set_model_of(question)
    length = length or question.padding_length or 1
    if sets is None:
        # Noise l^2, and at most l items of signal l (signal + 1) - 1.
        objective = objective or question.objective
        most = max(objective.weights or (1.0,)) * length
        return objective, ErrorLaw(length**2, most * (length - 1), spread=most)
    _refuse_objective(question)
    at = sets.moments(length, question.policy.item_counts)
    # The variance at a length is its square times the expected objective whose prior is what is
    # drawn per level, and an offset; of whole sets, without the square, for what is held.
    scale = 1 if whole else length
    counts = question.policy.item_counts
    prior = np.minimum(length // scale * at.once, counts)
    offset = length * scale * float(at.once.sum()) - length**2 * float(at.twice)
    bias = float((users - 1) * at.lost2 + at.spread2)
    # The sum of f (1 - f) is at most that of items as frequent as their level's on average.
    held = length * at.once
    spread = float((held - np.square(held) / counts).sum())
    expected = Objective("expected", prior=prior.tolist())
    return expected, ErrorLaw(scale**2, offset, bias, spread)


@dataclass(frozen=True, slots=True, eq=False)
class Padded:
    """To how many items sets are padded or cut, and what that costs.

    ``longer`` says which sets are cut, as far as it is known, and ``plan`` has every length's error
    with the mechanism that is planned, where sets are known; ``uncut`` is the smallest length at
    which none of them is cut, with the total error at it; ``said`` is as what a pilot was read.
    ``given`` says that the survey states the length.
    """

    length: int
    longer: LongerSets | None
    plan: PaddingPlan | None = None
    uncut: tuple[int, float] | None = None
    said: str = ""
    given: bool = False


class SetKind(Kind[ItemSet, CollectedLaw]):
    """A set of answers: reported whole, or one that is drawn of it with a table."""

    def mechanisms(self, question: ItemSet) -> list[str]:
        """Designs are for the total error."""
        total = question.criterion == "total"
        return [
            name for name in super().mechanisms(question) if total or name != SET_DESIGN
        ]

    def fitted(self, question: ItemSet, users: float, share: float = 1.0) -> ItemSet:
        """With a padding length: its own, else the best for so many people.

        Of ``"best"`` it is that of the set design, or of the best table if its error is smaller.
        """
        least = question.policy.plain(1).least_demanded()
        if (
            question.cap is not None and question.cap < least
        ):  # no mechanism is made to keep it
            remedy = "Leave it out for one budget of any two sets, or lower the levels' budgets."
            what = f"cap of question {question.name!r}"
            raise InputError(
                what, question.cap, f"at least {least:g}, that of items", remedy
            )
        if question.padding_length is not None:
            return question
        sets = set_model_of(question)
        if sets is None:
            remedy = (
                f"Add {mark('padding_length')}, or in {mark('[question.sets]')} the shares of "
                "people with 0, 1, 2, ... items (sizes) or the file of a pilot."
            )
            place = (f"question {question.name!r}",)
            raise InputError(
                "sets", None, "given, or a padding length", remedy, place=place
            )
        _refuse_objective(question)
        part = Part.alone(question, max(1, round(users)), share)
        policy = part.deployed.policy
        plans = []
        if question.mechanism in (BEST, SET_DESIGN):
            plans.append(_padding(part, None, sets))
        if question.mechanism != SET_DESIGN and policy.rule.covers_sets:
            table = solve_for(
                policy, "opt0" if question.mechanism == BEST else question.mechanism
            )
            plans.append(_padding(part, table, sets))
        return question.replacing(
            padding_length=min(plans, key=lambda plan: plan.mse.min()).length
        )

    def shared(self, question: ItemSet, users: int) -> Curve:
        """With its set design, if that is deployed, else with tables; at its padding length.

        They are compared at its full budgets.
        """
        name = question.name
        weight = question.weight
        asked = question.mechanism
        rough = asked if asked in MODELS else "opt0"
        about = law_at(question, users)
        drawn = choice_curve(name, question.policy, weight, *about, rough)
        if asked not in (BEST, SET_DESIGN):
            return drawn

        def at(scale: float = 1.0, level: str | None = None, **_: object) -> Option:
            part = Part.alone(question, users).scaled(scale, level)
            found = whole_sets(part, question.padding_length or 1)
            return replace(found, bound=found.value)  # of set designs, it is the best

        found = at()
        covered = question.policy.rule.covers_sets
        _require_planned(question, found)
        if asked == BEST and covered and drawn.at().squared < found.squared:
            return drawn
        return Curve(name, weight, found.errors, SET_DESIGN, at)

    def options(self, part: Part[ItemSet]) -> list[Option]:
        """A set design, tables for one item that is drawn of a set, and rivals, at one length."""
        question = part.deployed
        length = part.question.padding_length or 1
        about = law_at(question, part.everybody)
        must = part.asked.mechanism
        names = (*MODELS, *BASELINES)
        policy = question.policy
        found = [solved(policy, name, *about, must=name == must) for name in names]
        if not question.policy.rule.covers_sets:
            reason = "budgets of sets are defined for the rule min alone"
            found = [replace(one, refused=reason) for one in found]
        whole = whole_sets(part, length)
        _require_planned(part.asked, whole)
        every = (whole, *found, *_rivals(part, whole))
        return [replace(one, note=f"l = {length}") for one in every]

    def curve(self, part: Part[ItemSet], planned: Option) -> Curve:
        """Of a table it is solved for other budgets, at the same length."""
        if planned.name not in MODELS:
            return super().curve(part, planned)
        objective, errors = law_at(part.deployed, part.everybody)
        about = part.asked.weight, objective, errors, planned.name
        return choice_curve(part.asked.name, part.deployed.policy, *about)

    def searched(self, part: Part[ItemSet], planned: Option) -> Curve | None:
        """Of tables and set designs, at the best length of each scale, if none is asked for."""
        whole = planned.name == SET_DESIGN
        sets = set_model_of(part.deployed)
        if not whole and planned.name not in MODELS:
            return None

        own = replace(part, question=part.deployed, share=1.0)

        def at(scale: float = 1.0, level: str | None = None, **_: object) -> Option:
            there = own.scaled(scale, level)
            if whole:
                found = self.best_whole(there)
                return replace(
                    found, bound=found.value
                )  # of set designs, it is the best
            policy = there.deployed.policy
            length = part.asked.padding_length
            if length is None and sets is not None:
                length = _padding(there, solve_for(policy, planned.name), sets).length
            about = law_at(there.deployed, part.everybody, length, TOTAL)
            found = solved(policy, planned.name, *about, must=True)
            return replace(found, note=f"l = {length}")

        return Curve(
            part.asked.name, part.asked.weight, planned.errors, planned.name, at
        )

    def compared(self, part: Part[ItemSet], option: Option) -> Option:
        """At the padding length that is best for it."""
        question = part.deployed
        sets = set_model_of(question)
        if option.law is None or sets is None or part.asked.padding_length is not None:
            return option
        length = _padding(part, option.law, sets).length
        if option.name == SET_DESIGN:
            found = whole_sets(part, length)
        else:
            objective, errors = law_at(question, part.everybody, length)
            found = replace(option, value=option.law.value(objective), errors=errors)
        return replace(found, note=f"l = {length}")

    def best_whole(self, part: Part[ItemSet]) -> Option:
        """The set design at the best length, or at the one asked for."""
        return self.compared(part, whole_sets(part, part.asked.padding_length or 1))

    def deployed(self, part: Part[ItemSet], option: Option) -> CollectedLaw:
        """A law, with what is known of longer sets."""
        length = part.question.padding_length or 1
        sets = set_model_of(part.deployed)
        whole: CollectedLaw | None = getattr(option.law, "mechanism", None)
        law = padded(unary(option.law), length) if whole is None else whole
        items = law.levels.total
        length = law.levels.dummies
        return law if sets is None else law.with_sizes(sets.longer(length, items))

    def total(self, part: Part[ItemSet], planned: Option) -> Option:
        """Expected where sets are known, of all items alike; else for the worst."""
        if set_model_of(part.deployed) is not None or planned.name == SET_DESIGN:
            return planned
        _, errors = law_at(part.question, part.everybody, objective=TOTAL)
        return replace(planned, value=planned.law.value(TOTAL), errors=errors)

    def people_for(
        self, part: Part[ItemSet], facts: PlanFacts, total: Option, error: float
    ) -> int | None:
        """With more of them another padding length may be best."""
        found = [super().people_for(part, facts, total, error)]
        padded = fact_of(facts, Padded)
        known = None if padded is None else padded.plan
        if known is not None and part.asked.padding_length is None:
            pairs = zip(*every_length(part, known), strict=True)
            laws = (
                (ErrorLaw(bias=float(bias)), float(square - bias))
                for square, bias in pairs
            )
            found += [law.people(noise, error, part.everybody) for law, noise in laws]
        return min((one for one in found if one is not None), default=None)

    def realised(self, question: ItemSet, mechanism: Any) -> Array:
        """Of any two sets."""
        policy = question.policy
        spent = np.array([policy.largest_pairs(), policy.largest_pairs(against=True)])
        return np.minimum(spent, mechanism.shape.largest())

    def facts(
        self, part: Part[ItemSet], planned: Option, mechanism: CollectedLaw
    ) -> PlanFacts:
        """Its levels, what padding costs, the table, or what is promised of whole sets."""
        length = part.question.padding_length or 1
        sets = set_model_of(part.deployed)
        whole = planned.name == SET_DESIGN
        levels = levels_of(part, planned, length)
        longer = mechanism.asked.longer
        plan = None
        uncut = None
        if sets is not None:
            plan = _padding(part, planned.law, sets)
            if plan.uncut is not None:
                error = every_length(part, plan)[0][plan.uncut - 1]
                uncut = plan.uncut, part.total(float(error))
        about = _promises(part, planned) if whole else planned.law
        said = sets.said if sets else ""
        given = part.asked.padding_length is not None
        return levels, Padded(length, longer, plan, uncut, said, given), about


def _require_planned(question: ItemSet, whole: Option) -> None:
    """Where nothing but a set design will do, there must be one."""
    if whole.refused and (
        question.mechanism == SET_DESIGN or not question.policy.rule.covers_sets
    ):
        remedy = 'Change that, or ask for another mechanism, under the rule "min".'
        raise InputError.because(SET_DESIGN, f"{SET_DESIGN}: {whole.refused}", remedy)


def whole_sets(part: Part[ItemSet], length: int) -> Option:
    """The set design at a padding length, or why there is none."""
    question = part.deployed
    policy = part.deployed.policy
    length = min(length, int(policy.item_counts.sum()))
    cap = question.cap
    if question.objective != TOTAL:
        refused = "it is made for the total error, unweighted"
        return Option(SET_DESIGN, inf, ErrorLaw(), refused=refused)
    if cap is not None:  # more is no use
        cap = min(cap, length * policy.plain(1).least_demanded())
    try:
        found = set_design(policy, length, cap)
    except (InputError, VerificationError) as error:
        return Option(SET_DESIGN, inf, ErrorLaw(), refused=error.reason)
    law = SupportProbabilities.alike(policy, found)
    bound = _least_of_all(found.levels, cap) if set_model_of(question) is None else None
    return Option(SET_DESIGN, *_error_of_whole(part, length, law), law, bound or None)


def _error_of_whole(
    part: Part[ItemSet], length: int, terms: SupportProbabilities
) -> tuple[float, ErrorLaw]:
    """What reports of whole sets with these two chances have: per person, and its law."""
    question = part.deployed
    if set_model_of(question) is None:
        items = int(question.policy.item_counts.sum())
        return float(set_error(items, length, terms.a[0], terms.b[0])), ErrorLaw(
            spread=length
        )
    objective, errors = law_at(question, part.everybody, length, whole=True)
    return terms.value(objective), errors


def _rivals(part: Part[ItemSet], whole: Option) -> list[Option]:
    """The literature's, beside a set design: formulas, which are compared alone."""
    if whole.refused:
        return []
    policy = part.deployed.policy
    levels = whole.law.mechanism.levels
    found = []
    about = levels.total, levels.dummies, levels.least_demanded()
    for name, chances in rival_supports(*about).items():
        terms = SupportProbabilities(policy, *np.outer(chances, np.ones(policy.size)))
        found.append(
            Option(name, *_error_of_whole(part, about[1], terms), compared=True)
        )
    return found


def _padding(
    part: Part[ItemSet], law: PureProtocol | None, sets: SetModel
) -> PaddingPlan:
    """Every padding length of what is planned with a table, or else of the set design."""
    match law:
        case UnaryTable():
            return plan_padding(law, part.people, sets)
    return plan_whole_sets(part.deployed.policy, part.deployed.cap, part.people, sets)


def _promises(part: Part[ItemSet], planned: Option) -> SetPromises:
    law = planned.law
    shape = planned.law.mechanism.shape
    levels = shape.levels
    bound = _least_of_all(shape.levels, shape.cap)
    error = float(set_error(levels.total, levels.dummies, law.a[0], law.b[0]))
    about = (
        levels.least_demanded(),
        shape.cap,
        levels.dummies,
        error / bound - 1 if bound else inf,
    )
    return SetPromises(*about, _with_larger_cap(part, planned))


def _least_of_all(levels: Levels, cap: float | None) -> float:
    """What no unbiased mechanism with these promises undercuts."""
    epsilon = levels.least_demanded()
    return set_error_bound(levels.total, levels.dummies, epsilon, cap or epsilon)


def _with_larger_cap(
    part: Part[ItemSet], planned: Option
) -> tuple[float, float] | None:
    """A cap of twice the budget, and the total error with it; None if that buys nothing."""
    shape = planned.law.mechanism.shape
    known = part.question.sets or AssumedSets()
    twice = min(2, part.asked.padding_length or 2) * shape.levels.least_demanded()
    if not shape.cap * (1 + 1e-9) < twice <= MAX_EPSILON * part.share:
        return None
    asked = twice / part.share
    larger = replace(
        part, question=part.question.replacing(sets=known.replacing(cap=asked))
    )
    error = SetKind().best_whole(larger).sampled(part.fraction)
    better = error < planned.sampled(part.fraction)
    return (asked, part.total(error)) if better else None


def every_length(part: Part[ItemSet], padding: PaddingPlan) -> tuple[Array, Array]:
    """Error per person of the survey, and the bias in it, at every padding length."""
    bias = padding.bias2 / part.people * part.everybody
    spread = law_at(part.question, part.everybody)[1].spread
    return padding.variance / part.fraction + spread * (
        1 / part.fraction - 1
    ) + bias, bias


def _refuse_objective(question: ItemSet) -> None:
    if question.objective != TOTAL:
        remedy = (
            "Leave importance, prior and criterion out: what is known of the sets says what to "
            f"expect. Or give {mark('padding_length')} alone."
        )
        what = f"objective of question {question.name!r}"
        raise InputError(
            what, question.objective.kind, "the total error, unweighted", remedy
        )
