"""What two results tell of one person who is in one of them alone."""

import numpy as np
import pytest

from planner import Categorical, Level, SampledChoice, Sampling, Survey, plan_survey
from planner.deployment import Client
from planner.deployment.collecting.collector import collect
from planner.deployment.collecting.estimating import (
    difference_table,
    estimates_table,
)
from planner.deployment.parameters import survey_parameters
from planner.laws.die import ACKNOWLEDGEMENTS
from planner.mechanisms.counting import Aggregate
from tests.refusals import refused

REGIONS = {"region": ("north", "south")}
LEVELS = (Level("rare", 1.0, ("x",)), Level("usual", 2.0, ("y", "z")))


def of_region(report, region):
    return f'{report.to_json()[:-1]},"group":{{"region":"{region}"}}}}'


@pytest.mark.parametrize("mechanism", ["subset-design", "opt0", "grr"])
def test_two_results_that_differ_by_a_person_tell_their_report(mechanism, tmp_path):
    """Which is all that their device sent: its budgets hold for whoever differences.

    So does a result of a group of which one person reported.
    """
    survey = Survey(
        "s", 100, (Categorical("q", LEVELS, mechanism=mechanism),), groups=REGIONS
    )
    parameters = survey_parameters(plan_survey(survey))
    client = Client(parameters.document)
    (law,) = parameters.questions
    others = [of_region(client.report("q", "y"), "north") for _ in range(20)]
    her = client.report("q", "x")
    alone = law.shape.counter()
    alone.add(np.frombuffer(her.payload, dtype=np.uint8)[None])
    line = of_region(her, "south")
    sums = []
    for lines in (others, [*others, line]):
        path = tmp_path / f"{len(lines)}.jsonl"
        path.write_text("\n".join(lines) + "\n")
        collection = collect(parameters, [path])
        assert not collection.quarantined
        sums.append(collection.sums["q", None])
    before, after = sums
    told = Aggregate(after.users - before.users, after.counts - before.counts)
    of_group = collection.by(REGIONS, "region")["south"]["q", None]
    for found in (told, of_group):
        assert found.users == 1
        expected = alone.sums().counts.tolist()
        assert found.counts.tolist() == expected


def two_rounds(relies_on):
    """A rare value, with the reports of 4,000 people in two regions, by question and round."""
    rare = Level("rare", 1.0, ("ill",), yes_counts=(300,))
    sampling = Sampling(relies_on=relies_on, acknowledged=ACKNOWLEDGEMENTS[relies_on])
    question = SampledChoice("q", (rare,), sampling=sampling)
    survey = Survey("s", 4000, (question,), groups=REGIONS)
    parameters = survey_parameters(plan_survey(survey))
    (law,) = parameters.questions
    rng = np.random.default_rng(3)
    parts = {}
    for region, ill in (("north", 200), ("south", 150)):
        drawn = law.shape.mechanism.draw_aggregate([2000 - ill, ill], rng)
        parts[region] = {
            ("q", number): Aggregate(2000, counts)
            for number, counts in enumerate(drawn.counts, start=1)
        }
    sums = {}
    for key in parts["north"]:
        sums[key] = Aggregate(
            4000, parts["north"][key].counts + parts["south"][key].counts
        )
    return parameters, sums, parts


def test_estimates_that_are_promised_something_alone_have_no_groups():
    """What they promise counts on 300 people with the value, and is of one release."""
    parameters, sums, parts = two_rounds("aggregates-only")
    table = estimates_table(parameters, sums, grouped=("region", parts))
    rows = table["group"].to_pylist()
    assert set(rows) == {""}
    assert all("not by group" in remark for remark in table["remark"].to_pylist())
    with refused("questions"):
        difference_table(
            (parameters, parts["north"]), (parameters, parts["south"]), of_group=True
        )
    parameters, sums, parts = two_rounds("round-two")
    table = estimates_table(parameters, sums, grouped=("region", parts))
    assert "region = north" in table["group"].to_pylist()
    assert not any("not by group" in remark for remark in table["remark"].to_pylist())


def test_a_value_that_too_few_have_is_named():
    parameters, sums, parts = two_rounds("aggregates-only")
    table = estimates_table(parameters, sums)
    enough = table["remark"].to_pylist()
    assert not any("do not release" in remark for remark in enough)
    table = estimates_table(parameters, parts["south"])
    few = table["remark"].to_pylist()
    assert ["'ill' than the 300 that" in remark for remark in few] == [False, True]
