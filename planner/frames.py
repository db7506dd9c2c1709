"""Plans and tables in a notebook: as data frames, and as what the notebook shows of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pandas import DataFrame


Columns = Mapping[str, Any]
"""Rows by the names of their columns."""
_MOST_FRAME_ROWS = 60


class WithDataFrame(ABC):
    """Something with a data frame: shown as a sentence, in a notebook with a table and a picture.

    What inherits this says how its rows look in :meth:`columns` and, in a sentence,
    what they are in ``summary``.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def summary(self) -> str:
        """One sentence about the whole."""

    @abstractmethod
    def columns(self) -> Columns:
        """The rows by the names of their columns: a value for each, or one for all of them."""

    def to_frame(self) -> DataFrame:
        """The rows as a pandas data frame, one row each, in plain columns: see :meth:`columns`."""
        from pandas import DataFrame

        return DataFrame(self.columns())

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.summary}>"

    def _repr_html_(self) -> str:
        import planner  # by its door: pictures are made above what they show

        frame = self.to_frame().astype(object).fillna("")
        table = frame.rename(columns=lambda name: str(name).replace("_", " ")).to_html(
            index=False,
            border=0,
            float_format="{:,.6g}".format,
            max_rows=_MOST_FRAME_ROWS,
        )
        return f"<p>{escape(self.summary)}</p>\n{table}{planner.picture_html(self)}"
