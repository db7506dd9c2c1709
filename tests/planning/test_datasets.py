import numpy as np
import pytest

from planner.errors import FileError, InputError
from planner.planning.datasets import read_answers, read_column, read_counts, read_transactions


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
        (read_transactions, "1\n2 3 2\n", "line 2 has an item twice"),
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
