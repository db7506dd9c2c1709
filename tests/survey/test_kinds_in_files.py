"""Mistakes in numeric questions and in those of Sampling Privacy are named, in their files."""

import pytest

from planner.errors import InputError
from planner.planning.answer_rates import plan_answer_rates
from planner.planning.sampled import plan_sampling_survey
from planner.survey.file import load_survey, survey_from_text
from tests.surveys import EXAMPLES

RATES = (EXAMPLES / "answer-rate.toml").read_text(encoding="utf-8")
AGES = (EXAMPLES / "sampled-ages.toml").read_text(encoding="utf-8")


def with_preferences(preferences):
    return RATES.split("[question.preferences]")[0] + "[question.preferences]\n" + preferences


@pytest.mark.parametrize(
    "preferences",
    [
        'model = "normal"\nmean = 5\nsd = 1.5',
        'model = "lognormal"\nmedian = 4\nsigma = 0.5',
        'model = "gamma"\nshape = 4\nscale = 1.0',
        'model = "histogram"\nedges = [0, 2, 6]\nshares = [0.3, 0.7]',
    ],
)
def test_every_model_can_be_written_down(preferences):
    survey = survey_from_text(with_preferences(preferences))
    plan = plan_answer_rates(survey)["bill"]
    assert 0 < plan.best.flat_lower < plan.best.epsilon < plan.best.flat_upper < 50


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("lower = 0 ", "lower = 30_000 ", "lower is 30000.0 but must be below upper"),
        ("lower = 0 ", "lower = nan ", "lower"),
        ("lower = 0 ", "", "question 'bill', lower is missing"),
        ("lower = 0 ", "lowr = 0 ", "lowr is not a known key .did you mean 'lower'"),
        ('"ln 9"', "0", "epsilon"),
        ('"ln 9"', "51", "epsilon"),
        ("mean = 5_000 ", "mean = 30_000 ", "mean is 30000.0"),
        ("sd = 2_000 ", "sd = 30_000 ", "sd is 30000.0"),
        ("sd = 2_000 ", "correlation = 1.0 ", "correlation is not a known key"),
        ('model = "normal" ', 'model = "cauchy" ', "preferences"),
        ('model = "normal" ', "", "preferences"),
        ("sd = 1.5", "sdd = 1.5", "sd"),
        ("sd = 1.5", "sd = 0", "sd is 0.0"),
        ("sd = 1.5", "", "sd is missing"),
        ("mean = 5 ", 'mean = "5" ', "mean is '5'"),
        ('kind = "numeric"', 'kind = "numerical"', "kind is 'numerical' but must be one of"),
        ('kind = "numeric"', 'kind = "numeric"\nrule = "avg"', "rule"),
    ],
)
def test_mistakes_of_numbers(tmp_path, old, new, match):
    assert old in RATES
    file = tmp_path / "survey.toml"
    file.write_text(RATES.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError, match=match):
        plan_answer_rates(load_survey(file))


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("yes_counts = [37]", "yes_counts = [37, 2]", "one count per item"),
        ("yes_counts = [37]", "", "one count per item"),
        ('kind = "sampled-choice"', "", "left out"),
        ("[question.sampling]", "[question.simpling]", "did you mean 'sampling'"),
        ("cap = 0.45", "kap = 0.45", "did you mean 'cap'"),
        ('kind = "sampled-choice"', 'kind = "sampled-choice"\nrule = "avg"', "rule"),
        ("yes_counts = [37]", "yes_counts = [37.5]", "yes_counts"),
        ("cap = 0.45", "cap = 1.5", "cap"),
        ("yes_counts = [37]", "yes_counts = [99999]", "population"),
        ('"aggregates-only"', '"linkable"', "infinite"),
        ("# acknowledged = ", "acknowledged = 'yes' # ", "word for word"),
    ],
)
def test_mistakes_of_sampling_privacy(tmp_path, old, new, match):
    assert old in AGES
    file = tmp_path / "survey.toml"
    file.write_text(AGES.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError, match=match):
        plan_sampling_survey(load_survey(file))


def test_samples_that_cannot_be_read(tmp_path):
    file = tmp_path / "survey.toml"
    text = with_preferences('model = "sample"\nfile = "pilot.csv"\ncolumn = "eps"')
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="No such file"):
        load_survey(file)
    (tmp_path / "pilot.csv").write_text("eps\n")
    with pytest.raises(InputError, match="empty"):
        load_survey(file)
