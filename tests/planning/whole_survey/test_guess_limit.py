"""A limit on guesses, from the survey file to what is planned, deployed and said."""

import json
from dataclasses import replace

import numpy as np
import pytest

from planner import AssumedSets, Level, Padding, Question, Survey, plan_survey, smallest_budgets
from planner.deployment.parameter_file.building import deployable_files
from planner.errors import InputError, PlannerError
from planner.outsiders import DesignGuessing, exposure_of
from planner.planning.whole_survey import tables
from planner.planning.whole_survey.guess_limit import GuessLimit
from planner.planning.whole_survey.sentences import certificate_sentence, limit_sentence
from planner.survey import Numeric
from planner.survey.file import survey_from_text
from planner.survey.numeric_domain import NumericDomain
from planner.survey.target import Target
from planner.survey.writer import survey_to_text
from planner.ui.draft.categorical import CategoricalDraft
from tests.cli.running import invoke

LEVELS = (Level("rare", 1.0, item_count=2), Level("usual", 2.0, item_count=6))
FREE = Question("q", LEVELS, targets=(Target(error=0.001),))
LIMIT = 0.2
TEXT = """
[survey]
name = "s"
users = 10_000
[[question]]
name = "q"
[[question.limit]]
guess = 0.2
[[question.level]]
name = "rare"
epsilon = 1.0
item_count = 2
[[question.level]]
name = "usual"
epsilon = 2.0
item_count = 6
"""


def planned(question, users=10_000, **changes):
    return plan_survey(Survey("s", users, (question,), **changes)).questions[0]


@pytest.fixture(scope="module")
def free():
    return planned(FREE)


@pytest.fixture(scope="module")
def limited():
    return planned(replace(FREE, guess_limit=LIMIT))


def test_the_limit_is_kept_and_costs_error(free, limited):
    unlimited = free.outsiders().guess.success
    assert unlimited > 1.1 * LIMIT
    assert limited.deployed.mechanism == "subset-design"
    law = DesignGuessing.of(limited.design)
    assert 0.999999 * LIMIT < law.success(np.full(8, 1 / 8)) <= LIMIT
    assert limited.guessing.reached == pytest.approx(law.success(np.full(8, 1 / 8)), rel=1e-9)
    assert limited.outsiders().guess.success <= LIMIT
    assert limited.guessing.lift == pytest.approx(limited.outsiders().lift)
    for likeliest in (0.2, 0.5, 0.9):  # what limits one belief, limits all of them
        prior = np.append(likeliest, np.full(7, (1 - likeliest) / 7))
        for belief in (prior, prior[::-1]):
            assert law.success(belief) <= limited.guessing.lift * likeliest
    assert "raises the right guesses at most 1.60-fold" in limit_sentence(limited)
    assert limited.total_error > 1.01 * free.total_error
    assert limited.lower_bound <= limited.total_error <= limited.lower_bound * (1 + 1e-5)


def test_its_price_is_what_a_larger_one_saves(limited):
    larger = planned(replace(FREE, guess_limit=LIMIT * 1.001))
    saved = (limited.total_error - larger.total_error) * 10
    assert limited.guessing.price == pytest.approx(saved, rel=0.01)
    assert f"about {limited.guessing.price:,.3g} people" in limit_sentence(limited)
    assert "20 of 100 people; it is for 20." in limit_sentence(limited)
    assert "these budgets and this limit" in certificate_sentence(limited)


def test_only_mechanisms_that_keep_it_are_compared(free, limited):
    compared = {one.name for one in limited.choice.candidates}
    assert "subset-design" in compared < {one.name for one in free.choice.candidates}
    for name in compared - {"subset-design"}:
        assert limited.choice.of(name).against > 0
    out = " ".join(limited.choice.left_out)
    policy = limited.deployed.policy
    assert (
        exposure_of(planned(replace(FREE, mechanism="opt0")).table, policy).guess().success > LIMIT
    )
    assert "IDUE opt0 is left out: the best guess is right for" in out
    # As many items are in every level then, and the limit is kept.
    assert limited.misplacement.wasted_error == pytest.approx(0, abs=1e-5)


def test_the_smallest_budgets_keep_it(limited):
    about = limited.deployed.policy, 10_000, Target(error=limited.targets[0].reached)
    answer = smallest_budgets(*about, "subset-design", guess_limit=LIMIT)
    assert answer.scale == pytest.approx(1, rel=1e-4)
    assert answer.certified.types.guess <= LIMIT
    assert smallest_budgets(*about, "subset-design").scale < 0.9
    assert limited.targets[0].budgets.startswith(
        "Impossible, because even at budgets up to 24 and with the limit on guesses, the best is"
    )
    with pytest.raises(InputError, match="guess_limit"):
        smallest_budgets(*about, guess_limit=LIMIT)


def test_a_limit_that_costs_nothing(free):
    plan = planned(replace(FREE, guess_limit=0.9))
    assert plan.total_error == free.total_error
    assert plan.guessing.price == 0
    assert limit_sentence(plan).endswith("It costs nothing.")
    assert limit_sentence(free) is None


def test_several_questions_keep_it_at_their_shares():
    questions = replace(FREE, targets=(), guess_limit=LIMIT), replace(FREE, name="r", targets=())
    plan = plan_survey(Survey("s", 10_000, questions))
    first, second = plan.questions
    assert first.share < 1
    assert first.outsiders().guess.success <= LIMIT
    assert first.guessing.limit == LIMIT
    assert second.guessing is None


def test_the_file_says_it():
    survey = survey_from_text(TEXT)
    assert survey.questions[0].guess_limit == LIMIT
    assert survey_from_text(survey_to_text(survey)) == survey
    draft = CategoricalDraft.of(survey.questions[0])
    assert draft.guesses == "0.2"
    assert draft.build()[0] == survey.questions[0]
    draft.guesses = "many"
    assert any("right guesses" in problem for problem in draft.build()[1])
    twice = TEXT.replace("guess = 0.2", "guess = 0.2\n[[question.limit]]\nguess = 0.3")
    with pytest.raises(PlannerError, match="given once"):
        survey_from_text(twice)
    with pytest.raises(PlannerError, match=r"limit 1, gues is not a known key"):
        survey_from_text(TEXT.replace("guess =", "gues ="))


def test_command_line_and_export(tmp_path, limited):
    path = tmp_path / "survey.toml"
    path.write_text(TEXT)
    document = json.loads(invoke("plan", path, "--json").stdout)["questions"][0]["guess_limit"]
    assert document["limit"] == LIMIT
    assert document["reached"] <= LIMIT
    assert document["price"] == pytest.approx(limited.guessing.price, rel=1e-3)
    text = " ".join(invoke("plan", path).stdout.split())
    assert document["sentence"] in text
    plan = plan_survey(survey_from_text(TEXT))
    assert deployable_files(plan)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"guess_limit": 0.125}, "above 0.125 and at most 1"),
        ({"guess_limit": float("nan")}, "above 0.125"),
        ({"guess_limit": True}, "above 0.125"),
        ({"guess_limit": "0.2"}, "above 0.125"),
        ({"guess_limit": 1 / 9, "kind": "item-set", "padding_length": 2}, "above 0.111111 and"),
        ({"guess_limit": 0.2, "criterion": "minimax"}, "'total' where"),
        ({"guess_limit": 0.2, "rule": ((1.0, 1.0), (1.0, 2.0))}, '"min" or "avg" where'),
    ],
)
def test_questions_that_cannot_have_one(changes, said):
    with pytest.raises(InputError, match=said):
        replace(FREE, targets=(), **changes)


def test_a_mean_cannot_have_one():
    mean = Numeric(NumericDomain(0, 10), epsilon=1.0)
    with pytest.raises(InputError, match="'categorical' or 'item-set' where"):
        Question("m", (), kind="numeric", numeric=mean, guess_limit=0.2)


def test_sets_have_one_on_what_is_drawn():
    sets = Question("q", LEVELS, kind="item-set", sets=AssumedSets([1, 4, 3, 2]))
    one = planned(replace(sets, guess_limit=0.18))
    free = planned(replace(sets, padding_length=one.padding_length))
    assert free.design.types.guess > 1.1 * 0.18
    assert one.deployed.mechanism == "subset-design"
    assert 0.999999 * 0.18 < one.guessing.reached <= 0.18
    assert one.guessing.lift == pytest.approx(one.outsiders().lift)
    assert "guessing which answer was drawn, or that none was" in limit_sentence(one)
    assert one.guessing.price > 0
    assert one.padding_length == one.padding.length
    assert one.total_error > 1.01 * free.total_error
    assert one.lower_bound <= one.total_error <= one.lower_bound * (1 + 1e-5)
    assert "these budgets and this limit and reports one answer drawn" in certificate_sentence(one)
    assert [rival.name for rival in one.choice.candidates] == ["subset-design"]
    assert all("nobody knows" in why for why in one.choice.left_out)
    wanted = Target(error=one.total_error / 10_000)
    padding = Padding(sets.sets)
    about = one.deployed.policy, 10_000, wanted, "subset-design", None, None, padding
    answer = smallest_budgets(*about, 0.18)
    assert (answer.scale, answer.padding_length) == (pytest.approx(1, rel=1e-4), one.padding_length)
    assert answer.certified.design.types.guess <= 0.18
    with pytest.raises(InputError, match="Only these are made for a limit"):
        planned(replace(sets, guess_limit=0.18, mechanism="oue"))
    many = tuple(Level(f"l{i}", 1.0 + i / 10, item_count=2) for i in range(6))
    with pytest.raises(InputError, match="6 levels differ, and at most 5 may for a limit on sets"):
        planned(replace(sets, guess_limit=0.18, levels=many))


def test_mechanisms_that_are_not_made_for_one():
    with pytest.raises(InputError, match="Only these are made for a limit"):
        planned(replace(FREE, guess_limit=LIMIT, mechanism="opt0"))


def test_many_levels_and_designs_that_are_drawn_otherwise(monkeypatch):
    many = tuple(Level(f"l{i}", 1.0 + i / 10, item_count=2) for i in range(6))
    with pytest.raises(InputError, match="levels differ"):
        planned(Question("q", many, guess_limit=0.1))
    design = planned(replace(FREE, targets=(), guess_limit=LIMIT)).design
    loose = planned(replace(FREE, targets=())).design
    monkeypatch.setattr(tables, "_drawn", lambda _: replace(loose, objective=design.objective))
    monkeypatch.setattr(tables, "_check_deployable", lambda _: None)
    with pytest.raises(InputError, match="kept by a design on a grid"):
        tables.Tables().limited(design.policy, design.objective, named=False)


def test_the_sentence_shows_the_limit_as_it_was_written():
    sentence = GuessLimit(0.018, 0.0179, 1234.5, 1.789).sentence
    assert "at most 1.8 of 100 people; it is for 1.79." in sentence
    assert "about 1,234 people" in sentence
