"""Plans for sets of answers: padding lengths, whole sets, promises and predictions."""

import math
import os
import time
from datetime import date

import numpy as np
import pytest

from planner import (
    AssumedSets,
    FileError,
    Level,
    PilotSets,
    SetPromises,
    Survey,
    Target,
    plan_survey,
    solve,
)
from planner.deployment.parameters import survey_parameters
from planner.errors import PlannerError
from planner.mechanisms.inputs import ItemSets
from planner.mechanisms.making import padded, unary
from planner.mechanisms.set_design import best_set_design, set_error, set_error_bound
from planner.planning.datasets import set_model_of
from planner.planning.padding import plan_padding, plan_whole_sets
from planner.planning.sets import Padded
from planner.policy.policy import PrivacyPolicy
from planner.show.kinds import cap_sentence
from planner.show.promises import promises_of
from planner.survey.choices import Categorical, ItemSet
from planner.survey.tables import Reading
from tests.refusals import refused

POLICY = PrivacyPolicy([1.0, 1.2, 2.0], [2, 2, 6])
LEVELS = np.repeat([0, 1, 2], [2, 2, 6])


def random_sets(rng, users=60):
    sizes = rng.integers(0, 8, users)
    return ItemSets.of([rng.choice(10, size, replace=False) for size in sizes], 10)


def exact_mse(sets, length):
    """Bias and variance of these very sets, from the mechanism, per user."""
    mechanism = padded(unary(solve(POLICY)), length)
    bias2 = np.square(mechanism.bias(sets)).sum()
    variance = mechanism.variance(sets)
    return (bias2 + variance.sum()) / sets.users


def test_a_pilot_predicts_without_bias():
    # The mean over pilots of what is predicted for n people is the mean over such people.
    rng = np.random.default_rng(1)
    users = 60
    length = 3
    table = solve(POLICY)
    draws = [random_sets(rng) for _ in range(400)]
    predicted = [
        plan_padding(table, users, PilotSets(s, LEVELS)).mse[length - 1] for s in draws
    ]
    exact = [exact_mse(s, length) for s in draws]
    difference = np.mean(predicted) - np.mean(exact)
    error = np.hypot(np.std(predicted), np.std(exact)) / np.sqrt(len(draws))
    assert abs(difference) < 4.9 * error  # false alarm 1e-6
    assert (
        abs(difference - 0.1 * np.mean(exact)) > 4.9 * error
    )  # a 10 % miss is noticed


def test_all_people_as_their_own_pilot():
    rng = np.random.default_rng(2)
    sets = random_sets(rng)
    plan = plan_padding(solve(POLICY), sets.users, PilotSets(sets, LEVELS))
    n = sets.users
    for length in plan.lengths.tolist():
        mechanism = padded(unary(solve(POLICY)), length)
        variance = mechanism.variance(sets).sum() / n
        assert plan.variance[length - 1] == pytest.approx(variance, rel=1e-6)
    assert plan.bias2[-1] == 0  # nothing is cut at the largest set
    assert (np.diff(plan.bias2) <= 1e-12).all()


def test_the_flat_region_is_within_five_percent():
    sets = AssumedSets(np.ones(30))
    plan = plan_padding(solve(POLICY), 5000, sets)
    inside = (plan.lengths >= plan.flat_lower) & (plan.lengths <= plan.flat_upper)
    assert (plan.mse[inside] <= 1.05 * plan.mse.min()).all()
    for outside in (plan.flat_lower - 1, plan.flat_upper + 1):
        if 1 <= outside <= plan.lengths.size:
            assert plan.mse[outside - 1] > 1.05 * plan.mse.min()


def test_plans_that_do_not_fit_are_refused():
    with refused("users"):
        plan_padding(solve(POLICY), 0, AssumedSets([0, 1]))


TWO = (Level("a", 1.0, item_count=5), Level("b", 1.2, item_count=25))
LONG = AssumedSets([0, 1, 2, 3, 2, 1, 1, 1, 1, 1, 1])
SIZES = AssumedSets(sizes=[0.1, 0.2, 0.3, 0.2, 0.1, 0.1], popularity="uniform")


def planned(users=20_000, levels=TWO, **keys):
    asked = ItemSet("q", levels, **keys)
    survey = Survey("s", users, (asked,))
    plan = plan_survey(survey)
    return plan.questions[0]


def test_the_best_is_planned_and_has_less_error_than_what_draws_one():
    plan = planned(sets=SIZES)
    assert plan.deployed.mechanism == "set-design"
    drawn = next(option for option in plan.options if option.name == "opt0")
    assert drawn.error > 1.3 * plan.total_error
    assert survey_parameters(
        plan_survey(Survey("s", 20_000, (plan.part.asked,)))
    ).questions


def test_the_error_is_that_of_collections_drawn():
    """100 collections: their mean square is as predicted, false alarm 1e-6; 20 % more is seen."""
    rng = np.random.Generator(np.random.SFC64(3))
    plan = planned(users=2000, sets=SIZES)
    shares = np.array(SIZES.sizes) / sum(SIZES.sizes)
    errors = []
    for _ in range(100):
        sizes = rng.choice(shares.size, size=2000, p=shares)
        mixed = rng.random((2000, 30)).argsort(axis=1).tolist()
        sets = ItemSets.of(
            [row[:size] for row, size in zip(mixed, sizes, strict=True)], 30
        )
        reports = plan.mechanism.draw_aggregate(sets, rng)
        estimate = plan.mechanism.estimate(reports)
        errors.append(np.square(estimate.values - sets.counts()).sum())
    mean = np.mean(errors)
    error = np.std(errors) / math.sqrt(len(errors))
    assert abs(mean - plan.total_error**2) < 5.2 * error
    assert abs(mean - 1.2 * plan.total_error**2) > 5.2 * error


@pytest.mark.parametrize("users", [500, 20_000, 10**6])
def test_the_length_is_the_best_of_all(users):
    policy = PrivacyPolicy([1.0, 1.2], [5, 25])
    plan = plan_whole_sets(policy, None, users, SIZES)
    errors = []
    for length in range(1, 6):
        a, b = best_set_design(30, length, 1.0).support
        moments = SIZES.moments(length, policy.item_counts)
        held = np.minimum(np.arange(6), length) @ np.array(SIZES.sizes)
        assert length * moments.inclusion.sum() == pytest.approx(held)
        variance = 30 * b * (1 - b) + (1 - 2 * b) * (a - b) * held
        bias = (users - 1) * moments.squared_mean_loss + moments.squared_loss
        errors.append(
            variance / (a - b) ** 2 - length**2 * moments.squared_inclusion + bias
        )
    expected = 1 + int(np.argmin(errors))
    assert plan.length == expected
    expected = np.array(errors)
    assert plan.mse == pytest.approx(expected)


@pytest.mark.parametrize("split", [False, True])
def test_a_cap_is_promised_spent_and_worth_what_was_said(split):
    asked = ItemSet("q", TWO, padding_length=4)
    if split:
        other = (Categorical("other", TWO),)
    else:
        other = ()

    def plan_of(question):
        survey = Survey("s", 20_000, (question, *other), design="split")
        return plan_survey(survey)

    before = plan_of(asked).questions[0]
    promised = before.fact(SetPromises)
    assert promised.cap == promised.epsilon == pytest.approx(before.part.share)
    assert len(promises_of(before)) == 1
    cap, error = before.fact(SetPromises).larger_cap
    assert cap == pytest.approx(2)
    said = f"With a budget of 2 for any two sets the error is {error:,.0f} people"
    assert said in cap_sentence(before)
    sets = AssumedSets(cap=cap)
    plan = plan_of(asked.replacing(sets=sets))
    after = plan.questions[0]
    if not split:  # else its share is another, too
        assert after.total_error == pytest.approx(error)
        assert after.total_error < 0.75 * before.total_error
        assert plan.most_spent == 2.0
    promised = after.fact(SetPromises)
    assert (promised.epsilon, promised.cap) == pytest.approx(
        (after.part.share, 2 * after.part.share)
    )
    assert promised.larger_cap is None
    assert cap_sentence(after) == ""
    assert len(promises_of(after)) == 2
    assert survey_parameters(plan).questions[0].shape.cap == promised.cap


@pytest.mark.parametrize(
    "question",
    [ItemSet("q", TWO, padding_length=4), Categorical("q", TWO, mechanism="grr")],
    ids=["set-design", "grr"],
)
def test_what_protects_all_like_the_strictest_spends_no_more(question):
    survey = Survey("s", 20_000, (question,))
    plan = plan_survey(survey)
    (law,) = survey_parameters(plan).questions
    spent = plan.collection(date(2026, 3, 1)).spent
    assert spent == {"a": 1.0, "b": 1.0}
    assert 0.99 < max(pair.realised for pair in law.pairs) <= plan.most_spent == 1.0


def test_a_cap_that_is_planned_with_is_used_as_far_as_the_length_allows():
    before = planned(sets=SIZES)
    caps = [2.0, float(before.fact(Padded).length), 20.0]
    plans = [planned(sets=SIZES.replacing(cap=cap)) for cap in caps]
    assert plans[0].total_error < before.total_error
    for plan, cap in zip(plans, caps, strict=True):
        assert plan.fact(SetPromises).cap == pytest.approx(
            min(cap, plan.fact(Padded).length)
        )
    assert (
        planned(padding_length=3, sets=AssumedSets(cap=4.0)).fact(SetPromises).cap
        == 3.0
    )
    for sets in ({"sets": SIZES}, {"sets": AssumedSets(), "padding_length": 3}):
        with refused("cap of question 'q'"):
            planned(**sets | {"sets": sets["sets"].replacing(cap=0.5)})


def test_the_gap_is_to_the_bound_for_such_sets():
    plan = planned(padding_length=4)
    error = set_error(30, 4, *best_set_design(30, 4, 1.0).support)
    gap = error / set_error_bound(30, 4, 1.0, 1.0) - 1
    assert plan.fact(SetPromises).gap == pytest.approx(gap, rel=1e-6)
    expected = math.sqrt(20_000 * error)
    assert plan.total_error == pytest.approx(expected, rel=1e-6)
    beside = {}
    for option in plan.options:
        if option.compared:
            beside[option.name] = option.error
    assert beside.keys() == {"amplified-grr", "privset", "wheel"}
    assert beside["privset"] == pytest.approx(
        plan.total_error, rel=1e-6
    )  # the same, at one budget
    assert beside["wheel"] > 1.05 * plan.total_error
    with refused("mechanism of question 'q'"):
        planned(padding_length=4, mechanism="privset")


@pytest.mark.parametrize("rule", ["avg", ((1.0, 0.4), (0.4, 2.0))])
def test_any_rule_has_its_smallest_budget(rule):
    plan = planned(padding_length=3, rule=rule)
    assert plan.deployed.mechanism == "set-design"
    bounds = plan.deployed.policy.bounds()
    least = float(bounds.min())
    assert plan.fact(SetPromises).epsilon == pytest.approx(least)
    assert plan.mechanism.shape.largest() <= least
    assert {option.name for option in plan.all_options if option.refused} >= {"opt0"}
    with refused("rule"):
        planned(padding_length=3, rule=rule, mechanism="opt0")
    for names in ("q", "qr"):  # alone, and where questions share budgets
        questions = []
        for n in names:
            questions.append(
                ItemSet(n, TWO, padding_length=3, rule=rule, criterion="minimax")
            )
        with refused("set-design"):
            plan_survey(Survey("s", 20_000, questions))


@pytest.mark.parametrize(
    ("names", "known"), [("a", {"padding_length": 3}), ("ab", {"sets": LONG})]
)
def test_targets_of_sets_are_met_where_it_says_so(names, known):
    """Also where half of the people are asked, at the best length of any budget."""

    def answer(scale):
        levels = [level.replacing(epsilon=scale * level.epsilon) for level in TWO]
        questions = []
        for name in names:
            questions.append(
                ItemSet(name, levels, targets=[Target(error=0.05)], **known)
            )
        return (
            plan_survey(Survey("s", 20_000, questions, design="one-each"))
            .questions[0]
            .targets[0]
        )

    assert not answer(1.0).met
    scale = answer(1.0).budgets.scale
    assert [answer(scale * factor).met for factor in (1 + 1e-6, 0.99)] == [True, False]


def test_whole_sets_are_cut_before_their_law_fills_the_memory():
    policy = PrivacyPolicy([1.0], [1200])
    long = AssumedSets([0] * 1100 + [1])
    plan = plan_whole_sets(policy, None, 100, long)
    assert plan.lengths[-1] == 1024
    assert plan.uncut is None
    assert plan.lost[-1] == pytest.approx(76 / 1100)


def test_budgets_are_searched_until_a_cap_is_the_largest_there_is():
    target = Target(error=1e-4)
    plan = planned(sets=SIZES.replacing(cap=5.0), targets=[target])
    assert not plan.targets[0].budgets.possible


@pytest.mark.parametrize("epsilon", [1e-4, 0.17, 50.0])
@pytest.mark.parametrize("items", [1, 10**6])
@pytest.mark.parametrize(
    "sets", [None, AssumedSets(cap=50.0), AssumedSets(sizes=[1] * 301)]
)
def test_extreme_questions_are_planned_in_time_or_refused_by_name(items, epsilon, sets):
    if sets and sets.sizes:
        length = None
    else:
        length = 300
    level = Level("a", epsilon, item_count=items)
    start = time.process_time()
    try:
        question = ItemSet("q", (level,), padding_length=length, sets=sets)
        survey = Survey("s", 1000, (question,))
        plan = plan_survey(survey).questions[0]
    except PlannerError as error:
        assert error.remedy  # noqa: PT017 - either answer will do
    else:
        assert math.isfinite(plan.total_error)
        # Of the sixteen digits of both chances their difference has twelve.
        assert plan.fact(SetPromises) is None or plan.fact(SetPromises).gap > -1e-11
    assert time.process_time() - start < 2


# -- pilots of sets are read, and refused where they do not fit; what they tell of sets --


def written(tmp_path, text, name):
    (tmp_path / name).write_text(text)
    return tmp_path / name


def question(path, *levels, place=False):
    sets = AssumedSets(pilot=str(path), reading=Reading(place_unlisted=place))
    return ItemSet("q", levels, sets=sets)


NUMBERED = (Level("few", 1.0, item_count=2), Level("many", 2.0, item_count=40))
LISTED = (Level("few", 1.0, ("1", "2")), Level("many", 2.0, ("3",)))


@pytest.mark.parametrize(
    ("levels", "place", "few"),
    [
        (LISTED, False, 0.75),
        (NUMBERED, False, 0.75),
        (NUMBERED, True, 2 / 42),
    ],
)
def test_items_are_in_the_levels_that_have_them_or_spread_like_these(
    tmp_path, levels, place, few
):
    pilot = set_model_of(
        question(written(tmp_path, "3 1\n1\n", "p.dat"), *levels, place=place)
    )
    inclusion = pilot.moments(
        1, np.array([level.item_count for level in levels])
    ).inclusion
    assert inclusion == pytest.approx(
        [few, 1 - few]
    )  # of two people one has 1 alone and one has both
    assert pilot.mean_size == 1.5


@pytest.mark.parametrize(
    ("text", "levels"),
    [(" ".join(map(str, range(43))), NUMBERED), ("1 2\n4\n", LISTED)],
)
def test_a_file_is_read_when_it_is_there_changes_and_fits(tmp_path, text, levels):
    asked = question(tmp_path / "p.dat", *levels)
    with refused("No such file or directory", kind=FileError):
        set_model_of(asked)
    assert (
        set_model_of(question(written(tmp_path, "1\n2\n", "p.dat"), *levels)).largest
        == 1
    )
    os.utime(written(tmp_path, text, "p.dat"), ns=(1, 1))
    with refused(
        "'0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16...'",
        "'4' must be the name of an item of this question",
        kind=FileError,
    ):
        set_model_of(asked)


@pytest.mark.parametrize(
    ("sets", "levels"),
    [
        ([[0]], None),
        ([[], []], None),
        ([[0], [1]], np.zeros(2)),
    ],
)
def test_bad_pilots_are_refused(sets, levels):
    with refused("level_of", "pilot"):
        PilotSets(ItemSets.of(sets, 3), levels)


def literal(pilot, length, counts):
    """The moments one length at a time, from the definition."""
    sizes = pilot.sets.sizes
    members = pilot.sets.members
    n = pilot.sets.users
    chance = np.repeat(1 / np.maximum(sizes, length), sizes)
    lost = np.maximum(0.0, 1 - length * chance)
    total = np.bincount(members, lost)
    squared_mean_loss = max(0.0, (total @ total - lost @ lost) / (n * (n - 1)))
    inclusion = chance.sum() * counts / counts.sum()
    if pilot.level_of is not None:
        inclusion = np.bincount(pilot.level_of[members], chance, counts.size)
    return (
        squared_mean_loss,
        lost @ lost / n,
        inclusion / n,
        chance @ chance / n,
        lost.sum() / n,
    )


@pytest.mark.parametrize("seed", range(6))
def test_all_lengths_at_once_agree_with_the_definition(seed):
    rng = np.random.default_rng(seed)
    sets = []
    for _ in range(40):
        sets.append(rng.choice(12, rng.integers(0, 8), replace=False).tolist())
    if seed % 2:
        level_of = None
    else:
        level_of = rng.integers(0, 2, 12)
    pilot = PilotSets(ItemSets.of([*sets, [0, 1]], items=12), level_of)
    counts = np.array([5, 7, 3])
    lengths = np.arange(1, 11)
    together = pilot.moments(lengths, counts)
    assert together.inclusion.shape == (10, 3)
    for i, length in enumerate(lengths.tolist()):
        for all_lengths, alone, expected in zip(
            together,
            pilot.moments(length, counts),
            literal(pilot, length, counts),
            strict=True,
        ):
            np.testing.assert_allclose(all_lengths[i], expected, rtol=1e-10, atol=1e-13)
            np.testing.assert_allclose(alone, expected, rtol=1e-10, atol=1e-13)
    assert together.squared_mean_loss[0] > 0
    assert together.squared_mean_loss[-1] == 0
