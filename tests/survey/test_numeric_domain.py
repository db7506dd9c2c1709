import numpy as np
import pytest

from planner.errors import InputError
from planner.survey.numeric_domain import NumericDomain


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ((2, 1), "lower is 2.0 but must be below upper, which is 1.0. Swap the bounds"),
        ((1, 1), "lower is 1.0 but must be below upper"),
        ((float("nan"), 1), "lower is nan but must be a finite number"),
        ((0, float("inf")), "upper is inf but must be a finite number"),
        (("0", 1), "lower is '0' but must be a finite number"),
        ((True, 2), "lower is True but must be a finite number"),
        ((-1e308, 1e308), "upper is 1e.308 but must be at least 1e-100 apart from lower"),
        ((0, 1e308), "upper is 1e.308 but must be .* both below 1e.100. Measure in another unit"),
        ((0, 1e-320), "upper is .* at least 1e-100 apart from lower"),
    ],
    ids=str,
)
def test_bad_bounds(bounds, message):
    with pytest.raises(InputError, match=message):
        NumericDomain(*bounds)


AGE, YES = NumericDomain(17, 90), NumericDomain(0, 1, yes_no=True)


@pytest.mark.parametrize(
    ("domain", "values", "message"),
    [
        (AGE, [20, 16.5], r"ages\[1\] is 16.5 but must be from 17 to 90, or NaN for no answer"),
        (AGE, [np.inf], r"ages\[0\] is inf but must be from 17 to 90"),
        (AGE, [np.nan, 91], r"ages\[1\] is 91.0 .* widen the domain before anybody is asked"),
        (AGE, [], "ages is .* at least one user"),
        (AGE, 20.0, "ages is .* one number per user"),
        (AGE, ["20"], "ages is .* a list of numbers, one per user"),
        (AGE, [True], "ages is .* a list of numbers, one per user. Use NaN for no answer"),
        (AGE, [[20], [20, 30]], "ages is .* a list of numbers"),
        (AGE, np.ma.masked_array([20.0], [True]), "'a masked array' but must be a plain array"),
        (YES, [0, 1, 0.5], r"ages\[2\] is 0.5 but must be 0 \(no\), 1 \(yes\) or NaN"),
    ],
    ids=str,
)
def test_answers_outside_the_domain_are_refused(domain, values, message):
    with pytest.raises(InputError, match=message):
        domain.answers(values, "ages")


def test_missing_answers_stay_missing():
    for domain, values in ((AGE, [17, np.nan, 90]), (YES, [0, np.nan, 1])):
        unit = domain.to_unit(domain.answers(values))
        assert unit[[0, 2]].tolist() == [-1, 1]
        assert np.isnan(unit[1])


def test_there_and_back():
    domain = NumericDomain(-5, 20_000)
    assert (domain.center, domain.radius) == (9997.5, 10_002.5)
    values = np.linspace(-5, 20_000, 7)
    back = [domain.from_unit(unit) for unit in domain.to_unit(values)]
    assert back == pytest.approx(values.tolist(), rel=1e-12)
