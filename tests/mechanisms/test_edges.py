"""Draws at the very edge of their threshold: one step of 2^-32 is part of the promise.

No statistical test sees such a step. A generator whose words are written down does.
"""

import numpy as np
import pytest

from planner import PrivacyPolicy, TwoCoinResponse, baseline
from planner.mechanisms.direct import GeneralizedRandomizedResponse
from planner.mechanisms.direct_levels import DirectEncoding
from planner.mechanisms.grid import GRID, thresholds_above, thresholds_below
from planner.mechanisms.hashing import OptimizedLocalHashing, xxh32
from planner.mechanisms.numeric import SignCoin
from planner.mechanisms.packed import BitCounter, pack, unpack
from planner.mechanisms.sampling_privacy import SamplingPrivacy
from planner.mechanisms.subset import SubsetSelection
from planner.mechanisms.unary import UnaryMechanism


class Scripted(np.random.Generator):
    """A generator that says what is written down, once each, and checks what it is asked."""

    def __init__(self, *script):
        super().__init__(np.random.PCG64(0))
        self.script = list(script)

    def integers(self, high, size=None, dtype=np.int64):
        values = np.asarray(self.script.pop(0))
        shape = size if isinstance(size, tuple) else (size,)
        assert values.shape == shape
        assert values.min() >= 0
        assert np.all(values < high)
        return values.astype(dtype)

    def random(self, size):
        values = np.asarray(self.script.pop(0), dtype=float)
        assert values.shape == size
        return values


def test_direct_encoding_tells_the_truth_below_its_threshold_only():
    mechanism = GeneralizedRandomizedResponse(1.0, 4)
    truth = round((mechanism.p - mechanism.q) * GRID)
    rng = Scripted([0, truth - 1, truth, GRID - 1], [3, 3, 3, 0])
    assert mechanism.perturb([1, 1, 1, 1], rng).tolist() == [1, 1, 3, 0]
    assert mechanism.p - mechanism.q <= np.expm1(1) / (np.expm1(1) + 4)


def test_rows_per_input_draw_by_their_weights():
    mechanism = DirectEncoding(PrivacyPolicy([0.8, 2.0], [1, 2], rule="avg"))
    truth, weights = round(mechanism.d * GRID), mechanism._weights[mechanism.level_of]
    ends = np.cumsum(weights)
    rng = Scripted(
        [truth - 1, truth, truth, truth, truth], [0, 0, ends[0] - 1, ends[0], ends[2] - 1]
    )
    assert mechanism.perturb([2, 2, 2, 2, 2], rng).tolist() == [2, 0, 0, 1, 2]
    assert weights[0] > weights[1]  # the sensitive item is drawn more often


def test_subsets_hold_the_item_below_their_threshold_only():
    mechanism = SubsetSelection(1.0, 3)
    assert mechanism.size == 1
    held = round(float(mechanism.a[0]) * GRID)

    rows = np.zeros((2, 1), dtype=np.uint64)
    rng = Scripted([held - 1, held], [0])
    mechanism._fill(rows, np.array([1, 1]), rng)
    assert unpack(rows, 3).tolist() == [[0, 1, 0], [1, 0, 0]]


def test_coins_come_up_below_their_threshold_only():
    coin = SignCoin(1.0)
    edge = float(coin.low)
    rng = Scripted([coin.low - 1, coin.low])
    assert SignCoin.toss(np.array([edge, edge]), rng).tolist() == [True, False]
    assert coin.low / GRID >= 1 / (np.e + 1)
    assert (coin.low - 1) / GRID < 1 / (np.e + 1)
    assert coin.threshold(np.array([-1.0, 0.0, 1.0])).tolist() == [
        coin.low,
        GRID / 2,
        GRID - coin.low,
    ]


def test_two_coins():
    coins = TwoCoinResponse(0.5, 0.25, 0.75)
    below = np.nextafter(0.5, 0), np.nextafter(0.25, 0), np.nextafter(0.75, 0)
    script = [
        [below[0], 0.5, 0.5, below[0]],
        [0.9, below[1], 0.25, 0.9],
        [0.0, 0.0, below[2], 0.75],
    ]
    assert coins.perturb([1, 0, 1, 1], Scripted(script)).tolist() == [1, 1, 0, 2]


def test_the_die_of_two_rounds():
    mechanism = SamplingPrivacy(0.5, 0.25, [0.125, 0.125])
    zero, one, two = (round(p * GRID) for p in (0.25, 0.375, 0.5))
    die = [0, zero - 1, zero, one - 1, one, two - 1, two, GRID - 1]
    both = mechanism.perturb([2] * 8, Scripted(die)).tolist()
    assert both == [[0, 0], [0, 0], [1, 1], [1, 1], [2, 2], [2, 2], [0, 2], [0, 2]]


def test_hashes_are_randomised_at_their_edge():
    mechanism = OptimizedLocalHashing(1.0, 10)
    truth = round((float(mechanism.a[0]) - float(mechanism.b[0])) * GRID)
    seeds = np.array([5, 5], dtype=np.uint32)
    hashed = int(xxh32(np.array([7], dtype=np.uint32), seeds[:1])[0] % mechanism.values)
    other = (hashed + 1) % mechanism.values
    inner = mechanism._response()
    truth = round((inner.p - inner.q) * GRID)
    rng = Scripted(seeds, [truth - 1, truth], [other, other])
    assert mechanism.perturb([7, 7], rng).tolist() == [[5, hashed], [5, other]]


def test_the_true_bit_at_its_edge(monkeypatch):
    mechanism = UnaryMechanism.oue(1.0, 3)
    (a,), (b,) = mechanism.thresholds
    assert (a, b) == (GRID // 2, np.ceil(GRID / (np.e + 1)))
    scripts = [Scripted([a - 1, a])]
    monkeypatch.setattr("planner.mechanisms.unary.spawn", lambda _rng, _count: scripts)
    monkeypatch.setattr(
        "planner.mechanisms.unary.BernoulliRows.fill", lambda _self, rows, _rng: rows.fill(7)
    )
    reports = mechanism.perturb([1, 1], np.random.default_rng(0))
    assert unpack(reports, 3).tolist() == [[1, 1, 1], [1, 0, 1]]


def test_thresholds_round_outward():
    just = np.array([0.3, 0.5, 1 / 3])
    below, above = thresholds_below(just), thresholds_above(just)
    assert np.all(below / GRID <= just)
    assert np.all((below + 1) / GRID > just)
    assert np.all(above / GRID >= just)
    assert np.all((above - 1) / GRID < just)


@pytest.mark.parametrize("items", [1, 64, 70, 40_000])
def test_counters_count_as_batches_come(items):
    rng = np.random.default_rng(items)
    counter, truth = BitCounter(items), np.zeros(items, dtype=int)
    assert counter.counts().tolist() == [0] * items
    for rows in (1, 2, 5, 600, 40_000 // items + 3, 1):
        bits = rng.integers(2, size=(rows, items), dtype=np.uint8)
        counter.add(pack(bits))
        truth += bits.sum(axis=0, dtype=int)
        np.testing.assert_array_equal(counter.counts(), truth)
        assert sum(map(len, counter._rest)) < counter._height  # nothing piles up


def test_one_item_tells_nothing():
    alone = UnaryMechanism(baseline(PrivacyPolicy([1.0], [1]), "oue"))
    assert alone.privacy_loss() == 0.0
    assert np.isnan(alone.pair_losses()).all()
    assert UnaryMechanism.oue(1.0, 2).privacy_loss() == pytest.approx(1.0)
