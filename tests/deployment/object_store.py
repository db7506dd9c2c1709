"""An object store that speaks as much of S3 as reading takes, over a folder."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

_TIME = "2026-01-01T00:00:00.000Z"


def _listed(bucket: Path, prefix: str) -> str:
    """Its keys that begin so."""
    keys = {path.relative_to(bucket).as_posix(): path.stat() for path in bucket.rglob("*.*")}
    found = "".join(
        f"<Contents><Key>{escape(key)}</Key><LastModified>{_TIME}</LastModified>"
        f"<Size>{keys[key].st_size}</Size></Contents>"
        for key in sorted(keys)
        if key.startswith(prefix)
    )
    return f"<ListBucketResult><IsTruncated>false</IsTruncated>{found}</ListBucketResult>"


@contextmanager
def object_store(folder: Path) -> Iterator[str]:
    """Its folders are buckets; gives HOST:PORT."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            path, query = folder / unquote(parts.path).strip("/"), parse_qs(parts.query)
            if path.parent == folder:
                found = _listed(path, query.get("prefix", [""])[0]) if "list-type" in query else ""
                self._answer(200, found.encode())
            elif not path.is_file():
                self._answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
            elif wanted := self.headers.get("range"):
                data = path.read_bytes()
                first, last = wanted.removeprefix("bytes=").split("-")
                last = min(int(last), len(data) - 1)
                about = f"bytes {first}-{last}/{len(data)}"
                self._answer(206, data[int(first) : last + 1], about)
            else:
                self._answer(200, path.read_bytes())

        def _answer(self, code: int, data: bytes, part: str = "") -> None:
            self.send_response(code)
            self.send_header("content-length", str(len(data)))
            self.send_header("last-modified", formatdate(1.75e9, usegmt=True))
            self.send_header("etag", '"0"')
            if part:
                self.send_header("content-range", part)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()
