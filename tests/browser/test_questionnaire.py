"""The page that people answer, in Chromium: what is asked, said, kept and sent to a host."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from base64 import b64decode, b64encode
from contextlib import closing

import pytest
from playwright.sync_api import expect

from planner import (
    Categorical,
    ItemSet,
    Joint,
    Numeric,
    Ordinal,
    Survey,
)
from planner.deployment import client
from planner.deployment.questionnaire import questionnaire
from planner.laws.die import ACKNOWLEDGEMENTS
from planner.survey.asked_again import AskedAgain
from planner.survey.assumed import AssumedSets
from planner.survey.choices import SampledChoice, Sampling
from tests.browser.answering import (
    RANDOMISE,
    all_of,
    heading,
    opened,
    parameters_of,
    press,
    serving,
)
from tests.cli.running import shown
from tests.deployment.sending import receiving
from tests.refusals import refused

HOSTILE = "<img src=x onerror=alert(1)>"


EVERY_KIND = Survey(
    *("every kind", 1000),
    (
        Categorical(
            *("colour", all_of(*(f"a{k}" for k in range(20)))),
            **{"ask": f"Which {HOSTILE}?", "label": {"a12": f"Été {HOSTILE}"}},
        ),
        ItemSet("teas", all_of("green", "black", "mint"), padding_length=2),
        Ordinal("pain", all_of("much", "none", "some"), order=("none", "some", "much")),
        Numeric("days", -10, 10, epsilon=2.0),
        Numeric("insured", 0, 1, yes_no=True, epsilon=2.0),
    ),
    **{
        "title": "A <b>title</b>",
        "intro": f"One.\n\n{HOSTILE}",
        "thanks": f"Thanks {HOSTILE}",
    },
)
ONE = Survey("one", 1000, (Categorical("colour", all_of("red", "green")),))
SMOKES = Categorical(
    "smokes", all_of("yes", "no"), ask="Do you smoke?", label={"no": "Never"}
)
JOINT = ONE.replacing(
    questions=(*ONE.questions, SMOKES, Joint("both", ("colour", "smokes")))
)
ANCHORED = ONE.replacing(
    questions=(
        *ONE.questions,
        SMOKES,
        Categorical("check", anchor="smokes", known="no", ask="Do you smoke asleep?"),
    )
)
PAIN = Ordinal("pain", all_of("much", "none", "some"), order=("none", "some", "much"))
SCALES = ONE.replacing(
    questions=(*ONE.questions, PAIN, Joint("both", ("colour", "pain")))
)
ROUNDS = ONE.replacing(questions=(ONE.questions[0].replacing(rounds=AskedAgain(3)),))
AGAIN = AskedAgain(3, 1, times_open=True)
OPEN = ONE.replacing(questions=(ONE.questions[0].replacing(rounds=AGAIN),))
VOUCHED = Sampling("aggregates-only", ACKNOWLEDGEMENTS["aggregates-only"])
TWICE = Survey(
    *("twice", 10_000),
    (
        SampledChoice(
            "age", all_of("young", "old", yes_counts=(90, 90)), sampling=VOUCHED
        ),
    ),
)
KEPT = """() => new Promise((resolve) => {
  indexedDB.open("ldp-planner").onsuccess = ({ target }) => {
    const kept = target.result.transaction("kept").objectStore("kept").count();
    kept.onsuccess = () => resolve(kept.result);
  };
})"""


def made(survey, number=None):
    return questionnaire(survey, parameters_of(survey), "/reports", number)


@pytest.fixture
def host():
    with serving() as host:
        yield host


@pytest.fixture
def person(browser):
    """A browser of one person, who has answered nothing; pages that complain fail."""
    complaints = []
    with closing(browser.new_context()) as context:
        context.set_default_timeout(20_000)
        context.on(
            "console",
            lambda said: complaints.append(said.text) if said.type == "error" else 0,
        )
        context.on("weberror", lambda error: complaints.append(str(error.error)))
        context.complaints = complaints
        yield context


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
    page.get_by_role("group", name="insured").get_by_label(
        "I would rather not say"
    ).check()
    press(page, RANDOMISE)


def test_every_kind_is_asked_and_the_collector_counts_what_is_sent(
    person, host, tmp_path
):
    budget = json.loads(parameters_of(EVERY_KIND))["questions"][0]["levels"][0][
        "epsilon"
    ]
    asked = []
    factor = f"{math.ceil(math.exp(budget) * 100) / 100}-fold"
    person.on("request", lambda request: asked.append(request.url))
    page = opened(person, host.page(made(EVERY_KIND)))
    press(page, RANDOMISE)
    assert page.get_by_text("Choose an answer, or say").count() == 4
    expect(page.get_by_label("Search the answers")).to_be_focused()
    answer_everything(page)
    heading(page, "What will be sent")
    for text in ("Which <img", "“Été <img", "Of 100 people with your answer", factor):
        assert text in page.locator("main").inner_text()
    press(page, "Send")
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


def test_no_more_are_ticked_than_the_sizes_of_sets_allow(person, host):
    sizes = AssumedSets((0.1, 0.5, 0.3, 0.1))
    teas = all_of("green", "black", "mint", "white", "red")
    question = ItemSet("teas", teas, padding_length=1, sets=sizes)
    survey = Survey("sets", 1000, (question,))
    page = opened(person, host.page(made(survey)))
    expect(page.get_by_text("Choose all that apply. At most 3.")).to_be_visible()
    for name in ("green", "black", "mint", "white"):
        page.get_by_role("checkbox", name=name).check()
    press(page, RANDOMISE)
    assert page.get_by_text("At most 3. If more apply").count() == 2
    page.get_by_role("checkbox", name="black").uncheck()
    press(page, RANDOMISE, "Send")
    heading(page, "Thank you")
    assert len(host.lines) == 1


def test_a_number_of_a_distribution_is_typed_and_a_report_is_sent(person, host):
    age = Numeric("age", 0, 80, epsilon=8.0, of="distribution", cells=8)
    survey = Survey("ages", 1000, (age,))
    page = opened(person, host.page(made(survey)))
    expect(page.get_by_text("from 0 to 80")).to_be_visible()
    field = page.get_by_role("textbox")
    field.fill("81")
    press(page, RANDOMISE)
    expect(page.get_by_text("Enter a number")).to_be_visible()
    field.fill("37,5")
    press(page, RANDOMISE, "Send")
    heading(page, "Thank you")
    assert [json.loads(line)["question"] for line in host.lines] == ["age"]
    assert person.complaints == []


def test_each_person_is_asked_one_question_and_no_other(person, host):
    question = Categorical("pet", all_of("cat", "dog"))
    both = (*ONE.questions, question)
    page = opened(
        person, host.page(made(ONE.replacing(questions=both, design="one-each")))
    )
    expect(page.get_by_text("You are asked 1 of 2 questions")).to_be_visible()
    asked = page.locator("legend").all_inner_texts()
    assert len(asked) == 1
    page.reload()
    page.locator("form").wait_for()
    assert page.locator("legend").all_inner_texts() == asked
    page.get_by_role("radio").first.check()
    press(page, RANDOMISE, "Send")
    heading(page, "Thank you")
    assert [json.loads(line)["question"] for line in host.lines] == asked
    page.reload()
    heading(page, "Thank you")
    assert page.locator("li code").count() == 1
    assert person.complaints == []


def test_a_joint_question_is_asked_as_its_parts_and_sends_one_report(person, host):
    page = opened(person, host.page(made(JOINT)))
    page.get_by_role("group", name="colour").last.get_by_label("green").check()
    press(page, RANDOMISE)
    expect(page.get_by_text("Choose an answer, or say").last).to_be_visible()
    page.get_by_role("group", name="Do you smoke?").get_by_label("Never").check()
    press(page, RANDOMISE)
    heading(page, "What will be sent")
    assert "“green / Never”" in page.locator("main").inner_text()
    press(page, "Send")
    heading(page, "Thank you")
    assert [json.loads(line)["question"] for line in host.lines] == ["both"]


def test_an_anchor_is_asked_by_itself_and_goes_into_the_report_of_its_question(
    person, host, tmp_path
):
    page = opened(person, host.page(made(ANCHORED)))
    page.locator("form").wait_for()
    asked = page.locator("legend").all_inner_texts()
    assert sorted(asked) == ["Do you smoke asleep?", "Do you smoke?", "colour"]
    page.get_by_role("group", name="colour").get_by_label("green").check()
    page.get_by_role("group", name="Do you smoke?").get_by_label("yes").check()
    press(page, RANDOMISE)
    expect(page.get_by_text("Choose an answer, or say").last).to_be_visible()
    page.get_by_role("group", name="Do you smoke asleep?").get_by_label("Never").check()
    press(page, RANDOMISE)
    heading(page, "What will be sent")
    for text in ("Do you smoke?", "Do you smoke asleep?"):
        heading(page, text)
    assert page.locator("section").count() == 2
    press(page, "Send")
    heading(page, "Thank you")
    assert sorted(json.loads(line)["question"] for line in host.lines) == [
        "colour",
        "smokes",
    ]
    page.reload()
    expect(page.get_by_text("Do you smoke?; Do you smoke asleep?")).to_be_visible()
    files = tmp_path / "params.json", tmp_path / "reports.jsonl"
    files[0].write_bytes(parameters_of(ANCHORED))
    files[1].write_text("".join(f"{line}\n" for line in host.lines))
    assert "attentive people" in shown("aggregate", *files)
    assert person.complaints == []


def test_who_leaves_out_an_anchor_leaves_out_its_question(person, host):
    page = opened(person, host.page(made(ANCHORED)))
    page.get_by_role("group", name="colour").get_by_label("green").check()
    page.get_by_role("group", name="Do you smoke?").get_by_label("yes").check()
    skipped = page.get_by_role("group", name="Do you smoke asleep?")
    skipped.get_by_label("I would rather not say").check()
    press(page, RANDOMISE)
    expect(
        page.get_by_text("Left out: Do you smoke?; Do you smoke asleep?")
    ).to_be_visible()
    press(page, "Send")
    heading(page, "Thank you")
    assert [json.loads(line)["question"] for line in host.lines] == ["colour"]
    assert person.complaints == []


def test_a_scale_of_a_joint_question_is_asked_in_its_order(person, host):
    page = opened(person, host.page(made(SCALES)))
    page.locator("form").wait_for()
    asked = page.get_by_role("group", name="pain").last
    labels = []
    for text in asked.get_by_role("radio").locator("..").all_inner_texts():
        labels.append(text.strip())
    assert labels[:3] == ["none", "some", "much"]
    asked.get_by_label("some").check()
    page.get_by_role("group", name="colour").last.get_by_label("red").check()
    press(page, RANDOMISE)
    heading(page, "What will be sent")
    assert "“red / some”" in page.locator("main").inner_text()
    press(page, "Send")
    heading(page, "Thank you")
    assert [json.loads(line)["question"] for line in host.lines] == ["both"]


def test_from_a_page_of_the_receiver_into_its_files(person, tmp_path):
    """Both of this machine: what a person sees, keeps, and what aggregate finds."""
    params = tmp_path / "params.json"
    page = tmp_path / "page.html"
    params.write_bytes(parameters_of(ONE))
    page.write_text(made(ONE))
    with receiving(params, tmp_path / "in", "--page", str(page)) as (process, port):
        address = f"http://127.0.0.1:{port}/"
        headers = person.request.get(address).headers
        assert headers["cache-control"] == "no-store"  # and in no memory to go back to
        shown_page = opened(person, address)
        shown_page.get_by_role("radio", name="red").check()
        press(shown_page, RANDOMISE, "Send")
        heading(shown_page, "Thank you")
        receipt = shown_page.locator("li code").inner_text()
        process.terminate()
        assert process.wait(10) == 0
    (path,) = (tmp_path / "in").glob("*.jsonl")
    document = json.loads(path.read_text())
    assert document["id"] == receipt
    printed = shown("aggregate", params, tmp_path / "in")
    assert "1 reports in 1 file counted" in printed
    page.write_text(made(ROUNDS))
    with refused("page"):
        shown("receive", params, "--into", tmp_path / "in", "--page", page)


def test_a_report_is_sent_again_unchanged_and_two_tabs_send_one(person, host):
    address = host.page(made(ONE))
    first = opened(person, address)
    second = opened(person, address)
    for page, answer in ((first, "red"), (second, "green")):
        page.get_by_role("radio", name=answer).check()
    host.answers = [(500, "full"), (200, "<html>Please log in</html>")]
    press(first, RANDOMISE, "Send")
    expect(first.get_by_text("did not arrive (500 full)")).to_be_visible()
    first.reload()
    press(first, "Send")
    expect(first.get_by_text("not a receiver's")).to_be_visible()
    press(second, RANDOMISE)
    expect(second.get_by_text("This device has made its report before")).to_be_visible()
    press(first, "Try again")
    press(second, "Send")
    for page in (first, second):
        heading(page, "Thank you")
    assert len(host.lines) == 3
    assert len(set(host.lines)) == 1


def test_what_cannot_be_trusted_or_kept_asks_and_sends_nothing(person, host):
    page = person.new_page()
    html = made(ONE)
    for changed in (parameters_of(ONE).replace(b"2.0", b"3.0"), b"{"):
        parameters = b64encode(parameters_of(ONE)).decode()
        page.goto(
            host.page(
                html.replace(parameters, b64encode(changed).decode()), "/changed.html"
            )
        )
        expect(page.get_by_text("cannot be trusted")).to_be_visible()
    page.route(
        "http://survey.test/**",
        lambda route: route.fulfill(body=html, content_type="text/html"),
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
    full.evaluate(
        "() => { IDBObjectStore.prototype.put = () => { throw new Error('full') } }"
    )
    press(full, RANDOMISE)
    expect(full.get_by_text("could not be kept on this device")).to_be_visible()
    for tab in (page, refusing, full):
        assert tab.get_by_role("radio").count() == 0
    assert host.lines == []


def test_rounds_are_the_persons_own_or_silent(person, host):
    sent = []
    for number in (1, 2, 3):
        page = opened(person, host.page(made(ROUNDS, number)))
        page.locator("h2, form").first.wait_for()
        if page.get_by_role("radio").count():
            page.get_by_role("radio", name="red").check()
            press(page, RANDOMISE, "Send")
            sent.append(number)
        heading(page, "Thank you")
    assert [json.loads(line)["round"] for line in host.lines] == sent
    assert len(sent) == 1
    for number, change in (
        (1, None),
        (2, "No"),
        (3, "Yes"),
    ):
        page = opened(person, host.page(made(OPEN, number)))
        page.get_by_role("radio", name="red").check()
        if change:
            page.get_by_role("radio", name=change, exact=True).check()
        press(page, RANDOMISE, "Send")
        heading(page, "Thank you")
    tells = [b64decode(json.loads(line)["report"])[0] for line in host.lines[1:]]
    assert tells in ([1, 1, 0], [0, 0, 1])


def test_what_waits_of_round_one_never_comes_with_round_two(person, host):
    for number in (1, 2):
        page = opened(person, host.page(made(TWICE, number)))
        page.get_by_role("radio", name="old").check()
        press(page, RANDOMISE)
        expect(page.get_by_text("both rounds may learn your answer")).to_be_visible()
    press(page, "Send")
    heading(page, "Thank you")
    page = opened(person, host.page(made(TWICE, 1)))
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
            result = axe.run(page)
            assert result.violations_count == 0, result.generate_report()

    press(page, RANDOMISE)
    check()
    answer_everything(page)
    heading(page, "What will be sent")
    page.locator("summary").first.click()
    check()
    press(page, "Send")
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
        done = subprocess.run(  # noqa: S603
            words, cwd=tmp_path, capture_output=True, text=True, check=True
        )
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
    for printed in (
        run("node", "own.mjs"),
        run("npx", "ldp-client", "params.json", "colour", "red"),
    ):
        assert json.loads(printed)["question"] == "colour"
    for path in (tmp_path / "node_modules" / "ldp-planner-client").iterdir():
        if path.suffix == ".json":
            kind = "application/json"
        else:
            kind = "text/javascript"
        host.files[f"/client/{path.name}"] = (kind, path.read_bytes())
    host.files["/params.json"] = (
        "application/json",
        (tmp_path / "params.json").read_bytes(),
    )
    page = opened(person, host.page("<title>own</title>"))
    line = page.evaluate("""async () => {
      const { Client } = await import("/client/client.mjs");
      const data = await (await fetch("/params.json")).arrayBuffer();
      return (await Client.open(new Uint8Array(data))).report("colour", "red");
    }""")
    assert json.loads(line)["question"] == "colour"
