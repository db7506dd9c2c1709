"""What a person does on the page, and a host that serves it and takes what it sends."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from playwright.sync_api import expect

from planner import Level, plan_survey
from planner.deployment.parameters import survey_parameters

RANDOMISE = "Randomise my answers"


@dataclass
class Host:
    """``files`` by their path with their type; ``lines`` were posted; ``answers`` come first."""

    address: str = ""
    files: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    answers: list[tuple[int, str]] = field(default_factory=list)

    def page(self, html: str, path: str = "/page.html") -> str:
        """Serve this page; its address."""
        self.files[path] = ("text/html; charset=utf-8", html.encode())
        return self.address + path


@contextmanager
def serving() -> Iterator[Host]:
    host = Host()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            kind, data = host.files.get(self.path, ("text/plain", b""))
            self.answer(200 if data else 404, kind, data)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            host.lines += body.splitlines()
            ids = json.dumps([json.loads(line)["id"] for line in body.splitlines()])
            code, text = host.answers.pop(0) if host.answers else (200, ids)
            self.answer(code, "application/json", text.encode())

        def answer(self, code: int, kind: str, data: bytes) -> None:
            self.send_response(code)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.send_header("access-control-allow-origin", "*")
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        host.address = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield host
        finally:  # or the process would never end
            server.shutdown()
            thread.join()


def all_of(*items, **keys):
    level = Level("all", 2.0, items, **keys)
    return (level,)


@cache
def parameters_of(survey):
    parameters = survey_parameters(plan_survey(survey))
    return parameters.to_json().encode()


def opened(person, address):
    page = person.new_page()
    page.goto(address)
    return page


def heading(page, text):
    expect(page.get_by_role("heading", name=text, exact=True)).to_be_visible()


def press(page, *names):
    for name in names:
        page.get_by_role("button", name=name).click()
