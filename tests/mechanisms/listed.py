"""The output law of a mechanism as a matrix: one row an input, one column a report."""

from itertools import combinations

import numpy as np

from planner import PrivacyPolicy, UnaryTable
from tests.laws.oracle import inputs, law_of


def output_law(mechanism):
    """``Pr[report | input]``: of items, in any order; of OLH of the hash values."""
    law = getattr(mechanism, "shape", mechanism)
    counts = zip(law.levels.item_counts, law.levels.epsilons, strict=True)
    levels = [{"item_count": count, "epsilon": epsilon} for count, epsilon in counts]
    fields = {"asked": "item", "law": law.name, "levels": levels}
    fields |= {"padding_length": law.levels.dummies}
    rows = law_of(fields | law.document())
    reports = sorted(set().union(*rows))
    return np.array([[float(row.get(report, 0)) for report in reports] for row in rows])


def sets_law(mechanism):
    """Of sets of all items, read as numbers: through the law of what is drawn, dummies last."""
    single = output_law(mechanism)
    asked = mechanism.asked
    items = asked.levels.total
    length = asked.padding_length
    member = (np.arange(2**items)[:, None] >> np.arange(items)) & 1
    chance = member / np.maximum(member.sum(axis=1), length)[:, None]
    rest = (1 - chance.sum(axis=1, keepdims=True)) / length
    return np.hstack([chance, np.repeat(rest, length, axis=1)]) @ single


def whole_sets_law(mechanism):
    """The same where a report is about the whole set, padded or cut at random."""
    law = mechanism.shape
    asked = mechanism.asked
    items = asked.levels.total
    length = asked.padding_length
    levels = [{"item_count": items, "epsilon": law.levels.epsilons[0]}]
    fields = {
        "asked": "whole-set",
        "law": law.name,
        "levels": levels,
        "padding_length": length,
    }
    question = fields | law.document()
    both = zip(inputs(question), law_of(question), strict=True)
    laws = {answer: list(row.values()) for answer, row in both}
    rows = []
    for code in range(2**items):
        members = [k for k in range(items) if code >> k & 1]
        members += range(items, items + length - len(members))
        cuts = [laws[cut] for cut in combinations(members, length)]
        rows.append(np.mean(np.array(cuts, float), axis=0))
    return np.array(rows)


OF_TABLE_II = PrivacyPolicy([np.log(4), np.log(6)], [1, 4])
A = [0.592048, 0.672998]
B = [0.327001, 0.277564]
TABLE_II = UnaryTable(OF_TABLE_II, A, B, "opt0", "from the literature")


def by_hand(policy, a, b):
    return UnaryTable(policy, a, b, "opt0", "by hand")
