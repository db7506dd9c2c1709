"""Known answers in the places of the question that they answer, and who of the people is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from planner.errors import InputError
from planner.mechanisms.itemsets import ItemSets
from planner.planning.datasets import Answers
from planner.survey.questions import Question

Array = NDArray[np.float64]
_MOST_CHOSEN_FROM = 10**9  # people of whom some can be drawn without replacement
_MOST_SETS = 10**7


@dataclass(frozen=True, slots=True)
class Asked:
    """How many people the data have, and how many of them answer, drawn without replacement."""

    people: int
    asked: int

    @classmethod
    def of(cls, people: int, fraction: float) -> Self:
        """A share of the people, at least one.

        Raises
        ------
        InputError
            There are too many to choose from.
        """
        if fraction < 1 and people >= _MOST_CHOSEN_FROM:
            allowed = f"fewer than {_MOST_CHOSEN_FROM} where only some are asked"
            raise InputError("people", people, allowed, "Try the question on fewer people.")
        return cls(people, max(1, round(fraction * people)))

    @property
    def some(self) -> bool:
        """Whether not all people are asked."""
        return self.asked < self.people

    @property
    def fraction(self) -> float:
        """The share of the people who are asked."""
        return self.asked / self.people

    def choose(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """Who is asked."""
        return rng.choice(self.people, self.asked, replace=False)

    def split(self, counts: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """How many of the people asked are of each kind, of so many in all."""
        return rng.multivariate_hypergeometric(counts, self.asked, method="marginals")

    def sampling_variance(self, sums: Array, squares: Array) -> Array:
        """Variance of a sum over the people asked, from the sums over all people."""
        spread = squares - np.square(sums) / self.people
        return np.asarray(self.asked * (1 - self.fraction) * spread / (self.people - 1))


def placed(question: Question, answers: Answers, rng: np.random.Generator) -> Answers:
    """The answers over all items that the question has, level by level.

    Items that the question lists go where it lists them; the others at random among the places that
    levels leave open. An item that nobody has counts 0 people.

    Raises
    ------
    InputError
        There are more other items than open places, or sets where a person has one answer.

    Examples
    --------
    >>> from planner.survey.questions import Categorical, Level
    >>> levels = (Level("rare", 1.0, ("HIV",)), Level("common", 2.0, item_count=3))
    >>> answers = Answers(("flu", "HIV"), np.array([5, 2]))
    >>> found = placed(Categorical("now", levels), answers, np.random.default_rng(1))
    >>> found.labels, found.counts.tolist()
    (('HIV', 'flu', 'common 2', 'common 3'), [2, 5, 0, 0])
    """
    several = question.kind == "item-set"
    if answers.sets is not None and not several:
        remedy = "Keep the first item of each set, or ask with the kind item-set."
        raise InputError("answers", "sets", "one for each person", remedy)
    names: list[str] = []
    free: list[int] = []
    for level in question.levels:
        if not level.items:
            free += range(len(names), len(names) + level.item_count)
        names += level.items or [f"{level.name} {k + 1}" for k in range(level.item_count)]
    place = {name: k for k, name in enumerate(names)}
    open_places = set(free)
    loose = [label for label in answers.labels if label not in place]
    open_places -= {place[label] for label in answers.labels if label in place}
    if len(loose) > len(open_places):
        raise _no_place(loose, len(open_places), len(answers.labels))
    for label, number in zip(loose, rng.permutation(sorted(open_places)).tolist(), strict=False):
        place[label], names[number] = number, label
    where = np.array([place[label] for label in answers.labels], dtype=np.int64)
    counts = np.zeros(len(names), dtype=np.int64)
    counts[where] = answers.counts
    if not several:
        return Answers(tuple(names), counts)
    sets = answers.sets
    if sets is None:
        sets = _of_one_item(answers)
    members = where[sets.members]
    return Answers(tuple(names), counts, ItemSets(len(names), members, sets.starts))


def _of_one_item(answers: Answers) -> ItemSets:
    """A set of one item for every person."""
    if answers.users > _MOST_SETS:
        allowed = f"at most {_MOST_SETS} for sets"
        raise InputError("people", answers.users, allowed, "Try the question on fewer people.")
    members = np.repeat(np.arange(answers.counts.size), answers.counts)
    return ItemSets(answers.counts.size, members, np.arange(answers.users + 1))


def _no_place(loose: list[str], room: int, items: int) -> InputError:
    named = ", ".join(map(repr, loose[:5])) + (", ..." if len(loose) > 5 else "")
    reason = (
        f"{len(loose):,} of {items:,} items of the data are in no level, {named}, and levels "
        f"without a list have room for {room:,} more"
    )
    remedy = "List them in a level, or raise the item_count of a level that lists none."
    return InputError.because("items", reason, remedy)
