"""One plan solves nothing twice, to one gap: counted where every solve passes, for all examples."""

from collections import Counter

import pytest

from planner import AssumedSets, Level, Survey, Target, load_survey, plan_survey
from planner.planning import solve
from planner.solvers import solving
from planner.solvers.design_search import best_design
from planner.survey.questions import Categorical, ItemSet
from tests.surveys import EXAMPLES

LEVELS = (Level("health", 2.0, item_count=2), Level("everyday", 4.0, item_count=40))
SETS = ItemSet("articles", LEVELS, sets=AssumedSets([0, 40, 30, 20, 10]))
AIM = (Target(error=0.01),)


def surveys():
    for path in sorted(EXAMPLES.glob("*.toml")):
        survey = load_survey(path)
        yield path.stem, survey
        if len(survey.questions) > 1:
            yield f"{path.stem}, one each", survey.replacing(design="one-each")
    twins = tuple(Categorical(name, LEVELS, targets=AIM) for name in ("now", "ever"))
    yield "sets", Survey("shop", 50_000, (SETS,))
    yield "sets of OUE", Survey("shop", 50_000, (SETS.replacing(mechanism="oue"),))
    yield "sets and a choice", Survey("shop", 50_000, (SETS, Categorical("page", LEVELS)))
    yield "twins", Survey("twins", 50_000, twins)


SURVEYS = dict(surveys())


@pytest.mark.parametrize("name", SURVEYS)
def test_no_problem_is_solved_twice(name, monkeypatch):
    solved = Counter()
    solve_by = solving._solve_by

    def counted(program, method):
        solved[program.policy, program.model.name, program.objective] += 1
        return solve_by(program, method)

    def designed(policy, objective, tolerance):
        solved[policy, "subset-design", objective, tolerance] += 1
        return best_design(policy, objective, tolerance)

    monkeypatch.setattr(solving, "_solve_by", counted)
    monkeypatch.setattr(solve, "best_design", designed)
    solve.forget()
    plan_survey(SURVEYS[name])
    assert max(solved.values(), default=0) <= 1, solved.most_common(3)
    if any(one.kind in ("categorical", "item-set") for one in SURVEYS[name].questions):
        assert len(solved) >= 3  # every model at least: the count is of what is really solved
    if any(one.kind == "categorical" for one in SURVEYS[name].questions):
        assert any("subset-design" in problem for problem in solved)
    before = solved.copy()
    again = plan_survey(SURVEYS[name])
    assert solved == before
    assert len(again.questions) == len(SURVEYS[name].questions)


def test_an_edit_of_one_question_solves_nothing_of_another(monkeypatch):
    survey = SURVEYS["household"]
    diagnosis, page, *rest = survey.questions
    plan_survey(survey)
    solved = []

    def designed(policy, *about):
        solved.append(tuple(policy.item_counts.tolist()))
        return best_design(policy, *about)

    monkeypatch.setattr(solve, "best_design", designed)
    looser = diagnosis.replacing(targets=(Target(error=0.005),))
    plan_survey(survey.replacing(questions=(looser, page, *rest)))
    assert set(solved) == {tuple(diagnosis.policy.item_counts.tolist())}
