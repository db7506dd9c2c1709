"""Each person answers some questions: drawn on the device, one file, errors as planned."""

import json
from itertools import pairwise
from math import sqrt

import numpy as np
import pytest
from scipy.stats import binom, chi2

from planner import Categorical, InputError, Level, Survey, plan_survey
from planner.deployment import Client, Memory
from planner.deployment.bulk import perturb_file
from planner.deployment.client.document import content_hash
from planner.deployment.collecting.collector import collect
from planner.deployment.collecting.estimating import estimates_table
from planner.deployment.parameters import make_vectors, survey_parameters
from planner.laws.drawing import Drawing
from planner.limits import DENOMINATOR
from planner.show.blocks import Sentence
from planner.show.results import result_blocks
from tests.deployment.readers import (
    asked,
    both_clients_agree,
    collector,
    javascript_client,
    python_client,
)

TEA = Categorical("tea", (Level("all", 1.5, ("green", "black", "mint", "none")),))
PET = Categorical("pet", (Level("all", 1.0, ("cat", "dog", "none")),))
CAR = Categorical("car", (Level("all", 2.0, ("yes", "no")),))
PEOPLE = 3000
MISS = 1e-6  # of each statistical test


@pytest.fixture(scope="module", params=[("one-each", None), ("some-each", 2)])
def plan(request):
    design, number = request.param
    return plan_survey(
        Survey("s", PEOPLE, (TEA, PET, CAR), design=design, asked=number)
    )


@pytest.fixture(scope="module")
def parameters(plan):
    return survey_parameters(plan)


def test_the_chances_are_exact():
    """Between two ends of intervals all words ask the same: their numbers are the chances."""
    rng = np.random.default_rng(3)
    for number_asked in (1, 2, 3):
        shares = rng.dirichlet(np.full(5, 40.0))
        fractions = shares * number_asked
        names = tuple("abcde")
        drawing = Drawing.of(names, np.minimum(fractions, 1))
        ends = {int(end) % DENOMINATOR for end in np.cumsum(drawing.chances)}
        edges = sorted(ends | {0, DENOMINATOR})
        words = dict.fromkeys(names, 0)
        for first, after in pairwise(edges):
            # Words behind an end are asked as the last one of the stretch is.
            for start, stop in ((first, first + 1), (first + 1, after)):
                theirs = drawing.asked(stop - 1)
                assert len(theirs) == drawing.questions_each
                for name in theirs:
                    words[name] += stop - start
        assert tuple(words.values()) == drawing.chances


def test_both_clients_ask_the_same_by_the_same_word(node, parameters, tmp_path):
    both_clients_agree(node, parameters, tmp_path)
    vectors = make_vectors(parameters)
    changed = next(vector for vector in vectors["vectors"] if "word" in vector)
    changed["asked"] = [*changed["asked"], "tea"]
    text = json.dumps(vectors)
    (tmp_path / "vectors.json").write_text(text)
    path = tmp_path / "params.json"
    done = asked(node, path, "--vectors", tmp_path / "vectors.json")
    assert "differs" in done.stderr


@pytest.mark.parametrize(
    "chances", [[1, 2], [2**31, 2**31, 1], [0, 2**31, 2**31], [2**32 + 1, 1, 2**32 - 2]]
)
def test_every_reader_refuses_chances_that_do_not_fit(
    node, parameters, tmp_path, chances
):
    document = parameters.document | {"drawn": {"chances": chances}}
    document["hash"] = content_hash(document)
    data = json.dumps(document).encode()
    assert collector(data)
    assert python_client(data, tmp_path)
    assert javascript_client(node, [data]) == ["Refused"]


def test_a_client_asks_a_person_the_same_questions_for_good(parameters, tmp_path):
    memory = Memory(tmp_path / "memory")
    client = Client(parameters.document, memory)
    counts = dict.fromkeys(client.questions, 0)
    people = 30
    for number in range(people):
        theirs = client.questions_of(f"person {number}")
        assert len(theirs) == parameters.drawing.questions_each
        for name in theirs:
            counts[name] += 1
    for name, chance in zip(counts, parameters.drawing.chances, strict=True):
        share = chance / DENOMINATOR
        spread = sqrt(share * (1 - share) / people)
        assert abs(counts[name] / people - share) <= 5.2 * spread  # 2e-7 each
    theirs = client.questions_of("ada")
    (other,) = [name for name in client.questions if name not in theirs][:1]
    answers = {"tea": "mint", "pet": "dog", "car": "no"}
    assert client.report(theirs[0], answers[theirs[0]], user="ada").payload
    with pytest.raises(InputError, match="this person is asked"):
        client.report(other, answers[other], user="ada")
    with pytest.raises(InputError, match="drawn once"):
        client.report(other, answers[other])
    memory = Memory(tmp_path / "memory")
    again = Client(parameters.document, memory)
    assert again.questions_of("ada") == theirs


def test_the_javascript_client_keeps_to_it_too(node, parameters, tmp_path):
    path = tmp_path / "params.json"
    path.write_text(parameters.to_json())
    kept = ("--memory", tmp_path / "memory", "--user", "ada")
    theirs = json.loads(asked(node, path, "--questions", *kept).stdout)
    assert len(theirs) == parameters.drawing.questions_each
    document = json.loads(asked(node, path, "--questions", *kept).stdout)
    assert document == theirs
    answers = {"tea": "mint", "pet": "dog", "car": "no"}
    for name, answer in answers.items():
        done = asked(node, path, name, answer, *kept)
        assert bool(done.stdout) == (name in theirs)
        assert ("is not asked" in done.stderr) == (name not in theirs)
    assert "drawn once" in asked(node, path, "tea", "mint").stderr


def test_a_rehearsal_asks_each_person_some_and_all_are_counted(parameters, tmp_path):
    people = 2000
    rows = ["tea,pet,car", *["mint,dog,no"] * people]
    (tmp_path / "data.csv").write_text("\n".join(rows) + "\n")
    perturb_file(parameters, tmp_path / "data.csv", tmp_path / "out")
    done = collect(parameters, [tmp_path / "out"])
    users = {question: sums.users for (question, _), sums in done.sums.items()}
    table = estimates_table(parameters, done.sums)
    blocks = result_blocks(parameters, done, table, 0.95)
    number_asked = parameters.drawing.questions_each
    sentences = " ".join(block.text for block in blocks if isinstance(block, Sentence))
    assert f"Each person was asked {number_asked} of 3 questions" in sentences
    assert sum(users.values()) == people * parameters.drawing.questions_each
    for name, chance in zip(users, parameters.drawing.chances, strict=True):
        share = chance / DENOMINATOR
        spread = sqrt(people * share * (1 - share))
        assert abs(users[name] - people * share) <= 5.2 * spread


def test_errors_are_as_planned(plan, parameters):
    """Shares by draws of people, questions and reports; half as much again is noticed."""
    rng = np.random.default_rng(8)
    runs = 1000
    words = rng.integers(0, DENOMINATOR, size=500)
    for question in plan.questions:
        law = parameters.question(question.name)
        count = law.levels.total
        truth = np.full(count, 1 / count)
        # Everybody's question is drawn anew: how many are asked varies, too.
        share = np.mean([question.name in parameters.drawing.asked(w) for w in words])
        assert abs(share - question.part.fraction) < 5.2 * 0.5 / sqrt(len(words))
        gaps = np.empty((runs, count))
        for run in range(runs):
            answers = rng.binomial(PEOPLE // count, question.part.fraction, size=count)
            sums = law.draw_aggregate(answers, rng)
            estimates = law.estimate(sums)
            shares = np.array(estimates.values) / answers.sum()
            gaps[run] = shares - truth
        squares = np.square(gaps).sum(axis=1).mean()
        moment = gaps.T @ gaps
        free = runs * np.trace(moment) ** 2 / np.square(moment).sum()  # Satterthwaite
        low, high = chi2.ppf([MISS / 2, 1 - MISS / 2], free) / free
        planned = question.error / PEOPLE
        assert low <= squares / planned <= high, question.name
        for near in (1 / 1.5, 1.5):
            assert not low <= squares / (planned * near) <= high


def test_limits_are_of_everybody_where_questions_are_drawn():
    """At 95 % of 300 intervals; those for the people asked alone hold the truth in a sixth of 60.

    Who is asked is drawn from 1,000 people of whom 300 have an answer. As limits are for a
    population, of which these people are no small part, they hold it at least as often as stated.
    False alarms: one in a million.
    """
    choices = []
    for name in "abc":
        level = Level("all", 6.0, ("yes", "no"))
        question = Categorical(name, (level,))
        choices.append(question)
    survey = Survey("s", 1000, tuple(choices), design="one-each")
    planned = plan_survey(survey)
    parameters = survey_parameters(planned)
    rng = np.random.default_rng(12)
    for population, runs in ((None, 100), (False, 20)):
        held = 0
        for _ in range(runs):
            sums = drawn_sums(parameters, 300, rng)
            table = estimates_table(parameters, sums, population=population)
            for row in table.to_pylist():
                if row["answer"] == "yes":
                    held += row["share_lower"] <= 0.3 <= row["share_upper"]
        fewest = binom.ppf(MISS, 3 * runs, 0.95)
        assert (held >= fewest) == (population is None)


def drawn_sums(parameters, with_answer, rng):
    """Reports of 1,000 people, so many with the first answer, each asked one question."""
    chances = np.array(parameters.drawing.chances) / DENOMINATOR
    question_of = rng.choice(3, size=1000, p=chances)
    sums = {}
    for number, name in enumerate(parameters.drawing.names):
        people = int(np.sum(question_of == number))
        yes = int(np.sum(question_of[:with_answer] == number))
        law = parameters.question(name)
        sums[name, law.rounds[0]] = law.draw_aggregate([yes, people - yes], rng)
    return sums
