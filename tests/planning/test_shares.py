"""How questions share each person's budget: the figures of the theory, proofs, and a fine grid."""

import itertools

import numpy as np
import pytest

from planner import (
    Level,
    Numeric,
    Objective,
    Ordinal,
    PrivacyPolicy,
    Survey,
    allocate,
    best_design,
    choice_curve,
    mean_curve,
    plan_survey,
    solve,
)
from planner.mechanisms.rivals import bisample_variance
from planner.planning.option import ErrorLaw
from planner.planning.shares import best_some_each, some_each
from planner.planning.solve import ROUGH, scaled
from planner.show.plan import better_design
from tests.refusals import refused
from tests.surveys import tries

TOY = PrivacyPolicy(np.log([4, 6]), [1, 4])
PAGE = PrivacyPolicy([2, 2.4, 4], [5, 5, 90])
INCOME = mean_curve("income", 2.0, weight=3)
SECTION_9 = [
    choice_curve("diagnosis", TOY),
    choice_curve("page", PAGE, weight=0.05),
    INCOME,
]


def test_a_mean_at_the_end_of_its_range_has_an_error_above_0():
    curve = mean_curve("income", 50.0, error=lambda excess: excess)
    exact = 1 / np.sinh(25.0) ** 2  # 1 / tanh^2 - 1
    assert curve.at(1.0).squared == pytest.approx(exact, rel=1e-12)
    assert allocate([curve]).value == pytest.approx(exact, rel=1e-12)


ASKED = {}  # the budget or the policy of a random curve


@pytest.mark.parametrize(
    "budgets",
    [
        (6.4, 12.3),
        (10.0, 10.4),
        (3.0, 40.0, 9.0),
    ],
)
def test_errors_that_fall_to_a_floor_are_shared(budgets):
    """Steps went past the best shares, back and forth: two generous means were refused."""
    curves = [
        mean_curve(str(e), e, error=lambda x: bisample_variance(x, 1.0))
        for e in budgets
    ]
    assert allocate(curves).relative_gap < 1e-7


def test_errors_that_are_proven_to_fewer_digits_are_enough():
    """Slopes of a matrix's error, known to 1e-11, were taken from points 1e-5 apart."""
    policy = PrivacyPolicy([5.159, 0.823], [3, 1])
    first = choice_curve("a", policy, 1.71)
    pairs = PrivacyPolicy([0.832, 0.152], [6, 1], [[0.809, 0.049], [0.049, 0.048]])
    assert allocate([first, choice_curve("b", pairs)]).relative_gap < 1e-7


def random_curves(rng):
    curves = []
    for j in range(int(rng.integers(2, 4))):
        if rng.uniform() < 0.3:
            asked = rng.uniform(0.5, 4)
            curves.append(mean_curve(str(j), asked, rng.uniform(0.5, 3)))
        else:
            t = int(rng.integers(1, 5))
            if rng.uniform() < 0.3:
                rule = "avg"
            else:
                rule = "min"
            asked = PrivacyPolicy(rng.uniform(0.5, 4, t), rng.integers(1, 30, t), rule)
            curves.append(choice_curve(str(j), asked, rng.uniform(0.05, 1)))
        ASKED[curves[-1]] = asked
    return curves


def error_on_grid(curve, grid):
    """Without the code under test: the solver and the formula of the variance of one bit."""
    asked = ASKED[curve]
    if isinstance(asked, float):
        return 1 / np.tanh(grid * asked / 2) ** 2
    return np.array([solve(scaled(asked, g)).worst_case_mse for g in grid])


def on_grid(curves):
    """The smallest objective over all shares that are whole percents."""
    steps = 100
    grid = np.arange(1, steps) / steps
    errors = [b.weight * error_on_grid(b, grid) for b in curves]
    best = np.inf
    for first in itertools.product(range(1, steps), repeat=len(curves) - 1):
        last = steps - sum(first)
        if last >= 1:
            parts = [c[g - 1] for c, g in zip(errors, (*first, last), strict=True)]
            best = min(best, sum(parts))
    return best


@pytest.mark.parametrize("seed", range(tries(3, 10)))
def test_never_worse_than_a_fine_grid_of_shares(seed):
    rng = np.random.default_rng(seed)
    curves = random_curves(rng)
    allocation = allocate(curves)
    grid = on_grid(curves)
    assert allocation.value <= grid * (1 + 1e-12)
    assert allocation.lower_bound <= allocation.value
    assert allocation.relative_gap <= 1e-6
    assert (
        grid <= allocation.value * 1.01
    )  # the grid is fine: it confirms the optimum from above


def test_splitting_wins_at_large_budgets():
    curves = [choice_curve(n, PrivacyPolicy([12.0, 14.0], [2, 3])) for n in "ab"]
    allocation = allocate(curves)
    assert allocation.better == "split"
    assert "everybody everything" in better_design(allocation)


def test_one_question_gets_everything():
    allocation = allocate(SECTION_9[:1])
    assert allocation.shares.tolist() == [1.0]
    assert allocation.value == pytest.approx(8.567495461)


def test_matrix_rules_are_allocated_too():
    rule = np.array(
        [
            [1.0, 1.5, np.inf],
            [1.5, 2.0, 1.0],
            [np.inf, 1.0, 1.5],
        ]
    )
    curves = [
        choice_curve("graph", PrivacyPolicy([1, 2, 1.5], [2, 3, 4], rule)),
        SECTION_9[0],
    ]
    allocation = allocate(curves)
    assert allocation.relative_gap <= 1e-6


def test_bad_allocations_are_refused():
    for curves in ([], [SECTION_9[0], SECTION_9[0]]):
        with refused("questions"):
            allocate(curves)
    for weight in (0, -1, np.nan, np.inf):
        with refused("weight of question 'x'"):
            mean_curve("x", 1.0, weight)
    with refused("epsilon"):
        mean_curve("x", 0.0)


def test_questions_asked_alone_may_be_other_blocks():
    law = ErrorLaw(0.5)
    toy = choice_curve("diagnosis", TOY, errors=law)
    alone = [toy, choice_curve("page", PAGE, weight=0.05, errors=law)]
    plain = allocate(SECTION_9[:2])
    other = allocate(SECTION_9[:2], alone=alone)
    assert other.value == plain.value
    expected = plain.some_each.noise_value / 2
    assert other.some_each.noise_value == pytest.approx(expected)


DESIGNS = [
    choice_curve("diagnosis", TOY, mechanism="subset-design"),
    mean_curve("income", 2.0),
]


@pytest.fixture(scope="module")
def split():
    return allocate(DESIGNS)


def test_designs_are_shared_with_a_gap_that_is_said(split):
    toy, income = (
        curve.at(share) for curve, share in zip(DESIGNS, split.shares, strict=True)
    )
    expected = [toy.squared, income.squared]
    assert split.errors.tolist() == expected
    design = best_design(scaled(TOY, split.shares[0]))
    assert toy.squared == pytest.approx(design.worst_case_mse, rel=1e-5)
    expected = split.value / split.lower_bound - 1
    assert split.relative_gap == pytest.approx(expected)
    assert 0 < split.relative_gap < 0.025


def test_what_is_carried_to_a_larger_share_is_below_the_error_there():
    for rule, sharp in (
        ("min", 0.99),
        ("avg", 0.96),
        ([[0.3, 0.9], [0.9, 1.4]], 0.95),
    ):
        policy = PrivacyPolicy([0.3, 1.4], [2, 7], rule)
        asked = Objective(weights=(1.0, 2.5))
        curve = choice_curve("q", policy, 2, asked, mechanism="subset-design")
        points = {share: curve.at(share) for share in (0.1, 0.3, 0.32, 1.0)}
        pairs = itertools.combinations(points, 2)
        ratios = []
        for a, b in pairs:
            ratios.append(
                curve.carried(2 * points[a].squared_bound, a, b) / points[b].squared / 2
            )
        assert sharp < max(ratios) < 1


def test_no_shares_are_below_the_bound(split):
    for share in np.linspace(0.1, 0.9, 9):
        errors = [DESIGNS[0].at(share).squared, DESIGNS[1].at(1 - share).squared]
        assert sum(errors) >= split.lower_bound
        assert sum(errors) >= split.value * (
            1 - 1e-3
        )  # and the shares are the best to see


def test_a_bound_that_is_proven_is_not_the_error_itself():
    (toy, _) = DESIGNS
    half = toy.at(0.5)
    roughly = toy.at(0.5, tolerance=ROUGH)
    error = half.squared
    bound = half.squared_bound
    assert bound < error < bound * (1 + 1e-5)
    assert roughly.squared_bound < error * (1 + 1e-5)
    assert bound < roughly.squared < roughly.squared_bound * (1 + ROUGH)
    assert choice_curve("diagnosis", TOY, mechanism="opt1").at(0.5).squared > error


@pytest.mark.parametrize("asked", [1, 2, 3])
def test_some_questions_each_against_a_grid(asked):
    rng = np.random.default_rng(1)
    sample = some_each(SECTION_9, asked)
    part = np.array([b.at(1 / asked).squared for b in SECTION_9])
    spread = np.array([b.errors.spread for b in SECTION_9])
    weights = np.array([b.weight for b in SECTION_9])
    assert sample.fractions.sum() == pytest.approx(asked)
    assert sample.fractions.max() <= 1
    tried = 0
    for f in asked * rng.dirichlet(np.ones(3), 3000):
        if f.max() <= 1:
            errors = part / f + spread * (1 / f - 1)
            assert weights @ errors >= sample.value * (1 - 1e-12)
            tried += 1
    if asked == 3:
        assert sample.fractions.tolist() == [1.0, 1.0, 1.0]  # there is one way
    else:
        assert tried > 500
    assert sample.value == pytest.approx(weights @ sample.errors)


@pytest.mark.parametrize(
    ("epsilon", "asked"),
    [
        (0.5, 1),
        (3.0, 1),
        (6.0, 3),
        (40.0, 8),
    ],
)
def test_the_number_of_questions_grows_with_the_budget(epsilon, asked):
    """One bit a mean: d/k tanh(eps/2k)^-2 is least where eps/k solves sinh x = 2x, at 2.18."""
    curves = [mean_curve(f"mean {j}", epsilon) for j in range(9)]
    best = best_some_each(curves)
    every = [9 / k / np.tanh(epsilon / k / 2) ** 2 for k in range(1, 9)]
    assert best.asked == 1 + int(np.argmin(every)) == asked
    expected = 9 * min(every)
    assert best.value == pytest.approx(expected)


def test_large_budgets_of_counts_and_numbers_are_shared():
    """A real file's questions: their errors, of channels, are known to five or six digits alone."""
    scale = Level("all", 12.0, ["1", "2", "3", "4", "5", "6"])
    questions = (
        Ordinal("gender", [Level("all", 12.0, ["1", "2"])]),
        Ordinal("education", [scale]),
        Numeric("age", lower=13, upper=65, epsilon=12),
        Numeric("score", lower=3, upper=36, epsilon=12),
    )
    survey = Survey("s", 700, questions)
    plan = plan_survey(survey)
    split = plan.allocation
    assert split.relative_gap < 1e-4
    assert split.shares.sum() == pytest.approx(1)
