"""Table III of the ID-LDP paper: the data sets."""

from __future__ import annotations

import numpy as np
from reproduction import baskets
from reproduction import frequencies as fr
from reproduction.result import Claim, Result, Setting, Table
from reproduction.run import main

PRINTED = {  # records, people, items
    "Power-law": (100_000, 100_000, 100),
    "Uniform": (100_000, 100_000, 1000),
    "Retail": (908_576, 88_162, 16_470),
    "Kosarak": (8_019_015, 990_002, 41_270),
    "Clothing": (192_544, 105_508, 5850),
}


def reproduce(setting: Setting) -> Result:
    """Table III of the ID-LDP paper."""
    rng = np.random.default_rng(20200421)
    found = {
        "Power-law": fr.power_law(100_000, 100, rng),
        "Uniform": fr.uniform(100_000, 1000, rng),
    }
    whole = Setting(setting.data)  # the small version of a table is the table
    for name in baskets.FILES:
        answers = baskets.read(name, whole)
        if answers is not None:
            found[name] = answers
    rows = []
    claims = []
    for name, printed in PRINTED.items():
        answers = found.get(name)
        text = "{} has {:,} records of {:,} people and {:,} items.".format(
            name, *printed
        )
        if answers is None:
            rows.append((name, *printed, "not in the folder"))
            claims.append(Claim.skipped(text, "Table III", *baskets.FILES[name]))
            continue
        counted = (int(answers.counts.sum()), answers.users, answers.counts.size)
        same = counted == printed
        rows.append((name, *counted, "the same" if same else "differs"))
        seen = "Counted: {:,}, {:,} and {:,}.".format(*counted)
        claims.append(Claim(text, "Table III", same, seen))
    return Result(
        "ID-LDP, Table III: the data sets",
        "The two synthetic data sets are drawn; the others are read from the data folder.",
        claims,
        [Table("Counted", ("data set", "records", "people", "items", "printed"), rows)],
    )


if __name__ == "__main__":
    main(reproduce)
