from pathlib import Path

import numpy as np
import pytest

from examples.reproduction import populations
from planner.mechanisms.bisample import BiSampleMD
from planner.mechanisms.forced_answer import Harmony
from planner.mechanisms.piecewise import Piecewise
from planner.mechanisms.privkvm import PrivKVM
from planner.survey.preferences import (
    NormalPreferences,
)

ADULT = Path(__file__).parents[2] / "../shared/data/adult.data"


PREFERENCES = NormalPreferences(5, 1.5)


USERS = 100_000


Z = 4.9  # two-sided false-alarm rate 1e-6


def population(name):
    rng = np.random.default_rng(51)
    if name == "ADULT":
        if not ADULT.exists():
            pytest.skip("UCI Adult is not at ../shared/data")
        return populations.adult_ages(ADULT)
    makers = {
        "EXP": populations.exponential,
        "GAUSS": populations.gaussian,
        "UNIFORM": populations.uniform,
    }
    return makers[name](USERS // 2, rng)


def absolute_errors(mechanism, values, silent, repeats, seed):
    """Errors of the mean, against the mean of all, and of the missing rate."""
    rng = np.random.default_rng(seed)
    errors = np.empty((repeats, 2))
    for i in range(repeats):
        given = np.where(silent(rng), np.nan, values)
        estimates = mechanism.estimate(mechanism.aggregate(mechanism.perturb(given, rng)))
        rate = 0.0 if estimates.missing_rate is None else estimates.missing_rate.value
        errors[i] = abs(estimates.mean.value - values.mean()), abs(rate - np.isnan(given).mean())
    return errors


def below(first, second):
    """Whether mean absolute errors differ for sure (false alarm below 1e-6)."""
    gap = second.mean() - first.mean()
    return gap > Z * np.sqrt(first.var() / first.size + second.var() / second.size)


class TestFiguresOfThePaper:
    @pytest.mark.parametrize("name", ["EXP", "GAUSS", "UNIFORM", "ADULT"])
    def test_figure_4_orderings(self, name):
        """Mean estimation where a good part does not answer (epsilon 3: a tenth)."""
        values, epsilon = population(name), 3.0

        def silent(rng):
            return rng.normal(5, 1.5, values.size) < epsilon

        def errors(mechanism, seed, repeats=30):
            return absolute_errors(mechanism, values, silent, repeats, seed)[:, 0]

        bisample = errors(BiSampleMD(epsilon), 1, 400)
        assert below(bisample, errors(PrivKVM(epsilon), 2, 400))
        silence = 1 - PREFERENCES.answer_rate(epsilon)
        for kind in (Harmony, Piecewise):
            top = errors(kind(epsilon, fake_answer="top"), 3)
            assert below(bisample, top)
            bias = silence * (1 - values.mean())
            assert abs(top.mean() - bias) < Z * top.std() / np.sqrt(top.size)
            assert top.std() < bias / 4  # dominated by it
            random = errors(kind(epsilon, fake_answer="random"), 4)
            if name == "UNIFORM":  # harmless: even a little better than leaving them out
                assert not below(bisample, random)
                assert random.mean() < top.mean() / 20
            else:
                assert below(bisample, random)

    def test_figure_4_is_u_shaped(self):
        values = population("GAUSS")
        means = []
        for epsilon in (0.5, 3.157, 8.0):

            def silent(rng, epsilon=epsilon):
                return rng.normal(5, 1.5, values.size) < epsilon

            means.append(absolute_errors(BiSampleMD(epsilon), values, silent, 60, 5)[:, 0])
        assert below(means[1], means[0])
        assert below(means[1], means[2])

    @pytest.mark.parametrize("rate", [0.1, 0.5, 0.8])
    def test_figure_5_orderings(self, rate):
        """Epsilon 1, missing rate varied: BiSample below PrivKVM, missing rate below mean."""
        values = population("GAUSS")

        def silent(rng):
            return rng.random(values.size) < rate

        ours = absolute_errors(BiSampleMD(1.0), values, silent, 160, 6)
        theirs = absolute_errors(PrivKVM(1.0), values, silent, 160, 7)
        assert below(ours[:, 0], theirs[:, 0])
        if rate > 0.1:
            assert below(ours[:, 1], ours[:, 0])

    def test_figure_6_orderings(self):
        """Error falls with the number of people, but not that of forced answers."""
        population_ = population("GAUSS")

        def errors(mechanism, users, seed):
            def silent(rng):
                return rng.random(users) < 0.3

            return absolute_errors(mechanism, population_[:users], silent, 120, seed)[:, 0]

        small, large = errors(BiSampleMD(1.0), 4000, 8), errors(BiSampleMD(1.0), 40_000, 9)
        assert below(large, small)
        assert below(errors(BiSampleMD(1.0), 40_000, 10), errors(PrivKVM(1.0), 40_000, 11))
        for kind in (Harmony, Piecewise):
            forced = errors(kind(1.0, fake_answer="top"), 40_000, 12)
            assert abs(forced.mean() - 0.15) < 0.01
            assert below(large, forced)
