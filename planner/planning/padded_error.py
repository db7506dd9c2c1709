"""The error of item sets as a function of the budgets: falling at every padding length."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from planner.errors import InputError
from planner.planning.option import ErrorLaw
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy
from planner.survey.sets import SetModel


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
