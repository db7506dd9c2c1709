import numpy as np
import pytest
from scipy import stats

from planner import EmpiricalPreferences, HistogramPreferences, NormalPreferences, read_preferences
from planner.errors import FileError
from tests.refusals import refused

MODELS = [
    (NormalPreferences(5, 1.5), stats.norm(5, 1.5)),
    (
        HistogramPreferences([0, 1, 3, 4], [0.2, 0.5, 0.3]),
        stats.rv_histogram((np.array([0.2, 0.25, 0.3]), np.array([0.0, 1, 3, 4])), density=True),
    ),
]


@pytest.mark.parametrize(("model", "reference"), MODELS)
def test_answer_rates_are_survival_functions_and_quantiles_invert_them(model, reference):
    epsilon = np.linspace(0.01, 8, 50)
    np.testing.assert_allclose(model.answer_rate(epsilon), reference.sf(epsilon), atol=1e-12)
    share = np.array([0.05, 0.3, 0.5, 0.77, 0.99])
    np.testing.assert_allclose(model.quantile(share), reference.ppf(share), rtol=1e-9)


def test_who_tolerates_exactly_the_budget_answers():
    model = EmpiricalPreferences([2.0, 1.0, 2.0, 3.0])
    assert model.answer_rate([2.0, np.nextafter(2.0, 3)]).tolist() == [0.75, 0.25]
    assert model.kinks.tolist() == [1.0, 2.0, 3.0]
    assert model.quantile([0.25, 0.26, 0.99]).tolist() == [1.0, 2.0, 3.0]


def test_sample_from_csv(tmp_path):
    path = tmp_path / "pilot.csv"
    path.write_text("person,tolerates\na,1.5\nb,0\nc,4\n")
    assert read_preferences(path, "tolerates").sample.tolist() == [0.0, 1.5, 4.0]
    path.write_text("tolerates\n2\n")
    assert read_preferences(path).sample.tolist() == [2.0]


@pytest.mark.parametrize(
    "text",
    [
        "", "other\n1\n", "eps\n", "1.5\n2\n", "eps\n1\n\n2\n", "eps\n1\nx\n", "eps\nnan\n",
        "eps\n" + "1" * 200_000 + "\n",
    ],
    ids=range(8),
)  # fmt: skip
def test_bad_csv(tmp_path, text):
    path = tmp_path / "pilot.csv"
    path.write_text(text)
    with refused(FileError):
        read_preferences(path, "eps" if "other" in text else None)


def test_models_are_equal_by_value_and_can_be_kept_in_sets():
    histogram, sample = HistogramPreferences([0, 1], [1.0]), EmpiricalPreferences([1, 2])
    assert len({histogram, HistogramPreferences([0, 1], [1.0]), sample}) == 2
    assert sample == EmpiricalPreferences([1, 2])
    assert sample != EmpiricalPreferences([2, 1.5])
    assert histogram != HistogramPreferences([0, 2], [1.0])
    assert histogram != sample


def test_shares_may_be_numbers_of_people():
    people = HistogramPreferences([0, 1, 4], [25, 75])
    assert people.answer_rate([0.5, 1, 2, 5]).tolist() == [0.875, 0.75, 0.5, 0.0]
    assert people.kinks.tolist() == [0, 1, 4]
    assert NormalPreferences(5, 1).kinks.size == 0
