"""The saddle point over a list of columns, by Newton's method from the interior.

The conditions ``theta z = mu``, ``sigma y = mu`` are perturbed, with ``z`` the slack of what
columns are charged and ``y`` that of the scenarios' errors; the columns' weights are eliminated,
so that as many unknowns are left as there are scenarios and sums. Each step is
halved until the norm of the conditions, weighted by the point at hand, falls: Newton's direction
lowers it, so that nothing goes round in circles.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.errors import ConvergenceError
from planner.patience import still_wanted
from planner.solvers.game import Columns, Game, Multipliers

Array = NDArray[np.float64]

_STEPS, _HALVINGS = 100, 25
_ROOM, _ROOM_NEAR = 0.1, 0.01  # of the value: slack to begin with, from afar and from near by
_NEARER = 0.1  # share of the complementarity that a step leaves
_INWARD = 0.99  # of the way to the boundary
_FALL = 0.05  # of what a step's length promises


class _Second(NamedTuple):
    """All that one point needs: values and derivatives by ``theta`` and ``sigma``."""

    value: float
    alpha: tuple[Array, ...]
    charges: Array
    errors: Array
    K: Array  # by theta twice, positive
    X: Array  # across
    Y: Array  # by sigma twice, negative


class _Point(NamedTuple):
    theta: Array
    sigma: Array
    z: Array
    y: Array
    rows: Array
    nu: float

    def moved(self, by: _Point, step: float) -> _Point:
        pairs = zip(self[:5], by[:5], strict=True)
        theta, sigma, z, y, rows = (one + step * move for one, move in pairs)
        return _Point(theta, sigma, z, y, rows, self.nu + step * by.nu)


class Answer(NamedTuple):
    """Multipliers, the columns' weights, the value, and how far it is from the conditions."""

    multipliers: Multipliers
    weights: Array
    value: float
    distance: float
    point: _Point


def saddle(game: Game, columns: Columns, close: float = 1e-9, near: Answer | None = None) -> Answer:
    """The best weights of these columns and their multipliers: the best point seen.

    ``close``: relative distance from the conditions at which to stop; digits may end before.
    ``near`` has weights of the first of these columns, to begin from.

    Raises
    ------
    ConvergenceError
        These columns cannot tell apart what is wanted.
    """
    n, k = columns.people.shape
    R, room = columns.sums, _ROOM if near is None else _ROOM_NEAR
    theta = np.full(n, R.shape[1] / R.sum())
    sigma = np.where(game.free > 0, 1 / game.free.sum(), 0.1 / k)
    if near is not None:
        known = np.pad(near.weights, (0, n - near.weights.size))
        theta, sigma = known + room * theta, near.multipliers.scenarios + room * sigma

    now = _second_order(game, columns, theta, sigma)
    if now is None:
        reason = "The first reports cannot tell all that is wanted apart"
        raise ConvergenceError(reason, "Take larger budgets, or fewer levels.")
    return _descended(game, columns, _first(game, columns, now, theta, sigma, room), now, close)


def continued(game: Game, columns: Columns, answer: Answer, close: float) -> Answer:
    """An answer about the same columns, with more digits."""
    now = _second_order(game, columns, answer.point.theta, answer.point.sigma)
    return answer if now is None else _descended(game, columns, answer.point, now, close)


def _descended(game: Game, columns: Columns, at: _Point, now: _Second, close: float) -> Answer:
    best, missing = None, _missing(game, columns, now, at)
    for _ in range(_STEPS):
        still_wanted()
        distance = _distance(missing, abs(now.value), at)
        if best is None or distance < best.distance:
            value = now.value - float(game.offsets @ at.sigma)
            multipliers = Multipliers(now.alpha, at.rows, at.sigma)
            best = Answer(multipliers, at.theta, value, distance, at)
        if distance < close:
            break
        mu = _NEARER * float(at.theta @ at.z + at.sigma @ at.y) / (at.theta.size + at.sigma.size)
        moved = _step(game, columns, now, at, mu, missing)
        if moved is None:
            break  # digits are used up: the best point stands
        at, now, missing = moved
    assert best is not None  # noqa: S101 - set in the first round
    return best


def _first(
    game: Game, columns: Columns, now: _Second, theta: Array, sigma: Array, room: float
) -> _Point:
    """Multipliers that leave slack everywhere: a share ``room`` of the value."""
    R, size = columns.sums, float(now.charges @ theta)
    rows = np.linalg.lstsq(R, now.charges, rcond=None)[0]
    short = max(0.0, float(((now.charges - R @ rows) / R.sum(axis=1)).max()))
    rows = rows + 1.1 * short + room * size / R.shape[1]
    nu = float((now.errors * game.free).max()) + room * size
    slack = np.maximum(nu * game.free - now.errors, room * size)
    return _Point(theta, sigma, R @ rows - now.charges, slack, rows, nu)


def _missing(game: Game, columns: Columns, now: _Second, at: _Point) -> tuple[Array, ...]:
    """By how much columns' slack, scenarios' slack, sums and the scenarios' weights are off."""
    return (
        columns.sums @ at.rows - now.charges - at.z,
        at.nu * game.free - now.errors - at.y,
        columns.sums.T @ at.theta - 1,
        np.atleast_1d(game.free @ at.sigma - 1),
    )


def _distance(missing: tuple[Array, ...], size: float, at: _Point) -> float:
    """How far the conditions are from being met, over the value."""
    weights = (at.theta, at.sigma, np.abs(at.rows), np.full(1, size))
    off = (weight @ np.abs(one) for weight, one in zip(weights, missing, strict=True))
    return float(max(*off, at.theta @ at.z + at.sigma @ at.y)) / size


def _step(
    game: Game, columns: Columns, now: _Second, at: _Point, mu: float, missing: tuple[Array, ...]
) -> tuple[_Point, _Second, tuple[Array, ...]] | None:
    """The next point, or none if no step lowers the conditions' norm."""
    try:
        by = _direction(game, columns, now, at, mu, missing)
    except np.linalg.LinAlgError:
        return None
    firm = np.abs(at.rows) + 1e-3 * np.abs(at.rows).max()
    weights = (at.theta, at.sigma, firm, np.full(1, abs(now.value)))

    def merit(point: _Point, missing: tuple[Array, ...]) -> float:
        conditions = [weight * one for weight, one in zip(weights, missing, strict=True)]
        conditions += [point.theta * point.z - mu, point.sigma * point.y - mu]
        return float(np.linalg.norm(np.concatenate(conditions)))

    here, step = merit(at, missing), 1.0
    for one, move in zip(at[:4], by[:4], strict=True):
        room = np.min(-one[move < 0] / move[move < 0], initial=np.inf)
        step = min(step, _INWARD * float(room))
    for _ in range(_HALVINGS):
        new = at.moved(by, step)
        then = _second_order(game, columns, new.theta, new.sigma)
        least = (1 - _FALL * step) * here
        if then is not None:
            left = _missing(game, columns, then, new)
            if merit(new, left) <= least:
                return new, then, left
        step /= 2
    return None


def _direction(
    game: Game, columns: Columns, now: _Second, at: _Point, mu: float, missing: tuple[Array, ...]
) -> _Point:
    """Newton's, the weights' part eliminated: their matrix is positive definite."""
    theta, sigma, z, y, _, _ = at
    (n, r), k, free = columns.sums.shape, sigma.size, game.free
    root = np.sqrt(theta)
    curved = root[:, None] * now.K * root + np.diag(z)
    beside = np.hstack([now.X, columns.sums, np.zeros((n, 1))])
    corner = np.zeros((k + r + 1, k + r + 1))
    corner[:k, :k] = now.Y - np.diag(y / sigma)
    corner[:k, -1] = corner[-1, :k] = -free
    lacking = np.concatenate([missing[1] + y - mu / sigma, -missing[2], missing[3]])
    pull = np.column_stack([beside, mu / theta - z - missing[0]])
    solved = root[:, None] * np.linalg.solve(curved, root[:, None] * pull)
    move = np.linalg.solve(corner - beside.T @ solved[:, :-1], lacking - beside.T @ solved[:, -1])
    dt, ds = solved[:, -1] - solved[:, :-1] @ move, move[:k]
    dz, dy = (mu - z * dt) / theta - z, (mu - y * ds) / sigma - y
    return _Point(dt, ds, dz, dy, move[k:-1], float(move[-1]))


def _second_order(game: Game, columns: Columns, theta: Array, sigma: Array) -> _Second | None:
    """None where the columns do not tell apart what is wanted."""
    try:
        with np.errstate(all="ignore"):
            of = _of_one_form if game.forms is None else _of_forms
            second = of(game, columns, theta, sigma)
    except np.linalg.LinAlgError:
        return None
    return second if np.isfinite(second.value) and np.isfinite(second.K).all() else None


def _of_one_form(game: Game, columns: Columns, theta: Array, sigma: Array) -> _Second:
    people = columns.people
    w = people @ sigma
    share = theta / w
    first, *thin = columns.parts
    inverse = np.linalg.inv((first * share[:, None]).T @ first)
    one = inverse @ game.wanted[0].T
    moved = first @ one
    charges = np.square(moved).sum(axis=1) / w
    K = 2 * (moved @ moved.T) * (first @ inverse @ first.T)
    value, alpha = float((game.wanted[0] * one.T).sum()), [one]
    if thin:  # of one number each, which need no matrices
        squares, wanted = np.square(np.hstack(thin)), np.hstack(game.wanted[1:]).ravel()
        known = share @ squares
        each = wanted / known
        charges += squares @ each**2 / w
        K += 2 * (squares * (each**2 / known)) @ squares.T
        value += float(wanted @ each)
        alpha += list(each.reshape(-1, 1, 1))
    K /= np.outer(w, w)
    used = share[:, None] * people
    X = (charges / w)[:, None] * people - K @ used
    Y = used.T @ K @ used - 2 * people.T @ ((theta * charges / w**2)[:, None] * people)
    return _Second(value, tuple(alpha), charges, used.T @ charges - game.offsets, K, X, Y)


def _of_forms(game: Game, columns: Columns, theta: Array, sigma: Array) -> _Second:
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
