import json

import numpy as np
import pytest

from planner.errors import FileError, InputError
from planner.planning.answer_rates import plan_answer_rates
from planner.survey.file import load_survey, survey_from_text
from tests.cli.running import shown
from tests.surveys import EXAMPLES

EXAMPLE = EXAMPLES / "answer-rate.toml"
TEXT = EXAMPLE.read_text(encoding="utf-8")


@pytest.fixture
def few_channels(monkeypatch):
    """The best channel at six budgets, not sixty: for tests that are about something else."""
    monkeypatch.setattr("planner.planning.answer_rates._BUDGETS", 6)


def test_page_is_readable_in_80_columns():
    page = shown("answer-rate", EXAMPLE)
    assert max(map(len, page.splitlines())) <= 80
    words = " ".join(page.split())
    assert "Best budget for the mean: epsilon 3.157" in words
    assert "Any epsilon in 2.48 to 3.87 is within 5% of the best" in words
    assert "Offered now: epsilon 2.197" in words
    assert "TOP" in words
    assert 'With the best channel (mechanism = "channel"): epsilon 4.236. 69.5% answer' in words
    assert "61% less" in words


def test_json_says_the_same():
    document = json.loads(shown("answer-rate", EXAMPLE, "--json"))["bill"]
    assert round(document["best"]["epsilon"], 3) == 3.157
    channel = document["channel"]
    assert round(channel["best"]["epsilon"], 2) == 4.24
    assert min(e for e in channel["mean_rmse"] if e) == pytest.approx(channel["best"]["rmse"], 0.01)
    columns = document["curve"]
    assert {len(column) for column in columns.values()} == {200}
    assert len(document["forced_answers"]["top"]["mean_bias"]) == 200


@pytest.mark.usefixtures("few_channels")
def test_an_undefined_error_is_null_not_nan(tmp_path):
    file = tmp_path / "survey.toml"
    file.write_text(TEXT.replace('"ln 9"', "30"), encoding="utf-8")
    assert "NaN" not in shown("answer-rate", file, "--json")
    sample = 'model = "sample"\nfile = "pilot.csv"'
    file.write_text(_with_preferences(sample).replace('"ln 9"', "30"), encoding="utf-8")
    (tmp_path / "pilot.csv").write_text("epsilon\n2\n3\n3\n4\n")
    assert "nobody answers" in shown("answer-rate", file)
    assert json.loads(shown("answer-rate", file, "--json"))["bill"]["best"]["epsilon"] in (
        2.0,
        3.0,
        4.0,
    )


@pytest.mark.usefixtures("few_channels")
def test_few_people_get_a_warning(tmp_path):
    file = tmp_path / "survey.toml"
    file.write_text(TEXT.replace("100_000", "5"), encoding="utf-8")
    assert "Too few people answer" in shown("answer-rate", file)


@pytest.mark.usefixtures("few_channels")
def test_without_an_offer_nothing_is_compared_with_it(tmp_path):
    file = tmp_path / "survey.toml"
    offer = next(line for line in TEXT.splitlines() if line.startswith("epsilon"))
    file.write_text(TEXT.replace(offer, ""), encoding="utf-8")
    page = shown("answer-rate", file)
    assert "Best budget for the mean" in page
    assert "Offered now" not in page


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
    survey = survey_from_text(_with_preferences(preferences))
    plan = plan_answer_rates(survey)["bill"]
    assert 0 < plan.best.flat_lower < plan.best.epsilon < plan.best.flat_upper < 50


def test_survey_reaches_the_model():
    question = load_survey(EXAMPLE).questions[0]
    assert question.numeric.epsilon == np.log(9)
    model = plan_answer_rates(load_survey(EXAMPLE))["bill"].model
    assert (model.domain.lower, model.domain.upper) == (0, 20_000)
    assert (model.mean, model.sd, model.users) == (5000, 2000, 100_000)
    with pytest.raises(InputError, match="one budget for all"):
        _ = question.policy


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
def test_mistakes_are_named(tmp_path, old, new, match):
    assert old in TEXT
    file = tmp_path / "survey.toml"
    file.write_text(TEXT.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError, match=match):
        shown("answer-rate", file)


def test_misspelt_keys_get_a_hint():
    with pytest.raises(FileError, match="did you mean 'sd'"):
        survey_from_text(TEXT.replace("sd = 1.5", "sd = 1.5\nsdd = 2"))
    with pytest.raises(FileError, match="did you mean 'upper'"):
        survey_from_text(TEXT.replace("upper = 20_000", "upper = 20_000\nuper = 1"))
    with pytest.raises(FileError, match="preferences, model"):
        survey_from_text(TEXT.replace('model = "normal" ', 'model = "cauchy" '))


def test_samples_that_cannot_be_read(tmp_path):
    file = tmp_path / "survey.toml"
    text = _with_preferences('model = "sample"\nfile = "pilot.csv"\ncolumn = "eps"')
    file.write_text(text, encoding="utf-8")
    with pytest.raises(FileError, match="No such file"):
        shown("answer-rate", file)
    (tmp_path / "pilot.csv").write_text("eps\n")
    with pytest.raises(FileError, match="empty"):
        shown("answer-rate", file)


def test_surveys_without_a_numeric_question_are_refused():
    health = load_survey(EXAMPLE.with_name("health.toml"))
    with pytest.raises(InputError, match="'numeric'"):
        plan_answer_rates(health)


def _with_preferences(preferences):
    return TEXT.split("[question.preferences]")[0] + "[question.preferences]\n" + preferences
