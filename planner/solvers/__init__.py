"""Solvers: from a policy to a certified :class:`~planner.designs.table.UnaryTable`."""

from planner.solvers.models import MODELS, model_named
from planner.solvers.solving import BASELINES, METHODS, baseline, solve, solve_near

__all__ = ["BASELINES", "METHODS", "MODELS", "baseline", "model_named", "solve", "solve_near"]
