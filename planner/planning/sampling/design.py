"""Sampling Privacy's parameters: the smallest error that the budgets allow."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.arguments import positive_numbers
from planner.errors import InfeasibleError, InputError, VerificationError
from planner.estimates.counts import normal_quantile
from planner.limits import MAX_EPSILON
from planner.mechanisms.sampling_privacy import SamplingPrivacy
from planner.planning.sampling.question import SamplingQuestion

Array = NDArray[np.float64]
_INWARD = 1 - 1e-12  # a rounding error in the search must not overdraw a budget


@dataclass(frozen=True, slots=True)
class SamplingDesign:
    """The parameters found, and why they are the best.

    Attributes
    ----------
    question:
        What was asked for.
    mechanism:
        The mechanism with its (rounded, re-verified) probabilities.
    best_sampling:
        Optimum of the linear program before rounding.
    limited_by:
        ``"cap"`` or ``"budgets"``: what keeps the sampling probability from growing.
    """

    question: SamplingQuestion
    mechanism: SamplingPrivacy
    best_sampling: float
    limited_by: str

    def absolute_errors(self, confidence: float = 0.95) -> Array:
        """Half-width of the error of each expected count, shape ``(V,)``, in people.

        ``z sqrt(c (1 - pi_s) / pi_s)``: the exact standard deviation times the normal
        quantile ``z`` (1.96 for 95 %), an approximation for counts below about 10.
        """
        counts = np.array(self.question.yes_counts, dtype=np.float64)
        return _absolute_errors(counts, self.mechanism.sampling, confidence)


class ErrorGrid(NamedTuple):
    """Error against budget, for plots: ``epsilons`` and ``sampling`` (k,), ``errors`` (k, V)."""

    epsilons: Array
    sampling: Array
    errors: Array


def find_parameters(question: SamplingQuestion) -> SamplingDesign:
    """The parameters with the smallest error within the budgets.

    The error of every count falls in ``pi_s`` and depends on nothing else, so the best
    parameters solve, whatever the counts, the linear program

        maximise pi_s   s.t.  pi_s <= (e^eps_j - 1) pi_j   for every protected output j,
                              pi_0 >= floor,  pi_s <= cap,  pi_s + sum_j pi_j = 1

    (output 0 is protected unless everyone has a value). With ``w_j = 1/(e^eps_j - 1)`` and
    ``W`` their sum over the values the optimum is the smallest of ``cap``,
    ``(1 - floor)/(1 + W)`` and, if output 0 is protected, ``1/(1 + W + w_0)``. Probability that a
    cap leaves over goes to the outputs in proportion to ``w_j``, which lowers every loss below its
    budget.

    Raises
    ------
    VerificationError
        A rounded probability overdraws its budget (never seen; nothing is returned).

    Examples
    --------
    >>> question = SamplingQuestion(np.log(4), [300], population=10_000, cap=0.9)
    >>> mechanism = find_parameters(question).mechanism
    >>> round(mechanism.sampling, 6), round(mechanism.zero, 6)  # tanh(eps/2), 1/(1+e^eps)
    (0.6, 0.2)
    """
    budgets = question.output_budgets
    closed = float(closed_form(budgets, question.floor, question.cap))
    sampling = closed * _INWARD
    zero, decoys = place(sampling, budgets, question.floor)
    mechanism = SamplingPrivacy(sampling, zero, tuple(decoys), question.everyone_has_value)
    excess = mechanism.output_losses - budgets
    if excess.max() > 0 or mechanism.sampling > question.cap:
        raise VerificationError(f"Output {excess.argmax()} overdraws its budget by {excess.max()}")
    limited_by = "cap" if closed >= question.cap else "budgets"
    return SamplingDesign(question, mechanism, closed, limited_by)


def smallest_budget(
    question: SamplingQuestion, absolute_error: float, confidence: float = 0.95
) -> SamplingDesign:
    """The design with the smallest budgets whose every count errs by at most the target.

    All budgets of ``question`` are multiplied by one factor: give equal budgets to get the
    smallest common budget. The error bound is that of
    :meth:`SamplingDesign.absolute_errors`; the found budgets are in ``question`` of the result.

    Parameters
    ----------
    absolute_error:
        Largest acceptable half-width, in people, above 0.
    confidence:
        Probability with which the error stays within it, above 0 and below 1.

    Raises
    ------
    InfeasibleError
        The cap, the floor or the largest meaningful budget (50) rules the target out.

    Examples
    --------
    >>> question = SamplingQuestion(1.0, [300], population=10_000)
    >>> design = smallest_budget(question, absolute_error=60)
    >>> round(design.question.epsilons[0], 4), float(design.absolute_errors()[0].round(4))
    (0.4948, 60.0)
    """
    if not 0 < absolute_error < inf:
        remedy = "Give the error in people that you accept, such as 50."
        raise InputError("absolute_error", absolute_error, "a number of people above 0", remedy)
    largest = max(question.yes_counts)
    if largest == 0:
        raise InputError("yes_counts", 0, "above 0 for a value", "Without a Yes there is no error.")
    deviation = absolute_error / _quantile(confidence)
    target = largest / (largest + deviation**2) / _INWARD**2  # pi_s that reaches the error
    target += (len(question.yes_counts) + 2) / 2**32  # and survives rounding down
    budgets = question.output_budgets

    def reached(scale: float) -> bool:
        return bool(closed_form(scale * budgets, question.floor, question.cap) >= target)

    high = MAX_EPSILON / max(question.budgets)
    if not reached(high):
        limit = float(closed_form(high * budgets, question.floor, question.cap))
        best = float(_absolute_errors(np.array([float(largest)]), limit, confidence)[0])
        reason = (
            f"An absolute error of {absolute_error:g} needs a sampling probability of "
            f"{target:.4f}, but cap and floor allow {limit:.4f}, an error of {best:.4g}"
        )
        raise InfeasibleError(reason, "Accept a larger error, raise the cap or lower the floor.")
    low = 0.0
    while low < (middle := (low + high) / 2) < high:  # down to neighbouring floats
        low, high = (low, middle) if reached(middle) else (middle, high)
    return find_parameters(question.scaled(high))


def error_grid(
    question: SamplingQuestion, epsilons: ArrayLike, confidence: float = 0.95
) -> ErrorGrid:
    """Absolute error of every count at each common budget, by the closed form.

    Parameters
    ----------
    epsilons:
        Budgets, shape ``(k,)``, in nats, each above 0 and at most 50; each is given to
        all outputs in turn.

    Examples
    --------
    >>> question = SamplingQuestion(1.0, [100, 400], population=1000, cap=0.5)
    >>> error_grid(question, [0.5, 1.0, 4.0]).errors.round(1).tolist()
    [[42.1, 84.3], [25.9, 51.8], [19.6, 39.2]]
    """
    grid = positive_numbers("epsilons", epsilons, MAX_EPSILON)
    protected = np.isfinite(question.output_budgets)
    budgets = np.where(protected, grid[:, None], inf)
    sampling = closed_form(budgets, question.floor, question.cap)
    counts = np.array(question.yes_counts, dtype=np.float64)
    return ErrorGrid(grid, sampling, _absolute_errors(counts, sampling[:, None], confidence))


def _quantile(confidence: float) -> float:
    if not 0 < confidence < 1:
        remedy = "Give a probability such as 0.95."
        raise InputError("confidence", confidence, "above 0 and below 1", remedy)
    return normal_quantile((1 + confidence) / 2)


def _absolute_errors(counts: Array, sampling: Array | float, confidence: float) -> Array:
    return _quantile(confidence) * np.sqrt(counts * (1 - sampling) / sampling)


def closed_form(budgets: Array, floor: float, cap: float) -> Array:
    """The largest ``pi_s`` within budgets of shape ``(..., V + 1)``: a linear program, solved."""
    weights = _weights(budgets)
    values = 1 + weights[..., 1:].sum(axis=-1)
    return np.minimum(cap, np.minimum((1 - floor) / values, 1 / (values + weights[..., 0])))


def place(sampling: float, budgets: Array, floor: float) -> tuple[float, Array]:
    """``pi_0`` and the decoys: everything not sampled, in proportion to ``w_j``."""
    weights = _weights(budgets)
    rest = 1 - sampling
    zero = max(floor, float(rest * weights[0] / weights.sum()))
    return zero, (rest - zero) * weights[1:] / weights[1:].sum()


def _weights(budgets: Array) -> Array:
    return np.asarray(1 / np.expm1(budgets))  # 0 for an output that needs no budget
