"""What an outsider learns: shuffled reports, guesses, poisoning, and anybody's client audited."""

from planner.outsiders.auditing.audit import (
    FoundPair,
    Promise,
    ReportAudit,
    audit_reports,
)
from planner.outsiders.auditing.boxes import CommandBox, FunctionBox
from planner.outsiders.guessing.laws import (
    Guess,
    HashGuessing,
    MatrixGuessing,
    SubsetGuessing,
    UnaryGuessing,
    any_mechanism_success,
    best_guess,
)
from planner.outsiders.guessing.simulation import (
    AskedQuestion,
    SimulatedSuccess,
    exact_reidentification,
    simulate_guesses,
    simulate_reidentification,
)
from planner.outsiders.poisoning import Poisoning, poisoning
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
    "AskedQuestion",
    "Blanket",
    "Bracket",
    "CommandBox",
    "FoundPair",
    "FunctionBox",
    "Guess",
    "HashGuessing",
    "HashedReports",
    "ItemReports",
    "MatrixGuessing",
    "MatrixReports",
    "Poisoning",
    "Promise",
    "ReportAudit",
    "ShuffledGuarantee",
    "SimulatedSuccess",
    "SubsetGuessing",
    "SubsetReports",
    "UnaryGuessing",
    "UnaryReports",
    "any_mechanism_success",
    "audit_reports",
    "best_guess",
    "central_delta",
    "central_epsilon",
    "composed",
    "exact_reidentification",
    "largest_scale",
    "poisoning",
    "shuffled",
    "simulate_guesses",
    "simulate_reidentification",
]
