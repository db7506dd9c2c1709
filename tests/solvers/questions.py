"""Questions that several tests solve."""

from itertools import combinations, permutations, product

import cvxpy as cp
import numpy as np

from planner import PrivacyPolicy, Scenario
from planner.solvers.rays import windows_of


def plain(epsilon, m):
    return PrivacyPolicy([epsilon] * m, [1] * m)


def worst_case(numbers):
    """Any one person's error, all numbers counting alike."""
    p, m = np.shape(numbers)
    return [Scenario(person, np.eye(p)) for person in np.eye(m)]


def cumulative(d):
    return np.tril(np.ones((d, d)))[:-1]


def random_question(rng, m=4, p=2, k=3):
    """Random wanted numbers, populations and directions."""
    numbers = rng.normal(size=(p, m))
    scenarios = []
    for i in range(k):
        scenarios.append(
            Scenario(
                rng.dirichlet(np.ones(m)), rng.normal(size=(2, p)), drawn=bool(i % 2)
            )
        )
    return numbers, scenarios


def rays_of(policy):
    """Logarithms of every extreme ray of symbols, by the walk."""
    bounds = policy.bounds()
    written = PrivacyPolicy(policy.epsilons, policy.item_counts, bounds)
    return windows_of(written, np.arange(policy.size)).low


def pairs_of(policy):
    """Pair budgets of all items, the same item's infinite, and each item's level."""
    level = np.repeat(np.arange(policy.size), policy.item_counts)
    bounds = policy.bounds()
    budgets = bounds[np.ix_(level, level)].copy()
    np.fill_diagonal(budgets, np.inf)
    return budgets, level


def by_hand(budgets):
    """Log values of all extreme rays, smallest 0: ``m - 1`` tight pairs that connect all items."""
    m = len(budgets)
    rays = set()
    finite = [pair for pair in permutations(range(m), 2) if np.isfinite(budgets[pair])]
    for tight in combinations(finite, m - 1):
        value = {0: 0.0}
        for _ in range(m):
            for x, y in tight:
                if x in value and y not in value:
                    value[y] = value[x] - budgets[x, y]
                if y in value and x not in value:
                    value[x] = value[y] + budgets[x, y]
        if len(value) < m:
            continue
        z = np.array([value[x] for x in range(m)])
        gaps = z[:, None] - z[None, :]
        if (gaps <= budgets + 1e-9).all():
            rays.add(tuple(np.round(z - z.min(), 9) + 0.0))
    return np.array(sorted(rays))


def dense(logs, numbers, scenarios):
    """The primal over rays, given by logarithms: sums are 1, unbiased, quadratic over linear."""
    rays = np.exp(logs)
    rays = rays / np.sqrt(rays.max(axis=1) * rays.min(axis=1))[:, None]
    p = len(numbers)
    n = len(rays)
    theta = cp.Variable(n, nonneg=True)
    z = cp.Variable((p, n))
    worst = cp.Variable()
    rows = [rays.T @ theta == 1, z @ rays == numbers]
    for scenario in scenarios:
        moved = scenario.directions @ z
        shares = rays @ scenario.population
        terms = [shares[o] * cp.quad_over_lin(moved[:, o], theta[o]) for o in range(n)]
        error = cp.sum(cp.hstack(terms)) - scenario.known(numbers)
        rows.append(error <= (worst if scenario.cap is None else scenario.cap))
    problem = cp.Problem(cp.Minimize(worst), rows)
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value)


def written_out(types):
    """``Pr[output | item]``, shape ``(items, outputs)``, and the type and sides of each output."""
    m = types.item_counts
    first = [*first_of(m), m.sum()]
    columns = []
    kinds = []
    sides = []
    for o in range(types.size):
        choices = []
        for i, k in enumerate(types.high_counts[o]):
            choices.append(list(combinations(range(first[i], first[i + 1]), int(k))))
        splits = list(product(*choices))
        for split in splits:
            side = np.zeros(m.sum(), dtype=int)
            side[[item for part in split for item in part]] = 1
            levels = np.repeat(np.arange(m.size), m)
            likelihood = np.where(
                side == 1, types.high[o][levels], types.low[o][levels]
            )
            columns.append(types.weights[o] * likelihood / len(splits))
            kinds.append(o)
            sides.append(side)
    return np.array(columns).T, np.array(kinds), np.array(sides)


def first_of(item_counts):
    return np.cumsum(item_counts) - item_counts
