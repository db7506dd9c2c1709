import json
from dataclasses import replace

import numpy as np
import pytest

from planner import Level, Question, Survey, Target
from planner.cli.show.question import question_document, show_question
from planner.planning.whole_survey.plan import plan_survey
from planner.survey.set_model import AssumedSets
from tests.cli.running import printed

LEVELS = (Level("severe", 1.0, item_count=1), Level("common", 2.0, item_count=9))


def planned(users=10_000, others=(), design="split", **about):
    question = Question(**({"name": "q", "levels": LEVELS} | about))
    return plan_survey(Survey("s", users, (question, *others), design)).questions[0]


def words(question, several=False):
    page = printed(show_question, question, several)
    assert max(map(len, page.splitlines())) <= 80
    return " ".join(page.split())


def test_sets_show_their_padding_length_and_where_it_comes_from():
    sets = AssumedSets([0, 5, 3, 1])
    best = planned(kind="item-set", sets=sets)
    length = best.padding.length
    page = words(best)
    assert f"Padding length {length}, the best for these sets; best {length}, and any" in page
    assert f"One of a person's answers, padded or cut to {length}, is drawn" in page
    assert "Total error, expected for these sets" in page
    assert f"drawn of a set, padded or cut to {length}, with any unbiased" in page
    assert "Smallest share of the people" not in page  # truncation is not in that formula
    settled = words(planned(kind="item-set", sets=sets, padding_length=3))
    assert f"Padding length 3, as set in the survey; best {length}" in settled


def test_the_padding_curve_is_in_the_document():
    question = planned(kind="item-set", sets=AssumedSets([0, 5, 3, 1]))
    curve = json.loads(json.dumps(question_document(question), allow_nan=False))["padding"]
    assert curve["best"] == question.padding_length
    assert len(curve["lengths"]) == len(curve["squared_bias"]) == len(curve["variance"]) == 3
    assert curve["errors"][curve["best"] - 1] == pytest.approx(question.total_error)
    assert question_document(planned())["padding"] is None


def test_levels_beyond_the_first_forty_are_counted():
    many = tuple(Level(f"l{i}", 1 + i / 100, item_count=2) for i in range(43))
    page = words(planned(levels=many))
    assert "... and 3 more levels (see --json)." in page
    assert "... and 34 more levels (see --report)." in page  # 40 are explained, 6 here
    assert "l9 " in page
    shares = page.partition("Smallest share")[2].partition("Proven")[0]
    assert "..." in shares  # ten are shown


def test_one_each_says_how_many_are_asked():
    other = Question("other", LEVELS)
    asked = planned(others=(other,), design="one-each")
    assert "5,000 people answer it. Mechanism" in words(asked, several=True)
    assert "with 50.0% of its budgets" in words(planned(others=(other,)), several=True)


def test_one_level_has_no_other_to_belong_to():
    page = words(planned(levels=LEVELS[1:]))
    assert "belong to another level" not in page


def test_a_missed_target_says_what_would_meet_it():
    page = words(planned(targets=(Target(error=0.001),)))
    assert "Target, total error at most 0.1 % of the users: MISSED, reached" in page
    assert "These are the smallest budgets that meet the targets" in page
    assert "Or ask " in page


def test_a_target_that_no_number_of_people_meets():
    """Sets cut to one item are biased whatever is spent."""
    question = planned(
        kind="item-set",
        sets=AssumedSets([0, 0, 0, 1]),
        padding_length=1,
        targets=(Target(error=0.001),),
    )
    (answer,) = question.targets
    assert answer.users is None
    assert "Or no number of people would do" in words(question)
    unreached = replace(question, targets=(replace(answer, reached=np.inf),))
    assert "MISSED, reached nothing." in words(unreached)
    assert question_document(unreached)["targets"][0]["reached"] is None


def test_a_mechanism_without_a_proof_claims_none():
    for name in ("oue", "grr"):
        page = words(planned(mechanism=name))
        assert "table that keeps these budgets" not in page
        assert "Proven: no mechanism of any kind" in page  # which is about all of them
        assert "Total error" in page
        assert question_document(planned(mechanism=name))["certificate"] is None


def test_a_mean_is_judged_in_its_own_unit():
    from planner.survey.file import survey_from_text

    survey = survey_from_text(
        '[survey]\nname = "s"\nusers = 10000\n[[question]]\nname = "age"\nkind = "numeric"\n'
        "lower = 0\nupper = 100\nepsilon = 2.0\n"
    )
    (question,) = plan_survey(survey).questions
    page = words(question)
    assert "Error of the mean, for the least favourable answers" in page
    for one in question.choice.candidates:
        assert f"{one.error:.4g}" in page  # RMSE, in years
    assert f"{question.total_error:.4g} in the question's unit" in page
    assert "% of half the range" in page
