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
    from planner.designs.channel import Channel, Scenario
    from planner.designs.subset_design import DesignCertificate, OutputTypes, SubsetDesign
    from planner.designs.table import Certificate, UnaryTable
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
    from planner.estimates.channel import estimate_mean, estimate_ordered
    from planner.estimates.counts import Estimates
    from planner.estimates.ordered import OrderedEstimates
    from planner.mechanisms.aggregate import Aggregate
    from planner.mechanisms.bisample import BiSample, BiSampleMD, prepare_value
    from planner.mechanisms.coins import TwoCoinResponse
    from planner.mechanisms.direct import GeneralizedRandomizedResponse
    from planner.mechanisms.direct_levels import DirectEncoding
    from planner.mechanisms.forced_answer import Harmony
    from planner.mechanisms.hashing import OptimizedLocalHashing
    from planner.mechanisms.itemsets import ItemSets
    from planner.mechanisms.padding import PaddedUnaryMechanism, set_budgets
    from planner.mechanisms.piecewise import Hybrid, Piecewise
    from planner.mechanisms.privkvm import PrivKVM
    from planner.mechanisms.sampled_attributes import SampledAttributes
    from planner.mechanisms.sampling_privacy import SamplingPrivacy
    from planner.mechanisms.subset import SubsetSelection
    from planner.mechanisms.unary import UnaryMechanism
    from planner.planning.allocation.blocks import ChoiceBlock, MeanBlock
    from planner.planning.allocation.plan import Allocation, allocate
    from planner.planning.answer_rate.model import AnswerRateModel
    from planner.planning.answer_rate.plan import AnswerRatePlan, plan_answer_rate
    from planner.planning.channels.curve import ChannelCurve, channel_curve
    from planner.planning.channels.means import MeanChannel, best_channel, refine_channel
    from planner.planning.channels.ordered import best_ordered_channel, ordered_bound
    from planner.planning.channels.populations import AssumedAnswers, five_populations
    from planner.planning.explain import explain
    from planner.planning.frontier import Frontier, frontier
    from planner.planning.ledger import Ledger, read_ledger, write_ledger
    from planner.planning.misplacement import misplaced
    from planner.planning.padding import PaddingPlan, plan_padding
    from planner.planning.pilot import PilotSets
    from planner.planning.prediction import Prediction, predict, verdict
    from planner.planning.sampling.plan import SamplingPlan, plan_sampling
    from planner.planning.sampling.question import SamplingQuestion
    from planner.planning.sampling.views import GuaranteeViews, guarantee_views
    from planner.planning.smallest_budgets import smallest_budgets
    from planner.planning.targets import smallest_detectable, users_needed
    from planner.planning.whole_survey.compare import compare_plans
    from planner.planning.whole_survey.plan import SurveyPlan, plan_survey
    from planner.planning.whole_survey.question_plan import QuestionPlan
    from planner.policy.objective import Objective
    from planner.policy.policy import PrivacyPolicy
    from planner.show.charts.chart import chart
    from planner.show.report import report_html
    from planner.solvers import baseline, best_design, efficiency, least_error, solve
    from planner.survey import Level, Numeric, Question, Survey
    from planner.survey.file import load_survey
    from planner.survey.numeric_domain import NumericDomain
    from planner.survey.preferences import (
        EmpiricalPreferences,
        GammaPreferences,
        HistogramPreferences,
        LognormalPreferences,
        NormalPreferences,
        read_preferences,
    )
    from planner.survey.set_model import AssumedSets
    from planner.survey.target import Target
    from planner.trial.audit import audit_levels, audit_samples, audit_sets

# Loaded on first use: a client that only randomises must not pay for the solvers.
_HOMES = {
    "trial.audit": (
        "audit_levels",
        "audit_samples",
        "audit_sets",
    ),
    "show.charts.chart": ("chart",),
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
    "estimates.channel": (
        "estimate_mean",
        "estimate_ordered",
    ),
    "estimates.counts": ("Estimates",),
    "estimates.ordered": ("OrderedEstimates",),
    "mechanisms.aggregate": ("Aggregate",),
    "mechanisms.bisample": (
        "BiSample",
        "BiSampleMD",
        "prepare_value",
    ),
    "mechanisms.coins": ("TwoCoinResponse",),
    "mechanisms.direct": ("GeneralizedRandomizedResponse",),
    "mechanisms.direct_levels": ("DirectEncoding",),
    "mechanisms.forced_answer": ("Harmony",),
    "mechanisms.hashing": ("OptimizedLocalHashing",),
    "mechanisms.itemsets": ("ItemSets",),
    "mechanisms.padding": (
        "PaddedUnaryMechanism",
        "set_budgets",
    ),
    "mechanisms.piecewise": (
        "Hybrid",
        "Piecewise",
    ),
    "mechanisms.privkvm": ("PrivKVM",),
    "mechanisms.sampled_attributes": ("SampledAttributes",),
    "mechanisms.sampling_privacy": ("SamplingPrivacy",),
    "mechanisms.subset": ("SubsetSelection",),
    "mechanisms.unary": ("UnaryMechanism",),
    "survey.numeric_domain": ("NumericDomain",),
    "policy.objective": ("Objective",),
    "planning.allocation.blocks": (
        "ChoiceBlock",
        "MeanBlock",
    ),
    "planning.allocation.plan": (
        "Allocation",
        "allocate",
    ),
    "planning.answer_rate.model": ("AnswerRateModel",),
    "planning.answer_rate.plan": (
        "AnswerRatePlan",
        "plan_answer_rate",
    ),
    "planning.channels.curve": (
        "ChannelCurve",
        "channel_curve",
    ),
    "planning.channels.means": (
        "MeanChannel",
        "best_channel",
        "refine_channel",
    ),
    "planning.channels.ordered": (
        "best_ordered_channel",
        "ordered_bound",
    ),
    "planning.channels.populations": (
        "AssumedAnswers",
        "five_populations",
    ),
    "planning.explain": ("explain",),
    "planning.frontier": (
        "Frontier",
        "frontier",
    ),
    "planning.ledger": (
        "Ledger",
        "read_ledger",
        "write_ledger",
    ),
    "planning.misplacement": ("misplaced",),
    "planning.padding": (
        "PaddingPlan",
        "plan_padding",
    ),
    "planning.pilot": ("PilotSets",),
    "planning.sampling.plan": (
        "SamplingPlan",
        "plan_sampling",
    ),
    "planning.sampling.question": ("SamplingQuestion",),
    "planning.sampling.views": (
        "GuaranteeViews",
        "guarantee_views",
    ),
    "planning.smallest_budgets": ("smallest_budgets",),
    "planning.targets": (
        "smallest_detectable",
        "users_needed",
    ),
    "planning.whole_survey.compare": ("compare_plans",),
    "planning.whole_survey.plan": (
        "SurveyPlan",
        "plan_survey",
    ),
    "planning.whole_survey.question_plan": ("QuestionPlan",),
    "policy.policy": ("PrivacyPolicy",),
    "planning.prediction": (
        "Prediction",
        "predict",
        "verdict",
    ),
    "survey.preferences": (
        "EmpiricalPreferences",
        "GammaPreferences",
        "HistogramPreferences",
        "LognormalPreferences",
        "NormalPreferences",
        "read_preferences",
    ),
    "show.report": ("report_html",),
    "survey.set_model": ("AssumedSets",),
    "solvers": (
        "baseline",
        "best_design",
        "efficiency",
        "least_error",
        "solve",
    ),
    "survey": (
        "Level",
        "Numeric",
        "Question",
        "Survey",
    ),
    "survey.file": ("load_survey",),
    "designs.subset_design": (
        "DesignCertificate",
        "OutputTypes",
        "SubsetDesign",
    ),
    "designs.channel": (
        "Channel",
        "Scenario",
    ),
    "designs.table": (
        "Certificate",
        "UnaryTable",
    ),
    "survey.target": ("Target",),
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
