"""The output law of a mechanism as a matrix: one row an input, one column a report."""

import numpy as np

from tests.laws.oracle import law_of


def output_law(mechanism):
    """``Pr[report | input]``: of items, in any order; of OLH of the hash values."""
    law = getattr(mechanism, "law", mechanism)
    counts = zip(law.levels.item_counts, law.levels.epsilons, strict=True)
    levels = [{"item_count": count, "epsilon": epsilon} for count, epsilon in counts]
    about = {"asked": "item", "law": law.name, "levels": levels, "dummies": law.levels.dummies}
    rows = law_of(about | law.document())
    reports = sorted(set().union(*rows))
    return np.array([[float(row.get(report, 0)) for report in reports] for row in rows])


def sets_law(mechanism):
    """Of sets of all items, read as numbers: through the law of what is drawn, dummies last."""
    single, items, length = output_law(mechanism), mechanism.items, mechanism.padding_length
    member = (np.arange(2**items)[:, None] >> np.arange(items)) & 1
    chance = member / np.maximum(member.sum(axis=1), length)[:, None]
    rest = (1 - chance.sum(axis=1, keepdims=True)) / length
    return np.hstack([chance, np.repeat(rest, length, axis=1)]) @ single
