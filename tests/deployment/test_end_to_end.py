"""plan -> export -> perturb -> aggregate -> estimate, with the commands, on real baskets."""

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from planner.cli.commands import app
from planner.deployment.parameters import read_parameters
from planner.errors import InputError
from planner.mechanisms.subset_design import SubsetDesignMechanism
from planner.policy.policy import PrivacyPolicy

RETAIL = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "retail.dat"


def command(*words, code=0):
    """The command's outcome; its exit code is checked."""
    result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


SURVEY = """
[survey]
name = "baskets"
users = {users}

[[question]]
name = "first item"
"""


@pytest.fixture(scope="module")
def retail(tmp_path_factory):
    """The first item of every basket, a survey with 5/5/90 % of all items in three levels."""
    if not RETAIL.exists():
        pytest.skip("the retail data set is not there (../shared/data/retail.dat)")
    place = tmp_path_factory.mktemp("retail")
    baskets = [line.split() for line in RETAIL.read_text().splitlines()]
    items = sorted({item for basket in baskets for item in basket}, key=int)
    firsts = [basket[0] for basket in baskets]
    order = np.random.default_rng(5).permutation(len(items))
    edges = np.round(np.array([0, 0.05, 0.1, 1]) * len(items)).astype(int)
    text = SURVEY.format(users=len(baskets))
    for i, epsilon in enumerate((4.0, 4.8, 8.0)):
        names = json.dumps([items[k] for k in sorted(order[edges[i] : edges[i + 1]])])
        text += f'[[question.level]]\nname = "l{i}"\nepsilon = {epsilon}\nitems = {names}\n'
    (place / "survey.toml").write_text(text)
    with (place / "answers.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["first item"], *([item] for item in firsts)])
    return place, items, firsts


def test_all_retail_users_from_plan_to_estimates(retail):
    place, items, firsts = retail
    assert len(firsts) == 88_162
    command("plan", place / "survey.toml", "--out", place / "params.json")
    command("verify", place / "params.json")
    command(
        "perturb", place / "params.json",
        "--data", place / "answers.csv", "--out", place / "reports.parquet",
    )  # fmt: skip
    reports = place / "reports.parquet"
    shown = command("aggregate", place / "params.json", reports, "--out", place / "est.parquet")
    assert "88,162 reports in 1 file counted" in shown.output
    assert "SUSPICIOUS" not in shown.output
    table = pq.read_table(place / "est.parquet").to_pylist()
    assert sorted(row["answer"] for row in table) == sorted(items)
    true = dict.fromkeys(items, 0)
    for item in firsts:
        true[item] += 1
    truth = np.array([true[row["answer"]] for row in table])
    estimate = np.array([row["estimate"] for row in table])
    _within_prediction(read_parameters(place / "params.json"), table, truth, estimate)
    inside = sum(
        row["joint_lower"] <= t <= row["joint_upper"] for row, t in zip(table, truth, strict=True)
    )
    assert inside >= len(items) - 4  # a tenth is out on average; five with a chance of 8e-8
    processed = np.array([row["processed"] for row in table])
    assert processed.min() >= 0
    assert processed.sum() == pytest.approx(88_162)
    assert np.square(processed - truth).sum() < np.square(estimate - truth).sum()


def _within_prediction(parameters, table, truth, estimate):
    """The total squared error against its prediction, and predictions that are 15 % wrong.

    Draws are the operating system's: whatever passes the first line passes those that tell it
    from wrong predictions, as long as the collection is large enough to tell.
    """
    assert parameters.questions[0].mechanism == "subset-design"
    law = parameters.questions[0].shape
    assert [row["answer"] for row in table] == law.levels.item_names()
    variance = SubsetDesignMechanism(
        PrivacyPolicy(law.levels.epsilons, law.levels.item_counts),
        *(np.array(part) for part in (law.types, law.weights, law.values)),
        np.repeat(np.arange(len(law.levels.names)), law.levels.item_counts),
    ).variance(truth)
    # Errors of items are normal but for rounding and all but independent.
    spread = np.sqrt(2 * np.square(variance).sum()) / variance.sum()
    ratio = np.square(estimate - truth).sum() / variance.sum()
    limit = 5.2 * spread  # 2e-7
    assert abs(ratio - 1) < limit
    assert abs(ratio / 1.15 - 1) > limit
    assert abs(ratio / 0.86 - 1) > limit
    z = (estimate - truth) / np.sqrt(variance)
    assert abs(z).max() < 7.2  # 2e-7 for 16,470 estimates, whose skewness is 0.05
    stated = np.square([row["standard_error"] for row in table]) / variance
    assert abs(stated.mean() - 1) < 0.05  # more than six of its standard deviations: 1e-9


def test_newline_json_by_the_command(parameter_file, everything, tmp_path):
    out = tmp_path / "grr.jsonl"
    words = ("--data", everything / "answers.csv", "--out", out, "--question", "grr")
    command("perturb", parameter_file, *words)
    assert len(out.read_text().splitlines()) == 3000
    shown = command("aggregate", parameter_file, out, "--json")
    document = json.loads(shown.stdout)
    assert document["reports"] == 3000


def fails(*words):
    with pytest.raises(InputError) as caught:
        command(*words)
    return str(caught.value)


def test_perturb_refuses_before_anything_is_written(parameter_file, tmp_path):
    data, out = tmp_path / "a.csv", tmp_path / "out.parquet"
    cases = {
        "idue\nHIV\nnobody\n": "line 3: answer",
        "idue\nHIV\n\n": "line 3: answer is missing",
        "other\nHIV\n": "one column 'idue'",
        "idue\n": "no rows",
        "": "one column 'idue'",
    }
    for text, reason in cases.items():
        data.write_text(text)
        assert reason in fails("perturb", parameter_file, "--data", data, "--out", out,
                               "--question", "idue")  # fmt: skip
        assert not out.exists()
    data.write_bytes(b"idue\n\xff\n")
    one = ("--question", "idue", "--data", data)
    assert "UTF-8" in fails("perturb", parameter_file, *one, "--out", out)
    data.write_text("idue,sets,age\nHIV,[1],1\n")
    assert "ends neither" in fails("perturb", parameter_file, *one, "--out", tmp_path / "x.csv")
    assert "one file" in fails("perturb", parameter_file, "--data", data, "--out", out,
                               "--question", "idue", "--question", "grr")  # fmt: skip
    for name in ("sets", "age", "nothing"):
        assert name in fails("perturb", parameter_file, "--data", data, "--out", out,
                             "--question", name) or name in ("sets", "age")  # fmt: skip
    missing = ("--question", "idue", "--data", tmp_path / "no.csv", "--out", out)
    assert "cannot be read" in fails("perturb", parameter_file, *missing)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv"]


def test_aggregate_says_what_was_left_out(parameter_file, everything, tmp_path):
    folder = tmp_path / "reports"
    folder.mkdir()
    source = everything / "reports" / "question-7.parquet"
    (folder / "a.parquet").write_bytes(source.read_bytes())
    (folder / "b.parquet").write_bytes(source.read_bytes())
    out = tmp_path / "e.csv"
    shown = command("aggregate", parameter_file, folder, "--out", out, code=3)
    assert "LEFT OUT" in shown.stdout
    assert "is a copy of" in shown.stdout
    assert out.exists()
    again = command("aggregate", parameter_file, folder, "--out", out, "--json", code=3)
    assert json.loads(again.stdout)["files_counted_before"] == 1
    (folder / "a.parquet").unlink()
    (folder / "b.parquet").write_bytes(b"")
    with pytest.raises(InputError, match="none of the files can be counted"):
        command("aggregate", parameter_file, folder)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--confidence", "1"), "confidence"),
        (("--out", "e.xlsx"), "ends in"),
        (("--engine", "spark"), "local, isolated, dask"),
        (("--engine", "dask"), "scheduler"),
        (("--engine", "dask", "--scheduler", "nonsense"), "scheduler"),
    ],
    ids=str,
)
def test_aggregate_refuses_in_words(parameter_file, everything, words, reason):
    assert reason in fails("aggregate", parameter_file, everything / "reports", *words)


def test_schema_and_vectors_commands(parameter_file, tmp_path):
    assert json.loads(command("schema").stdout)["title"] == "Parameters"
    command("vectors", parameter_file, "--out", tmp_path / "v.json")
    printed = command("vectors", parameter_file).stdout
    assert json.loads(printed) == json.loads((tmp_path / "v.json").read_text())
