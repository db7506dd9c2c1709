"""The app under load: twenty sessions that edit at once, and a thousand levels."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import websockets
from measure import Figure, rows, show
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.testing.v1 import AppTest

from tests.browser.running import ROOT, running_app

SESSIONS = 20
SECONDS = 60
PAUSE = 2.0
BUDGET = "level-0-0-epsilon-0"  # the key of the first level's field


class Client:
    """One session without a browser: what it asks for and what comes back, as a browser does."""

    def __init__(self, socket: Any) -> None:
        self.socket = socket
        self.field = ""
        self.error = ""
        self.total = ""

    async def run(self, budget: str = "") -> float:
        """Run the page, with this budget of the first level; seconds until it was all redrawn."""
        message = BackMsg()
        message.rerun_script.query_string = ""
        if budget:
            state = WidgetState(id=self.field, string_value=budget)
            message.rerun_script.widget_states.widgets.append(state)
        start = time.perf_counter()
        await self.socket.send(message.SerializeToString())
        while True:
            answer = ForwardMsg()
            answer.ParseFromString(await self.socket.recv())
            kind = answer.WhichOneof("type")
            if kind == "delta":
                self._take(answer.delta.new_element)
            elif kind == "script_finished":
                return time.perf_counter() - start

    def _take(self, element: Any) -> None:
        kind = element.WhichOneof("type")
        if kind == "text_input" and element.text_input.id.endswith(BUDGET):
            self.field = element.text_input.id
        elif kind == "exception":
            self.error = element.exception.message
        elif kind == "metric" and element.metric.label == "total error":
            self.total = element.metric.body


async def edit_for_a_while(address: str, number: int) -> tuple[list[float], str]:
    """Edit a budget every two seconds to one that no session had before."""
    target = address.replace("http", "ws", 1) + "/_stcore/stream"
    times: list[float] = []
    async with websockets.connect(
        target, subprotocols=["streamlit"], origin=address, max_size=None
    ) as socket:
        client = Client(socket)
        await client.run()
        end = time.perf_counter() + SECONDS
        await asyncio.sleep(PAUSE * number / SESSIONS)
        while time.perf_counter() < end:
            epsilon = f"{0.5 + (number + SESSIONS * len(times)) / 700:.4f}"
            before = client.total
            times.append(await client.run(epsilon))
            if client.error or client.total == before:
                return times, client.error or "an edit changed nothing"
            await asyncio.sleep(max(0.0, PAUSE - times[-1]))
    return times, ""


async def all_sessions(address: str) -> tuple[list[float], list[str]]:
    found = await asyncio.gather(
        *(edit_for_a_while(address, i) for i in range(SESSIONS))
    )
    return [t for times, _ in found for t in times], [
        error for _, error in found if error
    ]


def load() -> Figure:
    with (
        tempfile.TemporaryDirectory() as folder,
        running_app(Path(folder) / "log") as address,
    ):
        times, errors = asyncio.run(all_sessions(address))
    median = statistics.median(times)
    slow = statistics.quantiles(times, n=20)[-1]
    return Figure(
        f"{SESSIONS} sessions, an edit every {PAUSE:g} s for {SECONDS} s: {len(times)} re-runs",
        f"median {median:.3f} s, 95 % within {slow:.3f} s, {len(errors)} errors",
        "median under 1 s, no error",
        median < 1 and not errors,
    )


def one_edit() -> Figure:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    times = []
    for k in range(20):
        app.text_input(key=BUDGET).set_value(f"{1 + k / 100}")
        start = time.perf_counter()
        app.run()
        times.append(time.perf_counter() - start)
    middle = statistics.median(times)
    return Figure(
        "an edit to a level, re-run alone",
        f"{middle:.3f} s",
        "under 0.5 s",
        middle < 0.5,
    )


def figures() -> list[Figure]:
    return rows(one_edit, load)


if __name__ == "__main__":
    show(figures(), "The app")
