"""Sampling Privacy: the best parameters, the plan, what released estimates say."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from math import comb, exp, inf, tanh

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from planner import (
    Level,
    SamplingPlan,
    SamplingPrivacy,
    VerificationError,
    plan_sampling,
)
from planner.laws.die import ACKNOWLEDGEMENTS
from planner.mechanisms import sampling_privacy
from planner.mechanisms.sampling_privacy import (
    best_sampling,
    binomial_window,
    difference_delta,
    exchange_delta,
    released_delta,
    smallest_epsilon,
    upper_tail,
)
from planner.show.two_rounds import views_in_words
from planner.survey.choices import SampledChoice, Sampling
from tests.refusals import refused

EPSILONS = (0, 0.1, 0.5, 1, 3)


def asked(epsilons=(1.0,), counts=(300,), relies_on="round-two", **keys):
    levels = tuple(
        Level(f"level {i}", epsilon, items=(f"value {i}",), yes_counts=(count,))
        for i, (epsilon, count) in enumerate(zip(epsilons, counts, strict=True))
    )
    sampling = Sampling(relies_on=relies_on, **keys)
    return SampledChoice("q", levels, sampling=sampling)


def planned(population=10_000, **keys):
    return plan_sampling(asked(**keys), population)


@pytest.mark.parametrize(
    ("change", "population"),
    [
        ({"counts": (600, 600)}, 1000),
        ({"counts": (2, 2), "everyone_has_value": True}, 1000),
        ({"counts": (2, 2)}, 0),
        ({"cap": 1}, 1000),
        ({"floor": 1}, 1000),
        ({"relies_on": "linkable"}, 1000),
    ],
)
def test_bad_questions(change, population):
    with refused("cap", "floor", "population", "relies_on", "yes_counts"):
        planned(population, **({"epsilons": (1.0, 2.0), "counts": (10, 20)} | change))


def test_binary_closed_form_of_the_paper():
    plan = planned(epsilons=(1.3,), cap=0.99)
    assert plan.limited_by == "budgets"
    assert plan.mechanism.sampling == pytest.approx(tanh(0.65), abs=1e-8)
    expected = 1 / (1 + exp(1.3))
    assert plan.mechanism.zero == pytest.approx(expected, abs=1e-8)
    assert 1.3 - 1e-7 < plan.round_two_epsilon <= 1.3


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(0.01, 12), min_size=2, max_size=7),
    st.floats(0.05, 0.95),
    st.floats(0, 0.8),
    st.booleans(),
)
def test_optimal_and_within_every_budget(budgets, cap, floor, everyone):
    """Against scipy's own linear program, written out row by row."""
    mechanism = best_sampling(budgets, cap, floor, everyone_has_value=everyone)
    budgets = np.array(budgets)
    budgets[0] = inf if everyone else budgets[0]
    assert (mechanism.output_losses <= budgets).all()
    assert mechanism.sampling <= cap
    assert mechanism.zero >= floor
    n = budgets.size
    rows = np.hstack([np.ones((n, 1)), -np.diag(np.expm1(np.minimum(budgets, 50)))])
    rows = rows[np.isfinite(budgets)]
    bounds = [(0, cap), (floor, 1), *[(0, 1)] * (n - 1)]
    peer = linprog(
        -np.eye(n + 1)[0], rows, np.zeros(len(rows)), np.ones((1, n + 1)), [1], bounds
    )
    assert mechanism.sampling == pytest.approx(-peer.fun, abs=1e-6)


def test_a_cap_lowers_every_loss_alike():
    capped = planned(100, epsilons=(2.0, 3.0), counts=(5, 5), cap=0.1)
    assert capped.limited_by == "cap"
    assert capped.mechanism.sampling == pytest.approx(0.1, abs=1e-8)
    odds = np.expm1(capped.mechanism.output_losses) / np.expm1([2.0, 2.0, 3.0])
    np.testing.assert_allclose(odds, odds[0], rtol=1e-6)
    assert odds[0] < 0.3


def test_an_overdrawn_budget_is_not_returned(monkeypatch):
    monkeypatch.setattr(sampling_privacy, "_SAMPLED_INWARD", 1 + 1e-6)
    with refused("Output 0 overdraws its budget by", kind=VerificationError):
        best_sampling([0.5, 0.5], 0.45, 0.0)


def test_error_at_95_percent_holds_in_simulation():
    """The share of misses lies in a two-sided 1e-6 binomial region around 5 %."""
    from scipy.stats import binom

    plan = planned(10**6, counts=(30_000,))
    rng = np.random.default_rng(5)
    runs = 100_000
    estimates = (
        rng.binomial(30_000, plan.mechanism.sampling, runs) / plan.mechanism.sampling
    )
    for factor, agrees in (
        (1, True),
        (1.05, False),
        (0.95, False),
    ):
        misses = np.sum(np.abs(estimates - 30_000) > plan.absolute_errors()[0] * factor)
        low, high = binom.ppf([5e-7, 1 - 5e-7], runs, 0.05)
        assert (low <= misses <= high) is np.bool_(agrees)


# -- what is relied on -------------------------------------------------------------------


@pytest.mark.parametrize("relies_on", sorted(ACKNOWLEDGEMENTS))
def test_nothing_is_written_without_the_acknowledgement(relies_on):
    plan = planned(relies_on=relies_on)
    assert "INFINITE" in views_in_words(plan)[1]  # planning and showing is free
    with refused("acknowledged"):
        plan.guarantee()
    for wrong in (
        "yes",
        *(set(ACKNOWLEDGEMENTS.values()) - {ACKNOWLEDGEMENTS[relies_on]}),
    ):
        with refused("acknowledged"):
            planned(relies_on=relies_on, acknowledged=wrong)


@pytest.mark.parametrize("relies_on", sorted(ACKNOWLEDGEMENTS))
def test_what_a_file_states(relies_on):
    plan = planned(relies_on=relies_on, acknowledged=ACKNOWLEDGEMENTS[relies_on])
    text = json.dumps(plan.guarantee(), allow_nan=False)
    guarantee = json.loads(text)
    assert guarantee["relies_on"] == relies_on
    assert guarantee["linkable_epsilon"] == "infinite"
    assert plan.round_two_epsilon <= guarantee["round_two_epsilon"]
    assert guarantee["aggregates"]["others_with_each_value"] == [299]
    epsilon = guarantee["aggregates"]["epsilon"]
    assert released_delta([299], plan.mechanism.sampling, epsilon) <= plan.delta


def test_nothing_is_written_on_a_guarantee_that_does_not_exist():
    sentence = ACKNOWLEDGEMENTS["aggregates-only"]
    plan = planned(counts=(2,), relies_on="aggregates-only", acknowledged=sentence)
    with refused(
        "Released estimates have no finite epsilon at", kind=VerificationError
    ):
        plan.guarantee()
    other = planned(counts=(2,), acknowledged=ACKNOWLEDGEMENTS["round-two"])
    assert other.guarantee()["aggregates"]["epsilon"] == "infinite"
    assert "INFINITE at delta" in views_in_words(other)[2]


def test_three_views_side_by_side():
    plan = SamplingPlan(asked(), SamplingPrivacy(0.45, 0.3, [0.25]))
    expected = np.log(0.7 / 0.25)
    assert plan.round_two_epsilon == pytest.approx(expected)
    assert plan.others == (299,)
    alone, linkable, released = views_in_words(plan)
    assert "1.0297" in alone  # rounded up
    assert "no protection" in linkable
    assert "probability 0.6" in linkable
    assert "epsilon 0.2236 at delta 1e-06, exact" in released


def test_huge_counts_keep_the_guarantee_of_the_limit():
    plans = [planned(3 * n, counts=(n,)) for n in (10**7 + 1, 10**8)]
    assert plans[0].others == plans[1].others == (10**7,)


# -- against laws enumerated exactly -----------------------------------------------------


def hockey_stick(p, q, epsilon):
    """Both directions, over dictionaries of probabilities, in exact arithmetic."""
    growth = Fraction(exp(epsilon))
    outcomes = p.keys() | q.keys()
    pairs = [(p.get(o, Fraction(0)), q.get(o, Fraction(0))) for o in outcomes]
    first = sum(max(b - growth * a, Fraction(0)) for a, b in pairs)
    return float(max(first, sum(max(a - growth * b, Fraction(0)) for a, b in pairs)))


def binomial(size, chance):
    chance = Fraction(chance)
    return {
        x: comb(size, x) * chance**x * (1 - chance) ** (size - x)
        for x in range(size + 1)
    }


def totals(mechanism, answers):
    """Exact law of all released totals, person by person, from the stated output law."""
    law = {(0,) * (2 * mechanism.items): Fraction(1)}
    stay = [mechanism.zero, *mechanism.decoys]
    for answer in answers:
        moves = {}
        for first, second, chance in [
            *((j, j, stay[j]) for j in range(mechanism.items)),
            (0, answer, mechanism.sampling),
        ]:
            step = [0] * (2 * mechanism.items)
            step[first] += 1
            step[mechanism.items + second] += 1
            moves[tuple(step)] = moves.get(tuple(step), Fraction(0)) + Fraction(chance)
        new = {}
        for (total, p), (step, q) in product(law.items(), moves.items()):
            key = tuple(a + b for a, b in zip(total, step, strict=True))
            new[key] = new.get(key, Fraction(0)) + p * q
        law = new
    return law


def test_the_window_holds_the_whole_law():
    from scipy.stats import binom

    for size, chance in [
        (0, 0.5),
        (1, 0.1),
        (50, 0.99),
        (10**6, 1e-5),
        (10**7, 0.3),
    ]:
        first, pmf = binomial_window(size, chance)
        x = first + np.arange(pmf.size)
        np.testing.assert_allclose(
            pmf, binom.pmf(x, size, chance), rtol=1e-6, atol=1e-290
        )
        assert (
            binom.cdf(first - 1, size, chance) + binom.sf(x[-1], size, chance) < 1e-300
        )
        points = np.array([-3, 0, int(size * chance), size, size + 1, size + 5])
        np.testing.assert_allclose(
            upper_tail(size, chance, points),
            binom.sf(points - 1, size, chance),
            rtol=1e-6,
            atol=1e-290,
        )


@pytest.mark.parametrize("others", [0, 1, 5, 60])
@pytest.mark.parametrize("sampling", [0.05, 0.45, 0.9])
def test_difference_against_fractions(others, sampling):
    p = binomial(others, sampling)
    q = binomial(others + 1, sampling)
    for epsilon in EPSILONS:
        truth = hockey_stick(p, q, epsilon)
        delta = difference_delta(others, sampling, epsilon)
        assert truth <= delta <= truth * (1 + 1e-9)


@pytest.mark.parametrize(
    ("leaving", "joining"),
    [
        (0, 0),
        (0, 9),
        (9, 0),
        (7, 12),
        (30, 25),
    ],
)
def test_exchange_against_fractions(leaving, joining):
    sampling = 0.375
    laws = []
    for size in (leaving, leaving + 1, joining, joining + 1):
        laws.append(binomial(size, sampling))
    p = {(x, y): a * b for (x, a), (y, b) in product(laws[1].items(), laws[2].items())}
    q = {(x, y): a * b for (x, a), (y, b) in product(laws[0].items(), laws[3].items())}
    for epsilon in EPSILONS:
        truth = hockey_stick(p, q, epsilon)
        assert (
            truth <= exchange_delta(leaving, joining, sampling, epsilon) <= truth + 1e-9
        )


@pytest.mark.parametrize("everyone", [False, True])
def test_released_estimates_of_several_values_against_convolution(everyone):
    """Differences of all totals, every pair of neighbours: never above the delta stated."""
    mechanism = SamplingPrivacy(0.25, 0.25, [0.125, 0.375], everyone_has_value=everyone)
    people = [1, 1, 2] + [0] * (0 if everyone else 2)
    if everyone:
        answers = (1, 2)
    else:
        answers = (0, 1, 2)

    def differences(likelihoods):
        law = {}
        for total, chance in totals(mechanism, likelihoods).items():
            moved = tuple(
                np.subtract(total[mechanism.items :], total[: mechanism.items]).tolist()
            )
            law[moved] = law.get(moved, Fraction(0)) + chance
        return law

    law = differences(people)
    neighbours = [
        differences([*people[:i], other, *people[i + 1 :]])
        for i, other in product(range(len(people)), answers)
        if other != people[i]
    ]
    for epsilon in EPSILONS:
        worst = max(hockey_stick(law, other, epsilon) for other in neighbours)
        assert worst <= released_delta(
            [1, 0], 0.25, epsilon, everyone_has_value=everyone
        )


def test_smallest_epsilon_is_the_inverse():
    for delta in (1e-3, 1e-6, 1e-9):
        curve = lambda epsilon: released_delta([299], 0.45, epsilon)  # noqa: E731
        epsilon = smallest_epsilon(curve, delta)
        assert curve(epsilon) <= delta
        assert curve(epsilon) == pytest.approx(delta, rel=1e-5)
