"""The receiver: what it acknowledges is on disk once, and nothing else gets in or is kept."""

import json
import resource
import signal
import socket
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from http.client import HTTPConnection
from threading import Timer

import numpy as np
import psutil
import pytest

from planner import FileError
from planner.deployment import Client, write_parameters
from planner.deployment.collecting.collector import collect
from planner.deployment.collecting.inbox import Inbox
from planner.deployment.collecting.receiving import MOST_CONNECTIONS
from planner.deployment.collecting.reports import ID_SIZE
from tests.cli.running import invoke, shown
from tests.deployment.report_files import KEY
from tests.deployment.sending import receiving, send
from tests.refusals import refused
from tests.surveys import tries


def reports_of(parameters, number):
    client = Client(parameters.document)
    return [client.report("q", i % 40) for i in range(number)]


def lines_of(reports):
    return [report.to_json().encode() + b"\n" for report in reports]


@pytest.fixture
def inbox_of(one_question, tmp_path):
    """A new inbox in the same folder; the last one is released at the end."""
    with ExitStack() as stack:

        def make(size=10**6):
            inbox = Inbox(tmp_path / "in", one_question, size)
            stack.callback(inbox.release)
            return inbox

        yield make


def put(inbox, reports):
    """Each by itself; why it is not kept."""
    return inbox.add([[inbox.read(line, "a line")] for line in lines_of(reports)])


# -- on disk ---------------------------------------------------------------------------


def test_files_are_whole_while_reports_come_and_each_counts_once(
    one_question, tmp_path, inbox_of
):
    reports = reports_of(one_question, 60)
    progress = tmp_path / "progress"
    inbox = inbox_of(20 * len(lines_of(reports)[0]))
    for start in range(0, 50, 10):
        assert put(inbox, reports[start : start + 10]) == [""] * 10
        assert put(inbox, reports[start : start + 2]) == [""] * 2  # sent again
        done = collect(one_question, [tmp_path / "in"], checkpoint=progress)
        assert not done.quarantined
        if KEY in done.sums:
            counted = done.sums[KEY].users
        else:
            counted = 0
        assert counted % 20 == 0
        assert sum(done.waiting.values()) == start + 10 - counted
    assert inbox.sums()[KEY].users == 50
    inbox.close()
    inbox = inbox_of()
    assert put(inbox, reports) == [""] * 60
    sums = inbox.sums()[KEY]
    inbox.close()
    done = collect(one_question, [tmp_path / "in"], checkpoint=progress)
    assert done.sums[KEY].users == 60
    assert done.repeated == 0
    assert done.sums[KEY].counts.tolist() == sums.counts.tolist()
    for path in (tmp_path / "in").glob("*.jsonl"):
        ids = [json.loads(line)["id"] for line in path.read_text().splitlines()]
        assert ids == sorted(ids)  # not the order in which they came


def test_an_id_says_one_thing_for_ever(one_question, inbox_of):
    first, second = reports_of(one_question, 2)
    forged = replace(second, report_id=first.report_id, payload=bytes(8))
    inbox = inbox_of(1)  # a file each
    assert put(inbox, [first]) == [""]
    impossible = replace(second, payload=bytes(7) + b"\x80")
    *reasons, right, again = put(inbox, [forged, impossible, second, first])
    assert "that of another report" in reasons[0]
    assert "0 in all bits" in reasons[1]
    assert right == again == ""
    assert inbox.sums()[KEY].users == 2


def lines_in(folder):
    files = sorted(folder.glob("*.jsonl"))
    return [line for path in files for line in path.read_bytes().splitlines(True)]


@pytest.mark.parametrize("error", [FileError("disk", "is full", "Wait."), SystemExit()])
@pytest.mark.parametrize("moment", ["replace_file", "sync_directory", "say_the_day"])
def test_a_file_that_is_stopped_at_any_moment_has_each_line_once(
    one_question, tmp_path, inbox_of, monkeypatch, moment, error
):
    """By a full disk, in one process, or killed, in the next one."""
    reports = reports_of(one_question, 30)
    inbox = inbox_of(10 * len(lines_of(reports)[0]))

    def stop(*_):
        raise error

    for start in range(0, 30, 5):
        with monkeypatch.context() as patch, suppress(FileError, SystemExit):
            if start % 15 == 10:
                patch.setattr(f"planner.deployment.collecting.inbox.{moment}", stop)
            put(inbox, reports[start : start + 5])
            inbox.seal()
        if isinstance(error, SystemExit):
            with suppress(SystemExit):
                inbox.release()
            inbox = inbox_of(10 * len(lines_of(reports)[0]))
    assert put(inbox, reports) == [""] * 30  # whoever got no answer sends again
    inbox.close()
    written = lines_in(tmp_path / "in")
    assert sorted(written) == sorted(lines_of(reports))
    done = collect(one_question, [tmp_path / "in"])
    assert done.sums[KEY].users == 30
    assert done.repeated == 0
    assert done.waiting == {}
    assert not done.quarantined


def rank_correlation(positions):
    """Of places on the disk with the order in which reports came (Spearman)."""
    ranks = np.argsort(np.argsort(positions))
    return np.corrcoef(ranks, np.arange(len(ranks)))[0, 1]


def test_the_order_is_not_on_the_disk_while_reports_wait(
    one_question, tmp_path, inbox_of
):
    """Raw files are read as a thief of the disk reads them, in the middle of a collection.

    Without order a correlation of 300 ranks is beyond 0.29 once in 2 million times.
    """
    bound = 0.29
    reports = reports_of(one_question, 300)
    inbox = inbox_of(2 * 300 * len(lines_of(reports)[0]))
    for number in range(0, 300, 3):
        put(inbox, reports[number : number + 3])
    raw = {}
    for p in (tmp_path / "in").rglob("*"):
        if p.is_file():
            raw[p.name] = p.read_bytes()
    ids = [report.report_id.encode() for report in reports]
    (slots,) = [
        name for name in raw if all(report_id in raw[name] for report_id in ids)
    ]
    places = [raw[slots].index(report_id) for report_id in ids]
    assert abs(rank_correlation(places)) < bound
    assert rank_correlation(np.sort(places)) > bound  # a log, which this test rejects
    digests = [inbox.read(line, "a line").mark[ID_SIZE:] for line in lines_of(reports)]
    for name, content in raw.items():
        if name != slots:
            assert not any(mark in content for mark in (*ids, *digests)), name
    inbox.seal()  # then the database has them, in an order of their own
    (database,) = (tmp_path / "in").rglob("*.sqlite")
    content = database.read_bytes()
    places = [content.rindex(digest) for digest in digests]
    assert abs(rank_correlation(places)) < bound


def test_aggregate_says_what_waits_since_a_receiver_was_killed(
    one_question, tmp_path, inbox_of
):
    write_parameters(tmp_path / "params.json", one_question)
    inbox = inbox_of()
    put(inbox, reports_of(one_question, 7))
    inbox.release()
    call = ["aggregate", tmp_path / "params.json", tmp_path / "in"]
    result = invoke(*call)
    assert "7 more reports wait in" in result.stderr
    assert "receive ... --into" in " ".join(result.stderr.split())
    assert "Start and end the receiver" in str(result.exception)
    inbox_of().close()  # what it says to do
    assert "7 reports in 1 file counted" in shown(*call)


def test_times_say_the_day(one_question, tmp_path, inbox_of):
    inbox = inbox_of(5 * 300)
    put(inbox, reports_of(one_question, 12))
    paths = [tmp_path / "in", *(tmp_path / "in").rglob("*")]
    assert len(paths) > 4
    for path in paths:
        assert path.stat().st_mtime % (24 * 60 * 60) == 0, path


def test_a_folder_has_one_receiver(one_question, tmp_path, inbox_of):
    inbox_of()
    with refused("is in use by another process", kind=FileError):
        inbox_of()
    (tmp_path / "file").write_text("")
    with refused(kind=FileError):
        Inbox(tmp_path / "file" / "in", one_question)


# -- over HTTP -------------------------------------------------------------------------

ORIGIN = "https://clinic.example"
MARK = "someone-4711"  # in a header, and nowhere else afterwards


@pytest.fixture(scope="module")
def running(one_question, tmp_path_factory):
    """Parameters, the folder, the process and the port of a receiver."""
    folder = tmp_path_factory.mktemp("receiver")
    write_parameters(folder / "params.json", one_question)
    words = ("--origin", ORIGIN, "--estimates-from", "5", "--share", ORIGIN + "/<b>")
    with receiving(folder / "params.json", folder / "in", *words) as (process, port):
        yield one_question, folder / "in", process, port


def asked(port, method="POST", path="/reports", body=b"", **headers):
    """Code, headers and text of an answer."""
    with closing(HTTPConnection("127.0.0.1", port, timeout=20)) as connection:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, {"User-Agent": MARK} | named)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()


def test_lines_are_kept_all_or_none_and_the_reason_is_said(running):
    parameters, _, _, port = running
    first, second, third = reports_of(parameters, 3)
    for sent in ([first], [first], [second, first, second]):
        code, _, text = asked(port, body=b"".join(lines_of(sent)))
        assert code == 200
        document = json.loads(text)
        assert document == [report.report_id for report in sent]
    wrong = [
        (b"", 400, "no report"),
        (b"{}\n", 400, "line 1 is not, byte for byte"),
        (
            lines_of([replace(third, parameters="0" * 64)])[0],
            400,
            "parameters of line 1",
        ),
        (lines_of([replace(third, question="<b>")])[0], 400, "question and round"),
        (lines_of([replace(third, payload=b"1234567\x80")])[0], 400, "0 in all bits"),
        (
            lines_of([replace(third, report_id=first.report_id)])[0],
            400,
            "that of another",
        ),
        (b"x" * 300_000, 413, "At most 262,144 bytes"),
    ]
    for body, expected, reason in wrong:
        if expected == 400 and body:
            lines = lines_of([third])
            bodies = [body, lines[0] + body]
        else:
            bodies = [body]
        for number, whole in enumerate(bodies, 1):
            code, headers, text = asked(port, body=whole)
            assert code == expected
            assert reason.replace("line 1", f"line {number}") in text
            assert headers["content-type"].startswith("text/plain")
            assert headers["x-content-type-options"] == "nosniff"
    assert ">2</td>" in asked(port + 1, "GET", "/")[2]  # of three lines that were right


def test_pages_of_other_origins_are_refused(running):
    _, _, _, port = running
    for origin, allowed in (
        (ORIGIN, True),
        ("https://evil.example", False),
        ("null", False),
        ("http://[::", False),
        ("x", False),
    ):
        for method in ("POST", "OPTIONS"):
            code, headers, _ = asked(port, method, Origin=origin)
            assert headers["access-control-allow-origin"] == (
                origin if allowed else None
            )
            assert code == {"POST": 400, "OPTIONS": 204}[method] if allowed else 403
    for own_address, host in (
        (f"http://127.0.0.1:{port}", {}),
        ("https://own", {"Host": "own"}),
    ):
        assert (
            asked(port, Origin=own_address, **host)[0] == 400
        )  # its own page, or by its public name
    assert asked(port, "GET", "/health")[2] == "ok"
    assert asked(port, "GET", "/")[0] == 404  # no page was given


def test_the_organisers_page_is_on_this_machine_alone(running):
    parameters, _, process, port = running
    page = asked(port + 1, "GET", "/")[2]
    assert "<svg" in page
    assert "clinic.example/&lt;b&gt;" in page
    assert "no estimates before 5 reports" in page
    lines = lines_of(reports_of(parameters, 9))
    send(port, iter(lines))
    files = sorted(running[1].rglob("*"))
    assert "95 % interval" in asked(port + 1, "GET", "/")[2]
    assert sorted(running[1].rglob("*")) == files  # reading changes nothing
    for site in ("cross-site", "same-site"):
        assert asked(port + 1, "GET", "/", Sec_Fetch_Site=site)[0] == 403
    assert asked(port + 1, "GET", "/", Host="rebound.example")[0] == 400
    assert asked(port + 1, "POST", "/reports")[0] == 404
    listening = {
        connection.laddr
        for connection in psutil.Process(process.pid).net_connections("tcp")
    }
    assert listening == {("127.0.0.1", port), ("127.0.0.1", port + 1)}


def test_a_body_without_end_takes_no_memory(running):
    """A gigabyte, in chunks or as promised: answered, or cut off, at a quarter of a mebibyte."""
    _, _, process, port = running
    before = psutil.Process(process.pid).memory_info().rss
    part = bytes(2**20)
    for head in ("transfer-encoding: chunked", f"content-length: {2**30}"):
        with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
            client.sendall(
                f"POST /reports HTTP/1.1\r\nhost: x\r\n{head}\r\n\r\n".encode()
            )
            if "chunked" in head:
                chunk = b"100000\r\n" + part + b"\r\n"
            else:
                chunk = part
            sent = 0
            with suppress(ConnectionError):
                while sent < 2**30:
                    client.sendall(chunk)
                    sent += len(part)
            assert sent < 2**26
    assert psutil.Process(process.pid).memory_info().rss - before < 2**26


def test_half_open_connections_keep_nobody_out(running):
    """Ten thousand of them in a sweep."""
    parameters, _, process, port = running
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = min(tries(3_000, 10_000), hard - 200)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most + 200), hard))
    reports = reports_of(parameters, 10)
    lines = iter(lines_of(reports))
    with ExitStack() as stack:
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        for i in range(most):
            client = stack.enter_context(
                socket.create_connection(("127.0.0.1", port), timeout=20)
            )
            client.send(b"POST /reports HTTP/1.1\r\n"[: i % 24])
            if i % (most // 9) == 0:
                assert send(port, iter([next(lines)]))[0] == {200: 1}
        assert psutil.Process(process.pid).num_fds() < 2 * MOST_CONNECTIONS


def test_nothing_of_a_sender_is_kept(running):
    """The last of these tests: it ends the receiver."""
    _, folder, process, port = running
    assert asked(port, X_Forwarded_For=MARK)[0] == 400
    process.terminate()
    assert process.wait(10) == 0
    said = process.stdout.read() + process.stderr.read()
    assert said == f"All reports are in {folder}.\n"
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) >= 2
    for path in files:
        content = path.read_bytes()
        assert MARK.encode() not in content
        assert b"127.0.0.1" not in content
        for line in content.splitlines() if path.suffix == ".jsonl" else []:
            assert json.loads(line).keys() == {
                "parameters",
                "question",
                "id",
                "report",
                "check",
            }


def test_ended_in_its_first_moment_it_ends_well(one_question, tmp_path):
    write_parameters(tmp_path / "params.json", one_question)
    for number in (signal.SIGTERM, signal.SIGINT):
        with receiving(tmp_path / "params.json", tmp_path / "in") as (process, _):
            process.send_signal(number)
            assert process.wait(10) == 0


# -- killed ----------------------------------------------------------------------------


def test_killed_under_load_it_has_each_acknowledged_report_once(one_question, tmp_path):
    """As often as `tries` says; whoever got no answer sends again, as clients do."""
    write_parameters(tmp_path / "params.json", one_question)
    kills = tries(2, 20)
    acknowledged = set()
    reports = reports_of(one_question, 1_500 * kills)
    left = lines = lines_of(reports)
    for kill in range(kills + 1):
        with receiving(tmp_path / "params.json", tmp_path / "in") as (process, port):
            if kill < kills:
                assert left
                Timer(0.2 + 0.05 * (kill % 5), process.kill).start()
            _, ids = send(port, iter(left), connections=50)
            acknowledged |= ids
            left = [
                line for line in lines if json.loads(line)["id"] not in acknowledged
            ]
            if kill == kills:
                process.send_signal(signal.SIGTERM)
                assert process.wait(10) == 0
    assert not left
    done = collect(one_question, [tmp_path / "in"])
    assert not done.quarantined
    assert done.sums[KEY].users == len(lines)
    assert done.repeated == 0
