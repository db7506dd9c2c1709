"""Fields for what few surveys need: targets, known groups, anchors, distributions."""

import pytest

from planner.survey.numeric import Numeric
from planner.survey.survey import settle
from planner.ui.address import documents_of_word, word_of
from planner.ui.document import cleaned, example_document, set_kind
from planner.ui.typed import group_values, pairs_of, text_of_group, text_of_pairs
from tests.ui.pages import by_label, open_page, session, words

MORE = {"options-categorical": True, "sharing": True}


def survey_of(app):
    survey, mistakes = settle(cleaned(session(app).document))
    assert mistakes == ()
    return survey


def name_a_group(app, name, values):
    by_label(app.text_input, "Group").set_value(name).run()
    by_label(app.text_input, "Values").set_value(values).run()
    assert not app.exception


def test_a_difference_between_groups_is_typed_and_planned():
    app = open_page(**MORE)
    assert "Groups to tell apart are named" in words(app)
    name_a_group(app, "region", "north; south")
    by_label(app.text_input, "Difference of groups to be seen").set_value("5 %").run()
    assert by_label(app.selectbox, "Between values of").value == "region"
    assert "From a share of is still empty" in words(app)
    by_label(app.text_input, "From a share of").set_value("20 %").run()
    (target,) = survey_of(app).questions[0].targets
    assert target.difference == 0.05
    assert target.between == "region"
    assert target.from_share == 0.2
    by_label(app.text_input, "Exact enough at").set_value("5 %").run()
    by_label(app.text_input, "Share to be seen").set_value("1 %").run()
    kinds = [target.kind for target in survey_of(app).questions[0].targets]
    assert sorted(kinds) == ["detect", "difference", "error"]
    planned = words(open_page("plan", app))
    assert "a difference of 5 % between any two of 'region' detected" in planned
    by_label(app.text_input, "From a share of").set_value("99 %").run()
    assert "as shares end at 1" in words(app)
    for label in (
        "Difference of groups to be seen",
        "From a share of",
        "Exact enough at",
    ):
        by_label(app.text_input, label).set_value("").run()
    assert not app.exception
    assert [target.kind for target in survey_of(app).questions[0].targets] == ["detect"]


def test_known_groups_and_the_people_of_each_are_typed():
    app = open_page(**MORE)
    name_a_group(app, "region", "north; south")
    by_label(app.text_input, "Group, row 2").set_value("age").run()
    by_label(app.text_input, "Values, row 2").set_value("20 to 90 by 10").run()
    people = "north = 60; south = 40"
    by_label(app.text_input, "People there are of each value").set_value(people).run()
    survey = survey_of(app)
    assert survey.named_groups == {"region": ("north", "south")}
    assert dict(survey.groups)["age"].values[:2] == ("20", "30")
    assert dict(survey.population) == {"north": 60, "south": 40}
    document = session(app).document
    assert documents_of_word(word_of(document)) == [document]
    by_label(app.text_input, "Group, row 2").set_value("region").run()
    assert "Known group is still empty" in words(app)  # a name is taken once
    by_label(app.text_input, "Values, row 2").set_value("").run()
    assert list(survey_of(app).named_groups) == ["region"]
    by_label(app.text_input, "Values").set_value("north").run()
    assert "a list of 2 to 1000 different texts" in words(app)


@pytest.mark.parametrize(
    "values", [["north", "a; b"], {"kind": "number", "lower": 1, "upper": 9}]
)
def test_groups_of_a_file_are_shown_as_text_that_reads_back(values):
    assert group_values(text_of_group(values)) == values
    table = {"north": "1", "south": "2"}
    assert pairs_of(text_of_pairs(table)) == table
    document = example_document("health")
    document["survey"]["groups"] = {"g": values}
    app = open_page(survey=word_of(document), **MORE)
    assert by_label(app.text_input, "Values").value == text_of_group(values)
    assert "g" in dict(survey_of(app).groups)


def test_an_anchor_follows_its_question(questions):
    by_label(questions.button, "Add a question").click().run()
    by_label(questions.selectbox, "A person gives").set_value("anchor").run()
    by_label(questions.selectbox, "Answer that is true of everybody").set_value(
        "anemia"
    )
    questions.run()
    assert not questions.exception
    _, anchor = survey_of(questions).questions
    assert anchor.anchor == "diagnosis"
    assert anchor.known == "anemia"
    assert "Every pair keeps" in " ".join(
        message.value for message in open_page("export", questions).success
    )
    for page in ("plan", "explore", "meaning"):
        opened = open_page(page, questions)
        assert not opened.warning, page
    document = session(questions).document
    by_label(questions.get("button_group"), "Question").set_value(0).run()
    by_label(questions.text_input, "Name of the question").set_value("illness").run()
    assert document["question"][1]["anchor"] == "illness"
    survey_of(questions)
    set_kind(document["question"][1], "categorical")
    assert "anchor" not in document["question"][1]


def test_a_question_has_one_anchor_and_is_offered_for_no_second(questions):
    for _ in range(2):
        by_label(questions.button, "Add a question").click().run()
        by_label(questions.selectbox, "A person gives").set_value("anchor").run()
    assert not questions.exception
    _, first, second = session(questions).document["question"]
    assert first["anchor"] == "diagnosis"
    assert second["anchor"] == ""


def test_a_distribution_has_cells_and_keeps_what_was_typed_of_a_mean():
    app = open_page(example="answer-rate")
    # Few people are planned with few cells, and so in a moment.
    by_label(app.text_input, "People asked").set_value("2,000").run()
    by_label(app.text_input, "Expected mean").set_value("30").run()
    by_label(app.selectbox, "Wanted").set_value("distribution").run()
    by_label(app.text_input, "Cells").set_value("16").run()
    assert not app.exception
    (question,) = survey_of(app).questions
    assert isinstance(question, Numeric)
    assert question.of == "distribution"
    assert question.cells == 16
    assert question.mean is None
    assert "Expected mean" not in [field.label for field in app.text_input]
    by_label(app.text_input, "Cells").set_value("1").run()
    assert "Cells is '1'" in words(app)
    by_label(app.selectbox, "Wanted").set_value("mean").run()
    (question,) = survey_of(app).questions
    assert question.of == "mean"
    assert question.cells is None
    assert question.mean == 30


def test_a_part_of_a_joint_question_may_be_a_scale(questions):
    by_label(questions.selectbox, "A person gives").set_value("joint").run()
    by_label(questions.selectbox, "Its answers are").set_value("ordinal").run()
    assert not questions.exception
    assert "What each counts for in a mean" not in [
        field.label for field in questions.text_input
    ]
    (joint,) = survey_of(questions).questions
    assert [part.kind for part in joint.parts] == ["ordinal", "categorical"]
    for page in (questions, open_page("plan", questions)):  # whose figures these are
        assert f"**{joint.name}**" in words(page)
    by_label(questions.selectbox, "Its answers are").set_value("categorical").run()
    (joint,) = survey_of(questions).questions
    assert [part.kind for part in joint.parts] == ["categorical"] * 2
