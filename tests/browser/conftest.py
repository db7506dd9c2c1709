"""A running app, Chromium, and pages that record what they ask for and complain about."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Playwright, Request, Route
from playwright.sync_api import TimeoutError as NotSeen

from tests.browser.chromium import launch_arguments
from tests.browser.server import ROOT, running_app

SHOTS = ROOT / "build" / "screenshots"


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
class Visit:
    """A page of the app, with everything it asked other hosts for and complained about."""

    page: Page
    address: str
    outside: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def watch(self) -> None:
        self.page.route("**/*", self._refuse_outside)
        self.page.on("request", self._record)
        self.page.on("websocket", lambda socket: self._record_address(socket.url))
        self.page.on(
            "console",
            lambda message: message.type == "error" and self.complaints.append(message.text),
        )
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def open(self) -> None:
        """Open the app's first page; the others are reached as people do, by its links."""
        self.page.goto(self.address)
        self.settle()

    def go(self, title: str) -> None:
        self.page.get_by_test_id("stSidebarNavLink").filter(has_text=title).click()
        self.page.get_by_role("heading", name=title, exact=True, level=1).wait_for()
        self.settle()

    def settle(self) -> None:
        """Wait until the script is done and the page has drawn it."""
        self.page.wait_for_timeout(250)
        done = "[data-testid=stApp][data-test-script-state=notRunning]"
        self.page.wait_for_selector(done, timeout=60_000)
        self.page.wait_for_timeout(150)

    def metric(self, label: str) -> str:
        box = self.page.get_by_test_id("stMetric").filter(has_text=label)
        return box.get_by_test_id("stMetricValue").inner_text()

    def type_cell(self, column: int, row: int, text: str, table: int = 0) -> None:
        """Type into a cell of a table: double click, fill, Enter."""
        frame = self.page.get_by_test_id("stDataFrame").nth(table)
        frame.scroll_into_view_if_needed()
        cell = frame.get_by_test_id(f"glide-cell-{column}-{row}")
        cell.wait_for(state="attached")
        field_ = self.page.locator("#portal input, #portal textarea").first
        for _ in range(5):  # the page may still be moving under the pointer
            place = frame.bounding_box()
            assert place is not None
            self.page.mouse.dblclick(place["x"] + CELLS[column], place["y"] + 53 + 35 * row)
            try:
                field_.wait_for(timeout=2000)
                break
            except NotSeen:
                self.page.keyboard.press("Escape")
        field_.fill(text)
        self.page.wait_for_timeout(150)
        field_.press("Enter")
        self.settle()

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

    def _record_address(self, url: str) -> None:
        if not self._ours(url):
            self.outside.append(url)

    def _ours(self, url: str) -> bool:
        host = self.address.removeprefix("http")
        return url.startswith(("http" + host, "ws" + host, "data:", "blob:"))


# Where to click in the table of levels: the middle of its columns at 1280 pixels.
CELLS = {1: 70, 2: 170, 3: 350}


@pytest.fixture
def visit(browser: Browser, address: str) -> Iterator[Visit]:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    found = Visit(context.new_page(), address)
    found.watch()
    found.open()
    yield found
    context.close()


@pytest.fixture
def shots() -> Path:
    SHOTS.mkdir(parents=True, exist_ok=True)
    return SHOTS
