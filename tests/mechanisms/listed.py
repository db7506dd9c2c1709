"""The output law of a mechanism as a matrix: one row an input, one column a report."""

from itertools import accumulate, combinations, product
from math import comb

import numpy as np

from planner.mechanisms.itemsets import PaddedUnaryMechanism
from planner.mechanisms.plain import (
    GeneralizedRandomizedResponse,
    OptimizedLocalHashing,
    SubsetSelection,
)
from planner.mechanisms.sampling_privacy import SamplingPrivacy
from planner.mechanisms.subset_design import SubsetDesignMechanism
from planner.mechanisms.unary import UnaryMechanism


def output_law(mechanism):
    """``Pr[report | input]``: of items, of sets read as numbers, of OLH given the seed."""
    return LISTED[type(mechanism)](mechanism)


def unary_law(a, b):
    """Rows by true bit, columns by the report's bits read as a number."""
    report = np.arange(2**a.size)
    law = np.ones((a.size, report.size))
    for k in range(a.size):
        one = np.full(a.size, b[k])
        one[k] = a[k]
        law *= np.where((report >> k) & 1, one[:, None], 1 - one[:, None])
    return law


def _response(mechanism):
    p, q, m = mechanism.p, mechanism.q, mechanism.items
    return np.full((m, m), q) + (p - q) * np.eye(m)


def _subsets(mechanism):
    """Sets in lexicographic order."""
    h, d, m = mechanism.held / 2**32, mechanism.size, mechanism.items
    chosen = [np.isin(np.arange(m), one) for one in combinations(range(m), d)]
    return np.where(np.array(chosen).T, h / comb(m - 1, d - 1), (1 - h) / comb(m - 1, d))


def design_reports(counts, types):
    """All reports of a design, type by type: their types, and their bits as a number."""
    ends = list(accumulate(counts))
    kinds, bits = [], []
    for kind, row in enumerate(types):
        levels = zip(ends, counts, row, strict=True)
        splits = [list(combinations(range(end - m, end), k)) for end, m, k in levels]
        for parts in product(*splits):
            kinds.append(kind)
            bits.append(sum(1 << item for part in parts for item in part))
    return np.array(kinds), np.array(bits, dtype=np.uint64)


def _design(mechanism):
    counts = mechanism.policy.item_counts.tolist()
    kinds, bits = design_reports(counts, mechanism.high_counts.tolist())
    law, splits = np.empty((mechanism.items, kinds.size)), np.bincount(kinds)
    for place, item in enumerate(mechanism._order):
        side = ((bits >> np.uint64(place)) & np.uint64(1)).astype(int)
        level = mechanism.level_of[item]
        counted = mechanism.integers[level, kinds, side] / 2**32  # own side and type
        high = mechanism.high_counts[kinds, level]
        on_side = np.where(side == 1, high, counts[level] - high)
        law[item] = counted * counts[level] / on_side / splits[kinds]
    return law


def _padded(mechanism, single, dummies):
    """Sets of all items, through the law of what is drawn, dummies last."""
    member = (np.arange(2**mechanism.items)[:, None] >> np.arange(mechanism.items)) & 1
    chance = member / np.maximum(member.sum(axis=1), mechanism.padding_length)[:, None]
    rest = (1 - chance.sum(axis=1, keepdims=True)) / dummies
    return np.hstack([chance, np.repeat(rest, dummies, axis=1)]) @ single


def _padded_unary(mechanism):
    length, unary = mechanism.padding_length, mechanism.unary
    levels = np.append(unary.level_of, [mechanism.dummy_level] * length)
    a, b = (threshold[levels] / 2**32 for threshold in unary.thresholds)
    return _padded(mechanism, unary_law(a, b), length)


def _two_rounds(mechanism):
    """Columns (0, 0), (1, 1) .. (V, V), then (0, 1) .. (0, V)."""
    stay = np.tile([mechanism.zero, *mechanism.decoys], (mechanism.items, 1))
    move = mechanism.sampling * np.eye(mechanism.items)
    stay[:, 0] += move[:, 0]  # a sampled person without a value stays at 0
    law = np.hstack([stay, move[:, 1:]])
    return law[1:] if mechanism.everyone_has_value else law


LISTED = {
    UnaryMechanism: lambda one: unary_law(one.a, one.b),
    GeneralizedRandomizedResponse: _response,
    OptimizedLocalHashing: lambda one: _response(one.response),
    SubsetSelection: _subsets,
    SubsetDesignMechanism: _design,
    PaddedUnaryMechanism: _padded_unary,
    SamplingPrivacy: _two_rounds,
}
