"""Audits of black boxes without a file: what is found, and what is not."""

import json

import numpy as np
import pytest
from scipy.stats import binom

from planner.errors import InputError
from planner.outsiders import FunctionBox, Promise, audit_reports
from planner.outsiders.auditing.views import VIEWS, Reports
from planner.outsiders.statistics import caught_from, findable_excess, log_ratio_limit, share_limits

TRUTH = np.e / (1 + np.e)


class Coin:
    """Randomised response of 0 and 1, drawn at once; ``say`` makes a report of it."""

    def __init__(self, truth=TRUTH, say=lambda bit, _: b"%d" % bit, seed=1, fixed=None):
        self.truth, self.say, self.fixed = truth, say, fixed
        self.rng = np.random.default_rng(seed)

    def ask(self, answers):
        rng = self.rng if self.fixed is None else np.random.default_rng(self.fixed)
        true = np.array(answers)
        bits = np.where(rng.random(true.size) < self.truth, true, 1 - true)
        return [self.say(bit, answer) for bit, answer in zip(bits.tolist(), answers, strict=True)]


def judged(box, reports=50_000, epsilon=1.0, **options):
    promise = Promise(0, 1, epsilon, epsilon)
    return audit_reports(box, [promise], reports, np.random.default_rng(5), **options)


@pytest.mark.parametrize("seed", range(5))
def test_the_innocent_pass(seed):
    """Each with a chance of a false alarm of at most 1e-6."""
    audit = judged(Coin(seed=seed))
    assert audit.passed
    assert 0.9 < audit.pairs[0].lower_bound <= 1.0
    assert "no violation found" in audit.summary
    assert audit.tests == 2 * len(VIEWS) + 1


def test_false_alarms_are_as_rare_as_stated():
    """At confidence 0.5 half of 100 audits may fail, all tests together; exact limits fail less."""
    failed = sum(not judged(Coin(seed=s), 300, confidence=0.5).passed for s in range(100))
    assert binom.sf(failed - 1, 100, 0.5) > 1e-6


def test_two_percent_more_is_caught():
    """1.02 times the probability of the truth, with the number of reports that the plan says."""
    error = 1e-6 / (2 * len(VIEWS) + 1)
    truth = 1.02 * TRUTH
    excess = np.log(truth / (1 - truth)) - 1
    draws = 40_000
    assert findable_excess(TRUTH, 1 - TRUTH, draws, error) < excess
    audit = judged(Coin(truth), 2 * draws)
    assert not audit.passed
    assert "more than their budget of 1" in audit.faults[0]


@pytest.mark.parametrize(
    "say",
    [
        lambda bit, answer: b"%d" % bit + b" " * answer,
        lambda bit, answer: [b'{"a": 1, "b": %d}', b'{"b": %d, "a": 1}'][answer] % bit,
        lambda bit, answer: b"%d" % bit + bytes([answer]) * 3,
    ],
)
def test_the_answer_beside_the_report(say):
    audit = judged(Coin(say=say), 2000)
    assert audit.pairs[0].lower_bound > 4


def test_the_answer_in_the_lines_length_or_order_alone():
    """In our format, where the content is honest and the line around it is not."""
    lines = [
        b'{"id": "0011223344556677", "report": "AAAA"}',
        b'{"report": "AAAA", "id": "0011223344556677"}',
        b'{"id": "0011223344556677",  "report": "AAAA"}',
    ]
    for other in lines[1:]:
        box = FunctionBox(lambda answer, other=other: (lines[0], other)[answer])
        audit = judged(box, 1000)
        assert audit.pairs[0].view == "length and order"
        assert not audit.passed


def test_the_answer_in_the_label():
    rng = np.random.default_rng(4)

    def report(answer):
        label = bytearray(rng.bytes(8))
        label[3] = label[3] & 0xFE | answer
        return json.dumps({"id": label.hex(), "report": "AAAA"})

    audit = judged(FunctionBox(report), 1000)
    assert audit.pairs[0].view == "bits"
    assert audit.pairs[0].lower_bound > 3


@pytest.mark.parametrize("truth", [0.6, TRUTH, 0.95])
def test_a_fixed_seed(truth):
    fixed = judged(Coin(truth, fixed=3), 2000, epsilon=4.0)
    assert fixed.repeats
    assert "seed is fixed" in fixed.faults[0]
    assert not judged(Coin(truth), 2000, epsilon=4.0).repeats


def test_a_constant_says_nothing():
    audit = judged(FunctionBox(lambda _: b"same"), 1000)
    assert audit.passed
    assert audit.pairs[0].lower_bound == 0
    assert audit.pairs[0].view == "nothing"


def test_what_n_reports_find():
    """Reference numbers of reports for an excess of 2 %, 1 and 1,000 tests at 5 % in all."""
    for error, draws in ((0.05, 1.1e5), (0.05 / 1000, 3.3e5)):
        assert findable_excess(TRUTH, 1 - TRUTH, int(draws), error) == pytest.approx(
            np.log(1.02), rel=0.03
        )
    found = 0
    rng = np.random.default_rng(8)
    excess = findable_excess(0.5, 0.2, 20_000, 1e-3)
    for _ in range(400):
        hits = rng.binomial(20_000, 0.5), rng.binomial(20_000, 0.2)
        found += log_ratio_limit(*map(int, hits), 20_000, 1e-3) > np.log(2.5) - excess
    assert 0.85 < found / 400 < 0.95


def test_limits():
    assert share_limits(0, 10, 0.05)[0] == 0
    assert share_limits(10, 10, 0.05)[1] == 1
    assert log_ratio_limit(0, 0, 10, 0.1) == 0


def test_reports_are_read():
    ours = Reports.read([b'{"id": "00ff", "report": "AQI=", "n": 1}', b"else"])
    assert ours.content.tolist() == [[1, 2, 0, 0], list(b"else")]
    assert ours.label.tolist() == [[0, 255], [0, 0]]
    assert ours.shapes == (b'{"id": "<4>", "report": "<4>", "n": 1}', b"4")


def test_refusals():
    rng = np.random.default_rng(1)
    coin, promise = Coin(), Promise(0, 1, 1.0)
    for call in (
        lambda: audit_reports(coin, [], 100, rng),
        lambda: audit_reports(coin, [Promise(0, 0, 1.0)], 100, rng),
        lambda: audit_reports(coin, [Promise(0, 1, 2.0, 1.0)], 100, rng),
        lambda: audit_reports(coin, [Promise(0, 1, float("inf"))], 100, rng),
        lambda: audit_reports(coin, [promise], 99, rng),
        lambda: audit_reports(coin, [promise], 100, rng, confidence=1.0),
        lambda: audit_reports(coin, [promise], 100, 7),
    ):
        with pytest.raises(InputError):
            call()


def test_lines_that_all_differ_are_no_fault():
    """What marks each line chooses no event from the half that proves: false alarm 1e-6."""
    source = np.random.default_rng(5)

    def line(_):
        return f'{{"report":"AA==","id":"00","check":"{source.integers(2**62):016x}"}}'

    audit = audit_reports(FunctionBox(line), [Promise(0, 1, 0.1)], 20_000, np.random.default_rng(1))
    assert audit.passed, audit.faults


def test_clients_are_caught_from_there_on():
    """Of 2,000 such audits 90 % prove it within 4 %, beyond a chance of one in a million."""
    draws, error = 50_000, 1e-6
    caught = caught_from([TRUTH, 1 - TRUTH], [1 - TRUTH, TRUTH], draws, error)
    promised = np.log(TRUTH / (1 - TRUTH))
    one = TRUTH * np.exp((caught - promised) / 2)
    rng = np.random.default_rng(4)
    hits = rng.binomial(draws, [one, one * np.exp(-caught)], (2_000, 2))
    proven = np.array([log_ratio_limit(x, y, draws, error) for x, y in hits.tolist()])
    assert 0.86 < np.mean(proven > promised) < 0.94
    honest = rng.binomial(draws, [TRUTH, 1 - TRUTH], (500, 2))
    assert not any(log_ratio_limit(x, y, draws, error) > promised for x, y in honest.tolist())


def test_the_event_that_shows_most_is_not_always_the_most_telling():
    one, other = np.array([1e-5, 0.6, 0.4 - 1e-5]), np.array([4e-6, 0.3, 0.7 - 4e-6])
    caught = caught_from(one, other, 50_000, 1e-6)
    both = one[:2].sum(), other[:2].sum()
    most = np.log(2.5)
    assert caught == pytest.approx(
        2 * most - np.log(both[0] / both[1]) + findable_excess(*both, 50_000, 1e-6)
    )
    assert caught < most + findable_excess(one[0], other[0], 50_000, 1e-6)
    assert caught_from([1.0], [1.0], 50_000, 1e-6) == np.inf
