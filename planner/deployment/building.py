"""Build parameter files: of a planned survey, or of a mechanism for each of its questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from planner.deployment.client.document import FORMAT, VERSION, content_hash
from planner.deployment.parameters import Parameters
from planner.errors import InputError
from planner.estimates.channel import shares_up_to
from planner.laws.answers import (
    ANY_ANSWER,
    MEAN_OF_SCORES,
    Asked,
    Item,
    ItemOrNone,
    Number,
    OneOfSet,
    Ordered,
    WholeSet,
)
from planner.laws.bits import Bits
from planner.laws.die import Die
from planner.laws.exact import round_inward
from planner.laws.law import Law
from planner.laws.levels import Levels
from planner.laws.rows import Rows
from planner.laws.shape import Shape, as_tuples
from planner.limits import DENOMINATOR as D
from planner.mechanisms.itemsets import PaddedUnaryMechanism
from planner.mechanisms.means import MeanMechanism
from planner.mechanisms.plain import (
    FrequencyMechanism,
    GeneralizedRandomizedResponse,
    OptimizedLocalHashing,
    SubsetSelection,
)
from planner.mechanisms.rounding import drawn_channel, integers_of
from planner.mechanisms.set_design import SetDesignMechanism
from planner.mechanisms.subset_design import Sides
from planner.mechanisms.unary import UnaryMechanism
from planner.planning.sampled import SamplingPlan
from planner.policy.policy import require_set_budgets
from planner.solvers.answers import Channel, SubsetDesign, UnaryTable
from planner.survey.questions import Numeric, Question, Survey
from planner.version import VERSION as PLANNER_VERSION

if TYPE_CHECKING:
    from planner.estimates.truncation import LongerSets
    from planner.planning.plan import SurveyPlan


def parameters_from_mechanisms(survey: Survey, mechanisms: Mapping[str, Any]) -> Parameters:
    """Parameters with a chosen mechanism for each question, verified exactly.

    Parameters
    ----------
    survey:
        The questions with their levels, items and rule.
    mechanisms:
        For each question's name one that :data:`MAKERS` knows. Levels and items are the
        question's, in its order.

    Raises
    ------
    InputError
        A question without a mechanism, or a mechanism that does not fit its question.
    VerificationError
        The integers do not keep the question's budgets.

    Examples
    --------
    >>> from planner import Level, Categorical, Survey
    >>> survey = Survey("s", 10, (Categorical("q", (Level("only", 1.0, item_count=3),)),))
    >>> from planner.mechanisms.plain import GeneralizedRandomizedResponse
    >>> mechanisms = {"q": GeneralizedRandomizedResponse(1.0, items=3)}
    >>> parameters = parameters_from_mechanisms(survey, mechanisms)
    >>> parameters.questions[0].mechanism, parameters.questions[0].pairs[0].realised <= 1
    ('grr', True)
    """
    names = [question.name for question in survey.questions]
    if sorted(names) != sorted(mechanisms):
        allowed = f"one for each of {sorted(names)}"
        remedy = "Give a mechanism for each question of the survey, by its name."
        raise InputError("mechanisms", sorted(mechanisms), allowed, remedy)
    questions = [question_law(q, mechanisms[q.name]).document() for q in survey.questions]
    document = {
        "format": FORMAT,
        "version": VERSION,
        "planner_version": PLANNER_VERSION,
        "created": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "survey": survey.name,
        "users": survey.users,
        "questions": questions,
    }
    return Parameters.of(document | {"hash": content_hash(document)})


def question_law(question: Question, mechanism: Any) -> Law:
    """The law of one question of the file; InputError if the mechanism does not fit it."""
    make = MAKERS.get(type(mechanism))
    if make is None:
        what, name = f"mechanism of question {question.name!r}", type(mechanism).__name__
        remedy = "Take the mechanism that plan_survey chose for the question."
        raise InputError(what, name, "one that can be deployed", remedy)
    again = None if question.rounds is None else question.rounds.deployed
    return Law(question.name, *make(mechanism, question), again)


def one_file(plan: SurveyPlan) -> bool:
    """Whether everybody gets the same parameter file: not if each person answers some questions."""
    return plan.survey.design == "split" or len(plan.questions) == 1


def deployable_files(plan: SurveyPlan) -> dict[str, Parameters]:
    """Verified parameters by a name for their file: one, or one a question if each gets one.

    Errors are those of :func:`survey_parameters`.
    """
    if one_file(plan):
        return {"parameters": survey_parameters(plan)}
    return {
        f"parameters-{number}": survey_parameters(plan, one.name)
        for number, one in enumerate(plan.questions, start=1)
    }


def survey_parameters(plan: SurveyPlan, question: str | None = None) -> Parameters:
    """Verified parameters of a planned survey: what every question really spends, and no more.

    Parameters
    ----------
    plan:
        The survey's plan; it says which mechanism every question has.
    question:
        This question alone; all of them when omitted.

    Raises
    ------
    InputError
        No such question; a question cannot be deployed, a weaker guarantee is not
        acknowledged for example; or everybody answers some questions, so that there is no one
        file for everybody.
    VerificationError
        Probabilities do not keep their budgets.

    Examples
    --------
    >>> from planner import Level, Categorical, Survey, plan_survey
    >>> survey = Survey("s", 10, (Categorical("q", (Level("only", 1.0, item_count=3),)),))
    >>> survey_parameters(plan_survey(survey)).questions[0].mechanism
    'subset-design'
    """
    if question is None and not one_file(plan):
        remedy = "Export the questions one by one: each person gets the files of theirs."
        raise InputError(
            "design", plan.survey.design, '"split" for a file with all questions', remedy
        )
    planned = plan.questions if question is None else (plan.question(question),)
    users = plan.survey.users if question is None else planned[0].users
    questions = tuple(one.deployed for one in planned)
    survey = plan.survey.replacing(users=users, questions=questions, asked=None)
    return parameters_from_mechanisms(survey, {one.name: one.mechanism for one in planned})


# -- the law of each mechanism, table or plan: its name, way of asking and form of report ----

Made = tuple[str, Asked, Shape]


def _levels(question: Question) -> Levels:
    rows = [(one.name, float(one.epsilon), one.item_count, tuple(one.items))
            for one in question.levels]  # fmt: skip
    names, epsilons, counts, items = zip(*rows, strict=True)
    rule = question.policy.rule.plain(question.policy.epsilons)
    if not isinstance(rule, str):
        rule = tuple(map(tuple, rule))
    return Levels(names, epsilons, counts, items, rule)


def _wrong_mechanism(question: Question, what: str, reason: str) -> InputError:
    remedy = "Take the mechanism that plan_survey chose for the question."
    return InputError.because(what, f"the {what} of question {question.name!r} is {reason}", remedy)


def _require_items(found: int, question: Question) -> None:
    items = sum(level.item_count for level in question.levels)
    if found != items:
        allowed, remedy = f"{items}, as in its levels", "Plan the mechanism for this question."
        raise InputError(f"items of question {question.name!r}", found, allowed, remedy)


def _tuples(table: NDArray[Any]) -> Any:
    return as_tuples(table.tolist())


def _unary(source: Any, question: Question, dummies: int = 0) -> tuple[str, Item, Bits]:
    table = _table_of(source, question) if isinstance(source, UnaryMechanism) else source
    if table.policy != question.policy:
        raise _wrong_mechanism(question, "table", "for another policy")
    levels = _levels(question)
    a, b = round_inward(table.a.tolist(), table.b.tolist(), levels)
    name = table.model if table.model in ("rappor", "oue") else "idue"
    return name, Item(levels), Bits(levels.with_dummies(dummies), tuple(a), tuple(b))


def _table_of(mechanism: UnaryMechanism, question: Question) -> UnaryTable:
    """The mechanism's table, as one of the question's levels."""
    table, policy = mechanism.table, question.policy
    if (np.diff(mechanism.level_of) < 0).any():
        remedy = "Number the items through the levels, one level after the other."
        raise InputError("level_of", mechanism.level_of, "in the order of the levels", remedy)
    _require_items(mechanism.items, question)
    if table.model in ("rappor", "oue") and table.policy.size == 1 != policy.size:
        # A baseline of one budget protects every level as the strictest one needs.
        a, b = (np.repeat(column, policy.size) for column in (table.a, table.b))
        return replace(table, policy=policy, a=a, b=b)
    if table.policy != policy and table.policy.size == policy.size:
        return replace(table, policy=policy, certificate=None)  # which speaks of its own policy
    return table


def _longer(longer: LongerSets | None) -> tuple[tuple[int, float], ...] | None:
    return None if longer is None else tuple(zip(longer.sizes, longer.shares, strict=True))


def _padded_unary(source: PaddedUnaryMechanism, question: Question) -> Made:
    require_set_budgets(question.policy)
    length = source.padding_length
    name, _, shape = _unary(source.unary, question, length)
    return f"{name}-ps", OneOfSet(shape.levels, length, _longer(source.longer)), shape


def _whole_sets(source: SetDesignMechanism, question: Question) -> Made:
    levels, length = _levels(question), source.padding_length
    of_design = source.law.levels
    if replace(of_design, names=levels.names, items=levels.items, dummies=0) != levels:
        raise _wrong_mechanism(question, "design", "for another policy")
    asked = WholeSet(levels.with_dummies(length), length, _longer(source.longer))
    return "set-design", asked, source.law


def _design(source: SubsetDesign, question: Question) -> Made:
    if source.policy != question.policy:
        raise _wrong_mechanism(question, "design", "for another policy")
    levels = _levels(question)
    return "subset-design", Item(levels), replace(Sides.of(source), levels=levels)


def _alike(name: str) -> Callable[[FrequencyMechanism, Question], Made]:
    """Of a mechanism that protects all levels alike."""

    def make(source: FrequencyMechanism, question: Question) -> Made:
        _require_items(source.items, question)
        levels = _levels(question)
        return name, Item(levels), source.law.at(levels)

    return make


def _mean(source: MeanMechanism, question: Question) -> Made:
    domain, points = source.domain, len(source.integers) - 1
    if not isinstance(question, Numeric) or question.domain != domain:
        allowed, remedy = "that of a numeric question", "Plan the mechanism for this range."
        raise InputError(f"domain for {question.name!r}", domain, allowed, remedy)
    promised = question.epsilon
    if promised is not None and source.epsilon > promised:
        remedy = "Plan the mechanism with the promised budget."
        raise InputError("epsilon", source.epsilon, f"at most {promised}, as promised", remedy)
    levels = Levels((ANY_ANSWER,), (source.epsilon,), (points + 1,), ((),))
    asked = Number(levels, domain.lower, domain.upper, domain.yes_no, points)
    shape = Rows(levels, _tuples(source.integers), _tuples(source.values), source.blocks)
    return "bisample-md" if source.blocks else "mean-channel", asked, shape


def _channel(source: Channel, question: Question) -> Made:
    if question.kind != "ordinal":
        yes_no = isinstance(question, Numeric) and question.yes_no
        return _mean(MeanMechanism.of(source, yes_no), question)
    answers, drawn = question.ordered, drawn_channel(source)
    if source.symbols != answers:
        raise _wrong_mechanism(question, "channel", f"for {', '.join(source.symbols)}")
    if question.wanted != MEAN_OF_SCORES:
        drawn = shares_up_to(drawn)
    elif not np.array_equal(drawn.wanted, [question.scores]):
        raise _wrong_mechanism(question, "channel", f"for {', '.join(source.wanted_names)}")
    levels = _levels(question)
    items = levels.item_names()
    order = tuple(items.index(answer) for answer in answers)
    rows = integers_of(drawn)[[answers.index(item) for item in items]]
    asked = Ordered(levels, order, tuple(question.scores), question.wanted)
    return "ordered-channel", asked, Rows(levels, _tuples(rows), _tuples(drawn.estimator))


def _sampling(source: SamplingPlan, question: Question) -> Made:
    drawn, levels = source.mechanism, replace(_levels(question), rule="min")
    faces = (drawn.sampling, drawn.zero, *drawn.decoys)
    sampling, zero, *decoys = (round(share * D) for share in faces)
    everyone = drawn.everyone_has_value
    about = source.budgets[0], everyone, source.guarantee()
    shape = Die(levels, sampling, zero, tuple(decoys), *about)
    return "sampling-privacy", ItemOrNone(levels, everyone), shape


MAKERS: dict[type, Callable[[Any, Question], Made]] = {
    UnaryTable: _unary,
    UnaryMechanism: _unary,
    PaddedUnaryMechanism: _padded_unary,
    SubsetDesign: _design,
    SetDesignMechanism: _whole_sets,
    SubsetSelection: _alike("subset-selection"),
    GeneralizedRandomizedResponse: _alike("grr"),
    OptimizedLocalHashing: _alike("olh"),
    MeanMechanism: _mean,
    Channel: _channel,
    SamplingPlan: _sampling,
}
"""What makes the law of a question for a mechanism, table or plan."""
