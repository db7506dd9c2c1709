"""What one false report does: the published attacks, and every report that a device may send."""

from itertools import product
from math import e

import numpy as np
import pytest

from planner import Aggregate, oue, padded
from planner.mechanisms.words import seeded_words
from planner.outsiders.false_reports import false_reports
from planner.planning.plan import plan_survey
from planner.solvers.types import OutputTypes
from planner.survey.assumed import AssumedSets
from planner.survey.choices import Categorical, ItemSet, SampledChoice, Sampling
from planner.survey.levels import Level
from planner.survey.numeric import Numeric
from planner.survey.ordinal import Ordinal
from planner.survey.survey import Survey


def law_with(question):
    survey = Survey("s", 1000, (question,))
    plan = plan_survey(survey)
    (planned,) = plan.questions
    return planned.law


def choice(answers, mechanism, epsilon=1.0):
    level = Level("any", epsilon, item_count=answers)
    levels = (level,)
    question = Categorical("q", levels, mechanism=mechanism)
    return law_with(question)


@pytest.mark.parametrize(
    ("answers", "mechanism", "gain"),
    [
        (102, "grr", 2.727),
        (102, "oue", 1.582),
        (102, "subset-design", 1.586),
        (490, "grr", 14.017),
        (490, "oue", 1.582),
        (490, "subset-design", 1.578),
    ],
)
def test_ten_targets_of_cao_jia_and_gong(answers, mechanism, gain):
    """Their gain at budget 1 with 5 % of false reports; a subset's size is a whole number."""
    moves = false_reports(choice(answers, mechanism))
    assert 0.05 * moves.together(0, 10) == pytest.approx(gain, rel=2e-3)


@pytest.mark.parametrize(
    ("size", "up", "variance"),
    [
        (132, 3.156, 3.664),
        (163, 2.746, 3.750),
        (245, 2.162, 4.664),
    ],
)
def test_larger_subsets_are_swayed_less_and_are_less_exact(size, up, variance):
    """Subsets of 490 answers at budget 1, their law written out."""
    types = OutputTypes([490], [1.0], [[1.0]], [[e]], [[size]])
    scale = types.means[0, 0]
    odds = size / 490 * e / scale
    # Of another answer: the rest of the subset is drawn evenly from the other 489.
    other = (size - odds) / 489
    assert (1 - other) / (odds - other) == pytest.approx(up, abs=6e-4)
    assert other * (1 - other) / (odds - other) ** 2 == pytest.approx(
        variance, abs=6e-4
    )


def small_laws():
    levels = (Level("strict", 0.8, item_count=2), Level("open", 1.6, item_count=3))
    for mechanism in ("subset-design", "opt0", "grr", "olh"):
        yield law_with(Categorical("q", levels, mechanism=mechanism))
    level = Level("any", 1.5, ("a", "b", "c", "d", "e", "f"))
    plain = (level,)
    yield law_with(ItemSet("q", plain, padding_length=2))
    yield law_with(Ordinal("q", plain))
    yield law_with(Ordinal("q", plain, scores=(0, 1, 2, 5, 6, 9)))
    yield law_with(Numeric("q", 10, 30, epsilon=1.5))


@pytest.mark.parametrize("law", list(small_laws()), ids=lambda law: law.mechanism)
def test_no_report_of_a_device_moves_an_estimate_farther(law):
    """Every report drawn by a device, counted alone: the limits hold and are reached.

    The rarest of these reports is sent by one person in 50: all of them are seen in 4,000 draws
    but with a chance below 1e-30.
    """
    moves = false_reports(law)
    rows = rows_of(moves)
    rng = np.random.default_rng(7)
    words = seeded_words(rng)
    total = law.shape.levels.total + (law.kind == "numeric")
    elements = np.arange(4_000) % min(total, 5)
    if law.kind == "item-set" and law.shape.levels.dummies > 1:
        elements = np.column_stack([elements, (elements + 1) % 5])
    (reports,) = law.shape.draw_many(elements, words)
    estimates = []
    for report in np.unique(reports, axis=0):
        counter = law.shape.counter()
        counter.add(report[None])
        values = law.shape.estimate(counter.sums()).values
        if (
            law.kind == "numeric"
        ):  # half the range and its middle: the sum of all numbers
            values = np.array([10 * values[0] + 20 * values[1]])
        estimates.append(values[: len(rows)])
    up = np.max(estimates, axis=0)
    down = -np.min(estimates, axis=0)
    if law.mechanism == "olh":  # of few seeds drawn not all reports are
        assert (up <= moves.up[rows] + 1e-9).all()
        return
    assert up == pytest.approx(moves.up[rows], abs=1e-9)
    assert down == pytest.approx(moves.down[rows], abs=1e-9)


def rows_of(moves):
    """The level of each answer, or each wanted number itself."""
    if not moves.sizes:
        return np.arange(len(moves.up))
    return np.repeat(np.arange(len(moves.sizes)), moves.sizes)


def test_the_example_of_ordered_answers():
    """A share up to an answer moves by 2.65 to 2.94 people, the sum of scores by 25.6 hours."""
    (question,) = plan_survey("examples/hours.toml").questions
    moves = false_reports(question.law)
    assert moves.up.min() == pytest.approx(2.65, abs=0.005)
    assert moves.up.max() == pytest.approx(2.94, abs=0.005)
    up, down = moves.score_sum
    assert up == pytest.approx(25.6, abs=0.05)
    assert down == pytest.approx(11.3, abs=0.05)


MANY = 10**8  # of whom one report is counted to first order


def estimated_with(law, report, honest):
    """The collector's sums of honest reports of these shares, and with one more, ``(2, k)``."""
    counts = np.rint(MANY * (honest @ np.array(law.shape.rows) / 2**32)).astype(int)
    one_more = counts + np.eye(counts.size, dtype=int)[report]
    return [
        people.sum() * law.shape.estimate(Aggregate(people.sum(), people)).values
        for people in (counts, one_more)
    ]


@pytest.mark.parametrize("mechanism", ["channel", "bisample-md"])
def test_the_sum_of_numbers_and_the_mean_of_those_who_answer(mechanism):
    """Every report, beside people at two points of the grid and without a number.

    BiSample-MD averages the reports of each of its directions: a false one also takes the place of
    honest ones there, which was left out.
    """
    question = Numeric("q", 10, 30, epsilon=1.5, mechanism=mechanism)
    law = law_with(question)
    points = len(law.shape.rows) - 1
    moves = false_reports(law)
    sums = []
    means = []
    refusing = (0.0, 0.4, 1 - 1e-3)
    for first, second, rate in product(range(points), range(points), refusing):
        honest = np.zeros(points + 1)
        honest[[first, second]] += (1 - rate) / 4, 3 * (1 - rate) / 4
        honest[first] += (1 - rate) - honest.sum()
        honest[-1] = rate
        for report in range(len(law.shape.rows[0])):
            before, after = estimated_with(law, report, honest)
            (total, number), (new_total, new_number) = before, after
            sums.append(10 * (new_total - total) + 20 * (new_number - number))
            means.append(10 * number * (new_total / new_number - total / number))
    for shifts, up, down in (
        (sums, moves.up, moves.down),
        (means, moves.of_answering.up, moves.of_answering.down),
    ):
        assert max(shifts) == pytest.approx(up[0], rel=2e-3)
        assert -min(shifts) == pytest.approx(down[0], rel=2e-3)


def test_shares_of_those_who_answer_in_order():
    """Shares up to each answer over the people with an answer in the order, for every report."""
    level = Level("any", 1.5, ("a", "b", "c", "d", "none"))
    question = Ordinal("q", (level,), no_answer="none")
    law = law_with(question)
    moves = false_reports(law).of_answering
    assert moves.moved == tuple(f"the share up to {answer}" for answer in "abc")
    shifts = []
    for honest in np.eye(5)[:4] * 0.7 + np.eye(5)[4] * 0.3:
        for report in range(len(law.shape.rows[0])):
            before, after = estimated_with(law, report, honest)
            shares = [sums[:3] / sums[3] for sums in (before, after)]
            shifts.append(0.7 * MANY * (shares[1] - shares[0]))
    assert np.max(shifts, axis=0) == pytest.approx(moves.up, rel=1e-5)
    assert -np.min(shifts, axis=0) == pytest.approx(moves.down, rel=1e-5)


def test_two_rounds_of_a_die():
    """All pairs of reports that somebody may send: counts of three values, alone and together."""
    values = (
        Level("rare", 1.0, ("x",), yes_counts=(300,)),
        Level("common", 2.0, ("y", "z"), yes_counts=(400, 500)),
    )
    sampling = Sampling(relies_on="round-two")
    question = SampledChoice("q", values, sampling=sampling)
    survey = Survey("s", 10_000, (question,))
    plan = plan_survey(survey)
    (planned,) = plan.questions
    mechanism = planned.mechanism.mechanism
    honest = np.array([[7000, 1000, 1000, 1000], [5500, 1500, 1500, 1500]])
    counted = Aggregate(10_000, honest)
    before = mechanism.estimate(counted).values
    shifts = []
    for reports in product(range(4), repeat=2):
        counts = honest.copy()
        for round_number, report in enumerate(reports):
            counts[round_number, report] += 1
        counted = Aggregate(10_001, counts)
        estimates = mechanism.estimate(counted)
        after = estimates.values
        shifts.append((after - before)[1:])
    moves = planned.moves
    assert moves.moved == ("rare", "common")
    expected = moves.up[[0, 1, 1]]
    assert np.max(shifts, axis=0) == pytest.approx(expected)
    expected = moves.down[[0, 1, 1]]
    assert -np.min(shifts, axis=0) == pytest.approx(expected)
    of_both = np.array(shifts)[:, 1:].sum(axis=1)
    expected = moves.together(1, 2)
    assert of_both.max() == pytest.approx(expected)


def test_every_mechanism_that_could_be_deployed_says_how_far_it_is_swayed():
    """Of a set, too: each at its own padding length."""
    level = Level("any", 1.0, item_count=6)
    levels = (level,)
    choice = Categorical("q", levels)
    sets = ItemSet("q", levels, sets=AssumedSets([0, 40, 30, 20, 10]))
    for question in (choice, sets):
        survey = Survey("s", 1000, (question,))
        plan = plan_survey(survey)
        (planned,) = plan.questions
        for option, most in zip(planned.options, planned.most_moved, strict=True):
            assert (most is None) == option.compared, option.name
    lengths = {option.length for option in planned.options if not option.compared}
    assert len(lengths) > 1
    table = planned.option("oue")
    mechanism = padded(oue(1.0, 6), table.length)
    moves = false_reports(mechanism)
    position = planned.options.index(table)
    assert planned.most_moved[position] == pytest.approx(moves.most, rel=1e-6)


def test_what_is_said_of_a_share_counts_the_honest_reports_that_are_replaced():
    moves = false_reports(choice(10, "grr"))
    # 1 + 9 / (e - 1) people up for each false one, less the share that is there already.
    assert moves.share_moved(0.02, 0.3)[0] == pytest.approx(
        0.02 * (1 + 9 / (e - 1) - 0.3), rel=1e-6
    )
