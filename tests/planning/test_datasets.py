"""Pilots of sets are read, and refused where they do not fit; what they tell of sets."""

import os

import numpy as np
import pytest

from planner import AssumedSets, FileError, ItemSet, ItemSets, Level, PilotSets
from planner.planning.datasets import set_model_of
from planner.survey.tables import Reading
from tests.refusals import refused


def written(tmp_path, text, name):
    (tmp_path / name).write_text(text)
    return tmp_path / name


def question(path, *levels, place=False):
    sets = AssumedSets(pilot=str(path), reading=Reading(place_unlisted=place))
    return ItemSet("q", levels, sets=sets)


NUMBERED = (Level("few", 1.0, item_count=2), Level("many", 2.0, item_count=40))
LISTED = (Level("few", 1.0, ("1", "2")), Level("many", 2.0, ("3",)))


@pytest.mark.parametrize(
    ("levels", "place", "few"),
    [(LISTED, False, 0.75), (NUMBERED, False, 0.75), (NUMBERED, True, 2 / 42)],
)
def test_items_are_in_the_levels_that_have_them_or_spread_like_these(tmp_path, levels, place, few):
    pilot = set_model_of(question(written(tmp_path, "3 1\n1\n", "p.dat"), *levels, place=place))
    once = pilot.moments(1, np.array([level.item_count for level in levels])).once
    assert once == pytest.approx([few, 1 - few])  # of two people one has 1 alone and one has both
    assert pilot.mean_size == 1.5


@pytest.mark.parametrize(
    ("text", "levels"), [(" ".join(map(str, range(43))), NUMBERED), ("1 2\n4\n", LISTED)]
)
def test_a_file_is_read_when_it_is_there_changes_and_fits(tmp_path, text, levels):
    asked = question(tmp_path / "p.dat", *levels)
    with refused(FileError):
        set_model_of(asked)
    assert set_model_of(question(written(tmp_path, "1\n2\n", "p.dat"), *levels)).largest == 1
    os.utime(written(tmp_path, text, "p.dat"), ns=(1, 1))
    with refused(FileError):
        set_model_of(asked)


@pytest.mark.parametrize(
    ("sets", "levels"), [([[0]], None), ([[], []], None), ([[0], [1]], np.zeros(2))]
)
def test_bad_pilots_are_refused(sets, levels):
    with refused():
        PilotSets(ItemSets.of(sets, 3), levels)


def literal(pilot, length, counts):
    """The moments one length at a time, from the definition."""
    sizes, members, n = pilot.sets.sizes, pilot.sets.members, pilot.sets.users
    chance = np.repeat(1 / np.maximum(sizes, length), sizes)
    lost = np.maximum(0.0, 1 - length * chance)
    total = np.bincount(members, lost)
    lost2 = max(0.0, (total @ total - lost @ lost) / (n * (n - 1)))
    once = chance.sum() * counts / counts.sum()
    if pilot.level_of is not None:
        once = np.bincount(pilot.level_of[members], chance, counts.size)
    return lost2, lost @ lost / n, once / n, chance @ chance / n, lost.sum() / n


@pytest.mark.parametrize("seed", range(6))
def test_all_lengths_at_once_agree_with_the_definition(seed):
    rng = np.random.default_rng(seed)
    sets = [rng.choice(12, rng.integers(0, 8), replace=False).tolist() for _ in range(40)]
    level_of = None if seed % 2 else rng.integers(0, 2, 12)
    pilot = PilotSets(ItemSets.of([*sets, [0, 1]], items=12), level_of)
    counts = np.array([5, 7, 3])
    lengths = np.arange(1, 11)
    together = pilot.moments(lengths, counts)
    assert together.once.shape == (10, 3)
    for i, length in enumerate(lengths.tolist()):
        for all_lengths, one, expected in zip(
            together, pilot.moments(length, counts), literal(pilot, length, counts), strict=True
        ):
            np.testing.assert_allclose(all_lengths[i], expected, rtol=1e-10, atol=1e-13)
            np.testing.assert_allclose(one, expected, rtol=1e-10, atol=1e-13)
    assert together.lost2[0] > 0
    assert together.lost2[-1] == 0
