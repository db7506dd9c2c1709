"""Two answers in one report, from answers to the tables that are handed on."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from planner import Categorical, FileError, Joint, Level, Survey, plan_survey
from planner.deployment.bulk import perturb_file
from planner.deployment.client.document import content_hash
from planner.deployment.collecting.collector import collect
from planner.deployment.collecting.estimating import cross_tables, estimates_table
from planner.deployment.parameters import Parameters, survey_parameters
from planner.mechanisms.words import seeded_words
from planner.show.blocks import Sentence, Table
from planner.show.results import result_blocks
from tests.refusals import refused

ADULT = Path(__file__).parents[3] / "shared" / "data" / "adult.data"
YES_NO = ("yes", "no")


@pytest.fixture(scope="module", params=[2, 3])
def related(request, tmp_path_factory):
    """Parameters, counts and estimates of two or three questions that go together."""
    place, rng = tmp_path_factory.mktemp("related"), np.random.default_rng(5)
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
    frame, law = table.to_pandas(), parameters.questions[0]
    own = frame.set_index(["of", "answer"])
    for part, _ in parameters.joint["all of them"]:
        assert own.loc[part]["estimate"].sum() == pytest.approx(3000)
    for one in cross_tables(parameters, law, collection.sums["all of them", None], 0.95):
        first, second = one.names
        both = own.loc[f"{first} with {second}"]
        assert both.loc["independence", "p"] == pytest.approx(one.independence.p_value)
        assert both.loc["Cramér's V", "lower"] == pytest.approx(one.association.lower)
        assert both.loc["odds ratio of yes / yes", "estimate"] > 1
        share = own.loc[f"{first} among {second}"].loc["yes / no"]
        assert share["share"] == pytest.approx(one.counts[0, 1] / one.counts[:, 1].sum())
        assert one.independence.p_value < 1e-6


def test_grids_are_shown_with_their_test(related):
    parameters, collection, table = related
    blocks = result_blocks(parameters, collection, table, 0.95)
    said = " ".join(one.text for one in blocks if isinstance(one, Sentence))
    headings = {
        column.heading for one in blocks if isinstance(one, Table) for column in one.columns
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
    with refused(FileError):
        Parameters.of(changed | {"hash": content_hash(changed)})


@pytest.mark.skipif(not ADULT.exists(), reason="the census answers of UCI Adult are not here")
def test_the_error_predicted_for_a_census_is_that_of_its_reports():
    """Marital status by income, 32,561 people, a budget of 1: 318.5 people a cell; 20 draws.

    20 x 14 squares, of 13 degrees each: false alarm 1e-6; asked apart it would be 1,294.
    """
    rows = [line.split(", ") for line in ADULT.read_text().splitlines() if line]
    cells = [f"{row[5]} / {row[14]}" for row in rows]
    sizes = [sorted({row[place] for row in rows}) for place in (5, 14)]
    parts = [
        Categorical(n, (Level("all", 1.0, tuple(a)),)) for n, a in zip("mi", sizes, strict=True)
    ]
    plan = plan_survey(Survey("census", len(rows), (*parts, Joint("both", ("m", "i")))))
    law = plan.questions[0].law
    own = np.array([law.levels.item_names().index(cell) for cell in cells])
    truth, predicted = np.bincount(own, minlength=14), plan.questions[0].total_error / np.sqrt(14)
    assert predicted == pytest.approx(318.5, abs=0.05)
    words, seen = seeded_words(np.random.default_rng(8)), []
    for _ in range(20):
        counter = law.shape.counter()
        for reports in law.shape.draw_many(own, words):
            counter.add(reports)
        seen.append(((law.shape.estimate(counter.sums()).values - truth) ** 2).mean())
    assert 0.65 < np.mean(seen) / predicted**2 < 1.45
