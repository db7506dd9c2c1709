"""What an outsider learns: shuffled reports, guesses, poisoning, and anybody's client audited."""

from planner.outsiders.shuffling.blanket import Blanket
from planner.outsiders.shuffling.central import central_delta, central_epsilon
from planner.outsiders.shuffling.guarantee import (
    ShuffledGuarantee,
    composed,
    largest_scale,
    shuffled,
)
from planner.outsiders.shuffling.mechanisms import (
    AnyMechanism,
    HashedReports,
    ItemReports,
    MatrixReports,
    SubsetReports,
    UnaryReports,
)
from planner.outsiders.shuffling.positive_part import Bracket

__all__ = [
    "AnyMechanism",
    "Blanket",
    "Bracket",
    "HashedReports",
    "ItemReports",
    "MatrixReports",
    "ShuffledGuarantee",
    "SubsetReports",
    "UnaryReports",
    "central_delta",
    "central_epsilon",
    "composed",
    "largest_scale",
    "shuffled",
]
