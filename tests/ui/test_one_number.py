"""A thing has one number: all pages are read as text, and what they say of the same is compared."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest

from planner.deployment.bulk import perturb_file
from planner.deployment.parameters import survey_parameters
from planner.planning.plan import plan_survey
from planner.survey.survey import settle
from planner.ui.address import word_of
from planner.ui.document import cleaned, example_document
from tests.ui.pages import open_page, session, tables, words

PAGES = ("questions", "plan", "explore", "export", "meaning")
NUMBER = r"([\d,]+(?:\.\d+)?(?:e[+-]?\d+)?)"
# What is said of what, with the name of the thing, if it has one, and its number.
SAID = {
    "odds": re.compile(NUMBER + r"-fold for '(?P<name>[^']+)'"),
    "total error": re.compile(r"[Tt]otal error:? " + NUMBER + " people"),
    "share": re.compile(NUMBER + " % of the people who answer"),
    "seen from": re.compile(r"seen from " + NUMBER + " %"),
    "people needed": re.compile(r"people needed for an error of 1 % " + NUMBER),
}


def text_of(app):
    """All that a page says: sentences, figures with their names, and tables."""
    figures = []
    for metric in app.metric:
        figures.append(f"{metric.label} {metric.value}".replace("\\", ""))
    cells = [
        cell for table in tables(app) for column in table.values() for cell in column
    ]
    text = " ".join([words(app), *figures, *cells])
    # A figure of its own is a share of the people, too.
    return re.sub(
        rf"as a share of (the people who answer) {NUMBER} %", r"\2 % of \1", text
    )


def numbers_on(pages):
    """By thing and name, each number that is said of it, with the pages that say so."""
    numbers = defaultdict(lambda: defaultdict(set))
    for page, text in pages.items():
        for thing, pattern in SAID.items():
            for match in pattern.finditer(text):
                name = match.groupdict().get("name", "")
                numbers[thing, name][match[1]].add(page)
    return numbers


def contradictions(numbers):
    return {thing: dict(said) for thing, said in numbers.items() if len(said) > 1}


def sentences_of(app):
    """By the words of a sentence or figure without its numbers: these numbers."""
    figures = [f"{metric.label}: {metric.value}" for metric in app.metric]
    kinds = ("markdown", "caption", "info", "warning", "success")
    texts = []
    for kind in kinds:
        for element in getattr(app, kind):
            texts.append(str(element.value))
    numbers = defaultdict(set)
    for text in (*figures, *texts):
        for sentence in re.split(r"(?<=[.!?;])\s+", text.replace("\\", "")):
            words_alone = re.sub(NUMBER, "#", sentence)
            numbers[words_alone].add(tuple(re.findall(NUMBER, sentence)))
    return numbers


def said_otherwise(pages):
    """Sentences that two pages say with other numbers; a page may say one of several things."""
    numbers_by_page = defaultdict(dict)
    for page, sentences in pages.items():
        for words_alone, numbers in sentences.items():
            numbers_by_page[words_alone][page] = numbers
    differing = {}
    for words_alone, by_page in numbers_by_page.items():
        (first, *others) = by_page.values()
        if any(numbers.isdisjoint(first) for numbers in others):
            differing[words_alone] = by_page
    return differing


SECOND = {"name": "second", "target": [{"error": "3 %"}]}
SECOND["level"] = [{"name": "usual", "epsilon": "2", "items": "A; B; C; D"}]
AGE = {
    "name": "age",
    "kind": "numeric",
    "lower": "0",
    "upper": "100",
    "epsilon": "2",
}


def documents():
    clinic = example_document("clinic")
    shared = clinic | {"question": [*clinic["question"], SECOND]}
    ages = {"survey": {"name": "ages", "users": "20,000"}}
    ages["question"] = [AGE | {"of": "distribution", "cells": "8"}]
    return {"clinic": clinic, "shared": shared, "ages": ages}


@pytest.mark.parametrize("name", documents())
def test_no_two_pages_have_two_numbers_of_the_same(name):
    drawers = {"details": True, "meaning-details": True}  # open, to be read, too
    word = word_of(documents()[name])
    apps = {page: open_page(page, survey=word, **drawers) for page in PAGES}
    numbers = numbers_on({page: text_of(app) for page, app in apps.items()})
    if name != "shared":  # two questions have an error each
        assert not contradictions(numbers)
    pages = {thing: set.union(*said.values()) for thing, said in numbers.items()}
    widely = [thing for thing, where in pages.items() if len(where) > 1]
    if name == "clinic":
        assert ("total error", "") in widely
        assert sum(thing == "odds" for thing, _ in widely) >= 2
    sentences = {page: sentences_of(app) for page, app in apps.items()}
    assert said_otherwise(sentences) == {}
    repeated = sum(
        words_alone in sentences["plan"] and "#" in words_alone
        for words_alone in sentences["questions"]
    )
    assert repeated >= 4


def test_the_comparison_notices_a_number_that_differs():
    pages = {
        "plan": "more than 2.72-fold for 'a' and 7.39-fold for 'b'",
        "export": "more than 2.72-fold for 'a' and 20.09-fold for 'b'",
    }
    assert list(contradictions(numbers_on(pages))) == [("odds", "b")]
    sentences = {
        "plan": {"of # people": {("10",)}, "in all: #": {("7",)}},
        "export": {"of # people": {("11",)}, "in all: #": {("7",)}},
    }
    assert list(said_otherwise(sentences)) == ["of # people"]


def results_of(survey, answers, tmp_path):
    """The page Results for reports of a file of answers."""
    plan = plan_survey(survey)
    parameters = survey_parameters(plan)
    (tmp_path / "answers.csv").write_text(answers)
    reports = tmp_path / "reports.jsonl"
    perturb_file(parameters, tmp_path / "answers.csv", reports)
    app = open_page("collected")
    given = ("parameters.json", parameters.to_json().encode(), "")
    app.file_uploader(key="c-parameters").set_value(given)
    app.file_uploader(key="c-reports").set_value(
        [("r.jsonl", reports.read_bytes(), ""), ("bad.jsonl", b"{}\n", "")]
    )
    return app.run()


def test_a_result_promises_what_the_plan_did_and_calls_files_by_their_names(tmp_path):
    survey, _ = settle(cleaned(example_document("clinic")))
    app = results_of(survey, "treatment\n" + "cold\n" * 40, tmp_path)
    assert not app.exception
    said = words(app)
    assert "LEFT OUT bad.jsonl: " in said
    assert "tmp" not in said
    assert "the same command" not in said
    assert "--" not in said
    (promised,) = re.findall(r"two answers more than ([\d.]+)-fold", said)
    page = open_page("plan", example="clinic")
    planned = text_of(page)
    odds = [float(match[1]) for match in SAID["odds"].finditer(planned)]
    assert float(promised) == max(odds)
    downloads = [button.proto.label for button in app.get("download_button")]
    assert "Table of all estimates (CSV)" in downloads


def test_a_wrong_parameter_file_is_called_as_it_was_uploaded():
    app = open_page("collected")
    app.file_uploader(key="c-parameters").set_value(("mine.json", b"{", ""))
    app.file_uploader(key="c-reports").set_value([("r.jsonl", b"{}\n", "")])
    app.run()
    assert "mine.json: " in words(app)
    assert "tmp" not in words(app)
    assert session(app).page == ""


def test_a_model_is_fitted_beside_the_results_and_a_wrong_one_is_refused(tmp_path):
    document = example_document("clinic")
    document["survey"]["groups"] = {"region": ["north", "south"]}
    survey, _ = settle(cleaned(document))
    rows = ["treatment,region"]
    for region, colds in (("north", 1200), ("south", 800)):
        rows += [f"cold,{region}"] * colds + [f"influenza,{region}"] * (2000 - colds)
    app = results_of(survey, "\n".join(rows) + "\n", tmp_path)
    app.text_input(key="c-model").set_value("cold ~ region").run()
    assert not app.exception
    assert "Model: cold ~ region, logit." in words(app)
    (effects,) = [table for table in tables(app) if "of" in table]
    assert effects["of"] == ["region: south against north"]
    app.text_input(key="c-model").set_value("cold ~ age").run()
    assert "model is 'age' but must be one of region" in words(app)
