"""Candidates for a question: all mechanisms on one scale, and the reason for the best.

The scale is the error that the question's plan states: for choices and sets the root of the total
squared error, in people; for means the root mean squared error, in the question's unit. Plain LDP
protects every pair like the strictest; it is recommended where it wins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.errors import InputError
from planner.frames import Framed
from planner.mechanisms.catalogue import CATALOGUE
from planner.planning.solve import DESIGN
from planner.policy.policy import PrivacyPolicy
from planner.survey.questions import BEST

_DIGITS = 6  # to which designs are solved


@dataclass(frozen=True, slots=True)
class Candidate:
    """A mechanism and its predicted error.

    Attributes
    ----------
    name:
        As in survey files.
    error:
        See :class:`MechanismChoice`.
    against:
        Error over that of the mechanism planned, less 1.
    note:
        What else to know.
    """

    name: str
    error: float
    against: float
    note: str = ""

    @property
    def title(self) -> str:
        """What it is called, with its note."""
        label = CATALOGUE[self.name].label
        return f"{label}, {self.note}" if self.note else label


@dataclass(frozen=True, slots=True, repr=False)
class MechanismChoice(Framed):
    """All candidates, best first, beside the one that is planned.

    Attributes
    ----------
    candidates:
        Best first.
    planned:
        Name of the mechanism that is planned and deployed.
    unit:
        Of the errors: ``"people"``, or that of a mean.
    measure:
        What the errors are, in words.
    reason:
        Why the best is the best.
    least_error:
        What no mechanism of any kind can beat; None where that is not known.
    left_out:
        Mechanisms whose error could not be computed, each with the reason, in sentences.
    """

    candidates: tuple[Candidate, ...]
    planned: str
    unit: str
    measure: str
    reason: str
    least_error: float | None = None
    left_out: tuple[str, ...] = ()

    @property
    def best(self) -> Candidate:
        """The mechanism with the smallest error."""
        return self.candidates[0]

    def of(self, name: str) -> Candidate:
        """The candidate called ``name``.

        Raises
        ------
        InputError
            There is none.
        """
        every = {one.name: one for one in self.candidates}
        if name not in every:
            raise InputError.unknown("candidate", name, every, "Ask for one that is compared.")
        return every[name]

    @property
    def summary(self) -> str:
        """The reason for the best one."""
        return self.reason

    def columns(self) -> dict[str, Any]:
        """One row a mechanism, best first: its predicted error, and that over the plan's."""
        return {
            "mechanism": [one.title for one in self.candidates],
            "error": [one.error for one in self.candidates],
            "against_plan": [one.against for one in self.candidates],
        }


def choose(
    errors: Sequence[tuple[str, float, str]],
    planned: str,
    policy: PrivacyPolicy | None,
    unit: str,
    measure: str,
    least_error: float | None = None,
    left_out: Mapping[str, str] | None = None,
) -> MechanismChoice:
    """The comparison of mechanisms by their errors, with the reason for the best.

    Parameters
    ----------
    errors:
        Name, error in ``unit``, and a note of each.
    planned:
        Name of the one that is planned.
    policy:
        The levels; ``None`` for a mean or ordered answers.
    unit, measure, least_error:
        See :class:`MechanismChoice`.
    left_out:
        Why others have no error, by name.

    Examples
    --------
    >>> choice = choose([("opt0", 3.0, ""), ("grr", 2.0, "")], "opt0",
    ...                 PrivacyPolicy([1.0, 2.0], [1, 2]), "people", "total error")
    >>> choice.best.name, round(choice.best.against, 3)
    ('grr', -0.333)
    """
    own = next(error for name, error, _ in errors if name == planned)

    def judged(name: str, error: float, note: str) -> Candidate:
        over = error / own - 1
        against = over if abs(over) > 10.0**-_DIGITS else 0.0  # they differ by rounding alone
        return Candidate(name, error, against, note)

    every = [judged(*one) for one in errors]
    ranked = sorted(every, key=lambda one: (_rounded(one.error), one.name != planned))
    reason = _reason_of_one(ranked, measure) if policy is None else _reason(ranked, policy)
    without = tuple(
        f"{CATALOGUE[name].label} is left out: {why}." for name, why in (left_out or {}).items()
    )
    return MechanismChoice(tuple(ranked), planned, unit, measure, reason, least_error, without)


def best_of(errors: Mapping[str, float], deployable: Sequence[str]) -> str:
    """The one of ``deployable`` with the smallest error; of equal ones the first.

    Raises
    ------
    InputError
        None of them has an error.

    Examples
    --------
    >>> best_of({"grr": 2.0, "opt0": 2.0000001, "direct": 1.0}, ["opt0", "grr"])
    'opt0'
    """
    known = [name for name in deployable if name in errors]
    if not known:
        remedy = "Ask for a mechanism by its name to see why."
        raise InputError("mechanism", BEST, "one that can be planned", remedy)
    return min(known, key=lambda name: _rounded(errors[name]))


def _rounded(error: float) -> float:
    """Errors that differ by what solvers leave open alone are equal."""
    return float(f"{error:.{_DIGITS}g}")


def _reason_of_one(ranked: Sequence[Candidate], measure: str) -> str:
    """Of a question with one error for all its levels, which is named before the comma."""
    best, second = ranked[0], ranked[1]
    what = measure.partition(",")[0].lower()
    reason = f"{best.title} has the smallest predicted {what}; the next, {second.title}, has "
    reason += f"{_more(second, best)}."
    if any(one.note.startswith("forced") for one in ranked) and best.name == "bisample-md":
        reason += " Forcing an answer biases the mean by people who would rather not give one."
    return reason


def _reason(ranked: Sequence[Candidate], policy: PrivacyPolicy) -> str:
    best, items = ranked[0], int(policy.item_counts.sum())
    ours = next(c for c in ranked if CATALOGUE[c.name].by_level)
    plain = next((c for c in ranked if not CATALOGUE[c.name].by_level), None)
    if plain is None:
        return f"No plain LDP mechanism can be compared with {CATALOGUE[ours.name].label}."
    alike = np.ptp(policy.epsilons) == 0
    if best is ours and policy.rule.by_level and alike:
        return (
            "All budgets are equal, so there is nothing to discriminate by: the best plain LDP "
            f"mechanism, {plain.title}, has {_more(plain, best)}."
        )
    if best is ours:
        bits = [c for c in ranked if c.name == "opt0" and best.name == DESIGN]
        table = "".join(f" {c.title}, one bit an answer, has {_more(c, best)}." for c in bits)
        return (
            f"{best.title} uses what the less sensitive answers tolerate: the best plain LDP "
            f"mechanism, {plain.title}, protects all like the most sensitive and has "
            f"{_more(plain, best)}.{table}"
        )
    reason = (
        f"Plain LDP wins: {best.title}, protects every answer at least as well as asked, and "
        f"{ours.title} has {_more(ours, best)}"
    )
    if best.name in ("grr", "subset"):
        reason += f". With {items} answers, naming answers is less noisy than a bit for each"
    if alike:
        reason += ". All budgets are equal, so there is nothing to discriminate by"
    return reason + "."


def _more(other: Candidate, best: Candidate) -> str:
    ratio = other.error / best.error
    if ratio < 1.0005:
        return "the same error"
    if ratio < 2:
        return f"{100 * (ratio - 1):.1f} % more error"
    return f"{ratio:.1f} times the error"
