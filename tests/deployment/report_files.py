"""Small files of reports, and their counts."""

from planner.deployment.collecting.parquet import ReportWriter, seal
from planner.mechanisms.counting import unpack
from planner.mechanisms.words import seeded_words

KEY = ("q", None)


def draw(parameters, rng, reports):
    codes = rng.integers(40, size=reports)
    (rows,) = parameters.questions[0].draw_many(codes, seeded_words(rng))
    return rows


def write(path, parameters, rows, *, key=KEY, name=None):
    with ReportWriter(path, name or parameters.hash, key, rows.shape[1]) as writer:
        writer.write(rows)


def write_crashing(path, parameters, rows):
    """Sealed, with a codec that nobody knows: the library that reads it ends its process."""
    write(path, parameters, rows)
    # and zero, for none
    data = path.read_bytes()
    codec = b"\x18\x06report\x15"
    assert data.count(codec + b"\0") == 1
    start = data.rindex(b"LDPRSEAL")
    path.write_bytes(
        data[:start] + data[start + 24 :].replace(codec + b"\0", codec + b"\x7e")
    )
    seal(path)


def counted(rows):
    return unpack(rows.view("<u8"), 40).sum(axis=0)
