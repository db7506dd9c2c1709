"""Known answers and pilots are read, and refused where they do not fit."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from planner import FileError, InputError, ItemSets, Level, PilotSets, files
from planner.planning import datasets
from planner.planning.datasets import read_answers, read_transactions, set_model_of
from planner.survey.questions import ItemSet
from planner.survey.sets import AssumedSets
from planner.survey.values import read_numbers


def written(tmp_path, text, name):
    (tmp_path / name).write_text(text)
    return tmp_path / name


def read(path):
    if "numbers" in path.name:
        return read_numbers(path, "x", gaps=True)
    return read_answers(path, "x", sets="sets" in path.name)


READ = {  # name and text; labels, counts, and the size of each set
    "basket.dat": ("10 2 \n\n2\n", ("2", "10"), [2, 1], [2, 0, 1]),
    "clicks.data": ("7 3 7 3\n3\n", ("3", "7"), [2, 1], [2, 1]),  # again in a line counts once
    "named.txt": ("tea; green rice\n\ntea;\n", ("green rice", "tea"), [1, 2], [2, 0, 1]),
    "sets.csv": ("id,x\n1,tea;green rice\n2,\n3,tea\n", ("green rice", "tea"), [1, 2], [2, 0, 1]),
    "column.csv": ("id,x\n1,red\n2, blue\n\n3,red\n", ("blue", "red"), [1, 2], None),
    "VALUES.CSV": ("x\n10\n9\n10\n", ("9", "10"), [1, 2], None),
}


@pytest.mark.parametrize("name", READ)
def test_files_are_read_by_their_names(tmp_path, name):
    text, labels, counts, sizes = READ[name]
    answers = read(written(tmp_path, text, name))
    assert (answers.labels, answers.counts.tolist()) == (labels, counts)
    assert answers.users == (sum(counts) if sizes is None else len(sizes))
    assert (answers.sets and answers.sets.sizes.tolist()) == sizes


def test_single_items_are_the_first_of_every_set(tmp_path):
    answers = read_transactions(written(tmp_path, "7 3 7 3\n\n3\n", "clicks.data"))
    assert answers.first_items().counts.tolist() == [1, 1]


LONG, LETTERS = "a" * 1001, r"line 3: 'aaa.*a\.{3}' has more than 1,000 letters"
LIMITS = {
    "lines.dat": (files, "_MOST_LINES", "1\n" * 4, "more than 3 lines"),
    "line.dat": (files, "_LONGEST_LINE", "1 2\n", "line 1 has more than 0 MiB"),
    "members.dat": (datasets, "_MOST_MEMBERS", "1 2\n1 2\n", "more than 3 items in all"),
    "kinds.csv": (datasets, "_MOST_ITEMS", "x\na\nb\nc\nd\n", "more than 3 different answers"),
    "long.csv": (files, "_MOST_LINES", f"x\nb\n{LONG}", LETTERS),
    "long.dat": (files, "_MOST_LINES", f"b;\n\n{LONG}", LETTERS),
}


@pytest.mark.parametrize("name", LIMITS)
def test_files_that_are_too_large_are_refused(tmp_path, monkeypatch, name):
    module, limit, text, message = LIMITS[name]
    monkeypatch.setattr(module, limit, 3)
    with pytest.raises(FileError, match=message):
        read(written(tmp_path, text, name))


IN_A_GIGABYTE = """
import resource, sys
from planner.errors import FileError
from planner.planning.datasets import read_answers
from planner.survey.values import read_numbers
pages = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (pages + 2**30,) * 2)
for name in sys.argv[1:]:
    try:
        sizes = [read_numbers(name, "x").size] if "numbers" in name else []
        print(*sizes or [read_answers(name, "x", sets="sets" in name).users])
    except FileError as error:
        print(error.reason)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux' limit on memory")
def test_small_files_never_fill_the_memory(tmp_path):
    """Each took 6 to 12 GB once: fixed-width letters, and lists of rows."""
    long = "a" * 131_000
    texts = {
        "one-long.csv": ("x\n" + long + "\n" + "b\n" * 12_000, "has more than 1,000 letters"),
        "one-long.dat": (long + ";\n" + "b;\n" * 12_000, "has more than 1,000 letters"),
        "blank.dat": (" " * 8 * 2**20, "line 1 has more than 4 MiB"),
        "large.dat": (" \n" * (2**26 + 1), "larger than 128 MiB"),
        "short-rows.csv": ("x\n" + "a\n" * 300_000, "300000"),
        "numbers.csv": ("x\n" + "1\n" * 300_000, "300000"),
        "sets.csv": ("x\n" + "a;b\n" * 200_000, "200000"),
        "sets.dat": ("1 2 3\n" * 200_000, "200000"),
    }
    for name, (text, _) in texts.items():
        written(tmp_path, text, name)
    command = [sys.executable, "-c", IN_A_GIGABYTE, *texts]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: S603
    assert not done.stderr
    for said, (_, wanted) in zip(done.stdout.splitlines(), texts.values(), strict=True):
        assert wanted in said


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.dat", "", "no item"),
        ("a.dat", "1 2\n3 x\n", "line 2: 'x'"),
        ("a.dat", "1 -2\n", "line 1: '-2'"),
        ("a.dat", ";\n", "there is no item"),
        ("sets.csv", "x\n\n;\n", "there is no item"),
        ("a.dat", "1" * 5000, "is not an item number"),
        ("a.csv", "x,x\n1,2\n", "column 'x'"),
        ("a.csv", "y,x\n1,a\n1,\n", "line 3 has no answer"),
        ("numbers.csv", "y,x\n1,2.5\n1,a\n", "line 3: number is 'a' but"),
        ("numbers.csv", "x\n1e999\n", "line 2: number is '1e999'"),
    ],
)
def test_unusable_files_are_refused(tmp_path, name, text, message):
    with pytest.raises(FileError, match=message):
        read(written(tmp_path, text, name))


def test_numbers_have_gaps_where_nobody_answers(tmp_path):
    found = read(written(tmp_path, "id,x\n1,17.5\n2,\n3,-4e1\n", "numbers.csv"))
    np.testing.assert_array_equal(found, [17.5, np.nan, -40])


def question(path, *levels):
    return ItemSet("q", levels, sets=AssumedSets(pilot=str(path)))


NUMBERED = (Level("few", 1.0, item_count=2), Level("many", 2.0, item_count=40))
LISTED = (Level("few", 1.0, ("1", "2")), Level("many", 2.0, ("3",)))


@pytest.mark.parametrize(("levels", "few"), [(LISTED, 0.75), (NUMBERED, 2 / 42)])
def test_items_are_in_the_levels_that_list_them_or_spread_like_these(tmp_path, levels, few):
    pilot = set_model_of(question(written(tmp_path, "3 1\n1\n", "p.dat"), *levels))
    once = pilot.moments(1, np.array([level.item_count for level in levels])).once
    assert once == pytest.approx([few, 1 - few])  # of two people one has 1 alone and one has both
    assert pilot.mean_size == 1.5


@pytest.mark.parametrize(
    ("text", "levels", "reason"),
    [
        (" ".join(map(str, range(43))), NUMBERED, "43 different items, but the levels have 42"),
        ("1 2\n4\n", LISTED, "item '4' that no level lists"),
    ],
)
def test_a_file_is_read_when_it_is_there_changes_and_fits(tmp_path, text, levels, reason):
    asked = question(tmp_path / "p.dat", *levels)
    with pytest.raises(FileError, match="cannot be read"):
        set_model_of(asked)
    assert set_model_of(question(written(tmp_path, "1\n2\n", "p.dat"), *levels)).largest == 1
    os.utime(written(tmp_path, text, "p.dat"), ns=(1, 1))
    with pytest.raises(FileError, match=reason):
        set_model_of(asked)


@pytest.mark.parametrize(
    ("sets", "levels", "match"),
    [([[0]], None, "at least 2"), ([[], []], None, "empty"), ([[0], [1]], np.zeros(2), "level_of")],
)
def test_bad_pilots_are_refused(sets, levels, match):
    with pytest.raises(InputError, match=match):
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
