"""Every face shows the same plan: text, JSON, report, app, notebook and exported file."""

import html
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from planner import AssumedSets, Level, Question, Survey, Target, load_survey, plan_survey
from planner.cli.show.outsiders import show_outsiders
from planner.cli.show.survey import show_survey_plan
from planner.deployment.parameter_file.building import deployable_files
from planner.planning.outsiders import NOTHING_TO_SAY
from planner.planning.sampled import ACKNOWLEDGEMENTS
from planner.planning.whole_survey import sentences as said
from planner.planning.whole_survey.promises import costs, promises, promises_of
from planner.planning.whole_survey.said import said_of
from planner.policy.budget_text import rounded_up
from planner.show.report import report_html
from planner.survey import Numeric, Sampling
from planner.survey.numeric_domain import NumericDomain
from planner.survey.preferences import NormalPreferences
from planner.survey.writer import survey_to_text
from planner.ui.draft.survey import SurveyDraft
from planner.ui.state import Session
from tests.cli.running import invoke, printed
from tests.surveys import EXAMPLES
from tests.ui.pages import metric, open_page, tables, words

LEVELS = (Level("rare", 1.5, ("x",)), Level("usual", 3.0, item_count=8))
MEAN = Numeric(NumericDomain(0, 50), NormalPreferences(5, 1.5), 3.0)
TWO_ROUNDS = Question(
    "drugs",
    (Level("any", 1.0, ("u", "v"), yes_counts=(10, 20)),),
    kind="sampled-choice",
    sampling=Sampling("round-two", ACKNOWLEDGEMENTS["round-two"]),
)
EVERYTHING = Survey(
    "everything",
    40_000,
    (
        Question("sign", LEVELS, mechanism="grr", targets=(Target(detect=0.02, level="rare"),)),
        TWO_ROUNDS,
        Question("bill", (), kind="numeric", numeric=MEAN, targets=(Target(error=0.02),)),
        Question("basket", LEVELS, kind="item-set", sets=AssumedSets([1, 5, 3, 1])),
    ),
)


def surveys():
    for path in sorted(EXAMPLES.glob("*.toml")):
        yield path.stem, load_survey(path)
    household = load_survey(EXAMPLES / "household.toml")
    baskets = load_survey(EXAMPLES / "baskets.toml")
    (articles,) = baskets.questions
    yield "household, one each", replace(household, design="one-each")
    yield "baskets of OUE", replace(baskets, questions=(replace(articles, mechanism="oue"),))
    of_sets = replace(EVERYTHING.questions[3], mechanism="subset-design")
    yield "sets by a design", Survey("sets", 40_000, (of_sets,))
    yield "everything", EVERYTHING
    sign, _, bill, _ = EVERYTHING.questions
    page = replace(sign, name="page", mechanism="opt0", targets=())
    three = (replace(sign, mechanism="opt0"), bill, page)
    yield "two each of three", Survey("two", 40_000, three, design="some-each", asked=2)
    channel = replace(MEAN, preferences=None, epsilon=2.0)
    bills = Question("bill", (), kind="numeric", numeric=channel, mechanism="channel")
    yield "a number by a channel", Survey("bills", 10_000, (bills, EVERYTHING.questions[0]))
    weighed = (replace(LEVELS[0], prior=0.2), replace(LEVELS[1], prior=0.8, importance=2.0))
    expected = Question("sign", weighed, mechanism="subset")
    yield "an expected error", Survey("expected", 10_000, (expected,))


SURVEYS = dict(surveys())


@pytest.fixture(scope="module", params=SURVEYS)
def survey(request):
    return SURVEYS[request.param]


@pytest.fixture(scope="module")
def plan(survey):
    return plan_survey(survey)


def one_line(text):
    return " ".join(text.split())


def sentences_of(question):
    """All that is said of a question, wherever it is shown."""
    left_out = question.choice.left_out if question.choice else ()
    return [*(one for group in said_of(question) for one in group), *left_out]


def sentences_of_survey(plan):
    if not plan.several:
        return []
    several = (said.design_sentence, said.objective_sentence, said.shares_sentence)
    return [*(sentence(plan) for sentence in several), said.spending_sentence(plan)]


def figures_of(question):
    """Every number of its tables as text and report print it."""
    if question.levels is not None:
        for i in range(len(question.levels.names)):
            yield f"{question.levels.epsilons[i]:.4f}"
            yield f"{question.levels.a[i]:.6f}"
            yield f"{question.levels.b[i]:.6f}"
            yield said.people(question.levels.standard_errors[i])


def test_text(plan):
    page = one_line(printed(show_survey_plan, plan))
    for sentence in sentences_of_survey(plan):
        assert one_line(sentence) in page
    for row in plan.sharing if plan.several else ():
        assert said.percent(row.error) in page
        assert said.percent(row.error_of_some) in page
    for question in plan.questions:
        if question.sampling is not None:
            assert one_line(said.reliance_sentence(question.sampling)) in page
            continue
        for sentence in (said.asked_sentence, said.error_sentence):
            assert one_line(sentence(question)) in page
        for sentence in sentences_of(question):
            assert one_line(sentence) in page
        for figure in figures_of(question):
            assert figure in page
        for one in question.choice.candidates:
            against = "the plan" if one.name == question.choice.planned else f"{one.against:+.1%}"
            assert f"{said.people(one.error)} │ {against}" in page.replace("  ", " ")


@pytest.fixture(scope="module")
def outsiders(plan):
    return plan.outsiders()


def test_text_of_outsiders(outsiders):
    page = one_line(printed(show_outsiders, outsiders))
    if outsiders is None:
        assert one_line(NOTHING_TO_SAY) in page
        return
    for view in (*outsiders.questions, outsiders):
        for sentence in view.sentences:
            assert one_line(sentence) in page
    for view in outsiders.questions:
        assert f"epsilon {rounded_up(view.shuffled.epsilon, 5)} at delta" in page
        for row in view.shuffled.pairs if len(view.shuffled.names) > 1 else ():
            figures = [rounded_up(row[2], 4), rounded_up(row[3], 5)]
            assert re.search(" +│ +".join(map(re.escape, figures)), page)


def check_outsiders(document, outsiders):
    if outsiders is None:
        assert document is None
        return
    if outsiders.left_out:
        assert document["epsilon"] is document["delta"] is None
    else:
        assert document["epsilon"] == pytest.approx(outsiders.epsilon, rel=1e-6)
        assert document["delta"] == outsiders.delta
    assert document["left_out"] == list(outsiders.left_out)
    assert document["sentences"] == list(outsiders.sentences)
    for one, view in zip(document["questions"], outsiders.questions, strict=True):
        assert one["sentences"] == list(view.sentences)
        assert one["shuffled"]["epsilon"] == pytest.approx(view.shuffled.epsilon, rel=1e-6)
        pairs = [(x["local"], x["epsilon"]) for x in one["shuffled"]["pairs"]]
        assert np.array(pairs) == pytest.approx(np.array([row[2:] for row in view.shuffled.pairs]))
        guess = None if view.guess is None else (view.guess.success, view.guess.blind)
        shown = one["guess"] and (one["guess"]["success"], one["guess"]["blind"])
        assert (shown is None) == (guess is None)
        assert guess is None or shown == pytest.approx(guess)
        if view.reach is not None:
            each = [row["people_each"] for row in one["false_reports"]]
            assert each == pytest.approx(view.reach.tolist())
            sway = [row["for_standard_error"] for row in one["false_reports"]]
            assert sway == view.swaying.tolist()


def test_json(survey, plan, outsiders, tmp_path):
    path = tmp_path / "survey.toml"
    path.write_text(survey_to_text(survey))
    result = invoke("plan", path, "--json")
    assert result.exit_code == 0, result.exception
    document = json.loads(result.stdout)
    check_outsiders(document["outsiders"], outsiders)
    assert document["survey"]["most_spent"] == pytest.approx(plan.most_spent)
    for found, question in zip(document["questions"], plan.questions, strict=True):
        assert found["mechanism"] == question.deployed.mechanism
        assert found["asked_for"] == question.question.mechanism
        assert found["users"] == question.users
        assert found["error"]["value"] == pytest.approx(question.total_error)
        assert found["error"]["share"] == pytest.approx(question.error_share)
        assert [row["spent"] for row in found["spending"]] == pytest.approx(
            [row.spent for row in question.spending]
        )
        if question.sampling is None:
            ranked = [(one["name"], one["error"]) for one in found["mechanisms"]["candidates"]]
            for (name, error), one in zip(ranked, question.choice.candidates, strict=True):
                assert (name, error) == (one.name, pytest.approx(one.error))
            reached = [one["reached"] for one in found["targets"]]
            assert reached == pytest.approx([one.reached for one in question.targets])
        if question.levels is not None:
            for name, key in (("standard_errors", "standard_error"), ("a", "a"), ("b", "b")):
                column = [level[key] for level in found["levels"]]
                assert column == pytest.approx(getattr(question.levels, name).tolist())
            if question.lower_bound is not None:
                assert found["certificate"]["sentence"] == said.certificate_sentence(question)


def test_report(plan, outsiders):
    page = report_html(plan).rpartition("<h1>")[2]
    text = one_line(html.unescape(re.sub(r"<[^>]+>", " ", page)))
    for sentence in (*sentences_of_survey(plan), *promises_of_all(plan)):
        assert one_line(sentence) in text
    for view in () if outsiders is None else (*outsiders.questions, outsiders):
        for sentence in view.sentences:
            assert one_line(sentence) in text
    for question in plan.questions:
        for sentence in (said.asked_sentence, said.error_sentence):
            assert one_line(sentence(question)) in text
        for sentence in sentences_of(question):
            assert one_line(sentence) in text
        for figure in figures_of(question):
            assert figure in text


def promises_of_all(plan):
    return [sentence.partition(": ")[2] for sentence in promises(plan)]


def test_notebook(plan):
    frame = plan.to_frame()
    assert frame["total_error"].tolist() == [one.total_error for one in plan.questions]
    assert frame["mechanism"].tolist() == [one.mechanism_label for one in plan.questions]
    for question in plan.questions:
        if question.choice is not None:
            shown = question.to_frame().set_index("mechanism")
            own = question.choice.of(question.choice.planned)
            assert shown.loc[own.title, "error"] == pytest.approx(question.total_error)
            assert shown.loc[own.title, "against_plan"] == 0


MODELS = ("opt0", "opt1", "opt2", "rappor", "oue")


def test_exported_files_hold_what_is_shown(plan):
    if any(one.sampling and not one.sampling.acknowledged for one in plan.questions):
        pytest.skip("nothing is written while nobody vouches for what it relies on")
    exported = {
        question.name: (parameters.users, question)
        for parameters in deployable_files(plan).values()
        for question in parameters.questions
    }
    for question in plan.questions:
        users, file = exported[question.name]
        name, document = question.deployed.mechanism, file.document
        everybody = plan.survey.design == "split" or len(plan.questions) == 1
        assert users == (plan.survey.users if everybody else question.users)
        assert document.get("model", name) == name
        assert (document["mechanism"] in ("idue", "idue-ps")) == (name in MODELS)
        spent = [row.spent for row in question.spending]
        if question.question.levels and question.sampling is None:
            assert [level["epsilon"] for level in document["levels"]] == pytest.approx(spent)
            assert document.get("padding_length") == question.padding_length
        elif question.sampling is None:
            assert document["epsilon"] == pytest.approx(spent[0])
        if name == "subset-design":
            sets = question.deployed.kind == "item-set"
            assert file.mechanism == (f"{name}-ps" if sets else name)
            group = [level["group"] for level in document["levels"]]
            sides = np.array(document["groups"])[group]  # by level, type and side
            assert sides[:, :, 1].sum(axis=1) / 2**32 == pytest.approx(question.levels.a, abs=1e-5)
            error = document["predicted"]["worst_case_mse"]
            assert error == pytest.approx(question.certified.worst_case_mse, rel=1e-6)
        if name in MODELS:
            for letter in ("a", "b"):
                drawn = np.array([level[letter] for level in document["levels"]]) / 2**32
                assert drawn == pytest.approx(getattr(question.levels, letter), abs=2**-31)


class Holder:
    """Looks like a page that was open before."""

    def __init__(self, survey, place=0):
        session = Session(SurveyDraft.of(survey))
        session.typed["question of CategoricalDraft"] = place
        self.session_state = {"session": session}


def test_app_budgets_and_what_a_report_says(survey, plan, outsiders):
    shown = [one for one in plan.questions if one.choice and one.question.numeric is None]
    for place, question in enumerate(shown):
        app = open_page("budgets", Holder(survey, place))
        page = one_line(words(app))
        headline = metric(app, question.objective_name.capitalize())
        assert headline == f"{question.total_error:,.0f} people"
        for sentence in (said.asked_sentence, said.error_sentence):
            assert one_line(sentence(question)) in page
        for sentence in sentences_of(question):
            assert one_line(sentence) in page
        mechanisms = tables(app)[0]
        errors = [said.people(one.error) for one in question.choice.candidates]
        assert mechanisms[f"error, {question.unit}"] == errors
        if question.levels is not None:
            reports = next(one for one in tables(app) if "std. error, people" in one)
            shown_errors = [float(one.replace(",", "")) for one in reports["std. error, people"]]
            assert shown_errors == pytest.approx(question.levels.standard_errors, abs=0.051)
            shown_a = [float(one) for one in reports["a: with the answer"]]
            assert shown_a == pytest.approx(question.levels.a, abs=1e-6)
        app = open_page("meaning", Holder(survey, place))
        page = one_line(words(app))
        for level in question.explanations[:3]:
            assert one_line(level.odds) in page
        for promise in () if question.explanations else promises_of(question):
            assert one_line(promise) in page
        (view,) = (one for one in outsiders.questions if one.question == question.name)
        for sentence in view.sentences:
            assert one_line(sentence) in page
        pairs = next(one for one in tables(app) if "epsilon if shuffled" in one)
        shuffled = [rounded_up(epsilon, 5) for *_, epsilon in view.shuffled.pairs]
        assert list(pairs["epsilon if shuffled"]) == shuffled
        for sentence in outsiders.sentences if len(plan.questions) > 1 else ():
            assert one_line(sentence) in page
        assert "holds if a shuffler" in page


def test_app_survey_and_export(survey, plan):
    app = open_page("survey", Holder(survey))
    page = one_line(words(app))
    for sentence in sentences_of_survey(plan):
        assert one_line(sentence) in page
    for question in plan.questions:
        for answer in question.targets:
            assert one_line(said.target_sentence(answer)) in page
    if plan.spending:
        spent = [float(one) for one in tables(app)[-1]["spent here"]]
        assert spent == pytest.approx([row.spent for row in plan.spending], abs=1e-6)
        assert f"at most {rounded_up(plan.most_spent, 4)} nats" in page
    app = open_page("export", Holder(survey))
    page = one_line(words(app))
    for sentence in (*promises(plan), *costs(plan)):
        assert one_line(sentence) in page
