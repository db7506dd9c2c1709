import numpy as np
import pytest

from planner.designs.table import UnaryTable
from planner.errors import InputError
from planner.mechanisms.direct import GeneralizedRandomizedResponse
from planner.mechanisms.packed import pack, unpack
from planner.mechanisms.padding import PaddedUnaryMechanism
from planner.mechanisms.unary import UnaryMechanism
from planner.policy.policy import PrivacyPolicy
from planner.solvers import solve
from planner.trial.audit import audit_levels, audit_samples, audit_sets, law_loss
from tests.mechanisms.test_unary import TABLE_II


@pytest.mark.parametrize(
    "rule", ["min", "avg", [[1.0, 1.2, np.inf], [1.2, 1.5, 2.0], [np.inf, 2.0, 3.0]]]
)
def test_solved_tables_keep_every_pair_and_use_some(rule):
    policy = PrivacyPolicy([1.0, 1.5, 3.0], [1, 2, 3], rule=rule)
    mechanism = UnaryMechanism(solve(policy))
    pairs = audit_levels(mechanism)
    assert [(pair.first, pair.second) for pair in pairs] == [
        ("level 1", "level 2"),  # level 1 has one item, hence no pair of its own
        ("level 1", "level 3"),
        ("level 2", "level 2"),
        ("level 2", "level 3"),
        ("level 3", "level 3"),
    ]
    assert all(pair.realised <= pair.demanded for pair in pairs)
    assert any(pair.realised >= pair.demanded - 1e-6 for pair in pairs)
    worst = max(pair.realised for pair in pairs)
    assert worst == pytest.approx(law_loss(mechanism.output_law()), rel=1e-12)
    assert worst == pytest.approx(mechanism.privacy_loss(), rel=1e-12)


def test_a_level_that_spends_too_much_shows():
    """The audit reads the law, so a table that lies about its policy is found out."""
    mechanism = UnaryMechanism(TABLE_II)
    strict = UnaryTable(PrivacyPolicy([1.0, 1.2], [1, 4]), [0.5, 0.5], [0.4, 0.4], "x", "x")
    honest = UnaryMechanism(strict)
    object.__setattr__(honest, "_a", mechanism.thresholds[0])
    object.__setattr__(honest, "_b", mechanism.thresholds[1])
    assert max(pair.realised - pair.demanded for pair in audit_levels(honest)) > 0.3


@pytest.mark.parametrize("length", [1, 2, 3])
@pytest.mark.parametrize("counts", [[1, 3], [2, 2]])
def test_set_budgets_are_kept(counts, length):
    policy = PrivacyPolicy([np.log(4), np.log(6)], counts)
    audit = audit_sets(PaddedUnaryMechanism(UnaryMechanism(solve(policy)), length))
    assert audit.largest_excess <= 1e-12
    if length == 1:
        assert audit.largest_excess >= -1e-6  # attained


def test_a_padded_mechanism_with_one_wrong_probability_is_found_out():
    mechanism = PaddedUnaryMechanism(UnaryMechanism.rappor(1.0, items=3), 1)
    a, _ = mechanism.unary.thresholds
    object.__setattr__(mechanism.unary, "_a", a + np.uint32(2**26))
    assert audit_sets(mechanism).largest_excess > 0.01


@pytest.mark.parametrize("law", [[[0.5, 0.4]], [[1.5, -0.5]], [0.5, 0.5], [[]], [[np.nan, 1.0]]])
def test_what_is_no_law_is_refused(law):
    with pytest.raises(InputError, match="law"):
        law_loss(np.array(law))


def sampled(perturb, index):
    return lambda which, count, rng: index(perturb(np.full(count, which), rng))


def test_the_empirical_audit_does_not_accuse_the_innocent():
    grr = GeneralizedRandomizedResponse(1.0, 4)
    oue = UnaryMechanism.oue(1.0, 4)
    for mechanism in (grr, oue):
        for seed in range(5):
            draw = sampled(mechanism.perturb, mechanism.report_index)
            audit = audit_samples(draw, np.random.default_rng(seed))
            assert 0.9 < audit.lower_bound <= 1.0


def test_the_empirical_audit_catches_a_forgotten_line():
    """The true bit is kept instead of randomised: every other bit looks right."""
    mechanism = UnaryMechanism.oue(1.0, 4)

    def broken(values, rng):
        bits = unpack(mechanism.perturb(values, rng), 4)
        bits[np.arange(len(values)), values] = 1
        return pack(bits)

    draw = sampled(broken, mechanism.report_index)
    assert audit_samples(draw, np.random.default_rng(0)).lower_bound > 3


def test_the_empirical_audit_catches_a_budget_ten_percent_too_large():
    mechanism = UnaryMechanism.rappor(1.1, 4)
    draw = sampled(mechanism.perturb, mechanism.report_index)
    audit = audit_samples(draw, np.random.default_rng(0), samples=1_000_000)
    assert 1.0 < audit.lower_bound <= 1.1


def test_bad_input_is_refused():
    draw = sampled(GeneralizedRandomizedResponse(1.0, 4).perturb, lambda reports: reports)
    rng = np.random.default_rng(0)
    for bad in ({"samples": 10}, {"samples": 1000.0}, {"confidence": 1.0}, {"confidence": 0.2}):
        with pytest.raises(InputError, match="must be"):
            audit_samples(draw, rng, **bad)
    with pytest.raises(InputError, match="rng"):
        audit_samples(draw, None)
    for wrong in (
        lambda *_: np.array([-1]),
        lambda *_: np.array([0.5]),
        lambda *_: np.array([2**30]),
    ):
        with pytest.raises(InputError, match="report"):
            audit_samples(wrong, rng)
    with pytest.raises(InputError, match="items"):
        audit_sets(PaddedUnaryMechanism(UnaryMechanism.oue(1.0, 9), 1))
    with pytest.raises(InputError, match="levels"):
        audit_levels(UnaryMechanism(solve(PrivacyPolicy(np.linspace(1, 2, 201), [2] * 201))))
    with pytest.raises(InputError, match="items"):
        UnaryMechanism.oue(1.0, 17).output_law()


def test_an_event_seen_only_while_choosing_proves_nothing():
    calls = []

    def draw(which, count, _):
        calls.append(which)
        odd = which == 0 and len(calls) <= 2  # the first half of the samples
        return np.full(count, int(odd))

    assert audit_samples(draw, np.random.default_rng(0), samples=1000).lower_bound == 0
