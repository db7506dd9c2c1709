from dataclasses import replace

from planner import Level, Question, Survey, misplaced, plan_survey
from planner.planning.whole_survey.sentences import (
    design_sentence,
    misplaced_sentence,
    spending_sentence,
)
from tests.planning.whole_survey.surveys import HOUSEHOLD


def test_the_better_design_is_named_and_how_to_get_it():
    split, each = (plan_survey(replace(HOUSEHOLD, design=d)) for d in ("split", "one-each"))
    assert 'splits the budgets all the same: to change that, put design = "one-each"' in (
        design_sentence(split)
    )
    assert design_sentence(each).endswith("This plan does so.")


def test_what_a_person_spends_is_never_shown_smaller_than_it_is():
    for design, words in (("split", "the sum over the questions"), ("one-each", "one question")):
        plan = plan_survey(replace(HOUSEHOLD, design=design))
        sentence = spending_sentence(plan)
        assert words in sentence
        shown = float(sentence.split()[-2])
        assert plan.most_spent - 1e-9 <= shown < plan.most_spent + 1e-4


def first_of(*levels):
    made = tuple(Level(f"{i}", e, item_count=n) for i, (e, n) in enumerate(levels))
    return plan_survey(Survey("s", 100, (Question("q", made, mechanism="opt0"),))).questions[0]


def test_what_misplaced_items_do():
    question = first_of((1.0, 5), (1.2, 5), (2.0, 90))
    view = misplaced(question.table, 0.05)
    wasted = 1 - (1 - view.wasted_error) ** 0.5  # of the root, as all errors are
    sentence = misplaced_sentence(question)
    assert f"{view.exposed_items:.3g} items are protected less than promised" in sentence
    assert f"by up to {view.largest_excess:.3f} nats" in sentence
    size = "smaller" if wasted > 0 else "larger"
    assert f"in their right levels the total error would be {abs(wasted):.1%} {size}" in sentence
    assert "no promise is broken" in misplaced_sentence(first_of((1.0, 1), (1.0, 9)))
    assert "right levels" not in misplaced_sentence(first_of((1.0, 1), (1.2, 9)))


def test_nothing_is_misplaced_where_there_is_one_level():
    assert misplaced_sentence(first_of((1.0, 4))) is None
    mean = plan_survey(replace(HOUSEHOLD, questions=HOUSEHOLD.questions[2:]))
    assert misplaced_sentence(mean.questions[0]) is None
