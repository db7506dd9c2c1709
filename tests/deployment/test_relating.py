"""Two answers in one report, from answers to the tables that are handed on."""

from itertools import pairwise

import numpy as np
import pytest

from planner import Categorical, FileError, Joint, Level, Ordinal, Survey, plan_survey
from planner.deployment.bulk import perturb_file
from planner.deployment.client.document import content_hash
from planner.deployment.collecting.collector import collect
from planner.deployment.collecting.estimating import cross_tables, estimates_table
from planner.deployment.parameters import Parameters, survey_parameters
from planner.show.blocks import Sentence, Table
from planner.show.results import result_blocks
from tests.refusals import refused

YES_NO = ("yes", "no")


@pytest.fixture(scope="module", params=[2, 3])
def related(request, tmp_path_factory):
    """Parameters, counts and estimates of two or three questions that go together."""
    place = tmp_path_factory.mktemp("related")
    rng = np.random.default_rng(5)
    names = ["diagnosis", "smokes", "works"][: request.param]
    parts = [Categorical(name, (Level("all", 4.0, YES_NO),)) for name in names]
    survey = Survey("s", 3000, (*parts, Joint("all of them", tuple(names))))
    parameters = survey_parameters(plan_survey(survey))
    first = rng.random(3000) < 0.4
    others = [np.where(rng.random(3000) < 0.8, first, ~first) for _ in names[1:]]
    rows = zip(*(np.where(one, *YES_NO) for one in (first, *others)), strict=True)
    answers = place / "answers.csv"
    answers.write_text("\n".join([",".join(names), *map(",".join, rows)]) + "\n")
    perturb_file(parameters, answers, place / "reports.parquet")
    collection = collect(parameters, [place / "reports.parquet"])
    return parameters, collection, estimates_table(parameters, collection.sums)


def test_margins_association_and_shares_stand_beside_the_cells(related):
    parameters, collection, table = related
    frame = table.to_pandas()
    law = parameters.questions[0]
    own = frame.set_index(["of", "answer"])
    for part, _ in parameters.joint["all of them"]:
        assert own.loc[part]["estimate"].sum() == pytest.approx(3000)
    for one in cross_tables(
        parameters, law, collection.sums["all of them", None], 0.95
    ):
        first, second = one.names
        both = own.loc[f"{first} with {second}"]
        assert both.loc["independence", "p"] == pytest.approx(one.independence.p_value)
        assert both.loc["Cramér's V", "lower"] == pytest.approx(one.association.lower)
        assert both.loc["odds ratio of yes / yes", "estimate"] > 1
        share = own.loc[f"{first} among {second}"].loc["yes / no"]
        assert share["share"] == pytest.approx(
            one.counts[0, 1] / one.counts[:, 1].sum()
        )
        assert one.independence.p_value < 1e-6


def test_grids_are_shown_with_their_test(related):
    parameters, collection, table = related
    blocks = result_blocks(parameters, collection, table, 0.95)
    said = " ".join(one.text for one in blocks if isinstance(one, Sentence))
    headings = {
        each.heading for one in blocks if isinstance(one, Table) for each in one.columns
    }
    names = [part for part, _ in parameters.joint["all of them"]]
    for first, second in pairwise(names):
        assert f"Independence of {first} and {second}: Q = " in said
        assert {first, f"{second} = yes", f"{second} = no"} <= headings
    assert "Do not compute a chi-square" in said


def test_cells_that_are_not_the_pairs_are_refused(related):
    document = related[0].document
    of = [{"question": "all of them", "of": [{"name": "a", "answers": ["x"]}] * 2}]
    changed = document | {"joint": of}
    with refused("the answers of 'all of them' are not the pairs of", kind=FileError):
        Parameters.of(changed | {"hash": content_hash(changed)})


def test_an_ordered_scale_in_a_joint_question_is_refused_with_what_to_write():
    levels = [Level("any", 1.0, ["low", "high"])]
    scale = Ordinal("pain", levels)
    choice = Categorical("smokes", levels)
    joint = Joint("both", ("pain", "smokes"))
    with refused("Write kind = \"categorical\" for 'pain'"):
        Survey("clinic", 100, (scale, choice, joint))
