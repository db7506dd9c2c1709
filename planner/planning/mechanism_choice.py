"""Which mechanism for a question: all that apply on one scale, and the reason for the best.

The scale for choices and item sets is the total mean squared error per user for the least
favourable answers (sets: the expected one for what is known of the sets); for means it is
the mean squared error of the mean per user, in the question's unit squared. Plain LDP
protects every pair like the strictest; it is recommended where it wins.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from planner.designs.table import UnaryTable
from planner.errors import InputError
from planner.frames import Framed
from planner.limits import MAX_EPSILON
from planner.mechanisms.direct_levels import DirectEncoding
from planner.mechanisms.frequency import FrequencyMechanism
from planner.mechanisms.piecewise import hybrid_variance, piecewise_variance
from planner.planning.answer_rate.model import AnswerRateModel
from planner.planning.padding import plan_padding
from planner.planning.prediction import plain_rivals, predict
from planner.policy.policy import PrivacyPolicy
from planner.survey.preferences import HistogramPreferences
from planner.survey.set_model import SetModel

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Candidate", "Choice", "choose_for_choices", "choose_for_mean", "choose_for_sets"]

NAMES = {
    "opt0": "IDUE opt0",
    "opt1": "IDUE opt1 (a + b = 1)",
    "opt2": "IDUE opt2 (a = 1/2)",
    "direct": "direct encoding, per-input rows",
    "rappor": "RAPPOR, smallest budget",
    "oue": "OUE, smallest budget",
    "grr": "GRR, smallest budget",
    "subset": "Subset, smallest budget",
    "olh": "OLH, smallest budget",
}
_DISCRIMINATIVE = ("opt0", "opt1", "opt2", "direct")
_MOST_ITEMS = 1_000_000  # beyond it only mechanisms described per level are compared


@dataclass(frozen=True, slots=True)
class Candidate:
    """A mechanism and its predicted error per user; ``note`` says what else to know."""

    name: str
    label: str
    error: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class Choice(Framed):
    """All candidates, best first, and why the first is recommended."""

    candidates: tuple[Candidate, ...]
    reason: str

    @property
    def best(self) -> Candidate:
        """The recommended mechanism."""
        return self.candidates[0]

    def error(self, name: str) -> float:
        """Predicted error per user of the candidate called ``name``."""
        for candidate in self.candidates:
            if candidate.name == name:
                return candidate.error
        raise InputError("candidate", name, f"one of {[c.name for c in self.candidates]}")

    @property
    def summary(self) -> str:
        """The reason for the recommended one."""
        return self.reason

    def to_frame(self) -> DataFrame:
        """One row a mechanism, best first: its predicted error per user."""
        from pandas import DataFrame

        return DataFrame(
            {
                "mechanism": [one.label for one in self.candidates],
                "error": [one.error for one in self.candidates],
                "note": [one.note for one in self.candidates],
            }
        )


def choose_for_choices(policy: PrivacyPolicy, tables: Mapping[str, UnaryTable]) -> Choice:
    """Compare mechanisms for a question with one answer.

    Parameters
    ----------
    policy:
        The levels and budgets.
    tables:
        Unary tables to compare, by name: a model's and a baseline's at least.

    Examples
    --------
    >>> from planner.solvers import baseline, solve
    >>> policy = PrivacyPolicy(np.log([4, 6]), [1, 4])
    >>> tables = {"opt0": solve(policy), "oue": baseline(policy, "oue")}
    >>> choice = choose_for_choices(policy, tables)
    >>> choice.best.name, round(choice.best.error, 3)
    ('grr', 4.889)
    """
    found = {name: table.worst_case_mse for name, table in tables.items()}
    items = int(policy.item_counts.sum())
    if 2 <= items <= _MOST_ITEMS:
        found |= {
            name: predict(rival, 1, name).total_mse
            for name, rival in _rivals(policy).items()
            if name not in found
        }
    ranked = sorted((Candidate(n, NAMES[n], e) for n, e in found.items()), key=lambda c: c.error)
    return Choice(tuple(ranked), _reason(ranked, policy, items))


def choose_for_sets(
    tables: Mapping[str, UnaryTable],
    users: int,
    sets: SetModel | None,
    length: int | None = None,
    assumed: int = 1,
) -> Choice:
    """Compare mechanisms for item sets, each at its own best padding length, or at ``length``.

    Without a model of the sets all have at most ``assumed`` items, which is the length, and the
    error is that of the least favourable sets.

    Examples
    --------
    >>> from planner.survey.set_model import AssumedSets
    >>> from planner.solvers import baseline, solve
    >>> policy = PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90])
    >>> tables = {"opt0": solve(policy), "oue": baseline(policy, "oue")}
    >>> choose_for_sets(tables, 1000, AssumedSets([0, 1, 1])).best.label
    'IDUE opt0, l = 1'
    """
    ranked = []
    for name, table in tables.items():
        if sets is None:
            at, error = assumed, assumed**2 * table.worst_case_mse + assumed * (assumed - 1)
        else:
            plan = plan_padding(table, users, sets)
            at = plan.length if length is None else length
            error = plan.mse_at(at)
        ranked.append(Candidate(name, f"{NAMES[name]}, l = {at}", error))
    ranked.sort(key=lambda c: c.error)
    policy = next(iter(tables.values())).policy
    return Choice(tuple(ranked), _reason(ranked, policy, int(policy.item_counts.sum())))


def choose_for_mean(model: AnswerRateModel, epsilon: float, rate: float | None = None) -> Choice:
    """Compare mechanisms for a mean at budget ``epsilon``, per user on the question's own scale.

    Everybody answers, or a share ``rate`` of the people. The errors then include the bias of
    forced answers, so they depend on the number of users; fake answers at the top are assumed
    for the forced ones.

    Examples
    --------
    >>> from planner.survey.preferences import NormalPreferences
    >>> model = AnswerRateModel(NormalPreferences(5, 1.5), users=100_000)
    >>> choose_for_mean(model, 3.0).best.name
    'hybrid'
    >>> choose_for_mean(model, 3.0, rate=0.9).best.name
    'bisample-md'
    """
    if rate is None:
        found = _answered(epsilon, model.domain.radius**2)
    else:
        found = _with_missing(replace(model, preferences=_constant(rate)), epsilon)
    ranked = sorted(found, key=lambda c: c.error)
    best, second = ranked[0], ranked[1]
    reason = (
        f"{best.label} has the smallest predicted error of the mean; the next, {second.label}, "
        f"has {_more(second.error, best.error)}."
    )
    if best.name == "bisample-md":
        reason += " Forcing an answer biases the mean by people who would rather not give one."
    return Choice(tuple(ranked), reason)


def _constant(rate: float) -> HistogramPreferences:
    """Preferences of people of whom a share ``rate`` answers at any usual budget."""
    return HistogramPreferences([0.0, 1e-9, MAX_EPSILON, MAX_EPSILON + 1], [1 - rate, 0.0, rate])


def _with_missing(model: AnswerRateModel, epsilon: float) -> list[Candidate]:
    kept = float(model.curve([epsilon]).mean_rmse[0]) ** 2 * model.users
    found = [Candidate("bisample-md", "BiSample-MD, missing answers stay missing", kept)]
    for name in ("harmony", "piecewise"):
        at = model.forced(name, "top", [epsilon])
        label, note = f"{name.capitalize()}, forced answers at the top", f"bias {at.bias[0]:+.3g}"
        found.append(Candidate(name, label, float(at.rmse[0]) ** 2 * model.users, note))
    return found


def _answered(epsilon: float, unit: float) -> list[Candidate]:
    """Worst case over the answers: 0 for Harmony and BiSample, the ends for the others."""
    harmony = unit * float(1 / np.tanh(epsilon / 2) ** 2)
    piecewise = unit * max(float(piecewise_variance(np.array(epsilon), x)) for x in (0.0, 1.0))
    hybrid = unit * max(float(hybrid_variance(epsilon, x)) for x in (0.0, 1.0))
    return [
        Candidate("harmony", "Harmony, one bit", harmony),
        Candidate("bisample", "BiSample, two bits", harmony, "keeps missing answers apart"),
        Candidate("piecewise", "Piecewise", piecewise),
        Candidate("hybrid", "Hybrid", hybrid),
    ]


def _rivals(policy: PrivacyPolicy) -> dict[str, FrequencyMechanism]:
    """The plain mechanisms, and direct encoding where it differs; none if out of their range."""
    try:
        rivals = plain_rivals(policy)
        if np.ptp(policy.room(np.zeros(policy.size))) > 0:  # else it is randomised response
            rivals["direct"] = DirectEncoding(policy)
    except InputError:  # a budget too small for the grid of 2^-32 with so many items
        return {}
    return rivals


def _reason(ranked: list[Candidate], policy: PrivacyPolicy, items: int) -> str:
    best = ranked[0]
    ours = next(c for c in ranked if c.name in _DISCRIMINATIVE)
    plain = next(c for c in ranked if c.name not in _DISCRIMINATIVE)
    if best is ours:
        return (
            f"{best.label} uses what the less sensitive answers tolerate: the best plain LDP "
            f"mechanism, {plain.label}, protects all like the most sensitive and has "
            f"{_more(plain.error, best.error)}."
        )
    reason = (
        f"Plain LDP wins: {best.label}, protects every answer at least as well as asked, and "
        f"{ours.label} has {_more(ours.error, best.error)}"
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
        return f"{100 * (ratio - 1):.1f} % more squared error"
    return f"{ratio:.1f} times the squared error"
