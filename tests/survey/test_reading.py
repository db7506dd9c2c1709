# ruff: noqa: E501 - what stands in a file, and the words about it, on a line
"""Small odd files, each read alike by all who read answers: taken or refused as the table says."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from planner import (
    AssumedSets,
    FileError,
    Level,
    NumericDomain,
    PlannerError,
    Survey,
    plan_survey,
)
from planner.deployment import bulk
from planner.deployment.parameters import parameters_from_mechanisms
from planner.laws.answers import LEFT_OUT
from planner.mechanisms.making import bisample_md, randomized_response, set_design
from planner.planning import datasets
from planner.planning.datasets import read_known, set_model_of
from planner.survey import cells, reading, rows, text_files, typed_files
from planner.survey.choices import Categorical, ItemSet
from planner.survey.numeric import Numeric
from planner.survey.ordinal import Ordinal
from planner.survey.tables import Reading
from planner.trial.audit import answers_in
from planner.ui.views import trial
from tests.refusals import refused

CITY = Categorical("City", (Level("all", 1.0, ("Ulm", "Köln", "a,b\nc")),))
HOT = Level("hot", 1.0, ("tea", "black tea"))
DRINKS = ItemSet("drinks", (HOT, Level("cold", 1.0, item_count=3)))
AGE = Numeric("age", 0, 120, epsilon=1.0)
MOOD = Ordinal("mood", (Level("all", 1.0, ("?", "low", "high")),), no_answer="?")
ASKED = {
    "City": CITY,
    "drinks": DRINKS,
    "age": AGE,
    "mood": MOOD,
}
OPTIONS = ("delimiter", "encoding", "decimal", "skip_rows", "place_unlisted")


@pytest.fixture(scope="module")
def parameters():
    drawn = {
        "City": randomized_response(1.0, 3),
        "drinks": set_design(DRINKS.policy, 2),
        "age": bisample_md(1.0, NumericDomain(0, 120)),
        "mood": plan_survey(Survey("s", 9, (MOOD,))).questions[0].law,
    }
    survey = Survey("s", 9, tuple(ASKED.values()))
    return parameters_from_mechanisms(survey, drawn)


class Readers:
    """What each of those who read answers finds, as sorted codes, and how it was read."""

    def __init__(self, parameters, monkeypatch, folder):
        self.parameters = parameters
        self.patch = monkeypatch
        self.out = folder / "out.parquet"
        session = SimpleNamespace(remembered=lambda _, make: make())
        monkeypatch.setattr(trial, "session", lambda: session)
        monkeypatch.setattr(trial, "kept_item", self.typed)
        self.said = []
        monkeypatch.setattr(trial.st, "caption", self.said.append)

    def typed(self, _widget, _label, name, start, **_):
        return getattr(self.reading, name.removeprefix("t-"), None) or start

    def perturb(self, path, question, options):
        answers = []
        self.patch.setattr(
            bulk, "_randomised", lambda _, codes: answers.extend(codes) or ()
        )
        survey = Survey("s", 9, (question,))
        name = question.name
        written = bulk.perturb_file(
            self.parameters, path, self.out, [name], survey=survey, reading=options
        )
        return [code for code in answers if code is not LEFT_OUT], written.read_as

    def simulate(self, path, question, options):
        return read_known(path, question.answer_column, options)

    def pilot(self, path, question, options):
        sets = AssumedSets(pilot=str(path), reading=options)
        model = set_model_of(question.replacing(sets=sets))
        return model.sets, model.read_as

    def audit(self, path, question, options):
        law = self.parameters.question(question.name)
        survey = Survey("s", 9, (question,))
        asked, said = answers_in(path, law, survey, options)
        return [law.asked.code(answer) for answer in asked], said

    def app(self, path, question, options):
        self.reading = options
        content = path.read_bytes()
        answers, _ = trial.read_answers(question, path.name, content, options)
        return answers, self.said[-1]

    def every(self, path, question, options):
        """By user: the different codes in the file and what is said, or the words of the refusal."""
        users = [self.perturb, self.simulate, self.audit, self.app]
        users += [self.pilot] if question.kind == "item-set" else []
        for user in users:
            try:
                answers, said = user(path, question, options)
                yield user.__name__, different(answers), said
            except PlannerError as error:
                yield user.__name__, None, str(error).replace(f"{path.parent}/", "")


def different(answers):
    """The different codes."""
    if isinstance(answers, np.ndarray):
        return sorted(
            {None if np.isnan(number) else number for number in answers.tolist()},
            key=str,
        )
    answers = getattr(answers, "sets", None) or answers
    if hasattr(answers, "members"):
        parts = np.split(answers.members, answers.starts[1:-1])
        answers = [tuple(sorted(part.tolist())) for part in parts]
    if hasattr(answers, "counts"):
        answers = np.flatnonzero(answers.counts).tolist()
    return sorted(set(answers), key=str)


TAKEN = {
    "semicolons.csv": (
        "City",
        "\nid;CITY\r\n1; ulm \r\n2;\u00a0ko\u0308ln\r\n\r\n",
        {},
        [0, 1],
        "semicolons, UTF-8, 2 rows; 1 blank line at the end.",
    ),
    "windows.csv": (
        "City",
        "id,City,€\n1,KÖLN,ü\n".encode("cp1252"),
        {},
        [1],
        "commas, Windows-1252, 1 row.",
    ),
    "excel.txt": (
        "City",
        "id\tCity\n1\tKöln\n2\tUlm\n".encode("utf-16"),
        {},
        [0, 1],
        "tabs, UTF-16, 2 rows.",
    ),
    "latin.csv": (
        "City",
        "City|x\nUlm|\x81\n".encode("latin-1"),
        {"encoding": "latin-1"},
        [0],
        "bars, Latin-1, 1 row.",
    ),
    "marked.tsv": ("City", "\ufeffCity\tx\nUlm\t1\n", {}, [0], "tabs, UTF-8, 1 row."),
    "titled.csv": (
        "City",
        "Survey of 2026\n\nCity,x\nUlm,1\n",
        {"skip_rows": 2},
        [0],
        "commas, UTF-8, 1 row.",
    ),
    "lines.csv": (
        "City",
        'City,x\n"a,b\nc","well, I\nlike, it"\nUlm,\n',
        {},
        [0, 2],
        "commas, UTF-8, 2 rows.",
    ),
    "gaps.csv": (
        "City",
        "City,x\nUlm,1\n,2\nN/A,3\n",
        {"missing": ("", "n/a")},
        [0],
        "commas, UTF-8, 3 rows; 2 without an answer to 'City' left out.",
    ),
    "decimal.csv": (
        "age",
        "age;x\n17,5;1\n;2\n-99;3\n",
        {"missing": ("-99",)},
        [17.5, None],
        "semicolons, UTF-8, 3 rows, decimal commas.",
    ),
    "scale.csv": (
        "mood",
        "mood,x\nLOW,1\n,2\n99,3\n",
        {"missing": ("99",)},
        [0, 1],
        "commas, UTF-8, 3 rows.",
    ),
    "numbers.jsonl": (
        "age",
        '{"x": 1}\n\n{"age": 3.0}\n{"Age2": null, "age": 4}\n',
        {},
        None,
        "line 2 is blank, and others follow",
    ),
    "people.jsonl": (
        "drinks",
        '{"drinks": ["tea", 4]}\n{"x": 1}\n',
        {},
        [(), (0, 4)],
        "JSON lines, 2 rows.",
    ),
    "clicks.dat": (
        "drinks",
        "0 3 3\n\n4\n\n",
        {},
        [(), (0, 3), (4,)],
        "transactions, blanks, UTF-8, 4 rows; 1 blank line at the end among them.",
    ),
    "named.data": (
        "drinks",
        "Black Tea; cold 2\ntea;\n",
        {},
        [(0,), (1, 3)],
        "transactions, semicolons, UTF-8, 2 rows.",
    ),
    "joined.csv": (
        "drinks",
        'x,drinks\n1,"tea, COLD 1"\n2,tea|black tea\n3,3 4\n4,"[""tea""]"\n5,\n',
        {},
        [(), (0, 1), (0, 2), (0,), (3, 4)],
        "commas, UTF-8, 5 rows.",
    ),
    "one.csv": (
        "drinks",
        'drinks\ntea,cold 3\n\n""\n',
        {},
        [(), (0, 4)],
        "one column, UTF-8, 3 rows.",
    ),
    "ticks.csv": (
        "drinks",
        "tea,Black tea,cold 1\n1,0,\n,yes,COLD 1\n-99,-99,-99\nfalse,no,0\n",
        {"columns": ("tea", "black tea", "cold 1"), "missing": ("-99",)},
        [(), (0,), (1, 2)],
        "commas, UTF-8, 4 rows; 1 without an answer to 'drinks' left out.",
    ),
    "kobo.csv": (
        "drinks",
        "d/tea,d/Black Tea,d/cold 1\n1,0,0\n0,1,1\n",
        {"columns": ("d/Black tea", "d/tea", "d/cold 1")},
        [(0,), (1, 2)],
        "commas, UTF-8, 2 rows.",
    ),
    "survey.csv": (
        "drinks",
        "q_a_1,q_a_2\n1,0\nSelected,off\n",
        {"columns": {"tea": "q_a_2", "cold 2": "q_a_1"}},
        [(3,)],
        "commas, UTF-8, 2 rows.",
    ),
    "hot.csv": (
        "City",
        "City[Ulm],City[Köln],City[a]\nx,,\n,x,\n,,\n",
        {"columns": {"Ulm": "City[Ulm]", "Köln": "City[Köln]"}},
        [0, 1],
        "commas, UTF-8, 3 rows; 1 without an answer to 'City' left out.",
    ),
    "lime.csv": (
        "mood",
        "Mood [?],Mood [low],Mood [high]\n,Y,N\n,,Y\n",
        {"columns": ("Mood [?]", "Mood [low]", "Mood [high]")},
        [1, 2],
        "commas, UTF-8, 2 rows.",
    ),
    "coded.csv": (
        "drinks",
        "tea,black tea\n1,2\n2,1\n",
        {"columns": ("tea", "black tea"), "unticked": ("2",)},
        [(0,), (1,)],
        "commas, UTF-8, 2 rows.",
    ),
    "said.csv": (
        "drinks",
        "tea,black tea\nda,0\n0,da\n",
        {"columns": ("tea", "black tea"), "ticks": ("Da",)},
        [(0,), (1,)],
        "commas, UTF-8, 2 rows.",
    ),
    "label.csv": (
        "City",
        "City,x\nULM AN DER DONAU,1\nKöln,2\n3,3\n",
        {"label": {"Ulm": "Ulm an der Donau"}, "recode": {"3": "Köln"}},
        [0, 1],
        "commas, UTF-8, 3 rows.",
    ),
    "labels.csv": (
        "drinks",
        "drinks\nHot tea;Cool\nh\n",
        {"label": {"tea": "Hot tea"}, "recode": {"Cool": "cold 1", "h": "black tea"}},
        [(0, 2), (1,)],
        "one column, UTF-8, 2 rows.",
    ),
    "reversed.csv": (
        "mood",
        "mood\nlow\nhigh\n?\nhigh\n",
        {"recode": {"low": "high", "HIGH": "low", "?": "low"}},
        [1, 2],
        "one column, UTF-8, 4 rows.",
    ),
    "typed.csv": (
        "age",
        "age;x\nseventeen;1\n18;2\n",
        {"recode": {"seventeen": 17}},
        [17.0, 18.0],
        "semicolons, UTF-8, 2 rows.",
    ),
    "placed.csv": (
        "drinks",
        "tea,black tea,milk\n0,0,1\n1,0,0\n",
        {"columns": ("milk", "tea", "black tea"), "place_unlisted": True},
        [(0,), (2,)],
        "commas, UTF-8, 2 rows; cold 1 is 'milk'.",
    ),
    "double.csv": (
        "City",
        "City,City\n1,Ulm\n2,Köln\n",
        {"columns": ("City #2",)},
        [0, 1],
        "commas, UTF-8, 2 rows.",
    ),
    "repeated.csv": (
        "City",
        "id,City\n1,Ulm\n1,Köln\n",
        {},
        [0, 1],
        "commas, UTF-8, 2 rows; column 'id' has the same twice: not every row may be a person",
    ),
    "others.csv": (
        "drinks",
        "drinks\ntea;soup\nred wine\n3\n",
        {"place_unlisted": True},
        [(0, 4), (2,), (3,)],
        "one column, UTF-8, 3 rows; cold 1 is 'red wine', cold 3 is 'soup'.",
    ),
    "sheet.xlsx": (
        "drinks",
        {"drinks": ["tea; cold 2", None], "x": [1.5, 2]},
        {},
        [(), (0, 3)],
        "Excel, the first sheet, 2 rows.",
    ),
    "table.parquet": (
        "City",
        {"City": ["Ulm", None], "x": [1.5, 2]},
        {},
        [0],
        "Parquet, 2 rows; 1 without an answer to 'City' left out.",
    ),
}
REFUSED = {
    "open.csv": (
        "City",
        'City,x\nUlm,1\nUlm,"2\nUlm,3\n',
        {},
        "line 3, 'Ulm,\"2\\n', is not CSV",
    ),
    "stray.csv": (
        "City",
        'City,x\nUlm,"1\nUlm,2\nUlm,"3\n',
        {},
        "line 2, 'Ulm,\"1\\n', is not CSV",
    ),
    "swallowed.csv": (
        "City",
        'City,x,y\nUlm,"1,1\nUlm,2,2\nUlm,3",3\n',
        {},
        "line 2 has quotes with a whole line between them, ['Ulm', '2', '2']. Take",
    ),
    "short.csv": (
        "City",
        "x,City\n1,Ulm\n2\n",
        {},
        "line 3 has 1 cell, and the header 2. Give",
    ),
    "long.csv": (
        "City",
        "x,City\n1,Ulm,2\n",
        {},
        "line 2 has 3 cells, and the header 2. Give",
    ),
    "nul.csv": (
        "City",
        "City,x\nUl\0m,1\n",
        {},
        "line 2 has a character U+0000. Is it",
    ),
    "twice.csv": (
        "City",
        "City,x\nUlm,1\nCity,x\n",
        {},
        "line 3 is the header again. Take",
    ),
    "second.csv": (
        "age",
        "age,x\nHow old are you?,x\n3,1\n",
        {},
        "line 2, column 'age': 'How old are you?' must be a number from 0 to 120, or none.",
    ),
    "blank.csv": (
        "City",
        "x,City\n1,Ulm\n\n2,Ulm\n",
        {},
        "line 3 is blank, and others follow. Take",
    ),
    "misspelt.csv": (
        "City",
        "City,x\nUlmm,1\n",
        {},
        "line 2, column 'City': 'Ulmm' must be the "
        "name of an item of this question. Did you mean 'Ulm'? Correct it, or name it in",
    ),
    "unlisted.csv": (
        "drinks",
        "drinks\ntea\nsoup\n",
        {},
        "line 3, column 'drinks': 'soup' must be "
        "the name of an item of this question, or its number from 0 to 4. List it in",
    ),
    "thousands.csv": (
        "age",
        "age;x\n1,234;1\n",
        {},
        "line 2, column 'age': '1,234' must be a number",
    ),
    "mixed.csv": (
        "age",
        "age;x\n1,5;1\n1.5;1\n",
        {},
        "line 2, column 'age': '1,5' must be a number",
    ),
    "commas.csv": (
        "age",
        "age;x\n1,5;1\n1.5;1\n",
        {"decimal": ","},
        "line 3, column 'age': '1.5' must",
    ),
    "nowhere.csv": (
        "City",
        "Town,x\nUlm,1\n",
        {},
        "one column 'City' is needed, and there is none.",
    ),
    "headless.csv": (
        "City",
        "Ulm\nUlm\n",
        {"columns": ("Ulm",)},
        "the first line, 'Ulm', holds an",
    ),
    "two.csv": (
        "City",
        "City,city \nUlm,1\n",
        {},
        "one column 'City' is needed, and there are 2. "
        "Say which, in columns: 'City #1' is the first of them.",
    ),
    "third.csv": (
        "City",
        "City,city \nUlm,1\n",
        {"columns": ("City #3",)},
        "one column 'City #3' is needed, and there is none.",
    ),
    "tall.csv": (
        "City",
        "id,question,answer\n1,City,Ulm\n1,age,3\n",
        {},
        "column 'question' has 'City' in its cells: it "
        "has a row for each answer. Make it a table with a row for each person, and a column for each",
    ),
    "frequencies.csv": (
        "City",
        "City,n\nUlm,250\nKöln,300\n",
        {},
        "has every answer once, beside 'n': a table of "
        "frequencies. Give a row for each person.",
    ),
    "empty.csv": ("City", "\n\n", {}, "is empty. Give a header and rows."),
    "nobody.csv": (
        "City",
        "City,x\n,1\n",
        {},
        "nobody has an answer to 'City'. Is it the right",
    ),
    "rowless.csv": (
        "City",
        "City,x\n",
        {},
        "there are no rows below the header. Add a line",
    ),
    "binary.csv": (
        "City",
        b"City\n\x81\n",
        {},
        "is no text in UTF-8, nor in Windows-1252. Save",
    ),
    "half.csv": (
        "drinks",
        "a,b\n1,maybe\n",
        {"columns": ("a", "b")},
        "columns of 'drinks': no answer is called like 'a', 'b'; no column is called like "
        "'tea', 'black tea'. Say which column is which answer: columns = { \"tea\" = \"a\", ... }.",
    ),
    "order.csv": (
        "drinks",
        "a,b,c,d,e\n1,1,1,1,1\n",
        {"columns": tuple("abcde")},
        "no answer is called like 'a', 'b', 'c', 'd', 'e'; no column is called like 'tea', 'black tea'.",
    ),
    "iced.csv": (
        "drinks",
        "d/tea,d/iced_black tea\n1,1\n",
        {"columns": ("d/tea", "d/iced_black tea")},
        "no answer is called like 'd/iced_black tea'; no column is called like 'black tea'.",
    ),
    "onetwice.csv": (
        "drinks",
        "d/tea,d/Hot\n1,1\n",
        {"columns": ("d/tea", "d/Hot"), "label": {"tea": "Hot"}},
        "one answer is called like 'd/tea', 'd/Hot'; no column is called like 'black tea'.",
    ),
    "numbered.csv": (
        "drinks",
        "d_1,d_2\n1,1\n",
        {"columns": ("d_1", "d_2")},
        "no answer is called like 'd_1', 'd_2'; no column is called like 'tea', 'black tea'.",
    ),
    "cold.csv": (
        "City",
        "c/Ulm,c/Köln,c/a,b\nc\n1,1,0\n",
        {"columns": ("c/Ulm", "c/Köln")},
        "no column is called like 'a,b\\nc'. Say which",
    ),
    "refusals.csv": (
        "drinks",
        "tea,black tea\nno,1\n",
        {"columns": ("tea", "black tea"), "missing": ("Checked",)},
        "missing is 'checked' but must be left out: it is a tick in column 'tea'. It would turn",
    ),
    "date.csv": (
        "City",
        "City,x\n2026-05-01,1\n",
        {},
        "It is a date, which a spreadsheet makes of answers "
        'such as 1-5 or 10/12: say what it stands for, as in recode = { "2026-05-01" = "1-5" }.',
    ),
    "maybe.csv": (
        "drinks",
        "tea,cold 1\n1,maybe\n",
        {"columns": {"tea": "tea", "cold 1": "cold 1"}},
        "line 2, column 'cold 1': 'maybe' must be ticked, as by 1, yes, x, true, or not, as by 0, no, false. Name it in ticks",
    ),
    "list.jsonl": (
        "City",
        '{"City": "Ulm"}\n["Ulm"]\n',
        {},
        "line 2, '[\"Ulm\"]\\n', is no JSON object.",
    ),
    "again.jsonl": (
        "City",
        '{"City": "Ulm", "City": "Ulm"}\n',
        {},
        "is not JSON: a key stands twice.",
    ),
    "nothing.xlsx": (
        "City",
        b"PK",
        {},
        "nothing.xlsx: is not a spreadsheet. Is it text? Name it .csv then.",
    ),
    "nothing.parquet": ("City", b"PAR1" * 9, {}, "nothing.parquet: "),
    "marked.parquet": (
        "City",
        b"PAR1" * 9,
        {"delimiter": ";"},
        "must be left out for a .parquet file",
    ),
    "where.csv": (
        "City",
        "City\nUlm\n",
        {"encoding": "latin-9b"},
        "must be an encoding of text.",
    ),
}


def written(folder, name, content):
    path = folder / name
    if isinstance(content, dict):
        frame = pd.DataFrame(content)
        (
            frame.to_excel(path, index=False)
            if path.suffix == ".xlsx"
            else frame.to_parquet(path)
        )
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("name", [*TAKEN, *REFUSED])
def test_all_readers_of_answers_take_and_refuse_alike(
    tmp_path, monkeypatch, parameters, name
):
    asked, content, remark, *expected = (TAKEN | REFUSED)[name]
    question = ASKED[asked].replacing(
        **{k: v for k, v in remark.items() if k not in OPTIONS}
    )
    options = Reading(**{k: v for k, v in remark.items() if k in OPTIONS})
    readers = Readers(parameters, monkeypatch, tmp_path)
    answers = list(readers.every(written(tmp_path, name, content), question, options))
    codes, words = expected if name in TAKEN else (None, *expected)
    for user, given, said in answers:
        assert given == codes, user
        assert words in said, user
    assert len({said for _, _, said in answers}) == 1
    paths = tmp_path.glob("out*")
    assert list(paths) == ([] if codes is None else [readers.out])


LIMITS = {
    "many.csv": (reading, "MOST_ROWS", "City\n" + "Ulm\n" * 4, {}),
    "wide.jsonl": (
        typed_files,
        "MOST_HEADINGS",
        '{"City": "Ulm", "a": 1, "b": 2, "c": 3}\n',
        {},
    ),
    "long.csv": (text_files, "LONGEST_LINE", "City\nUlm" + "m" * 9, {}),
    "placed.csv": (
        cells,
        "MOST_PLACED",
        "drinks\na\nb\nc\nd\n",
        {"place_unlisted": True},
    ),
    "letters.csv": (
        cells,
        "LONGEST_PLACED",
        "drinks\nlong\n",
        {"place_unlisted": True},
    ),
    "members.dat": (datasets, "_MOST_MEMBERS", "0 1\n0 1\n", {}),
    "people.dat": (datasets, "_MOST_MEMBERS", "0 1\n9\n", {}),
}


@pytest.mark.parametrize("name", LIMITS)
def test_files_that_are_too_large_are_refused(tmp_path, monkeypatch, name):
    module, limit, text, remark = LIMITS[name]
    monkeypatch.setattr(module, limit, 3)
    if "City" in text:
        question = CITY
    else:
        question = DRINKS
    with refused(kind=FileError):
        read_known(
            written(tmp_path, name, text), question.answer_column, Reading(**remark)
        )


def test_an_excel_file_is_measured_before_it_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(rows, "MOST_MEBIBYTES", 1)
    with ZipFile(tmp_path / "bomb.xlsx", "w", ZIP_DEFLATED) as bomb:
        bomb.writestr("sheet.xml", b" " * (2**20 + 1))
    with refused("unpacks to more than 1 MiB", kind=FileError):
        read_known(tmp_path / "bomb.xlsx", CITY.answer_column)


def test_an_answer_without_a_name_is_called_by_its_level_everywhere(parameters):
    law = parameters.question("drinks")
    assert law.levels.item_names() == ["tea", "black tea", "cold 1", "cold 2", "cold 3"]
    assert [level.labels for level in DRINKS.levels][1] == (
        "cold 1",
        "cold 2",
        "cold 3",
    )
    assert law.asked.code(["cold 3", "tea"]) == law.asked.code([4, 0]) == (0, 4)
    for wrong in ("cold 0", "cold 4", "cold 01", "Cold 1", "hot 1", "4"):
        with refused("answer"):
            law.asked.code([wrong])


@pytest.mark.parametrize(
    "items", [("Tea", "tea "), ("Cafe\u0301", "Caf\u00e9"), ("COLD 2",), ("3",)]
)
def test_names_that_a_file_could_not_tell_apart_are_refused(items):
    with refused("items 1", "items 2"):
        DRINKS.replacing(levels=(Level("hot", 1.0, items), DRINKS.levels[1]))


IN_A_GIGABYTE = """
import resource, sys
import pandas, pyarrow.parquet, openpyxl
from planner.errors import FileError
from planner.planning import datasets
from planner.planning.datasets import read_known
from planner.survey.levels import Level
from planner.survey.choices import Categorical, ItemSet
from planner.survey.numeric import Numeric
from planner.survey.reading import AnswerFile
from planner.survey.tables import Reading
pages = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (pages + 2**30,) * 2)
levels = Level("l", 1.0, tuple("ab")), Level("n", 1.0, item_count=5)
asked = ItemSet("x", levels), Numeric("x", 0, 9, epsilon=1.0)
many = Categorical("x", (Level("l", 1.0, item_count=10**12),)).answer_column
print(*AnswerFile("places.csv", [many], Reading(place_unlisted=True)).blocks())
for name in sys.argv[1:]:
    try:
        known = read_known(name, asked["numbers" in name].answer_column)
        print(known.read_as)
    except FileError as error:
        print(error.reason)
"""


@pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="needs Linux' limit on memory"
)
def test_small_files_never_fill_the_memory(tmp_path):
    """Each took 6 to 12 GB once: fixed-width letters, and lists of rows."""
    long = "a" * 131_000
    written(tmp_path, "places.csv", "x\nb\na\n")
    texts = {
        "one-long.csv": (
            "x\n" + long + "\n" + "b\n" * 12_000,
            "must be the name of an item",
        ),
        "one-long.dat": (long + ";\n" + "b;\n" * 12_000, "must be the name of an item"),
        "blank.dat": (" " * 8 * 2**20, "line 1 has more than 4 MiB"),
        "numbers.csv": ("x\n" + "1\n" * 100_000, "100,000 rows"),
        "sets.csv": ("x\n" + "a;b\n" * 100_000, "100,000 rows"),
        "sets.dat": ("1 2 3\n" * 100_000, "100,000 rows"),
    }
    for name, (text, _) in texts.items():
        written(tmp_path, name, text)
    same = pa.DictionaryArray.from_arrays(pa.array([0] * 10**5, pa.int32()), [long * 8])
    pq.write_table(pa.table({"x": same}), tmp_path / "bomb.parquet")
    texts["bomb.parquet"] = "", "must be the name of an item"
    command = [sys.executable, "-c", IN_A_GIGABYTE, *texts]
    done = subprocess.run(  # noqa: S603
        command, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert not done.stderr
    placed, *lines = done.stdout.splitlines()
    assert placed == "[[1, 0]]"
    for said, (_, expected) in zip(lines, texts.values(), strict=True):
        assert expected in said
