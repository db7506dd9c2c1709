from planner.planning.whole_survey import plan_whole_survey
from planner.report import report_html
from planner.set_model import AssumedSets
from planner.survey import Level, Question, Survey


def test_the_report_escapes_what_the_survey_says():
    evil = '<script>alert("x")</script>'
    question = Question(evil, (Level(evil, 1.0, item_count=3), Level("b", 2.0, item_count=3)))
    page = report_html(plan_whole_survey(Survey(evil, 100, (question,))))
    assert "<script>alert" not in page


def test_item_sets_have_a_padding_chart():
    sets = AssumedSets([0, 5, 3, 1])
    question = Question("q", (Level("a", 2.0, item_count=9),), kind="item-set", sets=sets)
    survey = Survey("s", 10_000, (question,))
    page = report_html(plan_whole_survey(survey))
    assert "The padding length" in page
