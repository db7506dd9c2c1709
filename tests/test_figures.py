"""Every figure that is stated is measured: each kind of question, in every way it can be asked.

A cell plans a survey, draws what clients send, counts and estimates it as a collector does. What
the plan and `simulate` state is held against the errors, limits against how often they hold, the
people among whom a person hides against how many report; figures of two faces are compared as
numbers. Seeds are fixed. False alarms: one in a million for each test of a cell; errors that are
``NEAR`` times those stated, or limits so much narrower, are refused.
"""

from itertools import chain, product

import numpy as np
import pytest
from scipy.stats import binom, chi2

from planner import (
    Categorical,
    ItemSet,
    ItemSets,
    Joint,
    Numeric,
    Ordinal,
    SampledChoice,
    Sampling,
)
from planner.deployment import bulk
from planner.deployment.collecting.engines import counter
from planner.deployment.collecting.estimating import estimates_table
from planner.deployment.parameters import survey_parameters
from planner.mechanisms.words import seeded_words
from planner.planning.comparison import compare_plans
from planner.planning.datasets import AnswerCounts
from planner.planning.plan import plan_survey
from planner.planning.sampled import ACKNOWLEDGEMENTS
from planner.show.blocks import Facts, people, percent, quantity
from planner.show.json import plan_json
from planner.show.plan import question_blocks
from planner.survey.asked_again import AskedAgain
from planner.survey.assumed import AssumedSets
from planner.survey.levels import Level
from planner.survey.survey import Survey
from planner.trial.simulate import Trial
from tests.refusals import refused
from tests.surveys import tries

# limits of few people are exact, and slow
PEOPLE = tries(6000, 1500)
RUNS = tries(16, 250)
NEAR = tries(35, 16) / 10
MISS = 1e-6
TABLE = ("a", "b", "c", "d")
SHARES = (0.1, 0.4, 0.3, 0.2)
LEVELS = (Level("rare", 1.5, TABLE[:1]), Level("usual", 3.0, TABLE[1:]))
SETS = AssumedSets([0, 2, 2, 1], popularity="uniform")
YES = tries(1, 0) == 1
NUMBER = Numeric("q", 0, 1, epsilon=2.0, yes_no=YES, mean=0.5, sd=None if YES else 0.35)
PARTS = tuple(Categorical(name, (Level("all", 3.0, ("0", "1")),)) for name in "xy")
RARE = (PEOPLE // 50,) * 4
RELY = Sampling("round-two", ACKNOWLEDGEMENTS["round-two"])
KINDS = {
    "choice by a design": Categorical("q", LEVELS),
    "choice by a table": Categorical("q", LEVELS, mechanism="opt0"),
    "choice by hashing": Categorical("q", LEVELS, mechanism="olh"),
    "sets by a design": ItemSet("q", LEVELS, sets=SETS),
    "sets by a table": ItemSet("q", LEVELS, sets=SETS, mechanism="opt0"),
    "ordered": Ordinal("q", LEVELS),
    "mean of scores": Ordinal(
        "q", LEVELS, scores=(0, 1, 2, 4), wanted="mean of scores"
    ),
    "number by a channel": NUMBER.replacing(mechanism="channel"),
    "number by BiSample": NUMBER.replacing(mechanism="bisample-md"),
    "rare answer": SampledChoice(
        "q", (Level("l", 1.0, TABLE, yes_counts=RARE),), sampling=RELY
    ),
    "joint": Joint("q", ("x", "y")),
}
BESIDE = (Categorical("r", LEVELS), Categorical("s", LEVELS))
ONCE = AskedAgain(count=3)
VALUE = AskedAgain(count=3, changes=1, times_open=True)
WAYS = {
    "alone": ((), {}, {}),
    "split": (BESIDE[:1], {}, {}),
    "some each": (BESIDE, {"design": "some-each", "asked": 2}, {}),
    "once": ((), {}, {"rounds": ONCE}),
    "one value": ((), {}, {"rounds": VALUE}),
    "half refuse": ((), {}, {"refusals": 0.5}),
    "from a pilot": ((), {}, {"sets": AssumedSets(pilot="pilot.csv")}),
}
CANNOT = {
    ("joint", design): "a joint question is asked once"
    for design in ("once", "one value")
}
CANNOT |= {
    ("rare answer", design): "it has two rounds of its own"
    for design in ("once", "one value")
}
CANNOT |= {
    (kind, "half refuse"): "only of numbers refusals are planned" for kind in KINDS
}
CANNOT |= {(kind, "from a pilot"): "a pilot is about sets" for kind in KINDS}
for kind in KINDS:
    if kind.startswith(("number", "sets")):
        del CANNOT[kind, "half refuse" if kind.startswith("number") else "from a pilot"]
PARTS_OF = {
    "average over rounds": "average of rounds",
    "change between rounds": "change from 1 to 2",
}
LEAST = {
    "numeric": 0.65,
    "ordinal": 0.85,
}  # of the least favourable answers' error; else 0.97
EVERY = list(product(KINDS, WAYS))
LONE = [("sets by a table", design) for design in ("from a pilot", "one value")]
LONE += [(kind, "one value") for kind in ("joint", "mean of scores")]
CELLS = (
    EVERY[:: tries(3, 1)] + LONE[: tries(4, 0)]
)  # each kind, each way, and lines of their own


def codes_of(question, rng):
    """What people answer, as a law takes it."""
    if question.kind == "numeric":
        middle = (
            0.0 if question.yes_no else 0.51
        )  # with this the spread is the stated one
        ends = (1 - middle) / 2
        numbers = rng.choice([0.0, 0.5, 1.0], PEOPLE, p=[ends, middle, ends])
        refuse = rng.random(PEOPLE) < question.refusing
        return [
            None if out else number
            for number, out in zip(numbers.tolist(), refuse, strict=True)
        ]
    if question.kind == "item-set":
        sizes = rng.choice(4, PEOPLE, p=np.divide(SETS.sizes, sum(SETS.sizes)))
        orders = rng.random((PEOPLE, 4)).argsort(axis=1).tolist()
        return [
            tuple(sorted(order[:size]))
            for order, size in zip(orders, sizes, strict=True)
        ]
    if question.kind == "sampled-choice":  # of none of the values the code is 0
        return np.repeat(np.arange(5), (PEOPLE - sum(RARE), *RARE)).tolist()
    return rng.choice(4, PEOPLE, p=SHARES).tolist()


def answers_of(question, codes):
    """The answers as `simulate` takes them."""
    labels = getattr(question, "ordered", TABLE)
    if question.kind == "numeric":
        return np.array(codes, dtype=float)
    if question.kind == "item-set":
        sets = ItemSets.of(list(map(list, codes)), 4)
        return AnswerCounts(labels, sets.counts(), sets)
    return AnswerCounts(labels, np.bincount(codes, minlength=4))


def truth_of(question, labels, codes):
    """By the names of the rows that are estimated: people, or the mean."""
    if question.kind == "numeric":
        return {"mean": np.mean([code for code in codes if code is not None])}
    rare = question.kind == "sampled-choice"
    if question.kind == "item-set":
        every = chain.from_iterable(codes)
    else:
        every = codes
    held = np.bincount(np.fromiter(every, dtype=int), minlength=4 + rare)[rare:]
    if question.kind != "ordinal":
        return dict(zip(labels, held.tolist(), strict=True))
    if question.of_mean:
        return {"mean score": held @ question.scores / len(codes)}
    return {
        f"up to {x}": n
        for x, n in zip(labels[:-1], np.cumsum(held).tolist(), strict=False)
    }


def collected(parameters, law, codes):
    """The estimates of one collection, and how many report in its first round."""
    sums = {}
    for number, reports in bulk.reports_by_round(law, codes).items():
        counting = counter(law)
        counting.add(np.ascontiguousarray(reports))
        sums[law.name, number] = counting.sums()
    first = sums[min(sums, key=str)]
    if law.blanks:
        number = first.counts[-1]
    else:
        number = first.users
    frame = estimates_table(parameters, sums).to_pandas()
    return frame, int(number)


def pilot_of(codes):
    """A file of sets, a person a row."""
    rows = (";".join(TABLE[k] for k in code) for code in codes)
    return "\n".join(["q", *rows]) + "\n"


def drawn(parameters, planned, codes, rng):
    """Of every part of the estimates the errors, and which limits hold; how many report."""
    law = parameters.question("q")
    question = planned.question
    labels = getattr(question, "ordered", TABLE)
    truth = truth_of(question, labels, codes)
    gaps = {}
    held = {}
    narrow = []
    reporting = []
    names = list(truth)
    if question.of_mean:
        scale = 1.0
    else:
        scale = planned.part.people / PEOPLE
    # Limits allow for what is cut of sets, and those of means for who is asked, too.
    if question.kind == "item-set" or question.of_mean:
        wider = 2
    else:
        wider = 1
    goal = scale * np.array(list(truth.values()))
    for _ in range(RUNS * (2 if question.of_mean else 1)):
        some = []
        for k in rng.choice(PEOPLE, planned.part.people, replace=False).tolist():
            some.append(codes[k])
        true_numbers = np.array(list(truth_of(question, labels, some).values()))
        table, number = collected(parameters, law, some)
        reporting.append(number)
        for part, rows in table.groupby("of", sort=False):
            if part in ("x", "y") or " with " in part or " among " in part:
                continue
            columns = rows.set_index("answer").loc[
                names, ["estimate", "lower", "upper"]
            ]
            value, low, high = columns.to_numpy().T
            stays = "change" not in part
            gaps.setdefault(part, []).append(value - stays * goal)
            off = np.abs(stays * true_numbers - (low + high) / 2)
            held.setdefault(part, []).append(off <= (high - low) / 2 + 1e-9)
            if len(gaps) == 1:
                narrow.append(off <= (high - low) / 2 / NEAR / wider)
    arrays = (
        {part: np.array(rows) for part, rows in measured.items()}
        for measured in (gaps, held)
    )
    return *arrays, np.array(narrow), reporting


def errs_as(gaps, stated, least=1.0):
    """Whether errors are as stated, or down to a part of it; free numbers by Satterthwaite."""
    squares = np.square(gaps).sum(axis=1).mean()
    moment = gaps.T @ gaps
    if not squares or not stated:
        return squares == stated
    free = len(gaps) * np.trace(moment) ** 2 / np.square(moment).sum()
    low, high = chi2.ppf([MISS / 2, 1 - MISS / 2], free) / free
    return least**2 * low <= squares / stated**2 <= high


def check_faces(plan, planned):
    """The plan's figures are those of JSON, of comparisons, and of text, report and app."""
    everything = plan_json(plan)
    document = next(
        question for question in everything["questions"] if question["name"] == "q"
    )
    assert document["total_error"] == planned.total_error
    assert document["error_share"] == planned.error_share
    assert document["users"] == planned.part.people
    assert document["share"] == planned.part.share
    assert document["fraction"] == planned.part.fraction
    compared = {}
    for row in compare_plans(plan, plan):
        if row.question == "q":
            compared[row.what] = row.second
    assert compared["total error, %"] == 100 * planned.error_share
    for name, *both in () if planned.again is None else planned.again.beside:
        stated = [planned.part.total(number) for number in both]
        assert [*document["rounds"]["errors"][name].values()] == stated
        rows = [compared[f"{name}{which}, %"] for which in ("", ", answers drawn anew")]
        assert rows == pytest.approx(
            [100 * error / planned.part.whole for error in stated]
        )
    facts = []
    for block in question_blocks(planned):
        if isinstance(block, Facts):
            facts.append(block.facts)
    shown = {fact.value for some in facts for fact in some}
    if not planned.question.locally_private:
        assert f"{people(planned.total_error)} people" in shown
        return
    error = f"{people(planned.total_error)} people"
    if planned.question.of_mean:
        error = quantity(planned.total_error)
    assert {error, percent(planned.error_share)} <= shown
    view = planned.outsiders()
    stated = next(
        question for question in plan.outsiders().questions if question.question == "q"
    )
    json = next(
        question
        for question in everything["outsiders"]["questions"]
        if question["question"] == "q"
    )
    assert json["shuffled"]["people"] == stated.shuffled.people == view.shuffled.people
    assert (
        json["shuffled"]["epsilon"] == stated.shuffled.epsilon == view.shuffled.epsilon
    )


@pytest.mark.parametrize(("kind", "way"), CELLS)
def test_what_is_stated_is_measured(kind, way, monkeypatch, tmp_path):
    question = KINDS[kind]
    (beside, survey, keys) = WAYS[way]
    if (kind, way) in CANNOT:
        with refused("refusals", "rounds", "sets"):
            question.replacing(**keys)
        pytest.skip(CANNOT[kind, way])
    rng = np.random.default_rng(5)
    monkeypatch.setattr(bulk, "system_words", lambda: seeded_words(rng))
    monkeypatch.chdir(tmp_path)
    codes = codes_of(question.replacing(**keys), rng)
    if way == "from a pilot":
        (tmp_path / "pilot.csv").write_text(pilot_of(codes))
    asked = (*(PARTS if kind == "joint" else ()), question.replacing(**keys), *beside)
    plan = plan_survey(Survey("s", PEOPLE, asked, **survey))
    planned = plan.question("q")
    check_faces(plan, planned)
    parameters = survey_parameters(plan)
    gaps, held, narrow, reporting = drawn(parameters, planned, codes, rng)
    for part, rows in held.items():
        enough = binom.ppf(MISS, len(rows), 0.93)
        assert rows.sum(axis=0).min() >= enough, part
    assert narrow.sum(axis=0).min() < enough
    first = next(iter(gaps.values()))
    least = LEAST.get(planned.question.kind, 0.97)
    if planned.question.locally_private:
        answers = answers_of(planned.question, codes)
        predicted = Trial.of(planned, answers).run(1, rng)[0].predicted
        assert least < predicted / planned.total_error < 1.02
        assert errs_as(first, predicted)
        assert not errs_as(first, NEAR * predicted)
        assert not errs_as(first, predicted / NEAR)
        people = planned.outsiders().shuffled.people
        assert 0.75 * np.mean(reporting) < people <= min(reporting)
    else:  # at 95 % no count is further off
        enough = binom.ppf(MISS, len(first), 0.95)
        inside = [np.abs(first) * near <= planned.total_error for near in (1, NEAR)]
        assert inside[0].sum(axis=0).min() >= enough > inside[1].sum(axis=0).min()
    for name, stays, _ in () if planned.again is None else planned.again.beside:
        stated = planned.part.total(stays)
        assert errs_as(gaps[PARTS_OF[name]], stated, least)
        assert stated == 0 or not errs_as(gaps[PARTS_OF[name]], stated / NEAR, least)
