import numpy as np
import pytest
import xxhash

from planner.errors import InputError
from planner.mechanisms.hashing import OptimizedLocalHashing, xxh32
from tests.mechanisms.decisions import draws_follow
from tests.mechanisms.single_item import SingleItemSuite


class TestOptimizedLocalHashing(SingleItemSuite):
    def mechanism(self):
        return OptimizedLocalHashing(self.budget, self.items)

    def law_inputs(self):
        return list(range(self.mechanism().values))  # hashed values: the law given the seed

    def test_draws_follow_the_law(self):
        mechanism, rng = self.mechanism(), np.random.default_rng(8)
        law = mechanism.output_law()
        reports = mechanism.perturb(np.full(self.draws, 3), rng)
        hashed = xxh32(np.full(self.draws, 3, dtype=np.uint32), reports[:, 0]) % law.shape[0]
        for row, probabilities in enumerate(law):
            index = mechanism.report_index(reports[hashed == row])
            counts = np.bincount(index, minlength=law.shape[1])
            assert draws_follow(counts, probabilities, 1e-6 / len(law))
            near_miss = 0.95 * probabilities + 0.05 * (np.arange(len(law)) == 0)
            assert not draws_follow(counts, near_miss, 1e-6 / len(law))

    def bad_reports(self):
        good = np.zeros((3, 2), dtype=np.uint32)
        beyond = good.copy()
        beyond[2, 1] = self.mechanism().values
        return [good[:0], good[0], good[:, :1], good.astype(np.int64), beyond, None, [[0, 0]]]


def test_the_hash_is_xxh32():
    rng = np.random.default_rng(0)
    numbers, seeds = rng.integers(2**32, size=(2, 500), dtype=np.uint32)
    ours = xxh32(numbers, seeds)
    for number, seed, value in zip(numbers, seeds, ours, strict=True):
        assert value == xxhash.xxh32_intdigest(int(number).to_bytes(4, "little"), seed=int(seed))


def test_two_items_collide_as_often_as_independent_hashes_do():
    seeds = np.random.default_rng(1).integers(2**32, size=200_000, dtype=np.uint32)
    for first, second in ((0, 1), (7, 8), (3, 999)):
        one, two = (
            xxh32(np.array([item], dtype=np.uint32), seeds) % np.uint32(5)
            for item in (first, second)
        )
        counts = np.bincount(5 * one + two, minlength=25)
        assert draws_follow(counts, np.full(25, 1 / 25))


def test_a_budget_too_large_to_hash_is_refused():
    with pytest.raises(InputError, match="generalised"):
        OptimizedLocalHashing(21.0, items=5)
