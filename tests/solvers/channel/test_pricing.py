"""Any multipliers bound the optimum from below, however careless the solver."""

import numpy as np
import pytest

from planner.policy.policy import PrivacyPolicy
from planner.solvers.channel.plane import Plane
from planner.solvers.channel.pricing import Enumeration, RayList, lower_bound, ratios
from planner.solvers.channel.program import Multipliers, program_of
from planner.solvers.channel.rays import bits, windows
from planner.solvers.channel.solving import solve_channel
from planner.solvers.rays import rays_of
from tests.solvers.channel.questions import cumulative, plain, random_question, worst_case


def proven(program, pricing, multipliers):
    return lower_bound(program, multipliers, pricing.price(program, multipliers, 5).largest)


@pytest.mark.parametrize("common", [True, False])
@pytest.mark.parametrize("rule", ["min", "avg", "matrix"])
def test_a_careless_solver_never_proves_too_much(rule, common):
    from planner.solvers.channel.cone import solve_cones

    rng = np.random.default_rng(5)
    bounds = rng.uniform(0.7, 2, (4, 4))
    chosen = rule if rule != "matrix" else (bounds + bounds.T) / 2
    policy = PrivacyPolicy([0.8, 1.1, 1.9, 2.0], [1] * 4, chosen)
    wanted, scenarios = random_question(rng)
    if common:
        wanted = cumulative(4)
        scenarios = worst_case(wanted)
    optimum = solve_channel(policy, wanted, scenarios).worst_error
    program = program_of(wanted, scenarios, 5.0)
    rays = np.exp(rays_of(policy))
    pricing = RayList(rays) if rule == "matrix" else Enumeration(windows(policy))
    right = solve_cones(program, rays).multipliers
    assert proven(program, pricing, right) == pytest.approx(optimum, rel=1e-5)
    proofs = []
    for size in np.geomspace(1e-4, 10, 200):
        noise = [
            size * rng.normal(size=part.shape) * np.abs(part).max()
            for part in (right.alpha, right.rows, right.scenarios)
        ]
        wrong = Multipliers(
            right.alpha + noise[0],
            right.rows + noise[1],
            np.maximum(right.scenarios + noise[2], 1e-9),
        )
        proofs.append(proven(program, pricing, wrong))
    assert max(proofs) <= optimum * (1 + 1e-6)
    assert max(proofs) > 0.9 * optimum  # small mistakes still prove much
    assert not np.isfinite(proofs).all()  # and large ones nothing


def test_few_columns_alone_would_prove_too_much():
    """The dual over some columns is above the optimum until all rays are priced."""
    from planner.solvers.channel.cone import solve_cones

    wanted = cumulative(6)
    policy, people = plain(1.0, 6), worst_case(wanted)
    optimum = solve_channel(policy, wanted, people).worst_error
    program = program_of(wanted, people, 5.0)
    few = np.exp(np.vstack([np.eye(6), 1 - np.eye(6)]))
    answer = solve_cones(program, few)
    assert lower_bound(program, answer.multipliers, 1.0) > 1.05 * optimum
    assert proven(program, Enumeration(windows(policy)), answer.multipliers) < optimum


# -- the search over estimates instead of columns ------------------------------------------------


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("rule", ["min", "avg"])
def test_the_plane_agrees_with_all_columns(rule, p):
    from planner.solvers.channel.cone import solve_cones

    rng = np.random.default_rng(p)
    policy = PrivacyPolicy([0.8, 1.1, 1.9, 2.0, 1.0, 1.3], [1] * 6, rule)
    ends = windows(policy)
    tried = 0
    for _ in range(6):
        wanted, scenarios = random_question(rng, m=6, p=p)
        program = program_of(wanted, scenarios, 5.0)
        start = np.vstack([window.columns(bits(6)[1:-1] > 0) for window in ends])
        right = solve_cones(program, start).multipliers
        noise = 0.02 * rng.normal(size=right.alpha.shape) * np.abs(right.alpha).max()
        rows = right.rows + 0.1 * right.rows.sum() * program.populations.mean(axis=0)
        multipliers = Multipliers(right.alpha + noise, rows, right.scenarios)
        exact = Enumeration(ends).price(program, multipliers, 3)
        searched = Plane(ends, 1e-3).price(program, multipliers, 3)
        if np.isfinite(exact.largest):
            tried += 1
            assert searched.largest >= exact.largest * (1 - 1e-9)
            factor = 1.001 * exact.largest
            fair = Multipliers(multipliers.alpha, factor * multipliers.rows, multipliers.scenarios)
            assert Plane(ends, 1e-3).price(program, fair, 3).largest < 1.01
        if exact.largest > 1.01:
            best = ratios(program, multipliers, searched.columns).max()
            assert best == pytest.approx(exact.largest, rel=1e-6)
    assert tried >= 3


def test_the_plane_never_proves_too_much():
    from planner.solvers.channel.cone import solve_cones

    rng = np.random.default_rng(2)
    policy = PrivacyPolicy([0.8, 1.1, 1.9, 2.0], [1] * 4)
    wanted, scenarios = random_question(rng)
    optimum = solve_channel(policy, wanted, scenarios).worst_error
    program, pricing = program_of(wanted, scenarios, 5.0), Plane(windows(policy), 1e-3)
    right = solve_cones(program, np.exp(rays_of(policy))).multipliers
    proofs = []
    for size in np.geomspace(1e-5, 1, 60):
        noise = size * rng.normal(size=right.alpha.shape) * np.abs(right.alpha).max()
        wrong = Multipliers(right.alpha + noise, right.rows, right.scenarios)
        proofs.append(proven(program, pricing, wrong))
    assert 0.99 * optimum < max(proofs) <= optimum * (1 + 1e-6)


def test_many_symbols_are_searched_without_listing_columns():
    """Twenty symbols, one number: the optimum is that of its two extreme symbols."""
    wanted = np.linspace(-1, 1, 20)[None, :]
    policy, people = plain(1.0, 20), worst_case(wanted)
    channel = solve_channel(policy, wanted, people, tolerance=1e-4)
    ends = solve_channel(plain(1.0, 2), [[-1, 1]], worst_case([[-1, 1]]))
    assert channel.certificate.relative_gap < 2e-4
    assert channel.worst_error >= ends.worst_error * (1 - 1e-6)
