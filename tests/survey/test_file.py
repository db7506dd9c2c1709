import math

import pytest

from planner import FileError, load_survey
from planner.survey.file import survey_from_text
from tests.surveys import EXAMPLES, GOOD


def _with(old, new):
    assert old in GOOD
    return GOOD.replace(old, new)


def test_a_survey():
    survey = survey_from_text(GOOD)
    assert (survey.name, survey.users) == ("health", 100_000)
    (question,) = survey.questions
    assert (question.name, question.kind, question.rule) == ("diagnosis", "categorical", "min")
    severe, common = question.levels
    assert (severe.name, severe.epsilon, severe.items) == ("severe", math.log(4), ("HIV",))
    assert (common.items, common.item_count) == ((), 4)
    assert common.epsilon == 1.2 * math.log(6)
    assert question.policy.item_counts.tolist() == [1, 4]


def test_a_matrix_rule_with_unprotected_pairs():
    survey = survey_from_text(_with('rule = "min"', "rule = [[inf, 1], [1.0, 2.5]]"))
    assert survey.questions[0].policy.bounds().tolist() == [[math.inf, 1], [1, 2.5]]


def test_items_may_be_whole_numbers():
    text = _with('items = ["HIV"]', "items = [1, 2]")
    with pytest.raises(FileError, match="must be no number, as items of other levels go by theirs"):
        survey_from_text(text)
    survey = survey_from_text(text.replace("item_count = 4", "items = [3, 4, 5, 6]"))
    assert survey.questions[0].levels[0].items == ("1", "2")


def test_the_rule_and_kind_have_defaults():
    survey = survey_from_text(GOOD.replace('rule = "min"', "").replace('kind = "categorical"', ""))
    assert survey == survey_from_text(GOOD)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.name)
def test_every_example_loads(path):
    assert load_survey(path).questions


def test_table_2_of_the_paper_is_an_example():
    policy = load_survey(EXAMPLES / "health.toml").questions[0].policy
    assert policy.epsilons.tolist() == [math.log(4), math.log(6)]
    assert policy.item_counts.tolist() == [1, 4]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("users = 100_000", "users 100_000", r"Expected '=' .*\(at line 3, column 7\)"),
        ('name = "severe"', 'name = "severe', r"Illegal character .*\(at line 11, column 15\)"),
        ("[[question.level]]", "[[question.level]", r"\(at line 10, column \d+\)"),
        (
            "users = 100_000",
            "users = 1\nusers = 2",
            r"Cannot overwrite .*\(at line 4, column \d+\)",
        ),
        ("item_count = 4\n", "item_count =", r"\(at line 18, column 13, the end of the file\)"),
        ("item_count = 4\n", "items = [\n", r"\(at line 19, column 1, the end of the file\)"),
        ("users = 100_000", "users = 1e", r"line 3, column"),
    ],
)
def test_malformed_toml_names_line_and_column(old, new, message):
    with pytest.raises(FileError, match=f"survey: is not valid TOML: .*{message}"):
        survey_from_text(_with(old, new))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("epsilon = ", "epsilom = ", "level 'severe', epsilom is not .*did you mean 'epsilon'"),
        ("item_count", "itemcount", "level 'common', itemcount .*did you mean 'item_count'"),
        ("rule = ", "roole = ", "question 'diagnosis', roole .*did you mean 'rule'"),
        ("users = ", "user = ", "survey, user is not a known key .*did you mean 'users'"),
        ("[survey]", "[surveys]", "surveys is not a known key .*did you mean 'survey'"),
        ("[[question.level]]", "[[question.levels]]", "levels is not .*did you mean 'level'"),
        ("users = ", "zzz = 1\nusers = ", r"zzz is not a known key \(known are name, users, des"),
    ],
)
def test_unknown_keys_get_the_near_match(old, new, message):
    with pytest.raises(FileError, match=message):
        survey_from_text(_with(old, new))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "health"\n', "", "survey, name is missing"),
        ('epsilon = "ln 4"\n', "", "question 'diagnosis', level 'severe', epsilon is missing"),
        ("users = 100_000", "users = 1.5", "survey, users is 1.5: .* valid integer"),
        ("users = 100_000", "users = true", "survey, users is True: .* valid integer"),
        ("users = 100_000", "users = 0", "users is 0 but must be a whole number from 1 to 1000000"),
        ('name = "health"', 'name = " "', "survey name is ' ' but must be text that is not blank"),
        ('name = "severe"', "name = 5", "name is 5: Input should be a valid string"),
        ('name = "severe"', 'name = ""', "names is empty but must be text that is not blank"),
        ('"ln 4"', "0", "level 'severe', epsilon: epsilon is 0 but must be a budget above 0"),
        ('"ln 4"', "-1.0", "epsilon is -1.0 but must be a budget above 0 and at most 50"),
        ('"ln 4"', "nan", "epsilon is nan"),
        ('"ln 4"', "inf", "epsilon is inf"),
        ('"ln 4"', "51", r"epsilon is 51 .* odds of more than 10\^21 to 1"),
        ('"ln 4"', '"lg 4"', "epsilon is 'lg 4'"),
        ('"ln 4"', "true", "epsilon is True"),
        ("item_count = 4", "item_count = 0", "items of level 'common' .* give their number as"),
        ("item_count = 4", "item_count = -4", "item_counts.* is -4.0 .* whole number from 1"),
        ("item_count = 4", "item_count = 1.5", "level 'common', item_count is 1.5"),
        ("item_count = 4", "", "items of level 'common' .* not empty"),
        ("item_count = 4", "items = []", "items of level 'common' .* not empty"),
        (
            '["HIV"]',
            '["HIV"]\nitem_count = 2',
            "item_count of level 'severe' is 2 but must be .* 1",
        ),
        ('["HIV"]', '["a", "a"]', "item of level 'severe' is 'a' .* in 'severe' already"),
        ("item_count = 4", 'items = ["HIV"]', "item of level 'common' is 'HIV' .* in 'severe'"),
        ('["HIV"]', "[1.5]", "items 1 is 1.5"),
        ('["HIV"]', "[true]", "items 1 is True"),
        ('["HIV"]', '[" "]', "item of level 'severe' is ' ' but must be text that is not blank"),
        ('"HIV"', '"a", "b"]\nitem_counts = [1', "item_counts is not .*did you mean 'item_count'"),
        ('name = "common"', 'name = "severe"', "names is 'severe' but must be different"),
        ('rule = "min"', 'rule = "max"', 'rule is \'max\' but must be "min", "avg" or a matrix'),
        ('rule = "min"', "rule = 3", 'rule is 3 but must be "min", "avg" or a matrix'),
        ('rule = "min"', 'rule = [["a"]]', 'rule is .* but must be "min", "avg" or a matrix'),
        ('rule = "min"', "rule = [[1.0]]", r"rule is \(1, 1\) but must be a 2 x 2 matrix"),
        (
            'rule = "min"',
            "rule = [[1, 2], [3, 1]]",
            r"rule\[0\]\[1\] is 2.0 .* equal to rule\[1\]\[0\]",
        ),
        (
            'rule = "min"',
            "rule = [[1, -2], [-2, 1]]",
            r"rule\[0\]\[1\] is -2.0 but must be a budget above 0",
        ),
        ('rule = "min"', "rule = [[1, nan], [nan, 1]]", r"rule\[0\]\[1\] is nan"),
        ('rule = "min"', "rule = [[1, inf], [inf, inf]]", r"rule\[1\] is 'inf everywhere'"),
        ('rule = "min"', "rule = [[1, 2], [1]]", "rule is .* rectangular"),
        ('"categorical"', '"numerical"', "kind is 'numerical' but must be one of categorical"),
        ("[[question.level]]", "[question.level]", "is not valid TOML|a list is needed"),
    ],
)
def test_mistakes_are_named_with_their_place(old, new, message):
    with pytest.raises(FileError, match=message) as caught:
        survey_from_text(_with(old, new), source="my.toml")
    assert str(caught.value).startswith("my.toml: ")
    assert "\n" not in str(caught.value)
    assert "_Table" not in str(caught.value)  # no name of ours that a reader cannot know


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "survey is missing"),
        ("survey = 3\nquestion = []", "survey is 3: a table of keys and values is needed"),
        ('[survey]\nname = "x"\nusers = 1', "question is missing"),
        ('question = []\n[survey]\nname = "x"\nusers = 1', "question is .* at least 1 item"),
        ('question = [3]\n[survey]\nname = "x"\nusers = 1', "question 1 is 3: a table"),
        ('[survey]\nname = "x"\nusers = 1\n[question]\nname = "q"', r"\[\[double brackets\]\]"),
    ],
)
def test_files_that_are_no_survey(text, message):
    with pytest.raises(FileError, match=message):
        survey_from_text(text)


def test_question_names_differ():
    part = GOOD[GOOD.index("[[question]]") :]
    with pytest.raises(FileError, match="question name is 'diagnosis' but must be different"):
        survey_from_text(GOOD + part)


def test_unreadable_files(tmp_path):
    with pytest.raises(FileError, match=r"none.toml: cannot be read: No such file or directory"):
        load_survey(tmp_path / "none.toml")
    with pytest.raises(FileError, match="cannot be read: Is a directory"):
        load_survey(tmp_path)
    latin = tmp_path / "latin.toml"
    latin.write_bytes('[survey]\nname = "é"'.encode("latin-1"))
    with pytest.raises(FileError, match=r"is not text in UTF-8. Save it as UTF-8."):
        load_survey(latin)
    large = tmp_path / "large.toml"
    with large.open("wb") as file:
        file.truncate(16 * 2**20 + 1)
    with pytest.raises(FileError, match="larger than 16 MiB"):
        load_survey(large)


PILOT = GOOD.replace('"categorical"', '"item-set"').replace(
    "[[question.level]]", "[question.sets]\n{}\n[[question.level]]", 1
)


@pytest.mark.parametrize("lines", ["", 'sizes = [0, 1]\npilot = "a.dat"'])
def test_sets_are_known_in_one_of_two_ways(lines):
    with pytest.raises(FileError, match=r"sets \(sizes, pilot\) is .* must be one of the two"):
        survey_from_text(PILOT.replace("{}", lines))


NUMBER = """[survey]
name = "bills"
users = 1000
[[question]]
name = "bill"
kind = "numeric"
lower = 0
upper = 9
[question.preferences]
model = "sample"
"""


@pytest.mark.parametrize("lines", ["", 'file = "pilot.csv"\nvalues = [1.0]'])
def test_a_sample_is_given_in_one_of_two_ways(lines):
    with pytest.raises(FileError, match=r'needs one of "file" and "values", not both'):
        survey_from_text(NUMBER + lines)


def test_places_of_mistakes_in_numeric_questions():
    with pytest.raises(FileError, match=r"question 'bill', preferences, values 2 is 'x'"):
        survey_from_text(NUMBER + 'values = [1.0, "x"]')
    with pytest.raises(FileError, match=r"preferences, vals is not .*did you mean 'values'"):
        survey_from_text(NUMBER + "vals = [1.0]")
    with pytest.raises(FileError, match=r"question 'bill', target 1, erorr .*did you mean 'error'"):
        survey_from_text(NUMBER + "values = [1.0]\n[[question.target]]\nerorr = 0.1")
