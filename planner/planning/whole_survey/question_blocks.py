"""Questions of a survey as blocks of a joint allocation."""

from __future__ import annotations

from dataclasses import replace

from planner.errors import InputError
from planner.limits import MAX_EPSILON
from planner.mechanisms.means import first_order
from planner.planning.allocation.blocks import Block, ChoiceBlock, MeanBlock
from planner.planning.answer_rates import model_of
from planner.planning.option import ErrorLaw
from planner.planning.padded_error import Padding
from planner.planning.pilot import set_model_of
from planner.planning.solve import DESIGN, tried
from planner.planning.whole_survey.left_open import answer_rate, settled_objective
from planner.solvers import MODELS
from planner.survey.questions import (
    BEST,
    COUNTS,
    ItemSet,
    LevelledQuestion,
    Numeric,
    Ordinal,
    Question,
)


def block_of(question: Question, users: int) -> Block:
    """The question, asked of ``users`` people, as a block.

    A numeric question has a budget, an item-set question a padding length: see
    :mod:`planner.planning.whole_survey.left_open`.

    Raises
    ------
    InputError
        One of these is missing, or nobody answers at the budget.
    """
    if isinstance(question, Numeric):
        return mean_block(question, users)
    if isinstance(question, Ordinal):
        return ordinal_block(question, users)
    return choice_block(question, users)


def levelled(question: Question) -> LevelledQuestion:
    """A question with levels."""
    assert not isinstance(question, Numeric)  # noqa: S101 - whoever calls has seen its kind
    return question


def choice_block(
    question: LevelledQuestion, users: int, mechanism: str | None = None
) -> ChoiceBlock:
    """The same for a question with levels; ``mechanism`` if it is settled whose errors count.

    Of a set at its padding length: there the errors surely fall in the share.
    """
    policy, objective = question.policy, settled_objective(question)
    name, mechanism = question.name, mechanism or _planned_with(question)
    length = question.padding_length if isinstance(question, ItemSet) else None
    if length is None or not isinstance(question, ItemSet):
        largest = max(objective.weights or (1.0,))
        return ChoiceBlock(
            name,
            policy,
            question.weight,
            objective,
            ErrorLaw(spread=largest * float(1 - 1 / policy.item_counts.sum())),
            mechanism=mechanism,
        )
    sets = Padding(set_model_of(question), length, objective).at(length, users, policy)
    return ChoiceBlock(
        name,
        policy,
        question.weight,
        objective,
        sets.errors,
        sets=True,
        mechanism=mechanism,
    )


def ordinal_block(question: Ordinal, users: int) -> Block:
    """The same for ordered answers: its share is decided by the errors of their counts.

    Of one person ``sum_j C_j (1 - C_j)`` over the shares up to each answer is at most a quarter
    of their number, times the largest importance. A mean's share is decided as Harmony's at the
    smallest budget of a pair; a sample misses at most the square of half the range, 1.
    """
    if question.of_mean:
        smallest = min(float(question.policy.bounds().min()), MAX_EPSILON)
        return MeanBlock(question.name, smallest, question.weight)
    block = choice_block(question, users)
    if question.wanted == COUNTS:
        return block
    largest = max(level.importance for level in question.levels)
    return replace(block, errors=ErrorLaw(spread=largest * (len(question.ordered) - 1) / 4))


def _planned_with(question: LevelledQuestion) -> str:
    """The mechanism whose errors decide the shares: the question's own where these surely fall."""
    name = question.mechanism
    if name in (BEST, DESIGN) and not isinstance(question, Ordinal):
        about = question.policy, DESIGN, settled_objective(question)
        best, reason = tried(*about, sets=question.kind == "item-set")
        return "opt0" if best is None or reason else DESIGN
    return name if name in MODELS else "opt0"


def mean_block(question: Numeric, users: int) -> MeanBlock:
    """The same for a numeric question.

    With missing answers the error is ``A / tanh^2(eps/2) + B`` at the answer rate; without, it is
    for the least favourable answers.
    """
    epsilon, rate = float(question.policy.epsilons[0]), answer_rate(question)
    if rate is None:
        return MeanBlock(question.name, epsilon, question.weight)
    model = model_of(question, users)
    # The variance is affine in 1/theta^2: two values give both terms.
    full, half = (float(first_order(t, rate, model.unit_mean, 1).mean) for t in (1.0, 0.5))
    scale = (half - full) / 3
    return MeanBlock(question.name, epsilon, question.weight, ErrorLaw(scale, full - scale))


def target_error(question: Question, users: int) -> float:
    """The question's total error target as an error per user, for the minimax.

    Choices and sets: ``users * share^2``. Means: the same on [-1, 1].

    Raises
    ------
    InputError
        It has none.
    """
    for target in question.targets:
        if target.kind == "error" and target.level is None:
            return users * target.value**2
    reason = f"question {question.name!r} has no target error for all its levels"
    remedy = "Add a target with an error and no level."
    raise InputError.because("targets", reason, remedy)
