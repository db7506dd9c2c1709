"""Unary encoding in the file, and counted: IDUE, RAPPOR, OUE."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from planner.deployment.client.drawing.entropy import Source
from planner.deployment.client.laws.exact import DENOMINATOR, round_inward
from planner.deployment.client.mechanisms.law import Law
from planner.deployment.client.mechanisms.unary import UnaryLaw
from planner.deployment.mechanisms.answers import AnswerRows
from planner.deployment.mechanisms.counting import BitTally, Counter
from planner.deployment.mechanisms.deployed import Cells, Deployed, Rows
from planner.deployment.mechanisms.items import (
    described_levels,
    described_rule,
    linear_rows,
    promised_rule,
)
from planner.designs.table import UnaryTable
from planner.errors import InputError
from planner.mechanisms.aggregate import Aggregate
from planner.mechanisms.chunks import map_rows
from planner.mechanisms.packed import pack
from planner.mechanisms.unary import UnaryMechanism
from planner.policy.objective import Objective
from planner.survey import Question

_DRAW_BYTES = 2**21  # random bytes a worker handles at a time
Array = NDArray[np.float64]
L = TypeVar("L", bound=UnaryLaw)


class DeployedUnary(Deployed[L]):
    """One bit per item and dummy."""

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
        return BitTally(self.law.bits)

    def cells(self, round_number: int | None) -> Cells:
        del round_number
        law = self.law
        names = [*law.levels.item_names(), *(f"dummy {k + 1}" for k in range(law.dummies))]
        low, high = (self._per_bit(column) / DENOMINATOR for column in (law.b, law.a))
        return Cells(names, low, high)

    def estimate(self, rounds: Sequence[Aggregate], confidence: float) -> AnswerRows:
        return linear_rows(self.law, rounds[0], confidence)

    def draw(self, codes: Sequence[Any], source: Source) -> list[Rows]:
        return [draw_unary(self.law, np.array(codes, dtype=np.int64), source)]

    def _per_bit(self, column: tuple[int, ...]) -> Array:
        law = self.law
        values = np.repeat(np.array(column, dtype=np.float64), law.levels.item_counts)
        return np.concatenate([values, np.full(law.dummies, float(column[law.levels.dummy_level]))])


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
