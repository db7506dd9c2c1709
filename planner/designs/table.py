"""The table of bit probabilities: all that passes from a solver to a mechanism."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.errors import InputError
from planner.frames import Framed
from planner.policy import logodds
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy


@dataclass(frozen=True, slots=True)
class Certificate:
    """A proof of how good an answer is, checkable without trusting the solver.

    Attributes
    ----------
    lower_bound:
        Nothing that the bound is about, and keeps the pair budgets, has a smaller objective.
    relative_gap:
        ``(objective - lower_bound) / lower_bound``, not negative: the proven distance. Infinite
        where the bound is 0, that is for errors of a millionth and less, lost in rounding.
    over:
        What the bound is about. ``"tables"``: tables of bits of the same model. ``"mechanisms"``:
        all that ask once, with any unbiased estimator. ``"linear mechanisms"``: the same with
        estimators that add up one number a report; others may learn from many reports which
        of several populations it is.
    """

    lower_bound: float
    relative_gap: float
    over: str

    @property
    def estimates(self) -> str:
        """The estimates that a bound over mechanisms is about, in words."""
        return "unbiased linear estimate" if "linear" in self.over else "unbiased estimate"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class UnaryTable(Framed):
    """Bit probabilities per privacy level, with what they cost and why they are right.

    Attributes
    ----------
    policy:
        The levels, their budgets and the pair rule that the table keeps.
    a, b:
        ``Pr[report 1 | true bit 1]`` and ``Pr[report 1 | true bit 0]`` per level,
        shape ``(t,)``, ``0 < b < a < 1``.
    model:
        ``"opt0"``, ``"opt1"``, ``"opt2"`` (IDUE), ``"rappor"`` or ``"oue"``.
    method:
        How it was found, e.g. ``"reduced"``; ``"closed form"`` for the baselines.
    objective:
        What was minimised.
    certificate:
        Proof of optimality; ``None`` for the baselines, which optimise nothing.
    shadow_prices:
        Per level, by how much the objective falls per nat of extra budget for that
        level (all pairs that its budget limits), shape ``(t,)``; ``None`` for baselines.

    Raises
    ------
    InputError
        Probabilities outside ``0 < b < a < 1`` or of the wrong shape.
    """

    design: ClassVar[None] = None  # answers are drawn bit by bit, not from a subset design

    policy: PrivacyPolicy
    a: NDArray[np.float64]
    b: NDArray[np.float64]
    model: str
    method: str
    objective: Objective = field(default_factory=Objective)
    certificate: Certificate | None = None
    shadow_prices: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        for name in ("a", "b", "shadow_prices"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, _column(name, value, self.policy.size))
        for i in np.flatnonzero(~((self.b > 0) & (self.b < self.a) & (self.a < 1))):
            pair = (float(self.a[i]), float(self.b[i]))
            remedy = "Is b, the chance of a false 1, swapped with a?"
            raise InputError(f"(a, b) of level {i}", pair, "such that 0 < b < a < 1", remedy)

    @property
    def least_b(self) -> NDArray[np.float64]:
        """As ``b``, which is the same whatever the other answer is."""
        return self.b

    @property
    def noise(self) -> NDArray[np.float64]:
        """Variance of one item's estimated count per user who lacks it, shape ``(t,)``."""
        return logodds.noise_from_probabilities(self.a, self.b)

    @property
    def signal(self) -> NDArray[np.float64]:
        """Extra variance per user who has the item, shape ``(t,)``; may be negative."""
        return logodds.signal_from_probabilities(self.a, self.b)

    @property
    def draw_errors(self) -> tuple[NDArray[np.float64], float]:
        """Total squared error of all items if one of each level is sampled, and if a dummy is."""
        noise = float(self.policy.item_counts @ self.noise)
        return noise + self.signal, noise

    @property
    def worst_case_mse(self) -> float:
        """Total mean squared error per user for the least favourable counts (eq. 9)."""
        return self.value(Objective())

    @property
    def objective_value(self) -> float:
        """The minimised objective, per user; the worst-case error unless chosen otherwise."""
        return self.value(self.objective)

    def value(self, objective: Objective) -> float:
        """The error per user in the sense of any objective."""
        return objective.coefficients(self.policy).evaluate(self.noise, self.signal)

    @property
    def pair_losses(self) -> NDArray[np.float64]:
        """Log-ratio of a report between two items of a pair of levels, at most, ``(t, t)``."""
        s, w = logodds.to_log_odds(self.a, self.b)
        return np.maximum(s[:, None] + w[None, :], w[:, None] + s[None, :])

    @property
    def max_violation(self) -> float:
        """Largest excess of a pair's log-ratio over its budget, in nats; 0.0 when none."""
        s, w = logodds.to_log_odds(self.a, self.b)
        return max(0.0, float(np.max(s - self.policy.room(w))))

    @property
    def saturation_epsilon(self) -> float | None:
        """Budget beyond which a level gains nothing (rule ``"min"``), in nats.

        It is ``max s + max w``: a level with more budget gets the same
        probabilities as one that has exactly this much. ``None`` for other rules.
        """
        if not self.policy.rule.saturates:
            return None
        s, w = logodds.to_log_odds(self.a, self.b)
        return float(s.max() + w.max())

    def standard_errors(self, users: int, frequency: float = 0.0) -> NDArray[np.float64]:
        """Standard error of one item's estimated count per level, in users, shape ``(t,)``.

        Parameters
        ----------
        users:
            Number of reports, at least 1.
        frequency:
            Share of users who have the item, 0 to 1.
        """
        if users < 1:
            raise InputError(
                "users", users, "at least 1", "Give the number of people who will report."
            )
        if not 0 <= frequency <= 1:
            remedy = "Divide the number of people who have the item by all."
            raise InputError("frequency", frequency, "a share from 0 to 1", remedy)
        return np.sqrt(users * (self.noise + frequency * self.signal))

    @property
    def summary(self) -> str:
        """The model, its error per user, and what is proven about it."""
        words = f"{self.model} ({self.method}): worst-case error {self.worst_case_mse:.6g} per user"
        if self.certificate is None:
            return f"{words}; plain local differential privacy at the smallest pair budget."
        gap = self.certificate.relative_gap
        return f"{words}; every pair keeps its budget, proven optimal to within {gap:.1g}."

    def columns(self) -> dict[str, Any]:
        """One row a level: its budget, its probabilities, and what they cost.

        Columns: ``level``, ``items``, ``epsilon`` (nats), ``a``, ``b``, ``noise`` and
        ``signal`` (variance per user, see above), ``shadow_price`` (``nan`` for baselines).

        Examples
        --------
        >>> from planner import baseline
        >>> table = baseline(PrivacyPolicy([1.0, 2.0], [1, 4], names=["severe", "common"]), "oue")
        >>> table.to_frame()[["level", "items", "a", "b"]].round(4)
            level  items    a       b
        0  severe      1  0.5  0.2689
        1  common      4  0.5  0.2689
        """
        prices = np.nan if self.shadow_prices is None else self.shadow_prices
        return {
            "level": self.policy.names,
            "items": self.policy.item_counts,
            "epsilon": self.policy.epsilons,
            "a": self.a,
            "b": self.b,
            "noise": self.noise,
            "signal": self.signal,
            "shadow_price": prices,
        }


def _column(name: str, value: ArrayLike, size: int) -> NDArray[np.float64]:
    column = np.array(value, dtype=np.float64)
    if column.shape != (size,):
        remedy = "Give them in the order of the policy's levels."
        raise InputError(name, column.shape, f"one number per level, shape ({size},)", remedy)
    column.setflags(write=False)
    return column
