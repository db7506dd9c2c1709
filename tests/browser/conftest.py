"""A running app, Chromium, and pages that record what they ask for and complain about."""

import os
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Page
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.browser.running import ROOT, launch_arguments, running_app

MOST_PATIENCE = 90_000  # milliseconds: a loaded machine is slow, and no figure of ours
TICK = 100
QUIET_TICKS = 3
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
    with running_app(tmp_path_factory.mktemp("app") / "log") as address:
        yield address


@dataclass
class Visit:
    """A page of the app, with everything it asked other hosts for and complained about."""

    page: Page
    address: str
    outside: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    waiting: bool = True  # a change, or the first run, for its answer
    messages: int = 0
    acts: int = 0  # clicks that somebody with a mouse would have made

    def watch(self):
        self.page.set_default_timeout(MOST_PATIENCE)
        self.page.on("request", lambda request: self.look_at(request.url))
        self.page.on("websocket", self.listen)
        self.page.on("console", self.hear)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def hear(self, message):
        if message.type == "error":
            self.complaints.append(message.text)

    def look_at(self, url):
        host = self.address.removeprefix("http")
        if not url.startswith(("http" + host, "ws" + host, "data:", "blob:")):
            self.outside.append(url)

    def listen(self, socket):
        self.look_at(socket.url)
        socket.on("framesent", self.sent)
        socket.on("framereceived", self.received)

    def sent(self, frame):
        if isinstance(frame, bytes):
            self.waiting |= (
                BackMsg.FromString(frame).WhichOneof("type") == "rerun_script"
            )

    def received(self, frame):
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
            if idle and heard == self.messages:
                quiet = quiet + 1
            else:
                quiet = 0
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

    def act(self, element, key="Enter"):
        """Do with a key what takes a click of a mouse."""
        self.acts += 1
        element.focus()
        if key:
            element.press(key)

    def box(self, row, key):
        """The field of a level of the first question."""
        return self.page.locator(f"[class*=st-key-level-0-{row}-{key}-] input")

    def cell(self, row, key):
        return self.box(row, key).input_value()

    def type_cell(self, row, key, text):
        """Type into the field of a level, and go on."""
        self.box(row, key).fill(text)
        self.box(row, key).press("Tab")
        self.settle()

    def type_survey(self, name, people, question, rows):
        """Type into the empty survey as fast as a machine can, and go on by Tab alone."""
        keys = self.page.keyboard
        self.act(self.page.get_by_label("Survey", exact=True), "")
        # Past how often it is asked; past what a person gives, what is exact enough, and the rule.
        for text, tabs in (
            (name, 1),
            (people, 2),
            (question, 4),
        ):
            keys.press("Control+a")
            keys.type(text)
            for _ in range(tabs):
                keys.press("Tab")
        for cells in rows:
            for text in cells:
                keys.type(text)
                keys.press("Tab")
            keys.press("Tab")  # past the number of answers, as they are listed
        self.settle()


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
        visit = Visit(one_browser.new_page(), address)
        visit.watch()
        visit.open(asked)
        return visit

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
    if folder:
        return ROOT / folder
    return None
