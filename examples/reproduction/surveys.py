"""The BiSample paper's experiments: populations, missing answers, mean absolute errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner import BiSampleMD, Harmony, Piecewise, PrivKVM
from planner.mechanisms.numeric import NumericMechanism

from . import populations
from .normal import mean_absolute

__all__ = ["MECHANISMS", "Errors", "Expected", "expected", "measure", "people"]

Array = NDArray[np.float64]
MECHANISMS: dict[str, Callable[[float], NumericMechanism]] = {
    "BiSample": BiSampleMD,
    "PrivKVM": PrivKVM,  # one real and five virtual iterations
    "Harmony TOP": lambda epsilon: Harmony(epsilon, fake_answer="top"),
    "PM TOP": lambda epsilon: Piecewise(epsilon, fake_answer="top"),
    "Harmony RND": Harmony,
    "PM RND": Piecewise,
}


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
    names: Sequence[str] = tuple(MECHANISMS),
) -> dict[str, Errors]:
    """Simulate collections; ``silent`` draws who does not answer, anew each time.

    The mean is judged against that of all values, and taken as 0, the middle, where a
    mechanism finds that nobody answered.
    """
    rng = np.random.default_rng([20200420, round(1000 * epsilon), values.size])
    truth, found = float(values.mean()), {}
    for name in names:
        mechanism = MECHANISMS[name](epsilon)
        errors = np.full((2, repeats), np.nan)
        for run in range(repeats):
            absent = silent(rng)
            given = np.where(absent, np.nan, values)
            estimates = mechanism.estimate(mechanism.aggregate(mechanism.perturb(given, rng)))
            mean = estimates.mean.value
            errors[0, run] = abs((0.0 if mean is None else mean) - truth)
            if estimates.missing_rate is not None and estimates.missing_rate.value is not None:
                errors[1, run] = abs(estimates.missing_rate.value - absent.mean())
        found[name] = Errors(*errors)
    return found


def expected(values: Array, missing: float, epsilon: float, name: str) -> Expected:
    """The same as computed, for BiSample and PrivKVM, when a random share is missing."""
    mechanism = MECHANISMS[name](epsilon)
    given = values.copy()
    silent = np.random.default_rng(5).choice(values.size, round(missing * values.size), False)
    given[silent] = np.nan
    answering = values.size - silent.size
    variance = mechanism.variance(given)
    who = values.var() * missing / answering  # the answering people's mean is not everybody's
    bias = mechanism.bias(given) if isinstance(mechanism, PrivKVM) else 0.0
    deviation = np.sqrt(variance.missing_rate)
    return Expected(
        float(mean_absolute(bias, np.sqrt(variance.mean + who))),
        float(mean_absolute(0.0, deviation)),
        bool(answering / values.size >= 5 * deviation),
    )
