"""Table 2 of the BiSample paper: the data sets and their means."""

from __future__ import annotations

from reproduction.result import Claim, Result, Setting, Table
from reproduction.run import main
from reproduction.surveys import people

USERS = 100_000
PRINTED = {"EXP": -0.831, "GAUSS": 0.499, "UNIFORM": -0.001, "ADULT": -0.409}
TOLERANCE = {"EXP": 0.05, "GAUSS": 0.003, "UNIFORM": 0.015, "ADULT": 0.0005}
"""What two random draws may differ by (EXP's mean hangs on its largest value); ADULT is given."""


def reproduce(setting: Setting) -> Result:
    """Table 2 of the BiSample paper."""
    found = people(USERS, setting.file("adult.data"))
    rows = []
    claims = []
    for name, printed in PRINTED.items():
        text = f"{name} has the mean {printed:g}."
        if name not in found:
            rows.append((name, "not in the folder", printed, "not in the folder"))
            claims.append(Claim.skipped(text, "Table 2", "adult.data"))
            continue
        mean = float(found[name].mean())
        n = found[name].size
        rows.append((name, n, printed, f"{mean:.4f}"))
        close = abs(mean - printed) <= TOLERANCE[name]
        drawn = (
            ""
            if name == "ADULT"
            else f"; another draw may differ by {TOLERANCE[name]:g}"
        )
        claims.append(
            Claim(text, "Table 2", close, f"{mean:.4f} over {n:,} people{drawn}.")
        )
    return Result(
        "BiSample, Table 2: the data sets",
        "EXP is exponential, scale 0.1, stretched to fill [-1, 1] (the paper leaves that open; its "
        "mean fits nothing else); GAUSS is N(0.5, 0.1); ages 17 to 90 are mapped to -1 to 1.",
        claims,
        [Table("Means", ("data set", "people", "printed", "mean"), rows)],
    )


if __name__ == "__main__":
    main(reproduce)
