"""What somebody hears who does not see the app: names, descriptions, and what is told unasked."""

from __future__ import annotations

from tests.browser.conftest import CLINIC, MOST_PATIENCE

# Roles that are worth nothing without a name.
NAMED = {
    *("button", "link", "textbox", "combobox", "checkbox", "radio", "slider"),
    *("heading", "DisclosureTriangle"),
}


# Another sentence may follow at once: all that was told counts.
LISTEN = """() => {
  const spoken = document.querySelector(".spoken[role=status]");
  window.told = [];
  new MutationObserver(() => window.told.push(spoken.textContent))
    .observe(spoken, { childList: true, characterData: true, subtree: true });
}"""


def listen(page):
    page.locator(".spoken[role=status]").wait_for(state="attached")
    page.evaluate(LISTEN)


def told(page, text):
    """Wait until this was told, and forget what was."""
    heard_it = "text => window.told.some(told => told.includes(text))"
    page.wait_for_function(heard_it, arg=text, timeout=MOST_PATIENCE)
    page.evaluate("window.told = []")


def heard(page):
    """The page as Chromium hands it to a screen reader: role and name, in reading order."""
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    session.detach()
    spoken = []
    for node in nodes:
        role = node.get("role", {}).get("value", "")
        if not node.get("ignored") and role in NAMED:
            spoken.append((role, node.get("name", {}).get("value", "").strip()))
    return spoken


def description(box):
    return box.evaluate(
        "field => document.getElementById(field.getAttribute('aria-describedby'))?.innerText"
    )


def test_the_way_through_the_clinic_can_be_heard(visit):
    page = visit.page
    listen(page)
    visit.act(page.get_by_role("button", name="New survey"))
    visit.settle()
    assert ("textbox", "Budget, row 2") in heard(page)
    assert "guessed right" in description(visit.box(0, "epsilon"))
    # Of fewer people than the example has: its figures, which stood there before, are others.
    visit.type_survey("clinic", "40,000", "treatment", CLINIC)
    told(page, "total error: 978 people")
    assert ("button", "Remove private") in heard(page)
    visit.type_cell(0, "epsilon", "1,5")
    told(page, "Budget is '1,5'")
    box = visit.box(0, "epsilon")
    assert box.get_attribute("aria-invalid") == "true"
    assert description(box).startswith("Budget is '1,5'")
    assert page.locator("[aria-invalid=true]").count() == 1
    visit.type_cell(0, "epsilon", "1")
    told(page, "total error: 978 people")
    assert page.locator("[aria-invalid=true]").count() == 0
    visit.act(page.get_by_role("link", name="Export", exact=True))
    visit.arrive("Export")
    told(page, "Export")
    assert page.title() == "Export - LDP budget planner"
    visit.act(page.get_by_role("checkbox"), " ")
    visit.settle()
    here = heard(page)
    assert ("button", "Parameters (clinic-parameters.json)") in here
    assert [node for node in here if not node[1]] == []
    assert visit.complaints == []


def test_what_a_slider_changes_is_told(visit):
    page = visit.page
    listen(page)
    visit.go("Explore")
    told(page, "Explore")  # and what is on it was there before
    page.get_by_role("slider").first.press("ArrowRight")
    told(page, "Total error from 622 to")
