"""The BiSample paper's experiments: populations, missing answers, mean absolute errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner import bisample_md

from . import populations
from .normal import mean_absolute
from .rivals import COLLECTIONS, privkvm

__all__ = ["MECHANISMS", "Errors", "Expected", "expected", "measure", "people"]

Array = NDArray[np.float64]
MECHANISMS = tuple(COLLECTIONS)


class Errors(NamedTuple):
    """Absolute errors of each run: of the mean, and of the missing rate (NaN if not estimated)."""

    mean: Array
    missing: Array


class Expected(NamedTuple):
    """Expected absolute errors, to first order in 1/n.

    ``reliable``: the answer rate is at least five standard errors above 0; where it is
    not, the mean, a ratio, behaves as no variance says.
    """

    mean: float
    missing: float
    reliable: bool


def people(users: int, adult: Path | None) -> dict[str, Array]:
    """The data sets of Table 2; ADULT if its file is there."""
    rng = np.random.default_rng(1)
    found = {
        "EXP": populations.exponential(users, rng),
        "GAUSS": populations.gaussian(users, rng),
        "UNIFORM": populations.uniform(users, rng),
    }
    if adult is not None:
        found["ADULT"] = populations.adult_ages(adult)
    return found


def measure(
    values: Array,
    silent: Callable[[np.random.Generator], NDArray[np.bool_]],
    epsilon: float,
    repeats: int,
    names: Sequence[str] = MECHANISMS,
) -> dict[str, Errors]:
    """Simulate collections; ``silent`` draws who does not answer, anew each time.

    The mean is judged against that of all values, and taken as 0, the middle, where a
    mechanism finds that nobody answered.
    """
    rng = np.random.default_rng([20200420, round(1000 * epsilon), values.size])
    truth = float(values.mean())
    found = {}
    for name in names:
        errors = np.full((2, repeats), np.nan)
        for run in range(repeats):
            absent = silent(rng)
            given = np.where(absent, np.nan, values)
            mean, missing = COLLECTIONS[name](given, epsilon, rng)
            errors[0, run] = abs((0.0 if mean is None else mean) - truth)
            if missing is not None:
                errors[1, run] = abs(missing - absent.mean())
        found[name] = Errors(*errors)
    return found


def expected(values: Array, missing: float, epsilon: float, name: str) -> Expected:
    """The same as computed, for BiSample and PrivKVM, when a random share is missing."""
    silent = np.random.default_rng(5).choice(
        values.size, round(missing * values.size), False
    )
    given = values.copy()
    given[silent] = np.nan
    answering = values.size - silent.size
    rate = answering / values.size
    bias = 0.0
    if name == "BiSample":
        variance = bisample_md(epsilon).variance(given)
        of_mean = variance.mean
        of_rate = variance.missing_rate
    else:
        found = privkvm(epsilon, rate, float(np.nanmean(given)))
        bias = found.mean_bias
        of_mean, of_rate = (
            x / values.size for x in (found.mean_variance, found.missing_variance)
        )
    who = (
        values.var() * missing / answering
    )  # the answering people's mean is not everybody's
    deviation = np.sqrt(of_rate)
    return Expected(
        float(mean_absolute(bias, np.sqrt(of_mean + who))),
        float(mean_absolute(0.0, deviation)),
        bool(rate >= 5 * deviation),
    )
