"""A question's part in its survey, what it can be planned with there, and at other budgets.

Every curve falls: whatever keeps smaller budgets keeps larger ones, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, inf, isfinite, sqrt
from typing import Any, Generic, TypeVar, cast

import numpy as np

from planner import arguments
from planner.arrays import Array
from planner.errors import InputError
from planner.mechanisms.catalogue import CATALOGUE
from planner.planning.ledger import Ledger
from planner.planning.power import GroupShares
from planner.planning.solve import DESIGN, TIGHT, TOTAL, scaled, solve_for
from planner.policy import logodds
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy
from planner.survey.joint import Joint
from planner.survey.ordinal import CHANNEL
from planner.survey.questions import Question

FLAT = 0.05
"""Errors within this share of the best are about as good."""
_DIGITS = 6  # to which designs are solved
_MOST_LEVELS_PAIRED = 1_000  # whose pairs are looked at


@dataclass(frozen=True, slots=True)
class Spending:
    """What an answer of one level of one question tolerates in all, and spends here, in nats.

    ``left`` is what earlier collections have left of ``tolerated``; ``against`` is what reports may
    say against the answers, where that has a budget of its own. A numeric question has one budget
    for all; ``level`` is then the question's name.
    """

    question: str
    level: str
    tolerated: float
    left: float
    spent: float
    against: float = 0.0


Q = TypeVar("Q", bound=Question)


@dataclass(frozen=True, slots=True)
class Part(Generic[Q]):
    """A question's part in a survey, settled.

    It is ``asked`` as in the survey; ``tolerated`` has a budget, where that was left open, and
    ``question`` the budgets left, and nothing open. It gets a ``share`` of these, and a
    ``fraction`` of ``everybody``, the number of people who are asked anything, are asked it.
    ``groups`` are the survey's known groups that are no numbers.
    """

    asked: Q
    tolerated: Q
    question: Q
    share: float
    fraction: float
    everybody: int
    groups: tuple[GroupShares, ...] = ()

    @classmethod
    def alone(cls, question: Q, people: int, share: float = 1.0) -> Part[Q]:
        """A settled question that so many people are asked, with a share of its budgets."""
        return cls(question, question, question, share, 1.0, people)

    @property
    def deployed(self) -> Q:
        """The question with its share of the budgets."""
        return at_scale(self.question, self.share)

    def scaled(self, scale: float, level: str | None = None) -> Part[Q]:
        """The part with its budgets times ``scale``: all, or those of one ``level`` alone."""
        return replace(self, question=at_scale(self.question, scale, level))

    @property
    def spending(self) -> tuple[Spending, ...]:
        """What its answers spend, level by level; of :attr:`by_parts` the levels of the parts."""
        if self.by_parts:
            return tuple(self._spending_of_parts())
        tolerated = self.tolerated.policy.tolerated.tolist()
        policy = self.question.policy
        left = policy.tolerated.tolist()
        # What is said against answers is stated where it has a budget of its own alone.
        against = [0.0] * policy.size
        if policy.against is not None:
            said_against = self.share * policy.largest_pairs(against=True)
            against = said_against.tolist()
        rows = []
        for i, level in enumerate(self.tolerated.policy.names):
            rows.append(
                Spending(
                    question=self.asked.name,
                    level=level,
                    tolerated=tolerated[i],
                    left=left[i],
                    spent=self.share * left[i],
                    against=against[i],
                )
            )
        return tuple(rows)

    @property
    def by_parts(self) -> bool:
        """Whether it spends by the levels of its parts: its own are kinds of pairs of answers."""
        if len(self.asked.together) == 1:
            return False
        policies = self.tolerated.policy, self.question.policy
        return not all(policy.rule.by_level for policy in policies)

    def _spending_of_parts(self) -> Iterator[Spending]:
        joint = cast("Joint", self.question)
        spent = joint.spent_on(self.share * joint.policy.bounds())
        tolerated_parts = cast("Joint", self.tolerated).parts
        parts = zip(tolerated_parts, joint.parts, spent, strict=True)
        for tolerated, left, nats in parts:
            for level, same in zip(tolerated.levels, left.levels, strict=True):
                yield Spending(
                    question=self.asked.name,
                    level=level.name,
                    tolerated=level.epsilon,
                    left=same.epsilon,
                    spent=nats[level.name],
                )

    @property
    def people(self) -> int:
        """Number of people who are asked this question."""
        return max(1, round(self.fraction * self.everybody))

    @property
    def rotation_groups(self) -> int:
        """Rounds, or values, of which a person reports one; 1 where all do."""
        rounds = self.asked.rounds
        if rounds is None or rounds.deployed is None:
            return 1
        return rounds.deployed.rotation_groups

    def in_round(self, option: Option) -> tuple[Part[Q], Option]:
        """The part of those alone who report in a round, or about a value, and its option."""
        # Where times of changes are open each person draws on their own which value to report.
        if self.asked.rounds is not None and self.asked.rounds.times_open:
            option = replace(option, errors=option.errors.drawn_independently)
        fraction = self.fraction / self.rotation_groups
        return replace(self, fraction=fraction), option

    @property
    def whole(self) -> float:
        """The whole of which errors are shares: the people asked, or half the range of a mean."""
        if self.asked.of_mean:
            return getattr(self.asked, "radius", 1.0)
        return self.people

    def total(self, error: float) -> float:
        """Squared error per person of the survey as a root, in people or in the mean's unit."""
        return self.whole * sqrt(error / self.everybody)


AnyPart = Part[Any]
"""Of a question of any kind."""


def with_budget_left(question: Q, ledger: Ledger) -> Q:
    """The question with what the ledger has left of its budgets; of a joint one of its parts'."""
    if len(question.together) > 1:
        parts = tuple(with_budget_left(part, ledger) for part in question.together)
        return cast("Q", question.replacing(parts=parts))
    left = ledger.left(question.policy)
    # Nothing was spent: the question stays as it was stated.
    if left is question.policy:
        return question
    return _with_policy(question, left)


def at_scale(question: Q, scale: float, level: str | None = None) -> Q:
    """The question with its budgets times ``scale``, of one ``level`` alone or all and others."""
    if scale == 1:
        return question
    policy = scaled(question.policy, scale, level)
    if level is not None:
        return _with_policy(question, policy)
    # A cap on any two sets, and the budget of "none of them", are stated beside those of levels.
    others = {}
    sets = getattr(question, "sets", None)
    if sets is not None and sets.cap is not None:
        others["sets"] = sets.replacing(cap=scale * sets.cap)
    sampling = getattr(question, "sampling", None)
    if sampling is not None and sampling.none_epsilon is not None:
        none_epsilon = scale * sampling.none_epsilon
        others["sampling"] = sampling.replacing(none_epsilon=none_epsilon)
    scaled_question = _with_policy(question, policy)
    if not others:
        return scaled_question
    return cast("Q", scaled_question.replacing(**others))


def _with_policy(question: Q, policy: PrivacyPolicy) -> Q:
    """The question with the budgets of a policy, level by level or in all."""
    budgets = policy.epsilons.tolist()
    changed: dict[str, object] = {}
    if question.levels:
        levels = []
        for i, level in enumerate(question.levels):
            changed_level = level.replacing(epsilon=budgets[i])
            if policy.against is not None and policy.against[i] < inf:
                against = float(policy.against[i])
                changed_level = changed_level.replacing(against=against)
            levels.append(changed_level)
        changed["levels"] = tuple(levels)
    else:
        changed["epsilon"] = budgets[0]
    # A matrix states the budgets of pairs beside those of levels, and changes with them.
    if not policy.rule.by_level:
        changed["rule"] = policy.rule.plain(policy.epsilons)
    return cast("Q", question.replacing(**changed))


@dataclass(frozen=True, slots=True)
class ErrorLaw:
    """Squared error per person of the survey, from an objective's value and the share asked.

    ``(scale value + offset + spread) / fraction + bias - spread``: noise grows as fewer are asked,
    a squared ``bias`` does not, and the answers left out add what a sample misses. An upper bound.
    No budget changes ``offset``; ``spread`` is the largest variance of one person's answers,
    ``1 - 1/m`` of one answer out of ``m``, and ``length`` the mean square of a choice.
    """

    scale: float = 1.0
    offset: float = 0.0
    bias: float = 0.0
    spread: float = 0.0
    length: float = 0.0

    @property
    def drawn_independently(self) -> ErrorLaw:
        """The law where each person is drawn on their own, and not exactly so many of them.

        What a sample misses is then a mean square, not a variance.
        """
        return replace(self, spread=max(self.length, self.spread))

    def error(self, value: float, fraction: float = 1.0) -> float:
        """Squared error per person of the survey where ``fraction`` of them are asked."""
        noise = self.scale * value + self.offset
        if fraction < 1:
            noise = (noise + self.spread) / fraction - self.spread
        # An offset may be negative, and rounding leave less than nothing.
        return max(noise + self.bias, 0.0)

    def people(
        self, value: float, target: float, users: int, fraction: float = 1.0
    ) -> int | None:
        """The fewest people of the survey at whom its error is ``target``, a share of them.

        The bias is that of ``users`` people, per person. None if it alone is too large.
        """
        room = target**2 - self.bias / users
        if room <= 0:
            return None
        noise = self.error(value, fraction) - self.bias
        # The last digits are left out: a target that is met exactly needs nobody more.
        return ceil(noise / room * (1 - 1e-12))


@dataclass(frozen=True, slots=True, eq=False)
class Option:
    """A mechanism at the budgets that a question spends, and what it would do.

    ``value`` is that of the question's objective per person; ``errors`` make the squared error of
    it. ``law`` is deployed, or what it does level by level, None where that is not known. No
    mechanism of its form has a value below ``bound``; of a subset design none of any form.
    ``refused`` says why it is not planned, in a clause; nothing deploys what is ``compared`` alone.
    Once ranked it has its total ``error`` in the plan's unit, and that over the plan's, less 1.
    ``length`` is what sets are padded to; 0 of others.
    """

    name: str
    value: float
    errors: ErrorLaw
    law: Any = None
    bound: float | None = None
    note: str = ""
    refused: str = ""
    compared: bool = False
    error: float = inf
    against: float = 0.0
    length: int = 0

    @property
    def squared(self) -> float:
        """The squared error per person, where everybody is asked."""
        return self.sampled(1.0)

    def sampled(self, fraction: float) -> float:
        """The squared error per person of the survey, where a ``fraction`` of them is asked."""
        return self.errors.error(self.value, fraction)

    @property
    def squared_bound(self) -> float:
        """The squared error that no mechanism of its form undercuts; 0 where nothing is proven."""
        if self.bound is None:
            return 0.0
        return self.errors.error(self.bound)

    @property
    def of_all(self) -> bool:
        """Whether its bound is one of all mechanisms, whatever their form."""
        return self.name in (DESIGN, CHANNEL)

    @property
    def title(self) -> str:
        """The mechanism's name for people, with a note."""
        label = CATALOGUE[self.name].label
        notes = []
        if self.note:
            notes.append(self.note)
        if self.compared:
            notes.append("not deployed here")
        if not notes:
            return label
        return f"{label}, {'; '.join(notes)}"

    @property
    def by_level(self) -> bool:
        """Whether every level has what it tolerates; else all are protected like the strictest."""
        return CATALOGUE[self.name].by_level


def best_deployable(options: Sequence[Option]) -> Option | None:
    """The one that can be deployed with the smallest error; of equal ones the catalogue's first."""
    deployable = [
        option for option in options if not (option.refused or option.compared)
    ]
    order = list(CATALOGUE)
    deployable.sort(key=lambda option: order.index(option.name))

    def error(option: Option) -> float:
        return to_solved_digits(option.squared)

    # Of several least ones min takes the first.
    return min(deployable, key=error, default=None)


def to_solved_digits(error: float) -> float:
    """Errors that differ by what solvers leave open alone are equal."""
    return float(f"{error:.{_DIGITS}g}")


def relative_excess(error: float, planned: float) -> float:
    """The share by which an error is larger than the plan's own, 0 if by rounding alone."""
    if planned == 0:  # a single answer, which nobody need give
        return 0.0 if error == 0 else inf
    share = error / planned - 1
    if abs(share) > 10.0**-_DIGITS:
        return share
    return 0.0


def flat_region(errors: Array, best: int) -> tuple[int, int]:
    """The first and the last place around the best whose errors are all about as good."""
    # By "not at most", so that an error that is not known, NaN, is far.
    as_good = errors <= (1 + FLAT) * errors[best]
    far = np.flatnonzero(~as_good)
    # The nearest places on either side that are not as good, or those beyond the ends.
    before = far[far < best].max(initial=-1)
    after = far[far > best].min(initial=errors.size)
    return int(before) + 1, int(after) - 1


# -- its error at any scale of its budgets ------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """A question's error with one mechanism at any scale of its budgets, and its weight in a sum.

    ``at(scale=1, level=None, tolerance=1e-6)`` is the :class:`Option` there, with its proof: with
    budgets times ``scale``, above 0, of one ``level`` alone or all, a design solved to the
    ``tolerance``. ``errors`` make its squared error; ``convex`` says that this is proven convex in
    the scale of all budgets; ``carried`` is what its part of a sum is at least at larger scales, by
    a bound at a smaller one.

    Raises
    ------
    InputError
        The weight is not finite and above 0.

    Examples
    --------
    >>> curve = choice_curve("page", PrivacyPolicy([1.0, 2.0], [5, 90], names=["own", "public"]))
    >>> options = curve.at(), curve.at(2.0), curve.at(2.0, "own")
    >>> [round(option.squared, 1) for option in options]
    [220.9, 45.2, 69.8]
    """

    name: str
    weight: float
    errors: ErrorLaw
    mechanism: str
    at: Callable[..., Option]
    convex: bool = False
    carried: Callable[[Array, Array, Array], Array] | None = None

    def __post_init__(self) -> None:
        if not (isfinite(self.weight) and self.weight > 0):
            remedy = "Leave a question that does not matter out of the survey."
            what = f"weight of question {self.name!r}"
            raise InputError(what, self.weight, "finite and above 0", remedy)


def choice_curve(
    name: str,
    policy: PrivacyPolicy,
    weight: float = 1.0,
    objective: Objective = TOTAL,
    errors: ErrorLaw | None = None,
    mechanism: str = "opt0",
) -> Curve:
    """A question about one answer out of several, or about one item drawn of a set.

    Parameters
    ----------
    name, policy:
        The question, and its levels with the budgets tolerated for the whole survey.
    weight:
        Importance of its error in a sum, above 0.
    objective, errors:
        What is made small, the worst-case total by default, and from its value to the error; of
        one answer out of ``m`` when omitted.
    mechanism:
        ``"opt0"``, ``"opt1"``, ``"opt2"`` or ``"subset-design"``; of opt0 it is proven convex.

    Raises
    ------
    InputError
        The weight is out of range.

    Examples
    --------
    >>> from planner import PrivacyPolicy, allocate
    >>> curve = choice_curve("diagnosis", PrivacyPolicy([1.0, 2.0], [1, 4]))
    >>> allocate([curve]).shares.tolist()  # alone it gets everything
    [1.0]
    """
    law = errors
    if law is None:
        items = policy.item_counts.sum()
        law = ErrorLaw(spread=float(1 - 1 / items))

    def at(
        scale: float = 1.0, level: str | None = None, *, tolerance: float = TIGHT
    ) -> Option:
        moved = scaled(policy, scale, level)
        solved = solve_for(moved, mechanism, objective, tolerance)
        proof = solved.certificate
        proven = None
        if proof is not None:
            # Levels of importance 0 count a millionth in what is solved.
            proven = proof.solved_bound or proof.lower_bound
        value = solved.value(objective)
        return Option(mechanism, value, law, solved, proven)

    closed = policy.size <= _MOST_LEVELS_PAIRED and not policy.rule.open_pairs
    if mechanism != DESIGN or objective.kind != "worst-case" or not closed:
        return Curve(name, weight, law, mechanism, at, convex=mechanism == "opt0")
    # What one person's own item counts for: squared errors plus that grow as 1/kept^2.
    largest = float(objective.item_weights(policy).max())
    item = weight * law.scale * largest
    bounds = policy.bounds()
    least = bounds.min()
    most = bounds.max(axis=0).min()

    def carried(part: Array, scale: Array, larger: Array) -> Array:
        """The bound at a ``larger`` scale, from ``part``, that at ``scale`` (surveys.md)."""
        # By expm1, as budgets may be tiny and the two shares next to each other.
        change = np.expm1((scale - larger) * least)
        lost = np.exp(larger * most) * change / np.expm1(scale * least)
        kept = 1 / (1 - lost)
        return (part + item) * kept**2 - item

    return Curve(name, weight, law, mechanism, at, carried=carried)


def mean_curve(
    name: str,
    epsilon: float,
    weight: float = 1.0,
    error: Callable[[float], float] = lambda excess: 1 + excess,
) -> Curve:
    """A question about a mean, answered by one bit with budget ``epsilon``, in nats, at most 50.

    ``error`` is a variance for people drawn at random, from ``1 / tanh^2(g eps / 2) - 1``, which is
    ``4 p (1 + p)`` at ``p(g eps)``: convex and not falling. Harmony's for the least favourable
    answers, if omitted.

    Raises
    ------
    InputError
        A number is out of range.

    Examples
    --------
    >>> round(mean_curve("income", 2.0).at(0.5).squared, 6)
    4.682694
    """
    arguments.budget("epsilon", epsilon)

    def at(scale: float = 1.0, **_: object) -> Option:
        spent = np.array(scale * epsilon)
        p = float(logodds.p(spent))
        excess = 4 * p * (1 + p)
        value = float(error(excess))
        # A formula, and so its own bound.
        return Option("bisample-md", value, ErrorLaw(), bound=value)

    return Curve(
        name=name,
        weight=weight,
        errors=ErrorLaw(),
        mechanism="bisample-md",
        at=at,
        convex=True,
    )
