"""One list of blocks with every kind of name, in every renderer: all is there, nothing acts."""

import html
import os
import re
from contextlib import redirect_stdout
from io import StringIO
from unittest.mock import patch

import numpy as np
import pytest
from rich.console import Console

from planner.show import terminal
from planner.show.blocks import (
    Fact,
    Facts,
    Figure,
    Heading,
    Sentence,
    Table,
    column,
    people,
)
from planner.show.figures import Chart, Line
from planner.show.html import page_of

NAMES = (
    "**bold** _i_ # h | `code` [l](http://x.example) ![i](http://x.example) :smile: $x$",
    '<img src=http://x.example onerror=alert(1)> </p><script>alert(1)</script> & "quoted"',
    "\x1b[2J\x1b]0;t\x07 [red]x[/red] \u202e backwards \u2028 line",
    "x" * 200,
    "wide 字 and ünï",
)


def drawn(name):
    lines = [Line(name, [1.0, 10.0, 100.0], [1.0, np.nan, 3.0], dash="dash")]
    return Chart(lines, (name, name), "x")


def blocks(name, rank="everybody"):
    table = (
        column(name, [name, "other"]),
        column("people", [1.0, 2.5], people, bars=True),
    )
    return [
        Heading(name, rank),
        Sentence(name, rank, "note"),
        Sentence(name, rank, "item"),
        Facts((Fact(name, name, name),), rank),
        Table(name, (*table, column("share", [0.5, 0.25], ".0%")), rank, accent=0),
        Figure(name, lambda: drawn(name), name, "key", rank),
    ]


def printed(shown, *, details=False):
    with patch.dict(os.environ, COLUMNS="80"), redirect_stdout(StringIO()) as page:
        terminal.print_blocks(terminal.terminal(), shown, details=details)
    return page.getvalue()


@pytest.mark.parametrize("name", NAMES)
def test_names_in_a_terminal(name):
    page = printed(blocks(name))
    assert not set(page) & set("\x1b\x07\u202e\u2028")
    lines = page.splitlines()
    assert max(map(len, lines)) <= 80
    shown = re.sub(r"\s", "", page)
    assert shown.count(re.sub(r"\s", "", terminal.visible(name))) >= 4
    assert "50%" in shown
    assert "2.5" in shown


@pytest.mark.parametrize("name", NAMES)
def test_names_in_a_page(name):
    page = page_of(name, blocks(name))
    assert name not in page or not set(name) & set('<>&"')
    body = page.partition("<body>")[2]
    tags = set(re.findall(r"<(/?[a-zA-Z0-9]+)", body))
    allowed = "h2 p ul li dl dt dd div table caption tr th td h3 figure svg title text polyline"
    assert {tag.strip("/") for tag in tags} <= {
        *allowed.split(),
        "footer",
        "body",
        "html",
    }
    assert html.unescape(re.sub(r"<[^>]+>", " ", body)).count(name) >= 7


def test_details_are_for_whoever_asks():
    page = [*blocks("first"), *blocks("second", "details")]
    assert "second" not in printed(page)
    assert "second" in printed(page, details=True)


def test_long_tables_are_cut():
    table = Table("t", (column("name", range(45)),), "everybody")
    assert "... and 5 more rows (see --json)." in printed([table])
    assert "... and 5 more." in page_of("t", [table])
    assert isinstance(terminal.terminal(), Console)
