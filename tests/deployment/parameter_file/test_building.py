"""From mechanisms to a parameter file, or a refusal that names what does not fit."""

import math

import numpy as np
import pytest

from planner import InputError, Level, PrivacyPolicy, Question, Survey, VerificationError, solve
from planner.deployment.client.laws.exact import DENOMINATOR
from planner.deployment.client.laws.pairs import MAX_LISTED_LEVELS, demanded_budget
from planner.deployment.parameter_file.building import parameters_from_mechanisms, survey_parameters
from planner.mechanisms.direct import GeneralizedRandomizedResponse
from planner.mechanisms.means import BiSampleMD
from planner.mechanisms.padding import PaddedUnaryMechanism
from planner.mechanisms.unary import UnaryMechanism
from planner.planning import sampled as sampling_plan
from planner.planning.whole_survey.plan import plan_survey
from planner.survey import Numeric
from planner.survey.numeric_domain import NumericDomain
from tests.deployment.examples import LEVELS, every_mechanism


@pytest.mark.parametrize("rule", ["min", "avg", "matrix"])
def test_many_levels_list_each_levels_tightest_pair(rule, rng):
    size = MAX_LISTED_LEVELS + 3
    epsilons = rng.uniform(0.5, 3, size)
    matrix = np.minimum(epsilons[:, None], epsilons)
    levels = tuple(Level(f"l{i}", float(e), item_count=2) for i, e in enumerate(epsilons))
    chosen = tuple(map(tuple, matrix.tolist())) if rule == "matrix" else rule
    survey = Survey("many", 10, (Question("q", levels, chosen),))
    smallest = float(epsilons.min())
    mechanism = UnaryMechanism.rappor(smallest, 2 * size)
    question = parameters_from_mechanisms(survey, {"q": mechanism}).questions[0]
    assert len(question.pairs) <= 2 * size
    realised = question.pairs[0].realised
    room = {}
    for pair in question.pairs:
        for i in (pair.first, pair.second):
            room[i] = min(room.get(i, math.inf), pair.demanded - pair.realised)
    for i in range(size):
        demanded = [demanded_budget(epsilons.tolist(), chosen, i, j) for j in range(size)]
        assert room[i] == pytest.approx(min(demanded) - realised, abs=1e-9)


def test_large_tables_are_fast_enough_to_check(rng):
    size = 3000
    levels = tuple(
        Level(f"l{i}", float(e), item_count=3) for i, e in enumerate(rng.uniform(0.5, 3, size))
    )
    survey = Survey("large", 10, (Question("q", levels),))
    table = solve(survey.questions[0].policy)
    parameters = parameters_from_mechanisms(survey, {"q": table})
    assert len(parameters.questions[0].pairs) <= 2 * size


def test_sampling_privacy_without_acknowledgement_is_not_written():
    survey, mechanisms = every_mechanism()
    plan = mechanisms["sampled"]
    mechanisms["sampled"] = sampling_plan.SamplingPlan(plan.design, "round-two")
    with pytest.raises(InputError, match="acknowledged"):
        parameters_from_mechanisms(survey, mechanisms)


@pytest.mark.parametrize(
    ("mechanism", "error", "reason"),
    [
        (GeneralizedRandomizedResponse(1.01, 5), VerificationError, "realises"),
        (GeneralizedRandomizedResponse(1.0, 6), InputError, "items"),
        (UnaryMechanism.oue(1.01, 5), VerificationError, "break the policy"),
        (BiSampleMD(1.0, NumericDomain(0, 1)), InputError, "domain"),
        ("idue", InputError, "can be deployed"),
    ],
)
def test_a_mechanism_that_does_not_fit_its_question(mechanism, error, reason):
    survey = Survey("s", 10, (Question("q", LEVELS),))
    with pytest.raises(error, match=reason):
        parameters_from_mechanisms(survey, {"q": mechanism})


def test_item_sets_need_the_rule_min():
    question = Question("q", LEVELS, "avg")
    padded = PaddedUnaryMechanism(UnaryMechanism(solve(question.policy)), 2)
    with pytest.raises(InputError, match="min"):
        parameters_from_mechanisms(Survey("s", 10, (question,)), {"q": padded})


def test_mechanisms_must_be_one_for_each_question():
    survey, mechanisms = every_mechanism()
    del mechanisms["grr"]
    with pytest.raises(InputError, match="mechanisms"):
        parameters_from_mechanisms(survey, mechanisms)


def test_predictions_are_those_of_the_integers(small_parameters):
    question = small_parameters.questions[0]
    noise, signal = [], []
    for level in question.document["levels"]:
        a, b = level["a"] / DENOMINATOR, level["b"] / DENOMINATOR
        noise.append(level["item_count"] * b * (1 - b) / (a - b) ** 2)
        signal.append((1 - a - b) / (a - b))
    error = sum(noise) + max(signal)
    predicted = question.document["predicted"]
    assert predicted["worst_case_mse"] == pytest.approx(error, rel=1e-12)
    assert predicted["worst_case_mse"] == pytest.approx(8.567495463, rel=1e-8)
    assert predicted["lower_bound"] <= predicted["worst_case_mse"]
    gap = predicted["worst_case_mse"] / predicted["lower_bound"] - 1
    assert predicted["relative_gap"] == pytest.approx(gap, abs=1e-15)


def test_budgets_too_small_for_the_grid():
    levels = (Level("tiny", 1e-9, (), 2), Level("other", 1.0, (), 2))
    tiny = Survey("s", 10, (Question("q", levels),))
    with pytest.raises(InputError, match="large enough for probabilities that differ"):
        survey_parameters(plan_survey(tiny))


# -- what a mechanism must share with its question ------------------------------------


def built(mechanism, question):
    survey = Survey("s", 10, (question,))
    return parameters_from_mechanisms(survey, {question.name: mechanism}).questions[0]


def test_a_table_of_another_policy_is_refused():
    table = solve(PrivacyPolicy([1.0, 2.5], [1, 4]))
    with pytest.raises(InputError, match=r"table of question 'q' is for another policy"):
        built(table, Question("q", LEVELS))


def test_a_stricter_mechanism_may_serve_but_its_bound_is_of_another_policy():
    strict = solve(PrivacyPolicy([0.5, 1.0], [1, 4]))
    question = built(UnaryMechanism(strict), Question("q", LEVELS))
    assert question.document["predicted"]["lower_bound"] is None
    assert question.document["predicted"]["relative_gap"] is None
    assert question.document["predicted"]["worst_case_mse"] == pytest.approx(
        strict.worst_case_mse, rel=1e-6
    )
    own = solve(Question("q", LEVELS).policy)
    assert question.document["predicted"]["worst_case_mse"] > own.worst_case_mse
    assert (
        built(UnaryMechanism(own), Question("q", LEVELS)).document["predicted"]["lower_bound"]
        is not None
    )


def test_items_are_numbered_through_the_levels():
    table = solve(Question("q", LEVELS).policy)
    with pytest.raises(InputError, match=r"level_of is .* one level after the other"):
        built(UnaryMechanism(table, [1, 0, 1, 1, 1]), Question("q", LEVELS))


def test_a_numeric_question_keeps_what_it_promised():
    domain = NumericDomain(0, 10)
    promised = Question("n", (), kind="numeric", numeric=Numeric(domain, epsilon=1.0))
    assert built(BiSampleMD(1.0, domain), promised).law.epsilon == 1.0
    with pytest.raises(InputError, match=r"epsilon is 1.1 but must be at most 1.0, as promised"):
        built(BiSampleMD(1.1, domain), promised)


# -- item sets of a plan -----------------------------------------------------------------


def test_item_sets_are_never_reported_without_padding():
    question = Question("q", LEVELS, kind="item-set")
    with pytest.raises(InputError, match=r"sets of question 'q' is missing .* Add padding_length"):
        survey_parameters(plan_survey(Survey("s", 10, (question,))))
    padded = Question("q", LEVELS, kind="item-set", padding_length=3)
    (found,) = survey_parameters(plan_survey(Survey("s", 10, (padded,)))).questions
    assert (found.mechanism, found.law.padding_length) == ("subset-design-ps", 3)
