"""Two answers with an order: gamma against people counted pair by pair, and what limits cover."""

import numpy as np
import pytest
from scipy.stats import binom

from planner import subset_selection
from planner.estimates.cross_table import UNKNOWN, CrossTable
from planner.estimates.ordered_table import gamma_of_shares, ordered_association
from planner.mechanisms.words import seeded_words
from tests.surveys import tries

MISS = 1e-6  # of each statistical test
RUNS = tries(120, 2000)


def estimated(shares, users, budget, runs, in_order=None, seed=1):
    """Tables of people drawn from shares of the cells."""
    rng = np.random.default_rng(seed)
    law = subset_selection(budget, shares.size).shape
    answers = tuple([str(k) for k in range(size)] for size in shares.shape)
    for _ in range(runs):
        cells = rng.choice(shares.size, size=users, p=shares.ravel())
        counter = law.counter()
        for reports in law.draw_many(cells, seeded_words(rng)):
            counter.add(reports)
        estimates = law.estimate(counter.sums())
        counts = estimates.values.reshape(shares.shape)
        yield CrossTable(
            ("first", "second"),
            answers,
            counts,
            users,
            law.second_moments,
            in_order=in_order or shares.shape,
        )


def going_together(shape, strength, seed=0):
    """Shares that grow along the diagonal, ``exp(strength u v)`` with random margins."""
    rng = np.random.default_rng(seed)
    rows = np.linspace(-1, 1, shape[0])
    columns = np.linspace(-1, 1, shape[1])
    margins = np.outer(*(rng.dirichlet(np.full(size, 4.0)) for size in shape))
    shares = np.exp(strength * np.outer(rows, columns)) * margins
    return shares / shares.sum()


def test_gamma_is_that_of_people_compared_two_by_two():
    table = np.array(
        [
            [3, 1, 0, 2],
            [1, 2, 2, 0],
            [0, 1, 4, 1],
        ]
    )
    people = np.repeat(np.arange(12), table.ravel())
    rows, columns = np.divmod(people, 4)
    agreeing = 0
    opposite = 0
    for person in range(people.size):
        for other in range(person):
            # The last column is outside the order.
            if max(columns[person], columns[other]) < 3:
                direction = (rows[person] - rows[other]) * (
                    columns[person] - columns[other]
                )
                agreeing += direction > 0
                opposite += direction < 0
    expected = (agreeing - opposite) / (agreeing + opposite)
    assert gamma_of_shares(table / people.size, (3, 3)) == pytest.approx(expected)


def test_a_table_of_answers_without_an_order_has_no_gamma():
    (table,) = estimated(going_together((2, 3), 1.0), 500, 4.0, 1, in_order=(2, 0))
    assert ordered_association(table) is None


def test_where_the_reports_tell_nothing_the_whole_range_is_stated():
    (table,) = estimated(going_together((2, 2), 1.0), 50, 0.1, 1)
    gamma, chance = ordered_association(table)
    assert gamma.lower == -1.0
    assert gamma.upper == 1.0
    assert gamma.note == UNKNOWN
    assert chance == 1.0


RARE = np.array([[2, 48], [25, 25]]) / 100  # one pair in fifty goes against all others


@pytest.mark.parametrize(
    ("budget", "users", "shares"),
    [
        (1.0, 2000, going_together((3, 3), 1.0)),
        (2.0, 3000, going_together((5, 4), 2.0)),
        (6.0, 3000, going_together((4, 3), 2.0)),
        (8.0, 100, going_together((4, 4), 6.0)),
        (9.0, 60, RARE),
    ],
)
def test_limits_of_gamma_cover_what_they_say(budget, users, shares):
    """Coverage of at least .93 where .95 is meant, but for one in a million.

    Near miss: limits a quarter as wide.
    """
    true = gamma_of_shares(shares, shares.shape)
    held = 0
    near_miss = 0
    for table in estimated(shares, users, budget, RUNS, seed=7):
        gamma, _ = ordered_association(table)
        held += gamma.lower - 1e-9 <= true <= gamma.upper + 1e-9
        middle = (gamma.lower + gamma.upper) / 2
        near_miss += abs(middle - true) <= (gamma.upper - gamma.lower) / 8
    least = binom.ppf(MISS, RUNS, 0.93)
    assert near_miss < least <= held, (held, near_miss, least)


def test_gamma_of_many_tables_is_right_on_average():
    """Its mean over draws is the truth to 5 standard errors. Near miss: a twentieth more."""
    shares = going_together((3, 3), 1.5)
    true = gamma_of_shares(shares, shares.shape)
    values = []
    for table in estimated(shares, 4000, 1.5, RUNS, seed=3):
        values.append(ordered_association(table).gamma.value)
    error = np.std(values) / np.sqrt(RUNS)
    # The bias of a ratio is of the order of the variance over the value.
    assert abs(np.mean(values) - true) < 5 * error + np.var(values)
    assert abs(np.mean(values) - 1.05 * true) > 5 * error + np.var(values)


@pytest.mark.parametrize(
    ("budget", "users", "shape"), [(1.0, 2000, (3, 3)), (2.0, 600, (5, 4))]
)
def test_independent_answers_are_rarely_said_to_go_together(budget, users, shape):
    """At 5 % in 3 to 7 % of the draws, but for one in a million. Near miss: noise is left out."""
    shares = going_together(shape, 0.0)
    rejected = 0
    naive = 0
    for table in estimated(shares, users, budget, RUNS, seed=11):
        rejected += ordered_association(table).p_value < 0.05
        exact = CrossTable(
            table.names,
            table.answers,
            table.counts,
            users,
            subset_selection(20.0, shares.size).shape.second_moments,
            in_order=shape,
        )
        naive += ordered_association(exact).p_value < 0.05
    most = binom.isf(MISS / 2, RUNS, 0.07)
    assert binom.ppf(MISS / 2, RUNS, 0.03) <= rejected <= most, (rejected, naive)
    assert naive > most
