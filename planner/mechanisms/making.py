"""Mechanisms as laws: of plain LDP in closed form, and of what solvers find, in whole numbers.

Whatever makes it, a mechanism is a :class:`~planner.mechanisms.asking.CollectedLaw`: what is asked,
and a form of report with integers over 2^32 that keep every pair's budget. It draws, estimates and
knows its variance; :meth:`~planner.mechanisms.asking.CollectedLaw.of` gives it a question's items.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import exp, expm1

import numpy as np

from planner import arguments
from planner.errors import InputError
from planner.estimates.channel import shares_up_to
from planner.laws.answers import ANY_ANSWER, MEAN_OF_SCORES, Item
from planner.laws.levels import Levels
from planner.laws.shape import as_tuples
from planner.limits import DENOMINATOR, MAX_PADDING_LENGTH
from planner.mechanisms import inputs
from planner.mechanisms.asking import (
    CollectedLaw,
    ItemCollected,
    NumberCollected,
    OneOfSetCollected,
    OrderedCollected,
    WholeSetCollected,
)
from planner.mechanisms.collected import (
    BitsCollected,
    Collected,
    HashCollected,
    RowsCollected,
)
from planner.mechanisms.rounding import (
    drawn_channel,
    integers_of,
    round_inward,
    units_above,
    units_below,
)
from planner.mechanisms.set_design import OverlapCollected
from planner.mechanisms.subset_design import SidesCollected
from planner.policy.policy import PrivacyPolicy
from planner.solvers.answers import Channel, SubsetDesign, UnaryTable, nearest_unbiased
from planner.survey.levels import NumericDomain
from planner.survey.ordinal import Ordinal
from planner.survey.questions import Question

MAX_HASHING_EPSILON = 20.0
"""Beyond it there are too many hash values for a grid of 2^-32."""
_MIN_EPSILON = 1e-4


def of_item(name: str, shape: Collected) -> CollectedLaw:
    """One item a person is asked for."""
    return CollectedLaw("", name, ItemCollected(shape.levels), shape)


def unary(table: UnaryTable) -> CollectedLaw:
    """Unary encoding: one bit per item, every bit randomised independently.

    Bit ``k`` is 1 with probability ``a`` of the item's level if the person's item is ``k``, else
    with ``b`` of the level, integers over 2^32, ``a`` rounded down and ``b`` up, so that no pair
    of items becomes easier to tell apart. Items are numbered through the levels.

    Source: IDUE paper, section V-B.

    Raises
    ------
    InputError
        A level's probabilities are closer than the grid of 2^-32 can express.
    VerificationError
        The table breaks its own policy by more than rounding.

    Examples
    --------
    >>> mechanism = rappor(np.log(4), items=5)
    >>> counts = mechanism.draw_aggregate([600, 0, 0, 400, 0], np.random.default_rng(1))
    >>> mechanism.estimate(counts).values.round().tolist()
    [614.0, 17.0, 68.0, 419.0, -1.0]
    """
    name = "idue"
    if table.model in ("rappor", "oue"):
        name = table.model
    return _bits(name, table.a, table.b, table.policy.plain())


def rappor(epsilon: float, items: int) -> CollectedLaw:
    """Basic RAPPOR (Erlingsson et al., CCS 2014): ``a = 1 - b = e^(eps/2) / (e^(eps/2) + 1)``.

    Examples
    --------
    >>> round(float(rappor(1.0, items=10).variance([100] * 10).sum()) / 1000, 3)
    39.177
    """
    budget = arguments.budget("epsilon", epsilon)
    b = 1 / (exp(budget / 2) + 1)
    return _bits("rappor", [1 - b], [b], _alike(epsilon, items))


def oue(epsilon: float, items: int) -> CollectedLaw:
    """Optimised unary encoding (Wang et al., USENIX Security 2017): ``a = 1/2``.

    ``b = 1 / (e^eps + 1)`` is what the budget leaves.

    Examples
    --------
    >>> round(float(oue(1.0, items=10).variance([100] * 10).sum()) / 1000, 3)
    37.827
    """
    budget = arguments.budget("epsilon", epsilon)
    b = 1 / (exp(budget) + 1)
    return _bits("oue", [0.5], [b], _alike(epsilon, items))


def _bits(
    name: str, a: Iterable[float], b: Iterable[float], levels: Levels
) -> CollectedLaw:
    """Unary encoding with the probabilities of these levels, as integers."""
    a_units, b_units = round_inward(list(a), list(b), levels)
    shape = BitsCollected(levels, tuple(a_units), tuple(b_units))
    return of_item(name, shape)


def randomized_response(epsilon: float, items: int) -> CollectedLaw:
    """Generalised (k-ary) randomised response, also called direct encoding: subsets of one item.

    With ``m`` items ``Pr[y = x] = e^eps / (e^eps + m - 1)``, rounded down to a multiple of 2^-32,
    and for each other item alike. Best for a handful of items, hopeless for thousands: the
    variance grows with ``m``.

    Source: Kairouz, Bonawitz and Ramage (ICML 2016); IDUE paper, section III-C.

    Examples
    --------
    >>> mechanism = randomized_response(np.log(4), items=5)
    >>> round(float(mechanism.variance([20, 20, 20, 20, 20]).sum() / 100), 2)  # table II: 4.89 n
    4.89
    """
    return _subsets("grr", epsilon, items, 1)


def subset_selection(epsilon: float, items: int) -> CollectedLaw:
    """Subset selection: every report is a set of ``d`` of the ``m`` items.

    A given set that contains the person's item has probability ``h / C(m-1, d-1)``, any other
    ``(1-h) / C(m-1, d)``, with ``h = d e^eps / (d e^eps + m - d)`` rounded down to a multiple of
    2^-32 and ``d = round(m / (e^eps + 1))``, at least 1. Hence ``a = h`` and
    ``b = h (d-1)/(m-1) + (1-h) d/(m-1)``. The best order of error for every budget.

    Source: Ye and Barg (IEEE Trans. Inf. Theory 2018); Wang et al. (2016).

    Examples
    --------
    >>> subset_selection(1.0, items=12).shape.types
    ((3,),)
    """
    arguments.budget("epsilon", epsilon)
    best_size = inputs.item_count(items) / (exp(epsilon) + 1)
    size = max(1, round(best_size))
    return _subsets("subset-selection", epsilon, items, size)


def _subsets(name: str, epsilon: float, items: int, size: int) -> CollectedLaw:
    """Sets of ``d`` of the ``m`` items, ``h = d e^eps / (d e^eps + m - d)`` of which hold the own.

    Of one type, whose high side is the set: by units of 2^-32 ``h`` is the chance of the own item
    to be in it. ``d e^eps`` is ``d + d (e^eps - 1)``, which keeps the digits of small budgets.
    """
    levels = _alike(epsilon, items)
    grown = size * expm1(epsilon)  # d (e^eps - 1)
    h = (size + grown) / (grown + items)
    held = min(units_below(h), DENOMINATOR - 1)
    if held <= size * DENOMINATOR // items:  # no more than a random set holds it
        raise _too_coarse(epsilon, items)
    # Of one group and one type: the own item is on the low side, or on the high one.
    chances = (DENOMINATOR - held, held)
    shape = SidesCollected(
        levels,
        groups=(0,),
        types=((size,),),
        weights=((chances,),),
        values=(),
    )
    return of_item(name, shape)


def local_hashing(epsilon: float, items: int) -> CollectedLaw:
    """Optimised local hashing (OLH): reports of constant size for any number of items.

    The person draws a seed, uniform over 2^32, and hashes the item to one of
    ``g = round(e^eps) + 1`` values (XXH32 of the item's four little-endian bytes,
    modulo ``g``); the value is told with a probability that is a multiple of 2^-32, else any value
    alike. Given the seed, hence whatever the hash, two items differ by a factor ``e^eps`` at most.

    A report supports the items that hash to its value: ``a`` is the chance of the own value,
    ``b = 1/g``, to within ``g 2^-32``. The variance is about that of OUE. Counting costs a hash
    per person and item. ``epsilon`` is at most 20: ``g`` must stay well below 2^32.

    Source: Wang, Blocki, Li and Jha (USENIX Security 2017).

    Examples
    --------
    >>> local_hashing(1.0, items=1000).shape.values
    4
    """
    levels = _alike(epsilon, items)
    if epsilon > MAX_HASHING_EPSILON:
        remedy = "With so large a budget use generalised randomised response."
        allowed = f"above 0 and at most {MAX_HASHING_EPSILON:g}"
        raise InputError("epsilon", epsilon, allowed, remedy)
    values = round(exp(epsilon)) + 1  # g
    # Told with the chance t, else any value alike: (t + (1 - t) / g) / ((1 - t) / g) = e^eps.
    grown = expm1(epsilon)
    truth = units_below(grown / (grown + values))
    if truth < 1:
        raise _too_coarse(epsilon, values)
    return of_item("olh", HashCollected(levels, "xxh32", truth, values))


def _alike(epsilon: float, items: int) -> Levels:
    """One level of so many items: all answers have the same budget."""
    arguments.budget("epsilon", epsilon)
    count = inputs.item_count(items)
    without_names = ()
    return Levels(
        (ANY_ANSWER,),
        epsilons=(float(epsilon),),
        item_counts=(count,),
        items=(without_names,),
    )


def _too_coarse(epsilon: float, items: int) -> InputError:
    allowed = f"large enough for {items} items on a grid of 2^-32"
    return InputError("epsilon", epsilon, allowed, "Raise it or merge items.")


# -- item sets ---------------------------------------------------------------------------


def padded(mechanism: CollectedLaw, padding_length: int) -> CollectedLaw:
    """A unary mechanism for item sets (IDUE-PS, RAPPOR-PS, OUE-PS): one item of a set is reported.

    A report has ``m + l`` bits; the last ``l`` belong to dummies, which have the probabilities of
    the level with the smallest budget (IDUE paper, algorithms 1 and 2).

    Privacy (theorem 4, eq. 18; read its eq. 17 with the denominator ``b_i (1-a_j)``): the
    log-ratio between two sets is at most the smaller of their budgets by eq. 16.

    Parameters
    ----------
    mechanism:
        The unary mechanism for single items.
    padding_length:
        ``l``, a whole number of at least 1. Short sets lose little when it is large, but
        the variance grows with its square.

    Raises
    ------
    InputError
        The padding length is not a whole number of at least 1.
    VerificationError
        An item and a dummy are told apart by more than the smallest budget.

    Examples
    --------
    >>> mechanism = padded(oue(2.0, items=4), padding_length=2)
    >>> mechanism.bias([[0, 1], [0], [0, 2, 3], []]).round(4).tolist()
    [-0.3333, 0.0, -0.3333, -0.3333]
    """
    remedy = "Take about the number of items that a user has."
    arguments.whole_number(
        "padding_length", padding_length, 1, MAX_PADDING_LENGTH, remedy
    )
    levels = mechanism.levels.with_dummies(padding_length)
    shape = mechanism.shape.with_levels(levels)
    return _of_sets(f"{mechanism.mechanism}-ps", OneOfSetCollected, shape)


def set_design(
    policy: PrivacyPolicy, padding_length: int, cap: float | None = None
) -> CollectedLaw:
    """The best set design for these levels: sets are filled with dummies, or cut at random.

    Examples
    --------
    >>> mechanism = set_design(PrivacyPolicy([1.0, 2.0], [2, 8]), padding_length=2)
    >>> mechanism.shape.held, mechanism.shape.ratios, mechanism.shape.largest() <= 1.0
    (2, (1580030169, 4294967296), True)
    """
    shape = OverlapCollected.of(policy.plain(padding_length), cap)
    return _of_sets("set-design", WholeSetCollected, shape)


def _of_sets(
    name: str, asked: type[OneOfSetCollected], shape: Collected
) -> CollectedLaw:
    shape.check(None)
    levels = shape.levels
    length = levels.dummies
    longer = None  # how many sets are longer is not known
    if length >= levels.total:
        longer = ()  # no set is
    return CollectedLaw("", name, asked(levels, length, longer), shape)


# -- numbers and ordered answers ---------------------------------------------------------


def bisample_md(epsilon: float, domain: NumericDomain | None = None) -> CollectedLaw:
    """BiSample-MD: BiSample with "no answer" (NaN) as one more input, equally protected.

    Output law, for the answer ``v`` mapped to ``[-1, 1]``, ``theta = tanh(eps/2)``:

        Pr[s = 1, b = 1] = (1 + theta v)/4      Pr[s = 1, b = 0] = (1 - theta v)/4
        Pr[s = 0, b = 1] = (1 - theta v)/4      Pr[s = 0, b = 0] = (1 + theta v)/4

    and for NaN ``Pr[s, b = 1] = (1 - p)/2``, ``Pr[s, b = 0] = p/2``, with
    ``p = e^eps / (e^eps + 1)`` on a grid of 2^-31, rounded to the private side; the report is
    the number ``2s + b``. With ``R`` the share who answer,
    ``E[f_pos + f_neg] = 2(1-p) + theta R`` and ``E[f_pos - f_neg] = theta R mean``, whence
    the estimates (eq. 18, 20), ``f`` the share of ones in each direction, a block of two
    reports.

    Source: BiSample paper (Sun, Ye, Zhao, Lu and Yang), algorithms 3 and 4, equations 15 to 20.
    Where it errs, this is the right form: the sum ``s`` is over users *with* ``eps_u >= eps`` (the
    paper prints ``<``), and for a domain ``[L, U]`` the report stays two bits and the estimate is
    rescaled.

    ``epsilon`` is 0.0001 to 50 nats, else an InputError; ``domain`` the range of the answers,
    ``[-1, 1]`` when omitted.

    Examples
    --------
    >>> mechanism = bisample_md(3.0, NumericDomain(0, 10))
    >>> answers = np.array([7.0] * 80_000 + [np.nan] * 20_000)
    >>> found = mechanism.estimate(mechanism.draw_aggregate(answers, np.random.default_rng(1)))
    >>> round(found.mean.value, 1), round(found.missing_rate.value, 1)
    (7.0, 0.2)
    """
    arguments.budget("epsilon", epsilon)
    if epsilon < _MIN_EPSILON:
        remedy = "A smaller budget drowns any answer; draw probabilities are on a 2^-32 grid."
        raise InputError("epsilon", epsilon, f"at least {_MIN_EPSILON:g}", remedy)
    # Each of the two directions s is drawn with 1/2; rounding the rarer bit up is private.
    half = DENOMINATOR // 2
    rarer_share = 0.5 / (exp(epsilon) + 1)  # (1 - p) / 2
    few = int(units_above(rarer_share))
    many = half - few  # p / 2
    theta = (many - few) / half  # 2 p - 1
    noise = few / half  # 1 - p
    # Reports in the order 2s + b, of the answers -1 and 1 and of none.
    rows = (
        (few, many, many, few),
        (many, few, few, many),
        (many, few, many, few),
    )
    # What a report adds to f_pos - f_neg and, less 2 (1 - p), to f_pos + f_neg, by theta; a
    # direction has half of the reports.
    signs = (0.0, -2 / theta, 0.0, 2 / theta)
    if_zero = -2 * noise / theta
    if_one = (2 - 2 * noise) / theta
    answered = (if_zero, if_one, if_zero, if_one)
    if domain is None:
        domain = NumericDomain()
    values = (signs, answered)
    return _of_numbers("bisample-md", domain, float(epsilon), rows, values, (2, 2))


def mean_channel(channel: Channel, yes_no: bool = False) -> CollectedLaw:
    """A channel for a mean, over even grid points of the range and "no answer".

    An answer between two grid points is rounded to either at random, without bias. The mean is the
    estimated sum over the estimated number of answers. Source: docs/theory/channels.md.

    InputError for a channel for other numbers, or a grid too fine for ``yes_no``.

    Examples
    --------
    >>> from planner import best_channel
    >>> mechanism = mean_channel(best_channel(3.0))
    >>> [sum(row) == 2**32 for row in mechanism.shape.rows]
    [True, True, True, True, True, True]
    """
    # A channel for a mean wants the sum of the numbers, of none 0, and the number of answers.
    grid = channel.wanted[0, :-1]
    points = grid.size
    lower = float(grid[0])
    upper = float(grid[-1])
    answers = np.append(np.ones(points), 0.0)
    even_grid = np.linspace(lower, upper, points)
    is_range = np.allclose(grid, even_grid) and lower < upper
    counts_answers = np.array_equal(channel.wanted[-1], answers)
    if len(channel.wanted) != 2 or not is_range or not counts_answers:
        wanted_names = ", ".join(channel.wanted_names)
        reason = f"the channel is for {wanted_names}, not for a mean"
        raise InputError.because("channel", reason, "Take one from best_channel.")
    if yes_no and points > 2:
        remedy = "Solve it with points=2."
        raise InputError("points", points, "2 for a question of yes and no", remedy)
    domain = NumericDomain(lower, upper, yes_no)
    drawn = drawn_channel(channel)
    # A number v on [-1, 1] is (x - center) / radius; of people without an answer it is 0.
    scale = 1 / domain.radius
    shift = -domain.center / domain.radius
    to_unit = np.array([[scale, shift], [0.0, 1.0]])
    unit_grid = np.linspace(-1, 1, points)
    quantities = np.array([np.append(unit_grid, 0.0), answers])
    # Digits are lost on the way if the range is far from 0: it is made unbiased once more.
    on_unit = to_unit @ drawn.estimator
    values = nearest_unbiased(on_unit, quantities, drawn.matrix)
    epsilon = float(channel.policy.epsilons.max())
    rows = integers_of(drawn).tolist()
    return _of_numbers("mean-channel", domain, epsilon, rows, values.tolist())


def _of_numbers(
    name: str,
    domain: NumericDomain,
    epsilon: float,
    rows: Sequence[Sequence[int]],
    values: Sequence[Sequence[float]],
    blocks: Sequence[int] = (),
) -> CollectedLaw:
    """A number's law: a row for every grid point and one for no answer, and what reports add.

    ``blocks`` are the sizes of the blocks of reports of which a device draws one first.
    """
    asked = NumberCollected.of_range(
        domain.lower,
        domain.upper,
        domain.yes_no,
        points=len(rows) - 1,
        epsilon=epsilon,
    )
    shape = RowsCollected(
        asked.levels,
        rows=as_tuples(rows),
        values=as_tuples(values),
        blocks=as_tuples(blocks),
    )
    return CollectedLaw("", name, asked, shape)


def _ordered(channel: Channel, question: Ordinal) -> CollectedLaw:
    """A channel for the ordered answers of a question, which stand level by level."""
    ordered = question.way_of_asking
    drawn = drawn_channel(channel)
    is_fit = channel.symbols == question.ordered
    if question.wanted != MEAN_OF_SCORES:
        drawn = shares_up_to(drawn)
    elif not np.array_equal(drawn.wanted, [question.scores]):
        is_fit = False
    if not is_fit:
        wanted_names = ", ".join(channel.wanted_names)
        reason = f"the channel is for {wanted_names}, not for {question.name!r}"
        remedy = "Take the one that was planned for it."
        raise InputError.because("channel", reason, remedy)
    level_by_level = np.argsort(ordered.order)
    rows = integers_of(drawn)[level_by_level]
    shape = RowsCollected(
        ordered.levels,
        rows=as_tuples(rows.tolist()),
        values=as_tuples(drawn.estimator.tolist()),
    )
    asked = OrderedCollected(
        ordered.levels,
        ordered.order,
        ordered.scores,
        ordered.wanted,
        ordered.no_answer,
        ordered.lower,
        ordered.upper,
    )
    return CollectedLaw("", "ordered-channel", asked, shape)


def law_of(question: Question, mechanism: object) -> CollectedLaw:
    """The law of a question for a law, table, design or channel; InputError for anything else."""
    match mechanism, question:
        case CollectedLaw() as law, _:
            pass
        case UnaryTable() as table, _:
            law = unary(table)
        case SubsetDesign() as design, _:
            law = of_item("subset-design", SidesCollected.of(design))
        case Channel() as channel, Ordinal():
            law = _ordered(channel, question)
        case Channel() as channel, _:
            law = mean_channel(channel, getattr(question, "yes_no", False))
        case _:
            what = f"mechanism of question {question.name!r}"
            name = type(mechanism).__name__
            remedy = "Take the mechanism that plan_survey chose for the question."
            raise InputError(what, name, "one that can be deployed", remedy)
    expected: str = question.kind
    if len(question.together) > 1:
        # The report of a joint question is about one of the pairs of its parts' answers.
        expected = Item.kind
    if law.kind != expected:
        what = f"kind of question {question.name!r}"
        remedy = "Plan the mechanism for this question."
        raise InputError(what, question.kind, repr(law.kind), remedy)
    return law.of(question)
