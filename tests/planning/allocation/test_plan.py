import itertools

import numpy as np
import pytest

from planner import InputError, PrivacyPolicy, solve
from planner.planning.allocation.blocks import ChoiceBlock, MeanBlock
from planner.planning.allocation.plan import allocate
from planner.planning.budgets import scaled
from planner.planning.option import ErrorLaw
from tests.effort import tries
from tests.planning.allocation.questions import SECTION_9


def test_the_figures_of_the_theory():
    found = allocate(SECTION_9)
    assert found.value == pytest.approx(125.735, abs=5e-4)
    assert found.shares == pytest.approx([0.416, 0.296, 0.288], abs=5e-4)
    assert found.some_each.noise_value == pytest.approx(45.675, abs=5e-4)
    assert found.relative_gap < 1e-9
    assert found.better == "one-each"
    assert found.shares.sum() == pytest.approx(1, abs=1e-12)


def random_blocks(rng):
    blocks = []
    for j in range(int(rng.integers(2, 4))):
        if rng.uniform() < 0.3:
            blocks.append(MeanBlock(str(j), rng.uniform(0.5, 4), rng.uniform(0.5, 3)))
        else:
            t = int(rng.integers(1, 5))
            rule = "avg" if rng.uniform() < 0.3 else "min"
            policy = PrivacyPolicy(rng.uniform(0.5, 4, t), rng.integers(1, 30, t), rule)
            blocks.append(ChoiceBlock(str(j), policy, rng.uniform(0.05, 1)))
    return blocks


def error_on_grid(block, grid):
    """Without the code under test: the solver and the formula of the variance of one bit."""
    if isinstance(block, MeanBlock):
        return 1 / np.tanh(grid * block.epsilon / 2) ** 2
    return np.array([solve(scaled(block.policy, g)).worst_case_mse for g in grid])


def on_grid(blocks, targets):
    """The smallest objective over all shares that are whole percents."""
    steps = 100
    grid = np.arange(1, steps) / steps
    weights = [b.weight for b in blocks] if targets is None else [1 / t for t in targets]
    curves = [w * error_on_grid(b, grid) for w, b in zip(weights, blocks, strict=True)]
    best = np.inf
    for first in itertools.product(range(1, steps), repeat=len(blocks) - 1):
        last = steps - sum(first)
        if last >= 1:
            parts = [c[g - 1] for c, g in zip(curves, (*first, last), strict=True)]
            best = min(best, sum(parts) if targets is None else max(parts))
    return best


@pytest.mark.parametrize("seed", range(tries(5, 10)))
def test_never_worse_than_a_fine_grid_of_shares(seed):
    blocks = random_blocks(np.random.default_rng(seed))
    found = allocate(blocks)
    grid = on_grid(blocks, None)
    assert found.value <= grid * (1 + 1e-12)
    assert found.lower_bound <= found.value
    assert found.relative_gap <= 1e-8
    assert grid <= found.value * 1.01  # the grid is fine: it confirms the optimum from above


@pytest.mark.parametrize("seed", range(3))
def test_minimax_never_worse_than_a_fine_grid_of_shares(seed):
    rng = np.random.default_rng(100 + seed)
    blocks = random_blocks(rng)
    targets = rng.uniform(1, 30, len(blocks)).tolist()
    found = allocate(blocks, "minimax", targets)
    assert found.value <= on_grid(blocks, targets) * (1 + 1e-12)
    assert found.relative_gap <= 1e-8
    ratios = found.errors / targets
    assert ratios == pytest.approx(found.value, rel=1e-5)  # all questions are equally far


def test_no_random_shares_beat_the_bound():
    rng = np.random.default_rng(4)
    blocks = random_blocks(np.random.default_rng(2))
    found = allocate(blocks)
    for shares in rng.dirichlet(np.ones(len(blocks)), tries(50, 1000)):
        errors = [b.at(max(g, 1e-3)).error for b, g in zip(blocks, shares, strict=True)]
        assert np.dot(errors, [b.weight for b in blocks]) >= found.lower_bound


def test_splitting_wins_at_large_budgets():
    blocks = [ChoiceBlock(n, PrivacyPolicy([12.0, 14.0], [2, 3])) for n in "ab"]
    found = allocate(blocks)
    assert found.better == "split"
    assert "everybody everything" in found.reason


def test_one_question_gets_everything():
    found = allocate(SECTION_9[:1])
    assert found.shares.tolist() == [1.0]
    assert found.value == pytest.approx(8.567495461)


def test_matrix_rules_are_allocated_too():
    rule = np.array([[1.0, 1.5, np.inf], [1.5, 2.0, 1.0], [np.inf, 1.0, 1.5]])
    blocks = [ChoiceBlock("graph", PrivacyPolicy([1, 2, 1.5], [2, 3, 4], rule)), SECTION_9[0]]
    found = allocate(blocks)
    assert found.relative_gap <= 1e-8
    assert found.certified[0].max_violation == 0


def test_bad_allocations_are_refused():
    with pytest.raises(InputError, match="questions"):
        allocate([])
    with pytest.raises(InputError, match="questions"):
        allocate([SECTION_9[0], SECTION_9[0]])
    with pytest.raises(InputError, match="objective"):
        allocate(SECTION_9, "mean")
    with pytest.raises(InputError, match="targets"):
        allocate(SECTION_9, "minimax")
    for targets in ([1, 2], [1, 2, 0], [1, 2, np.nan]):
        with pytest.raises(InputError, match="targets"):
            allocate(SECTION_9, "minimax", targets)
    for weight in (0, -1, np.nan, np.inf):
        with pytest.raises(InputError, match="weight"):
            MeanBlock("x", 1.0, weight)
    with pytest.raises(InputError, match="epsilon"):
        MeanBlock("x", 0.0)


def test_a_survey_of_one_question_has_nothing_to_share():
    assert "gets the whole budget" in allocate(SECTION_9[:1]).reason


def test_questions_asked_alone_may_be_other_blocks():
    alone = [ChoiceBlock(b.name, b.policy, b.weight, errors=ErrorLaw(0.5)) for b in SECTION_9[:2]]
    plain, other = allocate(SECTION_9[:2]), allocate(SECTION_9[:2], alone=alone)
    assert other.value == plain.value
    assert other.some_each.noise_value == pytest.approx(plain.some_each.noise_value / 2)
