"""Item sets through padding and sampling: the inherited suite, set budgets by exhaustion."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from planner import Aggregate, ItemSets, PrivacyPolicy, VerificationError, solve
from planner.mechanisms.making import oue, padded, rappor, set_design, unary
from tests.mechanisms.listed import TABLE_II, by_hand, sets_law, whole_sets_law
from tests.mechanisms.suite import MechanismSuite
from tests.refusals import refused
from tests.surveys import tries

ITEMS = 4
ALL_SETS = [[k for k in range(ITEMS) if (code >> k) & 1] for code in range(2**ITEMS)]
PEOPLE = [
    ALL_SETS[code] for code in np.random.default_rng(1).integers(2**ITEMS, size=40)
]
TWO_AND_TWO = by_hand(
    PrivacyPolicy(TABLE_II.policy.epsilons, [2, 2]), TABLE_II.a, TABLE_II.b
)


class PaddedSuite(MechanismSuite):
    """Four items; a hook gives the mechanism at any padding length."""

    length = 2
    budget = float(np.log(4))

    def mechanism(self):
        return self.padded(self.length)

    def truth(self):
        return PEOPLE

    def expectation(self):
        chance = []
        for x in PEOPLE:
            chance.append([(k in x) / max(len(x), self.length) for k in range(ITEMS)])
        return self.length * np.sum(chance, axis=0)

    def law(self):
        return sets_law(self.mechanism())

    def bad_truths(self):
        other = ItemSets.of([[0]], items=ITEMS + 1)
        return [
            [],
            [[0, ITEMS]],
            [[-1]],
            [[0, 0]],
            [[0.5]],
            [["a"]],
            [0, 1],
            None,
            other,
        ]

    def test_bias_is_truncation(self):
        truth = np.array([sum(k in x for x in PEOPLE) for k in range(ITEMS)])
        bias = self.mechanism().bias(PEOPLE)
        np.testing.assert_allclose(bias, self.expectation() - truth, atol=1e-12)
        assert bias.max() < 0  # some sets have more items than the padding length
        mechanism = self.padded(ITEMS)
        np.testing.assert_allclose(mechanism.bias(PEOPLE), 0, atol=1e-12)
        assert self.mechanism().bias([[0], [0, 1]])[2:].tolist() == [0, 0]


class UnarySuite(PaddedSuite):
    def padded(self, length):
        return padded(self.unary(), length)

    def test_standard_errors_are_those_of_a_count_that_is_possible(self):
        """Estimated shares of ones outside ``[b, a]`` count as ``b`` and ``a``."""
        mechanism = self.mechanism()
        n = 1000
        (a, b) = (chance[:ITEMS] for chance in mechanism.shape.chances)
        length = self.length
        bits = mechanism.shape.cells
        counted = Aggregate(n, np.full(bits, 0))
        none = mechanism.estimate(counted)
        counted = Aggregate(n, np.full(bits, n))
        full = mechanism.estimate(counted)
        unit = length * np.sqrt(n) / (a - b)
        np.testing.assert_allclose(
            none.standard_errors, unit * np.sqrt(b * (1 - b)), rtol=1e-9
        )
        np.testing.assert_allclose(
            full.standard_errors, unit * np.sqrt(a * (1 - a)), rtol=1e-9
        )
        for estimates in (none, full):
            np.testing.assert_allclose(
                estimates.null_standard_errors, none.standard_errors, rtol=1e-9
            )


class TestRapporPS(UnarySuite):
    def unary(self):
        return rappor(self.budget, ITEMS)


class TestInputDiscriminativeUnaryEncodingPS(UnarySuite):
    length = 1
    budget = float(np.log(0.672998 * (1 - 0.277564) / 0.277564 / (1 - 0.672998)))

    def unary(self):
        return unary(TWO_AND_TWO)


class TestSetDesign(PaddedSuite):
    """One budget of any two sets."""

    budget = 1.0
    repeats = tries(1_500, 12_000)

    def padded(self, length):
        policy = PrivacyPolicy([1.0], [ITEMS])
        return set_design(policy, length, self.budget)

    def law(self):
        return whole_sets_law(self.mechanism())


class TestSetDesignWithACap(TestSetDesign):
    budget = 2.0


def test_equal_words_favour_no_order():
    draws = iter(
        [np.array([7, 7, 1]), np.array([2, 1, 2])]
    )  # across two sets they may be equal
    words = SimpleNamespace(raw=lambda count: next(draws)[:count])
    padded_sets = ItemSets.of([[0, 1], [2]], 3).padded(2, words)
    assert padded_sets.tolist() == [[1, 0], [2, 3]]


# -- budgets of sets: equation 18 over all pairs of sets and all reports ------------


def budget_of(policy, items, length):
    """Equation 16 of the IDUE paper."""
    odds = np.exp(np.repeat(policy.epsilons, policy.item_counts))[items]
    dummies = max(length - len(items), 0) * np.exp(policy.epsilons.min())
    return np.log((odds.sum() + dummies) / max(len(items), length))


def largest_excess(mechanism, policy):
    """Over all pairs of sets and all reports, against the smaller of two sets' budgets."""
    law = sets_law(mechanism)
    law = np.log(law[:, law.max(axis=0) > 0])
    realised = np.array([np.max(row - law, axis=1) for row in law])
    assert realised.max() <= mechanism.shape.largest() + 1e-9
    items = mechanism.levels.total
    length = mechanism.asked.padding_length
    sets = [[k for k in range(items) if code >> k & 1] for code in range(len(law))]
    budgets = np.array([budget_of(policy, members, length) for members in sets])
    return float(np.max(realised - np.minimum(budgets[:, None], budgets[None, :])))


@pytest.mark.parametrize("length", [1, 2, 3])
@pytest.mark.parametrize("counts", [[1, 3], [2, 2]])
def test_set_budgets_are_kept(counts, length):
    policy = PrivacyPolicy([np.log(4), np.log(6)], counts)
    mechanism = padded(unary(solve(policy)), length)
    excess = largest_excess(mechanism, policy)
    assert excess <= 1e-12
    if length == 1:
        assert excess >= -1e-6  # attained


def test_one_wrong_probability_is_found_out():
    mechanism = padded(rappor(1.0, items=3), 1)
    likelier = replace(mechanism.shape, a=(mechanism.shape.a[0] + 2**26,))
    assert (
        largest_excess(replace(mechanism, shape=likelier), PrivacyPolicy([1.0], [3]))
        > 0.01
    )


@pytest.mark.parametrize("length", [0, -1, 1.5, True, None, float("nan"), 2**20 + 1])
def test_padding_lengths_end_where_stated(length):
    plain = oue(1.0, 2)
    mechanism = padded(plain, 2**20)
    assert mechanism.asked.padding_length == 2**20
    laws = [
        padded(plain, length) for length in (1, 2)
    ]  # of two items no set has more than two
    assert [(law.name, law.asked.longer_sets) for law in laws] == [("", None), ("", ())]
    with refused("padding_length"):
        padded(plain, length)


def test_what_does_not_fit_is_refused():
    policy = PrivacyPolicy([1.0, 1.0], [1, 3])
    with pytest.raises(VerificationError):
        padded(unary(by_hand(policy, [0.8, 0.5], [0.2, 0.4])), 2)


# -- sets themselves ---------------------------------------------------------------


def test_sets_from_flat_arrays():
    sets = ItemSets(3, np.array([2, 0, 1]), np.array([0, 2, 2, 3]))
    assert sets.sizes.tolist() == [2, 0, 1]
    assert ItemSets.of(sets, 3) is sets
    assert not sets.members.flags.writeable
    assert ItemSets.of([[0, 1], [1]], 4).counts().tolist() == [1, 2, 0, 0]
    some = sets.some(np.array([2, 1, 0]))
    assert some.sizes.tolist() == [1, 0, 2]
    assert some.members.tolist() == [1, 2, 0]
    for members, starts in (
        ([2, 2], [0, 2]),
        ([2, 0], [0, 1]),
        ([2, 0], [1, 2]),
        ([2, 0], [0, 3, 2]),
        ([2, 0], [0]),
        ([2, 0], [0.0, 2.0]),
        ([3], [0, 1]),
    ):
        with refused("members", "set of user 0", "starts"):
            ItemSets(3, np.array(members), np.array(starts))
    with refused("set of user 1"):
        ItemSets.of([[1], [2, 0, 2], [3, 3]], 4)
    with refused("members"):
        ItemSets.of([[1], [4]], 4)
