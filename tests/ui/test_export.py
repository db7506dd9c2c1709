"""The page Export: promises, proofs, and files that are right."""

import pytest

from planner.deployment.building import deployable_files
from planner.planning.ledger import Ledger
from planner.planning.plan import plan_survey
from planner.survey.file import settle, survey_text
from planner.ui.document import cleaned
from planner.ui.views.export import python_snippet
from tests.ui.pages import LEVELS, by_label, edit, open_page, session, words


def survey_of(app):
    return settle(cleaned(session(app).document))[0]


def downloads(app):
    return [button.proto.label for button in app.get("download_button")]


def test_export_waits_until_everything_is_right(questions):
    edit(questions, LEVELS, {0: {"epsilon": "?"}})
    app = open_page("export", questions)
    assert "exported whole or not at all" in words(app)
    assert not app.success


def test_who_agrees_to_a_proven_file_gets_it_and_no_other(questions, capsys):
    app = open_page("export", questions)
    assert any("every pair keeps its promised budget" in one.value for one in app.success)
    assert "4.00-fold" in words(app)
    assert not downloads(app)
    app.checkbox[0].set_value(True).run()
    assert not app.exception
    assert downloads(app)[0] == "Parameters (JSON)"
    assert downloads(app)[-1] == "Questionnaire (HTML)"
    snippet = python_snippet(survey_text(survey_of(app)), Ledger())
    exec(compile(snippet, "snippet", "exec"), {})  # noqa: S102 - our own text
    assert "Subset design  622.1" in capsys.readouterr().out.replace("   ", "  ")
    session(app).document["question"][0]["mechanism"] = "grr"
    app.run()
    assert not downloads(app)
    assert "699.2 people" in words(app)  # what it costs


def test_a_questionnaire_for_nowhere_is_said_to_be_none(questions):
    app = open_page("export", questions)
    app.checkbox[0].set_value(True).run()
    by_label(app.text_input, "Reports go to").set_value("http://example.org").run()
    assert "or a path of the page's own host" in words(app)
    assert "Questionnaire (HTML)" not in downloads(app)


def test_a_survey_that_no_ledger_can_take_is_exported_without_one(questions):
    by_label(questions.button, "Add a question").click().run()
    session(questions).document["question"][1]["rule"] = "avg"
    exported = open_page("export", questions)
    exported.checkbox[0].set_value(True).run()
    assert not exported.exception
    assert "One ledger keeps one pair rule" in words(exported)
    assert "Parameters (JSON)" in downloads(exported)
    assert "Report (HTML)" in downloads(exported)
    assert "Ledger (JSON)" not in downloads(exported)


def test_one_question_each_gives_one_file_a_question(questions):
    by_label(questions.button, "Add a question").click().run()
    session(questions).document["survey"]["design"] = "one-each"
    exported = open_page("export", questions)
    assert len(exported.success) == 2
    assert "Each person gets one question with its own file of parameters" in words(exported)
    assert "The chances: " in words(exported)
    files = deployable_files(plan_survey(survey_of(questions)))
    assert sum(one.users for one in files.values()) == survey_of(questions).users


def test_what_is_relied_on_follows_the_plan():
    app = open_page("export", example="sampled-ages")
    assert "aggregator" in words(app)
    assert "each person reports twice" in words(app)
    assert "Each person reports once" not in words(app)
    assert "twice" not in words(open_page("export"))


def test_sampling_is_exported_only_when_somebody_vouches_for_it():
    app = open_page("questions", example="sampled-ages")
    app.checkbox[0].set_value(False).run()
    with pytest.raises(ValueError, match="acknowledged"):
        deployable_files(plan_survey(survey_of(app)))
    exported = open_page("export", app)
    assert not exported.success
    assert "Tick \"I vouch for this\" at 'age at diagnosis'" in words(exported)
