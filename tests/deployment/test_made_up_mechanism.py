"""A form of report that nobody ships, in this one file: from its law to estimates.

Negative survey: a report names an item that is probably *not* the person's own.
"""

import json
from dataclasses import dataclass
from fractions import Fraction
from math import exp
from typing import ClassVar

import jsonschema
import numpy as np
import pytest
from scipy.stats import norm

from planner import (
    Categorical,
    FileError,
    Level,
    Survey,
    VerificationError,
    plan_survey,
)
from planner.deployment import Client, read_parameters, write_parameters
from planner.deployment.bulk import perturb_file
from planner.deployment.client.document import content_hash
from planner.deployment.collecting.collector import collect
from planner.deployment.collecting.estimating import estimates_table
from planner.deployment.parameters import json_schema, make_vectors, survey_parameters
from planner.laws.exact import check_ratio
from planner.laws.law import DEVICE
from planner.laws.levels import Levels
from planner.laws.schema import PROBABILITY
from planner.laws.shape import Shape
from planner.laws.source import choose, words
from planner.limits import DENOMINATOR as D
from planner.mechanisms.asking import COLLECTOR
from planner.mechanisms.catalogue import CATALOGUE, CatalogueEntry
from planner.mechanisms.collected import Collected
from planner.mechanisms.counting import CellCounter
from planner.mechanisms.making import of_item
from planner.show import kinds
from tests.deployment.readers import replay
from tests.refusals import refused

FALSE_ALARM = 1e-6


# -- the mechanism --------------------------------------------------------------------


@dataclass(frozen=True)
class Negative(Shape):
    """The own item with ``own/D``, else any other alike; two bytes.

    Draws a word, which names the own item if it is below ``own``, then how far another is from it.
    """

    name: ClassVar = "negative"
    asked: ClassVar = ("item",)
    keys: ClassVar = {"own": PROBABILITY}

    own: int

    def check(self, wanted):  # noqa: ARG002
        check_ratio(self.ratio(0, 0), self.levels.least_demanded())

    def support(self):
        other = Fraction(D - self.own, D * (self.levels.total - 1))
        return [(Fraction(self.own, D), other)] * len(self.levels.names)

    def ratio(self, i, j):  # noqa: ARG002
        return max(self.support()[0]) / min(self.support()[0])

    def draw(self, own, source):
        items = self.levels.total
        if words(source, 1)[0] < self.own:
            step = 0
        else:
            step = 1 + choose(source, items - 1)
        return ((own[0] + step) % items).to_bytes(2, "little")

    @property
    def cells(self):
        return self.levels.total

    @property
    def size(self):
        return 2


class CollectedNegative(Negative, Collected):
    def counter(self):
        return CellCounter(self.cells, "<u2")

    def draw_many(self, own, words):
        step = 1 + words.below(self.cells - 1, own.size)
        step[words.half(own.size) < self.own] = 0
        return [((own + step) % self.cells).astype("<u2")[:, None].view(np.uint8)]


def negative_survey(epsilon, items):
    """Names the own item with ``own/D``, any other alike, which is more probable."""
    levels = Levels(("all",), (epsilon,), (items,), ((),))
    numerator = int(D / (1 + (items - 1) * exp(epsilon))) + 1  # up is private
    return of_item("negative-survey", CollectedNegative(levels, numerator))


SAID = "A report names an answer that is probably another.", "name it"
OFFER = CatalogueEntry(
    "negative", "negative survey", ("categorical",), *SAID, law_of=negative_survey
)


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    """A line for each half, one for what is planned; afterwards they are forgotten."""
    monkeypatch.setitem(DEVICE.shapes, "negative", Negative)
    monkeypatch.setitem(COLLECTOR.shapes, "negative", CollectedNegative)
    monkeypatch.setitem(CATALOGUE, "negative", OFFER)


# -- all that one can do with it ------------------------------------------------------

LEVELS = (Level("rare", 1.0, ("HIV",)), Level("common", 2.0, ("flu", "cold", "none")))
SURVEY = Survey(
    "health", 30_000, (Categorical("diagnosis", LEVELS, mechanism="negative"),)
)


@pytest.fixture
def path(tmp_path):
    parameters = survey_parameters(plan_survey(SURVEY))
    write_parameters(tmp_path / "params.json", parameters)
    return tmp_path / "params.json"


def altered(path, **change):
    document = json.loads(path.read_text())
    document["questions"][0] |= change
    text = json.dumps(document | {"hash": content_hash(document)})
    path.write_text(text)
    return path


def worst(mechanism):
    return max(
        mechanism.variance(30_000 * answer).sum() for answer in np.eye(4, dtype=int)
    )


def test_it_is_planned_compared_and_explained():
    (plan,) = plan_survey(SURVEY).questions
    assert plan.deployed.mechanism == "negative"
    assert {"negative", "opt0", "grr"} <= {option.name for option in plan.options}
    assert plan.option("negative").title == "negative survey"
    expected = np.sqrt(worst(negative_survey(1.0, 4)))
    assert plan.total_error == pytest.approx(expected)
    assert "probably another" in kinds.words(plan).report(plan)[0]
    assert {"negative"} <= set(plan.kind.mechanisms(plan.question))


def test_it_is_exported_read_and_proven(path):
    (question,) = read_parameters(path).questions
    assert question.mechanism == "negative-survey"
    assert question.kind == "categorical"
    assert 0.999 < question.pairs[0].realised <= question.pairs[0].demanded == 1.0
    schema = json.loads(json_schema())
    document = json.loads(path.read_text())
    jsonschema.Draft202012Validator(schema).validate(document)


@pytest.mark.parametrize("reader", [read_parameters, Client])
def test_every_reader_checks_it(path, reader):
    numerator = negative_survey(1.0, 4).shape.own
    with refused("A report realises", kind=VerificationError):
        reader(altered(path, own=numerator - 100))
    with refused("own of question 'diagnosis' is 0 but must be a", kind=FileError):
        reader(altered(path, own=0))
    with refused("key of question 'diagnosis' is 'truth' but must", kind=FileError):
        reader(altered(path, own=numerator, truth=1))


def test_a_client_reports_and_vectors_are_made(path):
    client = Client(path)
    reports = {client.report("diagnosis", "flu").payload for _ in range(300)}
    assert reports == {
        bytes([k, 0]) for k in range(4)
    }  # one is missed once in e^20 times
    with refused("answer"):
        client.report("diagnosis", "cough")
    parameters = read_parameters(path)
    vectors = make_vectors(parameters)["vectors"]
    assert {vector["answer"] for vector in vectors} == {"HIV", "cold", "none"}
    (law,) = parameters.questions
    assert all(replay(law, vector).hex() == vector["report"] for vector in vectors)


@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
def test_reports_are_written_counted_and_estimated(path, tmp_path, ending):
    """30,000 people: every estimate within its error, at a false-alarm rate of 1e-6."""
    true = {"HIV": 1000, "flu": 9000, "cold": 15_000, "none": 5000}
    rows = "".join(f"{answer}\n" * count for answer, count in true.items())
    (tmp_path / "answers.csv").write_text("diagnosis\n" + rows)
    parameters = read_parameters(path)
    out = tmp_path / f"reports.{ending}"
    perturb_file(parameters, tmp_path / "answers.csv", out)
    collection = collect(parameters, [out])
    assert collection.quarantined == ()
    table = estimates_table(parameters, collection.sums).to_pylist()
    assert [row["answer"] for row in table] == list(true)
    variance = negative_survey(1.0, 4).variance(list(true.values()))
    errors = np.sqrt(variance)
    limit = norm.isf(FALSE_ALARM / 8)
    for row, error in zip(table, errors, strict=True):
        assert row["standard_error"] == pytest.approx(error, rel=0.1)
        assert abs(row["estimate"] - true[row["answer"]]) < limit * error
    positive = [
        30_000 - row["estimate"] for row in table
    ]  # a count read as of the own item
    assert max(np.abs(np.array(positive) - list(true.values())) / errors) > limit
