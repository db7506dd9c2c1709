"""The same question in many rounds: one report per person in one of them, and its errors.

*Once*: the report is about one round, given by lot. It keeps the pair budgets against any two
histories of answers, however often they change. *One value*: where it may be seen when an answer
changes, a person reports one of their first ``changes + 1`` values, as long as it lasts. Either
wraps any mechanism of one report; docs/theory/rounds.md has proofs and the bounds.

With ``V`` the total squared error per person of one report, and ``k`` the rounds or values of which
a person reports one, all errors are the mechanism's own, scaled, and what the lot adds, by how much
people differ. They differ for answers that stay and for answers drawn anew; both are stated.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.planning.option import AnyPart, Option


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
        return [(name, a, b) for name, a, b in rows if a is not None and b is not None]


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
        """Of the people who are asked, scaled to all."""
        return (noise + spread) / self.fraction - spread + bias

    def _scheme(self, name: str, hidden: bool, *noise: float) -> Scheme:
        """From the noise of a round, of averages and changes where answers stay and anew."""
        spreads = self.spread, self.spread, self.alike * self.spread, 0.0, 2 * self.spread
        biases = self.bias, self.bias, self.bias, 0.0, 0.0
        return Scheme(name, hidden, *map(self.sample, noise, spreads, biases))

    def always(self) -> Scheme:
        """The first report, again and again."""
        error = self.sample(self.error, self.spread, self.bias)
        return Scheme("one report for all rounds", True, error, error, change_stays=0.0)

    def once(self, rounds: int) -> Scheme:
        """One report in one of so many rounds."""
        both, each = 2 * rounds * (self.error + self.spread), rounds * (self.error + self.spread)
        anew = self.error + (1 - self.alike) * self.spread
        errors = each - self.spread, self.error, anew, both, both - 2 * self.spread
        return self._scheme("one report in one round", True, *errors)

    def one_value(self, changes: int) -> Scheme:
        """One report about one of a person's first ``changes + 1`` values.

        Of answers drawn anew some are the same, and no change.
        """
        each = (changes + 1) * (self.error + self.length) - self.length
        other = self.spread / self.length if self.length else 1.0
        errors = each, each, each * (1 - other + other * self.alike), 0.0, 2 * each * other
        return self._scheme("one report of one value", False, *errors)

    def shared(self, rounds: int) -> Scheme:
        """Such a report in every one of so many rounds."""
        average, change = self.error / rounds, 2 * self.error
        errors = self.error, average, average, change, change
        return self._scheme("budgets shared by the rounds", True, *errors)


def own_ways(part: AnyPart, planned: Option) -> tuple[OneReport, list[Scheme]]:
    """What a report has of a question that is asked again, and its ways, its own first."""
    again, errors = part.asked.rounds, planned.errors
    count, changes = again.count, again.most_changes
    epochs = min(changes + 1, count)
    least, longer = divmod(count, epochs)
    alike = (epochs * least**2 + longer * (2 * least + 1)) / count**2
    spreads = errors.spread, part.apart(errors).spread
    one = OneReport(planned.squared - errors.bias, *spreads, alike, part.fraction, errors.bias)
    if not changes:
        return one, [one.always()]
    ways = [one.once(count)]
    if again.changes != "any":
        ways.append(one.one_value(changes))
    return one, sorted(ways, key=lambda way: way.hidden == again.times_open)
