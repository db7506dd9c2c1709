"""What shuffled reports tell of the people of each privacy level, and what they cannot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement
from math import exp, expm1, inf, isfinite, log

import numpy as np

from planner.arguments import finite, whole_number
from planner.arrays import Array
from planner.errors import InputError
from planner.frames import Columns, WithDataFrame
from planner.outsiders.blanket import Blanket
from planner.outsiders.positive_part import Bracket, log_positive_part, positive_part
from planner.outsiders.shapes import Seen
from planner.policy.budget_text import delta_text, rounded_up

CONDITION = (
    "holds if a shuffler or a secure sum stands between the people and whoever looks"
)
MOST_PEOPLE = 10**9
_MOST_COMPARED = 30
_COARSE = 0.01  # of delta; a tenth of it of epsilon
_EPSILON_STEP = 5e-4  # of epsilon, from a guess to both ends
_SLIP = 4e-15  # of differences of ratios, as shares of what was subtracted
_ROUNDING = 1e-14  # of masses and ratios, relative, as computed from a mechanism's probabilities


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ShuffledGuarantee(WithDataFrame):
    """Central (epsilon, delta) per pair of levels, beside the local guarantee.

    Attributes
    ----------
    names:
        Names of the levels.
    people:
        Honest people.
    delta:
        For every pair.
    epsilons:
        Proven: whatever the honest others answer, nobody can tell an answer of level i from one
        of level j better, in nats, shape ``(t, t)``; NaN where no such pair exists.
    local:
        Budgets of one report seen alone.

    Notes
    -----
    Epsilons are upper bounds. That one level's is smaller does not prove that it is hidden better.
    """

    names: tuple[str, ...]
    people: int
    delta: float
    epsilons: Array
    local: Array

    @property
    def epsilon(self) -> float:
        """The largest epsilon of all pairs, in nats."""
        return float(np.nanmax(self.epsilons))

    @property
    def local_epsilon(self) -> float:
        """The largest budget of one report seen alone."""
        return float(np.nanmax(self.local))

    @property
    def summary(self) -> str:
        """The guarantee and its condition, in a sentence."""
        return (
            f"Among {self.people:,} people's shuffled reports anybody's answer is hidden with "
            f"epsilon {rounded_up(self.epsilon, 5)} at delta {delta_text(self.delta)}, where one "
            f"report alone may tell {rounded_up(self.local_epsilon, 4)}; it {CONDITION}."
        )

    @property
    def pairs(self) -> tuple[tuple[str, str, float, float], ...]:
        """Names of two levels, the budget of one report seen alone, and the epsilon shuffled."""
        levels = range(len(self.names))
        pairs = []
        for i, j in combinations_with_replacement(levels, 2):
            local = float(self.local[i, j])
            epsilon = float(self.epsilons[i, j])
            if np.isnan(epsilon):  # the level has no two answers
                continue
            pair = (self.names[i], self.names[j], local, epsilon)
            pairs.append(pair)
        return tuple(pairs)

    def columns(self) -> Columns:
        """One row a pair of levels.

        ``level``, ``other``, ``local`` (nats), ``epsilon`` (proven), ``delta``, ``people``.
        """
        levels, others, local, epsilons = zip(*self.pairs, strict=True)
        return {
            "level": list(levels),
            "other": list(others),
            "local": list(local),
            "epsilon": list(epsilons),
            "delta": [self.delta] * len(levels),
            "people": [self.people] * len(levels),
        }


def shuffled(reports: Seen, people: int, delta: float) -> ShuffledGuarantee:
    """Central privacy of every pair of levels if reports are shuffled.

    Parameters
    ----------
    reports:
        A mechanism's blankets, see :mod:`planner.outsiders.shapes`.
    people:
        Honest people who report; who tells the observer what they sent hides nobody.
    delta:
        Above 0, below 1.

    Raises
    ------
    InputError
        More than 30 levels, or a number out of range.

    Examples
    --------
    >>> from planner import PrivacyPolicy, solve, unary
    >>> from planner.outsiders import seen_of
    >>> table = solve(PrivacyPolicy([1.0, 2.0], [5, 90], names=["intimate", "public"]))
    >>> result = shuffled(seen_of(unary(table).shape), 100_000, 1e-6)
    >>> result.to_frame()[["level", "other", "local", "epsilon"]].round(4)
          level     other   local  epsilon
    0  intimate  intimate  0.5788   0.0051
    1  intimate    public  1.0000   0.0108
    2    public    public  1.4212   0.0145
    """
    whole_number("people", people, most=MOST_PEOPLE)
    size = len(reports.names)
    epsilons = np.full((size, size), np.nan)
    local = epsilons.copy()
    for i, j in _pairs(reports):
        blanket = reports.blanket(i, j)
        epsilon = _epsilon_of_columns(
            masses=blanket.masses.tobytes(),
            first=blanket.first.tobytes(),
            second=blanket.second.tobytes(),
            delta=delta,
            people=people,
        )
        epsilons[i, j] = epsilon
        epsilons[j, i] = epsilon
        local[i, j] = blanket.local_epsilon
        local[j, i] = blanket.local_epsilon
    return ShuffledGuarantee(reports.names, people, delta, epsilons, local)


def central_delta(
    blanket: Blanket, epsilon: float, people: int, accuracy: float = 0.002
) -> Bracket:
    """Bracket the bound on delta for a pair of answers, the larger of both orders.

    Only the upper end is a guarantee. The lower end says how far the numbers, not the theorem,
    may be off; for a blanket that is the law of one answer of all others, the theorem is an
    equality and the lower end is proven to be lost.

    Parameters
    ----------
    blanket:
        What hides the pair.
    epsilon:
        Central epsilon in nats, not negative.
    people:
        Honest people whose reports are shuffled, the one who hides among them, 1 to 10^9.
    accuracy:
        Relative width to aim at.

    Examples
    --------
    Two people answer by randomised response with budget 1.

    >>> from math import e
    >>> answers = Blanket([1 / (1 + e)] * 2, [e, 1.0], [1.0, e])
    >>> bracket = central_delta(answers, epsilon=0.1, people=2)
    >>> bracket.lower <= 0.317157 <= bracket.upper
    True
    """
    finite("epsilon", epsilon)
    if epsilon < 0:
        raise InputError(
            "epsilon", epsilon, "not negative", "Give 0 for the strictest guarantee."
        )
    whole_number("people", people, most=MOST_PEOPLE)
    # Of both orders the larger: delta is that of whichever is worse.
    lower = 0.0
    upper = 0.0
    for side in _sides(blanket):
        bracket = _one_way(side, epsilon, people, accuracy)
        lower = max(lower, bracket.lower)
        upper = max(upper, bracket.upper)
    return Bracket(lower, upper)


def central_epsilon(blanket: Blanket, delta: float, people: int) -> float:
    """A central epsilon at which delta is proven to be kept, near the smallest such, in nats.

    Parameters
    ----------
    blanket, people:
        As in :func:`central_delta`.
    delta:
        Above 0, below 1; far below ``1 / people`` in any use.

    Examples
    --------
    Any mechanism with budget 1, a hundred thousand people.

    >>> from math import e
    >>> blanket = Blanket.from_numbers(ratio=e, variation=(e - 1) / (e + 1), others_ratio=e)
    >>> round(central_epsilon(blanket, delta=1e-6, people=100_000), 4)
    0.0124
    """
    whole_number("people", people, most=MOST_PEOPLE)
    if not 0 < finite("delta", delta) < 1:
        remedy = "Take less than 1 over the number of people, such as 1e-8."
        raise InputError("delta", delta, "above 0 and below 1", remedy)
    local = blanket.local_epsilon * (1 + 1e-12)  # what its logarithm may err
    if not isfinite(local):
        reason = "a report that only one answer can make gives it away, however well it is shuffled"
        remedy = "Take a mechanism with a finite budget for this pair of answers."
        raise InputError.because("blanket", reason, remedy)
    sides = _sides(blanket)
    # The theorem bounds n delta: its logarithm is looked for.
    target = log(delta) + log(people)
    guess = _approximate(sides, target, people, local)
    if guess < 1e-9 * local:
        at_0 = central_delta(blanket, 0.0, people)
        if at_0.upper <= delta:
            return 0.0
    delta_of_guess = central_delta(blanket, guess, people, _COARSE).upper
    if delta_of_guess > 0:
        # The approximation errs by nearly the same factor nearby.
        log_delta = 2 * log(delta) - log(delta_of_guess)
        target = log_delta + log(people)
        guess = _approximate(sides, target, people, local)
    # Only what a bracket proves is returned: steps above the guess grow until one is proven.
    step = _EPSILON_STEP
    while guess * (1 + step) < local:
        epsilon = guess * (1 + step)
        if central_delta(blanket, epsilon, people, _COARSE).upper <= delta:
            return epsilon
        step *= 2
    return local


def _sides(blanket: Blanket) -> list[Blanket]:
    """The blankets of both orders of the pair, or one if they are alike."""
    other = blanket.reversed()
    outcomes = _sorted_outcomes(blanket)
    of_other = _sorted_outcomes(other)
    if np.allclose(outcomes, of_other, rtol=1e-15, atol=0):
        return [blanket]
    return [blanket, other]


def _sorted_outcomes(blanket: Blanket) -> Array:
    """Masses and both ratios of the outcomes, in an order that does not depend on theirs."""
    columns = (blanket.masses, blanket.second, blanket.first)
    order = np.lexsort(columns)
    return np.stack(columns)[:, order]


def _approximate(
    sides: Sequence[Blanket], target: float, people: int, local: float
) -> float:
    """Where an approximation of ``ln(n delta)`` falls to ``target``, by halving."""
    low = 0.0
    high = local
    for _ in range(60):
        middle = (low + high) / 2
        larger = -inf
        for side in sides:
            values = _values(side, middle)
            log_sum = log_positive_part(side.masses, values, people)
            larger = max(larger, log_sum)
        if larger > target:  # delta falls as epsilon grows
            low = middle
        else:
            high = middle
        if high - low <= 1e-5 * high:
            break
    return high


def _values(blanket: Blanket, epsilon: float) -> Array:
    """``W`` of each outcome, ``(P_x - e^epsilon P_x') / omega``.

    Taken apart, so that little is cancelled at a small epsilon where ``P_x`` is near ``P_x'``.
    """
    excess = expm1(epsilon) * blanket.second
    return blanket.first - blanket.second - excess


def _one_way(blanket: Blanket, epsilon: float, people: int, accuracy: float) -> Bracket:
    """Bracket theorem 1's bound on delta for one order of the pair.

    Masses are lowered, so that ``omega`` stays below the laws of others however they were rounded,
    and values are raised. Both only raise the bound: what they may have added is taken off the
    lower end.
    """
    shrinkage = max(1.0, blanket.mass) * (1 + _ROUNDING)
    masses = blanket.masses / shrinkage
    values = _values(blanket, epsilon)
    sizes = np.abs(values) + blanket.first
    raised_values = values + _SLIP * sizes  # not below the exact ones
    sums = positive_part(masses, raised_values * shrinkage, people, accuracy)
    # In the mean ``|W| + first`` is at most ``2 + e^epsilon``: so much did raising the values add.
    added_by_values = 2 * _SLIP * (2 + exp(epsilon))
    # And so much, relatively, did lowering the masses, of one person or another.
    added_by_masses = 4 * _ROUNDING * people
    lower = sums.lower / people
    lower = lower * (1 - added_by_masses) - added_by_values
    upper = sums.upper / people
    return Bracket(lower=max(0.0, lower), upper=min(1.0, upper))


def _pairs(reports: Seen) -> list[tuple[int, int]]:
    """Pairs of levels with two different answers."""
    size = len(reports.names)
    if size > _MOST_COMPARED:
        allowed = f"at most {_MOST_COMPARED} to compare all pairs"
        remedy = "Merge levels with nearly the same budget."
        raise InputError("levels", size, allowed, remedy)
    pairs = []
    for i, j in combinations_with_replacement(range(size), 2):
        if i != j or reports.sizes[i] > 1:
            pairs.append((i, j))
    if not pairs:
        raise InputError("answers", 1, "two or more", "One answer alone says nothing.")
    return pairs


@lru_cache(maxsize=1024)
def _epsilon_of_columns(
    masses: bytes, first: bytes, second: bytes, delta: float, people: int
) -> float:
    """The central epsilon of a blanket that is given by its columns' bytes.

    Many pairs have the same blanket, and bytes serve as the key of what is kept of it.
    """
    blanket = Blanket(
        masses=np.frombuffer(masses),
        first=np.frombuffer(first),
        second=np.frombuffer(second),
    )
    return central_epsilon(blanket, delta, people)
