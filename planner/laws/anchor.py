"""The anchor of a question: asked by the same mechanism, with a true answer that is known.

A report of the question and one of the anchor stand side by side, each drawn by itself. The
anchor's true answer is the same for all, whatever somebody answers to the question, so that what
they say to it is no function of that answer ``x``. Two reports ``(r, s)`` then keep the
likelihood ratios of one: ``P[r, s | x] / P[r, s | x'] = P[r | x] P[s] / (P[r | x'] P[s])``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from planner.laws.schema import TEXT, Document, described, record

ANCHOR_FORM = described(
    record({"name": TEXT, "known": TEXT}),
    "A question that is asked with this one, by the same law, and whose true answer is known to "
    "be the same for all: a report has the bytes of both, this question's first. Shares are "
    "corrected by it for people who do not attend. Left out where there is none.",
)


@dataclass(frozen=True)
class Anchor:
    """The ``name`` of the anchor, and the answer that is ``known`` to be true of everybody."""

    name: str
    known: str

    @classmethod
    def read(cls, question: Document) -> Self | None:
        """The anchor of a question of the right form; None where it has none."""
        stated = question.get("anchor")
        if stated is None:
            return None
        return cls(stated["name"], stated["known"])

    def document(self) -> Document:
        """The key of a question."""
        return {"name": self.name, "known": self.known}
