"""What becomes of targets: what was wanted, what is reached, and which budgets would meet them."""

from __future__ import annotations

from collections.abc import Sequence

from planner.mechanisms.catalogue import CATALOGUE
from planner.planning.question import QuestionPlan
from planner.planning.targets import BudgetAnswer, FileBudget, TargetAnswer
from planner.policy.budget_text import digits_up
from planner.show import kinds
from planner.show.blocks import listed, percent

MOST_NAMED = 6
"""Levels with budgets or odds of their own in one sentence; of more it says how many."""

_SHOWN_SCALE = 0.0005  # a factor nearer to 1 is 1.000 in four digits
_NOTHING_REACHED = 1e6  # times the people: an estimate that says nothing at all


def target_sentence(
    question: QuestionPlan, answer: TargetAnswer, *, in_headline: bool = False
) -> str:
    """What becomes of a target, and what would meet it if it is missed.

    The people needed are left out if they stand ``in_headline``.
    """
    verdict = "met" if answer.met else "MISSED"
    reached = "nothing"
    if answer.reached < _NOTHING_REACHED:
        reached = percent(answer.reached)
    target = f"{_wanted(answer)}{kinds.in_round(question)}"
    text = f"Target, {target}: {verdict}, reached {reached}."
    if answer.power is not None and answer.groups is not None:
        groups = answer.groups
        text = (
            f"{text} The people asked show it with a power of {percent(answer.power)} "
            f"(5 %, two-sided; {groups.first!r} with {percent(groups.first_share)} of the "
            f"people, {groups.second!r} with {percent(groups.second_share)})."
        )
    if answer.met:
        return text
    instead = _people_instead(answer, in_headline=in_headline)
    return f"{text} {budgets_sentence(question, answer)} Or {instead}."


def _people_instead(answer: TargetAnswer, *, in_headline: bool) -> str:
    """How many people would meet a missed target at the budgets as they are."""
    if answer.users is None:  # a bias is larger than the target
        return "no number of people would do, as truncated or missing answers bias the result"
    if in_headline:
        return "ask more people"
    return f"ask {answer.users:,} people"


def _wanted(answer: TargetAnswer) -> str:
    """What a target demands, in words."""
    target = answer.target
    share = percent(target.value)
    if answer.of_mean:
        return f"error of the mean at most {share} of half the range"
    of_level = ""
    if target.level is not None:
        of_level = f" of {target.level!r}"
    if target.kind == "detect":
        return f"every item{of_level} detectable from {share} of the people"
    if target.kind == "difference":
        start = percent(target.from_share or 0.0)
        return (
            f"a difference of {share} between any two of {target.between!r} detected, from "
            f"a share of {start}{of_level}"
        )
    if target.of_all:
        return f"total error at most {share} of the people"
    return f"standard error of a rare item{of_level} at most {share}"


def budgets_sentence(question: QuestionPlan, answer: TargetAnswer) -> str:
    """Which budgets would meet a missed target, or why none do; empty for one that is met."""
    if answer.budgets is not None:
        kept = kinds.kept_shares(question)
        return smallest_sentence(answer.budgets, answer.in_file, kept=kept)
    if answer.met:
        return ""
    return (
        "Which budgets would be enough is not computed for questions like this one: plan with "
        "larger ones to see."
    )


def smallest_sentence(
    answer: BudgetAnswer,
    in_file: Sequence[FileBudget] | None = None,
    *,
    kept: str = "",
) -> str:
    """The smallest budgets that meet targets, or why there are none.

    Those that the survey file would state, where they are given; ``kept`` says on which shares of
    budgets and people they rest.

    Examples
    --------
    >>> from planner import PrivacyPolicy, Target, smallest_budgets
    >>> policy = PrivacyPolicy([1.0, 2.0], [1, 4], names=["severe", "common"])
    >>> print(smallest_sentence(smallest_budgets(policy, 10_000, Target(error=0.02))))
    These are the smallest budgets in proportion that meet the targets with IDUE opt0: ...
    """
    if not answer.possible:
        return _impossible(answer)
    # What stays beyond budgets: the part of sets that is cut, for example.
    note = ""
    if answer.option.note:
        note = f", {answer.option.note}"
    opening = _opening(answer)
    if in_file is not None:
        opening += ", as the survey file states them"
    opening += kept
    named = listed(_named_budgets(answer, in_file), MOST_NAMED)
    return f"{opening}: {named} ({_scale_in_words(answer)}){note}."


def _impossible(answer: BudgetAnswer) -> str:
    """Why no budgets meet the targets: the cause that no budget removes, if there is one.

    Of several targets the one is named that is missed by the largest factor.
    """
    reached = zip(answer.reached, answer.targets, strict=True)
    least, target = max(reached, key=lambda pair: pair[0] / pair[1].value)
    cause = f"even at budgets up to {answer.policy.epsilons.max():.4g}"
    if answer.truncation >= target.value:
        cause = f"long sets are cut ({answer.option.note}): whatever the budgets"
    elif answer.sampling >= target.value:
        missed = percent(answer.sampling)
        return f"Impossible, because asking only some of the people leaves an error of {missed}."
    floor = "no share at all"
    if least < 1:
        floor = percent(least)
    return f"Impossible, because {cause}, the best is {floor}; wanted: {percent(target.value)}."


def _opening(answer: BudgetAnswer) -> str:
    """What is claimed of budgets that meet the targets: that they are smallest only if proven.

    The proof is of one form of mechanisms, which is named, unless its bound is of them all.
    """
    if answer.lowest:
        return "The targets are met even with next to no budget"
    if not answer.proven:
        return "These budgets meet the targets"
    form = ""
    if not answer.option.of_all:
        form = f" with {kinds.short(CATALOGUE[answer.option.name].label)}"
    return f"These are the smallest budgets in proportion that meet the targets{form}"


def _scale_in_words(answer: BudgetAnswer) -> str:
    """How much larger or smaller the budgets are than they are now."""
    if abs(answer.scale - 1) >= _SHOWN_SCALE:
        factor = f"{digits_up(answer.scale)} times what they are"
    elif answer.scale > 1:
        factor = "a little more than they are"
    else:
        factor = "a little less than they are"
    if answer.saturated:
        # Such a level gets the budget from which on its error falls no further, not the factor.
        factor += ", or where more buys nothing"
    return factor


def _named_budgets(
    answer: BudgetAnswer, in_file: Sequence[FileBudget] | None
) -> list[str]:
    """Budgets with the names of their levels; of a joint question with those of its parts.

    They are rounded up: rounded down they would no longer meet the targets.
    """
    named = []
    if in_file is None:
        policy = answer.policy
        for name, epsilon in zip(policy.names, policy.epsilons.tolist(), strict=True):
            named.append(f"{name} {digits_up(epsilon)}")
        return named
    if not in_file:  # a file states them pair by pair: too many for a sentence
        return ["every budget of a pair of levels"]
    several = len({row.question for row in in_file}) > 1
    for row in in_file:
        level = row.level
        if several:
            level = f"{level} of {row.question!r}"
        named.append(f"{level} {digits_up(row.epsilon)}")
    return named
