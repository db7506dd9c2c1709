"""The device's half of subset designs: what is proven, what is drawn, and in which order."""

import json
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from planner import Level, Question, Survey, best_design
from planner.deployment.client.canonical import content_hash
from planner.deployment.client.client import Client
from planner.deployment.client.drawing.entropy import system
from planner.deployment.client.laws.exact import DENOMINATOR as D
from planner.deployment.client.questions import read_law
from planner.deployment.mechanisms.design import DeployedDesign
from planner.deployment.parameter_file.building import parameters_from_mechanisms, question_document
from planner.deployment.parameter_file.parameters import parse_parameters
from planner.errors import InputError, PlannerError, VerificationError
from planner.mechanisms.subset_design import SubsetDesignMechanism
from tests.deployment.mutations import mutated, paths_of
from tests.deployment.readers import both_clients_agree
from tests.effort import tries
from tests.mechanisms.decisions import draws_follow
from tests.mechanisms.random_designs import random_design, random_policy
from tests.mechanisms.test_design_grid import exponential, violations

MUTATED = tries(600, 20_000)


def asked(policy, name="q"):
    """A question with a policy's levels."""
    rows = zip(policy.epsilons.tolist(), policy.item_counts.tolist(), strict=True)
    levels = tuple(Level(f"l{i}", e, item_count=m) for i, (e, m) in enumerate(rows))
    rule = policy.rule.plain(policy.epsilons)
    plain = rule if isinstance(rule, str) else tuple(map(tuple, np.asarray(rule).tolist()))
    return Question(name, levels, plain)


def deployed(policy, design):
    """Verified parameters of one question."""
    question = asked(policy)
    design = replace(design, policy=question.policy)
    return parameters_from_mechanisms(Survey("s", 10, (question,)), {"q": design})


def small():
    """Two levels of five items; few reports."""
    question = Question("q", (Level("a", 1.0, ("u", "v")), Level("b", 1.8, ("x", "y", "z"))))
    survey = Survey("s", 10, (question,))
    return parameters_from_mechanisms(survey, {"q": best_design(question.policy)})


def random_parameters(number, seed=20200420):
    """Parameters of random policies with random designs."""
    rng, made = np.random.default_rng(seed), []
    while len(made) < number:
        policy = random_policy(rng)
        design = random_design(policy, rng)
        if design is not None:
            made.append(deployed(policy, design))
    return made


def test_draws_follow_the_law():
    """20,000 reports of each of two answers against the exact law, at a false alarm of 1e-6."""
    parameters = small()
    law, encoder = parameters.questions[0].law, parameters.questions[0].law.encoder()
    outputs = {}
    for kind, highs in enumerate(law.types):
        starts = np.cumsum([0, *law.items])
        parts = [
            list(combinations(range(starts[g], starts[g + 1]), high))
            for g, high in enumerate(highs)
        ]
        for first in parts[0]:
            for second in parts[1]:
                outputs[kind, sum(1 << k for k in first + second)] = len(parts[0]) * len(parts[1])
    rng = np.random.default_rng(7)
    for item in (1, 3):
        group = item >= 2
        chances = {}
        for (kind, bits), splits in outputs.items():
            side, high = bits >> item & 1, law.types[kind][group]
            on_side = high if side else law.items[group] - high
            weight = law.groups[group][kind][side]
            chances[kind, bits] = Fraction(weight * law.items[group], D * on_side * splits)
        assert sum(chances.values()) == 1
        seen = dict.fromkeys(chances, 0)
        for _ in range(20_000):
            report = encoder.draw(item, rng.bytes)
            seen[int.from_bytes(report[:8], "little"), int.from_bytes(report[8:], "little")] += 1
        counts, expected = np.array(list(seen.values())), np.array([*map(float, chances.values())])
        assert draws_follow(counts, expected)
        near = expected * np.where(np.arange(expected.size) % 2, 0.9, 1.1)
        assert not draws_follow(counts, near / near.sum())


class Counted:
    """The operating system's entropy, and how much was taken."""

    taken = 0

    def __call__(self, count):
        self.taken += count
        return system(count)


def test_the_number_of_words_depends_on_the_type_alone():
    parameters = small()
    encoder = parameters.questions[0].law.encoder()
    seen = {}
    for item in range(5):
        for _ in range(400):
            source = Counted()
            seen.setdefault(encoder.draw(item, source)[:8], set()).add(source.taken)
    assert len(seen) > 1
    assert all(len(sizes) == 1 for sizes in seen.values())


def test_both_clients_make_the_same_reports_on_random_policies(node, tmp_path):
    for parameters in random_parameters(tries(10, 40)):
        both_clients_agree(node, parameters, tmp_path)


def agrees(question):
    """An independent check in rational numbers: a law, its budgets kept, no bias."""
    own = [level["group"] for level in question["levels"]]
    counts = [level["item_count"] for level in question["levels"]]
    items = [
        sum(m for m, g in zip(counts, own, strict=True) if g == k) for k in range(max(own) + 1)
    ]
    level_integers = np.array([question["groups"][g] for g in own], dtype=object)
    if any(sum(map(sum, question["groups"][g])) != D for g in set(own)):
        return False
    high = [[row[g] for g in own] for row in question["types"]]
    rule, epsilons = question["rule"], [level["epsilon"] for level in question["levels"]]
    for o, row in enumerate(high):
        sides = [
            (i, s, Fraction(int(level_integers[i, o, s])) * items[g] / n if n else None)
            for i, g in enumerate(own)
            for s, n in ((0, items[g] - row[i]), (1, row[i]))
        ]
        for i, s, above in sides:
            if above is None:
                if level_integers[i, o, s]:
                    return False
                continue
            for j, z, below in sides:
                if below is None or (i == j and (s == z or counts[i] == 1)):
                    continue
                both = epsilons[i], epsilons[j]
                named = {"min": min(both), "avg": sum(both) / 2}
                budget = named[rule] if isinstance(rule, str) else rule[i][j]
                same = own[i] == own[j] and s == z
                if budget is not None and not same and above > exponential(budget) * below:
                    return False
    return _unbiased(question, items)


def _unbiased(question, items):
    values = question["estimator"]["values"]
    for a in range(len(items)):
        m, total, same, others = items[a], Fraction(0), Fraction(0), [Fraction(0)] * len(items)
        for o, row in enumerate(question["types"]):
            low, high = (Fraction(value) for value in values[o][a])
            at_low, at_high = (Fraction(weight, D) for weight in question["groups"][a][o])
            up = row[a]
            total += at_low * low + at_high * high
            same += at_low * (high * up + low * (m - up - 1))
            same += at_high * (high * (up - 1) + low * (m - up))
            for b in range(len(items)):
                others[b] += Fraction(sum(question["groups"][b][o]), D) * (
                    up * high + (m - up) * low
                )
        others[a] = Fraction(0)
        if abs(total - 1) > 2e-9 or (m > 1 and abs(same) > 2e-9 * (m - 1)):
            return False
        if any(abs(other) > 2e-9 * m for other in others):
            return False
    return True


def test_mutated_files_are_refused_unless_rational_arithmetic_agrees():
    files = [one.document for one in random_parameters(5, seed=3)] + [small().document]
    rng, accepted = np.random.default_rng(11), 0
    texts = [json.dumps(document) for document in files]
    places = [[p for p in paths_of(json.loads(t)) if p and p[0] == "questions"] for t in texts]
    for k in range(MUTATED):
        altered = mutated(texts[k % 6], places[k % 6], rng)
        try:
            read = parse_parameters(json.dumps(altered)).document
        except PlannerError:
            continue
        accepted += 1
        assert all(map(agrees, read["questions"]))
    assert 0 < accepted < MUTATED / 4  # names and predictions may change, little else


def _first_high(question):
    """The first type with items of the first group on its high side."""
    return next(number for number, row in enumerate(question["types"]) if row[0] > 0)


def test_the_independent_check_sees_what_is_wrong():
    question = json.loads(small().to_json())["questions"][0]
    assert agrees(question)
    for change in (
        lambda q: q["groups"][0][0].__setitem__(0, q["groups"][0][0][0] + 1),
        lambda q: q["levels"][1].__setitem__("epsilon", 1.79999),
        lambda q: q["estimator"]["values"][_first_high(q)][0].__setitem__(1, 3.0),
    ):
        wrong = json.loads(json.dumps(question))
        change(wrong)
        assert not agrees(wrong)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda q: q["groups"][0].reverse(), "no item of group 0|budget|promised|biased"),
        (lambda q: q["groups"][0][0].__setitem__(0, 5), "do not sum to 2"),
        (lambda q: q["levels"][0].__setitem__("epsilon", 0.99999), "more than the promised"),
        (lambda q: q["estimator"]["values"][0][0].__setitem__(0, 9.0), "is biased"),
        (lambda q: q["pairs"][0].__setitem__("realised", 0.5), "listed pairs do not follow"),
    ],
)
def test_wrong_files_are_refused_in_words(change, reason):
    document = json.loads(small().to_json())
    change(document["questions"][0])
    document["hash"] = content_hash(document)
    with pytest.raises(VerificationError, match=reason):
        parse_parameters(json.dumps(document))


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("types", [[9]], "types is not of the shape"),
        ("groups", [[[1, 2]]], "groups"),
        ("estimator", {"values": [[[1.0]]]}, "estimator.values"),
    ],
)
def test_parts_that_do_not_fit_are_refused(key, value, reason):
    question = json.loads(small().to_json())["questions"][0] | {key: value}
    with pytest.raises(InputError, match=reason):
        read_law(question)


def test_more_items_on_a_side_than_there_are_are_refused():
    question = json.loads(small().to_json())["questions"][0]
    question["types"][0][1] = 4
    with pytest.raises(InputError, match=r"question 'q': types\[0\]\[1\] is 4 but must be at most"):
        read_law(question)


def test_a_design_for_another_question_is_refused():
    design = best_design(small_policy := Question("q", (Level("a", 1.0, item_count=3),)).policy)
    assert small_policy == design.policy
    with pytest.raises(InputError, match="design of question 'r'"):
        question_document(Question("r", (Level("a", 1.1, item_count=3),)), design)


def test_many_levels_list_the_most_protected_pair_of_each_two_groups():
    levels = tuple(Level(f"l{i}", 1.0 + 0.5 * (i % 3), item_count=2) for i in range(240))
    question = Question("q", levels)
    document = question_document(question, best_design(question.policy))
    law = read_law(document)
    law.verify()
    assert len(document["pairs"]) == 6
    for pair in document["pairs"]:
        assert 0.9 * pair["demanded"] < pair["realised"] <= pair["demanded"]


def test_a_client_needs_the_version_that_has_designs():
    document = json.loads(small().to_json())
    assert document["version"] == 3
    document["version"] = 2
    document["hash"] = content_hash(document)
    with pytest.raises(PlannerError, match="version: 2 is not the first one"):
        Client(document)


def test_a_set_of_another_size_is_not_counted():
    half = DeployedDesign(small().questions[0].law)
    one = half._mechanism.perturb(np.full(60_000, 2), np.random.default_rng(9))
    heavy = one[:5].copy()
    heavy[3, 1] ^= np.uint64(1)
    with pytest.raises(InputError, match=r"size of reports\[3\] is .* but must be"):
        half.counter().add(heavy.view(np.uint8))


def test_estimates_come_with_their_errors():
    parameters = small()
    half = DeployedDesign(parameters.questions[0].law)
    rng, counter = np.random.default_rng(10), half.counter()
    truth = np.array([4000, 1000, 3000, 1500, 500])
    values = np.repeat(np.arange(5), truth)
    counter.add(half._mechanism.perturb(values, rng).view(np.uint8))
    rows = half.estimate([counter.sums()], 1 - 1e-6)
    assert list(rows.answers) == ["u", "v", "x", "y", "z"]
    assert (np.asarray(rows.lower) < truth).all()
    assert (truth < np.asarray(rows.upper)).all()
    assert np.sum(rows.processed) == pytest.approx(10_000)
    variance = half._mechanism.variance(truth)
    np.testing.assert_allclose(rows.standard_errors, np.sqrt(variance), rtol=0.1)


def test_violations_of_the_file_are_those_of_the_mechanism():
    """The file's integers are the mechanism's, and keep the budgets by a third arithmetic."""
    policy = random_policy(np.random.default_rng(1))
    design = random_design(policy, np.random.default_rng(2))
    law = deployed(policy, design).questions[0].law
    mechanism = SubsetDesignMechanism.of(design)
    assert np.array_equal(mechanism.integers, np.array(law.groups))
    assert violations(policy, np.array(law.types), np.array(law.groups)) == 0
