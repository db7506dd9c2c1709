"""Any multipliers bound the optimum from below, however careless the solver."""

import numpy as np
import pytest

from planner.policy.policy import PrivacyPolicy
from planner.solvers.channel.pricing import Enumeration, RayList, lower_bound
from planner.solvers.channel.program import Multipliers, program_of
from planner.solvers.channel.rays import matrix_rays, windows
from planner.solvers.channel.solving import solve_channel
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
    rays = matrix_rays(policy.bounds())
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
