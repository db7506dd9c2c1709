"""Several questions asked of the same people: how to spend each person's budget.

Two designs are compared. *Split*: everybody answers everything, question ``j`` with the
share ``g_j`` of its budgets, ``sum g_j <= 1``; by sequential composition (theorem 2 of the
IDUE paper) what a person spends adds up over the questions, per input. *Some each*:
everybody answers ``k`` questions, each drawn with probability ``f_j``, at ``1/k`` of its budgets;
with ``k = 1``, *one each*, at its full budget.

With share ``g`` of its budgets a question's smallest error per user is ``scale * V(g) + offset``
with ``V`` decreasing: for choices the optimum of a model under ``s_i + w_j <= g r_ij``, or of all
mechanisms; for a mean ``1 / tanh^2(g eps / 2) = 1 + 4 p (1 + p)`` at ``p(g eps)``. For opt0 and a
mean it is convex. Then every evaluation comes with a tangent ``V(h) >= constant - slope * h`` for
all shares ``h``, proven like a certificate: the best shares follow by damped Newton steps and are
proven from the tangents.

The error of a subset design is not convex in the budgets. With equal budgets it is that of the
best subset size, the smallest of smooth curves, and where the size changes, the slope jumps
down. (So it is of sets at a given padding length.) All that is sure is that it falls. So every
question is solved at a few shares; between two of them its error is at least that at the larger
one. No shares have a smaller objective than the best for these stairs, bounded by Lagrange's
relaxation for a sum. The steps that hold the bound down are divided next.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner import arguments
from planner.arguments import whole_number
from planner.errors import ConvergenceError, InputError
from planner.frames import Framed
from planner.patience import still_wanted
from planner.planning.channels import bisample_worst
from planner.planning.option import ErrorLaw
from planner.planning.solve import DESIGN, ROUGH, TIGHT, Certified, solve_for
from planner.planning.what_if import scaled
from planner.policy import logodds
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy
from planner.solvers.certificate import Proof, prove
from planner.solvers.models import model_named
from planner.solvers.program import Program
from planner.solvers.reduced import solve_reduced

Array = NDArray[np.float64]
_PROVEN = 1e-6  # largest proven relative gap of an allocation that is returned
_TIGHT = 1e-10
_MOST_STEPS, _SHORTEST = 60, 1e-6
_ENOUGH = 0.03  # the gap at which the search ends
_MOST_POINTS, _MOST_DESIGNS = 60, 12  # shares at which a question is solved
_FINE = 400  # shares between the smallest and the largest, to choose the next ones
_PRICES, _HALVINGS = (1e-30, 1e30), 64  # to the last digit


class AtShare(NamedTuple):
    """A block's error per user at one share, a proven tangent of it, and what was solved if any.

    For all shares ``h``: ``error(h) >= constant - slope * h``. None where it is not convex.
    """

    error: float
    constant: float | None
    slope: float | None
    certified: Certified | None


@dataclass(frozen=True, slots=True)
class ChoiceBlock:
    """A question about one answer out of several, or a set of them.

    Parameters
    ----------
    name:
        The question.
    policy:
        Its levels with the budgets that people tolerate for the whole survey.
    weight:
        Importance of its error in a sum, above 0.
    objective:
        What its error is; the worst-case total by default.
    errors:
        From the objective's value to the error; of one answer out of ``m`` when omitted.
    sets:
        Whether one item of a set is drawn.
    mechanism:
        ``"opt0"``, ``"opt1"``, ``"opt2"`` or ``"subset-design"``.

    Raises
    ------
    InputError
        A number is out of range.
    """

    name: str
    policy: PrivacyPolicy
    weight: float = 1.0
    objective: Objective = field(default_factory=Objective)
    errors: ErrorLaw | None = None
    mechanism: str = "opt0"

    def __post_init__(self) -> None:
        _check_weight(self.name, self.weight)

    @property
    def law(self) -> ErrorLaw:
        """From the objective's value to the error."""
        one = ErrorLaw(spread=float(1 - 1 / self.policy.item_counts.sum()))
        return self.errors or one

    @property
    def convex(self) -> bool:
        """Whether the error is convex in the share: proven for opt0."""
        return self.mechanism == "opt0"

    @property
    def slow(self) -> bool:
        """Whether it takes long to solve."""
        return self.mechanism == DESIGN

    def solved(self, share: float, tolerance: float = TIGHT) -> Certified:
        """The table or design at ``share``, above 0 and at most 1."""
        return solve_for(scaled(self.policy, share), self.mechanism, self.objective, tolerance)

    def bounds_at(self, share: float, tolerance: float = TIGHT) -> tuple[float, float]:
        """Error at ``share``, and what it is at least with as much or less; proven.

        A design is solved to ``tolerance``.
        """
        found = self.solved(share, tolerance)
        proven = found.certificate.lower_bound if found.certificate else -np.inf
        return self.law.error(found.objective_value), self.law.error(proven)

    def at(self, share: float) -> AtShare:
        """Error, and of opt0 a proven tangent, at ``share``, above 0 and at most 1."""
        table, law = self.solved(share), self.law
        if not self.convex:
            return AtShare(self.law.error(table.objective_value), None, None, table)
        program = Program.of(table.policy, self.objective, model_named("opt0"))
        v, proof = _tangent(program, table)
        total, branches, slope, own = program.pieces(v)
        plane = slope + proof.weights * own
        constant = total + float(proof.weights @ branches) - float(np.sum(plane * v))
        # The smallest value of the plane over share * P is constant - share * (a support
        # function of P); the proof bounds it from below, hence the slope from above.
        fall = max(0.0, (constant - proof.lower_bound) / share)
        return AtShare(
            self.law.error(table.objective_value),
            law.scale * constant + law.offset + law.bias,
            law.scale * fall,
            table,
        )


@dataclass(frozen=True, slots=True)
class MeanBlock:
    """A question about a mean, answered by one bit with budget ``epsilon``.

    The value is ``1 / tanh^2(g eps / 2)``: the error itself of Harmony, and of BiSample with
    everybody answering, less ``mean^2``. It is a variance for people drawn at random.

    Parameters
    ----------
    name:
        The question.
    epsilon:
        Budget that people tolerate for the whole survey, in nats, above 0 and at most 50.
    weight:
        Importance of its error in a sum, above 0.
    errors:
        From the value to the error.
    least_favourable:
        Whether the value is that of BiSample-MD for the least favourable answers instead, which
        rises with ``1 / tanh^2`` and is convex.

    Raises
    ------
    InputError
        A number is out of range.

    Examples
    --------
    >>> round(MeanBlock("income", 2.0).at(0.5).error, 6)
    4.682694
    """

    name: str
    epsilon: float
    weight: float = 1.0
    errors: ErrorLaw = ErrorLaw()  # noqa: RUF009 - frozen
    least_favourable: bool = False

    def __post_init__(self) -> None:
        _check_weight(self.name, self.weight)
        arguments.budget("epsilon", self.epsilon)

    @property
    def law(self) -> ErrorLaw:
        """From the value to the error."""
        return self.errors

    @property
    def convex(self) -> bool:
        """Whether the error is convex in the share."""
        return True

    @property
    def slow(self) -> bool:
        """Whether it takes long to solve."""
        return False

    @property
    def mechanism(self) -> str:
        """The mechanism whose error this is."""
        return "bisample-md"

    def bounds_at(self, share: float, _tolerance: float = TIGHT) -> tuple[float, float]:
        """Error at ``share``, and what it is at least with as much or less: the same."""
        error = self.at(share).error
        return error, error

    def at(self, share: float) -> AtShare:
        """Error and its tangent at ``share``, above 0 and at most 1."""
        p = float(logodds.p(np.array(share * self.epsilon)))
        # In this order the error of a mean at the end of its range does not round to 0.
        law = self.errors
        u = 1 + 4 * p * (1 + p)
        error = law.scale * 4 * p * (1 + p) + (law.scale + law.offset) + law.bias
        rise = law.scale
        if self.least_favourable:
            error = law.error(bisample_worst(u))
            rise *= min((u + 1) / 2, 2.0)
        fall = -rise * self.epsilon * 4 * (1 + 2 * p) * float(logodds.p_slope(np.array(p)))
        return AtShare(error, error + fall * share, fall, None)


Block = ChoiceBlock | MeanBlock


def _tangent(program: Program, table: Certified) -> tuple[Array, Proof]:
    """A point next to the optimum and the proof from the tangent planes there.

    The reduction has its own proof, in O(t); its bound is at most that of the linear program
    over the same planes, so slopes that follow from it err to the safe side.
    """
    if program.policy.reduction is not None:
        return solve_reduced(program)
    v = np.array(logodds.to_log_odds(table.a, table.b))
    return v, prove(program, v)


def _check_weight(name: str, weight: float) -> None:
    if not (isfinite(weight) and weight > 0):
        remedy = "Leave a question that does not matter out of the survey."
        raise InputError(f"weight of question {name!r}", weight, "finite and above 0", remedy)


@dataclass(frozen=True, slots=True, eq=False)
class Goal:
    """Weights of the questions' errors, and their targets for the minimax, else None; ``(k,)``."""

    weights: Array
    targets: Array | None = None

    @classmethod
    def of(
        cls, blocks: Sequence[Block], objective: str = "sum", targets: ArrayLike | None = None
    ) -> Goal:
        """The goal called ``objective`` for ``blocks``.

        Raises
        ------
        InputError
            Neither ``"sum"`` nor ``"minimax"``, or targets that do not fit.
        """
        if objective not in ("sum", "minimax"):
            raise InputError("objective", objective, '"sum" or "minimax"', "Choose one of them.")
        if (objective == "minimax") != (targets is not None):
            remedy = 'Give one target a question for "minimax"; leave targets out for "sum".'
            raise InputError("targets", targets, 'given for "minimax", and only for it', remedy)
        weights = np.array([block.weight for block in blocks])
        if targets is None:
            return cls(weights)
        wanted = np.asarray(targets, dtype=np.float64)
        if wanted.shape != weights.shape or not all(isfinite(t) and t > 0 for t in wanted):
            allowed = f"{weights.size} numbers above 0, one per question"
            remedy = "Give each question the error that it should reach."
            raise InputError("targets", targets, allowed, remedy)
        return cls(weights, wanted)

    def value(self, errors: Array) -> float:
        """The objective at these errors per user, shape ``(k,)``."""
        if self.targets is None:
            return float(self.weights @ errors)
        return float(np.max(errors / self.targets))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Allocation(Framed):
    """The best split of everybody's budget, proven, beside asking each person some questions.

    Attributes
    ----------
    names:
        The questions.
    objective:
        ``"sum"`` (weighted sum of the errors) or ``"minimax"`` (largest error over target).
    shares:
        Share of its budgets that each question gets, sum at most 1, shape ``(k,)``.
    errors:
        Error per user of each question, shape ``(k,)``.
    value:
        The objective at these shares.
    lower_bound, relative_gap:
        No shares have a smaller objective than ``lower_bound``: proven from tangents of the
        questions' errors, or where these are not convex from their falling, to a few per cent.
    certified:
        One table or design per question at its share; None for a mean.
    some_each, best_each:
        The alternative, of so many questions a person as were asked for, or else are best; and
        with the best number.
    """

    names: tuple[str, ...]
    objective: str
    shares: Array
    errors: Array
    value: float
    lower_bound: float
    relative_gap: float
    certified: tuple[Certified | None, ...]
    some_each: SomeEach
    best_each: SomeEach

    @property
    def better(self) -> str:
        """The design of the smallest objective, sampling included.

        ``"split"``, ``"one-each"``, or ``"some-each"`` where more than one question a person is
        best.
        """
        if self.best_each.value >= self.value:
            return "split"
        return "one-each" if self.best_each.asked == 1 else "some-each"

    @property
    def reason(self) -> str:
        """Why, in a sentence or two."""
        if len(self.names) == 1:
            return "There is one question: it gets the whole budget."
        split, each = self.value, self.best_each.value
        if self.better == "split":
            return (
                f"Ask everybody everything: the objective is {split:,.6g}, and may be as large as "
                f"{each:,.6g} if each person answers {self.best_each.in_words}. The budgets are so "
                "large that leaving people out costs more than splitting."
            )
        return (
            f"Ask each person {self.best_each.in_words}: the objective is at most {each:,.6g}, "
            f"{split / each:.2g} times smaller than {split:,.6g} when everybody answers "
            "everything. A budget split over questions hurts more than fewer answers do: at "
            "small budgets the error grows with the square of what is split, and only "
            "in proportion to the people left out."
        )

    @property
    def summary(self) -> str:
        """The better of the two designs, and what is proven of the split."""
        proven = f"the split is proven best to within {self.relative_gap:.1g}"
        return f"Better: {self.better}; {proven}."

    def columns(self) -> dict[str, Any]:
        """One row a question: split, and some questions each; errors per user."""
        return {
            "question": list(self.names),
            "share": self.shares,
            "error": self.errors,
            "fraction_some_each": self.some_each.fractions,
            "error_some_each": self.some_each.errors,
        }


def allocate(
    blocks: Sequence[Block],
    objective: str = "sum",
    targets: ArrayLike | None = None,
    alone: Sequence[Block] | None = None,
    asked: int | None = None,
) -> Allocation:
    """The shares with the smallest error, with proof: from tangents, or else from stairs.

    Parameters
    ----------
    blocks:
        The questions; at least one.
    objective:
        ``"sum"``: the weighted sum of the errors per user. ``"minimax"``: the largest ratio of
        error per user to its target.
    targets:
        For the minimax, and only for it: a target error per user for each question, above 0.
    alone:
        The questions as they are asked if each person answers some, in the same order, where
        that is not as in ``blocks``: item sets may have another padding length.
    asked:
        How many questions each person answers then, 1 to all; the best number when omitted.

    Raises
    ------
    InputError
        No question, a repeated name, targets that do not fit, or more asked than there are.
    ConvergenceError
        Convex errors, and the shares could not be proven optimal to a relative 1e-6.

    Examples
    --------
    >>> from planner import PrivacyPolicy
    >>> from planner.planning.shares import ChoiceBlock, MeanBlock
    >>> found = allocate([
    ...     ChoiceBlock("diagnosis", PrivacyPolicy(np.log([4, 6]), [1, 4])),
    ...     ChoiceBlock("page", PrivacyPolicy([2, 2.4, 4], [5, 5, 90]), weight=0.05),
    ...     MeanBlock("income", 2.0, weight=3),
    ... ])
    >>> round(found.value, 3), found.shares.round(3).tolist()
    (125.735, [0.416, 0.296, 0.288])
    >>> round(found.some_each.noise_value, 3), found.better
    (45.675, 'one-each')
    """
    names = tuple(block.name for block in blocks)
    if not names or len(set(names)) < len(names):
        allowed = "one or more, each with a name of its own"
        remedy = "Add a question, or rename those that share a name."
        raise InputError("questions", list(names), allowed, remedy)
    goal = Goal.of(blocks, objective, targets)
    errors, shares, bound, certified = _solved(blocks, goal)
    value = goal.value(errors)
    bound = min(bound, value)
    gap = (value - bound) / abs(bound) if bound else float(np.inf)
    if all(block.convex for block in blocks) and not gap <= _PROVEN:
        raise ConvergenceError(
            f"The shares are proven optimal only to {gap:.1e}",
            "Bring the weights or targets of the questions closer together.",
        )
    each = best = best_some_each(blocks if alone is None else alone, goal)
    if asked not in (None, best.asked):
        number = whole_number("asked", asked, 1, len(blocks))
        each = some_each(blocks if alone is None else alone, goal, number)
    return Allocation(names, objective, shares, errors, value, bound, gap, certified, each, best)


def _solved(
    blocks: Sequence[Block], goal: Goal
) -> tuple[Array, Array, float, tuple[Certified | None, ...]]:
    """Errors, shares, a lower bound, and what was solved."""
    if len(blocks) == 1:
        shares = np.ones(1)
        points = _at(blocks, shares)
        bound = goal.value(np.array([blocks[0].bounds_at(1.0)[1]]))
    elif all(block.convex for block in blocks):
        shares, points, bound = _improved(blocks, goal)
    else:
        shares, bound = search_shares(blocks, goal)
        points = _at(blocks, shares)
    return _errors(points), shares, bound, tuple(point.certified for point in points)


def _improved(blocks: Sequence[Block], goal: Goal) -> tuple[Array, list[AtShare], float]:
    """Shares after damped Newton steps from a guess, every block there, a lower bound."""
    few = 1 / len(blocks)
    shares, _ = _guess([_Curve(block, (few / 8, few / 2, few, 1.0)) for block in blocks], goal)
    points = _at(blocks, shares)
    bound = _lower_bound(points, goal)
    for _ in range(_MOST_STEPS):
        still_wanted()
        value = goal.value(_errors(points))
        if value - bound <= _TIGHT * abs(bound):
            break
        wanted, part = _balanced(shares, points, goal), 1.0
        while part > _SHORTEST:
            moved = shares * (wanted / shares) ** part
            moved /= moved.sum()
            nearer = _at(blocks, moved)
            bound = max(bound, _lower_bound(nearer, goal))
            if goal.value(_errors(nearer)) < value:
                break
            part /= 2
        else:
            break
        shares, points = moved, nearer
    return shares, points, bound


def _at(blocks: Sequence[Block], shares: Array) -> list[AtShare]:
    return [block.at(share) for block, share in zip(blocks, shares.tolist(), strict=True)]


def _errors(points: Sequence[AtShare]) -> Array:
    return np.array([point.error for point in points])


def _lower_bound(points: Sequence[AtShare], goal: Goal) -> float:
    """A lower bound of the objective over all shares, from the tangents at ``points``.

    For the sum, the tangents' total falls fastest along the steepest one. For the minimax, the
    multipliers that make all slopes equal give ``(sum C/K - 1) / (sum T/K)``.
    """
    constant = np.array([point.constant for point in points])
    slope = np.array([point.slope for point in points])
    if goal.targets is None:
        return float(goal.weights @ constant - np.max(goal.weights * slope))
    return float((np.sum(constant / slope) - 1) / np.sum(goal.targets / slope))


def _balanced(shares: Array, points: Sequence[AtShare], goal: Goal) -> Array:
    """One Newton step towards equal weighted slopes, or equal ratios.

    The errors behave locally like ``c / g^r``; ``r`` is read off the tangent.
    """
    error = _errors(points)
    slope = np.array([point.slope for point in points])
    power = slope * shares / error
    if goal.targets is None:
        pull, power = np.log(goal.weights * slope), 1 + power
    else:
        pull = np.log(error / goal.targets)
    level = np.sum(shares * pull / power) / np.sum(shares / power)
    moved = shares * np.exp((pull - level) / power)
    return moved / moved.sum()


class _Curve:
    """A question's error and its proven lower bound at the shares tried so far, rising."""

    def __init__(self, block: Block, shares: Sequence[float]) -> None:
        self._block = block
        self.shares: list[float] = []
        self.errors: list[float] = []
        self.bounds: list[float] = []
        for share in shares:
            self.try_share(share)

    @property
    def full(self) -> bool:
        """Whether it was tried often enough."""
        return len(self.shares) >= (_MOST_DESIGNS if self._block.slow else _MOST_POINTS)

    def try_share(self, share: float, tolerance: float = ROUGH) -> None:
        """Solve the question at ``share``, unless it was."""
        place = bisect_left(self.shares, share)
        if share not in self.shares[place : place + 1]:
            error, bound = self._block.bounds_at(share, tolerance)
            self.shares.insert(place, share)
            self.errors.insert(place, error)
            self.bounds.insert(place, bound)

    def stairs(self) -> tuple[Array, Array]:
        """More than so much of the budget is needed, for an error that is at least so much."""
        return np.array([0.0, *self.shares[:-1]]), np.array(self.bounds)

    def between(self) -> tuple[Array, Array]:
        """Shares, close together, and what the errors there may be: straight in logarithms."""
        fine = np.geomspace(self.shares[0], self.shares[-1], _FINE)
        errors = np.log(np.maximum(self.errors, np.finfo(float).tiny))
        return fine, np.exp(np.interp(np.log(fine), np.log(self.shares), errors))

    def height(self, step: int) -> float:
        """How far a step falls below the one before it; the first one has none before it."""
        return self.bounds[step - 1] - self.bounds[step] if step else np.inf

    def divide(self, step: int) -> None:
        """Try the middle of a step of the stairs."""
        top = self.shares[step]
        self.try_share((top * self.shares[step - 1]) ** 0.5 if step else top / 2)


class _Bound(NamedTuple):
    """What no shares can beat, and the step of each question's stairs that it rests on."""

    value: float
    steps: list[int]


def search_shares(blocks: Sequence[Block], goal: Goal) -> tuple[Array, float]:
    """Shares with a small objective, and a lower bound for all; errors must fall in them.

    Returns
    -------
    shares:
        Above 0, sum at most 1, shape ``(len(blocks),)``.
    lower_bound:
        Proven. The search ends within 3 % of it, or after a dozen designs a question.

    Examples
    --------
    >>> from planner.planning.shares import MeanBlock
    >>> blocks = [MeanBlock("income", 1.0), MeanBlock("rent", 1.0)]
    >>> shares, lower_bound = search_shares(blocks, Goal.of(blocks))
    >>> shares.round(2).tolist(), sum(block.at(0.5).error for block in blocks) >= lower_bound
    ([0.5, 0.5], True)
    """
    few = 1 / len(blocks)
    curves = [_Curve(block, (few / 4, few, 1.0)) for block in blocks]
    while True:
        still_wanted()
        shares, value = _guess(curves, goal)
        bound = _bound(curves, goal)
        room = [j for j, curve in enumerate(curves) if not curve.full]
        if value - bound.value <= _ENOUGH * abs(bound.value) or not room:
            break
        scale = goal.weights if goal.targets is None else 1 / goal.targets
        worst = max(room, key=lambda j: scale[j] * curves[j].height(bound.steps[j]))
        curves[worst].divide(bound.steps[worst])
    for curve, share in zip(curves, shares.tolist(), strict=True):
        curve.try_share(share, TIGHT)  # a little more is known then
    return shares, _bound(curves, goal).value


def _guess(curves: Sequence[_Curve], goal: Goal) -> tuple[Array, float]:
    """The best shares, and their objective, if the errors were straight between those tried."""
    lines = [curve.between() for curve in curves]
    choose = (
        _cheapest(goal.weights, lines) if goal.targets is None else _enough(goal.targets, lines)
    )
    shares = choose(_price_of_all(choose))
    shares = shares / shares.sum()
    errors = [np.interp(share, *line) for share, line in zip(shares, lines, strict=True)]
    return shares, goal.value(np.array(errors))


def _cheapest(weights: Array, lines: Sequence[tuple[Array, Array]]) -> Callable[[float], Array]:
    """The shares at which the questions' parts of the sum are least, if budget costs a price."""
    most = max(len(shares) for shares, _ in lines)
    shares, errors = np.ones((len(lines), most)), np.full((len(lines), most), np.inf)
    for j, line in enumerate(lines):
        shares[j, : len(line[0])], errors[j, : len(line[0])] = line
    errors *= weights[:, None]
    rows = np.arange(len(lines))
    return lambda price: shares[rows, (errors + price * shares).argmin(axis=1)]


def _enough(targets: Array, lines: Sequence[tuple[Array, Array]]) -> Callable[[float], Array]:
    """The shares at which the errors are so many times their targets."""
    falling = [
        (target, -errors, shares) for target, (shares, errors) in zip(targets, lines, strict=True)
    ]
    return lambda ratio: np.array([np.interp(-t * ratio, errors, x) for t, errors, x in falling])


def _bound(curves: Sequence[_Curve], goal: Goal) -> _Bound:
    """The stairs' least objective, or for a sum what Lagrange's relaxation proves of it."""
    stairs = [curve.stairs() for curve in curves]
    if goal.targets is not None:
        ratios = [bounds / t for (_, bounds), t in zip(stairs, goal.targets, strict=True)]
        for ratio in np.unique(np.concatenate(ratios)):
            # The first step of each that is low enough; none may be.
            steps = [int(np.argmax(r <= ratio)) if r[-1] <= ratio else -1 for r in ratios]
            if min(steps) >= 0:
                needed = sum(float(x[i]) for (x, _), i in zip(stairs, steps, strict=True))
                if needed < 1:
                    return _Bound(float(ratio), steps)
        raise AssertionError("the largest ratio needs nothing")

    price = _price_of_all(_cheapest(goal.weights, stairs))
    costs = [w * bounds + price * x for w, (x, bounds) in zip(goal.weights, stairs, strict=True)]
    return _Bound(
        sum(float(one.min()) for one in costs) - price, [int(one.argmin()) for one in costs]
    )


def _price_of_all(shares: Callable[[float], Array]) -> float:
    """The price above which ``shares``, falling in it, sum to 1 at most."""
    low, high = _PRICES
    for _ in range(_HALVINGS):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if shares(middle).sum() > 1 else (low, middle)
    return high


@dataclass(frozen=True, slots=True, eq=False)
class SomeEach:
    """Everybody answers ``asked`` questions, each with the share ``1 / asked`` of its budgets.

    Attributes
    ----------
    asked:
        Number of questions that each person answers.
    fractions:
        Share of the people asked each question, at most 1, sum ``asked``, shape ``(k,)``.
    errors:
        Error per user of each question, shape ``(k,)``: ``V_j / f_j`` from the perturbation
        (the fixed part of ``V_j``, a bias, is not divided), plus at most ``S_j (1/f_j - 1)``
        from not asking everybody, with ``S_j`` the largest variance of the answers.
        Upper bounds.
    value:
        The objective at these errors.
    noise_value:
        The objective for the perturbation alone, at the fractions that are best for it.
    certified:
        One table or design per question at this share of its budgets; None for a mean.
    """

    asked: int
    fractions: Array
    errors: Array
    value: float
    noise_value: float
    certified: tuple[Certified | None, ...]

    @property
    def in_words(self) -> str:
        """How many questions each person answers, such as ``"2 of 5 questions"``."""
        return (
            "one question" if self.asked == 1 else f"{self.asked} of {len(self.errors)} questions"
        )

    @property
    def share(self) -> float:
        """Share of its budgets that each question gets which a person answers."""
        return 1 / self.asked


def best_some_each(blocks: Sequence[Block], goal: Goal) -> SomeEach:
    """The number of questions a person above which the objective rises, counted up from one.

    Each one more leaves each question less of the budget, and more people: what is lost is about
    the square of the budget while it is small, and next to nothing when it is large. All of them
    are not asked for here: a split gives each the part that is best for it.
    """
    best = some_each(blocks, goal, 1)
    for asked in range(2, len(blocks)):
        more = some_each(blocks, goal, asked)
        if more.value >= best.value:
            break
        best = more
    return best


def some_each(blocks: Sequence[Block], goal: Goal, asked: int) -> SomeEach:
    """The fractions with the smallest objective, for so many questions a person.

    With errors ``V_j`` at the share ``1 / asked`` and sampling variances ``S_j`` the weighted sum
    of ``(V_j + S_j) / f_j - S_j`` is least at ``f_j ~ sqrt(w_j (V_j + S_j))``, where none is above
    1; the largest ratio to the targets is least where all ratios are equal, or the fraction is 1.
    """
    points = [block.at(1 / asked) for block in blocks]
    fixed = np.array([block.law.bias for block in blocks])
    noise = np.array([p.error for p in points]) - fixed
    spread = np.array([block.law.spread for block in blocks])
    alone = noise / _fractions(noise, fixed, goal, asked) + fixed
    fractions = _fractions(noise + spread, fixed - spread, goal, asked)
    errors = (noise + spread) / fractions + fixed - spread
    certified = tuple(p.certified for p in points)
    return SomeEach(asked, fractions, errors, goal.value(errors), goal.value(alone), certified)


def _fractions(growing: Array, rest: Array, goal: Goal, asked: int) -> Array:
    """The best fractions for errors ``growing / f + rest``: at most 1, sum ``asked``."""
    targets = goal.targets
    if targets is None:
        return _filled(np.sqrt(goal.weights * growing), asked)
    from scipy.optimize import brentq

    def left(ratio: float) -> float:  # fractions that keep this ratio, over what there is
        return float(np.minimum(growing / (ratio * targets - rest), 1.0).sum()) - asked

    low = float(np.max((growing + rest) / targets))  # that of asking everybody
    top = low + float(np.sum((growing + np.abs(rest)) / targets))
    low += 1e-12 * top
    ratio = low
    if left(low) > 0:
        ratio = brentq(left, low, top, xtol=1e-14 * top, rtol=1e-14)
    return _filled(growing / (ratio * targets - rest), asked)


def _filled(wanted: Array, total: int) -> Array:
    """Fractions that sum to ``total``: as ``wanted``, times one number, but at most 1."""
    fractions, full = np.ones(wanted.size), np.zeros(wanted.size, dtype=bool)
    while not full.all():
        scaled = (total - full.sum()) / wanted[~full].sum() * wanted
        over = ~full & (scaled >= 1)
        if not over.any():
            return np.where(full, fractions, scaled)
        full |= over
    return fractions
