"""Receive reports over HTTP, with Starlette and uvicorn: checked, bounded, acknowledged from disk.

What is known of a sender is forgotten with the connection, and nothing is logged.
"""

from __future__ import annotations

import asyncio
import resource
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import ClassVar

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from planner.deployment.collecting.inbox import Inbox
from planner.deployment.collecting.reports import Received, Sums
from planner.errors import FileError, InputError
from planner.limits import MEBIBYTE

BODY_BYTES = MEBIBYTE // 4  # of one request, unless a single line may be longer
# Of all requests that are under way; more are told to come again.
HELD_BYTES = 64 * MEBIBYTE
# A bound on the work of reading and checking: what would only wait is told at once to
# come again.
LINES_A_SECOND = 10_000
# More push the one out that has been without a whole request for the longest time.
MOST_CONNECTIONS = 1000
REQUEST_SECONDS = 15.0
_ENDING_SECONDS = 2  # for requests under way; the rest is fast
# Connections that the kernel accepts while the server is busy; the kernel may have a
# lower limit of its own.
_BACKLOG = 1000


class Receiver:
    """The HTTP side: what is asked for is checked, bounded, and handed to the inbox in groups.

    Parameters
    ----------
    inbox:
        Where reports are kept.
    page:
        Served at ``/``; nothing if it is empty.
    origins:
        Of pages elsewhere that may send reports, such as ``https://clinic.example``; the ``null``
        of pages that were opened from a folder.
    organiser:
        Makes the organiser's page of the sums so far.
    """

    def __init__(
        self,
        inbox: Inbox,
        page: bytes,
        origins: Sequence[str],
        organiser: Callable[[Sums], str],
    ) -> None:
        self._inbox = inbox
        self._page = page
        self._origins = frozenset(origins)
        self._organiser = organiser
        self._longest = max(BODY_BYTES, inbox.expected.longest_line)
        self._queue: asyncio.Queue[tuple[list[Received], asyncio.Future[str]]]
        self._queue = asyncio.Queue()
        # One thread writes, so that reports come to the disk one group after another
        # and the inbox needs no locks.
        self._disk = ThreadPoolExecutor(1)
        self._held = 0
        self._failed = False
        self._left = float(LINES_A_SECOND)
        self._since = 0.0

    def serve(
        self, public: socket.socket, private: socket.socket, ending: Sequence[int] = ()
    ) -> None:
        """Until SIGTERM or SIGINT; what waits is a file then.

        ``private`` listens on this machine alone, for the organiser. ``ending`` are signals
        that have come before.
        """
        routes = [
            Route("/reports", self._reports, methods=["POST", "OPTIONS"]),
            Route("/health", self._health),
        ]
        if self._page:
            routes.append(Route("/", self._questionnaire))
        outside = Starlette(routes=routes, lifespan=self._writing)
        # A page elsewhere may point its own name at 127.0.0.1 (DNS rebinding) and read
        # the answer; its Host header gives it away.
        here = ["localhost", "127.0.0.1"]
        only_here = Middleware(TrustedHostMiddleware, allowed_hosts=here)
        organised = Route("/", self._organised)
        inside = Starlette(routes=[organised], middleware=[only_here])
        _, port, *_ = private.getsockname()

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            # One server has both sockets; the port that was connected to says which,
            # and no header can forge it.
            is_private = scope["type"] == "http" and scope["server"][1] == port
            if is_private:
                await inside(scope, receive, send)
            else:
                await outside(scope, receive, send)

        _allow_connections()
        config = uvicorn.Config(
            app,
            http=Bounded,
            ws="none",
            # The access log would have addresses and times, which are all that links a
            # report to a person.
            access_log=False,
            log_config=None,
            log_level="critical",
            server_header=False,  # name and version help attackers alone
            backlog=_BACKLOG,
            timeout_graceful_shutdown=_ENDING_SECONDS,
        )
        self._server = uvicorn.Server(config)
        # uvicorn has its own handlers, and raises the signals again at last.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._end)
        if ending:
            self._end()
        self._server.run([public, private])
        # Leaving the pool waits for the write that is under way, so that the inbox is
        # closed after everything that was acknowledged.
        with self._disk:  # after what it writes now
            self._disk.submit(self._inbox.close).result()
        if not self._task.cancelled():
            self._task.result()  # what ended it

    def _end(self, *_: object) -> None:
        """Let the server end after the requests that it has."""
        self._server.should_exit = True

    @asynccontextmanager
    async def _writing(self, _: object) -> AsyncIterator[None]:
        self._task = asyncio.create_task(self._write())
        self._task.add_done_callback(self._end)
        yield
        self._task.cancel()

    async def _write(self) -> None:
        """Groups of what came while the last group was written."""
        loop = asyncio.get_running_loop()
        while True:
            group = [await self._queue.get()]
            # One sync of the disk then serves all requests of the group: with a sync
            # each, no more requests could be answered in a second than the disk can
            # sync.
            while not self._queue.empty():
                group.append(self._queue.get_nowait())
            bodies = [lines for lines, _ in group]
            try:
                writing = loop.run_in_executor(self._disk, self._inbox.add, bodies)
                reasons = await writing
                self._failed = False
            except FileError as error:
                # Said once, not for each request: a full disk must not be filled by its
                # own log.
                if not self._failed:
                    sys.stderr.write(f"ldp-planner: {error}\n")
                reasons = [_FULL] * len(group)
                self._failed = True
            for (_, answer), reason in zip(group, reasons, strict=True):
                # The sender may have gone while the disk was written; its reports are
                # kept, and known when it sends them again.
                if not answer.done():
                    answer.set_result(reason)

    async def _reports(self, request: Request) -> Response:
        """Lines of reports: all of them are kept, or none."""
        origin = request.headers.get("origin")
        host = request.headers.get("host")
        headers = {}
        # Browsers say from which page a request comes; other clients say nothing.
        # The scheme is not compared: a proxy may speak TLS for a receiver that hears
        # plain HTTP.
        _, _, host_of_page = (origin or "").partition("://")
        is_same_origin = bool(host) and host_of_page == host
        if origin is not None and not is_same_origin:
            # A foreign page could make its visitors send reports without asking them.
            if origin not in self._origins:
                return _said(403, "Reports come from the page alone.")
            # The origin is answered by itself, not by a star, and caches have to keep
            # the answers for different origins apart.
            headers = {"access-control-allow-origin": origin, "vary": "origin"}
        if request.method == "OPTIONS":
            headers |= {"access-control-allow-headers": "content-type"}
            return Response(status_code=204, headers=headers)
        answer = await self._answered(request)
        answer.headers.update(headers)
        return answer

    async def _answered(self, request: Request) -> Response:
        """Read a body, as far as it and all others that are being read have room."""
        body = bytearray()
        try:
            async for part in request.stream():
                body += part
                self._held += len(part)
                if len(body) > self._longest:
                    reason = f"At most {self._longest:,} bytes at once."
                    # Without the end the client would go on to send what nobody reads,
                    # and the server would have to hold or discard it.
                    return _said(413, reason, ending=True)
                if self._held > HELD_BYTES:
                    return _said(503, _BUSY, ending=True)
            return await self._kept(bytes(body))
        except ClientDisconnect:
            return Response(status_code=400)  # which nobody reads
        finally:
            self._held -= len(body)

    async def _kept(self, body: bytes) -> Response:
        """Keep the reports of a body, all or none; their ids are the answer."""
        lines = [line + b"\n" for line in body.split(b"\n") if line]
        if not lines:
            return _said(400, "There is no report.")
        if not self._in_time(len(lines)):
            # Checked before the lines are parsed, as parsing is what takes the time.
            return _said(503, _BUSY)
        try:
            reports = []
            for number, line in enumerate(lines, 1):
                reports.append(self._inbox.read(line, f"line {number}"))
        except InputError as error:
            return _said(400, error.reason)
        answer = asyncio.get_running_loop().create_future()
        # The answer comes once the group is on the disk: an acknowledgement before
        # would let a client forget a report that a crash then loses.
        self._queue.put_nowait((reports, answer))
        reason = await answer
        if reason == _FULL:
            return _said(507, reason)
        if reason:
            return _said(400, reason)
        # The ids tell the client what is kept. They are its own, so that nothing new is
        # said.
        return JSONResponse([received.report.report_id for received in reports])

    def _in_time(self, lines: int) -> bool:
        """Whether these lines are not too many for what came in the last second."""
        now = asyncio.get_running_loop().time()
        # A token bucket of one second's lines: short bursts pass, and a steady flow is
        # bounded.
        self._left += LINES_A_SECOND * (now - self._since)
        self._left = min(self._left, LINES_A_SECOND) - lines
        self._since = now
        if self._left < 0:
            self._left += lines
            return False
        return True

    async def _health(self, _: Request) -> Response:
        if self._failed:
            return _said(507, _FULL)
        return _said(200, "ok")

    async def _questionnaire(self, _: Request) -> Response:
        return HTMLResponse(self._page, headers=_UNFRAMED | _PLAIN)

    async def _organised(self, request: Request) -> Response:
        # Another page that the organiser has open must not even ask.
        # Browsers set Sec-Fetch-Site and pages cannot change it (W3C, Fetch Metadata);
        # programs that are no browser send none.
        if request.headers.get("sec-fetch-site", "none") not in {"none", "same-origin"}:
            return _said(403, "Open this page by its address.")
        loop = asyncio.get_running_loop()
        # The sums are read on the disk's thread, between two writes, as the database
        # has one connection.
        sums = await loop.run_in_executor(self._disk, self._inbox.sums)
        page = await loop.run_in_executor(None, self._organiser, sums)
        return HTMLResponse(page, headers=_UNFRAMED | _PLAIN)


def _allow_connections() -> None:
    """Let the process have as many files open as connections need, as far as it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Twice the connections: one that ends holds its file for a moment.
    needed = 2 * (MOST_CONNECTIONS + _BACKLOG)
    most = max(soft, min(needed, hard))
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def listening(address: str, port: int) -> socket.socket:
    """A socket that may be listened on.

    Raises
    ------
    InputError
        The address is none of this machine, or the port is taken.
    """
    family = socket.AF_INET
    if ":" in address:
        family = socket.AF_INET6
    try:
        return socket.create_server((address, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        given = f"{address}:{port}"
        allowed = f"one that is free ({error.strerror})"
        raise InputError("port", given, allowed, "Choose another.") from error


_BUSY = "Too many reports at once. Send again in a second."
_FULL = "Reports cannot be kept at the moment. Send again later."
# Also in no browser's cache, nor in its memory of pages to go back to.
_UNFRAMED = {
    "content-security-policy": "frame-ancestors 'none'",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
}
_PLAIN = {"x-content-type-options": "nosniff", "referrer-policy": "no-referrer"}


def _said(code: int, text: str, *, ending: bool = False) -> Response:
    """A sentence; the connection ends with it where the rest of a request is not read."""
    headers = dict(_PLAIN)
    if ending:
        headers["connection"] = "close"
    if code == 503:
        headers["retry-after"] = "1"
    return PlainTextResponse(text, code, headers)


class Bounded(H11Protocol):  # type: ignore[misc]
    """A connection that ends if no whole request comes in time, or if there are too many."""

    # All that are open; the first has been without a whole request for longest.
    _open: ClassVar[dict[Bounded, None]] = {}

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Wait for a request, and let the one that waits for longest go if there are too many."""
        super().connection_made(transport)
        self._wait()
        if len(self._open) > MOST_CONNECTIONS:
            oldest = next(iter(self._open))
            del self._open[oldest]
            # A close would wait for what is still to be sent, which a client that does
            # not read can put off for ever.
            oldest.transport.abort()

    def on_response_complete(self) -> None:
        """Wait for the next request, behind all others."""
        super().on_response_complete()
        if self in self._open:
            del self._open[self]
            self._late.cancel()
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection that is lost."""
        self._open.pop(self, None)
        self._late.cancel()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._late = self.loop.call_later(REQUEST_SECONDS, self.transport.abort)
        self._open[self] = None
