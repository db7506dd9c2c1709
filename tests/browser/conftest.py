"""A running app, Chromium, and pages that record what they ask for and complain about."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import (
    Browser,
    Locator,
    Page,
    Playwright,
    Request,
    Route,
    WebSocket,
    expect,
)
from playwright.sync_api import TimeoutError as NotSeen
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.browser.chromium import launch_arguments
from tests.browser.server import ROOT, running_app


@pytest.fixture(scope="session")
def browser_type_launch_args(playwright: Playwright) -> dict[str, Any]:
    arguments = launch_arguments()
    there = "executable_path" in arguments or Path(playwright.chromium.executable_path).exists()
    if not there and not os.environ.get("CI"):
        pytest.skip("Chromium is not installed; `make test` installs it")
    return arguments  # where there is none, the launch fails, and so do the tests


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_app(tmp_path_factory.mktemp("app") / "log") as found:
        yield found


@dataclass
class Conversation:
    """What page and server say to each other: whether a change still waits for its answer."""

    waiting: bool = True  # for the first run
    messages: int = 0

    def listen(self, socket: WebSocket) -> None:
        socket.on("framesent", self._sent)
        socket.on("framereceived", self._received)

    def _sent(self, frame: bytes | str) -> None:
        if isinstance(frame, bytes):
            self.waiting |= BackMsg.FromString(frame).WhichOneof("type") == "rerun_script"

    def _received(self, frame: bytes | str) -> None:
        self.messages += 1
        if isinstance(frame, bytes):
            message = ForwardMsg.FromString(frame)
            if message.WhichOneof("type") == "script_finished":
                # A run that was cut short is followed by the one that it was cut short for.
                self.waiting = message.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN


@dataclass
class Visit:
    """A page of the app, with everything it asked other hosts for and complained about."""

    page: Page
    address: str
    outside: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    conversation: Conversation = field(default_factory=Conversation)

    def watch(self) -> None:
        self.page.set_default_timeout(MOST_PATIENCE)
        self.page.route("**/*", self._refuse_outside)
        self.page.on("request", self._record)
        self.page.on("websocket", self._record_socket)
        self.page.on(
            "console",
            lambda message: message.type == "error" and self.complaints.append(message.text),
        )
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def open(self, asked: str = "") -> None:
        """Open the app's first page; the others are reached as people do, by its links."""
        self.page.goto(f"{self.address}/{asked}")
        self.settle()

    def reload(self) -> None:
        self.conversation.waiting = True
        self.page.reload()
        self.settle()

    def go(self, title: str) -> None:
        self.settle()  # a click before the page answers is lost
        self.page.get_by_test_id("stSidebarNavLink").filter(has_text=title).click()
        self.page.get_by_role("heading", name=title, exact=True, level=1).wait_for()
        self.settle()

    def settle(self) -> None:
        """Wait until every change is answered, nothing more arrives, and the page has drawn it.

        A change takes a moment to leave the page (fields wait for more typing), so that only
        what stays quiet for a while has settled, however slow the machine.
        """
        done = "[data-testid=stApp][data-test-script-state=notRunning]"
        quiet, heard = 0, -1
        for _ in range(MOST_PATIENCE // TICK):
            self.page.wait_for_timeout(TICK)
            idle = not self.conversation.waiting and self.page.locator(done).count() == 1
            quiet = quiet + 1 if idle and heard == self.conversation.messages else 0
            heard = self.conversation.messages
            if quiet == QUIET_TICKS:
                break
        else:
            raise AssertionError("the page did not settle")
        self.page.evaluate("new Promise(drawn => requestAnimationFrame(() => setTimeout(drawn)))")

    def metric(self, label: str) -> str:
        box = self.page.get_by_test_id("stMetric").filter(has_text=label)
        return box.get_by_test_id("stMetricValue").inner_text()

    def type_cell(self, column: int, row: int, text: str, table: int = 0) -> None:
        """Type into a cell of a table: double click, fill, Enter."""
        frame = self.page.get_by_test_id("stDataFrame").nth(table)
        frame.scroll_into_view_if_needed()
        cell = frame.get_by_test_id(f"glide-cell-{column}-{row}")
        cell.wait_for(state="attached")
        self._open_cell(frame, column, row)
        field_ = self.page.locator(CELL_FIELD).first
        field_.fill(text)
        expect(field_).to_have_value(text)
        self.page.wait_for_timeout(150)  # the table takes what is typed a moment later
        field_.press("Enter")
        expect(self.page.locator(CELL_FIELD)).to_have_count(0)
        expect(cell).to_have_text(text, timeout=MOST_PATIENCE)
        self.settle()

    def _open_cell(self, frame: Locator, column: int, row: int) -> None:
        """Double-click until the cell's field is there and stays: the page may still move."""
        field_ = self.page.locator(CELL_FIELD).first
        for patience in (1000, 2000, 4000, 8000, 16_000):
            self.settle()
            place = frame.bounding_box()
            assert place is not None
            self.page.mouse.dblclick(place["x"] + CELLS[column], place["y"] + 53 + 35 * row)
            try:
                field_.wait_for(timeout=patience)
            except NotSeen:
                self.page.keyboard.press("Escape")  # it may have opened this very moment
            else:
                return
        raise AssertionError(f"cell {column}, {row} did not open")

    def cell(self, column: int, row: int, table: int = 0) -> str:
        frame = self.page.get_by_test_id("stDataFrame").nth(table)
        return frame.get_by_test_id(f"glide-cell-{column}-{row}").inner_text()

    def _refuse_outside(self, route: Route) -> None:
        if self._ours(route.request.url):
            route.continue_()
        else:
            route.abort()

    def _record(self, request: Request) -> None:
        self._record_address(request.url)

    def _record_socket(self, socket: WebSocket) -> None:
        self._record_address(socket.url)
        self.conversation.listen(socket)

    def _record_address(self, url: str) -> None:
        if not self._ours(url):
            self.outside.append(url)

    def _ours(self, url: str) -> bool:
        host = self.address.removeprefix("http")
        return url.startswith(("http" + host, "ws" + host, "data:", "blob:"))


MOST_PATIENCE = 90_000  # milliseconds: a loaded machine is slow, and no figure of ours
TICK = 100
QUIET_TICKS = 4
CELL_FIELD = "#portal input, #portal textarea"

# Where to click in the table of levels: the middle of its columns at 1280 pixels.
CELLS = {1: 70, 2: 170, 3: 350}


@pytest.fixture
def visit(browser: Browser, address: str) -> Iterator[Visit]:
    """The five diagnoses."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    found = Visit(context.new_page(), address)
    found.watch()
    found.open("?example=health")
    yield found
    context.close()


@pytest.fixture
def shots() -> Path | None:
    """The folder for pictures of the pages, if ``SCREENSHOTS`` names one: drawing them is slow."""
    folder = os.environ.get("SCREENSHOTS")
    if not folder:
        return None
    place = ROOT / folder
    place.mkdir(parents=True, exist_ok=True)
    return place
