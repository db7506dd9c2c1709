from planner.planning.whole_survey.plan import plan_survey
from planner.show.report import report_html
from planner.survey import Level, Numeric, Question, Survey
from planner.survey.numeric_domain import NumericDomain
from planner.survey.set_model import AssumedSets


def test_the_report_escapes_what_the_survey_says():
    evil = '<script>alert("x")</script>'
    question = Question(evil, (Level(evil, 1.0, item_count=3), Level("b", 2.0, item_count=3)))
    page = report_html(plan_survey(Survey(evil, 100, (question,))))
    assert "<script>alert" not in page


def test_item_sets_have_a_padding_chart():
    sets = AssumedSets([0, 5, 3, 1])
    question = Question("q", (Level("a", 2.0, item_count=9),), kind="item-set", sets=sets)
    survey = Survey("s", 10_000, (question,))
    page = report_html(plan_survey(survey))
    assert "The padding length" in page


def test_a_mean_has_no_levels_but_its_mechanisms():
    numeric = Numeric(NumericDomain(0, 100), epsilon=2.0)
    survey = Survey("s", 1000, (Question("age", (), kind="numeric", numeric=numeric),))
    page = report_html(plan_survey(survey))
    body = page.rpartition("<h1>")[2]
    assert "<h2>age</h2>" in body
    assert "All mechanisms at these budgets" in body
    assert "<th>level</th>" not in body
    assert "What an observer can come to believe" not in body
