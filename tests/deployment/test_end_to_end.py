"""plan -> export -> perturb -> aggregate -> estimate, with the commands, on real baskets."""

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy.stats import chi2, norm
from typer.testing import CliRunner

from planner.cli import app
from planner.deployment.bulk import _bernoulli, draw_unary, perturb_file
from planner.deployment.collector import collect
from planner.deployment.estimating import estimates_table, write_table
from planner.deployment.parameters import read_parameters
from planner.errors import FileError, InputError
from planner.mechanisms.aggregate import Aggregate

RETAIL = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "retail.dat"
FALSE_ALARM = 1e-6


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
    assert inside >= len(items) - 3  # all, with 95 %; four out only with 2e-5 or less
    processed = np.array([row["processed"] for row in table])
    assert processed.min() >= 0
    assert processed.sum() == pytest.approx(88_162)
    assert np.square(processed - truth).sum() < np.square(estimate - truth).sum()


def _within_prediction(parameters, table, truth, estimate):
    """The total squared error against its predicted distribution, and a 5 % wrong one."""
    law = parameters.questions[0].law
    level = np.array(law.levels.level_of())
    a, b = (np.array(column)[level] / 2**32 for column in (law.a, law.b))
    assert [row["answer"] for row in table] == law.levels.item_names()
    n = 88_162
    variance = (n - truth) * b * (1 - b) + truth * a * (1 - a)
    z = (estimate - truth) * (a - b) / np.sqrt(variance)  # independent, nearly standard normal

    def p_value(wrong):
        total = np.square(z).sum() / wrong
        return 2 * min(chi2.cdf(total, z.size), chi2.sf(total, z.size))

    assert p_value(1.0) > FALSE_ALARM
    assert p_value(1.1) < FALSE_ALARM
    assert p_value(0.9) < FALSE_ALARM
    assert abs(z).max() < norm.isf(FALSE_ALARM / z.size / 2)
    spread = np.array([row["standard_error"] for row in table]) * (a - b) / np.sqrt(variance)
    assert abs(spread - 1).max() < 0.1


# -- every mechanism through the files ---------------------------------------------------

ANSWERS = {
    "idue": "flu", "avg": "cold", "matrix": "x", "rappor": "HIV", "oue": "é\n",
    "sets": "flu;x", "grr": "x", "olh": "cold", "subset": "flu",
    "age": "53.5", "yes": "1", "sampled": "v",
}  # fmt: skip


@pytest.fixture(scope="module")
def everything(parameters, tmp_path_factory):
    """Files of 3,000 people who all give the same answers, and one in four no number."""
    place = tmp_path_factory.mktemp("everything")
    with (place / "answers.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ANSWERS)
        writer.writeheader()
        for i in range(3000):
            writer.writerow(ANSWERS | ({"age": ""} if i % 4 == 0 else {}))
    written = perturb_file(parameters, place / "answers.csv", place / "reports")
    assert len(written) == 13
    return place


def test_every_mechanism_is_estimated_within_its_intervals(parameters, everything):
    done = collect(parameters, [everything / "reports"])
    assert not done.quarantined
    assert not done.suspicious
    rows = estimates_table(parameters, done.sums, confidence=1 - 1e-7).to_pylist()
    assert {row["question"] for row in rows} == set(ANSWERS)
    numbers = {
        ("age", "mean"): 53.5, ("age", "missing rate"): 0.25, ("age", "total"): 53.5 * 2250,
        ("yes", "mean"): 1.0, ("yes", "missing rate"): 0.0, ("yes", "total"): 3000.0,
        ("yes", "frequency"): 1.0,
    }  # fmt: skip
    for row in rows:
        key = (row["question"], row["answer"])
        held = row["answer"] in ANSWERS[row["question"]].split(";")
        truth = numbers.get(key, 3000.0 if held else 0.0)
        assert row["lower"] - 1e-9 <= truth <= row["upper"] + 1e-9, row
        assert row["users"] == 3000


def test_estimates_as_parquet_csv_and_json(parameters, everything, tmp_path):
    import pandas

    table = estimates_table(parameters, collect(parameters, [everything / "reports"]).sums)
    for suffix, read in (
        ("parquet", pandas.read_parquet), ("csv", pandas.read_csv), ("json", pandas.read_json),
    ):  # fmt: skip
        write_table(tmp_path / f"e.{suffix}", table)
        frame = read(tmp_path / f"e.{suffix}")
        assert list(frame.columns) == table.column_names
        np.testing.assert_allclose(frame["estimate"], table["estimate"].to_numpy())
    with pytest.raises(FileError, match="ends in none of"):
        write_table(tmp_path / "e.xlsx", table)


def test_rounds_that_do_not_fit(parameters, everything):
    folder = everything / "reports"
    first = folder / "question-12-round-1.parquet"
    with pytest.raises(InputError, match="equally many"):
        estimates_table(parameters, collect(parameters, [first]).sums)
    with pytest.raises(InputError, match="none"):
        estimates_table(parameters, {})


def test_newline_json_by_the_command(parameter_file, everything, tmp_path):
    out = tmp_path / "grr.jsonl"
    words = ("--data", everything / "answers.csv", "--out", out, "--question", "grr")
    command("perturb", parameter_file, *words)
    assert len(out.read_text().splitlines()) == 3000
    shown = command("aggregate", parameter_file, out, "--json")
    document = json.loads(shown.stdout)
    assert document["reports"] == 3000
    assert document["false_alarm_rate_per_file_and_question"] == 1e-6


# -- bulk draws follow the client's law ----------------------------------------------------


def test_bulk_bits_are_exact():
    """All first digits, and at a tie all values around the rest: k of 2^32, counted."""
    threshold = np.uint32(0x5A_123456)

    def bit(first, rest):
        played = iter([bytes([first]), np.array([rest], "<u4").tobytes()])
        return bool(_bernoulli(np.array([threshold]), 1, lambda _: next(played))[0, 0])

    ones = sum(bit(first, 0xFFFFFFFF) * 2**24 for first in range(256) if first != 0x5A)
    assert ones == 0x5A * 2**24
    below = [bit(0x5A, rest) for rest in (0, 0x123455, 0x123456, 0xFFFFFF, 0xFF_000000)]
    assert below == [True, True, False, False, True]  # 0x123456 of the 2^24 rests


def test_bulk_reports_follow_the_law(one_question):
    law, n = one_question.questions[0].law, 30_000
    true = np.full(n, 2)
    rows = draw_unary(law, true)
    counts = np.unpackbits(rows, axis=1, bitorder="little")[:, :40].sum(axis=0)
    level = np.array(law.levels.level_of())
    p = np.array(law.b)[level] / 2**32
    p[2] = law.a[0] / 2**32
    z = (counts - n * p) / np.sqrt(n * p * (1 - p))
    limit = norm.isf(FALSE_ALARM / 80)
    assert abs(z).max() < limit
    wrong = (counts - n * 1.1 * p) / np.sqrt(n * p * (1 - p))
    assert abs(wrong).min() > limit  # a near miss shows in every bit


# -- the commands refuse in words --------------------------------------------------------


def fails(*words):
    with pytest.raises(InputError) as caught:
        command(*words)
    return str(caught.value)


def test_perturb_refuses_before_anything_is_written(parameter_file, tmp_path):
    data, out = tmp_path / "a.csv", tmp_path / "out.parquet"
    cases = {
        "idue\nHIV\nnobody\n": "line 3: answer",
        "idue\nHIV\n\n": "too few columns",
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
    with pytest.raises(InputError, match="at least one file"):
        command("aggregate", parameter_file, folder)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--confidence", "1"), "confidence"),
        (("--out", "e.xlsx"), "ends in"),
        (("--engine", "spark"), "local, isolated or dask"),
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


def test_counts_that_no_estimator_takes(parameters):
    with pytest.raises(InputError, match="counts"):
        estimates_table(parameters, {("grr", None): Aggregate(3, np.array([1, 2]))})
