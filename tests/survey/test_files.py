"""Survey files: what is read, written, and refused with one sentence that names the place."""

import math
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner import AssumedSets, FileError, Level, Survey, Target, plan_survey
from planner.laws.levels import folded
from planner.survey.assumed import (
    EmpiricalPreferences,
    HistogramPreferences,
    NormalPreferences,
)
from planner.survey.choices import Categorical, ItemSet, SampledChoice, Sampling
from planner.survey.numeric import Numeric
from planner.survey.ordinal import Ordinal
from planner.survey.survey import (
    document_of,
    load_survey,
    settle,
    survey_from_text,
    survey_text,
)
from tests.refusals import refused
from tests.surveys import EXAMPLES, GOOD

SETS = GOOD.replace('"categorical"', '"item-set"').replace(
    "[[question.level]]", "[question.sets]\nsizes = [0, 1, 2]\n[[question.level]]", 1
)
NUMBER = """[survey]
name = "bills"
users = 1000
[[question]]
name = "bill"
kind = "numeric"
lower = 0
upper = 9
epsilon = 1
[question.preferences]
model = "normal"
mean = 5
sd = 1.5
"""
ORDERED = """[survey]
name = "help"
users = 1000
[[question]]
name = "hours"
kind = "ordinal"
order = ["a", "b", "c"]
scores = [0, 1, 2]
wanted = "shares up to"
[[question.level]]
name = "all"
epsilon = 1
items = ["a", "c", "b"]
"""
SAMPLED = """[survey]
name = "registry"
users = 1000
[[question]]
name = "age"
kind = "sampled-choice"
[question.sampling]
relies_on = "round-two"
[[question.level]]
name = "rare"
epsilon = 2.0
items = ["x", "y"]
yes_counts = [3, 4]
"""
SAMPLE = 'model = "normal"\nmean = 5\nsd = 1.5'
SURVEY = '[survey]\nname = "x"\nusers = 1\n'
TARGET = "item_count = 4\n[[question.target]]\n"

# What is written, what is written instead, and the sentence: place, key, value, what is allowed.
MISTAKES = {
    GOOD: [
        (
            "users = 100_000",
            "users 100_000",
            r"TOML: Expected '=' .*\(at line 3, column 7\)",
        ),
        ('"severe"', '"severe', r"TOML: Illegal character .*\(at line 11, column 15\)"),
        (
            "users = 100_000",
            "users = 1\nusers = 2",
            r"Cannot overwrite .*\(at line 4, column",
        ),
        (
            "item_count = 4\n",
            "item_count =",
            r"\(at line 18, column 13, the end of the file\)",
        ),
        (
            "item_count = 4\n",
            "items = [\n",
            r"\(at line 19, column 1, the end of the file\)",
        ),
        (
            "epsilon = ",
            "epsilom = ",
            "level 'severe': epsilom is not .*did you mean 'epsilon'",
        ),
        (
            "users = ",
            "user = ",
            "survey: user is not a known key .*did you mean 'users'",
        ),
        ("[survey]", "[surveys]", "surveys is not a known key .*did you mean 'survey'"),
        (
            "[[question.level]]",
            "[[question.levels]]",
            "levels is not .*did you mean 'level'",
        ),
        ("users = ", "zzz = 1\nusers = ", r"survey: zzz .* \(known are name"),
        (
            'name = "health"\n',
            "",
            "survey, name is missing. Add a line name = ... there.",
        ),
        (
            'epsilon = "ln 4"\n',
            "",
            "question 'diagnosis', level 'severe', epsilon is missing",
        ),
        (
            "users = 100_000",
            "users = 1.5",
            "survey: users is 1.5 but must be a whole number",
        ),
        (
            "users = 100_000",
            "users = 0",
            "users is 0 but must be a whole number from 1 to 1,000,0",
        ),
        ('name = "health"', 'name = " "', "survey, name is missing"),
        ('name = "severe"', "name = 5", "level 5: name is 5 but must be text"),
        (
            '"ln 4"',
            "0",
            "level 'severe': epsilon is 0 but must be a budget above 0 and at most 50",
        ),
        (
            '"ln 4"',
            '"1,5"',
            "epsilon is '1,5' .* Write the decimal point as a point: 1.5",
        ),
        (
            "item_count = 4",
            "item_count = 0",
            "level 'common': item_count is 0 .* Count the answ",
        ),
        (
            "item_count = 4",
            "",
            "level 'common': items is empty .* give their number as item_co",
        ),
        (
            '["HIV"]',
            '["HIV"]\nitem_count = 2',
            "level 'severe': item_count is 2 but must be .* 1",
        ),
        (
            '["HIV"]',
            '["a", "a"]',
            "level 'severe': items 2 is 'a' .* in 'severe' already",
        ),
        (
            "item_count = 4",
            'items = ["HIV"]',
            "level 'common': items 1 is 'HIV' .* in 'severe'",
        ),
        (
            '["HIV"]',
            '["1", "x"]',
            "items 1 is '1' but must be no number, as items of other lev",
        ),
        (
            'rule = "min"',
            'rule = "max"',
            'rule is \'max\' but must be "min", "avg", "one-sided" or',
        ),
        (
            'rule = "min"',
            "rule = 3",
            'rule is 3 but must be "min", "avg", "one-sided" or',
        ),
        (
            'rule = "min"',
            "rule = [[true]]",
            "rule 'severe' 'severe' is True but must be a pair",
        ),
        (
            'rule = "min"',
            "rule = [[1, 2], [inf, 1]]",
            r"rule\[0\]\[1\] is 2.0 .* be inf, as",
        ),
        (
            'epsilon = "ln 4"',
            "epsilon = 1\nagainst = 2",
            "against is 2.0 but must be left out",
        ),
        (
            'epsilon = "ln 4"',
            "epsilon = 1\nagainst = 0",
            "against is 0 but must be .* above 0",
        ),
        ('rule = "min"', "rule = [[1, 2], [1]]", "rule is .* rectangular"),
        (
            '"categorical"',
            '"numerical"',
            "kind is 'numerical' .* Did you mean 'numeric'.* mean.",
        ),
        (
            "rule =",
            "lower = 2\nrule =",
            r"lower is not a known key \(it is one of the kind 'numer",
        ),
        ("rule =", "weight = 0\nrule =", "'diagnosis': weight is 0 .* above 0"),
        ("rule =", 'criterion = "median"\nrule =', "criterion .* 'total' or 'minimax'"),
        (
            "users =",
            'design = "both"\nusers =',
            "design is 'both' .* 'split', 'one-each' or 'some",
        ),
        (
            "users =",
            "asked = 1\nusers =",
            "asked is 1 but must be given for the design some-each",
        ),
        (
            "users =",
            'design = "some-each"\nasked = 2\nusers =',
            "asked is 2 but must be at most 1",
        ),
        (
            "items = [",
            "prior = 0.2\nitems = [",
            "prior is .* for all levels of the question",
        ),
        (
            "items = [",
            "yes_counts = [1]\nitems = [",
            r"yes_counts is \(1,\) .* left out unless",
        ),
        (
            "item_count = 4\n",
            TARGET + "error = 2\n",
            "target 1: error is 2 but must be a share",
        ),
        (
            "item_count = 4\n",
            TARGET + 'error = 0.1\nlevel = "sever"\n',
            "mean 'severe'",
        ),
        (
            "item_count = 4\n",
            "item_count = 4\n" + GOOD[GOOD.index("[[q") :],
            "name is 'dia",
        ),
        ('rule = "min"', "x = " + "[" * 5000 + "]" * 5000, "nested too deeply"),
        ('rule = "min"', "x = " + "{a=" * 3000 + "1" + "}" * 3000, "nested too deeply"),
        ("[survey]", f"[{'.'.join('a' * 5000)}]\n[survey]", "a is not a known key"),
        (
            "users = ",
            f"ledger.{'.'.join('a' * 5000)} = 1\nusers = ",
            "ledger: text is of type",
        ),
        ('"ln 4"', "9" * 5000, "TOML: .*5000 digits"),
        ('"ln 4"', "0x" + "f" * 5000, "beyond 64 bits"),
        ('name = "health"', 'ledger = "a\\u0000b"', r"U\+0000"),
    ],
    SETS: [
        (
            "sizes = [0, 1, 2]",
            'sizes = [1]\npilot = "a.dat"',
            "must be one of the two. A pilot's",
        ),
        (
            "sizes = [0, 1, 2]",
            "sizes = [0, -1]",
            "sets: sizes 2 is -1 .* of at least 0",
        ),
        ("sizes = [0, 1, 2]", "sizes = [1, 0]", "above 0 for some set with items"),
        (
            "sizes = [0, 1, 2]",
            "sizes = []",
            "sizes is empty but must be above 0 somewhere",
        ),
        (
            "[0, 1, 2]",
            '[0, 1]\npopularity = "pareto"',
            "is 'pareto' .* 'zipf' or 'uniform'",
        ),
        ('rule = "min"', 'mechanism = "opt0"\nrule = "avg"', "for the rule min alone"),
        (
            'rule = "min"',
            "padding_length = 0",
            "padding_length is 0 .* from 1 to 1,048,576",
        ),
    ],
    NUMBER: [
        (
            "lower = 0",
            "lower = 30",
            "question 'bill': lower is 30.0 but must be below upper",
        ),
        ("lower = 0\n", "", "question 'bill', lower is missing"),
        ("upper = 9", "upper = 1e308", "Measure in another unit"),
        ("upper = 9", "upper = 9\nyes_no = 1", "yes_no is 1 but must be true or false"),
        (
            '"normal"',
            '"cauchy"',
            "preferences: model is 'cauchy' .* one of normal, histogram",
        ),
        (
            'model = "normal"\n',
            "",
            "preferences: model is missing but must be one of normal",
        ),
        ("sd = 1.5", "sd = 0", "preferences: sd is 0 but must be a number above 0"),
        (SAMPLE, 'model = "sample"', "preferences, values is missing"),
        (
            SAMPLE,
            'model = "sample"\nfile = "p.csv"\nvalues = [1]',
            'needs one of "file" and "val',
        ),
        (
            SAMPLE,
            'model = "sample"\nvals = [1]',
            "preferences: vals is not .*mean 'values'",
        ),
        (SAMPLE, 'model = "sample"\nvalues = []', "values is empty .* Add one"),
        (
            SAMPLE,
            'model = "histogram"\nedges = [0, 1]\nshares = [0.5, 0.5]',
            "one more than",
        ),
    ],
    ORDERED: [
        (
            '["a", "b", "c"]',
            '["a", "b"]',
            "order is .* must be each of 'a', 'c', 'b' once",
        ),
        ("[0, 1, 2]", "[0, 1]", "scores is .* 3 finite numbers, two of them different"),
        (
            '"shares up to"',
            '"share up to"',
            "wanted is 'share up to' .* must be 'shares up to'",
        ),
        (
            'items = ["a", "c", "b"]',
            "item_count = 3",
            "items is empty but must be listed for 'ord",
        ),
        (
            "epsilon = 1",
            "epsilon = 1\nprior = 1",
            "'all': prior is 1.0 .* left out for",
        ),
        (
            "epsilon = 1",
            "epsilon = 1\nimportance = 0",
            "importance is 0.0 .* for one of 2 answers",
        ),
        ('["a", "c", "b"]', '["a"]', "number of answers is 1 but must be 2 to 256"),
        (
            '[0, 1, 2]\nwanted = "shares up to"',
            '[]\nwanted = "mean of scores"',
            "scores is empty",
        ),
    ],
    SAMPLED: [
        (
            "relies_on",
            "cap = 0.1\nrely_on",
            "question 'age', sampling: rely_on .*'relies_on'",
        ),
        (
            '[question.sampling]\nrelies_on = "round-two"\n',
            "",
            "question 'age', sampling is miss",
        ),
        ("[3, 4]", "[3]", "level 'rare': yes_counts is .* one count per item"),
        (
            '"sampled-choice"',
            '"sampled-choice"\nrule = "avg"',
            "rule is 'avg' .* must be 'min'",
        ),
    ],
    "": [
        (
            "",
            "survey = 3\nquestion = []",
            "survey is 3 but must be a table of keys and values",
        ),
        ("", SURVEY, r"question is missing. Add a line \[\[question\]\] there"),
        ("", "question = []\n" + SURVEY, "question is empty .* one or more"),
        ("", "question = [3]\n" + SURVEY, "question 1 is 3 but must be a"),
        (
            "",
            SURVEY + '[question]\nname = "q"',
            "question is .* tables of a list in ..double",
        ),
    ],
}
ALL = [(text, *mistake) for text, mistakes in MISTAKES.items() for mistake in mistakes]


@pytest.mark.parametrize(("text", "old", "new", "sentence"), ALL, ids=range(len(ALL)))
def test_a_mistake_is_one_sentence_with_its_place(text, old, new, sentence):
    assert old in text
    with pytest.raises(FileError, match=sentence) as caught:
        survey_from_text(text.replace(old, new, 1) if old else new, source="my.toml")
    assert str(caught.value).startswith("my.toml: ")
    assert "\n" not in str(caught.value)
    assert "pydantic" not in str(caught.value)


def test_every_mistake_of_a_document_is_at_the_place_where_it_was_typed():
    document = tomllib.loads(GOOD)
    document["survey"] |= {"users": "1,5", "asked": " "}
    question = document["question"][0]
    question["level"][0]["item_count"] = "4.5"
    question["level"][1]["epsilom"] = question["level"][1].pop("epsilon")
    survey, mistakes = settle(document)
    assert survey is None
    assert [mistake.where for mistake in mistakes] == [
        ("survey", "users"),
        ("question", 0, "level", 0, "item_count"),
        ("question", 0, "level", 1, "epsilom"),
    ]
    assert mistakes[2].error.place == ("question 'diagnosis'", "level 'common'")
    assert mistakes[2].error.argument == "epsilom"
    assert "did you mean 'epsilon'?" in str(mistakes[2].error)


def test_cells_may_be_text_and_blank_ones_are_left_out():
    document = tomllib.loads(GOOD)
    document["survey"] |= {"users": "100,000", "asked": "", "design": ""}
    first, second = document["question"][0]["level"]
    first |= {"items": "HIV; ", "importance": "1"}
    second |= {"item_count": "4", "prior": ""}
    document["question"][0]["rounds"] = {"count": " "}
    document["question"][0]["rule"] = [["", "inf"], ["inf", "1.2 * ln 6"]]
    survey, mistakes = settle(document)
    assert mistakes == ()
    assert survey.users == 100_000
    (question,) = survey.questions
    expected = ((math.log(4), math.inf), (math.inf, 1.2 * math.log(6)))
    assert question.rule == expected
    expected = survey_from_text(GOOD).questions[0].levels
    assert question.levels == expected


def test_a_survey():
    survey = survey_from_text(GOOD)
    assert survey.name == "health"
    assert survey.users == 100_000
    (question,) = survey.questions
    severe, common = question.levels
    assert severe.name == "severe"
    assert severe.epsilon == math.log(4)
    assert severe.items == ("HIV",)
    assert common.items == ()
    assert common.item_count == 4
    assert question.policy.item_counts.tolist() == [1, 4]
    usual = GOOD.replace('rule = "min"', 'mechanism = ""').replace(
        'kind = "categorical"', ""
    )
    assert survey_from_text(usual) == survey
    numbered = GOOD.replace("item_count = 4", "items = [3, 4]").replace('"HIV"', "1")
    assert survey_from_text(numbered).questions[0].levels[1].items == ("3", "4")


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    path = tmp_path / "large.toml"
    with path.open("wb") as file:
        file.truncate(16 * 2**20 + 1)
    with refused("is larger than 16 MiB", kind=FileError):
        load_survey(path)


def test_files_that_a_survey_names_are_beside_it(tmp_path):
    (tmp_path / "pilot.csv").write_text("person,epsilon\na,2\nb,1\n")
    sample = 'model = "sample"\nfile = "pilot.csv"\ncolumn = "epsilon"'
    file = tmp_path / "survey.toml"
    named = NUMBER.replace("[survey]", '[survey]\nledger = "l.json"')
    file.write_text(named.replace(SAMPLE, sample))
    survey = load_survey(file)
    assert survey.questions[0].preferences == EmpiricalPreferences((2.0, 1.0))
    assert survey.ledger == str(tmp_path / "l.json")
    file.write_text(NUMBER.replace(SAMPLE, sample.replace('"epsilon"', '"nats"')))
    with refused("one column 'nats' is needed, and there is none", kind=FileError):
        load_survey(file)


@pytest.mark.parametrize("upper", ["1e-99", "1e99"])
def test_domains_at_the_edge_of_what_is_allowed_are_planned(upper):
    text = NUMBER[: NUMBER.index("[question.pref")].replace(
        "upper = 9", f"upper = {upper}"
    )
    assert plan_survey(survey_from_text(text)).questions


TEXT = st.text(
    st.characters(codec="utf-8", exclude_characters="\r\0"), min_size=1, max_size=12
)
NAMES = TEXT.filter(lambda text: text.strip())
LEVELS = (Level("a", 1.0, item_count=2), Level("b", 2.0, item_count=3))
WEIGHED = (LEVELS[0], LEVELS[1].replacing(importance=0.25))
EXPECTED = (LEVELS[0].replacing(prior=0.25), LEVELS[1].replacing(prior=0.75))
GRAPH = ((1.0, math.inf), (math.inf, 2.0))
TARGETS = (Target(error=0.25), Target(detect=0.125, level="a"))
ENDS = Level("ends", 1.0, ("0", "10+"))
MIDDLE = Level("middle", 2.0, ("1-4", "5-9"))
PREFERENCES = (
    NormalPreferences(5, 1.5),
    HistogramPreferences([0, 1, 4.5], [0.3, 0.7]),
    EmpiricalPreferences([3.5, 1.25, 1.25]),
)
QUESTIONS = {
    "choices": (
        Categorical("graph", LEVELS, GRAPH),
        Categorical("weighed", WEIGHED, "avg", mechanism="opt1", weight=1.5),
        Categorical("expected", EXPECTED, targets=TARGETS),
        Categorical("minimax", WEIGHED, criterion="minimax"),
    ),
    "sets": (
        ItemSet("zipf", LEVELS, sets=AssumedSets([0, 5, 3, 2]), targets=TARGETS),
        ItemSet(
            "even", LEVELS, sets=AssumedSets([0.5, 0.5], "uniform"), padding_length=1
        ),
        ItemSet("of length 3", LEVELS, padding_length=3),
        ItemSet("pilot", LEVELS, sets=AssumedSets(pilot="/somewhere/pilot.dat")),
    ),
    "in order": (
        Ordinal(
            "q", (ENDS, MIDDLE), order=("0", "1-4", "5-9", "10+"), scores=(0, 2, 7, 12)
        ),
        Ordinal("r", (MIDDLE.replacing(importance=2.0),), wanted="counts"),
        Ordinal("m", (ENDS,), scores=(0, 1), wanted="mean of scores"),
    ),
    "sampled": (
        SampledChoice(
            "q",
            (
                Level("rare", 2.0, ("x",), yes_counts=(3,)),
                Level("b", 1.0, ("y",), 1, (4,)),
            ),
            sampling=Sampling("round-two", None, 0.4, 0.1, 1.5, True),
        ),
    ),
    "numbers": tuple(
        Numeric(
            f"n{i}", 0, 90.5, preferences=preferences, epsilon=1.5, mean=40.25, sd=3.0
        )
        for i, preferences in enumerate(PREFERENCES)
    ),
    "few words": (Numeric("n", -1, 1, yes_no=True),),
}


@pytest.mark.parametrize("questions", QUESTIONS.values(), ids=QUESTIONS)
def test_what_is_written_is_read(questions):
    survey = Survey("s", 1234, questions, design="some-each", ledger="/l.json", asked=1)
    assert survey_from_text(survey_text(survey)) == survey
    assert settle(document_of(survey), Path("/")) == (survey, ())
    assert "mechanism" not in survey_text(survey.replacing(questions=questions[:1]))


@pytest.mark.parametrize(
    "path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.name
)
def test_every_example_is_read_and_written(path):
    survey = load_survey(path)
    assert survey_from_text(survey_text(survey)) == survey


@given(
    st.lists(
        st.tuples(NAMES, st.floats(1e-6, 50), st.integers(1, 10**12)),
        min_size=1,
        max_size=6,
        unique_by=lambda level: folded(level[0]),
    ),
    NAMES,
    st.lists(NAMES, min_size=1, max_size=6, unique_by=folded),
)
@settings(max_examples=100)
def test_any_name_budget_and_item_is_read_back(levels, name, items):
    rows = tuple(Level(n, e, item_count=k) for n, e, k in levels)
    questions = (
        Categorical(name, rows, "avg"),
        Categorical(name + "!", (Level("o", 1.0, items),)),
    )
    survey = Survey("a survey", 1234, questions)
    assert survey_from_text(survey_text(survey)) == survey
