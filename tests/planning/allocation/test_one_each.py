import numpy as np
import pytest

from planner.planning.allocation.goal import Goal
from planner.planning.allocation.one_each import one_each
from tests.planning.allocation.questions import SECTION_9


def test_one_question_each_against_a_grid():
    rng = np.random.default_rng(1)
    for objective, targets in (("sum", None), ("minimax", [20.0, 200.0, 4.0])):
        each = one_each(SECTION_9, Goal.of(SECTION_9, objective, targets))
        full = np.array([b.at(1.0).error for b in SECTION_9])
        spread = np.array([b.sampling_variance for b in SECTION_9])
        weights = np.array([b.weight for b in SECTION_9])
        assert each.fractions.sum() == pytest.approx(1)
        for f in rng.dirichlet(np.ones(3), 3000):
            errors = full / f + spread * (1 / f - 1)
            value = weights @ errors if targets is None else np.max(errors / targets)
            assert value >= each.value * (1 - 1e-12)
