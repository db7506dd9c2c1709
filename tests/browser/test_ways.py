"""Ways through the app that a hand or a phone takes."""

import os
import re
import time
from contextlib import suppress
from pathlib import Path

import pytest

LIGHT = """
(selector) => {
  const style = getComputedStyle(document.querySelector(selector));
  const part = (c) => (c /= 255, c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const light = (colour) => {
    const [r, g, b] = colour.match(/[\\d.]+/g).map(Number);
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const [dark, bright] = [light(style.backgroundColor), light(style.color)].sort((a, b) => a - b);
  return (bright + 0.05) / (dark + 0.05);
}
"""


def test_a_new_question_is_named_opened_and_led_on_from(visit):
    page = visit.page
    visit.go("Survey")
    page.get_by_role("button", name="Add a number").click()
    visit.settle()
    name = page.get_by_label("Question", exact=True).last
    name.fill("income")
    name.press("Enter")
    visit.settle()
    page.set_viewport_size({"width": 390, "height": 900})
    page.wait_for_timeout(300)
    wide = "(() => { const m = document.querySelector('[data-testid=stMain]');"
    assert page.evaluate(wide + " return m.scrollWidth - m.clientWidth; })()") <= 0
    field = page.get_by_label("Weight", exact=True).first.bounding_box()
    assert field is not None
    assert field["width"] > 100  # wide enough to type in
    page.set_viewport_size({"width": 1280, "height": 900})
    page.get_by_role("button", name="Edit a number").click()
    page.get_by_role("heading", name="Answer rates", level=1).wait_for()
    visit.settle()
    assert page.get_by_label("Question", exact=True).first.input_value() == "income"
    page.get_by_role("link", name="Next: Sampling Privacy").click()
    page.get_by_role("heading", name="Sampling Privacy", level=1).wait_for()
    visit.settle()
    assert visit.complaints == []


def test_the_primary_button_can_be_read_in_both_themes(visit):
    visit.go("Try it on data")
    button = visit.page.get_by_test_id("stBaseButton-primary")
    button.wait_for()
    for theme in ("light", "dark"):
        visit.page.emulate_media(color_scheme=theme)
        visit.page.wait_for_timeout(500)
        assert visit.page.evaluate(LIGHT, "[data-testid=stBaseButton-primary]") >= 4.5, theme


def test_accuracy_first_then_a_picture_of_one_survey(visit):
    page = visit.page
    page.get_by_text("Start from the accuracy that you need").click()
    visit.settle()
    ask = page.get_by_role("button", name=re.compile("^Ask "))
    people = int(ask.inner_text().split()[1].replace(",", ""))
    ask.click()
    visit.settle()
    assert visit.metric("Total error") == f"{people / 100:,.0f} people"  # 1 % of them
    visit.go("Try it on data")
    page.get_by_text("What my result would look like").click()
    visit.settle()
    page.locator(".stPlotlyChart").first.wait_for()
    before = page.locator(".stPlotlyChart").first.inner_html()
    page.get_by_role("button", name="Draw another survey").click()
    visit.settle()
    assert page.locator(".stPlotlyChart").first.inner_html() != before


def test_thousands_of_rows_are_pointed_to_the_upload(visit, tmp_path):
    lines = "".join(f"item {k},level {k % 3},{1 + k % 3}\n" for k in range(10_000))
    path = tmp_path / "items.csv"
    path.write_text("item,level,epsilon\n" + lines)
    visit.page.get_by_text("Open a survey, a list of items, or an example").click()
    visit.settle()
    began = time.perf_counter()
    visit.page.locator("input[type=file]").set_input_files(path)
    visit.page.get_by_text("too large for an address").wait_for()
    visit.settle()
    assert visit.cell(1, 2) == "level 2"
    assert time.perf_counter() - began < 60  # on a busy machine; a few seconds on an idle one


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the system has no /proc")
def test_the_work_of_a_closed_tab_stops(visit, address):
    server, page = server_process(address), visit.page
    visit.go("Try it on data")
    runs = page.get_by_role("textbox", name="Runs per mechanism")
    runs.fill("1000")
    runs.press("Enter")
    visit.settle()
    began, before = time.perf_counter(), seconds_of(server)
    page.get_by_role("button", name="Run the simulation").click()
    progress = page.get_by_text(re.compile(r"Simulating: \d\d+ of"))
    done, total = map(int, re.findall(r"\d+", progress.inner_text()))
    left = (time.perf_counter() - began) * (total - done) / done
    assert seconds_of(server) > before
    page.close()
    end = time.perf_counter() + left / 2
    while seconds_of(server, within=1) > 0.2:
        assert time.perf_counter() < end, "the simulation goes on"


def server_process(address):
    """The number of the process that was told to listen at this address."""
    port = address.rpartition(":")[2].encode()
    numbers = [path.name for path in Path("/proc").iterdir() if path.name.isdigit()]
    for number in numbers:
        with suppress(OSError):  # it ended meanwhile
            if port in Path("/proc", number, "cmdline").read_bytes().split(b"\0"):
                return number
    raise AssertionError("the server is not running")


def seconds_of(process, within=0):
    """Processor time since its start, or spent within so many seconds from now."""
    fields = Path("/proc", process, "stat").read_text().rpartition(")")[2].split()
    spent = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    if not within:
        return spent
    time.sleep(within)
    return seconds_of(process) - spent
