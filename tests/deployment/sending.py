"""Senders of reports over raw connections, and the receiver as a process of its own."""

from __future__ import annotations

import asyncio
import json
import secrets
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

COMMAND = [sys.executable, "-c", "from planner.cli import main; main()", "receive"]


@contextmanager
def receiving(
    params: Path, folder: Path, *words: str
) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A receiver that is healthy, and its port; it is killed at the end if it still runs."""
    port = _free_port()
    call = [*COMMAND, str(params), "--into", str(folder), "--port", str(port), *words]
    with subprocess.Popen(  # noqa: S603 - our own program
        call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            if not process.stdout.readline():
                raise AssertionError(process.stderr and process.stderr.read())
            yield process, port
        finally:
            process.kill()


def _free_port() -> int:
    """Below those that systems give to connections, and with the next one free, too."""
    while True:
        port = 10_000 + secrets.randbelow(10_000)
        with suppress(OSError):
            for candidate in (port, port + 1):
                socket.create_server(("127.0.0.1", candidate)).close()
            return port


def send(
    port: int, bodies: Iterator[bytes], connections: int = 1
) -> tuple[Counter[int], set[str]]:
    """Send each until there are no more; how often a code came, and the ids in answers of 200."""
    codes: Counter[int] = Counter()
    ids: set[str] = set()

    async def one() -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                for body in bodies:
                    code, answer = await post(reader, writer, body)
                    codes[code] += 1
                    ids.update(json.loads(answer) if code == 200 else ())
            finally:
                writer.close()
                await writer.wait_closed()

    async def every() -> None:
        await asyncio.gather(*(one() for _ in range(connections)))

    with ThreadPoolExecutor(
        1
    ) as apart:  # a browser's test may have left a loop in this thread
        apart.submit(lambda: asyncio.run(every())).result()
    return codes, ids


async def post(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, body: bytes
) -> tuple[int, bytes]:
    """Code and text of the answer."""
    head = f"POST /reports HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    lines = (await reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
    (size,) = (int(line[15:]) for line in lines if line.startswith(b"content-length:"))
    return int(lines[0].split()[1]), await reader.readexactly(size)
