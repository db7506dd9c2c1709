"""What verifying a parameter file has proven."""

from __future__ import annotations

from math import isinf
from typing import Any

from rich.console import Console
from rich.text import Text

from planner.cli.output import lowered, more, table
from planner.deployment.client.questions import DeployedQuestion
from planner.deployment.parameter_file.parameters import Parameters
from planner.policy.budget_text import rounded_up

__all__ = ["show_verification", "verification_document"]

_MOST_ROWS = 40


def show_verification(console: Console, parameters: Parameters) -> None:
    """Print each pair's realised and demanded budget of verified parameters."""
    name = (parameters.survey, "bold")
    console.print(Text.assemble(name, f": parameters for {parameters.users:,} users"))
    for question in parameters.questions:
        headings = ("realised epsilon", "promised epsilon")
        view = table(question.name, ("level", "against"), headings)
        rows = _pair_rows(question)
        for row in rows[:_MOST_ROWS]:
            promised = "none" if row["demanded"] is None else lowered(row["demanded"], 12)
            realised = rounded_up(row["realised"], 12)
            view.add_row(row["level"], row["against"], realised, promised)
        console.print()
        console.print(view)
        more(console, len(rows), _MOST_ROWS, "pairs (see --json)")
    console.print("Every pair keeps its promised budget, proven in exact integer arithmetic.")


def verification_document(parameters: Parameters) -> dict[str, Any]:
    """Each pair's realised and demanded budget, JSON-ready; ``null`` where none is demanded."""
    return {
        "verified": True,
        "questions": [
            {"name": question.name, "pairs": _pair_rows(question)}
            for question in parameters.questions
        ],
    }


def _pair_rows(question: DeployedQuestion) -> list[dict[str, Any]]:
    names = question.law.labels
    return [
        {
            "level": names[pair.first],
            "against": names[pair.second],
            "realised": pair.realised,
            "demanded": None if isinf(pair.demanded) else pair.demanded,
        }
        for pair in question.pairs
    ]
