"""What a parameter file's integers promise: each mechanism's output law, checked exactly.

Only the standard library is used, so that a client proves its own parameters before the first
report. Every probability is a whole number over ``D = 2^32``.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Protocol

from planner.deployment.laws.exact import (
    DENOMINATOR,
    PairViolation,
    check_budgets,
    check_ratio,
    log_ratios,
    log_upper_bound,
)
from planner.deployment.laws.levels import Levels
from planner.deployment.laws.pairs import PairBudget, least_budget, listed_pairs, log_above
from planner.errors import InputError, VerificationError

__all__ = [
    "HashingLaw",
    "Law",
    "ResponseLaw",
    "SamplingLaw",
    "SignLaw",
    "SubsetLaw",
    "UnaryLaw",
]

D = DENOMINATOR
Estimator = dict[str, Any]


class Law(Protocol):
    """What the exact checks need of a mechanism's integers."""

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
class ResponseLaw:
    """Generalised randomised response: the truth with ``truth/D``, else any item alike."""

    levels: Levels
    truth: int

    @property
    def labels(self) -> tuple[str, ...]:
        return self.levels.names

    @property
    def values(self) -> int:
        """Number of different reports."""
        return self.levels.total

    @property
    def ratio(self) -> Fraction:
        """Largest ratio of two items' probabilities of one report."""
        return Fraction(self.truth * self.values + D - self.truth, D - self.truth)

    def verify(self) -> None:
        check_ratio(self.ratio, least_budget(self.levels.epsilons, self.levels.rule))

    def pairs(self) -> list[PairBudget]:
        return _equal_pairs(self.levels, self.ratio)

    def estimator(self) -> Estimator:
        other = Fraction(D - self.truth, D * self.values)
        size = len(self.levels.names)
        return _linear([other] * size, [Fraction(self.truth, D)] * size)


@dataclass(frozen=True, slots=True)
class HashingLaw:
    """Local hashing: seed and, by randomised response, XXH32 of the item modulo ``values``."""

    levels: Levels
    truth: int
    values: int

    @property
    def labels(self) -> tuple[str, ...]:
        return self.levels.names

    @property
    def ratio(self) -> Fraction:
        """Largest ratio of two hash values' probabilities of one report, whatever the seed."""
        return Fraction(self.truth * self.values + D - self.truth, D - self.truth)

    def verify(self) -> None:
        check_ratio(self.ratio, least_budget(self.levels.epsilons, self.levels.rule))

    def pairs(self) -> list[PairBudget]:
        return _equal_pairs(self.levels, self.ratio)

    def estimator(self) -> Estimator:
        same = Fraction(self.truth, D) + Fraction(D - self.truth, D * self.values)
        other = Fraction(1, self.values)
        size = len(self.levels.names)
        return _linear([other] * size, [same - other] * size)


@dataclass(frozen=True, slots=True)
class SubsetLaw:
    """Subset selection: ``size`` items, the true one among them with ``held/D``."""

    levels: Levels
    held: int
    size: int

    @property
    def labels(self) -> tuple[str, ...]:
        return self.levels.names

    @property
    def ratio(self) -> Fraction:
        """Probability of a set with the true item over that of one without it."""
        others = self.levels.total - self.size
        return Fraction(self.held * others, (D - self.held) * self.size)

    def verify(self) -> None:
        if not 1 <= self.size < self.levels.total:
            raise VerificationError(f"size {self.size} is not from 1 to {self.levels.total - 1}")
        if self.ratio <= 1:
            raise VerificationError("A report must hold the true item more often than another")
        check_ratio(self.ratio, least_budget(self.levels.epsilons, self.levels.rule))

    def pairs(self) -> list[PairBudget]:
        return _equal_pairs(self.levels, self.ratio)

    def estimator(self) -> Estimator:
        held, others = Fraction(self.held, D), self.levels.total - 1
        other = (held * (self.size - 1) + (1 - held) * self.size) / others
        size = len(self.levels.names)
        return _linear([other] * size, [held - other] * size)


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

    def verify(self) -> None:
        check_ratio(Fraction(D - self.low, self.low), self.epsilon)

    def pairs(self) -> list[PairBudget]:
        realised = log_upper_bound(Fraction(D - self.low, self.low))
        return [PairBudget(0, 0, realised, self.epsilon)]

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
        for position, decoy, budget in self._outputs():
            check_ratio(Fraction(decoy + self.sampling, decoy), budget, self.labels[position])

    def pairs(self) -> list[PairBudget]:
        """Loss of the round-two outputs of each level, at ``(i, i)``; of "none" at the end."""
        worst: dict[int, tuple[int, float]] = {}
        for position, decoy, budget in self._outputs():
            if position not in worst or decoy < worst[position][0]:
                worst[position] = (decoy, budget)
        return [
            PairBudget(i, i, log_upper_bound(Fraction(decoy + self.sampling, decoy)), budget)
            for i, (decoy, budget) in sorted(worst.items())
        ]

    def estimator(self) -> Estimator:
        return {"sampling": self.sampling / D}

    def _outputs(self) -> list[tuple[int, int, float]]:
        found = [
            (position, decoy, self.levels.epsilons[position])
            for position, decoy in zip(self.levels.level_of(), self.decoys, strict=True)
        ]
        if not self.everyone_has_value:
            found.append((len(self.levels.names), self.zero, self.none_epsilon))
        return found


def _equal_pairs(levels: Levels, ratio: Fraction) -> list[PairBudget]:
    """Every pair realises the same loss."""
    size = len(levels.names)
    ones, zeros = [log_above(ratio)] * size, [Decimal(0)] * size
    return listed_pairs(ones, zeros, levels.epsilons, levels.rule)


def _linear(offsets: list[Fraction], slopes: list[Fraction], factor: int = 1) -> Estimator:
    if any(slope <= 0 for slope in slopes):
        raise InputError("slopes", "0 or less", "above 0", "The mechanism says nothing.")
    return {
        "factor": factor,
        "offsets": [float(offset) for offset in offsets],
        "slopes": [float(slope) for slope in slopes],
    }
