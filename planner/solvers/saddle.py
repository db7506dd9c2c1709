"""The saddle point over a list of columns, by Newton's method from the interior.

The conditions ``theta z = mu``, ``sigma y = mu`` are perturbed, with ``z`` the slack of what
columns are charged and ``y`` that of the scenarios' errors; the columns' weights are eliminated,
so that as many unknowns are left as there are scenarios and sums. Each step is
halved until the norm of the conditions, weighted by the point at hand, falls: Newton's direction
lowers it, so that nothing goes round in circles.
"""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

import numpy as np

from planner.arrays import Array
from planner.errors import ConvergenceError
from planner.patience import still_wanted
from planner.solvers.game import Game, GameColumns, Multipliers

_MOST_STEPS_TAKEN, _STEP_HALVINGS = 100, 25
_WORTH_LOADING = 128  # columns: with fewer a library of factors takes longer to load than it saves
_ROOM = 0.01  # of the value: slack to begin with
_NEARER = 0.1  # share of the complementarity that a step leaves
_STEP_SHARE = 0.99  # of the way to the boundary
_MOST_CONDITION = 1e15  # beyond, a direction that columns do not tell apart is taken for noise
_SAME_SUMS = 1e-10  # of columns' sums: a smaller singular value is none
_NOT_TOLD = 1e-6  # of what is wanted: more must not lie in such directions


class _Second(NamedTuple):
    """All that one point needs: values and derivatives by ``theta`` and ``sigma``."""

    value: float
    alpha: tuple[Array, ...]
    charges: Array
    errors: Array
    K: Array  # by theta twice, positive
    X: Array  # across
    Y: Array  # by sigma twice, negative


class SaddlePoint(NamedTuple):
    """Multipliers, the columns' weights, the value, and how far it is from the conditions."""

    multipliers: Multipliers
    weights: Array
    value: float
    distance: float
    point: Array


def saddle(
    game: Game, columns: GameColumns, close: float = 1e-9, near: SaddlePoint | None = None
) -> SaddlePoint:
    """The best weights of these columns and their multipliers: the best point seen.

    ``close``: relative distance from the conditions at which to stop; digits may end before.
    ``near`` has weights of the first of these columns, to begin from.

    Raises
    ------
    ConvergenceError
        These columns cannot tell apart what is wanted.
    """
    n, k = columns.people.shape
    R = columns.sums
    theta = np.full(n, R.shape[1] / R.sum())
    sigma = np.full(k, 1 / game.free.sum())
    if near is not None:
        known = np.pad(near.weights, (0, n - near.weights.size))
        theta, sigma = known + _ROOM * theta, near.multipliers.scenarios + _ROOM * sigma

    inside, now = np.concatenate([theta, sigma]), _second_order(game, columns, theta, sigma)
    if now is None:
        reason = "Rounding hides at these budgets what tells the numbers wanted apart"
        raise ConvergenceError(reason, "Take larger budgets, or fewer levels.")
    at = _first(columns, game.free, now, inside)
    return _descended(game, columns, at, now, close)


def continued(game: Game, columns: GameColumns, answer: SaddlePoint, close: float) -> SaddlePoint:
    """An answer about the same columns, with more digits."""
    now = _second_order(game, columns, *_parts(columns, answer.point)[:2])
    return answer if now is None else _descended(game, columns, answer.point, now, close)


def _descended(
    game: Game, columns: GameColumns, at: Array, now: _Second, close: float
) -> SaddlePoint:
    best, missing, inside = None, _missing(game, columns, now, at), sum(columns.people.shape)
    for _ in range(_MOST_STEPS_TAKEN):
        still_wanted()
        theta, sigma, _, _, rows, _ = _parts(columns, at)
        met = float(at[:inside] @ at[inside : 2 * inside])
        off = _weights(columns, now, at) * np.abs(missing)
        starts = (0, theta.size, inside, off.size - 1)
        distance = max(met, float(np.add.reduceat(off, starts).max())) / abs(now.value)
        if best is None or distance < best.distance:
            value = now.value - float(game.offsets @ sigma)
            best = SaddlePoint(Multipliers(now.alpha, rows, sigma), theta, value, distance, at)
        if distance < close:
            break
        about = game, columns, now, at, _NEARER * met / inside, missing
        moved = _step(*about)
        if (
            moved is None
            and np.linalg.matrix_rank(columns.sums, _SAME_SUMS) < columns.sums.shape[1]
        ):
            moved = _step(*about, alike=True)
        if moved is None:
            break  # digits are used up: the best point stands
        at, now, missing = moved
    assert best is not None  # noqa: S101 - set in the first round
    return best


def _parts(columns: GameColumns, at: Array) -> tuple[Array, ...]:
    """A point's ``theta``, ``sigma``, ``z``, ``y``, multipliers of the sums, and ``nu``."""
    n, inside = len(columns.people), sum(columns.people.shape)
    slack, rows = at[inside : 2 * inside], at[2 * inside : -1]
    return at[:n], at[n:inside], slack[:n], slack[n:], rows, at[-1:]


def _first(columns: GameColumns, free: Array, now: _Second, inside: Array) -> Array:
    """A point with slack everywhere, a share of the value."""
    R, room = columns.sums, _ROOM * float(now.charges @ inside[: now.charges.size])
    rows = np.linalg.lstsq(R, now.charges, rcond=None)[0]
    short = max(0.0, float(((now.charges - R @ rows) / R.sum(axis=1)).max()))
    rows = rows + short + room / R.shape[1]
    nu = float((now.errors * free).max())
    slack = np.full(free.size, room)
    return np.concatenate([inside, R @ rows - now.charges, slack, rows, [nu]])


def _missing(game: Game, columns: GameColumns, now: _Second, at: Array) -> Array:
    """By how much columns' slack, scenarios' slack, sums and the scenarios' weights are off."""
    theta, sigma, z, y, rows, nu = _parts(columns, at)
    first, second = columns.sums @ rows - now.charges - z, nu * game.free - now.errors - y
    return np.concatenate([first, second, columns.sums.T @ theta - 1, [game.free @ sigma - 1]])


def _weights(columns: GameColumns, now: _Second, at: Array) -> Array:
    """What each of these weighs beside the value."""
    theta, sigma, _, _, rows, _ = _parts(columns, at)
    return np.concatenate([theta, sigma, np.abs(rows), [abs(now.value)]])


def _step(
    game: Game,
    columns: GameColumns,
    now: _Second,
    at: Array,
    mu: float,
    missing: Array,
    alike: bool = False,
) -> tuple[Array, _Second, Array] | None:
    """The next point, or none if no step lowers the conditions' norm."""
    try:
        by = _direction(game, columns, now, at, mu, missing, alike)
    except np.linalg.LinAlgError:
        return None
    weights, inside = _weights(columns, now, at), sum(columns.people.shape)

    def merit(point: Array, missing: Array) -> float:
        products = point[:inside] * point[inside : 2 * inside]
        return float(np.linalg.norm(np.concatenate([weights * missing, products - mu])))

    down = np.flatnonzero(by[: 2 * inside] < 0)
    room = float(np.min(-at[down] / by[down], initial=np.inf))
    here, step = merit(at, missing), min(1.0, _STEP_SHARE * room)
    for _ in range(_STEP_HALVINGS):
        new = at + step * by
        then = _second_order(game, columns, *_parts(columns, new)[:2])
        if then is not None:
            left = _missing(game, columns, then, new)
            if merit(new, left) < here:
                return new, then, left
        step /= 2
    return None


def _direction(
    game: Game,
    columns: GameColumns,
    now: _Second,
    at: Array,
    mu: float,
    missing: Array,
    alike: bool,
) -> Array:
    """Newton's, the weights' part eliminated: their matrix is positive definite.

    Columns that treat two symbols ``alike`` give one condition twice: any multipliers do.
    """
    theta, sigma, z, y, _, _ = _parts(columns, at)
    (n, r), k, free = columns.sums.shape, sigma.size, game.free
    root = np.sqrt(theta)
    curved = root[:, None] * now.K * root
    curved.flat[:: n + 1] += z
    corner = np.zeros((k + r + 1, k + r + 1))
    corner[:k, :k] = now.Y - np.diag(y / sigma)
    corner[:k, -1] = corner[-1, :k] = -free
    lacking = np.concatenate([missing[n : n + k] + y - mu / sigma, -missing[n + k :]])
    lacking[-1] *= -1
    pull = np.column_stack([now.X, columns.sums, np.zeros(n), mu / theta - z - missing[:n]])
    beside = pull[:, :-1]
    solved = root[:, None] * _solved(curved, root[:, None] * pull)
    left, right = corner - beside.T @ solved[:, :-1], lacking - beside.T @ solved[:, -1]
    move = np.linalg.lstsq(left, right)[0] if alike else np.linalg.solve(left, right)
    dt, ds = solved[:, -1] - solved[:, :-1] @ move, move[:k]
    dz, dy = (mu - z * dt) / theta - z, (mu - y * ds) / sigma - y
    return np.concatenate([dt, ds, dz, dy, move[k:]])


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


def _second_order(game: Game, columns: GameColumns, theta: Array, sigma: Array) -> _Second | None:
    """None where the columns do not tell apart what is wanted."""
    try:
        with np.errstate(all="ignore"):
            of = _of_one_form if game.forms is None else _of_forms
            second = of(game, columns, theta, sigma)
    except np.linalg.LinAlgError:
        return None
    return second if np.isfinite(second.value) and np.isfinite(second.K).all() else None


def _of_one_form(game: Game, columns: GameColumns, theta: Array, sigma: Array) -> _Second:
    people = columns.people
    w = people @ sigma
    share = theta / w
    first, *thin = columns.parts
    inverse = _inverse((first * share[:, None]).T @ first, game.wanted[0])
    one = inverse @ game.wanted[0].T
    moved = first @ one
    charges, over = np.square(moved).sum(axis=1) / w, 1 / w[:, None]
    K = (moved * over) @ (moved * (2 * over)).T
    K *= first @ inverse @ first.T
    value, alpha = float((game.wanted[0] * one.T).sum()), [one]
    if thin:  # of one number each, which need no matrices
        squares, wanted = np.square(np.hstack(thin)), np.hstack(game.wanted[1:]).ravel()
        known = share @ squares
        each = wanted / known
        charges += squares @ each**2 / w
        K += (squares * over * (2 * each**2 / known)) @ (squares * over).T
        value += float(wanted @ each)
        alpha += list(each.reshape(-1, 1, 1))
    used = share[:, None] * people
    X = (charges / w)[:, None] * people - K @ used
    Y = used.T @ K @ used - 2 * people.T @ ((theta * charges / w**2)[:, None] * people)
    return _Second(value, tuple(alpha), charges, used.T @ charges - game.offsets, K, X, Y)


def _inverse(J: Array, wanted: Array) -> Array:
    """``J^-1``, or its inverse where it has one: columns may leave together what nobody asks for.

    LinAlgError if these columns do not tell apart what is ``wanted``.
    """
    with suppress(np.linalg.LinAlgError):
        inverse = np.linalg.inv(J)
        if np.abs(J).max() * np.abs(inverse).max() < _MOST_CONDITION:
            return np.asarray(inverse, dtype=np.float64)
    inverse = np.linalg.pinv(J, rcond=10 / _MOST_CONDITION, hermitian=True)
    if np.abs(wanted @ inverse @ J - wanted).max() > _NOT_TOLD * np.abs(wanted).max():
        raise np.linalg.LinAlgError
    return np.asarray(inverse, dtype=np.float64)


def _of_forms(game: Game, columns: GameColumns, theta: Array, sigma: Array) -> _Second:
    """The same where scenarios look at different combinations of what is wanted.

    Sums over columns are products of matrices: paths of ``einsum`` take longer than they save.
    """
    (part,), (wanted,), forms = columns.parts, game.wanted, game.forms
    assert forms is not None  # noqa: S101 - the caller asks for it
    people, (n, m), (k, p, _) = columns.people, part.shape, forms.shape
    inverses = np.linalg.inv(((people * sigma) @ forms.reshape(k, p * p)).reshape(n, p, p))
    squares = (part[:, :, None] * part[:, None, :]).reshape(n, m * m)
    J = squares.T @ (theta[:, None] * inverses.reshape(n, p * p))
    J = J.reshape(m, m, p, p).transpose(0, 2, 1, 3).reshape(m * p, m * p)
    inverse = np.linalg.inv(J)
    one = (inverse @ wanted.T.ravel()).reshape(m, p)
    moved = part @ one
    T = (inverses @ moved[:, :, None])[:, :, 0]
    g = (part[:, :, None] * T[:, None, :]).reshape(n, m * p)
    turned = g @ inverse
    GT = (T @ forms.reshape(k * p, p).T).reshape(n, k, p)
    seen = people * (GT @ T[:, :, None])[:, :, 0]  # each scenario's share of the charge
    met = people[:, :, None] * GT
    HGT = theta[:, None, None] * (met @ inverses)
    E = (part.T @ HGT.reshape(n, k * p)).reshape(m, k, p).transpose(1, 0, 2).reshape(k, m * p)
    X = seen - 2 * turned @ E.T
    twice = np.tensordot(met, HGT, axes=([0, 2], [0, 2]))
    Y = 2 * E @ inverse @ E.T - 2 * twice
    charges = (T * moved).sum(axis=1)
    value = float((wanted * one.T).sum())
    errors = theta @ seen - game.offsets
    return _Second(value, (one,), charges, errors, 2 * turned @ g.T, X, Y)
