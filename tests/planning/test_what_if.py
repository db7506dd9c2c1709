"""What other budgets would do, and what becomes of targets."""

import numpy as np
import pytest

from planner import (
    Joint,
    Ledger,
    Padded,
    PrivacyPolicy,
    Survey,
    choice_curve,
    plan_survey,
    solve,
)
from planner.errors import ConvergenceError
from planner.mechanisms.rivals import bisample_variance
from planner.planning import option
from planner.planning.detection import (
    achieved,
    detectable_frequencies,
    users_needed,
)
from planner.planning.ledger import LedgerEntry
from planner.planning.plan import part_of
from planner.planning.question import plan_question
from planner.planning.solve import relaxed, scaled, solve_for
from planner.planning.targets import smallest_budgets
from planner.planning.what_if import (
    frontier,
    relaxations,
    usual_scales,
)
from planner.policy.budget_text import digits_up
from planner.show.targets import smallest_sentence
from planner.survey.choices import Categorical, ItemSet
from planner.survey.levels import Level, Target
from planner.survey.ordinal import Ordinal
from tests.planning.surveys import (
    HOUSEHOLD,
    KINDS,
    POLICIES,
    moderate_policy,
    shop,
    target,
    total,
    with_numeric,
    with_question,
)
from tests.refusals import refused

GRAPH = PrivacyPolicy([1.0, 2.0], [1, 4], [[np.inf, 3.0], [3.0, 1.5]], ["A", "B"])


@pytest.mark.parametrize("rule", ["min", "avg", "matrix", "one-sided"])
def test_relaxations_are_what_solving_again_gives(rule):
    rng = np.random.default_rng(2)
    policy = moderate_policy(rng, rule)
    of_all = choice_curve("q", policy)
    table = solve(policy)
    changes = relaxations(of_all, of_all.at())
    assert changes
    expected = sorted(changes, key=lambda r: -r.saving)
    assert list(changes) == expected
    for relaxation in changes:
        i = policy.names.index(relaxation.level)
        after = solve(relaxed(policy, i, 0.1)).worst_case_mse
        left = (1 - relaxation.saving) ** 2 * table.worst_case_mse
        assert left == pytest.approx(after, rel=1e-9)
        price = table.shadow_prices[
            i
        ]  # what is saved is less than its slope: convexity
        assert table.worst_case_mse - left <= 0.1 * price * (1 + 1e-6)


def test_relaxing_leaves_out_what_it_must():
    policy = PrivacyPolicy([1.0, 2.0], [1, 1])
    plain = choice_curve("q", policy, mechanism="oue")
    assert relaxations(plain, plain.at()) == ()
    policy = PrivacyPolicy([49.95, 10.0], [3, 3], rule="avg")
    full = choice_curve("q", policy)
    assert [relaxation.level for relaxation in relaxations(full, full.at())] == [
        "level 2"
    ]


@pytest.mark.parametrize("rule", ["min", "avg", "matrix", "one-sided"])
def test_frontier_is_certified_falls_and_is_convex(rule):
    rng = np.random.default_rng(3)
    policy = moderate_policy(rng, rule)
    curve = frontier(policy, 1000, np.linspace(0.4, 3, 14))
    assert curve.largest_gap <= 1e-6
    mse = curve.total_error**2
    assert (np.diff(mse) < 0).all()
    assert (np.diff(mse, 2) > 0).all()
    table = solve(scaled(policy, 3.0))
    assert mse[-1] * 1000 == pytest.approx(table.worst_case_mse, rel=1e-6)
    assert curve.level_errors[-1] ** 2 * 1000 == pytest.approx(table.noise, rel=1e-3)


def test_points_that_cannot_be_certified_are_left_out(monkeypatch):
    def solved(policy, *keys, **near):
        if policy.epsilons[0] > 1.5:
            raise ConvergenceError("Proven only to 2e-06")
        return solve_for(policy, *keys, **near)

    monkeypatch.setattr(option, "solve_for", solved)
    assert frontier(PrivacyPolicy([1.0], [4]), 10, [0.5, 1, 2]).scale.tolist() == [
        0.5,
        1.0,
    ]
    with refused("Proven only to 2e-06", kind=ConvergenceError):
        frontier(PrivacyPolicy([1.0], [4]), 10, [2])


def test_usual_scales_keep_every_budget_in_range():
    policy = PrivacyPolicy([1.0, 40.0], [1, 5])
    assert (usual_scales(policy) * 40 <= 50 * (1 + 1e-12)).all()
    assert frontier(policy, 10, usual_scales(policy, 3) * (1 - 1e-9)).scale.size == 3


@pytest.mark.parametrize("policy", POLICIES, ids=["min", "avg", "matrix"])
@pytest.mark.parametrize(("kind", "level"), KINDS)
def test_budgets_and_users_to_error_and_back(policy, kind, level):
    table = solve(policy)
    users = 50_123
    reached = achieved(table, users, target(kind, level, 0.5))
    assert users_needed(table, target(kind, level, reached)) == users
    assert achieved(table, users - 1, target(kind, level, 0.5)) > reached
    answer = smallest_budgets(policy, users, target(kind, level, reached))
    assert answer.possible
    assert answer.reached[0] <= reached
    assert answer.scale == pytest.approx(1, rel=1e-6)
    assert (answer.policy.epsilons <= policy.epsilons * (1 + 1e-6)).all()
    mechanism = solve(answer.policy)
    assert achieved(mechanism, users, target(kind, level, reached)) <= reached * (
        1 + 1e-9
    )
    of_all = kind == "error" and level is None
    assert answer.proven == of_all  # no more is claimed than is proven


def test_no_budget_is_proposed_that_buys_nothing():
    policy = PrivacyPolicy([1.0, 1.2, 4.0], [5, 5, 90], names=["A", "B", "C"])
    answer = smallest_budgets(policy, 10**6, Target(error=0.01))
    table = solve(scaled(policy, answer.scale))
    limit = table.saturation_epsilon
    assert answer.policy.epsilons[2] == pytest.approx(limit, rel=1e-9)
    table = solve(answer.policy)
    left = np.sqrt(table.worst_case_mse / 10**6)
    assert (
        left
        == pytest.approx(answer.reached[0], rel=1e-9)
        == pytest.approx(0.01, rel=1e-9)
    )
    assert "or where more buys nothing" in smallest_sentence(answer)


def test_no_budget_is_raised_beyond_the_largest():
    answer = smallest_budgets(
        PrivacyPolicy([1.0, 2.0], [1, 1]), 1, Target(detect=0.001)
    )
    assert not answer.possible
    assert "even at budgets up to 50, the best is" in smallest_sentence(answer)
    policy = PrivacyPolicy([1.0], [3])
    assert smallest_budgets(policy, 10, Target(error=1e-3)).possible


@pytest.mark.parametrize(
    ("users", "targets"),
    [
        (10, [Target(error=0.1), Target(error=0.2)]),
        (10, Target(error=0.1, level="D")),
        (10, []),
        (0, Target(error=0.1)),
    ],
)
def test_bad_searches_are_refused(users, targets):
    with refused("error", "level", "targets", "users"):
        smallest_budgets(POLICIES[0], users, targets)


@pytest.mark.parametrize("scales", [[0.0], [-1.0], [26.0], [np.nan], []])
def test_bad_scales_are_refused(scales):
    with refused("scales"):
        frontier(POLICIES[0], 10, scales)


def test_targets_that_next_to_no_budget_meets():
    answer = smallest_budgets(POLICIES[0], 10**12, Target(error=0.5))
    assert answer.possible
    assert "even with next to no budget" in smallest_sentence(answer)
    assert answer.policy.epsilons.min() == pytest.approx(1e-3)


def test_budgets_whose_error_cannot_be_told_from_rounding_are_not_tried():
    equal = PrivacyPolicy([1.0, 1.0], [1, 1])
    with pytest.raises(ConvergenceError):
        solve(PrivacyPolicy([50.0 * (1 - 1e-12)] * 2, [1, 1]))
    answer = smallest_budgets(equal, 1, Target(error=0.001))
    assert answer.possible
    assert answer.reached[0] <= 0.001


def test_what_can_be_detected_is_detected():
    # One-sided test at 95 %, power 80 %, checked by its definition.
    table = solve(POLICIES[0])
    users = 40_000
    share = detectable_frequencies(table.noise, table.signal, users)
    null = 1.6448536269514722 * np.sqrt(users * table.noise)
    spread = np.sqrt(users * (table.noise + share * table.signal))
    assert users * share - 0.8416212335729143 * spread == pytest.approx(null, rel=1e-9)


def answers(survey, name):
    (question,) = (q for q in plan_survey(survey).questions if q.question.name == name)
    return question.targets


def test_a_missed_target_says_how_many_people_would_do():
    plan = plan_survey(HOUSEHOLD)
    (missed,) = plan.questions[0].targets
    assert not missed.met
    error = solve(
        PrivacyPolicy(np.log([4, 6]) * plan.questions[0].part.share, [1, 4])
    ).worst_case_mse
    assert np.sqrt(error / missed.users) <= 0.01 < np.sqrt(error / (missed.users - 1))


def test_the_smallest_budgets_leave_room_for_the_sampling_error():
    level = Level("a", 1.0, item_count=5)
    other = Categorical("other", (level,), mechanism="opt0")
    asked = other.replacing(name="q", targets=total(0.02))
    survey = Survey("s", 10_000, (asked, other), "one-each")
    plan = plan_survey(survey)
    question = plan.questions[0]
    (answer,) = question.targets
    assert not answer.budgets.proven
    policy = PrivacyPolicy(answer.budgets.policy.epsilons, [5])
    table = solve(policy)
    unasked = 0.8 * (1 / question.part.fraction - 1)
    error = (table.worst_case_mse / question.part.fraction + unasked) / 10_000
    assert np.sqrt(error) == pytest.approx(0.02, rel=1e-3)
    (hopeless,) = answers(with_question(survey, "q", targets=total(0.005)), "q")
    assert "asking only some of the people" in smallest_sentence(hopeless.budgets)
    assert hopeless.budgets.sampling == pytest.approx(
        np.sqrt(unasked / 10_000), rel=1e-3
    )


@pytest.mark.parametrize(("design", "wanted"), [("split", 0.04), ("one-each", 0.038)])
def test_the_budget_of_a_mean_and_its_people_reach_the_target(design, wanted):
    survey = with_numeric(HOUSEHOLD, epsilon=3.0).replacing(design=design)
    survey = with_question(survey, "income", targets=total(wanted)).replacing(
        users=3000
    )
    plan = plan_survey(survey)
    (answer,) = plan.questions[2].targets
    assert not answer.met
    # The curve's own errors, at the share that spends this budget, by bisection on the share.
    mean = plan.questions[2].shared
    fraction = plan.questions[2].part.fraction
    share = answer.budgets.policy.epsilons[0] / 3.0
    reached = np.sqrt(mean.errors.error(mean.at(share).value, fraction) / 3000)
    assert reached == pytest.approx(wanted, rel=2e-3)
    # With so many people, asked at these shares, the target is met with equality.
    noise = plan.questions[2].error - mean.errors.bias
    assert noise / answer.users + mean.errors.bias / 3000 == pytest.approx(
        wanted**2, rel=1e-3
    )


def test_a_mean_that_no_budget_makes_precise_enough():
    (answer,) = answers(
        with_question(HOUSEHOLD, "income", targets=total(0.001)), "income"
    )
    assert not answer.met
    assert not answer.budgets.possible
    largest = np.sqrt(bisample_variance(1 / np.sinh(25) ** 2, 0.9) / 200_000)
    assert answer.budgets.reached[0] == pytest.approx(largest, rel=1e-3)


def test_sets_are_planned_with_a_longer_padding_for_more_people():
    def planned(users):
        plan = plan_survey(shop(users=users, targets=total(0.02)))
        return plan.questions[0]

    before = planned(2000)
    (missed,) = before.targets
    expected = np.sqrt(before.error / 2000)
    assert missed.reached == pytest.approx(expected)
    assert not missed.met
    after = planned(missed.users)
    assert after.fact(Padded).length > before.fact(Padded).length
    (reached,) = after.targets
    assert reached.met
    assert reached.reached == pytest.approx(0.02, rel=0.03)


def test_sets_of_a_fixed_length_keep_their_bias():
    survey = shop(padding_length=1, targets=total(0.02))
    (answer,) = answers(survey, "articles")
    assert answer.users is None
    assert "because long sets are cut (l = 1)" in smallest_sentence(answer.budgets)


def test_a_plan_with_the_smallest_budgets_of_sets_meets_the_target():
    def planned(scale):
        (question,) = shop(targets=total(0.2)).questions
        levels = tuple(
            level.replacing(epsilon=scale * level.epsilon) for level in question.levels
        )
        twins = (
            question.replacing(levels=levels),
            question.replacing(levels=levels, name="others"),
        )
        return (
            plan_survey(Survey("shop", 5_000, twins, "one-each"))
            .questions[0]
            .targets[0]
        )

    missed = planned(1.0)
    assert not missed.met
    said = smallest_sentence(missed.budgets)
    assert said.startswith(
        "These budgets meet the targets: health"
    )  # the sample's part is a bound
    assert planned(missed.budgets.scale).reached == pytest.approx(
        0.2, rel=1e-3
    )  # as to what asking half adds


def in_file(answer):
    """The budgets that an answer says to write, by level, as a survey file has them."""
    return {row.level: float(digits_up(row.epsilon)) for row in answer.in_file}


def test_budgets_that_a_survey_file_would_state_meet_the_target_where_they_are_shared():
    """Those spent were named: written into the file, they made the error 2.4 times as large."""
    levels = (Level("severe", 4.0, item_count=1), Level("usual", 6.0, item_count=4))
    goal = 0.025
    asked = Categorical("q", levels, mechanism="opt0", targets=total(goal))
    other = Categorical("other", levels, mechanism="opt0", weight=5.0)
    survey = Survey("s", 10_000, (asked, other))
    plan = plan_survey(survey).question("q")
    (missed,) = plan.targets
    assert not missed.met
    written = in_file(missed)
    assert written["severe"] > 4.0 > 1.5 * missed.budgets.policy.epsilons[0]
    changed = [level.replacing(epsilon=written[level.name]) for level in levels]
    again = asked.replacing(levels=tuple(changed))
    (met,) = plan_question(part_of(again, 10_000, Ledger(), plan.part.share)).targets
    assert met.met
    assert met.reached == pytest.approx(goal, rel=2e-3)
    # Planned anew the shares move a little, and the error with them.
    anew = plan_survey(survey.replacing(questions=(again, other))).question("q")
    assert anew.targets[0].reached == pytest.approx(goal, rel=0.1)


def test_budgets_of_a_ledger_count_in_the_file():
    level = Level("any", 3.0, item_count=5)
    asked = Categorical("q", (level,), mechanism="opt0", targets=total(0.01))
    spent = LedgerEntry(
        survey="first", day="2026-03-01", spent={"any": 1.0}, rule="min"
    )
    ledger = Ledger(collections=[spent])
    survey = Survey("s", 10_000, (asked,))
    plan = plan_survey(survey, ledger)
    question = plan.question("q")
    (missed,) = question.targets
    (written,) = missed.in_file
    expected = 1.0 + missed.budgets.policy.epsilons[0]
    assert written.epsilon == pytest.approx(expected)


def test_budgets_of_a_joint_question_are_those_of_its_parts():
    levels = (Level("severe", 1.0, ("x",)), Level("usual", 2.0, ("y", "z")))
    parts = (
        Categorical("a", levels),
        Categorical("b", (Level("any", 1.5, ("u", "v")),)),
    )
    joint = Joint("both", ("a", "b"), targets=total(0.03))
    survey = Survey("s", 10_000, (*parts, joint))
    question = plan_survey(survey).question("both")
    (missed,) = question.targets
    rows = [(row.question, row.level) for row in missed.in_file]
    assert rows == [("a", "severe"), ("a", "usual"), ("b", "any")]
    written = in_file(missed)
    raised = []
    for part in parts:
        new = [level.replacing(epsilon=written[level.name]) for level in part.levels]
        raised.append(part.replacing(levels=tuple(new)))
    again = plan_survey(survey.replacing(questions=(*raised, joint)))
    question = again.question("both")
    assert question.targets[0].reached == pytest.approx(0.03, rel=2e-3)


def test_a_relaxation_is_what_the_survey_file_gains_where_budgets_are_shared():
    """A tenth more was taken for a tenth more spent; and the odds of other levels rise as well."""
    levels = (Level("severe", 1.0, item_count=4), Level("usual", 2.0, item_count=1))
    asked = Categorical("q", levels, weight=0.1)
    other = Categorical("other", levels)
    survey = Survey("s", 10_000, (asked, other))
    plan = plan_survey(survey).question("q")
    best = plan.relaxations[0]
    assert best.level == "severe"
    raised = (levels[0].replacing(epsilon=1.0 + best.amount), levels[1])
    part = part_of(asked.replacing(levels=raised), 10_000, Ledger(), plan.part.share)
    again = plan_question(part)
    left = again.total_error / plan.total_error
    assert 1 - best.saving == pytest.approx(left, rel=1e-4)
    as_if_spent = relaxations(plan.curve, plan.planned)[0].saving
    assert as_if_spent > 1.5 * best.saving
    realised = plan.realised_after(best)
    assert realised == pytest.approx(again.realised, abs=1e-3)
    assert (realised > plan.realised + 1e-3).all()


@pytest.mark.parametrize("asked", [Target(detect=0.1), Target(error=0.1, level="any")])
def test_sets_means_and_ordered_answers_have_a_total_error_alone(asked):
    level = Level("any", 1.0, ("never", "weekly", "daily"))
    sets = ItemSet("q", (level,), padding_length=2)
    ordered = Ordinal("q", (level,))
    with refused("detect in a target of question 'income'", "level"):
        plan_survey(with_question(HOUSEHOLD, "income", targets=(asked,)))
    for question in (sets, ordered):
        with refused(
            "detect in a target of question 'q'", "level in a target of question 'q'"
        ):
            plan_survey(Survey("s", 100, (question.replacing(targets=(asked,)),)))


def test_targets_of_sets_are_about_the_total_error_whatever_is_made_small():
    levels = (Level("a", 1.0, item_count=2), Level("b", 2.0, item_count=6))
    sets = ItemSet(
        "q", levels, criterion="minimax", padding_length=2, targets=total(0.03)
    )
    survey = Survey("s", 100, (sets,))
    plan = plan_survey(survey)
    (question,) = plan.questions
    pairs = []
    for i in range(8):
        for j in range(i):
            pairs.append([i, j])
    worst = max(question.mechanism.variance([pair] * 100).sum() for pair in pairs)
    expected = np.sqrt(worst) / 100
    assert question.targets[0].reached == pytest.approx(expected, rel=1e-6)
    assert question.targets[0].reached > 1.5 * question.error_share


def test_targets_of_ordered_answers_are_not_weighted():
    answers = ("never", "monthly", "weekly", "daily")
    reached = []
    stated = []
    for importance in (1.0, 0.01):
        levels = Level("rare", 1.0, answers[:2]), Level("often", 1.0, answers[2:])
        levels = levels[0].replacing(importance=importance), levels[1]
        ordered = Ordinal("q", levels, targets=total(0.05))
        survey = Survey("s", 1000, (ordered,))
        plan = plan_survey(survey)
        (question,) = plan.questions
        reached.append(question.targets[0].reached)
        stated.append(question.error_share)
    assert reached[0] == pytest.approx(stated[0], rel=1e-3)
    assert reached[1] > reached[0] > 1.5 * stated[1]
