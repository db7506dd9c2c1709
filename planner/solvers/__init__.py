"""Solvers: from a policy to certified table, or to the best of all mechanisms."""

from planner.solvers.design_search import best_design
from planner.solvers.models import MODELS, model_named
from planner.solvers.solving import BASELINES, METHODS, baseline, solve

__all__ = ["BASELINES", "METHODS", "MODELS", "baseline", "best_design", "model_named", "solve"]
