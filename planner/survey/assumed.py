"""What is assumed of people: how much epsilon they tolerate, and what their item sets look like.

Preferences are a distribution of the largest epsilon that a person accepts. Whoever accepts less
than the collection's does not answer (BiSample paper, algorithm 3): the answer rate is
``R(eps) = Pr[preference >= eps]``. Mass at or below zero is people who never answer.
Every model has ``answer_rate``, ``quantile`` (the preference that a share of the people, above 0
and below 1, stays at or below) and ``kinks``, the budgets at which its rate jumps or bends.

Of sets it is told as far as the padding length depends on it. For padding length ``l`` and a random
person with set ``x``, per person:

- ``squared_mean_loss`` ``sum_k E[d_k]^2``, ``d_k = max(0, 1 - l/|x|)`` if ``k`` is in ``x``, else 0
- ``squared_loss``      ``sum_k E[d_k^2]``
- ``inclusion``         of each level ``E sum_{k in x} 1/max(|x|, l)``: the chance that one of its
  items is sampled
- ``squared_inclusion`` ``E sum_{k in x} 1/max(|x|, l)^2``
- ``lost``              ``sum_k E[d_k]``, the expected number of items that are cut away

``n (n-1) squared_mean_loss + n squared_loss`` is then the expected squared bias of all counts of
``n`` people; the inclusions give their variance. With ``D = E[max(0, 1 - l/|x|)]`` every
``E[d_k] <= D``: ``lost^2 / m <= squared_mean_loss <= D lost`` for ``m`` items (Cauchy and Schwarz;
the largest term), whatever sets hold which items.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Annotated, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field, ValidationInfo, model_validator

from planner.arrays import Array, Whole
from planner.errors import FileError, InputError
from planner.laws.answers import Number
from planner.laws.schema import Json
from planner.survey.columns import AnswerColumn
from planner.survey.description import Description, at, named, told_apart, wrong
from planner.survey.reading import AnswerFile
from planner.survey.rows import counted
from planner.survey.tables import Reading
from planner.survey.values import (
    Budget,
    Finite,
    Masses,
    NamedFile,
    Numbers,
    Positive,
    read_path,
)

_MAX_SIZE = 100_000
_MOST_TOLERATED = 1e6
# Of the sizes of longer sets: enough for a few per cent, few in a file.
_MOST_LIMITS = 16


class NormalPreferences(Description):
    """Normally distributed preferences, in nats; the BiSample paper assumes 5 and 1.5.

    Examples
    --------
    >>> NormalPreferences(5, 1.5).answer_rate([5.0, 6.5]).round(4).tolist()
    [0.5, 0.1587]
    """

    kinks: ClassVar[Array] = np.empty(0)
    mean: Finite
    sd: Positive
    model: Literal["normal"] = "normal"

    def answer_rate(self, epsilon: ArrayLike) -> Array:
        """Share of people who answer at each budget, in the budgets' shape."""
        from scipy.special import ndtr

        # Pr[preference >= epsilon] = Phi((mean - epsilon) / sd).
        deviations = (self.mean - np.asarray(epsilon)) / self.sd
        return ndtr(deviations)

    def quantile(self, share: ArrayLike) -> Array:
        """The preference that a share of the people stays at or below; ``0 < share < 1``."""
        from scipy.special import ndtri

        return self.mean + self.sd * ndtri(share)


class HistogramPreferences(Description):
    """Preferences in bins of rising ``edges``, in nats, with shares or numbers of the people.

    Examples
    --------
    >>> HistogramPreferences([0, 1, 4], [0.25, 0.75]).answer_rate([0.5, 1, 2]).tolist()
    [0.875, 0.75, 0.5]
    """

    edges: Numbers
    shares: Masses
    model: Literal["histogram"] = "histogram"

    @model_validator(mode="after")
    def _check(self) -> Self:
        if len(self.edges) != len(self.shares) + 1:
            allowed = f"one more than the shares: {len(self.shares) + 1}"
            remedy = (
                "Each share has a lower and an upper edge, shared with its neighbours."
            )
            raise InputError("number of edges", len(self.edges), allowed, remedy)
        for number, (before, edge) in enumerate(pairwise(self.edges), start=1):
            if edge <= before:
                remedy = "Sort the edges, and leave out repeated ones."
                error = InputError("edge", edge, f"above {before!r}", remedy)
                raise at("edges", number, error=error)
        return self

    @property
    def kinks(self) -> Array:
        """The edges of the bins."""
        return np.array(self.edges)

    @cached_property
    def _above(self) -> Array:
        """Share of the people above each edge."""
        # Summed from the top, so that the last edge has exactly 0 above it.
        from_the_top = np.cumsum([0.0, *self.shares[::-1]])
        # Shares or numbers of people serve alike, as the whole is divided out.
        above = from_the_top[::-1]
        return above / above[0]

    def answer_rate(self, epsilon: ArrayLike) -> Array:
        """Share of people who answer at each budget, in the budgets' shape."""
        # Within a bin preferences are taken as spread evenly: the rate is linear
        # between edges.
        return np.interp(np.asarray(epsilon), self.edges, self._above)

    def quantile(self, share: ArrayLike) -> Array:
        """The preference that a share of the people stays at or below; ``0 < share < 1``."""
        up_to = 1 - self._above
        return np.interp(np.asarray(share), up_to, self.edges)


class EmpiricalPreferences(Description):
    """A sample: one tolerated epsilon per person asked in a pilot, in nats.

    Examples
    --------
    >>> EmpiricalPreferences([1, 2, 2, 4]).answer_rate([1, 2, 3, 5]).tolist()
    [1.0, 0.75, 0.25, 0.0]
    """

    values: Annotated[Numbers, Field(min_length=1)]
    model: Literal["sample"] = "sample"

    @classmethod
    def file_keys(cls) -> list[str]:
        """The keys of a sample in a survey file, which may name another file."""
        return [*super().file_keys(), "file", "column"]

    @model_validator(mode="before")
    @classmethod
    def _read(cls, table: Json, info: ValidationInfo) -> Json:
        """The table with the values of the file that it names, and of its column."""
        if type(table) is not dict or "file" not in table:
            return table
        # Which of the two would be planned for? A file that changed since would be
        # overruled in silence.
        if "values" in table:
            reason = 'a sample needs one of "file" and "values", not both'
            remedy = "Keep one."
            raise InputError.because("values", reason, remedy)
        path = read_path(table["file"], info)
        read = dict(table)
        del read["file"]
        column = read.pop("column", None)
        return read | {"values": read_preferences(path, column).values}

    @cached_property
    def sample(self) -> Array:
        """The values, rising, shape ``(people asked,)``."""
        return np.sort(np.array(self.values))

    @property
    def kinks(self) -> Array:
        """The distinct values: the rate drops just above each."""
        return np.unique(self.sample)

    def answer_rate(self, epsilon: ArrayLike) -> Array:
        """Share of people who answer at each budget, in the budgets' shape."""
        # Who tolerates just this budget answers: only smaller ones are counted.
        below = np.searchsorted(self.sample, epsilon, side="left")
        return 1 - below / self.sample.size

    def quantile(self, share: ArrayLike) -> Array:
        """The sample value at that share, without interpolation; ``0 < share < 1``."""
        values = np.quantile(self.sample, np.asarray(share), method="inverted_cdf")
        return np.asarray(values)


Preferences = NormalPreferences | HistogramPreferences | EmpiricalPreferences
_PREFERENCES = named(
    "model", NormalPreferences, HistogramPreferences, EmpiricalPreferences
)
_FOLLOW = "It says which numbers follow: normal has mean and sd."
AnyPreferences = Annotated[Preferences, told_apart("model", _FOLLOW, _PREFERENCES)]


def read_preferences(
    path: str | Path, column: str | None = None
) -> EmpiricalPreferences:
    r"""Read a sample, a person a row, from a file; a ``column`` is named if there are several.

    A :class:`~planner.errors.FileError` says what cannot be read, or is no finite number.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "budgets.csv"
    ...     _ = path.write_text("accepted\n1.5\n3\n")
    ...     sorted(read_preferences(path).values)
    [1.5, 3.0]
    """
    # Read like the answers to a question for a number, whose range alone matters here.
    way = Number.of_range(0.0, _MOST_TOLERATED, yes_no=False, points=2, epsilon=1.0)
    names: tuple[str, ...] = ()
    if column:
        names = (column,)
    answer_column = AnswerColumn("", way, names)
    file = AnswerFile(path, [answer_column])
    numbers = list[float]()
    without = 0
    for number in file.given():
        if number is None:
            without += 1
        else:
            numbers.append(number)
    # Somebody who named no budget is neither one who takes any nor one who takes none:
    # the owner has to say which.
    if without:
        reason = f"{counted(without, 'row')} without a number"
        raise FileError(path, reason, "Leave them out.")
    return EmpiricalPreferences(values=tuple(numbers))


class SetMoments(NamedTuple):
    """See the module; for lengths of shape ``(...)``; ``inclusion`` has shape ``(..., t)``."""

    squared_mean_loss: Array
    squared_loss: Array
    inclusion: Array
    squared_inclusion: Array
    lost: Array


class AssumedSets(Description):
    """What is known of people's sets: a histogram of sizes, or a pilot; or nothing but a cap.

    ``sizes`` are shares or numbers of people with 0, 1, 2, ... items, not negative, not all at 0;
    or ``pilot`` is a file of sets, read when the survey is planned; ``reading`` says how, where
    that is not found out. ``popularity`` is
    ``"zipf"`` (the ``k``-th most popular item has weight ``1/k``) or ``"uniform"``; popular items
    are cut again and again. ``cap`` is the budget of any two sets, in nats, where whole sets are
    reported; the smallest pair budget if None.

    Examples
    --------
    >>> sets = AssumedSets([0, 50, 30, 20])
    >>> sets.largest, round(sets.mean_size, 2)
    (3, 1.7)
    """

    read_as: ClassVar[str] = ""  # no file is read
    sizes: Annotated[Masses, Field(max_length=_MAX_SIZE + 1)] = ()
    popularity: Literal["zipf", "uniform"] = "zipf"
    cap: Budget | None = None
    pilot: NamedFile | None = None
    reading: Reading = Reading()

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.sizes and self.pilot:
            given = (self.sizes, self.pilot)
            remedy = "A pilot's file has the sizes."
            raise InputError("(sizes, pilot)", given, "one of the two", remedy)
        # If nobody has an item, there is no length to pad to.
        if self.sizes and not any(self.sizes[1:]):
            remedy = "Give the share of people with 0, 1, 2, ... items, in this order."
            raise wrong(self.sizes, "above 0 for some set with items", remedy, "sizes")
        return self

    @cached_property
    def _shares(self) -> Array:
        # Divided by the largest first: the sum of sizes near the largest float is none.
        shares = np.array(self.sizes) / max(self.sizes)
        return shares / shares.sum()

    @property
    def largest(self) -> int:
        """Size of the largest set with a positive share, at least 1."""
        return int(np.flatnonzero(self._shares)[-1])

    @property
    def mean_size(self) -> float:
        """Expected items per person."""
        sizes = np.arange(self._shares.size)
        return float(self._shares @ sizes)

    def moments(self, length: int | Whole, item_counts: Whole) -> SetMoments:
        """The moments at one or many padding lengths, at least 1, for levels of so many items."""
        items = int(item_counts.sum())
        size = np.arange(1.0, self._shares.size)
        # Sets without items have nothing to lose, and are left out of all sums.
        people = self._shares[1:]
        sums = SumsBySize.of(size, people * size).at(length)  # over members of sets
        lost_share = SumsBySize.of(size, people).at(length).lost  # D
        # If what is cut from an item grows with its popularity; within the bounds of the module.
        squared_lost = sums.lost**2
        squared_mean_loss = self._concentration(items) * squared_lost
        least = squared_lost / items
        most = lost_share * sums.lost
        inclusion = sums.inclusion[..., None] * item_counts / items
        return SetMoments(
            squared_mean_loss=np.clip(squared_mean_loss, least, most),
            squared_loss=sums.squared_loss,
            inclusion=inclusion,
            squared_inclusion=sums.squared_inclusion,
            lost=sums.lost,
        )

    def longer(self, length: int, items: int) -> tuple[tuple[int, float], ...]:
        """Sizes up to ``items``, and the shares of sets above the one before, or ``length``.

        By the histogram, taken at its word.
        """
        # The share of sets with 0, 1, ... items or more, which rounding may put above 1.
        from_the_largest = np.cumsum(self._shares[::-1])
        at_least = np.minimum(1.0, from_the_largest[::-1])
        limits = size_limits(length, min(self.largest, items))
        rows = []
        for last, size in pairwise(limits):
            share = float(at_least[last + 1])
            rows.append((size, share))
        return tuple(rows)

    def _concentration(self, items: int) -> float:
        """Sum of the squared popularities: 1 over the effective number of items."""
        if self.popularity == "uniform":
            return 1 / items
        # Zipf's law: sum w_k^2 / (sum w_k)^2 with w_k = 1 / k.
        weight = 1 / np.arange(1.0, items + 1)
        squares = np.sum(weight**2)
        return float(squares / np.sum(weight) ** 2)


class PaddingSums(NamedTuple):
    """Over members of sets: sums of ``1/max(size, l)``, its square, ``d`` and its square."""

    inclusion: Array
    squared_inclusion: Array
    lost: Array
    squared_loss: Array


@dataclass(frozen=True, slots=True, eq=False)
class SumsBySize:
    """Sums over members of sets, by the rising ``size`` of their set, for any padding length.

    ``longer`` has those of ``1``, ``1/size`` and ``1/size^2`` over the sets from each position on,
    and 0 at the end, shape ``(3, k + 1)``.
    """

    size: Array | Whole
    longer: Array

    @classmethod
    def of(cls, size: Array | Whole, members: Array | Whole) -> SumsBySize:
        """The sums for so many members in sets of each size."""
        # Sums from each size up, so that those of longer sets are one look-up.
        powers = members / size ** np.arange(3)[:, None]
        largest_first = np.cumsum(powers[:, ::-1], axis=1)
        longer = largest_first[:, ::-1]
        nothing = np.zeros((3, 1))
        return cls(size, np.hstack([longer, nothing]))

    def at(self, length: ArrayLike) -> PaddingSums:
        """The sums at padding lengths ``l``.

        Over members of sets longer than ``l`` ``d = 1 - l/size``, and ``d^2 = 1 - 2 l/size +
        l^2/size^2``; of the others ``d = 0`` and ``1/max(size, l) = 1/l``.
        """
        lengths = np.asarray(length, dtype=np.float64)
        first_longer = np.searchsorted(self.size, lengths, side="right")
        # Over members of longer sets: of 1, 1/size and 1/size^2.
        longer, inverse, squared_inverse = self.longer[:, first_longer]
        shorter = self.longer[0, 0] - longer
        squared_loss = longer - 2 * lengths * inverse + lengths**2 * squared_inverse
        return PaddingSums(
            inclusion=shorter / lengths + inverse,
            squared_inclusion=shorter / lengths**2 + squared_inverse,
            lost=longer - lengths * inverse,
            squared_loss=np.maximum(0.0, squared_loss),  # rounding may leave it below 0
        )


def size_limits(length: int, largest: int) -> list[int]:
    """Sizes from ``length`` to ``largest``, at most 17, in steps that grow; one if none is longer.

    Examples
    --------
    >>> size_limits(3, 6), size_limits(3, 3), size_limits(3, 2)
    ([3, 4, 5, 6], [3], [3])
    """
    if largest <= length:
        return [length]
    if largest - length <= _MOST_LIMITS:
        return list(range(length, largest + 1))
    longest_step = largest - length
    steps = np.geomspace(1, longest_step + 1, _MOST_LIMITS + 1) - 1
    sizes = length + np.unique(steps.round())
    return [int(size) for size in sizes]
