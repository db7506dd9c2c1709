import numpy as np
import pytest

from planner import FileError, InputError, ItemSets, Level, PilotSets
from planner.planning.pilot import set_model_of
from planner.survey.questions import ItemSet
from planner.survey.sets import AssumedSets, PilotFile


def question(path, *levels):
    return ItemSet("q", levels, sets=PilotFile(str(path)))


NUMBERED = (Level("few", 1.0, item_count=2), Level("many", 2.0, item_count=40))
LISTED = (Level("few", 1.0, ("1", "2")), Level("many", 2.0, ("3",)))


def test_assumed_sets_are_taken_as_they_are():
    sets = AssumedSets([0, 1])
    assert set_model_of(ItemSet("q", NUMBERED, sets=sets)) is sets


def test_items_of_a_file_are_in_the_levels_that_list_them(tmp_path):
    path = tmp_path / "p.dat"
    path.write_text("3 1\n1\n")
    pilot = set_model_of(question(path, *LISTED))
    once = pilot.moments(1, np.array([2, 1])).once
    assert once.tolist() == [0.75, 0.25]  # of two people, one has 1 alone and one has both
    assert pilot.mean_size == 1.5


def test_without_a_list_items_are_spread_like_the_levels(tmp_path):
    path = tmp_path / "p.dat"
    path.write_text("3 1\n1\n")
    pilot = set_model_of(question(path, *NUMBERED))
    once = pilot.moments(1, np.array([2, 40])).once
    assert once.sum() == pytest.approx(1)
    assert once[0] == pytest.approx(2 / 42)


def test_a_file_that_changes_is_read_again(tmp_path):
    import os

    path = tmp_path / "p.dat"
    path.write_text("1\n2\n")
    assert set_model_of(question(path, *NUMBERED)).largest == 1
    path.write_text("1 2\n2\n")
    os.utime(path, ns=(1, 1))
    assert set_model_of(question(path, *NUMBERED)).largest == 2


def test_files_that_do_not_fit_are_refused(tmp_path):
    path = tmp_path / "p.dat"
    with pytest.raises(FileError, match="cannot be read"):
        set_model_of(question(path, *NUMBERED))
    path.write_text(" ".join(map(str, range(43))) + "\n1 2\n")
    with pytest.raises(FileError, match="43 different items, but the levels have 42"):
        set_model_of(question(path, *NUMBERED))
    path.write_text("1 2\n4\n")
    with pytest.raises(FileError, match="item '4' that no level lists"):
        set_model_of(question(path, *LISTED))


def test_bad_pilots_are_refused():
    with pytest.raises(InputError, match="at least 2"):
        PilotSets(ItemSets.of([[0]], 3))
    with pytest.raises(InputError, match="empty"):
        PilotSets(ItemSets.of([[], []], 3))
    with pytest.raises(InputError, match="level_of"):
        PilotSets(ItemSets.of([[0], [1]], 3), np.zeros(2, dtype=int))


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
    moments = (lost2, lost @ lost / n, once / n, chance @ chance / n, lost.sum() / n)
    return (*moments, (lost2, lost2))  # whose items are seen, not assumed


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
            here = np.asarray(all_lengths)
            here = here[:, i] if isinstance(all_lengths, tuple) else here[i]
            np.testing.assert_allclose(here, expected, rtol=1e-10, atol=1e-13)
            np.testing.assert_allclose(one, expected, rtol=1e-10, atol=1e-13)
    assert together.lost2[0] > 0
    assert together.lost2[-1] == 0
