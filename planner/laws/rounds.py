"""The same question in many rounds: in which of them, or of which value, a person reports.

*Once*: one report, in one round. *One value*: a report of one of a person's first values, sent
again and again while that value lasts, and blanks of the same size else; when an answer changes
may be seen then. Which round or value it is follows from public things, so that nothing is
stored, and depends on no answer. docs/theory/rounds.md has what is promised and the proofs.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Self

from planner.laws.schema import Document, choice, either, record, whole

# What a deployment of one value has to acknowledge, word for word.
TIMES_OPEN = "An observer may see when an answer changes."
MOST_ROUNDS = 1000
_COUNT = whole(2, MOST_ROUNDS)
ROUNDS_FORM = either(
    record({"count": _COUNT, "scheme": choice("once")}),
    record(
        {
            "count": _COUNT,
            "scheme": choice("one-value"),
            "changes": whole(1, MOST_ROUNDS - 1),
            "acknowledged": choice(TIMES_OPEN),
        }
    ),
)


@dataclass(frozen=True)
class Rounds:
    """``count`` rounds; a person reports in one of them or, with ``changes``, of one value.

    The value is one of the first ``changes + 1``, and a report begins with a byte: 1 before a
    report of the law, 0 before blanks.
    """

    count: int
    changes: int | None = None

    @classmethod
    def read(cls, question: Document) -> Self | None:
        """The rounds of a question of the right form; None where it is asked one time."""
        stated = question.get("rounds")
        if stated is None:
            return None
        return cls(stated["count"], stated.get("changes"))

    def document(self) -> Document:
        """The key of a question."""
        if self.changes is None:
            return {"count": self.count, "scheme": "once"}
        scheme = {
            "scheme": "one-value",
            "changes": self.changes,
            "acknowledged": TIMES_OPEN,
        }
        return {"count": self.count, **scheme}

    @property
    def rotation_groups(self) -> int:
        """Rounds, or values, of which a person reports one."""
        if self.changes is None:
            return self.count
        return self.changes + 1

    def own(self, parameters: str, question: str, user: str) -> int:
        """Which of them a person reports, from 1: ``1 + SHA-256(fields by lines) mod groups``.

        Examples
        --------
        >>> Rounds(12).own("0" * 64, "visits", "ada"), Rounds(12).own("0" * 64, "visits", "bob")
        (10, 7)
        """
        text = "\n".join((parameters, question, user))
        # SHA-256 has 256 bits: modulo so few groups it is uniform but for 2^-246.
        number = int.from_bytes(sha256(text.encode()).digest())
        return 1 + number % self.rotation_groups
