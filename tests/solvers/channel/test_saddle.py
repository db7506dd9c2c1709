"""Newton's steps to the saddle point find what the cone program finds, or say that they do not."""

import numpy as np
import pytest

from planner.designs.channel import Scenario
from planner.errors import ConvergenceError
from planner.policy.policy import PrivacyPolicy
from planner.solvers.channel import solving
from planner.solvers.channel.cone import solve_cones
from planner.solvers.channel.pricing import Enumeration, lower_bound, ratios
from planner.solvers.channel.program import Multipliers, program_of
from planner.solvers.channel.rays import bits, windows
from planner.solvers.channel.saddle import solve_saddle
from planner.solvers.channel.solving import solve_channel
from tests.solvers.channel.questions import cumulative, plain, worst_case


def programs():
    """Any one person's error, assumed people, and people drawn, for budgets that differ."""
    rng = np.random.default_rng(3)
    wanted = cumulative(6)
    eye = np.eye(5)
    people = [Scenario(str(i), rng.dirichlet(np.ones(6)), eye, drawn=bool(i)) for i in range(2)]
    for rule in ("min", "avg"):
        policy = PrivacyPolicy(rng.uniform(0.3, 3, 6), [1] * 6, rule)
        for scenarios in (worst_case(wanted), people, people[:1]):
            yield policy, program_of(wanted, scenarios, 5.0)


def test_both_solvers_agree():
    for policy, program in programs():
        columns = Enumeration(windows(policy)).start()
        ours, other = solve_saddle(program, columns, 1e-9), solve_cones(program, columns)
        values = [lower_bound(program, one.multipliers, 1.0) for one in (ours, other)]
        assert values[0] == pytest.approx(values[1], rel=1e-6)
        assert np.abs(ours.weights @ columns - 1).max() < 1e-8
        assert ratios(program, ours.multipliers, columns).max() < 1 + 1e-7
        near_miss = Multipliers(
            1.001 * ours.multipliers.alpha, ours.multipliers.rows, ours.multipliers.scenarios
        )
        assert ratios(program, near_miss, columns).max() > 1.001


def test_columns_that_tell_too_little_are_refused():
    program = program_of(cumulative(4), worst_case(cumulative(4)), 5.0)
    alike = np.exp([[1.0, 1, 0, 0], [0, 0, 1, 1]])
    with pytest.raises(ConvergenceError):
        solve_saddle(program, alike, 1e-9)


def test_where_the_steps_fail_the_cone_program_takes_over(monkeypatch):
    wanted = cumulative(5)
    right = solve_channel(plain(1.0, 5), wanted, worst_case(wanted))

    def fails(*_):
        raise ConvergenceError("Steps end", "None.")

    monkeypatch.setattr(solving, "solve_saddle", fails)
    other = solve_channel(plain(1.0, 5), wanted, worst_case(wanted))
    assert other.worst_error == pytest.approx(right.worst_error, rel=1e-5)


@pytest.mark.parametrize("rule", ["min", "avg"])
def test_sums_over_halves_are_those_over_all_columns(rule):
    """Never below them, and hardly above; with the same best columns."""
    rng = np.random.default_rng(1)
    policy = PrivacyPolicy([0.8, 1.1, 1.9, 2.0, 1.0, 1.3, 0.9], [1] * 7, rule)
    wanted = cumulative(7)
    program = program_of(wanted, worst_case(wanted), 5.0)
    ends = windows(policy)
    right = solve_saddle(program, Enumeration(ends).start(), 1e-9).multipliers
    everything = np.vstack([window.columns(bits(7) > 0) for window in ends])
    for size in (0.0, 0.01, 0.1):
        alpha = right.alpha * (1 + size * rng.normal(size=right.alpha.shape))
        multipliers = Multipliers(alpha, right.rows, right.scenarios)
        exact = ratios(program, multipliers, everything)
        priced = Enumeration(ends).price(program, multipliers, 9)
        assert exact.max() * (1 - 1e-12) <= priced.largest <= exact.max() * (1 + 1e-9)
        best = np.sort(exact[exact > 1])[-9:]
        np.testing.assert_allclose(ratios(program, multipliers, priced.columns), best[::-1])
