"""Each law against its definition: all outputs of small mechanisms enumerated, in fractions."""

import math
from fractions import Fraction
from itertools import combinations, product

import pytest

from planner.deployment.client.laws.bounds import log_upper_bound
from planner.deployment.client.mechanisms.hashing import HashingLaw
from planner.deployment.client.mechanisms.item_sets import SetLaw
from planner.deployment.client.mechanisms.response import ResponseLaw
from planner.deployment.client.mechanisms.sampling import SamplingLaw
from planner.deployment.client.mechanisms.sign import SignLaw
from planner.deployment.client.mechanisms.subset import SubsetLaw
from planner.deployment.client.mechanisms.unary import UnaryLaw
from planner.errors import InputError, VerificationError
from tests.deployment.client.laws.oracle import D, integer_ratio, largest, levels, true_exp

EPSILONS, COUNTS = (1.0, 2.0), (1, 3)
MATRIX = ((math.inf, 1.5), (1.5, 2.0))
THREE = 3 * D // 7


def largest_ratio(table):
    """Of two rows' probabilities of one output; a row for each answer."""
    return max(
        (row[y] / other[y]) for row, other in product(table, repeat=2) for y in range(len(row))
    )


def response_table(truth, values):
    other = Fraction(D - truth, D) / values
    return [[other + Fraction(truth, D) * (y == x) for y in range(values)] for x in range(values)]


def subset_table(law):
    """Probability of every set of the right size, given each item."""
    m, d, held = law.levels.total, law.size_of_set, Fraction(law.held, D)
    sets = list(combinations(range(m), d))
    with_it, without = held / math.comb(m - 1, d - 1), (1 - held) / math.comb(m - 1, d)
    return sets, [[with_it if x in chosen else without for chosen in sets] for x in range(m)]


def test_a_response_is_what_its_table_says():
    law = ResponseLaw(levels(EPSILONS, COUNTS), THREE)
    table = response_table(law.truth, 4)
    assert all(sum(row) == 1 for row in table)
    assert law.values == 4
    assert law.ratio == largest_ratio(table)
    assert law.support == (table[1][1], table[1][2])


def test_a_hashed_response_is_what_its_table_says():
    law = HashingLaw(levels(EPSILONS, COUNTS), THREE, 3)
    table = response_table(law.truth, 3)
    assert law.ratio == largest_ratio(table)
    # Another item's hash is any of the values alike.
    assert law.support == (table[0][0], sum(row[0] for row in table) / 3)


@pytest.mark.parametrize(("items", "size"), [(4, 1), (4, 2), (4, 3), (5, 2)])
def test_a_subset_is_what_its_table_says(items, size):
    law = SubsetLaw(levels((3.0,), (items,)), int(0.9 * D), size)
    sets, table = subset_table(law)
    assert all(sum(row) == 1 for row in table)
    assert law.ratio == largest_ratio(table)
    holds = [
        sum(p for p, chosen in zip(table[0], sets, strict=True) if k in chosen) for k in (0, 1)
    ]
    assert law.support == tuple(holds)


def test_two_bits_are_what_their_table_says():
    """The threshold of a 1 is anything from ``low`` to ``D - low``; both signs are as likely."""
    law = SignLaw(1.0, 0.0, 1.0, yes_no=False, low=THREE)
    table = []
    for threshold in (law.low, D // 2, D - law.low):
        one = Fraction(threshold, D)
        table.append([one / 2, (1 - one) / 2, (1 - one) / 2, one / 2])
    one = Fraction(law.low, D)  # no answer: nothing is turned over
    table.append([(1 - one) / 2, one / 2, (1 - one) / 2, one / 2])
    assert law.ratio == largest_ratio(table)
    assert law.labels == ("any answer or none",)


@pytest.mark.parametrize("everyone", [False, True])
def test_the_second_round_is_what_its_table_says(everyone):
    decoys = (D // 10, D // 8, D // 4, D // 5)
    sampling, zero = D // 20, D - D // 20 - sum(decoys)
    law = SamplingLaw(levels((1.0, 2.0), (1, 3)), sampling, zero, decoys, 1.5, everyone)
    faces = [Fraction(face, D) for face in (zero, *decoys)]
    table = [
        [face + Fraction(sampling, D) * (y == x) for y, face in enumerate(faces)]
        for x in range(bool(everyone), 5)
    ]
    assert all(sum(row) == 1 for row in table)
    # Losses of the outputs of one level, and of "none of the values" where that may be true.
    outputs = [[1], [2, 3, 4], *([] if everyone else [[0]])]
    losses = [max(largest_ratio([[row[y]] for row in table]) for y in group) for group in outputs]
    pairs = law.pairs()
    assert [pair.first for pair in pairs] == [pair.second for pair in pairs]
    assert [pair.first for pair in pairs] == list(range(len(outputs)))
    assert [pair.realised for pair in pairs] == [log_upper_bound(loss) for loss in losses]
    assert [pair.demanded for pair in pairs] == [1.0, 2.0, 1.5][: len(outputs)]
    assert law.labels == ("level 0", "level 1", "none of the values")
    assert law.estimator() == {"sampling": sampling / D}


# -- the budget, to the unit ---------------------------------------------------------


def laws_of(rule, least):
    """Laws by one integer that raises the loss, and the ratio that this integer gives."""
    own = levels(EPSILONS, COUNTS, rule)

    def odds(truth, values):
        return 1 + Fraction(truth * values, D - truth)

    yield lambda k: ResponseLaw(own, k), lambda k: odds(k, 4), least
    yield lambda k: HashingLaw(own, k, 9), lambda k: odds(k, 9), least
    yield lambda k: SubsetLaw(own, k, 1), lambda k: Fraction(3 * k, D - k), least
    yield lambda k: SubsetLaw(own, k, 3), lambda k: Fraction(k, 3 * (D - k)), least


@pytest.mark.parametrize(("rule", "least"), [("min", 1.0), ("avg", 1.0), (MATRIX, 1.5)], ids=str)
def test_the_smallest_budget_is_kept_to_the_unit(rule, least):
    for made, ratio, budget in laws_of(rule, least):
        limit = true_exp(budget)
        top = largest(lambda k, r=ratio, limit=limit: r(k) <= limit, 1, D - 1)
        law = made(top)
        law.verify()
        pairs = law.pairs()
        assert {pair.realised for pair in pairs} == {log_upper_bound(ratio(top))}
        demanded = {"min": [1.0, 1.0, 2.0], "avg": [1.0, 1.5, 2.0]}.get(rule, [math.inf, 1.5, 2.0])
        assert [pair.demanded for pair in pairs] == demanded
        with pytest.raises(VerificationError, match=f"A report realises .* but {budget:.9f} are"):
            made(top + 1).verify()
        assert law.labels == ("level 0", "level 1")


def test_two_bits_keep_their_budget_to_the_unit():
    def made(low):
        return SignLaw(1.0, 0.0, 1.0, yes_no=True, low=low)

    least = D // 2 - largest(
        lambda k: Fraction(D // 2 + k, D // 2 - k) <= true_exp(1.0), 1, D // 2 - 1
    )
    made(least).verify()
    (pair,) = made(least).pairs()
    assert (pair.first, pair.second, pair.demanded) == (0, 0, 1.0)
    assert pair.realised == log_upper_bound(Fraction(D - least, least))
    with pytest.raises(VerificationError, match="A report realises"):
        made(least - 1).verify()


@pytest.mark.parametrize("position", range(4))
def test_each_output_of_the_second_round_keeps_its_budget_to_the_unit(position):
    """Shrink one face at the cost of another that has room, until its budget breaks."""
    sampling, epsilons = D // 100, (0.5, 0.6)
    budget = [0.7, 0.5, 0.6, 0.6][position]
    name = ["none of the values", "level 0", "level 1", "level 1"][position]

    def faces(k):
        found = [D // 5] * 4
        found[position] = k
        spare = (position + 1) % 4
        found[spare] += D - sampling - sum(found)
        return found

    def made(k):
        zero, *decoys = faces(k)
        return SamplingLaw(levels(epsilons, (1, 2)), sampling, zero, tuple(decoys), 0.7, False)

    least = D // 5 - largest(
        lambda k: Fraction(D // 5 - k + sampling, D // 5 - k) <= true_exp(budget), 1, D // 5 - 1
    )
    made(least).verify()
    with pytest.raises(VerificationError, match=f"{name} realises"):
        made(least - 1).verify()


def test_a_die_must_be_whole():
    def made(decoys, zero=D // 2, everyone=False):
        return SamplingLaw(levels((3.0,), (2,)), D // 4, zero, decoys, 3.0, everyone)

    made((D // 8, D // 8)).verify()
    for decoys in ((D // 8, D // 8 - 1), (D // 8, D // 8 + 1)):
        with pytest.raises(VerificationError, match=f"{sum(decoys) + 3 * D // 4} of 2.32 parts"):
            made(decoys).verify()
    for decoys in ((D // 4,), (D // 12,) * 3):
        with pytest.raises(VerificationError, match=f"{len(decoys)} decoys for 2 values"):
            made(decoys).verify()
    made((3 * D // 8, 3 * D // 8), zero=0, everyone=True).verify()
    with pytest.raises(VerificationError, match="give away"):
        made((3 * D // 8, 3 * D // 8), zero=0).verify()
    made((3 * D // 8, 3 * D // 8 - 1), zero=1, everyone=True).verify()


@pytest.mark.parametrize(("size", "possible"), [(0, False), (1, True), (3, True), (4, False)])
def test_a_subset_has_a_possible_size(size, possible):
    law = SubsetLaw(levels((9.0,), (4,)), int(0.9 * D), size)
    if possible:
        law.verify()
    else:
        with pytest.raises(VerificationError, match=f"size {size} is not from 1 to 3"):
            law.verify()


def test_a_subset_must_say_something():
    """Holding the true item as often as another, 2 of 4, is one unit too little."""
    with pytest.raises(VerificationError, match="more often than another"):
        SubsetLaw(levels((9.0,), (4,)), D // 2, 2).verify()
    with pytest.raises(InputError, match=r"slopes.*says nothing at this budget"):
        SubsetLaw(levels((9.0,), (4,)), D // 2, 2).estimator()
    law = SubsetLaw(levels((9.0,), (4,)), D // 2 + 1, 2)
    law.verify()
    assert law.estimator()["slopes"][0] > 0


# -- unary ------------------------------------------------------------------------


def unary(rule="min", padding=0):
    given = levels(EPSILONS, COUNTS, rule), (D // 2, D // 2), (D // 4, D // 5)
    return SetLaw(*given, padding) if padding else UnaryLaw(*given)


def test_unary_laws_name_the_levels_that_break_their_budget():
    a, b = (D // 2, D // 2), (D // 4, D // 5)
    assert integer_ratio(a, b, 0, 0) > true_exp(1.0)
    with pytest.raises(VerificationError) as caught:
        unary().verify()
    assert "Levels 'level 0' and 'level 1' realise" in str(caught.value)
    realised = math.log(integer_ratio(a, b, 0, 1))
    assert f"{realised:.9f} nats but are promised 1.000000000" in str(caught.value)
    UnaryLaw(levels((2.0, 2.0), COUNTS), a, b).verify()


def test_item_sets_have_budgets_under_min_only():
    own = levels((2.0, 2.0), COUNTS, "avg")
    UnaryLaw(own, (D // 2, D // 2), (D // 4, D // 5)).verify()
    with pytest.raises(VerificationError, match=r'Item sets have budgets .* rule "min" only'):
        SetLaw(own, (D // 2, D // 2), (D // 4, D // 5), 1).verify()


def test_dummies_follow_the_items_at_the_smallest_budget():
    assert (unary().bits, unary(padding=3).bits) == (4, 7)
    assert unary().labels == ("level 0", "level 1")
    for epsilons, expected in (((1.0, 2.0), 0), ((2.0, 1.0), 1), ((1.0, 1.0), 0)):
        law = UnaryLaw(levels(epsilons, COUNTS), (9, 9), (8, 8))
        assert law.levels.dummy_level == expected


@pytest.mark.parametrize("rule", ["min", "avg", MATRIX], ids=["min", "avg", "matrix"])
def test_unary_pairs_are_those_of_the_integers(rule):
    law = unary(rule)
    pairs = law.pairs()
    assert [(pair.first, pair.second) for pair in pairs] == [(0, 0), (0, 1), (1, 1)]
    for pair in pairs:
        ratios = [
            integer_ratio(law.a, law.b, i, j)
            for i, j in ((pair.first, pair.second), (pair.second, pair.first))
        ]
        assert true_exp(pair.realised) >= max(ratios)
        assert pair.realised == pytest.approx(math.log(max(ratios)), rel=1e-14)


# -- estimators are unbiased, exactly --------------------------------------------------


@pytest.mark.parametrize(
    "law",
    [
        unary(),
        unary(padding=3),
        ResponseLaw(levels(EPSILONS, COUNTS), THREE),
        HashingLaw(levels(EPSILONS, COUNTS), THREE, 5),
        SubsetLaw(levels(EPSILONS, COUNTS), THREE, 1),
    ],
    ids=lambda law: type(law).__name__,
)
def test_estimator_constants_are_the_doubles_nearest_to_the_exact_ones(law):
    found = law.estimator()
    assert found["factor"] == max(1, getattr(law, "padding_length", 0))
    for i in range(2):
        if isinstance(law, UnaryLaw):
            own, other = Fraction(law.a[i], D), Fraction(law.b[i], D)
        else:
            own, other = law.support
        assert found["offsets"][i] == float(other)
        assert found["slopes"][i] == float(own - other)
    assert len(found["offsets"]) == len(found["slopes"]) == 2


def test_two_bits_are_estimated_by_their_own_noise():
    law = SignLaw(1.0, 0.0, 1.0, yes_no=False, low=THREE)
    noise = Fraction(THREE, D)
    assert law.estimator() == {"noise": float(noise), "theta": float(1 - 2 * noise)}


def test_item_sets_keep_their_budgets_under_the_rule_min_alone():
    a, b = (D // 2, D // 2), (D // 3, D // 3)
    for rule in ("min", "avg", MATRIX):
        UnaryLaw(levels(EPSILONS, COUNTS, rule), a, b).verify()
    SetLaw(levels(EPSILONS, COUNTS), a, b, 2).verify()
    for rule in ("avg", MATRIX):
        with pytest.raises(VerificationError, match='under the rule "min" only'):
            SetLaw(levels(EPSILONS, COUNTS, rule), a, b, 2).verify()
