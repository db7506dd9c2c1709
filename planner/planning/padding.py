"""The padding length of item sets: long enough to lose little, short enough to add little noise.

With padding length ``l`` a set of more than ``l`` items loses the share ``1 - l/|x|`` of each,
a bias that grows with the square of the number of people; the variance grows with ``l^2``. The
IDUE paper leaves the best ``l`` as future work. Here it is the whole number with the
smallest expected total squared error

    sum_k bias_k^2 + var_k,    var_k = l^2/(a-b)^2 sum_u q_u (1-q_u),    q_u = b + (a-b) P_u(k)

for what is known of the sets (:mod:`planner.survey.sets`); of set designs there is no factor
``l^2``, and ``P_u(k)`` is ``l`` times as large. The best length grows with the budgets and with
the number of people, and the whole curve is returned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from planner.arguments import whole_number
from planner.errors import InputError
from planner.frames import Framed
from planner.mechanisms.set_design import set_support, smallest_budget
from planner.planning.option import ErrorLaw
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy
from planner.survey.sets import SetModel, SetMoments

Array = NDArray[np.float64]
_DESIGNS = 60  # lengths of which set designs are made
_MOST_AT_ONCE = 1_000_000  # numbers per length and level that are held at a time


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PaddingPlan(Framed):
    """The best padding length, and the expected error of every other.

    Attributes
    ----------
    length:
        The best ``l``.
    lengths:
        All lengths compared, shape ``(k,)``.
    bias2, variance:
        Expected total squared bias and variance per user at each, shape ``(k,)``.
    bias2_limits:
        What the squared bias is between by the sizes of the sets alone, whatever items they
        hold; of a pilot, which shows the items, ``bias2`` itself. Two of shape ``(k,)``.
    lost:
        Share of all answers that are cut away, shape ``(k,)``.
    users:
        Number of people.
    flat_lower, flat_upper:
        Around the best, all lengths between these have an error within 5 % of it.
    """

    length: int
    lengths: NDArray[np.int64]
    bias2: Array
    variance: Array
    flat_lower: int
    flat_upper: int
    bias2_limits: tuple[Array, Array]
    lost: Array
    users: int

    @property
    def errors(self) -> Array:
        """Expected total error in people at each length, shape ``(k,)``."""
        return np.sqrt(self.users * self.mse)

    @property
    def truncation_errors(self) -> Array:
        """The part of it that comes from sets that are cut: the bias, in people."""
        return np.sqrt(self.users * self.bias2)

    @property
    def noise_errors(self) -> Array:
        """The part of it that comes from the randomness of the reports, in people."""
        return np.sqrt(self.users * self.variance)

    @property
    def uncut(self) -> int:
        """The smallest length at which no set is cut, as far as is known of the sets."""
        return int(self.lengths[np.argmax(self.lost <= 0)])

    @property
    def best_limits(self) -> tuple[int, int]:
        """What the best length is between, if the squared bias is at one of its limits."""
        least, most = (int(np.argmin(bias2 + self.variance)) for bias2 in self.bias2_limits)
        return int(self.lengths[min(least, most)]), int(self.lengths[max(least, most)])

    def error_limits(self, length: int) -> tuple[float, float]:
        """What the total error at ``length`` is between, in people, by the sizes alone.

        Raises
        ------
        InputError
            A length that was not compared.
        """
        self.mse_at(length)
        least, most = (bias2 + self.variance for bias2 in self.bias2_limits)
        k = length - 1
        return float(np.sqrt(self.users * least[k])), float(np.sqrt(self.users * most[k]))

    @property
    def mse(self) -> Array:
        """Expected total squared error per user at each length, shape ``(k,)``."""
        return self.bias2 + self.variance

    def mse_at(self, length: int) -> float:
        """Expected total squared error per user at ``length``.

        Raises
        ------
        InputError
            A length that was not compared.
        """
        if not 1 <= length <= self.lengths.size:
            remedy = "Ask for a length that was compared."
            raise InputError("padding_length", length, f"from 1 to {self.lengths.size}", remedy)
        return float(self.mse[length - 1])

    @property
    def summary(self) -> str:
        """The best length, and those about as good."""
        flat = f"{self.flat_lower} to {self.flat_upper} are within 5 % of it"
        return f"Best padding length {self.length}; {flat}."

    def columns(self) -> dict[str, Any]:
        """One row a padding length; expected squared errors per user, the error in people."""
        return {
            "length": self.lengths,
            "squared_bias": self.bias2,
            "variance": self.variance,
            "mse": self.mse,
            "error": self.errors,
            "lost": self.lost,
        }


class Drawn(Protocol):
    """What reports an item that is drawn of a set: a table, or a design with a dummy."""

    @property
    def policy(self) -> PrivacyPolicy:
        """The levels."""

    @property
    def draw_errors(self) -> tuple[Array, float]:
        """Total squared error of all items if one of each level is drawn, and if a dummy is."""


def plan_padding(table: Drawn, users: int, sets: SetModel) -> PaddingPlan:
    """The padding length with the smallest expected total error for ``users`` people.

    Parameters
    ----------
    table:
        A table of bit probabilities per level, or a design.
    users:
        Number of reports, at least 1.
    sets:
        What is known of the sets: a histogram of sizes or a pilot.

    Raises
    ------
    InputError
        ``users`` out of range, or a pilot that does not fit the levels.

    Examples
    --------
    >>> from planner.survey.sets import AssumedSets
    >>> from planner import PrivacyPolicy, solve
    >>> table = solve(PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90]))
    >>> sets = AssumedSets([0.1, 0.3, 0.3, 0.2, 0.05, 0.05])
    >>> [plan_padding(table, users, sets).length for users in (100, 10_000, 1_000_000)]
    [1, 1, 3]
    """
    items, dummy = table.draw_errors

    def variance(lengths: NDArray[np.int64], at: SetMoments) -> Array:
        drawn = at.once.sum(axis=-1)
        errors = at.once @ items + (1 - drawn) * dummy
        return np.asarray(lengths**2.0 * (errors + drawn - at.twice))

    return _planned(variance, table.policy, users, sets)


def plan_whole_sets(
    policy: PrivacyPolicy, cap: float | None, users: int, sets: SetModel
) -> PaddingPlan:
    """The same where reports are about whole sets: the best set design of every length.

    Lengths up to the number of items. Of more than 60 the designs of 60 are made, whose two
    chances those of the others lie between.

    Examples
    --------
    >>> from planner.survey.sets import AssumedSets
    >>> sets, policy = AssumedSets([0.1, 0.3, 0.3, 0.2, 0.05, 0.05]), PrivacyPolicy([1.0], [100])
    >>> [plan_whole_sets(policy, None, users, sets).length for users in (100, 10_000, 1_000_000)]
    [1, 2, 4]
    """
    items, epsilon = int(policy.item_counts.sum()), smallest_budget(policy)
    most = min(sets.largest, items)
    tried = np.unique(np.geomspace(1, most, _DESIGNS).astype(np.int64))
    tried = np.arange(1, most + 1) if most <= _DESIGNS else tried
    caps = [None if cap is None else min(cap, int(one) * epsilon) for one in tried]
    supports = [
        set_support(items, int(one), epsilon, most) for one, most in zip(tried, caps, strict=True)
    ]
    a, b = np.transpose(supports)
    noise, signal = b * (1 - b) / (a - b) ** 2, (1 - 2 * b) / (a - b)

    def variance(lengths: NDArray[np.int64], at: SetMoments) -> Array:
        own, others = (np.interp(lengths, tried, column) for column in (signal, noise))
        held = lengths * at.once.sum(axis=-1)
        return np.asarray(items * others + own * held - lengths**2.0 * at.twice)

    return _planned(variance, policy, users, sets, most)


def _planned(
    variance_of: Callable[[NDArray[np.int64], SetMoments], Array],
    policy: PrivacyPolicy,
    users: int,
    sets: SetModel,
    most: int | None = None,
) -> PaddingPlan:
    whole_number("users", users)
    lengths = np.arange(1, (most or sets.largest) + 1)
    bias2, variance, lost, least, largest = np.empty((5, lengths.size))
    parts = -(-lengths.size * policy.size // _MOST_AT_ONCE)
    for part in np.array_split(np.arange(lengths.size), parts):
        at = sets.moments(lengths[part], policy.item_counts)
        bias2[part] = (users - 1) * at.lost2 + at.spread2
        variance[part] = variance_of(lengths[part], at)
        least[part], largest[part] = ((users - 1) * one + at.spread2 for one in at.lost2_limits)
        lost[part] = at.lost / sets.mean_size
    mse = bias2 + variance
    best = int(np.argmin(mse))
    far = np.flatnonzero(mse > 1.05 * mse[best])
    lower = int(far[far < best].max(initial=-1)) + 1
    upper = int(far[far > best].min(initial=lengths.size)) - 1
    lost[lengths >= sets.largest] = 0.0  # not a rounding error of the sums
    return PaddingPlan(
        int(lengths[best]),
        lengths,
        bias2,
        variance,
        int(lengths[lower]),
        int(lengths[upper]),
        (least, largest),
        lost,
        users,
    )


class PaddedError(NamedTuple):
    """The error of sets at one padding length, from that of the items that are drawn.

    A table or design is made for ``objective``, and its value is what ``errors`` is a law of: at a
    given length the error falls with it, and so in the budgets.
    """

    length: int
    objective: Objective
    errors: ErrorLaw


@dataclass(frozen=True, slots=True)
class Padding:
    """How a question's sets are padded: to a given length, or the best for what is known of them.

    Attributes
    ----------
    sets:
        What is known of the sets; None if nothing is but that ``length`` items are enough.
    length:
        To how many items they are padded or cut; None for the best.
    objective:
        What the total error is, if nothing is known of the sets: that of the least favourable ones
        when omitted. Else it is the expected one.

    Raises
    ------
    InputError
        Neither ``sets`` nor ``length`` is given.

    Examples
    --------
    >>> from planner.survey.sets import AssumedSets
    >>> padding, policy = Padding(AssumedSets([0, 1, 1])), PrivacyPolicy([1.0], [4])
    >>> once, twice = (padding.at(length, 100, policy) for length in (1, 2))
    >>> once.objective.prior, twice.objective.prior, twice.errors.bias, twice.errors.error(3.0)
    ((1.0,), (0.75,), 0.0, 13.5)
    """

    sets: SetModel | None = None
    length: int | None = None
    objective: Objective = field(default_factory=Objective)

    def __post_init__(self) -> None:
        if self.sets is None and self.length is None:
            remedy = "Give a length, or what is known of the sets."
            raise InputError("padding", None, "a length or sets", remedy)

    def at(self, length: int, users: int, policy: PrivacyPolicy) -> PaddedError:
        """The error of ``users`` people at ``length``."""
        if self.sets is None:
            # Noise l^2, and at most l items of signal l (signal + 1) - 1.
            most = max(self.objective.weights or (1.0,)) * length
            law = ErrorLaw(length**2, most * (length - 1), spread=most)
            return PaddedError(length, self.objective, law)
        drawn = self.sets.moments(length, policy.item_counts)
        fixed = float((users - 1) * drawn.lost2 + drawn.spread2)
        offset = length**2 * float(drawn.once.sum() - drawn.twice)
        expected = drawn_objective(length, policy, self.sets)
        # The sum of f (1 - f) is at most that of f.
        law = ErrorLaw(length**2, offset, fixed, self.sets.mean_size)
        return PaddedError(length, expected, law)


def drawn_objective(length: int, policy: PrivacyPolicy, sets: SetModel) -> Objective:
    """The objective whose prior is what is drawn of these sets, per level.

    The expected total variance at a length is its square times this objective's value.
    """
    return Objective("expected", prior=sets.moments(length, policy.item_counts).once.tolist())
