"""Designs drawn in bulk: byte for byte what clients make of the same words."""

from io import BytesIO

import numpy as np
import pytest

from planner import Level, PrivacyPolicy, Question, Survey, best_design
from planner.deployment.client.laws.exact import DENOMINATOR
from planner.deployment.mechanisms import design_draws
from planner.deployment.mechanisms.deployed import Deployed
from planner.deployment.mechanisms.design import DeployedDesign
from planner.deployment.mechanisms.design_draws import draw_design
from planner.deployment.mechanisms.registry import deployed as deployed_half
from planner.deployment.parameter_file.building import parameters_from_mechanisms
from planner.errors import VerificationError
from planner.mechanisms.padded_design import PaddedDesignMechanism
from planner.planning.solve import DESIGN, solve_for
from tests.deployment.client.laws.test_design import deployed, random_parameters, small

LARGEST = b"\xff\xff\xff\xff"


def both(law, codes, words):
    """Reports drawn in bulk and one by one, and how many words each took."""
    streams = BytesIO(words), BytesIO(words)
    half = DeployedDesign(law)
    bulk = draw_design(law, codes, streams[0].read)
    single = Deployed.draw(half, codes, streams[1].read)[0]
    return bulk, single


def with_rejected(rng, count, share):
    """Random words of which a share are the largest, which choices reject."""
    words = rng.integers(DENOMINATOR, size=count, dtype=np.uint32)
    words[rng.random(count) < share] = DENOMINATOR - 1
    return words.astype("<u4").tobytes()


@pytest.mark.parametrize("rejected", [0.0, 0.2])
def test_bulk_reports_are_the_clients(rejected, monkeypatch):
    """Twenty random designs; blocks of few words and people, so that all borders are met."""
    rng = np.random.default_rng(3)
    monkeypatch.setattr(design_draws, "_BLOCK_WORDS", 300)
    monkeypatch.setattr(design_draws, "_CACHED_ITEMS", 200)
    for parameters in random_parameters(20, seed=8):
        law = parameters.questions[0].law
        monkeypatch.setattr(design_draws, "_BLOCK_ITEMS", 7 * law.levels.total)
        codes = rng.integers(law.levels.total, size=40)
        words = with_rejected(rng, 40 * 4 * (law.levels.total + 20), rejected)
        bulk, single = both(law, codes.tolist(), words)
        np.testing.assert_array_equal(bulk, single)


def test_items_that_are_chosen_again_and_again():
    """All words alike: nearly every pick was taken before."""
    for parameters in random_parameters(5, seed=9):
        law = parameters.questions[0].law
        for word in range(4):
            count = 5 * (law.levels.total + 20)
            rest = np.full(count, word, dtype="<u4")
            rest[0] = 2**31
            bulk, single = both(law, [0, law.levels.total - 1, 0], rest.tobytes() * 3)
            np.testing.assert_array_equal(bulk, single)


def test_levels_of_a_group_stand_together():
    """Items are numbered by levels, bits by groups of levels."""
    policy = PrivacyPolicy([1.0, 2.0, 1.0], [2, 3, 1])
    law = deployed(policy, best_design(policy)).questions[0].law
    assert law.level_groups == (0, 1, 0)
    codes = np.arange(6).repeat(50).tolist()
    words = with_rejected(np.random.default_rng(4), 5_000, 0.01)
    bulk, single = both(law, codes, words)
    np.testing.assert_array_equal(bulk, single)
    assert bulk.shape == (300, law.size)


def test_a_source_that_runs_dry_draws_nothing():
    law = small().questions[0].law
    with pytest.raises(VerificationError, match="source of entropy failed"):
        draw_design(law, [0, 1, 2], lambda count: bytes(count - 1))


def set_law(epsilons, counts, length):
    """The law of a question of sets, as it is read from its file."""
    question = Question(
        "q",
        tuple(
            Level(f"l{i}", epsilon, item_count=count)
            for i, (epsilon, count) in enumerate(zip(epsilons, counts, strict=True))
        ),
        kind="item-set",
        padding_length=length,
    )
    design = PaddedDesignMechanism.of(solve_for(question.policy, DESIGN, sets=True), length)
    return parameters_from_mechanisms(Survey("s", 9, (question,)), {"q": design}).questions[0].law


@pytest.mark.parametrize("length", [1, 3])
def test_bulk_reports_of_sets_are_the_clients(length, monkeypatch):
    """Empty, short and cut sets, words that slots reject, and blocks that end anywhere."""
    rng = np.random.default_rng(5)
    monkeypatch.setattr(design_draws, "_BLOCK_WORDS", 100)
    for epsilons, counts in (([1.0], [1]), ([1.0, 2.0, 1.0], [2, 30, 1])):
        law = set_law(epsilons, counts, length)
        items = law.levels.total
        codes = [
            tuple(sorted(rng.choice(items, size, replace=False).tolist()))
            for size in rng.integers(min(items, 5) + 1, size=100)
        ]
        for rejected in (0.0, 0.2):
            words = with_rejected(rng, 100 * 4 * (items + 20), rejected)
            bulk, single = both(law, codes, words)
            np.testing.assert_array_equal(bulk, single)
    assert deployed_half(law).draw([()], BytesIO(words).read)[0].shape == (1, law.size)
