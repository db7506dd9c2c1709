import numpy as np
import pytest

from planner.errors import InputError
from planner.planning.answer_rates import AnswerRateModel, find_best
from planner.survey.numeric_domain import NumericDomain
from planner.survey.preferences import (
    EmpiricalPreferences,
    GammaPreferences,
    HistogramPreferences,
)
from tests.planning.answer_rate.people import PREFERENCES, USERS, model


class TestBestBudget:
    @pytest.mark.parametrize(("mean", "epsilon"), [(0.5, 3.157), (0.0, 2.943), (-0.83, 3.666)])
    def test_known_budgets(self, mean, epsilon):
        assert round(model(mean).best().epsilon, 3) == epsilon

    def test_sign_does_not_matter(self):
        assert model(0.83).best().epsilon == pytest.approx(model(-0.83).best().epsilon, rel=1e-6)

    def test_nothing_on_a_fine_grid_is_better(self):
        best = model(0.5).best()
        curve = model(0.5).curve(np.linspace(0.01, 12, 100_001))
        assert best.rmse <= curve.mean_rmse.min() * (1 + 1e-12)

    def test_flat_region(self):
        best = model(0.5).best(tolerance=0.05)
        assert 2.4 < best.flat_lower < best.epsilon < best.flat_upper < 4.0
        ends = model(0.5).curve([best.flat_lower, best.flat_upper])
        np.testing.assert_allclose(ends.mean_rmse, 1.05 * best.rmse, rtol=1e-6)
        inside = model(0.5).curve(np.linspace(best.flat_lower, best.flat_upper, 500))
        assert inside.mean_rmse.max() <= 1.05 * best.rmse * (1 + 1e-9)
        wider = model(0.5).best(tolerance=0.2)
        assert wider.flat_lower < best.flat_lower < best.flat_upper < wider.flat_upper

    def test_a_tiny_tolerance_keeps_the_best_inside(self):
        best = model(0.5).best(tolerance=1e-12)
        assert best.flat_lower <= best.epsilon <= best.flat_upper

    def test_a_sample_is_best_at_one_of_its_values_or_between(self):
        """Two thirds tolerate just 2, the others 3: stop at 2 exactly, not above."""
        sample = EmpiricalPreferences([2.0, 2.0, 3.0])
        best = AnswerRateModel(sample, USERS).best()
        assert best.epsilon == 2.0
        assert best.flat_upper == pytest.approx(2.0)
        assert best.answer_rate == 1.0

    def test_a_histogram_is_searched_in_every_bin(self):
        two_camps = HistogramPreferences([0.5, 0.6, 6.0, 6.1], [0.4, 0.0, 0.6])
        best = AnswerRateModel(two_camps, 1000).best()
        curve = AnswerRateModel(two_camps, 1000).curve(np.linspace(0.01, 6.1, 61_001))
        assert best.rmse <= curve.mean_rmse.min() * (1 + 1e-9)
        assert best.epsilon == pytest.approx(6.0, abs=0.05)

    def test_a_cap_on_the_budget(self):
        best = model(0.5).best(highest=1.0)
        assert best.epsilon == pytest.approx(1.0)
        assert best.flat_upper == 1.0

    def test_large_samples_approach_the_distribution(self):
        rng = np.random.default_rng(1)
        sample = EmpiricalPreferences(rng.normal(5, 1.5, 200_000))
        assert AnswerRateModel(sample, USERS, mean=0.5).best().epsilon == pytest.approx(
            3.157, abs=0.1
        )

    def test_few_people_are_not_called_reliable(self):
        assert model(0.5).best().reliable
        assert not AnswerRateModel(PREFERENCES, 5).best().reliable

    def test_nobody_answers(self):
        with pytest.raises(InputError, match="Nobody would answer"):
            AnswerRateModel(EmpiricalPreferences([0.0, -1.0]), USERS).best()

    def test_nobody_answers_at_one_budget(self):
        curve = AnswerRateModel(EmpiricalPreferences([1.0]), USERS).curve([0.5, 2.0])
        assert np.isinf(curve.mean_rmse).tolist() == [False, True]
        assert np.isfinite(curve.missing_rate_rmse).all()
        assert not curve.reliable[1]

    def test_jump_inside_the_range(self):
        best = find_best(
            lambda e: np.where(e <= 2, 2 - e / 2, 3 - e / 10), np.array([2.0]), (0.1, 5.0), 0.1
        )
        assert (best.epsilon, best.rmse) == (2.0, 1.0)
        assert best.flat_lower == pytest.approx(1.8)

    def test_unit_does_not_matter(self):
        wide = AnswerRateModel(PREFERENCES, USERS, NumericDomain(0, 100), mean=75)
        assert wide.best().epsilon == pytest.approx(model(0.5).best().epsilon, rel=1e-9)
        assert wide.best().rmse == pytest.approx(50 * model(0.5).best().rmse, rel=1e-9)


def test_gamma_preferences_have_a_best_budget_too():
    best = AnswerRateModel(GammaPreferences(3, 1), USERS).best()
    assert 0.5 < best.epsilon < 3
