"""Two answers: the best of all mechanisms is randomised response."""

from math import exp

import numpy as np
import pytest

from planner import PrivacyPolicy, best_design
from tests.designs.test_subset_design import written_out


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
@pytest.mark.parametrize(
    ("share", "items", "rule"),
    [
        ((1,), (2,), "min"),
        ((1,), (2,), "avg"),
        ((1, 1), (1, 1), "min"),
        ((1, 1.7), (1, 1), "min"),
        ((0.7, 1.3), (1, 1), "avg"),
        ((1, 1), (1, 1), [[9, 1], [1, 9]]),
    ],
)
def test_two_answers_are_told_by_randomised_response(epsilon, share, items, rule):
    rule = rule if isinstance(rule, str) else np.multiply(rule, epsilon)
    design = best_design(PrivacyPolicy(np.multiply(share, epsilon), items, rule), tolerance=1e-10)
    truth = exp(epsilon) / (1 + exp(epsilon))
    law = written_out(design.types)[0]
    expected = [[1 - truth, truth], [truth, 1 - truth]]
    np.testing.assert_allclose(law[:, np.argsort(law[0])], expected, rtol=1e-9)
    error = 2 * truth * (1 - truth) / (2 * truth - 1) ** 2  # two items, each mistaken alike
    assert design.worst_case_mse == pytest.approx(error, rel=1e-9)
    assert design.certificate.lower_bound == pytest.approx(error, rel=1e-8)
    assert design.certificate.lower_bound <= design.worst_case_mse
