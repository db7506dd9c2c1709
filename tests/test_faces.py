"""Every face shows the same plan: text, JSON, report, notebook and exported file."""

import html
import json
import re
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

import planner.planning.question
from planner import (
    AssumedSets,
    ByLevel,
    Level,
    Padded,
    Survey,
    Target,
    plan_survey,
    report_html,
)
from planner.deployment.parameters import survey_parameters
from planner.planning.sampled import ACKNOWLEDGEMENTS
from planner.show.blocks import Facts, Heading, Sentence, Table
from planner.show.json import plan_json
from planner.show.plan import plan_blocks
from planner.show.promises import outsider_blocks, together_sentence, view_sentences
from planner.show.terminal import print_blocks
from planner.survey.assumed import NormalPreferences
from planner.survey.choices import Categorical, ItemSet, SampledChoice, Sampling
from planner.survey.numeric import Numeric
from planner.survey.ordinal import Ordinal
from planner.survey.survey import load_survey
from tests.policies import log_uniform, random_matrix
from tests.surveys import EXAMPLES, tries

LEVELS = (Level("rare", 1.5, ("x",)), Level("usual", 3.0, item_count=8))
BILL = Numeric("bill", 0, 50, preferences=NormalPreferences(5, 1.5), epsilon=3.0)
ANY = Level("any", 1.0, ("u", "v"), yes_counts=(10, 20))
RELY = Sampling("round-two", ACKNOWLEDGEMENTS["round-two"])
TWO_ROUNDS = SampledChoice("drugs", (ANY,), sampling=RELY)
EVERYTHING = Survey(
    "everything",
    40_000,
    (
        Categorical(
            "sign",
            LEVELS,
            mechanism="grr",
            targets=(Target(detect=0.02, level="rare"),),
        ),
        TWO_ROUNDS,
        BILL.replacing(targets=(Target(error=0.02),)),
        ItemSet("basket", LEVELS, sets=AssumedSets([1, 5, 3, 1])),
    ),
)


def any_question(rng, name):
    """Budgets from 0.001 to 20, answers of no importance, numbers far from 0."""
    budgets = log_uniform(rng, 1e-3, 20, int(rng.integers(1, tries(4, 5)))).tolist()
    kind = (Categorical, ItemSet, Ordinal, Numeric)[rng.integers(4)]
    if kind is Numeric:
        lower = float(rng.choice([0, 1e6]))
        return Numeric(name, lower, lower + 10, epsilon=max(budgets[0], 0.01))
    levels = []
    for i, e in enumerate(budgets):
        levels.append(Level(f"l{i}", e, [f"{i} {k}" for k in "ab"]))
    if kind is Categorical and len(levels) > 1:
        levels[0] = levels[0].replacing(importance=float(rng.integers(3)))
    rule = "min"
    if kind is ItemSet:
        keys = {"padding_length": 2}
    else:
        keys = {}
    if rng.random() < 0.5:
        gaps = 0.0 if kind is Ordinal else 0.3  # shares up to an answer connect all
        matrix = random_matrix(rng, len(levels), 0.01, 8, gaps)
        rule = (np.minimum(matrix, matrix.T) if kind is ItemSet else matrix).tolist()
    elif kind is not ItemSet and rng.random() < 0.5:
        rule = "one-sided"
        levels[-1] = levels[-1].replacing(against=0.5)
    return kind(name, levels, rule, **keys)


def surveys():
    for seed in range(tries(6, 200)):
        rng = np.random.default_rng(seed)
        some = [any_question(rng, name) for name in ("q", "r")[: rng.integers(1, 3)]]
        yield (
            f"any {seed}",
            Survey("any", 50_000, some, ("split", "one-each")[rng.integers(2)]),
        )
    for path in sorted(EXAMPLES.glob("*.toml")):
        yield path.stem, load_survey(path)
    household = load_survey(EXAMPLES / "household.toml")
    baskets = load_survey(EXAMPLES / "baskets.toml")
    (articles,) = baskets.questions
    yield "household, one each", household.replacing(design="one-each")
    yield (
        "baskets of OUE",
        baskets.replacing(questions=(articles.replacing(mechanism="oue"),)),
    )
    yield "everything", EVERYTHING
    sign, _, bill, _ = EVERYTHING.questions
    page = sign.replacing(name="page", mechanism="opt0", targets=())
    three = (sign.replacing(mechanism="opt0"), bill, page)
    yield "two each of three", Survey("two", 40_000, three, design="some-each", asked=2)
    bills = BILL.replacing(preferences=None, epsilon=2.0, mechanism="channel")
    yield (
        "a number by a channel",
        Survey("bills", 10_000, (bills, EVERYTHING.questions[0])),
    )
    weighed = (
        LEVELS[0].replacing(prior=0.2),
        LEVELS[1].replacing(prior=0.8, importance=2.0),
    )
    expected = Categorical("sign", weighed, mechanism="subset")
    yield "an expected error", Survey("expected", 10_000, (expected,))


SURVEYS = dict(surveys())


@pytest.fixture(scope="module", params=SURVEYS)
def survey(request):
    return SURVEYS[request.param]


@pytest.fixture(scope="module")
def plan(survey):
    with (
        pytest.MonkeyPatch.context() as patch
    ):  # a report's curve is looked at elsewhere
        patch.setattr(planner.planning.question, "_POINTS", 3)
        patch.setattr(planner.planning.question, "_FEW_POINTS", 3)
        yield plan_survey(survey)


def one_line(text):
    return " ".join(text.split())


@pytest.fixture(scope="module")
def blocks(plan):
    view = plan.outsiders()
    return [*plan_blocks(plan), *outsider_blocks(view)]


def texts_of(blocks):
    """Every text that a face has to show."""
    for block in blocks:
        match block:
            case Heading(text) | Sentence(text):
                yield text
            case Facts(facts):
                yield from (text for fact in facts for text in (fact.name, fact.value))
            case Table(title, columns):
                yield title
                yield from (
                    cell
                    for column in columns
                    for cell in (column.heading, *column.cells)
                )


def printed(blocks, *, details):
    """On a terminal."""
    console = Console(
        width=80, file=StringIO(), highlight=False, markup=False, emoji=False
    )
    print_blocks(console, blocks, details=details)
    page = console.file.getvalue()
    lines = page.splitlines()
    assert max(map(len, lines)) <= 80
    return page


def test_text_and_report_show_every_block(plan, blocks):
    page = printed(blocks, details=True)
    text = re.sub(r"\s", "", page).lower()
    report = report_html(plan).partition("<body>")[2]
    report = one_line(html.unescape(re.sub(r"<[^>]+>", " ", report)))
    for part in texts_of(blocks):
        assert one_line(part) in report
        if part.endswith("."):
            assert re.sub(r"\s", "", part).lower() in text
        for word in part.split():
            assert word.lower() in text


def test_a_plan_is_short_and_needs_no_words_of_the_trade(survey, plan):
    lines = printed(plan_blocks(plan, details=False), details=False).splitlines()
    # A joint question is its table and each of its parts, which are compared.
    questions = sum(
        1 + len(getattr(question, "of", ())) for question in survey.questions
    )
    if len(survey.questions) > 1:
        head = 9
    else:
        head = 1
    assert len([line for line in lines if line]) <= head + 12 * questions
    text = " ".join(" ".join(lines).split())
    for term in (" nats", "direct encoding", "per-input rows", "design ="):
        assert term not in text


def test_json(plan):
    text = json.dumps(plan_json(plan))
    document = json.loads(text)
    assert document["survey"]["most_spent"] == pytest.approx(plan.most_spent)
    outsiders = plan.outsiders()
    assert document["outsiders"]["sentences"] == [
        *filter(None, [together_sentence(outsiders)])
    ]
    for shown_view, view in zip(
        document["outsiders"]["questions"], outsiders.questions, strict=True
    ):
        assert shown_view["sentences"] == view_sentences(view)
        assert shown_view["shuffled"]["epsilon"] == pytest.approx(
            view.shuffled.epsilon, rel=1e-6
        )
    for shown_question, question in zip(
        document["questions"], plan.questions, strict=True
    ):
        assert shown_question["mechanism"] == question.deployed.mechanism
        assert shown_question["asked_for"] == question.question.mechanism
        assert shown_question["users"] == question.part.people
        for name in ("total_error", "error_share"):
            expected = getattr(question, name)
            assert shown_question[name] == pytest.approx(expected)
        spent = [row["spent"] for row in shown_question["spending"]]
        assert spent == pytest.approx([row.spent for row in question.spending])
        levels = question.fact(ByLevel)
        if levels is not None:
            for name in ("standard_errors", "a", "b"):
                column = getattr(levels, name).tolist()
                assert shown_question["levels"][name] == pytest.approx(column)


def test_notebook(plan):
    frame = plan.to_frame()
    assert frame["total_error"].tolist() == [
        question.total_error for question in plan.questions
    ]
    assert frame["mechanism"].tolist() == [
        question.mechanism_label for question in plan.questions
    ]
    for question in plan.questions:
        if question.question.locally_private:
            shown = question.to_frame().set_index("mechanism")
            option = question.option(question.deployed.mechanism)
            assert shown.loc[option.title, "error"] == pytest.approx(
                question.total_error
            )
            assert shown.loc[option.title, "against_plan"] == 0


MODELS = ("opt0", "opt1", "opt2", "rappor", "oue")


def test_exported_files_hold_what_is_shown(plan):
    if not all(question.deployable for question in plan.questions):
        pytest.skip("nothing is written while nobody vouches for what it relies on")
    parameters = survey_parameters(plan)
    exported = {law.name: (parameters.users, law) for law in parameters.questions}
    for question in plan.questions:
        users, file = exported[question.name]
        name = question.deployed.mechanism
        document = file.document()
        assert users == plan.survey.users
        unary = document["mechanism"].removesuffix("-ps") in ("idue", "rappor", "oue")
        assert unary == (name in MODELS)
        spent = [row.spent for row in question.part.spending]
        if question.question.levels and question.question.locally_private:
            most = [level["epsilon"] for level in document["levels"]]
            if not isinstance(document["rule"], str):  # pairs alone count
                most = [max(filter(None, row)) for row in document["rule"]]
            if question.part.by_parts:  # its levels are not those that spend
                assert max(most) == pytest.approx(max(spent))
            else:
                assert most == pytest.approx(spent)
            assert document.get("padding_length") == getattr(
                question.fact(Padded), "length", None
            )
        elif question.question.locally_private:
            assert document["epsilon"] == pytest.approx(spent[0])
        if name == "subset-design":
            assert file.mechanism == name
            group = document["groups"][: len(document["levels"])]
            sides = np.array(document["weights"])[group]  # by level, type and side
            held = sides[:, :, 1].sum(axis=1) / 2**32
            assert held == pytest.approx(question.fact(ByLevel).a, abs=1e-5)
            people = np.eye(file.levels.total, dtype=int)  # all of whom have one answer
            error = max(file.variance(person).sum() for person in people)
            lost = (
                0.01 if plan.survey.name == "any" else 1e-6
            )  # by rounding, as planning allows
            assert 1 - lost < error / question.certified.worst_case_mse < 1 + lost
        if name in MODELS:
            for letter in ("a", "b"):
                drawn = np.array(document[letter]) / 2**32
                assert drawn == pytest.approx(
                    getattr(question.fact(ByLevel), letter), abs=2**-31
                )
