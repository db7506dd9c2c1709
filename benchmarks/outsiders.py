"""What outsiders learn: speed of the shuffled guarantee, and peers' clients through the audit.

Run: ``python benchmarks/outsiders.py``; peers come with the extra ``bench``.
"""

from __future__ import annotations

import importlib.util
import struct
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import version
from math import e
from typing import Any

import numpy as np
from measure import LONG, Figure, rows, seconds, show
from numpy.typing import NDArray

from planner.outsiders import Blanket, FunctionBox, Promise, audit_reports, central_epsilon
from planner.outsiders.auditing.views import Reports

ITEMS, EPSILON, REPORTS = 5, 1.0, 40_000
SLOWEST = 1.0


def figures() -> list[Figure]:
    return [*map(shuffled, (10**3, 10**5, 10**8)), *(peers(REPORTS) if LONG else [])]


def shuffled(people: int) -> Figure:
    blanket = Blanket.from_numbers(e, (e - 1) / (e + 1), e)
    bracket = central_epsilon(blanket, 1e-6, people)
    taken = seconds(partial(central_epsilon, blanket, 1e-6, people))
    return Figure(
        f"central epsilon of {people:,} people",
        f"{taken * 1e3:.0f} ms",
        "1 s",
        taken < SLOWEST,
        limit=f"bracket {bracket.width:.2%} wide",
    )


def peers(reports: int) -> list[Figure]:
    """Proven loss of each peer's client, promised 1 nat, for answers 0 and 1 of five."""
    found = []
    for package, clients in (("multi-freq-ldpy", multi_freq), ("pure-ldp", pure)):
        if importlib.util.find_spec(package.replace("-", "_")):
            for name, client in clients().items():
                about = f"{package} {version(package)} {name}"
                found += rows(partial(audited, about, client, reports), ours=False)
    return found


def audited(name: str, client: Callable[[int], object], reports: int) -> Figure:
    hashed = {"hashed": lambda pair: partial(hashes, pair)} if "LH" in name else None
    rng = np.random.default_rng(1)
    box = FunctionBox(lambda answer: written(client(answer)))
    audit = audit_reports(box, [Promise(0, 1, EPSILON, EPSILON)], reports, rng, views=hashed)
    pair = audit.pairs[0]
    verdict = "no violation found" if audit.passed else f"caught by {pair.view}"
    return Figure(
        f"{name}: loss proven", f"{pair.lower_bound:.3f}", "at most 1", audit.passed, verdict
    )


def multi_freq() -> dict[str, Callable[[int], object]]:
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
    from multi_freq_ldpy.pure_frequency_oracles.HE import HE_Client
    from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Client
    from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client

    return {
        "GRR": lambda x: GRR_Client(x, ITEMS, EPSILON),
        "SUE": lambda x: UE_Client(x, ITEMS, EPSILON, False),
        "OUE": lambda x: UE_Client(x, ITEMS, EPSILON, True),
        "SS": lambda x: SS_Client(x, ITEMS, EPSILON),
        "OLH": lambda x: LH_Client(x, ITEMS, EPSILON, True),
        "HE (doubles)": lambda x: HE_Client(x, ITEMS, EPSILON),
    }


def pure() -> dict[str, Callable[[int], object]]:
    from pure_ldp.frequency_oracles.direct_encoding import DEClient
    from pure_ldp.frequency_oracles.histogram_encoding import HEClient
    from pure_ldp.frequency_oracles.local_hashing import LHClient
    from pure_ldp.frequency_oracles.unary_encoding import UEClient

    same = {"index_mapper": lambda x: x}
    return {
        "DE": DEClient(EPSILON, ITEMS, **same).privatise,
        "SUE": UEClient(EPSILON, ITEMS, use_oue=False, **same).privatise,
        "OUE": UEClient(EPSILON, ITEMS, use_oue=True, **same).privatise,
        "OLH": LHClient(EPSILON, ITEMS, use_olh=True, **same).privatise,
        "HE (doubles)": HEClient(EPSILON, ITEMS, **same).privatise,
    }


def written(report: object) -> bytes:
    """Bytes of a peer's report, each number in eight, doubles as they are."""
    numbers: Sequence[Any] = np.atleast_1d(np.asarray(report)).tolist()
    if any(isinstance(one, float) for one in numbers):
        return struct.pack(f">{len(numbers)}d", *numbers)
    return struct.pack(f">{len(numbers)}q", *numbers)


def hashes(pair: Promise, both: Sequence[Reports], half: int) -> list[NDArray[np.int64]]:
    """Which of the two answers hash to the value, as both peers hash."""
    import xxhash

    del half
    values = round(np.exp(EPSILON)) + 1
    symbols = []
    for one in both:
        rows = np.ascontiguousarray(one.content).view(">i8").tolist()
        symbols.append(
            np.array(
                [
                    sum(
                        (xxhash.xxh32(str(x), seed=seed).intdigest() % values == value) << k
                        for k, x in enumerate((pair.first, pair.second))
                    )
                    for value, seed in rows
                ]
            )
        )
    return symbols


if __name__ == "__main__":
    show(figures(), "What outsiders learn")
