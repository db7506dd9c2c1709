"""Models of reports in files, by declared groups: from a formula to a table and a page."""

import numpy as np
import pytest

from planner import Categorical, Level, Numeric, Ordinal, Survey, plan_survey
from planner.deployment.collecting.formulas import read_model
from planner.deployment.collecting.modelling import (
    COEFFICIENT,
    EFFECT,
    PREDICTED,
    model_rows,
    model_table,
)
from planner.deployment.parameters import survey_parameters
from planner.mechanisms.counting import Aggregate
from planner.survey.survey import survey_from_text, survey_text
from planner.survey.values import NumberGroup
from tests.cli.running import shown
from tests.refusals import refused

AGES = NumberGroup(20, 60, step=10)
GROUPS = (("region", ("north", "south")), ("age", AGES))
LEVELS = (Level("rare", 2.0, ("ill",)), Level("usual", 4.0, ("well", "unsure")))
QUESTIONS = (
    Categorical("health", LEVELS),
    Numeric("hours", lower=0.0, upper=40.0, epsilon=4.0),
    Ordinal("pain", (Level("any", 3.0, ("none", "some", "much")),), scores=(0, 1, 3)),
)


@pytest.fixture(scope="module")
def parameters():
    survey = Survey("s", 50_000, QUESTIONS, groups=GROUPS)
    return survey_parameters(plan_survey(survey))


def collected(parameters, question, people_of, rng):
    """Counts of every region and age, drawn by the deployed law."""
    law = parameters.question(question)
    by_group = {}
    for region in parameters.groups["region"]:
        for age in parameters.groups["age"]:
            elements = people_of(region, int(age), rng)
            counted = law.shape.draw_aggregate(elements, rng)
            by_group[region, age] = {(question, None): counted}
    return by_group


def figures(rows, kind):
    return {row.effect.name: row.effect for row in rows if row.kind == kind}


def test_a_number_of_the_survey_is_read_and_written():
    survey = Survey("s", 50_000, QUESTIONS, groups=GROUPS)
    again = survey_from_text(survey_text(survey))
    assert again == survey
    assert dict(again.groups)["age"].values == ("20", "30", "40", "50", "60")


@pytest.mark.parametrize(
    ("table", "code"),
    [
        ({"kind": "name", "lower": 1, "upper": 2}, "groups.age.kind"),
        ({"kind": "number", "lower": 1.5, "upper": 2}, "groups.age.lower"),
        ({"kind": "number", "lower": 1}, "groups.age.upper"),
        ({"kind": "number", "lower": 3, "upper": 3}, "groups.age"),
        ({"kind": "number", "lower": 0, "upper": 10_000}, "groups.age"),
        ({"kind": "number", "lower": 0, "upper": 9, "step": 0}, "groups.age.step"),
        ({"kind": "number", "lower": 0, "upper": 9, "by": 1}, "groups.age"),
    ],
)
def test_numbers_that_are_none_are_refused(table, code):
    with refused(code):
        Survey("s", 10, QUESTIONS[:1], groups={"age": table})


def test_shares_by_age_and_region_come_back(parameters):
    """Every figure within 6 of its standard errors, a false alarm below 1e-7 for all of them."""
    people = 6000

    def ill_people(region, age, rng):
        share = 0.1 + 0.2 * (region == "south") + 0.004 * (age - 20)
        return rng.multinomial(people, [share, 0.5 * (1 - share), 0.5 * (1 - share)])

    by_group = collected(parameters, "health", ill_people, np.random.default_rng(5))
    model = read_model("ill ~ region + age", "linear", parameters)
    rows = model_rows(parameters, by_group, model)
    coefficients = figures(rows, COEFFICIENT)
    for name, truth in (
        ("constant", 0.02),
        ("region = south", 0.2),
        ("age", 0.004),
    ):
        assert (
            abs(coefficients[name].value - truth)
            < 6 * coefficients[name].standard_error
        )
    predicted = figures(rows, PREDICTED)
    assert (
        abs(predicted["everybody"].value - 0.28)
        < 6 * predicted["everybody"].standard_error
    )
    assert list(figures(rows, EFFECT)) == [
        "region: south against north",
        "one more of age",
    ]
    # A slope that were 0 would be seen: it is more than 6 standard errors away.
    assert coefficients["age"].value > 6 * coefficients["age"].standard_error


def test_in_a_saturated_model_each_prediction_is_the_groups_own_estimate(parameters):
    def ill_people(_region, _age, rng):
        return rng.multinomial(500, [0.3, 0.4, 0.3])

    by_group = collected(parameters, "health", ill_people, np.random.default_rng(6))
    model = read_model("health[ill] ~ region", "logit", parameters)
    predicted = figures(model_rows(parameters, by_group, model), PREDICTED)
    law = parameters.question("health")
    for region in ("north", "south"):
        total = Aggregate(0, 0 * by_group["north", "20"]["health", None].counts)
        for group, sums in by_group.items():
            if group[0] == region:
                total = total + sums["health", None]
        estimates = law.estimate(total)
        share = estimates.values[0] / total.users
        assert predicted[f"region = {region}"].value == pytest.approx(share, rel=1e-8)


def test_means_of_numbers_with_refusals_and_scores(parameters):
    """The mean of those who answer, and of scores: within 6 standard errors of the truth."""
    rng = np.random.default_rng(8)
    hours = parameters.question("hours")

    def hour_people(region, age, rng):
        answers = np.full(2000, age / 2 + (5.0 if region == "south" else 0.0))
        answers[:400] = np.nan
        return hours.asked.own_counts(answers, rng)

    by_group = collected(parameters, "hours", hour_people, rng)
    rows = model_rows(
        parameters, by_group, read_model("hours ~ region + age", "logit", parameters)
    )
    coefficients = figures(rows, COEFFICIENT)
    for name, truth in (
        ("constant", 0.0),
        ("region = south", 5.0),
        ("age", 0.5),
    ):
        assert (
            abs(coefficients[name].value - truth)
            < 6 * coefficients[name].standard_error
        )

    def pain_people(region, _age, rng):
        return rng.multinomial(
            2000, [0.5, 0.3, 0.2] if region == "north" else [0.2, 0.3, 0.5]
        )

    by_group = collected(parameters, "pain", pain_people, rng)
    rows = model_rows(
        parameters, by_group, read_model("mean score ~ region", "logit", parameters)
    )
    predicted = figures(rows, PREDICTED)
    for name, truth in (("region = north", 0.9), ("region = south", 1.8)):
        assert abs(predicted[name].value - truth) < 6 * predicted[name].standard_error


@pytest.mark.parametrize("stated", ["weights", "population"])
def test_a_model_weights_people_even_where_it_does_not_name_the_group(stated):
    """A constant alone is what is weighted by hand; of a population each part is of its people."""
    parts = {stated: (("north", 0.8), ("south", 0.2))}
    survey = Survey("s", 50_000, QUESTIONS[:1], groups=GROUPS, **parts)
    parameters = survey_parameters(plan_survey(survey))
    people = {"north": 400, "south": 900}

    def ill_people(region, _age, rng):
        if region == "north":
            share = 0.1
        else:
            share = 0.5
        return rng.multinomial(
            people[region], [share, 0.5 - share / 2, 0.5 - share / 2]
        )

    by_group = collected(parameters, "health", ill_people, np.random.default_rng(6))
    model = read_model("health[ill] ~ 1", "linear", parameters)
    rows = model_rows(parameters, by_group, model)
    law = parameters.question("health")
    counted = {"north": 0.0, "south": 0.0}
    for (region, _), sums in by_group.items():
        estimates = law.estimate(sums["health", None])
        counted[region] += estimates.values[0]
    size = len(AGES.values)
    if stated == "population":  # shares of each region, by its part of the population
        by_hand = 0.8 * counted["north"] / (400 * size)
        by_hand += 0.2 * counted["south"] / (900 * size)
    else:
        weighted = 0.8 * counted["north"] + 0.2 * counted["south"]
        by_hand = weighted / (0.8 * 400 * size + 0.2 * 900 * size)
    assert figures(rows, PREDICTED)["everybody"].value == pytest.approx(by_hand)


def test_all_answers_at_once_and_interactions(parameters):
    def ill_people(_region, _age, rng):
        return rng.multinomial(500, [0.3, 0.4, 0.3])

    by_group = collected(parameters, "health", ill_people, np.random.default_rng(6))
    model = read_model("health ~ region * age", "linear", parameters)
    assert model.outcomes == (
        ("health", "ill"),
        ("health", "well"),
        ("health", "unsure"),
    )
    table = model_table(parameters, by_group, model).to_pandas()
    names = set(table[table["of"] == COEFFICIENT]["level"])
    assert names == {"constant", "region = south", "age", "region = south x age"}
    both = table[table["level"] == "region = south x age"]
    assert list(both["answer"]) == ["ill", "well", "unsure"]
    # Answers do not depend on groups here: 6 standard errors, a false alarm below 1e-8.
    assert (both["estimate"].abs() < 6 * both["standard_error"]).all()


@pytest.mark.parametrize(
    ("formula", "link"),
    [
        ("ill", "logit"),
        ("ill ~ region +", "logit"),
        ("ill ~ sex", "logit"),
        ("sick ~ age", "logit"),
        ("health[sick] ~ age", "logit"),
        ("ill ~ np.log(age)", "logit"),
        ("ill ~ __import__('os').getcwd()", "logit"),
        ("ill ~ {age + 1}", "logit"),
        ("ill ~ age", "probit"),
    ],
)
def test_what_is_no_model_is_refused_before_anything_is_counted(
    parameters, formula, link
):
    with refused("model", "link"):
        read_model(formula, link, parameters)


def test_from_a_survey_to_a_model_on_the_command_line(tmp_path):
    (tmp_path / "survey.toml").write_text(
        '[survey]\nname = "clinic"\nusers = 900\n'
        'groups = { region = ["north", "south"], age = { kind = "number", lower = 20, upper = 60, '
        'step = 20 } }\n[[question]]\nname = "q"\n[[question.level]]\nname = "all"\n'
        'epsilon = 5.0\nitems = ["HIV", "flu", "none"]\n'
    )
    shown("plan", tmp_path / "survey.toml", "--out", tmp_path / "params.json")
    for region in ("north", "south"):
        for age in ("20", "40", "60"):
            answers = "HIV\n" * (60 if region == "north" else 120) + "none\n" * 240
            (tmp_path / "a.csv").write_text("q\n" + answers)
            out = tmp_path / "reports" / f"region={region}" / f"age={age}" / "a.parquet"
            out.parent.mkdir(parents=True)
            data = ("--data", tmp_path / "a.csv", "--out", out)
            shown("perturb", tmp_path / "params.json", *data)
    command = ("aggregate", tmp_path / "params.json", tmp_path / "reports")
    options = ("--model", "HIV ~ region + age", "--out", tmp_path / "e.csv")
    page = shown(*command, *options, "--report", tmp_path / "r.html")
    assert "region: south against north" in page
    assert "Coefficients" not in page
    assert "Coefficients" in (tmp_path / "r.html").read_text()
    assert "region = south" in (tmp_path / "e.csv").read_text()


@pytest.mark.parametrize("square", ["I(age**2)", "{age**2}", "I((age - 40)**2)"])
def test_a_squared_number_follows_a_curve(parameters, square):
    """Most are ill at forty: every figure within 6 standard errors, a false alarm of 1e-8 each."""

    def share_at(age):
        return 0.5 - 0.001 * (age - 40) ** 2

    def ill_people(_region, age, rng):
        share = share_at(age)
        return rng.multinomial(6000, [share, 0.5 * (1 - share), 0.5 * (1 - share)])

    by_group = collected(parameters, "health", ill_people, np.random.default_rng(12))
    model = read_model(f"ill ~ age + {square}", "linear", parameters)
    rows = model_rows(parameters, by_group, model)
    coefficients = figures(rows, COEFFICIENT)
    name = "(age - 40)^2" if "40" in square else "age^2"
    curved = coefficients[name]
    assert abs(curved.value + 0.001) < 6 * curved.standard_error
    assert curved.value < -6 * curved.standard_error
    predicted = figures(rows, PREDICTED)
    for age in (30, 40, 50):
        figure = predicted[f"age = {age}"]
        assert abs(figure.value - share_at(age)) < 6 * figure.standard_error
    # On average over these ages one more year changes nothing; a line alone has that slope, too,
    # and misses the top by far.
    (effect,) = figures(rows, EFFECT).values()
    assert abs(effect.value) < 6 * effect.standard_error
    straight = model_rows(
        parameters, by_group, read_model("ill ~ age", "linear", parameters)
    )
    top = figures(straight, PREDICTED)["age = 40"]
    assert share_at(40) - top.value > 6 * top.standard_error


def test_a_square_with_a_group_is_a_curve_for_each(parameters):
    def ill_people(region, age, rng):
        share = 0.3 + (region == "south") * 0.0005 * (age - 40) ** 2
        return rng.multinomial(6000, [share, 0.5 * (1 - share), 0.5 * (1 - share)])

    by_group = collected(parameters, "health", ill_people, np.random.default_rng(13))
    model = read_model("ill ~ region * I((age - 40)**2)", "logit", parameters)
    rows = model_rows(parameters, by_group, model)
    coefficients = figures(rows, COEFFICIENT)
    assert abs(coefficients["(age - 40)^2"].value) < (
        6 * coefficients["(age - 40)^2"].standard_error
    )
    both = coefficients["region = south x (age - 40)^2"]
    assert both.value > 6 * both.standard_error


@pytest.mark.parametrize(
    "text",
    [
        "ill ~ age**2",
        "ill ~ age + age^2",
        "ill ~ I(region**2)",
        "ill ~ I(age**2.5)",
        "ill ~ I(age**12)",
        "ill ~ I(age^2)",
        "ill ~ poly(age, 2)",
        "ill ~ I(__import__('os').getpid()**2)",
        "ill ~ I(age**2 + region**2)",
    ],
)
def test_what_is_no_power_of_a_number_is_refused(parameters, text):
    with refused("model"):
        read_model(text, "logit", parameters)


def test_where_a_group_is_called_as_the_function_no_power_is_read():
    survey = Survey("s", 50, QUESTIONS[:1], groups=(("I", AGES), ("age", AGES)))
    parameters = survey_parameters(plan_survey(survey))
    with refused("model"):
        read_model("ill ~ I(age**2)", "logit", parameters)
    assert read_model("ill ~ I + age", "logit", parameters).variables == ("I", "age")


def test_a_power_that_digits_cannot_tell_apart_is_refused():
    """Of years of birth the third power follows nearly from the others; not from the middle."""
    years = NumberGroup(1920, 2004, step=4)
    survey = Survey("s", 50_000, QUESTIONS[:1], groups=(("born", years),))
    parameters = survey_parameters(plan_survey(survey))
    law = parameters.question("health")
    rng = np.random.default_rng(3)
    by_group = {}
    for value in parameters.groups["born"]:
        counted = law.shape.draw_aggregate(np.array([300, 400, 300]), rng)
        by_group[(value,)] = {("health", None): counted}
    far = "ill ~ born + I(born**2) + I(born**3)"
    with refused("model"):
        model_rows(parameters, by_group, read_model(far, "linear", parameters))
    near = "ill ~ born + I((born - 1960)**2) + I((born - 1960)**3)"
    rows = model_rows(parameters, by_group, read_model(near, "linear", parameters))
    everybody = figures(rows, PREDICTED)["everybody"]
    assert abs(everybody.value - 0.3) < 6 * everybody.standard_error
