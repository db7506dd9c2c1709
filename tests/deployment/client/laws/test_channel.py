"""The device's half of channels: what is proven, what is drawn, what is refused."""

import json
from fractions import Fraction

import numpy as np
import pytest

from planner import Question, Survey, best_channel
from planner.deployment.client.canonical import content_hash
from planner.deployment.client.laws.exact import DENOMINATOR as D
from planner.deployment.client.mechanisms.channel_rows import MAX_SYMBOLS
from planner.deployment.client.questions import read_law
from planner.deployment.parameter_file.building import parameters_from_mechanisms, question_document
from planner.deployment.parameter_file.parameters import parse_parameters
from planner.errors import InputError, PlannerError, VerificationError
from planner.mechanisms.means import MeanChannelMechanism
from planner.planning.channels.populations import five_populations
from planner.survey import Numeric
from planner.survey.numeric_domain import NumericDomain
from tests.deployment.mutations import mutated, paths_of
from tests.deployment.readers import both_clients_agree
from tests.mechanisms.decisions import draws_follow
from tests.mechanisms.test_design_grid import exponential

AGES = NumericDomain(17, 90)
CHANNEL = best_channel(1.5, five_populations(AGES), points=4, tolerance=1e-4)
QUESTION = Question("q", (), kind="numeric", numeric=Numeric(AGES, epsilon=1.5))
PARAMETERS = parameters_from_mechanisms(Survey("s", 10, (QUESTION,)), {"q": CHANNEL})
LAW = PARAMETERS.questions[0].law


def test_draws_follow_the_law():
    """20,000 reports of each of three answers against the exact law, at a false alarm of 1e-6."""
    mechanism, rng = MeanChannelMechanism.of(CHANNEL), np.random.default_rng(7)
    for answer in (17, 33.3, None):
        encoder = LAW.encoder()
        code = encoder.code(answer)
        drawn = [int.from_bytes(encoder.draw(code, rng.bytes), "little") for _ in range(20_000)]
        counts = np.bincount(drawn, minlength=LAW.cells)
        chances = mechanism.output_law([np.nan if answer is None else answer])[0]
        assert draws_follow(counts, chances)
        near = chances * np.where(np.arange(chances.size) % 2, 0.9, 1.1)
        assert not draws_follow(counts, near / near.sum())


def test_both_clients_make_the_same_reports(node, tmp_path):
    """Seven budgets, grids and ranges in one file, odd entropy among the vectors."""
    questions, mechanisms = [], {}
    ranges = [(-1, 1), (0, 1e-9), (17, 90), (-3e99, 4e99), (0.1, 0.7), (1e6, 1e6 + 1), (-5, 0)]
    budgets = [1e-3, 0.2, 1.0, 2.0, 4.0, 9.0, 20.0]
    for i, (ends, epsilon) in enumerate(zip(ranges, budgets, strict=True)):
        domain = NumericDomain(*ends)
        questions.append(Question(f"q{i}", (), kind="numeric", numeric=Numeric(domain)))
        mechanisms[f"q{i}"] = best_channel(
            epsilon, five_populations(domain), points=2 + i, tolerance=1e-2
        )
    parameters = parameters_from_mechanisms(Survey("s", 10, tuple(questions)), mechanisms)
    both_clients_agree(node, parameters, tmp_path)


def agrees(question):
    """An independent check in rational numbers: a law, its budget kept, next to no bias."""
    rows, (total, number) = question["rows"], question["estimator"]["values"]
    limit = exponential(question["epsilon"])
    if any(sum(row) != D for row in rows):
        return False
    if any(max(one) > limit * min(one) for one in zip(*rows, strict=True)):
        return False
    last = len(rows) - 2
    grid = [*(Fraction(2 * k, last) - 1 for k in range(last + 1)), 0]
    for values, wanted in ((total, grid), (number, [1] * (last + 1) + [0])):
        most = 2e-7 * max(map(abs, values))
        for row, want in zip(rows, wanted, strict=True):
            mean = sum(Fraction(v) * w for v, w in zip(values, row, strict=True)) / D
            if abs(mean - want) > most:
                return False
    return True


def test_mutated_files_are_refused_unless_rational_arithmetic_agrees():
    text = json.dumps(PARAMETERS.document)
    places = [p for p in paths_of(json.loads(text)) if p and p[0] == "questions"]
    rng, accepted = np.random.default_rng(11), 0
    for _ in range(400):
        try:
            read = parse_parameters(json.dumps(mutated(text, places, rng))).document
        except PlannerError:
            continue
        accepted += 1
        assert all(map(agrees, read["questions"]))
    assert 0 < accepted < 100  # names may change, little else


def changed(change):
    document = json.loads(PARAMETERS.to_json())
    change(document["questions"][0])
    document["hash"] = content_hash(document)
    return json.dumps(document)


def shifted(question, amount):
    row = question["rows"][0]
    row[0] += amount
    row[1] -= amount


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda q: q["rows"][1].__setitem__(0, 5), "integers of row 1 do not sum to 2"),
        (lambda q: q.__setitem__("epsilon", 1.4999), "realises 1.49.* 1.499900000 are promised"),
        (lambda q: shifted(q, 2**28), "A report realises"),
        (lambda q: q["estimator"]["values"][0].__setitem__(0, 9.0), "biased for the answers"),
        (lambda q: q["rows"].reverse(), "biased for the answers of row 0"),
        (lambda q: q["pairs"][0].__setitem__("realised", 0.5), "listed pairs do not follow"),
    ],
)
def test_wrong_files_are_refused_in_words(change, reason):
    text = changed(change)
    assert not agrees(json.loads(text)["questions"][0]) or "pairs" in reason
    with pytest.raises(VerificationError, match=reason):
        parse_parameters(text)


def test_one_unit_more_than_the_budget_is_refused():
    """The smallest budget that the integers keep, and the next double below it."""
    ratio = max(Fraction(max(one), min(one)) for one in zip(*LAW.rows, strict=True))
    least = float(np.log(float(ratio)))
    kept = [e for e in (least, *np.nextafter(least, [0, 9])) if exponential(float(e)) >= ratio]
    question = PARAMETERS.document["questions"][0]
    read_law(question | {"epsilon": float(max(kept)) + 1e-12}).verify()
    with pytest.raises(VerificationError, match="are promised"):
        read_law(question | {"epsilon": float(min(kept)) - 1e-12}).verify()


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("rows", [[1, 2], [1], [1, 2]], "rows is not of the shape 3 x 2"),
        ("rows", [[1]] * (1 + MAX_SYMBOLS), f"at most {MAX_SYMBOLS} rows"),
        ("estimator", {"values": [[1.0], [2.0]]}, "estimator.values is not of the shape 2 x"),
        ("estimator", {"values": [[1.0]] * 3}, "estimator.values is not of the shape 2 x"),
        ("yes_no", True, "rows .* must be 3: no, yes and no answer"),
        ("upper", 17, "upper is 17.0 but must be above lower"),
    ],
)
def test_parts_that_do_not_fit_are_refused(key, value, reason):
    question = PARAMETERS.document["questions"][0] | {key: value}
    with pytest.raises(InputError, match=reason):
        read_law(question)


def test_a_channel_for_another_question_is_refused():
    other = Question("r", (), kind="numeric", numeric=Numeric(NumericDomain(0, 90)))
    with pytest.raises(InputError, match="domain for 'r'"):
        question_document(other, CHANNEL)
    stricter = Question("r", (), kind="numeric", numeric=Numeric(AGES, epsilon=1.4))
    with pytest.raises(InputError, match=r"epsilon is 1.5 but must be at most 1.4"):
        question_document(stricter, CHANNEL)
