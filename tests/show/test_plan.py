"""What a plan says, and to whom."""

import math
import re
from dataclasses import replace
from math import inf

import numpy as np
import pytest

from planner import (
    Padded,
    SetPromises,
    Target,
    compare_plans,
    plan_survey,
    survey_from_text,
)
from planner.deployment.parameters import survey_parameters
from planner.outsiders.false_reports import FalseReports
from planner.planning.targets import TargetAnswer
from planner.show.blocks import Facts, Sentence, Table
from planner.show.kinds import certificate_sentences, proven_in_short
from planner.show.plan import (
    error_sentence,
    plan_blocks,
    question_blocks,
)
from planner.show.promises import (
    moves_sentence,
    promises,
    promises_of,
    verification_blocks,
)
from planner.show.targets import target_sentence
from tests.surveys import EXAMPLES

LEVELS = (
    '[{name = "rare", epsilon = 1, item_count = 10},'
    ' {name = "usual", epsilon = 2, item_count = 50}]'
)
SETS = f'kind = "item-set"\nlevel = {LEVELS}\n'
SIZES = [5, 20, 18, 15, 10, 8, 6, 5, 4, 3]
MEAN = 'kind = "numeric"\nlower = 0\nupper = 10\nepsilon = 2\nmean = 3\n'
SCALE = (
    'kind = "ordinal"\nlevel = [{name = "l", epsilon = 2, items = ["a", "b", "c"]}]\n'
)


def plan(*questions, users=50_000, **keys):
    """A plan of questions that are written as in a file."""
    lines = "".join(f"{key} = {value!r}\n" for key, value in keys.items())
    asked = [f'[[question]]\nname = "q{k}"\n{text}' for k, text in enumerate(questions)]
    text = f'[survey]\nname = "s"\nusers = {users}\n{lines}' + "".join(asked)
    return plan_survey(survey_from_text(text))


def question(text, users=50_000):
    (planned,) = plan(text, users=users).questions
    return planned


def sentences(blocks, rank=None, tone=None):
    return [
        block.text
        for block in blocks
        if isinstance(block, Sentence)
        and (rank is None or block.rank == rank)
        and (tone is None or block.tone == tone)
    ]


def levels(*budgets, items=3):
    every = (
        f'{{name = "{chr(97 + k)}", epsilon = {e}, item_count = {items}}}'
        for k, e in enumerate(budgets)
    )
    return f"level = [{', '.join(every)}]\n"


# Who needs what


def test_everybody_sees_the_error_and_a_promise_and_one_recommendation():
    planned = question(f"level = {LEVELS}\n")
    shown = sentences(question_blocks(planned), "everybody")
    assert len(shown) == 3
    assert shown[0].startswith(
        "Mechanism: Subset design, proven best. Protecting all answers"
    )
    assert shown[1].startswith("No report changes the odds")
    assert shown[2].startswith(
        "Raising the budget of 'rare' in the file by 0.1 lowers the total error by"
    )
    (facts,) = (block for block in question_blocks(planned) if isinstance(block, Facts))
    assert [fact.name for fact in facts.facts][2] == "least exact, an answer of 'rare'"
    assert (
        facts.facts[3].value == f"{math.ceil(planned.total_error**2 / 50_000 / 1e-4):,}"
    )
    assert all(
        x.rank != "everybody" for x in question_blocks(planned) if isinstance(x, Table)
    )


ONE_SIDED = (
    'rule = "one-sided"\nlevel = [\n'
    ' {name = "l", epsilon = 1, against = 0.5, items = ["a", "b"]},\n'
    ' {name = "h", epsilon = 3, against = 1, items = ["c", "d", "e"]},\n]\n'
)


def raising(text, users):
    """The plan of a question, what raising a budget is said to do, and by how much, as a share."""
    planned = question(text, users)
    said = sentences(question_blocks(planned), "everybody")[-1]
    (saved,) = re.findall(r"^Raising .* by 0\.1 lowers .* by ([\d.]+) %;", said)
    return planned, said, float(saved) / 100


def test_one_sided_advice_names_the_key_that_the_file_raises_and_whose_odds_it_costs():
    """It named the budget, which changes nothing, and said that no odds change more."""
    planned, said, saving = raising(ONE_SIDED, users=100_000)
    assert said.startswith("Raising 'against' of 'l' in the file by 0.1 lowers")
    assert said.endswith(
        "odds may then change more: against 'l' 1.83-fold instead of 1.65-fold."
    )
    raised = question(ONE_SIDED.replace("against = 0.5", "against = 0.6"), 100_000)
    assert raised.total_error / planned.total_error == pytest.approx(
        1 - saving, abs=6e-4
    )
    assert np.exp(raised.realised[1, 0]) == pytest.approx(1.83, abs=0.01)
    # The other key would have bought nothing.
    other = question(ONE_SIDED.replace("epsilon = 1,", "epsilon = 1.1,"), 100_000)
    assert other.total_error == pytest.approx(planned.total_error, rel=1e-3)


def test_one_sided_advice_names_the_budget_for_an_answer_where_that_one_limits():
    text = ONE_SIDED.replace("against = 0.5", "against = 3").replace(
        "against = 1,", "against = 3,"
    )
    planned, said, saving = raising(text, users=100_000)
    assert said.startswith("Raising 'epsilon' of 'l' in the file by 0.1 lowers")
    raised = question(text.replace("epsilon = 1,", "epsilon = 1.1,"), 100_000)
    assert raised.total_error / planned.total_error == pytest.approx(
        1 - saving, abs=6e-4
    )


def test_advice_under_a_matrix_is_about_its_entries():
    """It named the level's own budget, which decides nothing there."""
    matrix = np.array([[1, 2, 0.5], [2, 1.5, 1], [0.5, 1, 2]])
    text = levels(1, 2, 2, items=5)
    planned, said, saving = raising(f"rule = {matrix.tolist()}\n{text}", 1_000_000)
    assert said.startswith(
        "Raising every entry in the matrix's row and column of 'a' in the file by 0.1"
    )
    matrix[0, :] += 0.1
    matrix[1:, 0] += 0.1
    raised = question(f"rule = {matrix.tolist()}\n{text}", 1_000_000)
    assert raised.total_error / planned.total_error == pytest.approx(
        1 - saving, abs=6e-4
    )


def test_what_budgets_buy_at_the_shares_of_now_says_that_shares_are_planned_anew():
    (first, _) = plan(levels(1, 2), levels(1, 2)).questions
    (said,) = (
        text
        for text in sentences(question_blocks(first), "everybody")
        if text.startswith("Raising")
    )
    assert "if its shares of budgets and people stayed as they are" in said
    assert "the next plan shares them anew" in said


def test_another_mechanism_is_recommended_only_where_it_can_be_deployed():
    worse = question(f'mechanism = "grr"\nlevel = {LEVELS}\n')
    assert any(
        "Subset design would have" in said for said in sentences(question_blocks(worse))
    )
    mean = question(MEAN + 'mechanism = "bisample-md"\n')
    said = sentences(
        question_blocks(mean), "everybody"
    )  # Hybrid is better, and is not deployed
    assert not any("Hybrid" in sentence for sentence in said)


def test_a_table_has_a_proof_of_its_own_beside_that_of_all_mechanisms():
    for name, proven in (("opt0", True), ("grr", False)):
        blocks = question_blocks(question(f'mechanism = "{name}"\nlevel = {LEVELS}\n'))
        *table, of_all = sentences(blocks, tone="proof")
        assert "any mechanism of any kind" in of_all or "no mechanism of any" in of_all
        assert [sentence.startswith("Proven: no opt0 table") for sentence in table] == [
            True
        ] * proven


def test_the_error_of_the_worst_item_is_that_of_an_answer_that_few_people_have():
    """Deployed variance, of a hundred people of whom nobody, or everybody, has the second item."""
    planned = question(
        f'criterion = "minimax"\nmechanism = "grr"\nlevel = {LEVELS}\n', users=100
    )
    assert "worst single item, for an answer that few people have" in error_sentence(
        planned
    )
    people = 100 * np.eye(60, dtype=int)[:2]
    rare, common = (planned.law.variance(person)[1] ** 0.5 for person in people)
    assert planned.total_error == pytest.approx(rare, rel=1e-6)
    assert common > 1.1 * rare


def test_saturation_names_the_levels_whose_budget_it_is_about():
    """Never the strictest, whose budget holds all others, nor one that is still below."""

    def said(*budgets):
        return [
            x
            for x in sentences(question_blocks(question(levels(*budgets))))
            if "Satur" in x
        ]

    assert said(1.0, 1.5) == said(1.0) == []
    assert said(1.0, 1.5, 3.0) == [
        "Saturation: budget above 2.0000 buys 'c' nothing while the other levels stay as they are."
    ]
    assert " buys 'b' and 'c' and 3 more levels nothing " in said(1.0, *[9.0] * 5)[0]


@pytest.mark.parametrize(
    ("gap", "short", "near"),
    [
        (
            52.3,
            "proven no worse than 7.3 times the best",
            "no more than 7.3 times the least",
        ),
        (0.2, "proven within 10 % of the best", "within 10 % of the least"),
    ],
)
def test_both_sentences_of_a_proof_say_one_figure(gap, short, near):
    """It was "within 630 % of the best"; then "within 10 %", and "by more than 9 %", of one gap."""
    planned = question(SETS + 'mechanism = "set-design"\npadding_length = 2\n')
    promises_made = planned.fact(SetPromises)
    facts = tuple(
        replace(promises_made, gap=gap) if fact is promises_made else fact
        for fact in planned.facts
    )
    said = replace(planned, facts=facts)
    assert short in proven_in_short(said)
    assert near in certificate_sentences(said)[0]


def test_a_bound_that_says_nothing_is_said_to_say_nothing():
    """Nothing was said of the proof where the search for a bound ends below 0."""
    planned = question(f"level = {LEVELS}\n")
    unknown = tuple(replace(option, bound=0.0) for option in planned.solved_options)
    planned = replace(planned, solved_options=unknown)
    assert planned.bound_unknown
    assert proven_in_short(planned) == "how near it is to the best is not known"
    assert certificate_sentences(planned)[0].startswith("Not proven: how near")


def test_no_bound_on_set_designs_is_said_to_be_none():
    """Nothing was said of the proof of a large budget; at a smaller one its factor is."""
    sets_of_six = (
        'kind = "item-set"\nlevel = [{name = "all", epsilon = EPSILON, item_count = 6}]\n'
        "[question.sets]\nsizes = [5, 20, 18, 15, 10]\n"
    )
    planned = question(sets_of_six.replace("EPSILON", "4"), 2000)
    assert planned.mechanism_label == "Set design"
    assert proven_in_short(planned) == "how near it is to the best is not known"
    assert certificate_sentences(planned)[0].startswith("Not proven: how near")
    proven = question(sets_of_six.replace("EPSILON", "3"), 2000)
    assert proven_in_short(proven).startswith("proven no worse than")


@pytest.mark.parametrize(
    ("rise", "fall", "said"),
    [
        (3.75, 1.25, "by up to 3.75 up and 1.25 down."),
        (3.75, -0.15, "by up to 3.75 up, and never down."),
        (-0.15, 3.75, "by up to 3.75 down, and never up."),
    ],
)
def test_a_sum_that_moves_one_way_alone_is_said_to(rise, fall, said):
    """A fall of -0.15, which is a rise, stood there as a number."""
    moves = FalseReports(
        ("up to a",), np.array([2.0]), np.array([1.0]), score_sum=(rise, fall)
    )
    assert moves_sentence(moves).endswith(f"The sum of the scores moves {said}")


def test_a_minimax_plan_states_the_error_of_an_answer_that_everybody_has():
    """Deployed variance: up to five times that of an answer that few have, which stood alone."""
    planned = question(
        'criterion = "minimax"\nmechanism = "opt0"\n' + levels(4.0), 1000
    )
    variance = planned.law.variance(np.array([1000, 0, 0]))
    expected = math.sqrt(variance[0])
    assert planned.error_if_common == pytest.approx(expected, rel=1e-6)
    assert planned.error_if_common > 2 * planned.total_error
    (facts,) = (block for block in question_blocks(planned) if isinstance(block, Facts))
    stated = {fact.name: fact.value for fact in facts.facts}
    assert (
        stated["of an answer that everybody has"]
        == f"{planned.error_if_common:.0f} people"
    )


def test_a_million_people_are_written_in_full():
    (facts,) = (
        block
        for block in question_blocks(question(levels(1.0), 1_000_000))
        if isinstance(block, Facts)
    )
    assert facts.facts[1].meaning == "the same, of 1,000,000"


# Cautions


@pytest.mark.parametrize(
    ("text", "users", "said"),
    [
        (levels(5.0, 1.0), 100_000, []),
        (
            levels(5.1, 6.0),
            100_000,
            [
                "A report may change the odds of an answer of 'b' against another 403.43-fold"
            ],
        ),
        (
            MEAN.replace("= 2", "= 8"),
            100_000,
            ["A report may change the odds of an answer of 'q0' against another 2,980"],
        ),
        (
            levels(5.0, 1.0),
            10,
            ["Only 10 people are asked", "The total error is larger than"],
        ),
        (
            MEAN.replace("= 2", "= 0.5"),
            1,
            ["Only 1 people", "The error of the mean is larger than half the range"],
        ),
        (
            SCALE.replace("= 2", "= 0.3"),
            1,
            ["Only 1 people", "The total error of the cumulative shares is larger"],
        ),
    ],
)
def test_cautions_are_not_given_without_reason(text, users, said):
    blocks = question_blocks(question(text, users))
    notes = sentences(blocks, tone="note")
    assert len(notes) == len(said)
    assert all(
        sentence.startswith(start) for sentence, start in zip(notes, said, strict=True)
    )


# Targets


def test_a_missed_target_says_what_would_meet_it():
    missed = question(levels(1.0, 2.0) + "target = [{error = 0.001}]\n")
    (said,) = sentences(question_blocks(missed), tone="missed")
    assert said.startswith(
        "Target, total error at most 0.1 % of the people: MISSED, reached"
    )
    assert "the smallest budgets in proportion that meet the targets" in said
    assert said.endswith("Or ask more people.")  # how many stands among the facts
    (answer,) = missed.targets
    assert f"Or ask {answer.users:,} people." in target_sentence(missed, answer)
    biased = question(
        f"padding_length = 1\n{SETS}target = [{{error = 0.001}}]\n"
        "[question.sets]\nsizes = [0, 0, 0, 1]\n"
    )
    (answer,) = biased.targets
    assert "Or no number of people would do" in target_sentence(biased, answer)
    assert "MISSED, reached nothing." in target_sentence(
        biased, replace(answer, reached=np.inf)
    )


# Sets


def of_sets(sizes=SIZES, length=None):
    if length is None:
        cut = ""
    else:
        cut = f"padding_length = {length}\n"
    if sizes is None:
        sizes_known = ""
    else:
        sizes_known = f"[question.sets]\nsizes = {sizes}\n"
    return question(SETS.replace("level", f"{cut}level", 1) + sizes_known)


def said_of_sets(one):
    return [
        said
        for said in sentences(question_blocks(one))
        if re.search(r"\b[Ss]ets?\b", said)
    ]


def test_what_is_cut_is_said_in_people():
    best = of_sets()
    padding = best.fact(Padded).plan
    length = best.fact(Padded).length
    said = " ".join(said_of_sets(best))
    share = np.array(SIZES) / sum(SIZES)
    size = np.arange(len(SIZES))
    lost = share @ np.maximum(0, size - length) / (share @ size)
    assert f"Padding length {length}; any from" in said
    assert f"is within 5 % of the best, {padding.length}." in said
    assert (
        f"Sets of more than {length} items are cut: {100 * lost:.4g} % of all" in said
    )
    most = best.mechanism.asked.longer.largest_bias(50_000)
    least = 50_000 * (share @ np.maximum(0, 1 - length / np.maximum(size, 1)))
    assert least < most < 1.1 * least  # and what 50,000 people may have more by chance
    assert f"too small by {most:,.0f} people at most" in said
    uncut = best.fact(Padded).uncut[1]
    assert f"A padding length of 9 cuts none of these sets: {uncut:,.0f}" in said
    assert "is assumed" in said


@pytest.mark.parametrize(
    ("sizes", "length", "said"),
    [
        (SIZES, 9, "No set has more than 9 items: none is cut"),
        (SIZES, 3, "Padding length 3, as set in the survey; any from"),
        (None, 60, "No set has more than 60 items"),
        (None, 3, "how many people have such sets is not known"),
    ],
)
def test_what_is_known_of_sets(sizes, length, said):
    assert said in " ".join(said_of_sets(of_sets(sizes, length)))


# Designs


def test_the_better_design_is_named():
    text = (EXAMPLES / "household.toml").read_text()
    for design, end in (
        ("split", "splits the budgets instead."),
        ("one-each", "does so."),
    ):
        survey = survey_from_text(text.replace('"split"', f'"{design}"'))
        planned = plan_survey(survey)
        said = sentences(plan_blocks(planned))
        assert said[0].endswith(end)
        assert (
            sum(
                "Mechanism: Subset design, proven best." in sentence
                for sentence in said
            )
            == 2
        )
        (spent,) = (
            sentence
            for sentence in said
            if sentence.endswith(" at most.") and "spends" in sentence
        )
        shown = float(spent.split()[-3])  # never smaller than it is
        assert planned.most_spent - 1e-9 <= shown < planned.most_spent + 1e-4


# Promises


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (
            '"min"',
            "an answer and any other more than 2.72-fold for 'a' and 7.39-fold for 'b', ",
        ),
        (
            '"avg"',
            "an answer and any other more than 7.39-fold for 'a' and 20.09-fold for 'b', ",
        ),
        (
            "[[1.0, inf], [inf, 3.0]]",
            "that are protected from each other more than 2.72-fold for",
        ),
    ],
)
def test_the_factor_is_that_of_the_largest_pair(rule, said):
    promise, *others = promises(plan(f"rule = {rule}\n{levels(1.0, 3.0)}"))
    assert said in promise
    assert len(others) == ("inf" in rule)


def test_one_sided_budgets_promise_both_directions_and_are_offered_under_the_rule_min():
    planned = plan(f'rule = "one-sided"\n{levels(1.0, 3.0)}')
    assert promises(planned) == [
        "q0: No report raises the odds of an answer against any other more than 2.72-fold for 'a' "
        "and 20.09-fold for 'b', whoever looks and whatever they know; it may lower them up to "
        "20.09-fold: somebody may become known to be WITHOUT an answer."
    ]
    assert planned.questions[0].one_sided is None
    usual = plan(f'rule = "min"\n{levels(1.0, 3.0)}')
    (offer,) = (
        sentence
        for sentence in sentences(plan_blocks(usual))
        if sentence.startswith("One-sided budgets")
    )
    saved = 1 - planned.questions[0].total_error / usual.questions[0].total_error
    assert (
        f"would have {100 * saved:.1f} % less error: a report may then speak against"
        in offer
    )
    row = next(
        difference
        for difference in compare_plans(usual, planned)
        if difference.what == "said against (epsilon)"
    )
    assert row.level == "a"
    assert row.first == pytest.approx(1.0)
    assert row.second == pytest.approx(3.0)
    alike = plan(f'rule = "min"\n{levels(1.0, 1.0)}').questions[0]
    assert alike.one_sided is None  # nothing would change


@pytest.mark.parametrize(
    ("rule", "items", "promised", "openly"),
    [
        (
            [[0.1, inf], [inf, 0.1]],
            1,
            "",
            "NO BUDGET PROTECTS 'a' FROM 'b': every report",
        ),
        ([[0.1, inf], [inf, 0.1]], 2, "1.11-fold", "NO BUDGET PROTECTS 'a' FROM 'b': "),
        (
            [
                [9, inf, 1],
                [inf, 9, inf],
                [1, inf, 9],
            ],
            1,
            "2.72-fold",
            "PROTECTS 'b' FROM 'a', 'c'",
        ),
        (
            [
                [1, inf, 1],
                [inf, 1, 1],
                [1, 1, 1],
            ],
            1,
            "2.72-fold",
            "",
        ),  # by way of the third
    ],
)
def test_what_no_budget_protects_is_said_in_capitals(rule, items, promised, openly):
    """In the plan and of the file; nothing is promised of answers that are told as they are."""
    planned = plan(f"rule = {rule}\n{levels(*np.ones(len(rule)), items=items)}")
    *first, last = promises(planned)
    assert [promised in sentence for sentence in first] == [True] * bool(
        promised and openly
    )
    assert openly in last
    assert ("NO BUDGET" in last) == bool(openly)
    *notes, proof = sentences(verification_blocks(survey_parameters(planned)))
    assert [openly in note for note in notes] == [True] * bool(openly)
    assert ("keeps its promised budget" if promised else "protects nothing") in proof


@pytest.mark.parametrize("epsilon", [5.0, 13.8, 14.0, 20.0, 30.0])
def test_no_factor_is_said_to_be_smaller_than_it_is(epsilon):
    (question,) = (made := plan(levels(epsilon, items=2))).questions
    (promise,) = promises(made)
    used = float(question.realised.max())
    assert used == pytest.approx(epsilon, rel=1e-6) or epsilon > 13 < used < epsilon
    factor = float(re.search(r"([\d.,e+]+)-fold", promise).group(1).replace(",", ""))
    assert math.exp(used) * (1 - 1e-12) <= factor <= math.exp(used) * 1.1


def test_promises_of_every_kind_of_question():
    rare = (
        'kind = "sampled-choice"\n'
        'level = [{name = "r", epsilon = 1, items = ["x"], yes_counts = [40]}]\n'
        '[question.sampling]\nrelies_on = "aggregates-only"\n'
    )
    planned = plan(MEAN, f"{SETS}padding_length = 2\n", rare)
    number, sets, *views = promises(planned)
    most = math.exp(next(row.spent for row in planned.spending if row.question == "q0"))
    assert number.startswith(
        "q0: No report changes the odds between two numbers, or a number"
    )
    assert f"more than {math.ceil(100 * most) / 100}-fold" in number
    assert sets.startswith(
        "q1: No report changes the odds between a set of answers and any other"
    )
    assert len(views) == 3
    assert "INFINITE" in views[1]
    cap = f"{SETS}padding_length = 2\n[question.sets]\ncap = 2\n"
    whole, one_item = promises(plan(cap))
    assert "more than 7.39-fold" in whole
    assert "change at most 2.72-fold" in one_item
    drawn = SETS.replace("level", 'padding_length = 2\nmechanism = "opt0"\nlevel', 1)
    assert "fold where the least protected is 'rare' and" in promises(plan(drawn))[0]
    many = plan(levels(*(1 + k / 10 for k in range(15)), items=2))
    assert "more than from 2.72-fold for 'a' to" in promises(many)[0]


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (Target(error=0.01), "total error at most 1 % of the people"),
        (
            Target(error=0.0125, level="a"),
            "standard error of a rare item of 'a' at most 1.25 %",
        ),
        (Target(detect="5 %"), "every item detectable from 5 % of the people"),
        (
            Target(detect=0.05, level="a"),
            "every item of 'a' detectable from 5 % of the people",
        ),
    ],
)
def test_targets_in_words(target, text):
    answer = TargetAnswer(target, 0.0, None, None)
    assert (
        target_sentence(question(levels(1)), answer)
        == f"Target, {text}: met, reached 0 %."
    )


def test_a_caution_says_what_is_promised_of_the_same_report():
    """It took what a level tolerates: 403-fold beside a promise of no more than 5.90-fold."""
    asked = f"level = {LEVELS.replace('= 1', '= 6').replace('= 2', '= 1.775')}\n"
    blocks = question_blocks(question(asked))
    assert not sentences(blocks, tone="note")
    split = plan(
        f"level = {LEVELS.replace('= 1', '= 6').replace('= 2', '= 6')}\n", MEAN
    )
    assert split.questions[0].part.share < 0.8
    assert not any("next to no" in said for said in sentences(plan_blocks(split)))


def test_odds_that_are_lowered_by_level_are_said_in_english():
    """Of more than four levels with different odds, "up to from 1.23-fold" was said."""
    budgets = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
    planned = question('rule = "one-sided"\n' + levels(*budgets))
    assert not any("up to from" in said for said in promises_of(planned))


# Known groups


def with_groups(population="", users=2_000):
    text = (
        f'[survey]\nname = "s"\nusers = {users}\ngroups = {{ region = ["north", "east"] }}\n'
        f'{population}\n[[question]]\nname = "a"\n{levels(1.0)}'
    )
    return plan_survey(survey_from_text(text))


def test_a_group_of_which_nobody_is_expected_has_no_error():
    """A population of 0 divided by zero, once the parameters had been written."""
    blocks = plan_blocks(with_groups("population = { north = 1, east = 0 }"))
    (table,) = [x for x in blocks if isinstance(x, Table) and "region" in x.title]
    assert [column.cells[1] for column in table.columns] == ["east", "0", "no share"]
    assert "Fewer than 300 people are expected in 'east'." in sentences(blocks)


def test_groups_without_a_population_are_said_to_be_assumed():
    assumed = "How many people each region has is assumed"
    for population, shown in (
        ("", True),
        ("population = { north = 1, east = 1 }", False),
    ):
        blocks = plan_blocks(with_groups(population))
        said = sentences(blocks, tone="note")
        assert any(sentence.startswith(assumed) for sentence in said) == shown


def test_an_answer_that_no_report_has_on_its_high_side_is_explained():
    alone = (
        'level = [{name = "low", epsilon = 1, items = ["a"]},'
        ' {name = "high", epsilon = 3, item_count = 5}]\n'
    )
    explained = "An answer with a = b = 0 is on the low side in every report"
    blocks = question_blocks(question(alone))
    assert explained in str(blocks)
    blocks = question_blocks(question(f"level = {LEVELS}\n"))
    assert explained not in str(blocks)
