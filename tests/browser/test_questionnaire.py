"""The page that people answer, in Chromium: what is asked, said, kept and sent."""

import json
import math
import shutil
import subprocess
from base64 import b64decode, b64encode
from contextlib import closing
from functools import cache

import pytest
from playwright.sync_api import expect

from planner import plan_survey
from planner.deployment import client
from planner.deployment.building import survey_parameters
from planner.deployment.questionnaire import questionnaire
from planner.survey.file import survey_from_text
from tests.browser.served import serving
from tests.cli.running import shown

EVERY_KIND = """
[survey]
name = "with every kind"
users = 1000
title = "A <b>title</b>"
intro = "One.\\n\\nTwo <script>alert(1)</script>."
thanks = "Thanks <img src=x onerror=alert(1)>"

[[question]]
name = "colour"
ask = "Which colour, <i>please</i>?"
label = { a12 = "Été <img src=x onerror=alert(1)>" }
[[question.level]]
name = "one"
epsilon = 2.0
items = [ITEMS]

[[question]]
name = "teas"
kind = "item-set"
padding_length = 2
level = [{ name = "all", epsilon = 2.0, items = ["green", "black", "mint"] }]

[[question]]
name = "pain"
kind = "ordinal"
order = ["none", "some", "much"]
level = [{ name = "all", epsilon = 2.0, items = ["much", "none", "some"] }]

[[question]]
name = "days"
kind = "numeric"
lower = -10
upper = 10
epsilon = 2.0

[[question]]
name = "insured"
kind = "numeric"
yes_no = true
lower = 0
upper = 1
epsilon = 2.0
""".replace("ITEMS", ", ".join(f'"a{k}"' for k in range(20)))
ONE = """
[survey]
name = "one"
users = 1000
[[question]]
name = "colour"
level = [{ name = "all", epsilon = 1.0, items = ["red", "green"] }]
"""
ROUNDS = ONE.replace("[[question]]", "[[question]]\nrounds = { count = 3MORE }")
TWICE = """
[survey]
name = "twice"
users = 10_000
[[question]]
name = "age"
kind = "sampled-choice"
level = [{ name = "all", epsilon = 2.0, items = ["young", "old"], yes_counts = [90, 90] }]
[question.sampling]
relies_on = "aggregates-only"
acknowledged = "A trusted aggregator releases the estimates alone."
"""
KEPT = """() => new Promise((resolve) => {
  indexedDB.open("ldp-planner").onsuccess = ({ target }) => {
    const kept = target.result.transaction("kept").objectStore("kept").count();
    kept.onsuccess = () => resolve(kept.result);
  };
})"""
RANDOMISE = "Randomise my answers"


@cache
def parameters_of(text):
    return survey_parameters(plan_survey(survey_from_text(text))).to_json().encode()


def made(text, send_to="/reports", number=None):
    return questionnaire(survey_from_text(text), parameters_of(text), send_to, number)


@pytest.fixture
def host():
    with serving() as found:
        yield found


@pytest.fixture
def person(browser):
    """A browser of one person, who has answered nothing; pages that complain fail."""
    complaints = []
    with closing(browser.new_context()) as context:
        context.set_default_timeout(20_000)
        context.on(
            "console", lambda said: complaints.append(said.text) if said.type == "error" else 0
        )
        context.on("weberror", lambda error: complaints.append(str(error.error)))
        context.complaints = complaints
        yield context


def opened(person, address):
    page = person.new_page()
    page.goto(address)
    return page


def heading(page, text):
    expect(page.get_by_role("heading", name=text, exact=True)).to_be_visible()


def answer_everything(page):
    page.get_by_label("Search the answers").fill("ete")
    page.get_by_role("radio").first.press("Space")
    expect(page.get_by_text("1 of 20")).to_be_visible()
    page.get_by_label("Été").check()
    page.get_by_role("checkbox", name="None of these").check()
    page.get_by_role("checkbox", name="mint").check()
    page.get_by_role("checkbox", name="green").check()
    page.get_by_role("radio", name="much").check()
    page.get_by_label("Your number").fill("-2,5")
    page.get_by_role("group", name="insured").get_by_label("I would rather not say").check()
    page.get_by_role("button", name=RANDOMISE).click()


def test_every_kind_is_asked_and_the_collector_counts_what_is_sent(person, host, tmp_path):
    budget = json.loads(parameters_of(EVERY_KIND))["questions"][0]["levels"][0]["epsilon"]
    asked, factor = [], f"{math.ceil(math.exp(budget) * 100) / 100}-fold"
    person.on("request", lambda request: asked.append(request.url))
    page = opened(person, host.page(made(EVERY_KIND)))
    page.get_by_role("button", name=RANDOMISE).click()
    assert page.get_by_text("Choose an answer, or say").count() == 4
    expect(page.get_by_label("Search the answers")).to_be_focused()
    answer_everything(page)
    heading(page, "What will be sent")
    for text in ("<i>please</i>", "“Été <img", "Of 100 people with your answer", factor):
        assert text in page.locator("main").inner_text()
    page.get_by_role("button", name="Send").click()
    heading(page, "Thank you")
    assert "Thanks <img" in page.locator("main").inner_text()
    assert len(host.lines) == 5
    page.reload()
    heading(page, "Thank you")
    ids = {json.loads(line)["id"] for line in host.lines}
    assert set(page.locator("li code").all_inner_texts()) == ids
    files = tmp_path / "params.json", tmp_path / "reports.jsonl"
    files[0].write_bytes(parameters_of(EVERY_KIND))
    files[1].write_text("".join(f"{line}\n" for line in host.lines))
    assert "5 reports in 1 file counted" in shown("aggregate", *files)
    assert set(asked) == {f"{host.address}/page.html", f"{host.address}/reports"}
    assert person.complaints == []


def test_a_report_is_sent_again_unchanged_and_two_tabs_send_one(person, host):
    address = host.page(made(ONE))
    first, second = opened(person, address), opened(person, address)
    for page, answer in ((first, "red"), (second, "green")):
        page.get_by_role("radio", name=answer).check()
    host.answers = [(500, "full"), (200, "<html>Please log in</html>")]
    first.get_by_role("button", name=RANDOMISE).click()
    first.get_by_role("button", name="Send").click()
    expect(first.get_by_text("did not arrive (500 full)")).to_be_visible()
    first.reload()
    first.get_by_role("button", name="Send").click()
    expect(first.get_by_text("not a receiver's")).to_be_visible()
    second.get_by_role("button", name=RANDOMISE).click()
    expect(second.get_by_text("This device has made its report before")).to_be_visible()
    first.get_by_role("button", name="Try again").click()
    second.get_by_role("button", name="Send").click()
    for page in (first, second):
        heading(page, "Thank you")
    assert len(host.lines) == 3
    assert len(set(host.lines)) == 1


def test_what_cannot_be_trusted_or_kept_asks_and_sends_nothing(person, host):
    page, html = person.new_page(), made(ONE)
    for changed in (parameters_of(ONE).replace(b"1.0", b"2.0"), b"{"):
        own = b64encode(parameters_of(ONE)).decode()
        page.goto(host.page(html.replace(own, b64encode(changed).decode()), "/changed.html"))
        expect(page.get_by_text("cannot be trusted")).to_be_visible()
    page.route(
        "http://survey.test/**", lambda route: route.fulfill(body=html, content_type="text/html")
    )
    page.goto("http://survey.test/page.html")
    expect(page.get_by_text("plain HTTP")).to_be_visible()
    refusing = person.new_page()
    refusing.add_init_script("indexedDB.open = () => { throw new Error('private') }")
    refusing.goto(host.page(html))
    expect(refusing.get_by_text("keeps nothing for this page")).to_be_visible()
    full = person.new_page()
    full.goto(host.page(html))
    full.get_by_role("radio", name="red").check()
    full.evaluate("() => { IDBObjectStore.prototype.put = () => { throw new Error('full') } }")
    full.get_by_role("button", name=RANDOMISE).click()
    expect(full.get_by_text("could not be kept on this device")).to_be_visible()
    for one in (page, refusing, full):
        assert one.get_by_role("radio").count() == 0
    assert host.lines == []


def test_rounds_are_the_persons_own_or_silent(person, host):
    sent = []
    for number in (1, 2, 3):
        page = opened(person, host.page(made(ROUNDS.replace("MORE", ""), number=number)))
        page.locator("h2, form").first.wait_for()
        if page.get_by_role("radio").count():
            page.get_by_role("radio", name="red").check()
            page.get_by_role("button", name=RANDOMISE).click()
            page.get_by_role("button", name="Send").click()
            sent.append(number)
        heading(page, "Thank you")
    assert [json.loads(line)["round"] for line in host.lines] == sent
    assert len(sent) == 1
    open_times = ROUNDS.replace("MORE", ", changes = 1, times_open = true")
    for number, change in ((1, None), (2, "No"), (3, "Yes")):
        page = opened(person, host.page(made(open_times, number=number)))
        page.get_by_role("radio", name="red").check()
        if change:
            page.get_by_role("radio", name=change, exact=True).check()
        page.get_by_role("button", name=RANDOMISE).click()
        page.get_by_role("button", name="Send").click()
        heading(page, "Thank you")
    tells = [b64decode(json.loads(line)["report"])[0] for line in host.lines[1:]]
    assert tells in ([1, 1, 0], [0, 0, 1])


def test_what_waits_of_round_one_never_comes_with_round_two(person, host):
    for number in (1, 2):
        page = opened(person, host.page(made(TWICE, number=number)))
        page.get_by_role("radio", name="old").check()
        page.get_by_role("button", name=RANDOMISE).click()
        expect(page.get_by_text("both rounds may learn your answer")).to_be_visible()
    page.get_by_role("button", name="Send").click()
    heading(page, "Thank you")
    page = opened(person, host.page(made(TWICE, number=1)))
    expect(page.get_by_text("Not asked of you in this round: age")).to_be_visible()
    assert page.evaluate(KEPT) == 3  # the person, round two's report, and its line
    assert [json.loads(line)["round"] for line in host.lines] == [2]


def test_it_is_accessible_from_the_first_word_to_the_last(person, host):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = opened(person, host.page(made(EVERY_KIND)))

    def check():
        for width in (1280, 640, 360):  # 640: what 1280 pixels show at 200 %
            page.set_viewport_size({"width": width, "height": 800})
            wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            assert page.evaluate(wide) == 0, width
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            found = axe.run(page)
            assert found.violations_count == 0, found.generate_report()

    page.get_by_role("button", name=RANDOMISE).click()
    check()
    answer_everything(page)
    heading(page, "What will be sent")
    page.locator("summary").first.click()
    check()
    page.get_by_role("button", name="Send").click()
    heading(page, "Thank you")
    check()


def test_the_keyboard_alone_answers_it(person, host):
    page = opened(person, host.page(made(ONE)))
    page.locator("form").wait_for()
    for key in ("Tab", "ArrowDown", "Tab", "Enter"):
        page.keyboard.press(key)
    heading(page, "What will be sent")
    for key in ("Tab", "Tab", "Enter"):
        page.keyboard.press(key)
    heading(page, "Thank you")
    assert len(host.lines) == 1


def test_the_packed_client_runs_in_node_and_in_chromium(person, host, tmp_path):
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")

    def run(*words):
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)  # noqa: S603
        return done.stdout

    home = f"{client.__path__[0]}/js"
    packed = run("npm", "pack", "--silent", "--offline", home).strip()
    run("npm", "install", "--silent", "--offline", "--no-audit", "--no-fund", packed)
    (tmp_path / "params.json").write_bytes(parameters_of(ONE))
    script = """
import { Client } from "ldp-planner-client";
const data = new Uint8Array(await (await import("node:fs/promises")).readFile("params.json"));
console.log(await (await Client.open(data)).report("colour", "red"));
"""
    (tmp_path / "own.mjs").write_text(script)
    for told in (run("node", "own.mjs"), run("npx", "ldp-client", "params.json", "colour", "red")):
        assert json.loads(told)["question"] == "colour"
    for path in (tmp_path / "node_modules" / "ldp-planner-client").iterdir():
        kind = "application/json" if path.suffix == ".json" else "text/javascript"
        host.files[f"/client/{path.name}"] = (kind, path.read_bytes())
    host.files["/params.json"] = ("application/json", (tmp_path / "params.json").read_bytes())
    page = opened(person, host.page("<title>own</title>"))
    line = page.evaluate("""async () => {
      const { Client } = await import("/client/client.mjs");
      const data = await (await fetch("/params.json")).arrayBuffer();
      return (await Client.open(new Uint8Array(data))).report("colour", "red");
    }""")
    assert json.loads(line)["question"] == "colour"
