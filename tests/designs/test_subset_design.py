"""The formulas of subset designs against every output, written out."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest

from planner import InputError, Objective, OutputTypes, PrivacyPolicy, SubsetDesign, best_design
from planner.designs.level_groups import merges_budgets


def written_out(types):
    """``Pr[output | item]``, shape ``(items, outputs)``, and the type and sides of each output."""
    m = types.item_counts
    first = np.concatenate([[0], np.cumsum(m)])
    columns, kinds, sides = [], [], []
    for o in range(types.size):
        choices = [
            list(combinations(range(first[i], first[i + 1]), int(k)))
            for i, k in enumerate(types.high_counts[o])
        ]
        splits = list(product(*choices))
        for split in splits:
            side = np.zeros(m.sum(), dtype=int)
            side[[item for part in split for item in part]] = 1
            levels = np.repeat(np.arange(m.size), m)
            likelihood = np.where(side == 1, types.high[o][levels], types.low[o][levels])
            columns.append(types.weights[o] * likelihood / len(splits))
            kinds.append(o)
            sides.append(side)
    return np.array(columns).T, np.array(kinds), np.array(sides)


def random_types(rng, item_counts, size):
    m = np.array(item_counts)
    low = rng.uniform(0.5, 1, (size, m.size))
    types = OutputTypes(
        m,
        rng.random(size) + 0.1,
        low,
        low + rng.random(low.shape),
        rng.integers(0, m + 1, (size, m.size)),
    )
    return replace(types, weights=types.weights)


@pytest.mark.parametrize("item_counts", [[3], [1, 4], [2, 3], [1, 1, 3]])
def test_estimator_and_variances_are_those_of_every_output_written_out(item_counts):
    rng = np.random.default_rng(5)
    types = random_types(rng, item_counts, size=7)
    prior = rng.dirichlet(np.ones(len(item_counts)))
    law, kinds, sides = written_out(types)
    levels = np.repeat(np.arange(len(item_counts)), item_counts)
    g = types.estimator(prior)
    T = g[kinds[:, None], levels[None, :], sides]
    np.testing.assert_allclose(law @ T, np.eye(levels.size), atol=1e-12)  # unbiased
    np.testing.assert_allclose(
        types.probabilities.sum(axis=(1, 2))[levels], law.sum(axis=1), rtol=1e-13
    )
    # No other unbiased estimator has a smaller error under the prior: weighted least squares.
    share = (prior / np.array(item_counts))[levels] @ law
    J = (law / share) @ law.T
    np.testing.assert_allclose(T.T, np.linalg.solve(J, law / share), rtol=1e-9, atol=1e-11)
    seconds = law @ np.square(T)  # E[T^2 | answer], shape (answer, item)
    other, own = types.variances(g)
    for k, i in product(range(levels.size), repeat=2):
        expected = own[levels[k]] + 1 if k == i else other[levels[k], levels[i]]
        assert seconds[k, i] == pytest.approx(expected, rel=1e-11)
    weights = rng.random(len(item_counts))
    errors = seconds @ weights[levels] - weights[levels]
    np.testing.assert_allclose(types.level_errors(prior, weights)[levels], errors, rtol=1e-10)


def test_a_million_items_lose_no_digits():
    """Shares fixed, all items a thousand times more: the variance of another item settles."""
    small, large = (
        OutputTypes(
            [m, 9 * m],
            [0.4, 0.3],
            [[1, 1], [1, 1]],
            [[3, 2], [3, 4]],
            [[m // 2, 2 * m], [m, 3 * m]],
        )
        for m in (100, 10**8)
    )
    near, far = (types.variances(types.estimator([0.3, 0.7])).other for types in (small, large))
    np.testing.assert_allclose(near, far, rtol=0.1)
    assert np.isfinite(far).all()


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"weights": [0.5, 0.0]}, r"weights\[1\] is 0.0"),
        ({"low": [[1.0, 3.0], [1.0, 1.0]]}, r"low\[0\]\[1\] is 3.0"),
        ({"low": [[1.0, -1.0], [1.0, 1.0]]}, r"low\[0\]\[1\] is -1.0"),
        ({"high": [[1.0, np.inf], [1.0, 1.0]]}, r"low\[0\]\[1\]"),
        ({"high_counts": [[0, 4], [1, 0]]}, r"high_counts\[0\]\[1\] is 4"),
        ({"high_counts": [[0, 3]]}, "high_counts is"),
    ],
)
def test_bad_types_are_refused(change, name):
    good = OutputTypes([1, 3], [0.5, 0.5], np.ones((2, 2)), np.full((2, 2), 2.0), [[0, 1], [1, 0]])
    with pytest.raises(InputError, match=name):
        replace(good, **change)


def test_types_that_cannot_tell_items_apart_have_no_estimator():
    blank = OutputTypes([2], [1.0], [[1.0]], [[2.0]], [[0]])
    with pytest.raises(InputError, match="tell all items apart"):
        blank.estimator([1.0])
    with pytest.raises(InputError, match="prior"):
        blank.estimator([0.0])


def test_a_design_shows_itself():
    policy = PrivacyPolicy([1.0, 2.0], [1, 4], names=["severe", "common"])
    design = best_design(policy)
    assert "of the best of all mechanisms" in design.summary
    frame = design.to_frame()
    assert len(frame) == design.types.size * 2
    assert frame.groupby("level")["probability"].sum().to_numpy() == pytest.approx([1, 1])
    assert "<table" in design._repr_html_()
    bare = replace(design, certificate=None)
    assert "all mechanisms" not in bare.summary
    with pytest.raises(InputError, match="prior"):
        SubsetDesign(policy, design.types, [0, 1], np.ones(3))
    for groups in ([0, 0], [0, 2], [1, 0], [0], [-1, 1]):
        with pytest.raises(InputError, match="groups"):
            SubsetDesign(policy, design.types, groups, np.ones(2))
    assert design.objective == Objective()


def test_levels_of_one_group_have_their_own_errors():
    """Weights differ within a group: a person's error leaves out their own item's weight."""
    types = OutputTypes([3], [0.5], [[1.0]], [[4.0]], [[1]])
    policy = PrivacyPolicy(np.full(2, np.log(4)), [1, 2], names=["one", "two"])
    design = SubsetDesign(policy, types, [0, 0], [1.0], Objective(weights=[1.0, 5.0]))
    other, own = types.variances(types.estimator([1.0]))
    first, second = 10 * other[0, 0] + own[0], 6 * other[0, 0] + 5 * own[0]
    assert design.objective_value == pytest.approx(max(first, second), rel=1e-12)
    np.testing.assert_allclose(design.level_errors, 2 * other[0, 0] + own[0])
    assert design.to_frame()["level"].tolist() == ["one, two"]


def test_the_summary_says_when_levels_give_up_budget():
    two = best_design(PrivacyPolicy([1.0, 1.5], [5, 5]))
    assert not two.merges_budgets
    assert "merged" not in two.summary
    merged = SubsetDesign(
        PrivacyPolicy([1.0, 1.5, 1.8], [5, 2, 3]), two.types, [0, 1, 1], two.prior
    )
    assert merged.merges_budgets
    assert "Its 3 levels are merged into 2, each with the smallest budget" in merged.summary
    assert merged.summary.endswith("the best table may be better.")


def test_levels_alike_give_up_nothing():
    alike = best_design(PrivacyPolicy([1.0, 2.0, 1.0], [2, 3, 4]))
    assert alike.groups.tolist() == [0, 1, 0]
    assert not alike.merges_budgets
    matrix = [[0.5, 1.0, 1.0], [1.0, 2.0, 2.0], [1.0, 2.0, 2.0]]
    groups = np.array([0, 1, 1])
    assert not merges_budgets(PrivacyPolicy([0.5, 2, 2], [2, 2, 2], matrix), groups)
    matrix[1][2] = matrix[2][1] = 1.5
    assert merges_budgets(PrivacyPolicy([0.5, 2, 2], [2, 2, 2], matrix), groups)
