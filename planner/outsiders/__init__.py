"""What an outsider learns: shuffled reports, guesses, poisoning, and anybody's client audited."""

from planner.outsiders.auditing.audit import FoundPair, Promise, ReportAudit, audit_reports
from planner.outsiders.auditing.boxes import CommandBox, FunctionBox
from planner.outsiders.exposure import Exposure, exposure_of
from planner.outsiders.guessing.designs import DesignGuessing
from planner.outsiders.guessing.laws import (
    Guess,
    HashGuessing,
    MatrixGuessing,
    SubsetGuessing,
    UnaryGuessing,
    any_mechanism_success,
    best_guess,
    guess_of_set,
)
from planner.outsiders.guessing.reidentification import (
    Likelihoods,
    Reidentification,
    reidentification,
)
from planner.outsiders.guessing.simulation import (
    AskedQuestion,
    SimulatedSuccess,
    exact_reidentification,
    simulate_guesses,
    simulate_reidentification,
)
from planner.outsiders.poisoning import Poisoning, design_reach, poisoning, reach
from planner.outsiders.shuffling.blanket import Blanket
from planner.outsiders.shuffling.central import central_delta, central_epsilon
from planner.outsiders.shuffling.designs import DesignReports
from planner.outsiders.shuffling.guarantee import (
    ShuffledGuarantee,
    composed,
    largest_scale,
    local_budget,
    shuffled,
)
from planner.outsiders.shuffling.mechanisms import (
    AnyMechanism,
    HashedReports,
    MatrixReports,
    SetReports,
    UnaryReports,
)
from planner.outsiders.shuffling.positive_part import Bracket

__all__ = [
    "AnyMechanism",
    "AskedQuestion",
    "Blanket",
    "Bracket",
    "CommandBox",
    "DesignGuessing",
    "DesignReports",
    "Exposure",
    "FoundPair",
    "FunctionBox",
    "Guess",
    "HashGuessing",
    "HashedReports",
    "Likelihoods",
    "MatrixGuessing",
    "MatrixReports",
    "Poisoning",
    "Promise",
    "Reidentification",
    "ReportAudit",
    "SetReports",
    "ShuffledGuarantee",
    "SimulatedSuccess",
    "SubsetGuessing",
    "UnaryGuessing",
    "UnaryReports",
    "any_mechanism_success",
    "audit_reports",
    "best_guess",
    "central_delta",
    "central_epsilon",
    "composed",
    "design_reach",
    "exact_reidentification",
    "exposure_of",
    "guess_of_set",
    "largest_scale",
    "local_budget",
    "poisoning",
    "reach",
    "reidentification",
    "shuffled",
    "simulate_guesses",
    "simulate_reidentification",
]
