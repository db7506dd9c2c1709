"""A command is asked line by line, in bounded time, and ended by its own id."""

import sys
import time

import pytest

from planner.errors import InputError
from planner.outsiders import CommandBox, FunctionBox


def python(text, **options):
    return CommandBox([sys.executable, "-c", text], **options)


def test_a_function():
    box = FunctionBox(lambda answer: f"got {answer}" if answer else b"\xff")
    assert box.ask(["é", ""]) == ["got é".encode(), b"\xff"]


def test_a_command_gets_json_and_may_answer_late():
    answers = ["flu", "é\n", 3, None, ["a", "b"]]
    box = CommandBox(["cat"])
    assert box.ask(answers) == [
        b'"flu"',
        '"é\\n"'.encode(),
        b"3",
        b"null",
        b'["a", "b"]',
    ]
    late = python(
        "import sys; lines = sys.stdin.readlines(); print(*[len(x) for x in lines], sep='\\n')"
    )
    assert late.ask(["a", "bc"]) == [b"4", b"5"]


def test_many_lines_do_not_block():
    """More than pipes hold, both ways."""
    answers = ["x" * 100] * 20_000
    assert CommandBox(["cat"]).ask(answers) == [b'"' + b"x" * 100 + b'"'] * 20_000


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("pass", "reports is 0"),
        ("input(); print(1)", "reports is 1"),
        ("import sys; [print(i) for i in range(9)]; sys.stdin.read()", "reports is 9"),
    ],
)
def test_too_few_or_too_many(text, says):
    with pytest.raises(InputError, match=says):
        python(text).ask(["a", "b", "c"])


@pytest.mark.parametrize(
    "text",
    [
        "import time; time.sleep(60)",
        "import signal, time; "
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(60)",
    ],
)
def test_time_is_bounded(text):
    start = time.monotonic()
    with pytest.raises(InputError, match="within 1 seconds"):
        python(text, seconds=1).ask(["a", "b"])
    assert time.monotonic() - start < 20


def test_what_cannot_be_started():
    with pytest.raises(InputError, match="'/nothing/here' cannot be started"):
        CommandBox(["/nothing/here"]).ask(["a"])
    with pytest.raises(InputError, match="program"):
        CommandBox([])
    with pytest.raises(InputError, match="seconds"):
        CommandBox(["cat"], seconds=0)


def test_what_a_command_says_reaches_no_screen_but_its_last_line_an_error(capfd):
    text = "import sys; print('\\x1b[2Jloading', file=sys.stderr); sys.exit('no such file: a.json')"
    with pytest.raises(InputError, match=r"reports is 0 .* It said: no such file: a\.json"):
        python(text).ask(["a"])
    assert capfd.readouterr() == ("", "")


def test_half_a_line_at_the_end_of_the_time_is_no_report():
    text = "import sys, time; print(1); sys.stdout.write('2'); sys.stdout.flush(); time.sleep(60)"
    with pytest.raises(InputError, match=r"reports is [01] .*within 2 seconds"):  # 0: a slow start
        python(text, seconds=2).ask(["a", "b"])
