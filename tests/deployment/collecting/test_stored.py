"""Reports in an object store, read through pyarrow's file systems, beside the same in a folder.

The store speaks as much of S3 as reading takes, over a folder.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

import pytest

from planner.deployment import Client
from planner.deployment.collecting.collector import collect
from planner.deployment.collecting.engines import count_file
from planner.deployment.collecting.places import Stored, file_system_of, place_of
from planner.deployment.collecting.reports import Expected
from planner.errors import FileError
from tests.deployment.report_files import KEY, draw, write
from tests.refusals import refused

_TIME = "2026-01-01T00:00:00.000Z"


def _listed(bucket: Path, prefix: str) -> str:
    """Its keys that begin so."""
    keys = {}
    for path in bucket.rglob("*.*"):
        keys[path.relative_to(bucket).as_posix()] = path.stat()
    contents = "".join(
        f"<Contents><Key>{escape(key)}</Key><LastModified>{_TIME}</LastModified>"
        f"<Size>{keys[key].st_size}</Size></Contents>"
        for key in sorted(keys)
        if key.startswith(prefix)
    )
    return f"<ListBucketResult><IsTruncated>false</IsTruncated>{contents}</ListBucketResult>"


def _listing(path, query):
    if "list-type" not in query:
        return ""
    return _listed(path, query.get("prefix", [""])[0])


def _range_of(data: bytes, header: str) -> tuple[bytes, str]:
    """The bytes that ``bytes=first-last`` asks for, and where they are in the whole."""
    first, last = map(int, header.removeprefix("bytes=").split("-"))
    last = min(last, len(data) - 1)
    return data[first : last + 1], f"bytes {first}-{last}/{len(data)}"


def _response(folder: Path, url: str, range_asked: str | None):
    """Status, bytes and, of a part, where it is in the whole."""
    parts = urlsplit(url)
    path = folder / unquote(parts.path).strip("/")
    if path.parent == folder:
        return 200, _listing(path, parse_qs(parts.query)).encode()
    if not path.is_file():
        return 404, b"<Error><Code>NoSuchKey</Code></Error>"
    if range_asked is not None:
        return 206, *_range_of(path.read_bytes(), range_asked)
    return 200, path.read_bytes()


@contextmanager
def object_store(folder: Path) -> Iterator[str]:
    """Its folders are buckets; gives HOST:PORT. It ends in the middle of what is named broken."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            self.answer(*_response(folder, self.path, self.headers.get("range")))

        def answer(self, code: int, data: bytes, part: str = "") -> None:
            self.send_response(code)
            self.send_header("content-length", str(len(data)))
            self.send_header("last-modified", formatdate(1.75e9, usegmt=True))
            self.send_header("etag", '"0"')
            if part:
                self.send_header("content-range", part)
            self.end_headers()
            if self.command == "HEAD":
                return
            if "broken" in self.path and "list-type" not in self.path:
                data = data[: len(data) // 2]
                self.close_connection = True
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A bucket with nothing in it, as a folder."""
    (tmp_path / "store" / "bucket").mkdir(parents=True)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    file_system_of.cache_clear()  # of another address
    with object_store(tmp_path / "store") as address:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{address}")
        yield tmp_path / "store" / "bucket"


def test_a_store_is_counted_like_a_folder(store, one_question, collection, tmp_path):
    folder, _, users = collection
    client = Client(one_question.document)
    (folder / "deep").mkdir()
    (folder / "deep" / "a.jsonl").write_text(client.report("q", 1).to_json() + "\n")
    (folder / "notes.txt").write_text("")
    (folder / "bad.parquet").write_bytes(b"PAR1")
    here = collect(one_question, [folder])
    folder.rename(store / "reports")
    progress = tmp_path / "progress"
    for resumed in (0, 11):
        done = collect(
            one_question, [place_of("s3://bucket/reports")], checkpoint=progress
        )
        assert done.sums[KEY].users == users + 1
        assert done.resumed == resumed
        expected = here.sums[KEY].counts.tolist()
        assert done.sums[KEY].counts.tolist() == expected
        assert [(path.name, reason) for path, reason in done.quarantined] == [
            (path.name, reason) for path, reason in here.quarantined
        ]
    assert str(done.counted[-1].path) == "s3://bucket/reports/deep/a.jsonl"
    (store / "reports" / "0.parquet").write_bytes(b"changed")
    with refused("changed after it was counted", kind=FileError):
        collect(one_question, [place_of("s3://bucket/reports")], checkpoint=progress)


def test_a_store_that_fails_in_the_middle_costs_the_file_until_it_is_read_again(
    store, one_question, collection, tmp_path
):
    folder, _, users = collection
    client = Client(one_question.document)
    line = client.report("q", 1).to_json() + "\n"
    (folder / "broken.jsonl").write_text(line)
    folder.rename(store / "reports")
    progress = tmp_path / "progress"
    places = [place_of("s3://bucket/reports")]
    done = collect(one_question, places, checkpoint=progress)
    assert done.sums[KEY].users == users
    ((path, reason),) = done.quarantined
    assert path.name == "broken.jsonl"
    assert "truncated" in reason
    (store / "reports" / "broken.jsonl").rename(store / "reports" / "whole.jsonl")
    done = collect(one_question, places, checkpoint=progress)
    assert not done.quarantined
    assert done.sums[KEY].users == users + 1


def test_what_is_wrong_with_an_address(store, one_question, rng):
    for address in (
        "s3://bucket/nowhere",
        "s3://key:secret@bucket/reports",
        "nfs://bucket/reports",
    ):
        with refused(
            "nfs://bucket",
            "has a key in it, which would be shown and kept",
            "[Errno 2] Path does not exist 'bucket/nowhere/'",
            kind=FileError,
        ):
            collect(one_question, [place_of(address)])
    write(store / "a.parquet", one_question, draw(one_question, rng, 9))
    expected = Expected.of(one_question)
    assert count_file(Stored("s3://bucket/a.parquet"), expected).users == 9
    (store / "a.parquet").unlink()
    assert (
        "does not exist"
        in count_file(Stored("s3://bucket/a.parquet"), expected).refused
    )
