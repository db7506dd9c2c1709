"""Regression on known covariates: against maximum likelihood, and against deployed draws."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import binom

from planner import (
    Level,
    Ordinal,
    Survey,
    best_design,
    plan_survey,
    randomized_response,
)
from planner.errors import ConvergenceError
from planner.estimates.regression import PatternSums, fit
from planner.mechanisms.making import of_item
from planner.mechanisms.outcomes import outcome_names, outcome_of
from planner.mechanisms.subset_design import SidesCollected
from planner.policy.policy import PrivacyPolicy
from tests.refusals import refused

NAMES = ("constant", "age", "south")


def patterns():
    """Twenty ages in two regions: the constant, the age in decades, and 1 in the south."""
    ages = np.repeat(np.arange(20, 60, 2) / 10, 2)
    south = np.tile([0.0, 1.0], 20)
    return np.column_stack([np.ones(40), ages, south])


def shares(design, coefficients):
    return 1 / (1 + np.exp(-design @ np.array(coefficients)))


def forced_response(reports, people, a, b):
    """Sums of a yes-or-no answer that is reported with chance a by who has it, else b."""
    weight = (reports - b * people) / (a - b)
    square = (reports * (1 - b) ** 2 + (people - reports) * b**2) / (a - b) ** 2
    return PatternSums.of_answer(people, weight, square)


def supports_variance(a, b):
    def variance(share):
        chance = b + share * (a - b)
        return chance * (1 - chance) / (a - b) ** 2

    return variance


def test_of_supports_it_is_maximum_likelihood():
    """The binomial likelihood of forced response (Blair, Imai, Zhou 2015, eq. 3), maximised."""
    a = 5 / 6
    b = 1 / 6
    rng = np.random.default_rng(7)
    design = patterns()
    people = rng.integers(40, 80, 40).astype(float)
    truth = rng.binomial(people.astype(int), shares(design, (-1.0, 0.3, -0.5)))
    others = people.astype(int) - truth
    true_reports = rng.binomial(truth, a)
    false_reports = rng.binomial(others, b)
    reports = (true_reports + false_reports).astype(float)

    def minus_log_likelihood(coefficients):
        chance = b + shares(design, coefficients) * (a - b)
        return -binom.logpmf(reports, people, chance).sum()

    best = minimize(minus_log_likelihood, np.zeros(3), tol=1e-12, method="Nelder-Mead")
    sums = forced_response(reports, people, a, b)
    fitted = fit(NAMES, design, sums, supports_variance(a, b))
    assert fitted.coefficients == pytest.approx(best.x, abs=2e-5)
    # At the truth B is A on average: the sandwich is near the inverse of the information.
    share = shares(design, fitted.coefficients)
    chance = b + share * (a - b)
    slope = (a - b) * share * (1 - share)
    weights = people * slope**2 / (chance * (1 - chance))
    information = (design * weights[:, None]).T @ design
    expected = np.sqrt(np.diag(np.linalg.inv(information)))
    stated = np.sqrt(np.diag(fitted.covariance))
    assert stated == pytest.approx(expected, rel=0.1)


def by_expectation_maximisation(design, yes, a, b):
    """The published algorithm for forced response (Blair, Imai, Zhou 2015, section 3.1).

    The E step is everybody's chance to have the answer, given what they said; the M step one of
    Newton's for the logistic regression of these chances.
    """
    coefficients = np.zeros(design.shape[1])
    for _ in range(1000):
        share = shares(design, coefficients)
        if_had = share * np.where(yes, a, 1 - a)
        if_not = (1 - share) * np.where(yes, b, 1 - b)
        has = if_had / (if_had + if_not)
        weights = share * (1 - share)
        information = (design * weights[:, None]).T @ design
        score = design.T @ (has - share)
        step = np.linalg.solve(information, score)
        coefficients += step
        if np.abs(step).max() < 1e-11:
            return coefficients
    raise AssertionError("it did not converge")


def test_seven_coefficients_of_people_with_patterns_of_their_own():
    """A table of the kind of R's rr (2,457 people, forced response), to five digits and more.

    What rr's own data give, which are not here: -.34017, .07896, -.26743, -.35283, .04099,
    -.00691, -.55439 (constant, assets, married, age in decades and its square, education, female).
    """
    a = 5 / 6
    b = 1 / 6
    people = 2457
    rng = np.random.default_rng(2015)
    age = rng.integers(18, 76, people) / 10
    design = np.column_stack(
        [
            np.ones(people),
            rng.integers(0, 10, people),
            rng.integers(0, 2, people),
            age,
            age**2,
            rng.integers(0, 10, people),
            rng.integers(0, 2, people),
        ]
    )
    published = (-0.34017, 0.07896, -0.26743, -0.35283, 0.04099, -0.00691, -0.55439)
    has = rng.random(people) < shares(design, published)
    yes = rng.random(people) < np.where(has, a, b)
    names = ("constant", "assets", "married", "age", "age2", "education", "female")
    sums = forced_response(yes.astype(float), np.ones(people), a, b)
    fitted = fit(names, design, sums, supports_variance(a, b))
    best = by_expectation_maximisation(design, yes, a, b)
    assert fitted.coefficients == pytest.approx(best, abs=1e-8)
    # A near miss: chances that are 1 % off give coefficients that five digits tell apart.
    other = by_expectation_maximisation(design, yes, a + 0.01, b)
    assert np.abs(other - fitted.coefficients).max() > 1e-3


def one_level():
    return randomized_response(2.0, items=4)


def three_levels():
    policy = PrivacyPolicy([1.0, 2.0, 4.0], [1, 1, 2])
    return of_item("subset-design", SidesCollected.of(best_design(policy)))


def in_order():
    level = Level("all", 2.0, ("a", "b", "c", "d"))
    survey = Survey("s", 1000, (Ordinal("q", (level,)),))
    return plan_survey(survey).question("q").law


LAWS = {"one level": one_level, "three levels": three_levels}


@pytest.mark.parametrize("law_of", [one_level, three_levels, in_order])
def test_weights_of_reports_vary_as_stated(law_of):
    """Of 200,000 people whose answers are all as likely; a variance 3 % off is refused.

    A report's weight is bounded, so that its variance is known to .5 % or better: no false alarm
    in a million.
    """
    law = law_of()
    people = 200_000
    answers = np.full(4, people // 4)
    reports = law.shape.draw_aggregate(answers, np.random.default_rng(4))
    for number, name in enumerate(outcome_names(law), 1):
        outcome = outcome_of(law, name)
        weight, _, square, _, _ = outcome.sums_of(reports)
        measured = square / people - (weight / people) ** 2
        if name.startswith("up to"):
            share = number / 4
        else:
            share = 1 / 4
        stated = float(outcome.variance(np.array(share)))
        assert measured == pytest.approx(stated, rel=0.03)


def drawn_fit(law, design, people, coefficients, rng, link="logit"):
    """A model of the first answer from reports drawn by the law, pattern by pattern."""
    if link == "logit":
        mean = shares(design, coefficients)
    else:
        mean = design @ coefficients
    aggregates = []
    for number, share in zip(people, mean, strict=True):
        rest = (1 - share) / 3
        truth = rng.multinomial(number, [share, rest, rest, rest])
        reports = law.shape.draw_aggregate(truth, rng)
        aggregates.append(reports)
    outcome = outcome_of(law, outcome_names(law)[0])
    sums = outcome.pattern_sums(aggregates)
    return fit(NAMES, design, sums, outcome.variance, link)


@pytest.mark.parametrize("name", LAWS)
def test_drawn_reports_give_the_coefficients_and_their_stated_errors(name):
    """Of 60 collections: means within 5, variances within 6 standard deviations of chance.

    False alarms of a comparison are below 1e-6. Standard errors that were a third too small would
    be seen: the variance would be 2.25 times the stated one, where 2.1 is allowed.
    """
    law = LAWS[name]()
    rng = np.random.default_rng(11)
    design = np.vstack([patterns()[::8], patterns()[1::8]])
    people = np.full(10, 2000)
    truth = np.array([-1.0, 0.3, -0.5])
    scaled = []
    for _ in range(60):
        fitted = drawn_fit(law, design, people, truth, rng)
        errors = fitted.coefficients - truth
        stated = np.sqrt(np.diag(fitted.covariance))
        scaled.append(errors / stated)
    scaled = np.array(scaled)
    assert np.abs(scaled.mean(axis=0)).max() < 5 / np.sqrt(60)
    spread = np.square(scaled).mean(axis=0)
    assert spread.max() < 1 + 6 * np.sqrt(2 / 60)


@pytest.mark.parametrize("name", LAWS)
def test_limits_hold_the_truth_as_often_as_they_promise(name):
    """Of 250 collections of 2,000 people, to 5 deviations: a false alarm of less than 1e-6.

    Errors that were a quarter too small would hold 86 %, and be seen. The coefficients' limits
    hold the truth where the score there is within 1.96 standard errors.
    """
    law = LAWS[name]()
    rng = np.random.default_rng(12)
    design = np.vstack([patterns()[::8], patterns()[1::8]])
    truth = np.array([-1.0, 0.3, -0.5])
    south = design.copy()
    south[:, 2] = 1
    north = design.copy()
    north[:, 2] = 0
    draws = 250
    held = np.zeros(4)
    for _ in range(draws):
        people = rng.multinomial(2000, np.full(10, 0.1))
        fitted = drawn_fit(law, design, people, truth, rng)
        distance_of = fitted.equations.score_statistic
        for k in range(3):
            distance = distance_of(k, truth[k], fitted.coefficients)
            held[k] += abs(distance) < 1.959964
        effect = fitted.average_effect("south", south, north)
        shares_of_people = people / people.sum()
        differences = shares(south, truth) - shares(north, truth)
        true_effect = shares_of_people @ differences
        held[3] += effect.lower <= true_effect <= effect.upper
    deviation = np.sqrt(0.95 * 0.05 / draws)
    assert np.abs(held / draws - 0.95).max() < 5 * deviation


def test_limits_of_a_constant_are_those_of_the_score():
    """``(share - p)^2 n = z^2 (s^2 + (share - p)^2)`` has ``p = share +- z s / sqrt(n - z^2)``."""
    people = 400.0
    total = 100.0
    squares = 900.0
    sums = PatternSums.of_answer(
        np.array([people]), np.array([total]), np.array([squares])
    )
    (effect,) = fit(["constant"], np.ones((1, 1)), sums, np.ones_like).effects()
    share = total / people
    spread = np.sqrt(squares / people - share**2)
    half = 1.959964 * spread / np.sqrt(people - 1.959964**2)
    for limit, end in ((effect.lower, share - half), (effect.upper, share + half)):
        log_odds = np.log(end / (1 - end))
        assert limit == pytest.approx(log_odds, abs=1e-3)


def test_a_limit_is_open_where_nothing_is_ruled_out():
    """Of a share of 2 % with an error of 3 % no small share, however small, is."""
    people = 400.0
    sums = PatternSums.of_answer(
        np.array([people]), np.array([8.0]), np.array([0.36 * people])
    )
    (effect,) = fit(["constant"], np.ones((1, 1)), sums, np.ones_like).effects()
    assert effect.lower == -np.inf
    assert np.isfinite(effect.upper)


def test_at_its_limits_a_coefficient_is_as_far_as_the_confidence_allows():
    a = 5 / 6
    b = 1 / 6
    rng = np.random.default_rng(7)
    design = patterns()
    people = rng.integers(40, 80, 40).astype(float)
    share = shares(design, (-1.0, 0.3, -0.5))
    reports = rng.binomial(people.astype(int), b + share * (a - b))
    sums = forced_response(reports.astype(float), people, a, b)
    fitted = fit(NAMES, design, sums, supports_variance(a, b))
    for k, effect in enumerate(fitted.effects()):
        for limit, side in ((effect.lower, 1), (effect.upper, -1)):
            distance = fitted.equations.score_statistic(k, limit, fitted.coefficients)
            assert distance == pytest.approx(side * 1.959964, abs=2e-3)
        # The test at 0 and the limits say the same.
        expected = not effect.lower <= 0 <= effect.upper
        assert (effect.p < 0.05) == expected


def test_a_linear_model_is_weighted_least_squares_of_unbiased_weights():
    design = np.array([[1.0, 0.0], [1.0, 1.0]])
    people = np.array([100.0, 300.0])
    sums = PatternSums.of_answer(
        people, np.array([20.0, 150.0]), np.array([90.0, 400.0])
    )
    fitted = fit(("constant", "south"), design, sums, np.ones_like, "linear")
    assert fitted.coefficients == pytest.approx([0.2, 0.3])
    # The sandwich of a saturated model: the variance of each mean.
    north = (90 / 100 - 0.2**2) / 100
    south = (400 / 300 - 0.5**2) / 300
    expected = [north, north + south]
    assert np.diag(fitted.covariance) == pytest.approx(expected)


def test_weights_count_a_person_for_more():
    design = np.ones((2, 1))
    people = np.array([100.0, 100.0])
    weights = np.array([3.0, 1.0])
    sums = PatternSums.of_answer(people, np.array([20.0, 60.0]), np.array([50.0, 90.0]))
    fitted = fit(["constant"], design, sums, np.ones_like, "linear", weights)
    assert fitted.coefficients == pytest.approx([(3 * 20 + 60) / 400])


def test_predictions_and_effects_are_what_the_coefficients_say():
    design = np.array([[1.0, 0.0], [1.0, 1.0]])
    people = np.array([1000.0, 3000.0])
    sums = PatternSums.of_answer(people, np.array([200.0, 1500.0]), 1.2 * people)
    fitted = fit(("constant", "south"), design, sums, np.ones_like)
    north = np.array([[1.0, 0.0], [1.0, 0.0]])
    south = np.array([[1.0, 1.0], [1.0, 1.0]])
    assert fitted.predicted("north", north).value == pytest.approx(0.2)
    assert fitted.predicted("all", design).value == pytest.approx(1700 / 4000)
    effect = fitted.average_effect("south", south, north)
    assert effect.value == pytest.approx(0.3)
    variance_north = (1.2 - 0.2**2) / 1000
    variance_south = (1.2 - 0.5**2) / 3000
    error = np.sqrt(variance_north + variance_south)
    assert effect.standard_error == pytest.approx(error)
    assert effect.lower == pytest.approx(0.3 - 1.959964 * error)


def test_what_cannot_be_told_is_refused():
    design = np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 1.0]])
    people = np.array([100.0, 100.0])
    sums = PatternSums.of_answer(people, np.array([20.0, 60.0]), np.array([50.0, 90.0]))
    with refused("model"):
        fit(("constant", "south", "twice"), design, sums, np.ones_like)
    never = PatternSums.of_answer(
        people, np.array([-5.0, 60.0]), np.array([50.0, 90.0])
    )
    with refused("no finite coefficients", kind=ConvergenceError):
        fit(("constant", "south"), design[:, :2], never, np.ones_like)
