import numpy as np
import pytest

from planner.errors import InputError
from planner.mechanisms.padding import PaddedUnaryMechanism
from planner.mechanisms.unary import UnaryMechanism
from planner.planning.prediction import padded_rivals, plain_rivals, predict, verdict
from planner.policy.policy import PrivacyPolicy
from tests.mechanisms.decisions import mean_is
from tests.mechanisms.test_unary import TABLE_II


def test_generalised_randomised_response_wins_on_table_ii_and_is_said_to():
    idue = UnaryMechanism(TABLE_II)
    mechanisms = {"idue": idue, **plain_rivals(TABLE_II.policy)}
    predictions = {name: predict(one, 1000, name) for name, one in mechanisms.items()}
    assert predictions["idue"].total_mse / 1000 == pytest.approx(8.5675, abs=1e-3)
    assert predictions["rappor"].total_mse / 1000 == pytest.approx(10, abs=1e-6)
    assert predictions["oue"].total_mse / 1000 == pytest.approx(80 / 9 + 1, abs=1e-6)
    assert predictions["grr"].total_mse / 1000 == pytest.approx(44 / 9, abs=1e-6)
    assert verdict(predictions).startswith("grr has the smallest worst-case error, 4.889 per user")


@pytest.mark.parametrize("name", ["rappor", "oue", "grr", "subset", "olh"])
def test_worst_case_total_is_attained_by_some_counts_and_never_exceeded(name):
    mechanism = plain_rivals(PrivacyPolicy([1.0], [6]))[name]
    predicted = predict(mechanism, 120).total_mse
    rng = np.random.default_rng(0)
    counts = [np.eye(6, dtype=int)[k] * 120 for k in range(6)]
    totals = [mechanism.variance(one).sum() for one in counts]
    assert max(totals) == pytest.approx(predicted, rel=1e-12)
    for _ in range(50):
        assert mechanism.variance(rng.multinomial(120, rng.dirichlet(np.ones(6)))).sum() <= (
            predicted * (1 + 1e-12)
        )


@pytest.mark.parametrize("length", [1, 2, 5])
def test_worst_case_total_of_sets_is_attained(length):
    for mechanism in padded_rivals(PrivacyPolicy([1.0], [4]), length).values():
        sets = [list(range(min(length, 4)))] * 30
        totals = mechanism.variance(sets).sum()
        assert predict(mechanism, 30).total_mse == pytest.approx(totals, rel=1e-12)
        noise, signal = mechanism.variance_terms()
        terms = 30 * noise + 30 * signal * (np.arange(4) < length)
        np.testing.assert_allclose(mechanism.variance(sets), terms)


def test_groups_are_the_levels():
    mechanism = UnaryMechanism(TABLE_II)
    one = predict(mechanism, 1000, groups=mechanism.level_of, frequency=0.1)
    np.testing.assert_allclose(one.standard_errors, TABLE_II.standard_errors(1000, 0.1), rtol=1e-6)
    np.testing.assert_allclose(one.relative_errors, one.standard_errors / 100)
    np.testing.assert_allclose(one.interval_widths, 2 * 1.959964 * one.standard_errors, rtol=1e-6)


def test_the_smallest_detectable_frequency_is_detected_as_often_as_promised():
    mechanism, users = UnaryMechanism.oue(1.0, items=2), 200_000
    frequency = predict(mechanism, users, level=0.99, power=0.8).smallest_frequencies[0]
    held = round(users * frequency)
    truth = np.array([held, users - held])
    rng = np.random.default_rng(3)
    found = [
        mechanism.estimate(mechanism.draw_aggregate(truth, rng)).significant(0.99, False)[0]
        for _ in range(5000)
    ]
    assert mean_is(np.array(found, dtype=float), 0.8)
    assert not mean_is(np.array(found, dtype=float), 0.84)


def test_too_few_users_detect_nothing():
    assert predict(UnaryMechanism.oue(0.1, items=5), 10).smallest_frequencies[0] == np.inf


@pytest.mark.parametrize(
    "bad",
    [
        {"users": 0},
        {"users": 1.5},
        {"users": 5, "frequency": 0.0},
        {"users": 5, "frequency": float("nan")},
        {"users": 5, "level": 1.0},
        {"users": 5, "power": 0.2},
        {"users": 5, "groups": np.zeros(3, int)},
    ],
)
def test_bad_input_is_refused(bad):
    with pytest.raises(InputError, match="must be"):
        predict(UnaryMechanism.oue(1.0, items=5), **bad)
    with pytest.raises(InputError, match="predictions"):
        verdict([])


def test_padding_more_than_the_domain():
    mechanism = PaddedUnaryMechanism(UnaryMechanism.oue(1.0, items=2), 3)
    assert mechanism.largest_set == 2


def test_local_hashing_is_left_out_above_its_largest_budget():
    assert "olh" in plain_rivals(PrivacyPolicy([20.0], [4]))
    assert "olh" not in plain_rivals(PrivacyPolicy([20.5], [4]))


def test_one_mechanism_alone_has_no_rival():
    one = predict(UnaryMechanism.oue(1.0, items=5), 100, "oue")
    assert verdict([one]).startswith("oue has the smallest worst-case error, ")
    assert "next" not in verdict([one])
