import json

import pytest

from planner.errors import FileError, InputError
from planner.planning.sampled import ACKNOWLEDGEMENTS
from planner.survey.file import load_survey, survey_from_text
from tests.cli.running import shown
from tests.surveys import EXAMPLES

EXAMPLE = EXAMPLES / "sampled-ages.toml"
TEXT = EXAMPLE.read_text(encoding="utf-8")


def test_page_shows_all_three_views_in_80_columns():
    page = shown("sampling", EXAMPLE)
    assert max(map(len, page.splitlines())) <= 80
    words = " ".join(page.replace("│", " ").split())
    for text in ("INFINITE", "no protection", "Round two alone", "Only totals", "not be written"):
        assert text in words
    for item in ("(none)", "under 40", "60 and over"):
        assert item in words


def test_json_has_no_parameters_until_acknowledged(tmp_path):
    before = json.loads(shown("sampling", EXAMPLE, "--json"))["age at diagnosis"]
    assert before["parameters"] is None
    assert "INFINITE" in before["views"]["linkable"]
    needed = before["acknowledgement_needed"]
    assert needed == ACKNOWLEDGEMENTS["aggregates-only"]
    file = tmp_path / "survey.toml"
    file.write_text(TEXT.replace("# acknowledged", "acknowledged"), encoding="utf-8")
    after = json.loads(shown("sampling", file, "--json"))["age at diagnosis"]
    assert after["parameters"]["guarantee"]["acknowledged"] == needed
    assert "acknowledged:" in shown("sampling", file)


def test_other_questions_of_the_survey_are_left_to_other_commands(tmp_path):
    file = tmp_path / "survey.toml"
    other = (EXAMPLES / "health.toml").read_text().partition("[[question]]")[2]
    file.write_text(f"{TEXT}\n[[question]]{other}", encoding="utf-8")
    page = shown("sampling", file)
    assert "age at diagnosis: 10,000 people, asked twice" in page
    assert page.count("asked twice") == 1
    assert "severe" not in page


def test_nobody_stays_at_none_where_everyone_has_a_value(tmp_path):
    file = tmp_path / "survey.toml"
    text = TEXT.replace("floor = 0.1", "everyone_has_value = true")
    text = text.replace("yes_counts = [37]", "yes_counts = [9751]")
    file.write_text(text, encoding="utf-8")
    assert "(none)" not in shown("sampling", file)
    assert "(none)" in shown("sampling", EXAMPLE)


def test_settings_reach_the_plan():
    question = load_survey(EXAMPLE).questions[0]
    assert question.sampling.floor == 0.1
    assert [level.yes_counts for level in question.levels] == [(37,), (90, 96, 63)]


@pytest.mark.parametrize(
    ("old", "new", "error", "match"),
    [
        ("yes_counts = [37]", "yes_counts = [37, 2]", FileError, "one count per item"),
        ("yes_counts = [37]", "", FileError, "one count per item"),
        ('kind = "sampled-choice"', "", FileError, "left out"),
        ("[question.sampling]", "[question.simpling]", FileError, "did you mean 'sampling'"),
        ("cap = 0.45", "kap = 0.45", FileError, "did you mean 'cap'"),
        ('kind = "sampled-choice"', 'kind = "sampled-choice"\nrule = "avg"', FileError, "rule"),
        ("yes_counts = [37]", "yes_counts = [37.5]", FileError, "yes_counts"),
        ("cap = 0.45", "cap = 1.5", InputError, "cap"),
        ("yes_counts = [37]", "yes_counts = [99999]", InputError, "population"),
        ('"aggregates-only"', '"linkable"', InputError, "infinite"),
        ("# acknowledged = ", "acknowledged = 'yes' # ", InputError, "word for word"),
    ],
)
def test_mistakes_are_named(tmp_path, old, new, error, match):
    assert old in TEXT
    file = tmp_path / "survey.toml"
    file.write_text(TEXT.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(error, match=match):
        shown("sampling", file)


def test_the_plan_of_the_survey_shows_the_same():
    assert shown("sampling", EXAMPLE).strip() in shown("plan", EXAMPLE)
    document = json.loads(shown("plan", EXAMPLE, "--json"))
    (question,) = document["questions"]
    alone = json.loads(shown("sampling", EXAMPLE, "--json"))
    assert question["sampling"] == alone["age at diagnosis"]
    assert document["parameters"] is None  # nobody vouches for what it relies on


def test_a_survey_without_such_a_question_is_refused():
    from planner.planning.sampled import plan_sampling_survey

    survey = survey_from_text(
        """
        [survey]
        name = "other"
        users = 10
        [[question]]
        name = "q"
        [[question.level]]
        name = "l"
        epsilon = 1
        item_count = 3
        """
    )
    with pytest.raises(InputError, match="sampled-choice"):
        plan_sampling_survey(survey)
