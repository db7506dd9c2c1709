"""A collection with known groups, from the survey to its result, on the command line."""

import csv
import json
from itertools import product

import pyarrow as pa
import pytest

from planner.deployment.collecting.collector import collect
from planner.deployment.collecting.estimating import estimates_table
from planner.deployment.parameters import read_parameters
from planner.errors import FileError
from planner.show.blocks import Sentence, Table, as_exact_as
from planner.show.results import result_blocks
from tests.cli.running import invoke, shown
from tests.refusals import refused

SURVEY = """
[survey]
name = "clinic"
users = 900
groups = { region = ["north", "south"] }
population = { north = 3000, south = 1000 }
[[question]]
name = "diagnosis"
[[question.level]]
name = "all"
epsilon = 3.0
items = ["HIV", "flu", "none"]
"""


@pytest.fixture(scope="module")
def collected(tmp_path_factory):
    folder = tmp_path_factory.mktemp("groups")
    (folder / "survey.toml").write_text(SURVEY)
    shown("plan", folder / "survey.toml", "--out", folder / "params.json")
    for region, answers in (
        ("north", "HIV\n" * 300 + "none\n" * 300),
        ("south", "none\n" * 300),
    ):
        (folder / "a.csv").write_text("diagnosis\n" + answers)
        out = folder / "reports" / f"region={region}" / "a.parquet"
        out.parent.mkdir(parents=True)
        shown(
            "perturb", folder / "params.json", "--data", folder / "a.csv", "--out", out
        )
    return folder


def test_a_plan_says_what_is_expected_of_each_group(collected):
    printed = shown("plan", collected / "survey.toml")
    page = " ".join(printed.split())
    assert "north 675" in page
    assert "Fewer than 300 people are expected in 'south'." in page
    assert "not hidden" in page
    assert "among 225 people" in " ".join(
        shown("outsiders", collected / "survey.toml").split()
    )


def test_the_result_by_group_as_a_page_and_a_document(collected):
    words = (
        "aggregate",
        collected / "params.json",
        collected / "reports",
        "--by",
        "region",
    )
    page = shown(*words, "--report", collected / "r.html")
    assert "north (600)" in page
    assert "north less south" in page
    # (3000 + 1000)^2 / (3000^2 / 600 + 1000^2 / 300)
    assert "as exact as 873 people" in " ".join(page.split())
    html = (collected / "r.html").read_text()
    assert html.count("<h2>diagnosis</h2>") == 1
    assert "chi-square" in html
    printed = shown(*words, "--json")
    document = json.loads(printed)
    rows = document["estimates"]
    gap = {}
    for row in rows:
        if " less " in row["group"]:
            gap[row["answer"]] = row["p"]
    assert gap["HIV"] < 1e-6
    result = invoke("aggregate", *words[1:3], "--by", "land")
    assert result.exit_code == 1


def test_limits_for_a_population_are_named_and_wider(collected, tmp_path):
    """By the option, and by the survey's key; the page says in words whose limits it shows."""
    words = "aggregate", collected / "params.json", collected / "reports"
    printed = shown(*words, "--json")
    document = json.loads(printed)
    asked = document["estimates"]
    printed = shown(*words, "--population", "--json")
    drawn = json.loads(printed)["estimates"]
    assert {row["limits_for"] for row in asked} == {"people asked"}
    assert {row["limits_for"] for row in drawn} == {"population"}
    for near, far in zip(asked, drawn, strict=True):
        assert near["estimate"] == far["estimate"]
        variance = near["standard_error"] ** 2
        count = min(max(near["estimate"], 0), 900)
        variance += count * (1 - count / 900)
        assert far["standard_error"] ** 2 == pytest.approx(variance)
    printed = shown(*words, "--population")
    page = " ".join(printed.split())
    assert "Intervals are for the population" in page
    printed = shown(*words)
    assert "not of who was asked" in " ".join(printed.split())
    stated = SURVEY.replace("[[question]]", 'limits = "population"\n[[question]]')
    (tmp_path / "survey.toml").write_text(stated)
    shown("plan", tmp_path / "survey.toml", "--out", tmp_path / "params.json")
    text = (tmp_path / "params.json").read_text()
    parameters = json.loads(text)
    assert parameters["limits"] == "population"


def test_a_group_without_reports_is_not_weighted_away(collected):
    """Of the population a quarter is unseen: no weighted row, and the reason."""
    words = (
        "aggregate",
        collected / "params.json",
        collected / "reports" / "region=north",
    )
    printed = shown(*words, "--by", "region")
    page = " ".join(printed.split())
    assert "not weighted: no report of south, 25 % of the population" in page.lower()
    printed = shown(*words, "--by", "region", "--json")
    document = json.loads(printed)
    rows = document["estimates"]
    weighted = [row for row in rows if row["group"] == "weighted by region"]
    assert [row["estimate"] for row in weighted] == [None]


def test_people_are_whole_and_files_keep_all_digits(collected, tmp_path):
    out = tmp_path / "estimates.json"
    words = "aggregate", collected / "params.json", collected / "reports"
    page = shown(*words, "--by", "region", "--out", out)
    rows = json.loads(out.read_text())
    for row in rows:
        if not row["group"]:
            assert row["estimate"] != round(row["estimate"])
            assert f" {round(row['estimate']):,} " in page
    assert page.count("Processed: ") == 1


def test_limits_beyond_what_can_be_are_marked(collected):
    """Of 900 people no answer has less than 0 or more than all; a difference may be below 0."""
    parameters = read_parameters(collected / "params.json")
    collection = collect(parameters, [collected / "reports"])
    table = estimates_table(
        parameters,
        collection.sums,
        grouped=("region", collection.by(parameters.groups, "region")),
    )
    rows = table.to_pylist()
    for row in rows:
        if not row["group"] and row["answer"] == "flu":
            row |= {"estimate": -7.4, "share": -7.4 / 900}
            row |= {"lower": -41.34, "share_lower": -41.34 / 900}
            row |= {"upper": 30.6, "share_upper": 30.6 / 900}
        if not row["group"] and row["answer"] == "none":
            row |= {"upper": 907.2, "share_upper": 907.2 / 900}
    changed = pa.Table.from_pylist(rows, schema=table.schema)
    blocks = result_blocks(parameters, collection, changed, 0.95)
    tables = {block.title: block for block in blocks if isinstance(block, Table)}
    columns = {shown.heading: shown.cells for shown in tables["Estimates"].columns}
    cells = dict(
        zip(
            columns["answer"],
            zip(columns["estimate"], columns["95 % interval"], strict=True),
            strict=True,
        )
    )
    assert cells["flu"] == ("-7", "0* to 31")
    assert cells["none"][1].endswith("to 900*")
    assert "*" not in cells["HIV"][1]
    said = " ".join(block.text for block in blocks if isinstance(block, Sentence))
    assert said.count("* The interval goes on below 0, or above everybody") == 1
    assert said.count("An estimate below 0 comes from the noise") == 1
    gaps = tables["north less south: differences, most certain first"].columns[1]
    assert any("(-" in cell for cell in gaps.cells)
    assert not any("*" in cell for cell in gaps.cells)


def test_two_collections(collected):
    north = collected / "reports" / "region=north"
    south = collected / "reports" / "region=south"
    params = collected / "params.json"
    page = shown("difference", params, north, params, south)
    assert "first less second" in page
    printed = shown("difference", params, north, params, south, "--json")
    rows = json.loads(printed)
    assert {row["answer"] for row in rows} == {"HIV", "flu", "none"}
    assert next(row["p"] for row in rows if row["answer"] == "HIV") < 1e-6


def test_two_collections_by_name_group_and_file(collected, tmp_path):
    """Names stand in page and file; a group that both have has differences of its own."""
    params = collected / "params.json"
    both = collected / "reports"
    words = "difference", params, both, params, both / "region=north"
    words = *words, "--names", "last year, this year", "--by", "region"
    out = tmp_path / "gap.csv"
    page = shown(*words, "--out", out, "--report", tmp_path / "gap.html")
    assert "last year less this year" in page
    lines = out.read_text().splitlines()
    rows = list(csv.DictReader(lines))
    assert f"All {len(rows)} differences" in page
    groups = {row["group"] for row in rows if row["p"]}
    gap = "collections: last year less this year"
    assert groups == {gap, f"region = north, {gap}"}
    # The same reports in both: no difference at all.
    of_north = [row for row in rows if row["group"] == f"region = north, {gap}"]
    assert [float(row["share"]) for row in of_north] == [0, 0, 0]
    html = (tmp_path / "gap.html").read_text()
    assert "last year (900)" in html
    assert "<h3>region = north</h3>" in html
    with refused("exists. Write to another file, or", kind=FileError):
        shown(*words, "--out", out)


@pytest.mark.parametrize("names", ["one", "a,a", "a,", "a,b,c"])
def test_two_collections_need_two_names(collected, names):
    params = collected / "params.json"
    where = params, collected / "reports"
    with refused("names"):
        shown("difference", *where, *where, "--names", names)


def test_collections_without_a_common_value_are_not_compared_by_it(collected):
    north = collected / "reports" / "region=north"
    south = collected / "reports" / "region=south"
    params = collected / "params.json"
    with refused("no value of 'region' has reports in both"):
        shown("difference", params, north, params, south, "--by", "region")


OTHERS = """
[[question]]
name = "hours"
kind = "ordinal"
level = [{ name = "l", epsilon = 9, items = ["few", "some", "many"] }]
[[question]]
name = "income"
kind = "numeric"
lower = 0
upper = 10
epsilon = 6
"""


def test_quartiles_and_means_of_groups_stand_with_their_group(tmp_path):
    """Three contradicting medians stood one below the other, and no mean of a group anywhere."""
    asked, _, _ = SURVEY.partition("[[question]]")
    (tmp_path / "survey.toml").write_text(asked + OTHERS)
    params = tmp_path / "params.json"
    shown("plan", tmp_path / "survey.toml", "--out", params)
    for region, answer in (("north", "many,9"), ("south", "few,1")):
        answers = tmp_path / f"{region}.csv"
        answers.write_text("hours,income\n" + f"{answer}\n" * 400)
        out = tmp_path / "reports" / f"region={region}"
        shown("perturb", params, "--data", answers, "--out", out)
    words = ("aggregate", params, tmp_path / "reports", "--by", "region")
    printed = shown(*words, "--report", tmp_path / "r.html")
    page = " ".join(printed.split())
    assert "In north: median: many with 95 % confidence." in page
    assert "In south: median: few with 95 % confidence." in page
    html = (tmp_path / "r.html").read_text()
    printed = shown(*words, "--json")
    document = json.loads(printed)
    rows = document["estimates"]
    means = [row for row in rows if row["answer"] == "mean" and " = " in row["group"]]
    assert len(means) == 2
    for row in means:
        spread = (row["upper"] - row["lower"]) / 2
        value = as_exact_as(row["estimate"], spread)
        lower = as_exact_as(row["lower"], spread)
        upper = as_exact_as(row["upper"], spread)
        stated = f"{value} ({lower} to {upper})"
        assert stated in page
        assert stated in html
    # Three quarters of the population are in the north: 9 there, 1 in the south.
    weighted = [row for row in rows if row["group"] == "weighted by region"]
    (mean,) = [row for row in weighted if row["answer"] == "mean"]
    # Five standard errors: a chance of 6e-7. Without weights the mean is 5.
    assert abs(mean["estimate"] - 7) < 5 * mean["standard_error"] < 2
    (median,) = [row for row in weighted if row["answer"] == "median"]
    assert "median: many" in median["remark"]


def test_names_are_text_on_pages_and_no_formula_in_a_csv(tmp_path):
    """Of answers, groups, weights and collections, in results and differences."""
    script = "<script>alert(1)"
    survey = f"""[survey]
name = "=s {script}"
users = 400
groups = {{ region = ["+1;@x", "{script}"] }}
weights = {{ "+1;@x" = 1.2, "{script}" = 0.8 }}
[[question]]
name = "=q {script}"
[[question.level]]
name = "-l {script}"
epsilon = 6.0
items = ["=1+1", "@b {script}"]
"""
    (tmp_path / "survey.toml").write_text(survey)
    rows = [(f"=q {script}", "region")]
    rows += product(("=1+1", f"@b {script}"), ("+1;@x", script) * 100)
    with (tmp_path / "a.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    shown(
        "plan",
        tmp_path / "survey.toml",
        "--out",
        tmp_path / "p.json",
        "--report",
        tmp_path / "plan.html",
        "--handout",
        tmp_path / "handout.html",
    )
    reports = tmp_path / "reports.jsonl"
    shown(
        "perturb",
        tmp_path / "p.json",
        "--data",
        tmp_path / "a.csv",
        "--out",
        reports,
        "--survey",
        tmp_path / "survey.toml",
    )
    shown(
        "aggregate",
        tmp_path / "p.json",
        reports,
        "--by",
        "region",
        "--model",
        "answer ~ region",
        "--out",
        tmp_path / "result.csv",
        "--report",
        tmp_path / "result.html",
    )
    both = (tmp_path / "p.json", reports) * 2
    shown(
        "difference",
        *both,
        "--names",
        f"=A,{script}",
        "--out",
        tmp_path / "two.csv",
        "--report",
        tmp_path / "two.html",
    )
    for page in ("plan", "handout", "result", "two"):
        text = (tmp_path / f"{page}.html").read_text()
        assert script not in text
        assert "&lt;script&gt;alert(1)" in text
    for table in ("result", "two"):
        with (tmp_path / f"{table}.csv").open(newline="") as file:
            header, *rows = csv.reader(file)
        texts = header.index("users")  # what stands after it are numbers
        cells = [
            part for row in rows for cell in row[:texts] for part in cell.split(";")
        ]
        assert "region = +1" in cells or table == "two"
        assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]
