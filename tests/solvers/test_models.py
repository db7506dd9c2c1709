"""The models, what solvers are given of them, and the proof that trusts no digit of a solver."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from scipy.optimize import linprog

from planner import Objective, solve
from planner.policy import logodds
from planner.solvers import certificate
from planner.solvers.models import MODELS, Program
from tests.policies import (
    KINDS,
    RULES,
    random_objective,
    random_policy,
    seeds,
    worst_excess,
)

every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
every_rule = pytest.mark.parametrize("rule", RULES)


def coordinates(model):
    if model.name == "opt0":
        return 2
    return 1


def _point(rng, model, t):
    if model.name == "opt2":
        top = 0.45
    else:
        top = 3.0
    return rng.uniform(0.02 * top, top, (coordinates(model), t))


@every_model
@pytest.mark.parametrize("kind", KINDS)
@given(seed=seeds)
def test_slopes_and_curvatures_are_finite_differences(model, kind, seed):
    rng = np.random.default_rng(seed)
    policy = random_policy(rng, 4, "min", most=50)
    program = Program.of(policy, random_objective(rng, policy, kind), model)
    v = _point(rng, model, 4)
    weights = rng.dirichlet(np.ones(4))
    total, branches, slope, own_error = program.pieces(v)
    expected = total + branches.max()
    assert program.value(v) == pytest.approx(expected, rel=1e-12)
    curvature = program.curvature(v, weights)
    for c in range(coordinates(model)):
        h = 1e-6 * v[c]
        ahead = v.copy()
        behind = v.copy()
        ahead[c] += h
        behind[c] -= h
        for k in range(4):  # one level at a time: the sum mixes them
            moved = v.copy()
            two = v.copy()
            moved[c, k] = ahead[c, k]
            two[c, k] = behind[c, k]
            rise = (program.pieces(moved)[0] - program.pieces(two)[0]) / (2 * h[k])
            assert slope[c, k] == pytest.approx(
                rise, rel=1e-5, abs=1e-6 * abs(total) / v[c, k]
            )
        up = program.pieces(ahead)
        down = program.pieces(behind)
        close = {"rtol": 1e-5, "atol": 1e-6 * float(np.max(abs(branches) / v[c]))}
        expected = (up[1] - down[1]) / (2 * h)
        np.testing.assert_allclose(own_error[c], expected, **close)
        bend = (up[2] + weights * up[3] - down[2] - weights * down[3]) / (2 * h)
        size = np.abs(slope + weights * own_error).max() / v[c]
        assert np.all(
            np.abs(curvature[:, c] - bend) <= 1e-5 * np.abs(bend) + 1e-6 * size
        )


@every_model
@given(seed=seeds)
def test_coordinates_and_probabilities_round_trip(model, seed):
    rng = np.random.default_rng(seed)
    v = _point(rng, model, 5)
    a, b = model.to_probabilities(v)
    assert np.all((b > 0) & (b < a) & (a < 1))
    if model.name == "opt1":
        np.testing.assert_allclose(a + b, 1)
    if model.name == "opt2":
        np.testing.assert_array_equal(a, 0.5)
    atoms = model.atoms(v)
    expected = b * (1 - b) / (a - b) ** 2
    np.testing.assert_allclose(atoms.noise, expected, rtol=1e-9)
    np.testing.assert_allclose(
        atoms.signal, (1 - a - b) / (a - b), rtol=1e-9, atol=1e-9
    )


@every_model
@every_rule
@given(seed=seeds)
def test_the_few_rows_say_what_all_pairs_say(model, rule, seed):
    rng = np.random.default_rng(seed)
    t = int(rng.integers(1, 6))
    policy = random_policy(rng, t, rule, low=0.3, high=4)
    start = model.start(policy)
    ceiling = model.ceiling(policy)
    for _ in range(3):
        v = np.minimum(start * rng.uniform(0.6, 1.6, start.shape), 0.999 * ceiling)
        a, b = model.to_probabilities(v)
        excess = worst_excess(policy, a, b)
        if abs(excess) < 1e-6:
            continue
        rows = model.rows(policy, v)
        matrix = rows.matrix.toarray()
        fixed = matrix[:, : v.size]
        free = matrix[:, v.size :]
        left = rows.limit - fixed @ v.ravel()
        if free.shape[1] == 0:
            kept = left.min() >= 0
        else:
            search = linprog(
                np.zeros(free.shape[1]), A_ub=free, b_ub=left, bounds=(None, None)
            )
            kept = search.status == 0
        assert kept == (excess < 0)


@every_model
@every_rule
@given(seed=seeds)
def test_start_ceiling_and_repair(model, rule, seed):
    rng = np.random.default_rng(seed)
    policy = random_policy(rng, int(rng.integers(1, 7)), rule)
    start = model.start(policy)
    assert worst_excess(policy, *model.to_probabilities(start)) <= 1e-12
    assert np.all(start <= model.ceiling(policy))
    outside = start * rng.uniform(0.9, 1.1, start.shape)
    repaired = model.repair(
        policy, np.minimum(outside, model.ceiling(policy) * (1 - 1e-9))
    )
    assert worst_excess(policy, *model.to_probabilities(repaired)) <= 1e-9
    assert np.all(repaired <= model.ceiling(policy) * (1 + 1e-12))


@every_model
@every_rule
@pytest.mark.parametrize("kind", ["worst-case", "minimax"])
def test_wrong_multipliers_prove_less_and_never_too_much(
    model, rule, kind, monkeypatch
):
    rng = np.random.default_rng(3)
    honest = linprog
    policy = random_policy(rng, 4, rule, low=0.5, high=3, most=50)
    table = solve(policy, model.name, objective=kind)
    program = Program.of(policy, Objective(kind), model)
    s, w = logodds.to_log_odds(table.a, table.b)
    v = {"opt0": np.array([s, w]), "opt1": s[None], "opt2": (table.a - table.b)[None]}[
        model.name
    ]
    best = table.objective_value
    exact = certificate.prove(program, v).lower_bound
    assert exact >= best - 1e-6 * abs(best)

    def careless(*arguments, **options):
        answer = honest(*arguments, **options)
        given = answer.ineqlin.marginals
        answer.ineqlin.marginals = given * rng.uniform(0.9, 1.1, given.size)
        return answer

    monkeypatch.setattr("scipy.optimize.linprog", careless)
    bounds = np.array([certificate.prove(program, v).lower_bound for _ in range(10)])
    assert np.isfinite(bounds).all()
    assert bounds.max() <= exact + 1e-9 * abs(best)
    assert np.median(bounds) < exact - 1e-3 * abs(best)  # the errors are charged


@every_model
@every_rule
def test_the_proofs_own_sums_are_charged(model, rule, monkeypatch):
    """In exact arithmetic the same multipliers prove at least what is claimed."""
    rng = np.random.default_rng(5)
    honest = linprog
    seen = {}

    def watched(cost, A_ub, b_ub, bounds, method):
        answer = honest(cost, A_ub=A_ub, b_ub=b_ub, bounds=bounds, method=method)
        seen.update(
            cost=cost, matrix=A_ub.toarray(), limit=b_ub, bounds=bounds, answer=answer
        )
        return answer

    monkeypatch.setattr("scipy.optimize.linprog", watched)
    for _ in range(5):
        policy = random_policy(rng, 12, rule, low=0.5, high=3, most=50)
        program = Program.of(policy, Objective(), model)
        v = model.repair(policy, model.start(policy))
        claimed = certificate.prove(program, v).lower_bound
        raw = []
        for marginal in seen["answer"].ineqlin.marginals.tolist():
            raw.append(max(-marginal, 0.0))
        weights = [Fraction(weight) for weight in raw[: policy.size]]
        exact = [weight / sum(weights) for weight in weights] + [
            Fraction(value) for value in raw[12:]
        ]
        total, branches, slope, _ = program.pieces(v)
        unit = Fraction(abs(total + branches.max()))
        bound = Fraction(total) - sum(map(Fraction, (slope * v).ravel().tolist()))
        bound /= unit
        bound -= sum(
            Fraction(x) * y for x, y in zip(seen["limit"].tolist(), exact, strict=True)
        )
        columns = zip(seen["cost"], seen["matrix"].T, seen["bounds"], strict=True)
        for cost, column, ends in list(columns)[:-1]:
            pairs = zip(column.tolist(), exact, strict=True)
            reduced = Fraction(float(cost)) + sum(Fraction(x) * y for x, y in pairs)
            bound += min(reduced * Fraction(float(end)) for end in ends)
        assert Fraction(claimed) <= bound * unit
        assert float(bound * unit) - claimed < 1e-8 * float(unit)
