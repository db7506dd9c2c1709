"""Every page, run without a browser: edits, wrong input, and what must be shown."""

import gzip
import math
import time
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from planner import PrivacyPolicy, best_ordered_channel
from planner.deployment.parameter_file.parameters import parse_parameters
from planner.deployment.parameter_file.survey_plans import deployable_files
from planner.planning.answer_rate.plan import plan_answer_rates
from planner.planning.ledger import Collection, Ledger
from planner.planning.whole_survey.plan import plan_survey
from planner.show.report import report_html
from planner.survey import Level, Question, Survey
from planner.survey.file import survey_from_text
from planner.survey.set_model import AssumedSets
from planner.survey.target import Target
from planner.survey.writer import survey_to_text
from planner.ui.draft.numeric import NumericDraft
from planner.ui.draft.survey import SurveyDraft
from planner.ui.state import Session, example_survey
from tests.ui.pages import (
    APP,
    PAGES,
    TIMEOUT,
    by_label,
    edit,
    metric,
    open_page,
    session,
    tables,
    words,
)

LEVELS = "levels-0-0"


@pytest.fixture
def budgets():
    return open_page("budgets")


def test_the_app_starts_with_an_example_where_the_levels_matter():
    app = AppTest.from_file(str(APP), default_timeout=TIMEOUT).run()
    assert not app.exception
    assert app.title[0].value == "Budgets"
    assert metric(app, "Total error") == "1,093 people"  # 1,093.5: docs/tutorial.md
    assert "protects all like the most sensitive and has 46.0 % more error" in words(app)
    pages = [element.proto.body for element in app.get("html")]
    assert any("dashed: the least of all" in page for page in pages)


def test_an_example_of_a_known_optimum(budgets):
    app = budgets
    assert metric(app, "Total error") == f"{math.sqrt(100_000 * 3.870237140):,.0f} people"
    assert "the best plain LDP mechanism, GRR, smallest budget, protects all" in words(app)
    assert "IDUE opt0, one bit an answer, has 48.8 % more error" in words(app)
    assert "no mechanism of any kind that keeps these budgets" in words(app)


@pytest.mark.parametrize("name", PAGES)
def test_every_page_opens_on_its_own(name):
    assert open_page(name).title


def test_an_edit_changes_the_plan_and_the_saturation(budgets):
    before = metric(budgets, "Total error")
    edit(budgets, LEVELS, {0: {"epsilon": "2.5"}})
    assert metric(budgets, "Total error") != before
    assert metric(budgets, "LDP epsilon") == "2.500"
    assert session(budgets).draft.questions[0].rows[0]["epsilon"] == "2.5"


def test_a_level_is_added_and_one_is_deleted(budgets):
    added = {"level": "third", "epsilon": "3", "count": "7"}
    edit(budgets, LEVELS, {}, added_rows=[added])
    question, problems = session(budgets).draft.questions[0].build()
    assert problems == []
    assert [level.item_count for level in question.levels] == [1, 4, 7]
    edit(budgets, LEVELS, {}, added_rows=[added], deleted_rows=[0])
    question, _ = session(budgets).draft.questions[0].build()
    assert [level.name for level in question.levels] == ["common", "third"]


@pytest.mark.parametrize("typed", ["-5", "25,5", "51", "0", "nan", "ln", "", "1e999"])
def test_a_wrong_budget_gets_a_sentence_and_the_rest_stays_usable(budgets, typed):
    edit(budgets, LEVELS, {0: {"epsilon": typed}})
    assert "Row 1 (severe):" in words(budgets)
    assert metric(budgets, "LDP epsilon") == "1.792"  # of the other level
    assert session(budgets).draft.questions[0].rows[0]["epsilon"] == typed  # nothing is lost
    edit(budgets, LEVELS, {0: {"epsilon": "ln 4"}})
    assert "Row 1" not in words(budgets)


@pytest.mark.parametrize("typed", ["1,5", "-3", "1e5", "many", ""])
def test_a_wrong_number_of_people_gets_a_sentence(budgets, typed):
    by_label(budgets.text_input, "Number of people asked").set_value(typed).run()
    assert not budgets.exception
    assert "users is" in words(budgets)
    assert session(budgets).draft.users == typed


def test_markdown_in_names_is_shown_as_typed(budgets):
    edit(budgets, LEVELS, {0: {"level": "a*b* [x](http://x) $y$", "epsilon": "x"}})
    assert any(r"a\*b\* \[x\]\(http\://x\) \$y\$" in one.value for one in budgets.warning)


def test_edits_outlive_a_change_of_columns(budgets):
    edit(budgets, LEVELS, {0: {"items": "AIDS", "epsilon": "1"}})
    by_label(budgets.selectbox, "Make as small as possible").set_value("expected").run()
    edit(budgets, LEVELS, {0: {"share": "10 %"}, 1: {"share": "0.9"}})
    by_label(budgets.selectbox, "Make as small as possible").set_value("worst-case").run()
    rows = session(budgets).draft.questions[0].rows
    assert (rows[0]["items"], rows[0]["epsilon"]) == ("AIDS", "1")
    assert [row["share"] for row in rows] == ["10 %", "0.9"]
    assert not budgets.exception


def test_the_policy_graph_is_ticked_pair_by_pair(budgets):
    by_label(budgets.selectbox, "A pair of answers is protected by").set_value("pairs").run()
    assert not budgets.exception
    table = "pairs-0-common|severe-2-0"
    edit(budgets, table, {0: {"protected": False}, 1: {"budget": "0.5"}})
    question, problems = session(budgets).draft.questions[0].build()
    assert problems == []
    assert question.rule == ((math.log(4), math.inf), (math.inf, 0.5))
    edit(budgets, table, {0: {"protected": False}, 1: {"budget": "-1"}})
    assert "Pair common and common" in words(budgets)


def test_objectives(budgets):
    choose = by_label(budgets.selectbox, "Make as small as possible")
    choose.set_value("minimax").run()
    assert session(budgets).build().survey.questions[0].objective.kind == "minimax"
    by_label(budgets.selectbox, "Make as small as possible").set_value("expected").run()
    assert "of sum 1" in words(budgets)
    edit(budgets, LEVELS, {0: {"share": "10 %"}, 1: {"share": "0.9"}})
    assert session(budgets).build().survey.questions[0].objective.prior == (0.1, 0.9)


def test_sets_of_answers_and_back_without_losing_what_was_typed(budgets):
    switch = "A person may have several of these answers, or none"
    by_label(budgets.toggle, switch).set_value(True).run()
    label = "Share or number of people with 0, 1, 2, ... answers"
    by_label(budgets.text_input, label).set_value("0, 5, 3").run()
    assert "the best for these sets; best" in words(budgets)
    by_label(budgets.toggle, switch).set_value(False).run()
    assert session(budgets).build().survey.questions[0].kind == "categorical"
    by_label(budgets.toggle, switch).set_value(True).run()
    assert not budgets.exception
    assert session(budgets).build().survey.questions[0].sets.sizes == (0.0, 5.0, 3.0)


def test_answers_in_order_and_back_without_losing_what_was_typed(budgets):
    switch = "These answers have an order"
    by_label(budgets.toggle, switch).set_value(True).run()
    edit(budgets, LEVELS, {0: {"items": "none; most", "epsilon": "1"}, 1: {"items": "some"}})
    typed = "Answers from the lowest to the highest"
    by_label(budgets.text_input, typed).set_value("none, some").run()
    assert "each of 'none', 'most', 'some' once" in words(budgets)
    by_label(budgets.text_input, typed).set_value("none, some, most").run()
    by_label(budgets.text_input, "What each counts for in a mean").set_value("0, 1, 5").run()
    question = session(budgets).build().survey.questions[0]
    assert question.ordered == ("none", "some", "most")
    assert (question.scores, question.mechanism) == ((0, 1, 5), "channel")
    best = best_ordered_channel(PrivacyPolicy([1, math.log(6), 1], [1, 1, 1]), tolerance=1e-5)
    error = math.sqrt(100_000 * best.worst_error)
    assert metric(budgets, "Total error of the cumulative shares") == f"{error:,.0f} people"
    assert "no mechanism of any kind that keeps these budgets" in words(budgets)
    by_label(budgets.selectbox, "Make as small as possible").set_value("counts").run()
    assert metric(budgets, "Total error of the counts")
    by_label(budgets.selectbox, "Make as small as possible").set_value("mean of scores").run()
    assert float(metric(budgets, "Error of the mean")) < 0.1
    by_label(budgets.selectbox, "Make as small as possible").set_value("counts").run()
    start_from_accuracy(budgets)
    assert by_label(budgets.selectbox, "I have 100,000 people and need").options == [
        "a total error of at most"
    ]
    assert "Not searched for a channel" in words(budgets)
    by_label(budgets.toggle, switch).set_value(False).run()
    found = session(budgets).build().survey.questions[0]
    assert (found.kind, found.mechanism, found.scores) == ("categorical", "best", ())
    assert session(budgets).draft.questions[0].scores == "0, 1, 5"


def test_thousands_of_pasted_rows_are_refused_before_the_table_works_on_them(budgets):
    rows = [{"level": f"l{k}", "epsilon": "1", "items": f"i{k}"} for k in range(10_000)]
    began = time.perf_counter()
    edit(budgets, LEVELS, {}, added_rows=rows)
    assert time.perf_counter() - began < 30  # minutes, once
    assert "10,000 rows were pasted, and the table takes 500. Open them as a file" in words(budgets)
    assert [row["level"] for row in session(budgets).draft.questions[0].rows] == [
        "severe",
        "common",
    ]
    by_label(budgets.button, "Show its results").click().run()
    assert metric(budgets, "Total error") == "622 people"


def test_what_is_known_of_sets_does_not_turn_up_in_another_survey(budgets):
    switch = "A person may have several of these answers, or none"
    label = "Share or number of people with 0, 1, 2, ... answers"
    by_label(budgets.toggle, switch).set_value(True).run()
    usual = by_label(budgets.text_input, label).value
    by_label(budgets.text_input, label).set_value("0, 5, 3").run()
    by_label(budgets.toggle, switch).set_value(False).run()
    by_label(budgets.selectbox, "Example").set_value("browsing").run()
    by_label(budgets.toggle, switch).set_value(True).run()
    assert by_label(budgets.text_input, label).value == usual


def test_a_survey_without_a_name_is_planned_and_says_so(budgets):
    by_label(budgets.text_input, "Survey").set_value(" ").run()
    assert "The survey has no name yet" in words(budgets)
    assert metric(budgets, "Total error") == "622 people"


def test_charts_are_drawn_once_their_drawer_is_open_and_stay_on_the_next_visit(budgets):
    assert len(budgets.get("plotly_chart")) == 0
    budgets.session_state["levels-drawn"] = True
    budgets.run()
    assert len(budgets.get("plotly_chart")) == 2
    budgets.session_state["scale-drawn"] = True
    budgets.run()
    assert len(budgets.get("plotly_chart")) == 3
    budgets.session_state["design-drawn"] = True
    budgets.run()
    assert len(budgets.get("plotly_chart")) == 4
    budgets.session_state["design-drawn"] = False
    budgets.session_state["levels-drawn"] = False
    budgets.run()
    assert len(open_page("budgets", budgets).get("plotly_chart")) == 1


def test_bars_and_tables_show_the_plan_at_once(budgets):
    mechanisms, levels, reports = tables(budgets)
    assert mechanisms["mechanism"][:2] == ["Subset design", "GRR, smallest budget"]
    assert mechanisms["against the plan"][0] == "the plan"
    assert levels["more budget"] == ["helps", "helps"]
    assert reports["a: with the answer"] == ["0.524865", "0.662433"]
    budgets.session_state["scale-drawn"] = True  # other budgets are planned once it is asked for
    scale = tables(budgets.run())[-1]
    assert scale["all budgets times"] == ["0.25", "0.5", "1", "2", "4"]
    assert f"{float(scale['error, people'][2]):,.0f} people" == metric(budgets, "Total error")


def start_from_accuracy(app):
    app.session_state["accuracy"] = True
    app.run()


def test_from_a_target_to_budgets_and_into_the_table(budgets):
    start_from_accuracy(budgets)
    assert "Now it is 0.6221 %: enough" in words(budgets)
    assert "ask 38,703 people" in words(budgets)  # also where the target is met
    by_label(budgets.text_input, "this share of all people").set_value("0.5 %").run()
    assert "smallest budgets that meet the targets" in words(budgets)
    by_label(budgets.button, "Put these budgets into the table").click().run()
    assert not budgets.exception
    assert metric(budgets, "Total error") == "500 people"
    by_label(budgets.button, "Undo: taking the budgets for a target").click().run()
    assert metric(budgets, "Total error") == "622 people"


def test_from_a_target_to_people(budgets):
    start_from_accuracy(budgets)
    by_label(budgets.text_input, "this share of all people").set_value("0.5 %").run()
    by_label(budgets.button, "Ask 154,810 people").click().run()
    assert metric(budgets, "Total error") == "774 people"  # 0.5 % of them
    by_label(budgets.button, "Undo: asking as many people as a target needs").click().run()
    assert metric(budgets, "Total error") == "622 people"


def test_only_some_budgets_begins_with_the_level_in_question(budgets):
    start_from_accuracy(budgets)
    need = "I have 100,000 people and need"
    by_label(budgets.selectbox, need).set_value("level").run()
    by_label(budgets.toggle, "Only some budgets may change").set_value(True).run()
    assert budgets.multiselect[0].value == ["severe"]
    by_label(budgets.selectbox, "for the level").set_value("common").run()
    assert budgets.multiselect[0].value == ["common"]
    by_label(budgets.selectbox, need).set_value("detect").run()
    assert "detectable" in words(budgets) or "smallest budgets" in words(budgets)


def test_sets_are_told_which_budgets_and_how_many_people_they_need(budgets):
    sets = "A person may have several of these answers, or none"
    by_label(budgets.toggle, sets).set_value(True).run()
    start_from_accuracy(budgets)
    by_label(budgets.text_input, "this share of all people").set_value("5 %").run()
    assert "smallest budgets that meet the targets: " in words(budgets)
    assert "at padding length" in words(budgets)
    labels = [button.label for button in budgets.button]
    assert "Put these budgets into the table" in labels
    assert any(label.startswith("Ask ") for label in labels)


def test_a_mean_is_told_which_budget_and_how_many_people_it_needs():
    app = open_page("answer-rates", **{"answer-accuracy": True})
    by_label(app.text_input, "Largest answer").set_value("1000").run()
    need = "I have 100,000 people and need an error of the mean of at most"
    by_label(app.text_input, need).set_value("2").run()
    assert "With these people, offer" in words(app)
    assert "At the best budget, ask" in words(app)
    by_label(app.text_input, need).set_value("0.0000001").run()
    assert "no budget is enough" in words(app)
    by_label(app.text_input, need).set_value("-1").run()
    assert "error of the mean is -1" in words(app)


def test_figures_that_should_not_be_believed_come_with_a_warning(budgets):
    assert not budgets.warning
    edit(budgets, LEVELS, {0: {"epsilon": "6"}})
    assert "change the odds between two answers 403-fold" in words(budgets)
    by_label(budgets.text_input, "Number of people asked").set_value("10").run()
    assert "Only 10 people are asked" in words(budgets)
    edit(budgets, LEVELS, {0: {"epsilon": "0.1"}})
    assert "larger than the number of people" in words(budgets)
    rates = open_page("answer-rates")
    assert "The expected mean is blank, so 50, the middle of the range" in words(rates)
    by_label(rates.text_input, "Expected mean").set_value("40").run()
    assert "mean is blank" not in words(rates)


def test_an_impossible_target_says_why(budgets):
    start_from_accuracy(budgets)
    by_label(budgets.toggle, "Only some budgets may change").set_value(True).run()
    by_label(budgets.text_input, "this share of all people").set_value("0.1 %").run()
    assert "Impossible, because 'severe' stays at 1.386" in words(budgets)
    by_label(budgets.text_input, "this share of all people").set_value("-1").run()
    assert "share of all people is '-1'" in words(budgets)


def test_meaning_shows_people_beliefs_and_pairs(budgets):
    edit(budgets, LEVELS, {0: {"epsilon": "ln 4"}})
    app = open_page("meaning", budgets)
    assert "52 have it on the high side; of 100 with another answer, 13 do" in words(app)
    app.slider[0].set_value(50).run()
    _, beliefs, pairs, *_ = tables(app)
    assert beliefs["before"] == ["50%", "50%"]
    assert beliefs["whole report: at most"] == ["80.00 %", "85.72 %"]
    used, allowed = (map(float, pairs[f"{what} epsilon"]) for what in ("realised", "allowed"))
    assert all(map(float.__le__, used, allowed))
    wanted = by_label(app.text_input, "Wanted epsilon if shuffled")
    assert "Whatever mechanism keeps" not in words(app)
    wanted.set_value("0.1").run()
    assert "has epsilon 0.1 at delta" in words(app)
    wanted.set_value("0").run()
    assert "epsilon is 0.0 but must be" in words(app)


def test_a_limit_on_guesses_is_planned_and_priced(budgets):
    field = by_label(budgets.text_input, "Largest share of right guesses")
    field.set_value("40 %").run()
    assert "at most 40 of 100 people; it is for 40." in words(budgets)
    assert "lowers the error by about" in words(budgets)
    by_label(budgets.text_input, "Largest share of right guesses").set_value("10 %").run()
    assert "guess is 0.1 but must be above 0.2" in words(budgets)


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


def test_a_simulation_measures_what_was_predicted():
    app = open_page("try")
    by_label(app.text_input, "Runs per mechanism").set_value("40").run()
    by_label(app.button, "Run the simulation").click().run()
    assert not app.exception
    ratios = [float(text) for text in tables(app)[0]["measured / predicted"]]
    assert len(ratios) == 9
    assert all(0.5 < ratio < 2 for ratio in ratios)
    by_label(app.text_input, "Seed").set_value("-1").run()
    assert "seed is '-1'" in words(app)
    by_label(app.text_input, "Seed").set_value("2").run()
    assert "belong to the settings of the last run" in words(app)


def test_ordered_answers_are_tried_on_a_file():
    hours = Session(SurveyDraft.of(example_survey("hours")))
    app = open_page("try", session=hours, **{"t-one": True})
    assert "surveys say the same" in words(app)
    assert len(app.get("plotly_chart")) == 1
    by_label(app.get("button_group"), "Answers").set_value("upload").run()
    text = b"item,count\n1-2,300\n0,500\n10+,200\n"
    app.file_uploader[0].set_value(("c.csv", text, "text/csv")).run()
    assert "truly 0. Draw more" in words(app)
    by_label(app.text_input, "Runs per mechanism").set_value("40").run()
    by_label(app.button, "Run the simulation").click().run()
    assert not app.exception
    (found,) = tables(app)
    assert found["mechanism"] == ["Channel", "Subset design", "GRR, smallest budget"]
    assert all(0.5 < float(text) < 2 for text in found["measured / predicted"])
    assert "Judge the most frequent" not in [one.label for one in app.text_input]
    session(app).draft.questions[0].wanted = "mean of scores"
    app.run()
    assert "surveys say the same" not in words(app)
    by_label(app.button, "Run the simulation").click().run()
    assert not app.exception
    assert all(0.5 < float(text) < 2 for text in tables(app)[0]["measured / predicted"])
    assert tables(app)[0]["measured, in score"]


def test_numbers_are_tried_as_generated_and_from_a_file():
    app = open_page("try", session=Session(SurveyDraft.of(example_survey("answer-rate"))))
    by_label(app.text_input, "Runs per mechanism").set_value("40").run()
    by_label(app.button, "Run the simulation").click().run()
    assert not app.exception
    (found,) = tables(app)
    assert found["mechanism"] == ["Channel", "BiSample-MD, two bits"]
    assert all(0.5 < float(text) < 2 for text in found["measured / predicted"])
    by_label(app.get("button_group"), "Answers").set_value("upload").run()
    assert "Upload answers to begin" in words(app)
    app.file_uploader[0].set_value(("c.csv", b"id,bill\n1,40\n2,\n3,x\n", "text/csv")).run()
    by_label(app.selectbox, "Column with the answers").set_value("bill").run()
    assert "line 4: 'x' is not a finite number" in words(app)
    app.file_uploader[0].set_value(("c.csv", b"id,bill\n1,40\n2,\n3,7\n", "text/csv")).run()
    assert "3 people, 1 without an answer" in words(app)


def test_a_choice_and_a_number_are_tried_in_turn(budgets):
    session(budgets).draft.questions.append(NumericDraft("n", "0", "1", yes_no=True, epsilon="2"))
    app = open_page("try", budgets)
    assert "5 items" in words(app)
    by_label(app.get("button_group"), "Try a question for").set_value("NumericDraft").run()
    assert "without an answer" in words(app)
    by_label(app.text_input, "Share without an answer").set_value("2").run()
    assert "share without an answer is '2'" in words(app)
    assert not app.exception


def test_one_survey_is_drawn_beside_the_truth_and_drawn_again():
    app = open_page("try", **{"t-one": True})
    pictures = [app.get("plotly_chart")[0].proto.spec]
    by_label(app.button, "Draw another survey").click().run()
    pictures.append(app.get("plotly_chart")[0].proto.spec)
    assert not app.exception
    assert pictures[0] != pictures[1]
    assert "5 intervals hold the truth in this survey" in words(app)
    app.run()
    assert app.get("plotly_chart")[0].proto.spec == pictures[1]  # drawn again on request only


def test_what_a_change_did_is_said(budgets):
    assert "Before the last change" not in words(budgets)
    before = metric(budgets, "Total error")
    edit(budgets, LEVELS, {0: {"epsilon": "2.5"}})
    after = metric(budgets, "Total error")
    assert f"was {before}, now it is {after} (-" in words(budgets)
    budgets.run()
    assert f"was {before}, now it is {after} (-" in words(budgets)


ANSWERS = {
    "counts": ("c.csv", "item,count\nHIV,30\nanemia,50\nheadache,20\n", "100 people, 3 items"),
    "a column": ("c.csv", "age,diagnosis\n3,HIV\n4,anemia\n5,HIV\n", "3 people, 2 items"),
    "a large file": (
        "c.csv",
        # Byte 100,000 is the second of an "é": what reads a part must not cut there.
        "x,diagnosis\n" + 15_000 * "3,é\n4,ö\n",
        "30,000 people, 2 items",
    ),
    "transactions": ("t.dat", "0 1\n1\n1 2\n", "3 people, 3 items"),
    "clicks": ("t.data", "0 1 1\n\n1 2\n", "1 times an item stood in one set again"),
    "packed": ("t.csv.gz", gzip.compress(b"x,diagnosis\n3,a\n4,b\n"), "2 people, 2 items"),
}


@pytest.mark.parametrize(("name", "text", "words_"), ANSWERS.values(), ids=ANSWERS)
def test_uploaded_answers_are_simulated_once_every_item_has_a_level(name, text, words_):
    app = open_page("try")
    by_label(app.get("button_group"), "Answers").set_value("upload").run()
    assert "Upload answers to begin" in words(app)
    app.file_uploader[0].set_value((name, as_bytes(text), "text/csv")).run()
    by_label(app.toggle, "Spread the items over the levels at random").set_value(True).run()
    assert words_ in words(app)
    by_label(app.text_input, "Runs per mechanism").set_value("2").run()
    by_label(app.button, "Run the simulation").click().run()
    assert not app.exception
    assert len(tables(app)[0]["mechanism"]) >= 4


def as_bytes(content):
    return content.encode() if isinstance(content, str) else content


def test_items_without_a_level_are_counted_before_anything_is_run():
    app = open_page("try")
    by_label(app.get("button_group"), "Answers").set_value("upload").run()
    app.file_uploader[0].set_value(("c.csv", b"item,count\nflu,3\nHIV,2\ncold,1\n", "")).run()
    assert "2 of 3 items of the file are in no level: 'flu', 'cold'" in words(app)
    assert "Run the simulation" not in [button.label for button in app.button]
    by_label(app.toggle, "Spread the items over the levels at random").set_value(True).run()
    assert "Run the simulation" in [button.label for button in app.button]


def test_a_column_of_sets_is_read_as_sets(budgets):
    sets = "A person may have several of these answers, or none"
    by_label(budgets.toggle, sets).set_value(True).run()
    app = open_page("try", budgets)
    by_label(app.get("button_group"), "Answers").set_value("upload").run()
    text = b"id,diagnosis\n1,HIV;anemia\n2,\n3,anemia\n"
    app.file_uploader[0].set_value(("c.csv", text, "")).run()
    assert "3 people, 2 items" in words(app)
    assert by_label(app.text_input, "Padding length").placeholder == "1"
    app.file_uploader[0].set_value(("bad.csv.gz", b"no gzip", "")).run()
    assert "not whole in the form of gzip" in words(app)
    assert not app.exception


def test_only_the_first_item_of_each_person_on_request():
    app = open_page("try")
    by_label(app.get("button_group"), "Answers").set_value("upload").run()
    app.file_uploader[0].set_value(("t.dat", b"0 1\n1\n1 2\n", "text/plain")).run()
    by_label(app.toggle, "Spread the items over the levels at random").set_value(True).run()
    assert by_label(app.text_input, "Padding length").placeholder == "2"
    by_label(app.toggle, "One item a person: keep only the first of each").set_value(True).run()
    assert "Padding length" not in [field.label for field in app.text_input]


def test_answers_that_are_too_many_or_not_right_get_a_sentence(budgets):
    by_label(budgets.text_input, "Number of people asked").set_value("20,000,000").run()
    app = open_page("try", budgets)
    assert "Try a smaller survey" in words(app)
    by_label(app.get("button_group"), "Answers").set_value("upload").run()
    app.file_uploader[0].set_value(("c.csv", b"item,count\nHIV,many\n", "text/csv")).run()
    assert "c.csv" in words(app)
    assert not app.exception
    app.file_uploader[0].set_value(("d.csv", b"HIV\nanemia\nHIV\n", "text/csv")).run()
    assert "holds an answer and is no header" in words(app)
    app.file_uploader[0].set_value(("e.csv", b"diagnosis\nHIV\n\nHIV\n", "text/csv")).run()
    assert "line 3 has no answer" in words(app)
    assert not app.exception


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


def test_scenarios_are_kept_compared_and_edited(budgets):
    app = open_page("export", budgets)
    by_label(app.text_input, "Name of the scenario").set_value("cautious").run()
    by_label(app.button, "Keep the current survey").click().run()
    edit(budgets, LEVELS, {0: {"epsilon": "3"}})
    after = open_page("export", budgets)
    assert list(session(after).scenarios) == ["cautious"]
    compared = tables(after)[-1]
    assert list(compared)[3:] == ["in cautious", "then in (the current survey)", "change"]
    assert any(change.startswith("-") for change in compared["change"])
    by_label(after.button, "Edit it").click().run()
    assert session(after).draft.questions[0].rows[0]["epsilon"] == "ln 4"


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


def test_answers_of_a_number_have_budgets_of_their_own():
    app = open_page("answer-rates", **{"answer-levels": True})
    by_label(app.text_input, "Budget to offer (epsilon)").set_value("2").run()
    by_label(app.selectbox, "The largest epsilon that people accept is").set_value("everybody")
    app.run()
    place = len(session(app).draft.questions) - 1
    added = [
        {"level": "high", "epsilon": "1", "lower": "80"},
        {"level": "silent", "epsilon": "4", "lower": "no answer"},
    ]
    edit(app, f"n-levels-{place}-{session(app).revision}", {}, added_rows=added)
    (draft,) = (one for one in session(app).draft.questions if isinstance(one, NumericDraft))
    question, problems = draft.build()
    assert problems == []
    assert [(one.name, one.no_answer) for one in question.numeric.levels] == [
        ("high", False),
        ("silent", True),
    ]
    assert question.mechanism == "channel"
    edit(app, f"n-levels-{place}-{session(app).revision}", {}, added_rows=[{"level": "high"}])
    assert "epsilon" in words(app)
