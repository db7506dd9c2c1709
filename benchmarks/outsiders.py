"""What outsiders learn: speed of the shuffled guarantee.

Run: ``python benchmarks/outsiders.py``.
"""

from __future__ import annotations

from functools import partial
from math import e

from measure import Figure, rows, seconds, show

from planner.outsiders import Blanket, central_epsilon

SLOWEST = 1.0


def figures() -> list[Figure]:
    return rows(lambda: shuffled(10**8))


def shuffled(people: int) -> Figure:
    blanket = Blanket.from_numbers(e, (e - 1) / (e + 1), e)
    taken = seconds(partial(central_epsilon, blanket, 1e-6, people))
    return Figure(
        f"central epsilon of {people:,} people",
        f"{taken * 1e3:.0f} ms",
        "1 s",
        taken < SLOWEST,
    )


if __name__ == "__main__":
    show(figures(), "What outsiders learn")
