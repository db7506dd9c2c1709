import numpy as np
import pytest
from scipy.optimize import linprog

from planner import GeneralizedRandomizedResponse, InputError, PrivacyPolicy
from planner.mechanisms.direct_levels import DirectEncoding
from tests.mechanisms.single_item import BAD_ITEMS, SingleItemSuite

POLICY = PrivacyPolicy([0.8, 2.0], [2, 3], rule="avg")


class TestDirectEncoding(SingleItemSuite):
    budget = 1.4  # (0.8 + 2.0) / 2, the loosest row

    def mechanism(self):
        return DirectEncoding(POLICY)

    def bad_reports(self):
        return BAD_ITEMS

    def test_bad_budgets_and_domains_are_refused(self):
        with pytest.raises(InputError, match="items"):
            DirectEncoding(PrivacyPolicy([1.0], [1]))
        with pytest.raises(InputError, match="items in level 0"):
            DirectEncoding(POLICY, [0, 1, 1, 1, 1])
        with pytest.raises(InputError, match="epsilons"):
            DirectEncoding(PrivacyPolicy([1e-9], [10**6]))


def test_every_pair_keeps_its_budget_and_the_rows_bind():
    rng = np.random.default_rng(3)
    for _ in range(10):
        t = int(rng.integers(2, 5))
        policy = PrivacyPolicy(rng.uniform(0.2, 3, t), rng.integers(1, 4, t), rule="avg")
        mechanism = DirectEncoding(policy)
        law, level = mechanism.output_law(), mechanism.level_of
        assert law.sum(axis=1) == pytest.approx(1)
        loss = np.log(law[:, None, :] / law[None, :, :]).max(axis=2)
        demanded = policy.bounds()[np.ix_(level, level)]
        assert (loss <= demanded + 1e-12).all()
        assert loss.max() == pytest.approx(mechanism.privacy_loss(), abs=1e-12)
        row = np.log1p(mechanism.d / mechanism.b)
        assert row == pytest.approx(policy.room(np.zeros(t))[level], abs=1e-6)


def test_largest_d_is_that_of_the_linear_program():
    mechanism = DirectEncoding(POLICY)
    gain = np.expm1(POLICY.room(np.zeros(2)))[mechanism.level_of]
    # Variables q_1 .. q_m, d: maximise d with d <= gain_j q_j and total 1.
    rows = np.hstack([-np.diag(gain), np.ones((5, 1))])
    answer = linprog([0] * 5 + [-1], rows, np.zeros(5), np.ones((1, 6)), [1], bounds=[(0, 1)] * 6)
    assert mechanism.d == pytest.approx(-answer.fun, abs=1e-9)
    assert mechanism.b == pytest.approx(answer.x[:5], abs=1e-8)


def test_no_other_direct_encoding_has_a_smaller_worst_case():
    mechanism, rng = DirectEncoding(POLICY), np.random.default_rng(5)
    noise, signal = mechanism.variance_terms()
    best = noise.sum() + signal.max()
    gain = np.expm1(POLICY.room(np.zeros(2)))[mechanism.level_of]
    for _ in range(2000):
        z = 1 / gain * (1 + rng.exponential(rng.choice([1e-3, 0.1, 1]), 5))
        d = 1 / (1 + z.sum())
        q = z * d
        value = np.sum(q * (1 - q)) / d**2 + np.max((1 - 2 * q - d) / d)
        assert value >= best * (1 - 1e-6)


def test_under_the_rule_min_it_is_randomised_response():
    mechanism = DirectEncoding(PrivacyPolicy([1.0, 3.0], [2, 4]))
    plain = GeneralizedRandomizedResponse(1.0, 6)
    assert mechanism.a == pytest.approx(plain.a, abs=1e-8)
    assert mechanism.b == pytest.approx(plain.b, abs=1e-8)
