"""Reports of a question and its anchor, counted together: against each report by itself."""

from dataclasses import replace

import numpy as np
import pytest

from planner import Categorical, Level, best_design, solve
from planner.laws.anchor import Anchor
from planner.mechanisms.anchored import (
    AnchoredCounter,
    anchor_means,
    counts_of_question,
)
from planner.mechanisms.counting import Aggregate
from planner.mechanisms.making import law_of, local_hashing, randomized_response
from planner.mechanisms.words import seeded_words
from tests.refusals import refused

QUESTION = Categorical(
    "diagnosis",
    (
        Level("rare", 1.0, ("HIV", "cancer")),
        Level("usual", 3.0, ("flu", "cold", "none")),
    ),
    "avg",
)
MECHANISMS = {
    "bits": lambda: solve(QUESTION.policy),
    "sides of several types": lambda: best_design(QUESTION.policy),
    "sides of one type": lambda: randomized_response(1.0, items=5),
    "hash": lambda: local_hashing(1.0, items=5),
}
EVERY = pytest.mark.parametrize("name", MECHANISMS)


def anchored(name, known="none"):
    law = law_of(QUESTION, MECHANISMS[name]())
    return replace(law, anchor=Anchor("check", known))


def drawn(law, people=300):
    """Reports of people of whom six in ten attend."""
    rng = np.random.default_rng(41)
    attends = rng.random(people) < 0.6
    of_question = rng.integers(5, size=people)
    of_anchor = np.where(attends, 4, rng.integers(5, size=people))
    pairs = list(zip(of_question.tolist(), of_anchor.tolist(), strict=True))
    (rows,) = law.draw_many(pairs, seeded_words(rng))
    return rows


def counted(law, rows):
    counter = AnchoredCounter(law)
    counter.add(rows)
    return counter.sums()


def weights(law, rows):
    """What each report adds to each answer's count, ``(reports, answers)``: counted alone."""
    added = []
    for row in np.ascontiguousarray(rows):
        counter = law.shape.counter()
        counter.add(row[None])
        estimates = law.shape.estimate(counter.sums())
        added.append(estimates.values)
    return np.array(added)


@EVERY
def test_the_questions_counts_are_those_of_its_reports_alone(name):
    law = anchored(name)
    rows = drawn(law)
    alone = law.shape.counter()
    alone.add(np.ascontiguousarray(rows[:, : law.shape.size]))
    of_question = counts_of_question(law, counted(law, rows))
    assert of_question.users == 300
    expected = alone.sums().counts.tolist()
    assert of_question.counts.tolist() == expected
    without = replace(law, anchor=None)
    assert counts_of_question(without, alone.sums()).counts.tolist() == (
        alone.sums().counts.tolist()
    )


@EVERY
def test_means_vary_together_as_the_reports_do(name):
    """The covariance of the means is that of the reports, and of no other answer's anchor."""
    law = anchored(name)
    rows = drawn(law)
    of_question = weights(law, rows[:, : law.shape.size])
    of_anchor = weights(law, rows[:, law.shape.size :])
    means = anchor_means(law, counted(law, rows))
    expected = of_anchor[:, 4].mean()
    assert means.known_share == pytest.approx(expected)
    centred = of_question - of_question.mean(axis=0)

    def covariances(answer):
        gaps = of_anchor[:, answer] - of_anchor[:, answer].mean()
        return gaps @ centred / 300**2

    assert means.covariances == pytest.approx(covariances(4), abs=1e-12)
    assert means.covariances != pytest.approx(covariances(2), rel=0.01)


@EVERY
def test_the_known_answers_variance_is_that_of_draws(name):
    """Of 4,000 reports within 15 %: five standard errors of a variance, a false alarm of 1e-6."""
    law = anchored(name)
    rows = drawn(law, people=4000)
    of_anchor = weights(law, rows[:1000, law.shape.size :])[:, 4]
    means = anchor_means(law, counted(law, rows))
    assert 4000 * means.variance == pytest.approx(of_anchor.var(), rel=0.15)


@EVERY
def test_counts_add_up_whoever_counts(name):
    law = anchored(name)
    rows = drawn(law)
    apart = counted(law, rows[:90]) + counted(law, rows[90:])
    together = counted(law, rows)
    assert apart.users == together.users
    assert apart.counts.tolist() == together.counts.tolist()
    assert together.counts.size == law.cells


@EVERY
def test_a_part_that_the_law_cannot_produce_is_refused(name):
    law = anchored(name)
    size = law.shape.size
    for part in (slice(0, size), slice(size, 2 * size)):
        rows = drawn(law, people=3)
        rows[1, part] = 255
        counter = AnchoredCounter(law)
        with pytest.raises(ValueError, match="report"):
            counter.add(rows)
        assert counter.sums().users == 0


def test_counts_without_an_anchor_are_none_of_a_question_with_one():
    law = anchored("bits")
    with refused("counts"):
        counts_of_question(law, Aggregate(3, np.array([1, 2, 3, 0, 0])))
