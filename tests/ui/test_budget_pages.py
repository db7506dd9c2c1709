"""The pages Budgets and What a report says, run without a browser."""

import math
import time

import pytest
from streamlit.testing.v1 import AppTest

from planner import PrivacyPolicy, best_ordered_channel
from tests.ui.pages import (
    APP,
    LEVELS,
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
