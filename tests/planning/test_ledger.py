import datetime
import json
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest

from planner import (
    Categorical,
    FileError,
    Level,
    Numeric,
    PrivacyPolicy,
    Survey,
    plan_survey,
)
from planner.planning.ledger import Ledger, LedgerEntry, read_ledger, record_collection
from planner.survey.survey import survey_text
from tests.cli.running import shown
from tests.refusals import refused

DAY = datetime.date(2026, 3, 1)


def survey(name, design="split", epsilon=1.0):
    levels = (
        Level("severe", epsilon, item_count=2),
        Level("common", 2 * epsilon, item_count=3),
    )
    questions = (Categorical("now", levels), Categorical("ever", levels))
    return Survey(name, 1000, questions, design)


def one(day, levels):
    return {"survey": "s", "day": day, "rule": "min", "spent": levels}


def spent(**levels):
    return LedgerEntry(survey="past", day="2026-01-01", rule="min", spent=levels)


def test_two_surveys_never_spend_more_than_is_tolerated():
    first = plan_survey(survey("first", epsilon=0.4))
    ledger = Ledger().after(first.collection(DAY))
    assert ledger.spent("severe") == pytest.approx(0.4)
    second = plan_survey(survey("second"), ledger=ledger)
    ledger = ledger.after(second.collection(DAY))
    assert ledger.spent("severe") == pytest.approx(1.0)
    assert ledger.spent("common") == pytest.approx(2.0)
    assert [row.left for row in second.spending][:2] == pytest.approx([0.6, 1.2])
    assert max(row.tolerated for row in second.spending) == 2.0
    with refused("budget left for 'severe'"):
        plan_survey(survey("third"), ledger=ledger)


def test_some_questions_each_spend_the_largest_of_so_many():
    levels = (Level("severe", 1.0, ("HIV",)), Level("common", 2.0, item_count=4))
    questions = tuple(Categorical(name, levels, mechanism="opt0") for name in "abc")
    plan = plan_survey(Survey("s", 1000, questions, "some-each", asked=2))
    assert plan.collection(DAY).spent == pytest.approx({"severe": 1.0, "common": 2.0})
    assert plan.most_spent == pytest.approx(2.0)


def test_what_is_left_keeps_every_pair_under_each_rule():
    past = Ledger().after(spent(A=0.5, B=0.2))
    policy = PrivacyPolicy([1.0, 2.0], [1, 4], names=["A", "B"])
    left = past.left(policy)
    assert left.epsilons.tolist() == [0.5, 1.8]
    other = PrivacyPolicy([1.0, 2.0], [1, 4], names=["C", "D"])
    assert past.left(other) == other
    average = LedgerEntry(survey="x", day="2026-01-01", rule="avg", spent={"A": 0.5})
    kept = (
        Ledger()
        .after(average)
        .left(PrivacyPolicy([1.0, 2.0], [1, 4], "avg", ["A", "B"]))
    )
    bounds = kept.bounds()
    assert bounds.tolist() == [[0.5, 1.25], [1.25, 2.0]]
    matrix = LedgerEntry(survey="x", day="2026-01-01", rule="matrix", spent={"A": 0.5})
    graph = PrivacyPolicy([1.0, 1.0], [1, 4], [[1, np.inf], [np.inf, 2]], ["A", "B"])
    assert Ledger().after(matrix).left(graph).bounds().tolist() == [
        [0.5, np.inf],
        [np.inf, 2],
    ]


def test_both_budgets_of_a_one_sided_survey_add_up():
    levels = (
        Level("severe", 1.0, item_count=2),
        Level("common", 2.0, item_count=3, against=1.5),
    )
    questions = (
        Categorical("now", levels, "one-sided"),
        Categorical("ever", levels, "one-sided"),
    )
    small = []
    for level in levels:
        small.append(
            level.replacing(epsilon=level.epsilon / 4, against=level.against and 0.5)
        )
    first = Survey(
        "first", 1000, tuple(question.replacing(levels=small) for question in questions)
    )
    collection = plan_survey(first).collection(DAY)
    assert collection.spent == pytest.approx({"severe": 0.25, "common": 0.5})
    assert collection.against == pytest.approx(
        {"severe": 0.5, "common": 0.5}
    )  # by what speaks for others
    ledger = Ledger().after(collection)
    policy = questions[0].policy.with_changes()
    left = ledger.left(policy)
    assert left.epsilons == pytest.approx([0.75, 1.5])
    expected = [np.inf, 1.0]
    assert left.against == pytest.approx(expected)
    second = plan_survey(Survey("second", 1000, questions), ledger=ledger).collection(
        DAY
    )
    assert ledger.after(second).spent("common", against=True) == pytest.approx(1.5)
    cleared = PrivacyPolicy(
        [1.0, 2.0], [2, 3], "one-sided", ["severe", "common"], [0.5, np.inf]
    )
    with refused("budget left for 'severe', as to what is said against them"):
        ledger.left(cleared)
    with refused("rule"):
        ledger.left(PrivacyPolicy([1.0, 2.0], [2, 3], names=["severe", "common"]))
    for entry in (
        collection,
        spent(severe=0.5),
    ):  # of one level a report says as much for as against
        alone = PrivacyPolicy([2.0], [3], "one-sided", ["severe"], [1.0])
        bounds = Ledger().after(entry).left(alone).bounds()
        assert bounds.tolist() == [[0.5]]


def test_nothing_left_and_mixed_rules_are_refused():
    past = Ledger().after(spent(A=1.0))
    by_matrix = LedgerEntry(
        survey="x", day="2026-01-01", rule="matrix", spent={"A": 0.5}
    )
    with refused("survey"):
        past.after(spent(B=1.0))
    for ledger, policy in (
        (past, PrivacyPolicy([1.0], [3], names=["A"])),
        (past, PrivacyPolicy([2.0, 3.0], [3, 1], "avg", ["A", "B"])),
        (Ledger().after(by_matrix), PrivacyPolicy([1.0], [3], [[0.5]], ["A"])),
    ):
        with refused("budget left for 'A'", "budget left for 'A' against 'A'", "rule"):
            ledger.left(policy)


def test_a_question_of_one_level_is_asked_again_whatever_the_rule_of_others():
    """Of one level all rules are one: a number beside a question of the rule avg is asked again."""
    levels = (Level("severe", 1.0, item_count=2), Level("common", 2.0, item_count=3))
    income = Numeric("income", 0, 10, epsilon=2.0)
    first = plan_survey(
        Survey("first", 1000, (Categorical("now", levels, "avg"), income))
    )
    ledger = Ledger().after(first.collection(DAY))
    second = plan_survey(Survey("second", 1000, (income,)), ledger=ledger)
    (row,) = second.spending
    expected = 2.0 - ledger.spent("income")
    assert row.left == pytest.approx(expected)
    with refused("rule"):
        plan_survey(Survey("third", 1000, (Categorical("now", levels),)), ledger=ledger)
    for rule in ("min", "avg", "matrix"):  # what is left of one level is the same
        entry = LedgerEntry(survey="x", day="2026-01-01", rule=rule, spent={"A": 0.5})
        past = Ledger().after(entry)
        for asked in ("min", "avg", [[2.0]]):
            policy = PrivacyPolicy([2.0], [3], asked, ["A"])
            bounds = past.left(policy).bounds()
            assert bounds.tolist() == [[1.5]]


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"format": "other"},
        {"extra": 1},
        {"collections": [{"survey": "s"}]},
        {"collections": [one("2026-01-01", {"A": -1.0})]},
        {"collections": [one("today", {"A": 1.0})]},
        {"collections": [one("2026-01-01", {"A": 1.0})] * 2},
    ],
)
def test_bad_files_are_refused(tmp_path, change):
    path = tmp_path / "ledger.json"
    text = json.dumps(Ledger().model_dump() | change)
    path.write_text(text)
    with refused(kind=FileError):
        read_ledger(path)


def test_unreadable_files_are_refused(tmp_path):
    with refused("No such file or directory", kind=FileError):
        read_ledger(tmp_path / "missing.json")
    (tmp_path / "text.json").write_text("{")
    with refused("EOF while parsing an object at line 1 column 1", kind=FileError):
        read_ledger(tmp_path / "text.json")


def test_the_ledger_that_a_survey_names_counts_wherever_it_is_planned(tmp_path):
    """Its plan, and a trial of it: who forgets the ledger promises what was spent already."""
    ledger = tmp_path / "ledger.json"
    file = tmp_path / "survey.toml"
    asked = survey("second").replacing(ledger=str(ledger))
    file.write_text(survey_text(asked))
    unspent = plan_survey(file)
    assert unspent.ledger == Ledger()
    assert "all budgets are left" in shown(
        "plan", file
    )  # nor is a misspelt name passed over
    plan = plan_survey(survey("first", epsilon=0.4))
    first = plan.collection(DAY)
    record_collection(ledger, unspent.ledger, first)
    assert "all budgets are left" not in shown("plan", file)
    plan = plan_survey(file)
    assert [row.left for row in plan.spending][:2] == pytest.approx([0.6, 1.2])
    data = tmp_path / "answers.csv"
    left = tmp_path / "left.toml"
    data.write_text("now\n" + "severe 1\ncommon 2\n" * 100)
    text = survey_text(survey("second", epsilon=0.6))
    left.write_text(text)
    words = ["--data", data, "--question", "now", "--repeats", 2, "--json"]
    printed = shown("simulate", file, *words)
    tried = json.loads(printed)
    printed = shown("simulate", left, *words)
    alike = json.loads(printed)
    predicted = [mechanism["predicted"] for mechanism in tried["mechanisms"]]
    assert predicted == pytest.approx(
        [mechanism["predicted"] for mechanism in alike["mechanisms"]], rel=1e-6
    )


def test_two_plans_with_one_ledger_are_not_both_recorded(tmp_path):
    """Both would spend what was left once."""
    path = tmp_path / "ledger.json"
    first = plan_survey(survey("first", epsilon=0.6))
    second = plan_survey(survey("second", epsilon=0.6))
    record_collection(path, Ledger(), first.collection(DAY))
    with refused("changed since this survey was planned with it", kind=FileError):
        record_collection(path, Ledger(), second.collection(DAY))
    assert [collection.survey for collection in read_ledger(path).collections] == [
        "first"
    ]
    assert [file.name for file in tmp_path.iterdir()] == ["ledger.json"]


def test_a_ledger_that_is_being_written_is_refused(tmp_path):
    lock = tmp_path / "ledger.json.lock"
    lock.touch()
    with refused("is being written by another process", kind=FileError):
        record_collection(tmp_path / "ledger.json", Ledger(), spent(A=1.0))
    assert lock.exists()
    with refused("No such file or directory", kind=FileError):
        record_collection(tmp_path / "no" / "ledger.json", Ledger(), spent(A=1.0))


def test_of_four_at_once_each_is_recorded_or_refused(tmp_path):
    path = tmp_path / "ledger.json"
    start = Barrier(4, timeout=60)

    def record(i):
        entry = LedgerEntry(
            survey=f"s{i}", day="2026-01-01", rule="min", spent={"A": 0.1}
        )
        start.wait()
        try:
            record_collection(path, Ledger(), entry)
        except FileError:
            return None
        return entry.survey

    for _ in range(50):
        path.unlink(missing_ok=True)
        with ThreadPoolExecutor(4) as pool:
            recorded = [name for name in pool.map(record, range(4)) if name is not None]
        assert len(recorded) == 1
        assert [
            collection.survey for collection in read_ledger(path).collections
        ] == recorded
