"""A policy, an objective and a model as one convex program ``min F(v)`` over linear rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.policy.objective import Coefficients, Objective
from planner.policy.policy import PrivacyPolicy
from planner.solvers.models import Model

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """``F(v) = sum_i (A noise + Q signal)_i + max_k (B noise + C signal)_k``.

    Every branch ``k`` of the maximum, added to the sum, is convex in ``v``; the sum
    plus one linearised branch is therefore a lower bound of ``F``.
    """

    policy: PrivacyPolicy
    objective: Objective
    model: Model
    coefficients: Coefficients

    @classmethod
    def of(cls, policy: PrivacyPolicy, objective: Objective, model: Model) -> Program:
        """Check the objective against the policy and build the program."""
        return cls(policy, objective, model, objective.coefficients(policy))

    def value(self, v: Array) -> float:
        """``F`` at coordinates ``v`` of shape ``(c, t)``."""
        atoms = self.model.atoms(v)
        return self.coefficients.evaluate(atoms.noise, atoms.signal)

    def pieces(self, v: Array) -> tuple[float, Array, Array, Array]:
        """Sum, branches ``(t,)``, slope of the sum ``(c, t)``, own slope of each branch ``(c, t)``.

        Branch ``k`` depends on the coordinates of level ``k`` alone.
        """
        noise_sum, signal_sum, noise_max, signal_max = self.coefficients
        noise, signal, noise_slope, signal_slope = self.model.atoms(v)
        return (
            float(np.sum(noise_sum * noise + signal_sum * signal)),
            noise_max * noise + signal_max * signal,
            noise_sum * noise_slope + signal_sum * signal_slope,
            noise_max * noise_slope + signal_max * signal_slope,
        )

    def curvature(self, v: Array, weights: Array) -> Array:
        """Second derivatives ``(c, c, t)`` of the sum plus the weighted branches."""
        noise_sum, signal_sum, noise_max, signal_max = self.coefficients
        noise, signal = self.model.curvature(v)
        return (noise_sum + weights * noise_max) * noise + (
            signal_sum + weights * signal_max
        ) * signal
