from pathlib import Path

import numpy as np
import pytest

from planner.errors import InputError
from planner.mechanisms.itemsets import ItemSets
from planner.planning.datasets import Answers, read_transactions
from planner.policy.policy import PrivacyPolicy
from planner.survey import Level, Question
from planner.trial.simulate import Assignment, assign_levels, build_mechanisms, simulate

RETAIL = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "retail.dat"
POLICY = PrivacyPolicy([1.0, 2.0], [2, 4])
ASSIGNED = Assignment(POLICY, np.array([1, 0, 1, 1, 0, 1]))
COUNTS = Answers(tuple("abcdef"), np.array([400, 300, 200, 90, 10, 0]))


def set_answers(seed=0, users=500):
    rng = np.random.default_rng(seed)
    sets = ItemSets.of([np.flatnonzero(rng.random(6) < 0.3) for _ in range(users)], 6)
    return Answers(tuple("abcdef"), sets.counts(), sets)


@pytest.mark.parametrize("answers", [COUNTS, set_answers()])
def test_measured_errors_are_the_predicted_ones(answers):
    """False-alarm rate 1e-6 for all mechanisms together; the inherited suite is sharper."""
    mechanisms = build_mechanisms(ASSIGNED, 2 if answers.sets else None)
    results = simulate(mechanisms, answers, 1000, np.random.default_rng(1), top=3)
    assert [one.name for one in results] == list(mechanisms)
    for one in results:
        assert abs(one.mse - one.predicted_mse) < 5.4 * one.mse_error
        assert abs(one.mse - 1.2 * one.predicted_mse) > 5.4 * one.mse_error
        assert one.relative_error == pytest.approx(one.predicted_relative_error, rel=0.2)
        assert 0 < one.precision <= 1


def test_same_seed_same_figures_whatever_else_runs():
    mechanisms = build_mechanisms(ASSIGNED)
    first, again = (simulate(mechanisms, COUNTS, 3, np.random.default_rng(5), 3) for _ in "12")
    assert first == again
    other = simulate(mechanisms, COUNTS, 3, np.random.default_rng(6), 3)
    assert first != other
    fewer = dict(list(mechanisms.items())[:2])
    assert simulate(fewer, COUNTS, 3, np.random.default_rng(5), 3) == first[:2]


def test_progress_is_told_after_every_run():
    told = []
    mechanisms = build_mechanisms(ASSIGNED)
    simulate(mechanisms, COUNTS, 4, np.random.default_rng(0), 1, lambda: told.append(1))
    assert len(told) == 4 * len(mechanisms)


def test_bad_input_is_refused():
    single, padded = build_mechanisms(ASSIGNED), build_mechanisms(ASSIGNED, 2)
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    for mechanisms, answers, repeats, top in (
        (single, COUNTS, 0, 3),
        (single, COUNTS, 1.5, 3),
        (single, COUNTS, 1, 0),
        (single, COUNTS, 1, 6),
        (padded, COUNTS, 1, 3),
        (single, set_answers(), 1, 3),
    ):
        with pytest.raises(InputError, match="must be"):
            simulate(mechanisms, answers, repeats, rng, top)
    with pytest.raises(InputError, match="rng"):
        simulate(single, COUNTS, 1, 7, 3)
    assert rng.bit_generator.state == before


def question(*levels, rule="min"):
    return Question("basket", levels, rule)


def test_listed_items_go_where_they_are_listed():
    asked = question(Level("x", 1.0, ("b", "zz")), Level("y", 2.0, ("a", "c")))
    placed = assign_levels(asked, ("a", "b", "c"), np.random.default_rng(0))
    assert placed.level_of.tolist() == [1, 0, 1]
    assert placed.policy.item_counts.tolist() == [1, 2]


def test_other_items_go_at_random_in_proportion():
    asked = question(
        Level("x", 1.0, ("a",)), Level("y", 1.2, item_count=5), Level("z", 2.0, item_count=90)
    )
    labels = ("a", *map(str, range(950)))
    placed = assign_levels(asked, labels, np.random.default_rng(0))
    assert placed.policy.item_counts.tolist() == [1, 50, 900]
    assert placed.level_of[0] == 0
    other = assign_levels(asked, labels, np.random.default_rng(1))
    assert not np.array_equal(placed.level_of, other.level_of)
    tiny = assign_levels(asked, ("b", "c"), np.random.default_rng(0))
    assert tiny.policy.names == ("y", "z")
    assert tiny.policy.item_counts.tolist() == [1, 1]


def test_a_level_without_items_in_the_data_is_left_out_of_a_matrix_rule_too():
    rule = ((1.0, 1.1, 1.2), (1.1, 2.0, 2.1), (1.2, 2.1, 3.0))
    asked = question(
        Level("x", 1.0, ("a", "q")), Level("y", 2.0, ("b",)), Level("z", 3.0, ("c", "d")), rule=rule
    )
    placed = assign_levels(asked, ("a", "c", "d"), np.random.default_rng(0))
    assert placed.level_of.tolist() == [0, 1, 1]
    assert placed.policy.rule.plain(placed.policy.epsilons) == ((1.0, 1.2), (1.2, 3.0))


def test_unlisted_items_need_a_level():
    with pytest.raises(InputError, match="List it in a level"):
        assign_levels(question(Level("x", 1.0, ("a",))), ("a", "b"), np.random.default_rng(0))
    both = question(Level("x", 1.0, item_count=5), Level("y", 2.0, item_count=5))
    with pytest.raises(InputError, match="unlisted items"):
        assign_levels(both, ("a",), np.random.default_rng(0))


@pytest.mark.skipif(not RETAIL.exists(), reason="the retail data set is not beside the project")
@pytest.mark.parametrize("padding_length", [None, 10])
def test_idue_beats_plain_ldp_on_retail_baskets(padding_length):
    answers = read_transactions(RETAIL)
    assert (answers.users, int(answers.counts.sum()), len(answers.labels)) == (88162, 908576, 16470)
    if padding_length is None:
        answers = answers.first_items()
    rng = np.random.default_rng(1)
    for e in (0.5, 1.0, 2.0, 4.0):
        levels = [
            Level(str(i), float(e * times), item_count=share)
            for i, (times, share) in enumerate(((1, 5), (1.2, 5), (2, 90)))
        ]
        placed = assign_levels(question(*levels), answers.labels, rng)
        every = build_mechanisms(placed, padding_length)
        wanted = {name: every[name] for name in every if name.startswith(("idue-opt0", "r", "oue"))}
        ours, *rivals = simulate(wanted, answers, 3, rng)
        assert ours.name.startswith("idue-opt0")
        assert len(rivals) == 2
        for one in rivals:
            assert ours.predicted_mse < 0.95 * one.predicted_mse, e
            assert ours.mse < one.mse, e
