"""Sampling Privacy: the best parameters, what each observer learns, a plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf, sqrt
from typing import Any

import numpy as np

from planner.arguments import whole_number
from planner.arrays import Array, Whole
from planner.errors import InputError, VerificationError, mark
from planner.estimates.counts import normal_quantile
from planner.frames import Columns
from planner.laws.die import ACKNOWLEDGEMENTS
from planner.limits import DENOMINATOR, MAX_EPSILON
from planner.mechanisms.asking import CollectedLaw, ItemOrNoneCollected
from planner.mechanisms.collected import DieCollected
from planner.mechanisms.sampling_privacy import SamplingPrivacy
from planner.planning.curve import Curve
from planner.planning.kind import Kind, PlanFacts
from planner.planning.option import ErrorLaw, Option, Part, at_scale
from planner.survey.questions import SampledChoice

MAX_SAMPLED = 10**7
"""Of people with one answer; more keep the guarantee of so many."""
DELTA_ROUNDING = 1e-10
_SAMPLED_INWARD = 1 - 1e-12  # a rounding error in the search must not overdraw a budget


# -- what released estimates say: docs/theory/sampling-privacy.md ---------------------------


@lru_cache(maxsize=32)
def binomial_window(size: int, chance: float) -> tuple[int, Array]:
    """First outcome and probabilities of every outcome that a float can weigh.

    ``size`` is the number of trials, 0 to 10^7; ``chance`` lies inside (0, 1).
    Bernstein's inequality leaves less than 2 e^-710 < 1e-307 outside the window.
    """
    half = int(710 / 3 + sqrt((710 / 3) ** 2 + 2 * 710 * size * chance * (1 - chance))) + 2
    mode = min(size, int((size + 1) * chance))
    first, last = max(0, mode - half), min(size, mode + half)
    odds = chance / (1 - chance)
    above = np.arange(mode + 1, last + 1)
    below = np.arange(mode, first, -1)
    weights = np.concatenate(
        [
            np.cumprod(below / (size - below + 1) / odds)[::-1],
            [1.0],
            np.cumprod((size - above + 1) / above * odds),
        ]
    )
    pmf = weights / weights.sum()
    pmf.setflags(write=False)
    return first, pmf


def upper_tail(size: int, chance: float, start: Whole) -> Array:
    """``Pr[Binomial >= start]``."""
    first, pmf = binomial_window(size, chance)
    tails = np.append(np.cumsum(pmf[::-1])[::-1], 0.0)
    return tails[np.clip(start - first, 0, pmf.size)]


def raised(value: float, used: float | None = None) -> float:
    """``value`` plus the rounding errors of everything that went into it, at most 1.

    ``used`` is the sum of all terms before they cancelled, ``value`` itself if nothing did.
    """
    below_floats = 1e-300  # outside the window, or too small for full precision
    return min(1.0, value + 2 * DELTA_ROUNDING * (value if used is None else used) + below_floats)


def difference_delta(others: int, sampling: float, epsilon: float) -> float:
    """``delta`` at ``epsilon`` if only the difference of the two rounds is released.

    One person's answer turns from none to the value that ``others`` more people have:
    ``P = Binomial(others, sampling)`` against ``Q = Binomial(others + 1, sampling)``.
    Every term of the sum is positive and computed from the log-ratio
    ``ln Q/P = ln((others + 1) (1 - sampling) / (others + 1 - x))``, so nothing cancels.
    """
    first, p = binomial_window(others, sampling)
    x = first + np.arange(p.size)
    loss = np.log((others + 1) * (1 - sampling) / (others + 1 - x))
    up, down = loss > epsilon, loss < -epsilon
    gained = np.sum(p[up] * np.exp(epsilon) * np.expm1(loss[up] - epsilon))
    gained += sampling ** (others + 1)  # the difference others + 1 is impossible under P
    lost = -np.sum(p[down] * np.expm1(epsilon + loss[down]))
    return raised(float(max(gained, lost)))


def exchange_delta(leaving: int, joining: int, sampling: float, epsilon: float) -> float:
    """``delta`` if one person's answer turns from one value into another.

    ``leaving`` and ``joining`` other people have the two values, whose differences are
    independent: ``P = Bin(leaving + 1) x Bin(joining)`` against ``Q = Bin(leaving) x
    Bin(joining + 1)``. The ratio ``Q/P = (leaving + 1 - x) (joining + 1) / ((leaving + 1)
    (joining + 1 - y))`` rises in ``y``: for each ``x`` the sum over ``y`` is a pair of tails.
    """
    there = _exchange_one_way(leaving, joining, sampling, epsilon)
    return max(there, _exchange_one_way(joining, leaving, sampling, epsilon))


def smallest_epsilon(curve: Callable[[float], float], delta: float) -> float:
    """Smallest ``epsilon`` with ``curve(epsilon) <= delta``, rounded up; ``inf`` above 50."""
    if curve(MAX_EPSILON) > delta:
        return inf
    low, high = 0.0, MAX_EPSILON
    while high - low > 1e-9 * high + 1e-12:
        middle = (low + high) / 2
        low, high = (low, middle) if curve(middle) <= delta else (middle, high)
    return high


def _exchange_one_way(leaving: int, joining: int, sampling: float, epsilon: float) -> float:
    first, h = binomial_window(leaving, sampling)
    x = first + np.arange(h.size)
    unmoved = (leaving + 1 - x) / (leaving + 1)
    more = h * (1 - sampling) / unmoved  # Bin(leaving + 1) at x
    # Q/P > e^eps  <=>  y > joining + 1 - (joining + 1) (leaving + 1 - x) / ((leaving + 1) e^eps)
    share = unmoved * np.exp(-epsilon)
    start = np.floor((joining + 1) * (1 - share)).astype(np.int64) + 1
    arrived = h * upper_tail(joining + 1, sampling, start)
    stayed = more * np.exp(epsilon) * upper_tail(joining, sampling, start)
    return raised(float(np.maximum(arrived - stayed, 0).sum()), float((arrived + stayed).sum()))


def released_delta(
    others: Sequence[int], sampling: float, epsilon: float, *, everyone_has_value: bool = False
) -> float:
    """``delta`` at ``epsilon`` if the estimates alone are released; exact.

    About changing one person's answer, in every population in which, that person not counted, at
    least ``others`` people have each value, shape ``(V,)``: more people never hurt.

    Examples
    --------
    >>> f"{released_delta([299], 0.45, 0.2236):.1e}"
    '1.0e-06'
    """
    counts = sorted(others)
    deltas = [0.0]
    if not everyone_has_value:
        deltas.append(difference_delta(counts[0], sampling, epsilon))
    if len(counts) > 1:  # delta falls in both counts: the two rarest values are the worst
        deltas.append(exchange_delta(counts[0], counts[1], sampling, epsilon))
    return max(deltas)


# -- the parameters and the plan ------------------------------------------------------------


def best_sampling(
    budgets: Sequence[float], cap: float, floor: float, *, everyone_has_value: bool = False
) -> SamplingPrivacy:
    """The mechanism with the smallest error within the budgets of the answers 0 .. V, in nats.

    The error of every count falls in ``pi_s`` and depends on nothing else, so the best parameters
    solve ``max pi_s`` under ``pi_s <= (e^eps_j - 1) pi_j`` for every protected output ``j``,
    ``pi_0 >= floor``, ``pi_s <= cap`` and ``pi_s + sum_j pi_j = 1`` (output 0 is protected unless
    everyone has a value). With ``w_j = 1/(e^eps_j - 1)`` and ``W`` their sum over the values the
    optimum is the smallest of ``cap``, ``(1 - floor)/(1 + W)`` and, if output 0 is protected,
    ``1/(1 + W + w_0)``. Probability that a cap leaves over goes to the outputs in proportion to
    ``w_j``, which lowers every loss below its budget.

    Raises
    ------
    VerificationError
        What was found overdraws a budget.

    Examples
    --------
    >>> round(best_sampling([1.0, 1.0], cap=0.99, floor=0.0).sampling, 6)  # tanh(1/2)
    0.462117
    """
    protected = np.array(budgets, dtype=np.float64)
    if everyone_has_value:
        protected[0] = inf
    weights = 1 / np.expm1(protected)  # 0 for an output that needs no budget
    values = 1 + weights[1:].sum()
    sampling = min(cap, (1 - floor) / values, 1 / (values + weights[0])) * _SAMPLED_INWARD
    rest = 1 - sampling
    zero = max(floor, float(rest * weights[0] / weights.sum()))
    decoys = (rest - zero) * weights[1:] / weights[1:].sum()
    mechanism = SamplingPrivacy(float(sampling), zero, tuple(decoys), everyone_has_value)
    excess = mechanism.output_losses - protected
    if excess.max() > 0 or mechanism.sampling > cap:
        raise VerificationError(f"Output {excess.argmax()} overdraws its budget by {excess.max()}")
    return mechanism


@dataclass(frozen=True, slots=True)
class SamplingPlan:
    """Parameters, their error, and three guarantees: what is protected depends on who sees what.

    Attributes
    ----------
    question, population:
        What is asked of so many people, how much each answer may reveal in round two, and on which
        view of the guarantee a deployment relies: ``"round-two"`` or ``"aggregates-only"``. Both
        are weaker than local differential privacy, under which nobody needs to be trusted.
    mechanism, delta:
        The parameters found, and at which delta the view of released estimates states its epsilon.
    """

    question: SampledChoice
    population: int
    mechanism: SamplingPrivacy
    delta: float = 1e-6

    @property
    def relies_on(self) -> str:
        """The view of the guarantee that a deployment relies on."""
        return self.question.sampling.relies_on

    @property
    def acknowledged(self) -> bool:
        """Whether whoever deploys vouches for what that view needs."""
        return self.question.sampling.acknowledged is not None

    @property
    def nothing_promised(self) -> bool:
        """Whether that view has no finite epsilon."""
        return self.relies_on == "aggregates-only" and self.released_epsilon == inf

    @property
    def deployable(self) -> bool:
        """Whether somebody vouches for it, and it promises something."""
        return self.acknowledged and not self.nothing_promised

    @property
    def limited_by(self) -> str:
        """What keeps the error from being smaller: ``"cap"`` or ``"budgets"``."""
        cap = self.question.sampling.cap
        return "cap" if self.mechanism.sampling >= cap * (1 - 1e-8) else "budgets"

    @property
    def counts(self) -> tuple[int, ...]:
        """How many people are expected to have each value, shape ``(V,)``."""
        return tuple(count for level in self.question.levels for count in level.yes_counts)

    @property
    def budgets(self) -> tuple[float, ...]:
        """Stated budgets of the answers 0 (none of the values) and 1 .. V, in nats."""
        return _budgets(self.question)

    @property
    def others(self) -> tuple[int, ...]:
        """How many others have each value at least, whoever is taken out of them."""
        return tuple(min(max(0, count - 1), MAX_SAMPLED) for count in self.counts)

    @property
    def round_two_epsilon(self) -> float:
        """Budget if an observer sees a person's round two alone, in nats (eq. 21, 25, 29)."""
        return float(self.mechanism.output_losses.max())

    @property
    def released_epsilon(self) -> float:
        """Smallest budget at ``delta`` if the estimates alone are released; ``inf`` above 50."""
        one, everyone = self.mechanism, self.mechanism.everyone_has_value

        def curve(epsilon: float) -> float:
            return released_delta(self.others, one.sampling, epsilon, everyone_has_value=everyone)

        return smallest_epsilon(curve, self.delta)

    def absolute_errors(self) -> Array:
        """Half-width of the error of each expected count at 95 %, shape ``(V,)``, in people.

        ``z sqrt(c (1 - pi_s) / pi_s)``: the exact standard deviation times the normal
        quantile, an approximation for counts below about 10.
        """
        sampling = self.mechanism.sampling
        spread = np.sqrt(np.array(self.counts, dtype=np.float64) * (1 - sampling) / sampling)
        return normal_quantile(0.975) * spread

    @property
    def law(self) -> CollectedLaw:
        """What is deployed, in whole numbers; refused as :meth:`guarantee` is."""
        drawn, levels = self.mechanism, self.question.plain_levels
        faces = (drawn.sampling, drawn.zero, *drawn.decoys)
        sampling, zero, *decoys = (round(share * DENOMINATOR) for share in faces)
        everyone = drawn.everyone_has_value
        about = self.budgets[0], everyone, self.guarantee()
        shape = DieCollected(levels, sampling, zero, tuple(decoys), *about)
        return CollectedLaw("", "sampling-privacy", ItemOrNoneCollected(levels, everyone), shape)

    def guarantee(self) -> dict[str, Any]:
        """What a parameter file says of the three views, as plain JSON types.

        Refused if the acknowledgement is missing, or where the view relied on has no finite epsilon
        for the expected counts.
        """
        _check_acknowledged(self.question)
        if self.nothing_promised:
            reason = f"Released estimates have no finite epsilon at delta {self.delta:g}"
            raise VerificationError(reason, "Merge rare values, so that more people have each.")
        return {
            "relies_on": self.relies_on,
            "acknowledged": self.question.sampling.acknowledged,
            "round_two_epsilon": _outward(self.round_two_epsilon),
            "linkable_epsilon": "infinite",
            "aggregates": {
                "delta": self.delta,
                "epsilon": _outward(self.released_epsilon),
                "others_with_each_value": list(self.others),
            },
        }


def plan_sampling(question: SampledChoice, population: int) -> SamplingPlan:
    """Find the parameters for a question that so many people are asked, and what they promise.

    Raises
    ------
    InputError
        The expected counts do not fit the population; the guarantee relies on linkable rounds, or
        is acknowledged in other words.
    VerificationError
        As :func:`best_sampling`.

    Examples
    --------
    >>> from planner import Level, Sampling
    >>> rare = Level("rare", 1.0, items=("ill",), yes_counts=(300,))
    >>> asked = SampledChoice("health", (rare,), sampling=Sampling(relies_on="round-two"))
    >>> plan = plan_sampling(asked, 10_000)
    >>> round(plan.mechanism.sampling, 6), plan.limited_by, round(plan.released_epsilon, 4)
    (0.45, 'cap', 0.2236)
    >>> plan.guarantee()
    Traceback (most recent call last):
    ...
    planner.errors.InputError: acknowledged is missing but must be "Nobody who sees a person's
    round two can see that person's round one.". The guarantee relied on needs it; if it is
    true, say so word for word. Until then the parameters are not written.
    """
    about = question.sampling
    if about.relies_on not in ACKNOWLEDGEMENTS:
        allowed = f"one of {', '.join(ACKNOWLEDGEMENTS)}"
        remedy = "No deployment can rely on linkable rounds: their privacy loss is infinite."
        raise InputError("relies_on", about.relies_on, allowed, remedy)
    if about.acknowledged is not None:
        _check_acknowledged(question)
    counted = sum(count for level in question.levels for count in level.yes_counts)
    whole_number("population", population)
    if counted > population:
        allowed = f"at most the population, {population}, in total"
        remedy = "Lower the expected counts, or raise the population."
        raise InputError("yes_counts", counted, allowed, remedy)
    if about.everyone_has_value and counted < population:
        remedy = f"The others have none of the values: set {mark('everyone_has_value')} to false."
        allowed = f"the population, {population}, in total, if everyone has a value"
        raise InputError("yes_counts", counted, allowed, remedy)
    everyone = about.everyone_has_value
    mechanism = best_sampling(
        _budgets(question), about.cap, about.floor, everyone_has_value=everyone
    )
    return SamplingPlan(question, population, mechanism)


def _budgets(question: SampledChoice) -> tuple[float, ...]:
    values = [float(level.epsilon) for level in question.levels for _ in level.yes_counts]
    none = question.sampling.none_epsilon
    return (min(values) if none is None else float(none), *values)


def _check_acknowledged(question: SampledChoice) -> None:
    needed = ACKNOWLEDGEMENTS[question.sampling.relies_on]
    if question.sampling.acknowledged != needed:
        remedy = (
            "The guarantee relied on needs it; if it is true, say so word for word. "
            "Until then the parameters are not written."
        )
        said = question.sampling.acknowledged
        raise InputError("acknowledged", said, f'"{needed}"', remedy)


def _outward(epsilon: float) -> float | str:
    """An epsilon that JSON can carry, raised past the rounding of the logarithm."""
    return "infinite" if epsilon == inf else epsilon * (1 + 1e-12)


class SampledKind(Kind[SampledChoice, SamplingPlan]):
    """A rare answer, asked in two rounds: Sampling Privacy, whose guarantee is of another nature.

    Its error is the largest of a count at 95 %, as an error of the total.
    """

    adds_up = False

    def shared(self, question: SampledChoice, users: int) -> Curve:
        """That of its one mechanism."""

        def at(scale: float = 1.0, level: str | None = None, **_: object) -> Option:
            asked, none = at_scale(question, scale, level), question.sampling.none_epsilon
            if level is None and none is not None:
                asked = asked.replacing(
                    sampling=asked.sampling.replacing(none_epsilon=scale * none)
                )
            plan = plan_sampling(asked, users)
            value = float(plan.absolute_errors().max()) ** 2 / users
            return Option(question.mechanism, value, ErrorLaw(), plan, value)

        return Curve(question.name, question.weight, ErrorLaw(), question.mechanism, at)

    def options(self, part: Part[SampledChoice]) -> list[Option]:
        """That alone."""
        return [replace(self.shared(part.question, part.people).at(), bound=None)]

    def columns(self, options: Sequence[Option], mechanism: SamplingPlan) -> Columns:
        """One row a value."""
        counts, errors = mechanism.counts, mechanism.absolute_errors()
        return {"value": range(1, len(counts) + 1), "expected": counts, "error_95": errors}

    def deployable(self, mechanism: SamplingPlan) -> bool:
        """Where somebody vouches for it, and people are enough."""
        return mechanism.deployable

    def law(self, question: SampledChoice, mechanism: SamplingPlan) -> CollectedLaw:
        """Refused where nobody vouches for what it relies on."""
        return mechanism.law

    def facts(
        self,
        part: Part[SampledChoice],
        planned: Option,
        mechanism: SamplingPlan,
    ) -> PlanFacts:
        """The parameters, with the three views of the guarantee."""
        return (mechanism,)
