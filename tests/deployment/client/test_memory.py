"""What a client remembers: never the same budget twice, and nothing released that is not kept."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor

import pytest

from planner.deployment import Client, Memory
from planner.errors import FileError, InputError, VerificationError
from tests.deployment.examples import sealed


def test_asking_twice_does_not_spend_twice(parameter_file, tmp_path):
    path = tmp_path / "reports.sqlite"
    asked = [Client(parameter_file, memory=path) for _ in range(3)]
    for user in ("ann", "bob"):
        reports = {
            one.report("idue", answer, user=user) for one in asked for answer in ("HIV", "x")
        }
        assert len(reports) == 1
    assert path.stat().st_mode & 0o077 == 0
    fresh = {asked[0].report("idue", "x").report_id for _ in range(20)}
    assert len(fresh) == 20


def test_memory_is_kept_apart_by_parameters_user_and_question(document, tmp_path):
    memory = Memory(tmp_path / "reports.sqlite")
    other = sealed(document | {"users": 2000})
    reports = [
        Client(which, memory=memory).report(question, "x", user=user).report_id
        for which in (document, other)
        for question in ("idue", "grr")
        for user in ("ann", "bob")
    ]
    assert len(set(reports)) == 8


def test_two_at_once_get_the_same_report(parameter_file, tmp_path):
    path = tmp_path / "reports.sqlite"
    Memory(path)

    def ask(_):
        return Client(parameter_file, memory=path).report("idue", "x", user="ann")

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(ask, range(24)))) == 1


def test_sampling_needs_a_memory_and_remembers_both_rounds(parameter_file, tmp_path):
    client = Client(parameter_file, memory=tmp_path / "m.sqlite")
    for wrong in ({}, {"user": "ann"}, {"round_number": 1}, {"user": "ann", "round_number": 3}):
        with pytest.raises(InputError):
            client.report("sampled", "u", **wrong)
    for i in range(50):
        first = client.report("sampled", "u", user=f"{i}", round_number=1)
        second = client.report("sampled", "u", user=f"{i}", round_number=2)
        assert second == client.report("sampled", "w", user=f"{i}", round_number=2)
        assert first.report_id != second.report_id  # nothing links them
        moved = (first.payload, second.payload) == (bytes(4), (1).to_bytes(4, "little"))
        assert moved or first.payload == second.payload


def test_user_without_memory(parameter_file):
    with pytest.raises(InputError, match="memory"):
        Client(parameter_file).report("idue", "x", user="ann")


def test_a_memory_that_fails_releases_nothing(parameter_file, tmp_path):
    broken = tmp_path / "broken.sqlite"
    broken.write_bytes(b"not a database" * 100)
    for path in (broken, tmp_path / "nowhere" / "m.sqlite", tmp_path):
        with pytest.raises(FileError, match="memory"):
            Client(parameter_file, memory=path)
    path = tmp_path / "m.sqlite"
    client = Client(parameter_file, memory=path)
    path.write_bytes(b"overwritten" * 1000)
    with pytest.raises(FileError, match="memory"):
        client.report("idue", "x", user="ann")
    path.unlink()
    client = Client(parameter_file, memory=path)
    client.report("idue", "x", user="ann")
    with sqlite3.connect(path) as database:
        database.execute("UPDATE reports SET payload = x'00'")
    with pytest.raises(VerificationError, match="wrong size"):
        client.report("idue", "x", user="ann")


@pytest.mark.parametrize("die", [b"", b"123", b"12345"])
def test_a_die_of_the_wrong_size_reports_nothing(parameter_file, tmp_path, die):
    """Longer than four bytes it would always tell the truth."""
    path = tmp_path / "m.sqlite"
    client = Client(parameter_file, memory=path)
    client.report("sampled", "u", user="ann", round_number=1)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE reports SET payload = ? WHERE part = 'die'", (die,))
    for number in (1, 2):
        with pytest.raises(VerificationError, match=r"wrong size. Report nothing"):
            client.report("sampled", "u", user="ann", round_number=number)


def test_a_report_that_is_not_bytes_any_more_is_lost(parameter_file, tmp_path):
    path = tmp_path / "m.sqlite"
    client = Client(parameter_file, memory=path)
    client.report("idue", "x", user="ann")
    with sqlite3.connect(path) as database:
        database.execute("UPDATE reports SET payload = 'a text'")
    with pytest.raises(FileError, match=r"has lost a report. Do not ask again"):
        client.report("idue", "x", user="ann")


def test_a_failing_source_leaves_nothing_behind(tmp_path):
    memory, key = Memory(tmp_path / "m.sqlite"), ("hash", "ann", "q", "report")

    def fail():
        raise VerificationError("The source of entropy failed")

    with pytest.raises(VerificationError):
        memory.recall(key, fail)
    assert memory.recall(key, lambda: b"first") == b"first"
    assert memory.recall(key, lambda: b"second") == b"first"
