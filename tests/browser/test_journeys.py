"""Five ways through the app in a real browser: what only a browser can show."""

import json
import re
import time
from contextlib import closing
from http.client import HTTPConnection

import psutil
import pytest
from playwright.sync_api import expect

from tests.browser.conftest import CLINIC, MOST_PATIENCE, Visit
from tests.cli.running import shown
from tests.surveys import GOOD

PAGES = ("Questions", "Plan", "Explore", "Export", "Try it on data", "Results")
PAGES += ("What a report says", "Words")
TOTAL = "total error"
# Rules of axe that widgets of Streamlit itself break: places for files have a role that a label
# undoes.
STREAMLITS = {"presentation-role-conflict"}
TOO_WIDE = """(() => { const m = document.querySelector('[data-testid=stMain]');
return m.scrollWidth - m.clientWidth; })()"""
PASTE = """(rows) => {
  const data = new DataTransfer();
  data.setData("text", Array.from({length: rows}, (_, k) => `l${k}\\t1\\ti${k}`).join("\\n"));
  const box = document.querySelector("[class*=st-key-level-0-2-name-] input");
  const pasted = {clipboardData: data, bubbles: true, cancelable: true};
  box.dispatchEvent(new ClipboardEvent("paste", pasted));
}"""
LONG = """
[survey]
name = "long"
users = 1000

[[question]]
name = "q"
kind = "ordinal"
""" + "".join(
    f'[[question.level]]\nname = "l{k}"\nepsilon = {0.5 + k / 10}\nitems = ["a{k}"]\n'
    for k in range(16)
)


def test_edits_are_planned_explained_undone_and_survive_pages_and_reloads(
    visit, visitor
):
    page = visit.page
    assert visit.metric(TOTAL) == "622 people"
    assert "survey=" not in page.url  # an example is not worth an address of its own
    visit.type_cell(0, "epsilon", "2.5")
    changed = visit.metric(TOTAL)
    assert changed != "622 people"
    visit.type_cell(1, "name", "mine alone")
    other = visitor("")  # somebody else, but for the browser that they share
    assert "mine alone" not in other.page.content()
    other.page.get_by_role("button", name="Last survey").click()
    other.settle()
    other.type_cell(1, "epsilon", "3.5")
    assert [visit.cell(0, "epsilon"), visit.cell(1, "epsilon")] == ["2.5", "ln 6"]
    other.page.close()  # a page behind another one is slow
    visit.go("Words")
    assert "survey=" in page.url
    for back in (lambda: visit.go("Questions"), visit.reload):
        back()
        now = [
            visit.cell(0, "epsilon"),
            visit.cell(1, "name"),
            visit.metric(TOTAL),
        ]
        assert now == ["2.5", "mine alone", changed]
    for step, name in (
        ("Undo", "common"),
        ("Redo", "mine alone"),
    ):  # which outlive a reload
        page.get_by_role("button", name=step).click()
        visit.settle()
        assert visit.cell(1, "name") == name
    before = visit.box(0, "epsilon").bounding_box()
    visit.type_cell(0, "epsilon", "1,5")
    expect(page.get_by_text("Budget is '1,5'").first).to_be_visible()
    assert page.locator("[class*=st-key-stale]").count() == 1
    assert visit.metric(TOTAL) == changed
    assert visit.box(0, "epsilon").bounding_box() == before  # under the hand
    page.get_by_role("button", name="Undo").click()
    visit.settle()
    assert [visit.cell(0, "epsilon"), visit.metric(TOTAL)] == ["2.5", changed]
    page.get_by_label("Survey", exact=True).fill("half typed")
    page.get_by_test_id("stSidebarNavLink").filter(has_text="Words").click()  # at once
    visit.arrive("Words")
    visit.go("Questions")
    assert page.get_by_label("Survey", exact=True).input_value() == "half typed"
    visit.upload("health.toml", GOOD.replace('["HIV"]', '["HIV", "flu"]'))
    expect(page.get_by_label("Survey", exact=True).first).to_have_value(
        "health", timeout=20_000
    )
    visit.settle()
    page.keyboard.press("Escape")
    assert [visit.cell(1, "epsilon"), visit.cell(0, "items")] == [
        "1.2 * ln 6",
        "HIV; flu",
    ]
    began = time.perf_counter()
    page.evaluate(PASTE, 500)
    page.get_by_text("500 levels were pasted").wait_for()
    # Within one when idle; planning them took 47.
    assert time.perf_counter() - began < 15
    page.evaluate(PASTE, 2)
    visit.settle()
    assert [visit.cell(3, "name"), visit.cell(3, "items")] == ["l1", "i1"]
    for other_visit in (visit, other):
        assert other_visit.complaints == []
        assert other_visit.outside == []


def test_the_keyboard_alone_leads_from_nothing_to_files_that_verify(visit, tmp_path):
    page = visit.page
    visit.act(page.get_by_role("button", name="New survey"))
    visit.settle()
    visit.type_survey("clinic", "50,000", "treatment", CLINIC)
    assert visit.metric(TOTAL) == "1,093 people"
    visit.act(page.get_by_role("link", name="Export", exact=True))
    visit.arrive("Export")
    expect(page.get_by_text("Every pair keeps its promised budget")).to_be_visible()
    visit.act(page.get_by_role("checkbox"), " ")
    visit.settle()
    assert visit.acts + 1 <= 6  # and a download: so many clicks are left to a mouse
    labels = ("Parameters", "Survey", "Report", "Handout", "Questionnaire")
    files = {label: download(visit, label, tmp_path) for label in labels}
    assert {path.suffix for path in files.values()} == {".json", ".toml", ".html"}
    text = files["Parameters"].read_text()
    parameters = json.loads(text)
    levels = parameters["questions"][0]["levels"]
    expected = [name for name, *_ in CLINIC]
    assert [level["name"] for level in levels] == expected
    verified = shown("verify", files["Parameters"])
    assert "Every pair keeps its promised budget" in verified
    assert "clinic" in shown("plan", files["Survey"])
    assert "stigmatised" in files["Report"].read_text()
    assert "What is not promised" in files["Handout"].read_text()
    page.get_by_text("Preview").click()
    preview = page.frame_locator("iframe")
    preview.get_by_label("influenza").check()
    preview.get_by_role("button", name="Randomise").click()
    preview.get_by_role("button", name="Save").click()
    thanks = preview.get_by_role("heading", name="Thank you")
    expect(thanks).to_be_visible(timeout=MOST_PATIENCE)
    expect(preview.get_by_text(parameters["hash"])).to_be_visible()
    assert visit.complaints == []


def test_every_page_fits_is_accessible_in_both_themes_and_asks_no_other_host(
    visit, shots
):
    page = visit.page
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    inaccessible = []
    for title in PAGES:
        visit.go(title)
        if title == "Try it on data":
            page.get_by_role("button", name="Run the simulation").click()
            visit.settle()
        for theme, width in (("light", 1280), ("dark", 390)):
            page.emulate_media(color_scheme=theme)
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_timeout(100)
            if shots:
                name = title.lower().replace(" ", "-")
                shoot(visit, width, shots / f"{name}-{width}-{theme}.png")
            page.wait_for_function(
                f"{TOO_WIDE} <= 0", timeout=20_000
            )  # charts follow later
            inaccessible += [
                (title, broken["id"], broken["nodes"][0])
                for broken in axe.run(page).response["violations"]
                if broken["id"] not in STREAMLITS
            ]
        page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": 1280, "height": 900})
    page.set_viewport_size({"width": 390, "height": 900})
    page.wait_for_timeout(500)
    menu = page.get_by_test_id("stSidebar")
    if menu.get_attribute("data-collapsed") != "false":
        page.get_by_test_id("stExpandSidebarButton").click()
    expect(menu).to_have_attribute("data-collapsed", "false")
    page.get_by_role("link", name="Plan", exact=True).click()
    expect(menu).to_have_attribute("data-collapsed", "true")
    assert inaccessible == []
    assert visit.outside == []
    assert visit.complaints == []


@pytest.mark.usefixtures("browser")  # else it would come after the last one
@pytest.mark.parametrize(
    ("host", "answer"), [("127.0.0.1", 101), ("rebound.example", 403)]
)
def test_a_page_of_another_name_is_refused(address, host, answer):
    """As one whose name was bound to this machine after it was loaded (DNS rebinding)."""
    port = int(address.rpartition(":")[2])
    headers = {
        **{
            "Host": f"{host}:{port}",
            "Origin": f"http://{host}:{port}",
            "Upgrade": "websocket",
        },
        **{
            "Connection": "Upgrade",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": 22 * "A" + "==",
        },
    }
    with closing(HTTPConnection("127.0.0.1", port, timeout=20)) as connection:
        connection.request("GET", "/_stcore/stream", headers=headers)
        assert connection.getresponse().status == answer


def test_work_ends_with_its_visitor_and_with_the_server(browser, address):
    """The last of these tests: it ends the server."""
    port = address.rpartition(":")[2]
    started = psutil.Process().children()
    (server,) = (process for process in started if port in process.cmdline())
    for last in (False, True):
        visit = Visit(browser.new_page(), address)
        visit.watch()
        visit.open("plan")
        visit.upload("long.toml", LONG)
        visit.page.get_by_text(re.compile("Planning for [1-9]")).wait_for()
        wait_for(lambda: seconds_of(server) > 0.1, "nothing is being planned", 30)
        if not last:
            visit.page.close()
            half = 15  # of the 30 seconds that it may take
            wait_for(
                lambda: seconds_of(server) < 0.1, "the plan is still being made", half
            )
    server.terminate()
    server.wait(timeout=15)  # or fails: it is still there
    visit.page.close()


def wait_for(true, otherwise, seconds):
    end = time.perf_counter() + seconds
    while not true():
        assert time.perf_counter() < end, otherwise


def shoot(visit, width, path):
    """A picture of the whole page, which scrolls inside the window."""
    page = visit.page
    height = page.evaluate(
        "document.querySelector('[data-testid=stMain]').scrollHeight"
    )
    page.set_viewport_size({"width": width, "height": min(int(height) + 20, 8000)})
    page.wait_for_timeout(400)
    page.screenshot(path=path)


def download(visit, label, folder):
    with visit.page.expect_download() as started:
        visit.page.get_by_role("button", name=re.compile(f"^{label} \\(")).press(
            "Enter"
        )
    path = folder / started.value.suggested_filename
    started.value.save_as(path)
    return path


def seconds_of(process):
    """Processor time that it spends within a second."""
    before = sum(process.cpu_times()[:2])
    time.sleep(1)
    return sum(process.cpu_times()[:2]) - before
