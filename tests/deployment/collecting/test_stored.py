"""Reports in an object store, read through pyarrow's file systems, beside the same in a folder."""

import pytest

from planner.deployment import Client
from planner.deployment.collecting.collector import collect
from planner.deployment.collecting.one_file import count_file
from planner.deployment.collecting.reports import Expected
from planner.deployment.collecting.stored import Stored, _system, place_of
from planner.errors import FileError
from tests.deployment.object_store import object_store
from tests.deployment.report_files import KEY, draw, write
from tests.refusals import refused


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A bucket with nothing in it, as a folder."""
    (tmp_path / "store" / "bucket").mkdir(parents=True)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    _system.cache_clear()  # of another address
    with object_store(tmp_path / "store") as address:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{address}")
        yield tmp_path / "store" / "bucket"


def test_a_store_is_counted_like_a_folder(store, one_question, collection, tmp_path):
    folder, _, users = collection
    client = Client(one_question.document)
    (folder / "deep").mkdir()
    (folder / "deep" / "a.jsonl").write_text(client.report("q", 1).to_json() + "\n")
    (folder / "notes.txt").write_text("")
    (folder / "bad.parquet").write_bytes(b"PAR1")
    here = collect(one_question, [folder])
    folder.rename(store / "reports")
    progress = tmp_path / "progress"
    for resumed in (0, 11):
        done = collect(one_question, [place_of("s3://bucket/reports")], checkpoint=progress)
        assert (done.sums[KEY].users, done.resumed) == (users + 1, resumed)
        assert done.sums[KEY].counts.tolist() == here.sums[KEY].counts.tolist()
        assert [(path.name, reason) for path, reason in done.quarantined] == [
            (path.name, reason) for path, reason in here.quarantined
        ]
    assert str(done.counted[-1].path) == "s3://bucket/reports/deep/a.jsonl"
    (store / "reports" / "0.parquet").write_bytes(b"changed")
    with refused(FileError):
        collect(one_question, [place_of("s3://bucket/reports")], checkpoint=progress)


def test_what_is_wrong_with_an_address(store, one_question, rng):
    for address in (
        "s3://bucket/nowhere",
        "s3://key:secret@bucket/reports",
        "nfs://bucket/reports",
    ):
        with refused(FileError):
            collect(one_question, [place_of(address)])
    write(store / "a.parquet", one_question, draw(one_question, rng, 9))
    expected = Expected.of(one_question)
    assert count_file(Stored("s3://bucket/a.parquet"), expected).users == 9
    (store / "a.parquet").unlink()
    assert "does not exist" in count_file(Stored("s3://bucket/a.parquet"), expected).refused
