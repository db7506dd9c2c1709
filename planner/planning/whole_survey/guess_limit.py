"""What becomes of a question's limit on guesses."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from planner.outsiders.shown import of_hundred
from planner.policy.budget_text import rounded_up


@dataclass(frozen=True, slots=True)
class GuessLimit:
    """A limit on the best guess of an answer from one report, all answers alike before.

    Attributes
    ----------
    limit:
        Largest success that is allowed, a probability.
    reached:
        Success against the mechanism as it is drawn, not above ``limit``.
    price:
        By how many people the total error falls, at first, where the limit is raised by a
        hundredth of itself; 0 where the limit costs nothing.
    lift:
        By what factor a report raises the right guesses, whatever was believed before, at most:
        that of all answers alike is the largest (Braun, Chatzikokolakis and Palamidessi, 2009).
    of_sets:
        Whether the answer is the one that is drawn of a set, or that it is none. The factor holds
        for whatever is guessed of the set.

    Examples
    --------
    >>> print(GuessLimit(0.2, 0.19876, 0.0, 1.9876).sentence.partition("; ")[2])
    it is for 19.88. Whatever was believed before, a report raises the right guesses at most
    1.99-fold. It costs nothing.
    """

    limit: float
    reached: float
    price: float
    lift: float
    of_sets: bool = False

    @property
    def sentence(self) -> str:
        """The limit, what is reached, and what it costs."""
        allowed = f"{(100 * Decimal(repr(float(self.limit)))).normalize():f}"
        cost = "It costs nothing."
        if self.price > 0:
            less = f"{self.price:,.3g}" if self.price < 100 else f"{self.price:,.0f}"
            more = "A limit larger by a hundredth of itself"
            cost = f"{more} lowers the error by about {less} people."
        guessing, raised = "guessing an answer, all of them alike before", "the right guesses"
        if self.of_sets:
            guessing = "guessing which answer was drawn, or that none was, all alike before"
            raised = "the right guesses of anything about a person's set"
        return (
            f"Limit: {guessing}, may be right for at most {allowed} of 100 people; it is for "
            f"{of_hundred(self.reached)}. Whatever was believed before, a report raises {raised} "
            f"at most {rounded_up(self.lift, 2)}-fold. {cost}"
        )
