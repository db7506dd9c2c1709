"""How much work the solvers do, in calls of their functions: the same on a busy machine.

A worse search proves the same answer, only later. Its calls differ between processors, whose
rounding differs: a target is three times what was counted when it was written.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import numpy as np
from measure import Figure, rows, show

import planner.solvers
from planner import Objective, PrivacyPolicy, solve
from planner.planning.solve import forget
from planner.solvers.answers import Scenario
from planner.solvers.channel_search import solve_channel
from planner.solvers.design_search import best_design

SOLVERS = str(Path(planner.solvers.__file__).parent)
TOLERATED = 3


def figures() -> list[Figure]:
    return rows(_reduced, _slsqp, _designs, _channels)


def calls_within(function: Callable[[], object]) -> int:
    """Calls of functions of the solvers' package while ``function`` runs."""
    calls = 0

    def count(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        if event == "call" and frame.f_code.co_filename.startswith(SOLVERS):
            calls += 1

    forget()
    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(None)
    return calls


def _figure(what: str, function: Callable[[], object], counted: int) -> Figure:
    function()  # what is imported on first use is no effort
    calls = calls_within(function)
    return Figure(
        what,
        f"{calls:,} calls",
        f"{TOLERATED} x {counted:,}",
        calls <= TOLERATED * counted,
    )


def _tables(
    method: str, models: tuple[str, ...], policies: list[PrivacyPolicy]
) -> None:
    for policy in policies:
        prior = policy.item_counts / policy.item_counts.sum()
        for model in models:
            for objective in (
                Objective(),
                Objective("minimax"),
                Objective("expected", prior=prior),
            ):
                solve(policy, model, method, objective)


def _reduced() -> Figure:
    policies = []
    for rule in ("min", "avg"):
        policies += [
            PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90], rule),
            PrivacyPolicy(np.linspace(1, 1.9, 20), np.full(20, 5), rule),
            PrivacyPolicy(np.linspace(0.5, 4, 40), np.arange(1, 41), rule),
            PrivacyPolicy(np.geomspace(1, 3, 300), np.full(300, 7), rule),
        ]
    models = ("opt0", "opt1", "opt2")
    return _figure(
        "72 tables, reduced", lambda: _tables("reduced", models, policies), 16_000
    )


def _slsqp() -> Figure:
    rng = np.random.default_rng(12)
    policies = []
    for levels in (2, 4, 6, 8):
        budgets = rng.uniform(0.3, 4, (levels, levels))
        counts = rng.integers(1, 100, levels)
        policies.append(PrivacyPolicy(np.ones(levels), counts, budgets))
    models = ("opt0", "opt1", "opt2")
    return _figure(
        "36 tables, slsqp", lambda: _tables("slsqp", models, policies), 7_400
    )


def _designs() -> list[Figure]:
    found = []
    for what, policy, counted in (
        ("design, 3 levels", PrivacyPolicy([1, 1.2, 2], [5, 5, 90]), 3_100),
        ("design, 3 levels, avg", PrivacyPolicy([1, 1.2, 2], [5, 5, 90], "avg"), 4_100),
        (
            "design, 6 levels",
            PrivacyPolicy(np.linspace(1, 2, 6), np.full(6, 5)),
            14_000,
        ),
    ):
        found.append(_figure(what, lambda p=policy: best_design(p), counted))
    return found


def _channels() -> Figure:
    answers = 6
    policy = PrivacyPolicy([1.0] * answers, [1] * answers)
    wanted = np.tril(np.ones((answers, answers)))[:-1]
    scenarios = [Scenario(person, np.eye(answers - 1)) for person in np.eye(answers)]
    return _figure(
        "channel, 6 ordered answers",
        lambda: solve_channel(policy, wanted, scenarios),
        590,
    )


if __name__ == "__main__":
    show(figures(), "Effort")
