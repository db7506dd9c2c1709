import numpy as np

from planner.mechanisms.packed import pack
from planner.mechanisms.subset import SubsetSelection
from tests.mechanisms.single_item import SingleItemSuite
from tests.mechanisms.test_unary import wrong_reports


class TestSubsetSelection(SingleItemSuite):
    budget = 0.5
    items = 5  # two of five

    def mechanism(self):
        return SubsetSelection(self.budget, self.items)

    def bad_reports(self):
        return [*wrong_reports(self.items, 1), pack(np.array([[1, 1, 1, 0, 0]]))]


class TestSubsetOfOne(TestSubsetSelection):
    budget = 2.0

    def bad_reports(self):
        return [*wrong_reports(self.items, 1), pack(np.array([[1, 1, 0, 0, 0]]))]


def test_size_follows_the_budget():
    assert SubsetSelection(1.0, items=12).size == 3
    assert SubsetSelection(5.0, items=12).size == 1
    assert SubsetSelection(1e-3, items=12).size == 6


def test_many_items():
    mechanism = SubsetSelection(1.0, items=130)
    values = np.repeat(129, 3000)
    aggregate = mechanism.aggregate(mechanism.perturb(values, np.random.default_rng(0)))
    assert aggregate.counts.sum() == 3000 * mechanism.size
    expected = 3000 * np.where(np.arange(130) == 129, mechanism.a, mechanism.b)
    assert np.all(np.abs(aggregate.counts - expected) < 6 * np.sqrt(expected))
