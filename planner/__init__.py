"""A budget planner for local differential privacy.

You know how sensitive each answer is; the planner finds the perturbation
probabilities, proves that they are private and optimal, and predicts the error.

Examples
--------
>>> from planner import PrivacyPolicy, solve
>>> from math import log
>>> policy = PrivacyPolicy([log(4), log(6)], [1, 4], names=["severe", "common"])
>>> table = solve(policy)
>>> round(table.worst_case_mse, 6)
8.567495
>>> table.a.round(4).tolist(), table.b.round(4).tolist()
([0.592, 0.673], [0.327, 0.2776])
>>> table.certificate.relative_gap < 1e-9
True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planner.errors import (
        ConvergenceError,
        FileError,
        InfeasibleError,
        InputError,
        PlannerError,
        SolverError,
        UnboundedError,
        VerificationError,
    )
    from planner.mechanisms.coins import TwoCoinResponse
    from planner.mechanisms.sampling_privacy import SamplingPrivacy
    from planner.objective import Objective
    from planner.planning.sampling_plan import SamplingPlan, plan_sampling
    from planner.planning.sampling_question import SamplingQuestion
    from planner.planning.sampling_views import GuaranteeViews, guarantee_views
    from planner.policy import PrivacyPolicy
    from planner.solvers import baseline, solve
    from planner.survey import Level, Question, Survey
    from planner.survey_file import load_survey
    from planner.table import Certificate, UnaryTable

# Loaded on first use: a client that only randomises must not pay for the solvers.
_HOMES = {
    "errors": (
        "ConvergenceError",
        "FileError",
        "InfeasibleError",
        "InputError",
        "PlannerError",
        "SolverError",
        "UnboundedError",
        "VerificationError",
    ),
    "mechanisms.coins": ("TwoCoinResponse",),
    "mechanisms.sampling_privacy": ("SamplingPrivacy",),
    "objective": ("Objective",),
    "planning.sampling_plan": ("SamplingPlan", "plan_sampling"),
    "planning.sampling_question": ("SamplingQuestion",),
    "planning.sampling_views": ("GuaranteeViews", "guarantee_views"),
    "policy": ("PrivacyPolicy",),
    "solvers": ("baseline", "solve"),
    "survey": ("Level", "Question", "Survey"),
    "survey_file": ("load_survey",),
    "table": ("Certificate", "UnaryTable"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)  # noqa: PLE0605 - one table says it all; a test checks it
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'planner' has no attribute {name!r}")
    value = getattr(import_module(f"planner.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
