"""The populations of the BiSample paper's experiments, on ``[-1, 1]`` (its Table 2).

Synthetic ones take an explicit generator; the ages come from a file that the caller has.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from planner.errors import FileError, InputError
from planner.files import read_text
from planner.survey.levels import NumericDomain

__all__ = ["adult_ages", "exponential", "gaussian", "uniform"]

Array = NDArray[np.float64]
AGES = NumericDomain(17, 90)


def exponential(users: int, rng: np.random.Generator) -> Array:
    """EXP: exponential with scale 0.1, stretched so that it fills ``[-1, 1]``; mean about -.83.

    The mean is ``2 / H - 1`` with ``H ~ ln(users) + 0.58`` the largest draw over the scale.
    """
    draws = rng.exponential(0.1, _users(users))
    return 2 * (draws - draws.min()) / np.ptp(draws) - 1


def gaussian(users: int, rng: np.random.Generator) -> Array:
    """GAUSS: normal with mean 0.5 and standard deviation 0.1, clipped to ``[-1, 1]``."""
    return np.clip(rng.normal(0.5, 0.1, _users(users)), -1.0, 1.0)


def uniform(users: int, rng: np.random.Generator) -> Array:
    """UNIFORM: uniform on ``[-1, 1]``."""
    return rng.uniform(-1.0, 1.0, _users(users))


def adult_ages(path: str | Path) -> Array:
    """ADULT: the ages (first column) of UCI Adult's ``adult.data``, 17 to 90 as -1 to 1.

    Raises
    ------
    FileError
        The file cannot be read or a first cell is not an age from 17 to 90.
    """
    lines = read_text(path).splitlines()
    try:
        ages = np.array([float(row[0]) for row in csv.reader(lines) if row])
        return AGES.to_unit(AGES.answers(ages, "age"))
    except ValueError as error:
        raise FileError(path, str(error), "Give UCI's file adult.data.") from None


def _users(users: int) -> int:
    if users < 2:
        raise InputError("users", users, "at least 2")
    return users
