"""The seal betrays damage, and other programs do not mind it."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from planner.deployment.reports.sealing import check_seal, seal
from planner.errors import InputError


def test_seals(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": range(1000)}), path)
    before = pq.read_table(path)
    seal(path)
    check_seal(path)
    assert pq.read_table(path) == before  # other programs do not mind
    path.write_bytes(b"not Parquet" * 9)
    for function in (seal, check_seal):
        with pytest.raises(InputError, match="frame"):
            function(path)
