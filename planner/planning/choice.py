"""Questions about one answer, or two in one report: mechanisms, levels, targets, what they tell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import ceil
from typing import Self

import numpy as np
from numpy.typing import NDArray

from planner.arrays import Array, Whole
from planner.errors import InputError
from planner.estimates.cross_table import merged_cells, people_for_association
from planner.mechanisms.asking import CollectedLaw
from planner.mechanisms.catalogue import CATALOGUE
from planner.mechanisms.rivals import direct_encoding
from planner.planning.kind import Importance, Kind, PlanFacts
from planner.planning.option import (
    AnyPart,
    Curve,
    ErrorLaw,
    Option,
    Part,
    at_scale,
    choice_curve,
)
from planner.planning.shares import Allocation, allocate
from planner.planning.solve import DESIGN, ROUGH, TIGHT, Certified, solve_for, tried
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy
from planner.policy.rules import ONE_SIDED, rule_of
from planner.solvers.answers import TwoChances
from planner.solvers.models import MODELS
from planner.solvers.solving import BASELINES
from planner.survey.levels import Target, wrong_targets
from planner.survey.questions import (
    BEST,
    SET_DESIGN,
    Categorical,
    Joint,
    LevelledQuestion,
)

_MOST_ITEMS = 1_000_000  # beyond it only mechanisms described per level are compared
_MOST_DEPLOYED_ITEMS = 100_000
STRENGTH = 0.1
POWER = 0.8
"""The Cramér's V that people are counted for, and the chance to see it."""
# 95 %, one-sided, and power 80 %
_Z_LEVEL = 1.6448536269514722
_Z_POWER = 0.8416212335729143


def achieved(table: Terms, users: float, target: Target) -> float:
    """What ``table`` reaches for ``target``, as a share of ``users``; ``inf`` if undetectable."""
    chosen = _chosen(table, target)
    if target.kind == "detect":
        noise = table.noise[chosen]
        signal = table.signal[chosen]
        return float(detectable_frequencies(noise, signal, users).max())
    if target.level is None:
        return float(np.sqrt(table.worst_case_mse / users))
    return float(np.sqrt(table.noise[chosen].max() / users))


def users_needed(table: Terms, target: Target, fraction: float = 1.0) -> int:
    """How many users reach ``target`` with ``table``, where a ``fraction`` of them is asked.

    Examples
    --------
    >>> from planner import PrivacyPolicy, solve
    >>> table = solve(PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90]))
    >>> users_needed(table, Target(error=0.01))
    2397230
    """
    chosen = _chosen(table, target)
    noise = table.noise[chosen]
    signal = table.signal[chosen]
    if target.kind == "detect":
        spread = _Z_POWER * np.sqrt(noise + target.value * signal)
        exact = np.square((_Z_LEVEL * np.sqrt(noise) + spread) / target.value).max()
    else:
        exact = (
            table.worst_case_mse if target.level is None else noise.max()
        ) / target.value**2
    return ceil(exact / fraction * (1 - 1e-12))


def _chosen(table: Terms, target: Target) -> NDArray[np.intp]:
    check_targets([target], table.policy.names)
    if target.level is None:
        return np.arange(table.policy.size)
    return np.array([table.policy.names.index(target.level)])


def detectable_frequencies(noise: Array, signal: Array, users: float) -> Array:
    """Smallest share at which an item is told apart from an absent one; ``inf`` if none is.

    Smallest ``f`` with ``n f - z_power sd(f) >= z_level sd(0)``, at 95 % and a power of 80 %. With
    ``x = n f`` and ``t = z_level sd(0)``: ``(x - t)^2 = z_power^2 (n noise + x signal)``, the
    larger root of a quadratic.
    """
    reach = _Z_LEVEL * np.sqrt(users * noise)
    z2 = _Z_POWER**2
    half = reach + z2 * signal / 2
    root = half + np.sqrt(np.square(half) - np.square(reach) + z2 * users * noise)
    return np.where(root <= users, root / users, np.inf)


def check_targets(targets: Iterable[Target], levels: Sequence[str]) -> None:
    """Check targets against levels and each other."""
    for _, _, error in wrong_targets(tuple(targets), levels):
        raise error


@dataclass(frozen=True, slots=True, eq=False)
class LevelTerms(TwoChances):
    """What a mechanism that treats the items of a level alike does, as tables say it of themselves.

    The ``mechanism`` is None where it is not deployed here.
    """

    policy: PrivacyPolicy
    a: Array
    b: Array
    mechanism: CollectedLaw | None = None

    @classmethod
    def alike(cls, policy: PrivacyPolicy, mechanism: CollectedLaw) -> Self:
        """Of a mechanism that treats all items alike."""
        chances = (mechanism.shape.support() or [])[0]
        a, b = (np.full(policy.size, float(chance)) for chance in chances)
        return cls(policy, a, b, mechanism)


Terms = Certified | LevelTerms
Deployed = Certified | CollectedLaw
"""A table, a design, or the law of a plain mechanism."""


@dataclass(frozen=True, slots=True, eq=False)
class ByLevel:
    """What a report does and how exact it is, one entry per level, shape ``(t,)``.

    ``a`` and ``b`` are the probabilities that a report supports an item that was drawn (the
    person's answer, or one of their set), and one that was not; ``if_had`` that it supports an item
    that the person has, drawn or not. ``odds`` says these in words, of the first forty levels.
    ``standard_errors`` are those of a rare item's estimated count in people, of one round if it is
    asked again, ``percent`` of those who answer, padding included; ``detectable`` the smallest
    share of them at which an item is told apart from one that nobody has (95 %, power 80 %; None
    for sets).
    """

    names: tuple[str, ...]
    items: Whole
    epsilons: Array
    a: Array
    b: Array
    if_had: Array
    least_b: Array
    standard_errors: Array
    percent: Array
    detectable: Array | None


def rivals(
    policy: PrivacyPolicy, most_items: int = _MOST_ITEMS
) -> dict[str, CollectedLaw]:
    """The single-item mechanisms of plain LDP that protect every pair like the strictest.

    One is left out above its largest budget; of local hashing that is 20. None with one item or
    more than ``most_items``, or with a budget too small for the grid of 2^-32.
    """
    epsilon = policy.smallest_pair
    items = int(policy.item_counts.sum())
    offers = {one.name: one.at for one in CATALOGUE.values() if epsilon <= one.most}
    if not 2 <= items <= most_items:
        return {}
    try:
        return {
            name: at(epsilon, items) for name, at in offers.items() if at is not None
        }
    except InputError:
        return {}


def errors_of(question: LevelledQuestion) -> ErrorLaw:
    """The error law of a choice, from its objective's value."""
    objective = question.objective
    items = question.policy.item_counts
    weights = np.array(objective.weights or np.ones(items.size))
    if objective.prior is None:
        largest = float(weights.max())
        return ErrorLaw(spread=largest * float(1 - 1 / items.sum()), length=largest)
    prior = np.array(
        objective.prior
    )  # of a level's items as they differ most: all as frequent
    spread = float(weights @ (prior - np.square(prior) / items))
    return ErrorLaw(spread=spread, length=float(weights @ prior))


class ChoiceKind(Kind[Categorical, Deployed]):
    """One answer out of several: a table or a design for its levels, or a plain mechanism."""

    def mechanisms(self, question: Categorical) -> list[str]:
        """Those that are made for so many answers and such budgets."""
        known = {
            BEST,
            *MODELS,
            *BASELINES,
            *rivals(question.policy, _MOST_DEPLOYED_ITEMS),
        }
        if question.policy.item_counts.sum() > 1:
            known.add(DESIGN)
        return [name for name in super().mechanisms(question) if name in known]

    def shared(self, question: Categorical, users: int) -> Curve:
        """With its own table, or design that can be deployed; else opt0's."""
        policy = question.policy
        objective = question.objective
        rough = "opt0"
        if policy.item_counts.sum() > 1 and question.mechanism in (BEST, DESIGN):
            rough = "opt0" if tried(policy, DESIGN, objective)[1] else DESIGN
        elif policy.item_counts.sum() > 1 and question.mechanism in MODELS:
            rough = question.mechanism
        law = errors_of(question)
        return choice_curve(
            question.name, policy, question.weight, objective, law, rough
        )

    def options(self, part: Part[Categorical]) -> list[Option]:
        """Of a design that is proven the best and wanted it alone."""
        found = _tables(
            part, [DESIGN] if part.deployed.policy.item_counts.sum() > 1 else []
        )
        proven = [
            x
            for x in found
            if not x.refused and x.law.certificate.relative_gap <= TIGHT
        ]
        wanted = part.asked.mechanism in (BEST, DESIGN)
        return found if proven and wanted else [*found, *_others(part)]

    def curve(self, part: Part[Categorical], planned: Option) -> Curve:
        """Of a table or a design it is solved for other budgets."""
        if planned.name not in (*MODELS, DESIGN):
            return super().curve(part, planned)
        about = part.question.objective, planned.errors, planned.name
        return choice_curve(
            part.asked.name, part.deployed.policy, part.asked.weight, *about
        )

    def searched(
        self, part: Part[Categorical], planned: Option, importance: Importance = None
    ) -> Curve | None:
        """Of tables and designs."""
        if planned.name not in (*MODELS, DESIGN):
            return None
        objective = Objective(weights=importance)
        name = planned.name
        return choice_curve(
            part.asked.name, part.deployed.policy, 1.0, objective, None, name
        )

    def unsolved(
        self, part: Part[Categorical], found: tuple[Option, ...]
    ) -> list[Option]:
        """What such a design beats."""
        return _others(part) if [one.name for one in found] == [DESIGN] else []

    def alike(
        self, part: Part[Categorical], found: tuple[Option, ...]
    ) -> Option | None:
        """Beside a design that is proven the best, it is a design, too."""
        if [one.name for one in found] != [DESIGN]:
            return super().alike(part, found)
        policy = part.deployed.policy
        budgets = np.full(policy.size, policy.smallest_pair)
        return _instead(part, PrivacyPolicy(budgets, policy.item_counts), DESIGN)

    def one_sided(self, part: Part[Categorical], planned: Option) -> Option | None:
        """The design, or a table like the planned one."""
        policy = part.deployed.policy
        if not policy.rule.saturates or np.ptp(policy.epsilons) == 0:
            return None
        sided = policy.with_changes(rule=rule_of(ONE_SIDED, policy.size))
        return _instead(part, sided, planned.name if planned.name in MODELS else DESIGN)

    def deployed(self, part: Part[Categorical], option: Option) -> Deployed:
        """A table, a design, or the law of a plain mechanism."""
        found: Deployed = getattr(option.law, "mechanism", option.law)
        return found

    def total(self, part: Part[Categorical], planned: Option) -> Option:
        """That for the least favourable answers."""
        spread = float(1 - 1 / part.deployed.policy.item_counts.sum())
        errors = ErrorLaw(spread=spread, length=1.0)
        return replace(planned, value=planned.law.worst_case_mse, errors=errors)

    def facts(
        self, part: Part[Categorical], planned: Option, mechanism: Deployed
    ) -> PlanFacts:
        """The table or design, and what it does level by level."""
        return mechanism, levels_of(part, planned)


def _tables(part: Part[Categorical], names: Iterable[str]) -> list[Option]:
    policy = part.deployed.policy
    wanted = part.asked.mechanism
    about = part.question.objective, errors_of(part.question)
    return [solved(policy, name, *about, must=name == wanted) for name in names]


def _instead(
    part: Part[Categorical], policy: PrivacyPolicy, name: str
) -> Option | None:
    """What it would have with other budgets, if that can be planned."""
    found = solved(
        policy, name, part.question.objective, errors_of(part.question), must=False
    )
    return None if found.refused else found


def _others(part: Part[Categorical]) -> list[Option]:
    """What it can have beside a design, and direct encoding, which is compared alone."""
    question = part.question
    policy = part.deployed.policy
    objective = question.objective
    errors = errors_of(question)
    few = policy.item_counts.sum() <= _MOST_DEPLOYED_ITEMS
    known = (
        (name, one) for name, one in rivals(policy).items() if name not in BASELINES
    )
    plain = {name: LevelTerms.alike(policy, one) for name, one in known}
    if (
        plain and np.ptp(policy.room(np.zeros(policy.size))) > 0
    ):  # else it is that response
        plain["direct"] = LevelTerms(policy, *direct_encoding(policy))
    return _tables(part, (*MODELS, *BASELINES)) + [
        Option(
            name,
            terms.value(objective),
            errors,
            terms,
            compared=name == "direct" or not few,
        )
        for name, terms in plain.items()
    ]


def solved(
    policy: PrivacyPolicy,
    name: str,
    objective: Objective,
    errors: ErrorLaw,
    *,
    must: bool,
) -> Option:
    """A table or design; if it ``must`` be found, errors of the solver are raised."""
    law: Certified | None
    law, refused = tried(policy, name, objective)
    if must:
        law = solve_for(policy, name, objective)
        if name == DESIGN and law.design is None:
            raise InputError.because("mechanism", refused, 'Take "best" or "opt0".')
        refused = ""
    if law is None:
        return Option(name, np.inf, errors, refused=refused)
    bound = None if law.certificate is None else law.certificate.lower_bound
    return Option(name, law.value(objective), errors, law, bound, refused=refused)


def levels_of(part: AnyPart, planned: Option, length: int | None = None) -> ByLevel:
    """Level by level; of sets at a padding length."""
    policy = part.deployed.policy
    terms = planned.law
    parts = part.parts
    people = part.people / parts  # of a round
    drawn = 1 if planned.name == SET_DESIGN else length or 1
    if_had = terms.b + (terms.a - terms.b) / drawn
    errors = np.sqrt(people * terms.noise) * drawn * parts
    detectable = None
    if length is None:
        lot = 1 - 1 / parts  # of a person who has it
        detectable = detectable_frequencies(terms.noise, terms.signal + lot, people)
    about = policy.names, policy.item_counts, policy.epsilons, terms.a, terms.b, if_had
    return ByLevel(
        *about, terms.least_b, errors, 100 * errors / part.people, detectable
    )


def beliefs_after(leakage: Array, prior: float) -> tuple[Array, Array]:
    """Smallest and largest belief in an input after a report.

    ``prior`` is the belief before, above 0 and below 1. A report is at most ``e^L`` times as likely
    under an input as under any other, and the reverse with a second ``L``, the rows of ``leakage``,
    whatever the prior on the other inputs. So the odds move by such factors:
    ``prior / (prior + (1 - prior) e^L)`` to ``prior / (prior + (1 - prior) e^-L)``. The bounds of
    table I, ``prior e^-L`` to ``prior e^L``, follow from these and are wider.
    """
    above, below = leakage
    with np.errstate(
        over="ignore"
    ):  # an infinite factor leaves certainty, as it should
        high = prior / (prior + (1 - prior) * np.exp(-above))
        low = prior / (prior + (1 - prior) * np.exp(below))
    return low, high


# Two answers together


@dataclass(frozen=True, eq=False)
class Related:
    """What the report of a joint question tells: errors are squared, per person who is asked.

    ``table`` is the total over all cells. :attr:`margins` and :attr:`people` follow from the law
    that is deployed; :attr:`apart` and :attr:`margins_apart` are what its parts would have with the
    same budgets. All for the least favourable answers.
    """

    part: Part[Joint]
    mechanism: Deployed
    table: float

    @property
    def names(self) -> tuple[str, ...]:
        """Of the parts."""
        return self.part.asked.of

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many answers each has."""
        return tuple(int(one.policy.item_counts.sum()) for one in self.part.asked.parts)

    def _merged(self, kept: Sequence[int]) -> float:
        """Error of the table of some of the parts, for the worst cell: levels treat cells alike."""
        law = self._law
        asked = self.part.asked
        answers = [one.plain_levels.item_names() for one in asked.parts]
        merged = merged_cells(asked.ordered, answers, kept)
        firsts = np.cumsum([0, *law.levels.item_counts[:-1]])
        return max(
            float(np.trace(law.shape.second_moments(own, merged))) - 1
            for own in np.eye(len(asked.ordered))[firsts]
        )

    @cached_property
    def _law(self) -> CollectedLaw:
        return ChoiceKind().law(self.part.deployed, self.mechanism)

    @cached_property
    def margins(self) -> tuple[float, ...]:
        """Total error of the counts of each part alone."""
        return tuple(self._merged([k]) for k in range(len(self.sizes)))

    @cached_property
    def people(self) -> dict[tuple[str, str], int]:
        """How many the survey needs to see, with 80 % chance, a Cramér's V of 0.1 of two parts."""
        found = {}
        for i, j in combinations(range(len(self.sizes)), 2):
            error = self.table if len(self.sizes) == 2 else self._merged([i, j])
            sizes = self.sizes[i], self.sizes[j]
            needed = (
                people_for_association(error, sizes, STRENGTH, POWER)
                if min(sizes) > 1
                else 0
            )
            found[self.names[i], self.names[j]] = int(
                np.ceil(needed / self.part.fraction)
            )
        return found

    @cached_property
    def _curves(self) -> list[Curve]:
        kind = ChoiceKind()
        share = self.part.share
        parts = (at_scale(one, share) for one in self.part.question.parts)
        return [kind.shared(one, self.part.people) for one in parts]

    @cached_property
    def apart(self) -> float:
        """Error of the table if the parts are asked apart, with the shares best for it.

        Of independent reports ``prod(V_j + 1) - 1``. One question each tells no table at all.
        """
        from scipy.optimize import minimize

        def table(logs: Array) -> float:
            weights = np.exp(np.append(logs, 0.0))
            shares = (weights / weights.sum()).tolist()
            about = zip(self._curves, shares, strict=True)
            return float(
                sum(
                    np.log1p(curve.at(share, tolerance=ROUGH).squared)
                    for curve, share in about
                )
            )

        start = (
            np.vstack([np.zeros(len(self.sizes) - 1), np.eye(len(self.sizes) - 1)]) / 2
        )
        options = {"initial_simplex": start, "xatol": 1e-2, "fatol": 1e-5}
        found = minimize(table, start[0], method="Nelder-Mead", options=options)
        return float(np.expm1(found.fun))

    @cached_property
    def margins_apart(self) -> Allocation:
        """The parts alone, if split as is best for them, and if each person is asked one."""
        return allocate(self._curves, asked=1)

    @property
    def gains(self) -> tuple[float, float]:
        """How many times smaller the errors of the table and of the margins are than apart."""
        found = self.margins_apart
        alone = min(found.value, found.some_each.value)
        return self.apart / self.table, alone / sum(self.margins)


class JointKind(ChoiceKind):
    """A choice of a pair of answers."""

    def facts(self, part: AnyPart, planned: Option, mechanism: Deployed) -> PlanFacts:
        """Those of a choice, and what it says of its parts."""
        table = self.total(part, planned).value
        return *super().facts(part, planned, mechanism), Related(part, mechanism, table)


def joined(parts: Sequence[Part[Categorical]]) -> Part[Joint]:
    """Questions of one answer each as one joint question of the same people and whole budgets.

    Raises
    ------
    InputError
        Their rules differ, or they have too many pairs of answers.
    """
    names = tuple(part.asked.name for part in parts)
    kept = ("name", "levels", "rule")
    columns = (
        tuple(Categorical(**{key: getattr(one, key) for key in kept}) for one in column)
        for column in zip(
            *((p.asked, p.tolerated, p.question) for p in parts), strict=True
        )
    )
    asked, tolerated, left = (
        Joint(name=" and ".join(names), of=names, parts=one) for one in columns
    )
    return Part(asked, tolerated, left, 1.0, 1.0, parts[0].everybody)
