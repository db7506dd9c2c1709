"""A command is asked line by line, in bounded time, and ended by its own id."""

import resource
import sys
import time
from pathlib import Path

import pytest

from planner.trial.black_box import CommandBox
from tests.refusals import refused


def python(text, **options):
    return CommandBox([sys.executable, "-c", text], **options)


def test_a_command_gets_json_and_may_answer_late():
    answers = ["flu", "é\n", 3, None, ["a", "b"]]
    lines = [b'"flu"', '"é\\n"'.encode(), b"3", b"null", b'["a", "b"]']
    assert CommandBox(["cat"])(answers, 1000) == lines
    late = python("import sys; [print(len(line)) for line in sys.stdin.readlines()]")
    assert late(["a", "bc"], 1000) == [b"4", b"5"]


def test_many_lines_do_not_block():
    """More than pipes hold, both ways."""
    answers = ["x" * 100] * 20_000
    assert CommandBox(["cat"])(answers, 1000) == [b'"' + b"x" * 100 + b'"'] * 20_000


def test_too_few_or_too_many():
    for text in (
        "pass",
        "input(); print(1)",
        "import sys; [print(i) for i in range(9)]; sys.stdin.read()",
        "import sys; sys.stdout.write('x' * 10_000)",
    ):
        with refused():
            python(text)(["a", "b", "c"], 1000)


def test_time_is_bounded():
    ignored = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True);"
    start = time.monotonic()
    for text in ("", ignored):
        with refused():
            python(f"{text} import time; time.sleep(60)".lstrip(), seconds=1)(["a", "b"], 1000)
    assert time.monotonic() - start < 40


def test_what_cannot_be_started():
    with refused():
        CommandBox(["/nothing/here"])(["a"], 1000)
    with refused():
        CommandBox([])
    with refused():
        CommandBox(["cat"], seconds=0)


def test_what_a_command_says_reaches_no_screen_but_its_last_line_an_error(capfd):
    text = "import sys; print('\\x1b[2Jloading', file=sys.stderr); sys.exit('no such file: a.json')"
    with refused():
        python(text)(["a"], 1000)
    assert capfd.readouterr() == ("", "")


def test_half_a_line_at_the_end_of_the_time_is_no_report():
    text = "import sys, time; print(1); sys.stdout.write('2'); sys.stdout.flush(); time.sleep(60)"
    with refused():  # 0: a slow start
        python(text, seconds=2)(["a", "b"], 1000)


@pytest.mark.parametrize("stream", ["", ">&2"])
def test_a_flood_takes_neither_memory_nor_more_than_its_time(stream):
    """``yes`` writes gigabytes a second to whoever reads."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.monotonic()
    with refused():
        CommandBox(["sh", "-c", f"yes {stream}"], seconds=1)(["a"] * 1000, 200)
    assert time.monotonic() - start < 10
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**16  # KiB


DAEMON = "import os; os.fork() and os._exit(0); os.setsid(); os.fork() and os._exit(0); "


@pytest.mark.parametrize("daemon", [False, True])
def test_the_whole_group_is_ended_and_who_left_it(tmp_path, daemon):
    note = tmp_path / "pid"
    text = f"sleep 60 & echo $! > {note}; cat"
    if daemon:
        left = f"{DAEMON}print(os.getpid(), flush=True); os.execlp('sleep', 'sleep', '60')"
        text = f'{sys.executable} -c "{left}" > {note}; until [ -s {note} ]; do :; done; cat'
    assert CommandBox(["sh", "-c", text], seconds=30)([1], 1000) == [b"1"]
    pid = int(note.read_text())
    for _ in range(100):
        state = Path(f"/proc/{pid}/stat")
        if not state.exists() or state.read_text().split()[2] == "Z":
            return
        time.sleep(0.05)
    pytest.fail("a child of the command lives on")
