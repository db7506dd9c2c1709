"""From a settled question with levels to its plan: solved, compared and explained once, here."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.designs.set_design import SetDesign
from planner.designs.subset_design import SubsetDesign
from planner.designs.table import UnaryTable
from planner.mechanisms.catalogue import CATALOGUE
from planner.mechanisms.padded_design import PaddedDesignMechanism
from planner.mechanisms.padding import PaddedUnaryMechanism
from planner.mechanisms.unary import UnaryMechanism
from planner.planning.candidates import best_of, choose
from planner.planning.explain import LevelExplanation, belief_leakage, explain
from planner.planning.level_terms import LevelTerms, Terms
from planner.planning.mechanism_choice import errors_for_choices, mechanism_choices
from planner.planning.padded_error import Padding
from planner.planning.padding import PaddingPlan, plan_padding
from planner.planning.pilot import set_model_of
from planner.planning.prediction import detectable_frequencies, plain_rivals
from planner.planning.relax import Relaxation, relaxations
from planner.planning.smallest_budgets import smallest_budgets
from planner.planning.solve import DESIGN, Certified, solve_for, tried
from planner.planning.whole_survey.left_open import settled_objective
from planner.planning.whole_survey.levels import Levels
from planner.planning.whole_survey.part import Part
from planner.planning.whole_survey.question_blocks import choice_block, levelled
from planner.planning.whole_survey.question_plan import QuestionPlan
from planner.planning.whole_survey.target_answers import (
    TargetAnswer,
    answer_choice_targets,
    answer_set_targets,
)
from planner.solvers import BASELINES, MODELS
from planner.survey.questions import BEST, ItemSet, Target

_RELAX_BY = 0.1  # nats
Array = NDArray[np.float64]


def plan_choice(part: Part, *, what_if: bool = True) -> QuestionPlan:
    """Plan a question about a choice or a set; ``what_if`` as of ``plan_survey``.

    Raises
    ------
    InputError
        A target does not fit the question.
    SolverError
        No certified table could be produced.
    """
    return _Planning(part).planned(what_if=what_if)


class _Planning:
    """What planning a question with levels needs throughout."""

    def __init__(self, part: Part) -> None:
        self.part = part
        asked, spent = part.asked.mechanism, levelled(part.deployed)
        self.policy, self.objective = spent.policy, settled_objective(spent)
        self.block = choice_block(levelled(part.question), part.everybody)
        self.unary, self.left_out = dict[str, UnaryTable](), dict[str, str]()
        for name in (*MODELS, *BASELINES):
            self._try(name)
        self.solved: dict[str, Certified] = dict(self.unary)
        self.sets = part.question.kind == "item-set"
        self.best = self._best_of_all()
        self.values = self._values()
        self.name = asked
        if asked == BEST:
            self.name = best_of(self.values, mechanism_choices(part.asked))
        self.spent = spent.replacing(mechanism=self.name)
        self.length = getattr(spent, "padding_length", None)
        self.certified = self.solved.get(self.name)
        self.mechanism, self.terms = self._mechanism()
        self.error = self.error_of(self.values[self.name])

    def _try(self, name: str) -> None:
        """Solve a table; those that are only compared may fail."""
        if name == self.part.asked.mechanism:
            found, reason = solve_for(self.policy, name, self.objective), ""
        else:
            found, reason = tried(self.policy, name, self.objective)  # type: ignore[assignment]
        if isinstance(found, UnaryTable):
            self.unary[name] = found
        else:
            self.left_out[name] = reason

    def _best_of_all(self) -> SubsetDesign | SetDesign | None:
        """The best design, for its bound; among what is solved if it can be deployed."""
        if self.part.asked.mechanism == DESIGN:  # as asked for, however long it takes
            asked = solve_for(self.policy, DESIGN, self.objective, sets=self.sets)
            assert not isinstance(asked, UnaryTable)  # noqa: S101 - by its name
            self.solved[DESIGN] = asked
            return asked
        best, reason = tried(self.policy, DESIGN, self.objective, sets=self.sets)
        assert not isinstance(best, UnaryTable)  # noqa: S101 - by its name
        if best is not None and not reason:
            self.solved = {DESIGN: best, **self.solved}
        elif reason:
            self.left_out[DESIGN] = reason
        return best

    def _values(self) -> dict[str, float]:
        """The objective of every mechanism, by name."""
        if self.part.question.kind == "categorical":
            return errors_for_choices(self.policy, self.solved, self.objective)
        return {name: one.value(self.objective) for name, one in self.solved.items()}

    def _mechanism(self) -> tuple[Any, Terms]:
        """What is deployed, and what it does to answers of each level."""
        certified, length = self.certified, self.length
        if length is not None:
            return self._padded(length)
        if certified is None:
            plain = plain_rivals(self.policy)[self.name]
            return plain, LevelTerms.of(plain, self.policy)
        return certified, certified

    def _padded(self, length: int) -> tuple[Any, Terms]:
        """The same for sets."""
        sets, items = set_model_of(self.spent), int(self.policy.item_counts.sum())
        longer = None if sets is None else sets.longer(length, items)
        if isinstance(self.certified, SetDesign):
            return PaddedDesignMechanism.of(self.certified, length, longer), self.certified
        table = self.unary[self.name]
        return PaddedUnaryMechanism(UnaryMechanism(table), length, longer), table

    def error_of(self, value: float) -> float:
        """Squared error per user of the survey, from the objective's value."""
        return self.block.law.error(value, self.part.fraction)

    def planned(self, *, what_if: bool) -> QuestionPlan:
        part, total = self.part, self.part.total(self.error)
        padding = self._padding()
        plan = QuestionPlan(
            question=part.asked,
            deployed=self.spent,
            share=part.share,
            fraction=part.fraction,
            users=part.people,
            everybody=part.everybody,
            spending=part.spending,
            mechanism=self.mechanism,
            error=self.error,
            total_error=total,
            error_share=total / part.people,
            lower_bound=self._lower_bound(),
            least_error=self._least_error(),
            levels=self._levels(),
            padding=padding,
            padding_errors=None if padding is None else self._padding_errors(padding),
            relaxations=self._relaxations() if what_if else (),
            targets=self._targets(padding),
            explanations=self._explanations(),
            certified=self.certified,
            block=self.block,
        )
        about = plan.unit, plan.measure, plan.least_error
        choice = choose(self._errors(), self.name, self.policy, *about, self.left_out)
        return replace(plan, choice=choice)

    def _padding(self) -> PaddingPlan | None:
        """Every length's error with the very table that is planned."""
        sets = None if self.spent.kind != "item-set" else set_model_of(self.spent)
        if sets is None:
            return None
        return plan_padding(self._drawn[self.name], self.part.people, sets)

    @property
    def _drawn(self) -> dict[str, UnaryTable | SetDesign]:
        """By name what reports an item that is drawn of a set."""
        return {n: one for n, one in self.solved.items() if not isinstance(one, SubsetDesign)}

    def _lower_bound(self) -> float | None:
        """What no table of the deployed form has less than; of a design, no mechanism at all.

        Of sets at their padding length; of a design of sets, no mechanism for what is drawn.
        """
        total = self.part.total(self.error)
        if self.name == DESIGN and not self.sets:
            least = self._least_error()
            return None if least is None else min(least, total)
        if self.certified is None or self.certified.certificate is None:
            return None
        bound = self.error_of(self.certified.certificate.lower_bound)
        return min(self.part.total(bound), total)

    def _least_error(self) -> float | None:
        """For one answer a person; a set's error depends on its padding too."""
        if self.sets or self.best is None or self.best.certificate is None:
            return None
        bound = self.best.certificate.lower_bound
        # The perturbation alone: what a sample misses is known from above only.
        return self.part.total(self.block.law.error(bound) / self.part.fraction)

    def _levels(self) -> Levels:
        terms, people, length = self.terms, self.part.people, self.length
        errors = np.sqrt(people * terms.noise) * (length or 1)
        certified = self.certified
        limit = None if certified is None else certified.saturation_epsilon
        detectable = None
        if length is None:
            detectable = detectable_frequencies(terms.noise, terms.signal, people)
        return Levels(
            names=self.policy.names,
            items=self.policy.item_counts,
            epsilons=self.policy.epsilons,
            a=terms.a,
            b=terms.b,
            standard_errors=errors,
            percent=100 * errors / people,
            detectable=detectable,
            saturated=self.policy.epsilons > (np.inf if limit is None else limit) * (1 + 1e-9),
            prices=None if self.certified is None else self._people(self.certified.shadow_prices),
        )

    def _people(self, objective: Array | None) -> Array | None:
        """A small change of the objective per user as one of the total error, in people."""
        if objective is None:
            return None
        change = objective * self.block.law.scale / self.part.fraction
        return np.asarray(change * self.part.total(self.error) / (2 * self.error))

    def _saving(self, certified: Certified, saving: float) -> float:
        """A share of the objective as a share of the total error."""
        change = self.block.law.scale * saving * certified.objective_value / self.part.fraction
        return 1 - sqrt(max(0.0, 1 - change / self.error))

    def _relaxations(self) -> tuple[Relaxation, ...]:
        if self.certified is None:
            return ()
        found = []
        for one in relaxations(self.certified, _RELAX_BY):
            price = None if one.price is None else self._people(np.array([one.price]))
            in_people = None if price is None else float(price[0])
            saving = self._saving(self.certified, one.saving)
            found.append(replace(one, saving=saving, price=in_people))
        return tuple(found)

    def _targets(self, padding: PaddingPlan | None) -> tuple[TargetAnswer, ...]:
        part, wanted = self.part, self.part.asked.targets
        if self.spent.kind != "item-set":
            return answer_choice_targets(
                wanted, self.terms, part.everybody, part.fraction, self._smallest
            )
        errors, biases = np.array([self.error]), np.array([self.block.law.bias])
        if padding is not None and getattr(part.asked, "padding_length", None) is None:
            # With more people another length may be best.
            every, bias = self._every_length(padding)
            errors, biases = np.append(errors, every), np.append(biases, bias)
        unasked = self.block.law.spread * (1 / part.fraction - 1)
        return answer_set_targets(
            wanted, errors, biases, part.everybody, part.fraction, unasked, self._smallest
        )

    def _every_length(self, padding: PaddingPlan) -> tuple[Array, Array]:
        """Error per user of the survey, and the bias in it, at every padding length."""
        part = self.part
        bias = padding.bias2 / part.people * part.everybody
        sampled = self.block.law.spread * (1 / part.fraction - 1)
        return padding.variance / part.fraction + sampled + bias, bias

    def _padding_errors(self, padding: PaddingPlan) -> Array:
        every, _ = self._every_length(padding)
        return self.part.people * np.sqrt(every / self.part.everybody)

    def _smallest(self, people: int, target: Target) -> str:
        if self.name not in (*MODELS, DESIGN):
            label = CATALOGUE[self.name].label
            return f"Not searched for {label}, which has one budget for all levels."
        asked, sets = self.part.asked, None
        if isinstance(asked, ItemSet):
            sets = Padding(set_model_of(asked), asked.padding_length, asked.objective)
        about = self.policy, people, target, self.name, None, sets
        return smallest_budgets(*about).reason

    def _explanations(self) -> tuple[LevelExplanation, ...]:
        length, offer = self.length, CATALOGUE[self.name]
        leakage = belief_leakage(self.terms, length)
        if length is not None:
            leakage = np.full(self.policy.size, self.mechanism.privacy_loss())
        if length is None and not offer.by_level:  # protects every pair like the strictest
            strictest = float(self.policy.room(np.zeros(self.policy.size)).min())
            leakage = np.minimum(leakage, strictest)
        name = self.part.asked.name
        return explain(self.terms, name, length, sends=offer.sends, leakage=leakage)

    def _errors(self) -> list[tuple[str, float, str]]:
        """Every mechanism's total error; sets at each mechanism's own best padding length."""
        if self.spent.kind == "item-set":
            return [self._error_of_sets(*one) for one in self._drawn.items()]
        totals = {name: self.part.total(self.error_of(x)) for name, x in self.values.items()}
        return [(name, error, "") for name, error in totals.items()]

    def _error_of_sets(self, name: str, table: UnaryTable | SetDesign) -> tuple[str, float, str]:
        part, length = self.part, self.length
        sets = set_model_of(self.spent)
        if (
            name != self.name
            and sets is not None
            and getattr(part.asked, "padding_length", None) is None
        ):
            length = plan_padding(table, part.people, sets).length
        at = part.question.replacing(padding_length=length)
        block = choice_block(levelled(at), part.everybody, self.block.mechanism)
        error = block.law.error(table.value(block.objective), part.fraction)
        return name, part.total(error), f"l = {length}"
