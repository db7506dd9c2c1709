"""The page Questions: what is typed, what it costs, and what is wrong with it."""

import gc
import math
import re
import time

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from planner import PrivacyPolicy, best_ordered_channel
from planner.survey.survey import settle
from planner.ui import working
from planner.ui.address import word_of
from planner.ui.document import (
    cleaned,
    example_document,
    sentence_of,
)
from planner.ui.views.levels import take_paste
from tests.ui.pages import (
    APP,
    LEDGER,
    TIMEOUT,
    TOTAL,
    by_label,
    metric,
    open_page,
    remove_level,
    session,
    type_levels,
    words,
)

MORE = {
    "options-categorical": True,
    "options-item-set": True,
    "options-ordinal": True,
}


def question(app, place=0):
    """A question of the survey that is planned."""
    survey, mistakes = settle(cleaned(session(app).document))
    assert not mistakes, mistakes
    return survey.questions[place]


def choose(app, label, value):
    by_label(app.selectbox, label).set_value(value).run()
    assert not app.exception


def write(app, label, text):
    by_label(app.text_input, label).set_value(text).run()
    assert not app.exception


def test_the_app_starts_with_an_example_where_the_levels_matter():
    app = AppTest.from_file(str(APP), default_timeout=TIMEOUT).run()
    assert not app.exception
    # tutorial
    assert app.title[0].value == "Questions"
    assert metric(app, TOTAL) == "1,093 people"
    assert "seen from 2.348 %: rarer answers look absent" in words(app)
    assert "For whom" in words(app)
    by_label(app.button, "hospital bills").click().run()
    assert "how far the mean is off, typically" in words(app)
    by_label(app.button, "Got it").click().run()
    assert "For whom" not in words(app)


def test_a_row_that_is_begun_is_asked_for_the_rest(questions):
    for cells, missing in (
        ({"name": "third"}, "Budget is still empty"),
        ({"epsilon": "2"}, "Answers is still empty"),
        ({"items": "measles"}, ""),
    ):
        type_levels(questions, {2: cells})
        assert not questions.warning
        assert missing in words(questions)
        assert ("still empty" in words(questions)) == bool(missing)


def test_every_edit_is_one_step_back_and_forth(questions):
    before = metric(questions, TOTAL)
    assert (
        before == f"{math.sqrt(100_000 * 3.870237140):,.0f} people"
    )  # a known optimum
    assert session(questions).past == []  # to look at a page changes nothing
    type_levels(questions, {0: {"epsilon": "2.5"}})
    after = metric(questions, TOTAL)
    assert after != before
    write(questions, "People asked", "50,000")
    by_label(questions.button, "Undo").click().run()
    assert metric(questions, TOTAL) == after
    assert by_label(questions.text_input, "People asked").value == "100,000"
    by_label(questions.button, "Undo").click().run()
    assert metric(questions, TOTAL) == before
    assert by_label(questions.button, "Undo").disabled
    by_label(questions.button, "Redo").click().run()
    assert metric(questions, TOTAL) == after
    by_label(questions.button, "New survey").click().run()
    assert by_label(questions.text_input, "Survey").value == "my survey"
    assert by_label(questions.button, "Redo").disabled
    by_label(questions.button, "Undo").click().run()
    assert metric(questions, TOTAL) == after


def test_a_level_is_added_one_is_deleted_and_names_are_shown_as_typed(questions):
    type_levels(questions, {2: {"name": "third", "epsilon": "3", "item_count": "7"}})
    assert [level.item_count for level in question(questions).levels] == [1, 4, 7]
    remove_level(questions, 0)
    assert [level.name for level in question(questions).levels] == ["common", "third"]
    blank = {"name": "", "epsilon": "", "item_count": ""}
    type_levels(questions, {1: blank})
    assert [level.name for level in question(questions).levels] == ["common"]
    name = "a*b* [x](http://x) $y$ www.out.example http://out.example m@out.example"
    type_levels(questions, {0: {"name": name, "items": "10"}})
    shown = words(questions, escaped=True)
    assert r"a\*b\* \[x\]" in shown
    # A mark that is not seen stands between, so that none is a link.
    for link in ("www.out", "http://", "http\\:", "m@out"):
        assert link not in shown


HOSTILE = {
    "epsilon": [
        "-5",
        "25,5",
        "51",
        "0",
        "nan",
        "ln",
        "1e999",
        "9" * 5000,
        "x" * 140_000,
    ],
    "items": ['"' + "x" * 140_000, "a;" * 70_000],
    "users": ["1,5", "-3", "1e5", "many", "", "9" * 5000],
}


def test_while_a_cell_is_wrong_the_last_results_stay_greyed(questions):
    for key, said in (
        ("epsilon", ":red[Budget"),
        ("items", ":red["),
        ("users", ":red[People asked"),
    ):
        for typed in HOSTILE[key]:
            if key == "users":
                write(questions, "People asked", typed)
            else:
                type_levels(questions, {0: {key: typed}})
                (level, _) = session(questions).document["question"][0]["level"]
                assert level[key] == typed
            # Who begins is asked, who errs is told.
            assert (said if typed else "People asked is still") in words(questions)
            assert "from before" in words(questions), typed
            assert metric(questions, TOTAL) == "622 people"
        type_levels(questions, {0: {"epsilon": "ln 4", "items": "HIV"}})
        write(questions, "People asked", "100,000")
        assert not questions.warning
        assert not questions.info
        assert "from before" not in words(questions)


def test_hidden_columns_keep_what_was_typed():
    app = open_page("questions", **MORE)
    by_label(app.toggle, "Columns for importance and expected shares").set_value(
        True
    ).run()
    type_levels(app, {0: {"prior": "10 %"}, 1: {"prior": "0.9"}})
    assert question(app).objective.prior == (0.1, 0.9)
    choose(app, "A person gives", "ordinal")
    choose(app, "A person gives", "categorical")
    assert question(app).objective.prior == (0.1, 0.9)


def test_a_matrix_of_a_file_is_kept_until_another_rule_is_chosen():
    document = example_document("health")
    document["question"][0]["rule"] = [["1", "2"], ["2", "inf"]]
    app = open_page("questions", survey=word_of(document))
    assert by_label(app.radio, "Protect").value == "matrix"
    type_levels(app, {1: {"items": "cold"}})
    expected = ((1.0, 2.0), (2.0, math.inf))
    assert question(app).rule == expected
    type_levels(app, {2: {"name": "third", "epsilon": "3", "items": "x"}})
    assert "rule" in words(app)  # which has no row for it
    by_label(app.radio, "Protect").set_value("min").run()
    assert question(app).rule == "min"


def test_one_sided_budgets_have_a_column():
    app = open_page("questions")
    before = metric(app, TOTAL)
    by_label(app.radio, "Protect").set_value("one-sided").run()
    cleared = metric(app, TOTAL)
    type_levels(app, {0: {"against": "ln 5"}})
    expected = [math.log(5), math.inf]
    assert question(app).policy.against.tolist() == expected
    # As texts: all have three digits before the point.
    assert cleared < metric(app, TOTAL) < before
    by_label(app.radio, "Protect").set_value("min").run()
    assert "against" in words(app).lower()  # what was typed is not dropped in silence


def test_the_worst_single_answer_and_another_mechanism():
    app = open_page("questions", **MORE)
    choose(app, "Make small", "minimax")
    assert question(app).objective.kind == "minimax"
    choose(app, "Make small", "total")
    choose(app, "Mechanism", "grr")
    assert metric(app, TOTAL) == "699 people"
    choose(app, "A person gives", "item-set")  # which cannot have it
    assert "grr" not in words(app)


def test_sets_of_answers_say_what_they_need(questions):
    choose(questions, "A person gives", "item-set")
    assert not questions.warning  # nothing was typed that could be wrong
    assert "Sizes of sets is still empty" in words(questions)
    write(questions, "Sizes of sets (needed)", "0; 5; 3")
    assert question(questions).sets.sizes == (0.0, 5.0, 3.0)
    write(questions, "Cut or pad to", "2")
    assert question(questions).padding_length == 2
    before = metric(questions, TOTAL)
    write(questions, "Budget of any two sets", "ln 9")
    assert question(questions).cap == math.log(9)
    assert metric(questions, TOTAL) != before
    write(questions, "Budget of any two sets", "")
    assert metric(questions, TOTAL) == before


def test_answers_in_order(questions):
    choose(questions, "A person gives", "ordinal")
    typed = {0: {"items": "none; most", "epsilon": "1"}, 1: {"items": "some"}}
    type_levels(questions, typed)
    write(questions, "From the lowest to the highest", "none, some")
    assert ":red[From the lowest" in words(questions)
    write(questions, "From the lowest to the highest", "none, some, most")
    write(questions, "What each counts for in a mean", "0; 1; 5")
    shown = question(questions)
    assert shown.ordered == ("none", "some", "most")
    assert shown.scores == (0, 1, 5)
    best = best_ordered_channel(
        PrivacyPolicy([1, math.log(6), 1], [1, 1, 1]), tolerance=1e-5
    )
    error = math.sqrt(100_000 * best.worst_error)
    assert metric(questions, questions.metric[0].label) == f"{error:,.0f} people"


def test_a_number_and_who_answers_it(questions):
    choose(questions, "A person gives", "numeric")
    assert question(questions).kind == "numeric"
    choose(questions, "The largest budget that people accept", "normal")
    first = questions.metric[0].value
    write(questions, "Largest answer (needed)", "-2")
    assert ":red[Smallest answer" in words(questions)
    write(questions, "Largest answer (needed)", "100")
    choose(questions, "The largest budget that people accept", "histogram")
    assert questions.metric[0].value != first
    choose(questions, "The largest budget that people accept", "normal")
    assert questions.metric[0].value == first


def test_rare_answers_are_vouched_for_by_a_tick(questions):
    choose(questions, "A person gives", "sampled-choice")
    typed = {0: {"yes_counts": "30"}, 1: {"yes_counts": "9; 8; 7; 6"}}
    type_levels(questions, typed)
    assert question(questions).sampling.acknowledged is None
    questions.checkbox[0].set_value(True).run()
    assert question(questions).sampling.acknowledged
    questions.radio[0].set_value("round-two").run()
    assert question(questions).sampling.acknowledged is None


def test_questions_are_added_chosen_and_removed(questions):
    by_label(questions.button, "Add a question").click().run()
    assert by_label(questions.text_input, "Name of the question").value == "question 1"
    write(questions, "Name of the question", "income")
    type_levels(questions, {0: {"epsilon": "0.8"}}, question=1)
    asked = question(questions, 1)
    assert asked.name == "income"
    assert asked.levels[0].epsilon == 0.8
    choose(questions, "A person gives", "numeric")
    pages = [question["name"] for question in session(questions).document["question"]]
    assert pages == ["diagnosis", "income"]
    by_label(questions.get("button_group"), "Question").set_value(0).run()
    assert by_label(questions.text_input, "Name of the question").value == "diagnosis"
    by_label(questions.button, "Remove this question").click().run()
    assert by_label(questions.text_input, "Name of the question").value == "income"
    by_label(questions.button, "Undo").click().run()
    assert len(session(questions).document["question"]) == 2


def paste(app, text, field):
    """Paste lines into a field of the first question, as the page's script hands them on."""
    take_paste(session(app), text, f"level-0-{field}-{session(app).revision}")
    app.run()
    assert not app.exception


def levels(app):
    return session(app).document["question"][0]["level"]


def test_rows_from_a_spreadsheet_are_read_as_a_file_is(questions):
    """Lines of one level and budget are one level, with or without a header."""
    rows = "private\t1\tHIV\nusual\t2\tflu\nusual\t2\tcold\n"
    paste(questions, rows, "0-name")
    expected = [
        {"name": "private", "epsilon": "1", "items": "HIV"},
        {"name": "usual", "epsilon": "2", "items": "flu; cold"},
    ]
    assert levels(questions) == expected
    with_header = "item,level,epsilon\nHIV,private,1\nflu,usual,2\ncold,usual,2"
    paste(questions, with_header, "0-name")
    assert levels(questions) == expected
    paste(questions, "rare\t3\t\t40\nodd\tx\ty", "2-name")
    assert levels(questions)[2:] == [
        {"name": "rare", "epsilon": "3", "item_count": "40"},
        {"name": "odd", "epsilon": "x", "items": "y"},
    ]
    by_label(questions.button, "Undo").click().run()
    assert levels(questions) == expected
    named = "Level\tBudget\tAnswers\nold\t1\t40-49, male\nold\t1\t50; 60"
    paste(questions, named, "0-name")
    (level,) = levels(questions)[:1]
    assert level["items"] == '"40-49, male"; 50; 60'


def test_a_pasted_list_is_of_the_answers_or_one_complaint(questions):
    answers = [f"town {k}" for k in range(30)]
    paste(questions, "\n".join(answers), "1-items")
    assert [level.item_count for level in question(questions).levels] == [1, 30]
    paste(questions, "\n".join(answers), "2-name")
    assert "30 lines of one column were pasted" in words(questions)
    assert len(levels(questions)) == 2
    paste(questions, "\n".join(f"{name}\t" for name in answers), "2-name")
    complaints = words(questions).count("Budget is still empty")
    assert complaints == 1
    assert "So it is in 29 other rows" in words(questions)


def test_hundreds_of_pasted_levels_are_refused_at_once(questions):
    began = time.process_time()  # no other work of the machine counts
    rows = "\n".join(f"l{k}\t1\ti{k}" for k in range(500))
    paste(questions, rows, "0-name")
    assert (
        time.process_time() - began < 3
    )  # a fraction of it is usual; planning them took 47
    assert "500 levels were pasted, and 100 can be" in words(questions)
    assert len(question(questions).levels) == 2
    assert metric(questions, TOTAL) == "622 people"


def test_a_field_that_no_page_has_takes_nothing(questions):
    for field in ("level-9-0-name", "level-0-0-<b>", "x", "level-0-99999999-name"):
        take_paste(session(questions), "a\t1\tb", field)
    assert session(questions).document == example_document("health")


def test_a_number_among_the_answers_is_asked_about(questions):
    type_levels(questions, {1: {"items": "10000"}})
    assert "has one answer, called 10000. If that is how many" in words(questions)
    type_levels(questions, {1: {"items": "", "item_count": "10000"}})
    assert "has one answer" not in words(questions)
    assert question(questions).levels[1].item_count == 10_000


def test_many_levels_are_shown_some_at_a_time():
    document = example_document("health")
    document["question"][0]["level"] = [
        {"name": f"l{k}", "epsilon": "1", "items": f"a{k}"} for k in range(60)
    ]
    app = open_page("questions", survey=word_of(document))
    by_label(app.selectbox, "Levels").set_value(50).run()
    type_levels(app, {59: {"items": "last"}})
    assert question(app).levels[59].items == ("last",)


def test_a_ledger_lowers_the_budgets_until_it_is_forgotten():
    app = open_page("questions", sharing=True)
    before = metric(app, TOTAL)
    file = ("ledger.json", LEDGER.model_dump_json().encode(), "application/json")
    app.file_uploader[1].set_value(file).run()
    assert metric(app, TOTAL) != before
    by_label(app.button, "Forget the ledger").click().run()
    assert metric(app, TOTAL) == before
    app.file_uploader[1].set_value(("ledger.json", b"{}x", "application/json")).run()
    assert "ledger.json: is not a ledger" in words(app)


def test_a_refused_sample_leaves_no_results_and_an_accepted_one_ends_with_the_visit():
    sample = (1.03125, 2.03125, 3.03125)
    app = open_page("questions")
    choose(app, "A person gives", "numeric")
    choose(app, "The largest budget that people accept", "sample")
    text = "epsilon\n" + "".join(f"{draw}\n" for draw in sample)
    for data, people in (
        (text, 3),
        ("epsilon\nx\n", 0),
        (text, 3),
    ):
        app.file_uploader[1].set_value(("pilot.csv", data.encode(), "text/csv")).run()
        assert (
            len(session(app).document["question"][0]["preferences"]["values"]) == people
        )
        assert ("from before" in words(app)) == (people == 0)
    del app.session_state["session"]
    del app
    assert not left_of(sample)


def left_of(sample):
    """Whether an object of this process still holds the numbers of a sample."""
    gc.collect()
    for value in gc.get_objects():
        if (
            type(value) in (tuple, list)
            and len(value) == len(sample)
            and tuple(value) == sample
        ):
            if value is not sample:
                return True
        elif (
            type(value) is np.ndarray and value.shape == (3,) and tuple(value) == sample
        ):
            return True
    return False


def test_what_takes_too_long_is_ended_and_not_begun_again(monkeypatch):
    monkeypatch.setattr(working, "LONGEST", 0.5)
    document = example_document("hours")
    levels = []
    for k in range(16):
        levels.append({"name": f"l{k}", "epsilon": 0.5 + k / 10, "items": [f"a{k}"]})
    question = {"name": "q", "kind": "ordinal", "level": levels}
    document["question"] = [question]
    began = time.process_time()
    app = open_page("questions", survey=word_of(document))
    assert time.process_time() - began < 10  # 30 and more to the end
    assert "takes longer than the 0.5 seconds" in words(app)
    began = time.process_time()
    app.run()
    assert time.process_time() - began < 0.5
    assert "takes longer" in words(app)


MISTAKES = {
    "a budget": (lambda one: one["level"][0].update(epsilon="1,5"), "Budget is '1,5'"),
    "no budget": (lambda one: one["level"][0].pop("epsilon"), "Budget is still empty"),
    "no answers": (lambda one: one["level"][1].pop("items"), 'as "Number of answers"'),
    "an order": (
        lambda one: one.update(kind="ordinal", order="x"),
        "From the lowest to the",
    ),
    "a weight": (lambda one: one.update(weight="0"), "Weight is '0'"),
    "no level": (lambda one: one.update(level=[]), "Type its name, its budget"),
    "a budget against": (
        lambda one: one["level"][0].update(against="2"),
        'Protect answers "only from being suspected"',
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_said_in_the_words_of_the_page(name):
    change, said = MISTAKES[name]
    document = example_document("health")
    change(document["question"][0])
    survey, (mistake, *_) = settle(cleaned(document))
    assert survey is None
    sentence = sentence_of(mistake)
    assert said in sentence
    assert not re.search(r"item_count|epsilon(?! 0)| = ", sentence.split("such as")[0])


def test_a_question_is_asked_again():
    app = open_page("questions", **MORE)
    app.text_input(key="rounds.count-0-0").input("4").run()
    assert session(app).document["question"][0]["rounds"] == {"count": "4"}
    app.text_input(key="rounds.changes-0-0").input("1").run()
    app.toggle(key="rounds.times_open-0-0").set_value(True).run()
    assert not app.exception
    plan = session(app).planned
    assert plan.survey.questions[0].rounds.deployed.rotation_groups == 2
    app.text_input(key="rounds.count-0-0").input("").run()
    assert "rounds" not in session(app).document["question"][0]


def test_two_questions_are_asked_together_and_looked_at_as_one():
    document = example_document("health")
    level = {"name": "all", "epsilon": "1", "items": "yes; no"}
    document["question"][0]["level"] = [level]
    questions = open_page("questions", survey=word_of(document))
    choose(
        questions, "A person gives", "joint"
    )  # with a new question, as there is none
    survey, mistakes = settle(cleaned(session(questions).document))
    assert not mistakes
    (both,) = survey.questions
    assert both.kind == "joint"
    assert both.of == ("diagnosis", "question 1")
    together = metric(questions, TOTAL)
    write(questions, "Name of the question", "illness")
    assert survey_names(questions) == [
        "illness",
        "question 1",
        "illness and question 1",
    ]
    by_label(questions.get("button_group"), "Question").set_value(2).run()
    assert "One report answers illness and question 1." in words(questions)
    assert (
        metric(questions, TOTAL) == together
    )  # of a part it is that of the joint question
    by_label(questions.get("button_group"), "Question").set_value(0).run()
    choose(questions, "A person gives", "categorical")
    assert survey_names(questions) == ["illness", "question 1"]


def test_a_third_question_is_asked_together_with_two():
    level = {"name": "all", "epsilon": "1", "items": "yes; no"}
    names = ("first", "second", "third")
    document = {
        "survey": {"name": "s", "users": "1000"},
        "question": [{"name": name, "level": [level]} for name in names],
    }
    app = open_page("questions", survey=word_of(document))
    choose(app, "A person gives", "joint")
    by_label(app.multiselect, "Goes together with").set_value([1, 2]).run()
    assert not app.exception
    (joint,) = settle(cleaned(session(app).document))[0].questions
    assert joint.of == names
    by_label(app.multiselect, "Goes together with").set_value([2]).run()
    questions = settle(cleaned(session(app).document))[0].questions
    assert {question.name for question in questions} == {"second", "first and third"}


def survey_names(app):
    return [question["name"] for question in session(app).document["question"]]


def test_what_another_question_costs_is_said_where_it_is_added(questions):
    alone = metric(questions, TOTAL)
    by_label(questions.button, "Add a question").click().run()
    assert metric(questions, "diagnosis") != alone
    assert f"asked alone {alone}" in words(questions)
    by_label(questions.button, "Ask each person one question").click().run()
    assert session(questions).document["survey"]["design"] == "one-each"
    assert "This plan does so." in words(questions)


def budget_meanings(app):
    bodies = [element.proto.body for element in app.get("html")]
    return [body for body in bodies if "guessed" in body]


def test_a_budget_is_said_in_people_who_are_guessed_right(questions):
    first = budget_meanings(questions)[0]
    assert "at most 80 of 100 guessed right" in first  # of ln 4: 4 to 1
    type_levels(questions, {0: {"epsilon": "1"}})
    assert "at most 74 of 100 guessed right" in budget_meanings(questions)[0]
    type_levels(questions, {0: {"epsilon": "?"}})
    assert len(budget_meanings(questions)) == 1


def test_the_budget_of_a_number_is_said_in_people_too(questions):
    choose(questions, "A person gives", "numeric")
    (usual,) = budget_meanings(questions)
    assert "at most 74 of 100 guessed right" in usual  # of 1, as it starts
    write(questions, "Budget (epsilon, needed)", "ln 4")
    (larger,) = budget_meanings(questions)
    assert "at most 80 of 100 guessed right" in larger
    write(questions, "Budget (epsilon, needed)", "")
    assert budget_meanings(questions) == []  # nothing is said of no budget


def test_two_rounds_say_on_this_page_whom_they_do_not_protect():
    app = open_page("questions", example="sampled-ages")
    assert "Both rounds of a person linkable: epsilon is INFINITE" in words(app)


def test_an_empty_name_is_asked_for_at_its_field(questions):
    write(questions, "Survey", "")
    assert "Survey is still empty" in words(questions)
    assert "Level is still" not in words(questions)
