"""Answers are randomised from a file."""

from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest

from planner import Categorical, Level, Survey
from planner.deployment import bulk
from planner.deployment.building import parameters_from_mechanisms
from planner.deployment.bulk import perturb_file, read_answers
from planner.deployment.collecting.collector import collect
from planner.errors import FileError, InputError
from planner.laws.answers import Item, ItemOrNone, Number, OneOfSet
from planner.laws.levels import Levels
from planner.mechanisms.making import randomized_response


def test_a_question_named_twice_is_answered_once_and_a_few_people_at_a_time(
    parameters, everything, tmp_path, monkeypatch
):
    """Two reports of one answer would spend its budget twice."""
    monkeypatch.setattr(bulk, "_BLOCK_BYTES", 8 * 700)
    seen, out = [], tmp_path / "idue.parquet"
    twice = ("idue", "idue")
    written = perturb_file(parameters, everything / "answers.csv", out, twice, seen.append)
    assert written == {out: 3000}
    assert seen == [700, 1400, 2100, 2800, 3000]
    assert collect(parameters, [out]).sums["idue", None].users == 3000


@pytest.mark.parametrize(
    ("text", "names", "out", "reason"),
    [
        ("idue\nHIV\nnobody\n", ["idue"], "out.parquet", "line 3: answer"),
        ("idue\n", ["idue"], "out.parquet", "no rows"),
        ("idue,sets\nHIV,[1]\n", ["idue"], "x.csv", "ends neither"),
        ("idue,grr\nHIV,x\n", ["idue", "grr"], "out.parquet", "one file"),
        ("idue\nHIV\n", ["nothing"], "out.parquet", "nothing"),
        ("idue,grr\nHIV,x\n", ["idue", "grr"], "answers", "cannot be made"),
        ("idue\n" + "HIV\n" * 200, ["idue"], "o.jsonl", "would have more than 20000 b.*parquet"),
    ],
)
def test_what_is_refused_leaves_no_file(
    parameters, tmp_path, monkeypatch, text, names, out, reason
):
    monkeypatch.setattr(bulk, "MAX_JSON_BYTES", 20_000)
    data = tmp_path / "answers"
    data.write_text(text)
    with pytest.raises(InputError, match=reason):
        perturb_file(parameters, data, tmp_path / out, names)
    assert list(tmp_path.iterdir()) == [data]
    assert data.read_text() == text


# -- the file of answers --------------------------------------------------------------------

NAMED = Levels(("s",), (1.0,), (3,), (("x", "7", "a,b\nc"),), "min")
NUMBERED = Levels(("s",), (1.0,), (12,), ((),), "min")
ASKED = {
    "named": Item(NAMED),
    "numbered": Item(NUMBERED),
    "set": OneOfSet(NAMED.with_dummies(1), 2),
    "numbered set": OneOfSet(NUMBERED.with_dummies(1), 2),
    "age": Number(Levels(("all",), (1.0,), (3,), ((),)), 0.0, 120.0, yes_no=False, points=2),
    "sampled": ItemOrNone(NAMED, everyone_has_value=False),
}
LAWS = {name: SimpleNamespace(name=name, asked=asked) for name, asked in ASKED.items()}


@pytest.fixture
def read(tmp_path):
    """Codes of one column's cells, or of whole lines."""
    path = tmp_path / "answers.csv"

    def read(text, *names):
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        columns = [LAWS[name] for name in names]
        return [row for block in read_answers(path, columns) for row in block]

    return read


@pytest.mark.parametrize(
    ("name", "cells", "codes"),
    [
        ("named", ["x", "7", '"a,b\nc"'], [0, 1, 2]),
        ("numbered", ["0", "11", "07"], [0, 11, 7]),
        ("set", ["x", "7;x", ";x;", '""', '"[""a,b\\nc"", ""x""]"', "[]"],
         [(0,), (0, 1), (0,), (), (0, 2), ()]),
        ("numbered set", ["3", "11;2", '"[1, 3]"', '"[""1""]"'], [(3,), (2, 11), (1, 3), (1,)]),
        ("age", ["17", "1.5e1", '" "', "nan", '""'], [17.0, 15.0, None, None, None]),
        ("sampled", ["x", '"a,b\nc"', '""'], [1, 3, 0]),
    ],
)  # fmt: skip
def test_cells(read, name, cells, codes):
    lines = "".join(f"{cell}\n" for cell in cells)
    assert read(f"{name}\n{lines}", name) == [[code] for code in codes]


def test_columns_in_any_order_among_others_and_blank_lines_of_one(read):
    text = "\ufeffage, other ,named\n20,?,x\n,?,7\n"
    assert read(text, "named", "age") == [[0, 20.0], [1, None]]
    assert read("age\n1\n\n3\n", "age") == [[1.0], [None], [3.0]]


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("named", "nobody"),
        ("named", '""'),
        ("numbered", "12"),
        ("numbered", "-1"),
        ("numbered", "1" * 5000),  # beyond what Python turns into a number
        ("numbered", "\u0663"),  # a digit, but not of ASCII
        ("set", "x;nobody"),
        ("set", "x;x"),
        ("set", "[1"),
        ("set", "[" * 100_000),
        ("set", '"[{}]"'),
        ("age", "old"),
        ("age", "121"),
        ("age", "inf"),
    ],
    ids=lambda value: ascii(value)[:20],
)
def test_no_answer_is_refused_with_its_line(read, name, cell):
    """Its physical line, also where an answer before it stands on two."""
    before = {"named": '"a,b\nc"', "set": '"a,b\nc"'}.get(name, "1\n2")
    with pytest.raises(
        FileError, match=r"line 4: answer is ('of type|'text|missing|a list that has)"
    ):
        read(f"{name}\n{before}\n{cell}\n", name)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("named,age\nx,1\nx\n", "line 3 has too few columns"),
        ("named,age\n\n", "line 2 has too few columns"),
        ("named\nx\n", r"one column 'age' is needed; there are \['named'\]"),
        ("named,age,age\n", "one column 'age' is needed"),
        ("", "one column 'named' is needed"),
        (b"named,age\n\xff,1\n", "is not CSV in UTF-8"),
        ("named,age\n" + "x" * 200_000 + ",1\n", "is not CSV in UTF-8: field larger"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_no_table_is_refused(read, text, reason):
    with pytest.raises(FileError, match=reason):
        read(text, "named", "age")


def test_blocks_are_bounded(read, tmp_path, monkeypatch):
    monkeypatch.setattr(bulk, "_BLOCK", 2)
    read("named\n" + "x\n" * 5, "named")
    blocks = read_answers(tmp_path / "answers.csv", [LAWS["named"]])
    assert [len(block) for block in blocks] == [2, 2, 1]


def test_rows_of_two_files_are_not_of_one_person(tmp_path):
    """The reports of half of the people say 0, of the others 1, in order, to both questions."""
    names, people = ("a", "b"), 2_000
    level = (Level("only", 20.0, item_count=2),)
    survey = Survey("s", people, tuple(Categorical(name, level) for name in names))
    truth = {name: randomized_response(20.0, items=2) for name in names}
    (tmp_path / "answers.csv").write_text("a,b\n" + "0,0\n" * 1_000 + "1,1\n" * 1_000)
    parameters = parameters_from_mechanisms(survey, truth)
    written = perturb_file(parameters, tmp_path / "answers.csv", tmp_path / "reports")
    a, b = ([row[0] for row in pq.read_table(path)["report"].to_pylist()] for path in written)
    assert len(set(a)) == len(set(b)) == 2
    # Of so many pairs in any order half are alike, give or take 22: 7 times that is 1e-12.
    assert abs(sum(x == y for x, y in zip(a, b, strict=True)) - people / 2) < 7 * 22.4
    assert abs(a[: people // 2].count(a[0]) - people / 4) < 7 * 11.2
