"""Draws at the very edge of their threshold: one step of 2^-32 is part of the promise.

No statistical test sees such a step. A generator whose words are written down does.
"""

import re
from decimal import Decimal, localcontext
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from planner import InputError, ItemSets, PrivacyPolicy, baseline
from planner.mechanisms.bernoulli import (
    DENOMINATOR,
    BernoulliRows,
    thresholds_above,
    thresholds_below,
)
from planner.mechanisms.chunks import spawn
from planner.mechanisms.direct import GeneralizedRandomizedResponse
from planner.mechanisms.hashing import OptimizedLocalHashing, xxh32
from planner.mechanisms.means import BiSampleMD, SignCoin
from planner.mechanisms.packed import BitCounter, pack, unpack
from planner.mechanisms.padding import PaddedUnaryMechanism
from planner.mechanisms.sampling_privacy import SamplingPrivacy
from planner.mechanisms.subset import SubsetSelection
from planner.mechanisms.unary import UnaryMechanism, unary_law
from planner.mechanisms.words import Words
from planner.survey.numeric_domain import NumericDomain


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
        assert values.shape == (size if isinstance(size, tuple) else (size,))
        return values


def test_direct_encoding_tells_the_truth_below_its_threshold_only():
    mechanism = GeneralizedRandomizedResponse(1.0, 4)
    truth = round((mechanism.p - mechanism.q) * DENOMINATOR)
    rng = Scripted([0, truth - 1, truth, DENOMINATOR - 1], [3, 3, 3, 0])
    assert mechanism.perturb([1, 1, 1, 1], rng).tolist() == [1, 1, 3, 0]
    assert mechanism.p - mechanism.q <= np.expm1(1) / (np.expm1(1) + 4)


def test_subsets_hold_the_item_below_their_threshold_only():
    mechanism = SubsetSelection(1.0, 3)
    assert mechanism.size == 1
    held = round(float(mechanism.a[0]) * DENOMINATOR)

    rows = np.zeros((2, 1), dtype=np.uint64)
    rng = Scripted([held - 1, held], [0])
    mechanism._fill(rows, np.array([1, 1]), rng)
    assert unpack(rows, 3).tolist() == [[0, 1, 0], [1, 0, 0]]


def test_a_set_has_its_size_even_if_all_hold_their_item():
    mechanism = SubsetSelection(0.5, 8)
    assert mechanism.size == 3
    for seed in range(20):  # one person at a time: some sit out the first step
        report = mechanism.perturb([5], np.random.default_rng(seed))
        assert unpack(report, 8).sum() == 3


def test_coins_come_up_below_their_threshold_only():
    coin = SignCoin(1.0)
    edge = float(coin.low)
    rng = Scripted([coin.low - 1, coin.low])
    assert SignCoin.toss(np.array([edge, edge]), rng).tolist() == [True, False]
    assert coin.low / DENOMINATOR >= 1 / (np.e + 1)
    assert (coin.low - 1) / DENOMINATOR < 1 / (np.e + 1)
    assert coin.threshold(np.array([-1.0, 0.0, 1.0])).tolist() == [
        coin.low,
        DENOMINATOR / 2,
        DENOMINATOR - coin.low,
    ]


def test_the_die_of_two_rounds():
    mechanism = SamplingPrivacy(0.5, 0.25, [0.125, 0.125])
    zero, one, two = (round(p * DENOMINATOR) for p in (0.25, 0.375, 0.5))
    die = [0, zero - 1, zero, one - 1, one, two - 1, two, DENOMINATOR - 1]
    both = mechanism.perturb([2] * 8, Scripted(die)).tolist()
    assert both == [[0, 0], [0, 0], [1, 1], [1, 1], [2, 2], [2, 2], [0, 2], [0, 2]]


def test_hashes_are_randomised_at_their_edge():
    mechanism = OptimizedLocalHashing(1.0, 10)
    truth = round((float(mechanism.a[0]) - float(mechanism.b[0])) * DENOMINATOR)
    seeds = np.array([5, 5], dtype=np.uint32)
    hashed = int(xxh32(np.array([7], dtype=np.uint32), seeds[:1])[0] % mechanism.values)
    other = (hashed + 1) % mechanism.values
    inner = mechanism._response()
    truth = round((inner.p - inner.q) * DENOMINATOR)
    rng = Scripted(seeds, [truth - 1, truth], [other, other])
    assert mechanism.perturb([7, 7], rng).tolist() == [[5, hashed], [5, other]]


def test_the_true_bit_at_its_edge(monkeypatch):
    mechanism = UnaryMechanism.oue(1.0, 3)
    (a,), (b,) = mechanism.thresholds
    assert (a, b) == (DENOMINATOR // 2, np.ceil(DENOMINATOR / (np.e + 1)))
    own = SimpleNamespace(half=lambda _count: np.array([a - 1, a], dtype=np.uint32))
    monkeypatch.setattr(
        "planner.mechanisms.unary.seeded_words", lambda _rng: Words(None, lambda _count: [own])
    )
    monkeypatch.setattr(
        "planner.mechanisms.unary.BernoulliRows.fill", lambda _self, rows, _words: rows.fill(7)
    )
    reports = mechanism.perturb([1, 1], np.random.default_rng(0))
    assert unpack(reports, 3).tolist() == [[1, 1, 1], [1, 0, 1]]


def test_thresholds_round_outward():
    just = np.array([0.3, 0.5, 1 / 3])
    below, above = thresholds_below(just), thresholds_above(just)
    assert np.all(below / DENOMINATOR <= just)
    assert np.all((below + 1) / DENOMINATOR > just)
    assert np.all(above / DENOMINATOR >= just)
    assert np.all((above - 1) / DENOMINATOR < just)


@pytest.mark.parametrize("items", [1, 64, 70, 40_000])
def test_counters_count_as_batches_come(items):
    rng = np.random.default_rng(items)
    counter, truth = BitCounter(items), np.zeros(items, dtype=int)
    assert counter.counts().tolist() == [0] * items
    for rows in (1, 2, 40, 600, 30, 40_000 // items + 3, 1):
        bits = rng.integers(2, size=(rows, items), dtype=np.uint8)
        counter.add(pack(bits))
        truth += bits.sum(axis=0, dtype=int)
        np.testing.assert_array_equal(counter.counts(), truth)
        assert counter._filled < counter._height  # nothing piles up


def test_one_item_tells_nothing():
    alone = UnaryMechanism(baseline(PrivacyPolicy([1.0], [1]), "oue"))
    assert alone.privacy_loss() == 0.0
    assert np.isnan(alone.pair_losses()).all()
    assert UnaryMechanism.oue(1.0, 2).privacy_loss() == pytest.approx(1.0)


def _exp(epsilon):
    with localcontext() as context:
        context.prec = 60
        return Decimal(epsilon).exp()


def _budgets_at_the_edge(odds):
    """Budgets whose best probability is a multiple of 2^-32 but for the budget's own rounding.

    ``odds(share)`` is the ``e^eps`` that allows exactly the probability ``share``.
    """
    for k in (1, 12_345, 2**20 + 1, 10**9 + 7, 2**31, 2**32 - 2**20 + 1, 2**32 - 77):
        epsilon = float(np.log(float(odds(Fraction(k, DENOMINATOR)))))
        if 1e-9 < epsilon <= 20:
            yield from (epsilon, np.nextafter(epsilon, 0), np.nextafter(epsilon, 50))


@pytest.mark.parametrize("items", [2, 5, 1000])
def test_direct_encoding_never_rounds_over_its_budget(items):
    tried = 0
    for epsilon in _budgets_at_the_edge(lambda share: 1 + share * items / (1 - share)):
        try:
            truth = GeneralizedRandomizedResponse(epsilon, items)._truth
        except InputError:
            continue  # too small for the grid

        def spent(truth):
            return 1 + Fraction(truth, DENOMINATOR) * items / (1 - Fraction(truth, DENOMINATOR))

        assert spent(truth) <= _exp(epsilon)
        assert spent(truth + 2) > _exp(epsilon)  # and no budget is left over
        tried += 1
    assert tried >= 12


def test_the_smallest_truth_is_one_step_of_the_grid():
    items = 1000
    assert GeneralizedRandomizedResponse(1.5 * items / DENOMINATOR, items)._truth == 1
    with pytest.raises(InputError, match=r"epsilon is .* large enough for 1000 items"):
        GeneralizedRandomizedResponse(0.9 * items / DENOMINATOR, items)


@pytest.mark.parametrize("items", [2, 5, 1000])
def test_subsets_never_round_over_their_budget(items):
    for epsilon in _budgets_at_the_edge(lambda held: held / (1 - held) * (items - 1)):
        try:
            mechanism = SubsetSelection(epsilon, items)
        except InputError:
            continue  # too small for the grid
        d, held = mechanism.size, Fraction(mechanism._held, DENOMINATOR)
        assert held / (1 - held) * (items - d) / d <= _exp(epsilon)
        more = held + Fraction(2, DENOMINATOR)
        assert more == 1 or more / (1 - more) * (items - d) / d > _exp(epsilon)


def test_signs_never_round_over_their_budget():
    for epsilon in _budgets_at_the_edge(lambda low: (1 - low) / low):
        low = SignCoin(epsilon).low if epsilon >= 1e-4 else None
        if low is not None:
            assert Fraction(DENOMINATOR - low, low) <= _exp(epsilon)
            assert low < 3 or Fraction(DENOMINATOR - low + 2, low - 2) > _exp(epsilon)


@pytest.mark.parametrize(
    "mechanism",
    [UnaryMechanism.rappor(40.0, 200), UnaryMechanism.oue(20.0, 200), SubsetSelection(20.0, 200)],
    ids=["rappor", "oue", "subset"],
)
def test_in_a_wide_domain_every_item_has_its_own_bit(mechanism):
    true = np.tile(np.arange(200), 40)
    bits = unpack(mechanism.perturb(true, np.random.default_rng(0)), 200)
    own = bits[np.arange(true.size), true]
    assert own.mean() > 0.45  # a is 1/2 for OUE, and almost 1 for the others
    assert bits.sum() - own.sum() <= true.size * 200 * 2e-8 + 3


def test_with_a_large_budget_the_truth_is_told():
    mechanism, true = GeneralizedRandomizedResponse(20.0, 3), np.tile([0, 1, 2], 50)
    np.testing.assert_array_equal(mechanism.perturb(true, np.random.default_rng(0)), true)


def test_laws_are_listed_for_so_many_bits_and_no_more():
    half = np.full(16, 0.5)
    assert unary_law(half, half / 2).shape == (16, 2**16)
    with pytest.raises(InputError, match="items is 17 but must be at most 16"):
        unary_law(np.full(17, 0.5), np.full(17, 0.25))
    assert SubsetSelection(5.0, 64)._sets()[:2] == [(0,), (1,)]
    with pytest.raises(InputError, match="small enough to list all sets"):
        SubsetSelection(5.0, 65)._sets()


def test_hashing_takes_budgets_up_to_twenty():
    assert OptimizedLocalHashing(20.0, 10).values > 4e8
    with pytest.raises(InputError, match="above 0 and at most 20"):
        OptimizedLocalHashing(20.001, 10)


@pytest.mark.parametrize("reports", [[[1]], np.ones((1, 1)), np.ones((1, 1), dtype=np.int64)])
def test_what_is_no_packed_report_is_named(reports):
    given = f"'of dtype {reports.dtype}'" if isinstance(reports, np.ndarray) else str(reports)
    for mechanism, kind in ((UnaryMechanism.oue, "uint64"), (OptimizedLocalHashing, "uint32")):
        message = re.escape(f"reports is {given} but must be a NumPy array of {kind}.")
        with pytest.raises(InputError, match=message):
            mechanism(1.0, 3).aggregate(reports)


@pytest.mark.parametrize("shape", [(0, 1), (2, 3), (2,), (2, 1, 1)])
def test_reports_of_the_wrong_shape_are_named(shape):
    message = re.escape(f"reports is 'of shape {shape}' but must be at least one row of 1 uint64.")
    with pytest.raises(InputError, match=message):
        UnaryMechanism.oue(1.0, 3).aggregate(np.zeros(shape, dtype=np.uint64))


def test_the_last_digits_of_every_threshold_are_kept():
    thresholds = np.array([1, 2**14 - 1, 2**14 + 5, 2**31 + 1, DENOMINATOR - 1])
    np.testing.assert_array_equal(BernoulliRows(thresholds, 1)._low[:5], thresholds % 2**14)


def test_the_last_digits_decide_their_own_lane_only():
    thresholds = np.arange(1, 131) * (DENOMINATOR // 131)  # three words a row
    low = thresholds % 2**14
    draws, column = BernoulliRows(thresholds, rows=2), np.array([0, 1, 2, 0, 1, 2])
    flat, undecided = np.full(6, 1 << 40, dtype=np.uint64), np.zeros(6, dtype=np.uint64)
    undecided[[1, 4, 5]] = (1 << 3) + (1 << 63), 1, 2
    last = np.array([low[67] - 1, low[127], low[64] - 1, low[129]], dtype=np.uint32)
    words = SimpleNamespace(half=lambda _count: last << np.uint32(18))
    draws._finish(flat, undecided, column, words)
    assert (flat ^ np.uint64(1 << 40)).tolist() == [0, 1 << 3, 0, 0, 1, 0]


def test_children_are_seeded_by_all_of_256_bits():
    words = [2**32 - 1, *range(7)]
    first, second = (spawn(Scripted(entropy), 1)[0] for entropy in (words, [*words[:7], 7]))
    assert first.integers(2**62) != second.integers(2**62)


def test_the_smallest_share_that_can_be_sampled():
    mechanism = SamplingPrivacy(2**-32, 0.5, [0.5 - 2**-32])
    assert mechanism.sampling == 2**-32


@pytest.mark.parametrize("answer", [11.0, 29.0])
def test_estimated_errors_are_those_predicted(answer):
    """At skewed answers, where sums and missing rates are correlated."""
    made = BiSampleMD(1.0, NumericDomain(10, 30))
    values = np.full(200_000, answer)
    values[::3] = np.nan
    estimates = made.estimate(made.aggregate(made.perturb(values, np.random.default_rng(1))))
    variance = made.variance(values)
    # Estimates take people as drawn at random, predictions as given: add the drawing.
    drawn = np.nansum(np.square(np.where(np.isnan(values), 0, values))) / values.size
    drawn -= (np.nansum(values) / values.size) ** 2
    predicted = variance.total + values.size * drawn
    assert estimates.total.standard_error**2 == pytest.approx(predicted, rel=0.02)


def test_without_truncation_two_terms_are_the_whole_variance():
    mechanism = PaddedUnaryMechanism(UnaryMechanism.oue(1.0, 5), 3)
    sets = ItemSets.of([[0, 1, 2], [0], [], [3, 4], [0, 4]], 5)
    noise, signal = mechanism.variance_terms()
    whole = sets.users * noise + sets.counts() * signal
    np.testing.assert_allclose(mechanism.variance(sets), whole, rtol=1e-12)
