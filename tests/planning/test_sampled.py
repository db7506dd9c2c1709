"""Sampling Privacy: its question, the best parameters, the plan."""

from __future__ import annotations

import json
from dataclasses import replace
from math import exp, inf, tanh

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from planner import Level, Survey, load_survey
from planner.errors import InputError, VerificationError
from planner.mechanisms.sampling_privacy import SamplingPrivacy
from planner.planning import sampled as design
from planner.planning.sampled import (
    ACKNOWLEDGEMENTS,
    SamplingPlan,
    SamplingQuestion,
    closed_form,
    error_grid,
    find_parameters,
    place,
    plan_sampling,
    plan_sampling_survey,
)
from planner.survey.questions import Categorical
from tests.surveys import EXAMPLES


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"epsilons": 0}, "epsilons"),
        ({"epsilons": -1.0}, "epsilons"),
        ({"epsilons": float("nan")}, "epsilons"),
        ({"epsilons": 51}, "epsilons"),
        ({"epsilons": "1"}, "epsilons"),
        ({"epsilons": [1.0]}, "epsilons"),
        ({"epsilons": [[1.0, 1.0]]}, "epsilons"),
        ({"epsilons": [1.0, 0.0]}, r"epsilons\[1\]"),
        ({"yes_counts": []}, "yes_counts"),
        ({"yes_counts": [1.5, 2]}, "yes_counts"),
        ({"yes_counts": [-1, 2]}, r"yes_counts\[0\]"),
        ({"yes_counts": [600, 600]}, "at most the population"),
        ({"yes_counts": [2, 2], "everyone_has_value": True}, "everyone has a value"),
        ({"population": 0}, "population"),
        ({"population": 10.5}, "population"),
        ({"cap": 0}, "cap"),
        ({"cap": 1}, "cap"),
        ({"cap": float("nan")}, "cap"),
        ({"floor": -0.1}, "floor"),
        ({"floor": 1}, "floor"),
        ({"none_epsilon": 0}, "none_epsilon"),
    ],
)
def test_bad_questions(change, match):
    good = {"epsilons": [1.0, 2.0], "yes_counts": [10, 20], "population": 1000}
    with pytest.raises(InputError, match=match):
        SamplingQuestion(**(good | change))


questions = st.builds(
    lambda epsilons, cap, floor, everyone: SamplingQuestion(
        epsilons,
        [10] * len(epsilons),
        10 * len(epsilons) + (0 if everyone else 7),
        cap,
        floor,
        everyone_has_value=everyone,
    ),
    st.lists(st.floats(0.01, 12), min_size=1, max_size=6),
    st.floats(0.05, 0.95),
    st.floats(0, 0.8),
    st.booleans(),
)


def test_binary_closed_form_of_the_paper():
    question = SamplingQuestion(1.3, [300], 10_000, cap=0.99)
    design = find_parameters(question)
    assert design.limited_by == "budgets"
    assert design.mechanism.sampling == pytest.approx(tanh(0.65), abs=1e-8)
    assert design.mechanism.zero == pytest.approx(1 / (1 + exp(1.3)), abs=1e-8)
    assert 1.3 - 1e-7 < design.mechanism.privacy_loss("round-two") <= 1.3


def test_several_values_closed_form():
    epsilons = np.array([0.5, 1.0, 2.0])
    question = SamplingQuestion(
        epsilons, [3, 4, 5], 12, cap=0.99, floor=0.1, everyone_has_value=True
    )
    mechanism = find_parameters(question).mechanism
    best = 0.9 / (1 + (1 / np.expm1(epsilons)).sum())
    assert mechanism.sampling == pytest.approx(best, abs=1e-8)
    np.testing.assert_allclose(mechanism.decoys, best / np.expm1(epsilons), atol=1e-8)
    assert mechanism.zero == pytest.approx(0.1, abs=1e-8)


@settings(max_examples=60, deadline=None)
@given(questions)
def test_optimal_and_within_every_budget(question):
    """Against scipy's own linear program, written out row by row."""
    design = find_parameters(question)
    mechanism, budgets = design.mechanism, question.output_budgets
    assert (mechanism.output_losses <= budgets).all()
    assert mechanism.sampling <= question.cap
    assert mechanism.zero >= question.floor
    n = budgets.size
    rows = np.hstack([np.ones((n, 1)), -np.diag(np.expm1(np.minimum(budgets, 50)))])
    rows = rows[np.isfinite(budgets)]
    bounds = [(0, question.cap), (question.floor, 1), *[(0, 1)] * (n - 1)]
    peer = linprog(-np.eye(n + 1)[0], rows, np.zeros(len(rows)), np.ones((1, n + 1)), [1], bounds)
    assert design.best_sampling == pytest.approx(-peer.fun, rel=1e-6, abs=1e-7)
    assert mechanism.sampling == pytest.approx(-peer.fun, abs=1e-6)


@pytest.mark.parametrize("epsilon", [1e-4, 0.01, 1.0, 20.0, 50.0])
@pytest.mark.parametrize("values", [1, 10, 300])
def test_hard_numbers_are_solved_or_refused_by_name(epsilon, values):
    question = SamplingQuestion(epsilon, [10] * values, 10**6)
    mechanism = find_parameters(question).mechanism
    assert mechanism.output_losses.max() <= epsilon


def test_a_cap_lowers_every_loss_alike():
    capped = find_parameters(SamplingQuestion([2.0, 3.0], [5, 5], 100, cap=0.1))
    assert capped.limited_by == "cap"
    assert capped.mechanism.sampling == pytest.approx(0.1, abs=1e-8)
    odds = np.expm1(capped.mechanism.output_losses) / np.expm1([2.0, 2.0, 3.0])
    np.testing.assert_allclose(odds, odds[0], rtol=1e-6)
    assert odds[0] < 0.3


def test_an_overdrawn_budget_is_not_returned(monkeypatch):
    monkeypatch.setattr(design, "_INWARD", 1 + 1e-6)
    with pytest.raises(VerificationError, match="overdraws"):
        find_parameters(SamplingQuestion(0.5, [5], 100))


def test_error_at_95_percent_holds_in_simulation():
    """The share of misses lies in a two-sided 1e-6 binomial region around 5 %."""
    from scipy.stats import binom

    design = find_parameters(SamplingQuestion(1.0, [30_000], 10**6))
    rng, runs = np.random.default_rng(5), 100_000
    estimates = rng.binomial(30_000, design.mechanism.sampling, runs) / design.mechanism.sampling
    for factor, agrees in ((1, True), (1.05, False), (0.95, False)):
        misses = np.sum(np.abs(estimates - 30_000) > design.absolute_errors()[0] * factor)
        low, high = binom.ppf([5e-7, 1 - 5e-7], runs, 0.05)
        assert (low <= misses <= high) is np.bool_(agrees)


def test_grid_agrees_with_the_search():
    question = SamplingQuestion(1.0, [100, 400], 1000, cap=0.4, floor=0.1)
    grid = error_grid(question, np.linspace(0.1, 4, 5))
    assert grid.errors.shape == (5, 2)
    assert (np.diff(grid.errors, axis=0) <= 0).all()
    for epsilon, errors in zip(grid.epsilons, grid.errors, strict=True):
        same = find_parameters(replace(question, epsilons=epsilon, none_epsilon=epsilon))
        np.testing.assert_allclose(errors, same.absolute_errors(), rtol=1e-7)
    for bad in ([], [0.0], [51.0], [float("nan")]):
        with pytest.raises(InputError, match="epsilons"):
            error_grid(question, bad)


@pytest.mark.parametrize("confidence", [0.0, 1.0, float("nan")])
def test_bad_confidences(confidence):
    design = find_parameters(SamplingQuestion(1.0, [300], 10_000))
    with pytest.raises(InputError, match="confidence"):
        design.absolute_errors(confidence)


def by_linear_program(budgets, floor, cap):
    """Maximise ``pi_s`` over ``(pi_0, ..., pi_V, pi_s)`` as written down in ``find_parameters``."""
    outputs = budgets.size
    rows = np.column_stack([-np.diag(np.expm1(budgets)), np.ones(outputs)])
    protected = np.isfinite(budgets)
    answer = linprog(
        np.append(np.zeros(outputs), -1.0),
        A_ub=rows[protected] if protected.any() else None,
        b_ub=np.zeros(protected.sum()),
        A_eq=np.ones((1, outputs + 1)),
        b_eq=[1.0],
        bounds=[(floor, 1), *[(0, 1)] * (outputs - 1), (0, cap)],
        method="highs",
    )
    assert answer.status == 0
    return -answer.fun


def test_program_and_closed_form_agree_on_random_budgets():
    rng = np.random.default_rng(3)
    for _ in range(100):
        budgets = rng.uniform(0.05, 6, int(rng.integers(2, 7)))
        floor, cap = rng.uniform(0, 0.5), rng.uniform(0.05, 1)
        closed = float(closed_form(budgets, floor, cap))
        assert by_linear_program(budgets, floor, cap) == pytest.approx(closed, rel=1e-6)
        zero, decoys = place(closed, budgets, floor)
        assert zero + decoys.sum() + closed == pytest.approx(1)
        assert zero >= floor


PLAIN = Categorical("plain", (Level("a", 1.0, item_count=3),))
QUESTION = SamplingQuestion(1.0, [300], population=10_000)


@pytest.mark.parametrize("relies_on", sorted(ACKNOWLEDGEMENTS))
def test_nothing_is_written_without_the_acknowledgement(relies_on):
    plan = plan_sampling(QUESTION, relies_on)
    assert plan.views.linkable_epsilon == inf  # planning and showing is free
    with pytest.raises(InputError, match="acknowledged is missing"):
        plan.to_document()
    for wrong in ("", "yes", *(set(ACKNOWLEDGEMENTS.values()) - {ACKNOWLEDGEMENTS[relies_on]})):
        with pytest.raises(InputError, match="word for word"):
            plan_sampling(QUESTION, relies_on, wrong)


@pytest.mark.parametrize("relies_on", ["linkable", "", None])
def test_no_plan_relies_on_linkable_rounds(relies_on):
    with pytest.raises(InputError, match="infinite"):
        plan_sampling(QUESTION, relies_on)


@pytest.mark.parametrize("relies_on", sorted(ACKNOWLEDGEMENTS))
def test_document(relies_on):
    plan = plan_sampling(QUESTION, relies_on, ACKNOWLEDGEMENTS[relies_on])
    document = json.loads(json.dumps(plan.to_document(), allow_nan=False))
    assert document["sampling"] + document["zero"] + sum(document["decoys"]) == 2**32
    again = SamplingPrivacy(
        document["sampling"] / 2**32,
        document["zero"] / 2**32,
        [d / 2**32 for d in document["decoys"]],
    )
    assert again == plan.design.mechanism
    guarantee = document["guarantee"]
    assert guarantee["relies_on"] == relies_on
    assert guarantee["linkable_epsilon"] == "infinite"
    assert plan.views.round_two_epsilon <= guarantee["round_two_epsilon"]
    assert guarantee["aggregates"]["others_with_each_value"] == [299]
    epsilon = guarantee["aggregates"]["totals_epsilon"]
    assert plan.views.aggregates.totals_delta(epsilon) <= plan.delta


def test_nothing_is_written_on_a_guarantee_that_does_not_exist():
    rare = SamplingQuestion(1.0, [2], population=10_000)
    plan = plan_sampling(rare, "aggregates-only", ACKNOWLEDGEMENTS["aggregates-only"])
    with pytest.raises(VerificationError, match="no finite epsilon"):
        plan.to_document()
    other = plan_sampling(rare, "round-two", ACKNOWLEDGEMENTS["round-two"])
    assert other.to_document()["guarantee"]["aggregates"]["totals_epsilon"] == "infinite"


def test_bad_delta():
    with pytest.raises(InputError, match="delta"):
        SamplingPlan(plan_sampling(QUESTION, "round-two").design, "round-two", delta=0)


def test_a_survey_is_planned_value_by_value():
    survey = load_survey(EXAMPLES / "sampled-ages.toml")
    plans = plan_sampling_survey(survey.replacing(questions=(*survey.questions, PLAIN)))
    (asked,) = survey.questions
    assert list(plans) == [asked.name]  # others are left out
    question = plans[asked.name].design.question
    values = [(level.epsilon, count) for level in asked.levels for count in level.yes_counts]
    assert list(zip(question.epsilons, question.yes_counts, strict=True)) == values
    assert question.population == survey.users
    assert plans[asked.name].relies_on == asked.sampling.relies_on


def test_a_survey_without_such_a_question_is_refused():
    with pytest.raises(InputError, match=r"kind is 'categorical'.*sampled-choice"):
        plan_sampling_survey(Survey("s", 10, (PLAIN,)))
