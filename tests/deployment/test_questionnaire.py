"""What a page that people answer is made of, and why none is made."""

import json
import re
from base64 import b64decode, b64encode
from hashlib import sha256

import pytest

from planner import (
    Level,
    NumericDomain,
    PlannerError,
    Survey,
    bisample_md,
    randomized_response,
)
from planner.deployment.parameters import parameters_from_mechanisms
from planner.deployment.questionnaire import questionnaire
from planner.survey.choices import Categorical
from planner.survey.numeric import Numeric
from tests.cli.running import invoke, shown
from tests.refusals import refused

RED = {"red": "Rouge </script>"}
CHOICE = Categorical("colour", (Level("all", 1.0, ("red", "green")),), label=RED)
NUMBER = Numeric("age", 0, 10, epsilon=1.0)
SURVEY = Survey("s", 1000, (CHOICE, NUMBER), title="A <title>")
TEN = bisample_md(1.0, NumericDomain(0, 10))
MECHANISMS = {"colour": randomized_response(1.0, items=2), "age": TEN}
FILE = parameters_from_mechanisms(SURVEY, MECHANISMS).to_json().encode()


def test_it_holds_the_file_byte_for_byte_and_runs_its_own_script_alone():
    page = questionnaire(SURVEY, FILE, "https://example.org/reports")
    inside = re.findall(r"<(script|style)([^>]*)>(.*?)</\1>", page, re.S)
    (_, _, style), (_, _, words), (_, _, parameters), (_, _, script) = inside
    assert b64decode(parameters) == FILE
    assert json.loads(words)["questions"]["colour"]["labels"] == [
        "Rouge </script>",
        "green",
    ]
    digests = []
    for text in (script, style):
        digests.append(b64encode(sha256(text.encode()).digest()).decode())
    policy = re.search('Content-Security-Policy" content="([^"]*)"', page)[1]
    assert policy == (
        f"default-src 'none'; script-src 'sha256-{digests[0]}'; style-src 'sha256-{digests[1]}'; "
        "img-src data:; connect-src https://example.org/reports; base-uri 'none'; "
        "form-action 'none'"
    )
    assert "<title>A &lt;title&gt;</title>" in page
    assert not re.search(r"https?://(?!example\.org/reports)", page.replace(script, ""))


def test_a_page_for_twenty_answers_has_at_most_200_kilobytes():
    level = Level("all", 1.0, [f"answer {k}" for k in range(20)])
    many = Categorical("q", (level,))
    survey = Survey("s", 1000, (many,))
    law = randomized_response(1.0, items=20)
    file = parameters_from_mechanisms(survey, {"q": law})
    assert len(questionnaire(survey, file.to_json().encode()).encode()) < 200_000


@pytest.mark.parametrize(
    ("survey", "options"),
    [
        (SURVEY, ("http://example.org/reports",)),
        (SURVEY, ("javascript:alert(1)",)),
        (SURVEY, ("//example.org",)),
        (SURVEY, ("https://example.org/; script-src *",)),
        (SURVEY, ("https://me:secret@example.org/",)),
        (SURVEY, ("", 2)),
        (Survey("s", 10, (NUMBER,)), ()),
        (SURVEY.replacing(questions=(CHOICE, Numeric("age", 0, 11, epsilon=1.0))), ()),
        (
            SURVEY.replacing(
                questions=(
                    Categorical("colour", (Level("all", 1.0, ("red", "blue")),)),
                    NUMBER,
                )
            ),
            (),
        ),
        (SURVEY.replacing(language="nowhere.toml"), ()),
    ],
)
def test_no_page_is_made_of_what_does_not_fit(survey, options):
    with refused(kind=PlannerError):
        questionnaire(survey, FILE, *options)


def test_more_answers_than_a_page_can_list_are_refused():
    level = Level("all", 1.0, item_count=5001)
    question = Categorical("q", (level,))
    survey = Survey("s", 10, (question,))
    file = parameters_from_mechanisms(
        survey, {"q": randomized_response(1.0, items=5001)}
    )
    with refused("answers", kind=PlannerError):
        questionnaire(survey, file.to_json().encode())


def test_its_own_words_are_of_the_surveys_language(tmp_path):
    german = questionnaire(SURVEY.replacing(language="de"), FILE)
    assert '<html lang="de">' in german
    assert "Das möchte ich nicht sagen" in german
    (tmp_path / "params.json").write_bytes(FILE)
    words = tmp_path / "fr.toml"
    survey = tmp_path / "s.toml"
    survey.write_text(
        '[survey]\nname = "s"\nusers = 10\nlanguage = "fr.toml"\n[[question]]\nname = "colour"\n'
        'level = [{ name = "all", epsilon = 1, items = ["red", "green"] }]\n[[question]]\n'
        'name = "age"\nkind = "numeric"\nlower = 0\nupper = 10\nepsilon = 1\n'
    )
    call = ["questionnaire", survey, "--parameters", tmp_path / "params.json"]
    call += ["--out", tmp_path / "page.html", "--force"]
    french = json.loads(re.search('id="told">(.*?)</script>', german)[1])["words"] | {
        "lang": "fr"
    }
    words.write_text(
        "".join(f"{key} = {json.dumps(text)}\n" for key, text in french.items())
    )
    assert "Questionnaire written to" in shown(*call)
    assert '<html lang="fr">' in (tmp_path / "page.html").read_text()
    words.write_text(
        words.read_text().replace("{lower}", "{less}").replace("send =", "sent_ =")
    )
    words.write_text(words.read_text().replace('lang = "fr"', 'lang = "French!"'))
    assert (
        "fr.toml: differs in lang, a tag such as fr or pt-BR, send, sent_, enter, range"
        in str(invoke(*call).exception)
    )
    assert not list(tmp_path.glob("*.tmp"))
