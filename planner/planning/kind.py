"""What planning asks of a kind of question; one object for each kind answers for itself."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any, Protocol, TypeVar

import numpy as np

from planner.arrays import Array
from planner.errors import InputError
from planner.frames import Columns
from planner.laws.shape import MOST_LISTED
from planner.mechanisms.asking import CollectedLaw
from planner.mechanisms.catalogue import CATALOGUE
from planner.mechanisms.making import law_of
from planner.planning.option import Curve, Option, Part, Q, best_deployable
from planner.planning.solve import COARSE_BUDGET
from planner.survey.question import BEST

M = TypeVar("M")  # what is deployed of it
F = TypeVar("F")
PlanFacts = tuple[object, ...]
"""What is known of a planned question, one of each type at most."""


def fact_of(facts: PlanFacts, kind: type[F]) -> F | None:
    """The fact of this type, if there is one."""
    for fact in facts:
        if isinstance(fact, kind):
            return fact
    return None


class Kind(Protocol[Q, M]):
    """A kind of question: how it is settled, what it can be planned with, and what that says."""

    def mechanisms(self, question: Q) -> list[str]:
        """Names of the mechanisms that it can be deployed with; the first is the usual one."""
        names = []
        for name, entry in CATALOGUE.items():
            if question.kind in entry.kinds:
                names.append(name)
        return names

    def check(self, question: Q) -> None:
        """Refuse a mechanism that it cannot be deployed with."""
        asked = question.mechanism
        if asked == BEST and question.kind in CATALOGUE[BEST].kinds:
            return  # one of them always can be
        offered = self.mechanisms(question)
        if asked not in offered:
            what = f"mechanism of question {question.name!r}"
            remedy = "Choose one of these, or leave the mechanism out."
            raise InputError.unknown(what, asked, offered, remedy)

    def settled(self, question: Q, users: int) -> Q:
        """The question as it is asked of so many people, with a budget."""
        return question

    def fitted(self, question: Q, users: float, share: float = 1.0) -> Q:
        """The question with what depends on its share of the budgets, such as a padding length."""
        return question

    def answer_rate(self, question: Q) -> float:
        """Share of the people who answer it at its budget: all, but of a number."""
        return 1.0

    def shared(self, question: Q, users: int) -> Curve:
        """The question's error at any share of its budgets, as shares are planned."""
        part = Part.alone(question, users)
        planned = best_deployable(self.options(part))
        assert planned is not None  # noqa: S101 - of kinds that always have one
        return self.curve(part, planned)

    def options(self, part: Part[Q]) -> list[Option]:
        """The options that a question can have, and those that are compared alone."""

    def curve(self, part: Part[Q], planned: Option) -> Curve:
        """The error of what is planned at any scale of the budgets that it spends."""

        def at(scale: float = 1.0, level: str | None = None, **_: object) -> Option:
            options = self.options(part.scaled(scale, level))
            return next(option for option in options if option.name == planned.name)

        return Curve(
            name=part.asked.name,
            weight=part.asked.weight,
            errors=planned.errors,
            mechanism=planned.name,
            at=at,
        )

    def searched(self, part: Part[Q], planned: Option) -> Curve | None:
        """The total error at other budgets, planned anew, for targets; None if not searched."""
        return None

    def compared(self, part: Part[Q], option: Option) -> Option:
        """An option as it stands beside the one that is planned: as good as it can be."""
        return option

    def unsolved(self, part: Part[Q], options: tuple[Option, ...]) -> list[Option]:
        """What ``options`` left out as worse than what is proven: solved when asked for."""
        return []

    def best_plain_ldp(
        self, part: Part[Q], options: tuple[Option, ...]
    ) -> Option | None:
        """The best that protects all answers like the most sensitive, if there is any."""
        for option in options:
            if not option.by_level and not option.refused:
                return option
        return None

    def one_sided(self, part: Part[Q], planned: Option) -> Option | None:
        """The best if being cleared of an answer harms nobody, where that is another promise."""
        return None

    def deployed(self, part: Part[Q], option: Option) -> M:
        """The mechanism of an option, as a parameter file takes it."""
        law: M = option.law
        return law

    def law(self, question: Q, mechanism: M) -> CollectedLaw:
        """The mechanism in whole numbers; refused where it cannot be deployed."""
        return law_of(question, mechanism)

    def realised(self, question: Q, mechanism: M) -> Array:
        """What a report says for an answer of each level and against it at most, ``(2, t)``.

        In nats; of any two that have a budget. The budgets where nothing can be deployed, of more
        levels than pairs are listed of, and of a guarantee of another nature.
        """
        policy = question.policy
        spent = policy.largest_each_way
        # Pairs of levels are looked at one by one: of thousands of levels there are millions.
        if not question.locally_private or policy.size > MOST_LISTED:
            return spent
        try:
            shape = self.law(question, mechanism).shape
        except InputError:
            return spent
        realised = np.zeros_like(spent)
        for pair in shape.pairs():
            if pair.demanded == inf:
                continue
            for direction, level in enumerate((pair.first, pair.second)):
                # Where a pair is not directed, it is said for its answers and against them.
                said = [0, 1]
                if shape.levels.directed:
                    said = [direction]
                so_far = realised[said, level]
                realised[said, level] = np.maximum(so_far, pair.realised)
        # Rounding to whole numbers keeps every pair's budget, but a logarithm has a last digit.
        return np.minimum(realised, spent)

    def as_deployed(self, part: Part[Q], planned: Option) -> Option:
        """The option with what its integers do, at budgets for which these are coarse."""
        if part.deployed.policy.smallest_pair >= COARSE_BUDGET:
            return planned
        return self.in_integers(part, planned)

    def in_integers(self, part: Part[Q], planned: Option) -> Option:
        """The option with its probabilities rounded to ``2^-32``, and the error of these.

        Here it has these already.
        """
        return planned

    def total(self, part: Part[Q], planned: Option) -> Option:
        """The option with its total error, whatever the objective weighs: for targets."""
        return planned

    def people_for(
        self, part: Part[Q], facts: PlanFacts, total: Option, error: float
    ) -> int | None:
        """The fewest people of the survey for a total error, a share of them; None if none do."""
        law = total.errors
        return law.people(total.value, error, part.everybody, part.fraction)

    def columns(self, options: Sequence[Option], mechanism: M) -> Columns:
        """The rows of its data frame: one a mechanism, best first."""
        return {
            "mechanism": [option.title for option in options],
            "error": [option.error for option in options],
            "against_plan": [option.against for option in options],
        }

    def facts(self, part: Part[Q], planned: Option, mechanism: M) -> PlanFacts:
        """The facts that a plan shows of a question: of each type one at most."""


AnyKind = Kind[Any, Any]
"""Of any question."""
