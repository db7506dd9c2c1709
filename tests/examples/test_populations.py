from pathlib import Path

import numpy as np
import pytest

from examples.reproduction import populations
from planner.errors import FileError, InputError

ADULT = Path(__file__).parents[2] / "../shared/data/adult.data"


USERS = 100_000


Z = 4.9  # two-sided false-alarm rate 1e-6


class TestPopulations:
    """Table 2 of the paper: means .831, .499, .001 and .409 (signs as there)."""

    def test_exponential(self):
        """Mean 2/H - 1, H the largest of n standard exponentials: Gumbel around ln n."""
        limits = np.log(USERS) + np.array([-np.log(-np.log(1e-6)), -np.log(1e-6)])
        for seed in range(5):
            values = populations.exponential(USERS, np.random.default_rng(seed))
            assert (values.min(), values.max()) == (-1.0, 1.0)
            assert 2 / limits[1] - 1 < values.mean() + 0.001 < 2 / limits[0] - 1 + 0.002
        means = [
            populations.exponential(USERS, np.random.default_rng(s)).mean() for s in range(200)
        ]
        assert np.quantile(means, 0.01) < -0.831 < np.quantile(means, 0.99)

    def test_gaussian(self):
        values = populations.gaussian(USERS, np.random.default_rng(1))
        assert abs(values.mean() - 0.5) < Z * 0.1 / np.sqrt(USERS)
        assert abs(0.499 - 0.5) < Z * 0.1 / np.sqrt(USERS)

    def test_uniform(self):
        values = populations.uniform(USERS, np.random.default_rng(1))
        assert abs(values.mean()) < Z / np.sqrt(3 * USERS)

    def test_adult(self):
        if not ADULT.exists():
            pytest.skip("UCI Adult is not at ../shared/data")
        ages = populations.adult_ages(ADULT)
        assert ages.size == 32_561
        assert round(ages.mean(), 3) == -0.409

    def test_bad_input(self, tmp_path):
        with pytest.raises(FileError):
            populations.adult_ages(tmp_path / "none")
        path = tmp_path / "ages"
        path.write_text("17, x\nold, y\n")
        with pytest.raises(FileError, match="old"):
            populations.adult_ages(path)
        with pytest.raises(InputError):
            populations.uniform(1, np.random.default_rng(1))
