"""The best of all mechanisms: subset designs by a convex program, with a proof over all of them."""

from planner.solvers.design.solving import best_design

__all__ = ["best_design"]
