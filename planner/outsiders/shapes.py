"""Mechanisms as outsiders see them: what hides a pair of answers, best guess, largest weight.

One :class:`Seen` for every shape of report: a *blanket* for every pair of levels
(:mod:`planner.outsiders.blanket`), the success of the best guess, and by how many people one false
report moves a count.

An observer who believes that answer ``x`` has probability ``pi_x`` guesses the answer that is
likeliest after the report. That succeeds with probability ``sum over y of max_x pi_x Pr[y | x]``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from planner.arguments import number_column
from planner.arrays import Array
from planner.errors import InputError
from planner.laws import bits, hashing, overlap, rows
from planner.laws.shape import Shape
from planner.limits import DENOMINATOR
from planner.mechanisms import subset_design
from planner.outsiders.blanket import Blanket
from planner.policy.policy import PrivacyPolicy

_MOST_GUESSED = 1_000_000  # of which one is guessed


@dataclass(frozen=True, slots=True)
class Guess:
    """Probability that the best guess is right: from one report, and blind, without any."""

    success: float
    blind: float


@dataclass(frozen=True, eq=False)
class Seen:
    """A mechanism as outsiders see it.

    Attributes
    ----------
    names, sizes:
        The levels of answers, and how many answers are of each.
    blanket:
        Of two different answers of these levels, given by their positions: what hides them,
        whatever others answer.
    answers:
        How many answers there are to guess from.
    success:
        Of the best guess from one report, for probabilities of the answers; None where unknown.
    reach:
        By how many people one false report in place of an honest one moves a count at most, by
        level, shape ``(t,)``: the larger of the largest weight, and 1 less the smallest. None where
        no counts are estimated.
    set_size:
        Of item sets, how many answers a person has of whom one is guessed; else 0.
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    blanket: Callable[[int, int], Blanket]
    answers: int = 0
    success: Callable[[Array], float] | None = None
    reach: Array | None = None
    set_size: int = 0

    def guess(self, prior: ArrayLike | None = None) -> Guess | None:
        """Success of the best guess from one report, None where it is not known.

        ``prior`` has the probability of each answer, through the levels; all alike if omitted. Of
        item sets, without a prior only: of one answer of a person who has as many as are padded to,
        all such sets taken as equally likely. If ``s`` is the success of guessing the answer that
        was sent, a wrong guess is any of the others alike, and right for one of the set all the
        same with probability ``(size - 1) / (answers - 1)``.
        """
        items = self.answers
        size = self.set_size
        if self.success is None or items > _MOST_GUESSED:
            return None
        if size and (prior is not None or size > items):
            return None
        if prior is None:
            chances = np.full(items, 1 / items)
        else:
            chances = _probabilities(prior, items)
        sent = self.success(chances)
        if not size:
            return Guess(sent, float(chances.max()))
        # A wrong guess is right for another answer of the set with this chance.
        by_luck = (size - 1) / max(items - 1, 1)
        success = sent + (1 - sent) * by_luck
        return Guess(success, size / items)


def _probabilities(prior: ArrayLike, items: int) -> Array:
    """A belief as numbers; InputError unless they are probabilities of so many answers."""
    chances = number_column("prior", prior)
    distance = abs(float(chances.sum()) - 1)
    if chances.shape != (items,) or chances.min() < 0 or distance > 1e-9:
        allowed = f"{items} probabilities that add up to 1"
        remedy = "Divide the numbers of people by their total; 0 for an answer that nobody has."
        raise InputError("prior", chances, allowed, remedy)
    return chances


def of_policy(policy: PrivacyPolicy) -> Seen:
    """Whatever mechanism keeps a policy's pair budgets, e.g. one that is not chosen yet.

    Examples
    --------
    >>> any_one = of_policy(PrivacyPolicy([1.0, 2.0], [1, 4], names=["severe", "common"]))
    >>> round(any_one.blanket(0, 1).local_epsilon, 6), any_one.guess()
    (1.0, None)
    """
    budgets = policy.bounds()
    leakage = policy.leakage_epsilons

    def blanket(first: int, second: int) -> Blanket:
        forward = float(budgets[first, second])
        backward = float(budgets[second, first])
        # What hides the pair are others' answers: the worst budget against any of them counts.
        worst = max(leakage[first], leakage[second])
        return Blanket.of_budget(max(forward, backward), float(worst))

    sizes = tuple(policy.item_counts.tolist())
    return Seen(policy.names, sizes, blanket)


def of_rows(law: Array, names: tuple[str, ...]) -> Seen:
    """Any mechanism with few outputs, by its law; each answer is a level of its own.

    ``law`` has ``Pr[report | answer]``, shape ``(answers, reports)``. Answers that are mixtures of
    these (values between the ends of an interval, say) are covered as well.

    Examples
    --------
    >>> rows = of_rows(np.array([[0.75, 0.25], [0.25, 0.75]]), ("yes", "no"))
    >>> rows.blanket(0, 1).masses.tolist(), rows.guess()
    ([0.25, 0.25], Guess(success=0.75, blind=0.5))
    """

    def success(prior: Array) -> float:
        """``sum over y of max_x pi_x Pr[y | x]``, as the module says."""
        joint = prior[:, None] * law
        likeliest = joint.max(axis=0)
        return float(likeliest.sum())

    def blanket(first: int, second: int) -> Blanket:
        return Blanket.from_laws(law[first], law[second], law)

    return Seen(
        names,
        sizes=(1,) * len(names),
        blanket=blanket,
        answers=len(law),
        success=success,
    )


def seen_of(shape: Shape) -> Seen:
    """A form of report in whole numbers as outsiders see it.

    Examples
    --------
    >>> from planner import randomized_response
    >>> ten = seen_of(randomized_response(1.0, items=10).shape)
    >>> round(ten.guess().success, 4), ten.reach.round(2).tolist()
    (0.232, [6.24])
    """
    return _SEEN[shape.name](shape)


def _of_bits(law: bits.Bits) -> Seen:
    """Unary encoding with bit probabilities per level: IDUE, RAPPOR, OUE; padded sets of such.

    Two answers' laws differ in their own two bits. Another's report has the law of "no item" in all
    bits but one, so ``omega`` is that law times ``min_z (1 - a_z)/(1 - b_z)``; four outcomes are
    left. A padded and sampled set's report has a mixture of its items' laws, dummies among them, so
    no two sets are told apart better than the worst pair of items.
    """
    levels = law.levels
    counts = list(levels.item_counts)
    counts[levels.dummy_level] += levels.dummies
    a = np.array(law.a) / DENOMINATOR
    b = np.array(law.b) / DENOMINATOR
    # Another's report differs from "no item" in its own bit alone, which is less often 0: it has
    # at least this share of that law.
    unset_ratios = (1 - a) / (1 - b)
    hidden_share = unset_ratios.min()

    def blanket(first: int, second: int) -> Blanket:
        b_first = b[first]
        b_second = b[second]
        has_first = _two_bits(a[first], b_second)
        has_second = _two_bits(b_first, a[second])
        has_neither = _two_bits(b_first, b_second)
        omega = has_neither * hidden_share
        return Blanket.from_laws(has_first, has_second, omega)

    def success(prior: Array) -> float:
        """The probability that the best guess from independent bits is right, in ``O(m log m)``.

        Against the law of "no item", an item is ``v = prior a / b`` times as likely if its bit is
        set, and the likeliest whose bit is not set ``L = max prior (1 - a) / (1 - b)`` times. With
        items in falling order of ``v``, the first set bit with ``v > L`` decides, else ``L``:
        ``sum_k b_k v_k prod_(j < k) (1 - b_j) + L prod (1 - b)``.
        """
        a_item = np.repeat(a, levels.item_counts)
        b_item = np.repeat(b, levels.item_counts)
        v = prior * a_item / b_item
        if_unset = prior * (1 - a_item) / (1 - b_item)
        least = float(if_unset.max())  # L
        falling = np.argsort(-v, kind="stable")
        decides = v[falling] > least
        decisive = falling[decides]
        b_decisive = b_item[decisive]
        v_decisive = v[decisive]
        # none_before[k]: the chance that no bit before the k-th decisive one is set.
        none_set = np.cumprod(1 - b_decisive)
        none_before = np.append(1.0, none_set)
        by_bit = (b_decisive * v_decisive) @ none_before[:-1]
        return float(by_bit + least * none_before[-1])

    return Seen(
        names=levels.names,
        sizes=tuple(counts),
        blanket=blanket,
        answers=levels.total,
        success=success,
        reach=_reach_of_two(a, b, levels.dummies or 1),
        set_size=levels.dummies,
    )


def _of_sides(law: subset_design.SidesCollected) -> Seen:
    """Subset designs: a type of report, and for every item the side that it stands on.

    All splits of a type are alike but for the sides of single items, so ``omega`` is the type's
    weight times the smallest likelihood of a side on which anybody stands, and the outcomes of a
    pair are the types with the sides of ``x`` and ``x'``: four a type.
    """
    groups = np.array(law.groups)
    names = _names_of_groups(law)
    types = law.output_types
    # The smallest likelihood of a side on which anybody stands; the high side is likelier.
    least_likelihoods = np.where(types.low_counts > 0, types.low, types.high)
    hiding = least_likelihoods.min(axis=1)  # of each type

    def blanket(first: int, second: int) -> Blanket:
        likeliest = np.maximum(types.high[:, first], types.high[:, second])
        bare = (likeliest > 0) & (hiding <= 0)
        if bare.any():
            what = f"levels {names[first]!r}, {names[second]!r}"
            allowed = "connected to all others by finite pair budgets"
            raise InputError(what, "not", allowed, "Shuffling hides none of them.")
        likelihoods = (types.low, types.high)
        masses = list[Array]()
        first_ratios = list[Array]()
        second_ratios = list[Array]()
        for left, right in product((0, 1), repeat=2):  # sides of the pair: low, high
            share = _share_of_splits(law, (first, second), (left, right))
            possible = (share > 0) & (hiding > 0)
            mass = types.weights * hiding * share
            omega = hiding[possible]
            of_first = likelihoods[left][possible, first]
            of_second = likelihoods[right][possible, second]
            masses.append(mass[possible])
            first_ratios.append(of_first / omega)
            second_ratios.append(of_second / omega)
        outcomes = Blanket(
            masses=np.concatenate(masses),
            first=np.concatenate(first_ratios),
            second=np.concatenate(second_ratios),
        )
        return outcomes.merged()

    group_of = np.repeat(groups, law.levels.item_counts)

    def success(prior: Array) -> float:
        """The likeliest item of each level, high or at all; the likeliest of these, by type.

        Levels are split independently, so it is linear in the weights.
        """
        falling = []
        for group in range(len(law.counts)):
            of_group = prior[group_of == group]
            falling.append(np.sort(of_group)[::-1])
        total = 0.0
        for o, weight in enumerate(types.weights.tolist()):
            likeliest = []
            for i, chances in enumerate(falling):
                low = types.low[o, i]
                high = types.high[o, i]
                high_count = types.high_counts[o, i]
                likeliest.append(_likeliest(chances, low, high, high_count))
            total += weight * _mean_of_largest(likeliest)
        return total

    largest, least = extreme_weights(law)
    # In place of an honest report of somebody who has the item, or not: 1 or 0 on average.
    reach = np.maximum(largest, 1 - least)
    return Seen(
        names=names,
        sizes=law.counts,
        blanket=blanket,
        answers=group_of.size,
        success=success,
        reach=reach[groups],
    )


def _names_of_groups(law: subset_design.SidesCollected) -> tuple[str, ...]:
    """Names of what are levels here: levels that differ in name alone are one."""
    of_groups = [list[str]() for _ in law.counts]
    for name, group in zip(law.levels.names, law.groups, strict=True):
        names = of_groups[group]
        names.append(name)
    return tuple(map(_some_names, of_groups))


def _share_of_splits(
    law: subset_design.SidesCollected, pair: tuple[int, int], sides: tuple[int, int]
) -> Array:
    """The share of each type's splits in which a pair stands on these sides, 0 or 1 each."""
    types = law.output_types
    counts = (types.low_counts, types.high_counts)
    first, second = pair
    left, right = sides
    room = counts[right][:, second]
    others = law.counts[second]
    if first == second:
        # Two items of one level: one place is taken by the first.
        room = room - int(left == right)
        others = others - 1
    share_of_first = counts[left][:, first] / law.counts[first]
    room = np.maximum(room, 0)
    return np.asarray(share_of_first * room / others)


def extreme_weights(law: subset_design.SidesCollected) -> tuple[Array, Array]:
    """The most and the least that a report adds to the count of an item, by group.

    They are the largest and the smallest number of a side on which the item may stand.
    """
    types = law.output_types
    counts = [types.low_counts, types.high_counts]
    is_occupied = np.stack(counts, axis=2) > 0  # (types, groups, sides)
    types_and_sides = (0, 2)
    # A side on which no item stands is left out of the largest and of the least.
    for_largest = np.where(is_occupied, law.estimator, -np.inf)
    for_least = np.where(is_occupied, law.estimator, np.inf)
    largest = for_largest.max(axis=types_and_sides)
    least = for_least.min(axis=types_and_sides)
    return largest, least


def _of_hash(law: hashing.Hash) -> Seen:
    """Local hashing: given the seed, randomised response of the ``g`` hash values.

    An answer's own value is reported with probability ``p``, each other one with
    ``q = (1 - p) / (g - 1)``. ``omega`` is ``q`` for every value. Seeds with which the two answers
    collide tell less: their W has the same mean within the range of the others', so "no collision"
    is the worst case, whatever the hash function.

    The guess takes hash values of different items as independent and uniform; XXH32 over all seeds
    is near to that.
    """
    levels = law.levels
    g = law.values
    of_any_level, *_ = law.support()
    p = float(of_any_level[0])
    q = (1 - p) / (g - 1)
    # Outcomes: the value of the first answer, that of the second, any third value.
    outcomes = 2
    if g > 2:
        outcomes = 3
    third = q * (g - 2)
    masses = np.array([q, q, third])
    ratio = p / q
    first_ratios = np.array([ratio, 1.0, 1.0])
    second_ratios = np.array([1.0, ratio, 1.0])
    of_any_pair = Blanket(
        masses=masses[:outcomes],
        first=first_ratios[:outcomes],
        second=second_ratios[:outcomes],
    )

    def success(prior: Array) -> float:
        """The likeliest item of the reported value is guessed, or the likeliest of all.

        With items in falling order of ``pi``, ``k`` from 0 on, and ``L = q max pi``:
        ``sum_k (1 - 1/g)^k max(p pi_k, L) + g (1 - 1/g)^m L``. The power is the chance that the
        k-th item is the first of its value; the last term is of values that no item has.
        """
        falling = np.sort(prior)[::-1]
        least = q * float(prior.max())  # L
        other_value = 1 - 1 / g
        first_of_value = other_value ** np.arange(prior.size)
        empty_values = g * other_value**prior.size
        likeliest = np.maximum(p * falling, least)
        by_item = first_of_value @ likeliest
        return float(by_item + empty_values * least)

    a = np.array([p])
    b = np.array([1 / g])
    reach = _reach_of_two(a, b)
    return Seen(
        names=("any answer",),
        sizes=(levels.total,),
        blanket=lambda _, __: of_any_pair,
        answers=levels.total,
        success=success,
        reach=np.repeat(reach, len(levels.names)),
    )


def _of_overlap(law: overlap.Overlap) -> Seen:
    """Any two sets are told apart by at most ``cap``, whatever they hold."""
    levels = law.levels
    budgets = [law.cap] * len(levels.names)
    any_two = PrivacyPolicy(budgets, levels.item_counts, names=levels.names)
    return of_policy(any_two)


def _of_channel(law: rows.Rows) -> Seen:
    """A channel, given by its rows: an answer's reports in whole numbers."""
    chances = np.array(law.rows) / DENOMINATOR
    names = tuple(law.levels.item_names())
    return of_rows(chances, names)


_SEEN: dict[str, Callable[..., Seen]] = {
    bits.Bits.name: _of_bits,
    subset_design.SidesCollected.name: _of_sides,
    hashing.Hash.name: _of_hash,
    overlap.Overlap.name: _of_overlap,
    rows.Rows.name: _of_channel,
}


def _two_bits(p: float, q: float) -> Array:
    """The law of two independent bits that are set with chances ``p`` and ``q``: 00, 01, 10, 11."""
    left = [1 - p, p]
    right = [1 - q, q]
    return np.multiply.outer(left, right).ravel()


def _some_names(names: list[str]) -> str:
    """Names of levels that are one here, or the first with the number of the others."""
    if len(names) < 4:
        return ", ".join(names)
    return f"{names[0]} and {len(names) - 1} more"


def _reach_of_two(a: Array, b: Array, length: int = 1) -> Array:
    """The people by which a false report moves ``l (c - n b) / (a - b)``, by item or level.

    ``c`` of ``n`` reports support an item, honest ones with chance ``a`` of its people and ``b`` of
    others; of sets one of ``l`` items is reported. A report adds ``l (1 - b) / (a - b)`` if it
    supports the item and ``-l b / (a - b)`` if not, in place of an honest person's 0 or 1.
    """
    gap = (a - b) / length
    if_supported = (1 - b) / gap
    if_not = -b / gap
    return np.maximum(if_supported, 1 - if_not)


def _likeliest(
    prior: Array, low: float, high: float, high_count: int
) -> tuple[Array, Array]:
    """Rising values of ``max prior v`` over a level's items, and the chances not to exceed them.

    The k-th likeliest item is the first on the high side if those before it all are on the low:
    with ``h`` of ``m`` items high, that is ``prod_(j < k) (1 - h / (m - j))``.
    """
    items = prior.size
    least = low * prior[0]
    if high_count == 0:
        return np.array([least]), np.ones(1)
    # The first high item is at one of these positions: later, too few items would follow.
    positions = np.arange(items - high_count + 1)
    stays_low = 1 - high_count / (items - positions)
    all_low = np.cumprod(stays_low)
    if_high = high * prior[: positions.size]
    values = np.maximum(if_high, least)
    # Not above the k-th value: nobody before it is on the high side.
    at_most = np.append(1.0, all_low[:-1])
    return values[::-1], at_most[::-1]


def _mean_of_largest(columns: list[tuple[Array, Array]]) -> float:
    """Mean of the largest of independent numbers, given by values and distribution functions."""
    all_values = np.concatenate([column for column, _ in columns])
    values = np.unique(all_values)
    # The largest is at most a value if all are: their distribution functions multiply.
    at_most = np.ones(values.size)
    for column, distribution in columns:
        numbers_below = np.searchsorted(column, values, side="right")
        from_0 = np.append(0.0, distribution)
        at_most *= from_0[numbers_below]
    chances = np.diff(at_most, prepend=0.0)
    return float(values @ chances)
