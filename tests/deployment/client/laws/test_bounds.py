"""Bounds of exp and ln: on the private side always, and close."""

import math
from decimal import Context, Decimal
from fractions import Fraction

from hypothesis import example, given
from hypothesis import strategies as st

from planner.deployment.client.laws.bounds import (
    add_up,
    exp_lower_bound,
    float_above,
    log_above,
    log_upper_bound,
)
from tests.deployment.client.laws.oracle import true_exp

EXACT = Context(prec=130)
SMALL = Fraction(1, 10**55)
COUNTS = st.integers(1, 2**64)
RATIOS = st.builds(Fraction, COUNTS, COUNTS).filter(lambda ratio: ratio != 1)


@given(st.floats(1e-9, 50))
@example(50.0)
@example(1e-300)
@example(math.log(4))
def test_the_lower_bound_of_exp_is_below_and_close(x):
    bound, truth = exp_lower_bound(x), true_exp(x)
    assert truth * (1 - SMALL) < bound < truth


@given(RATIOS)
@example(Fraction(2**64, 2**64 - 1))
@example(Fraction(2**64))
@example(Fraction(1, 3))
def test_the_upper_bound_of_ln_is_above_and_close(ratio):
    quotient = EXACT.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    truth = Fraction(EXACT.ln(quotient))
    decimal = Fraction(log_above(ratio))
    assert truth < decimal <= truth + SMALL * (1 + abs(truth))
    number = log_upper_bound(ratio)
    assert decimal < Fraction(number)
    assert number <= float(truth) + 2 * math.ulp(abs(float(truth))) + 1e-55


def test_the_logarithm_of_one_is_the_least_number_above_0():
    assert 0 < log_above(Fraction(1)) < Decimal("1e-999")
    assert log_upper_bound(Fraction(1)) == math.ulp(0)


@given(RATIOS, RATIOS)
def test_sums_and_floats_are_rounded_up(one, other):
    x, y = log_above(one), log_above(other)
    exact, total = Fraction(x) + Fraction(y), Fraction(add_up(x, y))
    assert exact <= total <= exact + SMALL * abs(exact)
    above = float_above(add_up(x, y))
    two_below = math.nextafter(math.nextafter(above, -math.inf), -math.inf)
    assert Fraction(two_below) < total < Fraction(above)


def test_what_does_not_fit_sixty_digits_is_rounded_up():
    assert Fraction(add_up(Decimal(1), Decimal("1e-70"))) == 1 + Fraction(1, 10**59)
    assert Fraction(add_up(Decimal(-1), Decimal("-1e-70"))) == -1
