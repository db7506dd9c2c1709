"""A running app, Chromium, and pages that record what they ask for and complain about."""

import os
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from playwright.sync_api import TimeoutError as NotSeen
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.browser.running import ROOT, launch_arguments, running_app

MOST_PATIENCE = 90_000  # milliseconds: a loaded machine is slow, and no figure of ours
TICK = 100
QUIET_TICKS = 3
CELL_FIELD = "#portal input, #portal textarea"
SETTLED = "[data-testid=stApp][data-test-script-state=notRunning]"
# The levels of examples/clinic.toml, as they are typed.
CLINIC = (
    ("stigmatised", "1", "HIV"),
    ("private", "1.5", "depression; addiction; diabetes"),
    (
        *("harmless", "3"),
        "influenza; cold; sprain; fracture; back pain; allergy; migraine; asthma; eyes; teeth; "
        "vaccination; check-up",
    ),
)
# Where to click in the table of levels: the middle of its columns at 1280 pixels.
CELLS = {1: 80, 2: 230, 3: 420}


@pytest.fixture(scope="session")
def browser_type_launch_args(playwright):
    arguments = launch_arguments()
    there = (
        "executable_path" in arguments
        or Path(playwright.chromium.executable_path).exists()
    )
    if not there and not os.environ.get("CI"):
        pytest.skip("Chromium is not installed; `make test` installs it")
    return arguments  # where there is none, the launch fails, and so do the tests


@pytest.fixture(scope="session")
def address(tmp_path_factory):
    with running_app(tmp_path_factory.mktemp("app") / "log") as found:
        yield found


@dataclass
class Visit:
    """A page of the app, with everything it asked other hosts for and complained about."""

    page: Page
    address: str
    outside: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    waiting: bool = True  # a change, or the first run, for its answer
    messages: int = 0

    def watch(self):
        self.page.set_default_timeout(MOST_PATIENCE)
        self.page.on("request", lambda request: self._look_at(request.url))
        self.page.on("websocket", self._listen)
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _hear(self, message):
        if message.type == "error":
            self.complaints.append(message.text)

    def _look_at(self, url):
        host = self.address.removeprefix("http")
        if not url.startswith(("http" + host, "ws" + host, "data:", "blob:")):
            self.outside.append(url)

    def _listen(self, socket):
        self._look_at(socket.url)
        socket.on("framesent", self._sent)
        socket.on("framereceived", self._received)

    def _sent(self, frame):
        if isinstance(frame, bytes):
            self.waiting |= (
                BackMsg.FromString(frame).WhichOneof("type") == "rerun_script"
            )

    def _received(self, frame):
        self.messages += 1
        if isinstance(frame, bytes):
            message = ForwardMsg.FromString(frame)
            if message.WhichOneof("type") == "script_finished":
                # A run that was cut short is followed by the one that it was cut short for.
                self.waiting = (
                    message.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN
                )

    def open(self, asked=""):
        """Open the app's first page; the others are reached as people do, by its links."""
        self.page.goto(f"{self.address}/{asked}")
        self.settle()

    def reload(self):
        self.waiting = True
        self.page.reload()
        self.settle()

    def upload(self, name, text):
        self.page.get_by_test_id("stPopoverButton").first.click()
        file = {"name": name, "mimeType": "text/plain", "buffer": text.encode()}
        self.page.locator("input[type=file]").first.set_input_files([file])

    def go(self, title):
        self.settle()  # a click before the page answers is lost
        self.page.get_by_role("link", name=title, exact=True).click()
        self.arrive(title)

    def arrive(self, title):
        self.page.get_by_role("heading", name=title, exact=True, level=1).wait_for()
        self.settle()

    def settle(self):
        """Wait until every change is answered, nothing more arrives, and the page has drawn it.

        A change takes a moment to leave the page (fields wait for more typing), so that only
        what stays quiet for a while has settled, however slow the machine.
        """
        quiet = 0
        heard = -1
        for _ in range(MOST_PATIENCE // TICK):
            self.page.wait_for_timeout(TICK)
            idle = not self.waiting and self.page.locator(SETTLED).count() == 1
            quiet = quiet + 1 if idle and heard == self.messages else 0
            heard = self.messages
            if quiet == QUIET_TICKS:
                break
        else:
            raise AssertionError("the page did not settle")
        self.page.evaluate(
            "new Promise(drawn => requestAnimationFrame(() => setTimeout(drawn)))"
        )

    def metric(self, label):
        box = self.page.get_by_test_id("stMetric").filter(has_text=label)
        return box.get_by_test_id("stMetricValue").inner_text()

    def cell(self, column, row):
        return self._cell(column, row).inner_text()

    def _cell(self, column, row):
        frame = self.page.get_by_test_id("stDataFrame").first
        return frame.get_by_test_id(f"glide-cell-{column}-{row}")

    def type_cell(self, column, row, text):
        """Type into a cell of the first table: double click, fill, Enter."""
        self.page.get_by_test_id("stDataFrame").first.scroll_into_view_if_needed()
        self._cell(column, row).wait_for(state="attached")
        box = self._opened(column, row)
        box.fill(text)
        expect(box).to_have_value(text)
        self.page.wait_for_timeout(150)  # the table takes what is typed a moment later
        box.press("Enter")
        expect(self.page.locator(CELL_FIELD)).to_have_count(0)
        expect(self._cell(column, row)).to_have_text(text, timeout=MOST_PATIENCE)
        self.settle()

    def type_survey(self, name, people, question, rows):
        """Type into the empty survey by keyboard alone, from its first field to its last cell."""
        keys = self.page.keyboard
        self.page.get_by_label("Survey", exact=True).focus()
        for text in (name, people, question):
            keys.press("Control+a")
            keys.type(text)
            keys.press("Tab")
        keys.press("Tab")  # past what a person gives
        self.settle()
        chosen = self.page.locator("[data-testid^=glide-cell]:focus")
        self._until(
            chosen, "Tab", "Shift+Tab"
        )  # past what is exact enough, into the table
        box = self.page.locator(CELL_FIELD).first
        for k, cells in enumerate(rows):
            for key in ("ArrowLeft", "ArrowLeft") * (k > 0):
                keys.press(key)
            for cell, then in zip(cells, ("Tab", "Tab", "Enter"), strict=True):
                self._until(
                    box, "Enter", "Escape"
                )  # of the last row it makes another one
                box.fill(cell)
                self.page.wait_for_timeout(
                    150
                )  # the table takes what is typed a moment later
                keys.press(then)
                box.wait_for(state="detached")
            self.settle()

    def _until(self, there, key, back):
        """Press a key until what it opens is there: the page may still be drawing."""
        for patience in (1000, 2000, 4000, 8000, 16_000):
            self.page.keyboard.press(key)
            try:
                there.wait_for(timeout=patience, state="attached")
            except NotSeen:
                self.page.keyboard.press(back)
            else:
                return
        raise AssertionError(f"{key} opened nothing")

    def _opened(self, column, row):
        """Double-click until the cell's field is there and stays: the page may still move."""
        box = self.page.locator(CELL_FIELD).first
        for patience in (1000, 2000, 4000, 8000, 16_000):
            place = self.page.get_by_test_id("stDataFrame").first.bounding_box()
            self.page.mouse.dblclick(
                place["x"] + CELLS[column], place["y"] + 53 + 35 * row
            )
            try:
                box.wait_for(timeout=patience)
            except NotSeen:
                self.page.keyboard.press(
                    "Escape"
                )  # it may have opened this very moment
                self.settle()
            else:
                return box
        raise AssertionError(f"cell {column}, {row} did not open")


@pytest.fixture(scope="session")
def one_browser(browser):
    """What all pages share: the app's scripts are fetched and compiled once."""
    size = {"width": 1280, "height": 900}
    with closing(browser.new_context(viewport=size, accept_downloads=True)) as context:
        yield context


@pytest.fixture
def visitor(one_browser, address):
    """Opens the five diagnoses, or what is asked, for one more visitor in a page of its own."""

    def new(asked="?example=health"):
        found = Visit(one_browser.new_page(), address)
        found.watch()
        found.open(asked)
        return found

    yield new
    for page in one_browser.pages:
        page.close()


@pytest.fixture
def visit(visitor):
    return visitor()


@pytest.fixture
def shots():
    """The folder for pictures of the pages, if ``SCREENSHOTS`` names one: drawing them is slow."""
    folder = os.environ.get("SCREENSHOTS")
    if folder:
        (ROOT / folder).mkdir(parents=True, exist_ok=True)
    return ROOT / folder if folder else None
