"""Unary encoding in the file, and counted: IDUE, RAPPOR, OUE."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import log, sqrt
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from planner.deployment.client.drawing.entropy import Source
from planner.deployment.client.laws.exact import DENOMINATOR, round_inward
from planner.deployment.client.mechanisms.law import Law
from planner.deployment.client.mechanisms.unary import UnaryLaw
from planner.deployment.mechanisms.answers import AnswerRows
from planner.deployment.mechanisms.counting import BitTally, Counter, Tally
from planner.deployment.mechanisms.deployed import Cells, Deployed, Rows
from planner.deployment.mechanisms.items import (
    described_levels,
    described_rule,
    linear_rows,
    promised_rule,
)
from planner.deployment.mechanisms.signs import ALPHA, bernstein_reach, cell_signs
from planner.designs.table import UnaryTable
from planner.errors import InputError
from planner.mechanisms.aggregate import Aggregate
from planner.mechanisms.chunks import map_rows
from planner.mechanisms.packed import pack
from planner.mechanisms.unary import UnaryMechanism
from planner.policy.objective import Objective
from planner.survey import Question

_DRAW_BYTES = 2**21  # random bytes a worker handles at a time
_MOST_CELLS = 5 * 10**7  # of levels times weights, beyond which weights are not predicted
Array = NDArray[np.float64]
L = TypeVar("L", bound=UnaryLaw)


class DeployedUnary(Deployed[L]):
    """One bit per item; a dummy's bits are counted too, as they may betray poisoning."""

    law_type: ClassVar[type[Law]] = UnaryLaw
    sources: ClassVar[tuple[type, ...]] = (UnaryTable, UnaryMechanism)

    @classmethod
    def describe(cls, source: Any, question: Question) -> dict[str, Any]:
        table = _table_of(source, question) if isinstance(source, UnaryMechanism) else source
        policy = question.policy
        with_all = policy.with_changes(self_pairs=True)
        if table.policy not in (policy, with_all):
            reason = f"the table of question {question.name!r} is for another policy"
            remedy = "Solve a table for the policy of the question."
            raise InputError.because("table", reason, remedy)
        keeps_all = replace(table, policy=with_all).max_violation == 0
        rule = promised_rule(policy, keeps_all=keeps_all)
        a, b = round_inward(table.a.tolist(), table.b.tolist(), policy.epsilons.tolist(), rule)
        levels = described_levels(question)
        for i, level in enumerate(levels):
            level |= {"a": a[i], "b": b[i]}
        return {
            "model": table.model,
            "rule": described_rule(rule),
            "levels": levels,
            "predicted": _predicted(table, np.array([a, b]) / DENOMINATOR),
        }

    def counter(self) -> Counter:
        return BitTally(self.law.bits, weighed=True)

    def cells(self, round_number: int | None) -> Cells:
        del round_number
        law = self.law
        names = [*law.levels.item_names(), *(f"dummy {k + 1}" for k in range(law.dummies))]
        low, high = (self._per_bit(column) / DENOMINATOR for column in (law.b, law.a))
        return Cells(names, low, high)

    def estimate(self, rounds: Sequence[Aggregate], confidence: float) -> AnswerRows:
        return linear_rows(self.law, rounds[0], confidence)

    def signs(self, tally: Tally, round_number: int | None) -> list[str]:
        one, alpha = self.cells(round_number), ALPHA / 3
        signs = cell_signs(tally.aggregate, one.low, one.high, one.names, alpha)
        return signs + self._total_signs(tally, alpha) + self._weight_signs(tally, alpha)

    def draw(self, codes: Sequence[Any], source: Source) -> list[Rows]:
        return [draw_unary(self.law, np.array(codes, dtype=np.int64), source)]

    def _per_bit(self, column: tuple[int, ...]) -> Array:
        law = self.law
        values = np.repeat(np.array(column, dtype=np.float64), law.levels.item_counts)
        return np.concatenate([values, np.full(law.dummies, float(column[law.levels.dummy_level]))])

    def _total_signs(self, tally: Tally, alpha: float) -> list[str]:
        """All ones of the file: the sampled items' bits apart, everybody's have the same law."""
        n, total = tally.aggregate.users, int(tally.aggregate.counts.sum())
        a, b = (np.array(column) / DENOMINATOR for column in (self.law.a, self.law.b))
        counts = np.array(self.law.bits_per_level)
        mean, variance = float(counts @ b), float(counts @ (b * (1 - b)))
        own_variance = max(0.0, float((a * (1 - a) - b * (1 - b)).max()))
        reach = float(bernstein_reach(n * (variance + own_variance), alpha / 2))
        least = n * (mean + float((a - b).min())) - reach
        most = n * (mean + float((a - b).max())) + reach
        if least <= total <= most:
            return []
        return [
            f"{total / n:,.3f} ones per report on average; honest reports have "
            f"{least / n:,.3f} to {most / n:,.3f}"
        ]

    def _weight_signs(self, tally: Tally, alpha: float) -> list[str]:
        """The weights' distribution function, at every weight (Hoeffding, union over weights).

        With ``B`` the weight of a report that has ``b`` in every bit, an honest report's weight
        lies between ``B`` and ``B + 1`` in distribution, as its own item's bit does.
        """
        n, bits = int(tally.weights.sum()), self.law.bits
        if n == 0 or len(self.law.b) * bits > _MOST_CELLS:
            return []
        below = np.cumsum(_weight_law(self.law))
        least, most = np.concatenate([[0.0], below[:-1]]), below
        seen = np.cumsum(tally.weights) / n
        reach = sqrt(log(2 * bits / alpha) / (2 * n)) + 1e-9  # and the rounding of the transform
        worst = np.maximum(seen - most, least - seen)
        k = int(np.argmax(worst))
        if worst[k] <= reach:
            return []
        return [
            f"{seen[k]:.1%} of {n:,} reports looked at have at most {k:,} ones; honest reports "
            f"have {max(0.0, least[k] - reach):.1%} to {min(1.0, most[k] + reach):.1%}"
        ]


def draw_unary(law: UnaryLaw, true: NDArray[np.int64], source: Callable[[int], bytes]) -> Rows:
    """Unary reports for bit numbers, uint8, shape ``(n, report size)``.

    A bit's word is drawn digit by digit: eight binary digits decide unless they equal the
    threshold's, and only then the other 24 are drawn. Exactly the client's law, at a
    quarter of the entropy. ``true`` has the bit number of each user's (sampled) item, shape
    ``(n,)``; ``source`` is the operating system's entropy, but where tests play back bytes.
    """
    levels = np.array([*law.levels.level_of(), *[law.levels.dummy_level] * law.dummies])
    a, b = (np.array(column, dtype=np.uint32)[levels] for column in (law.a, law.b))
    reports = np.empty((true.size, law.size), dtype=np.uint8)
    chunk = max(1, _DRAW_BYTES // law.bits)

    def draw(part: slice, _: int) -> None:
        own = true[part]
        bits = _bernoulli(b, own.size, source)
        bits[np.arange(own.size), own] = _bernoulli(a[own], 1, source)[0]
        reports[part] = pack(bits).view(np.uint8).reshape(own.size, law.size)

    map_rows(draw, true.size, chunk)
    return reports


def _bernoulli(
    thresholds: NDArray[np.uint32], rows: int, source: Callable[[int], bytes]
) -> NDArray[np.bool_]:
    """Rows of independent bits; bit ``k`` is 1 with probability ``thresholds[k] / 2^32``."""
    size = thresholds.size
    first = np.frombuffer(source(rows * size), dtype=np.uint8).reshape(rows, size)
    top = (thresholds >> np.uint32(24)).astype(np.uint8)
    bits = first < top
    ties = np.flatnonzero(first == top)
    rest = np.frombuffer(source(4 * ties.size), dtype="<u4") & np.uint32(2**24 - 1)
    bits.reshape(-1)[ties] = rest < (thresholds & np.uint32(2**24 - 1))[ties % size]
    return bits


def _table_of(mechanism: UnaryMechanism, question: Question) -> UnaryTable:
    """The mechanism's table, as one of the question's levels."""
    table, policy = mechanism.table, question.policy
    order = np.repeat(np.arange(table.policy.size), table.policy.item_counts)
    if not np.array_equal(mechanism.level_of, order):
        remedy = "Number the items through the levels, one level after the other."
        raise InputError("level_of", mechanism.level_of, "in the order of the levels", remedy)
    items = sum(level.item_count for level in question.levels)
    if mechanism.items != items:
        allowed = f"{items}, as in its levels"
        remedy = "Plan the mechanism for this question."
        raise InputError(f"items of question {question.name!r}", mechanism.items, allowed, remedy)
    if table.model in ("rappor", "oue") and table.policy.size == 1 != policy.size:
        # A baseline of one budget protects every level as the strictest one needs.
        a, b = (np.repeat(column, policy.size) for column in (table.a, table.b))
        return replace(table, policy=policy, a=a, b=b)
    if table.policy != policy and table.policy.size == policy.size:
        return replace(table, policy=policy, certificate=None)  # which speaks of its own policy
    return table


def _predicted(table: UnaryTable, grid: Array) -> dict[str, Any]:
    """The error of the integers, and how far the proven bound is below it."""
    error = replace(table, a=grid[0], b=grid[1]).worst_case_mse
    proven = table.certificate is not None and table.objective == Objective()
    bound = table.certificate.lower_bound if proven and table.certificate else None
    gap = None if bound is None else max(0.0, (error - bound) / bound)
    return {"worst_case_mse": error, "lower_bound": bound, "relative_gap": gap}


def _weight_law(law: UnaryLaw) -> Array:
    """Law of a sum of independent bits with the levels' ``b``, from its transform."""
    size = law.bits + 1
    root = np.exp(-2j * np.pi * np.arange(size) / size)
    transform = np.ones(size, dtype=np.complex128)
    for b, count in zip(law.b, law.bits_per_level, strict=True):
        transform *= (1 - b / DENOMINATOR + b / DENOMINATOR * root) ** int(count)
    return np.maximum(np.fft.ifft(transform).real, 0.0)
