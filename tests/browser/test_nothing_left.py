"""What a browser writes to disk while people answer: a whole profile of Chromium's is searched.

Browsers keep what is ticked and typed, to restore it after a crash or on the way back. The page
forbids it. That this search finds what is kept is shown on the same page without the ban.
"""

from __future__ import annotations

import re
import time
from contextlib import closing
from pathlib import Path

import pytest

from planner import Categorical, ItemSet, Joint, Numeric, Ordinal, Survey
from planner.deployment.questionnaire import questionnaire
from planner.survey.asked_again import AskedAgain
from tests.browser.answering import (
    RANDOMISE,
    all_of,
    heading,
    parameters_of,
    press,
    serving,
)
from tests.browser.running import launch_arguments

# Words that stand in nothing that a browser writes by itself; "z" begins each that is chosen.
SURVEY = Survey(
    "left behind",
    1000,
    (
        Categorical("choice", all_of("zorv", "borv", *(f"c{k}" for k in range(12)))),
        ItemSet("set", all_of("zeldo", "beldo", "geldo"), padding_length=2),
        Ordinal(
            "scale",
            all_of("zimmu", "bimmu", "gimmu"),
            order=("zimmu", "bimmu", "gimmu"),
        ),
        Numeric("number", -10, 10, epsilon=2.0),
        Numeric("refused", -10, 10, epsilon=2.0),
        Numeric("yes or no", 0, 1, yes_no=True, epsilon=2.0),
        Categorical("north", all_of("zaffi", "baffi")),
        Categorical("south", all_of("zukki", "bukki")),
        Joint("both", ("north", "south")),
        Categorical(
            "changing",
            all_of("zowwa", "bowwa"),
            rounds=AskedAgain(3, 1, times_open=True),
        ),
    ),
)
CHOSEN = ("zorv", "zeldo", "zimmu", "zaffi", "zukki", "zowwa")
SEARCHED = "zzwanzig"
TYPED = "-2,718281"
# The fields of the unguarded page: choice, set, scale, both "rather not", yes or no, both parts,
# and the last question with whether its answer changed.
NAMES = ("q0", "q1", "q2", "q3", "q4", "q5", "q6-0", "q6-1", "q7", "q7-changed")
FIELDS = {f"near-{name}".encode() for name in NAMES}
BANS = ('autocomplete: "off", spellcheck', 'noValidate: true, autocomplete: "off"')
MOST_SECONDS = 20


def page_of(round_number):
    return questionnaire(SURVEY, parameters_of(SURVEY), "/reports", round_number)


def unguarded(html):
    """The same page that lets a browser keep what is entered, and asks what has changed."""
    changes = [(ban, ban.replace('autocomplete: "off"', 'lang: ""')) for ban in BANS]
    changes += [("form.reset()", "0"), ("name: `q$", "name: `near-q$")]
    changes += [("written, again }", "written, again: question.rounds }")]
    for before, after in changes:
        assert before in html
        html = html.replace(before, after)
    return re.sub("<meta http-equiv[^>]*>", "", html)  # it allows no other script


def answer(page, searched=SEARCHED, typed=TYPED):
    page.get_by_label("Search the answers").fill(searched)
    page.get_by_label("Search the answers").fill(searched[:1])
    for name in CHOSEN:
        page.get_by_label(name, exact=True).check()
    page.get_by_label("Your number").first.fill(typed)
    refused = page.get_by_role("group", name="refused")
    refused.get_by_label("I would rather not say").check()
    page.get_by_role("group", name="yes or no").get_by_label("Yes").check()


def nothing_is_entered(page):
    page.locator("form").wait_for()
    return page.evaluate(
        """() => [...document.querySelectorAll("input")].every(
             (field) => field.checked ? false : !/[0-9z]/.test(field.value))"""
    )


def written(folder):
    """All that the browser has written, UTF-16 read as UTF-8."""
    files = filter(Path.is_file, folder.rglob("*"))
    content = b"\n\n".join(path.read_bytes() for path in files)
    return content.replace(b"\0", b"")


def fields_in(content):
    """The page's fields whose states stand there, as Chromium's session files write them."""
    pattern = rb"((?:near-)?q\d(?:-\w+)?)[^\w-]{1,20}(?:radio|checkbox)[^\w-]{1,20}1[^\w]{1,20}o"
    return set(re.findall(pattern, content))


@pytest.mark.usefixtures("browser_type_launch_args")  # skips where there is no browser
def test_no_answer_is_on_disk_whether_it_is_sent_left_or_gone_back_to(
    playwright, tmp_path
):
    chromium = playwright.chromium.launch_persistent_context
    with (
        serving() as host,
        serving() as other,
        closing(chromium(tmp_path, **launch_arguments())) as person,
    ):
        page = person.new_page()
        page.goto(host.page(page_of(1), "/one.html"))
        answer(page)
        page.goto("about:blank")  # left without submitting
        page.go_back()
        assert nothing_is_entered(page)
        answer(page)
        page.reload()
        assert nothing_is_entered(page)
        answer(page)
        press(page, RANDOMISE, "Send")
        heading(page, "Thank you")
        page.goto(host.page(page_of(2), "/two.html"))
        page.get_by_role("radio", name="Yes", exact=True).check()
        page.get_by_label("zowwa").check()  # and left open
        near = person.new_page()
        near.goto(other.page(unguarded(page_of(1))))
        answer(near, "zzdreissig", "-3,141592")
        near.get_by_role("group", name="changed").last.get_by_label("Yes").check()
        # Sessions are written some seconds late, those of the first page before.
        patience = time.monotonic() + MOST_SECONDS
        while fields_in(written(tmp_path)) != FIELDS and time.monotonic() < patience:
            time.sleep(0.2)
        assert fields_in(written(tmp_path)) == FIELDS
    content = written(tmp_path)
    assert fields_in(content) == FIELDS  # none of the page as it is made
    assert b"-3,141592" in content
    for typed in (SEARCHED, TYPED):
        assert typed.encode() not in content
    for name in CHOSEN:  # of the page itself, which the browser keeps, as of the others
        counts = {content.count(start + name[1:].encode()) for start in (b"z", b"b")}
        assert len(counts) == 1, name
