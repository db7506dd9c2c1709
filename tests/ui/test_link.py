"""A document survives the address whatever was typed; no address breaks the app."""

import base64
import json
import zlib

import pytest

from planner.ui.address import MOST_IN_ADDRESS, documents_of_word, word_of
from planner.ui.document import (
    EXAMPLES,
    KIND_WORDS,
    example_document,
)
from tests.refusals import refused
from tests.ui.pages import by_label, open_page, session, words

TYPED = {
    "survey": {"name": " ", "users": "many", "design": "some-each", "asked": ""}
    | {"groups": {"region": ["north", "file"]}, "weights": {"north": 2, "file": 0.5}},
    "question": [
        {
            "name": "\ud800 Fieber",
            "level": [{"name": "a", "epsilon": "1,5", "items": '"a; b"; 熱'}, {}],
            "rule": [["", "inf"], ["inf", "x"]],
            "target": [{"error": "2 %"}],
            "sets": {"sizes": [0, 0.5, 0.5], "popularity": "zipf"},
        },
        {
            "name": "n",
            "kind": "numeric",
            "yes_no": True,
            "preferences": {"model": "normal"},
        },
        {"name": "again", "rounds": {"count": "12", "changes": 1, "times_open": True}},
        {"name": "free", "label": {"values": "worth", "rule": "rod"}, "rule": "min"},
    ],
}


def packed(*documents):
    return base64.urlsafe_b64encode(
        zlib.compress(json.dumps(documents).encode())
    ).decode()


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_survive_the_address_and_fit_it_ten_times_over(name):
    document = example_document(name)
    assert documents_of_word(word_of(document)) == [document]
    assert len(word_of(document)) < MOST_IN_ADDRESS / 10


def test_mistakes_and_other_scripts_survive_the_address():
    assert documents_of_word(word_of(TYPED, TYPED)) == [TYPED, TYPED]


def test_what_people_answered_and_paths_of_the_server_never_travel():
    sets = {"pilot": "/etc/passwd"}
    sample = {"model": "sample", "values": [1.5, 2.5], "file": "/etc/passwd"}
    hostile = {
        "survey": {"name": "s", "users": 5, "ledger": "/etc/passwd"},
        "question": [{"name": "q", "sets": sets}, {"name": "n", "preferences": sample}],
    }
    for (document,) in map(documents_of_word, (word_of(hostile), packed(hostile))):
        assert document["survey"] == {"name": "s", "users": 5}
        assert document["question"][0]["sets"] == {}
        assert document["question"][1]["preferences"] == {"model": "sample"}


def spoilt(change):
    text = json.dumps(TYPED)
    document = json.loads(text)
    change(document)
    return packed(document)


WRONG = {
    "nothing": "",
    "cut short": word_of(TYPED)[:-3],
    "no base64": "*",
    "no zip": "abcd",
    "no JSON": base64.urlsafe_b64encode(zlib.compress(b"{")).decode(),
    "deep": base64.urlsafe_b64encode(zlib.compress(b"[" * 100_000)).decode(),
    "a bomb": base64.urlsafe_b64encode(zlib.compress(b" " * 10**7, 9)).decode(),
    "a list": packed([]),
    "no document": packed(),
    "too many": packed(*[TYPED] * 51),
    "no question": spoilt(lambda d: d.update(question=[])),
    "no survey": spoilt(lambda d: d.pop("survey")),
    "lists in lists": spoilt(lambda d: d["question"][0].update(columns=[["x"]])),
    "a matrix of lists": spoilt(
        lambda d: d["question"][0].update(rule=[[["x"], ""], ["", ""]])
    ),
    "too many questions": spoilt(lambda d: d.update(question=[{}] * 201)),
    "too many rows": spoilt(lambda d: d["question"][1].update(target=[{}] * 10_001)),
    "a question of text": spoilt(lambda d: d.update(question=["x"])),
    "a table for a cell": spoilt(lambda d: d["survey"].update(name={})),
    "a large number": spoilt(lambda d: d["survey"].update(users=10**400)),
    "no number": spoilt(lambda d: d["survey"].update(users=float("nan"))),
    "rows of numbers": spoilt(lambda d: d["question"][0].update(level=[3])),
    "text for a table": spoilt(lambda d: d["question"][1].update(preferences="x")),
}


@pytest.mark.parametrize("word", WRONG.values(), ids=WRONG)
def test_a_damaged_address_is_refused(word):
    with refused():
        documents_of_word(word)


def test_an_address_that_cannot_be_read_is_said_and_the_app_still_starts():
    app = open_page("questions", survey="cut")
    assert "address cannot be read" in words(app)
    assert by_label(app.text_input, "Survey").value == "health survey"


ODD = [
    {"kind": "x", "criterion": 3},
    {"preferences": {"model": "x"}, "target": [{}]},
    {"preferences": {"model": 3, "mean": True}, "sampling": {"relies_on": "x"}},
]


@pytest.mark.parametrize("kind", KIND_WORDS)
def test_odd_cells_in_an_address_break_no_page(kind):
    document = example_document("health")
    opened = {"options-categorical": True, f"options-{kind}": True}
    for odd in ODD:
        document["survey"]["name"] = "mine"
        document["question"][0] = (
            example_document("health")["question"][0] | {"kind": kind} | odd
        )
        app = open_page("questions", survey=word_of(document), **opened)
        assert by_label(app.text_input, "Survey").value == "mine"


def test_saving_copies_the_address_or_downloads_the_file():
    document = example_document("health")
    app = open_page("questions", survey=word_of(document), save=True)
    assert "The address of this page is the survey" in words(app)
    assert [button.label for button in app.button if button.key == "copy"] == [
        "Copy the address"
    ]
    document["question"][0]["level"][0]["items"] = [
        str(hash((k, "x"))) for k in range(2000)
    ]
    app = open_page("questions", survey=word_of(document), save=True)
    assert "Too large for an address: download the file" in words(app)
    (download, *_) = app.get("download_button")
    assert not download.proto.disabled
    document["question"][0]["level"][0]["epsilon"] = "?"
    (download, *_) = open_page(survey=word_of(document), save=True).get(
        "download_button"
    )
    assert download.proto.disabled


def test_the_browser_brings_back_what_undo_goes_to_and_the_last_survey():
    before, now, other = (example_document("health") for _ in range(3))
    before["survey"]["users"] = "7,000"
    other["survey"]["name"] = "other"
    app = open_page()
    session(app).recall(word_of(before, other), "cut")  # of another survey, and damaged
    assert session(app).past == []
    assert session(app).last is None
    session(app).recall(word_of(before, now), word_of(other))
    app.run()
    by_label(app.button, "Undo").click().run()
    assert by_label(app.text_input, "People asked").value == "7,000"
    by_label(app.button, "Last survey").click().run()
    assert by_label(app.text_input, "Survey").value == "other"
    assert "Last survey" not in [button.label for button in app.button]
    assert documents_of_word(session(app).steps())[-1] == other
