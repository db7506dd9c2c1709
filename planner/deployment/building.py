"""Build parameter files: of a planned survey, or of a mechanism for each of its questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.deployment.client.document import FORMAT, VERSION, content_hash
from planner.deployment.parameters import Parameters
from planner.errors import InputError
from planner.estimates.channel import shares_up_to
from planner.laws.answers import MEAN_OF_SCORES
from planner.laws.exact import round_inward
from planner.laws.levels import Levels
from planner.limits import DENOMINATOR as D
from planner.mechanisms.itemsets import PaddedUnaryMechanism
from planner.mechanisms.means import MeanMechanism
from planner.mechanisms.plain import (
    GeneralizedRandomizedResponse,
    OptimizedLocalHashing,
    SubsetSelection,
)
from planner.mechanisms.rounding import drawn_channel, integers_of
from planner.mechanisms.set_design import SetDesignMechanism
from planner.mechanisms.subset_design import SubsetDesignMechanism
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
    questions = [question_document(q, mechanisms[q.name]) for q in survey.questions]
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


def question_document(question: Question, mechanism: Any) -> dict[str, Any]:
    """One question of the file: the way of asking, and the mechanism's integers.

    Raises
    ------
    InputError
        The mechanism cannot be deployed, or does not fit the question.
    """
    make = MAKERS.get(type(mechanism))
    if make is None:
        what, name = f"mechanism of question {question.name!r}", type(mechanism).__name__
        remedy = "Take the mechanism that plan_survey chose for the question."
        raise InputError(what, name, "one that can be deployed", remedy)
    again = None if question.rounds is None else question.rounds.deployed
    rounds = {} if again is None else {"rounds": again.document()}
    return {"name": question.name, "denominator": D, **make(mechanism, question), **rounds}


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


# -- what the file has of each mechanism, table or plan ------------------------------------


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


def _unary(source: Any, question: Question) -> dict[str, Any]:
    table = _table_of(source, question) if isinstance(source, UnaryMechanism) else source
    if table.policy != question.policy:
        raise _wrong_mechanism(question, "table", "for another policy")
    levels = _levels(question)
    a, b = round_inward(table.a.tolist(), table.b.tolist(), levels)
    name = table.model if table.model in ("rappor", "oue") else "idue"
    return _item(levels) | {"mechanism": name, "law": "bits", "a": a, "b": b}


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


def _item(levels: Levels) -> dict[str, Any]:
    return {"asked": "item", **levels.document()}


def _sets(length: int, dummies: int, longer: LongerSets | None) -> dict[str, Any]:
    stated = None
    if longer is not None:
        pairs = zip(longer.sizes, longer.shares, strict=True)
        stated = [{"size": size, "share": share} for size, share in pairs]
    return {
        "asked": "one-of-set",
        "padding_length": length,
        "dummies": dummies,
        "longer_sets": stated,
    }


def _padded_unary(source: PaddedUnaryMechanism, question: Question) -> dict[str, Any]:
    require_set_budgets(question.policy)
    unary, length = _unary(source.unary, question), source.padding_length
    return unary | _sets(length, length, source.longer) | {"mechanism": f"{unary['mechanism']}-ps"}


def _whole_sets(source: SetDesignMechanism, question: Question) -> dict[str, Any]:
    levels, law = _levels(question), source.law
    if replace(law.levels, names=levels.names, items=levels.items, dummies=0) != levels:
        raise _wrong_mechanism(question, "design", "for another policy")
    sets = _sets(source.padding_length, source.padding_length, source.longer)
    del sets["dummies"]  # as many as the padding length
    about = {"mechanism": "set-design", "asked": "whole-set", "law": "staircase"}
    return levels.document() | sets | about | law.document()


def _design(source: SubsetDesign, question: Question) -> dict[str, Any]:
    if source.policy != question.policy:
        raise _wrong_mechanism(question, "design", "for another policy")
    return _sides("subset-design", SubsetDesignMechanism.of(source), source.groups, question)


def _sides(
    name: str, drawn: SubsetDesignMechanism, groups: Any, question: Question
) -> dict[str, Any]:
    return _item(_levels(question)) | {
        "mechanism": name,
        "law": "sides",
        "groups": np.asarray(groups).tolist(),
        "types": drawn.high_counts.tolist(),
        "weights": drawn.integers.tolist(),
        "values": drawn.estimator.tolist(),
    }


def _selection(name: str, size: int, held: int, question: Question) -> dict[str, Any]:
    """Sets of one size, the own item among them with ``held/2^32``."""
    levels = _levels(question)
    return _item(levels) | {
        "mechanism": name,
        "law": "sides",
        "groups": [0] * len(levels.names),
        "types": [[size]],
        "weights": [[[D - held, held]]],
        "values": [],
    }


def _subset(source: SubsetSelection, question: Question) -> dict[str, Any]:
    _require_items(source.items, question)
    held = round(float(source.a[0]) * D)
    return _selection("subset-selection", source.size, held, question)


def _response(source: GeneralizedRandomizedResponse, question: Question) -> dict[str, Any]:
    _require_items(source.items, question)
    return _selection("grr", 1, int(source.p * D), question)


def _hashing(source: OptimizedLocalHashing, question: Question) -> dict[str, Any]:
    _require_items(source.items, question)
    response = GeneralizedRandomizedResponse(source.epsilon, source.values)
    return _item(_levels(question)) | {
        "mechanism": "olh",
        "law": "hash",
        "hash_function": "xxh32",
        "truth": round((response.p - response.q) * D),
        "values": source.values,
    }


def _mean(source: MeanMechanism, question: Question) -> dict[str, Any]:
    domain = source.domain
    if not isinstance(question, Numeric) or question.domain != domain:
        allowed, remedy = "that of a numeric question", "Plan the mechanism for this range."
        raise InputError(f"domain for {question.name!r}", domain, allowed, remedy)
    promised = question.epsilon
    if promised is not None and source.epsilon > promised:
        remedy = "Plan the mechanism with the promised budget."
        raise InputError("epsilon", source.epsilon, f"at most {promised}, as promised", remedy)
    return {
        "mechanism": "bisample-md" if source.blocks else "mean-channel",
        "asked": "number",
        "law": "rows",
        "epsilon": source.epsilon,
        "lower": domain.lower,
        "upper": domain.upper,
        "yes_no": domain.yes_no,
        "points": len(source.integers) - 1,
        "rows": source.integers.tolist(),
        "values": source.values.tolist(),
        "blocks": list(source.blocks),
    }


def _channel(source: Channel, question: Question) -> dict[str, Any]:
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
    items = [item for level in question.levels for item in level.items]
    return {
        "mechanism": "ordered-channel",
        "asked": "ordered",
        "law": "rows",
        **_levels(question).document(),
        "order": [items.index(answer) for answer in answers],
        "scores": list(question.scores),
        "wanted": question.wanted,
        "rows": integers_of(drawn)[[answers.index(item) for item in items]].tolist(),
        "values": drawn.estimator.tolist(),
        "blocks": [],
    }


def _sampling(source: SamplingPlan, question: Question) -> dict[str, Any]:
    guarantee, drawn = source.guarantee(), source.mechanism
    return _item(_levels(question)) | {
        "mechanism": "sampling-privacy",
        "asked": "item-or-none",
        "law": "die",
        "rule": "min",
        "sampling": round(drawn.sampling * D),
        "zero": round(drawn.zero * D),
        "decoys": [round(decoy * D) for decoy in drawn.decoys],
        "none_epsilon": source.budgets[0],
        "everyone_has_value": drawn.everyone_has_value,
        "guarantee": guarantee,
    }


MAKERS: dict[type, Callable[[Any, Question], dict[str, Any]]] = {
    UnaryTable: _unary,
    UnaryMechanism: _unary,
    PaddedUnaryMechanism: _padded_unary,
    SubsetDesign: _design,
    SetDesignMechanism: _whole_sets,
    SubsetSelection: _subset,
    GeneralizedRandomizedResponse: _response,
    OptimizedLocalHashing: _hashing,
    MeanMechanism: _mean,
    Channel: _channel,
    SamplingPlan: _sampling,
}
"""What writes the keys of a question for a mechanism, table or plan."""
