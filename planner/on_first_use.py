"""Names of a package that load on first use: a client that only randomises needs no solvers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module


def on_first_use(
    package: str, folder: str
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """The package's ``__getattr__``, ``__dir__`` and ``__all__``.

    The one table of its names is the stub that type checkers read: lines "from HOME import NAME as
    NAME".
    """
    with open(f"{folder}/__init__.pyi", encoding="utf-8") as stub:  # noqa: PTH123 - fast
        homes = {
            w[3]: w[1] for w in map(str.split, stub) if len(w) == 6 and w[0] == "from"
        }

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        # What modules need for themselves is nobody's to use.
        special = [name for name in vars(sys.modules[package]) if name[:2] == "__"]
        return sorted({*special, *homes})

    return load, names, list(homes)
