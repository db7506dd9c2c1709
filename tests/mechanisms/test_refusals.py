"""What the mechanisms refuse beside bad answers and bad reports."""

import numpy as np
import pytest

from planner import InputError, ItemSets, PrivacyPolicy, UnaryMechanism, UnaryTable
from planner.errors import VerificationError
from planner.mechanisms.aggregate import Aggregate
from planner.mechanisms.direct import GeneralizedRandomizedResponse
from planner.mechanisms.inputs import MAX_ITEMS
from planner.mechanisms.means import BiSampleMD
from planner.mechanisms.padding import PaddedUnaryMechanism
from planner.mechanisms.sampling_privacy import SamplingPrivacy
from planner.mechanisms.subset import SubsetSelection


def test_counts_that_no_reports_have():
    with pytest.raises(InputError, match="users is -1 but must be at least 0"):
        Aggregate(-1, [0])
    with pytest.raises(InputError, match=r"counts is .*float64.* but must be whole numbers"):
        Aggregate(3, [0.5])
    with pytest.raises(InputError, match=r"counts is -2 but must be from 0 to .* 3"):
        Aggregate(3, [-2, 1])
    with pytest.raises(InputError, match=r"counts is 4 but must be from 0 to .* 3"):
        Aggregate(3, [4, -2])
    with pytest.raises(InputError, match=r"counts is \(2,\) but must be of the shape \(1,\)"):
        Aggregate(3, [1]) + Aggregate(3, [1, 1])
    assert Aggregate(0, [0]).counts.tolist() == [0]
    assert not Aggregate(1, [1]).counts.flags.writeable


def test_item_sets_are_taken_as_they_are():
    sets = ItemSets.of([[0], [1, 2]], 3)
    assert ItemSets.of(sets, 3) is sets
    assert not sets.members.flags.writeable
    assert not sets.starts.flags.writeable
    assert ItemSets.of([[0], []], 1).counts().tolist() == [1]  # one yes/no item


def test_the_first_wrong_item_is_named():
    mechanism = GeneralizedRandomizedResponse(1.0, 5)
    with pytest.raises(
        InputError, match=r"^values\[2\] is 5 but must be an item number from 0 to 4"
    ):
        mechanism.perturb([0, 1, 5, 6], np.random.default_rng(0))
    for value, shown in ((2.5, "2.5"), (float("nan"), "nan")):
        with pytest.raises(
            InputError, match=rf"^values\[1\] is {shown} but must be a whole number"
        ):
            mechanism.perturb([1.0, value, 0.5], np.random.default_rng(0))
    with pytest.raises(InputError, match=r"^reports\[1\] is 8 but must be from 0 to 3"):
        BiSampleMD(1.0).aggregate([0, 8, 9])
    assert GeneralizedRandomizedResponse(30.0, MAX_ITEMS).items == MAX_ITEMS


def test_what_is_no_item_set_is_named():
    with pytest.raises(InputError, match="set of user 1 is 'item 2 twice' but must be without"):
        ItemSets.of([[1], [2, 0, 2], [3, 3]], 4)
    with pytest.raises(InputError, match=r"^members\[1\] is 4 but must be"):
        ItemSets.of([[1], [4]], 4)


def test_padding_lengths_end_where_stated():
    unary = UnaryMechanism.oue(1.0, 1 + 1)
    assert PaddedUnaryMechanism(unary, 2**20).padding_length == 2**20
    with pytest.raises(InputError, match=r"padding_length is 1048577 but must be .* 1 to 1048576"):
        PaddedUnaryMechanism(unary, 2**20 + 1)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ((1.5, 0.1, [0.1]), "sampling"),
        ((0.5, "x", [0.1]), "zero"),
        ((0.5, 0.1, [2]), r"decoys\[0\]"),
    ],
)
def test_dice_that_are_no_probabilities_are_named(given, name):
    with pytest.raises(InputError, match=f"^{name} is .* but must be a probability"):
        SamplingPrivacy(*given)


def test_a_level_of_one_item_keeps_its_own_budget_too():
    """Two sets may sample the same level's item and dummy."""
    policy = PrivacyPolicy([1.0, 1.0], [1, 1], [[np.inf, 1.0], [1.0, 0.3]])
    with pytest.raises(VerificationError, match=r"exceeds a pair's budget by 0\.105 nats"):
        UnaryMechanism(UnaryTable(policy, [0.5, 0.5], [0.35, 0.4], "opt0", "by hand"))


def test_budgets_below_the_grid():
    with pytest.raises(InputError, match=r"epsilon is 1e-10 .*grid of 2\^-32.*Raise it or merge"):
        SubsetSelection(1e-10, 1000)
