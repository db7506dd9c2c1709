"""What is written is read back as an equal survey."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.errors import InputError
from planner.survey import Level, Numeric, Question, Sampling, Survey
from planner.survey.file import survey_from_text
from planner.survey.numeric_domain import NumericDomain
from planner.survey.preferences import (
    EmpiricalPreferences,
    GammaPreferences,
    HistogramPreferences,
    LognormalPreferences,
    NormalPreferences,
)
from planner.survey.set_model import AssumedSets, PilotFile
from planner.survey.target import Target
from planner.survey.writer import survey_to_text

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), min_size=1, max_size=12)
NAMES = TEXT.filter(lambda text: text.strip())
EPSILONS = st.floats(1e-6, 50)


def read_back(*questions: Question) -> Survey:
    survey = Survey("a survey", 1234, questions)
    assert survey_from_text(survey_to_text(survey)) == survey
    return survey


@given(
    st.dictionaries(NAMES, st.tuples(EPSILONS, st.integers(1, 10**12)), min_size=1, max_size=6),
    st.sampled_from(["min", "avg"]),
    NAMES,
)
@settings(max_examples=100)
def test_levels_of_any_name_and_budget(levels, rule, name):
    made = tuple(Level(n, e, item_count=k) for n, (e, k) in levels.items())
    read_back(Question(name, made, rule))


@given(st.lists(NAMES, min_size=1, max_size=6, unique=True))
def test_items_of_any_name(items):
    read_back(Question("q", (Level("only", 1.0, tuple(items)),)))


def test_policy_graph_and_objectives():
    levels = (Level("a", 1.0, item_count=2), Level("b", 2.0, item_count=3))
    weighed = (levels[0], replace(levels[1], importance=0.25))
    expected = (replace(levels[0], prior=0.25), replace(levels[1], prior=0.75))
    graph = ((1.0, math.inf), (math.inf, 2.0))
    survey = read_back(
        Question("graph", levels, graph),
        Question("weighed", weighed),
        Question("expected", expected),
        Question("minimax", weighed, criterion="minimax"),
    )
    kinds = [question.objective.kind for question in survey.questions]
    assert kinds == ["worst-case", "worst-case", "expected", "minimax"]


def test_item_sets_targets_and_design():
    levels = (Level("a", 1.0, item_count=2), Level("b", 2.0, item_count=3))
    sets = (
        (AssumedSets([0, 5, 3, 2]), None),
        (AssumedSets([0.5, 0.5], "uniform"), 1),
        (AssumedSets([0, 1], [3, 1, 1, 1, 1]), None),
        (None, 3),
        (PilotFile("/somewhere/pilot.dat"), None),
    )
    questions = tuple(
        Question(
            f"q{i}",
            levels,
            kind="item-set",
            padding_length=length,
            sets=one,
            weight=1.5 + i,
            targets=(Target(error=0.25), Target(detect=0.125, level="a")),
        )
        for i, (one, length) in enumerate(sets)
    )
    survey = Survey("s", 10, questions, "some-each", "minimax", "ledger.json", 2)
    assert survey_from_text(survey_to_text(survey)) == survey


def test_sampled_choice():
    levels = (Level("rare", 2.0, ("x",), yes_counts=(3,)), Level("b", 1.0, ("y",), 1, (4,)))
    settings_ = Sampling("round-two", None, 0.4, 0.1, 1.5)
    read_back(Question("q", levels, kind="sampled-choice", sampling=settings_))


@pytest.mark.parametrize(
    "preferences",
    [
        None,
        NormalPreferences(5, 1.5),
        LognormalPreferences(2.5, 0.3),
        GammaPreferences(4.0, 0.7),
        HistogramPreferences([0, 1, 4.5], [0.3, 0.7]),
        EmpiricalPreferences([3.5, 1.25, 1.25]),
    ],
)
def test_numeric(preferences):
    numeric = Numeric(NumericDomain(0, 90.5), preferences, 1.5, 40.25, 3.0)
    read_back(Question("age", (), kind="numeric", numeric=numeric))


def test_bundled_examples(pytestconfig):
    for name in ("health", "browsing", "sampled-ages", "answer-rate"):
        path = pytestconfig.rootpath / "examples" / f"{name}.toml"
        survey = survey_from_text(path.read_text())
        assert survey_from_text(survey_to_text(survey)) == survey


def test_a_model_that_files_do_not_know():
    class Stubborn:
        """Nobody answers."""

        def answer_rate(self, epsilon):
            return 0.0 * epsilon

    numeric = Numeric(NumericDomain(0, 1), Stubborn())
    survey = Survey("s", 1, (Question("q", (), kind="numeric", numeric=numeric),))
    with pytest.raises(InputError, match=r"preferences is .* Use one of normal, .* or a sample."):
        survey_to_text(survey)
