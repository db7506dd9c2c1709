"""The mechanisms by the names under which surveys ask for them: one line each, for all faces.

The integers of those that a question can be deployed with are in :mod:`planner.mechanisms.making`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from planner.limits import MAX_EPSILON
from planner.mechanisms.asking import CollectedLaw
from planner.mechanisms.making import (
    MAX_HASHING_EPSILON,
    local_hashing,
    oue,
    randomized_response,
    rappor,
    subset_selection,
)

_ONE_BIT_EACH = (
    "A report has one bit per item: "
    "1 with probability a if it is the person's own, else b."
)
_SENDS_A_BIT = "send a 1 for it"


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """A mechanism as people choose it, by its ``name`` in survey files and the faces' ``label``.

    ``kinds`` of question that it can be deployed for; ``report``: what one is, with its
    probabilities a and b, as a sentence; ``sends``: what a person does whose report
    supports an answer, after "of 100 people"; ``by_level``: whether every level has what it
    tolerates, else all are protected like the strictest; ``law_of``: the law for ``(epsilon,
    items)``, up to ``largest_epsilon``, if it needs no solver.
    """

    name: str
    label: str
    kinds: tuple[str, ...] = ()
    report: str = _ONE_BIT_EACH
    sends: str = _SENDS_A_BIT
    by_level: bool = False
    law_of: Callable[[float, int], CollectedLaw] | None = None
    largest_epsilon: float = MAX_EPSILON


_CHOICES = ("categorical", "joint")
_SETS = ("categorical", "joint", "item-set")
_ALL = (
    CatalogueEntry("best", "whichever has the smallest error", (*_SETS, "numeric")),
    CatalogueEntry(
        "subset-design",
        "Subset design",
        _CHOICES,
        "A report is of one of a few types and puts each answer on one of two sides: on the high "
        "side with probability a if it is the person's own, and with at most b if it is not.",
        "send a report that counts for it",
        by_level=True,
    ),
    CatalogueEntry(
        "set-design",
        "Set design",
        ("item-set",),
        "A report is a set of items, about the person's whole set: each of the person's own is in "
        "it with probability a, each other one with probability b.",
        "have it in the report",
    ),
    CatalogueEntry("opt0", "IDUE opt0", _SETS, by_level=True),
    CatalogueEntry("opt1", "IDUE opt1 (a + b = 1)", _SETS, by_level=True),
    CatalogueEntry("opt2", "IDUE opt2 (a = 1/2)", _SETS, by_level=True),
    CatalogueEntry("rappor", "RAPPOR, smallest budget", _SETS, law_of=rappor),
    CatalogueEntry("oue", "OUE, smallest budget", _SETS, law_of=oue),
    CatalogueEntry(
        "grr",
        "GRR, smallest budget",
        _CHOICES,
        "A report names one answer: with probability a the person's own, and each other one with "
        "probability b.",
        "name it",
        law_of=randomized_response,
    ),
    CatalogueEntry(
        "subset",
        "Subset, smallest budget",
        _CHOICES,
        "A report is a set of answers: the person's own is in it with probability a, each other "
        "one with probability b.",
        "send a set that it is in",
        law_of=subset_selection,
    ),
    CatalogueEntry(
        "olh",
        "OLH, smallest budget",
        _CHOICES,
        "A report is a hash function and a number: the person's own answer is hashed to it with "
        "probability a, each other one with probability b.",
        "send a number that it is hashed to",
        law_of=local_hashing,
        largest_epsilon=MAX_HASHING_EPSILON,
    ),
    CatalogueEntry("amplified-grr", "GRR, amplified budget"),
    CatalogueEntry("privset", "PrivSet, best size"),
    CatalogueEntry("wheel", "Wheel"),
    CatalogueEntry("direct", "direct encoding, per-input rows", by_level=True),
    CatalogueEntry("bisample-md", "BiSample-MD, two bits", ("numeric",)),
    CatalogueEntry("channel", "Channel", ("numeric", "ordinal"), by_level=True),
    CatalogueEntry("harmony", "Harmony, one bit"),
    CatalogueEntry("piecewise", "Piecewise"),
    CatalogueEntry("hybrid", "Hybrid"),
    CatalogueEntry(
        "sampling-privacy", "Sampling Privacy, two rounds", ("sampled-choice",)
    ),
)
CATALOGUE: dict[str, CatalogueEntry] = {entry.name: entry for entry in _ALL}
"""By name."""
