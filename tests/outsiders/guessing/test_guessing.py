"""Best guesses: by the formula, by listing all reports, and by simulation."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import binom

from planner import (
    GeneralizedRandomizedResponse,
    OptimizedLocalHashing,
    PrivacyPolicy,
    SubsetSelection,
    UnaryMechanism,
    best_design,
    solve,
)
from planner.errors import InputError
from planner.mechanisms.subset_design import SubsetDesignMechanism
from planner.mechanisms.unary import unary_law
from planner.outsiders import (
    AskedQuestion,
    DesignGuessing,
    Guess,
    HashGuessing,
    MatrixGuessing,
    SubsetGuessing,
    UnaryGuessing,
    any_mechanism_success,
    best_guess,
    exact_reidentification,
    guess_of_set,
    reidentification,
    simulate_guesses,
    simulate_reidentification,
)

POLICY = PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90])


def priors(rng, items):
    yield np.full(items, 1 / items)
    for concentration in (0.2, 1.0, 5.0):
        yield rng.dirichlet(np.full(items, concentration))
    yield np.eye(items)[rng.integers(items)]


@pytest.mark.parametrize("seed", range(60))
def test_tables_by_listing_all_reports(seed):
    rng = np.random.default_rng(seed)
    items = int(rng.integers(2, 8))
    b = rng.uniform(0.02, 0.6, items)
    a = b + rng.uniform(0.02, 0.95, items) * (1 - b)
    law = unary_law(a, b)
    for prior in priors(rng, items):
        true = MatrixGuessing(law).success(prior)
        assert UnaryGuessing(a, b).success(prior) == pytest.approx(true, rel=1e-12)


@pytest.mark.parametrize("items", [2, 3, 5, 8])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_sets_by_listing_all_reports(items, epsilon):
    rng = np.random.default_rng(items)
    for mechanism in (
        SubsetSelection(epsilon, items),
        GeneralizedRandomizedResponse(epsilon, items),
    ):
        law = MatrixGuessing(mechanism.output_law())
        for prior in priors(rng, items):
            ours = SubsetGuessing.of(mechanism).success(prior)
            assert ours == pytest.approx(law.success(prior), rel=1e-9)


@pytest.mark.parametrize("counts", [[2, 2], [1, 3], [2, 1, 2]])
def test_designs_by_listing_all_reports(counts):
    rng = np.random.default_rng(sum(counts))
    epsilons = np.sort(rng.uniform(0.5, 2.5, len(counts)))
    design = best_design(PrivacyPolicy(epsilons, counts))
    law = MatrixGuessing(SubsetDesignMechanism.of(design).output_law())
    ours = DesignGuessing.of(design)
    assert ours.items == sum(counts)
    for prior in priors(rng, ours.items):
        assert ours.success(prior) == pytest.approx(law.success(prior), rel=1e-9)


def test_a_design_uses_its_budgets_more_than_a_table():
    design = best_guess(DesignGuessing.of(best_design(POLICY)))
    assert design.success == pytest.approx(0.0236, abs=5e-5)
    table = best_guess(UnaryGuessing.of(UnaryMechanism(solve(POLICY))))
    assert table.success < design.success <= any_mechanism_success(POLICY)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_one_of_a_set_by_listing_all_sets(size):
    """All sets alike: the posterior chance of each item to be in the set, for every report."""
    items = 4
    mechanism = UnaryMechanism.rappor(1.5, items)
    law = mechanism.output_law()
    sets = list(combinations(range(items), size))
    reports = np.array([law[list(one)].mean(axis=0) for one in sets]) / len(sets)
    inside = np.array([[k in one for one in sets] for k in range(items)], dtype=float)
    true = (inside @ reports).max(axis=0).sum()
    guess = guess_of_set(UnaryGuessing.of(mechanism), size)
    assert guess.success == pytest.approx(true, rel=1e-9)
    assert guess.blind == size / items
    with pytest.raises(InputError, match="size"):
        guess_of_set(UnaryGuessing.of(mechanism), items + 1)


def test_hashing_by_listing_all_functions():
    mechanism = OptimizedLocalHashing(np.log(2), 4)
    law = HashGuessing.of(mechanism)
    response = GeneralizedRandomizedResponse(np.log(2), mechanism.values).output_law()
    for prior in priors(np.random.default_rng(1), 4):
        functions = list(product(range(mechanism.values), repeat=4))
        true = np.mean([MatrixGuessing(response[list(f)]).success(prior) for f in functions])
        assert law.success(prior) == pytest.approx(true, rel=1e-8)


def test_reference_table():
    mechanism = UnaryMechanism(solve(POLICY))
    guess = best_guess(UnaryGuessing.of(mechanism))
    assert guess.success == pytest.approx(0.02213, abs=5e-6)
    assert guess.blind == pytest.approx(0.01)
    assert guess.lift == pytest.approx(2.213, abs=5e-4)
    grr = best_guess(SubsetGuessing.of(GeneralizedRandomizedResponse(1.0, 100)))
    subset = best_guess(SubsetGuessing.of(SubsetSelection(1.0, 100)))
    assert (grr.success, subset.success) == pytest.approx((0.0267, 0.0186), abs=5e-5)
    bound = any_mechanism_success(POLICY)
    assert bound == pytest.approx(np.e / 100)
    assert max(guess.success, grr.success) <= bound


def test_no_prior_lifts_more_than_the_uniform_one():
    rng = np.random.default_rng(2)
    law = UnaryGuessing.of(UnaryMechanism(solve(PrivacyPolicy([1.0, 2.0], [2, 4]))))
    top = best_guess(law).lift
    for _ in range(300):
        guess = best_guess(law, rng.dirichlet(np.full(6, 0.5)))
        assert 1 - 1e-12 <= guess.lift <= top * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_the_bound_of_any_mechanism_holds(seed):
    rng = np.random.default_rng(seed)
    policy = PrivacyPolicy(rng.uniform(0.3, 3, 2), [1, 3], rule=("min", "avg")[seed % 2])
    table = solve(policy)
    level_of = [0, 1, 1, 1]
    for prior in priors(rng, 4):
        success = UnaryGuessing(table.a[level_of], table.b[level_of]).success(prior)
        assert success <= any_mechanism_success(policy, prior) * (1 + 1e-9)
    small = PrivacyPolicy([0.5], [3])
    grr = SubsetGuessing.of(GeneralizedRandomizedResponse(0.5, 3)).success(np.full(3, 1 / 3))
    assert grr < any_mechanism_success(small) == pytest.approx(np.exp(0.5) / 3)


@pytest.mark.parametrize(
    ("law", "mechanism"),
    [
        (UnaryGuessing, UnaryMechanism(solve(PrivacyPolicy([1.0, 2.0], [3, 7])))),
        (SubsetGuessing, SubsetSelection(1.0, 10)),
        (SubsetGuessing, GeneralizedRandomizedResponse(2.0, 10)),
        (HashGuessing, OptimizedLocalHashing(2.0, 10)),
    ],
)
def test_simulation_agrees_with_the_law_and_rejects_a_near_miss(law, mechanism):
    """A false alarm in a million; three percent off, two half-widths, is seen."""
    rng, trials = np.random.default_rng(7), 400_000
    prior = np.arange(1, 11) / 55
    reading = law.of(mechanism)
    exact = reading.success(prior)
    seen = simulate_guesses(mechanism, reading, prior, trials, rng)
    assert seen.share == seen.successes / trials
    low, high = seen.interval
    assert low <= exact <= high
    assert not low <= exact * 1.03 <= high
    assert not low <= exact * 0.97 <= high


def reidentified(people=8):
    answers = [np.arange(people) % 3, np.arange(people) // 3 % 3]
    mechanisms = [GeneralizedRandomizedResponse(2.0, 3), UnaryMechanism.rappor(2.0, 3)]
    laws = [SubsetGuessing.of(mechanisms[0]), UnaryGuessing.of(mechanisms[1])]
    return [AskedQuestion(*parts) for parts in zip(mechanisms, laws, answers, strict=True)]


def test_reidentification_simulated_and_exact():
    questions = reidentified()
    laws = [one.mechanism.output_law() for one in questions]
    exact = exact_reidentification(laws, [one.answers for one in questions])
    assert 1 / 8 < exact < 1
    seen = simulate_reidentification(questions, 200_000, np.random.default_rng(3))
    low, high = seen.interval
    assert low <= exact <= high
    assert not low <= exact * 1.02 <= high
    more = simulate_reidentification(questions, 20_000, np.random.default_rng(3), among=4)
    assert more.share > seen.share + 0.1
    everybody = simulate_reidentification(questions, 100, np.random.default_rng(3), among=8)
    assert everybody.share == 1


def kinds_of(questions):
    laws = [one.law for one in questions]
    return [best_guess(law).lift for law in laws], [law.likelihoods() for law in laws]


def test_reidentification_of_all_populations():
    """Average and largest success over all answers that two or three people may have."""
    questions = reidentified()
    laws = [one.mechanism.output_law() for one in questions]
    for people in (2, 3):
        found = reidentification(*kinds_of(questions), people, np.random.default_rng(1))
        each = [
            exact_reidentification(laws, np.array(answers).T)
            for answers in product(product(range(3), repeat=2), repeat=people)
        ]
        assert found.expected == pytest.approx(np.mean(each), rel=1e-9)
        assert found.standard_error == 0
        assert max(each) <= found.most
    every = np.array(list(product(range(3), repeat=2))).T  # somebody has each pair of answers
    found = reidentification(*kinds_of(questions), 9, np.random.default_rng(1))
    assert found.most == pytest.approx(exact_reidentification(laws, every), rel=1e-9)
    assert found.lift == pytest.approx(found.most * 9)
    many = reidentification(*kinds_of(questions), 10**6, np.random.default_rng(1))
    assert many.expected == pytest.approx(many.most, rel=1e-9)
    alone = reidentification(*kinds_of(questions), 1, np.random.default_rng(1))
    assert alone.expected == alone.most == pytest.approx(1)


def test_scores_are_rounded_up_where_there_are_many(monkeypatch):
    questions = reidentified() * 3  # 64 scores, for which there is room on 40 places
    exact = reidentification(*kinds_of(questions), 50, np.random.default_rng(1))
    monkeypatch.setattr("planner.outsiders.guessing.reidentification._MOST_VALUES", 40)
    rounded = reidentification(*kinds_of(questions), 50, np.random.default_rng(1))
    assert rounded.standard_error == 0
    assert exact.expected < rounded.expected < 1.3 * exact.expected
    assert rounded.most == exact.most


def test_few_kinds_of_reports_are_drawn_from_many():
    """1,024 kinds of reports, of which 500 are drawn: a false alarm in a million, 5 % are seen."""
    law = UnaryGuessing.of(UnaryMechanism(solve(PrivacyPolicy([1.0, 2.0], [3, 7]))))
    lifts, kinds = [best_guess(law).lift] * 2, [law.likelihoods()] * 2
    exact = reidentification(lifts, kinds, 100, np.random.default_rng(1))
    drawn = reidentification(lifts, kinds, 100, np.random.default_rng(1), cells=8_000)
    assert exact.standard_error == 0 < drawn.standard_error
    assert abs(drawn.expected - exact.expected) < 5 * drawn.standard_error < 0.05 * exact.expected
    unknown = reidentification(lifts, None, 100, np.random.default_rng(1))
    assert (unknown.most, unknown.expected) == (exact.most, None)
    with pytest.raises(InputError, match="lifts"):
        reidentification([], [], 10, np.random.default_rng(1))


@pytest.mark.parametrize(
    "law",
    [
        UnaryGuessing.of(UnaryMechanism(solve(PrivacyPolicy([1.0, 2.0], [3, 7])))),
        DesignGuessing.of(best_design(PrivacyPolicy([1.0, 2.0], [3, 7]))),
        SubsetGuessing.of(SubsetSelection(1.0, 10)),
        HashGuessing.of(OptimizedLocalHashing(2.0, 10)),
        MatrixGuessing(GeneralizedRandomizedResponse(1.0, 4).output_law()),
    ],
)
def test_likelihoods_are_those_of_the_law(law):
    kinds = law.likelihoods()
    assert kinds.chances.sum() == pytest.approx(1)
    assert np.sum(kinds.values * kinds.shares, axis=1) == pytest.approx(1)
    assert np.sum(kinds.shares, axis=1) == pytest.approx(1)
    top = np.max(np.where(kinds.shares > 0, kinds.values, 0), axis=1)
    assert kinds.chances @ top == pytest.approx(best_guess(law).lift, rel=1e-9)


def test_tables_of_too_many_kinds_of_reports():
    b = np.linspace(0.1, 0.3, 15)  # each bit of its own: 2^15 kinds
    assert UnaryGuessing(b + 0.3, b).likelihoods() is None


def test_one_question_of_all_different_people_is_a_guess():
    law = GeneralizedRandomizedResponse(1.0, 5).output_law()
    exact = exact_reidentification([law], [np.arange(5)])
    assert exact == pytest.approx(MatrixGuessing(law).success(np.full(5, 0.2)))


def test_intervals_hold_as_often_as_they_say():
    """The exact chance that an interval misses a share of 0.3 in 50 trials."""
    from planner.outsiders.guessing.simulation import SimulatedSuccess

    missed = 0.0
    for hits in range(51):
        low, high = SimulatedSuccess(hits, 50, 0.9).interval
        missed += 0.0 if low <= 0.3 <= high else binom.pmf(hits, 50, 0.3)
    assert 0 < missed <= 0.1


def test_refusals():
    law = UnaryGuessing.of(UnaryMechanism.rappor(1.0, 3))
    for bad in ([0.5, 0.5], [0.5, 0.6, -0.1], [0.5, 0.2, 0.2]):
        with pytest.raises(InputError, match="prior"):
            best_guess(law, bad)
    with pytest.raises(InputError, match="at most 1000000"):
        exact_reidentification([np.full((2, 2000), 1 / 2000)] * 2, [[0, 1]] * 2)
    with pytest.raises(InputError, match="people per question"):
        simulate_reidentification([], 10, np.random.default_rng(1))
    assert Guess(0.5, 0.25).lift == 2
