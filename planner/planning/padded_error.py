"""The error of item sets as a function of the budgets: falling at every padding length."""

from __future__ import annotations

from dataclasses import dataclass, field

from planner.errors import InputError
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy
from planner.survey.set_model import SetModel


@dataclass(frozen=True, slots=True)
class PaddedError:
    """The error of sets at one padding length, from that of the items that are drawn.

    Per user it is ``length^2 V + offset`` with ``V`` the value of ``objective``, for which a table
    or design is made: at a given length it falls with ``V``, and so in the budgets.

    Attributes
    ----------
    length, objective:
        See above.
    offset:
        What no budget changes.
    fixed:
        The part of it that more people do not lower: the squared bias of sets that are cut.
    unasked:
        Largest variance per user of the sets themselves, for when only some people are asked.

    """

    length: int
    objective: Objective
    offset: float
    fixed: float
    unasked: float

    @property
    def scale(self) -> float:
        """By what the value of the objective is multiplied."""
        return float(self.length**2)

    def error_with(self, value: float) -> float:
        """Error per user with this value of the objective."""
        return self.scale * value + self.offset


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
    >>> from planner.survey.set_model import AssumedSets
    >>> padding, policy = Padding(AssumedSets([0, 1, 1])), PrivacyPolicy([1.0], [4])
    >>> once, twice = (padding.at(length, 100, policy) for length in (1, 2))
    >>> once.objective.prior, twice.objective.prior, twice.fixed, twice.error_with(3.0)
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
            return PaddedError(length, self.objective, most * (length - 1), 0.0, most)
        drawn = self.sets.moments(length, policy.item_counts)
        fixed = float((users - 1) * drawn.lost2 + drawn.spread2)
        offset = length**2 * float(drawn.once.sum() - drawn.twice) + fixed
        expected = drawn_objective(length, policy, self.sets)
        return PaddedError(length, expected, offset, fixed, self.sets.mean_size)


def drawn_objective(length: int, policy: PrivacyPolicy, sets: SetModel) -> Objective:
    """The objective whose prior is what is drawn of these sets, per level.

    The expected total variance at a length is its square times this objective's value.
    """
    return Objective("expected", prior=sets.moments(length, policy.item_counts).once.tolist())
