"""What a client remembers: never the same budget twice, and nothing released that is not kept."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from planner.deployment import Client, Memory
from planner.deployment.collecting.checkpoint import Checkpoint
from planner.deployment.collecting.engines import FileCount
from planner.errors import FileError, VerificationError
from tests.deployment.examples import sealed
from tests.refusals import refused


def test_asking_twice_does_not_spend_twice(parameter_file, tmp_path):
    path = tmp_path / "reports.sqlite"
    asked = [Client(parameter_file, memory=path) for _ in range(3)]
    for user in ("ann", "bob"):
        reports = {
            client.report("idue", said, user=user)
            for client in asked
            for said in ("HIV", "x")
        }
        assert len(reports) == 1
    assert path.stat().st_mode & 0o077 == 0
    fresh = {asked[0].report("idue", "x").report_id for _ in range(20)}
    assert len(fresh) == 20


def test_memory_is_kept_apart_by_parameters_user_and_question(document, tmp_path):
    memory = Memory(tmp_path / "reports.sqlite")
    other = sealed(document | {"users": 2000})
    reports = []
    for which in (document, other):
        for question in ("idue", "grr"):
            for user in ("ann", "bob"):
                reports.append(
                    Client(which, memory=memory)
                    .report(question, "x", user=user)
                    .report_id
                )
    assert len(set(reports)) == 8


def test_two_at_once_get_the_same_report(parameter_file, tmp_path):
    path = tmp_path / "reports.sqlite"
    Memory(path)

    def ask(_):
        client = Client(parameter_file, memory=path)
        return client.report("idue", "x", user="ann")

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(ask, range(24)))) == 1


def test_a_memory_that_fails_releases_nothing(parameter_file, tmp_path):
    broken = tmp_path / "broken.sqlite"
    broken.write_bytes(b"not a database" * 100)
    for path in (broken, tmp_path / "nowhere" / "m.sqlite", tmp_path):
        with refused(
            "is not a memory of reports, or is a damaged",
            "No such file or directory",
            "Is a directory",
            kind=FileError,
        ):
            Client(parameter_file, memory=path)
    path = tmp_path / "m.sqlite"
    client = Client(parameter_file, memory=path)
    path.write_bytes(b"overwritten" * 1000)
    with refused("file is not a database", kind=FileError):
        client.report("idue", "x", user="ann")
    path.unlink()
    with refused(
        "unable to open database file", kind=FileError
    ):  # no new one is made meanwhile
        client.report("idue", "x", user="ann")


def kept_by(path):
    with sqlite3.connect(path) as database:
        return [
            content for (content,) in database.execute("SELECT content FROM reports")
        ]


def test_the_memory_of_two_rounds_does_not_tell_the_answer(parameter_file, tmp_path):
    """After round one it holds a die that is blind, after round two that round's report alone."""
    path = tmp_path / "m.sqlite"
    client = Client(parameter_file, memory=path)
    first = client.report("sampled", "u", user="ann", round_number=1)
    assert first == client.report("sampled", "w", user="ann", round_number=1)
    (kept,) = kept_by(path)
    expected = bytes([1]) + bytes.fromhex(first.report_id)
    assert kept[:9] == expected
    die = kept[9:]
    assert len(die) == 4
    second = client.report("sampled", "u", user="ann", round_number=2)
    assert kept_by(path) == [
        bytes([2]) + bytes.fromhex(second.report_id) + second.payload
    ]
    assert kept not in path.read_bytes()  # overwritten, not only unlinked
    assert bytes.fromhex(first.report_id) not in path.read_bytes()
    with refused("round_number"):
        client.report("sampled", "u", user="ann", round_number=1)
    assert second == client.report("sampled", "w", user="ann", round_number=2)
    assert first.report_id != second.report_id  # nothing links them


def test_a_failing_source_leaves_nothing_behind(tmp_path):
    def fail(_):
        raise VerificationError("The source of entropy failed")

    memory = Memory(tmp_path / "m.sqlite")
    with pytest.raises(VerificationError):
        memory.change(("hash", "ann", "q"), fail)
    assert (
        memory.change(("hash", "ann", "q"), lambda kept: kept or b"first") == b"first"
    )


def test_many_people_share_a_memory(tmp_path):
    """Several on one page, of which there are 256."""
    memory = Memory(tmp_path / "m.sqlite")
    for k in range(1200):
        text = str(k % 600).encode()
        if k < 600:
            content = text
        else:
            content = b"another"
        assert (
            memory.change(("hash", str(k % 600), "q"), partial(first_of, content))
            == text
        )


def first_of(made, kept):
    if kept is None:
        return made
    return kept


# -- damage, of a memory and of a checkpoint, which are files of one kind -----------------------

HASH = "0" * 64


def use_memory(path):
    found = Memory(path).change((HASH, "ann", "q"), lambda kept: kept or b"first")
    assert found == b"first"


def use_checkpoint(path):
    saved = Checkpoint(path, HASH)
    if not saved.files():
        saved.save([FileCount(Path("/x"), (5, 7), "id", 3)])
    saved.close()


KINDS = {"reports": use_memory, "counted": use_checkpoint}


@pytest.mark.parametrize("table", KINDS)
@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM {}",
        "DELETE FROM {}_pages",
        "DELETE FROM {}_root",
        "INSERT INTO {0}_root SELECT * FROM {0}_root",
        "UPDATE {}_root SET content = x'00'",
        "UPDATE {}_root SET content = 'text'",
        "UPDATE {}_pages SET content = 'text'",
        "UPDATE {}_pages SET content = zeroblob(64)",
        "UPDATE {}_pages SET name = name + 1",
        "UPDATE {} SET content = x'00'",
        "UPDATE {} SET content = 'text'",
        "UPDATE {0} SET name = x'00' || name",
        "DROP TABLE {}",
    ],
)
def test_damage_is_named(tmp_path, table, damage):
    use = KINDS[table]
    path = tmp_path / "file"
    use(path)
    use(path)
    with sqlite3.connect(path) as database:
        database.execute(damage.format(table))
    with refused(kind=FileError):
        use(path)


@pytest.mark.parametrize("table", KINDS)
def test_what_is_cut_off_or_of_an_earlier_version(tmp_path, table):
    use = KINDS[table]
    path = tmp_path / "file"
    use(path)
    whole = path.read_bytes()
    for size in (0, 1, 99, 100, 4096, 8192, -4096):
        path.write_bytes(whole[:size])
        with refused(kind=FileError):
            use(path)
    path.unlink()
    with sqlite3.connect(path) as database:
        database.execute(
            "CREATE TABLE files (parameters TEXT, user TEXT, payload BLOB)"
        )
    with refused(
        "is no checkpoint, or is one of an earlier version",
        "is no memory of reports, or is one of an earlier",
        kind=FileError,
    ):
        use(path)
