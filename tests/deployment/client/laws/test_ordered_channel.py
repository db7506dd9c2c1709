"""The device's half of channels for ordered answers: what is proven, drawn and refused."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from planner import Level, Question, Survey, best_channel
from planner.deployment.client.canonical import content_hash
from planner.deployment.client.laws.exact import DENOMINATOR as D
from planner.deployment.client.mechanisms.ordered_channel import WANTED
from planner.deployment.client.questions import read_law
from planner.deployment.mechanisms.channel import DeployedOrderedChannel
from planner.deployment.parameter_file.building import parameters_from_mechanisms, question_document
from planner.deployment.parameter_file.parameters import parse_parameters
from planner.errors import InputError, PlannerError, VerificationError
from planner.mechanisms.aggregate import Aggregate
from planner.planning.channels.questions_in_order import plan_ordered_channel
from planner.survey import ordered_answers
from tests.deployment.mutations import mutated, paths_of
from tests.deployment.readers import both_clients_agree
from tests.mechanisms.decisions import draws_follow
from tests.mechanisms.test_design_grid import exponential

LEVELS = (Level("ends", 1.0, ("0", "10+")), Level("middle", 2.0, ("1-4", "5-9")))
ORDER = ("0", "1-4", "5-9", "10+")
SHARES = np.array([0.1, 0.3, 0.4, 0.2])  # in the order of the answers
BUDGETS = {
    "min": ("min", 1.0),
    "avg": ("avg", 1.0),
    "matrix": (((1.5, 1.0), (1.0, float("inf"))), 1.0),
    "strict": ("min", 0.01),
    "lax": ("min", 9.0),
}
QUESTIONS = tuple(
    Question(
        name,
        tuple(Level(level.name, times * level.epsilon, level.items) for level in LEVELS),
        rule,
        "ordinal",
        order=ORDER,
        scores=(0, 2, 7, 12) if name == "min" else (),
    )
    for name, (rule, times) in BUDGETS.items()
)
MEAN = replace(QUESTIONS[0], name="mean", wanted="mean of scores")
QUESTIONS = (*QUESTIONS, MEAN)
CHANNELS = {one.name: plan_ordered_channel(one).channel for one in QUESTIONS}
PARAMETERS = parameters_from_mechanisms(Survey("s", 10, QUESTIONS), CHANNELS)
LAW = PARAMETERS.question("min").law
ONE_MEAN = parameters_from_mechanisms(Survey("s", 10, (MEAN,)), {"mean": CHANNELS["mean"]})
ONE = parameters_from_mechanisms(Survey("s", 10, QUESTIONS[:1]), {"min": CHANNELS["min"]})


def test_draws_follow_the_law():
    """20,000 reports of each answer against the channel's row, at a false alarm of 1e-6."""
    rng, encoder = np.random.default_rng(7), LAW.encoder()
    for place, answer in enumerate(ORDER):
        code = encoder.code(answer)
        drawn = [int.from_bytes(encoder.draw(code, rng.bytes), "little") for _ in range(20_000)]
        counts = np.bincount(drawn, minlength=LAW.cells)
        chances = CHANNELS["min"].matrix[place]
        assert draws_follow(counts, chances)
        near = chances * np.where(np.arange(chances.size) % 2, 0.9, 1.1)
        assert not draws_follow(counts, near / near.sum())


def test_both_clients_make_the_same_reports(node, tmp_path):
    """Three rules and budgets from 0.01 to 9 in one file, odd entropy among the vectors."""
    both_clients_agree(node, PARAMETERS, tmp_path)


def agrees(question):
    """An independent check in rational numbers: a law, every pair of answers, next to no bias."""
    rows, order, values = question["rows"], question["order"], question["estimator"]["values"]
    epsilons = [
        level["epsilon"] for level in question["levels"] for _ in range(level["item_count"])
    ]
    if any(sum(row) != D for row in rows) or question["rule"] != "min":
        return False
    for i, one in enumerate(rows):
        for j, other in enumerate(rows):
            limit = exponential(min(epsilons[i], epsilons[j]))
            if any(a > limit * b for a, b in zip(one, other, strict=True)):
                return False
    of_mean = question["wanted"] == "mean of scores"
    for last, meaning in enumerate(values):
        most = 2e-7 * max(map(abs, meaning))
        for k, row in enumerate(rows):
            mean = sum(Fraction(v) * w for v, w in zip(meaning, row, strict=True)) / D
            place = order.index(k)
            if abs(mean - (question["scores"][place] if of_mean else place <= last)) > most:
                return False
    return True


def test_mutated_files_are_refused_unless_rational_arithmetic_agrees():
    text = ONE.to_json()
    places = [p for p in paths_of(json.loads(text)) if p and p[0] == "questions"]
    rng, accepted = np.random.default_rng(11), 0
    for _ in range(300):
        try:
            read = parse_parameters(json.dumps(mutated(text, places, rng))).document
        except PlannerError:
            continue
        accepted += 1
        assert all(map(agrees, read["questions"]))
    assert accepted < 75  # names and scores may change, little else
    assert all(map(agrees, ONE.document["questions"]))


def shifted(question, amount):
    row = question["rows"][0]
    row[0] += amount
    row[1] -= amount


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda q: q["rows"][1].__setitem__(0, 5), "integers of row 1 do not sum to 2"),
        (lambda q: q["levels"][0].__setitem__("epsilon", 0.9999), "'ends' and 'ends' realise more"),
        (lambda q: q["levels"][1].__setitem__("epsilon", 0.9999), "'ends' and 'middle' realise"),
        (lambda q: shifted(q, 2**28), "realise more than the promised"),
        (lambda q: q["estimator"]["values"][0].__setitem__(0, 9.0), "biased for the answers"),
        (lambda q: q["order"].reverse(), "biased for the answers of row 0"),
        (lambda q: q["pairs"][0].__setitem__("realised", 0.5), "listed pairs do not follow"),
    ],
)
def test_wrong_files_are_refused_in_words(change, reason):
    document = json.loads(ONE.to_json())
    change(document["questions"][0])
    document["hash"] = content_hash(document)
    text = json.dumps(document)
    assert not agrees(document["questions"][0]) or "pairs" in reason
    with pytest.raises(VerificationError, match=reason):
        parse_parameters(text)


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("order", [0, 1, 2], "order is .* the numbers of all items once, at most 32"),
        ("order", [0, 1, 2, 2], "order is"),
        ("scores", [1.0], "scores is .* 4 finite numbers, or none"),
        ("wanted", "mean of scores", "estimator.values is not of the shape 1 x"),
        ("rows", [[1, 2]] * 3, "rows is 3 but must be one for each of 4 items"),
        ("rows", [[1, 2], [1], [1, 2], [1, 2]], "rows is not of the shape 4 x 2"),
        ("estimator", {"values": [[1.0]] * 2}, "estimator.values is not of the shape 3 x"),
    ],
)
def test_parts_that_do_not_fit_are_refused(key, value, reason):
    with pytest.raises(InputError, match=reason):
        read_law(ONE.document["questions"][0] | {key: value})


def test_a_file_of_a_mean_says_what_scores_it_is_of():
    document = ONE_MEAN.document["questions"][0]
    assert len(document["estimator"]["values"]) == 1
    assert agrees(document)
    with pytest.raises(InputError, match=r"scores is .* given for 'mean of scores'"):
        read_law(document | {"scores": []})
    wrong = document | {"scores": [0, 2, 7, 12.1]}
    assert not agrees(wrong)
    with pytest.raises(VerificationError, match="biased for the answers"):
        read_law(wrong).verify()
    assert WANTED == ordered_answers.WANTED


def test_a_mean_is_estimated_alone():
    """At a confidence of 1 - 1e-6: 50,000 people, a fixed seed."""
    counts = np.random.default_rng(5).multinomial(50_000, SHARES @ CHANNELS["mean"].matrix)
    half = DeployedOrderedChannel(PARAMETERS.question("mean").law)
    rows = half.estimate([Aggregate(50_000, counts)], 0.999999)
    assert rows.answers == ["mean score"]
    assert rows.lower[0] < SHARES @ [0, 2, 7, 12] < rows.upper[0]
    assert rows.upper[0] - rows.lower[0] < 1
    # Shares tell the mean too, less exactly.
    other = DeployedOrderedChannel(LAW).estimate([reported(50_000, 3)[1]], 0.999999)
    place = other.answers.index("mean score")
    assert rows.standard_errors[0] < 0.95 * other.standard_errors[place]


def test_a_channel_for_another_question_is_refused():
    with pytest.raises(InputError, match="one for the mean of these scores"):
        question_document(replace(MEAN, scores=(0, 1, 2, 3)), CHANNELS["mean"])
    with pytest.raises(InputError, match="not for ordered answers"):
        question_document(QUESTIONS[0], CHANNELS["mean"])
    for other in (best_channel(1.0, points=3, tolerance=1e-2), CHANNELS["min"]):
        question = Question("r", LEVELS, kind="ordinal")  # in another order
        with pytest.raises(InputError, match="one for the answers 0, 10"):
            question_document(question, other)


def test_a_channel_of_larger_budgets_is_refused():
    with pytest.raises(VerificationError, match=r"promised 0\.01"):
        parameters_from_mechanisms(Survey("s", 9, QUESTIONS[3:4]), {"strict": CHANNELS["min"]})


def reported(people, seed):
    """People's shares, and the sums of their reports."""
    rng, half = np.random.default_rng(seed), DeployedOrderedChannel(LAW)
    counter = half.counter()
    counts = rng.multinomial(people, SHARES @ CHANNELS["min"].matrix)
    numbers = np.repeat(np.arange(LAW.cells), counts).astype("<u2")
    counter.add(numbers.view(np.uint8).reshape(-1, 2))
    return half, counter.sums()


def test_estimates_say_the_shares_the_counts_the_mean_and_the_quartiles():
    """At a confidence of 1 - 1e-6 everything is covered: 50,000 people, a fixed seed."""
    half, sums = reported(50_000, 3)
    rows = half.estimate([sums], 0.999999)
    table = dict(zip(rows.answers, range(len(rows.answers)), strict=True))
    assert list(table) == [
        "up to 0", "up to 1-4", "up to 5-9", *ORDER, "mean score",
        "lower quartile", "median", "upper quartile",
    ]  # fmt: skip
    truth = [*50_000 * np.cumsum(SHARES)[:-1], *50_000 * SHARES, SHARES @ [0, 2, 7, 12]]
    for i, true in enumerate(truth):
        assert rows.lower[i] < true < rows.upper[i]
        assert rows.upper[i] - rows.lower[i] < true  # and says something
    for i in range(3):
        assert rows.joint_lower[i] < truth[i] < rows.joint_upper[i]
    assert sum(rows.processed[3:7]) == pytest.approx(50_000)
    assert rows.levels[3:7] == ["ends", "middle", "middle", "ends"]
    assert rows.remarks[table["median"]] == "median: 5-9, between 5-9 and 5-9 with 100% confidence"
    assert rows.estimates[table["median"]] is None
    lengths = {len(getattr(rows, name)) for name in rows.__slots__ if name != "users"}
    assert lengths == {11}


def test_without_scores_there_is_no_mean():
    law = PARAMETERS.question("lax").law
    counts = np.rint(1e6 * SHARES @ CHANNELS["lax"].matrix).astype(np.int64)
    aggregate = Aggregate(int(counts.sum()), counts)
    rows = DeployedOrderedChannel(law).estimate([aggregate], 0.95)
    assert "mean score" not in rows.answers
    assert np.allclose(rows.estimates[:3], 1e6 * np.cumsum(SHARES)[:-1], atol=300)
