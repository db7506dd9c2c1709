"""The deployment commands on a small collection; real ones are in tests/deployment."""

import json

import pytest

from planner.errors import FileError, InputError
from tests.cli.running import ended, run, shown
from tests.refusals import refused
from tests.surveys import EXAMPLES


@pytest.fixture(scope="module")
def collected(tmp_path_factory):
    """Parameters, a thousand answers, and their reports."""
    folder = tmp_path_factory.mktemp("collection")
    shown("plan", EXAMPLES / "health.toml", "--out", folder / "params.json")
    (folder / "answers.csv").write_text("diagnosis\n" + "HIV\nanemia\n" * 500)
    shown(*perturbing(folder))
    return folder


def perturbing(folder, *words):
    data = folder / "answers.csv"
    out = folder / "reports.parquet"
    return "perturb", folder / "params.json", "--data", data, "--out", out, *words


def test_perturb_says_what_it_wrote(collected):
    read = "Read as: one column, UTF-8, 1,000 rows."
    written = f"1,000 reports written to {collected}/reports.parquet"
    printed = shown(*perturbing(collected, "--force"))
    assert printed == f"{read}\n{written}\n"
    with refused("exists. Write to another file, or", kind=FileError):
        shown(*perturbing(collected))
    printed = shown(*perturbing(collected, "--json", "--force"))
    document = json.loads(printed)
    assert document == {"written": {f"{collected}/reports.parquet": 1000}, "read": read}


def test_more_people_than_were_planned_are_remarked(tmp_path):
    """As where answers are randomised twice: 90 of 100 people, and 180."""
    text = (EXAMPLES / "health.toml").read_text().replace("100_000", "100")
    (tmp_path / "few.toml").write_text(text)
    shown("plan", tmp_path / "few.toml", "--out", tmp_path / "params.json")
    (tmp_path / "answers.csv").write_text("diagnosis\n" + "HIV\n" * 90)
    words = ("aggregate", tmp_path / "params.json")
    remarks = []
    for name in ("1.parquet", "2.parquet"):
        out = tmp_path / name
        shown(
            "perturb",
            tmp_path / "params.json",
            "--data",
            tmp_path / "answers.csv",
            "--out",
            out,
        )
        words += (out,)
        page = shown(*words)
        remarks.append("more than were planned" in page)
    assert remarks == [False, True]
    assert "180 people reported on 'diagnosis'" in page
    assert json.loads(shown(*words, "--json"))["more_people_than_planned"] == {
        "diagnosis": 180
    }


def test_set_sizes_name_two_questions(collected):
    words = (
        "aggregate",
        collected / "params.json",
        collected / "nothing here",
        "--set-sizes",
    )
    for text in ("diagnosis", "diagnosis=how many", "="):
        with refused("set-sizes"):
            shown(*words, text)
    with refused("set_sizes"):  # before anything is counted
        shown(*words, "diagnosis=diagnosis")


def test_written_estimates_are_announced(collected):
    out = collected / "estimates.csv"
    page = shown(
        "aggregate",
        collected / "params.json",
        collected / "reports.parquet",
        "--out",
        out,
    )
    assert page.endswith(f"All 5 estimates written to {out}\n")
    text = out.read_text()
    assert text.count("\n") == 6
    shown(
        "aggregate",
        collected / "params.json",
        collected / "reports.parquet",
        "--out",
        out,
        "--excel",
    )
    assert out.read_bytes().startswith(b"\xef\xbb\xbf")
    with refused("excel"):
        shown(
            "aggregate",
            collected / "params.json",
            collected / "reports.parquet",
            "--excel",
        )


def test_engines_are_checked_before_anything_is_read(collected):
    words = (
        "aggregate",
        collected / "params.json",
        collected / "reports.parquet",
        "--engine",
    )
    for options, reason in (
        (
            ["spark"],
            "engine is 'spark' but must be one of local, dask. Leave --engine out to "
            "count on this machine.",
        ),
        (
            ["dask"],
            "scheduler is empty but must be given with --engine dask. Name it: --scheduler "
            "tcp://HOST:8786.",
        ),
    ):
        with pytest.raises(InputError) as caught:
            shown(*words, *options)
        assert str(caught.value) == reason


def test_vectors_go_to_the_screen_or_to_a_file(collected):
    printed = shown("vectors", collected / "params.json")
    assert (
        shown("vectors", collected / "params.json", "--out", collected / "vectors.json")
        == ""
    )
    assert (collected / "vectors.json").read_text() == printed


def test_pipes_and_files_get_no_progress(collected):
    done = run("aggregate", collected / "params.json", collected / "reports.parquet")
    assert done.returncode == 0
    assert done.stderr == ""
    done = ended("aggregate", collected / "params.json", collected / "nothing")
    assert done.stdout == ""
    assert done.stderr.startswith("ldp-planner: ")  # no empty line before it


def test_files_left_out_have_an_exit_code_of_their_own(collected):
    (collected / "broken.parquet").write_bytes(b"")
    words = []
    for name in ("params.json", "reports.parquet", "broken.parquet"):
        words.append(str(collected / name))
    done = ended("aggregate", *words)
    assert done.returncode == 3
    assert "LEFT OUT" in done.stdout


def test_reports_are_never_replaced_by_what_is_computed_from_them(collected):
    before = (collected / "reports.parquet").read_bytes()
    words = (
        "aggregate",
        collected / "params.json",
        collected / "reports.parquet",
        "--out",
    )
    with refused("would be replaced, but is read", kind=FileError):
        shown(*words, collected / "reports.parquet")
    with refused("would be replaced, but is read", kind=FileError):
        shown(*perturbing(collected)[:-1], collected / "params.json")
    assert (collected / "reports.parquet").read_bytes() == before


def test_files_that_are_gone_stop_the_run_or_are_taken_out(collected, tmp_path):
    folder = tmp_path / "reports"
    folder.mkdir()
    for name in ("a.parquet", "b.parquet"):
        shown(*perturbing(collected)[:-1], folder / name)
    words = ("aggregate", collected / "params.json", folder, "--out", folder / "e.csv")
    assert "2,000 reports in 2 files counted" in shown(*words)
    (folder / "a.parquet").unlink()
    with refused("was counted and is missing, as are 0 more files", kind=FileError):
        shown(*words)
    assert "2,000 reports in 2 files counted" in shown(*words, "--missing", "keep")
    page = shown(*words, "--missing", "drop")
    assert "1,000 reports in 1 file counted" in page
    assert "TAKEN OUT" in page
    assert "TAKEN OUT" not in shown(*words)
