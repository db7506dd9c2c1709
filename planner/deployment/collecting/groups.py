"""Known groups: what a collector knows of who reported, and nobody randomised.

A group stands on the report's line, after what the client wrote, in a column of a Parquet file, or
in the names of the folders: ``reports/region=north/``. It spends no budget, and it is seen.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from planner.errors import InputError

# A value of each declared variable, in their order; empty where none is declared.
Group = tuple[str, ...]
_ON_LINE = re.compile(rb'^(.*"check":"[0-9a-f]{16}"),"group":(\{.*\})\}$', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Groups:
    """The declared variables, each with its values."""

    values: Mapping[str, tuple[str, ...]]

    def of_folders(self, path: Path) -> dict[str, str]:
        """What the names of the folders say, those nearest to the file last."""
        pairs = (part.partition("=") for part in path.parent.parts)
        return {name: value for name, sign, value in pairs if sign and name in self.values}

    def off_line(self, line: bytes, where: str) -> tuple[bytes, dict[str, str]]:
        """What the client wrote of a line, and what the collector added to it."""
        found = _ON_LINE.match(line) if self.values else None
        if found is None:
            return line, {}
        try:
            told = json.loads(found[2])
        except ValueError:
            told = None
        if type(told) is not dict or not all(type(value) is str for value in told.values()):
            allowed = 'names and values, as {"region":"north"}'
            raise InputError(f"group of {where}", found[2].decode(errors="replace"), allowed, _FIX)
        return found[1] + b"}", told

    def settled(self, folders: Mapping[str, str], told: Mapping[str, str], where: str) -> Group:
        """The group of a report, from both; InputError if it is not one declared, or not one."""
        for name in told:
            if name not in self.values:
                raise InputError.unknown(f"group of {where}", name, list(self.values), _FIX)
            if folders.get(name, told[name]) != told[name]:
                reason = f"{where} says {name} {told[name]!r}, its folder {folders[name]!r}"
                raise InputError.because("group", reason, _FIX)
        both = {**folders, **told}
        for name, values in self.values.items():
            if name not in both:
                reason = f"{where} has no {name}, neither itself nor by its folder"
                raise InputError.because("group", reason, _FIX)
            if both[name] not in values:
                raise InputError.unknown(f"{name} of {where}", both[name], values, _FIX)
        return tuple(both[name] for name in self.values)


_FIX = "Put each report into the group it is of, as the survey's groups are declared."
