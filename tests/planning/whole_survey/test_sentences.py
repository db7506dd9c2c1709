from dataclasses import replace

from planner import plan_survey
from planner.planning.whole_survey.sentences import (
    design_sentence,
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
