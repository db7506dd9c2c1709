"""The page that people answer, in Chromium: its size, its first paint, and the time of a report.

Run: ``python benchmarks/questionnaire.py``. A page is opened from a file, each time by somebody
else; shortest times count.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from measure import Figure, show
from playwright.sync_api import Browser, sync_playwright

from planner import Categorical, Level, Survey, plan_survey
from planner.deployment.parameters import survey_parameters
from planner.deployment.questionnaire import questionnaire
from tests.browser.running import launch_arguments

VISITS = 15
SPY = """
addEventListener("submit", () => { window.begun = performance.now(); }, true);
new MutationObserver(() => {
  if (window.begun && document.querySelector("h2")) window.ended ??= performance.now();
}).observe(document, { subtree: true, childList: true });
"""
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0].startTime"


def figures() -> list[Figure]:
    """For 20 answers, and for 1,000."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(**launch_arguments())
        found = [*measured(browser, 20), *measured(browser, 1000)]
        browser.close()
    return found


def measured(browser: Browser, answers: int) -> list[Figure]:
    """A page with so many answers, visited many times."""
    levels = (
        Level("rare", 1.0, [f"rare answer {k}" for k in range(10)]),
        Level("other", 2.0, [f"answer {k}" for k in range(answers - 10)]),
    )
    survey = Survey("survey", 100_000, (Categorical("question", levels),))
    file = survey_parameters(plan_survey(survey)).to_json().encode()
    page = questionnaire(survey, file)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        path.write_text(page, encoding="utf-8")
        visits = [visit(browser, path.as_uri()) for _ in range(VISITS)]
    painted, reported = (min(times) for times in zip(*visits, strict=True))
    size = len(page.encode()) / 1000
    what = f"page of {answers:,} answers"
    if answers == 20:
        return [Figure(f"{what}: size", f"{size:.0f} kB", "200 kB", size <= 200)]
    whole = f"{what}: a report, from the click until it is on disk and shown"
    return [
        Figure(f"{what}: first paint", f"{painted:.0f} ms"),
        Figure(whole, f"{reported:.0f} ms", "50 ms", reported <= 50),
    ]


def visit(browser: Browser, address: str) -> tuple[float, float]:
    """Milliseconds until something is painted, and from the click to the report."""
    context = browser.new_context()
    page = context.new_page()
    page.add_init_script(SPY)
    page.goto(address)
    page.get_by_label("rare answer 7", exact=True).check()
    page.get_by_role("button", name="Randomise").click()
    page.locator("h2").wait_for()
    times = page.evaluate(PAINTED), page.evaluate("window.ended - window.begun")
    context.close()
    return times


if __name__ == "__main__":
    show(figures())
