import pytest

from planner.errors import InputError
from planner.mechanisms.sampling_privacy import SamplingPrivacy
from planner.planning.sampled_views import difference_delta, totals_delta_bound, totals_delta_exact
from tests.planning.sampling.exact_laws import EPSILONS, hockey_stick, totals

BINARY = SamplingPrivacy(0.375, 0.375, [0.25])


@pytest.mark.parametrize(("yes", "no"), [(0, 0), (0, 6), (1, 1), (3, 4), (5, 2), (6, 0)])
def test_totals_against_person_by_person_convolution(yes, no):
    others = [1] * yes + [0] * no
    p, q = totals(BINARY, [*others, 0]), totals(BINARY, [*others, 1])
    for epsilon in EPSILONS:
        truth = hockey_stick(p, q, epsilon)
        args = yes, no, BINARY.zero, BINARY.sampling, epsilon
        exact = totals_delta_exact(*args)
        assert truth <= exact <= truth + 1e-9
        assert truth <= totals_delta_bound(*args)


@pytest.mark.parametrize("zero", [0.05, 0.3, 0.5])
@pytest.mark.parametrize("yes", [0, 2, 20, 100])
@pytest.mark.parametrize("no", [0, 1, 30, 2000])
def test_bound_is_between_exact_and_useless(yes, no, zero):
    for epsilon in EPSILONS:
        exact = totals_delta_exact(yes, no, zero, 0.45, epsilon)
        bound = totals_delta_bound(yes, no, zero, 0.45, epsilon)
        assert difference_delta(yes, 0.45, epsilon) <= exact * (1 + 1e-9)
        assert exact <= bound * (1 + 1e-9)
        if yes == 0:  # nothing is given up: equal
            assert bound == pytest.approx(exact, rel=1e-8)
        if no >= 2000:  # and little, if there are many more No than Yes
            assert bound <= exact * 1.02 + 1e-300


def test_bound_tends_to_the_difference_alone():
    alone = difference_delta(1000, 0.45, 0.1)
    ratios = [totals_delta_bound(1000, no, 0.25, 0.45, 0.1) / alone for no in (10**4, 10**5, 10**7)]
    assert ratios == sorted(ratios, reverse=True)
    assert ratios[0] > 1.05
    assert 1 <= ratios[-1] < 1.001


def test_too_large_a_table_is_refused():
    with pytest.raises(InputError, match="at most 1000000 cells"):
        totals_delta_exact(1000, 1000, 0.25, 0.45, 1)
