"""Nothing typed is guessed; what is written is read back exactly."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import InputError
from planner.ui.parts import cells

ITEMS = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Zs", "Zl", "Zp"]), min_size=1
)


@given(st.floats(1e-9, 50))
def test_budgets_survive_their_text(epsilon):
    assert cells.budget(cells.budget_text(epsilon)) == epsilon


@given(st.integers(2, 99_999))
def test_logarithms_are_shown_as_such(whole):
    assert cells.budget_text(math.log(whole)) == f"ln {whole}"


@given(st.lists(ITEMS, max_size=5, unique=True))
def test_items_survive_their_text(items):
    assert cells.item_list(cells.items_text(tuple(items))) == tuple(items)


@pytest.mark.parametrize(
    ("text", "value"),
    [("1000", 1000), ("1,000", 1000), ("12 345 678", 12345678), ("1_000", 1000), (" 7 ", 7)],
)
def test_whole_numbers(text, value):
    assert cells.whole_number(text, "users") == value


@pytest.mark.parametrize(
    "text",
    ["", "1,5", "1,00", "1.5", "1e5", "-3", "1,000,00", "1,000 000", "٣", "0", "10" + 12 * "0"],
)
def test_what_is_no_whole_number_is_not_guessed(text):
    with pytest.raises(InputError, match="users"):
        cells.whole_number(text, "users")


@pytest.mark.parametrize("text", ["", "1,5", "x", "nan", "inf", "1e999", "--1"])
def test_what_is_no_number_is_not_guessed(text):
    with pytest.raises(InputError, match="mean"):
        cells.number(text, "mean")


@pytest.mark.parametrize("text", ["", "101 %", "-1", "1.5", "x %"])
def test_what_is_no_share_is_not_guessed(text):
    with pytest.raises(InputError, match="share"):
        cells.probability(text, "share")
