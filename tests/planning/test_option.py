import numpy as np
import pytest

from planner import InputError
from planner.planning.option import ErrorLaw


@pytest.mark.parametrize(
    "terms", [{"scale": 0.0}, {"scale": np.inf}, {"offset": np.nan}, {"bias": -1.0}]
)
def test_terms_out_of_range_are_refused(terms):
    with pytest.raises(InputError, match=r"scale, offset, spread|bias"):
        ErrorLaw(**terms)


def test_people_values_and_errors_are_inverses():
    rng = np.random.default_rng(3)
    for scale, offset, bias, spread, value in rng.uniform(0.1, 5, (20, 5)).tolist():
        law, users, share = ErrorLaw(scale, offset, bias, spread), 1000, rng.uniform(0.1, 1.0)
        error = law.error(value, share)
        assert law.value_for(error, share) == pytest.approx(value)
        # Of twice the people the noise halves as a share, and the bias stays.
        target = np.sqrt(bias / users + (error - bias) / (2 * users))
        assert law.people(value, target, users, share) == pytest.approx(2 * users, abs=1)
    assert law.people(value, np.sqrt(bias / users), users) is None
