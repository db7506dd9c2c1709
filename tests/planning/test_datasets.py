import gzip
from itertools import pairwise
from time import process_time

import numpy as np
import pytest

from planner import files
from planner.errors import FileError, InputError
from planner.planning.datasets import (
    read_answers,
    read_column,
    read_counts,
    read_numbers,
    read_set_column,
    read_transactions,
)


def written(tmp_path, text, name="data.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_transactions(tmp_path):
    answers = read_answers(written(tmp_path, "10 2 \n\n2\n", "basket.dat"), "unused")
    assert answers.labels == ("2", "10")
    assert answers.users == 3
    assert answers.counts.tolist() == [2, 1]
    assert answers.sets.sizes.tolist() == [2, 0, 1]
    first = answers.first_items()
    assert (first.users, first.counts.tolist(), first.sets) == (2, [1, 1], None)


def test_reading_takes_time_in_proportion_to_the_file(tmp_path):
    def seconds(lines):
        path, times = written(tmp_path, "101 202 303\n" * lines, "basket.dat"), []
        for _ in range(3):
            start = process_time()
            read_transactions(path)
            times.append(process_time() - start)
        return min(times)

    assert seconds(40_000) < 8 * seconds(10_000)  # 4 times; 16 if every line looks at all


def test_an_item_that_stands_in_a_line_again_counts_once(tmp_path):
    answers = read_transactions(written(tmp_path, "7 3 7 3\n3\n", "clicks.data"))
    assert answers.sets.members.tolist() == [1, 0, 0]  # the first stays first
    assert (answers.counts.tolist(), answers.repeats) == ([2, 1], 2)


def test_named_items_are_separated_by_semicolons(tmp_path):
    answers = read_answers(written(tmp_path, "tea; green rice\n\ntea;\n", "a.txt"), "unused")
    assert answers.labels == ("green rice", "tea")
    assert answers.sets.sizes.tolist() == [2, 0, 1]


@pytest.mark.parametrize("name", ["basket.dat.gz", "basket.csv.GZ"])
def test_packed_files_are_unpacked(tmp_path, name):
    text = "x\n1\n2\n" if "csv" in name else "1 2\n2\n"
    answers = read_answers(written(tmp_path, gzip.compress(text.encode()), name), "x")
    assert answers.labels == ("1", "2")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"1 2\n", "not whole in the form of gzip"),
        (gzip.compress(b"1 2\n", mtime=0)[:-9], "not whole in the form of gzip"),
        (gzip.compress(b"\xff", mtime=0), "UTF-8"),
    ],
)
def test_packed_files_that_are_damaged_are_refused(tmp_path, content, message):
    with pytest.raises(FileError, match=message):
        read_answers(written(tmp_path, content, "a.dat.gz"), "x")


def test_a_packed_file_that_fills_the_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_MOST_UNPACKED", 2**20)
    path = written(tmp_path, gzip.compress(b" " * (2**20 + 1)), "bomb.dat.gz")
    with pytest.raises(FileError, match="unpacks to more than 1 MiB"):
        read_answers(path, "x")


@pytest.mark.parametrize(
    ("cells", "known", "sets"),
    [
        (["tea;rice", "", "tea"], (), [["tea", "rice"], [], ["tea"]]),
        (["tea rice", "", "rice"], ("tea", "rice"), [["tea", "rice"], [], ["rice"]]),
        (["3 12", "3"], (), [["3", "12"], ["3"]]),
        (["green tea", "rice"], ("green tea", "rice"), [["green tea"], ["rice"]]),
        (["tea rice", "green tea"], ("tea", "rice"), [["tea rice"], ["green tea"]]),
    ],
    ids=["semicolons", "blanks", "numbers", "names with blanks", "names that are not known"],
)
def test_a_column_of_sets(tmp_path, cells, known, sets):
    rows = "".join(f"{k},{cell}\n" for k, cell in enumerate(cells))
    answers = read_answers(written(tmp_path, "id,x\n" + rows), "x", known)
    starts = answers.sets.starts
    found = [
        [answers.labels[k] for k in answers.sets.members[start:end]]
        for start, end in pairwise(starts)
    ]
    assert found == sets


def test_a_column(tmp_path):
    path = written(tmp_path, "id,colour\n1,red\n2, blue\n\n3,red\n")
    answers = read_answers(path, "colour")
    assert answers.labels == ("blue", "red")
    assert (answers.users, answers.counts.tolist()) == (3, [1, 2])
    assert answers.first_items() is answers


def test_counts(tmp_path):
    answers = read_answers(written(tmp_path, "Item,Count\nb,3\na,0\n"), "unused")
    assert answers.labels == ("b", "a")
    assert (answers.users, answers.counts.tolist()) == (3, [3, 0])


@pytest.mark.parametrize(
    ("reader", "text", "message"),
    [
        (read_transactions, "", "no transactions"),
        (read_transactions, " \n\n", "no transactions"),
        (read_transactions, "1 2\n3 x\n", "line 2: 'x'"),
        (read_transactions, "1 -2\n", "line 1: '-2'"),
        (read_transactions, "1.5\n", "line 1: '1.5'"),
        (read_transactions, "99999999999999999999\n", "line 1: '99999999999999999999'"),
        (read_transactions, ";\n", "there is no item"),
        (lambda path: read_set_column(path, "x"), "x\n\n;\n", "no row of column 'x' has an item"),
        (lambda path: read_set_column(path, "x"), "x\n", "no rows"),
        (read_transactions, b"\xff\xfe1", "UTF-8"),
        (read_counts, "", "empty"),
        (read_counts, "item,number\na,1\n", "header"),
        (read_counts, "item,count\na,1\na,2\n", "line 3: item 'a'"),
        (read_counts, "item,count\n,1\n", "line 2: item ''"),
        (read_counts, "item,count\na\n", "line 2: count ''"),
        (read_counts, "item,count\na,1.5\n", "count '1.5'"),
        (read_counts, "item,count\na,-1\n", "count '-1'"),
        (read_counts, "item,count\na,nan\n", "count 'nan'"),
        (read_counts, "item,count\na,9999999999999\n", "whole number"),
        (read_counts, "item,count\na,0\n", "no user"),
        (read_counts, "item,count\n", "no user"),
        (lambda path: read_column(path, "x"), "y\n1\n", "column 'x'"),
        (lambda path: read_column(path, "x"), "x,x\n1,2\n", "column 'x'"),
        (lambda path: read_column(path, "x"), "x\n", "no rows"),
        (lambda path: read_column(path, "x"), "y,x\n1,a\n1,\n", "line 3"),
        (lambda path: read_numbers(path, "x"), "y,x\n1,2.5\n1,a\n", "line 3: 'a' is not a"),
        (lambda path: read_numbers(path, "x"), "x\nnan\n", "empty if there is no answer"),
        (lambda path: read_numbers(path, "x"), "x\n1e999\n", "line 2: '1e999' is not a finite"),
        (lambda path: read_column(path, "x"), 'x\n"a', "CSV"),
    ],
)
def test_unusable_files_are_refused(tmp_path, reader, text, message):
    with pytest.raises(FileError, match=message):
        reader(written(tmp_path, text))


def test_missing_files_are_refused(tmp_path):
    for name in ("nothing.csv", "nothing.dat"):
        with pytest.raises(FileError, match="cannot be read"):
            read_answers(tmp_path / name, "x")


def test_first_items_of_nothing(tmp_path):
    answers = read_transactions(written(tmp_path, "1\n\n", "a.dat"))
    empty = type(answers)(answers.labels, np.array([0]), type(answers.sets).of([[], []], 1))
    with pytest.raises(InputError, match="empty"):
        empty.first_items()


def test_numbers_have_gaps_where_nobody_answers(tmp_path):
    path = tmp_path / "ages.csv"
    path.write_text("id,age\n1,17.5\n2,\n3,-4e1\n")
    numbers = read_numbers(path, "age")
    assert numbers[[0, 2]].tolist() == [17.5, -40]
    assert np.isnan(numbers[1])
