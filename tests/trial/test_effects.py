"""Power of a model's effects: against closed forms of two groups, and against known answers."""

import json

import numpy as np
import pytest
from scipy.stats import norm

from planner import Categorical, Level, Numeric, Ordinal, Survey, plan_survey
from planner.deployment.collecting.formulas import read_model
from planner.deployment.parameters import survey_parameters
from planner.errors import FileError
from planner.show.blocks import Table
from planner.show.effects import power_blocks
from planner.survey.choices import ItemSet
from planner.survey.survey import survey_text
from planner.trial.effects import KnownPeople, effect_power
from tests.cli.running import shown
from tests.refusals import refused

REGION = (("region", ("north", "south")),)
# Forced response: 1/6 of the people say yes and 1/6 no, whatever is true.
FORCED = Categorical("ill", (Level("all", np.log(5), ("yes", "no")),), mechanism="grr")
SHARES = {"north": 0.2, "south": 0.3}
FORCED_TRUE = 5 / 6
FORCED_FALSE = 1 / 6


@pytest.fixture
def people_file(tmp_path):
    """1,000 people a region, of whom 20 and 30 % are ill."""
    rows = ["ill,region"]
    for region, share in SHARES.items():
        ill = round(1000 * share)
        rows += [f"yes,{region}"] * ill + [f"no,{region}"] * (1000 - ill)
    path = tmp_path / "people.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


def powers(
    question, path, formula, collections, people=None, link="linear", groups=REGION
):
    survey = Survey("s", 900, (question,), groups=groups)
    parameters = survey_parameters(plan_survey(survey))
    model = read_model(formula, link, parameters)
    known = KnownPeople.read(parameters, path, model)
    return effect_power(
        parameters,
        known,
        model,
        np.random.default_rng(3),
        collections=collections,
        people=people,
    )


def variance_of_drawn(share):
    """Of one forced response as an estimate, whose person is drawn: ``l (1 - l) / (a - b)^2``."""
    yes = FORCED_FALSE + share * (FORCED_TRUE - FORCED_FALSE)
    return yes * (1 - yes) / (FORCED_TRUE - FORCED_FALSE) ** 2


def power_of_two_groups(people):
    """Of a two-sided test at 5 % of two groups of half the people each."""
    variance = sum(variance_of_drawn(share) for share in SHARES.values())
    size = 0.1 / np.sqrt(variance / (people / 2))
    z = norm.ppf(0.975)
    return norm.cdf(size - z) + norm.cdf(-size - z)


def test_power_of_people_drawn_is_that_of_two_groups(people_file):
    """By 600 collections, to 5 deviations: a false alarm of less than 1e-6.

    781 people a group give a power of 80 %; a fifth fewer, 70 %, would be told apart from it.
    """
    collections = 600
    power = powers(FORCED, people_file, "yes ~ region", collections, people=1562)
    effect = power.effects[0]
    expected = power_of_two_groups(1562)
    assert expected == pytest.approx(0.8, abs=0.001)
    allowed = 5 * np.sqrt(expected * (1 - expected) / collections)
    assert abs(effect.told_apart - expected) < allowed
    assert expected - power_of_two_groups(1250) > allowed
    assert effect.monte_carlo_error == pytest.approx(allowed / 5, rel=0.15)
    assert effect.name == "region: south against north"
    assert effect.without_privacy == pytest.approx(0.1)
    # Asked directly 1,562 people show it nearly always: size .1 / sqrt((.16 + .21) / 781) = 4.6.
    assert effect.told_apart_without_privacy > 0.98


def test_people_of_the_file_stay_and_their_reports_alone_vary(people_file):
    """Of a fixed group the variance is that of the reports, ``a (1 - a) / (a - b)^2 / n``.

    Of 400 collections a variance is known to 7 %: 5 deviations are 36 %. That of people drawn is
    2.3 times as much.
    """
    power = powers(FORCED, people_file, "yes ~ region", 400)
    effect = power.effects[0]
    of_report = FORCED_TRUE * (1 - FORCED_TRUE) / (FORCED_TRUE - FORCED_FALSE) ** 2
    fixed = 2 * of_report / 1000
    assert effect.deviation**2 == pytest.approx(fixed, rel=0.36)
    drawn = sum(variance_of_drawn(share) for share in SHARES.values()) / 1000
    assert drawn > 1.36 * fixed
    assert abs(effect.mean - 0.1) < 5 * np.sqrt(fixed / 400)
    assert effect.told_apart_without_privacy in {0.0, 1.0}
    assert power.people == 2000


def test_an_answer_that_does_not_depend_on_groups_is_told_apart_in_a_twentieth(
    tmp_path,
):
    """Of 600 collections 5 %, to 5 deviations; twice as often would be seen."""
    path = tmp_path / "people.csv"
    alike = "yes,north\n" * 300 + "no,north\n" * 700
    path.write_text("ill,region\n" + alike + alike.replace("north", "south"))
    power = powers(FORCED, path, "yes ~ region", 600, people=2000)
    assert abs(power.effects[0].told_apart - 0.05) < 5 * np.sqrt(0.05 * 0.95 / 600)


LEVEL = (Level("all", 4.0, ("low", "mid", "high")),)
QUESTIONS = {
    "ordered": (Ordinal("q", LEVEL, scores=(0, 1, 4)), ["low", "mid", "high"]),
    "number": (Numeric("q", lower=0.0, upper=10.0, epsilon=4.0), ["2", "6.5", ""]),
    "set": (
        ItemSet("q", LEVEL, padding_length=2, sets=None),
        ["low", "low; mid", "high"],
    ),
}


@pytest.mark.parametrize("kind", QUESTIONS)
def test_every_kind_of_question_gives_the_effect_of_true_answers(tmp_path, kind):
    """The mean of 60 collections is within 6 of its deviations of the true effect."""
    question, cells = QUESTIONS[kind]
    path = tmp_path / "people.csv"
    rows = ["q,region"]
    for region, counts in (("north", (500, 300, 200)), ("south", (200, 300, 500))):
        for cell, count in zip(cells, counts, strict=True):
            rows += [f"{cell},{region}"] * count
    path.write_text("\n".join(rows) + "\n")
    power = powers(question, path, "q ~ region", 60)
    effects = {effect.outcome: effect for effect in power.effects[::2]}
    truth = {
        "ordered": {"up to low": -0.3, "up to mid": -0.3, "mean score": 1.2},
        "number": {"mean": (200 * 2 + 300 * 6.5) / 500 - (500 * 2 + 300 * 6.5) / 800},
        "set": {"low": -0.3, "mid": 0.0, "high": 0.3},
    }[kind]
    assert set(effects) == set(truth)
    for outcome, difference in truth.items():
        effect = effects[outcome]
        assert effect.without_privacy == pytest.approx(difference, abs=1e-9)
        assert abs(effect.mean - difference) < 6 * effect.deviation / np.sqrt(60)


def test_where_each_person_is_asked_one_question_errors_are_those_of_half(tmp_path):
    """Half of the people report: the variance of 300 collections, to 5 of its deviations."""
    path = tmp_path / "people.csv"
    rows = ["ill,hurt,region"]
    for region, share in SHARES.items():
        rows += [f"yes,no,{region}"] * round(1000 * share)
        rows += [f"no,yes,{region}"] * round(1000 - 1000 * share)
    path.write_text("\n".join(rows) + "\n")
    questions = (FORCED, FORCED.replacing(name="hurt"))
    survey = Survey("s", 900, questions, groups=REGION, design="one-each")
    parameters = survey_parameters(plan_survey(survey))
    model = read_model("ill[yes] ~ region", "linear", parameters)
    known = KnownPeople.read(parameters, path, model)
    rng = np.random.default_rng(3)
    power = effect_power(parameters, known, model, rng, collections=300)
    half = sum(variance_of_drawn(share) for share in SHARES.values()) / 500
    assert power.effects[0].deviation ** 2 == pytest.approx(half, rel=0.42)


def test_what_cannot_be_tried_is_refused(people_file, tmp_path):
    with refused("collections"):
        powers(FORCED, people_file, "yes ~ region", 1)
    with refused("people"):
        powers(FORCED, people_file, "yes ~ region", 10, people=1)
    north = tmp_path / "north.csv"
    north.write_text("ill,region\nyes,north\nno,north\n")
    with refused("model"):
        powers(FORCED, north, "yes ~ region", 10)
    twice = tmp_path / "twice.csv"
    twice.write_text("ill,region,side\nyes,north,left\nno,south,right\n")
    sides = (*REGION, ("side", ("left", "right")))
    with refused("model"):
        powers(FORCED, twice, "yes ~ region + side", 10, groups=sides)
    nobody = tmp_path / "nobody.csv"
    nobody.write_text("ill,region\nyes,\n,north\n")
    with refused("nobody has an answer to 'ill' and the groups", kind=FileError):
        powers(FORCED, nobody, "yes ~ region", 10)


def test_a_model_without_finite_coefficients_is_counted_and_said(tmp_path):
    """Of nobody who is ill in the south half of the collections have fewer than none."""
    path = tmp_path / "people.csv"
    north = "yes,north\n" * 50 + "no,north\n" * 50
    path.write_text("ill,region\n" + north + "no,south\n" * 100)
    power = powers(FORCED, path, "yes ~ region", 40, link="logit")
    assert 5 < power.unfitted["ill", "yes"] < 35
    assert power.effects[0].without_privacy is None


def test_no_row_is_marked_as_chosen(people_file):
    power = powers(FORCED, people_file, "yes ~ region", 2)
    tables = [block for block in power_blocks(power) if isinstance(block, Table)]
    assert [table.accent for table in tables] == [None, None]


def test_the_command_shows_power_beside_true_answers(people_file, tmp_path):
    survey = tmp_path / "survey.toml"
    text = survey_text(Survey("s", 900, (FORCED,), groups=REGION))
    survey.write_text(text)
    command = ("simulate", survey, "--data", people_file, "--repeats", "20")
    model = ("--model", "yes ~ region")
    page = shown(*command, *model)
    assert (
        "region: south against north" in page.replace("\n", " ") or "told apart" in page
    )
    assert "the 2,000 people of the file" in " ".join(page.split())
    printed = shown(*command, *model, "--people", "500", "--json")
    document = json.loads(printed)
    assert document["people"] == 500
    assert document["collections"] == 20
    assert document["effects"][0]["without_privacy"] == pytest.approx(0.1)
    printed = shown(*command, *model, "--people", "500", "--json")
    assert document == json.loads(printed)
    for wrong in (("--people", "500"), (*model, "--question", "ill")):
        with refused("people", "question"):
            shown(*command, *wrong)
