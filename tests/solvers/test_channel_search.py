"""Best channels: known optima, an independent program, mechanisms that try to beat the bound."""

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from planner import Channel, ConvergenceError, InfeasibleError, PrivacyPolicy, Scenario
from planner.solvers.channel_search import (
    ChannelProblem,
    Ends,
    best_estimator,
    claim,
    solve_channel,
    unbiased,
)
from planner.solvers.game import Multipliers, lower_bound
from planner.solvers.generation import generate
from planner.solvers.rays import vertices, windows_of
from tests.refusals import refused
from tests.solvers.questions import (
    cumulative,
    dense,
    plain,
    random_question,
    rays_of,
    worst_case,
)

# -- known optima -------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 8.0])
def test_two_symbols_are_randomised_response(epsilon):
    channel = solve_channel(plain(epsilon, 2), [[0, 1]], worst_case([[0, 1]]))
    closed = np.exp(epsilon) / np.expm1(epsilon) ** 2
    assert channel.worst_error == pytest.approx(closed, rel=1e-6)
    keep = np.exp(epsilon) / (1 + np.exp(epsilon))
    assert np.sort(channel.matrix) == pytest.approx(
        np.array([[1 - keep, keep]] * 2), rel=1e-6
    )


@pytest.mark.parametrize(
    ("epsilons", "value"),
    [
        ([1.0] * 5, 9.646301),
        ([2.0] * 5, 1.794271),
        ([1.0] * 8, 23.052303),
        ([2.0] * 8, 4.389066),
        ([1.0] * 12, 46.642292),
        ([0.5] * 4 + [2.0] * 4, 90.001072),
    ],
)
def test_cumulative_counts(epsilons, value):
    numbers = cumulative(len(epsilons))
    policy = PrivacyPolicy(epsilons, [1] * len(epsilons))
    channel = solve_channel(policy, numbers, worst_case(numbers))
    assert channel.worst_error == pytest.approx(value, abs=1e-6)
    assert channel.certificate.relative_gap < 1e-6
    assert channel.certificate.over == "mechanisms"
    assert channel.max_violation == 0
    assert channel.bias < 1e-12


# -- an independent program ---------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rule", ["min", "avg", "matrix"])
def test_dense_program(rule, seed):
    rng = np.random.default_rng(seed)
    numbers, scenarios = random_question(rng)
    bounds = rng.uniform(0.6, 2.5, (4, 4))
    if rule != "matrix":
        chosen = rule
    else:
        chosen = (bounds + bounds.T) / 2
    policy = PrivacyPolicy(rng.uniform(0.6, 2.5, 4), [1] * 4, chosen)
    channel = solve_channel(policy, numbers, scenarios)
    assert channel.certificate.relative_gap < 1e-6
    assert (
        channel.certificate.over == "linear mechanisms"
    )  # which of three populations is it?
    assert channel.worst_error == pytest.approx(
        dense(rays_of(policy), numbers, scenarios), rel=1e-5
    )
    certificate = solve_channel(policy, numbers, scenarios[:1]).certificate
    assert certificate.over == "mechanisms"
    assert certificate.lower_bound < channel.worst_error


def test_whom_a_bound_is_about():
    person = np.array([1.0, 0])
    other = np.array([0, 1.0])
    mixed = np.array([0.5, 0.5])
    for scenarios, over in (
        ([(mixed, False)], "mechanisms"),
        ([(person, False), (other, False)], "mechanisms"),
        ([(person, False), (mixed, False)], "linear mechanisms"),
        ([(person, False), (other, True)], "linear mechanisms"),
    ):
        assert (
            claim([Scenario(who, np.eye(2), drawn) for who, drawn in scenarios]) == over
        )
    turned = [Scenario(person, np.eye(2)), Scenario(other, 2 * np.eye(2))]
    assert claim(turned) == "linear mechanisms"


def test_reports_that_do_not_tell_a_number_are_refused():
    estimator = np.ones((1, 2))
    blank = np.full((2, 2), 0.5)
    assert unbiased(estimator, np.array([[1.0, 1.0]]), blank) == pytest.approx(1)
    with refused("The best reports do not tell all the wanted", kind=ConvergenceError):
        unbiased(estimator, np.array([[1.0, 1.001]]), blank)


def test_a_cap_is_kept_and_costs():
    rng = np.random.default_rng(3)
    numbers, scenarios = random_question(rng)
    free = scenarios[:1]
    policy = plain(1.0, 4)
    alone = solve_channel(policy, numbers, free)
    other = scenarios[2]
    unseen = alone.error(other)
    least = solve_channel(policy, numbers, [other]).worst_error
    cap = least + 0.3 * (unseen - least)
    capped = Scenario(other.population, other.directions, other.drawn, cap)
    both = solve_channel(policy, numbers, [*free, capped])
    assert both.error(capped) <= cap * (1 + 1e-6)
    assert both.worst_error > alone.worst_error * (1 + 1e-3)
    independent = dense(rays_of(policy), numbers, [*free, capped])
    assert both.worst_error == pytest.approx(independent, rel=1e-5)
    impossible = Scenario(other.population, other.directions, other.drawn, least / 2)
    with refused("The caps cannot be kept", kind=InfeasibleError):
        solve_channel(policy, numbers, [*free, impossible])


# -- nothing beats the bound --------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["min", "avg"])
def test_random_private_mechanisms_never_beat_the_bound(rule):
    rng = np.random.default_rng(7)
    policy = PrivacyPolicy([0.8, 1.1, 1.9, 2.0], [1] * 4, rule)
    numbers, scenarios = random_question(rng)
    channel = solve_channel(policy, numbers, scenarios)
    rays = np.exp(rays_of(policy))
    closest = np.inf
    for trial in range(300):
        if trial % 2:  # mixtures of random sets of rays, brought to row sums of 1
            shares = rng.dirichlet(np.full(len(rays), 0.3))
            joint = shares * rays.T
        else:  # or disturbed copies of the best one
            joint = channel.matrix * np.exp(
                rng.normal(scale=0.05, size=channel.matrix.shape)
            )
        joint = joint / joint.sum(axis=1, keepdims=True)
        for shrink in 0.9 ** np.arange(
            200
        ):  # towards the blank mechanism until pairs are kept
            mixed = shrink * joint + (1 - shrink) * joint.mean(axis=0)
            gaps = np.log(mixed)[:, None] - np.log(mixed)[None, :]
            if (gaps.max(axis=2) <= policy.bounds()).all():
                break
        if np.linalg.matrix_rank(mixed, tol=1e-8) < 4:
            continue
        shares = rng.dirichlet(np.ones(3))
        estimator = best_estimator(numbers, scenarios, shares, mixed)
        other = Channel(policy, numbers, ("a", "b"), mixed, estimator, scenarios)
        assert other.max_violation < 1e-12
        closest = min(closest, other.worst_error / channel.certificate.lower_bound)
    assert 1 <= closest < 1.2  # and they do come near


def enclosed(power):
    """``e^power`` of a fraction, from below and from above."""
    with localcontext(prec=60):
        value = Fraction((Decimal(power.numerator) / Decimal(power.denominator)).exp())
    return value * (1 - Fraction(1, 10**50)), value * (1 + Fraction(1, 10**50))


def proven_exactly(policy, numbers, multipliers):
    """What the multipliers prove of everybody's worst error, in fractions, at all true rays."""
    exact = np.vectorize(Fraction)
    epsilons = exact(policy.epsilons)
    m = policy.size
    if policy.rule_name == "avg":
        budgets = (epsilons[:, None] + epsilons[None, :]) / 2
    else:
        budgets = np.vectorize(lambda r: Fraction(r) if np.isfinite(r) else None)(
            policy.bounds()
        )
    pairs = {(x, y): budgets[x, y] for x, y in permutations(range(m), 2)}
    pairs = {pair: budget for pair, budget in pairs.items() if budget is not None}
    unit = max(budget.denominator for budget in pairs.values())
    alpha = exact(multipliers.alpha[0])
    rows = exact(multipliers.rows)
    sigma = exact(multipliers.scenarios)
    largest = Fraction(0)
    for point in vertices(
        m, {pair: int(budget * unit) for pair, budget in pairs.items()}
    ):
        low, high = np.array(
            [enclosed(Fraction(z - max(point), unit)) for z in point]
        ).T
        ends = []
        for weights in (*alpha.T, rows):
            ends.append(
                (
                    np.where(weights < 0, high, low) @ weights,
                    np.where(weights < 0, low, high) @ weights,
                )
            )
        charge = sum(max(-least, most) ** 2 for least, most in ends[:-1]) / (
            low @ sigma
        )
        assert ends[-1][0] > 0
        largest = max(largest, charge / ends[-1][0])
    reach = sum((exact(numbers) * alpha.T).ravel())
    known_part = (exact(numbers) ** 2).sum(axis=0) @ sigma
    return (reach**2 / (largest * sum(rows)) - known_part) / sum(sigma)


@pytest.mark.parametrize("case", ["min", "avg", "small", "matrix", "chain"])
def test_the_bound_stands_at_the_true_windows(case):
    """Windows and likelihoods are rounded: what is charged for it is more."""
    epsilons = np.array([0.8, 1.1, 1.9, 2.0, 0.3])
    rule = case
    if case == "small":
        epsilons = epsilons * 1e-4
        rule = "min"
    elif case == "matrix":
        rule = np.random.default_rng(1).uniform(0.5, 3, (5, 5))
        rule = (rule + rule.T) / 2
    elif case == "chain":  # logarithms up to 151: their last digit is larger
        rule = np.full((5, 5), np.inf)
        for i, budget in enumerate((0.7, 50, 50, 49.9)):
            rule[i, i + 1] = rule[i + 1, i] = budget
    policy = PrivacyPolicy(epsilons, [1] * 5, rule)
    numbers = cumulative(5)
    question = ChannelProblem(policy, numbers, worst_case(numbers))
    oracle = Ends(question, windows_of(policy, np.arange(5)))
    rng = np.random.default_rng(2)
    best = generate(question.game, oracle, 1e-9).answer.multipliers
    nearest = np.inf
    for _ in range(8):  # of any multipliers, not only those whose ratio is at most 1
        rows = best.rows * rng.uniform(0.8, 0.9)
        alpha = best.alpha[0] * rng.normal(1, 1e-6, best.alpha[0].shape)
        multipliers = Multipliers((alpha,), rows, best.scenarios)
        stated = (
            lower_bound(question.game, multipliers, oracle.prove(multipliers)[1])
            * question.unit
        )
        spare = proven_exactly(policy, numbers, multipliers) / Fraction(stated) - 1
        assert spare >= 0
        nearest = min(nearest, float(spare))
    assert nearest < (1e-7 if case == "small" else 1e-11)


# -- refusals -----------------------------------------------------------------------------------


def test_refusals():
    for size in (1, 17):
        with refused("symbols"):
            solve_channel(plain(1.0, size), np.ones((1, size)), [])
    apart = np.full((4, 4), np.inf)
    apart[:2, :2] = apart[2:, 2:] = 1.0
    with refused("rule"):
        solve_channel(
            PrivacyPolicy(np.ones(4), np.ones(4), apart),
            cumulative(4),
            worst_case(cumulative(4)),
        )
