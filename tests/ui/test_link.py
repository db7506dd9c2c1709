"""A draft survives the address whatever was typed; no address breaks the app."""

import base64
import json
import zlib

import pytest
from streamlit.testing.v1 import AppTest

from planner.errors import InputError
from planner.survey.set_model import PilotFile
from planner.ui.draft.categorical import CategoricalDraft, PairChoice
from planner.ui.draft.link import draft_of_word, word_of_draft
from planner.ui.draft.numeric import NumericDraft
from planner.ui.draft.survey import SurveyDraft
from planner.ui.parts.keeping import MOST_IN_ADDRESS
from planner.ui.state import EXAMPLES, example_survey
from tests.ui.pages import APP, TIMEOUT, by_label, metric, words
from tests.ui.test_draft import SURVEYS, row


def packed(document):
    return base64.urlsafe_b64encode(zlib.compress(json.dumps(document).encode())).decode()


def document_of(draft):
    word = word_of_draft(draft)
    return json.loads(zlib.decompress(base64.urlsafe_b64decode(word + "=" * (-len(word) % 4))))


@pytest.mark.parametrize("name", [name for name in SURVEYS if name != "numeric"])
def test_every_survey_survives_the_address(name):
    draft = SurveyDraft.of(SURVEYS[name])
    assert draft_of_word(word_of_draft(draft)) == draft


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_fit_into_an_address_ten_times_over(name):
    assert len(word_of_draft(SurveyDraft.of(example_survey(name)))) < MOST_IN_ADDRESS / 10


def test_mistakes_and_other_scripts_survive_the_address():
    rows = [row(level="\ud800 Fieber", epsilon="1,5", items='"a; b"; 熱')]
    typed = CategoricalDraft("q", rows, "pairs", included=False, mechanism="grr")
    typed.pairs = {
        frozenset(("a", "b")): PairChoice(False, "x"),
        frozenset("a"): PairChoice(True, "1"),
    }
    draft = SurveyDraft(" ", "many", [typed, NumericDraft("n")])
    assert draft_of_word(word_of_draft(draft)) == draft


def test_what_people_answered_and_paths_of_the_server_never_travel():
    draft = SurveyDraft("s", "5", [NumericDraft("n", sample=(1.5, 2.5)), CategoricalDraft("q")])
    draft.questions[1].sets.pilot = PilotFile("/etc/passwd")
    found = draft_of_word(word_of_draft(draft))
    assert found.questions[0].sample == ()
    assert found.questions[1].sets.pilot is None
    document = document_of(draft)
    document["questions"][0]["sample"] = [1.5]
    document["questions"][1]["sets"]["pilot"] = {"path": "/etc/passwd"}
    assert draft_of_word(packed(document)) == found


def spoilt(change):
    document = document_of(
        SurveyDraft("s", "5", [CategoricalDraft("q", [row()]), NumericDraft("n")])
    )
    change(document)
    return packed(document)


WRONG = {
    "nothing": "",
    "cut short": word_of_draft(SurveyDraft("s", "5", []))[:-3],
    "no base64": "*",
    "no zip": "abcd",
    "no JSON": base64.urlsafe_b64encode(zlib.compress(b"{")).decode(),
    "deep": base64.urlsafe_b64encode(zlib.compress(b"[" * 100_000)).decode(),
    "a bomb": base64.urlsafe_b64encode(zlib.compress(b" " * 10**8, 9)).decode(),
    "a list": packed([]),
    "no text": spoilt(lambda d: d.update(name=3)),
    "unknown design": spoilt(lambda d: d.update(design="x")),
    "unknown kind": spoilt(lambda d: d["questions"][0].update(kind="x")),
    "unknown rule": spoilt(lambda d: d["questions"][0].update(rule="x")),
    "unknown model": spoilt(lambda d: d["questions"][1].update(model="x")),
    "three of a pair": spoilt(lambda d: d["questions"][0].update(pairs=[["abc", True, ""]])),
    "rows of numbers": spoilt(lambda d: d["questions"][0].update(rows=[{"level": 3}])),
}


@pytest.mark.parametrize("word", WRONG.values(), ids=WRONG)
def test_a_damaged_address_is_refused(word):
    with pytest.raises(InputError, match="address cannot be read"):
        draft_of_word(word)


def test_the_app_goes_on_with_the_survey_of_its_address():
    draft = SurveyDraft.of(example_survey("health"))
    draft.name = "mine"
    app = AppTest.from_file(str(APP), default_timeout=TIMEOUT)
    app.query_params["survey"] = word_of_draft(draft)
    app.run()
    assert not app.exception
    assert by_label(app.text_input, "Survey").value == "mine"
    assert metric(app, "Total error") == "622 people"


def test_an_address_that_cannot_be_read_is_said_and_the_app_still_starts():
    app = AppTest.from_file(str(APP), default_timeout=TIMEOUT)
    app.query_params["survey"] = "cut"
    app.run()
    assert not app.exception
    assert "address cannot be read" in words(app)
    assert by_label(app.text_input, "Survey").value == "clinic"


def test_a_survey_too_large_for_an_address_says_so_and_offers_its_file():
    draft = SurveyDraft.of(example_survey("health"))
    items = "; ".join(str(hash((k, "item"))) for k in range(2000))
    draft.questions[0].rows[0] |= {"items": items, "count": ""}
    app = AppTest.from_file(str(APP), default_timeout=TIMEOUT)
    app.query_params["survey"] = word_of_draft(draft)
    app.run()
    assert not app.exception
    assert "too large for an address" in words(app)
    labels = [button.proto.label for button in app.get("download_button")]
    assert labels == ["Download the survey (TOML)"]
