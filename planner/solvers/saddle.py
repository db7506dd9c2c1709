"""The saddle point over a list of columns, by Newton's method from the interior.

The conditions ``theta z = mu``, ``sigma y = mu`` are perturbed, with ``z`` the slack of what
columns are charged and ``y`` that of the scenarios' errors; the columns' weights are eliminated,
so that as many unknowns are left as there are scenarios and sums. Each step is
halved until the norm of the conditions, weighted by the point at hand, falls: Newton's direction
lowers it, so that nothing goes round in circles.
"""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from planner.arrays import Array, Whole
from planner.errors import ConvergenceError
from planner.patience import still_wanted
from planner.solvers.game import Game, GameColumns, Multipliers

_MOST_STEPS_TAKEN = 100
_STEP_HALVINGS = 25
# Share of the distance: a step that leaves more of it is a slow one.
_GAINED = 0.9
# Slow steps in a row after which digits are used up.
_MOST_SLOW = 15
# With fewer columns a library of factors takes longer to load than it saves.
_WORTH_LOADING = 128
# Slack to begin with, as a share of the value.
_ROOM = 0.01
# Share of the complementarity that a step leaves.
_NEARER = 0.1
# Share of the way to the boundary that a step may go.
_STEP_SHARE = 0.99
# Beyond, a direction that columns do not tell apart is taken for noise.
_MOST_CONDITION = 1e15
# A smaller singular value of the columns' sums counts as none.
_SAME_SUMS = 1e-10
# Columns this many times as many as the numbers they differ in call for a factor.
_MANY_MORE = 2
# No more than this share of the workload may lie in directions taken for noise.
_NOT_TOLD = 1e-6


class _Curvature(NamedTuple):
    """The positive matrix ``K`` of second derivatives by the columns' weights, ``(n, n)``.

    ``full`` is ``K``. Where columns are many more than the numbers they differ in, it is None and
    ``K = factor factor'``, ``factor`` being ``(n, r)``: no matrix of all pairs of columns is made.
    """

    full: Array | None
    factor: Array | None

    def times(self, vectors: Array) -> Array:
        """``K vectors``."""
        if self.full is not None:
            return np.asarray(self.full @ vectors)
        assert self.factor is not None  # noqa: S101 - one of the two is there
        return np.asarray(self.factor @ (self.factor.T @ vectors))

    @property
    def finite(self) -> bool:
        """Whether all entries are numbers."""
        if self.full is not None:
            return bool(np.isfinite(self.full).all())
        assert self.factor is not None  # noqa: S101 - one of the two is there
        return bool(np.isfinite(self.factor).all())


class _Second(NamedTuple):
    """Values and derivatives at the columns' and scenarios' weights, ``theta`` and ``sigma``."""

    value: float
    alpha: tuple[Array, ...]
    charges: Array
    errors: Array
    curvature: _Curvature  # by theta twice, positive
    X: Array  # across
    Y: Array  # by sigma twice, negative


class _Iterate:
    """A point, all that is known of it, and by how much it misses the conditions.

    The ``point`` has ``theta``, ``sigma``, ``z``, ``y``, multipliers of the sums, ``rows``, and the
    largest error, ``nu``. Of columns' slack, scenarios' slack, sums and the scenarios' weights
    ``missing`` says how far they are off, and ``sizes`` what that weighs beside the value.
    """

    def __init__(
        self, game: Game, columns: GameColumns, point: Array, second: _Second
    ) -> None:
        n = len(columns.sums)
        inside = n + game.free.size
        self.point = point
        self.second = second
        weights = point[:inside]
        slacks = point[inside : 2 * inside]
        self.theta = weights[:n]
        self.sigma = weights[n:]
        self.z = slacks[:n]
        self.y = slacks[n:]
        self.rows = point[2 * inside : -1]
        nu = point[-1]
        # Complementarity: theta z and sigma y, all of them mu on the central path.
        self.products = weights * slacks
        self.met = float(weights @ slacks)
        # z is what a column's sums cover beyond its charge, y what nu is above an error.
        column_slack = columns.sums @ self.rows - second.charges - self.z
        error_slack = nu * game.free - second.errors - self.y
        # The weighted columns sum to 1, and so do the weights of scenarios without a cap.
        column_sums = columns.sums.T @ self.theta - 1
        scenario_sum = [game.free @ self.sigma - 1]
        self.missing = np.concatenate(
            [column_slack, error_slack, column_sums, scenario_sum]
        )
        self.sizes = np.concatenate([weights, np.abs(self.rows), [abs(second.value)]])

    def distance(self) -> float:
        """How far the conditions are from being met, relative to the value.

        The largest of the complementarity and the four kinds of conditions, each summed up.
        """
        n = self.theta.size
        off = self.sizes * np.abs(self.missing)
        begins = (0, n, n + self.sigma.size, off.size - 1)
        by_kind = np.add.reduceat(off, begins)
        farthest = max(self.met, float(by_kind.max()))
        return farthest / abs(self.second.value)


def rank_of(game: Game) -> int:
    """How many numbers tell columns apart in a game: an optimum needs no more columns."""
    first, *thin = game.workload
    (p, r) = first.shape
    if game.forms is not None:
        return p * r
    return r * (r + 1) // 2 + len(thin)


class SaddlePoint(NamedTuple):
    """Multipliers, the columns' weights, the value, and how far it is from the conditions.

    The value is the difference of two numbers, of which ``gross`` is the larger: a distance is
    relative to that. At large budgets the value is a millionth of it and less.
    """

    multipliers: Multipliers
    weights: Array
    value: float
    distance: float
    point: Array
    tried: int = 0  # points at which the program was evaluated
    gross: float = 0.0

    @property
    def most(self) -> float:
        """What the value may be: far from its conditions a point says little."""
        return self.value + self.distance * self.gross


def saddle(
    game: Game,
    columns: GameColumns,
    close: float = 1e-9,
    near: SaddlePoint | None = None,
) -> SaddlePoint:
    """The best weights of these columns and their multipliers: the best point seen.

    ``close``: relative distance from the conditions at which to stop; digits may end before.
    ``near`` has weights of the first of these columns, to begin from.

    Raises
    ------
    ConvergenceError
        These columns cannot tell apart what is wanted.
    """
    (n, k) = columns.people.shape
    R = columns.sums
    (_, r) = R.shape
    theta = np.full(n, r / R.sum())
    sigma = np.full(k, 1 / game.free.sum())
    if near is not None:
        # A little of the uniform weights keeps the point in the interior.
        near_theta = np.pad(near.weights, (0, n - near.weights.size))
        theta = near_theta + _ROOM * theta
        sigma = near.multipliers.scenarios + _ROOM * sigma
    second = second_order(game, columns, theta, sigma)
    if second is None:
        reason = "Rounding hides at these budgets what tells the numbers wanted apart"
        raise ConvergenceError(reason, "Take larger budgets, or fewer levels.")
    # The multipliers that fit the charges best are raised until they cover every column.
    charges = second.charges
    rows = np.linalg.lstsq(R, charges, rcond=None)[0]
    uncovered = (charges - R @ rows) / R.sum(axis=1)
    short = max(0.0, float(uncovered.max()))
    # Slack everywhere, a share of the value.
    room = _ROOM * float(charges @ theta)
    rows += short + room / r
    z = R @ rows - charges
    y = np.full(k, room)
    nu = (second.errors * game.free).max()
    point = np.concatenate([theta, sigma, z, y, rows, [nu]])
    start = _Iterate(game, columns, point, second)
    return _descended(game, columns, start, close)


def continued(
    game: Game, columns: GameColumns, answer: SaddlePoint, close: float
) -> SaddlePoint:
    """An answer about the same columns, with more digits."""
    second = second_order(game, columns, answer.weights, answer.multipliers.scenarios)
    if second is None:
        return answer
    start = _Iterate(game, columns, answer.point, second)
    return _descended(game, columns, start, close)


def _descended(
    game: Game, columns: GameColumns, here: _Iterate, close: float
) -> SaddlePoint:
    """The best point seen on the way from ``here`` to the conditions."""
    best = None
    nearest = np.inf
    slow = 0
    tried = 0
    for _ in range(_MOST_STEPS_TAKEN):
        still_wanted()
        distance = here.distance()
        if best is None or distance < best.distance:
            gross = here.second.value
            best = SaddlePoint(
                multipliers=Multipliers(here.second.alpha, here.rows, here.sigma),
                weights=here.theta,
                value=gross - float(game.offsets @ here.sigma),
                distance=distance,
                point=here.point,
                gross=gross,
            )
        if distance < _GAINED * nearest:
            slow = 0
        else:
            slow += 1
        nearest = min(distance, nearest)
        if distance < close or slow > _MOST_SLOW:
            break
        then = _step(game, columns, here)
        tried += 1
        if then is None:
            tried += _STEP_HALVINGS
            (_, r) = columns.sums.shape
            if np.linalg.matrix_rank(columns.sums, _SAME_SUMS) < r:
                then = _step(game, columns, here, alike=True)
        if then is None:
            break  # digits are used up: the best point stands
        here = then
    assert best is not None  # noqa: S101 - set in the first round
    return best._replace(tried=tried)


def _step(
    game: Game, columns: GameColumns, here: _Iterate, *, alike: bool = False
) -> _Iterate | None:
    """The next point, or None if no step lowers the conditions' norm."""
    inside = here.products.size
    mu = _NEARER * here.met / inside
    try:
        direction = _direction(game, columns, here, mu, alike=alike)
    except np.linalg.LinAlgError:
        return None

    def merit(iterate: _Iterate) -> float:
        missing = here.sizes * iterate.missing
        off_centre = iterate.products - mu
        return float(np.linalg.norm(np.concatenate([missing, off_centre])))

    # Weights and slacks must stay above 0: the first to get there ends the step.
    falling = np.flatnonzero(direction[: 2 * inside] < 0)
    lengths = -here.point[falling] / direction[falling]
    room = float(np.min(lengths, initial=np.inf))
    before = merit(here)
    step = min(1.0, _STEP_SHARE * room)
    for _ in range(_STEP_HALVINGS):
        point = here.point + step * direction
        theta = point[: here.theta.size]
        sigma = point[here.theta.size : inside]
        second = second_order(game, columns, theta, sigma)
        if second is not None:
            then = _Iterate(game, columns, point, second)
            if merit(then) < before:
                return then
        step /= 2
    return None


def _direction(
    game: Game, columns: GameColumns, here: _Iterate, mu: float, *, alike: bool
) -> Array:
    """Newton's, the columns' part eliminated: their matrix is positive definite.

    The unknowns are ``dt``, the step of the columns' weights, and ``move``, that of the scenarios'
    weights, of ``rows`` and of ``nu``; the slacks' steps follow from these. Columns that treat two
    symbols ``alike`` give one condition twice: any multipliers do.
    """
    theta = here.theta
    sigma = here.sigma
    z = here.z
    y = here.y
    second = here.second
    (n, r) = columns.sums.shape
    k = sigma.size
    C = np.zeros((k + r + 1, k + r + 1))
    C[:k, :k] = second.Y - np.diag(y / sigma)
    C[:k, -1] = -game.free
    C[-1, :k] = -game.free
    B = np.column_stack([second.X, columns.sums, np.zeros(n)])

    push = mu / theta - z - here.missing[:n]
    scenarios_lack = here.missing[n : n + k] + y - mu / sigma
    lacking = np.append(scenarios_lack, -here.missing[n + k :])
    lacking[-1] *= -1  # the sum of the scenarios' weights has the other sign in C

    conditions = _Conditions(B, C, push, lacking, alike)
    curvature = second.curvature
    if curvature.factor is not None:
        dt, move = conditions.solved_by_factor(curvature.factor, theta / z)
    else:
        assert curvature.full is not None  # noqa: S101 - one of the two is there
        dt, move = conditions.solved_by_columns(curvature.full, theta, z)
    ds = move[:k]
    dz = (mu - z * dt) / theta - z
    dy = (mu - y * ds) / sigma - y
    return np.concatenate([dt, ds, dz, dy, move[k:]])


class _Conditions(NamedTuple):
    """``(K + diag(z / theta)) dt + B move = push`` and ``B' dt + C move = lacking``.

    The second may be given twice, where columns treat two symbols ``alike``.
    """

    B: Array
    C: Array
    push: Array
    lacking: Array
    alike: bool

    def solved_by_factor(self, factor: Array, scale: Array) -> tuple[Array, Array]:
        """``dt`` and ``move`` where ``K = factor factor'``: no matrix of all pairs of columns.

        With ``v = factor' dt`` as further unknowns and ``scale = theta / z``

            dt = scale (push - B move - factor v)
        """
        (_, size) = factor.shape
        both = np.hstack([factor, self.B])
        weighed = both * scale[:, None]
        left = both.T @ weighed
        left[:size, :size] += np.eye(size)
        left[size:, size:] -= self.C
        right = weighed.T @ self.push
        right[size:] -= self.lacking
        unknowns = self._solved(left, right)
        dt = scale * (self.push - both @ unknowns)
        return dt, unknowns[size:]

    def solved_by_columns(
        self, K: Array, theta: Array, z: Array
    ) -> tuple[Array, Array]:
        """``dt`` and ``move`` by the Schur complement of ``M = K + diag(z / theta)``.

            (C - B' M^-1 B) move = lacking - B' M^-1 push

        ``M`` is multiplied by ``root = sqrt(theta)`` from both sides, which leaves ``z`` on the
        diagonal: weights near 0 do no harm.
        """
        root = np.sqrt(theta)
        curved = root[:, None] * K * root
        curved.flat[:: theta.size + 1] += z
        pull = np.column_stack([self.B, self.push])
        solved = root[:, None] * _solved(curved, root[:, None] * pull)
        solved_B = solved[:, :-1]
        solved_push = solved[:, -1]
        left = self.C - self.B.T @ solved_B
        right = self.lacking - self.B.T @ solved_push
        move = self._solved(left, right)
        return solved_push - solved_B @ move, move

    def _solved(self, left: Array, right: Array) -> Array:
        """``left^-1 right``; the shortest solution that conditions given twice leave."""
        if self.alike:
            shortest = np.linalg.lstsq(left, right)[0]
            return np.asarray(shortest, dtype=np.float64)
        return np.asarray(np.linalg.solve(left, right), dtype=np.float64)


def _solved(curved: Array, pull: Array) -> Array:
    """``curved^-1 pull``; of many in half the time where digits show it positive definite."""
    if len(curved) >= _WORTH_LOADING:
        with suppress(np.linalg.LinAlgError):
            return positive_solved(curved, pull)
    return np.asarray(np.linalg.solve(curved, pull), dtype=np.float64)


def positive_solved(matrix: Array, sides: Array) -> Array:
    """``matrix^-1 sides``; LinAlgError where digits do not show it positive definite."""
    if len(matrix) < _WORTH_LOADING:
        np.linalg.cholesky(matrix)
        return np.asarray(np.linalg.solve(matrix, sides), dtype=np.float64)
    from scipy.linalg import cho_factor, cho_solve

    factor = cho_factor(matrix, check_finite=False)
    return np.asarray(cho_solve(factor, sides, check_finite=False), dtype=np.float64)


def second_order(
    game: Game, columns: GameColumns, theta: Array, sigma: Array
) -> _Second | None:
    """Values and derivatives; None where the columns do not tell apart what is wanted."""
    try:
        with np.errstate(all="ignore"):
            if game.forms is None:
                second = _of_one_form(game, columns, theta, sigma)
            else:
                second = _of_forms(game, columns, theta, sigma)
    except np.linalg.LinAlgError:
        return None
    if not (np.isfinite(second.value) and second.curvature.finite):
        return None
    return second


def _of_one_form(
    game: Game, columns: GameColumns, theta: Array, sigma: Array
) -> _Second:
    """The derivatives where all forms are the identity, in the symbols of :mod:`.game`.

    With ``J = sum_o (theta_o / w_o) F_o F_o'`` and ``alpha = J^-1 W'`` the value is
    ``tr(W alpha)``, a column's charge ``|alpha' F_o|^2 / w_o``, and the curvature

        K_op = 2 (F_o' alpha alpha' F_p) (F_o' J^-1 F_p) / (w_o w_p)
    """
    people = columns.people
    w = people @ sigma
    share = theta / w
    first, *thin = columns.parts
    workload = game.workload[0]
    information = (first * share[:, None]).T @ first
    inverse = _inverse(information, workload)
    meaning = inverse @ workload.T
    moved = first @ meaning
    charges = np.square(moved).sum(axis=1) / w
    value = float((workload * meaning.T).sum())
    alpha = [meaning]
    squares = np.zeros((w.size, 0))
    bends = np.zeros(0)
    if thin:  # of one number each, which need no matrices
        squares = np.square(np.hstack(thin))
        thin_workload = np.hstack(game.workload[1:]).ravel()
        thin_information = share @ squares
        thin_meanings = thin_workload / thin_information
        charges += squares @ thin_meanings**2 / w
        value += float(thin_workload @ thin_meanings)
        alpha += list(thin_meanings.reshape(-1, 1, 1))
        bends = 2 * thin_meanings**2 / thin_information
    over = 1 / w[:, None]
    if len(first) > _MANY_MORE * rank_of(game):
        factor = _factor(first, inverse, workload)
        thin_factor = squares * np.sqrt(bends)
        factor = np.hstack([factor, thin_factor]) * over
        curvature = _Curvature(None, factor)
    else:
        K = (moved * over) @ (moved * (2 * over)).T
        K *= first @ inverse @ first.T
        thin_squares = squares * over
        K += (thin_squares * bends) @ thin_squares.T
        curvature = _Curvature(K, None)
    # A scenario's weight acts through w alone: by the chain rule K comes back in X and Y.
    used = share[:, None] * people
    moved_people = curvature.times(used)
    X = (charges / w)[:, None] * people - moved_people
    Y = used.T @ moved_people
    by_w = theta * charges / w**2
    Y -= 2 * people.T @ (by_w[:, None] * people)
    errors = used.T @ charges - game.offsets
    return _Second(value, tuple(alpha), charges, errors, curvature, X, Y)


def _factor(first: Array, inverse: Array, workload: Array) -> Array:
    """``V``, ``(n, r (r + 1) / 2)``, with ``(V V')_op = K_op w_o w_p`` (:func:`_of_one_form`).

    That is ``2 (moved_o . moved_p) (F_o' J^-1 F_p)`` with ``moved = first inverse W'``, where rows
    of ``first`` are ``F_o'``, ``inverse = J^-1``, ``W = workload``. With ``inverse = R R'``, ``R'
    W' W R = Q diag(q) Q'`` and ``h = first R Q``, the factors are ``sum_i q_i h_oi h_pi`` and
    ``sum_j h_oj h_pj``. So the columns of ``V`` have entries ``sqrt(2 (q_i + q_j)) h_oi h_oj`` for
    ``i < j``, and ``sqrt(2 q_i) h_oi^2``.
    """
    sizes, axes = np.linalg.eigh(inverse)
    root = axes * np.sqrt(np.maximum(sizes, 0.0))
    q, turn = np.linalg.eigh(root.T @ workload.T @ workload @ root)
    h = first @ root @ turn
    (i, j) = _upper_triangle(len(q))
    second_q = np.where(i == j, 0.0, q[j])
    weights = np.maximum(q[i] + second_q, 0.0)
    products = h[:, i] * h[:, j]
    return np.asarray(products * np.sqrt(2 * weights))


@lru_cache(maxsize=64)
def _upper_triangle(size: int) -> tuple[Whole, Whole]:
    """Rows and columns of its entries: every step asks for the same."""
    return np.triu_indices(size)


def _inverse(J: Array, workload: Array) -> Array:
    """``J^-1``, or its inverse where it has one: columns may leave together what nobody asks for.

    LinAlgError if these columns do not tell apart what is ``workload``.
    """
    # Numbers of very different sizes are scaled alike: their sizes are no doubt about them.
    sizes = np.diagonal(J)
    scale = 1 / np.sqrt(np.where(sizes > 0, sizes, 1.0))
    scales = np.outer(scale, scale)
    alike = J * scales
    with suppress(np.linalg.LinAlgError):
        inverse = np.linalg.inv(alike)
        condition = np.abs(alike).max() * np.abs(inverse).max()
        if condition < _MOST_CONDITION:
            return np.asarray(inverse * scales, dtype=np.float64)
    smallest = 10 / _MOST_CONDITION
    inverse = np.linalg.pinv(alike, rcond=smallest, hermitian=True) * scales
    # W J^+ J = W where all of the workload lies in the directions that are left.
    lost = np.abs(workload @ inverse @ J - workload).max()
    if lost > _NOT_TOLD * np.abs(workload).max():
        raise np.linalg.LinAlgError
    return np.asarray(inverse, dtype=np.float64)


def _of_forms(game: Game, columns: GameColumns, theta: Array, sigma: Array) -> _Second:
    """The value, its slopes and its second derivatives where scenarios want different things.

    The value is ``F(theta, sigma) = tr(W alpha)``; charges are ``-dF/dtheta_o``, and errors with
    their offsets ``dF/dsigma_s``. Of its second derivatives K is by theta, Y by sigma, and X by
    both.

    With ``H_o = sum_s sigma_s P_os G_s`` and ``J = sum_o theta_o F_o F_o' (x) H_o^-1``, on pairs of
    the indices of ``F`` and of what is wanted, ``alpha = J^-1 W'`` and ``T_o = H_o^-1 alpha' F_o``.
    A column's charge is ``F_o' alpha T_o``. The second derivatives follow from
    ``g_o = F_o (x) T_o`` and ``E_s = sum_o theta_o P_os F_o (x) H_o^-1 G_s T_o``:

        K_op = 2 g_o' J^-1 g_p
        X_os = P_os T_o' G_s T_o - 2 g_o' J^-1 E_s
        Y_rs = 2 E_r' J^-1 E_s - 2 sum_o theta_o P_or P_os T_o' G_r H_o^-1 G_s T_o

    Sums over columns are products of matrices: paths of ``einsum`` take longer than they save.
    """
    (part,) = columns.parts
    (workload,) = game.workload
    forms = game.forms
    assert forms is not None  # noqa: S101 - the caller asks for it
    people = columns.people
    (n, m) = part.shape
    (k, p, _) = forms.shape
    column_forms = (people * sigma) @ forms.reshape(k, p * p)
    column_forms = column_forms.reshape(n, p, p)
    inverse_forms = np.asarray(np.linalg.inv(column_forms), dtype=np.float64)
    J = _information_of_forms(part, theta, inverse_forms)
    inverse = np.linalg.inv(J)
    meaning = (inverse @ workload.T.ravel()).reshape(m, p)
    value = float((workload * meaning.T).sum())
    moved = part @ meaning
    T = (inverse_forms @ moved[:, :, None])[:, :, 0]
    charges = (T * moved).sum(axis=1)

    GT = (T @ forms.reshape(k * p, p).T).reshape(n, k, p)
    # Each scenario's share of a column's charge: they add up to the errors.
    charge_shares = people * (GT @ T[:, :, None])[:, :, 0]
    errors = theta @ charge_shares - game.offsets

    g = (part[:, :, None] * T[:, None, :]).reshape(n, m * p)
    turned = g @ inverse
    K = 2 * turned @ g.T
    PGT = people[:, :, None] * GT
    HPGT = theta[:, None, None] * (PGT @ inverse_forms)
    by_part = (part.T @ HPGT.reshape(n, k * p)).reshape(m, k, p)
    E = by_part.transpose(1, 0, 2).reshape(k, m * p)
    X = charge_shares - 2 * turned @ E.T
    within_columns = np.tensordot(PGT, HPGT, axes=([0, 2], [0, 2]))
    Y = 2 * E @ inverse @ E.T - 2 * within_columns
    return _Second(value, (meaning,), charges, errors, _Curvature(K, None), X, Y)


def _information_of_forms(part: Array, theta: Array, inverse_forms: Array) -> Array:
    """``sum_o theta_o F_o F_o' (x) H_o^-1``, ``(m p, m p)``."""
    (n, m) = part.shape
    (_, p, _) = inverse_forms.shape
    products = part[:, :, None] * part[:, None, :]
    weighed_forms = theta[:, None] * inverse_forms.reshape(n, p * p)
    J = products.reshape(n, m * m).T @ weighed_forms
    by_indices = J.reshape(m, m, p, p)
    return by_indices.transpose(0, 2, 1, 3).reshape(m * p, m * p)
