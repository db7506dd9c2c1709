"""Table I of the ID-LDP paper: how far a report can move an observer's belief."""

from __future__ import annotations

import numpy as np
from reproduction.result import Claim, Result, Setting, Table
from reproduction.run import main

from planner import PrivacyPolicy, randomized_response, rappor, solve, unary

SOURCE = "Table I"
ROUNDING = 1e-6  # mechanisms round their probabilities inward by 2^-32


def reproduce(setting: Setting) -> Result:
    """Table I of the ID-LDP paper."""
    rng = np.random.default_rng(1)
    priors = setting.pick(5000, 200)
    rows = []
    claims = []
    for name, law, low, high in (*_ldp(), *_personal(), *_discriminative()):
        least, most = extremes(law)
        inside = _inside(law, low, high, rng, priors)
        tight = np.allclose(most, high, rtol=1e-6) and np.allclose(
            least, low, rtol=1e-6
        )
        for x in np.flatnonzero(np.append(True, np.diff(high) != 0)):
            cells = (f"{low[x]:.4f} {high[x]:.4f}", f"{least[x]:.4f} {most[x]:.4f}")
            rows.append((name, f"{x + 1}", *cells))
        claims.append(
            Claim(
                f"{name}: the ratio prior / posterior stays within its bounds.",
                SOURCE,
                inside,
                f"{priors:,} random priors, every input and report; the extremes over all priors "
                f"{'attain the bounds' if tight else 'stay inside them'}.",
            )
        )
    claims.append(_geographic(rng, priors))
    return Result(
        "ID-LDP, Table I: bounds on prior / posterior",
        "Pr(x) / Pr(x | report) for every input x and report of a mechanism that keeps the notion. "
        "The extremes over all priors are reached when the prior is all on one other input.",
        claims,
        [
            Table(
                "Bounds and what happens",
                ("notion", "input", "bounds", "extremes"),
                rows,
            )
        ],
    )


def extremes(law: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Least and largest ``Pr[y | x'] / Pr[y | x]`` for each input ``x``; law (inputs, reports)."""
    ratios = law[None, :, :] / law[:, None, :]
    return ratios.min(axis=(1, 2)), ratios.max(axis=(1, 2))


def _inside(law, low, high, rng: np.random.Generator, priors: int) -> bool:
    """Whether random priors, flat and spiked, keep ``Pr(y) / Pr(y | x)`` within the bounds."""
    for spread in (0.02, 1.0):
        chance = rng.dirichlet(np.full(len(law), spread), size=priors)
        for x, row in enumerate(law):
            ratio = (chance @ law) / row
            if ratio.min() < low[x] * (1 - ROUNDING) or ratio.max() > high[x] * (
                1 + ROUNDING
            ):
                return False
    return True


def _listed(mechanism):
    """``Pr[report | item]``, reports read as numbers."""
    items = mechanism.levels.total
    (own, other) = mechanism.shape.chances
    bits = np.arange(2**items)[:, None] >> np.arange(items) & 1
    ones = np.where(np.eye(items), own, other)[:, None]
    return np.where(bits, ones, 1 - ones).prod(axis=2)


def _ldp():
    law = _listed(rappor(1.0, items=5))
    yield "LDP, epsilon 1 (RAPPOR)", law, np.full(5, np.exp(-1)), np.full(5, np.exp(1))


def _personal():
    for epsilon in (0.5, 2.0):
        response = randomized_response(epsilon, items=5)
        law = np.where(np.eye(5), *response.shape.chances)
        bounds = np.exp([-epsilon, epsilon])
        yield (
            f"PLDP, person with {epsilon:g} (GRR)",
            law,
            *(np.full(5, bound) for bound in bounds),
        )


def prior_posterior_bounds(policy):
    """Bounds on ``Pr(x) / Pr(x | report)`` for an input of each level, each of shape ``(t,)``."""
    return np.exp(-policy.leakage_epsilons), np.exp(policy.against_epsilons)


def _discriminative():
    policy = PrivacyPolicy([1.0, 1.2, 3.0], [1, 1, 3])
    bounds = [
        np.repeat(bound, policy.item_counts) for bound in prior_posterior_bounds(policy)
    ]
    law = _listed(unary(solve(policy)))
    yield "MinID-LDP (1, 1.2, 3) (IDUE)", law, *bounds
    # Three inputs with budgets 1, 3, 3, made by hand: 2 min(E) = 2 is really reached.
    c = 0.1
    near = c * np.exp(1)
    far = c * np.exp(-1)
    hand = np.array(
        [[c, c, 1 - 2 * c], [near, far, 1 - near - far], [far, near, 1 - near - far]]
    )
    low, high = prior_posterior_bounds(PrivacyPolicy([1.0, 3.0], [1, 2]))
    yield "MinID-LDP (1, 3, 3), made by hand", hand, low[[0, 1, 1]], high[[0, 1, 1]]


def _geographic(rng: np.random.Generator, priors: int) -> Claim:
    """Geo-indistinguishability: bounds that depend on the prior; the truncated geometric law."""
    epsilon = 0.7
    places = np.arange(6)
    decay = np.exp(-epsilon)
    far = np.abs(places[:, None] - places[None, :])
    law = decay**far * np.where((places == 0) | (places == 5), 1 / (1 + decay), 1)
    law[:, 1:-1] *= (1 - decay) / (1 + decay)
    chance = rng.dirichlet(np.full(6, 0.3), size=priors)
    ratio = (chance @ law)[:, None, :] / law[None, :, :]
    low, high = (chance @ np.exp(sign * epsilon * far) for sign in (-1, 1))
    slack = (ratio / high[:, :, None]).max()
    return Claim(
        "GI or CLDP: the ratio stays within sums over the prior of e^(-+ epsilon d).",
        SOURCE,
        bool(np.allclose(law.sum(axis=1), 1) and slack <= 1 + 1e-9)
        and bool((ratio / low[:, :, None]).min() >= 1 - 1e-9),
        f"Six places on a line, truncated geometric law, {priors:,} random priors; the ratio "
        f"reaches {slack:.6f} of its upper bound.",
    )


if __name__ == "__main__":
    main(reproduce)
