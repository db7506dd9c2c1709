"""Small files of reports, and their counts."""

from planner.deployment.collecting.reports import ReportWriter
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


def counted(rows):
    return unpack(rows.view("<u8"), 40).sum(axis=0)
