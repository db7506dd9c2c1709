"""Which mechanism for a question: all that apply on one scale, and the reason for the best.

The scale is the error that the question's plan states, for every mechanism alike: for choices and
sets the root of the total squared error, in people; for means the root mean squared error, in the
question's unit. Plain LDP protects every pair like the strictest; it is recommended where it wins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from planner.errors import InputError
from planner.frames import Framed
from planner.mechanisms.catalogue import CATALOGUE
from planner.mechanisms.direct_levels import DirectEncoding
from planner.mechanisms.frequency import FrequencyMechanism
from planner.mechanisms.piecewise import hybrid_variance, piecewise_variance
from planner.planning.answer_rate.model import AnswerRateModel
from planner.planning.certified import DESIGN
from planner.planning.level_terms import LevelTerms, Terms
from planner.planning.prediction import plain_rivals
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy
from planner.solvers import BASELINES, MODELS
from planner.survey import Question
from planner.survey.kinds import BEST, CHANNEL
from planner.survey.preferences import answering

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = [
    "Candidate",
    "MechanismChoice",
    "best_of",
    "check_mechanism",
    "choose",
    "errors_for_choices",
    "errors_for_mean",
    "mechanism_choices",
    "rivals",
]

_MOST_ITEMS = 1_000_000  # beyond it only mechanisms described per level are compared
_MOST_DEPLOYED_ITEMS = 100_000
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
    efficiency:
        Squared least error of all mechanisms over the squared error, at most 1; None where the
        least error is not known.
    """

    name: str
    error: float
    against: float
    note: str = ""
    efficiency: float | None = None

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
        for candidate in self.candidates:
            if candidate.name == name:
                return candidate
        names = ", ".join(one.name for one in self.candidates)
        raise InputError("candidate", name, f"one of {names}", "Ask for one that is compared.")

    @property
    def summary(self) -> str:
        """The reason for the best one."""
        return self.reason

    def to_frame(self) -> DataFrame:
        """One row a mechanism, best first: its predicted error, and that over the plan's."""
        from pandas import DataFrame

        return DataFrame(
            {
                "mechanism": [one.title for one in self.candidates],
                "error": [one.error for one in self.candidates],
                "against_plan": [one.against for one in self.candidates],
                "efficiency": [one.efficiency for one in self.candidates],
            }
        )


def mechanism_choices(question: Question) -> list[str]:
    """Names of the mechanisms that a question can be deployed with; the first is the usual one.

    Examples
    --------
    >>> from planner.survey import Level
    >>> mechanism_choices(Question("q", (Level("any", 1.0, item_count=4),)))
    ['best', 'subset-design', 'opt0', 'opt1', 'opt2', 'rappor', 'oue', 'grr', 'subset', 'olh']
    """
    offered = [name for name, offer in CATALOGUE.items() if question.kind in offer.kinds]
    if question.numeric is not None and question.numeric.levels:
        return [CHANNEL]  # no other tells numbers apart by their budgets
    if question.kind == "item-set" and question.criterion != "total":
        return [name for name in offered if name != DESIGN]
    if question.kind == "item-set" and question.guess_limit is not None:
        return [BEST, DESIGN]
    if question.kind != "categorical":
        return offered
    known = {BEST, *MODELS, *BASELINES, *rivals(question.policy, _MOST_DEPLOYED_ITEMS)}
    if question.policy.item_counts.sum() > 1:
        known.add(DESIGN)
    if question.guess_limit is not None:  # nothing else is made for one
        known &= {BEST, DESIGN}
    return [name for name in offered if name in known]


def check_mechanism(question: Question) -> None:
    """Check that a question can be deployed with its mechanism.

    Raises
    ------
    InputError
        It cannot.
    """
    known = mechanism_choices(question)
    if question.mechanism not in known:
        what = f"mechanism of question {question.name!r}"
        remedy = "Choose one of these, or leave the mechanism out."
        if question.guess_limit is not None:
            remedy = "Only these are made for a limit on guesses. Choose one, or delete the limit."
        raise InputError.unknown(what, question.mechanism, known, remedy)


def errors_for_choices(
    policy: PrivacyPolicy, solved: Mapping[str, Terms], objective: Objective | None = None
) -> dict[str, float]:
    """The objective per user of every mechanism for a question with one answer, by name.

    Parameters
    ----------
    policy:
        The levels and budgets.
    solved:
        Tables and designs to compare, by name.
    objective:
        The total error for the least favourable answers when omitted.

    Examples
    --------
    >>> from planner.solvers import baseline, solve
    >>> policy = PrivacyPolicy(np.log([4, 6]), [1, 4])
    >>> errors = errors_for_choices(policy, {"opt0": solve(policy)})
    >>> min(errors, key=errors.get), round(min(errors.values()), 3)
    ('grr', 4.889)
    """
    others = rivals(policy, _MOST_ITEMS)
    terms = {name: LevelTerms.of(mechanism, policy) for name, mechanism in others.items()}
    wanted = objective or Objective()
    return {name: one.value(wanted) for name, one in {**terms, **solved}.items()}


def rivals(policy: PrivacyPolicy, most_items: int) -> dict[str, FrequencyMechanism]:
    """The mechanisms beside tables: plain ones, and direct encoding where it differs.

    None with one item or more than ``most_items``, or if the budgets are out of their range.
    """
    if not 2 <= int(policy.item_counts.sum()) <= most_items:
        return {}
    try:
        found = plain_rivals(policy)
        if np.ptp(policy.room(np.zeros(policy.size))) > 0:  # else it is randomised response
            found["direct"] = DirectEncoding(policy)
    except InputError:  # a budget too small for the grid of 2^-32 with so many items
        return {}
    return found


def errors_for_mean(
    model: AnswerRateModel, epsilon: float, rate: float | None = None
) -> list[tuple[str, float, str]]:
    """Name, mean squared error and a note for every mechanism for a mean at ``epsilon``.

    Everybody answers, or a share ``rate`` of the people. The errors, in the question's unit
    squared, then include the bias of forced answers; fake answers at the top are assumed for
    the forced ones. Where everybody answers they are for the least favourable answers.

    Examples
    --------
    >>> from planner.survey.preferences import NormalPreferences
    >>> model = AnswerRateModel(NormalPreferences(5, 1.5), users=100_000)
    >>> min(errors_for_mean(model, 3.0), key=lambda one: one[1])[0]
    'hybrid'
    >>> min(errors_for_mean(model, 3.0, rate=0.9), key=lambda one: one[1])[0]
    'bisample-md'
    """
    if rate is None:
        return _answered(epsilon, model.domain.radius**2 / model.users)
    return _with_missing(replace(model, preferences=answering(rate)), epsilon)


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
    every = [
        Candidate(name, error, _over(error, own), note, _efficiency(error, least_error))
        for name, error, note in errors
    ]
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


def _efficiency(error: float, least_error: float | None) -> float | None:
    return None if least_error is None else min(1.0, (least_error / error) ** 2)


def _over(error: float, own: float) -> float:
    """``error / own - 1``, and 0 where they differ by rounding alone."""
    ratio = error / own
    return ratio - 1 if abs(ratio - 1) > 10.0**-_DIGITS else 0.0


def _with_missing(model: AnswerRateModel, epsilon: float) -> list[tuple[str, float, str]]:
    kept = float(model.curve([epsilon]).mean_rmse[0]) ** 2
    found = [("bisample-md", kept, "missing answers stay missing")]
    for name in ("harmony", "piecewise"):
        at = model.forced(name, "top", [epsilon])
        note = f"forced answers at the top, bias {at.bias[0]:+.3g}"
        found.append((name, float(at.rmse[0]) ** 2, note))
    return found


def _answered(epsilon: float, unit: float) -> list[tuple[str, float, str]]:
    """Worst case over the answers: 0 for Harmony and BiSample, the ends for the others."""
    harmony = unit * float(1 / np.tanh(epsilon / 2) ** 2)
    piecewise = unit * max(float(piecewise_variance(np.array(epsilon), x)) for x in (0.0, 1.0))
    hybrid = unit * max(float(hybrid_variance(epsilon, x)) for x in (0.0, 1.0))
    return [
        ("bisample-md", harmony, ""),
        ("harmony", harmony, ""),
        ("piecewise", piecewise, ""),
        ("hybrid", hybrid, ""),
    ]


def _reason_of_one(ranked: Sequence[Candidate], measure: str) -> str:
    """Of a question with one error for all its levels, which is named before the comma."""
    best, second = ranked[0], ranked[1]
    what = measure.partition(",")[0].lower()
    reason = (
        f"{best.title} has the smallest predicted {what}; the next, {second.title}, "
        f"has {_more(second.error, best.error)}."
    )
    if any(one.note.startswith("forced") for one in ranked) and best.name == "bisample-md":
        reason += " Forcing an answer biases the mean by people who would rather not give one."
    return reason


def _reason(ranked: Sequence[Candidate], policy: PrivacyPolicy) -> str:
    best, items = ranked[0], int(policy.item_counts.sum())
    ours = next(c for c in ranked if CATALOGUE[c.name].by_level)
    plain = next((c for c in ranked if not CATALOGUE[c.name].by_level), None)
    if plain is None:
        return f"No plain LDP mechanism can be compared with {CATALOGUE[ours.name].label}."
    if best is ours and policy.rule.by_level and np.ptp(policy.epsilons) == 0:
        return (
            "All budgets are equal, so there is nothing to discriminate by: the best plain LDP "
            f"mechanism, {plain.title}, has {_more(plain.error, best.error)}."
        )
    if best is ours:
        bits = next((c for c in ranked if c.name == "opt0" and best.name == DESIGN), None)
        more = "" if bits is None else _more(bits.error, best.error)
        table = "" if bits is None else f" {bits.title}, one bit an answer, has {more}."
        return (
            f"{best.title} uses what the less sensitive answers tolerate: the best plain LDP "
            f"mechanism, {plain.title}, protects all like the most sensitive and has "
            f"{_more(plain.error, best.error)}.{table}"
        )
    reason = (
        f"Plain LDP wins: {best.title}, protects every answer at least as well as asked, and "
        f"{ours.title} has {_more(ours.error, best.error)}"
    )
    if best.name in ("grr", "subset"):
        reason += f". With {items} answers, naming answers is less noisy than a bit for each"
    if np.ptp(policy.epsilons) == 0:
        reason += ". All budgets are equal, so there is nothing to discriminate by"
    return reason + "."


def _more(error: float, best: float) -> str:
    ratio = error / best
    if ratio < 1.0005:
        return "the same error"
    if ratio < 2:
        return f"{100 * (ratio - 1):.1f} % more error"
    return f"{ratio:.1f} times the error"
