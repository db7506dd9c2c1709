"""Ordered answers: best channels, bounds, plans."""

from itertools import combinations

import numpy as np
import pytest

from planner import (
    Categorical,
    Objective,
    Ordinal,
    PrivacyPolicy,
    Survey,
    best_design,
    plan_survey,
)
from planner.deployment.parameters import survey_parameters
from planner.estimates.channel import ChannelEstimates, OrderedEstimates
from planner.mechanisms.words import seeded_words
from planner.planning.channels import best_ordered_channel, policy_of_answers
from planner.show import kinds
from planner.show import plan as said
from planner.show.blocks import people
from planner.show.kinds import objective_name
from planner.show.targets import target_sentence
from planner.solvers.answers import Channel
from planner.survey.levels import Level, Target
from tests.refusals import refused


def rng(seed):
    return np.random.default_rng(seed)


def plain(epsilon, d):
    return PrivacyPolicy([epsilon] * d, [1] * d)


def test_counts_and_scores_and_weights():
    policy = plain(1.0, 5)
    counts = best_ordered_channel(policy, "counts")
    cumulative = best_ordered_channel(policy)
    added = np.cumsum(counts.estimator, axis=0)[:-1]
    numbers = cumulative.wanted, cumulative.wanted_names
    turned = Channel(policy, *numbers, counts.matrix, added, cumulative.scenarios)
    assert turned.worst_error > 1.2 * cumulative.worst_error
    mean = best_ordered_channel(policy, [0, 1, 2, 3, 4])
    two_ends = 16 * np.e / np.expm1(1) ** 2
    harmony = 4 / np.tanh(0.5) ** 2
    assert (
        two_ends < mean.worst_error < 0.86 * harmony
    )  # whose worst answer is the middle
    unimportant = best_ordered_channel(policy, weights=[1, 0, 1, 0])
    assert unimportant.bias < 1e-9  # and told all the same
    assert unimportant.worst_error < 0.7 * cumulative.worst_error
    first = best_ordered_channel(policy, weights=[1, 0.01, 0.01, 0.01])
    assert (
        first.covariance(np.eye(5)[4])[0, 0] < cumulative.covariance(np.eye(5)[4])[0, 0]
    )


@pytest.mark.parametrize(
    "arguments",
    [
        {"wanted": "median"},
        {"wanted": [1, 2]},
        {"wanted": [1, 1, 1]},
        {"weights": [1]},
        {"weights": [0, 0]},
    ],
)
def test_refusals(arguments):
    with refused("wanted", "weights"):
        best_ordered_channel(plain(1.0, 3), **arguments)
    with refused("answers"):
        best_ordered_channel(plain(1.0, 258))


LEVELS = (Level("ends", 1.0, ("0", "10+")), Level("middle", 2.0, ("1-4", "5-9")))
ORDER = ("0", "1-4", "5-9", "10+")
APART = (Level("low", 2.0, ("1-4",)), Level("high", 2.0, ("5-9",)))
QUESTION = Ordinal("hours", LEVELS, order=ORDER)
USERS = 10_000


@pytest.fixture(scope="module")
def planned():
    target = Target(error=0.02)
    asked = QUESTION.replacing(targets=(target,))
    survey = Survey("s", USERS, (asked,))
    plan = plan_survey(survey)
    return plan.questions[0]


def test_the_error_is_that_of_the_best_channel(planned):
    best = best_ordered_channel(policy_of_answers(QUESTION), tolerance=1e-7)
    assert planned.total_error == pytest.approx(
        np.sqrt(USERS * best.worst_error), rel=1e-4
    )
    assert planned.least_error <= np.sqrt(USERS * best.worst_error) * (1 + 1e-9)
    assert planned.least_error > 0.9999 * planned.total_error
    assert planned.error_share == pytest.approx(planned.total_error / USERS)
    names = [option.name for option in planned.options]
    assert names[0] == planned.deployed.mechanism == "channel"
    assert set(names) == {"channel", "subset-design", "grr"}


def test_response_has_its_closed_form(planned):
    """Counts of randomised response, added up: the variance of each sum, by hand."""
    p = np.e / (np.e + 3)
    q = 1 / (np.e + 3)
    matrix = np.full((4, 4), q) + (p - q) * np.eye(4)
    steps = np.tril(np.ones((4, 4)))[:-1]
    values = steps @ np.linalg.inv(matrix).T
    variances = (values**2) @ matrix.T - steps  # steps are 0 or 1
    expected = np.sqrt(USERS * variances.sum(axis=0).max())
    option = planned.option("grr")
    assert option.error == pytest.approx(expected, rel=1e-6)


def test_what_is_said(planned):
    assert objective_name(planned) == "total error of the cumulative shares"
    assert "for 4 ordered answers" in kinds.words(planned).report(planned)[0]
    (missed,) = planned.targets
    assert not missed.met
    expected = planned.error / 0.02**2
    assert missed.users == pytest.approx(expected, abs=1)


@pytest.fixture(scope="module")
def weighed():
    """Counts are wanted, those of the ends three times as much."""
    levels = (LEVELS[0].replacing(importance=3.0), LEVELS[1])
    asked = QUESTION.replacing(levels=levels, wanted="counts")
    survey = Survey("s", USERS, (asked,))
    return plan_survey(survey)


def test_counts_are_planned_as_by_the_solver_of_designs(weighed):
    (planned,) = weighed.questions
    policy = PrivacyPolicy([1.0, 2.0], [2, 2])
    weights = Objective(weights=[3.0, 1.0])
    design = best_design(policy, weights)
    best = design.value(weights)
    expected = np.sqrt(USERS * best)
    assert planned.total_error == pytest.approx(expected, rel=1e-4)
    plain = plan_survey(
        Survey("s", USERS, (QUESTION.replacing(wanted="counts"),))
    ).questions[0]
    error = np.sqrt(USERS * best_design(policy).worst_case_mse)
    assert plain.total_error == pytest.approx(error, rel=1e-4)
    assert objective_name(planned) == "weighted total error of the counts"
    assert [option.name for option in planned.options] == ["channel", "grr"]
    assert planned.least_error > 0.9999 * planned.total_error


def test_counts_add_up_to_shares_wherever_they_are_estimated(weighed):
    (planned,) = weighed.questions
    spread = planned.fact(Channel).covariance([0.25] * 4, drawn=True) / USERS
    steps = np.tril(np.ones((4, 4)))[:-1]
    assert planned.fact(OrderedEstimates).values == pytest.approx([0.25, 0.5, 0.75])
    assert planned.fact(OrderedEstimates).covariance == pytest.approx(
        steps @ spread @ steps.T
    )
    law = survey_parameters(weighed).questions[0].shape
    assert np.array(law.values) == pytest.approx(
        steps @ planned.fact(Channel).estimator, abs=1e-6
    )


SCORES = (0, 2, 7, 12)
MEAN = QUESTION.replacing(wanted="mean of scores", scores=SCORES)


def test_a_mean_is_planned_in_the_unit_of_its_scores():
    asked = MEAN.replacing(targets=(Target(error=0.01),))
    survey = Survey("s", USERS, (asked,))
    plan = plan_survey(survey)
    (of_mean,) = plan.questions
    best = best_ordered_channel(policy_of_answers(MEAN), SCORES, tolerance=1e-7)
    error = np.sqrt(best.worst_error / USERS)
    assert (of_mean.total_error, of_mean.least_error) == pytest.approx(
        (error, error), rel=1e-4
    )
    assert of_mean.error_share == pytest.approx(error / 6, rel=1e-4)
    assert of_mean.law.asked.counts_as() == [
        [0, 12, 2, 7]
    ]  # items stand level by level
    sentence = said.error_sentence(of_mean)
    assert "% of half the range; of people drawn" in sentence
    assert "among the people asked" in sentence
    assert (
        "of people drawn at random, at most: " + people(of_mean.drawn_error) in sentence
    )
    assert (
        "lowers the error of the mean by more"
        in kinds.certificate_sentences(of_mean)[0]
    )
    assert of_mean.fact(OrderedEstimates) is None
    (target,) = of_mean.targets
    assert "error of the mean at most 1 % of half" in target_sentence(of_mean, target)
    expected = best.worst_error / 36 / 0.01**2
    assert target.users == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("budget", [0.5, 2.0, 6.0])
def test_people_drawn_at_random_have_no_larger_error_of_a_mean(budget):
    """No shares of 2,000 have; two answers do, tried in a thousand steps. Drawn: 3,000 surveys,
    their squared error to 2.6 %: 13 % are 5 of these (6e-7); 1.35 times as much is refused."""
    scores = np.array([0.0, 2, 2, 7, 12])
    channel = best_ordered_channel(plain(budget, 5), scores)
    rng = np.random.default_rng(3)
    steps = np.linspace(0, 1, 1001)[:, None]
    ends = np.eye(5)
    pairs = []
    for i, j in combinations(range(5), 2):
        pairs.append(steps * ends[i] + (1 - steps) * ends[j])
    squares = channel.matrix @ np.square(channel.estimator[0])
    drawn = rng.dirichlet(np.full(5, 0.3), 2000), np.concatenate(pairs)
    some, two = (x @ squares - np.square(x @ scores) for x in drawn)
    assert some.max() <= channel.worst_drawn * (1 + 1e-12)
    assert two.max() == pytest.approx(channel.worst_drawn, rel=1e-5)
    shares = np.concatenate(pairs)[two.argmax()]
    means = (
        rng.multinomial(100, shares @ channel.matrix, 3000) @ channel.estimator[0] / 100
    )
    measured = 100 * np.square(means - shares @ scores).mean()
    assert measured == pytest.approx(channel.worst_drawn, rel=0.13)
    assert measured != pytest.approx(1.35 * channel.worst_drawn, rel=0.13)


def test_several_questions_share_the_budgets():
    other = Categorical("now", LEVELS)
    survey = Survey("s", USERS, (QUESTION, other))
    plan = plan_survey(survey)
    hours = plan.question("hours")
    assert [row.spent for row in hours.spending] == pytest.approx(
        [hours.part.share, 2 * hours.part.share]
    )
    assert "'hours' had IDUE opt0" in said.shares_sentence(plan, plan.allocation)
    file = survey_parameters(plan)
    assert file.questions[0].mechanism == "ordered-channel"
    assert (
        max(pair.realised for pair in file.questions[0].pairs) <= 2 * hours.part.share
    )
    alone = plan_survey(survey.replacing(design="one-each")).question("hours")
    assert alone.part.share == 1
    # Noise of a part of the people, and at most what their sample misses of three shares.
    noise = best_ordered_channel(policy_of_answers(QUESTION)).worst_error
    least = noise / alone.part.fraction
    most = noise / alone.part.fraction + (3 / 4) * (1 / alone.part.fraction - 1)
    assert least < alone.error <= most * (1 + 1e-5)
    proven = alone.part.total(least)  # what a sample misses is known from above only
    assert 0.999 * proven < alone.least_error <= proven * (1 + 1e-9)


@pytest.mark.parametrize(
    "answers", ["abc", "abcdefghijkl"]
)  # twelve are too many for a matrix
def test_large_budgets_are_spent_as_eight_without_a_bound(answers):
    level = Level("all", 12.0, tuple(answers))
    levels = (level,)
    question = Ordinal("q", levels)
    survey = Survey("s", 100, (question,))
    plan = plan_survey(survey)
    (planned,) = plan.questions
    assert planned.least_error is None
    assert planned.fact(Channel).max_violation == 0
    assert not kinds.certificate_sentences(planned)


# -- an answer outside the order ----------------------------------------------------------

NONE = Level("none", 0.6, ("?",))
OUTSIDE = Ordinal("hours", (*LEVELS, NONE), order=ORDER, no_answer="?")


def both_ways(channel):
    """Variances of the shares up to and above each answer, half and half, and of that of ``?``.

    Of people who all have one answer: nothing but the draws adds to them.
    """
    up_to = np.eye(4)[:3]
    answered = np.eye(4)[3]
    numbers = (
        np.vstack([up_to, answered - up_to, answered])
        * np.sqrt([*[0.5] * 6, 1.0])[:, None]
    )
    return [
        np.trace(numbers @ channel.covariance(person) @ numbers.T)
        for person in np.eye(5)
    ]


def test_an_answer_outside_the_order_is_judged_the_same_whichever_way_the_order_goes():
    policy = PrivacyPolicy([1.0, 2.0, 2.0, 1.0, 0.6], [1] * 5, names=[*ORDER, "?"])
    best = best_ordered_channel(policy, no_answer=True)
    expected = max(both_ways(best))
    assert best.worst_error == pytest.approx(expected, rel=1e-9)
    assert best.certificate.relative_gap < 1e-5
    turned = PrivacyPolicy(
        [1.0, 2.0, 2.0, 1.0, 0.6], [1] * 5, names=[*ORDER[::-1], "?"]
    )
    again = best_ordered_channel(turned, no_answer=True)
    assert again.worst_error == pytest.approx(best.worst_error, rel=1e-5)
    last = best_ordered_channel(
        policy
    )  # as if it were the highest: not the best for this
    assert max(both_ways(last)) > 1.01 * best.worst_error


def test_an_answer_outside_the_order_has_a_budget_a_weight_and_a_share_of_its_own():
    survey = Survey("s", USERS, (OUTSIDE,))
    plan = plan_survey(survey).questions[0]
    option = plan.option("channel")
    assert option.law.certificate.relative_gap < 1e-4
    assert plan.law.document()["no_answer"] is True
    assert "for 4 ordered answers and '?'" in kinds.words(plan).report(plan)[0]
    weighty = (*LEVELS, NONE.replacing(importance=50.0))
    heavy = plan_survey(
        Survey("s", USERS, (OUTSIDE.replacing(levels=weighty),))
    ).questions[0]
    last_answer = np.array([0.0, 0, 0, 1])
    errors = []
    for variant in (plan, heavy):
        errors.append(
            max(
                last_answer @ variant.option("channel").law.covariance(x) @ last_answer
                for x in np.eye(5)
            )
        )
    assert errors[1] < 0.95 * errors[0]


@pytest.mark.parametrize(
    "changes",
    [
        {"no_answer": "none"},
        {"scores": (0, 1, 2, 3, 4)},
        {"wanted": "mean of scores", "scores": (0, 1, 2, 3)},
        {"order": ("0", "1-4", "5-9", "5-9")},
        {"levels": (Level("a", 1.0, ("0", "?")),), "order": ("0",)},
    ],
)
def test_what_does_not_go_with_an_answer_outside_the_order(changes):
    with refused("no_answer", "order", "scores"):
        OUTSIDE.replacing(**changes)


def test_reports_tell_of_the_others_and_of_how_many_have_none():
    """Real draws: 6 standard errors each way for 11 numbers, 1e-7; and another mean is seen."""
    question = OUTSIDE.replacing(scores=(0, 2, 7, 12))
    survey = Survey("s", USERS, (question,))
    plan = plan_survey(survey)
    law = plan.questions[0].law
    codes = []
    for answer, number in (
        ("0", 2_000),
        ("1-4", 8_000),
        ("5-9", 20_000),
        ("10+", 10_000),
        ("?", 60_000),
    ):
        codes += [law.asked.code(answer)] * number
    (reports,) = law.draw_many(codes, seeded_words(rng(5)))
    counter = law.shape.counter()
    counter.add(np.ascontiguousarray(reports))
    rows = law.asked.rows(law.shape.estimate(counter.sums()), 0.95)
    scaled = rows.numbers / np.nan_to_num(rows.whole, nan=1.0)
    estimates = dict(zip(rows.answers, scaled.T, strict=True))
    true = {
        "0": 0.05,
        "1-4": 0.2,
        "5-9": 0.5,
        "10+": 0.25,
        "?": 0.6,
        "mean score": 6.9,
        "up to 0": 0.05,
        "up to 1-4": 0.25,
        "up to 5-9": 0.75,
    }
    expected = set(estimates) - {"lower quartile", "median", "upper quartile"}
    assert set(true) == expected
    for name, value in true.items():
        estimate, error = estimates[name][:2]
        assert abs(estimate - value) < 6 * error, name
    estimate, error = estimates["mean score"][:2]
    over_all = 0.4 * true["mean score"]  # as if whoever has none had 0
    assert abs(estimate - over_all) > 6 * error
    (median,) = [text for text in rows.processing if text.startswith("median")]
    assert median.startswith("median: 5-9")


def test_where_nobody_else_may_have_answered_any_share_is_possible():
    estimates = ChannelEstimates(np.array([0.01, 0.02]), np.eye(2) * 1e-4, 100)
    lost = OrderedEstimates(("a", "b"), *estimates.of_shares_up_to(no_answer=True))
    assert lost.band[0].tolist() == [0, 1]
    assert lost.band[1].tolist() == [1, 1]
    sure = ChannelEstimates(estimates.values, np.eye(2) * 1e-6, 100)
    assert sure.of_shares_up_to(no_answer=True).values.tolist() == [0.5]


@pytest.mark.parametrize("small", [0.002, 0.005, 0.009])
def test_scores_at_small_budgets_have_a_channel(small):
    """Some answers count alike, and columns that are kept may leave them together."""
    policy = PrivacyPolicy(np.array([5, 1, 5, 1, 1, 1, 1]) * small, [1] * 7)
    channel = best_ordered_channel(policy, [0, 1, 2, 14, 15, 18, 18])
    assert channel.certificate.relative_gap < 1e-3
    assert channel.worst_error == pytest.approx(
        (18 / 2) ** 2 / np.tanh(small / 2) ** 2, rel=0.02
    )
