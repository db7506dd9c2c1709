"""The same question in many rounds: what else it could be, and what no protocol undercuts.

docs/theory/rounds.md has proofs of the bounds.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from itertools import combinations
from math import comb, sinh, tanh
from typing import TYPE_CHECKING

import numpy as np

from planner.errors import InputError, SolverError
from planner.planning.schemes import Scheme, own_ways
from planner.planning.solve import TOTAL
from planner.solvers.design_search import history_bound
from planner.survey.questions import AskedAgain

if TYPE_CHECKING:
    from planner.planning.question import QuestionPlan

_ROUGH = 0.01  # to which what is only compared is solved
_MOST_HISTORIES = 300  # sets of change times that a bound looks at


def compared(plan: QuestionPlan, *, others: bool = True) -> tuple[list[Scheme], float | None]:
    """Ways of asking a planned question again, its own first, and what none of them undercuts.

    Errors are squared, per person. The published protocols are of choices; the bound is None
    where none is proven. Without ``others``, which take long, its own ways alone.
    """
    again = plan.question.rounds
    assert again is not None  # noqa: S101 - asked of questions with rounds
    one, ways = own_ways(plan.part, plan.planned)
    count, changes = again.count, again.most_changes
    if not others:
        return ways, None
    ways.append(Scheme("asked one time", True, plan.error))
    each = plan.shared.at(plan.share / count, tolerance=_ROUGH).squared
    ways.append(replace(one, error=each - one.bias).shared(count))
    bound = _bound(plan, again, changes)
    if not plan.question.draws_one:
        return ways, bound
    policy = plan.deployed.policy
    memoised = memoised_errors(int(policy.item_counts.sum()), float(policy.bounds().min()), changes)
    ways += [Scheme(name, False, one.sample(each, one.spread)) for name, each in memoised.items()]
    return ways, bound


def _bound(plan: QuestionPlan, again: AskedAgain, changes: int) -> float | None:
    """Error of a round that no protocol with unbiased estimates undercuts, if any is proven.

    As answers may stay, that of the best single report; of choices also those of histories.
    """
    bounds = [one.squared_bound for one in plan.found if one.of_all and one.bound is not None]
    still = not changes and bounds  # what stays is one report
    policy, objective = plan.deployed.policy, getattr(plan.deployed, "objective", TOTAL)
    if plan.question.draws_one and objective.kind != "minimax" and not still:
        factors = [spread(again, changes, m) ** 0.5 for m in policy.item_counts.tolist()]
        with suppress(InputError, SolverError):  # a matrix of many levels, or tiny budgets
            bounds.append(history_bound(policy, objective, np.array(factors)))
    return max(bounds, default=0.0) or None


def memoised_errors(items: int, epsilon: float, changes: int) -> dict[str, float]:
    """Error of a round of the published protocols, by their own accounting of ``epsilon``.

    Each memoised value spends its own budget, ``epsilon / (changes + 1)``, and is reported where
    a second stage adds least; LOLOHA with two hash values spends at most two. The composite of
    L-OSUE is OUE (Arcolezi et al. 2022), RAPPOR's symmetric unary encoding (Erlingsson et al.
    2014), LOLOHA's binary randomised response on a hash (Arcolezi et al. 2023). None bounds what
    all histories tell apart: only those that change at the same times.
    """
    each = epsilon / min(changes + 1, items)
    return {
        "L-OSUE": items / sinh(each / 2) ** 2 + 1,
        "LOLOHA": items / tanh(epsilon / min(2, changes + 1) / 2) ** 2 - 1,
        "RAPPOR": items / (4 * sinh(each / 4) ** 2),
    }


@lru_cache(maxsize=64)
def spread(again: AskedAgain, changes: int, items: int) -> float:
    """``(tr R^(1/2))^2 / T`` of a law of when answers of one level of so many items change.

    Any law is proven; this one is about best. ``R`` is how far two rounds have the same answer, as
    a correlation. Where times are open all histories change at the same ones, to another item.
    Where there are too many histories to look at, it is of fewer changes: they bound all.
    """
    rounds = again.count
    if again.times_open:
        epoch = np.arange(rounds) * (changes + 1) // rounds
        alike = (-1.0 / max(items - 1, 1)) ** np.abs(epoch[:, None] - epoch)
        return float(np.sqrt(np.maximum(np.linalg.eigvalsh(alike), 0)).sum() ** 2 / rounds)
    if changes >= rounds - 1:
        return float(rounds)
    while sum(comb(rounds - 1, k) for k in range(changes + 1)) > _MOST_HISTORIES:
        changes -= 1
    together = []
    for count in range(changes + 1):
        for times in combinations(range(1, rounds), count):
            epoch = np.searchsorted(times, np.arange(rounds), side="right")
            together.append(epoch[:, None] == epoch)
    stays = np.array(together, dtype=np.float64)
    law = np.full(len(stays), 1 / len(stays))
    root = 0.0
    for _ in range(300):  # multiplicative steps towards the law of the largest tr R^(1/2)
        values, vectors = np.linalg.eigh(np.tensordot(law, stays, 1))
        values = np.sqrt(np.maximum(values, 1e-15))
        root = float(values.sum())
        inverse = (vectors / values) @ vectors.T
        gains = np.tensordot(stays, inverse, 2) / root  # mean 1 under the law
        law *= gains
        law /= law.sum()
        if gains.max() < 1 + 1e-9:
            break
    return root**2 / rounds
