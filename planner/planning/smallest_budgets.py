"""Smallest budgets: the smallest common scale of the budgets that reaches a given error.

Of one answer, and of item sets at a given padding length, they are searched in one variable
(:mod:`planner.planning.budget_search`). Where the length is open both are found in turn: the
smallest budgets at one length, then the length that a plan with these budgets has. As that is no
worse a length, each turn lowers the budgets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import log

import numpy as np
from numpy.typing import NDArray

from planner.arguments import whole_number
from planner.designs.subset_design import SubsetDesign
from planner.errors import InputError
from planner.planning.budget_search import BudgetAnswer, BudgetSearch
from planner.planning.padding import Padding, PaddingPlan, plan_padding
from planner.planning.solve import DESIGN, solve_for
from planner.planning.targets import check_targets
from planner.policy.policy import PrivacyPolicy
from planner.survey.questions import Target

_TURNS, _LESS = 2, 0.99  # budgets that one more turn must lower them to


def smallest_budgets(
    policy: PrivacyPolicy,
    users: int,
    targets: Target | Sequence[Target],
    model: str = "opt0",
    adjustable: Sequence[str] | None = None,
    sets: Padding | None = None,
) -> BudgetAnswer:
    """The smallest common scale of the budgets at which all targets are met.

    Targets of single levels may need some importance for these levels: it is searched for, too, up
    to 20 times that of the others, and part of the answer.

    Parameters
    ----------
    policy:
        The levels and their budgets now.
    users:
        Number of reports, at least 1.
    targets:
        One target or several; all must be met. Of sets, about the total error.
    model:
        ``"opt0"``, ``"opt1"``, ``"opt2"`` or ``"subset-design"``; its total error is minimised.
    adjustable:
        Names of the levels whose budgets may change, rules min and avg only; all if omitted. No
        budget is raised above 50.
    sets:
        For item sets, and only for these: how they are padded.

    Raises
    ------
    InputError
        No target, contradicting targets, an unknown level, or an argument out of range.
    SolverError
        No certified table could be produced.

    Examples
    --------
    >>> policy = PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90], names=["A", "B", "C"])
    >>> answer = smallest_budgets(policy, 1_000_000, Target(error=0.01))
    >>> round(answer.scale, 4), [round(x, 6) for x in answer.reached]
    (1.482, [0.01])
    >>> print(smallest_budgets(policy, 1_000_000, Target(error=0.01), adjustable=["B", "C"]).reason)
    Impossible, because 'A' stays at 1: ...
    >>> from planner import AssumedSets, Padding
    >>> baskets = Padding(AssumedSets([0, 4, 3, 2, 1]))
    >>> answer = smallest_budgets(policy, 1_000_000, Target(error=0.05), sets=baskets)
    >>> round(answer.scale, 4), answer.padding_length
    (1.0586, 3)
    """
    wanted = (targets,) if isinstance(targets, Target) else tuple(targets)
    if not wanted:
        remedy = "Add a target, such as an error that one level must reach."
        raise InputError("targets", targets, "at least one target", remedy)
    whole_number("users", users)
    check_targets(wanted, policy.names, of_sets=sets is not None)
    free = _adjustable(policy, adjustable)
    search = BudgetSearch(policy, users, wanted, model, free)
    if sets is None:
        return _with_importance(search)
    if sets.length is not None:
        padded = sets.at(sets.length, users, policy)
        search = replace(search, padded=padded)
        return search.cut_too_much(padded) or search.smallest()
    return _at_best_length(search, sets)


def _with_importance(search: BudgetSearch) -> BudgetAnswer:
    """The smallest budgets, with the importance of the levels that targets of single ones need."""
    if search.policy.size == 1 or all(target.of_all for target in search.targets):
        return search.smallest()
    if search.model != "opt0":  # a table is quick, and needs nearly the same
        near = _with_importance(replace(search, model="opt0"))
        return replace(search, importance=near.importance, start=log(near.scale)).smallest()
    best = search.smallest()
    for _ in range(_TURNS):
        importance = search.weighed(log(best.scale))
        if importance == best.importance or len(set(importance)) == 1:
            break
        found = replace(search, importance=importance, start=log(best.scale)).smallest()
        if not found.possible or (best.possible and found.scale > _LESS * best.scale):
            break
        best = found
    return best


def _at_best_length(search: BudgetSearch, sets: Padding) -> BudgetAnswer:
    """Smallest budgets at one length and the best length at these, in turn, until both stay."""
    length, start, answers = 0, 0.0, dict[int, BudgetAnswer]()
    if search.model == DESIGN:  # a table is quick, and needs nearly the same
        near = _at_best_length(replace(search, model="opt0"), sets)
        length, start = near.padding_length or 1, log(near.scale) if near.possible else 0.0
    else:
        length = _first_length(search, _padding_plan(search, search.policy, sets))
    while length not in answers:
        padded = sets.at(length, search.users, search.policy)
        answers[length] = answer = replace(search, padded=padded, start=start).smallest()
        start = log(answer.scale)
        length = _padding_plan(search, answer.certified.policy, sets).length
    turns = list(answers)
    # At the largest budgets of several turns the others' lengths are no worse.
    last = [answers[one] for one in turns[turns.index(length) :]]
    return max(last, key=lambda one: (one.possible, one.scale))


def _first_length(search: BudgetSearch, plan: PaddingPlan) -> int:
    """The best padding length at the budgets as they are, of those whose bias leaves room."""
    room = search.users * min(one.value for one in search.targets) ** 2 / 2
    return int(plan.lengths[np.argmin(np.where(plan.bias2 <= room, plan.mse, np.inf))])


def _padding_plan(search: BudgetSearch, policy: PrivacyPolicy, sets: Padding) -> PaddingPlan:
    """Every length's error with what is best whatever the sets, as plans choose by."""
    drawn = solve_for(policy, search.model, sets=True)
    if isinstance(drawn, SubsetDesign) or sets.sets is None:
        remedy = "Say what is known of the sets, or give a padding length."
        raise InputError("sets", sets.sets, "known", remedy)
    return plan_padding(drawn, search.users, sets.sets)


def _adjustable(policy: PrivacyPolicy, names: Sequence[str] | None) -> NDArray[np.bool_]:
    if names is None:
        return np.ones(policy.size, dtype=bool)
    if not policy.rule.by_level:
        remedy = "With a matrix of pair budgets all of them are scaled together."
        raise InputError("adjustable", names, "left out", remedy)
    for name in names:
        if name not in policy.names:
            remedy = "Choose a level of the policy."
            raise InputError.unknown("adjustable", name, policy.names, remedy)
    if not names:
        remedy = "Name a level whose budget may change."
        raise InputError("adjustable", names, "at least one level", remedy)
    return np.isin(policy.names, list(names))
