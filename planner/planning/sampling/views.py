"""Three views of Sampling Privacy's guarantee, always shown together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.arguments import whole_number
from planner.errors import InputError
from planner.mechanisms.sampling_privacy import SamplingPrivacy
from planner.planning.sampling import curves, totals
from planner.policy.budget_text import rounded_up


@dataclass(frozen=True, slots=True)
class AggregateView:
    """Only the whole population's totals are released, by an aggregator who is trusted.

    The guarantee is about changing one person's answer. It holds for every population in
    which, that person not counted, at least ``others_yes`` people have each value and at
    least ``others_no`` have none: more people never hurt.

    Attributes
    ----------
    mechanism:
        The parameters.
    others_yes:
        Assumed number of other people per value, shape ``(V,)``, 0 to 10^7.
    others_no:
        Assumed number of other people with none of the values, 0 to 10^7.
    """

    mechanism: SamplingPrivacy
    others_yes: tuple[int, ...]
    others_no: int

    def difference_delta(self, epsilon: float) -> float:
        """``delta`` if only the differences (the estimates) are released; exact."""
        sampling, counts = self.mechanism.sampling, sorted(self.others_yes)
        deltas = [0.0]
        if not self.mechanism.everyone_has_value:
            deltas.append(curves.difference_delta(counts[0], sampling, epsilon))
        if len(counts) > 1:  # delta falls in both counts: the two rarest values are the worst
            deltas.append(curves.exchange_delta(counts[0], counts[1], sampling, epsilon))
        return max(deltas)

    def totals_delta(self, epsilon: float) -> float:
        """``delta`` if the totals of both rounds are released; exact, or a proven bound."""
        with_differences = self.difference_delta(epsilon)
        if self.mechanism.everyone_has_value:
            return with_differences  # round one adds nothing: see exchange_delta
        curve = totals.totals_delta_exact if self._fits_table else totals.totals_delta_bound
        mechanism, rarest = self.mechanism, min(self.others_yes)
        none = curve(rarest, self.others_no, mechanism.zero, mechanism.sampling, epsilon)
        return max(with_differences, none)

    @property
    def totals_are_exact(self) -> bool:
        """False if :meth:`totals_delta` is a bound from above."""
        return self.mechanism.everyone_has_value or (self._fits_table and len(self.others_yes) == 1)

    def difference_epsilon(self, delta: float) -> float:
        """Smallest budget at ``delta`` if only the differences are released; inf above 50."""
        return curves.smallest_epsilon(self.difference_delta, delta)

    def totals_epsilon(self, delta: float) -> float:
        """Smallest (proven) budget at ``delta`` if both rounds' totals are released."""
        return curves.smallest_epsilon(self.totals_delta, delta)

    def curve(self, epsilons: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """``delta`` at each epsilon, shape ``(k,)`` each: differences only, and both totals."""
        grid = np.atleast_1d(np.asarray(epsilons, dtype=np.float64)).tolist()
        difference = np.array([self.difference_delta(epsilon) for epsilon in grid])
        return difference, np.array([self.totals_delta(epsilon) for epsilon in grid])

    @property
    def _fits_table(self) -> bool:
        rarest = min(self.others_yes)
        return (rarest + 2) * (rarest + self.others_no + 2) <= totals.MAX_EXACT_CELLS


@dataclass(frozen=True, slots=True)
class GuaranteeViews:
    """The three views side by side: what is protected depends on who sees what.

    Attributes
    ----------
    round_two_epsilon:
        Budget if an observer sees a person's round two and nothing of round one (the
        paper's eq. 21, 25, 29), in nats.
    round_two_losses:
        The same for each output 0 .. V, shape ``(V + 1,)``.
    linkable_epsilon:
        Always ``inf``: the budget if both rounds of a person can be linked, as by a single
        curious aggregator.
    sampled_if_zero:
        How likely a person seen at 0 in round one is a sampled one,
        ``pi_s / (pi_s + pi_0)``.
    aggregates:
        The (epsilon, delta) curves if only totals are released.
    """

    round_two_epsilon: float
    round_two_losses: tuple[float, ...]
    linkable_epsilon: float
    sampled_if_zero: float
    aggregates: AggregateView

    def sentences(self, delta: float = 1e-6) -> tuple[str, str, str]:
        """The three views in plain words: round two, linkable, aggregates.

        Numbers are rounded to the pessimistic side.
        """
        view = self.aggregates
        how = "exact" if view.totals_are_exact else "proven bound"
        rarest = min(view.others_yes)
        none = "" if view.mechanism.everyone_has_value else f" and {view.others_no} have none"
        return (
            f"Round two alone: epsilon {_up(self.round_two_epsilon)}. Holds only towards an "
            "observer who sees nothing of a person's round one.",
            "Both rounds of a person linkable: epsilon is INFINITE, there is no protection. "
            "Whoever moves from 0 to a value has that value, with certainty; and a person seen "
            f"at 0 in round one is a sampled one with probability {_up(self.sampled_if_zero)}.",
            f"Only totals released, by a trusted aggregator: epsilon "
            f"{_up(view.difference_epsilon(delta))} for the estimates alone (exact), "
            f"{_up(view.totals_epsilon(delta))} for both rounds' totals ({how}), each at delta "
            f"{delta:g}. Holds if at least {rarest} other people have each value{none}.",
        )


def guarantee_views(
    mechanism: SamplingPrivacy, yes_counts: Sequence[int], population: int
) -> GuaranteeViews:
    """All three views of a mechanism for a population.

    Parameters
    ----------
    mechanism:
        The parameters.
    yes_counts:
        Number of people assumed to have each value, at the least, shape ``(V,)``.
    population:
        Number of people; those without a value must number at least the rest.

    Raises
    ------
    InputError
        A count is out of range or missing, or the counts exceed the population.

    Examples
    --------
    >>> mechanism = SamplingPrivacy(0.45, 0.3, [0.25])
    >>> views = guarantee_views(mechanism, [300], population=10_000)
    >>> round(views.round_two_epsilon, 4), views.linkable_epsilon
    (1.0296, inf)
    >>> views.sentences()[2][:85]
    'Only totals released, by a trusted aggregator: epsilon 0.2236 for the estimates alone'
    """
    values = mechanism.items - 1
    if len(yes_counts) != values:
        allowed = f"a list of {values} counts, one per value"
        remedy = "Give a count for each value."
        raise InputError("yes_counts", yes_counts, allowed, remedy)
    counts = [whole_number(f"yes_counts[{v}]", count, 0) for v, count in enumerate(yes_counts)]
    if sum(counts) > whole_number("population", population):
        remedy = "Lower the counts, or raise the population."
        raise InputError("yes_counts", sum(counts), f"at most the population, {population}", remedy)
    # Either neighbour may be the one with these counts: the person in question is taken out
    # of every group. Counts above the limit keep the (larger) delta of the limit.
    others = tuple(min(max(0, count - 1), curves.MAX_COUNT) for count in counts)
    none = min(max(0, population - sum(counts) - 1), curves.MAX_COUNT)
    losses = tuple(mechanism.output_losses.tolist())
    likely = mechanism.sampling / (mechanism.sampling + mechanism.zero)
    view = AggregateView(mechanism, others, none)
    return GuaranteeViews(max(losses), losses, inf, likely, view)


def _up(epsilon: float) -> str:
    return rounded_up(epsilon, 4, unlimited="INFINITE")
