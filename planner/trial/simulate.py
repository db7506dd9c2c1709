"""What-ifs on known answers: every mechanism, exact in distribution, predicted beside measured.

No reports are made: counts of reports are drawn from their exact law given the true
counts (single items) or given every user's sampled item (sets), so that a million users
and tens of thousands of items take a fraction of a second.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.arguments import whole_number
from planner.errors import InputError
from planner.estimates.counts import precision_at
from planner.mechanisms import inputs
from planner.mechanisms.catalogue import CATALOGUE
from planner.mechanisms.chunks import spawn
from planner.mechanisms.frequency import FrequencyMechanism
from planner.mechanisms.padded_design import PaddedDesignMechanism
from planner.mechanisms.padding import PaddedUnaryMechanism
from planner.mechanisms.subset_design import SubsetDesignMechanism
from planner.mechanisms.unary import UnaryMechanism
from planner.planning.certified import DESIGN
from planner.planning.datasets import Answers
from planner.planning.prediction import padded_rivals, plain_rivals
from planner.planning.whole_survey.tables import Tables
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy
from planner.solvers import MODELS, solve
from planner.survey import Question

Mechanism = (
    FrequencyMechanism | PaddedUnaryMechanism | PaddedDesignMechanism | SubsetDesignMechanism
)


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """Items of the data in the levels of a question.

    Attributes
    ----------
    policy:
        The question's levels with the numbers of items that they really have here.
    level_of:
        Level of each item, shape ``(items,)``.
    """

    policy: PrivacyPolicy
    level_of: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Simulated:
    """One mechanism's errors, measured over repeated runs and predicted.

    Attributes
    ----------
    name:
        The mechanism.
    mse:
        Mean over runs of the total squared error of all counts, per user.
    mse_error:
        Standard error of ``mse`` over the runs; NaN with a single run.
    predicted_mse:
        Exact expectation of ``mse``: variances and squared biases, per user.
    relative_error:
        Root mean square over runs of (estimate - count) / count, over the ``top`` truly most
        frequent items.
    predicted_relative_error:
        The same from exact variances and biases.
    precision:
        Mean share of the ``top`` largest estimates that are truly among the ``top``.
    """

    name: str
    mse: float
    mse_error: float
    predicted_mse: float
    relative_error: float
    predicted_relative_error: float
    precision: float


def assign_levels(
    question: Question, labels: tuple[str, ...], rng: np.random.Generator
) -> Assignment:
    """Put the items of a data set into a question's levels.

    Items that the question lists go where it lists them. The others go at random into the
    levels that list none, in proportion to those levels' item counts. Listed items that
    nobody has are left out, and so is a level without any item in the data.

    Raises
    ------
    InputError
        An item is not listed and no level takes unlisted items, or there are fewer
        unlisted items than levels that take them.

    Examples
    --------
    >>> from planner.survey import Level, Question
    >>> levels = (Level("rare", 1.0, item_count=1), Level("common", 2.0, item_count=9))
    >>> labels = tuple("abcdefghijklmnopqrst")
    >>> placed = assign_levels(Question("basket", levels), labels, np.random.default_rng(1))
    >>> placed.policy.item_counts.tolist()
    [2, 18]
    """
    home = {item: i for i, level in enumerate(question.levels) for item in level.items}
    open_levels = [i for i, level in enumerate(question.levels) if not level.items]
    level_of = np.array([home.get(label, -1) for label in labels], dtype=np.int64)
    loose = np.flatnonzero(level_of < 0)
    if loose.size and not open_levels:
        more = f" {loose.size:,} items of the data are listed nowhere." if loose.size > 1 else ""
        remedy = f"List it in a level, or leave one level's items open (item_count).{more}"
        raise InputError.unknown("item of the data", labels[loose[0]], home, remedy)
    if loose.size:
        shares = np.array([question.levels[i].item_count for i in open_levels], dtype=np.float64)
        numbers = _apportion(loose.size, shares)
        inputs.generator(rng)
        level_of[rng.permutation(loose)] = np.repeat(open_levels, numbers)
    counts = np.bincount(level_of, minlength=len(question.levels))
    used = np.flatnonzero(counts)
    full = question.policy
    names = [full.names[i] for i in used]
    rule = full.rule.of_levels(used)
    policy = PrivacyPolicy(
        full.epsilons[used], counts[used], rule, names, self_pairs=full.self_pairs
    )
    return Assignment(policy, np.searchsorted(used, level_of))


def mechanism_label(name: str) -> str:
    """The name that people know of one of :func:`build_mechanisms`' names.

    Examples
    --------
    >>> mechanism_label("idue-opt0"), mechanism_label("oue-ps")
    ('IDUE opt0', 'OUE, smallest budget, padded')
    """
    plain = name.removeprefix("idue-").removesuffix("-ps")
    padded = ", padded" if name.endswith("-ps") else ""
    return CATALOGUE[plain].label + padded


def unlisted(question: Question, labels: Sequence[str]) -> list[str]:
    """Items of the data for which the question has no place.

    Examples
    --------
    >>> from planner.survey import Level, Question
    >>> unlisted(Question("ward", (Level("any", 1.0, ("a", "b")),)), ["b", "c"])
    ['c']
    """
    if not all(level.items for level in question.levels):
        return []  # a level whose items are open takes them
    listed = {item for level in question.levels for item in level.items}
    return [label for label in labels if label not in listed]


def build_mechanisms(
    assignment: Assignment, padding_length: int | None = None
) -> dict[str, Mechanism]:
    """The subset design, IDUE with each model, and what a user would pick instead.

    With a padding length the item-set mechanisms (names end in ``-ps``), without one
    those for single items; the design is missing where a plan has none.

    Examples
    --------
    >>> placed = Assignment(PrivacyPolicy([1.0, 2.0], [1, 3]), np.array([0, 1, 1, 1]))
    >>> list(build_mechanisms(placed))
    ['subset-design', 'idue-opt0', 'idue-opt1', 'idue-opt2', 'rappor', 'oue', 'grr', 'subset', ...]
    >>> list(build_mechanisms(placed, padding_length=2))
    ['subset-design-ps', 'idue-opt0-ps', 'idue-opt1-ps', 'idue-opt2-ps', 'rappor-ps', 'oue-ps']
    """
    policy, level_of = assignment.policy, assignment.level_of
    unary = {f"idue-{name}": UnaryMechanism(solve(policy, name), level_of) for name in MODELS}
    if padding_length is None:
        design, missing = Tables().best(policy, Objective())
        best: dict[str, Mechanism] = {}
        if design is not None and not missing:
            best[DESIGN] = SubsetDesignMechanism.of(design, level_of)
        return {**best, **unary, **plain_rivals(policy)}
    padded = {
        f"{name}-ps": PaddedUnaryMechanism(one, padding_length) for name, one in unary.items()
    }
    solved, missing = Tables().best_of_sets(policy, Objective())
    sets: dict[str, Mechanism] = {}
    if solved is not None and not missing:
        sets[f"{DESIGN}-ps"] = PaddedDesignMechanism.of(solved, padding_length, level_of=level_of)
    return {**sets, **padded, **padded_rivals(policy, padding_length)}


def simulate(
    mechanisms: Mapping[str, Mechanism],
    answers: Answers,
    repeats: int,
    rng: np.random.Generator,
    top: int = 10,
    progress: Callable[[], object] = lambda: None,
) -> list[Simulated]:
    """Run every mechanism ``repeats`` times on known answers.

    Parameters
    ----------
    mechanisms:
        By name; single-item mechanisms, or item-set mechanisms if the answers are sets.
    answers:
        The truth.
    repeats:
        Runs per mechanism, at least 1.
    rng:
        Seeds every mechanism on its own, so that the figures of one do not depend on
        the others after it.
    top:
        How many of the most frequent items to judge by; at most the number of items
        that somebody has.
    progress:
        Called after every run.

    Raises
    ------
    InputError
        A number outside its range, or a mechanism that does not fit the answers.
    """
    whole_number("repeats", repeats, remedy="Take 100 for a first look.")
    present = int(np.count_nonzero(answers.counts))
    if not 1 <= top <= present:
        allowed = f"from 1 to the number of items that anybody has, {present}"
        remedy = "Judge fewer items."
        raise InputError("top", top, allowed, remedy)
    for name, mechanism in mechanisms.items():
        if mechanism.takes_sets != (answers.sets is not None):
            allowed = "for item sets" if answers.sets is not None else "for single items"
            raise InputError(
                "mechanism", name, allowed, "Simulate it on answers of its kind, or leave it out."
            )
    children = spawn(inputs.generator(rng), len(mechanisms))
    return [
        _simulate_one(name, mechanism, answers, repeats, child, top, progress)
        for (name, mechanism), child in zip(mechanisms.items(), children, strict=True)
    ]


def _simulate_one(
    name: str,
    mechanism: Mechanism,
    answers: Answers,
    repeats: int,
    rng: np.random.Generator,
    top: int,
    progress: Callable[[], object],
) -> Simulated:
    truth = answers.counts.astype(np.float64)
    best = np.argsort(-truth, kind="stable")[:top]
    data: Any = answers.counts if answers.sets is None else answers.sets
    totals, relative, precision = np.empty((3, repeats))
    for run in range(repeats):
        estimates = mechanism.estimate(mechanism.draw_aggregate(data, rng))
        error = estimates.values - truth
        totals[run] = np.square(error).sum()
        relative[run] = np.mean(np.square(error[best] / truth[best]))
        precision[run] = precision_at(estimates.top(top), truth)
        progress()
    expected = mechanism.variance(data) + np.square(mechanism.bias(data))
    n = answers.users
    return Simulated(
        name,
        mse=float(totals.mean() / n),
        mse_error=float(totals.std(ddof=1) / np.sqrt(repeats) / n) if repeats > 1 else float("nan"),
        predicted_mse=float(expected.sum() / n),
        relative_error=float(np.sqrt(relative.mean())),
        predicted_relative_error=float(np.sqrt(np.mean(expected[best] / np.square(truth[best])))),
        precision=float(precision.mean()),
    )


def _apportion(total: int, shares: NDArray[np.float64]) -> NDArray[np.int64]:
    """``total`` items split in these proportions, at least one each, by largest remainders."""
    if total < shares.size:
        allowed = f"at least the number of levels that take them, {shares.size}"
        remedy = "Merge these levels, or give the rest more items."
        raise InputError("number of unlisted items", total, allowed, remedy)
    ideal = total * shares / shares.sum()
    numbers = np.floor(ideal).astype(np.int64)
    numbers[np.argsort(numbers - ideal, kind="stable")[: total - int(numbers.sum())]] += 1
    for empty in np.flatnonzero(numbers == 0):
        numbers[np.argmax(numbers)] -= 1
        numbers[empty] = 1
    return numbers
