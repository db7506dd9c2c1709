"""The program of the best channel in the form that the cone solver and the bound share.

Directions that no scenario looks at are taken out, and where all scenarios look at the
same combinations of the wanted numbers these are made orthonormal, so that the small
matrices of the dual become single numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.designs.channel import Scenario
from planner.errors import InputError

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Multipliers:
    """A point of the dual: anything of these shapes proves a bound.

    Attributes
    ----------
    alpha:
        Of unbiasedness, shape ``(m, p)``.
    rows:
        Of the rows that sum to 1, shape ``(m,)``.
    scenarios:
        Of the scenarios, not negative, shape ``(k,)``.
    """

    alpha: Array
    rows: Array
    scenarios: Array


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """Minimise the largest error of the scenarios without a cap.

    Attributes
    ----------
    wanted:
        Shape ``(p, m)``, in the program's own coordinates.
    populations:
        Shape ``(k, m)``.
    squares:
        Quadratic form of each scenario's error in what a report adds, shape ``(k, p, p)``.
    offsets:
        What is taken off each scenario's expected square: known part plus cap, ``(k,)``.
    capped:
        Which scenarios have a cap, shape ``(k,)``.
    unit:
        Scale of the errors: the program is solved in this unit.
    common:
        All forms are the identity: one cone row suffices.
    basis:
        The multipliers per symbol are ``basis @ coefficients``, shape ``(m, coefficients)``:
        fewer unknowns give a bound that is a little weaker, and as true.
    turn:
        From the program's numbers to those wanted, shape ``(wanted, p)``.
    """

    wanted: Array
    populations: Array
    squares: Array
    offsets: Array
    capped: NDArray[np.bool_]
    unit: float
    common: bool
    basis: Array
    turn: Array

    def weights(self, multipliers: Multipliers, columns: Array) -> Array:
        """Quadratic form that each column's estimate is charged with, ``(columns, p, p)``."""
        shares = columns @ self.populations.T * multipliers.scenarios
        return np.einsum("ok,kpq->opq", shares, self.squares)


def program_of(
    wanted: Array,
    scenarios: Sequence[Scenario],
    hardness: float,
    basis: Array | None = None,
) -> Program:
    """Bring a question to the program's coordinates.

    Parameters
    ----------
    wanted:
        What each symbol adds to each wanted number, shape ``(p, m)``.
    scenarios:
        At least one without a cap.
    hardness:
        About the error that a wanted number of size 1 has.
    basis:
        Shapes of multipliers over the symbols; any when omitted.

    Raises
    ------
    InputError
        No scenario without a cap, shapes that do not fit, or nothing wanted.
    """
    p, m = wanted.shape
    if not any(scenario.cap is None for scenario in scenarios):
        reason = "every scenario has a cap, so there is no error to make small"
        remedy = "Leave the cap of one scenario out."
        raise InputError.because("scenarios", reason, remedy)
    for i, scenario in enumerate(scenarios):
        if scenario.population.shape != (m,) or scenario.directions.shape[1] != p:
            shapes = scenario.population.shape, scenario.directions.shape
            remedy = "Give one share a symbol, and one direction column a number wanted."
            raise InputError(f"scenarios[{i}]", shapes, f"of shapes ({m},) and (rows, {p})", remedy)
    first = scenarios[0].directions
    others = [one.directions for one in scenarios if not np.array_equal(one.directions, first)]
    _, sizes, seen = np.linalg.svd(np.vstack([first, *others]), full_matrices=False)
    seen = seen[sizes > 1e-12 * max(sizes[0], 1e-300)]
    if not seen.size or not np.any(seen @ wanted):
        remedy = "Ask for numbers that differ."
        raise InputError.because("wanted", "wanted has the same numbers for every symbol", remedy)
    factors = [scenario.directions @ seen.T for scenario in scenarios]
    squares = np.array([factor.T @ factor for factor in factors])
    inner = seen @ wanted
    common = bool(np.abs(squares - squares[0]).max() <= 1e-12 * np.abs(squares[0]).max())
    if common:
        values, vectors = np.linalg.eigh(squares[0])
        inner = (np.sqrt(values)[:, None] * vectors.T) @ inner
        squares = np.broadcast_to(np.eye(len(inner)), (len(scenarios), len(inner), len(inner)))
    populations = np.array([scenario.population for scenario in scenarios])
    errors = np.einsum("px,kpq,qx,kx->k", inner, squares, inner, populations, optimize=True)
    unit = hardness * float(np.max(errors))
    known = np.array([scenario.known(wanted) + (scenario.cap or 0.0) for scenario in scenarios])
    capped = np.array([scenario.cap is not None for scenario in scenarios])
    turn = seen.T * np.sqrt(unit)
    coefficients: Array = np.eye(m) if basis is None else basis
    scaled = inner / np.sqrt(unit)
    return Program(
        scaled, populations, squares, known / unit, capped, unit, common, coefficients, turn
    )
