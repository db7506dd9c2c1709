"""What if budgets were others: one level's raised, or all scaled.

The multipliers of the privacy rows are the slopes of the smallest error by the budgets: they rank
the levels that are worth relaxing; what a step really buys is found by solving the relaxed problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, log, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.arguments import positive_numbers, whole_number
from planner.arrays import Array
from planner.errors import InputError, PlannerError, SolverError
from planner.frames import Columns, WithDataFrame
from planner.limits import MAX_EPSILON
from planner.planning.option import Curve, Option, choice_curve
from planner.planning.solve import ROUGH, TIGHT, TOTAL, largest_budgets
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy

RELAX_BY = 0.1  # nats
_MOST_PRICED = 10
_MOST_WITHOUT_PRICES = 5  # then each level is tried, and designs take longer


@dataclass(frozen=True, slots=True)
class Relaxation:
    """The share of the total error, 0 to 1, that a larger budget of one level saves.

    The survey file states ``amount`` nats more; ``factor`` is by how much the level's budget left,
    and what is spent of it, grows.
    """

    level: str
    amount: float
    saving: float
    factor: float


def relaxations(
    curve: Curve, now: Option, fraction: float = 1.0, share: float = 1.0
) -> tuple[Relaxation, ...]:
    """What a little more would buy for each of the ten levels with the highest prices.

    ``now`` is the curve's option at these budgets, where a ``fraction`` of the people is asked, and
    spends a ``share`` of what the survey file states, which stays as it is. Of a subset design,
    which has no prices: for the five levels with the smallest budgets. Best first; empty for a
    baseline. Levels whose budget buys nothing, or would pass the largest allowed, are left out.

    Examples
    --------
    >>> from planner import PrivacyPolicy
    >>> policy = PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90], names=["A", "B", "C"])
    >>> curves = [choice_curve("q", policy, mechanism=name) for name in ("opt0", "subset-design")]
    >>> [round(relaxations(curve, curve.at())[0].saving, 3) for curve in curves]
    [0.076, 0.065]
    """
    certified = now.law
    error = now.sampled(fraction)
    if certified.certificate is None or not error:
        return ()
    policy = certified.policy
    largest = largest_budgets(policy)
    relaxed = []
    for i in _worth_trying(now).tolist():
        if largest[i] / share + RELAX_BY > MAX_EPSILON:
            continue
        level = policy.names[i]
        # The file states all of the budget, of which the question spends its share.
        spent = float(policy.epsilons[i])
        factor = 1 + share * RELAX_BY / spent
        after = curve.at(factor, level=level, tolerance=ROUGH)
        # What is planned now keeps the relaxed budgets, too.
        value = min(after.value, now.value)
        remaining = now.errors.error(value, fraction) / error
        # Savings are of the error, of which these are squares.
        saving = 1 - sqrt(min(remaining, 1.0))
        # Where nothing says that a budget matters, a saving below the tolerance may be none.
        if certified.shadow_prices is not None or saving > ROUGH:
            relaxed.append(Relaxation(level, RELAX_BY, saving, factor))
    relaxed.sort(key=lambda relaxation: -relaxation.saving)
    return tuple(relaxed)


def _worth_trying(now: Option) -> NDArray[np.intp]:
    """Levels whose budgets limit the error most, or may do so."""
    certified = now.law
    prices = certified.shadow_prices
    if prices is not None:
        first = np.argsort(-prices)[:_MOST_PRICED]
        return first[prices[first] > 0]
    epsilons = certified.policy.epsilons
    limit = certified.saturation_epsilon
    first = np.argsort(epsilons, kind="stable")[:_MOST_WITHOUT_PRICES]
    if limit is None:
        return first
    return first[epsilons[first] < limit]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Frontier(WithDataFrame):
    """Errors over a common scale of all budgets, rising; ``k`` scales, ``t`` levels.

    Attributes
    ----------
    names, scale:
        The levels; common factors, shape ``(k,)``.
    total_error:
        Root of the objective as a share of the users, shape ``(k,)``.
    level_errors:
        Standard error of a rare item's share per level, shape ``(k, t)``.
    largest_gap:
        Largest proven relative distance of any point from the optimum; ``inf`` without a proof.
    """

    names: tuple[str, ...]
    scale: Array
    total_error: Array
    level_errors: Array
    largest_gap: float

    @property
    def summary(self) -> str:
        """How far the scales reach, and what is proven of every point, if anything is."""
        reach = f"{self.scale[0]:.3g} to {self.scale[-1]:.3g} times the budgets"
        if self.largest_gap == inf:
            return f"{reach}."
        proven = f"every point is proven optimal to within {self.largest_gap:.1g}"
        return f"{reach}; {proven}."

    def columns(self) -> Columns:
        """One row a scale; errors as shares of the users."""
        columns = {"scale": self.scale, "total_error": self.total_error}
        for i, name in enumerate(self.names):
            columns[f"error of {name}"] = self.level_errors[:, i]
        return columns


def frontier(
    policy: PrivacyPolicy,
    users: int,
    scales: ArrayLike | None = None,
    model: str = "opt0",
    objective: Objective | None = None,
) -> Frontier:
    """Solve ``policy`` at each common scale of its budgets; what is not certified is left out.

    Parameters
    ----------
    policy, users:
        The levels and their budgets at scale 1; number of reports, at least 1.
    scales:
        Factors above 0 that leave every budget at most 50, any order; 50 around 1 if omitted.
    model, objective:
        ``"opt0"``, ``"opt1"``, ``"opt2"`` or ``"subset-design"``, and what is minimised; the total
        error for the least favourable answers when omitted.

    Raises
    ------
    InputError, SolverError
        A scale or the number of users is out of range; no point could be certified.

    Examples
    --------
    >>> curve = frontier(PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90]), 10_000, [0.5, 1, 2])
    >>> np.square(curve.total_error * 100).round(3).tolist()  # theory: per user
    [1015.294, 239.723, 48.49]
    """
    whole_number("users", users)
    chosen = usual_scales(policy)
    if scales is not None:
        most = largest_scale(policy)
        chosen = np.sort(positive_numbers("scales", scales, most))
    curve = choice_curve("", policy, objective=objective or TOTAL, mechanism=model)
    return frontier_of(curve, policy.names, chosen, users, users)


def frontier_of(  # noqa: PLR0913 - the curve, its points, and its people
    curve: Curve,
    names: tuple[str, ...],
    scales: Array,
    asked: int,
    everybody: int,
    fraction: float = 1.0,
    *,
    level: str | None = None,
    tolerance: float = TIGHT,
) -> Frontier:
    """The points of a curve, where ``asked`` of ``everybody`` are asked, a ``fraction``.

    With the errors of the levels that have ``names``; of budgets of one ``level`` or all, solved to
    a ``tolerance``.
    """
    options = dict[float, Option]()
    failures = list[PlannerError]()
    # From the budgets as they are outwards: of what fails the nearest failure is told.
    nearest_first = sorted(scales.tolist(), key=lambda scale: abs(log(scale)))
    for scale in nearest_first:
        try:
            options[scale] = curve.at(scale, level=level, tolerance=tolerance)
        except (InputError, SolverError) as error:  # budgets too small or too large
            failures.append(error)
    if not options:
        raise failures[0]
    totals = []
    level_errors = []
    gaps = []
    for scale in sorted(options):
        option = options[scale]
        totals.append(option.sampled(fraction) / everybody)
        variances: Array = np.empty(0)
        if names:
            # Of a rare item's share: next to nobody has it, and signal adds nothing.
            variances = option.law.noise / asked
        level_errors.append(variances)
        gap = inf
        proof = getattr(option.law, "certificate", None)
        if proof is not None:
            gap = proof.relative_gap
        gaps.append(gap)
    return Frontier(
        names=names,
        scale=np.array(sorted(options)),
        total_error=np.sqrt(totals),
        level_errors=np.sqrt(level_errors),
        largest_gap=max(gaps),
    )


def usual_scales(policy: PrivacyPolicy, points: int = 50) -> Array:
    """Scales from a quarter to four times the budgets, evenly spaced in their logarithm."""
    largest = min(4.0, largest_scale(policy))
    smallest = min(0.25, largest / 16)
    return np.geomspace(smallest, largest, points)


def largest_scale(policy: PrivacyPolicy) -> float:
    """The largest factor at which no budget is above what is allowed."""
    return float(MAX_EPSILON / largest_budgets(policy).max())
