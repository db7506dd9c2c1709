"""Small files of reports, and their counts."""

from planner.deployment.client.drawing.entropy import system
from planner.deployment.collecting.parquet import ReportWriter
from planner.deployment.mechanisms.unary import draw_unary
from planner.mechanisms.packed import unpack

KEY = ("q", None)


def draw(parameters, rng, reports):
    return draw_unary(parameters.questions[0].law, rng.integers(40, size=reports), system)


def write(path, parameters, rows, *, key=KEY, name=None):
    with ReportWriter(path, name or parameters.hash, key, rows.shape[1]) as writer:
        writer.write(rows)


def counted(rows):
    return unpack(rows.view("<u8"), 40).sum(axis=0)
