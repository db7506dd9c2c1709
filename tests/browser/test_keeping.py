"""Work is never lost: reloads, taps, and uploads that follow each other."""

import pytest

from tests.browser.conftest import Visit

COUNTS = "item,count\nHIV,30\nanemia,50\nheadache,20\nstomachache,2\ntoothache,1\n"


@pytest.mark.plain_address
def test_a_reload_goes_on_with_the_survey(visit):
    assert "survey=" not in visit.page.url  # an example is not worth an address of its own
    visit.type_cell(2, 0, "2.5")
    changed = visit.metric("Total error")
    assert "survey=" in visit.page.url
    visit.go("Words")
    assert "survey=" in visit.page.url
    visit.go("Budgets")
    visit.reload()
    assert [visit.cell(2, 0), visit.metric("Total error")] == ["2.5", changed]
    assert visit.complaints == []
    assert visit.outside == []


def test_a_second_upload_and_the_page_after_it_keep_what_was_typed(visit):
    visit.go("Try it on data")
    visit.page.get_by_text("use a file").click()
    visit.settle()
    upload(visit, "first.csv", COUNTS)
    runs = visit.page.get_by_role("textbox", name="Runs per mechanism")
    assert runs.input_value() == "100"
    runs.fill("7")
    runs.press("Enter")
    visit.settle()
    upload(visit, "second.csv", COUNTS.replace("30", "31"))
    assert runs.input_value() == "7"
    assert visit.page.get_by_role("textbox", name="Seed").input_value() == "1"


def test_a_tap_on_another_page_while_a_field_is_edited_loses_nothing(browser, address):
    context = browser.new_context(viewport={"width": 1280, "height": 900}, has_touch=True)
    visit = Visit(context.new_page(), address)
    visit.watch()
    visit.open("?example=health")
    visit.page.get_by_label("Survey", exact=True).first.fill("half typed")
    for place in (5, 0):
        visit.page.get_by_test_id("stSidebarNavLink").nth(place).tap()
        visit.settle()
    assert visit.page.get_by_label("Survey", exact=True).first.input_value() == "half typed"
    assert (
        visit.page.get_by_role("textbox", name="Number of people asked").input_value() == "100,000"
    )
    assert visit.page.get_by_label("Question", exact=True).first.input_value() == "diagnosis"
    context.close()


def upload(visit, name, text):
    field = visit.page.locator("input[type=file]")
    field.set_input_files([{"name": name, "mimeType": "text/csv", "buffer": text.encode()}])
    visit.page.get_by_text(name).first.wait_for()
    visit.settle()
