"""What a visitor waits for and does in Chromium: first figures, an edit, a whole survey."""

from __future__ import annotations

import compileall
import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from measure import Figure, rows, show
from playwright.sync_api import Browser, Locator, sync_playwright

from planner.deployment.parameters import read_parameters
from tests.browser.conftest import CLINIC, Visit
from tests.browser.running import ROOT, launch_arguments, running_app

VISITS = 7
EDITS = 12
ROUNDS = 5
PRESSES = 10
OPEN_WITHIN = 3.0
REDRAW_WITHIN = 0.5
SWITCH_WITHIN = 1.0
EXPORT_WITHIN = 20.0
MOST_CLICKS = 6
# Seen: on the page and not empty. Of everything that shall be seen, the last counts.
WATCH_OPENING = """
window.seen = {};
const wanted = {
  figures: '[data-testid=stMetricValue]',
  fields: '.st-key-levels input',
};
const look = () => {
  for (const [name, selector] of Object.entries(wanted)) {
    const box = document.querySelector(selector)?.getBoundingClientRect();
    if (!(name in window.seen) && box?.width && box?.height) window.seen[name] = performance.now();
  }
  requestAnimationFrame(look);
};
requestAnimationFrame(look);
"""
# From the key that ends the edit to the last change of a figure, a sentence, a table or a chart.
WATCH_EDIT = """
() => {
  window.edited = 0;
  const results = '.numbers, .js-plotly-plot, [data-testid=stMetric], [data-testid=stMarkdown]';
  document.addEventListener('keydown', event => {
    if (event.key === 'Tab') { window.edited = performance.now(); window.drawn = 0; }
  }, true);
  new MutationObserver(changes => {
    for (const change of changes) {
      const place = change.target.nodeType === 1 ? change.target : change.target.parentElement;
      if (window.edited && (place?.closest(results) || place?.querySelector?.('.numbers')))
        window.drawn = performance.now() - window.edited;
    }
  }).observe(document.body, {
    subtree: true, childList: true, attributes: true, characterData: true
  });
}
"""
# From the press of an arrow on a slider until the chart follows, and until the page stands still.
WATCH_PRESS = """
() => {
  document.addEventListener('keydown', () => {
    window.pressed = performance.now();
    window.followed = 0;
  }, true);
  new MutationObserver(changes => {
    window.drawn = performance.now() - window.pressed;
    for (const { addedNodes } of changes)
      for (const node of addedNodes)
        if (node.closest?.('.js-plotly-plot') || node.querySelector?.('.js-plotly-plot'))
          window.followed ||= window.drawn;
  }).observe(document.querySelector('[data-testid=stMain]'), { subtree: true, childList: true });
}
"""
# From the press on a link to the last change of the page.
WATCH_SWITCH = """
() => {
  document.addEventListener('mousedown', () => { window.pressed = performance.now(); }, true);
  new MutationObserver(() => { window.drawn = performance.now() - window.pressed; })
    .observe(document.querySelector('[data-testid=stMain]'), { subtree: true, childList: true });
}
"""


@contextmanager
def opened(browser: Browser, address: str) -> Iterator[tuple[Visit, float]]:
    """A visitor with nothing cached, and the seconds until all of the first figures were seen."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    visit = Visit(page, address)
    visit.watch()
    page.add_init_script(WATCH_OPENING)
    page.goto(address)
    page.wait_for_function("Object.keys(window.seen).length === 2", timeout=60_000)
    seen: dict[str, float] = page.evaluate("window.seen")
    page.wait_for_timeout(1000)
    yield visit, max(seen.values()) / 1000
    context.close()


def openings(browser: Browser, address: str) -> list[float]:
    """Seconds until the first figures; the first is the first visitor of the server."""
    times = []
    for _ in range(1 + VISITS):
        with opened(browser, address) as (_, seconds):
            times.append(seconds)
    return times


def redraws(browser: Browser, address: str) -> list[float]:
    """Seconds from the end of an edit until the page stands still."""
    times = []
    with opened(browser, address) as (visit, _):
        page = visit.page
        page.evaluate("window.scrollTo(0, 0)")
        page.evaluate(WATCH_EDIT)
        for k in range(1 + EDITS):
            visit.type_cell(2, "epsilon", f"{1 + 0.037 * k:.3f}")
            page.wait_for_timeout(2000)
            times.append(page.evaluate("window.drawn") / 1000)
    return times[1:]


def switches(browser: Browser, address: str) -> list[float]:
    """Seconds from a click on a page's link until the page stands still, the first times too."""
    times = []
    with opened(browser, address) as (visit, _):
        visit.page.evaluate(WATCH_SWITCH)
        for _ in range(ROUNDS):
            for title in (
                "Plan",
                "Export",
                "Try it on data",
                "What a report says",
                "Questions",
            ):
                visit.go(title)
                times.append(visit.page.evaluate("window.drawn") / 1000)
    return times


class Presses(NamedTuple):
    """Seconds from a press on a slider of Explore: until the chart follows, until all is drawn.

    And of as many presses without a pause.
    """

    followed: list[float]
    drawn: list[float]
    in_a_row: float


def presses(browser: Browser, address: str) -> Presses:
    """Move the first budget up, press by press, and then at once."""
    followed = []
    drawn = []
    with opened(browser, address) as (visit, _):
        visit.go("Explore")
        visit.page.evaluate(WATCH_PRESS)
        slider = visit.page.get_by_role("slider").first
        for _ in range(PRESSES):
            slider.press("ArrowRight")
            visit.settle()
            followed.append(visit.page.evaluate("window.followed") / 1000)
            drawn.append(visit.page.evaluate("window.drawn") / 1000)
        began = visit.page.evaluate("performance.now()")
        for _ in range(PRESSES):
            slider.press("ArrowRight")
        visit.settle()
        done = visit.page.evaluate("window.pressed + window.drawn")
    return Presses(followed, drawn, (done - began) / 1000)


def exported(browser: Browser, address: str, folder: Path) -> tuple[int, float]:
    """Clicks and seconds from an empty survey to verified parameters for the clinic's question.

    A robot types at once, and goes from field to field and from cell to cell with Tab.
    """
    context = browser.new_context(
        viewport={"width": 1280, "height": 900}, accept_downloads=True
    )
    page = context.new_page()
    visit = Visit(page, address)
    visit.watch()
    visit.open()
    began = time.perf_counter()
    clicks = 0

    def click(what: Locator) -> None:
        nonlocal clicks
        clicks += 1
        what.click()

    click(page.get_by_role("button", name="New survey"))
    visit.settle()
    clicks += 1  # into the first field
    visit.type_survey("clinic", "50,000", "treatment", CLINIC)
    click(page.get_by_role("link", name="Export", exact=True))
    visit.arrive("Export")
    click(page.get_by_text("I have read what is promised"))
    visit.settle()
    with page.expect_download() as download:
        click(page.get_by_role("button", name="Parameters ("))
    taken = time.perf_counter() - began
    path = folder / "parameters.json"
    download.value.save_as(path)
    context.close()
    parameters = read_parameters(path)
    parameters.verify()
    levels = parameters.document["questions"][0]["levels"]
    assert [level["name"] for level in levels] == [name for name, *_ in CLINIC]
    return clicks, taken


def figures() -> list[Figure]:
    return rows(in_chromium)


def in_chromium() -> list[Figure]:
    compileall.compile_dir(
        ROOT / "planner", quiet=1
    )  # as installing it, or its first start, does
    with (
        tempfile.TemporaryDirectory() as folder,
        running_app(Path(folder) / "log") as address,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(**launch_arguments())
        first, *times = openings(browser, address)
        plain = redraws(browser, address)
        moved = switches(browser, address)
        explored = presses(browser, address)
        clicks, taken = exported(browser, address, Path(folder))
        browser.close()
    load = f"load {os.getloadavg()[0]:.1f}"
    return [
        figure(
            "first figures after opening, the server's first",
            [first],
            OPEN_WITHIN,
            load,
        ),
        figure("first figures after opening", times, OPEN_WITHIN, load),
        figure("an edit, until all is redrawn", plain, REDRAW_WITHIN, load),
        figure("a page switch, until all is drawn", moved, SWITCH_WITHIN, load),
        figure(
            "a press in Explore, until the chart follows",
            explored.followed,
            REDRAW_WITHIN,
            load,
        ),
        figure("the same, until all is drawn", explored.drawn, SWITCH_WITHIN, load),
        figure(
            f"{PRESSES} presses without a pause",
            [explored.in_a_row],
            PRESSES * REDRAW_WITHIN,
            load,
        ),
        Figure(
            "from an empty survey to the clinic's parameters",
            f"{clicks} clicks, {taken:.1f} s of a robot, {load}",
            f"at most {MOST_CLICKS} clicks and {EXPORT_WITHIN:g} s",
            clicks <= MOST_CLICKS and taken <= EXPORT_WITHIN,
        ),
    ]


def figure(what: str, times: Sequence[float], within: float, load: str) -> Figure:
    middle = statistics.median(times)
    value = f"{middle:.2f} s (from {min(times):.2f} to {max(times):.2f}, {load})"
    return Figure(what, value, f"within {within:g} s", middle <= within)


if __name__ == "__main__":
    show(figures(), "The app in a browser")
