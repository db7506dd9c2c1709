"""The reduction: slopes against differences, and proofs that hold wherever the search stops."""

import numpy as np
import pytest
from hypothesis import given

from planner import Objective, PrivacyPolicy, solve
from planner.solvers import reduced
from planner.solvers.certificate import prove
from planner.solvers.models import MODELS
from planner.solvers.program import Program
from planner.solvers.search import Minimum
from tests.policies import random_objective, random_policy, seeds

every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
every_rule = pytest.mark.parametrize("rule", ["min", "avg"])
KINDS = ("worst-case", "expected", "minimax")


def _program(rng, model, rule, kind=None, t=None):
    policy = random_policy(rng, t or int(rng.integers(1, 7)), rule, low=0.3, high=4, most=50)
    chosen = kind or KINDS[int(rng.integers(3))]
    return Program.of(policy, random_objective(rng, policy, chosen), model)


@every_model
@every_rule
@pytest.mark.parametrize("kind", KINDS)
@given(seed=seeds)
def test_the_answer_is_proven_and_the_general_proof_agrees(model, rule, kind, seed):
    program = _program(np.random.default_rng(seed), model, rule, kind)
    v, proof = reduced.solve_reduced(program)
    value = program.value(v)
    general = prove(program, v)
    size = abs(value)
    assert proof.lower_bound <= value + 1e-12 * size
    assert general.lower_bound >= value - 1e-6 * size
    if proof.stationary:
        assert proof.lower_bound >= value - 2 * reduced._FLAT * size
        assert proof.weights.sum() == pytest.approx(1)
        assert proof.weights.min() >= 0
        branches = program.pieces(v)[1]
        assert proof.weights @ branches >= branches.max() - 1e-7 * size
    assert np.all(proof.shadow_prices >= -1e-6 * size)


@every_model
@every_rule
@given(seed=seeds)
def test_the_first_proof_is_tight_for_the_plain_worst_case(model, rule, seed):
    rng = np.random.default_rng(seed)
    policy = random_policy(rng, int(rng.integers(2, 7)), rule, low=0.3, high=4, most=50)
    program = Program.of(policy, Objective(), model)
    v, proof = reduced.solve_reduced(program)
    value, general = program.value(v), prove(program, v)
    proofs = [general]
    if proof.stationary:
        assert value - proof.lower_bound <= 1e-7 * value
        proofs.append(proof)
    # A little more budget for one level lowers the optimum by its shadow price.
    step = 1e-5
    for i in range(policy.size):
        values = []
        for sign in (-1, 1):
            budgets = policy.epsilons.copy()
            budgets[i] += sign * step
            moved = PrivacyPolicy(budgets, policy.item_counts, rule)
            near = Program.of(moved, program.objective, model)
            values.append(near.value(reduced.solve_reduced(near)[0]))
        slopes = np.diff([values[0], value, values[1]]) / step
        slack = 1e-3 * value
        for prices in (each.shadow_prices for each in proofs):
            assert -slopes[1] - slack <= prices[i] <= -slopes[0] + slack


@every_model
@every_rule
def test_an_ordinary_policy_needs_no_second_proof(model, rule):
    policy = PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90], rule)
    assert reduced.solve_reduced(Program.of(policy, Objective(), model))[1].stationary


def _half_functions(program):
    """``down``, ``up`` and the range of the one variable of opt2, from the module docstring."""
    epsilons = program.policy.epsilons
    if program.policy.rule_name == "min":
        return np.ones_like(epsilons), np.exp(epsilons)
    return np.exp(-epsilons / 2), np.exp(epsilons / 2)


def _inside(rng, program, down, up):
    """A place where all bits are possible, away from kinks."""
    low = 0.5 / up.min()
    high = 1 / (down + up).min() if program.policy.rule_name == "min" else 0.5 / down.max()
    return float(rng.uniform(low + 0.1 * (high - low), high - 0.05 * (high - low)))


@every_rule
@given(seed=seeds)
def test_faces_of_half(rule, seed):
    rng = np.random.default_rng(seed)
    program = _program(rng, MODELS["opt2"], rule)
    half = reduced._Half(program, program.policy.reduction)
    lines = program.policy.reduction.half_lines()
    down, up = _half_functions(program)
    at = _inside(rng, program, down, up)
    if np.min(np.abs(at * (down + up) - 1)) < 1e-3:
        return  # a kink
    h = 1e-5 * at

    def value(place):
        return program.value(half._point(place, lines))

    def face(place):
        return half._face(place, lines, place * (down + up) > 1)

    here = face(at)
    assert here.value == pytest.approx(value(at))
    if np.flatnonzero(face(at - h).weights) != np.flatnonzero(face(at + h).weights):
        return  # the maximum passes from one level to another
    size = abs(value(at)) / at
    slope = (value(at + h) - value(at - h)) / (2 * h)
    assert here.slope == pytest.approx(slope, rel=1e-4, abs=1e-5 * size)
    bend = (face(at + h).slope - face(at - h).slope) / (2 * h)
    assert here.curvature == pytest.approx(bend, rel=1e-4, abs=1e-4 * size / at)


@every_model
@every_rule
@given(seed=seeds)
def test_a_proof_holds_wherever_the_search_stops(model, rule, seed):
    """Tangent planes lie below a convex function: no place may prove more than the optimum."""
    rng = np.random.default_rng(seed)
    program = _program(rng, model, rule)
    best = program.value(reduced.solve_reduced(program)[0])
    size = abs(best)
    epsilons = program.policy.epsilons
    lowest, highest = float(epsilons.min()), float(epsilons.max())
    if model.name == "opt2":
        half = reduced._Half(program, program.policy.reduction)
        lines = program.policy.reduction.half_lines()
        down, up = _half_functions(program)
        at = _inside(rng, program, down, up)
        face = half._face(at, lines, at * (down + up) > 1)
        ends = (0.5 / up.min(), 1 / (down + up).min())
        if rule == "avg":
            ends = (0.5 / up.min(), 0.5 / down.max())
        stopped = half._finish(Minimum(at, face, face), lines, ends)
        place = half._point(at, lines)
    else:
        tables = reduced._LogOdds(program, program.policy.reduction)
        total = lowest if rule == "avg" else float(rng.uniform(lowest, min(2 * lowest, highest)))
        centre = epsilons / 2 if rule == "avg" else np.minimum(epsilons, total) - total / 2
        delta = float(rng.uniform(-0.9, 0.9)) * centre.min() * (model.coordinates - 1)
        weights = np.zeros(epsilons.size)
        place = tables._point(centre, delta)
        weights[np.argmax(program.pieces(place)[1])] = 1.0
        unsaturated = np.full(epsilons.size, 0.5) if rule == "avg" else 1.0 * (epsilons < total)
        ends = (lowest,) if rule == "avg" else (lowest, min(2 * lowest, highest))
        stopped = tables._finish(total, delta, centre, weights, unsaturated)
        # The plane's least value over the corners of all (total, delta), in the coordinates.
        fixed, branches, slope, own = program.pieces(place)
        plane = slope + weights * own
        corners = []
        for end in ends:
            moved = centre + (end - total) * (0.5 - unsaturated)
            reach = lowest - end / 2
            corners += [tables._point(moved, side * reach) - place for side in (-1, 1)]
        least = fixed + weights @ branches + min(float(np.sum(plane * step)) for step in corners)
        assert stopped.bound == pytest.approx(least, rel=1e-9, abs=1e-9 * size)
    assert stopped.bound <= best + 1e-9 * size
    np.testing.assert_array_equal(stopped.v, place)
    value = program.value(place)
    assert stopped.bound <= value
    if value > best + 1e-3 * size and program.policy.size > 1:  # far off: it must say so
        assert stopped.bound < value - 1e-6 * size
        assert not stopped.stationary


SPREAD = PrivacyPolicy(np.linspace(0.5, 4, 40), np.arange(1, 41))
CLOSE = PrivacyPolicy(np.linspace(1, 1.9, 20), np.full(20, 5))
MANY = PrivacyPolicy(np.geomspace(1, 3, 300), np.full(300, 7))


@pytest.mark.parametrize(
    ("policy", "model", "most"),
    [
        (PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90]), "opt0", 60),
        (PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90]), "opt1", 16),
        (CLOSE, "opt0", 30),
        (CLOSE, "opt1", 27),
        (SPREAD, "opt0", 95),
        (SPREAD, "opt2", 80),
        (MANY, "opt0", 100),
        (MANY, "opt1", 17),
    ],
)
def test_exact_slopes_and_curvatures_need_few_steps(policy, model, most, monkeypatch):
    """Evaluations of the objective, a fifth above what is; a wrong curvature halves instead."""
    evaluated = []

    def counted(self, v, pieces=Program.pieces):
        evaluated.append(v)
        return pieces(self, v)

    monkeypatch.setattr(Program, "pieces", counted)
    solve(policy, model, "reduced")
    assert len(evaluated) <= most
