import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.policy.budget_text import parse_epsilon
from tests.refusals import refused


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (1, 1.0),
        (" 2 ", 2.0),
        (".5", 0.5),
        ("2.", 2.0),
        ("1e-3", 1e-3),
        ("ln 4", math.log(4)),
        ("ln(4)", math.log(4)),
        ("ln ( 4 )", math.log(4)),
        ("1.2 * ln 6", 1.2 * math.log(6)),
        ("1.2*ln(6)", 1.2 * math.log(6)),
        ("ln 4 / 2", math.log(4) / 2),
        ("2 * ln 3 * 1.5 / 4", 2 * math.log(3) * 1.5 / 4),
        ("ln .5 * ln .5", math.log(0.5) ** 2),
        ("(2)", 2.0),
        ("50", 50.0),
        (50, 50.0),
    ],
)
def test_budgets_as_people_write_them(text, value):
    assert parse_epsilon(text) == value


@given(st.floats(1e-6, 50))
def test_every_number_reads_back(value):
    assert parse_epsilon(repr(value)) == value == parse_epsilon(value)


NO_NUMBERS = [0, -1, -0.0, math.nan, math.inf, -math.inf, 50.0001, 10**400, True, None, [1], b"1"]
NO_TEXTS = """| |-1|+1|0|nan|inf|ln 1|ln 0|ln 0.5|ln -4|ln ln 4|ln4|log 4|LN 4|4 ln|1 + 1|2 ** 3
2 // 3|1 2|* 2|2 *|1 / 0|(2|2)|((2))|ln (4|1,5|1_0|1e999|٣|__import__('os')""".replace("\n", "|")


@pytest.mark.parametrize("value", [*NO_NUMBERS, *NO_TEXTS.split("|"), "ln 4" + " * 1" * 40])
def test_everything_else_is_refused(value):
    with refused():
        parse_epsilon(value)


def test_the_message_names_the_argument_and_why_large_budgets_are_refused():
    with refused():
        parse_epsilon("ln 1e30", "none_epsilon")
