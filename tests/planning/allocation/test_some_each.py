import numpy as np
import pytest

from planner.planning.allocation.blocks import MeanBlock
from planner.planning.allocation.goal import Goal
from planner.planning.allocation.some_each import best_some_each, some_each
from tests.planning.allocation.questions import SECTION_9


@pytest.mark.parametrize(("objective", "targets"), [("sum", None), ("minimax", [20.0, 200.0, 4.0])])
@pytest.mark.parametrize("asked", [1, 2, 3])
def test_some_questions_each_against_a_grid(objective, targets, asked):
    rng = np.random.default_rng(1)
    each = some_each(SECTION_9, Goal.of(SECTION_9, objective, targets), asked)
    part = np.array([b.at(1 / asked).error for b in SECTION_9])
    spread = np.array([b.law.spread for b in SECTION_9])
    weights = np.array([b.weight for b in SECTION_9])
    assert each.fractions.sum() == pytest.approx(asked)
    assert each.fractions.max() <= 1
    tried = 0
    for f in asked * rng.dirichlet(np.ones(3), 3000):
        if f.max() <= 1:
            errors = part / f + spread * (1 / f - 1)
            value = weights @ errors if targets is None else np.max(errors / targets)
            assert value >= each.value * (1 - 1e-12)
            tried += 1
    if asked == 3:
        assert each.fractions.tolist() == [1.0, 1.0, 1.0]  # there is one way
    else:
        assert tried > 500
    assert each.value == pytest.approx(
        weights @ each.errors if targets is None else np.max(each.errors / targets)
    )


@pytest.mark.parametrize(("epsilon", "asked"), [(0.5, 1), (3.0, 1), (6.0, 3), (40.0, 8)])
def test_the_number_of_questions_grows_with_the_budget(epsilon, asked):
    """One bit a mean: d/k tanh(eps/2k)^-2 is least where eps/k solves sinh x = 2x, at 2.18."""
    blocks = [MeanBlock(f"mean {j}", epsilon) for j in range(9)]
    best = best_some_each(blocks, Goal.of(blocks))
    every = [9 / k / np.tanh(epsilon / k / 2) ** 2 for k in range(1, 9)]
    assert best.asked == 1 + int(np.argmin(every)) == asked
    assert best.value == pytest.approx(9 * min(every))
