import numpy as np

from planner.planning.sampled_views import binomial_window, lower_tail, upper_tail


def test_the_window_holds_the_whole_law():
    from scipy.stats import binom

    for size, chance in [(0, 0.5), (1, 0.1), (50, 0.99), (10**6, 1e-5), (10**7, 0.3)]:
        first, pmf = binomial_window(size, chance)
        x = first + np.arange(pmf.size)
        np.testing.assert_allclose(pmf, binom.pmf(x, size, chance), rtol=1e-6, atol=1e-290)
        assert binom.cdf(first - 1, size, chance) + binom.sf(x[-1], size, chance) < 1e-300
        at = np.array([-3, 0, int(size * chance), size, size + 1, size + 5])
        tails = upper_tail(size, chance, at) + lower_tail(size, chance, at - 1)
        np.testing.assert_allclose(tails, 1, rtol=1e-10)
