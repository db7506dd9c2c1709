"""Questions about one answer: which mechanisms there are, and what each would do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import inf

import numpy as np

from planner.errors import InputError
from planner.mechanisms.asking import CollectedLaw
from planner.mechanisms.catalogue import CATALOGUE
from planner.mechanisms.rivals import direct_encoding
from planner.planning.by_level import ByLevel, SupportProbabilities
from planner.planning.detection import detectable_frequencies
from planner.planning.kind import Kind, PlanFacts
from planner.planning.option import (
    AnyPart,
    Curve,
    ErrorLaw,
    Option,
    Part,
    choice_curve,
)
from planner.planning.solve import (
    DESIGN,
    TIGHT,
    Certified,
    in_integers,
    solve_for,
    solved_or_why_not,
)
from planner.policy.objective import Objective
from planner.policy.pair_rule import ONE_SIDED
from planner.policy.policy import PrivacyPolicy
from planner.policy.rules import rule_of
from planner.solvers.models import MODELS
from planner.solvers.solving import BASELINES
from planner.survey.choices import SET_DESIGN, Categorical
from planner.survey.question import BEST
from planner.survey.questions import LevelledQuestion

_MOST_ITEMS = 1_000_000  # beyond it only mechanisms described per level are compared
_MOST_DEPLOYED_ITEMS = 100_000

Deployed = Certified | CollectedLaw
"""A table, a design, or the law of a plain mechanism."""


def rivals(
    policy: PrivacyPolicy, most_items: int = _MOST_ITEMS
) -> dict[str, CollectedLaw]:
    """The single-item mechanisms of plain LDP that protect every pair like the strictest.

    One is left out above its largest budget; of local hashing that is 20. None with one item or
    more than ``most_items``, or with a budget too small for the grid of 2^-32.
    """
    epsilon = policy.smallest_pair
    items = int(policy.item_counts.sum())
    if not 2 <= items <= most_items:
        return {}
    laws = {}
    try:
        for entry in CATALOGUE.values():
            if entry.law_of is not None and epsilon <= entry.largest_epsilon:
                laws[entry.name] = entry.law_of(epsilon, items)
    except InputError:  # of a tiny budget all probabilities round to the same
        return {}
    return laws


def errors_of(question: LevelledQuestion) -> ErrorLaw:
    """The error law of a choice, from its objective's value.

    With weights ``w_i`` one person's answer has the mean square ``sum_i w_i p_i`` and the variance
    ``sum_i w_i (p_i - p_i^2 / m_i)``, where all ``m_i`` items of a level are as frequent; for the
    least favourable answers at most ``max w`` and ``max w (1 - 1/m)``.
    """
    objective = question.objective
    m = question.policy.item_counts
    w = np.ones(m.size)
    if objective.weights is not None:
        w = np.array(objective.weights)
    if objective.prior is None:
        # At most all items have the largest weight, with answers spread evenly over them.
        largest = float(w.max())
        even_spread = float(1 - 1 / m.sum())
        return ErrorLaw(spread=largest * even_spread, length=largest)
    p = np.array(objective.prior)
    variances = p - np.square(p) / m
    mean_square = float(w @ p)
    return ErrorLaw(spread=float(w @ variances), length=mean_square)


class ChoiceKind(Kind[Categorical, Deployed]):
    """One answer out of several: a table or a design for its levels, or a plain mechanism."""

    def mechanisms(self, question: Categorical) -> list[str]:
        """The names of the mechanisms that are made for so many answers and such budgets."""
        offered = {BEST, *MODELS, *BASELINES}
        offered.update(rivals(question.policy, _MOST_DEPLOYED_ITEMS))
        if question.policy.item_counts.sum() > 1:
            offered.add(DESIGN)
        return [name for name in super().mechanisms(question) if name in offered]

    def shared(self, question: Categorical, users: int) -> Curve:
        """The error with its own table, or design that can be deployed; else with opt0's."""
        policy = question.policy
        objective = question.objective
        mechanism = "opt0"
        if policy.item_counts.sum() > 1:
            if question.mechanism in MODELS:
                mechanism = question.mechanism
            elif question.mechanism in (BEST, DESIGN):
                _, refused = solved_or_why_not(policy, DESIGN, objective)
                if not refused:
                    mechanism = DESIGN
        return choice_curve(
            name=question.name,
            policy=policy,
            weight=question.weight,
            objective=objective,
            errors=errors_of(question),
            mechanism=mechanism,
        )

    def options(self, part: Part[Categorical]) -> list[Option]:
        """The options; a design alone, where it is wanted and proven the best."""
        if part.deployed.policy.item_counts.sum() == 1:
            return _all_but_designs(part)
        (design,) = _tables(part, [DESIGN])
        proven = False
        if not design.refused:
            proven = design.law.certificate.relative_gap <= TIGHT
        # No mechanism of any form is better: to solve for tables would only take time.
        if proven and part.asked.mechanism in (BEST, DESIGN):
            return [design]
        return [design, *_all_but_designs(part)]

    def curve(self, part: Part[Categorical], planned: Option) -> Curve:
        """The error at other budgets; a table or a design is solved for them."""
        if planned.name not in (*MODELS, DESIGN):
            return super().curve(part, planned)
        return choice_curve(
            name=part.asked.name,
            policy=part.deployed.policy,
            weight=part.asked.weight,
            objective=part.question.objective,
            errors=planned.errors,
            mechanism=planned.name,
        )

    def searched(self, part: Part[Categorical], planned: Option) -> Curve | None:
        """The total error of a table or design, planned anew at other budgets."""
        if planned.name not in (*MODELS, DESIGN):
            return None
        policy = part.deployed.policy
        return choice_curve(part.asked.name, policy, mechanism=planned.name)

    def unsolved(
        self, part: Part[Categorical], options: tuple[Option, ...]
    ) -> list[Option]:
        """The options that a design which is proven the best beats, solved now."""
        if not _only_design(options):
            return []
        return _all_but_designs(part)

    def best_plain_ldp(
        self, part: Part[Categorical], options: tuple[Option, ...]
    ) -> Option | None:
        """Beside a design that is proven the best, it is a design, too."""
        if not _only_design(options):
            return super().best_plain_ldp(part, options)
        policy = part.deployed.policy
        # Every pair gets the smallest budget of any: all answers are as sensitive.
        budgets = np.full(policy.size, policy.smallest_pair)
        strictest = PrivacyPolicy(budgets, policy.item_counts)
        return _instead(part, strictest, DESIGN)

    def one_sided(self, part: Part[Categorical], planned: Option) -> Option | None:
        """The design, or a table like the planned one."""
        policy = part.deployed.policy
        # Where all levels have one budget the two rules promise the same.
        if not policy.rule.saturates or np.ptp(policy.epsilons) == 0:
            return None
        rule = rule_of(ONE_SIDED, policy.size)
        sided = policy.with_changes(rule=rule)
        name = DESIGN
        if planned.name in MODELS:
            name = planned.name
        return _instead(part, sided, name)

    def deployed(self, part: Part[Categorical], option: Option) -> Deployed:
        """A table, a design, or the law of a plain mechanism."""
        if isinstance(option.law, SupportProbabilities):
            assert option.law.mechanism is not None  # noqa: S101 - it can be deployed
            return option.law.mechanism
        table: Certified = option.law
        return table

    def in_integers(self, part: Part[Categorical], planned: Option) -> Option:
        """The option with the objective of the probabilities drawn, of a table or a design."""
        if not isinstance(planned.law, Certified):
            return planned
        mechanism = self.deployed(part, planned)
        law = self.law(part.deployed, mechanism)
        drawn = in_integers(planned.law, law)
        value = drawn.value(part.question.objective)
        return replace(planned, law=drawn, value=value)

    def total(self, part: Part[Categorical], planned: Option) -> Option:
        """The option with its total error for the least favourable answers."""
        spread = float(1 - 1 / part.deployed.policy.item_counts.sum())
        errors = ErrorLaw(spread=spread, length=1.0)
        return replace(planned, value=planned.law.worst_case_mse, errors=errors)

    def facts(
        self, part: Part[Categorical], planned: Option, mechanism: Deployed
    ) -> PlanFacts:
        """The table or design, and what it does level by level."""
        return mechanism, levels_of(part, planned)


def _only_design(options: tuple[Option, ...]) -> bool:
    """Whether a design that is proven the best stands alone."""
    return [option.name for option in options] == [DESIGN]


def _tables(part: Part[Categorical], names: Iterable[str]) -> list[Option]:
    """Tables, or designs, of these names at the budgets that the question spends."""
    policy = part.deployed.policy
    objective = part.question.objective
    errors = errors_of(part.question)
    tables = []
    for name in names:
        # What is asked for by its name is planned, or refused with the reason.
        must = name == part.asked.mechanism
        table = solved(policy, name, objective, errors, must=must)
        tables.append(table)
    return tables


def _instead(
    part: Part[Categorical], policy: PrivacyPolicy, name: str
) -> Option | None:
    """The option with other budgets, or None if that cannot be planned."""
    objective = part.question.objective
    errors = errors_of(part.question)
    option = solved(policy, name, objective, errors, must=False)
    if option.refused:
        return None
    return option


def _all_but_designs(part: Part[Categorical]) -> list[Option]:
    """The options beside a design, and direct encoding, which is compared alone."""
    question = part.question
    policy = part.deployed.policy
    protocols = {}
    for name, law in rivals(policy).items():
        if name not in BASELINES:
            protocols[name] = SupportProbabilities.alike(policy, law)
    # Where all pairs have one budget, direct encoding is randomised response.
    pair_budgets = policy.room(np.zeros(policy.size))
    if protocols and np.ptp(pair_budgets) > 0:
        a, b = direct_encoding(policy)
        protocols["direct"] = SupportProbabilities(policy, a, b)
    options = _tables(part, (*MODELS, *BASELINES))
    # A report of these names an item or has a bit for each: of so many they are compared alone.
    too_many = policy.item_counts.sum() > _MOST_DEPLOYED_ITEMS
    for name, protocol in protocols.items():
        options.append(
            Option(
                name,
                protocol.value(question.objective),
                errors_of(question),
                protocol,
                compared=name == "direct" or too_many,
            )
        )
    return options


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
    law, refused = solved_or_why_not(policy, name, objective)
    if must:
        law = solve_for(policy, name, objective)
        if name == DESIGN and law.design is None:
            raise InputError.because("mechanism", refused, 'Take "best" or "opt0".')
        refused = ""
    if law is None:
        return Option(name, inf, errors, refused=refused)
    bound = None
    if law.certificate is not None:
        bound = law.certificate.lower_bound
    value = law.value(objective)
    # A design that cannot be deployed is kept, as its bound is one of all mechanisms.
    return Option(name, value, errors, law, bound, refused=refused)


def levels_of(part: AnyPart, planned: Option, length: int | None = None) -> ByLevel:
    """Level by level; of sets at a padding ``length``.

    A padded set has one of its ``length`` items drawn: an item that a person has is supported with
    ``b + (a - b) / length``, and counts are scaled by ``length``; with ``k`` rounds, of which a
    person reports in one, by ``k``. Who reports is drawn: of an item that all have that adds
    ``1 - 1/k`` a person.
    """
    policy = part.deployed.policy
    protocol = planned.law
    rounds = part.rotation_groups
    reporting = part.people / rounds
    drawn_of = length or 1
    if planned.name == SET_DESIGN:  # a report is about the whole set
        drawn_of = 1
    # A rare item: hardly anybody has it, and the noise of those who lack it is all there is.
    errors = np.sqrt(reporting * protocol.noise) * drawn_of * rounds
    detectable = None
    if length is None:
        signal = protocol.signal + 1 - 1 / rounds
        detectable = detectable_frequencies(protocol.noise, signal, reporting)
    return ByLevel(
        names=policy.names,
        items=policy.item_counts,
        epsilons=policy.epsilons,
        a=protocol.a,
        b=protocol.b,
        if_had=protocol.b + (protocol.a - protocol.b) / drawn_of,
        least_b=protocol.least_b,
        standard_errors=errors,
        percent=100 * errors / part.people,
        detectable=detectable,
    )
