"""The app in a real browser: what only a browser can show."""

import json
import subprocess
import sys

from playwright.sync_api import expect

from tests.browser.conftest import Visit

PAGES = (
    "Budgets",
    "What a report says",
    "Answer rates",
    "Sampling Privacy",
    "Try it on data",
    "Survey",
    "Export",
    "Words",
)
SURVEY = """
[survey]
name = "clinic"
users = 250_000

[[question]]
name = "ward"

[[question.level]]
name = "closed"
epsilon = 0.75
items = ["psychiatry", "addiction"]

[[question.level]]
name = "open"
epsilon = "ln 9"
item_count = 12
"""


def test_an_edited_cell_changes_the_plan_and_survives_a_page_switch(visit):
    assert visit.metric("Total error") == "622 people"
    visit.type_cell(2, 0, "2.5")
    assert visit.metric("Total error") != "622 people"
    changed = visit.metric("Total error")
    visit.type_cell(1, 1, "usual")
    visit.go("Sampling Privacy")
    visit.go("Budgets")
    assert visit.cell(2, 0) == "2.5"
    assert visit.cell(1, 1) == "usual"
    assert visit.metric("Total error") == changed
    visit.type_cell(2, 1, "1.25")  # and edits still work after the switch
    assert visit.cell(2, 0) == "2.5"
    assert visit.metric("LDP epsilon") == "2.500"
    assert visit.complaints == []


def test_a_wrong_cell_is_kept_and_explained_while_the_rest_is_planned(visit):
    visit.type_cell(2, 0, "1,5")
    assert visit.cell(2, 0) == "1,5"
    expect(visit.page.get_by_text("Row 1 (severe): epsilon is '1,5'")).to_be_visible()
    assert visit.metric("LDP epsilon") == "1.792"
    visit.type_cell(2, 0, "ln 4")
    expect(visit.page.get_by_text("Row 1 (severe)")).to_have_count(0)
    assert visit.metric("Total error") == "622 people"


def test_uploads_of_a_survey_and_of_items_are_taken_and_undone(visit):
    page = visit.page
    upload(visit, "clinic.toml", SURVEY)
    expect(page.get_by_label("Survey", exact=True).first).to_have_value("clinic", timeout=20_000)
    visit.settle()
    assert visit.cell(2, 1) == "ln 9"
    assert visit.cell(3, 0) == "psychiatry; addiction"
    upload(visit, "broken.toml", "[survey\n")
    expect(page.get_by_text("is not valid TOML")).to_be_visible(timeout=20_000)
    assert visit.cell(2, 1) == "ln 9"
    page.keyboard.press("Escape")
    upload(visit, "items.csv", "item,level,epsilon\nflu,usual,2\nHIV,severe,ln 3\ncold,usual,2\n")
    expect(page.get_by_role("button", name="Undo: opening items.csv")).to_be_attached()
    visit.settle()
    assert [visit.cell(1, 0), visit.cell(3, 0), visit.cell(2, 1)] == ["usual", "flu; cold", "ln 3"]
    page.get_by_role("button", name="Undo: opening items.csv").click()
    visit.settle()
    assert visit.cell(1, 0) == "closed"


def test_downloads_are_what_was_planned_and_the_command_line_verifies_them(visit, tmp_path):
    visit.type_cell(2, 0, "1.25")
    visit.go("Export")
    expect(visit.page.get_by_text("every pair keeps its promised budget")).to_be_visible()
    visit.page.get_by_text("I have read what is promised").click()
    visit.settle()
    files = {
        label: download(visit, label, tmp_path)
        for label in ("Parameters (JSON)", "Survey (TOML)", "Report (HTML)", "Python snippet")
    }
    parameters = json.loads(files["Parameters (JSON)"].read_text())
    assert parameters["questions"][0]["levels"][0]["epsilon"] == 1.25
    verified = command("verify", files["Parameters (JSON)"])
    assert "Every pair keeps its promised budget" in verified
    assert "health survey" in command("plan", files["Survey (TOML)"])
    assert "severe" in files["Report (HTML)"].read_text()
    assert "epsilon = 1.25" in files["Python snippet"].read_text()
    assert visit.complaints == []


def test_from_a_target_error_to_budgets_in_the_table(visit):
    visit.page.get_by_text("Start from the accuracy that you need").click()
    visit.settle()
    field = visit.page.get_by_role("textbox", name="this share of all people")
    field.fill("0.8 %")
    field.press("Enter")
    visit.settle()
    visit.page.get_by_role("button", name="Put these budgets into the table").click()
    visit.settle()
    assert visit.metric("Total error") == "800 people"
    assert float(visit.cell(2, 0)) < 1.3


def test_two_people_at_once_never_see_each_others_survey(visit, browser, address):
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    other = Visit(context.new_page(), address)
    other.watch()
    other.open("?example=health")
    visit.type_cell(1, 0, "mine alone")
    other.type_cell(2, 1, "3.5")
    assert "mine alone" not in other.page.content()
    assert [other.cell(1, 0), other.cell(2, 1)] == ["severe", "3.5"]
    assert [visit.cell(1, 0), visit.cell(2, 1)] == ["mine alone", "ln 6"]
    context.close()


def test_the_keyboard_alone_is_enough(visit):
    page = visit.page
    page.get_by_test_id("stSidebarNavLink").first.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="What a report says", level=1).wait_for()
    visit.settle()
    page.get_by_test_id("stSidebarNavLink").first.focus()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Budgets", exact=True, level=1).wait_for()
    visit.settle()
    page.get_by_label("Make as small as possible").focus()
    for _ in range(20):  # on to the table, wherever help buttons lie in between
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.tagName") == "CANVAS":
            break
    for key in ("ArrowDown", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    page.locator("#portal input, #portal textarea").first.wait_for()
    page.keyboard.press("Control+a")
    page.keyboard.type("2.25")
    page.wait_for_timeout(150)
    page.keyboard.press("Enter")
    visit.settle()
    texts = page.get_by_test_id("stDataFrame").first.locator("[data-testid^=glide-cell]")
    assert "2.25" in texts.all_inner_texts()


def test_every_page_fits_both_widths_and_asks_no_other_host(visit, shots):
    for title in PAGES:
        visit.go(title)
        if title == "Budgets":
            for label in ("Draw the levels", "If all budgets were larger or smaller"):
                visit.page.get_by_text(label).click()
                visit.settle()
        if title == "Try it on data":
            visit.page.get_by_role("button", name="Run the simulation").click()
            visit.settle()
        if title == "Survey":
            visit.page.get_by_role("button", name="Add a choice").click()
            visit.settle()
        for theme, width in (("light", 1280), ("light", 900), ("dark", 1280)):
            visit.page.emulate_media(color_scheme=theme)
            visit.page.set_viewport_size({"width": width, "height": 900})
            visit.page.wait_for_timeout(250)
            if shots:
                name = title.lower().replace(" ", "-")
                shoot(visit, width, shots / f"{name}-{width}-{theme}.png")
            wide = visit.page.evaluate(
                "(() => { const m = document.querySelector('[data-testid=stMain]');"
                " return m.scrollWidth - m.clientWidth; })()"
            )
            assert wide <= 0, f"{title} is {wide} pixels too wide at {width}"
        visit.page.emulate_media(color_scheme="light")
        visit.page.set_viewport_size({"width": 1280, "height": 900})
    assert visit.outside == []
    assert visit.complaints == []


def shoot(visit, width, path):
    """A picture of the whole page, which scrolls inside the window."""
    page = visit.page
    height = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
    page.set_viewport_size({"width": width, "height": min(int(height) + 20, 8000)})
    page.wait_for_timeout(400)
    page.screenshot(path=path)


def upload(visit, name, text):
    page = visit.page
    if not page.get_by_test_id("stFileUploader").is_visible():
        page.get_by_text("Open a survey, a list of items, or an example").click()
    field = page.locator("input[type=file]")
    field.set_input_files([{"name": name, "mimeType": "text/plain", "buffer": text.encode()}])
    page.wait_for_timeout(500)
    visit.settle()


def download(visit, label, folder):
    with visit.page.expect_download() as started:
        visit.page.get_by_role("button", name=label).click()
    path = folder / started.value.suggested_filename
    started.value.save_as(path)
    return path


def command(*words):
    made = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", "from planner.cli import main; main()", *map(str, words)],
        capture_output=True,
        text=True,
        check=True,
    )
    return made.stdout
