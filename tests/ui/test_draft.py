"""Drafts build what was typed, complain about the rest, and survive a round trip."""

import math
from dataclasses import replace

import pytest

from planner.survey import Level, Numeric, Question, Sampling, Survey
from planner.survey.numeric_domain import NumericDomain
from planner.survey.preferences import (
    EmpiricalPreferences,
    GammaPreferences,
    HistogramPreferences,
    LognormalPreferences,
    NormalPreferences,
)
from planner.survey.set_model import AssumedSets
from planner.survey.target import Target
from planner.ui.draft.categorical import CategoricalDraft, PairChoice, follow_renames
from planner.ui.draft.numeric import NumericDraft
from planner.ui.draft.sampled import SampledDraft
from planner.ui.draft.survey import SurveyDraft
from planner.ui.state import EXAMPLES, example_survey

LEVELS = (
    Level("severe", math.log(4), ("HIV", "cancer, late"), importance=2.5),
    Level("common", 1.7, item_count=10**12),
    Level("third", 0.123456789, ("x;y", 'a "quoted" one')),
)
SURVEYS = {
    "levels": Survey("s", 10**12, (Question("q", LEVELS, "avg"),)),
    "graph": Survey(
        "s",
        5,
        (Question("q", LEVELS[:2], ((1.0, math.inf), (math.inf, 1.7))),),
    ),
    "own budgets": Survey("s", 5, (Question("q", LEVELS[:2], ((1.25, 1.5), (1.5, 9.0))),)),
    "minimax": Survey("s", 5, (Question("q", LEVELS, criterion="minimax"),)),
    "expected": Survey(
        "s",
        5,
        (Question("q", (replace(LEVELS[0], prior=0.25), replace(LEVELS[1], prior=0.75))),),
    ),
    "sets": Survey(
        "s",
        5,
        (
            Question(
                "q",
                LEVELS,
                kind="item-set",
                sets=AssumedSets([0, 3, 2], "uniform"),
                padding_length=2,
                weight=2.0,
                targets=(Target(error=0.125), Target(detect=0.5)),
            ),
        ),
        "some-each",
        "minimax",
        asked=1,
    ),
    "sampled": Survey(
        "s",
        500,
        (
            Question(
                "q",
                (
                    Level("rare", 2.0, ("x", "y"), yes_counts=(3, 4)),
                    Level("b", 1.0, ("z",), 1, (9,)),
                ),
                kind="sampled-choice",
                sampling=Sampling("round-two", None, 0.4, 0.05, 1.5, False),
            ),
        ),
    ),
    "numeric": Survey(
        "s",
        500,
        (
            Question(
                "bins",
                (),
                kind="numeric",
                numeric=Numeric(
                    NumericDomain(-3, 7.5), HistogramPreferences([0, 1, 3], [0.3, 0.7])
                ),
            ),
            Question(
                "normal",
                (),
                kind="numeric",
                numeric=Numeric(
                    NumericDomain(0, 1, yes_no=True), NormalPreferences(5, 1.5), 2.0, 0.5, 0.1
                ),
            ),
            Question(
                "sample",
                (),
                kind="numeric",
                numeric=Numeric(NumericDomain(), EmpiricalPreferences([1.5, 0.25])),
            ),
        ),
    ),
}


@pytest.mark.parametrize("survey", SURVEYS.values(), ids=SURVEYS)
def test_a_draft_of_a_survey_builds_the_same_survey(survey):
    built = SurveyDraft.of(survey).build()
    assert built.problems == ()
    assert built.survey == survey


@pytest.mark.parametrize("name", EXAMPLES)
def test_bundled_examples_are_those_in_the_examples_folder(name, pytestconfig):
    survey = example_survey(name)
    assert SurveyDraft.of(survey).build().survey == survey
    packaged = pytestconfig.rootpath / "planner" / "ui" / "surveys" / f"{name}.toml"
    original = pytestconfig.rootpath / "examples" / f"{name}.toml"
    assert packaged.read_text() == original.read_text()


def row(level="a", epsilon="1", items="", count="3", **more):
    return {"level": level, "epsilon": epsilon, "items": items, "count": count, **more}


GOOD = row("good", "2", "p, q", "")


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (row(epsilon="-5"), "Row 2 (a): epsilon is '-5'"),
        (row(epsilon="25,5"), "point"),
        (row(epsilon="51"), "odds of more"),
        (row(epsilon="nan"), "epsilon is 'nan'"),
        (row(epsilon=""), "Row 2 (a): the budget (epsilon) is still empty"),
        (row(level=""), "Row 2: the level has no name yet"),
        (row(level="good"), "another row has this name"),
        (row(count="1,5"), "number of items is '1,5'"),
        (row(count="0"), "number of items is '0'"),
        (row(count="1e3"), "number of items is '1e3'"),
        (row(count=""), "list its items, or say how many"),
        (row(items="x; x", count=""), "already"),
        (row(items="q", count=""), "the item 'q' is in level 'good' already"),
        (row(items="x, y", count="3"), "item_count"),
        (row(importance="-1"), "importance is '-1'"),
    ],
)
def test_a_wrong_cell_gets_a_sentence_and_the_rest_is_built(bad, words):
    question, problems = CategoricalDraft("q", [GOOD, bad]).build()
    assert question is not None
    assert [level.name for level in question.levels] == ["good"]
    assert len(problems) == 1
    assert words in problems[0]


def test_levels_beyond_what_is_planned_are_refused_with_their_number():
    rows = [row(level=f"l{k}") for k in range(1001)]
    question, problems = CategoricalDraft("q", rows).build()
    assert question is None
    assert problems[0].startswith("There are 1,001 levels, more than the 1,000 planned here")
    assert CategoricalDraft("q", rows[:1000]).build()[1] == []


def test_blank_rows_are_no_problem():
    blank = dict.fromkeys(GOOD, "")
    question, problems = CategoricalDraft("q", [blank, GOOD, blank]).build()
    assert question is not None
    assert problems == []


def test_nothing_but_mistakes_builds_nothing():
    draft = SurveyDraft(" ", "1,5", [CategoricalDraft("q", [row(epsilon="x")])])
    built = draft.build()
    assert built.survey is None
    assert not built.complete
    assert len(built.problems) == 3


def test_a_wrong_pair_budget_falls_back_to_the_smaller_one():
    draft = CategoricalDraft("q", [GOOD, row()], "pairs")
    draft.pairs = {frozenset(("good", "a")): PairChoice(True, "-1")}
    question, problems = draft.build()
    assert question.rule == ((2.0, 1.0), (1.0, 1.0))
    assert "Pair good and a" in problems[0]


def test_what_was_ticked_and_typed_for_pairs_follows_a_rename_and_survives_a_deletion():
    pairs = {frozenset(("a", "b")): PairChoice(False, "1.5"), frozenset("b"): PairChoice(True, "1")}
    renamed = follow_renames(pairs, ["a", "b"], ["a", "c"])
    assert renamed == {
        frozenset(("a", "c")): PairChoice(False, "1.5"),
        frozenset("c"): PairChoice(True, "1"),
    }
    assert follow_renames(pairs, ["a", "b"], ["a"]) == pairs


def test_questions_left_out_are_not_planned():
    survey = SURVEYS["numeric"]
    draft = SurveyDraft.of(survey)
    draft.questions[1].included = False
    built = draft.build()
    assert [question.name for question in built.survey.questions] == ["bins", "sample"]


def value(level="rare", epsilon="2", value="x", expected="3"):
    return {"level": level, "epsilon": epsilon, "value": value, "expected": expected}


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (value(level="", value=""), "Row 2: the value has no name"),
        (value(value="y", epsilon="-1"), "Row 2 (rare): epsilon is '-1'"),
        (value(value="y", epsilon="1"), "the level's budget, 2"),
        (value(value="y", expected="many"), "Row 2 (rare): expected people is 'many'"),
        (value("other"), "Row 2 (other): value is 'x' but must be"),
    ],
)
def test_a_wrong_row_of_values_gets_a_sentence_and_the_rest_is_built(bad, words):
    question, problems = SampledDraft("q", [value(), bad, dict.fromkeys(value(), "")]).build()
    assert [level.items for level in question.levels] == [("x",)]
    assert len(problems) == 1
    assert words in problems[0]


def test_values_without_names_are_counted():
    question, problems = SampledDraft("q", [value(value=""), value(value="")]).build()
    assert problems == []
    assert question.levels[0].item_count == 2
    named, _ = SampledDraft("q", [value(value=""), value(value="y")]).build()
    assert named.levels[0].items == ("rare 1", "y")


@pytest.mark.parametrize(
    ("draft", "words"),
    [
        (SampledDraft("q", []), "no value yet"),
        (SampledDraft("q", [value()], cap="2"), "largest sampling probability is '2'"),
        (NumericDraft("q", lower="x"), "smallest answer is 'x'"),
        (NumericDraft("q", model="gamma", parameters={"gamma.shape": "x"}), "shape is 'x'"),
    ],
)
def test_a_question_that_cannot_be_built_says_why(draft, words):
    question, problems = draft.build()
    assert question is None
    assert words in problems[0]


@pytest.mark.parametrize(
    "preferences", [LognormalPreferences(4, 0.5), GammaPreferences(4, 1.25), None], ids=repr
)
def test_preferences_survive_their_draft(preferences):
    numeric = Numeric(NumericDomain(), preferences)
    question = Question("q", (), kind="numeric", numeric=numeric)
    assert NumericDraft.of(question).build() == (question, [])
