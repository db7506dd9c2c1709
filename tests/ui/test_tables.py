"""Short tables are plain HTML with bars; long ones are grids; nothing typed becomes markup."""

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from planner.show.charts.style import RED
from planner.ui.parts.tables import Bars
from tests.ui.pages import TIMEOUT, tables


def drawn(columns):
    """A page with one table, its columns given as Python text."""
    imports = "import numpy as np\nfrom planner.ui.parts.tables import Bars, show_table"
    script = f"{imports}\nshow_table({columns})"
    app = AppTest.from_string(script, default_timeout=TIMEOUT).run()
    assert not app.exception
    return app


def html(app):
    return next(element.proto.body for element in app.get("html"))


def test_numbers_are_shown_in_full_and_right_aligned_unlike_words():
    app = drawn("{'name': ['x', '40-49'], 'n': np.array([12345.5, 1e-9]), 'share': ['-5 %', '']}")
    assert tables(app) == [
        {"name": ["x", "40-49"], "n": ["12,345.5", "1e-09"], "share": ["-5 %", ""]}
    ]
    assert html(app).count("<th class=number>") == 2
    assert "<td>40-49</td>" in html(app)


def test_what_people_typed_is_never_markup():
    app = drawn("{'<b>head': ['<img src=x onerror=alert(1)>', 'a & b']}")
    assert tables(app) == [{"<b>head": ["<img src=x onerror=alert(1)>", "a & b"]}]
    assert "<img" not in html(app)


def test_only_long_tables_are_grids_and_these_have_no_bars():
    assert len(drawn("{'n': range(40), 'bars': Bars(range(40))}").dataframe) == 0
    grid = drawn("{'n': range(41), 'bars': Bars(range(41))}").dataframe[0].value
    assert grid.columns.tolist() == ["n"]
    assert len(grid) == 41


def test_bars_are_as_long_as_their_numbers():
    red, green, blue = Bars(np.array([1.0, 4.0, 0.0]), ["red", "green", "blue"]).cells()
    assert "width:25.00%;background:red" in red
    assert "width:100.00%;background:green" in green
    assert "width:0.00%;background:blue" in blue


@pytest.mark.parametrize(
    ("mark", "place", "width"), [(2.0, "0.5000", "100.00"), (8.0, "1.0000", "50.00")]
)
def test_a_mark_is_drawn_to_scale_in_every_row(mark, place, width):
    cells = Bars([1.0, 4.0], mark=mark).cells()
    assert all(f"* {place})" in cell and RED in cell for cell in cells)
    assert f"width:{width}%" in cells[1]


def test_bars_of_nothing_have_no_length():
    assert all("width:0.00%" in cell for cell in Bars([0.0, 0.0]).cells())
