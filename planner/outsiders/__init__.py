"""What an outsider learns: from shuffled reports, from one report, and by false ones."""

from planner.outsiders.blanket import Blanket
from planner.outsiders.guarantee import (
    ShuffledGuarantee,
    central_delta,
    central_epsilon,
    shuffled,
)
from planner.outsiders.positive_part import Bracket
from planner.outsiders.shapes import Guess, seen_of

__all__ = [
    "Blanket",
    "Bracket",
    "Guess",
    "ShuffledGuarantee",
    "central_delta",
    "central_epsilon",
    "seen_of",
    "shuffled",
]
