from pathlib import Path

import pyarrow as pa

from planner.cli.show.collection import show_estimates, show_files
from planner.deployment.collecting.counting.checkpoint import CountedFile
from planner.deployment.collecting.counting.collector import Collection
from tests.cli.running import printed


def counted(number):
    return CountedFile(Path(f"{number}.parquet"), (1, 1), str(number), 1000)


def test_what_was_counted_before_and_left_out():
    files = (counted(1), counted(2))
    page = printed(show_files, Collection({}, files, ((Path("3.parquet"), "is empty"),), 1))
    assert page.startswith("2,000 reports in 2 files counted\n")
    assert "1 of the files had been counted before." in page
    assert "LEFT OUT 3.parquet: is empty\nHave what was left out written or sent again" in page


def test_nothing_to_remark():
    page = printed(show_files, Collection({}, (counted(1),), (), 0))
    assert page == "1,000 reports in 1 file counted\n"


def test_long_lists_end_where_they_are_cut():
    refused = tuple((Path(f"{i}.parquet"), "is empty") for i in range(25))
    page = printed(show_files, Collection({}, (), refused, 0))
    assert page.count("LEFT OUT") == 20
    assert "... and 5 more files left out (see --json)." in page


def estimates(count, **changes):
    row = {
        "question": "q", "answer": "a", "estimate": 12.345, "standard_error": 123.45,
        "lower": -1.5, "upper": 30.0, "processed": 12.0, "remark": "",
    }  # fmt: skip
    return pa.Table.from_pylist([row | {"answer": f"a{i}"} | changes for i in range(count)])


def test_estimates_the_largest_first_and_how_many_more():
    rows = estimates(25).to_pylist()
    rows[7]["estimate"] = 100_000.0
    page = printed(show_estimates, pa.Table.from_pylist(rows), 0.9)
    first = next(line for line in page.splitlines() if " q " in line)
    assert "a7" in first
    assert "100,000.0" in first
    assert "12.35" in page  # four digits
    assert "123.5" in page
    assert "90% interval" in page
    assert "... and 5 more estimates (see --json or --out)." in page


def test_ordered_answers_stand_in_their_order_and_quantiles_below():
    rows = estimates(4).to_pylist()
    for row, (question, answer, value, remark) in zip(
        rows,
        [
            ("age", "up to 17", 5.0, ""),
            ("age", "up to 65", 90.0, ""),
            ("age", "median", None, "median: 18-65"),
            ("bill", "median", None, "median: much"),
        ],
        strict=True,
    ):
        row.update(question=question, answer=answer, estimate=value, remark=remark)
    table = pa.Table.from_pylist(rows)
    page = printed(show_estimates, table, 0.95, ["age", "bill"])
    assert page.index("up to 17") < page.index("up to 65")
    assert "age: median: 18-65\nbill: median: much\n" in page
    assert page.count("median") == 2  # none without a number in the table
    assert "\nMedian: 18-65\n" in printed(show_estimates, table.slice(0, 3), 0.95, ["age"])


def test_what_has_no_value_is_left_empty_and_remarked():
    table = estimates(1, estimate=None, standard_error=None, processed=None, remark="nobody did")
    page = printed(show_estimates, table, 0.95)
    assert "None" not in page
    assert "\nNobody did\n" in page
