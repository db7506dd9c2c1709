import numpy as np
import pytest

from planner import InputError, PrivacyPolicy, solve
from planner.planning.certified import solve_named
from planner.planning.misplacement import excess_loss, misplaced
from planner.policy.objective import Objective


def test_excess_of_misplaced_items_by_enumeration():
    policy = PrivacyPolicy([0.7, 1.0, 2.0], [3, 4, 9])
    table = solve(policy)
    excess = excess_loss(table)
    a, b = table.a, table.b
    for i in range(3):
        for j in range(3):
            if i == j:
                continue
            worst = 0.0
            for k in range(3):  # the item, of true level i, has the bits of level j
                loss = max(
                    np.log(a[x] * (1 - b[y]) / (b[x] * (1 - a[y]))) for x, y in ((j, k), (k, j))
                )
                worst = max(worst, loss - policy.bounds()[i, k])
            assert excess[i, j] == pytest.approx(worst if worst > 1e-12 else 0, abs=1e-9)
    assert (np.diag(excess) == 0).all()


def test_misplacement_grows_and_is_bounded():
    table = solve(PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90]))
    views = [misplaced(table, share) for share in (0.0, 0.05, 0.2)]
    assert views[0].exposed_items == 0
    assert views[0].largest_excess == 0
    assert views[0].wasted_error == pytest.approx(0, abs=1e-9)
    assert views[1].exposed_items == pytest.approx(views[2].exposed_items / 4)
    for share in (-0.1, 1.1, np.nan):
        with pytest.raises(InputError, match="share"):
            misplaced(table, share)
    with pytest.raises(InputError, match="levels"):
        misplaced(solve(PrivacyPolicy([1.0], [3])), 0.1)


def test_more_levels_than_can_be_read_are_refused():
    policy = PrivacyPolicy(np.linspace(1, 2, 1001), np.ones(1001, dtype=int))
    with pytest.raises(InputError, match="levels is 1001 but must be at most 1000"):
        excess_loss(solve(policy))


@pytest.mark.parametrize("name", ["opt0", "subset-design"])
def test_no_misplaced_item_wastes_nothing_for_the_people_that_are_assumed(name):
    policy = PrivacyPolicy([1.0, 2.0], [5, 20])
    made = solve_named(policy, name, objective=Objective("expected", prior=(0.02, 0.98)))
    assert misplaced(made, 0.0).wasted_error == pytest.approx(0, abs=1e-6)
    assert made.worst_case_mse > 1.01 * made.objective_value  # which are not the same
    assert misplaced(made, 0.2).wasted_error != pytest.approx(0, abs=1e-3)
