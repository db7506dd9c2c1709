"""Which mechanisms a question can be deployed with, and those that its own are compared with."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from planner.errors import InputError
from planner.mechanisms.catalogue import CATALOGUE
from planner.mechanisms.frequency import FrequencyMechanism
from planner.mechanisms.rivals import direct_encoding
from planner.planning.level_terms import LevelTerms, Terms
from planner.planning.prediction import plain_rivals
from planner.planning.solve import DESIGN
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy
from planner.solvers import BASELINES, MODELS
from planner.survey.questions import BEST, Question

_MOST_ITEMS = 1_000_000  # beyond it only mechanisms described per level are compared
_MOST_DEPLOYED_ITEMS = 100_000


def mechanism_choices(question: Question) -> list[str]:
    """Names of the mechanisms that a question can be deployed with; the first is the usual one.

    Examples
    --------
    >>> from planner.survey.questions import Categorical, Level
    >>> mechanism_choices(Categorical("q", (Level("any", 1.0, item_count=4),)))
    ['best', 'subset-design', 'opt0', 'opt1', 'opt2', 'rappor', 'oue', 'grr', 'subset', 'olh']
    """
    offered = [name for name, offer in CATALOGUE.items() if question.kind in offer.kinds]
    if getattr(question, "criterion", "total") != "total" and DESIGN in offered:
        offered.remove(DESIGN)  # designs are made for the error of all items together
    if question.kind != "categorical":
        return offered
    known = {BEST, *MODELS, *BASELINES, *rivals(question.policy, _MOST_DEPLOYED_ITEMS)}
    if question.policy.item_counts.sum() > 1:
        known.add(DESIGN)
    return [name for name in offered if name in known]


def check_mechanism(question: Question) -> None:
    """Check that a question can be deployed with its mechanism.

    Raises
    ------
    InputError
        It cannot.
    """
    known = mechanism_choices(question)
    if question.mechanism not in known:
        what = f"mechanism of question {question.name!r}"
        remedy = "Choose one of these, or leave the mechanism out."
        raise InputError.unknown(what, question.mechanism, known, remedy)


def errors_for_choices(
    policy: PrivacyPolicy, solved: Mapping[str, Terms], objective: Objective | None = None
) -> dict[str, float]:
    """The objective per user of every mechanism for a question with one answer, by name.

    Parameters
    ----------
    policy:
        The levels and budgets.
    solved:
        Tables and designs to compare, by name.
    objective:
        The total error for the least favourable answers when omitted.

    Examples
    --------
    >>> from planner.solvers import baseline, solve
    >>> policy = PrivacyPolicy(np.log([4, 6]), [1, 4])
    >>> errors = errors_for_choices(policy, {"opt0": solve(policy)})
    >>> min(errors, key=errors.get), round(min(errors.values()), 3)
    ('grr', 4.889)
    """
    others = rivals(policy, _MOST_ITEMS)
    terms = {name: LevelTerms.of(mechanism, policy) for name, mechanism in others.items()}
    if others and np.ptp(policy.room(np.zeros(policy.size))) > 0:  # else it is that response
        terms["direct"] = LevelTerms.with_probabilities(policy, *direct_encoding(policy))
    wanted = objective or Objective()
    return {name: one.value(wanted) for name, one in {**terms, **solved}.items()}


def rivals(policy: PrivacyPolicy, most_items: int) -> dict[str, FrequencyMechanism]:
    """The mechanisms of plain LDP beside tables.

    None with one item or more than ``most_items``, or if the budgets are out of their range.
    """
    if not 2 <= int(policy.item_counts.sum()) <= most_items:
        return {}
    try:
        return plain_rivals(policy)
    except InputError:  # a budget too small for the grid of 2^-32 with so many items
        return {}
