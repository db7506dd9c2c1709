"""False reports: no report moves an estimate by more, and some move it by as much."""

import numpy as np
import pytest

from planner import GeneralizedRandomizedResponse, SubsetSelection, UnaryMechanism
from planner.errors import InputError
from planner.mechanisms.packed import pack
from planner.outsiders import poisoning


def added(mechanism, reports):
    """What each report adds to each item's estimate, in people."""
    rows = []
    for k in range(len(reports)):
        aggregate = mechanism.aggregate(reports[k : k + 1])
        rows.append((aggregate.counts - mechanism.b) / (mechanism.a - mechanism.b))
    return np.array(rows)


@pytest.mark.parametrize(
    ("mechanism", "reports", "at_once"),
    [
        (UnaryMechanism.rappor(1.0, 4), pack((np.arange(16)[:, None] >> np.arange(4)) & 1 == 1), 4),
        (GeneralizedRandomizedResponse(1.0, 4), np.arange(4), 1),
        (
            SubsetSelection(0.5, 4),
            pack(
                np.array(
                    [
                        [x in s for x in range(4)]
                        for s in ({0, 1}, {0, 2}, {1, 3}, {2, 3}, {0, 3}, {1, 2})
                    ]
                )
            ),
            2,
        ),
    ],
)
def test_by_listing_all_reports(mechanism, reports, at_once):
    attack = poisoning(mechanism.a, mechanism.b, 7, at_once)
    gains = 7 * added(mechanism, reports)
    assert gains.max(axis=0) == pytest.approx(attack.upward)
    assert 7 - gains.min(axis=0) == pytest.approx(attack.downward)
    assert np.ptp(gains, axis=0) == pytest.approx(attack.realised)
    for targets in range(1, 5):
        assert gains[:, :targets].sum(axis=1).max() == pytest.approx(attack.total_gain(targets))


def test_sets_multiply():
    single = poisoning([0.7, 0.6], [0.2, 0.3], 10, 2)
    several = poisoning([0.7, 0.6], [0.2, 0.3], 10, 2, set_size=3)
    assert several.upward == pytest.approx(3 * single.upward)
    assert several.realised == pytest.approx(3 * single.realised)


def test_refusals():
    for bad in (
        ([0.5], [0.2, 0.1], 1, 1),
        ([0.2], [0.5], 1, 1),
        ([0.5], [0.2], 0, 1),
        ([0.5], [0.2], 1, 2),
    ):
        with pytest.raises(InputError):
            poisoning(*bad)
    with pytest.raises(InputError, match="targets"):
        poisoning([0.5], [0.2], 1, 1).total_gain(2)
