"""A budget planner for local differential privacy.

You know how sensitive each answer is; the planner finds the perturbation
probabilities, proves that they are private and optimal, and predicts the error.

Examples
--------
>>> from planner import PrivacyPolicy, solve
>>> from math import log
>>> policy = PrivacyPolicy([log(4), log(6)], [1, 4], names=["severe", "common"])
>>> table = solve(policy)
>>> round(table.worst_case_mse, 6)
8.567495
>>> table.a.round(4).tolist(), table.b.round(4).tolist()
([0.592, 0.673], [0.327, 0.2776])
>>> table.certificate.relative_gap < 1e-9
True
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from planner.version import VERSION

# Loaded on first use: a client that only randomises must not pay for the solvers. The one table
# of names is the stub that type checkers read: lines "from HOME import NAME as NAME".
with open(f"{__path__[0]}/__init__.pyi", encoding="utf-8") as _stub:  # noqa: PTH123 - fast
    _HOME_OF = {w[3]: w[1] for w in map(str.split, _stub) if len(w) == 6 and w[0] == "from"}

__all__ = sorted(_HOME_OF)  # noqa: PLE0605 - the stub says it all; a test checks it
__version__ = VERSION


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'planner' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
