"""Reports that have the answer to an anchor as well: what a stranger sends, and how they add up."""

import json
from dataclasses import replace

import numpy as np
import pytest

from planner.deployment import Client
from planner.deployment.collecting.attending import ATTENTION, CORRECTED
from planner.deployment.collecting.collector import collect
from planner.deployment.collecting.estimating import estimates_table
from planner.deployment.collecting.inbox import Inbox
from planner.deployment.collecting.parquet import ReportWriter
from planner.deployment.parameters import survey_parameters
from planner.mechanisms.words import seeded_words
from planner.planning.plan import plan_survey
from planner.survey.survey import survey_from_text
from tests.refusals import refused

SURVEY = """[survey]
name = "clinic"
users = 4000
groups = { region = ["north", "south"] }
[survey.population]
north = 3
south = 1
[[question]]
name = "diagnosis"
[[question.level]]
name = "rare"
epsilon = 3
items = ["HIV", "cancer"]
[[question.level]]
name = "usual"
epsilon = 4
items = ["flu", "none of these"]
[[question]]
name = "check"
anchor = "diagnosis"
known = "none of these"
[[question]]
name = "smokes"
[[question.level]]
name = "any"
epsilon = 1
items = ["yes", "no"]
"""
ALONE = SURVEY.replace('groups = { region = ["north", "south"] }\n', "").replace(
    "[survey.population]\nnorth = 3\nsouth = 1\n", ""
)


@pytest.fixture(scope="module")
def parameters():
    return survey_parameters(plan_survey(survey_from_text(ALONE)))


@pytest.fixture(scope="module")
def by_region():
    return survey_parameters(plan_survey(survey_from_text(SURVEY)))


def reports(parameters, people, attentive=0.7, seed=9):
    """Of people of whom one in ten has HIV, and the others none of these."""
    rng = np.random.default_rng(seed)
    law = parameters.question("diagnosis")
    attends = rng.random(people) < attentive
    ill = np.where(rng.random(people) < 0.1, 0, 3)
    of_question = np.where(attends, ill, rng.integers(4, size=people))
    of_anchor = np.where(attends, 3, rng.integers(4, size=people))
    pairs = list(zip(of_question.tolist(), of_anchor.tolist(), strict=True))
    (rows,) = law.draw_many(pairs, seeded_words(rng))
    return rows


def write(path, parameters, rows):
    with ReportWriter(
        path, parameters.hash, ("diagnosis", None), rows.shape[1]
    ) as writer:
        writer.write(rows)


def test_a_client_takes_two_answers_and_gives_one_report(parameters):
    client = Client(parameters.document)
    assert client.questions == ("diagnosis", "smokes")
    report = client.report("diagnosis", ["HIV", "none of these"])
    law = parameters.question("diagnosis")
    assert len(report.payload) == law.size == 2 * law.shape.size
    assert json.loads(report.to_json()).keys() == {
        *("parameters", "question", "id", "report", "check")
    }
    for wrong in ("HIV", ["HIV"], ["HIV", "plague"], ["HIV", "flu", "flu"], None):
        with refused("answer"):
            client.report("diagnosis", wrong)
    with refused("question"):
        client.report("check", "none of these")


def test_what_a_stranger_sends_costs_his_own_report_alone(parameters, tmp_path):
    client = Client(parameters.document)
    law = parameters.question("diagnosis")
    size = law.shape.size
    good = client.report("diagnosis", ["flu", "none of these"])
    impossible = b"\xff" * size
    of_another_length = {
        "without the anchor's part": good.payload[:size],
        "with one part too many": good.payload + good.payload[:size],
        "of another question": client.report("smokes", "no").payload,
    }
    impossible_parts = {
        "with a broken anchor's part": good.payload[:size] + impossible,
        "with a broken part of the question": impossible + good.payload[size:],
    }

    def line(report):
        return f"{report.to_json()}\n".encode()

    inbox = Inbox(tmp_path / "in", parameters)
    for payload in of_another_length.values():
        with refused("length of a line"):
            inbox.read(line(replace(good, payload=payload)), "a line")
    bodies = [[inbox.read(line(good), "a line")]]
    for number, payload in enumerate(impossible_parts.values()):
        report = replace(good, payload=payload, report_id=f"{number:016x}")
        bodies.append([inbox.read(line(report), "a line")])
    reasons = inbox.add(bodies)
    assert reasons[0] == ""
    assert all(reasons[1:])
    inbox.close()
    done = collect(parameters, [tmp_path / "in"])
    assert not done.quarantined
    assert done.sums["diagnosis", None].users == 1


def test_lines_parquet_and_an_inbox_count_alike_and_add_up(parameters, tmp_path):
    """However they came, in however many files: the same counts, and so the same estimates."""
    rows = reports(parameters, 600)
    client = Client(parameters.document)
    template = client.report("diagnosis", ["flu", "none of these"])
    lines = []
    for number, row in enumerate(rows):
        report = replace(template, payload=row.tobytes(), report_id=f"{number:016x}")
        lines.append(f"{report.to_json()}\n")
    write(tmp_path / "all.parquet", parameters, rows)
    (tmp_path / "parts").mkdir()
    write(tmp_path / "parts" / "first.parquet", parameters, rows[:200])
    (tmp_path / "parts" / "second.jsonl").write_text("".join(lines[200:]))
    inbox = Inbox(tmp_path / "in", parameters)
    for start in (0, 300):
        received = [inbox.read(line.encode(), "a line") for line in lines[start:][:300]]
        inbox.add([received])
        inbox.seal()
    of_inbox = inbox.sums()["diagnosis", None]
    inbox.close()
    done = collect(parameters, [tmp_path / "all.parquet"])
    whole = done.sums
    checkpoint = tmp_path / "checkpoint"
    for place in ("parts/first.parquet", "parts"):
        collected = collect(parameters, [tmp_path / place], checkpoint=checkpoint)
        apart = collected.sums
    expected = whole["diagnosis", None].counts.tolist()
    assert of_inbox.counts.tolist() == expected
    assert apart["diagnosis", None].counts.tolist() == expected
    assert estimates_table(parameters, apart).equals(estimates_table(parameters, whole))


def test_groups_weights_and_population_go_on_with_an_anchor(by_region, tmp_path):
    """Everybody's reports, and those of each region, with a share of attention of its own.

    Within 6 standard errors: a false alarm of 1e-8 each.
    """
    attentive = {"north": 0.9, "south": 0.5}
    for seed, (region, share) in enumerate(attentive.items()):
        folder = tmp_path / f"region={region}"
        folder.mkdir()
        rows = reports(by_region, 3000, share, seed)
        write(folder / "reports.parquet", by_region, rows)
    done = collect(by_region, [tmp_path])
    assert not done.quarantined
    grouped = ("region", done.by(by_region.groups, "region"))
    table = estimates_table(by_region, done.sums, grouped=grouped).to_pandas()
    groups = {"": 0.7, "region = north": 0.9, "region = south": 0.5}
    for group, share in groups.items():
        of_group = table[table["group"] == group]
        (attention,) = of_group[of_group["of"] == ATTENTION].itertuples()
        assert (
            abs(attention.share - share)
            < 6 * attention.standard_error / attention.users
        )
        assert attention.standard_error / attention.users < 0.03
        corrected = of_group[of_group["of"] == CORRECTED].set_index("answer")
        gap = corrected["share"]["HIV"] - 0.1
        assert abs(gap) < 6 * corrected["standard_error"]["HIV"] / attention.users
    assert (table["group"] == "weighted by region").any()
    assert (table["group"] == "region: north less south").any()
    of_people = table[(table["group"] == "") & (table["of"] == "")]
    population = estimates_table(by_region, done.sums, population=True).to_pandas()
    of_population = population[population["of"] == ""]
    wider = (
        of_population["standard_error"].to_numpy()
        > of_people["standard_error"].to_numpy()
    )
    assert wider.all()
