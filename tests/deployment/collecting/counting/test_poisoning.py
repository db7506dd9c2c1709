"""Signs of poisoning: honest reports raise none, whatever the answers; fakes do."""

import numpy as np
import pytest
from scipy.stats import binom, norm

from planner.deployment.client.drawing.entropy import system
from planner.deployment.mechanisms.registry import deployed
from planner.deployment.mechanisms.signs import ALPHA, bernstein_reach
from planner.deployment.mechanisms.unary import _weight_law, draw_unary


def signs(law, rows, number=None):
    tallier = deployed(law).counter()
    tallier.add(rows)
    return deployed(law).signs(tallier.tally(), number)


@pytest.fixture(scope="module")
def law(one_question):
    return one_question.questions[0].law


@pytest.mark.parametrize("answers", ["one for all", "spread", "half and half"])
@pytest.mark.parametrize("n", [1, 30, 2000])
def test_honest_files_raise_no_sign_whatever_the_answers(law, rng, n, answers):
    """600 files at a false-alarm rate of 1e-6 each."""
    pick = {"one for all": [7], "spread": range(40), "half and half": [0, 39]}[answers]
    for _ in range(70 if n < 2000 else 10):
        assert signs(law, draw_unary(law, rng.choice(list(pick), size=n), system)) == []


def test_every_mechanisms_honest_reports_raise_no_sign(parameters, encoders):
    answers = {"sets": ["x"], "age": 90, "yes": 1, "hours": 90, "yes by channel": 1}
    answers |= {"sets by design": ["x"], "sampled": "u"}
    for question in parameters.questions:
        encoder = encoders[question.name]
        code = encoder.code(answers.get(question.name, "x"))
        for number in (1, 2) if question.name == "sampled" else (None,):
            drawn = [encoder.draw(code, system) for _ in range(400)]
            payloads = [encoder.output(one, code, number) for one in drawn]
            rows = np.frombuffer(b"".join(payloads), np.uint8).reshape(-1, question.law.size)
            assert signs(question.law, rows, number) == []


def test_promoted_items_show(law, rng):
    """A tenth of the file claims an item by setting its bit alone."""
    rows = draw_unary(law, rng.integers(40, size=20_000), system).copy()
    fakes = np.zeros((20_000, 8), np.uint8)
    fakes[:, 3] = 4
    rows[:4000] = fakes[:4000]
    found = signs(law, rows)
    assert any("ones per report" in sign or "at most" in sign for sign in found)


def test_one_item_set_by_all_shows_and_is_named(law, rng):
    rows = draw_unary(law, rng.integers(40, size=3000), system).copy()
    rows[:, 1] |= 2
    assert any(sign.startswith("'9' has 3,000") for sign in signs(law, rows))


def test_constant_weight_shows_although_the_mean_is_right(law, rng):
    """Fakes with always the expected number of ones, each bit as frequent as it should be."""
    honest = draw_unary(law, rng.integers(40, size=4000), system)
    weight = round(float(np.unpackbits(honest, axis=1).sum()) / 4000)
    ones = np.zeros((4000, 64), np.uint8)
    b = np.array([law.b[i] for i in law.levels.level_of()], float)
    for row in ones:
        row[rng.choice(40, size=weight, replace=False, p=b / b.sum())] = 1
    fakes = np.packbits(ones, axis=1, bitorder="little")
    assert any("reports looked at" in sign for sign in signs(law, fakes))
    assert signs(law, honest) == []


def test_more_than_a_few_are_summed_up(law):
    full = np.zeros((500, 8), np.uint8)
    full[:, :5] = 255
    found = signs(law, full)
    assert any("more counts are out of range" in sign for sign in found)


def test_a_near_miss_shows_where_the_bound_says_so(law, rng):
    """Five percent of all zeros turned to ones is seen with enough reports, and not with few."""
    for n, seen in ((60, False), (40_000, True)):
        rows = draw_unary(law, rng.integers(40, size=n), system).copy()
        bits = np.unpackbits(rows, axis=1, bitorder="little")[:, :40]
        bits |= rng.random(bits.shape) < 0.05
        padded = np.zeros((n, 64), np.uint8)
        padded[:, :40] = bits
        heavier = np.packbits(padded, axis=1, bitorder="little")
        assert bool(signs(law, heavier)) == seen


def test_directions_and_rounds_show(parameters):
    age = parameters.question("age").law
    assert any("positive sampling" in sign for sign in signs(age, np.full((300, 1), 3, np.uint8)))
    sampled = parameters.question("sampled").law
    claim = np.tile(np.frombuffer((2).to_bytes(4, "little"), np.uint8), (300, 1))
    assert signs(sampled, claim, 1)
    assert signs(sampled, claim, 2)
    grr = parameters.question("grr").law
    assert any(sign.startswith("'cold'") for sign in signs(grr, claim))


def test_the_bound_holds_and_is_not_idle():
    """Bernstein against the exact binomial tail, and within a fifth of the normal quantile."""
    for n, p in ((10, 0.5), (1000, 0.01), (10**6, 0.3)):
        reach = float(bernstein_reach(n * p * (1 - p), ALPHA))
        assert binom.sf(np.ceil(n * p + reach) - 1, n, p) <= ALPHA
    assert reach < 1.2 * norm.isf(ALPHA) * np.sqrt(n * p * (1 - p))


def test_weight_law_is_that_of_a_sum_of_bits(law):
    few, many = (b / 2**32 for b in law.b)
    expected = np.convolve(binom.pmf(range(5), 4, few), binom.pmf(range(37), 36, many))
    np.testing.assert_allclose(_weight_law(law), expected, atol=1e-13)


def test_weights_of_very_wide_reports_are_not_predicted(law, monkeypatch):
    """Their law would take long; the counts are looked at all the same."""
    light = np.zeros((4000, 8), np.uint8)
    assert any("reports looked at" in sign for sign in signs(law, light))
    monkeypatch.setattr("planner.deployment.mechanisms.unary._MOST_CELLS", 1)
    found = signs(law, light)
    assert not any("reports looked at" in sign for sign in found)
    assert any("ones per report" in sign for sign in found)
