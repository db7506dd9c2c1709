"""The reduction: slopes against differences, and proofs that hold wherever the search stops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import ConvergenceError
from planner.solvers import reduced, solving
from planner.solvers.certificate import prove
from planner.solvers.models import MODELS, Program
from planner.solvers.reduced import Face, Minimum, minimise_convex
from tests.policies import KINDS, random_objective, random_policy, seeds
from tests.refusals import refused

every_model = pytest.mark.parametrize("model", MODELS)
every_rule = pytest.mark.parametrize("rule", ["min", "avg"])


def _program(rng, rule, model, kind=None):
    policy = random_policy(rng, int(rng.integers(1, 7)), rule, low=0.3, high=4, most=50)
    chosen = kind or KINDS[int(rng.integers(3))]
    return Program.of(policy, random_objective(rng, policy, chosen), MODELS[model])


@every_model
@every_rule
@pytest.mark.parametrize("kind", KINDS)
@given(seed=seeds)
def test_the_answer_is_proven_and_the_general_proof_agrees(rule, kind, model, seed):
    rng = np.random.default_rng(seed)
    program = _program(rng, rule, model, kind)
    v, proof = reduced.solve_reduced(program)
    value = program.value(v)
    near, general = solving.tightened(program, v, prove(program, v))
    size = abs(value)
    assert proof.lower_bound <= value + 1e-12 * size
    assert (
        general.lower_bound
        >= max(value, program.value(near)) - solving.PROVEN_TABLE * size
    )
    if proof.stationary or model != "opt0":  # one variable: two branches meet at most
        assert proof.lower_bound >= value - 2 * reduced._FLAT * size
        assert proof.weights.sum() == pytest.approx(1)
        assert proof.weights.min() >= 0
        branches = program.pieces(v)[1]
        assert proof.weights @ branches >= branches.max() - 1e-7 * size
    assert np.all(proof.shadow_prices >= -1e-6 * size)


@every_model
@every_rule
@given(seed=seeds)
def test_a_proof_holds_wherever_the_search_stops(rule, model, seed):
    """Tangent planes lie below a convex function: no place may prove more than the optimum."""
    rng = np.random.default_rng(seed)
    program = _program(rng, rule, model)
    best = program.value(reduced.solve_reduced(program)[0])
    size = abs(best)
    step = program.model.balance
    reduction = program.model.reduction(program.policy)
    total = float(rng.uniform(*reduction.ends))
    centre = reduction.at(total)
    saturated = reduction.saturated(total)[0]
    delta = float(rng.uniform(-0.9, 0.9)) * centre.min()
    point = centre + delta * step
    weights = np.eye(centre.size)[np.argmax(program.pieces(point)[1])]
    minimum = Minimum(total, *2 * (Face(0.0, 0.0, 1.0, weights, saturated),))
    v, stopped = reduced.KinkSearch(program, reduction, program).proven(minimum, delta)
    # The plane's least value over the corners of all (total, delta), in the coordinates.
    fixed, branches, slope, own_slope = program.pieces(point)
    plane = slope + weights * own_slope
    along_total = np.where(saturated, *reduction.slopes)
    corners = []
    for end in reduction.ends:
        moved = centre + (end - total) * along_total - point
        reach = reduction.at(end).min()
        corners += [moved + side * reach * step for side in (-1, 1)]
    least = (
        fixed
        + weights @ branches
        + min(float(np.sum(plane * corner)) for corner in corners)
    )
    bound = stopped.lower_bound
    value = program.value(point)
    assert bound == pytest.approx(least, rel=1e-9, abs=1e-9 * size)
    assert bound <= min(best + 1e-9 * size, value)
    np.testing.assert_allclose(v, point, rtol=1e-15)
    if (
        value > best + 1e-3 * size and program.policy.size > 1
    ):  # far off: it must say so
        assert bound < value - 1e-6 * size
        assert not stopped.stationary


def _face(slope, curvature=0.0, value=1.0):
    return Face(slope, curvature, value, np.ones(1), np.zeros(1, dtype=bool))


@given(st.floats(-9, 9), st.floats(0, 3), st.floats(0.1, 10), st.floats(-6, 6))
def test_a_parabola_with_a_kink(centre, kink, bend, guess):
    """``bend (x - centre)^2 / 2 + kink |x|`` on [-6, 6]: soft thresholding."""

    def faces(x):
        left = _face(bend * (x - centre) + (kink if x > 0 else -kink), bend)
        right = _face(bend * (x - centre) + (kink if x >= 0 else -kink), bend)
        return left, right

    minimum = minimise_convex(faces, -6, 6, guess, np.zeros(1))
    best = np.clip(np.sign(centre) * max(abs(centre) - kink / bend, 0), -6, 6)
    assert minimum.x == pytest.approx(best, abs=1e-7)
    assert 0 <= minimum.share <= 1
    if minimum.x == 0:  # the slopes of both sides cancel
        left, right = (side.slope for side in faces(0))
        assert minimum.share * left + (1 - minimum.share) * right == pytest.approx(
            0, abs=1e-9
        )


def test_a_search_without_end_is_an_error():
    nothing = _face(float("nan"))
    with refused("The search for the optimum did not end", kind=ConvergenceError):
        minimise_convex(lambda _: (nothing, nothing), 0.0, 1.0, 0.5, np.zeros(0))
