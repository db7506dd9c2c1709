"""The padding length of item sets: what every length costs, and the best one.

With padding length ``l`` a set of more than ``l`` items loses the share ``1 - l/|x|`` of each,
a bias that grows with the square of the number of people; the variance of a table grows with
``l^2``, that of a set design with ``l``. The IDUE paper leaves the best ``l`` as future work. Here
it is the whole number with the smallest expected total squared error

    sum_k bias_k^2 + var_k,    var_k = l^2/(a-b)^2 sum_u q_u (1-q_u),    q_u = b + (a-b) P_u(k)

for what is known of the sets (:mod:`planner.survey.assumed`); of set designs there is no factor
``l^2``, and ``P_u(k)`` is ``l`` times as large.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from planner.arguments import whole_number
from planner.arrays import Array, Whole
from planner.errors import InputError, mark
from planner.limits import MAX_WHOLE_SET
from planner.mechanisms.set_design import best_set_design
from planner.planning.datasets import SetModel, set_model_of
from planner.planning.option import ErrorLaw, Part, flat_region
from planner.planning.solve import TOTAL
from planner.policy import logodds
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy
from planner.solvers.answers import UnaryTable
from planner.survey.choices import ItemSet

_DESIGN_LENGTHS = 60  # lengths of which set designs are made
_MOST_AT_ONCE = 1_000_000  # numbers per length and level that are held at a time


@dataclass(frozen=True, slots=True, eq=False)
class PaddingPlan:
    """The best padding length, and the expected error of every other.

    Attributes
    ----------
    length, lengths:
        The best ``l``, and all that are compared, shape ``(k,)``.
    bias2, variance:
        Expected total squared bias and variance per user at each, shape ``(k,)``.
    flat_lower, flat_upper:
        Around the best, all lengths between these have an error within 5 % of it.
    lost, users:
        Share of all answers that are cut away, shape ``(k,)``; number of people.
    """

    length: int
    lengths: Whole
    bias2: Array
    variance: Array
    flat_lower: int
    flat_upper: int
    lost: Array
    users: int

    def in_people(self, squared: Array) -> Array:
        """Errors of all people's counts, from squared ones per user such as :attr:`mse`."""
        return np.sqrt(self.users * squared)

    @property
    def uncut(self) -> int | None:
        """The smallest length at which no set is cut, as far as is known of the sets, if any."""
        enough = self.lengths[self.lost <= 0]
        if not enough.size:
            return None
        return int(enough[0])

    @property
    def mse(self) -> Array:
        """Expected total squared error per user at each length, shape ``(k,)``."""
        return self.bias2 + self.variance


def plan_padding(table: UnaryTable, users: int, sets: SetModel) -> PaddingPlan:
    """The padding length with the smallest expected total error for ``users`` people.

    ``table`` has bit probabilities per level; ``sets`` is what is known of the sets, a histogram of
    sizes or a pilot.

    Raises
    ------
    InputError
        ``users`` out of range, or a pilot that does not fit the levels.

    Examples
    --------
    >>> from planner.survey.assumed import AssumedSets
    >>> from planner import PrivacyPolicy, solve
    >>> table = solve(PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90]))
    >>> sets = AssumedSets([0.1, 0.3, 0.3, 0.2, 0.05, 0.05])
    >>> [plan_padding(table, users, sets).length for users in (100, 10_000, 1_000_000)]
    [1, 1, 3]
    """
    noise_of_items = table.policy.item_counts @ table.noise
    # A table's two chances are the same at every length.
    noise = np.full(sets.largest, noise_of_items)
    return _planned(table.policy, users, sets, noise, table.signal, whole=False)


def plan_whole_sets(
    policy: PrivacyPolicy, cap: float | None, users: int, sets: SetModel
) -> PaddingPlan:
    """Plan the padding length of reports about whole sets: the best set design of every length.

    Lengths up to the number of items, and to 1,024. Of more than 60 the designs of 60 are made,
    whose two chances those of the others lie between.

    Examples
    --------
    >>> from planner.survey.assumed import AssumedSets
    >>> sets, policy = AssumedSets([0.1, 0.3, 0.3, 0.2, 0.05, 0.05]), PrivacyPolicy([1.0], [100])
    >>> [plan_whole_sets(policy, None, users, sets).length for users in (100, 10_000, 1_000_000)]
    [1, 2, 4]
    """
    items = int(policy.item_counts.sum())
    epsilon = policy.plain(1).least_demanded()
    longest = min(sets.largest, items, MAX_WHOLE_SET)
    lengths = np.arange(1, longest + 1)
    designed = lengths
    if lengths.size > _DESIGN_LENGTHS:
        spaced = np.geomspace(1, lengths.size, _DESIGN_LENGTHS)
        designed = np.unique(spaced.astype(np.int64))
    supports = []
    for length in designed.tolist():
        # Two sets differ in no more than all their items.
        most = min(cap or epsilon, length * epsilon)
        design = best_set_design(items, length, epsilon, most)
        supports.append(design.support)
    a, b = np.array(supports).T
    noise_designed, signal_designed = logodds.noise_and_signal(a, b)
    # The lengths between are interpolated: these are compared, and the best is designed later.
    noise = items * np.interp(lengths, designed, noise_designed)
    signal = np.interp(lengths, designed, signal_designed)
    return _planned(policy, users, sets, noise, signal[:, None], whole=True)


def _planned(
    policy: PrivacyPolicy,
    users: int,
    sets: SetModel,
    noise: Array,
    signal: Array,
    *,
    whole: bool,
) -> PaddingPlan:
    """The plan by the noise of all items at each length, and the signal of those of each level.

    With the moments of planner.survey.assumed a person adds the variance ``l^2 noise + l^2 sum
    inclusion (1 + signal) - l^2 squared_inclusion``; of whole sets without the first square, and
    with ``l`` in place of the second.
    """
    whole_number("users", users)
    lengths = np.arange(1, noise.size + 1)
    signal = np.broadcast_to(signal, (lengths.size, policy.size))
    bias2 = np.empty(lengths.size)
    variance = np.empty(lengths.size)
    lost = np.empty(lengths.size)
    numbers = lengths.size * policy.size
    batches = ceil(numbers / _MOST_AT_ONCE)
    positions = np.arange(lengths.size)
    for batch in np.array_split(positions, batches):
        length = lengths[batch].astype(np.float64)
        scale = 1 if whole else length
        moments = sets.moments(lengths[batch], policy.item_counts)
        bias2[batch] = (users - 1) * moments.squared_mean_loss + moments.squared_loss
        of_absent = scale**2 * noise[batch]
        held = np.einsum("lt,lt->l", moments.inclusion, 1 + signal[batch])
        of_held = scale * length * held
        of_answers = length**2 * moments.squared_inclusion
        variance[batch] = of_absent + of_held - of_answers
        lost[batch] = moments.lost / sets.mean_size
    lost[lengths >= sets.largest] = 0.0  # not a rounding error of the sums
    errors = bias2 + variance
    best = int(np.argmin(errors))
    lower, upper = flat_region(errors, best)
    return PaddingPlan(
        length=int(lengths[best]),
        lengths=lengths,
        bias2=bias2,
        variance=variance,
        flat_lower=int(lengths[lower]),
        flat_upper=int(lengths[upper]),
        lost=lost,
        users=users,
    )


def law_at(
    question: ItemSet,
    users: int,
    length: int | None = None,
    objective: Objective | None = None,
    *,
    whole: bool = False,
) -> tuple[Objective, ErrorLaw]:
    """What tables for a drawn item are made for at a padding length, and the error of the sets.

    Or what reports about ``whole`` sets have an error for, where the sets are known.

    The error falls with the objective's value, and so in the budgets. Where nothing is known of the
    sets ``objective`` stands in place of the question's own.

    Examples
    --------
    >>> from planner.survey.levels import Level
    >>> from planner.survey.assumed import AssumedSets
    >>> asked = ItemSet("q", (Level("a", 1.0, item_count=4),), sets=AssumedSets([0, 1, 1]))
    >>> [law_at(asked, 100, length)[0].prior for length in (1, 2)], law_at(asked, 100, 2)[1].bias
    ([(1.0,), (0.75,)], 0.0)
    """
    sets = set_model_of(question)
    length = length or question.padding_length or 1
    if sets is None:
        # Noise l^2, and at most l items of signal l (signal + 1) - 1: nothing says how many items
        # a person has.
        objective = objective or question.objective
        most = max(objective.weights or (1.0,)) * length
        offset = most * (length - 1)
        return objective, ErrorLaw(length**2, offset, spread=most)
    refuse_objective(question)
    counts = question.policy.item_counts
    moments = sets.moments(length, counts)
    # The variance at a length is its square times the expected objective whose prior is what is
    # drawn per level, and an offset; of whole sets, without the square, for what is held.
    scale = 1 if whole else length
    # Rounding must not put more of a level's items in a set than it has.
    prior = np.minimum(length // scale * moments.inclusion, counts)
    chance = float(moments.inclusion.sum())
    of_answers = length**2 * float(moments.squared_inclusion)
    offset = length * scale * chance - of_answers
    bias = float((users - 1) * moments.squared_mean_loss + moments.squared_loss)
    # The sum of f (1 - f) is at most that of items as frequent as their level's on average.
    held = length * moments.inclusion
    variances = held - np.square(held) / counts
    spread = float(variances.sum())
    expected = Objective("expected", prior=prior.tolist())
    return expected, ErrorLaw(scale**2, offset, bias, spread)


def every_length(part: Part[ItemSet], padding: PaddingPlan) -> tuple[Array, Array]:
    """Error per person of the survey, and the bias in it, at every padding length.

    Of the fraction ``f`` that is asked: ``variance / f + spread (1/f - 1) + bias``.
    """
    _, errors = law_at(part.question, part.everybody)
    # The plan's squared bias is per person asked; what is cut stays the same share of all.
    bias = padding.bias2 / part.people * part.everybody
    sampling = errors.spread * (1 / part.fraction - 1)
    squared_error = padding.variance / part.fraction + sampling + bias
    return squared_error, bias


def refuse_objective(question: ItemSet) -> None:
    """Refuse any objective of known sets but the total error, as these say what to expect."""
    if question.objective != TOTAL:
        remedy = (
            "Leave importance, prior and criterion out: what is known of the sets says what to "
            f"expect. Or give {mark('padding_length')} alone."
        )
        what = f"objective of question {question.name!r}"
        allowed = "the total error, unweighted"
        raise InputError(what, question.objective.kind, allowed, remedy)
