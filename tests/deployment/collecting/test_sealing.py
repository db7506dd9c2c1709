"""The seal betrays damage, and other programs do not mind it."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from planner.deployment.collecting import parquet as sealing
from planner.deployment.collecting.parquet import check_seal, seal
from planner.errors import InputError


@pytest.mark.parametrize("chunk", [7, 2**20])
def test_other_programs_do_not_mind_the_seal(tmp_path, monkeypatch, chunk):
    monkeypatch.setattr(sealing, "_CHUNK", chunk)
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": range(1000)}), path)
    before, size = pq.read_table(path), path.stat().st_size
    seal(path)
    check_seal(path)
    assert pq.read_table(path) == before
    assert path.stat().st_size == size + 24


@pytest.mark.parametrize("rows", [0, 1000])
def test_a_file_without_a_seal(tmp_path, rows):
    """Also one that is so short that no seal could be in it."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": pa.array(range(rows), pa.int64())}), path)
    with pytest.raises(InputError, match="has no seal"):
        check_seal(path)
    path.write_bytes(b"PAR1" + b"f" * 4 + (4).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(InputError, match="has no seal"):
        check_seal(path)


FRAMED = [
    (b"", "file has 0 bytes"),
    (b"PAR1PAR1PAR", "file has 11 bytes"),
    (b"not Parquet" * 9, "no complete Parquet file"),
    (b"PAR1" + bytes(12), "no complete Parquet file"),
    (bytes(12) + b"PAR1", "no complete Parquet file"),
    (b"PAR1" + (1).to_bytes(4, "little") + b"PAR1", "footer is damaged"),
    (b"PAR1" + b"\xff" * 4 + b"PAR1", "footer is damaged"),
]


@pytest.mark.parametrize(("data", "reason"), FRAMED, ids=[reason for _, reason in FRAMED])
@pytest.mark.parametrize("function", [seal, check_seal])
def test_what_is_no_complete_parquet_file(tmp_path, data, reason, function):
    path = tmp_path / "a.parquet"
    path.write_bytes(data)
    with pytest.raises(InputError, match=reason):
        function(path)
    assert path.read_bytes() == data


def test_the_shortest_file_can_be_sealed(tmp_path):
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1" + bytes(4) + b"PAR1")
    seal(path)
    check_seal(path)
