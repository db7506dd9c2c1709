"""The page Export: promises, proofs, and files that are right."""

import pytest

from planner.deployment.parameters import survey_parameters
from planner.planning.plan import plan_survey
from planner.survey.survey import settle, survey_text
from planner.ui.document import cleaned
from planner.ui.views.export import python_snippet
from tests.ui.pages import (
    LEDGER,
    by_label,
    open_page,
    session,
    tables,
    type_levels,
    words,
)


def survey_of(app):
    return settle(cleaned(session(app).document))[0]


def downloads(app):
    return [
        button.proto.label.replace("\\", "") for button in app.get("download_button")
    ]


def test_export_waits_until_everything_is_right(questions):
    type_levels(questions, {0: {"epsilon": "?"}})
    app = open_page("export", questions)
    assert "exported whole or not at all" in words(app)
    assert not app.success


def test_who_agrees_to_a_proven_file_gets_it_and_no_other(
    questions, capsys, monkeypatch, tmp_path
):
    app = open_page("export", questions)
    assert any(
        "Every pair keeps its promised budget" in message.value
        for message in app.success
    )
    assert "4.00-fold" in words(app)
    assert not downloads(app)
    app.checkbox[0].set_value(True).run()
    assert not app.exception
    assert downloads(app) == [
        "Parameters (health-survey-parameters.json)",
        "Report (health-survey.html)",
        "Handout (health-survey-handout.html)",
        "Survey (health-survey.toml)",
        "Ledger (health-survey-ledger.json)",
        "Questionnaire (health-survey-questionnaire.html)",
    ]
    (snippet,) = app.code
    lines = snippet.value.splitlines()
    assert len(lines) == 3
    monkeypatch.chdir(tmp_path)
    text = survey_text(survey_of(app))
    (tmp_path / "health-survey.toml").write_text(text)
    exec(compile(snippet.value, "snippet", "exec"), {})  # noqa: S102 - our own text
    assert "622.1123" in capsys.readouterr().out
    (tmp_path / "ledger.json").write_text(LEDGER.model_dump_json())
    exec(compile(python_snippet("health-survey.toml", spent=True), "s", "exec"), {})  # noqa: S102
    assert "622.1123" not in capsys.readouterr().out
    session(app).document["question"][0]["mechanism"] = "grr"
    app.run()
    assert not downloads(app)
    assert "699 people" in words(app)  # what it costs


def test_a_questionnaire_for_nowhere_is_said_to_be_none(questions):
    app = open_page("export", questions)
    app.checkbox[0].set_value(True).run()
    by_label(app.text_input, "Reports go to").set_value("http://example.org").run()
    assert "or a path of the page's own host" in words(app)
    assert not [download for download in downloads(app) if "uestionnaire" in download]


def test_a_survey_that_no_ledger_can_take_is_exported_without_one(questions):
    by_label(questions.button, "Add a question").click().run()
    session(questions).document["question"][1]["rule"] = "avg"
    exported = open_page("export", questions)
    exported.checkbox[0].set_value(True).run()
    assert not exported.exception
    assert "One ledger keeps one pair rule" in words(exported)
    kinds = [download.split(" (")[0] for download in downloads(exported)]
    assert kinds == ["Parameters", "Report", "Handout", "Survey", "Questionnaire"]


def test_one_question_each_is_one_file_that_draws(questions):
    by_label(questions.button, "Add a question").click().run()
    session(questions).document["survey"]["design"] = "one-each"
    exported = open_page("export", questions)
    assert "Each person gets one question, drawn at random on their device" in words(
        exported
    )
    (given,) = tables(exported)
    assert given["file"] == ["health-survey-parameters.json"]
    assert given["asks"] == ["1 of diagnosis, question 1, drawn on each device"]


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
        survey_parameters(plan_survey(survey_of(app)))
    exported = open_page("export", app)
    assert not exported.success
    assert "Tick \"I vouch for this\" at 'age at diagnosis'" in words(exported)
