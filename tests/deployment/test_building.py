"""From mechanisms to a parameter file, or a refusal that names what does not fit."""

import json
import time
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

from planner import (
    Level,
    NumericDomain,
    PrivacyPolicy,
    Survey,
    best_design,
    plan_survey,
    solve,
)
from planner.deployment import bulk
from planner.deployment.bulk import perturb_file
from planner.deployment.collecting.collector import collect
from planner.deployment.parameters import (
    make_vectors,
    parameters_from_mechanisms,
    read_parameters,
    survey_parameters,
    write_parameters,
)
from planner.errors import FileError, InputError, VerificationError
from planner.mechanisms.making import (
    bisample_md,
    oue,
    padded,
    randomized_response,
    unary,
)
from planner.planning.question import KINDS
from planner.planning.sampled import plan_sampling
from planner.planning.solve import forget
from planner.show.kinds import WORDS
from planner.survey import reading
from planner.survey.choices import Categorical, ItemSet
from planner.survey.numeric import Numeric
from tests.deployment.examples import FILES, LEVELS, every_mechanism, sealed
from tests.refusals import refused
from tests.surveys import EXAMPLES

CHOSEN = Categorical("q", LEVELS)
BY_AVG = Categorical("q", LEVELS, "avg")
SETS_BY_AVG = ItemSet("q", LEVELS, "avg", padding_length=2, mechanism="set-design")
TEN = NumericDomain(0, 10)
EITHER = VerificationError, FileError
UNFIT = [
    (randomized_response(1.01, 5), CHOSEN, VerificationError, "realises"),
    (oue(1.01, 5), CHOSEN, VerificationError, "realise"),
    (solve(PrivacyPolicy([1.2, 2.5], [1, 4])), CHOSEN, VerificationError, "realise"),
    (best_design(PrivacyPolicy([1.0, 2.0], [2, 3])), CHOSEN, EITHER, "element"),
    (padded(unary(solve(BY_AVG.policy)), 2), BY_AVG, InputError, "kind"),
    (padded(unary(solve(BY_AVG.policy)), 2), SETS_BY_AVG, FileError, "'min'"),
    (
        bisample_md(1.0, TEN),
        CHOSEN,
        InputError,
        "kind of question 'q' is 'categorical'",
    ),
    (
        bisample_md(1.1, TEN),
        Numeric("q", 0, 10, epsilon=1.0),
        VerificationError,
        "realises 1.09",
    ),
    ("idue", CHOSEN, InputError, "can be deployed"),
]


@pytest.mark.parametrize(("mechanism", "question", "error", "reason"), UNFIT)
def test_a_mechanism_that_does_not_fit_its_question(mechanism, question, error, reason):
    with pytest.raises(error, match=reason):
        built(mechanism, question)


def test_a_survey_without_a_mechanism_or_an_acknowledgement_is_not_written():
    survey, mechanisms = every_mechanism()
    del mechanisms["sampled"]
    with refused("mechanisms"):
        parameters_from_mechanisms(survey, mechanisms)
    by_name = {question.name: question for question in survey.questions}
    question = by_name["sampled"]
    silent = question.replacing(sampling=question.sampling.replacing(acknowledged=None))
    with refused("acknowledged"):
        plan_sampling(silent, survey.users).law  # noqa: B018


def built(mechanism, question):
    survey = Survey("s", 10, (question,))
    return parameters_from_mechanisms(survey, {question.name: mechanism}).questions[0]


# -- from a plan to files -----------------------------------------------------------------

LEVELS_OF_FOUR = (
    Level("severe", 1.0, ("HIV",)),
    Level("common", 2.0, ("flu", "cold", "none")),
)
CHOICE = Categorical("illness", LEVELS_OF_FOUR)
SETS = ItemSet("symptoms", LEVELS_OF_FOUR, padding_length=2)


def survey(*questions, **settings):
    return Survey("s", 1000, questions, **settings)


def test_numbers_far_from_zero_lose_no_digits():
    """Whatever the unit, what is sent counts from -1 to 1: these came back 2e-9 off."""
    far = Numeric("metres", 1e6, 1e6 + 10, epsilon=0.02)
    parameters = survey_parameters(plan_survey(survey(far)))
    (law,) = parameters.questions
    sums = np.array(law.shape.rows) @ np.array(law.shape.values)[0] / 2**32
    np.testing.assert_allclose(
        sums, [*np.linspace(-1, 1, len(sums) - 1), 0], atol=1e-12
    )


def test_one_file_draws_which_question_each_person_answers():
    plan = plan_survey(
        survey(CHOICE, SETS.replacing(mechanism="oue"), design="one-each")
    )
    file = survey_parameters(plan)
    assert [question.name for question in file.questions] == ["illness", "symptoms"]
    assert file.questions[1].mechanism == "oue-ps"
    assert file.users == 1000
    assert file.drawing.questions_each == 1
    alone = survey_parameters(plan_survey(survey(CHOICE, design="one-each")))
    assert alone.drawing is None
    assert survey_parameters(plan, "symptoms").drawing is None


def test_every_choice_can_be_deployed():
    choices = KINDS["categorical"].mechanisms(CHOICE)
    mechanism = {"grr": "grr", "subset": "subset-selection", "olh": "olh"}
    mechanism |= {"best": "subset-design", "subset-design": "subset-design"}
    mechanism |= {"rappor": "rappor", "oue": "oue"}
    for name in choices:
        plan = plan_survey(survey(CHOICE.replacing(mechanism=name)))
        question = survey_parameters(plan).questions[0]
        assert question.mechanism == mechanism.get(name, "idue")
        if question.mechanism == "subset-design":
            assert (
                f", {question.size} bytes."
                in WORDS["categorical"].report(plan.questions[0])[1]
            )
        assert (
            plan.questions[0].law.shape.levels
            == question.shape.levels
            == question.asked.levels
        )
    with refused("mechanism of question 'illness'"):
        plan_survey(survey(CHOICE.replacing(mechanism="coin")))


# -- the parameter file as a whole: there and back, never altered, never written twice ---


def test_every_mechanism_there_and_back(parameters, parameter_file):
    assert read_parameters(parameter_file) == parameters
    mechanisms = {law.mechanism for law in parameters.questions}
    assert len(mechanisms) == 13
    for law in parameters.questions:
        # Budgets are kept, and not idle: the tightest pair comes close to its own.
        gaps = [pair.demanded - pair.realised for pair in law.pairs]
        assert 0 <= min(gaps) < 0.65, law.name


def test_the_same_plan_is_the_same_file_byte_for_byte():
    """Whenever it is made: with another hash clients would spend the budgets again."""
    parameters = survey_parameters(plan_survey(EXAMPLES / "clinic.toml"))
    first = parameters.to_json()
    time.sleep(1)  # the least step of a clock in a file
    forget()  # what was solved
    plan = plan_survey(EXAMPLES / "clinic.toml")
    assert survey_parameters(plan).to_json() == first


def test_what_does_not_verify_is_not_written(one_question, tmp_path):
    document = json.loads(one_question.to_json())
    document["questions"][0]["a"][0] += 10_000
    for damaged, error, reason in (
        (document, InputError, "hash"),
        (sealed(document), VerificationError, r"Question 'q': Levels .* realise"),
    ):
        with pytest.raises(error, match=reason):
            write_parameters(
                tmp_path / "copy.json", replace(one_question, document=damaged)
            )
    assert not list(tmp_path.iterdir())


def test_questions_are_found_by_name(parameters, one_question):
    assert parameters.question("grr").name == "grr"
    assert (
        one_question.question()
        is one_question.question("q")
        is one_question.questions[0]
    )
    for name in (None, "nobody"):
        with refused("question"):
            parameters.question(name)


def test_vectors_do_not_change_by_accident():
    """A frozen copy: what a port passed once it passes for good."""
    text = (FILES / "vectors.json").read_text()
    frozen = json.loads(text)
    assert make_vectors(read_parameters(FILES / "parameters.json")) == frozen


# -- answers are randomised from a file --------------------------------------------------


def test_a_question_named_twice_is_answered_once_and_a_few_people_at_a_time(
    parameters, everything, tmp_path, monkeypatch
):
    """Two reports of one answer would spend its budget twice."""
    monkeypatch.setattr(bulk, "_BLOCK_BYTES", 8 * 700)
    monkeypatch.setattr(reading, "BLOCK_ROWS", 2000)
    seen = []
    out = tmp_path / "idue.parquet"
    twice = ("idue", "idue")
    written = perturb_file(
        parameters, everything / "answers.csv", out, twice, seen.append
    )
    assert written.written == {out: 3000}
    assert seen == [2000, 3000]
    done = collect(parameters, [out])
    assert done.sums["idue", None].users == 3000


@pytest.mark.parametrize(
    ("text", "names", "out"),
    [
        ("idue\nHIV\nnobody\n", ["idue"], "out.parquet"),
        ("idue\n", ["idue"], "out.parquet"),
        ("idue,sets\nHIV,[1]\n", ["idue"], "x.csv"),
        ("idue,grr\nHIV,x\n", ["idue", "grr"], "out.parquet"),
        ("idue\nHIV\n", ["nothing"], "out.parquet"),
        ("idue,grr\nHIV,x\n", ["idue", "grr"], "answers"),
        ("idue\n" + "HIV\n" * 200, ["idue"], "o.jsonl"),
    ],
)
def test_what_is_refused_leaves_no_file(
    parameters, tmp_path, monkeypatch, text, names, out
):
    monkeypatch.setattr(bulk, "MAX_JSON_BYTES", 20_000)
    data = tmp_path / "answers"
    data.write_text(text)
    with refused():
        perturb_file(parameters, data, tmp_path / out, names)
    assert list(tmp_path.iterdir()) == [data]
    assert data.read_text() == text


def test_rows_of_two_files_are_not_of_one_person(tmp_path):
    """The reports of half of the people say 0, of the others 1, in order, to both questions."""
    names = ("a", "b")
    people = 2_000
    level = (Level("only", 20.0, item_count=2),)
    survey = Survey("s", people, tuple(Categorical(name, level) for name in names))
    truth = {name: randomized_response(20.0, items=2) for name in names}
    (tmp_path / "answers.csv").write_text("a,b\n" + "0,0\n" * 1_000 + "1,1\n" * 1_000)
    parameters = parameters_from_mechanisms(survey, truth)
    written = perturb_file(
        parameters, tmp_path / "answers.csv", tmp_path / "reports"
    ).written
    a, b = (
        [row[0] for row in pq.read_table(path)["report"].to_pylist()]
        for path in written
    )
    assert len(set(a)) == len(set(b)) == 2
    # Of so many pairs in any order half are alike, give or take 22: 7 times that is 1e-12.
    assert abs(sum(x == y for x, y in zip(a, b, strict=True)) - people / 2) < 7 * 22.4
    assert abs(a[: people // 2].count(a[0]) - people / 4) < 7 * 11.2
