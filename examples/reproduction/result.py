"""What a reproduced table or figure is: numbers, charts, and claims with their verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["Claim", "Result", "Setting", "Table"]

DATA = Path(__file__).parents[3] / "shared" / "data"


@dataclass(frozen=True, slots=True)
class Setting:
    """How to run: ``data`` is the folder of the data sets, ``quick`` a small version."""

    data: Path = DATA
    quick: bool = False

    def file(self, *names: str) -> Path | None:
        """The first of these files that the data folder has."""
        return next(
            (path for name in names if (path := self.data / name).is_file()), None
        )

    def pick(self, full: Any, quick: Any) -> Any:
        """One of two values: for the full run, for the small one."""
        return quick if self.quick else full


@dataclass(frozen=True, slots=True)
class Claim:
    """A paper's claim and what became of it.

    Parameters
    ----------
    text, source:
        The claim in a sentence, and where it is made.
    holds:
        Computed; ``None`` if it could not be checked.
    numbers:
        What was seen.
    only:
        If it fails as stated but holds under a restriction, that restriction
        ("by ...", "for ..."); empty if not even then.
    """

    text: str
    source: str
    holds: bool | None
    numbers: str
    only: str = ""

    @classmethod
    def skipped(cls, text: str, source: str, *files: str) -> Claim:
        """A claim that is not checked, because none of these files is in the folder."""
        return cls(
            text, source, None, f"Skipped: no {' or '.join(files)} in the folder."
        )

    @property
    def verdict(self) -> str:
        """``holds``, ``holds only ...``, ``does not hold`` or ``not checked``."""
        if self.holds is None:
            return "not checked"
        if self.holds:
            return "holds"
        return f"holds only {self.only}" if self.only else "does not hold"


@dataclass(frozen=True, slots=True)
class Table:
    """Numbers to print: cells are text, or numbers shown with four digits."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str | float]]

    @classmethod
    def over(
        cls,
        title: str,
        name: str,
        x: Sequence[float],
        series: Mapping[str, Sequence[float]],
    ) -> Table:
        """One row per ``x``, one column per series."""
        rows = [
            (_text(at) if isinstance(at, int) else f"{at:g}", *row)
            for at, row in zip(x, zip(*series.values(), strict=True), strict=True)
        ]
        return cls(title, (name, *series), rows)

    def cells(self) -> list[list[str]]:
        """The rows as text."""
        return [[_text(cell) for cell in row] for row in self.rows]


@dataclass(frozen=True, slots=True)
class Result:
    """One reproduced table or figure.

    ``about`` says what was done and which settings the paper leaves open; ``notes`` what a
    reader should know besides.
    """

    title: str
    about: str
    claims: Sequence[Claim] = ()
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    notes: Sequence[str] = field(default=())


def _text(cell: str | float) -> str:
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int):
        return f"{cell:,}"
    if abs(cell) < 1e-12:
        return "0"
    return f"{cell:,.4g}" if abs(cell) < 1e4 else f"{cell:,.0f}"
