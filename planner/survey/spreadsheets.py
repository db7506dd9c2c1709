"""Sheets of Excel and OpenDocument files.

Files are told apart by what they hold, not by their names. A sheet of Excel (``.xlsx``) is read by
openpyxl, a row at a time: calamine, which is faster, makes room for all cells up to the last, so
that a file of 5 kB with one cell in the last row ends the process. It reads the other forms: sheets
of ``.xls`` have at most 17 million cells, and those of ``.ods`` are counted first.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from planner.errors import FileError, PlannerError
from planner.laws.levels import folded
from planner.survey.rows import (
    NumberedRows,
    OpenedFile,
    missing_library,
    require_size,
)
from planner.survey.typed_files import cell_text

SPREADSHEETS = (".xlsx", ".xlsm", ".xls", ".ods")
MOST_CELLS = 5_000_000  # of an OpenDocument sheet up to its last
_ODF = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
# An .xlsx and an .ods are archives (ZIP); an .xls, and an .xlsx with a password, are
# Microsoft's compound files.
_ZIP = b"PK\x03\x04"
_COMPOUND = b"\xd0\xcf\x11\xe0"  # of .xls, and of files with a password
_CHUNK_BYTES = 2**16
_BLOCK_ROWS = 1000
_SAVE_AGAIN = "Save it as .xlsx without a password, or as CSV."


def open_spreadsheet(path: Path, skipped: int) -> OpenedFile:
    """The first sheet, without the first rows."""
    form = "Excel"
    if path.suffix.lower() == ".ods":
        form = "OpenDocument"
    return OpenedFile(
        f"{form}, the first sheet", lambda: sheet_rows(path, skipped=skipped)
    )


def sheet_rows(path: Path, sheet: str | None = None, skipped: int = 0) -> NumberedRows:
    """The rows of a sheet, the first if none is named, with their numbers.

    Those that end early are filled up: a sheet does not say where its rows end.

    Raises
    ------
    InputError
        The library that reads it is not installed.
    FileError
        It is no such file, or has no such sheet.
    """
    with path.open("rb") as file:
        start = file.read(4)
    if start == _ZIP:
        with _damage(path), ZipFile(path) as packed:
            # As the archive states them: some kilobytes may unpack to gigabytes.
            size = sum(part.file_size for part in packed.infolist())
            require_size(path, size, "unpacks to more than")
            rows = _calamine_rows
            # Office Open XML has its parts in this folder, however the file is called.
            if any(name.startswith("xl/") for name in packed.namelist()):
                _require_no_entities(path, packed)
                rows = _openpyxl_rows
            else:
                _require_few_cells(path, packed)
    elif start == _COMPOUND:
        rows = _calamine_rows
    else:
        raise FileError(path, "is not a spreadsheet", "Is it text? Name it .csv then.")
    width = 0
    with _damage(path):
        read = islice(rows(path, sheet), skipped, None)
        for number, row in enumerate(read, skipped + 1):
            cells = [cell_text(value) for value in row]
            # A cell that has a colour and nothing in it is a cell, too: rows would be
            # as wide as their formatting.
            while cells and not cells[-1]:
                cells.pop()
            width = width or len(cells)
            if cells:
                cells += [""] * (width - len(cells))
            yield number, cells


def _require_no_entities(path: Path, packed: ZipFile) -> None:
    """Refuse a workbook that declares a document type: none needs one, and entities stand there.

    Whether a library expands entities depends on which parser of XML is installed beside it.
    """
    from xml.parsers import expat

    for part in packed.infolist():
        if not part.filename.endswith((".xml", ".rels")):
            continue
        # Read as far as the first element, which is a few hundred bytes.
        parser = expat.ParserCreate()
        declared: list[str] = []
        begun: list[str] = []
        parser.StartDoctypeDeclHandler = lambda name, *_, seen=declared: seen.append(
            name
        )
        parser.StartElementHandler = lambda name, _, seen=begun: seen.append(name)
        with packed.open(part) as content:
            # A document type can only stand before the first element.
            while not begun and (chunk := content.read(_CHUNK_BYTES)):
                parser.Parse(chunk)
        if declared:
            reason = "is not a spreadsheet as programs save it: it declares entities"
            raise FileError(path, reason, _SAVE_AGAIN)


def _require_few_cells(path: Path, packed: ZipFile) -> None:
    """Refuse an OpenDocument file whose few words stand for many cells, repeated or far away.

    Its entities are Expat's to refuse: it reads none from other files, and ends a document that
    they make a hundred times as long.
    """
    from xml.etree.ElementTree import iterparse

    rows = 0  # of a table up to the last that is not blank
    line = 0  # its rows so far
    width = 0  # of its widest row
    column = 0  # of a row so far
    with packed.open("content.xml") as content:
        for _, element in iterparse(content):  # noqa: S314 - see above
            if element.tag in (_ODF + "table-cell", _ODF + "covered-table-cell"):
                column += int(element.get(_ODF + "number-columns-repeated", 1))
                if len(element):  # a cell that is not blank has a paragraph
                    width = max(width, column)
            elif element.tag == _ODF + "table-row":
                line += int(element.get(_ODF + "number-rows-repeated", 1))
                if element.find(f"{_ODF}table-cell/*") is not None:
                    rows = line
                column = 0
                element.clear()
            elif element.tag == _ODF + "table":
                rows = 0
                line = 0
                width = 0
            if rows * width > MOST_CELLS:
                reason = f"has more than {MOST_CELLS:,} cells up to its last"
                raise FileError(
                    path, reason, "Give the sheet alone, or save it as CSV."
                )


@contextmanager
def _damage(path: Path) -> Iterator[None]:
    """Words whatever a library meets in a damaged file."""
    try:
        yield
    except (PlannerError, OSError):
        raise
    except BadZipFile as error:
        raise FileError(path, f"is not a spreadsheet: {error}", _SAVE_AGAIN) from error
    # Libraries raise whatever they stumble over in a damaged file, and document none of
    # it.
    except Exception as error:
        first, *_ = str(error).splitlines() or [repr(error)]
        reason = f"is not a spreadsheet that can be read: {first}"
        raise FileError(path, reason, _SAVE_AGAIN) from error


def _openpyxl_rows(path: Path, sheet_name: str | None) -> Iterator[Sequence[object]]:
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        raise missing_library("Excel", "openpyxl") from error
    # A file that the library opens itself stays open where it is damaged.
    with path.open("rb") as file:
        with _without_warnings():
            # With data_only a formula is what it gave when the file was saved, and not
            # its text.
            book = load_workbook(file, read_only=True, data_only=True)
        titles = [sheet.title for sheet in book.worksheets]
        cells = book[_sheet_name(path, titles, sheet_name)]
        cells.reset_dimensions()  # what a file says of its own size may be wrong
        rows = cells.iter_rows(values_only=True)
        while True:
            with _without_warnings():
                block = list(islice(rows, _BLOCK_ROWS))
            if not block:
                return
            yield from block


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Hide openpyxl's warnings: of colours and checks that no cell's value needs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _calamine_rows(path: Path, sheet_name: str | None) -> Iterator[Sequence[object]]:
    try:
        import python_calamine
    except ImportError as error:
        raise missing_library(
            "old Excel and OpenDocument", "python-calamine"
        ) from error
    try:
        book = python_calamine.load_workbook(path)
    except python_calamine.PasswordError as error:
        raise FileError(path, "has a password", _SAVE_AGAIN) from error
    with book:
        name = _sheet_name(path, book.sheet_names, sheet_name)
        cells = book.get_sheet_by_name(name)
        yield from cells.iter_rows()


def _sheet_name(path: Path, names: Sequence[str], sheet: str | None) -> str:
    if not names:
        raise FileError(path, "has no sheet", _SAVE_AGAIN)
    if sheet is None:
        return names[0]
    for name in names:
        if folded(name) == folded(sheet):
            return name
    remedy = f"There are: {', '.join(names)}."
    raise FileError(path, f"has no sheet {sheet!r}", remedy)
