"""Two answers in one report, from answers to the tables that are handed on."""

from itertools import pairwise

import numpy as np
import pytest

from planner import Categorical, FileError, Joint, Level, Ordinal, Survey, plan_survey
from planner.deployment.bulk import perturb_file
from planner.deployment.client.document import content_hash
from planner.deployment.collecting.collector import collect
from planner.deployment.collecting.estimating import estimates_table
from planner.deployment.collecting.relations import cross_tables
from planner.deployment.parameters import Parameters, survey_parameters
from planner.deployment.questionnaire import questionnaire
from planner.show.blocks import Sentence, Table
from planner.show.results import result_blocks
from planner.survey.survey import survey_from_text, survey_text
from tests.cli.running import shown
from tests.refusals import refused

YES_NO = ("yes", "no")


@pytest.fixture(scope="module", params=[2, 3])
def related(request, tmp_path_factory):
    """Parameters, counts and estimates of two or three questions that go together."""
    folder = tmp_path_factory.mktemp("related")
    rng = np.random.default_rng(5)
    names = ["diagnosis", "smokes", "works"][: request.param]
    parts = [Categorical(name, (Level("all", 4.0, YES_NO),)) for name in names]
    joint = Joint("all of them", tuple(names))
    survey = Survey("s", 3000, (*parts, joint))
    parameters = survey_parameters(plan_survey(survey))
    first = rng.random(3000) < 0.4
    others = [np.where(rng.random(3000) < 0.8, first, ~first) for _ in names[1:]]
    rows = zip(
        *(np.where(answers, *YES_NO) for answers in (first, *others)), strict=True
    )
    answers = folder / "answers.csv"
    answers.write_text("\n".join([",".join(names), *map(",".join, rows)]) + "\n")
    perturb_file(parameters, answers, folder / "reports.parquet")
    collection = collect(parameters, [folder / "reports.parquet"])
    table = estimates_table(parameters, collection.sums)
    return parameters, collection, table


def test_margins_association_and_shares_stand_beside_the_cells(related):
    parameters, collection, table = related
    frame = table.to_pandas()
    law = parameters.questions[0]
    indexed = frame.set_index(["of", "answer"])
    for part in parameters.joint["all of them"]:
        assert indexed.loc[part.name]["estimate"].sum() == pytest.approx(3000)
    for cross in cross_tables(
        parameters, law, collection.sums["all of them", None], 0.95
    ):
        first, second = cross.names
        both = indexed.loc[f"{first} with {second}"]
        assert both.loc["independence", "p"] == pytest.approx(
            cross.independence.p_value
        )
        assert both.loc["Cramér's V", "lower"] == pytest.approx(cross.association.lower)
        assert both.loc["odds ratio of yes / yes", "estimate"] > 1
        share = indexed.loc[f"{first} among {second}"].loc["yes / no"]
        assert share["share"] == pytest.approx(
            cross.counts[0, 1] / cross.counts[:, 1].sum()
        )
        assert cross.independence.p_value < 1e-6


def test_grids_are_shown_with_their_test(related):
    parameters, collection, table = related
    blocks = result_blocks(parameters, collection, table, 0.95)
    said = " ".join(block.text for block in blocks if isinstance(block, Sentence))
    headings = {
        column.heading
        for block in blocks
        if isinstance(block, Table)
        for column in block.columns
    }
    names = [part.name for part in parameters.joint["all of them"]]
    for first, second in pairwise(names):
        assert f"Independence of {first} and {second}: Q = " in said
        assert {first, f"{second} = yes", f"{second} = no"} <= headings
    assert "Do not compute a chi-square" in said


def test_cells_that_are_not_the_pairs_are_refused(related):
    document = related[0].document
    relations = [
        {"question": "all of them", "of": [{"name": "a", "answers": ["x"]}] * 2}
    ]
    changed = document | {"joint": relations}
    with refused("the answers of 'all of them' are not the pairs of", kind=FileError):
        Parameters.of(changed | {"hash": content_hash(changed)})


PAIN = Ordinal(
    "pain",
    [Level("open", 3.0, ["strong", "none"]), Level("other", 5.0, ["mild", "unsure"])],
    order=["none", "mild", "strong"],
    no_answer="unsure",
)
MOOD = Ordinal("mood", [Level("any", 5.0, ["low", "middle", "high"])], ask="And you?")


@pytest.fixture(scope="module")
def scales(tmp_path_factory):
    """Parameters and estimates of two scales of which a higher answer goes with a lower one."""
    folder = tmp_path_factory.mktemp("scales")
    rng = np.random.default_rng(8)
    joint = Joint("both", ("pain", "mood"))
    survey = Survey("s", 4000, (PAIN, MOOD, joint))
    parameters = survey_parameters(plan_survey(survey))
    steps = rng.integers(0, 3, 4000)
    turned = np.where(rng.random(4000) < 0.7, 2 - steps, rng.integers(0, 3, 4000))
    pain = np.array(["none", "mild", "strong"], dtype=object)[steps]
    pain[:200] = ""  # who leaves it out is unsure
    rows = zip(pain, np.array(["low", "middle", "high"])[turned], strict=True)
    answers = folder / "answers.csv"
    answers.write_text("\n".join(["pain,mood", *map(",".join, rows)]) + "\n")
    perturb_file(parameters, answers, folder / "reports.parquet")
    collection = collect(parameters, [folder / "reports.parquet"])
    table = estimates_table(parameters, collection.sums)
    return survey, parameters, collection, table


def test_scales_keep_their_order_in_a_joint_question(scales):
    _, parameters, _, table = scales
    frame = table.to_pandas()
    indexed = frame.set_index(["of", "answer"])
    assert indexed.loc["pain"].index.tolist() == ["none", "mild", "strong", "unsure"]
    assert indexed.loc["pain"].loc["unsure", "estimate"] == pytest.approx(200, abs=150)
    both = indexed.loc["pain with mood"]
    assert both.loc["gamma", "lower"] < both.loc["gamma", "estimate"] < -0.5
    assert both.loc["gamma", "p"] < 1e-6
    up_to = indexed.loc["pain up to"]
    assert up_to.index.tolist() == ["none", "mild"]
    sums = indexed.loc["pain"]["estimate"].cumsum()
    expected = sums[:2].tolist()
    assert up_to["estimate"].tolist() == pytest.approx(expected)
    (pain, mood) = parameters.joint["both"]
    assert pain.in_order == 3
    assert pain.outside == "unsure"
    assert mood.in_order == 3


def test_gamma_and_shares_up_to_an_answer_are_shown(scales):
    _, parameters, collection, table = scales
    blocks = result_blocks(parameters, collection, table, 0.95)
    said = " ".join(block.text for block in blocks if isinstance(block, Sentence))
    assert "Goodman and Kruskal's gamma -0." in said
    titles = [block.title for block in blocks if isinstance(block, Table)]
    assert "pain up to" in titles


def test_a_difference_says_which_part_its_answer_is_of(scales, tmp_path):
    _, parameters, *_ = scales
    file = tmp_path / "parameters.json"
    file.write_text(parameters.to_json())
    answers = tmp_path / "answers.csv"
    answers.write_text("pain,mood\n" + "mild,low\nnone,high\n" * 30)
    reports = tmp_path / "reports.parquet"
    perturb_file(parameters, answers, reports)
    text = shown("difference", file, reports, file, reports)
    assert "pain: mild" in text
    assert "pain up to mild" in text


def test_a_scale_of_a_joint_question_is_asked_in_its_order(scales):
    survey, parameters, *_ = scales
    page = questionnaire(
        survey, parameters.to_json().encode(), "https://example.org/reports"
    )
    listed = [page.index(f'"{answer}"') for answer in ("none", "mild", "strong")]
    assert listed == sorted(listed)


def test_a_survey_with_scales_in_a_joint_question_is_written_as_it_was_read(scales):
    survey, *_ = scales
    assert survey_from_text(survey_text(survey)) == survey


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("scores", (0, 1)),
        ("wanted", "counts"),
        ("mechanism", "opt0"),
    ],
)
def test_what_a_scale_within_a_joint_question_leaves_out(key, value):
    levels = [Level("any", 1.0, ["low", "high"])]
    scale = Ordinal("pain", levels, **{key: value})
    choice = Categorical("smokes", levels)
    with refused(key):
        Survey("clinic", 100, (scale, choice, Joint("both", ("pain", "smokes"))))


def test_an_order_of_more_answers_than_there_are_is_refused(scales):
    _, parameters, *_ = scales
    (joint,) = parameters.document["joint"]
    parts = [dict(part, in_order=2) for part in joint["of"]]
    changed = parameters.document | {"joint": [joint | {"of": parts}]}
    with refused("in_order of 'pain' leaves out 2 answers", kind=FileError):
        Parameters.of(changed | {"hash": content_hash(changed)})
