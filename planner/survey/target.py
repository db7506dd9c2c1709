"""What an analyst needs of a question: an error that is small enough, and guesses that are few."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from planner.errors import InputError


@dataclass(frozen=True, slots=True)
class Target:
    """A requirement on one question, in shares of the users (0.01 is one percentage point).

    Parameters
    ----------
    error:
        Largest acceptable error. Without a level: the root of the total mean squared
        error over all items, for the least favourable answers. With one: the standard error
        of the estimated share of a rare item of that level.
    detect:
        Smallest share of users at which an item must be told apart from one that
        nobody has (one-sided 95 % test, power 80 %). Without a level: every item.
        Either ``error`` or ``detect`` is given, above 0 and below 1.
    level:
        Name of a level, or None for the whole question.

    Raises
    ------
    InputError
        Both or neither of ``error`` and ``detect``, or one outside its range.

    Examples
    --------
    >>> Target(error=0.01, level="severe").text
    "standard error of a rare item of 'severe' at most 1 %"
    """

    error: float | None = None
    detect: float | None = None
    level: str | None = None

    def __post_init__(self) -> None:
        if (self.error is None) == (self.detect is None):
            given = (self.error, self.detect)
            raise InputError("target (error, detect)", given, "exactly one of the two", _REMEDY)
        if not isinstance(self.value, int | float) or not _LEAST <= self.value < 1:
            allowed = f"a share from {_LEAST:g} to below 1"
            remedy = "Write 1 % of the people as 0.01."
            raise InputError(f"target {self.kind}", self.value, allowed, remedy)

    @property
    def kind(self) -> str:
        """``"error"`` or ``"detect"``."""
        return "detect" if self.error is None else "error"

    @property
    def value(self) -> float:
        """The number asked for, a share of the users."""
        return self.detect if self.error is None else self.error  # type: ignore[return-value]

    @property
    def text(self) -> str:
        """The requirement in words."""
        share = f"{100 * self.value:.4g} %"
        if self.kind == "detect":
            whose = "every item" if self.level is None else f"every item of {self.level!r}"
            return f"{whose} detectable from {share} of the users"
        if self.level is None:
            return f"total error at most {share} of the users"
        return f"standard error of a rare item of {self.level!r} at most {share}"


def check_targets(
    targets: Iterable[Target], levels: Iterable[str], *, of_sets: bool = False
) -> None:
    """Check a question's targets against its levels and each other.

    Raises
    ------
    InputError
        A target names an unknown level, two set different values for one thing, or one ``of_sets``
        is not about the total error.

    Examples
    --------
    >>> check_targets([Target(error=0.01), Target(error=0.02)], ["severe"])
    Traceback (most recent call last):
    ...
    planner.errors.InputError: target error is 0.02 but must be the same as the other target for it, 0.01. These targets contradict each other: keep the one that you need.
    """  # noqa: E501 - the message is one line
    known = tuple(levels)
    seen: dict[tuple[str, str | None], float] = {}
    for target in targets:
        if of_sets and (target.kind != "error" or target.level is not None):
            remedy = "For item sets give the total error alone."
            raise InputError("target", target.text, "a total error", remedy)
        if target.level is not None and target.level not in known:
            remedy = "Name a level of the question, or leave it out for the whole question."
            raise InputError.unknown("target level", target.level, known, remedy)
        earlier = seen.setdefault((target.kind, target.level), target.value)
        if earlier != target.value:
            allowed = f"the same as the other target for it, {earlier:g}"
            remedy = "These targets contradict each other: keep the one that you need."
            raise InputError(f"target {target.kind}", target.value, allowed, remedy)


_LEAST = 1e-12  # one person of the most that a survey has
_REMEDY = "Give the largest error, or the smallest share to detect; as two targets if both."
