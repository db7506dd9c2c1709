"""The other pages, run without a browser: edits, wrong input, and what must be shown."""

from dataclasses import replace

import pytest

from planner.deployment.parameter_file.building import deployable_files
from planner.deployment.parameter_file.parameters import parse_parameters
from planner.planning.answer_rates import plan_answer_rates
from planner.planning.ledger import Collection, Ledger
from planner.planning.whole_survey.plan import plan_survey
from planner.show.html import report_html
from planner.survey import Level, Question, Survey
from planner.survey.file import survey_from_text
from planner.survey.set_model import AssumedSets
from planner.survey.target import Target
from planner.survey.writer import survey_to_text
from planner.ui.draft.numeric import NumericDraft
from planner.ui.draft.survey import SurveyDraft
from planner.ui.state import Session, example_survey
from tests.ui.pages import (
    LEVELS,
    by_label,
    edit,
    metric,
    open_page,
    session,
    tables,
    words,
)


def test_answer_rates_give_the_known_best_budget():
    app = open_page("answer-rates")
    by_label(app.text_input, "Smallest answer").set_value("-1").run()
    by_label(app.text_input, "Largest answer").set_value("1").run()
    by_label(app.text_input, "Expected mean").set_value("0.5").run()
    assert not app.exception
    assert metric(app, "Best epsilon") == "3.157"
    by_label(app.text_input, "Largest answer").set_value("-2").run()
    assert "lower is -1.0 but must be below upper" in words(app)
    by_label(app.text_input, "Largest answer").set_value("1").run()
    choose = by_label(app.selectbox, "The largest epsilon that people accept is")
    choose.set_value("histogram").run()
    assert metric(app, "Best epsilon")
    by_label(app.selectbox, choose.label).set_value("normal").run()
    assert metric(app, "Best epsilon") == "3.157"


def test_answer_rate_of_the_bundled_example_is_that_of_the_command_line():
    app = open_page("answer-rates")
    survey = example_survey("answer-rate")
    app.session_state["session"] = Session(SurveyDraft.of(survey), revision=1)
    app.run()
    plan = plan_answer_rates(survey)["bill"]
    assert metric(app, "Best epsilon") == f"{plan.best.epsilon:.3f}"


def test_sampling_always_shows_all_three_views():
    app = open_page("sampling")
    assert any("INFINITE" in one.value for one in app.error)
    assert len(app.info) == 2
    edit(app, "s-values-1-0", {0: {"epsilon": "-2"}})
    assert "Row 1 (rare): epsilon is '-2'" in words(app)
    assert any("INFINITE" in one.value for one in app.error)
    by_label(app.text_input, "Sampled at most").set_value("1,2").run()
    assert "largest sampling probability is '1,2'" in words(app)


def test_sampling_is_exported_only_when_somebody_vouches_for_it():
    app = open_page("sampling")
    by_label(app.toggle, "Part of the survey").set_value(True).run()
    built = session(app).build()
    with pytest.raises(ValueError, match="acknowledged"):
        deployable_files(plan_survey(built.survey))
    app.checkbox[0].set_value(True).run()
    built = session(app).build()
    files = deployable_files(plan_survey(built.survey))
    kinds = [question.kind for question in files["parameters"].questions]
    assert kinds == ["categorical", "sampled-choice"]


def test_opening_files_and_having_back_what_was_there(budgets):
    toml = survey_to_text(example_survey("browsing")).encode()
    budgets.file_uploader[0].set_value(("b.toml", toml, "")).run()
    assert by_label(budgets.text_input, "Survey").value == "browsing"
    budgets.file_uploader[0].set_value(("broken.toml", b"[survey", "")).run()
    assert "broken.toml" in words(budgets)
    assert by_label(budgets.text_input, "Survey").value == "browsing"
    assert "Nothing was opened" in words(budgets)
    assert not budgets.metric  # results below a refusal would be taken for those of the file
    by_label(budgets.button, "Show its results").click().run()
    assert budgets.metric
    items = b"item,level,epsilon\nflu,usual,2\n"
    budgets.file_uploader[0].set_value(("items.csv", items, "text/csv")).run()
    assert "broken.toml" not in words(budgets)
    assert [row["items"] for row in session(budgets).draft.questions[0].rows] == ["flu"]
    by_label(budgets.button, "Undo: opening items.csv").click().run()
    by_label(budgets.button, "Undo: opening b.toml").click().run()
    assert by_label(budgets.text_input, "Survey").value == "health survey"


def test_a_list_of_items_makes_a_question_where_there_is_none():
    app = open_page("budgets")
    by_label(app.selectbox, "Example").set_value("answer-rate").run()
    assert "no categorical question" in words(app)
    app.file_uploader[0].set_value(("i.csv", b"item,epsilon\nflu,2\n", "text/csv")).run()
    assert session(app).draft.questions[-1].rows[0]["items"] == "flu"


def test_survey_adds_shares_and_removes_with_undo():
    app = open_page("survey")
    by_label(app.button, "Add a number").click().run()
    by_label(app.button, "Add a choice").click().run()
    assert not app.exception
    assert "Recommended: one question each" in words(app)
    names = [draft.name for draft in session(app).draft.questions]
    assert names == ["diagnosis", "question 1", "question 2"]
    by_label(app.text_input, "Weight").set_value("0").run()
    assert "weight of the question is '0'" in words(app)
    by_label(app.text_input, "Weight").set_value("2").run()
    by_label(app.button, "Remove").click().run()
    assert [draft.name for draft in session(app).draft.questions] == names[1:]
    by_label(app.button, "Undo: removing 'diagnosis'").click().run()
    assert [draft.name for draft in session(app).draft.questions] == names


LEDGER = Ledger().after(
    Collection(survey="spring", day="2026-03-01", rule="min", spent={"severe": 0.4})
)


def test_a_ledger_lowers_the_budgets_until_it_is_forgotten():
    app = open_page("survey")
    spent = tables(app)[-1]["spent here"]
    file = ("ledger.json", LEDGER.model_dump_json().encode(), "application/json")
    app.file_uploader[0].set_value(file).run()
    assert tables(app)[0] == {"level": ["severe"], "spent so far": ["0.4"]}
    assert tables(app)[-1]["spent here"] != spent
    by_label(app.button, "Forget the ledger").click().run()
    assert tables(app)[-1]["spent here"] == spent
    app.run()
    assert session(app).ledger is None


def test_a_file_that_is_no_ledger_gets_a_sentence():
    app = open_page("survey")
    app.file_uploader[0].set_value(("ledger.json", b"{}x", "application/json")).run()
    assert "ledger.json: is not a ledger" in words(app)


def test_a_survey_that_no_ledger_can_take_is_exported_without_one():
    app = open_page("survey")
    by_label(app.button, "Add a choice").click().run()
    session(app).draft.questions[1].rule = "avg"
    exported = open_page("export", app)
    exported.checkbox[0].set_value(True).run()
    assert not exported.exception
    assert "One ledger keeps one pair rule" in words(exported)
    labels = [button.proto.label for button in exported.get("download_button")]
    assert "Parameters (JSON)" in labels
    assert "Report (HTML)" in labels
    assert "Ledger (JSON)" not in labels


def test_an_uploaded_sample_belongs_to_one_question():
    app = open_page("answer-rates")
    session(app).draft.questions.append(NumericDraft("another number", model="sample"))
    choose = "The largest epsilon that people accept is"
    app.run()
    by_label(app.selectbox, choose).set_value("sample").run()
    app.file_uploader[0].set_value(("pilot.csv", b"epsilon\n1\n2\n3\n", "text/csv")).run()
    first, second = (one for one in session(app).draft.questions if isinstance(one, NumericDraft))
    assert first.sample == (1.0, 2.0, 3.0)
    app.file_uploader[0].set_value(("bad.csv", b"epsilon\nx\n", "text/csv")).run()
    assert first.sample == ()
    assert not app.metric
    by_label(app.selectbox, "Which question").set_value(1).run()
    assert second.sample == ()


def test_two_questions_that_are_alike_stay_two():
    app = open_page("answer-rates")
    session(app).draft.questions += [NumericDraft("twin"), NumericDraft("twin")]
    app.run()
    by_label(app.selectbox, "Which question").set_value(2).run()
    by_label(app.text_input, "Largest answer").set_value("7").run()
    uppers = [one.upper for one in session(app).draft.questions if isinstance(one, NumericDraft)]
    assert uppers == ["100", "100", "7"]


def test_export_waits_until_everything_is_right(budgets):
    edit(budgets, LEVELS, {0: {"epsilon": "?"}})
    app = open_page("export", budgets)
    assert "exported whole or not at all" in words(app)
    assert not any("Verified" in one.value for one in app.subheader)


def test_export_shows_the_proof_and_its_files_are_right(budgets):
    app = open_page("export", budgets)
    assert any("every pair keeps its promised budget" in one.value for one in app.success)
    assert "4.00-fold" in words(app)
    app.checkbox[0].set_value(True).run()
    assert not app.exception
    survey = session(app).build().survey
    assert survey_from_text(survey_to_text(survey)) == survey
    for name in ("opt0", "grr", "subset", "olh", "oue"):
        question = replace(survey.questions[0], mechanism=name)
        made = deployable_files(plan_survey(replace(survey, questions=(question,))))["parameters"]
        assert parse_parameters(made.to_json()).hash == made.hash


def test_who_agreed_to_one_file_has_not_agreed_to_another(budgets):
    app = open_page("export", budgets)
    app.checkbox[0].set_value(True).run()
    assert app.get("download_button")
    by_label(app.selectbox, "Mechanism for 'diagnosis'").set_value("grr").run()
    assert not app.get("download_button")


def test_the_mechanism_chosen_on_export_is_the_one_that_all_pages_describe(budgets):
    app = open_page("export", budgets)
    assert "622.1 people" in words(app)
    by_label(app.selectbox, "Mechanism for 'diagnosis'").set_value("grr").run()
    assert not app.exception
    assert "699.2 people" in words(app)  # what it costs
    app.checkbox[0].set_value(True).run()
    assert 'mechanism = "grr"' in app.code[0].value
    meaning = words(open_page("meaning", app))
    assert "A report names one answer" in meaning
    assert "50 name it; of 100 with another answer, 13 do" in meaning
    shown = open_page("budgets", app)
    assert metric(shown, "Total error") == "699 people"
    assert metric(shown, "Gap to the best") == "not proven"
    assert "Mechanism: GRR" in words(shown)
    survey = session(shown).build().survey
    assert "A report names one answer" in report_html(plan_survey(survey))
    sets = "A person may have several of these answers, or none"
    by_label(shown.toggle, sets).set_value(True).run()
    assert "mechanism of question 'diagnosis' is 'grr'" in words(shown)  # which sets cannot have


def test_a_bias_that_no_number_of_people_lowers_is_said_on_the_page_survey():
    levels = (Level("a", 2.0, item_count=3),)
    sets = AssumedSets([0, 0, 0, 1])
    target = (Target(error=0.001),)
    question = Question("q", levels, kind="item-set", sets=sets, padding_length=1, targets=target)
    app = open_page("survey")
    draft = SurveyDraft.of(Survey("s", 1000, (question,)))
    app.session_state["session"] = Session(draft, revision=1)
    app.run()
    assert not app.exception, app.exception
    assert tables(app)[0]["people needed"] == ["no number is enough"]


def test_the_snippet_runs_and_prints_the_plan(budgets, capsys):
    app = open_page("export", budgets)
    app.checkbox[0].set_value(True).run()
    exec(compile(app.code[0].value, "snippet", "exec"), {})  # noqa: S102 - our own text
    printed = capsys.readouterr().out
    assert "severe" in printed
    assert "0.524865" in printed


def test_one_question_each_gives_one_file_a_question():
    survey = example_survey("health")
    app = open_page("survey")
    by_label(app.button, "Add a choice").click().run()
    by_label(app.radio, "Who answers what").set_value("one-each").run()
    built = session(app).build()
    files = deployable_files(plan_survey(built.survey))
    assert [one.questions[0].name for one in files.values()] == ["diagnosis", "question 1"]
    assert sum(one.users for one in files.values()) == survey.users
    exported = open_page("export", app)
    assert len(exported.success) == 2


def test_the_words_of_the_app_are_those_of_the_documents(pytestconfig):
    glossary = pytestconfig.rootpath / "planner" / "ui" / "glossary.md"
    assert open_page("words").markdown[1].value == glossary.read_text().strip()
    page = (pytestconfig.rootpath / "docs" / "architecture.md").read_text()
    assert '--8<-- "planner/ui/glossary.md"' in page
    rows = glossary.read_text().splitlines()[2:]
    terms = [term.strip() for row in rows for term in row.split("|")[1].split(",")]
    assert len(set(terms)) == len(terms)  # one meaning each
