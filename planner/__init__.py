"""A budget planner for local differential privacy.

A survey file says how sensitive each answer is; a plan, how exact results will be:

>>> from planner import plan_survey
>>> plan = plan_survey("examples/clinic.toml")
>>> round(plan.questions[0].total_error, 1)  # people
1093.5

The command ``ldp-planner`` does the same, and deploys it. Levels without a survey:

>>> from planner import PrivacyPolicy, best_design, solve
>>> policy = PrivacyPolicy(["ln 4", "ln 6"], [1, 4], names=["severe", "common"])
>>> round(solve(policy).worst_case_mse, 6), round(best_design(policy).worst_case_mse, 6)
(8.567495, 3.870237)

More: ``help(planner.plan_survey)``, and the names in ``dir(planner)``.
"""

from __future__ import annotations

from importlib import import_module

from planner.version import VERSION

# Loaded on first use: a client that only randomises must not pay for the solvers. The one table
# of names is the stub that type checkers read: lines "from HOME import NAME as NAME".
with open(f"{__path__[0]}/__init__.pyi", encoding="utf-8") as _stub:  # noqa: PTH123 - fast
    _HOME_OF = {w[3]: w[1] for w in map(str.split, _stub) if len(w) == 6 and w[0] == "from"}

__version__ = VERSION


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'planner' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
