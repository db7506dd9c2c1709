# ruff: noqa: E501 - a file on a line
"""Files as forms, panels and statisticians export them, each read without an edit of the file."""

from math import isnan
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import openpyxl
import pandas as pd
import pyreadstat
import pytest

from planner import FileError, InputError, survey_from_text
from planner.planning.datasets import read_known
from planner.survey.tables import Reading

HEAD = '[survey]\nname = "s"\nusers = 9\n[[question]]\nname = "q"\n'
LEVEL = (
    '[[question.level]]\nname = "all"\nepsilon = 1\nitems = ["tea", "beer", "water"]\n'
)
SETS = 'kind = "item-set"\npadding_length = 2\n'
ONE = LEVEL.replace(', "water"', "")
SEX = LEVEL.replace('"tea", "beer", "water"', '"Male", "Female"')
CODED = LEVEL.replace('"tea", "beer", "water"', '"1", "2", "3"')
NUMBER = 'kind = "numeric"\nepsilon = 1\nlower = 0\nupper = 99\n'
SCALE = 'kind = "ordinal"\nno_answer = "DK"\n[[question.level]]\nname = "all"\nepsilon = 1\nitems = ["low", "high", "DK"]\n'
# A name, the content, the keys of the question (with its levels), the counts of its answers.
SHAPES = {
    "kobo-headers-and-groups.csv": (
        "start,grp/q/tea,grp/q/beer,grp/q/water\n1,1,0,0\n2,0,1,1\n",
        SETS + 'columns = ["grp/q/beer", "grp/q/tea", "grp/q/water"]\n' + LEVEL, [1, 1, 1]),
    "kobo-semicolons-and-labels.csv": (
        "start;What do you drink?/Green tea;What do you drink?/beer;What do you drink?/water\n1;1;0;0\n2;0;0;1\n",
        SETS + 'columns = ["What do you drink?/Green tea", "What do you drink?/beer", "What do you drink?/water"]\nlabel = { tea = "Green tea" }\n' + LEVEL, [1, 0, 1]),
    "odk-joined.csv": ("q,x\ntea beer,1\n,2\nwater,3\n", SETS + LEVEL, [1, 1, 1]),
    "surveycto-wide.csv": (
        "KEY,q,q_1,q_2,q_3\nuuid:1,1 3,1,0,1\nuuid:2,2,0,1,0\n",
        SETS + 'columns = ["q_3", "q_2", "q_1"]\n' + CODED, [1, 1, 1]),
    "surveycto-labels.csv": (
        "KEY,q\nuuid:1,Black tea\nuuid:2,Beer\nuuid:3,\n", 'label = { tea = "Black tea" }\n' + LEVEL, [1, 1, 0]),
    "redcap-raw.csv": (
        "record_id,q___tea,q___beer,q___water\n1,1,0,0\n2,1,1,0\n",
        SETS + 'columns = ["q___tea", "q___beer", "q___water"]\n' + LEVEL, [2, 1, 0]),
    "redcap-labels.csv": (
        '"Record ID","Drinks (choice=Tea)","Drinks (choice=Beer)"\n1,Checked,Unchecked\n2,Unchecked,Checked\n',
        SETS + 'columns = { tea = "Drinks (choice=Tea)", beer = "Drinks (choice=Beer)" }\n' + LEVEL, [1, 1, 0]),
    "limesurvey.csv": (
        '"id. Response ID";"q[tea]";"q[beer]";"q[water]"\n"1";"Y";"N";"N"\n"2";"Y";"";"Y"\n',
        SETS + 'columns = ["q[tea]", "q[beer]", "q[water]"]\n' + LEVEL, [2, 0, 1]),
    "qualtrics-three-headers.csv": (
        'Q1,Q2\n"Drink?","Age"\n"{""ImportId"":""QID1""}","{""ImportId"":""QID2""}"\ntea,17\nbeer,20\n',
        'columns = ["{""ImportId"":""QID1""}"]\n'.replace('""', '\\"').replace('["{', '["{') + LEVEL, [1, 1, 0], {"skip_rows": 2}),
    "surveymonkey-own-names.csv": (
        "RespondentID,Tea,Beer,Water\n1,Tea,,\n2,Tea,,Water\n", SETS + 'columns = ["Tea", "Beer", "Water"]\n' + LEVEL, [2, 0, 1]),
    "google-forms.csv": (
        'Timestamp,q\n2026/05/01 3:00:00 PM GMT+2,"tea, water"\n2026/05/01 3:01:00 PM GMT+2,beer\n', SETS + LEVEL, [1, 1, 1]),
    "microsoft-forms.xlsx": ({"ID": [1, 2], "q": ["tea;water;", "beer;"]}, SETS + LEVEL, [1, 1, 1]),
    "german-excel.csv": ("Nr;q;Alter\n1;Tee;17,5\n2;Bier;20\n".encode("cp1252"), 'recode = { Tee = "tea", Bier = "beer" }\n' + LEVEL, [1, 1, 0]),
    "german-ticks.csv": ("tea;beer;water\nja;nein;nein\nnein;ja;ja\n", SETS + 'columns = ["water", "tea", "beer"]\n' + LEVEL, [1, 1, 1]),
    "spss-dichotomies.csv": ("q_1,q_2,q_3\n1,2,2\n2,1,1\n", SETS + 'columns = ["q_1", "q_2", "q_3"]\nunticked = ["2"]\n' + CODED, [1, 1, 1]),
    "mentioned.csv": ("tea,beer,water\nmentioned,not mentioned,not mentioned\nmentioned,not mentioned,mentioned\n",
        SETS + 'columns = ["tea", "beer", "water"]\nticks = ["mentioned"]\nunticked = ["not mentioned"]\n' + LEVEL, [2, 0, 1]),
    "floats-of-pandas.csv": (",tea,beer,water\n0,1.0,0.0,0.0\n1,0.0,,1.0\n", SETS + 'columns = ["tea", "beer", "water"]\n' + LEVEL, [1, 0, 1]),
    "one-hot.csv": ("q.tea,q.beer,q.water\nTRUE,FALSE,FALSE\nFALSE,TRUE,FALSE\n", 'columns = ["q.water", "q.beer", "q.tea"]\n' + LEVEL, [1, 1, 0]),
    "r-with-na.csv": ('"","q"\n"1","tea"\n"2",NA\n"3","water"\n', 'missing = ["NA"]\n' + LEVEL, [1, 0, 1]),
    "twice-the-same-heading.csv": ("q,q\nx,tea\nx,beer\n", 'columns = ["q #2"]\n' + LEVEL, [1, 1, 0]),
    "dates-of-a-spreadsheet.xlsx": (
        {"q": pd.to_datetime(["2026-05-01", "2026-12-10"])}, 'recode = { "2026-05-01" = "tea", "2026-12-10" = "beer" }\n' + LEVEL, [1, 1, 0]),
    "excel-whole-numbers.xlsx": ({"q": [1.0, 3.0, None]}, CODED, [1, 0, 1]),
    "old.xls": (None, 'columns = ["Drinks"]\n' + SETS + LEVEL, [2, 1, 0]),
    "libreoffice.ods": ([["q"], ["tea"], ["beer"]], LEVEL, [1, 1, 0]),
    "panel.sav": ("values", 'columns = ["sex"]\n' + SEX, [1, 2]),
    "panel-codes.sav": ("values", 'columns = ["sex"]\n' + CODED, [1, 2, 0]),
    "panel-joined-codes.sav": ("values", 'columns = ["sex"]\nrecode = { Male = "beer", 2 = "tea" }\n' + LEVEL, [2, 1, 0]),
    "panel-scale.sav": ("values", 'columns = ["mood"]\n' + SCALE, [2, 1, 1]),
    "panel-number.sav": ("values", 'columns = ["age"]\nmissing = ["Refused"]\n' + NUMBER, [17.0, 18.0, 20.5, None]),
    "stata.dta": ("values", 'columns = ["sex"]\n' + SEX, [1, 2]),
    "bars-and-bom.txt": ("\ufeffid|q\n1|tea\n2|water\n", LEVEL, [1, 0, 1]),
    "app.jsonl": ('{"id": 1, "q": ["tea", "beer"]}\n{"id": 2, "q": []}\n', SETS + LEVEL, [1, 1, 0]),
    "warehouse.parquet": ({"q": ["tea", "beer", None]}, LEVEL, [1, 1, 0]),
    "write-table-of-r.txt": ('"id" "q"\n"1" 7 "tea"\n"2" 8 "beer"\n"3" 9 "beer"\n', LEVEL, [1, 2, 0]),
    "write-table-with-tabs.tsv": ('"q"\t"x"\n"a"\t"tea"\t1\n"b"\t"beer"\t2\n', LEVEL, [1, 1, 0]),
    "blanks-in-columns.txt": ("id    q     x\n 1  tea   1.5\n10  water 2  \n", LEVEL, [1, 0, 1]),
    "single-quotes.csv": ("'id'\t'q'\n1\t'tea'\n2\twater\n", LEVEL, [1, 0, 1]),
    "market-basket.dat": ("tea beer\nwater\n", SETS + LEVEL, [1, 1, 1]),
}  # fmt: skip


def sheet(path, rows, before=""):
    """An OpenDocument sheet of text, with what stands ``before`` its content."""
    spaces = "".join(
        f' xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "text", "table")
    )
    cells = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    content = (
        f"{before}<office:document-content{spaces}><office:body><office:spreadsheet>"
        f'<table:table table:name="S">{cells}</table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    manifest = (
        '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:'
        f'manifest:1.0"><manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/>'
        "</manifest:manifest>"
    )
    with ZipFile(path, "w", ZIP_DEFLATED) as packed:
        packed.writestr("mimetype", kind)
        packed.writestr("META-INF/manifest.xml", manifest)
        packed.writestr("content.xml", content)


def cell(text, keys=""):
    return f'<table:table-cell {keys} office:value-type="string"><text:p>{text}</text:p></table:table-cell>'


def panel(path):
    frame = pd.DataFrame(
        {"sex": [1.0, 2, 2, 9], "mood": [1.0, 1, 2, 9], "age": [17.0, 18, 20.5, 99]}
    )
    labels = {
        "sex": {1: "Male", 2: "Female", 9: "Refused"},
        "mood": {1: "low", 2: "high"},
        "age": {99: "Refused"},
    }
    if path.suffix == ".sav":
        ranges = {"sex": [9], "mood": [{"lo": 8, "hi": 9}]}
        pyreadstat.write_sav(
            frame, path, variable_value_labels=labels, missing_ranges=ranges
        )
    else:
        frame["sex"] = frame["sex"].where(frame["sex"] < 9)
        labels = {"sex": labels["sex"]}
        pyreadstat.write_dta(frame, path, variable_value_labels=labels)


def written(folder, name, content):
    path = folder / name
    match content:
        case None:
            path.write_bytes(Path(__file__).with_name(name).read_bytes())
        case "values":
            panel(path)
        case list():
            sheet(path, ["".join(map(cell, row)) for row in content])
        case dict() if path.suffix == ".xlsx":
            pd.DataFrame(content).to_excel(path, index=False)
        case dict():
            pd.DataFrame(content).to_parquet(path)
        case bytes():
            path.write_bytes(content)
        case str():
            path.write_text(content, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", SHAPES)
def test_a_file_is_read_as_it_was_exported(tmp_path, name):
    content, keys, expected, *options = SHAPES[name]
    survey = survey_from_text(HEAD + _keys_first(keys))
    (question,) = survey.questions
    if options:
        reading = Reading(**options[0])
    else:
        reading = None
    path = written(tmp_path, name, content)
    answers = read_known(path, question.answer_column, reading).answers
    if hasattr(answers, "counts"):
        assert answers.counts.tolist() == expected
    else:
        numbers = []
        for answer in answers.tolist():
            numbers.append(None if isnan(answer) else answer)
        assert numbers == expected


def _keys_first(keys):
    """Keys of a question stand before its levels."""
    lines, _, levels = keys.partition("[[question.level]]")
    return lines + "[[question.level]]" * bool(levels) + levels


def test_a_file_that_says_what_its_codes_mean_is_read_in_parts(tmp_path, monkeypatch):
    from planner.survey import typed_files

    monkeypatch.setattr(typed_files, "STATISTICS_ROWS", 3)
    test_a_file_is_read_as_it_was_exported(tmp_path, "panel.sav")


DAMAGED = "is not a spreadsheet|is no file of (SPSS|Stata)|line 20000 has 16,384 cells"
LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "'
    + "&a;" * 10
    + '"><!ENTITY f SYSTEM "file:///etc/hostname">]>'
)


@pytest.mark.parametrize("entity", ["&b;", "&f;"])
def test_entities_of_sheets_are_not_read(tmp_path, entity):
    survey = survey_from_text(HEAD + LEVEL)
    (question,) = survey.questions
    sheet(tmp_path / "a.ods", [cell("q"), cell(entity)], LAUGHS)
    with pytest.raises(FileError, match=DAMAGED):
        read_known(tmp_path / "a.ods", question.answer_column)
    book = openpyxl.Workbook()
    book.active.append(["q"])
    book.active.append(["tea"])
    book.save(tmp_path / "plain.xlsx")
    with (
        ZipFile(tmp_path / "plain.xlsx") as plain,
        ZipFile(tmp_path / "a.xlsx", "w") as bomb,
    ):
        for part in plain.namelist():
            text = plain.read(part).decode()
            if "tea" in text:
                if "?>" in text:
                    text = LAUGHS + text.partition("?>")[2]
                else:
                    text = LAUGHS + text
                text = text.replace("tea", entity)
            bomb.writestr(part, text)
    with pytest.raises(FileError, match=DAMAGED):
        read_known(tmp_path / "a.xlsx", question.answer_column)


def test_a_sheet_with_a_cell_far_away_takes_no_memory(tmp_path):
    survey = survey_from_text(HEAD + LEVEL)
    (question,) = survey.questions
    book = openpyxl.Workbook()
    book.active.append(["q"])
    book.active["XFD20000"] = "tea"
    book.save(tmp_path / "a.xlsx")
    with pytest.raises(FileError, match=DAMAGED):
        read_known(tmp_path / "a.xlsx", question.answer_column)
    many = 'table:number-columns-repeated="16000"'
    blank = '<table:table-cell table:number-columns-repeated="16000"/>'
    bombs = (
        [cell("q"), *[cell("tea", many)] * 400],
        [cell("q")] + [blank] * 400 + [blank + cell("tea")],
    )
    for rows in bombs:
        sheet(tmp_path / "a.ods", rows)
        with pytest.raises(FileError, match="more than 5,000,000 cells up to its last"):
            read_known(tmp_path / "a.ods", question.answer_column)


def test_what_is_no_file_of_its_kind_is_refused(tmp_path):
    survey = survey_from_text(HEAD + LEVEL)
    (question,) = survey.questions
    contents = {
        "a.sav": b"$FL2" + b"\0" * 99,
        "a.dta": b"",
        "a.xls": b"\xd0\xcf\x11\xe0" + b"\0" * 99,
        "a.ods": b"PK\x03\x04" + b"\0" * 99,
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(FileError, match=DAMAGED):
            read_known(tmp_path / name, question.answer_column)
    with pytest.raises(InputError, match="left out for a"):
        read_known(tmp_path / "a.sav", question.answer_column, Reading(delimiter=","))
