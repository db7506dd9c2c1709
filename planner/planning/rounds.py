"""The same question in many rounds: one report per person in one of them, and its errors.

*Once*: the report is about one round, given by lot. It keeps the pair budgets against any two
histories of answers, however often they change. *One value*: where it may be seen when an answer
changes, a person reports one of their first ``changes + 1`` values, as long as it lasts. Either
wraps any mechanism of one report; docs/theory/rounds.md has proofs, and of the bounds that no
protocol undercuts.

With ``V`` the total squared error per person of one report, and ``k`` the rounds or values of which
a person reports one, all errors are the mechanism's own, scaled, and what the lot adds, by how much
people differ. They differ for answers that stay and for answers drawn anew; both are stated.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from math import comb, sinh, tanh

import numpy as np

from planner.arrays import Array
from planner.errors import InputError, SolverError
from planner.planning.option import AnyPart, Curve, Option
from planner.planning.solve import TOTAL
from planner.solvers.design_search import history_bound
from planner.survey.asked_again import AskedAgain

_ROUGH = 0.01  # to which what is only compared is solved
_MOST_HISTORIES = 300  # sets of change times that a bound looks at


@dataclass(frozen=True)
class Scheme:
    """A way of asking again, whether times of changes stay hidden, and its errors.

    Total squared errors per person: of ``each`` round; of the average over rounds and of a change,
    where answers stay and where they are drawn anew, as often as they may change. None is unknown.
    """

    name: str
    hidden: bool
    each: float
    average_stays: float | None = None
    average_anew: float | None = None
    change_stays: float | None = None
    change_anew: float | None = None

    @property
    def beside(self) -> list[tuple[str, float, float]]:
        """What is known beside a round: its name, where answers stay and where drawn anew."""
        rows = (
            ("average over rounds", self.average_stays, self.average_anew),
            ("change between rounds", self.change_stays, self.change_anew),
        )
        stated = []
        for name, stays, anew in rows:
            if stays is not None and anew is not None:
                stated.append((name, stays, anew))
        return stated


@dataclass(frozen=True)
class OneReport:
    """What one report about one answer of each person has, squared, per person.

    Its ``error``, with the ``bias`` that stays; at most, how people differ, ``spread``, and the
    squared ``length`` of what is wanted of one person, where each is drawn apart and not so many.
    A ``fraction`` of the people is asked. Answers of two rounds are ``alike``, if they are drawn
    anew as often as they may change, with this chance.

    Examples
    --------
    >>> one = OneReport(error=3.0, spread=0.8, alike=0.25).once(rounds=4)
    >>> [round(float(each), 2) for each in (one.each, one.average_stays, one.average_anew)]
    [14.4, 3.0, 3.6]
    """

    error: float
    spread: float = 1.0
    length: float = 1.0
    alike: float = 0.0
    fraction: float = 1.0
    bias: float = 0.0

    def sample(self, noise: float, spread: float, bias: float = 0.0) -> float:
        """The squared error scaled to all people: ``(noise + spread) / f - spread + bias``."""
        return (noise + spread) / self.fraction - spread + bias

    def always(self) -> Scheme:
        """The first report, again and again."""
        error = self.sample(self.error, self.spread, self.bias)
        return Scheme("one report for all rounds", True, error, error, change_stays=0.0)

    def once(self, rounds: int) -> Scheme:
        """One report in one of so many rounds: the table of theorem 1 in docs/theory/rounds.md."""
        in_round = rounds * (self.error + self.spread)
        return self._scheme(
            "one report in one round",
            hidden=True,
            each=in_round - self.spread,
            average_stays=self.error,
            average_anew=self.error + (1 - self.alike) * self.spread,
            change_stays=2 * in_round,
            change_anew=2 * in_round - 2 * self.spread,
        )

    def one_value(self, changes: int) -> Scheme:
        """One report about one of a person's first ``changes + 1`` values.

        With ``s`` the squared length of what is wanted of one person, a round has
        ``(changes + 1) (V + s) - s``. The average over rounds has that times the chance that two
        rounds have the same value, less a square. An answer that is drawn anew may be the one
        before, and then is the same value: for answers that nearly everybody has, hardly anything
        changes, and the error is that of answers that stay. A change has twice that of a round,
        where there is one: at most as often as of uniform answers.
        """
        in_round = (changes + 1) * (self.error + self.length) - self.length
        most_changing = 1.0
        if self.length:
            most_changing = self.spread / self.length
        return self._scheme(
            "one report of one value",
            hidden=False,
            each=in_round,
            average_stays=in_round,
            average_anew=in_round,
            change_stays=0.0,
            change_anew=2 * in_round * most_changing,
        )

    def shared(self, rounds: int) -> Scheme:
        """Such a report in every one of so many rounds."""
        average = self.error / rounds
        change = 2 * self.error
        return self._scheme(
            "budgets shared by the rounds",
            hidden=True,
            each=self.error,
            average_stays=average,
            average_anew=average,
            change_stays=change,
            change_anew=change,
        )

    def _scheme(
        self,
        name: str,
        *,
        hidden: bool,
        each: float,
        average_stays: float,
        average_anew: float,
        change_stays: float,
        change_anew: float,
    ) -> Scheme:
        """The scheme by the noise of rounds, averages and changes: what a sample misses is added.

        Of answers that stay a change has no spread, and of answers drawn anew twice that of one.
        """
        return Scheme(
            name,
            hidden,
            each=self.sample(each, self.spread, self.bias),
            average_stays=self.sample(average_stays, self.spread, self.bias),
            average_anew=self.sample(average_anew, self.alike * self.spread, self.bias),
            change_stays=self.sample(change_stays, 0.0),
            change_anew=self.sample(change_anew, 2 * self.spread),
        )


def own_ways(
    part: AnyPart, planned: Option, rounds: int | None = None
) -> tuple[OneReport, list[Scheme]]:
    """What a report has of a question that is asked again, and its ways, its own first.

    In as many ``rounds`` as it is asked when omitted.
    """
    again = part.asked.rounds
    errors = planned.errors
    count = rounds or again.count
    changes = again.most_changes
    if again.changes == "any":
        changes = count - 1
    # Answers that change as often as they may, evenly: epochs of ``least`` rounds, ``longer`` of
    # them with one more. Two rounds drawn at random are of the same epoch with chance ``alike``.
    epochs = min(changes + 1, count)
    least, longer = divmod(count, epochs)
    # Pairs of rounds of one epoch: its length squared, of a longer one 2 least + 1 more.
    pairs_alike = epochs * least**2 + longer * (2 * least + 1)
    alike = pairs_alike / count**2
    report = OneReport(
        error=planned.squared - errors.bias,
        spread=errors.spread,
        length=errors.drawn_independently.spread,
        alike=alike,
        fraction=part.fraction,
        bias=errors.bias,
    )
    if not changes:
        return report, [report.always()]
    ways = [report.once(count)]
    if again.changes != "any":
        ways.append(report.one_value(changes))
    # First the one that keeps what is asked for.
    ways.sort(key=lambda way: way.hidden == again.times_open)
    return report, ways


def compared(
    part: AnyPart, planned: Option, options: Sequence[Option], shared: Curve
) -> tuple[list[Scheme], float | None]:
    """Ways of asking a question again, its own first, and what none of them undercuts.

    Errors are squared, per person. The published protocols are of choices; the bound is None
    where none is proven.
    """
    report, ways = own_ways(part, planned)
    count = part.asked.rounds.count
    changes = part.asked.rounds.most_changes
    one_time = planned.sampled(part.fraction)
    ways.append(Scheme("asked one time", hidden=True, each=one_time))
    # Budgets shared evenly by all rounds add up to what one report spends.
    option_of_round = shared.at(part.share / count, tolerance=_ROUGH)
    error_of_round = option_of_round.squared - report.bias
    report_of_round = replace(report, error=error_of_round)
    ways.append(report_of_round.shared(count))
    bound = _bound(part, options)
    if not part.asked.draws_one:
        return ways, bound
    policy = part.deployed.policy
    memoised = memoised_errors(
        items=int(policy.item_counts.sum()),
        epsilon=float(policy.bounds().min()),
        changes=changes,
    )
    for name, error in memoised.items():
        each = report.sample(error, report.spread)
        ways.append(Scheme(name, False, each))
    return ways, bound


def _bound(part: AnyPart, options: Sequence[Option]) -> float | None:
    """Error of a round that no protocol with unbiased estimates undercuts, if any is proven.

    As answers may stay, that of the best single report; of choices also those of histories.
    """
    again = part.asked.rounds
    deployed = part.deployed
    changes = again.most_changes
    policy = deployed.policy
    bounds = []
    for option in options:
        if option.of_all and option.bound is not None:
            bounds.append(option.squared_bound)
    still = not changes and bounds  # what stays is one report
    objective = getattr(deployed, "objective", TOTAL)
    if part.asked.draws_one and objective.kind != "minimax" and not still:
        factors = []
        for items in policy.item_counts.tolist():
            factors.append(correlation_factor(again, changes, items) ** 0.5)
        # No bound is known of a matrix of many levels, or of tiny budgets.
        with suppress(InputError, SolverError):
            bounds.append(history_bound(policy, objective, np.array(factors)))
    return max(bounds, default=0.0) or None


def memoised_errors(items: int, epsilon: float, changes: int) -> dict[str, float]:
    """Error of a round of the published protocols, by their own accounting of ``epsilon``.

    Each memoised value spends its own budget, ``epsilon / (changes + 1)``, and is reported where
    a second stage adds least; LOLOHA with two hash values spends at most two. The composite of
    L-OSUE is OUE (Arcolezi et al. 2022), RAPPOR's symmetric unary encoding (Erlingsson et al.
    2014), LOLOHA's binary randomised response on a hash (Arcolezi et al. 2023). None bounds what
    all histories tell apart: only those that change at the same times.
    """
    # A person memoises a report for each value they come to have, of which there are so many.
    budget = epsilon / min(changes + 1, items)
    budget_of_hash = epsilon / min(2, changes + 1)
    return {
        "L-OSUE": items / sinh(budget / 2) ** 2 + 1,
        "LOLOHA": items / tanh(budget_of_hash / 2) ** 2 - 1,
        "RAPPOR": items / (4 * sinh(budget / 4) ** 2),
    }


@lru_cache(maxsize=64)
def correlation_factor(again: AskedAgain, changes: int, items: int) -> float:
    """``(tr R^(1/2))^2 / T`` of a law of when answers of one level of so many items change.

    Any law is proven; this one is about best. ``R`` is how far two rounds have the same answer, as
    a correlation. Where times are open all histories change at the same ones, to another item.
    Where there are too many histories to look at, it is of fewer changes: they bound all.
    """
    rounds = again.count
    if again.times_open:
        epoch = np.arange(rounds) * (changes + 1) // rounds
        # Another item at each change: correlation -1/(items - 1) for one change between rounds.
        changes_between = np.abs(np.subtract.outer(epoch, epoch))
        of_one_change = -1.0 / max(items - 1, 1)
        correlations = of_one_change**changes_between  # R
        # tr R^(1/2) adds up the roots of R's eigenvalues; one below 0 is so by rounding.
        eigenvalues = np.linalg.eigvalsh(correlations)
        trace = np.sqrt(np.maximum(eigenvalues, 0)).sum()
        return float(trace**2 / rounds)
    # Every round may have an answer of its own: R is the identity.
    if changes >= rounds - 1:
        return float(rounds)
    stays = _same_answers(rounds, changes)
    # R is their mean under a law; multiplicative steps go to that of the largest tr R^(1/2).
    histories = len(stays)
    law = np.full(histories, 1 / histories)
    root = 0.0
    for _ in range(300):
        same_on_average = np.tensordot(law, stays, 1)
        values, vectors = np.linalg.eigh(same_on_average)
        # Away from 0, where the slope would be infinite.
        roots = np.sqrt(np.maximum(values, 1e-15))
        root = float(roots.sum())
        # R^(-1/2), twice the slope of the trace in R.
        slope = (vectors / roots) @ vectors.T
        # Under the law their mean is 1; at the best law none is larger.
        gains = np.tensordot(stays, slope, 2) / root
        law *= gains
        law /= law.sum()
        if gains.max() < 1 + 1e-9:
            break
    return root**2 / rounds


def _same_answers(rounds: int, changes: int) -> Array:
    """1 where two rounds have the same answer in a history, else 0: ``(histories, T, T)``.

    A history is told by the times of its changes, which split the rounds into epochs. Those of
    fewer ``changes`` where there would be too many of them.
    """
    numbers = [comb(rounds - 1, count) for count in range(changes + 1)]
    while sum(numbers) > _MOST_HISTORIES:
        numbers.pop()
    same_answer = []
    for count in range(len(numbers)):
        for times in combinations(range(1, rounds), count):
            epoch = np.searchsorted(times, np.arange(rounds), "right")
            same_answer.append(np.equal.outer(epoch, epoch))
    return np.array(same_answer, dtype=np.float64)
