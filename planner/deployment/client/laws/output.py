"""What a parameter file's integers promise: each mechanism's output law, checked exactly.

Only the standard library is used, so that a client proves its own parameters before the first
report. Every probability is a whole number over ``D = 2^32``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Protocol

from planner.deployment.client.laws.bounds import log_above, log_upper_bound
from planner.deployment.client.laws.exact import (
    DENOMINATOR,
    PairViolation,
    check_budgets,
    check_ratio,
    log_ratios,
)
from planner.deployment.client.laws.levels import Levels
from planner.deployment.client.laws.pairs import PairBudget, least_budget, listed_pairs
from planner.errors import InputError, VerificationError

__all__ = [
    "HashingLaw",
    "Law",
    "OneRatioLaw",
    "OutputLaw",
    "ResponseLaw",
    "SamplingLaw",
    "SignLaw",
    "SubsetLaw",
    "UnaryLaw",
]

D = DENOMINATOR
Estimator = dict[str, Any]


class OutputLaw(Protocol):
    """What every law can do with a mechanism's integers."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the positions that :meth:`pairs` refers to."""

    def verify(self) -> None:
        """Prove the promised budgets; raise VerificationError if they are not kept."""

    def pairs(self) -> list[PairBudget]:
        """Realised (rounded up) and demanded budgets."""

    def estimator(self) -> Estimator:
        """The constants of the estimator, each the double nearest to the exact number."""


@dataclass(frozen=True, slots=True)
class UnaryLaw:
    """IDUE, RAPPOR, OUE: bit ``k`` is 1 with ``a/D`` if it is the answer's, else ``b/D``.

    With a ``padding_length`` of 1 or more, item sets by padding and sampling (IDUE-PS):
    as many dummy bits follow, with the probabilities of the smallest budget.
    """

    levels: Levels
    a: tuple[int, ...]
    b: tuple[int, ...]
    padding_length: int = 0

    @property
    def labels(self) -> tuple[str, ...]:
        return self.levels.names

    @property
    def bits(self) -> int:
        """Bits of a report."""
        return self.levels.total + self.padding_length

    @property
    def dummy_level(self) -> int:
        """Position of the level with the smallest budget, the first one if several have it."""
        return self.levels.epsilons.index(min(self.levels.epsilons))

    def verify(self) -> None:
        if self.padding_length and self.levels.rule != "min":
            reason = 'Item sets have budgets (IDUE paper, eq. 16) under the rule "min" only'
            raise VerificationError(reason)
        try:
            check_budgets(self.a, self.b, self.levels.epsilons, self.levels.rule)
        except PairViolation as broken:
            first, second = (self.labels[i] for i in (broken.first, broken.second))
            raise VerificationError(
                f"Levels {first!r} and {second!r} realise {broken.realised:.9f} nats "
                f"but are promised {broken.demanded:.9f}"
            ) from broken

    def pairs(self) -> list[PairBudget]:
        return listed_pairs(*log_ratios(self.a, self.b), self.levels.epsilons, self.levels.rule)

    def estimator(self) -> Estimator:
        offsets = [Fraction(b, D) for b in self.b]
        slopes = [Fraction(a - b, D) for a, b in zip(self.a, self.b, strict=True)]
        return _linear(offsets, slopes, max(1, self.padding_length))


@dataclass(frozen=True, slots=True)
class OneRatioLaw(ABC):
    """Mechanisms that treat all items alike: every pair of levels realises the same loss."""

    levels: Levels

    @property
    @abstractmethod
    def ratio(self) -> Fraction:
        """Largest ratio of two items' probabilities of one report."""

    @property
    @abstractmethod
    def support(self) -> tuple[Fraction, Fraction]:
        """Probability that a report supports the true item, and that it supports another."""

    @property
    def labels(self) -> tuple[str, ...]:
        return self.levels.names

    def verify(self) -> None:
        check_ratio(self.ratio, least_budget(self.levels.epsilons, self.levels.rule))

    def pairs(self) -> list[PairBudget]:
        size = len(self.levels.names)
        ones, zeros = [log_above(self.ratio)] * size, [Decimal(0)] * size
        return listed_pairs(ones, zeros, self.levels.epsilons, self.levels.rule)

    def estimator(self) -> Estimator:
        own, other = self.support
        size = len(self.levels.names)
        return _linear([other] * size, [own - other] * size)


@dataclass(frozen=True, slots=True)
class ResponseLaw(OneRatioLaw):
    """Generalised randomised response: the truth with ``truth/D``, else any item alike."""

    truth: int

    @property
    def values(self) -> int:
        """Number of different reports."""
        return self.levels.total

    @property
    def ratio(self) -> Fraction:
        return _response_ratio(self.truth, self.values)

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        other = Fraction(D - self.truth, D * self.values)
        return Fraction(self.truth, D) + other, other


@dataclass(frozen=True, slots=True)
class HashingLaw(OneRatioLaw):
    """Local hashing: seed and, by randomised response, XXH32 of the item modulo ``values``."""

    truth: int
    values: int

    @property
    def ratio(self) -> Fraction:
        return _response_ratio(self.truth, self.values)  # of two hash values, whatever the seed

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        own = Fraction(self.truth, D) + Fraction(D - self.truth, D * self.values)
        return own, Fraction(1, self.values)


@dataclass(frozen=True, slots=True)
class SubsetLaw(OneRatioLaw):
    """Subset selection: ``size`` items, the true one among them with ``held/D``."""

    held: int
    size: int

    @property
    def ratio(self) -> Fraction:
        others = self.levels.total - self.size
        return Fraction(self.held * others, (D - self.held) * self.size)

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        held, others = Fraction(self.held, D), self.levels.total - 1
        return held, (held * (self.size - 1) + (1 - held) * self.size) / others

    def verify(self) -> None:
        if not 1 <= self.size < self.levels.total:
            raise VerificationError(f"size {self.size} is not from 1 to {self.levels.total - 1}")
        if self.ratio <= 1:
            raise VerificationError("A report must hold the true item more often than another")
        OneRatioLaw.verify(self)


@dataclass(frozen=True, slots=True)
class SignLaw:
    """BiSample-MD: two bits; ``low/D`` is the probability of a 1 for the lowest answer."""

    epsilon: float
    low: int
    lower: float
    upper: float
    yes_no: bool

    @property
    def labels(self) -> tuple[str, ...]:
        return ("any answer or none",)

    @property
    def ratio(self) -> Fraction:
        """Largest ratio of two answers' probabilities of one report."""
        return Fraction(D - self.low, self.low)

    def verify(self) -> None:
        check_ratio(self.ratio, self.epsilon)

    def pairs(self) -> list[PairBudget]:
        return [PairBudget(0, 0, log_upper_bound(self.ratio), self.epsilon)]

    def estimator(self) -> Estimator:
        return {"noise": self.low / D, "theta": (D - 2 * self.low) / D}


@dataclass(frozen=True, slots=True)
class SamplingLaw:
    """Sampling Privacy: a die with ``zero``, a decoy per value, and "tell the truth"."""

    levels: Levels
    sampling: int
    zero: int
    decoys: tuple[int, ...]
    none_epsilon: float
    everyone_has_value: bool

    @property
    def labels(self) -> tuple[str, ...]:
        return (*self.levels.names, "none of the values")

    def verify(self) -> None:
        if len(self.decoys) != self.levels.total:
            reason = f"{len(self.decoys)} decoys for {self.levels.total} values"
            raise VerificationError(reason)
        total = self.sampling + self.zero + sum(self.decoys)
        if total != D:
            raise VerificationError(f"The die's faces have {total} of 2^32 parts in total")
        if not self.zero and not self.everyone_has_value:
            raise VerificationError("Output 0 would give away that a person has none of the values")
        for position, ratio in self._ratios():
            check_ratio(ratio, self._budgets[position], self.labels[position])

    def pairs(self) -> list[PairBudget]:
        """Loss of the round-two outputs of each level, at ``(i, i)``; of "none" at the end."""
        worst: dict[int, Fraction] = {}
        for i, ratio in self._ratios():
            worst[i] = max(ratio, worst.get(i, ratio))
        return [
            PairBudget(i, i, log_upper_bound(ratio), self._budgets[i])
            for i, ratio in sorted(worst.items())
        ]

    def estimator(self) -> Estimator:
        return {"sampling": self.sampling / D}

    @property
    def _budgets(self) -> tuple[float, ...]:
        return (*self.levels.epsilons, self.none_epsilon)

    def _ratios(self) -> list[tuple[int, Fraction]]:
        """For each output its label's position and how much the truth raises its probability."""
        faces = list(zip(self.levels.level_of(), self.decoys, strict=True))
        if not self.everyone_has_value:
            faces.append((len(self.levels.names), self.zero))
        return [(position, Fraction(face + self.sampling, face)) for position, face in faces]


Law = UnaryLaw | OneRatioLaw | SignLaw | SamplingLaw
"""Any of them; each is an :class:`OutputLaw`."""


def _response_ratio(truth: int, values: int) -> Fraction:
    """The truth with ``truth/D``, else any of the values: the true one's odds to another's."""
    return Fraction(truth * values + D - truth, D - truth)


def _linear(offsets: list[Fraction], slopes: list[Fraction], factor: int = 1) -> Estimator:
    if any(slope <= 0 for slope in slopes):
        remedy = "The mechanism says nothing at this budget; raise it."
        raise InputError("slopes", "0 or less", "above 0", remedy)
    return {
        "factor": factor,
        "offsets": [float(offset) for offset in offsets],
        "slopes": [float(slope) for slope in slopes],
    }
