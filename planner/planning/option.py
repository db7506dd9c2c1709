"""What a question can be planned with, on one scale: a mechanism's value and its error law."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isfinite

from planner.errors import InputError


@dataclass(frozen=True, slots=True)
class ErrorLaw:
    """Squared error per person of the survey, from an objective's value and the share asked.

    ``(scale value + offset + spread) / fraction + bias - spread``: noise grows as fewer are asked,
    a bias does not, and the answers left out add what a sample misses. An upper bound.

    Attributes
    ----------
    scale:
        By what the value is multiplied, above 0; of sets the squared padding length.
    offset:
        Noise that no budget changes.
    bias:
        Squared bias, which more people do not lower, at least 0.
    spread:
        Largest variance of one person's answers; ``1 - 1/m`` of one answer out of ``m``.

    Examples
    --------
    >>> law = ErrorLaw(scale=4.0, offset=1.0, bias=0.5, spread=0.9)
    >>> law.error(3.0), round(law.error(3.0, fraction=0.5), 6)
    (13.5, 27.4)
    >>> law.value_for(13.5), law.people(3.0, 0.04, users=10_000)
    (3.0, 8388)
    """

    scale: float = 1.0
    offset: float = 0.0
    bias: float = 0.0
    spread: float = 0.0

    def __post_init__(self) -> None:
        if not (0 < self.scale < float("inf") and isfinite(self.offset + self.spread)):
            remedy = "Derive them from a finite variance that the budget can lower."
            allowed = "finite, the first above 0"
            raise InputError("scale, offset, spread", (self.scale, self.offset), allowed, remedy)
        if not 0 <= self.bias < float("inf"):
            remedy = "Give a squared bias."
            raise InputError("bias", self.bias, "finite and not negative", remedy)

    def error(self, value: float, fraction: float = 1.0) -> float:
        """Squared error per person of the survey where ``fraction`` of them are asked."""
        return self.of_sample(self.scale * value + self.offset + self.bias, fraction)

    def of_sample(self, error: float, fraction: float) -> float:
        """The same from the error where everybody is asked."""
        grown = (error - self.bias + self.spread) / fraction + self.bias - self.spread
        return max(error if fraction == 1 else grown, 0.0)

    def value_for(self, error: float, fraction: float = 1.0) -> float:
        """The value with this error; at most 0 if no budget is enough."""
        noise = fraction * (error - self.bias + self.spread) - self.spread
        return (noise - self.offset) / self.scale

    def people(self, value: float, target: float, users: int, fraction: float = 1.0) -> int | None:
        """The fewest people of the survey at whom its error is ``target``, a share of them.

        The bias is that of ``users`` people, per person. None if it alone is too large.
        """
        room = target**2 - self.bias / users
        if room <= 0:
            return None
        return ceil((self.error(value, fraction) - self.bias) / room * (1 - 1e-12))
